//! Ends that hooks are told of after the fact: every start has its stop, whoever dies meanwhile.

use std::sync::Arc;

use offshoot_engine::{Asks, Ending};
use offshoot_types::command::{Order, Receipt, Scope};
use offshoot_types::event::{Did, Entry, Event};
use offshoot_types::hook::{Hooks, Point, Say};
use offshoot_types::id::{AgentId, RunNo};
use offshoot_types::model::ModelErrorKind;
use offshoot_types::store::Store;

use crate::asks::asked;
use crate::hook_runs::{BOTH, delegating, is_settled, stage};
use crate::stage::{Gate, Guard, Script, Stage, call, deny, ending, fail, say, task_in_background};

/// Returns what a hook was told, as (point, run).
fn told(guard: &Guard) -> Vec<(&'static str, u32)> {
    let seen = guard.seen();
    seen.iter()
        .map(|it| (it.point().name(), it.who.run.map_or(0, RunNo::get)))
        .collect()
}

/// Returns what the log says that hooks did which heard of ends.
async fn noted(stage: &Stage) -> Vec<Did> {
    let log = stage.log().await;
    log.into_iter()
        .filter_map(|entry| match entry.event {
            Event::Hooked(hooked) if hooked.point == Point::SubagentStop => Some(hooked.did),
            _ => None,
        })
        .collect()
}

/// Has a worker end in some way; returns how hooks were told of it.
async fn told_of(script: Script, guard: &Arc<Guard>, end: impl AsyncFnOnce(&Stage, AgentId)) {
    let stage = stage(script, guard).await;
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("worker").await;
    guard.called(1).await;
    end(&stage, child.clone()).await;
    stage.settled(&child).await;
    guard.called(2).await;
    let (log, _) = stage.leave(Ending::Now).await;
    assert!(is_settled(&log, &child));
}

#[tokio::test]
async fn a_child_that_is_stopped_has_its_stop_once_after_it_is_over() {
    let guard = Arc::new(Guard::at(&BOTH).speaking(|it, _| {
        Ok(match it.point() {
            // Nobody listens to that any more.
            Point::SubagentStop => deny("no"),
            _ => Say::nothing(),
        })
    }));
    let never = Gate::shut();
    let script = delegating([say("never").behind(&never)]);
    told_of(script, &guard, async |stage: &Stage, child| {
        stage.cancel(child).await;
    })
    .await;
    assert_eq!(told(&guard), [("SubagentStart", 1), ("SubagentStop", 1)]);
    assert_eq!(ending(&guard.seen()[1]), ("cancelled", false, true));
}

#[tokio::test]
async fn a_child_that_fails_has_its_stop_once_after_it_is_over() {
    let guard = Arc::new(Guard::at(&BOTH));
    let script = delegating([fail(ModelErrorKind::Invalid)]);
    told_of(script, &guard, async |_: &Stage, _| {}).await;
    assert_eq!(told(&guard), [("SubagentStart", 1), ("SubagentStop", 1)]);
    assert_eq!(ending(&guard.seen()[1]), ("failed", false, true));
}

#[tokio::test]
async fn r16_a_child_that_was_lost_has_its_stop_when_it_is_found() {
    let guard = Arc::new(Guard::at(&BOTH));
    let never = Gate::shut();
    let stage = stage(delegating([say("never").behind(&never)]), &guard).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    let root = stage.root();
    let mut stage = stage.crash().await;
    for again in 0..2 {
        let receipt = stage.order(root.clone(), Order::Cancel(Scope::Run)).await;
        assert!(matches!(receipt, Receipt::Settled(_)));
        guard.called(2).await;
        let both = [("SubagentStart", 1), ("SubagentStop", 1)];
        assert_eq!(told(&guard), both, "{again}");
        assert_eq!(ending(&guard.seen()[1]), ("lost", false, true));
        stage = stage.crash().await;
    }
}

/// A session whose process died while its worker was at work; a hook that hears of that waits at the
/// gate.
async fn left_at_work(gate: &Gate) -> (Stage, Arc<Guard>) {
    let guard = Guard::at(&[Point::SubagentStop]).behind(gate);
    let guard = Arc::new(guard);
    let never = Gate::shut();
    let stage = stage(delegating([say("never").behind(&never)]), &guard).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    (stage.crash().await, guard)
}

#[tokio::test]
async fn exit_does_not_wait_for_a_hook_of_a_recovered_session_and_the_next_process_calls_it() {
    for ending_of_process in [Ending::WhenQuiet, Ending::Now] {
        let gate = Gate::shut();
        let (stage, guard) = left_at_work(&gate).await;
        stage.open_another("neighbour").await;
        guard.called(1).await;
        // The gate is shut: the hook does not return.
        stage.runtime.shutdown(ending_of_process).await;
        assert!(noted(&stage).await.is_empty());

        let stage = stage.crash().await;
        gate.open();
        stage.open_another("the next neighbour").await;
        until_noted(&stage).await;
        let seen = guard.seen();
        assert_eq!(seen.len(), 2, "once for each process");
        assert_eq!(ending(&seen[1]), ("lost", false, true));
    }
}

#[tokio::test]
async fn r7_nobody_waits_for_hooks_that_a_neighbour_tells_also_if_something_was_left_to_do() {
    let gate = Gate::shut();
    let (stage, guard) = left_at_work(&gate).await;
    stage.leave_order(Order::Summarise).await;
    stage.open_another("neighbour").await;
    guard.called(1).await;
    let receipt = stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    assert!(matches!(receipt, Receipt::Settled(_)), "{receipt:?}");
    gate.open();
}

/// Waits until the log says that hooks have heard of an end.
async fn until_noted(stage: &Stage) {
    let heard = |entry: &Entry| matches!(&entry.event, Event::Hooked(hooked) if hooked.point == Point::SubagentStop);
    stage.until(heard).await;
}

/// A session whose worker was stopped; the hook that hears of that waits at the gate.
async fn stopped(gate: &Gate) -> (Stage, Arc<Guard>, AgentId) {
    let guard = Arc::new(Guard::at(&BOTH).behind_at(Point::SubagentStop, gate));
    let never = Gate::shut();
    let script = delegating([say("never").behind(&never), say("again")]);
    let stage = stage(script, &guard).await;
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("worker").await;
    stage.asked("worker", 1).await;
    stage.cancel(child.clone()).await;
    guard.called(2).await;
    (stage, guard, child)
}

#[tokio::test]
async fn a_stop_that_a_crash_cut_short_is_told_by_whoever_opens_the_session_and_then_never_again() {
    let gate = Gate::shut();
    let (stage, guard, child) = stopped(&gate).await;
    stage.quiet().await;
    let mut stage = stage.crash().await;
    stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    guard.called(3).await;
    assert!(noted(&stage).await.is_empty(), "it is being told");
    gate.open();
    until_noted(&stage).await;
    let stops = [
        ("SubagentStart", 1),
        ("SubagentStop", 1),
        ("SubagentStop", 1),
    ];
    for _ in 0..2 {
        assert_eq!(told(&guard), stops);
        assert!(guard.seen().iter().all(|it| it.who.agent == child));
        assert_eq!(noted(&stage).await, [Did::Passed]);
        stage = stage.crash().await;
        stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
        stage.quiet().await;
    }
}

#[tokio::test]
async fn r7_a_neighbour_tells_stops_that_a_crash_cut_short_though_every_run_has_settled() {
    let gate = Gate::shut();
    let (stage, guard, _) = stopped(&gate).await;
    stage.quiet().await;
    let stage = stage.crash().await;
    gate.open();
    stage.open_another("neighbour").await;
    guard.called(3).await;
    until_noted(&stage).await;
    assert_eq!(noted(&stage).await, [Did::Passed]);
}

#[tokio::test]
async fn r7_who_wants_a_tree_in_which_a_neighbour_tells_hooks_has_it_and_tells_the_rest() {
    let gate = Gate::shut();
    let (stage, guard, child) = stopped(&gate).await;
    let stage = stage.crash().await;
    stage.open_another("neighbour").await;
    guard.called(3).await;
    stage.prompt(child.clone(), "again").await;
    guard.called(4).await;
    assert!(noted(&stage).await.is_empty(), "the neighbour has let go");
    gate.open();
    stage.settled_twice(&child).await;
    let all = [
        "SubagentStart",
        "SubagentStop",
        "SubagentStop",
        "SubagentStop",
    ]
    .map(|it| (it, 1));
    let second = [("SubagentStart", 2), ("SubagentStop", 2)];
    assert_eq!(told(&guard), [&all[..], &second].concat());
}

#[tokio::test]
async fn a_run_begins_when_the_stop_of_the_one_before_was_told_and_nobody_else_waits_for_it() {
    let gate = Gate::shut();
    let (stage, guard, child) = stopped(&gate).await;
    // Its parent has been told and has ended.
    stage.settled(&stage.root()).await;
    stage.prompt(child.clone(), "again").await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(guard.seen().len(), 2, "the second run has not begun");
    gate.open();
    stage.settled_twice(&child).await;
    let expected = [
        ("SubagentStart", 1),
        ("SubagentStop", 1),
        ("SubagentStart", 2),
        ("SubagentStop", 2),
    ];
    assert_eq!(told(&guard), expected);
    let log = stage.log().await;
    let at = |wanted: fn(&Event) -> bool| {
        let of_child = |entry: &Entry| entry.agent == child && wanted(&entry.event);
        log.iter().position(of_child).unwrap()
    };
    let second = at(|event| matches!(event, Event::TurnStarted { run, .. } if run.get() == 2));
    let announced =
        at(|event| matches!(event, Event::Hooked(it) if it.point == Point::SubagentStop));
    assert!(announced < second, "as the log has it");
}

#[tokio::test]
async fn que_05_who_wants_to_go_on_while_a_stop_is_told_goes_on_after_it() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::SubagentStop]).behind(&gate));
    let began = Gate::shut();
    let script = delegating([fail(ModelErrorKind::Invalid).behind(&began), say("at last")]);
    let stage = stage(script, &guard).await;
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("worker").await;
    stage.asked("worker", 1).await;
    // Held back, because the turn before it fails.
    stage.prompt(child.clone(), "then this").await;
    began.open();
    guard.called(1).await;
    let resume = stage.order(child.clone(), Order::Resume);
    let (receipt, ()) = tokio::join!(resume, async { gate.open() });
    assert_eq!(receipt, Receipt::Resumed);
    stage.settled_twice(&child).await;
    assert_eq!(
        stage.settlement(&child).await.output.as_deref(),
        Some("at last")
    );
}

#[tokio::test]
async fn who_leaves_at_once_leaves_a_stop_that_hangs_to_the_next() {
    let gate = Gate::shut();
    let (stage, guard, _) = stopped(&gate).await;
    tokio::time::pause();
    stage.runtime.shutdown(Ending::Now).await;
    tokio::time::resume();
    let stage = stage.crash().await;
    assert!(noted(&stage).await.is_empty());
    gate.open();
    stage.open_another("neighbour").await;
    until_noted(&stage).await;
    assert_eq!(guard.seen().len(), 3);
}

#[tokio::test]
async fn a_stop_stays_to_be_told_while_there_is_nobody_to_hear_it() {
    let gate = Gate::shut();
    let (stage, guard, child) = stopped(&gate).await;
    let stage = stage.crash_with(Hooks::default()).await;
    gate.open();
    stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    stage.quiet().await;
    assert!(stage.tree().await.agent(&child).unwrap().untold().is_some());
    let mut hooks = Hooks::default();
    hooks.watch(guard.clone());
    let stage = stage.crash_with(hooks).await;
    stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    until_noted(&stage).await;
    assert_eq!(guard.seen().len(), 3);
    assert!(stage.tree().await.agent(&child).unwrap().untold().is_none());
}

#[tokio::test]
async fn what_a_hook_objects_to_when_all_is_over_is_in_the_log_and_has_no_effect() {
    let guard = Arc::new(Guard::at(&[Point::SubagentStop]).saying(deny("no")));
    let stage = stage(delegating([fail(ModelErrorKind::Invalid)]), &guard).await;
    stage.ask("go").await;
    until_noted(&stage).await;
    let [Did::Failed { why }] = &noted(&stage).await[..] else {
        panic!("{:?}", noted(&stage).await);
    };
    assert_eq!(why, "it wanted a run to go on that was over: no");
    assert_eq!(guard.seen().len(), 1);
}

#[tokio::test]
async fn r7_a_tree_that_owes_a_stop_is_looked_at_again_though_a_process_without_hooks_let_it_go() {
    let gate = Gate::shut();
    let (stage, guard, _) = stopped(&gate).await;
    let stage = stage.crash_with(Hooks::default()).await;
    gate.open();
    stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
    stage.runtime.shutdown(Ending::WhenQuiet).await;
    let mut hooks = Hooks::default();
    hooks.watch(guard.clone());
    let stage = stage.crash_with(hooks).await;
    stage.open_another("neighbour").await;
    until_noted(&stage).await;
    assert_eq!(guard.seen().len(), 3);
}

#[tokio::test]
async fn r7_who_wants_a_tree_for_itself_gets_it_from_a_neighbour_that_tells_hooks() {
    let gate = Gate::shut();
    let (stage, guard, _) = stopped(&gate).await;
    stage.quiet().await;
    let stage = stage.crash().await;
    stage.open_another("neighbour").await;
    guard.called(3).await;
    stage.wire.nudge(&stage.tree);
    while stage.wire.claim(&stage.tree).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(noted(&stage).await.is_empty());
}

#[tokio::test]
async fn r16_a_prompt_wakes_a_session_that_sleeps_though_a_neighbour_tells_hooks_of_it() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::SubagentStop]).behind(&gate));
    let never = Gate::shut();
    let write = call(&[("write", serde_json::json!({ "path": "a" }))]);
    let script = Script::default()
        .part(
            "lead",
            [task_in_background("worker", "go"), write, say("done")],
        )
        .part("worker", [say("never").behind(&never)]);
    let stage = Stage::watched(script, Asks::SOMEBODY, &guard).await;
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("worker").await;
    asked(&stage, 1).await;
    stage.cancel(child).await;
    guard.called(1).await;
    let stage = stage.crash().await;
    stage.open_another("neighbour").await;
    guard.called(2).await;
    let prompt = Order::Prompt(stage.words("and then?"));
    let receipt = stage.order(stage.root(), prompt).await;
    assert_eq!(
        receipt,
        Receipt::Prompted,
        "it does not wait for somebody else"
    );
    guard.called(3).await;
    gate.open();
}
