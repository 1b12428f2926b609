//! Every backend passes the suite.

use std::sync::Arc;

use offshoot_store::Handle;
use offshoot_store::contract::CHECKS;
use tokio::task::JoinSet;

/// Runs every check on a store of its own, and names those that fail.
async fn check(open: impl Fn() -> (Handle, Option<tempfile::TempDir>)) {
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        let (first, _folder) = open();
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
async fn memory_passes_the_contract() {
    check(|| (Handle::memory().unwrap(), None)).await;
}

#[tokio::test]
async fn sqlite_passes_the_contract() {
    check(|| {
        let folder = tempfile::tempdir().unwrap();
        (Handle::open(folder.path()).unwrap(), Some(folder))
    })
    .await;
}
