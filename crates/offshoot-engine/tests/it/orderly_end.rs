//! A process that ends in good order leaves what a root has asked, as a crash would (R16, R20).

use offshoot_engine::{Asks, Ending};
use offshoot_types::command::{Answer, Order, Receipt, Scope, Verdict};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::tool::Effect;
use serde_json::json;

use crate::asks::{answer, asked, no_effect, stage, write};
use crate::stage::{Gate, Probe, Script, Stage, call, data, kind, say, task};

/// Ends the process in good order while something is asked, and starts another.
async fn end_and_start(stage: Stage) -> Stage {
    stage.runtime.shutdown(Ending::Now).await;
    stage.crash().await
}

async fn resume(stage: &Stage) {
    let receipt = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(receipt, Receipt::Resumed);
}

/// Returns what the root has asked last.
fn last_ask(stage: &Stage, log: Vec<Entry>) -> (AgentId, CallId) {
    let asks = log.into_iter().filter_map(|entry| match entry.event {
        Event::Asked { call, .. } if entry.agent == stage.root() => Some((entry.agent, call)),
        _ => None,
    });
    asks.last().unwrap()
}

#[tokio::test]
async fn r20_a_permission_outlives_an_orderly_end_and_the_next_process_goes_on() {
    let script = Script::default().part("lead", [write("a"), say("written")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let before = stage.log().await;
    let stage = end_and_start(stage).await;
    assert_eq!(stage.log().await, before, "an orderly end writes nothing");
    resume(&stage).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("written"));
}

#[tokio::test]
async fn r20_a_question_outlives_an_orderly_end_and_is_answered_while_no_process_runs_it() {
    let question = call(&[(
        "question",
        json!({ "questions": [{ "question": "Which?" }] }),
    )]);
    let script = Script::default().part("lead", [question, say("done")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let (agent, call) = asked(&stage, 1).await;
    let mut stage = end_and_start(stage).await;
    let said = Verdict::Said {
        answers: vec![vec!["red".to_owned()]],
    };
    let kept = answer(&stage, (agent, call.clone()), said).await;
    assert_eq!(kept, Receipt::Queued);
    let second = Verdict::Said {
        answers: vec![vec!["blue".to_owned()]],
    };
    let second = answer(&stage, (stage.root(), call), second).await;
    assert_eq!(second, no_effect("it has been answered"));
    stage = stage.crash_into(Asks::NOBODY).await;
    resume(&stage).await;
    stage.quiet().await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(data(outcome), json!({ "answers": [["red"]] }));
}

#[tokio::test]
async fn r20_calls_that_run_beside_an_ask_are_stopped_and_calls_that_wait_their_turn_stay() {
    let message = call(&[
        ("probe", json!({ "path": "x" })),
        ("write", json!({ "path": "a" })),
        ("later", json!({ "path": "y" })),
    ]);
    let script = Script::default().part("lead", [message, say("done")]);
    let stage = stage(script).await;
    let probe = Probe::new("probe", Effect::Write).held_at(&Gate::shut());
    let (probed, _probe) = probe.on(&stage);
    let (_, _later) = Probe::new("later", Effect::Write).on(&stage);
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    probed.running(1).await;
    let stage = end_and_start(stage).await;
    let (later, _later) = Probe::new("later", Effect::Write).on(&stage);
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Cancelled);
    assert_eq!(stage.outcomes("lead").await.len(), 1);
    resume(&stage).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(outcomes.len(), 3);
    assert_eq!(data(&outcomes[1]), json!("done"));
    assert_eq!(data(&outcomes[2]), json!({ "path": "y" }));
    assert_eq!(later.ran().len(), 1);
}

#[tokio::test]
async fn r20_children_beside_an_ask_are_cancelled_and_their_parent_hears_of_them() {
    let both = call(&[
        ("task", json!({ "subagent_type": "worker", "prompt": "x" })),
        (
            "task",
            json!({ "subagent_type": "worker", "prompt": "y", "background": true }),
        ),
        ("write", json!({ "path": "a" })),
    ]);
    let script = Script::default()
        .part("lead", [both, say("written"), say("heard")])
        .part("worker", [write("b"), write("b"), say("never")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    asked(&stage, 3).await;
    let ask = last_ask(&stage, stage.log().await);
    let stage = end_and_start(stage).await;
    let log = stage.log().await;
    let ends: Vec<Status> = log
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Settled { settlement, .. } => Some(settlement.status),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 2);
    let cancelled = |status: &Status| matches!(status, Status::Cancelled(_));
    assert!(ends.iter().all(cancelled), "{ends:?}");
    resume(&stage).await;
    answer(&stage, ask, Verdict::Once).await;
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    let failed = outcomes.iter().filter(|outcome| outcome.is_error());
    let kinds: Vec<ErrorKind> = failed.map(kind).collect();
    assert_eq!(kinds, [ErrorKind::AbortedByParent]);
    let told = |entry: &&Entry| matches!(entry.event, Event::Completion { .. });
    assert_eq!(stage.log().await.iter().filter(told).count(), 1);
}

#[tokio::test]
async fn r20_what_a_child_asks_ends_with_its_run_at_an_orderly_end() {
    let script = Script::default()
        .part("lead", [task("worker", "x"), say("done")])
        .part("worker", [write("a"), say("worked")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = end_and_start(stage).await;
    let late = answer(&stage, ask, Verdict::Once).await;
    assert_eq!(late, no_effect("nobody asks that"));
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::Shutdown));
}

#[tokio::test]
async fn r20_a_person_who_cancels_withdraws_also_beside_and_after_an_orderly_end() {
    for after in [false, true] {
        let script = Script::default().part("lead", [write("a"), say("written")]);
        let mut stage = stage(script).await;
        stage.prompt(stage.root(), "go").await;
        let ask = asked(&stage, 1).await;
        if after {
            stage = end_and_start(stage).await;
        }
        let settlement = stage.cancel(stage.root()).await;
        assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
        if !after {
            stage = end_and_start(stage).await;
        }
        let late = answer(&stage, ask, Verdict::Once).await;
        assert_eq!(late, no_effect("nobody asks that"));
    }
}

#[tokio::test]
async fn r20_an_order_to_cancel_that_comes_with_the_end_is_never_told_what_did_not_happen() {
    for scope in [Scope::Run, Scope::Turn] {
        let script = Script::default().part("lead", [write("a"), say("written")]);
        let stage = stage(script).await;
        stage.prompt(stage.root(), "go").await;
        asked(&stage, 1).await;
        let command = stage.command(&stage.tree, stage.root(), Order::Cancel(scope));
        let (receipt, ()) = tokio::join!(
            stage.runtime.command(command),
            stage.runtime.shutdown(Ending::Now)
        );
        let log = stage.log().await;
        let ended = |entry: &Entry| matches!(entry.event, Event::TurnEnded { .. });
        let is_over = log.iter().any(ended);
        let is_told = matches!(receipt, Ok(Receipt::TurnCancelled | Receipt::Settled(_)));
        assert_eq!(is_told, is_over, "{scope:?} {receipt:?}");
    }
}

#[tokio::test]
async fn r20_an_answer_that_comes_with_the_end_counts_once() {
    let script = Script::default().part("lead", [write("a"), say("written")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let (agent, call) = asked(&stage, 1).await;
    let yes = Order::Answer(Answer::new(call, Verdict::Once));
    let command = stage.command(&stage.tree, agent, yes);
    let (_, ()) = tokio::join!(
        stage.runtime.command(command.clone()),
        stage.runtime.shutdown(Ending::Now)
    );
    let stage = stage.crash().await;
    // The sender may not know whether its answer was taken, and sends it again.
    stage.runtime.command(command).await.unwrap();
    stage.order(stage.root(), Order::Resume).await;
    stage.quiet().await;
    let decided = |entry: &&Entry| matches!(entry.event, Event::Decided { .. });
    assert_eq!(stage.log().await.iter().filter(decided).count(), 1);
    assert_eq!(stage.outcomes("lead").await.len(), 1);
}
