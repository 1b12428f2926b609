//! The journal: what agents do to files, before they do it.

use std::sync::Arc;

use offshoot_types::id::{AgentId, CallId, Timestamp};
use offshoot_types::journal::{Change, Recorded, Writer};
use offshoot_types::store::{Lease, StoreErrorKind};

use super::scene::{Child, Scene};
use super::{Handle, kind, write};

const PATH: &str = "/home/me/project/main.rs";

fn recorded(agent: &str, path: &str, before: Option<&str>, after: Option<&str>) -> Recorded {
    let bytes = |text: &str| text.as_bytes().to_vec();
    Recorded {
        writer: Writer {
            agent: AgentId::new(agent),
            definition: format!("definition of {agent}"),
            at: Timestamp::new(7),
        },
        call: CallId::new("call"),
        change: Change {
            path: path.to_owned(),
            before: before.map(bytes),
            after: after.map(bytes),
        },
    }
}

async fn record(store: &Handle, lease: &Lease, recorded: &Recorded) -> Result<(), StoreErrorKind> {
    let Recorded {
        writer,
        call,
        change,
    } = recorded.clone();
    let Writer {
        agent,
        definition,
        at,
    } = writer;
    let recorded = store.journal(lease, &agent, &definition, &call, change, at);
    recorded.await.map_err(|error| error.kind)
}

/// Returns the changes of a tree, which its trace and the contents that it names have to agree with.
async fn changes(store: &Handle, scene: &Scene) -> Vec<Recorded> {
    let changes = store.changes(scene.tree()).await;
    let changes = changes.expect("it can be read");
    let trace = store.trace(scene.tree()).await.expect("it can be read");
    assert_eq!(trace.len(), changes.len());
    for (traced, recorded) in trace.iter().zip(&changes) {
        assert_eq!(traced.writer, recorded.writer);
        assert_eq!(traced.call, recorded.call);
        assert_eq!(traced.path, recorded.change.path);
        let sides = [
            (traced.before, &recorded.change.before),
            (traced.after, &recorded.change.after),
        ];
        for (id, content) in sides {
            assert_eq!(id.is_some(), content.is_some());
            if let (Some(id), Some(content)) = (id, content) {
                let found = store.find_content(scene.tree(), content.clone()).await;
                assert_eq!(found, Ok(Some(id)));
                let read = store.content(scene.tree(), id).await;
                assert_eq!(read.as_ref(), Ok(&Some(content.clone())));
            }
        }
    }
    let unknown = store.find_content(scene.tree(), b"no such content".to_vec());
    assert_eq!(unknown.await, Ok(None));
    changes
}

async fn last_writer(store: &Handle, path: &str) -> Option<String> {
    let writer = store.last_writer(path).await.expect("it can be read");
    writer.map(|writer| writer.agent.as_str().to_owned())
}

/// A tree whose root has a child.
fn family() -> Scene {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene
}

pub(super) async fn changes_come_back_in_order(a: Handle, b: Handle) {
    let mut scene = family();
    let lease = write(&a, &mut scene).await;
    let mut written = Vec::new();
    for change in [
        recorded("s", PATH, None, Some("one")),
        recorded("child", PATH, Some("one"), Some("two")),
        recorded("s", "/tmp/other", Some(""), Some("one")),
        recorded("s", PATH, Some("two"), None),
        recorded("child", PATH, None, Some("one")),
    ] {
        assert_eq!(record(&a, &lease, &change).await, Ok(()));
        written.push(change);
        assert_eq!(
            changes(&b, &scene).await,
            written,
            "durable when it returns"
        );
    }
}

pub(super) async fn a_change_of_any_bytes_comes_back(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let mut change = recorded("s", "/a path\nof two lines", None, None);
    change.change.before = Some((0..=255).cycle().take(100_000).collect());
    change.change.after = Some(vec![0; 3]);
    assert_eq!(record(&a, &lease, &change).await, Ok(()));
    assert_eq!(changes(&b, &scene).await, [change]);
}

pub(super) async fn a_change_goes_on_without_its_caller(a: Handle, _: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let first = recorded("s", PATH, None, Some("one"));
    let second = recorded("s", PATH, Some("one"), Some("two"));
    let writer = &first.writer;
    drop(a.journal(
        &lease,
        &writer.agent,
        &writer.definition,
        &first.call,
        first.change.clone(),
        writer.at,
    ));
    assert_eq!(record(&a, &lease, &second).await, Ok(()));
    assert_eq!(changes(&a, &scene).await, [first, second]);
}

pub(super) async fn the_last_writer_is_found_across_trees(a: Handle, b: Handle) {
    let (mut one, mut two) = (Scene::opened("one"), Scene::opened("two"));
    let leases = (write(&a, &mut one).await, write(&b, &mut two).await);
    assert_eq!(last_writer(&a, PATH).await, None);
    let by = |agent| recorded(agent, PATH, None, Some(agent));
    assert_eq!(record(&a, &leases.0, &by("one")).await, Ok(()));
    let found = b.last_writer(PATH).await.expect("it can be read");
    assert_eq!(found, Some(by("one").writer));
    assert_eq!(record(&b, &leases.1, &by("two")).await, Ok(()));
    assert_eq!(last_writer(&a, PATH).await.as_deref(), Some("two"));
    let elsewhere = recorded("one", "/tmp/other", None, None);
    assert_eq!(record(&a, &leases.0, &elsewhere).await, Ok(()));
    assert_eq!(last_writer(&a, PATH).await.as_deref(), Some("two"));
    assert_eq!(last_writer(&a, "/home/me/project").await, None);
}

pub(super) async fn a_change_of_a_former_owner_is_fenced(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    let former = Lease::new(lease.tree.clone(), lease.epoch, Arc::new(()));
    drop(lease);
    let _lease = b.claim(scene.tree()).await.expect("it was given up");
    let late = recorded("s", PATH, None, Some("late"));
    assert_eq!(
        record(&a, &former, &late).await,
        Err(StoreErrorKind::Fenced)
    );
    assert_eq!(changes(&b, &scene).await, []);
}

pub(super) async fn a_change_of_an_unknown_agent_is_a_conflict(a: Handle, _: Handle) {
    let (mut scene, mut other) = (Scene::opened("s"), Scene::opened("other"));
    let lease = write(&a, &mut scene).await;
    let _other = write(&a, &mut other).await;
    for agent in ["nobody", "other"] {
        let change = recorded(agent, PATH, None, Some("one"));
        let refused = record(&a, &lease, &change).await;
        assert_eq!(refused, Err(StoreErrorKind::Conflict), "{agent}");
    }
    assert_eq!(changes(&a, &scene).await, []);
}

pub(super) async fn a_content_is_known_to_the_trees_that_name_it_only(a: Handle, b: Handle) {
    let (mut one, mut two) = (Scene::opened("one"), Scene::opened("two"));
    let leases = (write(&a, &mut one).await, write(&b, &mut two).await);
    let by_one = recorded("one", PATH, Some("shared"), Some("of one"));
    assert_eq!(record(&a, &leases.0, &by_one).await, Ok(()));
    let by_two = recorded("two", PATH, Some("of two"), Some("shared"));
    assert_eq!(record(&b, &leases.1, &by_two).await, Ok(()));
    let found = async |scene: &Scene, text: &str| {
        let found = a.find_content(scene.tree(), text.as_bytes().to_vec());
        found.await.expect("it can be read")
    };
    for (scene, own, strange) in [(&one, "of one", "of two"), (&two, "of two", "of one")] {
        assert!(found(scene, own).await.is_some());
        assert!(found(scene, "shared").await.is_some());
        assert_eq!(found(scene, strange).await, None);
    }
    let id = found(&one, "of one").await.expect("it is named");
    let read = a.content(two.tree(), id).await.expect("it can be read");
    assert_ne!(read, Some(b"of one".to_vec()));
    assert_eq!(changes(&a, &one).await, [by_one]);
    assert_eq!(changes(&a, &two).await, [by_two]);
}

pub(super) async fn deletion_takes_the_journal_of_its_tree_only(a: Handle, b: Handle) {
    let (mut one, mut two) = (Scene::opened("one"), Scene::opened("two"));
    let leases = (write(&a, &mut one).await, write(&b, &mut two).await);
    // The same contents in both.
    let by = |agent| recorded(agent, PATH, Some("before"), Some("after"));
    assert_eq!(record(&a, &leases.0, &by("one")).await, Ok(()));
    assert_eq!(record(&b, &leases.1, &by("two")).await, Ok(()));
    assert_eq!(kind(b.delete(leases.1).await), None);
    assert_eq!(changes(&a, &two).await, []);
    assert_eq!(changes(&a, &one).await, [by("one")]);
    assert_eq!(last_writer(&a, PATH).await.as_deref(), Some("one"));
    assert_eq!(kind(a.delete(leases.0).await), None);
    assert_eq!(last_writer(&a, PATH).await, None);
}
