//! What is left of a session that was removed: nothing, in no file.

use std::fs;
use std::path::Path;

use offshoot_store::Handle;
use offshoot_store::contract::scene::Scene;
use offshoot_types::id::{AgentId, CallId, Timestamp};
use offshoot_types::journal::Change;
use offshoot_types::store::{Lease, Store};

use crate::file::{files, folder, write};

const SECRET: &str = "correct horse battery staple";

fn holds_it(data: &Path) -> bool {
    let found = files(data).into_iter();
    found.filter(|path| path.is_file()).any(|path| {
        let bytes = fs::read(path).unwrap();
        let mut places = bytes.windows(SECRET.len());
        places.any(|at| at == SECRET.as_bytes())
    })
}

/// Writes a session that says it, in messages and in a file.
async fn tell(store: &Handle) -> Lease {
    let mut scene = Scene::opened("s");
    for number in 0..50 {
        scene.prompt("s", &format!("m{number}"), &SECRET.repeat(1 + number * 20));
    }
    let lease = write(store, &mut scene).await;
    let change = Change {
        path: format!("/w/{SECRET}"),
        before: None,
        after: Some(SECRET.repeat(10_000).into_bytes()),
    };
    let (agent, call) = (AgentId::new("s"), CallId::new("c"));
    let recorded = store.journal(&lease, &agent, "build", &call, change, Timestamp::new(1));
    recorded.await.unwrap();
    lease
}

#[tokio::test]
async fn what_was_deleted_cannot_be_read_from_the_file_or_its_log() {
    let data = folder();
    // Somebody who stays: the log is not removed when the other one leaves.
    let stays = Handle::open(data.path()).unwrap();
    let _lease = write(&stays, &mut Scene::opened("other")).await;
    let store = Handle::open(data.path()).unwrap();
    let lease = tell(&store).await;
    assert!(holds_it(data.path()));
    store.delete(lease).await.unwrap();
    assert!(store.swept().await);
    assert!(!holds_it(data.path()));
    drop(store);
    assert_eq!(stays.sessions().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_log_that_somebody_reads_is_said_to_be_there_and_cut_later() {
    let data = folder();
    let stays = Handle::open(data.path()).unwrap();
    let _lease = write(&stays, &mut Scene::opened("other")).await;
    let store = Handle::open(data.path()).unwrap();
    assert!(store.swept().await, "nothing was deleted");
    let lease = tell(&store).await;
    let reads = rusqlite::Connection::open(data.path().join("offshoot.db")).unwrap();
    reads.execute_batch("BEGIN").unwrap();
    let count = |sql| {
        reads
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(count("SELECT count(*) FROM trees"), 2);
    store.delete(lease).await.unwrap();
    assert!(!store.swept().await);
    assert!(holds_it(data.path()));
    reads.execute_batch("COMMIT").unwrap();
    // Nothing is written any more, and yet it is tried again.
    drop(store);
    assert!(!holds_it(data.path()));
}
