//! Looking at a data folder: what is there is told, and nothing is made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use offshoot_store::contract::scene::Scene;
use offshoot_store::{Handle, Look, look, unrecoverable};
use offshoot_types::store::{SessionSummary, Store, StoreErrorKind};

fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn sessions(data: &Path) -> Vec<SessionSummary> {
    match look(data).unwrap() {
        Some(Look::Usable { sessions, .. }) => sessions,
        other => panic!("{other:?}"),
    }
}

#[test]
fn where_nothing_is_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    assert!(look(folder.path()).unwrap().is_none());
    assert!(look(&folder.path().join("deeper")).unwrap().is_none());
    assert!(names(folder.path()).is_empty());
    // An empty file is what a database begins as.
    fs::write(folder.path().join("offshoot.db"), "").unwrap();
    assert!(look(folder.path()).unwrap().is_none());
    assert_eq!(names(folder.path()).len(), 1);
}

#[tokio::test]
async fn sessions_are_seen_whoever_has_them_and_however_the_folder_is_called() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("50% of? a#folder é");
    let store = Handle::open(&data).unwrap();
    let mut scene = Scene::opened("s");
    let lease = store.claim(scene.tree()).await.unwrap();
    store.append(&lease, scene.take()).await.unwrap();
    let seen = sessions(&data);
    assert_eq!(seen.len(), 1);
    assert!(seen[0].owned);
    drop((lease, store));
    // The last one out has put everything into one file, and that file is enough.
    let before = names(&data);
    assert!(!data.join("offshoot.db-wal").exists());
    let seen = sessions(&data);
    assert_eq!(seen[0].tree, *scene.tree());
    assert!(!seen[0].owned);
    assert_eq!(names(&data), before);
}

#[tokio::test]
async fn a_session_left_at_work_whose_log_does_not_fold_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = Handle::open(folder.path()).unwrap();
    for name in ["whole", "broken"] {
        let mut scene = Scene::opened(name);
        let lease = store.claim(scene.tree()).await.unwrap();
        store.append(&lease, scene.take()).await.unwrap();
    }
    drop(store);
    let broken = || unrecoverable(folder.path(), &sessions(folder.path())).unwrap();
    assert_eq!(broken(), []);
    let database = rusqlite::Connection::open(folder.path().join("offshoot.db")).unwrap();
    let gap = "DELETE FROM entries WHERE pos = 2 AND tree = (SELECT max(tree) FROM entries)";
    assert_eq!(database.execute(gap, []).unwrap(), 1);
    drop(database);
    let found = broken();
    let [(tree, why)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(tree.root().as_str(), "broken");
    assert!(!why.is_empty());
}

#[test]
fn what_is_no_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offshoot.db");
    let noise = "no database ".repeat(400);
    fs::write(&path, &noise).unwrap();
    let error = look(folder.path()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unusable, "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), noise);
    assert_eq!(names(folder.path()).len(), 1);
}
