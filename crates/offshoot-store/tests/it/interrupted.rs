//! A process that was killed while it made, or wrote to, a database: the next one repairs it.
//!
//! A kill between two system calls is a set of files, and the tests make those
//! files. `strace -f -e inject=unlink:signal=KILL:when=1 offshoot run …` in a fresh data
//! folder leaves what `killed_at_the_first_unlink` makes.

use std::fs;
use std::path::Path;

use offshoot_store::contract::scene::Scene;
use offshoot_store::{Handle, Look, Sqlite, look};
use offshoot_types::id::Pos;
use offshoot_types::store::{Store, StoreErrorKind};
use rusqlite::{Connection, Row};

use crate::file::{files, folder, write};

/// A rollback journal of a database that was empty before: the head of the journal and no page.
fn journal_of_an_empty_database() -> Vec<u8> {
    let mut head = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    // Pages in the journal, a nonce, pages in the database, bytes of a sector, bytes of a page.
    for number in [0_u32, 0x1234_5678, 0, 512, 4096] {
        head.extend_from_slice(&number.to_be_bytes());
    }
    head.resize(512, 0);
    head
}

/// Changes how a database keeps what a transaction replaces.
fn switch(connection: &Connection, to: &str) {
    let read = |row: &Row<'_>| row.get::<_, String>(0);
    let mode = connection.pragma_update_and_check(None, "journal_mode", to, read);
    assert_eq!(mode.unwrap(), to);
}

/// Makes what a kill leaves between the first page of a new file and the removal of its journal.
fn killed_at_the_first_unlink(data: &Path) {
    let path = data.join("offshoot.db");
    let connection = Connection::open(&path).unwrap();
    switch(&connection, "wal");
    drop(connection);
    assert_eq!(fs::metadata(&path).unwrap().len(), 4096);
    fs::write(
        data.join("offshoot.db-journal"),
        journal_of_an_empty_database(),
    )
    .unwrap();
}

/// Copies a database in the middle of a large transaction that is kept in a rollback journal.
fn killed_in_a_transaction(from: &Path, to: &Path) {
    let connection = Connection::open(from).unwrap();
    switch(&connection, "delete");
    // With a cache this small SQLite writes pages before the transaction ends.
    connection.pragma_update(None, "cache_size", 2).unwrap();
    let many = "BEGIN; CREATE TABLE more (text TEXT);
        INSERT INTO more WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 99)
            SELECT hex(randomblob(2000)) FROM n";
    connection.execute_batch(many).unwrap();
    for suffix in ["", "-journal"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(name(from), name(to)).unwrap();
    }
}

/// What is in the files of a folder.
fn contents(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found: Vec<_> = files(folder)
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    found.sort();
    found
}

#[track_caller]
fn check_interrupted(data: &Path) {
    let before = contents(data);
    let seen = look(data).unwrap();
    assert!(matches!(seen, Some(Look::Interrupted)), "{seen:?}");
    assert_eq!(contents(data), before, "a look changed something");
}

#[tokio::test]
async fn a_first_start_that_was_killed_is_repaired_by_the_next() {
    let data = folder();
    killed_at_the_first_unlink(data.path());
    check_interrupted(data.path());
    let store = Handle::open(data.path()).unwrap();
    let mut scene = Scene::opened("s");
    let _lease = write(&store, &mut scene).await;
    assert!(!data.path().join("offshoot.db-journal").exists());
    assert!(matches!(
        look(data.path()).unwrap(),
        Some(Look::Usable { .. })
    ));
}

#[test]
fn every_state_before_the_tables_are_there_is_repaired() {
    let journal = journal_of_an_empty_database();
    let cases: [(&str, Option<&[u8]>); 3] = [
        ("an empty file", None),
        ("an empty journal", Some(b"")),
        ("a journal and nothing behind it", Some(&journal)),
    ];
    for (case, journal) in cases {
        let data = folder();
        fs::write(data.path().join("offshoot.db"), "").unwrap();
        if let Some(journal) = journal {
            fs::write(data.path().join("offshoot.db-journal"), journal).unwrap();
        }
        let opened = Handle::open(data.path());
        assert!(opened.is_ok(), "{case}: {:?}", opened.err());
    }
    // The head of the file without tables, and a log that has not begun.
    let data = folder();
    killed_at_the_first_unlink(data.path());
    fs::remove_file(data.path().join("offshoot.db-journal")).unwrap();
    check_interrupted(data.path());
    fs::write(data.path().join("offshoot.db-wal"), "").unwrap();
    fs::write(data.path().join("open.lock"), "closed 40").unwrap();
    Handle::open(data.path()).unwrap();
}

#[tokio::test]
async fn a_transaction_of_another_program_in_our_file_is_rolled_back() {
    let (data, killed) = (folder(), folder());
    let path = data.path().join("offshoot.db");
    let store = Handle::open(data.path()).unwrap();
    let mut scene = Scene::opened("s");
    drop(write(&store, &mut scene).await);
    drop(store);
    killed_in_a_transaction(&path, &killed.path().join("offshoot.db"));
    check_interrupted(killed.path());
    let store = Handle::open(killed.path()).unwrap();
    let entries = store.entries(scene.tree(), Pos::ZERO, 99).await.unwrap();
    assert_eq!(entries.len(), 3);
}

#[test]
fn the_journal_of_a_file_that_is_not_ours_is_left_alone() {
    let (data, killed) = (folder(), folder());
    let theirs = data.path().join("offshoot.db");
    let made = Connection::open(&theirs).unwrap();
    made.execute_batch("CREATE TABLE notes (text TEXT)")
        .unwrap();
    drop(made);
    let path = killed.path().join("offshoot.db");
    killed_in_a_transaction(&theirs, &path);
    let before = contents(killed.path());
    let looked = look(killed.path()).unwrap_err();
    let opened = Sqlite::open(&path).unwrap_err();
    for error in [looked, opened] {
        assert_eq!(error.kind, StoreErrorKind::Unusable, "{error}");
    }
    assert_eq!(contents(killed.path()), before);
}
