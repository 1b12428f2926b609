//! Commands: durable, in order, once.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use offshoot_types::command::{Command, Order, Receipt, Scope};
use offshoot_types::id::{CommandId, Timestamp, TreeId};
use offshoot_types::store::StoreErrorKind;
use tokio::sync::mpsc;

use super::scene::Scene;
use super::{Handle, kind, write};

const AT: Timestamp = Timestamp::new(5);

fn command(tree: &TreeId, id: &str, order: Order) -> Command {
    Command {
        id: CommandId::new(id),
        tree: tree.clone(),
        agent: tree.root().clone(),
        order,
    }
}

async fn pending(store: &Handle, tree: &TreeId) -> Vec<Command> {
    store.pending(tree).await.expect("it can be read")
}

async fn receipt(store: &Handle, id: &str) -> Option<Receipt> {
    let receipt = store.receipt(&CommandId::new(id)).await;
    receipt.expect("it can be read")
}

pub(super) async fn a_command_waits_until_it_is_done(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let cancel = command(scene.tree(), "c", Order::Cancel(Scope::Turn));
    b.submit(cancel.clone(), AT)
        .await
        .expect("the tree is there");
    assert_eq!(pending(&a, scene.tree()).await, slice::from_ref(&cancel));
    assert_eq!(receipt(&b, "c").await, None);
    let mut append = scene.end("s").take();
    append.applied.push((cancel, Receipt::TurnCancelled));
    a.append(&lease, append).await.expect("a good log");
    assert_eq!(pending(&a, scene.tree()).await, []);
    assert_eq!(receipt(&b, "c").await, Some(Receipt::TurnCancelled));
}

pub(super) async fn a_command_that_is_there_stays_as_it_is(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let first = command(scene.tree(), "c", Order::Cancel(Scope::Turn));
    let second = command(scene.tree(), "c", Order::Resume);
    b.submit(first.clone(), AT)
        .await
        .expect("the tree is there");
    b.submit(second.clone(), AT)
        .await
        .expect("it is there already");
    assert_eq!(pending(&a, scene.tree()).await, slice::from_ref(&first));
    let mut append = scene.end("s").take();
    append.applied.push((first, Receipt::TurnCancelled));
    a.append(&lease, append).await.expect("a good log");
    b.submit(second, AT).await.expect("it is done already");
    assert_eq!(pending(&a, scene.tree()).await, []);
    assert_eq!(receipt(&b, "c").await, Some(Receipt::TurnCancelled));
}

pub(super) async fn commands_come_in_order(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let mut other = Scene::opened("other");
    let _leases = (write(&a, &mut scene).await, write(&a, &mut other).await);
    let mut sent = Vec::new();
    for id in ["z", "a", "m", "b"] {
        let resume = command(scene.tree(), id, Order::Resume);
        b.submit(resume.clone(), AT)
            .await
            .expect("the tree is there");
        let elsewhere = command(other.tree(), &format!("other-{id}"), Order::Resume);
        b.submit(elsewhere, AT).await.expect("the tree is there");
        sent.push(resume);
    }
    assert_eq!(pending(&a, scene.tree()).await, sent);
}

pub(super) async fn a_command_is_done_once(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let resume = command(scene.tree(), "c", Order::Resume);
    let mut append = scene.take();
    append.applied.push((resume.clone(), Receipt::Resumed));
    a.append(&lease, append).await.expect("it is new");
    let mut again = scene.clone().end("s").take();
    again.applied.push((resume, Receipt::Promoted));
    assert_eq!(
        kind(a.append(&lease, again).await),
        Some(StoreErrorKind::Conflict)
    );
    assert_eq!(receipt(&a, "c").await, Some(Receipt::Resumed));
    let entries = scene.end("s").take();
    a.append(&lease, entries)
        .await
        .expect("nothing of it was kept");
}

pub(super) async fn a_command_may_be_done_without_having_waited(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    let open = command(scene.tree(), "c", Order::Resume);
    let mut append = scene.take();
    append.applied.push((open, Receipt::Opened));
    a.append(&lease, append).await.expect("a good log");
    assert_eq!(receipt(&b, "c").await, Some(Receipt::Opened));
    assert_eq!(pending(&b, scene.tree()).await, []);
}

pub(super) async fn a_failed_append_leaves_its_command_pending(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let resume = command(scene.tree(), "c", Order::Resume);
    a.submit(resume.clone(), AT)
        .await
        .expect("the tree is there");
    let mut bad = scene.settle("s").settle("s").take();
    bad.applied.push((resume.clone(), Receipt::Resumed));
    assert_eq!(
        kind(a.append(&lease, bad).await),
        Some(StoreErrorKind::Conflict)
    );
    assert_eq!(receipt(&a, "c").await, None);
    assert_eq!(pending(&a, scene.tree()).await, [resume]);
}

pub(super) async fn a_receipt_is_kept_for_a_week_and_a_pending_command_for_ever(
    a: Handle,
    b: Handle,
) {
    const WEEK: u64 = 7 * 24 * 60 * 60 * 1000;
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let waits = command(scene.tree(), "waits", Order::Resume);
    let sent = b.submit(waits.clone(), AT).await;
    sent.expect("the tree is there");
    let mut done = async |id: &str, at: u64| {
        let mut append = scene.prompt("s", id, "more").take();
        append.at = Timestamp::new(at);
        let resume = command(scene.tree(), id, Order::Resume);
        append.applied.push((resume, Receipt::Resumed));
        a.append(&lease, append).await.expect("a good log");
    };
    done("old", WEEK).await;
    done("young", WEEK + 100).await;
    assert_eq!(receipt(&b, "old").await, Some(Receipt::Resumed));
    done("last", 2 * WEEK + 50).await;
    assert_eq!(receipt(&b, "old").await, None);
    assert_eq!(receipt(&b, "young").await, Some(Receipt::Resumed));
    assert_eq!(receipt(&b, "last").await, Some(Receipt::Resumed));
    assert_eq!(pending(&b, scene.tree()).await, [waits]);
}

pub(super) async fn a_command_for_an_unknown_tree_is_refused(a: Handle, b: Handle) {
    let tree = Scene::new("s").tree().clone();
    let resume = command(&tree, "c", Order::Resume);
    assert_eq!(
        kind(b.submit(resume.clone(), AT).await),
        Some(StoreErrorKind::Unknown)
    );
    let _lease = a.claim(&tree).await.expect("nobody has it");
    assert_eq!(
        kind(b.submit(resume, AT).await),
        Some(StoreErrorKind::Unknown),
        "a claim alone makes no session"
    );
}

pub(super) async fn the_owner_is_nudged(a: Handle, b: Handle) {
    let (tell, mut told) = mpsc::channel(8);
    a.listen(
        Arc::new(|_| {}),
        Arc::new(move |tree| tell.try_send(tree.clone()).expect("there is room")),
    );
    let mut scene = Scene::opened("s");
    let _lease = write(&a, &mut scene).await;
    let resume = command(scene.tree(), "c", Order::Resume);
    b.submit(resume, AT).await.expect("the tree is there");
    let told = tokio::time::timeout(Duration::from_secs(10), told.recv()).await;
    assert_eq!(told.expect("a nudge comes"), Some(scene.tree().clone()));
}
