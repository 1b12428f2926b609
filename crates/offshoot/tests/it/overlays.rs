//! What a program brings for one session alone, and prompts with attachments.

use std::sync::Arc;

use offshoot::types::hook::{About, Hook, Hooks};
use offshoot::types::message::UserMessage;
use offshoot::types::model::RequestMessage;
use offshoot::{
    Content, Ending, Event, FnModel, FnTool, Manifest, Mode, Overlay, Part, Reply, Request,
    Runtime, Session, SystemMessage, ToolFilter,
};
use serde_json::{Value, json};

use super::{said, stage, until, worker};

/// Adds a name to every message.
struct Signs(&'static str);

impl Hook for Signs {
    fn user_message(&self, _about: About<'_>, message: &mut UserMessage) -> Result<(), String> {
        message.text = format!("{} for {}", message.text, self.0).into();
        Ok(())
    }
}

/// An agent, a tool, a model and a hook that are called alike in every overlay, and say whose they are.
fn overlay(whose: &'static str) -> Overlay {
    let model = FnModel::new(move |request: Request| async move { Ok(plays(&request, whose)) });
    let schema = json!({ "type": "object" });
    let lookup = FnTool::new("lookup", "Looks.", &schema, move |_: Value| async move {
        Ok::<_, String>(format!("tool of {whose}"))
    });
    let helper = format!("You are the helper of {whose}.");
    let mut hooks = Hooks::default();
    hooks.add(Arc::new(Signs(whose)));
    Overlay {
        agents: vec![Manifest::new("helper", Mode::Subagent, helper)],
        tools: vec![Arc::new(lookup)],
        models: vec![("own/model".to_owned(), Arc::new(model))],
        hooks,
        ..Overlay::default()
    }
}

/// Plays the model of an overlay: asks the tool, then the helper, then says what came of it.
fn plays(request: &Request, whose: &str) -> Reply {
    if request.from.definition == "helper" {
        let own = request.system.contains(&format!("helper of {whose}."));
        return Reply::text(if own {
            format!("helper of {whose}")
        } else {
            "another".to_owned()
        });
    }
    let mut outcomes = request
        .messages
        .iter()
        .rev()
        .map_while(|message| match message {
            RequestMessage::User(_) => None,
            RequestMessage::Outcomes(outcomes) => Some(outcomes[0].text.to_string()),
            RequestMessage::Assistant(_) => Some(String::new()),
        });
    let last = outcomes.next();
    let first = outcomes.nth(1);
    match (last, first) {
        (None, _) => Reply::call("lookup", &json!({})),
        (Some(_), None) => Reply::call(
            "task",
            &json!({ "subagent_type": "helper", "prompt": "Help." }),
        ),
        (Some(helped), Some(looked)) => {
            let prompt = request
                .messages
                .iter()
                .rev()
                .find_map(|message| match message {
                    RequestMessage::User(text) => Some(text.to_string()),
                    _ => None,
                });
            Reply::text(format!(
                "model of {whose}; {}; {looked}; {helped}",
                prompt.unwrap_or_default()
            ))
        }
    }
}

/// Asks a session, and fails unless everything in it was of one overlay.
async fn check(session: &Session, whose: &str) {
    let output = session.prompt("go").await.unwrap().output.unwrap();
    let mut others = ["one", "two", "three"].into_iter();
    let crosses = others.any(|other| other != whose && output.contains(other));
    assert!(!crosses, "{output}");
    for part in ["model of", "go for", "tool of", "helper of"] {
        assert!(output.contains(&format!("{part} {whose}")), "{output}");
    }
}

#[tokio::test]
async fn r12_overlays_with_the_same_names_share_nothing_at_once_or_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let build = || {
        let builder = Runtime::builder().data_dir(folder.path().join("data"));
        builder.agent(worker()).build().unwrap()
    };
    let runtime = build();
    let open = async |whose| {
        let session = runtime.new_session().model("own/model");
        session
            .id(whose)
            .overlay(overlay(whose))
            .open("worker")
            .await
            .unwrap()
    };
    let (one, two) = (open("one").await, open("two").await);
    tokio::join!(check(&one, "one"), check(&two, "two"));
    let again = one.attach(overlay("one")).map(drop);
    assert_eq!(again.unwrap_err().code(), "attach");
    runtime.shutdown(Ending::Now).await;
    drop((one, two, runtime));

    let runtime = build();
    let [one, two] = [
        runtime.find("one").await.unwrap(),
        runtime.find("two").await.unwrap(),
    ];
    // The log has names only.
    let error = one.prompt("go").await.unwrap_err();
    assert_eq!(error.code(), "missing_model");
    // Another client attaches the first session: its parts have the same names.
    let attached = [
        one.attach(overlay("three")).unwrap(),
        two.attach(overlay("two")).unwrap(),
    ];
    tokio::join!(check(&one, "three"), check(&two, "two"));
    drop(attached);
    assert_eq!(two.prompt("go").await.unwrap_err().code(), "missing_model");
}

#[tokio::test]
async fn r12_a_session_whose_agent_came_with_an_overlay_misses_it_by_name() {
    let runtime = stage(|request| Reply::text(&*request.system))
        .build()
        .unwrap();
    let own = || Overlay {
        agents: vec![Manifest::new("own", Mode::Primary, "I am brought.")],
        ..Overlay::default()
    };
    let session = runtime
        .new_session()
        .overlay(own())
        .open("own")
        .await
        .unwrap();
    let output = session.prompt("go").await.unwrap().output.unwrap();
    assert!(output.contains("I am brought."), "{output}");
    let id = session.id().to_owned();
    drop(session);
    let session = runtime.find(&id).await.unwrap();
    assert_eq!(
        session.prompt("go").await.unwrap_err().code(),
        "missing_agent"
    );
    let _attached = session.attach(own()).unwrap();
    session.prompt("go").await.unwrap();
}

#[tokio::test]
async fn an_overlay_has_a_system_message_and_a_filter_of_tools() {
    let shows = |request: &Request| {
        let tools: Vec<&str> = request.tools.iter().map(|tool| tool.id.as_str()).collect();
        Reply::text(format!("{} | {}", request.system, tools.join(" ")))
    };
    let runtime = stage(shows).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let output = session.prompt("go").await.unwrap().output.unwrap();
    assert!(
        output.contains("task") && !output.contains("Speak Latin."),
        "{output}"
    );
    let attached = session.attach(Overlay {
        system_message: Some(SystemMessage::Append("Speak Latin.".to_owned())),
        tool_filter: ToolFilter {
            excluded: ["task".to_owned()].into(),
            ..ToolFilter::default()
        },
        ..Overlay::default()
    });
    let output = session.prompt("go").await.unwrap().output.unwrap();
    let (system, tools) = output.split_once(" | ").unwrap();
    assert!(system.contains("Speak Latin."), "{system}");
    assert!(!tools.split(' ').any(|tool| tool == "task"), "{tools}");
    drop(attached.unwrap());
}

#[tokio::test]
async fn a_prompt_has_a_picture_and_a_file_that_were_stored_before() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = stage(|request| Reply::text(said(request))).data_dir(folder.path().join("data"));
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    let png = b"\x89PNG\r\n\x1a\n".to_vec();
    // The bytes say what it is.
    let picture = session
        .store_blob("a.png", "text/plain", png)
        .await
        .unwrap();
    let Part::Image(image) = &picture else {
        panic!("{picture:?}")
    };
    assert_eq!(image.media_type, "image/png");
    let notes = session
        .store_blob("notes", "text/plain", b"Use tabs.".to_vec())
        .await
        .unwrap();
    assert!(matches!(notes, Part::File(_)), "{notes:?}");
    let parts = [Part::Text("Look.".to_owned()), picture, notes];
    session.run(Content::new(parts.clone())).await.unwrap();
    until(
        &session,
        |event| matches!(event, Event::Prompted(message) if *message.text.parts() == parts),
    )
    .await;

    let runtime = stage(|_| Reply::text("done")).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let nowhere = session.store_blob("a", "text/plain", Vec::new()).await;
    assert_eq!(nowhere.unwrap_err().code(), "attachment");
}

#[tokio::test]
async fn a_child_that_the_program_starts_is_shown_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = stage(|request| Reply::text(said(request))).data_dir(folder.path().join("data"));
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    let png = b"\x89PNG\r\n\x1a\n".to_vec();
    let picture = session.store_blob("a.png", "", png).await.unwrap();
    let prompt = Content::new([Part::Text("Look.".to_owned()), picture]);
    let child = session.root().spawn("worker").prompt(prompt);
    let output = child.settled().await.unwrap().output.unwrap();
    // The model takes no images, and reads that there is one.
    assert!(
        output.contains("Look.") && output.contains("a.png"),
        "{output}"
    );
}
