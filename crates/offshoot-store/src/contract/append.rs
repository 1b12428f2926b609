//! Appending: all or nothing, in order, by the rules of the log.

use std::sync::{Arc, Mutex};

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId, Pos, Seq, Timestamp};
use offshoot_types::message::{Author, UserMessage};
use offshoot_types::store::{Append, NewEntry, StoreErrorKind};
use tokio::task::JoinSet;

use super::scene::{Child, Scene};
use super::{Handle, append, kind, write};

const CONFLICT: Result<(), StoreErrorKind> = Err(StoreErrorKind::Conflict);
const REFUSED: Result<(), StoreErrorKind> = Err(StoreErrorKind::Refused);

async fn log(store: &Handle, scene: &Scene) -> Vec<Entry> {
    let entries = store.entries(scene.tree(), Pos::ZERO, usize::MAX).await;
    entries.expect("it can be read")
}

pub(super) async fn entries_come_back_with_their_places(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    let new = scene.take();
    let appended = a.append(&lease, new.clone()).await.expect("a good log");
    assert_eq!(appended.len(), new.entries.len());
    for (index, (entry, new)) in appended.iter().zip(&new.entries).enumerate() {
        assert_eq!(entry.tree, *scene.tree());
        assert_eq!(entry.pos, Pos::new(index as u64 + 1));
        assert_eq!(entry.at, Timestamp::new(1_001));
        assert_eq!((&entry.agent, entry.seq), (&new.agent, new.seq));
        assert_eq!(entry.event, new.event);
    }
    let appended: Vec<Entry> = appended
        .iter()
        .map(|entry| entry.as_ref().clone())
        .collect();
    assert_eq!(log(&b, &scene).await, appended, "durable when it returns");
}

pub(super) async fn an_append_is_all_or_nothing(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let before = log(&a, &scene).await;
    let mut good = scene.clone();
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Inspectable);
    scene.answer("child", "3 files").settle("child");
    let mut bad = scene.take();
    // The one in the middle does not follow.
    bad.entries[3].seq = Seq::new(77);
    assert_eq!(
        kind(a.append(&lease, bad).await),
        Some(StoreErrorKind::Conflict)
    );
    assert_eq!(log(&a, &scene).await, before);
    let child = AgentId::new("child");
    assert_eq!(a.tree_of(&child).await.expect("it can be read"), None);
    // Nothing of it is left to be in the way.
    good.call("s", "m", "task", &["c"]);
    good.spawn("s", "c", "child", Child::Inspectable);
    good.answer("child", "3 files").settle("child");
    assert_eq!(append(&a, &lease, &mut good).await, Ok(()));
}

pub(super) async fn a_failed_append_leaves_no_gap(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let end = log(&a, &scene).await.len() as u64;
    for _ in 0..3 {
        let mut bad = scene.clone();
        bad.say("s", "m", "well").settle("s").settle("s");
        assert_eq!(append(&a, &lease, &mut bad).await, CONFLICT);
    }
    scene.say("s", "m", "well");
    let appended = a.append(&lease, scene.take()).await.expect("a good log");
    assert_eq!(appended[0].pos, Pos::new(end + 1));
}

pub(super) async fn an_append_goes_on_without_its_caller(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    scene.say("s", "m", "never awaited");
    drop(a.append(&lease, scene.take()));
    // The next one waits behind it, and follows it.
    scene.end("s");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let said = log(&a, &scene).await;
    assert!(matches!(&said[3].event, Event::Replied(message) if message.id.as_str() == "m"));
}

pub(super) async fn the_sink_is_told_before_the_appender_in_order(a: Handle, _: Handle) {
    let heard: Arc<Mutex<Vec<Arc<Entry>>>> = Arc::default();
    let sink = Arc::clone(&heard);
    a.listen(
        Arc::new(move |entries| {
            let tree = &entries[0].tree;
            assert!(entries.iter().all(|entry| entry.tree == *tree));
            sink.lock().expect("no panic").extend(entries.to_vec());
        }),
        Arc::new(|_| {}),
    );
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    assert_eq!(heard.lock().expect("no panic").len(), 3, "before the reply");
    let mut appends = Vec::new();
    for message in ["m1", "m2", "m3"] {
        appends.push(a.append(&lease, scene.prompt("s", message, "more").take()));
    }
    let mut refused = scene.clone();
    refused.settle("s").settle("s");
    let refused = a.append(&lease, refused.take());
    for append in appends {
        let last = append.await.expect("a good log")[0].pos;
        let heard = heard.lock().expect("no panic");
        assert!(
            heard.iter().any(|entry| entry.pos == last),
            "before the reply"
        );
    }
    assert_eq!(kind(refused.await), Some(StoreErrorKind::Conflict));
    let heard: Vec<u64> = (heard.lock().expect("no panic").iter())
        .map(|entry| entry.pos.get())
        .collect();
    assert_eq!(heard, [1, 2, 3, 4, 5, 6], "in order, once, and no more");
}

pub(super) async fn positions_have_no_gap_under_many_appenders(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let calls: Vec<String> = (0..50).map(|n| format!("call{n}")).collect();
    let names: Vec<&str> = calls.iter().map(String::as_str).collect();
    scene.call("s", "m", "task", &names);
    for (n, call) in calls.iter().enumerate() {
        scene.spawn("s", call, &format!("child{n}"), Child::Opaque);
    }
    let lease = write(&a, &mut scene).await;
    let mut writers = JoinSet::new();
    for n in 0..50 {
        let (store, lease) = (Arc::clone(&a), lease.clone());
        writers.spawn(async move {
            for seq in 3..13 {
                let message = UserMessage {
                    id: MessageId::new(format!("more{n}-{seq}")),
                    text: "more".into(),
                    from: Author::Human,
                    agent: None,
                    model: None,
                    metadata: None,
                    output_schema: None,
                    delegation: None,
                    immediate: false,
                };
                let entry = NewEntry {
                    agent: AgentId::new(format!("child{n}")),
                    seq: Seq::new(seq),
                    event: Event::Prompted(message),
                };
                let append = Append {
                    entries: vec![entry],
                    ..Append::default()
                };
                store.append(&lease, append).await.expect("it is the next");
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.expect("no writer panics");
    }
    let entries = log(&b, &scene).await;
    assert_eq!(entries.len(), 4 + 50 * 3 + 50 * 10);
    for (index, entry) in entries.iter().enumerate() {
        assert_eq!(entry.pos, Pos::new(index as u64 + 1));
    }
}

pub(super) async fn an_entry_that_is_not_the_next_is_a_conflict(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let mut repeated = scene.clone();
    scene.say("s", "m", "once");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    repeated.say("s", "m", "twice");
    assert_eq!(append(&a, &lease, &mut repeated).await, CONFLICT);
    let mut ahead = scene.clone();
    ahead.end("s").take();
    ahead.settle("s");
    assert_eq!(append(&a, &lease, &mut ahead).await, CONFLICT);
}

pub(super) async fn a_run_does_not_settle_before_its_children(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    scene.finish("s", "c", &[]).end("s");
    let lease = write(&a, &mut scene).await;
    let mut early = scene.clone();
    early.settle("s");
    assert_eq!(append(&a, &lease, &mut early).await, REFUSED);
    scene
        .say("child", "m2", "3 files")
        .end("child")
        .settle("child");
    scene.settle("s");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
}

pub(super) async fn a_run_settles_once(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    scene.say("s", "m", "well").end("s").settle("s");
    let lease = write(&a, &mut scene).await;
    let Some(settled) = log(&a, &scene).await.pop() else {
        panic!("something was written");
    };
    let mut again = scene.clone();
    again.event("s", settled.event);
    assert_eq!(append(&a, &lease, &mut again).await, CONFLICT);
    let mut unopened = scene.clone();
    unopened.settle("s");
    assert_eq!(append(&a, &lease, &mut unopened).await, CONFLICT);
    scene.prompt("s", "ask2", "again").turn("s", Some("ask2"));
    scene.say("s", "m2", "well").end("s").settle("s");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()), "the next run");
}

pub(super) async fn a_run_is_told_once(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.answer("child", "3 files").settle("child");
    scene.finish("s", "c", &[("child", 1)]);
    let lease = write(&a, &mut scene).await;
    let mut again = scene.clone();
    again.finish("s", "d", &[("child", 1)]);
    assert_eq!(append(&a, &lease, &mut again).await, CONFLICT, "by a call");
    scene.finish("s", "d", &[]).end("s");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let mut again = scene.clone();
    again.complete("s", "told", ("child", 1));
    assert_eq!(append(&a, &lease, &mut again).await, CONFLICT, "as mail");
}

pub(super) async fn only_a_settled_run_is_told(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    let lease = write(&a, &mut scene).await;
    for run in [("child", 1), ("child", 2), ("nobody", 1), ("s", 1)] {
        let mut early = scene.clone();
        early.finish("s", "c", &[run]);
        assert_eq!(append(&a, &lease, &mut early).await, CONFLICT, "{run:?}");
    }
}

pub(super) async fn an_agent_is_born_once_below_its_parent(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    let lease = write(&a, &mut scene).await;
    let mut second_root = scene.clone();
    second_root.root();
    assert_eq!(append(&a, &lease, &mut second_root).await, CONFLICT);
    let mut twin = scene.clone();
    twin.spawn("s", "d", "child", Child::Opaque);
    assert_eq!(append(&a, &lease, &mut twin).await, CONFLICT);
    let mut orphan = Scene::new("s");
    orphan.spawn("nobody", "d", "orphan", Child::Opaque);
    let mut birth = orphan.take();
    birth.entries.remove(0);
    assert_eq!(
        kind(a.append(&lease, birth).await),
        Some(StoreErrorKind::Conflict)
    );
}

pub(super) async fn an_unknown_agent_is_a_conflict(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    scene.prompt("nobody", "m", "is anybody there");
    assert_eq!(append(&a, &lease, &mut scene).await, CONFLICT);
}
