//! One owner of a tree at a time.

use std::sync::{Arc, Mutex};

use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CommandId, Epoch, Pos, Timestamp};
use offshoot_types::message::Author;
use offshoot_types::store::{Lease, StoreError, StoreErrorKind};

use super::scene::{Child, Scene};
use super::{Handle, append, kind, write};

fn resume(scene: &Scene, id: &str) -> Command {
    Command {
        id: CommandId::new(id),
        tree: scene.tree().clone(),
        agent: scene.tree().root().clone(),
        order: Order::Resume,
    }
}

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

pub(super) async fn the_owner_of_one_tree_is_seen_by_every_handle(a: Handle, b: Handle) {
    #[track_caller]
    fn check(seen: [Result<bool, StoreError>; 2], expected: bool) {
        assert_eq!(seen, [Ok(expected), Ok(expected)]);
    }
    let (tree, other) = (Scene::new("s").tree().clone(), Scene::new("other"));
    check([a.is_owned(&tree).await, b.is_owned(&tree).await], false);
    let lease = a.claim(&tree).await.expect("the tree is free");
    check([a.is_owned(&tree).await, b.is_owned(&tree).await], true);
    let seen = [
        a.is_owned(other.tree()).await,
        b.is_owned(other.tree()).await,
    ];
    check(seen, false);
    a.release(lease).await.expect("the lease is good");
    check([a.is_owned(&tree).await, b.is_owned(&tree).await], false);
    // As a process that dies: the lease is dropped, and the rows still name an owner.
    drop(b.claim(&tree).await.expect("the tree is free"));
    check([a.is_owned(&tree).await, b.is_owned(&tree).await], false);
}

pub(super) async fn a_claim_raises_the_epoch(a: Handle, b: Handle) {
    let tree = Scene::new("s").tree().clone();
    let first = a.claim(&tree).await.expect("nobody has it");
    let epoch = first.epoch;
    a.release(first).await.expect("it is ours");
    let second = b.claim(&tree).await.expect("nobody has it");
    assert!(second.epoch > epoch, "{} > {epoch}", second.epoch);
}

pub(super) async fn a_tree_is_created_with_its_first_entries(a: Handle, b: Handle) {
    let heard: Arc<Mutex<Vec<u64>>> = Arc::default();
    let sink = Arc::clone(&heard);
    a.listen(
        Arc::new(move |entries| {
            let places = entries.iter().map(|entry| entry.pos.get());
            sink.lock().expect("no panic").extend(places);
        }),
        Arc::new(|_| {}),
    );
    let mut scene = Scene::opened("s");
    let mut append = scene.take();
    append.applied.push((resume(&scene, "c"), Receipt::Opened));
    let created = a.create(scene.tree(), append).await.expect("nobody has it");
    let (lease, entries) = created.expect("it is new");
    let log = b.entries(scene.tree(), Pos::ZERO, 99).await;
    let created: Vec<Entry> = entries.iter().map(|entry| entry.as_ref().clone()).collect();
    assert_eq!(log.expect("it can be read"), created);
    assert_eq!(
        *heard.lock().expect("no panic"),
        [1, 2, 3],
        "before the reply"
    );
    let receipt = b.receipt(&CommandId::new("c")).await;
    assert_eq!(receipt.expect("it can be read"), Some(Receipt::Opened));
    let claimed = b.claim(scene.tree()).await;
    assert_eq!(kind(claimed), Some(StoreErrorKind::Held));
    scene.say("s", "m", "well");
    assert_eq!(self::append(&a, &lease, &mut scene).await, Ok(()));
}

pub(super) async fn a_tree_that_has_entries_is_not_created(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let epoch = lease.epoch;
    drop(lease);
    let again = Scene::opened("s").take();
    let created = b
        .create(scene.tree(), again)
        .await
        .expect("it was given up");
    assert!(created.is_none(), "it has entries");
    let log = b.entries(scene.tree(), Pos::ZERO, 99).await;
    assert_eq!(log.expect("it can be read").len(), 3);
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    assert_eq!(lease.epoch, epoch.next(), "nothing has changed");
}

pub(super) async fn a_tree_that_somebody_holds_is_not_created(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let append = scene.take();
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    let created = b.create(scene.tree(), append.clone()).await;
    assert_eq!(kind(created), Some(StoreErrorKind::Held));
    // Whoever only claimed it left nothing behind but an epoch.
    let epoch = lease.epoch;
    drop(lease);
    let created = b
        .create(scene.tree(), append)
        .await
        .expect("it was given up");
    let (lease, _) = created.expect("it has no entries");
    assert!(lease.epoch > epoch, "{} > {epoch}", lease.epoch);
}

pub(super) async fn a_failed_creation_leaves_nothing(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let good = scene.clone().take();
    let bad = scene.settle("s").settle("s").take();
    let created = a.create(scene.tree(), bad).await;
    assert_eq!(kind(created), Some(StoreErrorKind::Conflict));
    let log = a.entries(scene.tree(), Pos::ZERO, 99).await;
    assert_eq!(log.expect("it can be read"), []);
    let created = b.create(scene.tree(), good).await.expect("nobody has it");
    let (lease, _) = created.expect("it is new");
    assert_eq!(lease.epoch, Epoch::new(1));
}

pub(super) async fn a_former_owner_is_fenced(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    // A process that lost its lock without noticing: it still has the epoch.
    let former = Lease::new(lease.tree.clone(), lease.epoch, Arc::new(()));
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
    let command = resume(&scene, "c");
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
    let seen = async |store: &Handle| {
        let sessions = store.sessions().await.expect("it can be read");
        (sessions[0].owned, sessions[0].abandoned)
    };
    let (owned, released, abandoned) = ((true, false), (false, false), (false, true));
    let lease = write(&a, &mut scene).await;
    assert_eq!(seen(&a).await, owned, "by this handle");
    assert_eq!(seen(&b).await, owned, "by the other handle");
    a.release(lease).await.expect("it is ours");
    assert_eq!(seen(&b).await, released);
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    assert_eq!(seen(&b).await, owned, "claimed again");
    drop(lease);
    assert_eq!(seen(&a).await, abandoned, "given up as in a crash");
    assert_eq!(seen(&b).await, abandoned, "given up as in a crash");
}

/// Writes a tree with everything a tree can have, and returns how to own it.
async fn everything(store: &Handle, scene: &mut Scene) -> Lease {
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "opaque", Child::Opaque);
    scene.spawn("s", "d", "child", Child::Inspectable);
    scene.turn("child", Some("child-ask"));
    write(store, scene).await
}

pub(super) async fn a_deleted_tree_is_unknown(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = everything(&a, &mut scene).await;
    let mut append = scene.take();
    let (done, waits) = (resume(&scene, "done"), resume(&scene, "waits"));
    append.applied.push((done, Receipt::Resumed));
    a.append(&lease, append).await.expect("the lease is good");
    let sent = b.submit(waits.clone(), Timestamp::new(1)).await;
    sent.expect("the tree is there");
    a.delete(lease).await.expect("it is ours");
    for store in [&a, &b] {
        let tree = scene.tree();
        let read = "it can be read";
        assert_eq!(store.entries(tree, Pos::ZERO, 9).await.expect(read), []);
        assert_eq!(store.pending(tree).await.expect(read), []);
        assert_eq!(store.sessions().await.expect(read), []);
        assert_eq!(store.children().await.expect(read), []);
        assert_eq!(
            store.receipt(&CommandId::new("done")).await.expect(read),
            None
        );
        for agent in ["s", "opaque", "child"].map(AgentId::new) {
            assert_eq!(store.tree_of(&agent).await.expect(read), None);
            assert_eq!(store.agent_log(&agent).await.expect(read), []);
            assert_eq!(store.chat(&agent).await.expect(read), None);
        }
    }
    let sent = b.submit(waits, Timestamp::new(1)).await;
    assert_eq!(kind(sent), Some(StoreErrorKind::Unknown));
}

pub(super) async fn a_deleted_tree_may_be_opened_anew(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let mut anew = scene.clone();
    let lease = everything(&a, &mut scene).await;
    let former = Lease::new(lease.tree.clone(), lease.epoch, Arc::new(()));
    a.delete(lease).await.expect("it is ours");
    let lease = everything(&b, &mut anew).await;
    assert!(
        lease.epoch > former.epoch,
        "{} > {}",
        lease.epoch,
        former.epoch
    );
    assert_eq!(b.sessions().await.expect("it can be read").len(), 1);
    scene.say("opaque", "late", "too late");
    assert_eq!(
        append(&a, &former, &mut scene).await,
        Err(StoreErrorKind::Fenced)
    );
    assert_eq!(kind(a.delete(former).await), Some(StoreErrorKind::Fenced));
    anew.say("child", "more", "still here");
    assert_eq!(append(&b, &lease, &mut anew).await, Ok(()));
}

pub(super) async fn a_deletion_ends_the_ownership(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let kept = lease.clone();
    a.delete(lease).await.expect("it is ours");
    scene.say("s", "late", "too late");
    assert_eq!(
        append(&a, &kept, &mut scene).await,
        Err(StoreErrorKind::Fenced)
    );
    b.claim(scene.tree()).await.expect("nobody has it");
}

pub(super) async fn a_deletion_leaves_other_trees_alone(a: Handle, b: Handle) {
    let mut other = Scene::opened("other");
    other.call("other", "m", "task", &["c"]);
    other.spawn("other", "c", "kept", Child::Inspectable);
    let kept = write(&b, &mut other).await;
    let mut scene = Scene::opened("s");
    let lease = everything(&a, &mut scene).await;
    let sent = a.submit(resume(&other, "waits"), Timestamp::new(1)).await;
    sent.expect("the tree is there");
    let log = a.entries(other.tree(), Pos::ZERO, 99).await;
    let chat = a.chat(&AgentId::new("kept")).await;
    a.delete(lease).await.expect("it is ours");
    assert_eq!(a.sessions().await.expect("it can be read").len(), 1);
    assert_eq!(a.children().await.expect("it can be read").len(), 1);
    let pending = a.pending(other.tree()).await;
    assert_eq!(pending.expect("it can be read").len(), 1);
    assert_eq!(a.entries(other.tree(), Pos::ZERO, 99).await, log);
    assert_eq!(a.chat(&AgentId::new("kept")).await, chat);
    other.answer("kept", "still here");
    assert_eq!(append(&b, &kept, &mut other).await, Ok(()));
}

/// A subscriber that panics takes its own tree down and no other.
pub(super) async fn a_panic_of_the_subscriber_fences_its_tree_only(a: Handle, b: Handle) {
    let panics = |entry: &Arc<Entry>| matches!(&entry.event, Event::Titled { .. });
    a.listen(
        Arc::new(move |entries| assert!(!entries.iter().any(panics), "wanted by the test")),
        Arc::new(|_| {}),
    );
    let (mut bad, mut good) = (Scene::opened("bad"), Scene::opened("good"));
    let lost = write(&a, &mut bad).await;
    let kept = write(&a, &mut good).await;
    let title = Event::Titled {
        title: "panic".to_owned(),
        by: Author::Human,
    };
    bad.event("bad", title);
    let fenced = a.append(&lost, bad.take());
    let appended = a.append(&kept, good.prompt("good", "m", "more").take());
    assert_eq!(kind(fenced.await), Some(StoreErrorKind::Fenced));
    assert_eq!(appended.await.expect("the other tree is whole").len(), 1);
    let late = a.append(&lost, bad.prompt("bad", "late", "more").take());
    assert_eq!(kind(late.await), Some(StoreErrorKind::Fenced));
    good.say("good", "said", "well");
    assert_eq!(append(&a, &kept, &mut good).await, Ok(()));
    // What was committed stays, and the tree is free.
    let next = b.claim(bad.tree()).await.expect("it was given up");
    assert!(next.epoch > lost.epoch);
    let log = b.entries(bad.tree(), Pos::ZERO, 99).await;
    assert_eq!(log.expect("it can be read").len(), 4);
}
