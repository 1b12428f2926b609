//! What a parent learns of a child that is done, or is not.

use offshoot_types::event::Event;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::model::{ModelErrorKind, ToolChoice};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{FailureKind, PartialReason, Status};
use serde_json::{Value, json};

use crate::stage::{Script, Stage, call, data, fail, kind, say, task, user_texts};

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
