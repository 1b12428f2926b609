//! One owner of a tree at a time.

use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::id::{CommandId, Timestamp};
use offshoot_types::store::StoreErrorKind;

use super::scene::Scene;
use super::{Handle, append, kind, write};

pub(super) async fn one_handle_owns_a_tree_at_a_time(a: Handle, b: Handle) {
    let tree = Scene::new("s").tree().clone();
    let lease = a.claim(&tree).await.expect("nobody has it");
    assert_eq!(kind(b.claim(&tree).await), Some(StoreErrorKind::Held));
    assert_eq!(kind(a.claim(&tree).await), Some(StoreErrorKind::Held));
    b.claim(Scene::new("other").tree())
        .await
        .expect("nobody has the other");
    drop(lease);
}

pub(super) async fn a_claim_raises_the_epoch(a: Handle, b: Handle) {
    let tree = Scene::new("s").tree().clone();
    let first = a.claim(&tree).await.expect("nobody has it");
    let epoch = first.epoch;
    a.release(first).await.expect("it is ours");
    let second = b.claim(&tree).await.expect("nobody has it");
    assert!(second.epoch > epoch, "{} > {epoch}", second.epoch);
}

pub(super) async fn a_former_owner_is_fenced(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    // A process that lost its lock without noticing: it still has the epoch.
    let former =
        offshoot_types::store::Lease::new(lease.tree.clone(), lease.epoch, std::sync::Arc::new(()));
    drop(lease);
    let lease = b.claim(scene.tree()).await.expect("it was given up");
    let mut late = scene.clone();
    late.say("s", "late", "too late");
    assert_eq!(
        append(&a, &former, &mut late).await,
        Err(StoreErrorKind::Fenced)
    );
    assert_eq!(kind(a.release(former).await), Some(StoreErrorKind::Fenced));
    scene.say("s", "in-time", "in time");
    assert_eq!(append(&b, &lease, &mut scene).await, Ok(()));
}

pub(super) async fn a_released_lease_is_fenced(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let kept = lease.clone();
    let back = a.release(lease).await.expect("it is ours");
    assert!(back.is_none(), "nothing is pending");
    scene.say("s", "late", "too late");
    assert_eq!(
        append(&a, &kept, &mut scene).await,
        Err(StoreErrorKind::Fenced)
    );
}

pub(super) async fn a_dropped_lease_frees_the_tree(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let clone = lease.clone();
    drop(lease);
    assert_eq!(
        kind(b.claim(scene.tree()).await),
        Some(StoreErrorKind::Held),
        "a clone still holds it"
    );
    drop(clone);
    b.claim(scene.tree()).await.expect("it was given up");
}

pub(super) async fn a_release_with_a_pending_command_gives_the_lease_back(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let command = Command {
        id: CommandId::new("c"),
        tree: scene.tree().clone(),
        agent: scene.tree().root().clone(),
        order: Order::Resume,
    };
    let sent = b.submit(command.clone(), Timestamp::new(1)).await;
    sent.expect("the tree is there");
    let lease = a.release(lease).await.expect("it is ours");
    let lease = lease.expect("a command is pending");
    scene.say("s", "more", "still here");
    let mut more = scene.take();
    more.applied.push((command, Receipt::Resumed));
    a.append(&lease, more).await.expect("the lease is good");
    let back = a.release(lease).await.expect("it is ours");
    assert!(back.is_none(), "nothing is pending any more");
}

pub(super) async fn a_release_frees_the_tree(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    // A clone somebody forgot does not keep the tree.
    let _forgotten = lease.clone();
    a.release(lease).await.expect("it is ours");
    let lease = b.claim(scene.tree()).await.expect("it was released");
    scene.say("s", "more", "from the other");
    assert_eq!(append(&b, &lease, &mut scene).await, Ok(()));
}

pub(super) async fn lists_tell_who_is_owned(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let owned = async |store: &Handle| {
        let sessions = store.sessions().await.expect("it can be read");
        sessions[0].owned
    };
    let lease = write(&a, &mut scene).await;
    assert!(owned(&a).await, "by this handle");
    assert!(owned(&b).await, "by the other handle");
    a.release(lease).await.expect("it is ours");
    assert!(!owned(&b).await, "released");
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    assert!(owned(&b).await, "claimed again");
    drop(lease);
    assert!(!owned(&a).await, "given up as in a crash");
    assert!(!owned(&b).await, "given up as in a crash");
}
