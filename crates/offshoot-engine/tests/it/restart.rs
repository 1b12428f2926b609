//! The process dies: what is told, once, and what is not run again.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use offshoot_engine::{Activity, CommandError, Ending, Update};
use offshoot_types::command::{Order, Receipt, Scope};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::Pos;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::Status;
use offshoot_types::store::{Store, StoreErrorKind};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span;

use crate::stage::{
    Gate, Script, Stage, Trouble, call, kind, opening, say, task, task_in_background, user_texts,
};

#[tokio::test]
async fn sa_22_ses_40_a_lost_background_child_is_told_once_and_a_second_restart_adds_nothing() {
    let never = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("noted"),
            ],
        )
        .part("worker", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let root = stage.root();
    stage.turn_ended(&root).await;

    let stage = stage.crash().await;
    // Looking at it recovers it and starts no turn (R16).
    assert!(matches!(
        stage.order(root.clone(), Order::Cancel(Scope::Run)).await,
        Receipt::Settled(_)
    ));
    assert_eq!(stage.completions().await, [("lost".to_owned(), None)]);
    assert_eq!(stage.script.sent("lead").len(), 2, "nobody was asked again");
    let entries = stage.log().await.len();

    let stage = stage.crash().await;
    assert!(matches!(
        stage.order(root.clone(), Order::Cancel(Scope::Run)).await,
        Receipt::Settled(_)
    ));
    assert_eq!(
        stage.log().await.len(),
        entries,
        "a second restart adds nothing"
    );

    stage.ask("what happened?").await;
    let texts = user_texts(&stage.script.sent("lead").pop().unwrap());
    assert_eq!(
        texts
            .iter()
            .filter(|text| text.contains("status=\"lost\""))
            .count(),
        1,
        "{texts:?}"
    );
}

#[tokio::test]
async fn ses_40_a_blocking_child_that_was_lost_is_a_tool_error() {
    let never = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("noted")])
        .part("worker", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.born("worker").await;

    let stage = stage.crash().await;
    stage.ask("and?").await;
    assert_eq!(
        kind(&stage.outcomes("lead").await[0]),
        ErrorKind::ChildFailed
    );
    let child = stage.settlement(&stage.born("worker").await).await;
    assert!(matches!(child.status, Status::Lost { .. }));
    assert!(
        stage.completions().await.is_empty(),
        "told in the call, not a second time"
    );
}

#[tokio::test]
async fn r16_a_result_that_was_there_is_delivered_into_the_call_that_waited() {
    let never = Gate::shut();
    let two = [
        (
            "task",
            json!({ "subagent_type": "worker", "prompt": "quick" }),
        ),
        (
            "task",
            json!({ "subagent_type": "helper", "prompt": "slow" }),
        ),
    ];
    let script = Script::default()
        .part("lead", [call(&two), say("noted")])
        .part("worker", [say("in time")])
        .part("helper", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let worker = stage.born("worker").await;
    stage.settled(&worker).await;

    let stage = stage.crash().await;
    stage.ask("and?").await;
    let last = stage.script.sent("lead").pop().unwrap();
    let sent = format!("{:?}", last.messages);
    assert_eq!(sent.matches("in time").count(), 1, "{sent}");
}

#[tokio::test]
async fn que_02_prompts_that_were_queued_survive_and_fire_in_order() {
    let never = Gate::shut();
    let script = Script::default().part(
        "lead",
        [say("never").behind(&never), say("two"), say("three")],
    );
    let stage = Stage::new(script).await;
    for text in ["one", "two"] {
        stage.prompt(stage.root(), text).await;
    }
    stage.asked("lead", 1).await;
    let stage = stage.crash().await;
    stage.ask("three").await;
    let texts = user_texts(&stage.script.sent("lead").pop().unwrap());
    assert_eq!(texts, ["one", "two", "three"]);
}

#[tokio::test]
async fn r7_recovering_the_others_settles_what_a_dead_process_left_and_starts_nothing() {
    let never = Gate::shut();
    let script = Script::default().part("lead", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let root = stage.root();
    stage
        .until(|entry| entry.agent == root && matches!(entry.event, Event::TurnStarted { .. }))
        .await;

    let stage = stage.crash().await;
    // Any command will do: here a session of its own.
    stage.open_another("neighbour").await;
    stage.settled(&root).await;
    assert!(matches!(
        stage.settlement(&root).await.status,
        Status::Lost { .. }
    ));
    assert_eq!(stage.script.sent("lead").len(), 1, "nobody was asked again");
}

#[tokio::test]
async fn r7_what_a_dead_process_left_in_another_folder_is_left_to_who_opens_it() {
    let never = Gate::shut();
    let script = Script::default().part("lead", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let root = stage.root();
    stage
        .until(|entry| entry.agent == root && matches!(entry.event, Event::TurnStarted { .. }))
        .await;

    let stage = stage.crash().await;
    let mut elsewhere = opening("lead");
    elsewhere.workspace = "/elsewhere".to_owned();
    stage.open_as("neighbour", elsewhere).await;
    let (log, _) = stage.leave(Ending::WhenQuiet).await;
    // Its folder may have hooks that have to hear of the end, and that nobody has elsewhere.
    let settled = |entry: &Entry| matches!(entry.event, Event::Settled { .. });
    assert!(!log.iter().any(settled));
}

/// Keeps what is logged, one line an event.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, _metadata: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

/// A session whose process died at work, on a disk that takes no settlement.
async fn unrecoverable() -> Stage {
    let never = Gate::shut();
    let script = Script::default().part("lead", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("lead", 1).await;
    let stage = stage.crash().await;
    let is_end = |event: &Event| matches!(event, Event::Settled { .. });
    stage.wire.trouble_with(Trouble::Broken, is_end);
    stage
}

#[tokio::test]
async fn r16_the_client_that_opens_a_session_is_told_why_it_cannot_be_recovered() {
    let stage = unrecoverable().await;
    let prompt = Order::Prompt(stage.words("and?"));
    let command = stage.command(&stage.tree, stage.root(), prompt);
    let refused = stage.runtime.command(command).await;
    let Err(CommandError::Store(error)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.kind, StoreErrorKind::Io);
}

#[tokio::test]
async fn r7_a_session_that_cannot_be_recovered_in_the_background_is_logged_with_its_reason() {
    let lines = Lines::default();
    let _logged = tracing::subscriber::set_default(lines.clone());
    let stage = unrecoverable().await;
    stage.open_another("neighbour").await;
    stage.wire.met(1).await;
    while lines.0.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let lines = lines.0.lock().unwrap().clone();
    let [line] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert!(line.starts_with("WARN"), "{line}");
    assert!(line.contains(&format!("session={}", stage.tree)), "{line}");
    assert!(line.contains("it is broken"), "{line}");
}

#[tokio::test]
async fn r7_a_subscriber_learns_once_that_the_owner_is_gone() {
    let gate = Gate::shut();
    let script = Script::default().part("lead", [say("half").stalls_at(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage
        .until_activity(|activity| *activity == Activity::Streaming)
        .await;
    let stage = stage.crash().await;

    let mut updates = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
    let mut given = 0;
    while let Update::Entry(_) = updates.next().await.unwrap() {
        given += 1;
    }
    assert!(updates.is_caught_up().await.unwrap());
    let log = stage.store.entries(&stage.tree, Pos::ZERO, 99).await;
    assert_eq!(given, log.unwrap().len(), "the log is given first");

    stage.order(stage.root(), Order::Resume).await;
    let next = updates.next().await.unwrap();
    assert!(matches!(next, Update::Entry(_)), "not told twice: {next:?}");
}
