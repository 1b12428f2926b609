//! What a parent learns of a child that is done, or is not.

use offshoot_types::event::Event;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::model::{ModelErrorKind, ToolChoice};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{FailureKind, PartialReason, Status};
use offshoot_types::tool::Effect;
use serde_json::{Value, json};

use crate::stage::{
    Probe, Script, Stage, call, data, fail, kind, say, task, task_in_background, user_texts,
};

const REPORT: &str = "Done.\n\nScope: all\nResult: two bugs\nKey files: a.rs\nFiles changed: none\n\
                      Issues: one left";

fn counter(schema: Value) -> Manifest {
    Manifest {
        output_schema: Some(RawJson::of(&schema)),
        ..Manifest::new("counter", Mode::Subagent, "Count.")
    }
}

fn number() -> Manifest {
    counter(json!({
        "type": "object",
        "properties": { "count": { "type": "integer" } },
        "required": ["count"],
    }))
}

fn extra(outcome: &offshoot_types::outcome::Outcome, key: &str) -> Value {
    let value = outcome.metadata.extra.get(key);
    value.unwrap_or_else(|| panic!("no {key}")).read().unwrap()
}

#[tokio::test]
async fn pd_38_pd_39_pd_57_a_report_has_its_ids_its_fields_and_what_it_took() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say(REPORT)]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    let child = stage.born("worker").await;
    assert_eq!(data(outcome), json!({ "output": REPORT }));
    assert_eq!(extra(outcome, "subagent_id"), json!(child));
    assert_eq!(extra(outcome, "definition_id"), "worker");
    assert_eq!(extra(outcome, "turns"), 1);
    assert_eq!(extra(outcome, "usage")["input"], 10);
    assert_eq!(extra(outcome, "settlement"), "completed");
    assert_eq!(extra(outcome, "report")["result"], "two bugs");
    // W-8: the model reads it once.
    let sent = stage.script.sent("lead");
    let texts = crate::stage::outcome_texts(&sent[1]);
    assert_eq!(texts[0].matches("two bugs").count(), 1);
}

#[tokio::test]
async fn pd_39_without_the_five_fields_nothing_is_made_of_them() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("Scope: all\nResult: fine")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert!(outcome.metadata.extra.get("report").is_none());
    assert_eq!(extra(outcome, "settlement"), "completed");
}

#[tokio::test]
async fn an_answer_that_fits_its_schema_is_a_value() {
    let script = Script::default()
        .part("lead", [task("counter", "go"), say("done")])
        .part("counter", [say("```json\n{\"count\": 3}\n```")]);
    let stage = Stage::with_agents(script, vec![number()]).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(data(outcome), json!({ "output": { "count": 3 } }));
    let request = &stage.script.sent("counter")[0];
    assert!(
        request.system.contains("\"count\""),
        "it is told the schema"
    );
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_sent_back_once_with_what_is_wrong() {
    let script = Script::default()
        .part("lead", [task("counter", "go"), say("done")])
        .part("counter", [say("three"), say("{\"count\": 3}")]);
    let stage = Stage::with_agents(script, vec![number()]).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(data(outcome), json!({ "output": { "count": 3 } }));
    let sent = stage.script.sent("counter");
    assert_eq!(sent.len(), 2);
    let told = user_texts(&sent[1]);
    assert!(told[1].contains("no JSON value"), "{told:?}");
    assert_eq!(sent[1].choice, ToolChoice::Auto);
}

#[tokio::test]
async fn an_answer_that_never_fits_is_partial_and_says_so() {
    let script = Script::default()
        .part("lead", [task("counter", "go"), say("done")])
        .part(
            "counter",
            [say("three"), say("{\"count\": \"3\"}"), say("never asked")],
        );
    let stage = Stage::with_agents(script, vec![number()]).await;
    stage.ask("go").await;
    let child = stage.settlement(&stage.born("counter").await).await;
    assert_eq!(child.status, Status::Partial(PartialReason::Schema));
    assert_eq!(stage.script.sent("counter").len(), 2, "one repair step");
    let told = stage.outcomes("lead").await[0].for_model();
    assert!(told.contains("does not fit its schema"), "{told}");
}

#[tokio::test]
async fn a_schema_that_is_none_ends_the_child_in_good_order() {
    let script = Script::default().part("lead", [task("counter", "go"), say("done")]);
    let broken = counter(json!({ "type": "no such type" }));
    let stage = Stage::with_agents(script, vec![broken]).await;
    stage.ask("go").await;
    let child = stage.settlement(&stage.born("counter").await).await;
    assert!(
        matches!(&child.status, Status::Failed { kind: FailureKind::Config, message }
            if message.contains("output_schema")),
        "{child:?}"
    );
    assert!(stage.script.sent("counter").is_empty());
    let root = stage.settlement(&stage.root()).await;
    assert_eq!(root.output.as_deref(), Some("done"), "the parent goes on");
}

#[tokio::test(start_paused = true)]
async fn w_7_a_failed_child_says_why_what_it_said_last_and_where_what_it_did_is() {
    let look = call(&[("read", json!({ "path": "a" }))]);
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part(
            "worker",
            [
                look,
                fail(ModelErrorKind::RateLimited { retry_after: None }),
                fail(ModelErrorKind::Unavailable),
                fail(ModelErrorKind::Invalid),
            ],
        );
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(kind(outcome), ErrorKind::ChildFailed);
    let text = outcome.for_model();
    let child = stage.born("worker").await;
    assert!(
        text.contains("failed: the model is unwell (3 tries)"),
        "{text}"
    );
    assert!(text.contains(child.as_str()), "{text}");
    assert!(
        text.contains(&format!("/w/.data/scratch/root/{child}/transcript-of-")),
        "{text}"
    );
    assert_eq!(extra(outcome, "turns"), 1, "what came to a message");
    assert_eq!(
        extra(outcome, "usage")["input"],
        10,
        "what it used is not lost"
    );
}

#[tokio::test]
async fn an_objection_is_said_by_the_runtime_and_in_the_log() {
    let script = Script::default()
        .part("lead", [task("counter", "go"), say("done")])
        .part("counter", [say("three"), say("{\"count\": 3}")]);
    let stage = Stage::with_agents(script, vec![number()]).await;
    stage.ask("go").await;
    let log = stage.log().await;
    let said = log.iter().any(|entry| {
        matches!(&entry.event, Event::Prompted(message)
            if message.from == offshoot_types::message::Author::Host)
    });
    assert!(said);
}

#[tokio::test]
async fn a_message_that_comes_with_an_answer_that_does_not_fit_harms_nothing() {
    // Whichever comes first, the log can be read and everything is answered.
    for _ in 0..20 {
        let gate = crate::stage::Gate::shut();
        let watched = Manifest {
            inspectable: true,
            ..number()
        };
        let script = Script::default()
            .part("lead", [task("counter", "go"), say("done")])
            .part(
                "counter",
                [
                    say("three").behind(&gate),
                    say("{\"count\": 3}"),
                    say("{\"count\": 4}"),
                ],
            );
        let stage = Stage::with_agents(script, vec![watched]).await;
        stage.prompt(stage.root(), "go").await;
        stage.asked("counter", 1).await;
        let child = stage.born("counter").await;
        let prompt = stage.prompt(child, "make it four");
        let open = async { gate.open() };
        futures_util::future::join(prompt, open).await;
        stage.quiet().await;
        let root = stage.settlement(&stage.root()).await;
        assert_eq!(root.status, Status::Completed);
        let stage = stage.crash().await;
        stage.ask("still there?").await;
    }
}

/// Returns what the root's rows have of its first child: the metadata of a call that waited, or of a
/// completion, and the call that made the child.
async fn told_in_rows(stage: &Stage) -> (Value, Value) {
    let chat = stage.chat().await;
    let messages = chat["messages"].as_array().unwrap().iter();
    let parts = messages.flat_map(|message| message["parts"].as_array().unwrap());
    let mut parts = parts.map(|part| -> Value {
        serde_json::from_str(part["data_json"].as_str().unwrap()).unwrap()
    });
    let is_told = |part: &Value| {
        let waited = part["type"] == "tool-task" && part["metadata"]["subagent_id"].is_string();
        waited || part["type"] == "data-task-completion"
    };
    let part = parts.find(is_told).unwrap();
    if part["type"] == "tool-task" {
        return (part["metadata"].clone(), part["toolCallId"].clone());
    }
    let data = &part["data"];
    (data["metadata"].clone(), data["call_id"].clone())
}

#[tokio::test]
async fn pd_38_a_completion_carries_what_the_outcome_of_a_waiting_call_does() {
    let writes = || call(&[("put", json!({ "path": "a" }))]);
    let invalid = || fail(ModelErrorKind::Invalid);
    for lines in [[writes(), say(REPORT)], [writes(), invalid()]] {
        let mut told = Vec::new();
        for line in [task("worker", "go"), task_in_background("worker", "go")] {
            let script = Script::default()
                .priced(1.0, 2.0)
                .part("lead", [line, say("done"), say("heard")])
                .part("worker", lines.clone());
            let stage = Stage::new(script).await;
            let (_, _put) = Probe::new("put", Effect::Write).changing().on(&stage);
            stage.ask("go").await;
            let child = stage.born("worker").await;
            let (mut metadata, call) = told_in_rows(&stage).await;
            assert_eq!(metadata["subagent_id"], json!(child));
            assert_eq!(metadata["files_changed"], json!(["a"]));
            assert!(metadata["cost_usd"].is_number(), "{metadata}");
            let tree = stage.tree().await;
            let parent = tree.agent(&child).unwrap().parent().unwrap();
            assert_eq!(call, json!(parent.call));
            // Two children have two names and two folders.
            for key in ["subagent_id", "transcript_path"] {
                metadata.as_object_mut().unwrap().remove(key);
            }
            told.push(metadata);
        }
        assert_eq!(told[0], told[1]);
        let keys = [
            "definition_id",
            "duration_ms",
            "settlement",
            "turns",
            "usage",
        ];
        assert!(keys.iter().all(|key| !told[0][key].is_null()), "{told:?}");
        let reported = told[0]["settlement"] == "completed";
        assert_eq!(told[0]["report"].is_object(), reported);
    }
}

#[tokio::test]
async fn pd_38_what_the_model_reads_of_a_completion_names_the_call() {
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("done"),
                say("heard"),
            ],
        )
        .part("worker", [say(REPORT)]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let child = stage.born("worker").await;
    let tree = stage.tree().await;
    let call = &tree.agent(&child).unwrap().parent().unwrap().call;
    let sent = stage.script.sent("lead").pop().unwrap();
    let head = format!(
        "<task_completion agent=\"worker\" session_id=\"{child}\" call_id=\"{call}\" status=\"completed\">"
    );
    assert!(user_texts(&sent).iter().any(|text| text.starts_with(&head)));
}
