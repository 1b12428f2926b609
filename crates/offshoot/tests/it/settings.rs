//! A settings file, as the command line has it, in a program; and several servers.

use offshoot::types::model::RequestMessage;
use offshoot::{Builder, Error, Limits, OpenAiChatSettings, Reply, Status, Tier};
use serde_json::json;

use super::stage;

const FILE: &str = "
child_model = 'local/small'
[providers.local]
kind = 'openai-chat'
base_url = 'http://127.0.0.1:1/v1'
[providers.far]
kind = 'openai-chat'
base_url = 'https://far.example/v1'
api_key_env = 'FAR_KEY'
[tiers]
large = 'far/large'
[limits.session]
steps = 1
[[permissions]]
permission = 'task'
pattern = 'worker'
action = 'deny'
";

/// A program whose agent calls `task` and says what came of it, with a settings file.
fn with_file(folder: &tempfile::TempDir, text: &str) -> Builder {
    let file = folder.path().join("offshoot.toml");
    std::fs::write(&file, text).unwrap();
    let builder = stage(|request| match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(outcomes[0].text.as_str()),
        _ => Reply::call(
            "task",
            &json!({ "subagent_type": "worker", "prompt": "go" }),
        ),
    });
    builder.settings(file).variables([("FAR_KEY", "secret")])
}

#[tokio::test]
async fn providers_tiers_limits_and_rules_come_from_the_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    // Tiers and the model of children are looked up when the runtime is built.
    let runtime = with_file(&folder, FILE).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let settlement = session.prompt("go").await.unwrap();
    assert!(
        matches!(
            settlement.status,
            Status::Partial(_) | Status::BudgetExhausted(_)
        ),
        "{settlement:?}"
    );

    // What the program says goes before what the file says; its rules stay.
    let runtime = with_file(&folder, FILE)
        .limits(Limits::default())
        .build()
        .unwrap();
    let session = runtime.open("worker").await.unwrap();
    let settlement = session.prompt("go").await.unwrap();
    assert_eq!(settlement.status, Status::Completed);
    let output = settlement.output.unwrap();
    assert!(output.contains("denied"), "{output}");
}

#[tokio::test]
async fn a_settings_file_that_cannot_be_used_fails_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let code = |builder: Builder| builder.build().map(drop).unwrap_err().code();
    assert_eq!(code(with_file(&folder, "[limits")), "invalid");
    assert_eq!(code(with_file(&folder, "promt = 1")), "invalid");
    assert_eq!(
        code(with_file(&folder, "child_model = 'nobody/x'")),
        "invalid"
    );
    // A guard that does not run guards nothing.
    let hook = "[[hooks]]\nevent = 'PreToolUse'\ncommand = 'exit 2'\n";
    assert_eq!(code(with_file(&folder, hook)), "invalid");
    // A key that is not there is told when the model is looked up.
    let no_key = with_file(&folder, FILE).variables([("OTHER", "x")]);
    assert_eq!(code(no_key), "unknown");
    assert_eq!(
        code(stage(|_| Reply::text("done")).settings(folder.path().join("none"))),
        "invalid"
    );
}

#[tokio::test]
async fn each_server_has_its_models_under_the_name_of_its_provider() {
    let server = |provider: &str| OpenAiChatSettings {
        provider: provider.to_owned(),
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        key_variable: None,
        ..OpenAiChatSettings::default()
    };
    let both = || {
        stage(|_| Reply::text("done"))
            .openai_chat(server("left"))
            .openai_chat(server("right"))
    };
    let builder = both().tier(Tier::Small, "left/a").child_model("right/b");
    builder.build().unwrap();
    let error = both()
        .child_model("openai-chat/a")
        .build()
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, Error::Unknown(_)), "{error}");
}
