//! Hooks about runs: every child's start has its stop, and who may keep whom at work.

use std::sync::Arc;

use offshoot_engine::Asks;
use offshoot_types::event::{Did, Entry, Event};
use offshoot_types::hook::{Point, Say};
use offshoot_types::id::{AgentId, RunNo};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::Status;
use serde_json::json;

use crate::stage::{
    Gate, Guard, Line, Script, Stage, data, deny, ending, kind, say, task, task_in_background,
    user_texts,
};

pub(crate) const BOTH: [Point; 2] = [Point::SubagentStart, Point::SubagentStop];

/// A root that has one worker do something.
pub(crate) fn delegating(worker: impl IntoIterator<Item = Line>) -> Script {
    Script::default()
        .part("lead", [task("worker", "go"), say("done"), say("noted")])
        .part("worker", worker)
}

pub(crate) async fn stage(script: Script, guard: &Arc<Guard>) -> Stage {
    Stage::watched(script, Asks::YES, guard).await
}

fn points(guard: &Guard) -> Vec<&'static str> {
    let seen = guard.seen();
    seen.iter()
        .map(|occasion| occasion.point().name())
        .collect()
}

pub(crate) fn is_settled(log: &[Entry], agent: &AgentId) -> bool {
    log.iter()
        .any(|entry| entry.agent == *agent && matches!(entry.event, Event::Settled { .. }))
}

#[tokio::test]
async fn hooks_are_told_which_child_it_is_whose_and_which_run() {
    let guard = Arc::new(Guard::at(&BOTH));
    let stage = stage(delegating([say("ok")]), &guard).await;
    stage.ask("go").await;
    let child = stage.born("worker").await;
    assert_eq!(points(&guard), ["SubagentStart", "SubagentStop"]);
    for occasion in guard.seen() {
        let who = occasion.who;
        assert_eq!((&who.agent, &who.session), (&child, &stage.root()));
        assert_eq!(who.parent, Some(stage.root()));
        assert_eq!((who.definition.as_str(), who.depth), ("worker", 1));
        assert_eq!(who.run, Some(RunNo::new(1)));
        assert_eq!(who.workspace, "/w");
    }
    assert_eq!(ending(&guard.seen()[1]), ("completed", false, false));
}

#[tokio::test]
async fn r15_whoever_may_keep_a_run_is_asked_before_it_settles_and_after_its_last_words() {
    let gate = Gate::shut();
    let guard = Arc::new(Guard::at(&[Point::SubagentStop]).behind(&gate));
    let stage = stage(delegating([say("my last words")]), &guard).await;
    stage.prompt(stage.root(), "go").await;
    guard.called(1).await;
    let child = stage.born("worker").await;
    let log = stage.log().await;
    assert!(!is_settled(&log, &child));
    let said = |entry: &Entry| entry.agent == child && matches!(entry.event, Event::Replied(_));
    assert!(
        log.iter().any(said),
        "a crash now loses nothing that was said"
    );
    gate.open();
    stage.quiet().await;
    assert_eq!(guard.seen().len(), 1);
    assert!(matches!(
        stage.settlement(&child).await.status,
        Status::Completed
    ));
}

#[tokio::test]
async fn r15_hooks_that_watch_something_else_cost_a_child_nothing() {
    let script = || delegating([say("ok")]);
    let alone = Stage::new(script()).await;
    alone.ask("go").await;
    let guard = Arc::new(Guard::at(&[Point::PreCompact, Point::Notification]));
    let stage = stage(script(), &guard).await;
    stage.ask("go").await;
    assert_eq!(stage.log().await, alone.log().await);
    assert!(guard.seen().is_empty());
}

#[tokio::test]
async fn a_child_that_is_kept_at_work_reads_why_and_the_second_time_the_hook_is_told_so() {
    let guard = Guard::at(&[Point::SubagentStop]).speaking(|_, nth| {
        Ok(match nth {
            1 => deny("run the tests first"),
            _ => Say::nothing(),
        })
    });
    let guard = Arc::new(guard);
    let stage = stage(delegating([say("too early"), say("tested")]), &guard).await;
    stage.ask("go").await;
    let texts = user_texts(&stage.script.sent("worker")[1]);
    assert_eq!(
        texts,
        [
            "go",
            "<hook_context hook=\"guard\" event=\"SubagentStop\">\nrun the tests first\n</hook_context>"
        ]
    );
    let told: Vec<_> = guard.seen().iter().map(ending).collect();
    assert_eq!(
        told,
        [("completed", false, false), ("completed", true, false)]
    );
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "output": "tested" })
    );
}

#[tokio::test]
async fn a_hook_cannot_keep_a_run_for_ever() {
    let guard = Arc::new(Guard::at(&[Point::SubagentStop]).saying(deny("more")));
    let words: Vec<Line> = (1..=12).map(|nth| say(&format!("answer {nth}"))).collect();
    let stage = stage(delegating(words), &guard).await;
    stage.ask("go").await;
    assert_eq!(guard.seen().len(), 9, "eight times it was heard");
    assert_eq!(stage.script.sent("worker").len(), 9);
    let child = stage.born("worker").await;
    assert!(matches!(
        stage.settlement(&child).await.status,
        Status::Completed
    ));
    let last = stage
        .log()
        .await
        .into_iter()
        .rev()
        .find_map(|entry| match entry.event {
            Event::Hooked(hooked) => Some(hooked.did),
            _ => None,
        });
    assert!(matches!(last, Some(Did::Failed { .. })), "{last:?}");
}

#[tokio::test]
async fn a_root_is_kept_at_work_as_well() {
    let guard = Guard::at(&[Point::Stop, Point::SubagentStop]).speaking(|_, nth| {
        Ok(match nth {
            1 => deny("and the second part?"),
            _ => Say::nothing(),
        })
    });
    let guard = Arc::new(guard);
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = stage(script, &guard).await;
    stage.ask("go").await;
    assert_eq!(points(&guard), ["Stop", "Stop"]);
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("two"));
    assert_eq!(guard.seen()[0].who.parent, None);
}

#[tokio::test]
async fn a_run_that_ends_while_it_waits_for_children_is_asked_about_too() {
    let guard = Guard::at(&[Point::Stop]).speaking(|_, nth| {
        Ok(match nth {
            1 => deny("say what became of it"),
            _ => Say::nothing(),
        })
    });
    let guard = Arc::new(guard);
    let never = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("it was stopped"),
            ],
        )
        .part("worker", [say("never").behind(&never)]);
    let stage = stage(script, &guard).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    let child = stage.born("worker").await;
    assert!(guard.seen().is_empty(), "it waits, and does not end");
    // A child that was stopped wakes nobody, so the root would end without another turn.
    stage.cancel(child).await;
    stage.settled(&stage.root()).await;
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("it was stopped"));
    assert_eq!(guard.seen().len(), 2);
}

#[tokio::test]
async fn r13_a_hook_can_refuse_a_childs_run_before_its_first_step() {
    let guard = Guard::at(&BOTH).speaking(|it, _| {
        Ok(match it.point() {
            Point::SubagentStart => deny("not here"),
            _ => Say::nothing(),
        })
    });
    let guard = Arc::new(guard);
    let stage = stage(delegating([say("never said")]), &guard).await;
    stage.ask("go").await;
    assert!(stage.script.sent("worker").is_empty());
    let outcome = stage.outcomes("lead").await.remove(0);
    assert_eq!(kind(&outcome), ErrorKind::ChildFailed);
    assert!(
        outcome.for_model().contains("denied: hook guard: not here"),
        "{outcome:?}"
    );
    guard.called(2).await;
    assert_eq!(ending(&guard.seen()[1]), ("denied", false, true));
}

#[tokio::test]
async fn what_a_hook_has_to_say_to_a_child_is_there_before_its_first_step_in_every_run() {
    let guard = Arc::new(Guard::at(&BOTH).speaking(|it, _| {
        Ok(match it.point() {
            Point::SubagentStart => Say::context("mind the gap"),
            _ => Say::nothing(),
        })
    }));
    let stage = stage(delegating([say("one"), say("two")]), &guard).await;
    stage.ask("go").await;
    let first = user_texts(&stage.script.sent("worker")[0]);
    assert_eq!(first[0], "go");
    assert!(first[1].contains("mind the gap"), "{first:?}");
    let child = stage.born("worker").await;
    stage.prompt(child.clone(), "once more").await;
    stage.settled_twice(&child).await;
    let runs: Vec<_> = guard.seen().iter().map(|it| it.who.run).collect();
    let [one, two] = [1, 2].map(|run| Some(RunNo::new(run)));
    assert_eq!(runs, [one, one, two, two]);
}
