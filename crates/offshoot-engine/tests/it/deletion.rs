//! Deleting a session: what is stopped before, what is gone afterwards, what is refused.

use offshoot_engine::CommandError;
use offshoot_types::command::{Deletion, Order, Receipt};
use offshoot_types::id::{AgentId, Pos};
use offshoot_types::store::{Store, StoreErrorKind};

use crate::stage::{Gate, Script, Stage, opening, say, task, task_in_background};

async fn delete(stage: &Stage, agent: AgentId, which: Deletion) -> Result<Receipt, CommandError> {
    let command = stage.command(&stage.tree, agent, Order::Delete(which));
    stage.runtime.command(command).await
}

const DELETED: Receipt = Receipt::Deleted { is_wiped: true };

/// Asserts that nothing of the session is left.
async fn assert_gone(stage: &Stage) {
    let log = stage.store.entries(&stage.tree, Pos::ZERO, usize::MAX);
    assert!(log.await.unwrap().is_empty());
    assert!(stage.store.chat(&stage.root()).await.unwrap().is_none());
    assert!(stage.store.asks().await.unwrap().is_empty());
    assert!(!stage.store.is_owned(&stage.tree).await.unwrap());
    assert!(stage.script.blobs.lock().unwrap().is_empty());
    let prompt = stage.command(
        &stage.tree,
        stage.root(),
        Order::Prompt(stage.words("still there?")),
    );
    let refused = stage.runtime.command(prompt).await;
    assert!(
        matches!(refused, Err(CommandError::Unknown(_))),
        "{refused:?}"
    );
}

async fn store_blob(stage: &Stage) {
    let bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let stored = stage
        .runtime
        .store_blob(stage.tree.root(), None, "image/png", bytes);
    stored.await.unwrap();
    assert!(!stage.script.blobs.lock().unwrap().is_empty());
}

#[tokio::test]
async fn r8_a_session_is_deleted_with_its_log_its_rows_and_its_blobs() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("done")]);
    for restarts in [false, true] {
        let mut stage = Stage::new(script.clone()).await;
        store_blob(&stage).await;
        stage.ask("first").await;
        if restarts {
            stage = stage.crash().await;
        }
        let deleted = delete(&stage, stage.root(), Deletion::Always).await;
        assert_eq!(deleted.unwrap(), DELETED);
        assert_gone(&stage).await;
        let again = delete(&stage, stage.root(), Deletion::Always).await;
        assert!(matches!(again, Err(CommandError::Unknown(_))), "{again:?}");
    }
}

#[tokio::test]
async fn r8_agents_at_work_are_stopped_before_their_session_is_deleted() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task_in_background("worker", "go"), say("started")])
        .part("worker", [say("never").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "first").await;
    stage.asked("worker", 1).await;
    store_blob(&stage).await;
    let (deleted, late) = tokio::join!(
        delete(&stage, stage.root(), Deletion::Always),
        // Sent while the agents are being stopped.
        async {
            let order = Order::Prompt(stage.words("second"));
            let command = stage.command(&stage.tree, stage.root(), order);
            stage.runtime.command(command).await
        },
    );
    assert_eq!(deleted.unwrap(), DELETED);
    assert!(
        matches!(late, Ok(Receipt::Prompted) | Err(CommandError::Unknown(_))),
        "{late:?}"
    );
    assert_gone(&stage).await;
    // Its id is free.
    stage
        .order(stage.root(), Order::open(opening("lead")))
        .await;
    assert_eq!(stage.log().await.len(), 1);
}

#[tokio::test]
async fn r8_a_session_that_another_process_runs_is_not_deleted() {
    let gate = Gate::shut();
    let script = Script::default().part("lead", [say("one").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "first").await;
    stage.asked("lead", 1).await;
    let before = stage.log().await;
    let another = stage.elsewhere();
    let command = stage.command(&stage.tree, stage.root(), Order::Delete(Deletion::Always));
    let refused = another.command(command).await;
    let Err(CommandError::Store(error)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.kind, StoreErrorKind::Held);
    assert_eq!(stage.log().await, before);
}

#[tokio::test]
async fn r8_only_a_root_is_deleted() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let child = stage.born("worker").await;
    let refused = delete(&stage, child, Deletion::Always).await;
    assert!(
        matches!(refused, Err(CommandError::Invalid(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_session_in_which_something_was_said_is_not_deleted_as_unprompted() {
    for restarts in [false, true] {
        let script = Script::default().part("lead", [say("one")]);
        let mut stage = Stage::new(script).await;
        stage.ask("first").await;
        if restarts {
            stage = stage.crash().await;
        }
        let kept = delete(&stage, stage.root(), Deletion::IfUnprompted).await;
        assert!(matches!(kept, Ok(Receipt::NoEffect { .. })), "{kept:?}");
        assert!(!stage.log().await.is_empty());

        let mut stage = Stage::new(Script::default()).await;
        if restarts {
            stage = stage.crash().await;
        }
        let deleted = delete(&stage, stage.root(), Deletion::IfUnprompted).await;
        assert_eq!(deleted.unwrap(), DELETED);
        assert_gone(&stage).await;
    }
}
