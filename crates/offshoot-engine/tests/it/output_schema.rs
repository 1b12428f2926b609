//! Messages that say which schema their answer has to fit.

use offshoot_engine::CommandError;
use offshoot_types::command::{Order, Prompt, Receipt, Spawn};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Context, Manifest, Mode};
use offshoot_types::message::MAX_OUTPUT_SCHEMA_BYTES;
use offshoot_types::settlement::{PartialReason, Settlement, Status};
use serde_json::{Value, json};

use crate::stage::{Script, Stage, say, task_in_background, user_texts};

fn schema(key: &str) -> RawJson {
    RawJson::of(&json!({
        "type": "object",
        "properties": { key: { "type": "integer" } },
        "required": [key],
    }))
}

/// Asks the root for an object with a number, and returns how the run settled.
async fn ask_for(stage: &Stage, key: &str) -> Settlement {
    let prompt = Prompt {
        output_schema: Some(schema(key)),
        ..stage.words("how many?")
    };
    let receipt = stage.order(stage.root(), Order::Prompt(prompt)).await;
    assert_eq!(receipt, Receipt::Prompted);
    stage.quiet().await;
    stage.settlement(&stage.root()).await
}

fn value(settlement: &Settlement) -> Option<Value> {
    let value = settlement.value.as_ref()?;
    Some(value.read().unwrap())
}

#[tokio::test]
async fn the_schema_of_a_message_stands_behind_its_text_and_holds_until_the_next_prompt() {
    let script = Script::default().part("lead", [say(r#"{"count": 3}"#), say("three")]);
    let stage = Stage::new(script).await;
    let settlement = ask_for(&stage, "count").await;
    assert_eq!(value(&settlement), Some(json!({ "count": 3 })));
    stage.ask("in words?").await;
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.status, Status::Completed);
    assert_eq!((value(&settlement), settlement.steps), (None, 1));

    let sent = stage.script.sent("lead");
    let texts = user_texts(&sent[1]);
    assert!(texts[0].starts_with("how many?\n\n") && texts[0].contains(r#""count""#));
    assert_eq!(texts[1], "in words?");
    // What is sent first stays as it was, to the byte.
    assert_eq!(sent[0].system, sent[1].system);
    assert!(!sent[0].system.contains("count"));
    assert_eq!(user_texts(&sent[0])[0], texts[0]);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_message_is_sent_back_once() {
    let answers = [say("three"), say(r#"{"count": 3}"#)];
    let stage = Stage::new(Script::default().part("lead", answers)).await;
    let settlement = ask_for(&stage, "count").await;
    assert_eq!(value(&settlement), Some(json!({ "count": 3 })));
    assert_eq!(settlement.steps, 2);

    let answers = [say("three"), say("four"), say("never asked")];
    let stage = Stage::new(Script::default().part("lead", answers)).await;
    let settlement = ask_for(&stage, "count").await;
    assert_eq!(settlement.status, Status::Partial(PartialReason::Schema));
    assert_eq!(settlement.steps, 2);
}

/// The result of a background agent starts a turn without a prompt: it goes on with what was asked.
#[tokio::test]
async fn what_a_run_wakes_for_is_answered_as_its_message_says() {
    let answers = [
        task_in_background("worker", "go"),
        say(r#"{"count": 0}"#),
        say("one"),
        say(r#"{"count": 1}"#),
    ];
    let script = Script::default()
        .part("lead", answers)
        .part("worker", [say("done")]);
    let settlement = ask_for(&Stage::new(script).await, "count").await;
    assert_eq!(value(&settlement), Some(json!({ "count": 1 })));
}

#[tokio::test]
async fn a_message_wins_over_the_manifest_which_holds_again_for_the_next_prompt() {
    let lead = Manifest {
        output_schema: Some(schema("count")),
        ..Manifest::new("lead", Mode::Primary, "Lead.")
    };
    let script = Script::default().part("lead", [say(r#"{"files": 2}"#), say(r#"{"count": 3}"#)]);
    let stage = Stage::with_agents(script, vec![lead]).await;
    let settlement = ask_for(&stage, "files").await;
    assert_eq!(value(&settlement), Some(json!({ "files": 2 })));
    stage.ask("and?").await;
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(value(&settlement), Some(json!({ "count": 3 })));
}

#[tokio::test]
async fn a_child_that_the_host_starts_answers_as_its_order_says() {
    let script = Script::default().part("worker", [say("three"), say(r#"{"count": 3}"#)]);
    let stage = Stage::new(script).await;
    let spawn = Spawn {
        output_schema: Some(schema("count")),
        ..Spawn::new("worker", "count")
    };
    let receipt = stage
        .order(stage.root(), Order::Spawn(Box::new(spawn)))
        .await;
    let Receipt::Spawned { agent } = receipt else {
        panic!("it was answered {receipt:?}")
    };
    stage.quiet().await;
    let settlement = stage.settlement(&agent).await;
    assert_eq!(value(&settlement), Some(json!({ "count": 3 })));
    let sent = stage.script.sent("worker");
    assert!(!sent[0].system.contains("count"), "{}", sent[0].system);
}

#[tokio::test]
async fn a_child_with_its_parents_system_prompt_reads_its_schema_in_its_directive() {
    let heir = Manifest {
        output_schema: Some(schema("count")),
        context: Context::Inherit,
        ..Manifest::new("heir", Mode::Subagent, "Count.")
    };
    let script = Script::default()
        .part("lead", [crate::stage::task("heir", "go"), say("done")])
        .part("heir", [say(r#"{"count": 3}"#)]);
    let stage = Stage::with_agents(script, vec![heir]).await;
    stage.ask("go").await;
    let settlement = stage.settlement(&stage.born("heir").await).await;
    assert_eq!(value(&settlement), Some(json!({ "count": 3 })));
    let sent = stage.script.sent("heir");
    let texts = user_texts(&sent[0]);
    let directive = texts.last().unwrap();
    assert!(
        directive.starts_with("<fork_directive>\ngo\n\n"),
        "{directive}"
    );
    assert!(directive.contains(r#""count""#), "{directive}");
}

#[tokio::test]
async fn a_schema_that_is_none_or_too_long_is_refused_before_anything_is_stored() {
    let stage = Stage::new(Script::default()).await;
    let long = "x".repeat(MAX_OUTPUT_SCHEMA_BYTES);
    for schema in [json!({ "type": "no such type" }), json!({ "title": long })] {
        let schema = Some(RawJson::of(&schema));
        let prompt = Prompt {
            output_schema: schema.clone(),
            ..stage.words("how many?")
        };
        let spawn = Spawn {
            output_schema: schema,
            ..Spawn::new("worker", "count")
        };
        for order in [Order::Prompt(prompt), Order::Spawn(Box::new(spawn))] {
            let command = stage.command(&stage.tree, stage.root(), order);
            let error = stage.runtime.command(command).await.unwrap_err();
            assert!(matches!(error, CommandError::Invalid(_)), "{error}");
        }
    }
    assert!(stage.script.sent("lead").is_empty());
}
