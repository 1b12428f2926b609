//! The data folder: modes, versions, damage, locks and sockets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use offshoot_store::contract::scene::Scene;
use offshoot_store::{Handle, Sqlite};
use offshoot_types::command::{Command, Order};
use offshoot_types::id::{CommandId, Pos, Timestamp};
use offshoot_types::store::{Lease, Store, StoreErrorKind};
use tempfile::TempDir;
use tokio::sync::mpsc;

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found
}

pub(crate) async fn write(store: &Handle, scene: &mut Scene) -> Lease {
    let lease = store.claim(scene.tree()).await.unwrap();
    store.append(&lease, scene.take()).await.unwrap();
    lease
}

/// Opens a file that cannot be used; it is reported with its path, and stays as it is.
fn check_unusable(path: &Path, says: &str) {
    let before = fs::read(path).unwrap();
    let error = Sqlite::open(path).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unusable, "{error}");
    assert!(
        error.message.contains(&path.display().to_string()),
        "{error}"
    );
    assert!(error.message.contains(says), "{error}");
    assert_eq!(fs::read(path).unwrap(), before, "it was changed");
}

#[tokio::test]
async fn everything_in_the_folder_is_for_its_owner_only() {
    let parent = folder();
    let data = parent.path().join("deep").join("data");
    let store = Handle::open(&data).unwrap();
    let _lease = write(&store, &mut Scene::opened("s")).await;
    assert_eq!(mode(&data), 0o700);
    let found = files(&data);
    for path in &found {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        let is_socket = path.extension().is_some_and(|name| name == "sock");
        assert!(is_socket || mode(path) == expected, "{}", path.display());
    }
    for name in ["offshoot.db", "offshoot.db-wal", "offshoot.db-shm"] {
        assert!(found.contains(&data.join(name)), "{name}");
    }
}

#[tokio::test]
async fn what_was_written_is_there_when_it_is_opened_again() {
    let data = folder();
    let store = Handle::open(data.path()).unwrap();
    let mut scene = Scene::opened("s");
    let lease = write(&store, &mut scene).await;
    let written = store.entries(scene.tree(), Pos::ZERO, 99).await.unwrap();
    let unawaited = store.append(&lease, scene.prompt("s", "m", "more").take());
    drop(unawaited);
    drop(store);
    let store = Handle::open(data.path()).unwrap();
    let read = store.entries(scene.tree(), Pos::ZERO, 99).await.unwrap();
    assert_eq!(read[..3], written);
    assert_eq!(read.len(), 4, "what was queued was finished");
    let sessions = store.sessions().await.unwrap();
    assert!(!sessions[0].owned, "the lock went with the handle");
    let next = store.claim(scene.tree()).await.unwrap();
    assert!(next.epoch > lease.epoch);
    assert_eq!(fs::read_dir(data.path().join("nudge")).unwrap().count(), 1);
}

#[test]
fn a_newer_schema_is_left_alone() {
    let data = folder();
    let path = data.path().join("offshoot.db");
    drop(Sqlite::open(&path).unwrap());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 1_000).unwrap();
    drop(newer);
    check_unusable(&path, "upgrade offshoot");
}

#[test]
fn a_newer_schema_in_the_log_is_left_alone() {
    let data = folder();
    let path = data.path().join("offshoot.db");
    drop(Sqlite::open(&path).unwrap());
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 1_000).unwrap();
    // Not closed: what it wrote is in the log only, as if its process had died.
    check_unusable(&path, "upgrade offshoot");
    drop(newer);
}

#[test]
fn a_damaged_file_is_left_alone() {
    let data = folder();
    let path = data.path().join("offshoot.db");
    fs::write(&path, "this is no database ".repeat(1_000)).unwrap();
    check_unusable(&path, "not a database");
}

#[test]
fn a_damaged_page_is_reported_with_the_path() {
    let data = folder();
    let path = data.path().join("offshoot.db");
    drop(Sqlite::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..4096].fill(0x5a);
    fs::write(&path, &bytes).unwrap();
    check_unusable(&path, "malformed");
}

#[tokio::test]
async fn damage_in_the_depths_of_a_small_file_is_found_before_anything_is_written() {
    let data = folder();
    let path = data.path().join("offshoot.db");
    let store = Handle::open(data.path()).unwrap();
    let mut scene = Scene::opened("s");
    let lease = write(&store, &mut scene).await;
    for n in 0..40 {
        let text = "word ".repeat(200);
        let more = scene.prompt("s", &format!("m{n}"), &text).take();
        store.append(&lease, more).await.unwrap();
    }
    drop((lease, store));
    let mut bytes = fs::read(&path).unwrap();
    // The last pages are leaves; their heads say what kind of page they are.
    let last = bytes.len() / 4096 - 2;
    bytes[last * 4096..last * 4096 + 64].fill(0xee);
    fs::write(&path, &bytes).unwrap();
    check_unusable(&path, "is damaged");
}

#[tokio::test]
async fn r7_who_only_looks_whether_it_is_the_owner_waits_for_no_writer() {
    let data = folder();
    let store = Handle::open(data.path()).unwrap();
    let mut scene = Scene::opened("s");
    let lease = write(&store, &mut scene).await;
    let other = rusqlite::Connection::open(data.path().join("offshoot.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let look = store.append(&lease, offshoot_types::store::Append::default());
    assert_eq!(look.await.unwrap(), []);
    // Whoever has something to write waits for its turn, and gets it.
    let written = store.append(&lease, scene.prompt("s", "m", "more").take());
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(written.await.unwrap().len(), 1);
}

#[test]
fn a_database_of_somebody_else_is_left_alone() {
    let data = folder();
    let path = data.path().join("offshoot.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE notes (text TEXT)")
        .unwrap();
    drop(other);
    check_unusable(&path, "is not a database of offshoot");
}

#[test]
fn many_may_open_a_new_file_at_once() {
    let data = folder();
    let path = data.path().join("offshoot.db");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| Sqlite::open(&path).unwrap());
        }
    });
}

#[tokio::test]
async fn a_dropped_handle_frees_its_trees_although_leases_live() {
    let data = folder();
    let (a, b) = (
        Handle::open(data.path()).unwrap(),
        Handle::open(data.path()).unwrap(),
    );
    let mut scene = Scene::opened("s");
    let _lease = write(&a, &mut scene).await;
    assert_eq!(
        b.claim(scene.tree()).await.unwrap_err().kind,
        StoreErrorKind::Held
    );
    drop(a);
    b.claim(scene.tree()).await.unwrap();
}

#[tokio::test]
async fn a_glance_at_a_lock_does_not_keep_anybody_from_it() {
    let data = folder();
    let (a, b) = (
        Handle::open(data.path()).unwrap(),
        Handle::open(data.path()).unwrap(),
    );
    let mut scene = Scene::opened("s");
    drop(write(&a, &mut scene).await);
    for _ in 0..200 {
        let (claimed, listed) = tokio::join!(a.claim(scene.tree()), b.sessions());
        claimed.unwrap();
        listed.unwrap();
    }
}

/// Nudges an owner whose data folder is at `data`.
async fn check_nudge(data: &Path) {
    let (a, b) = (Handle::open(data).unwrap(), Handle::open(data).unwrap());
    let (tell, mut told) = mpsc::channel(8);
    a.listen(
        Arc::new(|_| {}),
        Arc::new(move |tree| tell.try_send(tree.clone()).unwrap()),
    );
    let mut scene = Scene::opened("s");
    let _lease = write(&a, &mut scene).await;
    let command = Command {
        id: CommandId::new("c"),
        tree: scene.tree().clone(),
        agent: scene.tree().root().clone(),
        order: Order::Resume,
    };
    b.submit(command, Timestamp::new(1)).await.unwrap();
    let tree = tokio::time::timeout(Duration::from_secs(10), told.recv()).await;
    assert_eq!(tree.unwrap().as_ref(), Some(scene.tree()));
    drop((a, b));
    assert_eq!(
        fs::read_dir(data.join("nudge")).unwrap().count(),
        0,
        "sockets are gone"
    );
}

#[tokio::test]
async fn nudges_reach_an_owner_in_a_deep_folder() {
    let data = folder();
    check_nudge(&data.path().join("a-long-name-of-a-folder/".repeat(8))).await;
}

#[tokio::test]
async fn a_socket_of_a_dead_process_is_cleared_away() {
    let data = folder();
    let store = Handle::open(data.path()).unwrap();
    let mut scene = Scene::opened("s");
    drop(write(&store, &mut scene).await);
    // A socket that nobody reads, beside something else.
    let stale = data.path().join("nudge").join("999999-0.sock");
    drop(std::os::unix::net::UnixDatagram::bind(&stale).unwrap());
    let other = data.path().join("nudge").join("readme");
    fs::write(&other, "not a socket").unwrap();
    let command = Command {
        id: CommandId::new("c"),
        tree: scene.tree().clone(),
        agent: scene.tree().root().clone(),
        order: Order::Resume,
    };
    store.submit(command, Timestamp::new(1)).await.unwrap();
    // The nudge goes out after the answer, and before the next group.
    store.claim(Scene::new("other").tree()).await.unwrap();
    assert!(!stale.exists());
    assert!(other.exists());
}
