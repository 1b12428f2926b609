//! Reading what was written.

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CommandId, Pos, Seq, Timestamp, TreeId};
use offshoot_types::store::SessionSummary;

use super::scene::{Child, Scene};
use super::{Handle, append, write};

/// No position.
const NONE: [u64; 0] = [];

/// Writes a root with two children, one of which has answered.
async fn family(store: &Handle) -> Scene {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "one", Child::Opaque);
    scene.spawn("s", "d", "two", Child::Inspectable);
    scene.answer("one", "3 files").settle("one");
    scene.finish("s", "c", &[("one", 1)]);
    scene.turn("two", Some("two-ask"));
    let lease = write(store, &mut scene).await;
    store.release(lease).await.expect("it is ours");
    scene
}

async fn page(store: &Handle, tree: &TreeId, after: u64, limit: usize) -> Vec<u64> {
    let entries = store.entries(tree, Pos::new(after), limit).await;
    let entries = entries.expect("it can be read");
    entries.iter().map(|entry| entry.pos.get()).collect()
}

async fn agent_log(store: &Handle, agent: &str) -> Vec<Entry> {
    let log = store.agent_log(&AgentId::new(agent)).await;
    log.expect("it can be read")
}

pub(super) async fn the_unknown_is_empty(a: Handle, _: Handle) {
    let nobody = AgentId::new("nobody");
    let tree = TreeId::of(nobody.clone());
    assert_eq!(page(&a, &tree, 0, 10).await, NONE);
    assert_eq!(agent_log(&a, "nobody").await, []);
    assert_eq!(a.tree_of(&nobody).await.expect("it can be read"), None);
    assert_eq!(a.pending(&tree).await.expect("it can be read"), []);
    let command = CommandId::new("c");
    assert_eq!(a.receipt(&command).await.expect("it can be read"), None);
    let _lease = a.claim(&tree).await.expect("nobody has it");
    assert_eq!(page(&a, &tree, 0, 10).await, NONE);
    assert_eq!(a.sessions().await.expect("it can be read"), []);
}

pub(super) async fn entries_are_read_in_pages(a: Handle, b: Handle) {
    let scene = family(&a).await;
    let all = page(&b, scene.tree(), 0, usize::MAX).await;
    let expected: Vec<u64> = (1..=all.len() as u64).collect();
    assert_eq!(all, expected);
    assert_eq!(page(&b, scene.tree(), 0, 2).await, [1, 2]);
    assert_eq!(page(&b, scene.tree(), 2, 3).await, [3, 4, 5]);
    assert_eq!(page(&b, scene.tree(), 2, 0).await, NONE);
    assert_eq!(page(&b, scene.tree(), all.len() as u64, 5).await, NONE);
    assert_eq!(page(&b, scene.tree(), 1_000_000, 5).await, NONE);
}

pub(super) async fn an_agent_has_its_own_log(a: Handle, b: Handle) {
    let scene = family(&a).await;
    for agent in ["s", "one", "two"] {
        let log = agent_log(&b, agent).await;
        assert!(matches!(log[0].event, Event::Spawned(_)), "{agent}");
        for (index, entry) in log.iter().enumerate() {
            assert_eq!(entry.agent.as_str(), agent);
            assert_eq!(entry.tree, *scene.tree());
            assert_eq!(entry.seq, Seq::new(index as u64 + 1));
        }
    }
    let told = agent_log(&b, "one").await;
    assert!(matches!(told[5].event, Event::Settled { .. }));
    assert_eq!(told.len(), 6);
}

pub(super) async fn an_agent_is_found_in_its_tree(a: Handle, b: Handle) {
    let scene = family(&a).await;
    for agent in ["s", "one", "two"] {
        let tree = b.tree_of(&AgentId::new(agent)).await;
        assert_eq!(tree.expect("it can be read"), Some(scene.tree().clone()));
    }
}

pub(super) async fn lists_tell_of_roots(a: Handle, b: Handle) {
    let mut scene = family(&a).await;
    let expected = SessionSummary {
        tree: scene.tree().clone(),
        definition: "build".to_owned(),
        workspace: "/home/me/project".to_owned(),
        title: "go".to_owned(),
        created_at: Timestamp::new(1_001),
        updated_at: Timestamp::new(1_001),
        agents: 3,
        open_runs: 2,
        owned: false,
        status: None,
    };
    let listed = b.sessions().await.expect("it can be read");
    assert_eq!(listed, std::slice::from_ref(&expected));
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    scene
        .say("two", "two-says", "none")
        .end("two")
        .settle("two");
    scene.finish("s", "d", &[("two", 1)]).end("s");
    scene
        .prompt("s", "ask2", "another title\nof two lines")
        .settle("s");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let listed = b.sessions().await.expect("it can be read");
    let settled = SessionSummary {
        updated_at: Timestamp::new(1_002),
        open_runs: 0,
        owned: true,
        status: Some("completed".to_owned()),
        ..expected
    };
    assert_eq!(listed, [settled]);
}

pub(super) async fn the_last_changed_comes_first(a: Handle, _: Handle) {
    for (tree, changes) in [("x", 2), ("y", 3), ("z", 1)] {
        let mut scene = Scene::opened(tree);
        let lease = write(&a, &mut scene).await;
        for change in 1..changes {
            scene.prompt(tree, &format!("m{change}"), "more");
            assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
        }
    }
    let listed = a.sessions().await.expect("it can be read");
    let order: Vec<_> = listed.iter().map(|session| session.tree.as_str()).collect();
    assert_eq!(order, ["y", "x", "z"]);
}
