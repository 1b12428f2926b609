//! Lists of sessions in pages, narrowed and searched; ids found by a part.

use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::listing::{Among, SessionCursor, SessionKind, SessionQuery};

use super::scene::{Child, Scene};
use super::{Handle, append, write};

/// Returns the ids that a query lists.
async fn ids(store: &Handle, query: SessionQuery) -> Vec<String> {
    let listed = store.list(query).await.expect("it can be read");
    let ids = listed.iter().map(|session| session.agent.to_string());
    ids.collect()
}

async fn found(store: &Handle, part: &str, among: Among, limit: usize) -> Vec<String> {
    let found = store.find(part, among, limit).await;
    let found = found.expect("it can be read");
    found.iter().map(ToString::to_string).collect()
}

/// Opens sessions with some titles, all at one time.
async fn open(store: &Handle, sessions: &[(&str, &str, &str)]) {
    for (tree, workspace, title) in sessions {
        let mut scene = Scene::opened_in(tree, workspace, title);
        let lease = write(store, &mut scene).await;
        store.release(lease).await.expect("it is ours");
    }
}

pub(super) async fn pages_follow_each_other_whatever_changes_before_them(a: Handle, b: Handle) {
    open(
        &a,
        &[("a", "/w", "one"), ("b", "/w", "two"), ("c", "/w", "three")],
    )
    .await;
    let mut newer = Scene::opened("d");
    let lease = write(&a, &mut newer).await;
    newer.prompt("d", "m", "more");
    assert_eq!(append(&a, &lease, &mut newer).await, Ok(()));

    let page = |after: Option<SessionCursor>| SessionQuery {
        after,
        limit: Some(2),
        ..SessionQuery::default()
    };
    let first = b.list(page(None)).await.expect("it can be read");
    let shown: Vec<&str> = first.iter().map(|session| session.agent.as_str()).collect();
    assert_eq!(shown, ["d", "a"], "of one time, by id");
    // The session that the cursor names moves to the front, and one before it goes.
    let mut changed = Scene::opened_in("a", "/w", "one");
    drop([changed.take(), changed.take()]);
    changed.prompt("a", "m", "more");
    let lease_of_a = a.claim(changed.tree()).await.expect("nobody has it");
    assert_eq!(append(&a, &lease_of_a, &mut changed).await, Ok(()));
    a.delete(lease).await.expect("it is ours");
    let cursor = first.last().map(SessionCursor::of);
    assert_eq!(ids(&b, page(cursor.clone())).await, ["b", "c"]);
    assert_eq!(ids(&b, page(None)).await, ["a", "b"]);
    let last = SessionQuery {
        limit: None,
        ..page(cursor)
    };
    assert_eq!(ids(&b, last).await, ["b", "c"]);
    let none = SessionQuery {
        limit: Some(0),
        ..SessionQuery::default()
    };
    assert!(ids(&b, none).await.is_empty());
}

pub(super) async fn lists_are_narrowed_to_a_workspace_and_searched(a: Handle, b: Handle) {
    open(
        &a,
        &[
            ("a", "/w", "Mend the Roof 100%"),
            ("b", "/w", "paint it"),
            ("c", "/w/below", "mend the fence"),
        ],
    )
    .await;
    let narrowed = |workspace: Option<&str>, search: Option<&str>| SessionQuery {
        workspace: workspace.map(str::to_owned),
        search: search.map(str::to_owned),
        ..SessionQuery::default()
    };
    for (workspace, search, expected) in [
        (Some("/w"), None, &["a", "b"][..]),
        (Some("/w/below"), None, &["c"]),
        (Some("/"), None, &[]),
        (None, Some("MEND the"), &["a", "c"]),
        (Some("/w"), Some("mend"), &["a"]),
        (None, Some("%"), &["a"]),
        (None, Some("_"), &[]),
        (None, Some(""), &["a", "b", "c"]),
    ] {
        let listed = ids(&b, narrowed(workspace, search)).await;
        assert_eq!(listed, expected, "{workspace:?} {search:?}");
    }
}

pub(super) async fn roots_and_children_are_listed_in_one_order(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "one", Child::Opaque);
    scene.spawn("s", "d", "two", Child::Inspectable);
    let lease = write(&a, &mut scene).await;
    scene.prompt("s", "m2", "more");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    open(&a, &[("z", "/w", "alone")]).await;
    let all = |limit| SessionQuery {
        kind: SessionKind::All,
        limit,
        ..SessionQuery::default()
    };
    assert_eq!(ids(&b, all(None)).await, ["s", "two", "z"]);
    assert_eq!(ids(&b, all(Some(1))).await, ["s"]);
    for (tree, expected) in [("s", &["s", "two"][..]), ("z", &["z"]), ("two", &[])] {
        let of_one = SessionQuery {
            session: Some(TreeId::of(AgentId::new(tree))),
            ..all(None)
        };
        assert_eq!(ids(&b, of_one).await, expected, "{tree}");
    }
    let listed = b.list(all(None)).await.expect("it can be read");
    assert_eq!((listed[0].agents, listed[0].open_runs), (3, 1));
    assert_eq!((listed[1].agents, listed[1].open_runs), (1, 0));
}

pub(super) async fn ids_are_found_by_how_they_begin_or_end(a: Handle, b: Handle) {
    let mut scene = Scene::opened("Alpha-1%_x");
    scene.call("Alpha-1%_x", "m", "task", &["c"]);
    scene.spawn("Alpha-1%_x", "c", "beta-x", Child::Opaque);
    let lease = write(&a, &mut scene).await;
    a.release(lease).await.expect("it is ours");
    open(&a, &[("gamma", "/w", "alone")]).await;
    let (sessions, agents) = (Among::Sessions, Among::Agents);
    for (part, among, expected) in [
        ("alpha", sessions, &["Alpha-1%_x"][..]),
        ("%_X", sessions, &["Alpha-1%_x"]),
        ("gamma", sessions, &["gamma"]),
        ("x", sessions, &["Alpha-1%_x"]),
        ("x", agents, &["Alpha-1%_x", "beta-x"]),
        ("beta", sessions, &[]),
        ("beta", agents, &["beta-x"]),
        ("1", agents, &[]),
        ("%", agents, &[]),
        ("", agents, &[]),
        ("gamma and more", agents, &[]),
    ] {
        assert_eq!(
            found(&b, part, among, 9).await,
            expected,
            "{part} {among:?}"
        );
    }
    assert_eq!(found(&b, "x", agents, 1).await, ["Alpha-1%_x"]);
}
