//! Children that the host starts by an order, without a call of their parent.

use std::sync::Arc;

use offshoot_engine::{Asks, CommandError, Limits};
use offshoot_types::caps::Caps;
use offshoot_types::command::{Command, Order, Receipt, Rewind, Scope, Spawn};
use offshoot_types::event::{Entry, Event, Origin, Parent};
use offshoot_types::hook::Point;
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos};
use offshoot_types::manifest::{Context, Manifest, Mode};
use offshoot_types::message::AssistantPart;
use offshoot_types::model::RequestMessage;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Layer, Rule};
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::store::Store;

use crate::hook_runs::BOTH;
use crate::stage::{Gate, Guard, Script, Stage, say, task_in_background, user_texts};

/// A blocking child with an id that the client has chosen.
fn named(id: &str, definition: &str) -> Spawn {
    Spawn {
        agent: Some(AgentId::new(id)),
        ..Spawn::new(definition, "go")
    }
}

fn background(id: &str, definition: &str) -> Spawn {
    Spawn {
        background: true,
        ..named(id, definition)
    }
}

async fn order(stage: &Stage, parent: &AgentId, spawn: Spawn) -> Receipt {
    stage
        .order(parent.clone(), Order::Spawn(Box::new(spawn)))
        .await
}

/// Starts a child of the root and returns it.
async fn spawn(stage: &Stage, spawn: Spawn) -> AgentId {
    match order(stage, &stage.root(), spawn).await {
        Receipt::Spawned { agent } => agent,
        other => panic!("it was answered {other:?}"),
    }
}

/// A layer with one rule about `task`.
fn rule(agent: &str, action: Action) -> Layer {
    Layer {
        name: "the user".to_owned(),
        rules: vec![Rule::new("task", agent, action)],
        ..Layer::default()
    }
}

#[track_caller]
fn refused(receipt: &Receipt, expected: ErrorKind) {
    match receipt {
        Receipt::Refused { kind, .. } => assert_eq!(*kind, expected, "{receipt:?}"),
        other => panic!("it was answered {other:?}"),
    }
}

/// Waits until the root has been told of so many runs: a quiet tree may still write that down (R19).
async fn told(stage: &Stage, times: usize) {
    stage.quiet().await;
    let count = std::cell::Cell::new(0);
    let is_last = |entry: &Entry| {
        let is_told = matches!(entry.event, Event::Completion { .. });
        count.set(count.get() + usize::from(is_told));
        count.get() == times
    };
    stage.until(is_last).await;
    assert_eq!(stage.completions().await.len(), times);
}

/// Returns whether each completion of the root starts no turn.
async fn quiet_ones(stage: &Stage) -> Vec<bool> {
    let log = stage.log().await;
    let quiet = log.iter().filter_map(|entry| match &entry.event {
        Event::Completion { quiet, .. } => Some(*quiet),
        _ => None,
    });
    quiet.collect()
}

async fn parent_of(stage: &Stage, child: &AgentId) -> Parent {
    let tree = stage.tree().await;
    match &tree.agent(child).unwrap().spawned.origin {
        Origin::Task(parent) => parent.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn r14_a_blocking_child_of_a_root_that_was_never_prompted_is_told_once_and_wakes_nothing() {
    let script = Script::default()
        .part("lead", [say("read")])
        .part("worker", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    let (one, two) = tokio::join!(
        spawn(&stage, Spawn::new("worker", "first")),
        spawn(&stage, Spawn::new("worker", "second"))
    );
    assert_ne!(one, two);
    told(&stage, 2).await;

    let mut results = stage.completions().await;
    results.sort();
    let completed = |text: &str| ("completed".to_owned(), Some(text.to_owned()));
    assert_eq!(results, [completed("one"), completed("two")]);
    assert_eq!(quiet_ones(&stage).await, [true, true]);
    assert!(stage.script.sent("lead").is_empty(), "the root has no turn");
    assert!(
        stage
            .tree()
            .await
            .agent(&stage.root())
            .unwrap()
            .runs
            .is_empty()
    );
    let parent = parent_of(&stage, &one).await;
    assert!(parent.host && parent.made_by().is_none());
    assert_eq!((parent.agent, parent.message.as_str()), (stage.root(), ""));

    // The next turn has them in front of it.
    stage.ask("well?").await;
    let texts = user_texts(&stage.script.sent("lead")[0]);
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(
        texts[0].starts_with("<task_completion agent=\"worker\""),
        "{texts:?}"
    );
    assert_eq!(texts[2], "well?");
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.status, Status::Completed);
}

#[tokio::test]
async fn r17_a_prompt_waits_for_a_blocking_child_and_the_turn_that_runs_goes_on() {
    let (turn, child) = (Gate::shut(), Gate::shut());
    let script = Script::default()
        .part("lead", [say("first").behind(&turn), say("second")])
        .part("worker", [say("done").behind(&child)]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    stage.prompt(root.clone(), "one").await;
    stage.asked("lead", 1).await;
    let worker = spawn(&stage, Spawn::new("worker", "go")).await;
    stage.prompt(root.clone(), "two").await;
    stage.asked("worker", 1).await;

    turn.open();
    stage.turn_ended(&root).await;
    let tree = stage.tree().await;
    let lead = tree.agent(&root).unwrap();
    assert!(lead.turn.is_none() && lead.open_run().is_some(), "R18");
    assert_eq!((lead.queue.len(), lead.held_by), (1, 1));

    child.open();
    stage.quiet().await;
    let sent = stage.script.sent("lead");
    assert_eq!(sent.len(), 2);
    let texts = user_texts(&sent[1]);
    assert!(texts[1].contains(worker.as_str()), "{texts:?}");
    assert_eq!(
        texts[2], "two",
        "the completion stands in front of the prompt"
    );
    assert_eq!(stage.settlement(&root).await.status, Status::Completed);
}

#[tokio::test]
async fn r18_a_run_that_only_waits_for_a_blocking_child_settles_without_another_turn() {
    let (turn, child) = (Gate::shut(), Gate::shut());
    let script = Script::default()
        .part("lead", [say("said").behind(&turn)])
        .part("worker", [say("done").behind(&child)]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    stage.prompt(root.clone(), "one").await;
    stage.asked("lead", 1).await;
    spawn(&stage, Spawn::new("worker", "go")).await;
    turn.open();
    stage.turn_ended(&root).await;
    child.open();
    stage.quiet().await;

    let settlement = stage.settlement(&root).await;
    assert_eq!(settlement.status, Status::Completed);
    assert!(
        settlement.unread.is_none(),
        "the host reads what it waits for"
    );
    assert_eq!(stage.script.sent("lead").len(), 1);
    assert_eq!(stage.completions().await.len(), 1);
}

#[tokio::test]
async fn r14_a_background_child_of_the_host_wakes_its_parent() {
    let script = Script::default()
        .part("lead", [say("heard")])
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    spawn(&stage, background("kid", "worker")).await;
    stage.quiet().await;
    let root = stage.root();
    stage
        .until(|entry| entry.agent == root && matches!(entry.event, Event::Settled { .. }))
        .await;
    assert_eq!(quiet_ones(&stage).await, [false]);
    assert_eq!(
        stage.settlement(&root).await.output.as_deref(),
        Some("heard")
    );
}

#[tokio::test]
async fn r17_mail_of_another_child_waits_for_a_blocking_one() {
    let (held, loose) = (Gate::shut(), Gate::shut());
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("helper", "go"),
                say("started"),
                say("heard"),
            ],
        )
        .part("helper", [say("from the helper").behind(&loose)])
        .part("worker", [say("from the worker").behind(&held)]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    stage.prompt(root.clone(), "go").await;
    stage.turn_ended(&root).await;
    spawn(&stage, Spawn::new("worker", "go")).await;
    loose.open();
    let helper = stage.born("helper").await;
    stage.settled(&helper).await;
    stage.asked("worker", 1).await;
    assert_eq!(
        stage.script.sent("lead").len(),
        2,
        "no turn beside the worker"
    );
    held.open();
    stage.quiet().await;
    assert_eq!(stage.script.sent("lead").len(), 3);
    assert_eq!(stage.completions().await.len(), 2);
    assert_eq!(
        stage.settlement(&root).await.output.as_deref(),
        Some("heard")
    );
}

#[tokio::test]
async fn r9_an_id_of_the_client_makes_one_child_however_often_it_is_sent() {
    let script = Script::default().part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    let kid = AgentId::new("kid");
    let command = Command {
        id: CommandId::new("the-command"),
        tree: stage.tree.clone(),
        agent: stage.root(),
        order: Order::Spawn(Box::new(named("kid", "worker"))),
    };
    let spawned = Receipt::Spawned { agent: kid.clone() };
    let (one, two) = tokio::join!(
        stage.runtime.command(command.clone()),
        stage.runtime.command(command)
    );
    assert_eq!(
        (one.unwrap(), two.unwrap()),
        (spawned.clone(), spawned.clone())
    );
    // Another command with the same id of the child.
    assert_eq!(
        order(&stage, &stage.root(), named("kid", "worker")).await,
        spawned
    );
    stage.quiet().await;
    assert_eq!(
        stage.tree().await.agent(&stage.root()).unwrap().children,
        std::slice::from_ref(&kid)
    );
    assert_eq!(stage.script.sent("worker").len(), 1);

    refused(
        &order(&stage, &kid, named("root", "worker")).await,
        ErrorKind::InvalidInput,
    );
    stage.open_another("other").await;
    let command = stage.command(
        &stage.tree,
        stage.root(),
        Order::Spawn(Box::new(named("other", "worker"))),
    );
    let error = stage.runtime.command(command).await.unwrap_err();
    assert!(matches!(error, CommandError::Invalid(_)), "{error}");
}

#[tokio::test]
async fn sa_21_a_refusal_has_the_kind_that_a_task_call_is_given() {
    let limits = Limits {
        depth: 1,
        descendants: 1,
        ..Limits::default()
    };
    let never = Gate::shut();
    let script = Script::default().part("worker", [say("never").behind(&never)]);
    let barred = Manifest::new("barred", Mode::Subagent, "Be barred.");
    let stage = Stage::cast(script, limits, Asks::YES, vec![barred]).await;
    stage.says(vec![rule("barred", Action::Deny)]);
    let stage = stage.crash().await;
    let root = stage.root();
    refused(
        &order(&stage, &root, Spawn::new("nobody", "go")).await,
        ErrorKind::UnknownAgent,
    );
    refused(
        &order(&stage, &root, Spawn::new("lead", "go")).await,
        ErrorKind::WrongMode,
    );
    refused(
        &order(&stage, &root, Spawn::new("barred", "go")).await,
        ErrorKind::Denied,
    );
    let long = Spawn::new("worker", "x".repeat(2 << 20));
    refused(&order(&stage, &root, long).await, ErrorKind::InvalidInput);
    let worker = spawn(&stage, Spawn::new("worker", "go")).await;
    refused(
        &order(&stage, &worker, Spawn::new("worker", "go")).await,
        ErrorKind::Depth,
    );
    refused(
        &order(&stage, &root, Spawn::new("worker", "go")).await,
        ErrorKind::Caps,
    );
    assert_eq!(stage.tree().await.agent(&root).unwrap().children, [worker]);
}

#[tokio::test]
async fn r21_a_rule_that_asks_about_task_is_answered_by_the_order() {
    let script = Script::default().part("worker", [say("done")]);
    let stage = Stage::asking(script, Limits::default(), Asks::NOBODY).await;
    stage.says(vec![rule("*", Action::Ask)]);
    let stage = stage.crash().await;
    spawn(&stage, Spawn::new("worker", "go")).await;
    told(&stage, 1).await;
}

#[tokio::test]
async fn r16_a_child_of_a_dead_process_is_told_as_lost_without_a_turn_and_once() {
    let never = Gate::shut();
    for form in [named("kid", "worker"), background("kid", "worker")] {
        let script = Script::default().part("worker", [say("never").behind(&never)]);
        let stage = Stage::new(script).await;
        spawn(&stage, form.clone()).await;
        stage.asked("worker", 1).await;
        let mut stage = stage;
        for _ in 0..2 {
            stage = stage.crash().await;
            let looked = stage.order(stage.root(), Order::Cancel(Scope::Run)).await;
            assert!(matches!(looked, Receipt::NoEffect { .. }), "{looked:?}");
            assert_eq!(stage.completions().await, [("lost".to_owned(), None)]);
        }
        assert!(stage.script.sent("lead").is_empty());
        assert_eq!(quiet_ones(&stage).await, [!form.background]);
        // It was acknowledged: sent again it makes no other child.
        assert_eq!(
            order(&stage, &stage.root(), form).await,
            Receipt::Spawned {
                agent: AgentId::new("kid")
            }
        );
        assert_eq!(stage.script.sent("worker").len(), 1);
    }
}

#[tokio::test]
async fn sa_24_cancelling_an_idle_parent_stops_the_children_of_the_host_and_the_next_one_works() {
    let never = Gate::shut();
    let script = Script::default()
        .part("worker", [say("never").behind(&never)])
        .part("helper", [say("done")]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    let worker = spawn(&stage, Spawn::new("worker", "go")).await;
    stage.asked("worker", 1).await;
    stage.order(root.clone(), Order::Cancel(Scope::Run)).await;
    stage.quiet().await;
    let status = stage.settlement(&worker).await.status;
    assert_eq!(status, Status::Cancelled(CancelledBy::Ancestor));
    let helper = spawn(&stage, Spawn::new("helper", "go")).await;
    stage.quiet().await;
    assert_eq!(stage.settlement(&helper).await.status, Status::Completed);
    told(&stage, 2).await;
}

#[tokio::test]
async fn sa_24_cancelling_a_run_stops_the_children_that_the_host_started_in_it() {
    let never = Gate::shut();
    let script = Script::default()
        .part("lead", [say("never").behind(&never)])
        .part("worker", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    stage.prompt(root.clone(), "go").await;
    stage.asked("lead", 1).await;
    let worker = spawn(&stage, Spawn::new("worker", "go")).await;
    stage.asked("worker", 1).await;
    let settlement = stage.cancel(root.clone()).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    let status = stage.settlement(&worker).await.status;
    assert_eq!(status, Status::Cancelled(CancelledBy::Ancestor));
    told(&stage, 1).await;
}

#[tokio::test]
async fn ses_06_a_rewind_drops_the_children_that_were_started_behind_what_it_hides() {
    let never = Gate::shut();
    let script = Script::default()
        .part("lead", [say("one"), say("two")])
        .part("helper", [say("kept")])
        .part("worker", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    stage.ask("first").await;
    let kept = spawn(&stage, Spawn::new("helper", "go")).await;
    told(&stage, 1).await;
    let first = parent_of(&stage, &kept).await.message;
    stage.ask("second").await;
    let dropped = spawn(&stage, Spawn::new("worker", "go")).await;
    let second = parent_of(&stage, &dropped).await.message;
    assert!(first != second && second != MessageId::new(""));

    let rewind = Order::Rewind(Rewind { to: Some(first) });
    let receipt = stage.order(root.clone(), rewind).await;
    // The completion, the prompt and the answer.
    assert_eq!(receipt, Receipt::Rewound { hidden: 3 });
    stage.quiet().await;
    let tree = stage.tree().await;
    assert!(tree.agent(&dropped).unwrap().hidden && !tree.agent(&kept).unwrap().hidden);
    assert_eq!(
        stage.completions().await.len(),
        1,
        "no agent reads what was dropped"
    );
}

#[tokio::test]
async fn ses_08_a_copy_of_a_session_has_the_completion_and_not_the_child() {
    let script = Script::default()
        .part("lead", [say("one")])
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    spawn(&stage, Spawn::new("worker", "go")).await;
    told(&stage, 1).await;
    let copy = AgentId::new("copy");
    let tree = offshoot_types::id::TreeId::of(copy.clone());
    let fork = Order::Fork(offshoot_types::command::Fork {
        of: stage.root(),
        at: None,
        metadata: None,
    });
    stage.order_in(&tree, copy.clone(), fork).await;
    let log = stage
        .store
        .entries(&tree, Pos::ZERO, usize::MAX)
        .await
        .unwrap();
    let told = log
        .iter()
        .filter(|entry| matches!(entry.event, Event::Completion { quiet: true, .. }));
    assert_eq!(told.count(), 1);
    let folded = offshoot_types::tree::Tree::fold(&log).unwrap();
    let root = folded.agent(&copy).unwrap();
    assert!(root.children.is_empty());
    assert_eq!(root.settlement().unwrap().status, Status::Completed);
}

#[tokio::test]
async fn pd_11_pd_14_context_model_caps_and_metadata_are_those_of_the_order() {
    let script = Script::default()
        .part("lead", [say("a thought")])
        .part("worker", [say("w"), say("w"), say("w")]);
    let stage = Stage::new(script).await;
    stage.ask("think").await;
    let contexts = [Context::Fresh, Context::Fork, Context::Inherit];
    for (number, context) in contexts.into_iter().enumerate() {
        let form = Spawn {
            context: Some(context),
            caps: Caps {
                steps: Some(3),
                ..Caps::default()
            },
            metadata: Some(offshoot_types::json::RawJson::of(
                &serde_json::json!({ "n": 1 }),
            )),
            ..Spawn::new("worker", "directive")
        };
        let child = spawn(&stage, form).await;
        told(&stage, number + 1).await;
        let tree = stage.tree().await;
        let born = &tree.agent(&child).unwrap().spawned;
        assert_eq!(
            (born.terms.context, born.terms.caps.steps),
            (context, Some(3))
        );
        assert!(born.metadata.is_some());
    }
    let sent = stage.script.sent("worker");
    assert!(
        matches!(sent[0].messages.as_slice(), [RequestMessage::User(text)] if text == "directive")
    );
    let [
        RequestMessage::Assistant(parts),
        RequestMessage::User(directive),
    ] = sent[1].messages.as_slice()
    else {
        panic!("{:?}", sent[1].messages);
    };
    assert_eq!(*parts, [AssistantPart::Text("a thought".to_owned())]);
    assert!(directive.contains("directive"));
    // All of it: the prompt, the answer, two completions, and the directive.
    assert_eq!(sent[2].messages.len(), 5, "{:?}", sent[2].messages);
    assert!(matches!(&sent[2].messages[0], RequestMessage::User(text) if text == "think"));
}

#[tokio::test]
async fn hooks_hear_of_a_child_that_the_host_starts_as_of_any_other() {
    let guard = Arc::new(Guard::at(&BOTH));
    let script = Script::default().part("worker", [say("done")]);
    let stage = Stage::watched(script, Asks::YES, &guard).await;
    spawn(&stage, Spawn::new("worker", "go")).await;
    stage.quiet().await;
    let points: Vec<Point> = guard.seen().iter().map(|seen| seen.what.point()).collect();
    assert_eq!(points, BOTH);
}

#[tokio::test]
async fn a_later_run_that_the_host_asks_for_wakes_no_parent_either() {
    let script = Script::default().part("worker", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    let worker = spawn(&stage, Spawn::new("worker", "go")).await;
    told(&stage, 1).await;
    stage.prompt(worker.clone(), "more").await;
    stage.settled_twice(&worker).await;
    told(&stage, 2).await;
    assert_eq!(quiet_ones(&stage).await, [true, true]);
    assert!(stage.script.sent("lead").is_empty());
}
