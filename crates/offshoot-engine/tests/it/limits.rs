//! Bounds: depth, descendants, slots, steps, retries.

use offshoot_engine::{Activity, Limits, SessionState, query};
use offshoot_types::model::{ModelErrorKind, ToolChoice};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{Cap, FailureKind, PartialReason, Status};
use serde_json::json;

use crate::stage::{
    Gate, Script, Stage, call, fail, kind, say, task, task_arguments, task_in_background,
};

#[tokio::test]
async fn sa_27_sa_28_sa_29_five_generations_live_and_the_sixth_is_a_tool_error() {
    let deeper = || task("helper", "deeper");
    let mut lines: Vec<_> = (0..5).map(|_| deeper()).collect();
    lines.extend((0..5).map(|level| say(&format!("level {level}"))));
    let script = Script::default()
        .part("lead", [deeper(), say("done")])
        .part("helper", lines);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let tree = stage.tree().await;
    let deepest = tree
        .walk()
        .iter()
        .map(|id| tree.agent(id).unwrap().spawned.depth)
        .max();
    assert_eq!(deepest, Some(5));
    let failed: Vec<ErrorKind> = stage
        .outcomes("helper")
        .await
        .iter()
        .filter(|outcome| outcome.is_error())
        .map(kind)
        .collect();
    assert_eq!(failed, [ErrorKind::Depth]);
    assert_eq!(
        stage.settlement(&stage.root()).await.status,
        Status::Completed
    );
}

#[tokio::test]
async fn sa_30_a_background_child_keeps_its_depth_after_its_parents_turn() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("helper", "go"),
                say("started"),
                say("heard"),
            ],
        )
        .part(
            "helper",
            [task("worker", "deeper").behind(&gate), say("ok")],
        )
        .part("worker", [say("here")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let root = stage.root();
    stage.turn_ended(&root).await;
    gate.open();
    stage.quiet().await;
    let worker = stage.born("worker").await;
    assert_eq!(stage.tree().await.agent(&worker).unwrap().spawned.depth, 2);
}

#[tokio::test]
async fn r26_of_five_hundred_calls_in_one_message_256_queue_and_the_rest_are_told() {
    let calls: Vec<_> = (0..500)
        .map(|_| ("task", task_arguments("worker", "go")))
        .collect();
    let script = Script::default()
        .part("lead", [call(&calls), say("done")])
        .part("worker", (0..256).map(|_| say("ok")));
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let outcomes = stage.outcomes("lead").await;
    let refused = outcomes
        .iter()
        .filter(|outcome| outcome.is_error())
        .map(kind);
    assert_eq!(refused.filter(|kind| *kind == ErrorKind::Caps).count(), 244);
    assert_eq!(outcomes.len(), 500);
    assert_eq!(
        stage.settlement(&stage.root()).await.status,
        Status::Completed
    );
}

#[tokio::test]
async fn r27_one_slot_is_enough_for_a_deep_tree_because_waiting_holds_none() {
    let limits = Limits {
        slots: 1,
        ..Limits::default()
    };
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("done")])
        .part(
            "helper",
            [
                task("worker", "go"),
                call(&[("read", json!({ "path": "a" }))]),
                say("ok"),
            ],
        )
        .part("worker", [say("deep")]);
    let stage = Stage::with(script, limits).await;
    stage.ask("go").await;
    assert_eq!(
        stage.settlement(&stage.root()).await.status,
        Status::Completed
    );
}

#[tokio::test]
async fn r29_who_waits_says_for_what() {
    let limits = Limits {
        slots: 1,
        ..Limits::default()
    };
    let gate = Gate::shut();
    let two = [
        ("task", task_arguments("worker", "a")),
        ("task", task_arguments("helper", "b")),
    ];
    let script = Script::default()
        .part("lead", [call(&two), say("done")])
        .part("worker", [say("a").behind(&gate)])
        .part("helper", [say("b").behind(&gate)]);
    let stage = Stage::with(script, limits).await;
    stage.prompt(stage.root(), "go").await;
    let (worker, helper) = (stage.born("worker").await, stage.born("helper").await);
    let mut updates = stage
        .runtime
        .subscribe(&stage.tree, offshoot_types::id::Pos::ZERO)
        .await;
    let doing = async |agent| match stage
        .runtime
        .query(query::Status(stage.tree.clone(), agent))
        .await
    {
        Ok(Some(status)) => status,
        other => panic!("{other:?}"),
    };
    loop {
        let now = (
            doing(stage.root()).await.1,
            doing(worker.clone()).await,
            doing(helper.clone()).await,
        );
        let both = Activity::Children {
            first: vec![worker.clone(), helper.clone()],
            all: 2,
        };
        let waits = now.0 == both;
        let streams = now.1.1 == Activity::FirstByte || now.2.1 == Activity::FirstByte;
        let queues = now.1.1 == Activity::Slot || now.2.1 == Activity::Slot;
        if waits && streams && queues {
            assert_eq!(now.1.0, SessionState::Busy);
            break;
        }
        updates.next().await.unwrap();
    }
    gate.open();
    stage.quiet().await;
    assert_eq!(
        doing(stage.root()).await,
        (SessionState::Idle, Activity::Resting)
    );
}

#[tokio::test]
async fn r26_at_its_last_step_a_child_hands_back_what_it_has() {
    let limits = Limits {
        spawned: offshoot_types::caps::Caps {
            steps: Some(2),
            ..Limits::default().spawned
        },
        ..Limits::default()
    };
    let look = || call(&[("read", json!({ "path": "a" }))]);
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part(
            "worker",
            [look(), look(), say("what I have"), say("never asked")],
        );
    let stage = Stage::with(script, limits).await;
    stage.ask("go").await;

    let sent = stage.script.sent("worker");
    let choices: Vec<ToolChoice> = sent.iter().map(|request| request.choice).collect();
    assert_eq!(
        choices,
        [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]
    );
    assert_eq!(sent[0].tools, sent[2].tools, "tools are shown all the same");
    let child = stage.settlement(&stage.born("worker").await).await;
    assert_eq!(
        child.status,
        Status::Partial(PartialReason::Budget(Cap::Steps))
    );
    let outcome = stage.outcomes("lead").await[0].for_model();
    assert!(
        outcome.contains("[partial: budget: steps] what I have"),
        "{outcome}"
    );
}

#[tokio::test(start_paused = true)]
async fn ses_53_a_model_that_is_busy_is_asked_again_and_one_that_stays_so_fails_the_turn() {
    let busy = || fail(ModelErrorKind::RateLimited { retry_after: None });
    let script = Script::default().part(
        "lead",
        [busy(), busy(), say("at last"), busy(), busy(), busy()],
    );
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    assert_eq!(
        stage.settlement(&stage.root()).await.output.as_deref(),
        Some("at last")
    );
    // Somebody follows it, so it is not let go meanwhile.
    let mut following = stage
        .runtime
        .subscribe(&stage.tree, offshoot_types::id::Pos::ZERO)
        .await;
    following.next().await.unwrap();
    stage.ask("again").await;
    let status = stage.settlement(&stage.root()).await.status;
    let later = FailureKind::RateLimited;
    assert!(
        matches!(status, Status::Failed { kind, .. } if kind == later),
        "{status:?}"
    );
    let status = stage
        .runtime
        .query(query::Status(stage.tree.clone(), stage.root()))
        .await;
    assert!(
        matches!(status, Ok(Some((SessionState::Error, _)))),
        "{status:?}"
    );
    assert_eq!(stage.script.sent("lead").len(), 6);
}
