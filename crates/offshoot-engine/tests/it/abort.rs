//! Stopping: a turn, a run, a tree, a process.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use offshoot_engine::Limits;
use offshoot_types::command::{Order, Receipt, Scope};
use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use offshoot_types::tree::Tree;
use serde_json::json;
use tokio::sync::Notify;

use crate::stage::{Gate, Script, Stage, call, kind, say, task, task_in_background};

/// A tree of three levels, blocking and background mixed, of which everybody hangs.
async fn hanging_tree() -> (Stage, Vec<AgentId>) {
    let never = Gate::shut();
    let mixed = [
        ("task", json!({ "subagent_type": "helper", "prompt": "a" })),
        (
            "task",
            json!({ "subagent_type": "watched", "prompt": "b", "background": true }),
        ),
    ];
    let script = Script::default()
        .part("lead", [call(&mixed), say("after"), say("heard")])
        .part("helper", [task("worker", "deep"), say("never")])
        .part("watched", [say("never").behind(&never)])
        .part("worker", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let mut agents = vec![stage.root()];
    for definition in ["helper", "watched", "worker"] {
        agents.push(stage.born(definition).await);
    }
    (stage, agents)
}

#[tokio::test]
async fn sa_21_ses_43_one_abort_stops_three_levels_and_every_call_is_answered() {
    let (stage, agents) = hanging_tree().await;
    let settlement = stage.cancel(stage.root()).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    stage.quiet().await;

    let tree = stage.tree().await;
    for id in &agents[1..] {
        let status = &tree.agent(id).unwrap().settlement().unwrap().status;
        assert_eq!(*status, Status::Cancelled(CancelledBy::Ancestor), "{id}");
    }
    // Each level's blocking call ends as aborted by parent; the background child is told as such.
    assert_eq!(
        kind(&stage.outcomes("lead").await[1]),
        ErrorKind::AbortedByParent
    );
    assert_eq!(
        kind(&stage.outcomes("helper").await[0]),
        ErrorKind::AbortedByParent
    );
    assert_eq!(stage.completions().await, [("cancelled".to_owned(), None)]);
}

#[tokio::test]
async fn r18_the_first_settlement_wins_and_cancel_returns_it() {
    let script = Script::default().part("lead", [say("done before")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let settlement = stage.cancel(stage.root()).await;
    assert_eq!(settlement.status, Status::Completed);
}

/// A tool that takes its time when an agent's run is about to settle.
struct Lingering {
    spec: ToolSpec,
    called: Arc<Notify>,
    settling: Gate,
}

impl Tool for Lingering {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, _arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }

    fn run(&self, _work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::ready(Outcome::output(RawJson::of(&"ran"))))
    }

    fn end(&self, _owner: &str) -> BoxFuture<'static, ()> {
        let settling = self.settling.clone();
        self.called.notify_one();
        Box::pin(async move { settling.passed().await })
    }
}

#[tokio::test]
async fn r18_a_cancel_that_comes_with_the_prompt_before_it_is_told_how_that_run_ended() {
    let (never, settling, called) = (Gate::shut(), Gate::shut(), Arc::new(Notify::new()));
    let script = Script::default()
        .part("lead", [task("watched", "go"), say("done"), say("later")])
        .part("watched", [say("first"), say("never").behind(&never)]);
    // The tool may take as long as it likes.
    let grace = Duration::from_secs(3_600);
    let limits = Limits {
        grace,
        ..Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    let spec = ToolSpec {
        id: "linger".to_owned(),
        description: "Lingers.".to_owned(),
        parameters: RawJson::of(&json!({ "type": "object" })),
        effect: Effect::Read,
    };
    let _attachment = stage.attach(vec![Arc::new(Lingering {
        spec,
        called: called.clone(),
        settling: settling.clone(),
    })]);
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("watched").await;
    called.notified().await;

    // The child is about to settle and takes no order. The session hands orders out one after
    // another: when the last one is answered, the child has both others before it.
    let both_wait = async {
        stage.prompt(stage.root(), "later").await;
        settling.open();
    };
    let prompt = stage.prompt(child.clone(), "once more");
    let cancel = stage.cancel(child.clone());
    let ((), told, ()) = futures_util::future::join3(prompt, cancel, both_wait).await;
    assert_eq!(told.status, Status::Cancelled(CancelledBy::User));
    stage.quiet().await;

    let tree = stage.tree().await;
    let child = tree.agent(&child).unwrap();
    let ends = child.runs.iter().map(|run| run.settled.as_ref().unwrap());
    let ends: Vec<_> = ends.map(|(_, settlement)| settlement.as_ref()).collect();
    assert_eq!(ends[0].status, Status::Completed);
    assert_eq!(ends[1..], [&told]);
}

#[tokio::test]
async fn sa_40_a_child_is_cancelled_alone_and_its_parent_goes_on() {
    let never = Gate::shut();
    let script = Script::default()
        .part("lead", [task("watched", "go"), say("without it")])
        .part("watched", [say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let child = stage.born("watched").await;
    let settlement = stage.cancel(child).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    stage.quiet().await;
    assert_eq!(
        kind(&stage.outcomes("lead").await[0]),
        ErrorKind::ChildFailed
    );
    assert_eq!(
        stage.settlement(&stage.root()).await.output.as_deref(),
        Some("without it")
    );
}

#[tokio::test]
async fn x_07_cancelling_a_turn_leaves_background_children_alone() {
    let (busy, gate) = (Gate::shut(), Gate::shut());
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("never").behind(&busy),
                say("heard"),
            ],
        )
        .part("worker", [say("survived").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("lead", 2).await;
    let receipt = stage.order(stage.root(), Order::Cancel(Scope::Turn)).await;
    assert_eq!(receipt, Receipt::TurnCancelled);
    let root = stage.root();
    stage
        .until(|entry| {
            let aborted = TurnEnd::Aborted(CancelledBy::User);
            entry.agent == root
                && matches!(&entry.event, Event::TurnEnded { end, .. } if *end == aborted)
        })
        .await;
    gate.open();
    stage.quiet().await;
    assert_eq!(
        stage.completions().await,
        [("completed".to_owned(), Some("survived".to_owned()))]
    );
    assert_eq!(
        stage.settlement(&root).await.output.as_deref(),
        Some("heard")
    );
}

#[tokio::test]
async fn que_06_an_abort_is_a_clean_end_and_the_next_prompt_fires() {
    let never = Gate::shut();
    let script = Script::default().part("lead", [say("never").behind(&never), say("second")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "first").await;
    stage.prompt(stage.root(), "second").await;
    stage.asked("lead", 1).await;
    // R18: the run that was stopped is what is told, not one that began since.
    let settlement = stage.cancel(stage.root()).await;
    assert_eq!(settlement.status, Status::Cancelled(CancelledBy::User));
    stage.quiet().await;
    let root = stage.settlement(&stage.root()).await;
    assert_eq!(
        (root.status, root.output.as_deref()),
        (Status::Completed, Some("second"))
    );
    assert_eq!(
        stage.tree().await.agent(&stage.root()).unwrap().runs.len(),
        2
    );
}

#[tokio::test]
async fn r4_what_was_said_before_an_abort_is_kept_and_marked() {
    let never = Gate::shut();
    let script = Script::default().part("lead", [say("half a sent").stalls_at(&never), say("ok")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let mut updates = stage
        .runtime
        .subscribe(&stage.tree, offshoot_types::id::Pos::ZERO)
        .await;
    while !matches!(
        updates.next().await.unwrap(),
        offshoot_engine::Update::Delta(_)
    ) {}
    stage.cancel(stage.root()).await;
    let kept = stage
        .log()
        .await
        .into_iter()
        .find_map(|entry| match entry.event {
            Event::Replied(reply) => Some((reply.text(), reply.stop)),
            _ => None,
        });
    assert_eq!(
        kept,
        Some((
            Some("half a sent".to_owned()),
            offshoot_types::message::StopReason::Cut
        ))
    );
}

#[tokio::test]
async fn r20_shutdown_settles_everything_and_gives_the_session_back() {
    let (stage, agents) = hanging_tree().await;
    let (log, owned) = stage.shut_down().await;
    let tree = Tree::fold(&log).unwrap();
    for id in &agents {
        let status = &tree.agent(id).unwrap().settlement().unwrap().status;
        assert_eq!(*status, Status::Cancelled(CancelledBy::Shutdown), "{id}");
    }
    assert!(!owned);
}
