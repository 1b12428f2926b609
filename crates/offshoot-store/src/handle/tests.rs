//! The contract once more, where pages, groups and checkpoints are small.
//!
//! The integration tests run it with the sizes of a release, which no check reaches.

use std::sync::Arc;

use offshoot_types::id::Pos;
use offshoot_types::store::Store;
use tokio::task::JoinSet;

use super::{Handle, folder};
use crate::backend::Backend;
use crate::chat;
use crate::contract::CHECKS;
use crate::contract::scene::Scene;
use crate::sqlite::Sqlite;

#[tokio::test]
async fn sqlite_passes_the_contract_with_small_pages_and_groups() {
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        let folder = tempfile::tempdir().unwrap();
        let first = Handle::open(folder.path()).unwrap();
        let second = first.another().unwrap();
        let mut running = JoinSet::new();
        running.spawn(check(Arc::new(first), Arc::new(second)));
        if running.join_next().await.unwrap().is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test]
async fn a_log_that_is_copied_and_begun_anew_many_times_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Handle::open(folder.path()).unwrap();
    let mut scene = Scene::opened("s");
    let lease = store.claim(scene.tree()).await.unwrap();
    store.append(&lease, scene.take()).await.unwrap();
    let mut waiting = Vec::new();
    for n in 0..200 {
        let more = scene.prompt("s", &format!("m{n}"), &"word ".repeat(400));
        waiting.push(store.append(&lease, more.take()));
    }
    for append in waiting {
        append.await.unwrap();
    }
    let log = store.entries(scene.tree(), Pos::ZERO, 999).await.unwrap();
    assert_eq!(log.len(), 203);
    let places: Vec<u64> = log.iter().map(|entry| entry.pos.get()).collect();
    assert_eq!(places, (1..=203).collect::<Vec<u64>>());
    drop((lease, store));
    let mut reopened = Sqlite::open(&folder::database(folder.path())).unwrap();
    let read = reopened.entries(scene.tree(), Pos::ZERO, 999).unwrap();
    assert_eq!(read, log);
    assert_eq!(reopened.chat_rows(scene.tree()).unwrap(), chat::fold(&read));
}
