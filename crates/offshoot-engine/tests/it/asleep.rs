//! What a root has asked outlives its process, and sleeps until somebody opens the session (R16).

use std::sync::Arc;
use std::time::Duration;

use offshoot_engine::{Asks, Ending, Limits, Who};
use offshoot_types::caps::{Caps, Span};
use offshoot_types::command::{Answer, Order, Receipt, Rename, Rewind, Scope, Verdict};
use offshoot_types::event::Event;
use offshoot_types::hook::{Point, Say, What};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::message::Author;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Layer, Rule, Standing};
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::tool::Effect;
use serde_json::json;

use crate::asks::{answer, asked, no, no_effect, stage, write};
use crate::stage::{Gate, Guard, Probe, Script, Stage, Trouble, call, data, deny, kind, say, task};

/// A root that has asked whether it may write, and whose process died.
async fn left_asking(script: Script, then: Asks) -> (Stage, (AgentId, CallId)) {
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    (stage.crash_into(then).await, ask)
}

fn writes() -> Script {
    Script::default().part("lead", [write("a"), say("written")])
}

/// Opens the session, as a face does.
async fn resume(stage: &Stage) {
    let receipt = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(receipt, Receipt::Resumed);
}

#[tokio::test]
async fn r16_an_ask_of_a_root_survives_and_the_call_runs_once_somebody_says_yes() {
    let (stage, ask) = left_asking(writes(), Asks::SOMEBODY).await;
    resume(&stage).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("written"));
    let asked = |event: &Event| matches!(event, Event::Asked { .. });
    let log = stage.log().await;
    assert_eq!(log.iter().filter(|entry| asked(&entry.event)).count(), 1);
}

#[tokio::test]
async fn r16_an_answer_to_what_sleeps_is_kept_and_starts_nothing_until_the_session_is_opened() {
    // Whoever opens it has nobody to ask: what was answered counts all the same.
    let (stage, ask) = left_asking(writes(), Asks::NOBODY).await;
    let kept = answer(&stage, ask.clone(), Verdict::Once).await;
    assert_eq!(kept, Receipt::Queued);
    let second = answer(&stage, ask, no("too late")).await;
    assert_eq!(second, no_effect("it has been answered"));
    assert!(stage.outcomes("lead").await.is_empty());
    let stage = stage.crash().await;
    resume(&stage).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

/// Has the session look round: what it was sent before has been taken by then.
async fn look_round(stage: &Stage) {
    let promote = stage.order(stage.root(), Order::Promote).await;
    assert_eq!(promote, no_effect("no call waits for this agent"));
}

#[tokio::test]
async fn r16_what_is_kept_for_who_opens_the_session_is_left_where_it_is() {
    // Left by another process, or given to this one, which has to leave it once.
    for submits in [0, 1] {
        let (stage, ask) = left_asking(writes(), Asks::NOBODY).await;
        stage.leave_order(Order::Resume).await;
        let yes = Answer::new(ask.1.clone(), Verdict::Once);
        match submits {
            0 => stage.leave_order(Order::Answer(yes)).await,
            _ => drop(answer(&stage, ask, Verdict::Once).await),
        }
        for _ in 0..20 {
            look_round(&stage).await;
        }
        // Whatever is left nudges the owner, who would take it up again, and leave it again.
        assert_eq!(stage.wire.submits(), submits);
        resume(&stage).await;
        stage.quiet().await;
        assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
    }
}

#[tokio::test]
async fn r16_what_was_kept_is_told_that_the_turn_was_cancelled_meanwhile() {
    let (stage, ask) = left_asking(writes(), Asks::NOBODY).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Queued);
    stage.cancel(stage.root()).await;
    // It has nothing left to wait for, and gives the tree back.
    let (_, owned) = stage.leave(offshoot_engine::Ending::WhenQuiet).await;
    assert!(!owned);
}

/// Nobody polls, and nudges are lost.
async fn left_alone(script: Script, then: Asks) -> (Stage, (AgentId, CallId)) {
    let limits = Limits {
        poll: Duration::from_secs(3600),
        ..Limits::default()
    };
    let stage = Stage::asking(script, limits, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash_into(then).await;
    look_round(&stage).await;
    stage.wire.lose_nudges();
    (stage, ask)
}

#[tokio::test]
async fn r16_what_was_answered_is_heard_before_what_was_said_earlier() {
    let script = Script::default().part("lead", [write("a"), say("written"), say("more")]);
    let (stage, (_, call)) = left_alone(script, Asks::NOBODY).await;
    stage.leave_order(Order::Prompt(stage.words("more"))).await;
    for _ in 0..20 {
        // It takes the session a while to come to the answer.
        stage.leave_order(Order::Promote).await;
    }
    let yes = Answer::new(call, Verdict::Once);
    stage.leave_order(Order::Answer(yes)).await;
    resume(&stage).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

#[tokio::test]
async fn r16_an_answer_that_is_none_does_not_stand_before_one_that_is() {
    let (stage, (root, call)) = left_alone(writes(), Asks::NOBODY).await;
    let answers = vec![vec!["words".to_owned()]];
    let words = Answer::new(call.clone(), Verdict::Said { answers });
    stage.leave_order(Order::Answer(words)).await;
    let kept = answer(&stage, (root, call), Verdict::Once).await;
    assert_eq!(kept, Receipt::Queued);
}

/// Somebody is there, and has so many seconds to answer.
fn within(secs: u64) -> Asks {
    let within = Some(Duration::from_secs(secs));
    Asks {
        yes: false,
        who: Who::Somebody { within },
    }
}

#[tokio::test]
async fn r16_an_answer_that_was_kept_in_time_holds_when_the_deadline_is_over() {
    let expected = "error: write was denied by the user: never";
    for (verdict, expected) in [(no("never"), expected), (Verdict::Once, "done")] {
        let stage = Stage::asking(writes(), Limits::default(), within(6)).await;
        stage.prompt(stage.root(), "go").await;
        let ask = asked(&stage, 1).await;
        let stage = stage.crash_into(within(6)).await;
        assert_eq!(answer(&stage, ask, verdict).await, Receipt::Queued);
        stage.jump(Duration::from_secs(7));
        // A host that says yes to everything does not say it over what a person has said.
        let stage = stage.crash_into(Asks::YES).await;
        resume(&stage).await;
        stage.quiet().await;
        assert_eq!(stage.outcomes("lead").await[0].for_model(), expected);
    }
}

#[tokio::test]
async fn r16_an_answer_to_what_sleeps_is_refused_after_the_deadline() {
    let stage = Stage::asking(writes(), Limits::default(), within(6)).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash().await;
    stage.jump(Duration::from_secs(7));
    let late = answer(&stage, ask, Verdict::Once).await;
    assert_eq!(late, no_effect("it is too late to answer that"));
}

/// Tells whether something was decided, or a call has ended.
async fn is_decided(stage: &Stage) -> bool {
    let is = |event: &Event| matches!(event, Event::Decided { .. } | Event::CallFinished { .. });
    stage.log().await.iter().any(|entry| is(&entry.event))
}

const NOBODY: &str = "it waits for an answer, and nobody here can give one";

#[tokio::test]
async fn r16_whoever_opens_it_without_anybody_to_ask_lets_it_sleep_and_is_queued() {
    let script = Script::default().part("lead", [write("a"), say("written"), say("more")]);
    let (stage, ask) = left_asking(script, Asks::NOBODY).await;
    let opened = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(opened, no_effect(NOBODY));
    let more = Order::Prompt(stage.words("more"));
    let queued = stage.order(stage.root(), more).await;
    assert_eq!(queued, Receipt::Queued);
    stage
        .runtime
        .shutdown(offshoot_engine::Ending::WhenQuiet)
        .await;
    assert!(!is_decided(&stage).await, "it is still asked");
    let stage = stage.crash_into(Asks::SOMEBODY).await;
    resume(&stage).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("more"));
}

#[tokio::test]
async fn r16_an_answer_opens_it_for_who_came_before_and_could_not() {
    let script = Script::default().part("lead", [write("a"), say("written"), say("more")]);
    let (stage, ask) = left_asking(script, Asks::NOBODY).await;
    let more = Order::Prompt(stage.words("more"));
    assert_eq!(stage.order(stage.root(), more).await, Receipt::Queued);
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("more"));
}

#[tokio::test]
async fn r16_an_answer_opens_nothing_for_who_has_gone() {
    for left in [None, Some("more")] {
        let (stage, ask) = left_asking(writes(), Asks::NOBODY).await;
        stage
            .leave_order(match left {
                Some(text) => Order::Prompt(stage.words(text)),
                None => Order::Resume,
            })
            .await;
        assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Queued);
        stage
            .runtime
            .shutdown(offshoot_engine::Ending::WhenQuiet)
            .await;
        assert!(!is_decided(&stage).await, "{left:?}: nobody has opened it");
        let stage = stage.crash_into(Asks::NOBODY).await;
        resume(&stage).await;
        stage.quiet().await;
        assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
    }
}

#[tokio::test]
async fn r16_a_host_that_says_yes_answers_no_question_that_sleeps() {
    let which = json!({ "questions": [{ "question": "which?" }] });
    let script = Script::default().part("lead", [call(&[("question", which)]), say("that")]);
    let (stage, _) = left_asking(script, Asks::YES).await;
    let opened = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(opened, no_effect(NOBODY));
    assert!(!is_decided(&stage).await);
}

#[tokio::test]
async fn r16_what_rules_allow_by_now_needs_nobody_any_more() {
    let stage = stage(writes()).await;
    stage.prompt(stage.root(), "go").await;
    asked(&stage, 1).await;
    stage.says(vec![Layer {
        name: "the user's rules".to_owned(),
        rules: vec![Rule::new("fs.write", "*", Action::Allow)],
        standing: Standing::Grants,
        ..Layer::default()
    }]);
    let stage = stage.crash_into(Asks::NOBODY).await;
    resume(&stage).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

#[tokio::test]
async fn r16_a_yes_to_what_was_asked_is_none_to_what_is_asked_about_only_now() {
    for then in [Asks::NOBODY, Asks::SOMEBODY] {
        let edit = call(&[("edit", json!({ "path": "a" }))]);
        let script = Script::default().part("lead", [edit, say("then again")]);
        let stage = stage(script).await;
        let reading = |action| Layer {
            name: "the user's rules".to_owned(),
            rules: vec![Rule::new("fs.read", "*", action)],
            standing: Standing::Grants,
            ..Layer::default()
        };
        stage.says(vec![reading(Action::Allow)]);
        let stage = stage.crash().await;
        let probe = || Probe::new("edit", Effect::Write).needing("fs.read");
        let (_, _attached) = probe().needing("fs.write").on(&stage);
        stage.prompt(stage.root(), "go").await;
        let ask = asked(&stage, 1).await;
        stage.says(vec![reading(Action::Ask)]);
        let stage = stage.crash_into(then).await;
        let (notes, _attached) = probe().needing("fs.write").on(&stage);
        assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Queued);
        resume(&stage).await;
        stage.quiet().await;
        let told = "error: what it needs has changed; call it again";
        assert_eq!(stage.outcomes("lead").await[0].for_model(), told);
        assert!(notes.ran().is_empty());
    }
}

#[tokio::test]
async fn r16_whoever_cannot_go_on_with_it_lets_it_sleep_and_hears_why() {
    let script = Script::default().part("lead", [write("a"), say("written"), say("more")]);
    let (stage, ask) = left_asking(script, Asks::SOMEBODY).await;
    stage.script.has_model(false);
    let opened = stage.order(stage.root(), Order::Resume).await;
    let Receipt::NoEffect { why } = opened else {
        panic!("it was opened: {opened:?}")
    };
    assert!(why.contains("there is no model script"), "{why}");
    let more = Order::Prompt(stage.words("more"));
    assert_eq!(stage.order(stage.root(), more).await, Receipt::Queued);
    assert!(!is_decided(&stage).await, "it is still asked");
    stage.script.has_model(true);
    resume(&stage).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

#[tokio::test]
async fn r16_what_nobody_answered_in_time_needs_nobody_either() {
    let stage = Stage::asking(writes(), Limits::default(), within(6)).await;
    stage.prompt(stage.root(), "go").await;
    asked(&stage, 1).await;
    let stage = stage.crash_into(Asks::NOBODY).await;
    stage.jump(Duration::from_secs(7));
    resume(&stage).await;
    stage.quiet().await;
    let told = "error: write needs permission and nobody answered in time";
    assert_eq!(stage.outcomes("lead").await[0].for_model(), told);
}

#[tokio::test]
async fn r22_a_kept_answer_for_the_session_covers_the_like_of_the_same_message() {
    for verdict in [Verdict::Session, Verdict::Agent] {
        let ls = || ("run", json!({ "path": "ls" }));
        let script = Script::default().part("lead", [call(&[ls(), ls()]), say("listed")]);
        let stage = Stage::asking(script, Limits::default(), within(6)).await;
        stage.prompt(stage.root(), "go").await;
        asked(&stage, 2).await;
        let first = asked(&stage, 1).await;
        let stage = stage.crash_into(Asks::NOBODY).await;
        assert_eq!(answer(&stage, first, verdict).await, Receipt::Queued);
        // The other one's time is over; the answer that covers it was given before.
        stage.jump(Duration::from_secs(7));
        let stage = stage.crash().await;
        resume(&stage).await;
        stage.quiet().await;
        let outcomes = stage.outcomes("lead").await;
        let done: Vec<_> = outcomes.iter().map(data).collect();
        assert_eq!(done, [json!("done"), json!("done")]);
    }
}

#[tokio::test]
async fn r22_a_kept_answer_for_once_covers_nothing_else_which_sleeps_on() {
    let ls = || ("run", json!({ "path": "ls" }));
    let script = Script::default().part("lead", [call(&[ls(), ls()]), say("listed")]);
    let stage = stage(script).await;
    stage.prompt(stage.root(), "go").await;
    asked(&stage, 2).await;
    let first = asked(&stage, 1).await;
    let stage = stage.crash_into(Asks::NOBODY).await;
    answer(&stage, first, Verdict::Once).await;
    let opened = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(opened, no_effect(NOBODY));
    assert!(!is_decided(&stage).await);
}

#[tokio::test]
async fn r16_a_prompt_that_is_refused_wakes_nobody_and_withdraws_nothing() {
    let guard = Guard::at(&[Point::UserPromptSubmit]).speaking(|it, _| {
        Ok(match &it.what {
            What::UserPromptSubmit { prompt } if prompt.contains("bad") => deny("mind your words"),
            _ => Say::nothing(),
        })
    });
    let stage = Stage::watched(writes(), Asks::SOMEBODY, &Arc::new(guard)).await;
    let first = stage.words("go");
    stage
        .order(stage.root(), Order::Prompt(first.clone()))
        .await;
    let ask = asked(&stage, 1).await;
    let mut stage = stage.crash().await;
    for refused in [stage.words("bad words"), first] {
        let receipt = stage.order(stage.root(), Order::Prompt(refused)).await;
        assert!(matches!(receipt, Receipt::NoEffect { .. }), "{receipt:?}");
        // As a face does whose errand came to nothing.
        stage.runtime.shutdown(offshoot_engine::Ending::Now).await;
        assert!(!is_decided(&stage).await, "it is still asked");
        stage = stage.crash().await;
    }
    resume(&stage).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

#[tokio::test]
async fn r16_the_turn_that_sleeps_can_be_cancelled_alone_and_what_is_queued_stays() {
    let script = Script::default().part("lead", [write("a"), say("more")]);
    let (stage, ask) = left_asking(script, Asks::NOBODY).await;
    let more = Order::Prompt(stage.words("more"));
    assert_eq!(stage.order(stage.root(), more).await, Receipt::Queued);
    let cancel = Order::Cancel(Scope::Turn);
    let cancelled = stage.order(stage.root(), cancel.clone()).await;
    assert_eq!(cancelled, Receipt::TurnCancelled);
    stage.settled(&stage.root()).await;
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Cancelled);
    let late = answer(&stage, ask, Verdict::Once).await;
    assert_eq!(late, no_effect("nobody asks that"));
    let again = stage.order(stage.root(), cancel).await;
    assert!(matches!(again, Receipt::Settled(_)), "{again:?}");
    let stage = stage.crash().await;
    resume(&stage).await;
    stage.quiet().await;
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("more"));
}

#[tokio::test]
async fn r16_a_turn_that_was_cancelled_while_it_slept_stays_so_when_the_process_dies_at_once() {
    let (stage, _) = left_asking(writes(), Asks::NOBODY).await;
    let more = Order::Prompt(stage.words("more"));
    assert_eq!(stage.order(stage.root(), more).await, Receipt::Queued);
    // Nothing else is written any more than what orders cause.
    let never = Trouble::Held(Gate::shut());
    stage
        .wire
        .trouble(never, |append| append.applied.is_empty());
    let cancel = Order::Cancel(Scope::Turn);
    let cancelled = stage.order(stage.root(), cancel).await;
    assert_eq!(cancelled, Receipt::TurnCancelled);
    let stage = stage.crash().await;
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    assert_eq!(kind(&stage.outcomes("lead").await[0]), ErrorKind::Cancelled);
}

#[tokio::test]
async fn r26_time_in_which_nobody_had_the_session_is_no_time_of_the_run() {
    let limits = Limits {
        root: Caps {
            time: Some(Span::secs(4)),
            ..Caps::default()
        },
        ..Limits::default()
    };
    let stage = Stage::asking(writes(), limits, Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash().await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Queued);
    stage.jump(Duration::from_secs(100));
    let stage = stage.crash().await;
    resume(&stage).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.status, Status::Completed);
}

#[tokio::test]
async fn r16_what_sleeps_can_be_cancelled_and_named_and_nothing_else() {
    let (stage, ask) = left_asking(writes(), Asks::SOMEBODY).await;
    let name = Rename {
        title: "asleep".to_owned(),
        by: Author::Human,
    };
    let named = stage.order(stage.root(), Order::Rename(name)).await;
    assert_eq!(named, Receipt::Renamed);
    let busy = no_effect("it waits for an answer; open the session first");
    for order in [
        Order::Compact,
        Order::Summarise,
        Order::Rewind(Rewind { to: None }),
    ] {
        assert_eq!(stage.order(stage.root(), order).await, busy);
    }
    let settlement = stage.cancel(stage.root()).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    let late = answer(&stage, ask, Verdict::Once).await;
    assert_eq!(late, no_effect("nobody asks that"));
}

#[tokio::test]
async fn r16_a_child_that_asked_is_lost_with_its_process_and_its_ask_withdrawn() {
    let script = Script::default()
        .part("lead", [task("worker", "x"), say("done")])
        .part("worker", [write("a"), say("worked")]);
    let (stage, ask) = left_asking(script, Asks::SOMEBODY).await;
    let late = answer(&stage, ask, Verdict::Once).await;
    assert_eq!(late, no_effect("nobody asks that"));
    let worker = stage.born("worker").await;
    let settlement = stage.settlement(&worker).await;
    assert!(matches!(settlement.status, Status::Lost { .. }));
}

#[tokio::test]
async fn r16_beside_an_ask_that_survives_nothing_is_rerun_and_lost_children_are_told() {
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
    let log = stage.log().await;
    let ask = log.into_iter().find_map(|entry| match entry.event {
        Event::Asked { call, .. } if entry.agent == stage.root() => Some((entry.agent, call)),
        _ => None,
    });
    let stage = stage.crash().await;
    resume(&stage).await;
    answer(&stage, ask.unwrap(), Verdict::Once).await;
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    let failed = outcomes.iter().filter(|outcome| outcome.is_error());
    let kinds: Vec<ErrorKind> = failed.map(kind).collect();
    assert_eq!(kinds, [ErrorKind::ChildFailed]);
    let told = |event: &Event| matches!(event, Event::Completion { .. });
    let log = stage.log().await;
    assert_eq!(log.iter().filter(|entry| told(&entry.event)).count(), 1);
}

#[tokio::test]
async fn r20_a_process_that_only_looked_in_lets_what_sleeps_sleep_on() {
    let (stage, ask) = left_asking(writes(), Asks::SOMEBODY).await;
    answer(&stage, ask, Verdict::Once).await;
    stage
        .runtime
        .shutdown(offshoot_engine::Ending::WhenQuiet)
        .await;
    let stage = stage.crash().await;
    let settled = |event: &Event| matches!(event, Event::Settled { .. });
    assert!(!stage.log().await.iter().any(|entry| settled(&entry.event)));
    resume(&stage).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

#[tokio::test]
async fn r16_a_host_that_says_yes_by_now_asks_nobody_any_more() {
    let (stage, _) = left_asking(writes(), Asks::YES).await;
    resume(&stage).await;
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
}

#[tokio::test]
async fn every_start_of_a_session_has_its_end_also_where_nobody_says_anything() {
    let points = [Point::SessionStart, Point::SessionEnd];
    let guard = Arc::new(Guard::at(&points));
    let stage = Stage::watched(writes(), Asks::SOMEBODY, &guard).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let stage = stage.crash().await;
    resume(&stage).await;
    answer(&stage, ask, Verdict::Once).await;
    stage.quiet().await;
    stage.leave(Ending::WhenQuiet).await;
    let seen = guard.seen();
    let told: Vec<&What> = seen.iter().map(|it| &it.what).collect();
    assert!(
        matches!(
            told[..],
            [
                What::SessionStart { resumes: false },
                What::SessionStart { resumes: true },
                What::SessionEnd
            ]
        ),
        "{told:?}"
    );
}

#[tokio::test]
async fn r16_a_run_that_was_cancelled_while_it_slept_is_over_in_one_commit() {
    let (stage, _) = left_asking(writes(), Asks::NOBODY).await;
    let before = stage.log().await.len();
    // Nothing is written any more but by the append that answers the order.
    let never = Trouble::Held(Gate::shut());
    stage
        .wire
        .trouble(never, |append| append.applied.is_empty());
    let receipt = stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    let Receipt::Settled(settlement) = receipt else {
        panic!("{receipt:?}");
    };
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    let log = stage.log().await;
    let events: Vec<&Event> = log[before..].iter().map(|entry| &entry.event).collect();
    assert!(
        matches!(
            events[..],
            [
                Event::CallFinished { .. },
                Event::TurnEnded { .. },
                Event::Settled { .. }
            ]
        ),
        "{events:?}"
    );
}
