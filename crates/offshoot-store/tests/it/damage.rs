//! Damage in the depths of a large file: once it is met, nothing is written any more.

use std::fs;
use std::path::{Path, PathBuf};

use offshoot_store::contract::scene::Scene;
use offshoot_store::{Backend, Handle, Sqlite, Write, Written};
use offshoot_types::command::{Command, Order};
use offshoot_types::id::{CommandId, Epoch, Pos, Timestamp};
use offshoot_types::store::{Store, StoreErrorKind};
use tempfile::TempDir;

/// What is in the pages that are hit.
const NEEDLE: &str = "message number 1250 ";

/// A file too large to be looked through at every start, of a session `large`.
fn sound() -> (TempDir, PathBuf) {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("offshoot.db");
    let mut sqlite = Sqlite::open(&path).unwrap();
    let mut scene = Scene::opened("large");
    for n in 0..2_500 {
        let text = format!("message number {n} {}", "x".repeat(600));
        scene.prompt("large", &format!("m{n}"), &text);
    }
    commit(
        &mut sqlite,
        Write::Create(scene.tree().clone(), scene.take()),
    );
    drop(sqlite);
    assert!(fs::metadata(&path).unwrap().len() > 2 * 1024 * 1024);
    (data, path)
}

/// The same, closed in good order and damaged in the middle, without a trace of when.
fn damaged() -> (TempDir, PathBuf) {
    let (data, path) = sound();
    drop(Handle::open(data.path()).unwrap());
    let closed = fs::metadata(&path).unwrap().modified().unwrap();
    spoil(&path);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(closed).unwrap();
    (data, path)
}

/// Damages a file in the middle.
fn spoil(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let found = |bytes: &[u8]| {
        bytes
            .windows(NEEDLE.len())
            .position(|at| at == NEEDLE.as_bytes())
    };
    while let Some(at) = found(&bytes) {
        // The head of a page says what kind of page it is.
        bytes[at / 4096 * 4096..][..64].fill(0xee);
        bytes[at] = b'M';
    }
    fs::write(path, &bytes).unwrap();
}

fn commit(sqlite: &mut Sqlite, write: Write) -> Written {
    sqlite.commit(vec![write]).pop().unwrap().unwrap()
}

/// Returns what the file and the log beside it hold.
fn bytes(path: &Path) -> (Vec<u8>, Vec<u8>) {
    let log = path.with_extension("db-wal");
    (fs::read(path).unwrap(), fs::read(log).unwrap())
}

/// A copy of a folder as somebody leaves it who dies with a log beside the file.
fn killed(data: &TempDir) -> (TempDir, PathBuf) {
    let store = Handle::open(data.path()).unwrap();
    let copy = tempfile::tempdir().unwrap();
    for name in ["offshoot.db", "offshoot.db-wal"] {
        fs::copy(data.path().join(name), copy.path().join(name)).unwrap();
    }
    drop(store);
    let path = copy.path().join("offshoot.db");
    (copy, path)
}

#[test]
fn a_large_file_that_nobody_has_closed_is_looked_through_before_it_is_written_to() {
    let (data, _) = sound();
    Handle::open(killed(&data).0.path()).unwrap();

    let (data, _) = damaged();
    let (copy, path) = killed(&data);
    let before = bytes(&path);
    // However often somebody comes.
    for _ in 0..2 {
        let error = Handle::open(copy.path()).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unusable, "{error}");
        let expected = format!("open the database: {} is damaged: ", path.display());
        assert!(error.message.starts_with(&expected), "{error}");
    }
    assert!(bytes(&path) == before, "it was changed");
}

#[test]
fn a_large_file_that_was_changed_since_it_was_closed_is_looked_through_and_left_untouched() {
    let (data, path) = sound();
    drop(Handle::open(data.path()).unwrap());
    spoil(&path);
    let before = fs::read(&path).unwrap();
    // However often somebody comes: whoever is refused leaves no word that all was well.
    for _ in 0..2 {
        let error = Handle::open(data.path()).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unusable, "{error}");
        let expected = format!("open the database: {} is damaged: ", path.display());
        assert!(error.message.starts_with(&expected), "{error}");
    }
    assert!(fs::read(&path).unwrap() == before, "it was changed");
}

#[test]
fn a_file_that_was_put_in_the_place_of_another_is_looked_through_once() {
    let (data, path) = sound();
    drop(Handle::open(data.path()).unwrap());
    let copy = data.path().join("backup");
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    drop(Handle::open(data.path()).unwrap());
    spoil(&path);
    Handle::open(data.path()).unwrap_err();
}

#[tokio::test]
async fn a_file_in_which_damage_was_met_is_not_opened_again() {
    let (data, _) = damaged();
    let store = Handle::open(data.path()).unwrap();
    // Whoever comes while others have it open does not look through it: that log is theirs.
    let other = Handle::open(data.path()).unwrap();
    drop(other);
    let read = store.entries(Scene::new("large").tree(), Pos::ZERO, usize::MAX);
    read.await.unwrap_err();
    drop(store);
    let error = Handle::open(data.path()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unusable, "{error}");
}

#[tokio::test]
async fn once_a_reader_has_met_damage_nothing_is_written_any_more() {
    let (data, path) = damaged();
    let store = Handle::open(data.path()).unwrap();
    let (large, mut sound) = (Scene::new("large"), Scene::opened("sound"));
    let lease = store.claim(sound.tree()).await.unwrap();
    store.append(&lease, sound.take()).await.unwrap();

    let all = usize::MAX;
    let met = store
        .entries(large.tree(), Pos::ZERO, all)
        .await
        .unwrap_err();
    assert_eq!(met.kind, StoreErrorKind::Unusable, "{met}");
    let expected = format!(
        "read the log of a session: {} is damaged: database disk image is malformed; nothing more \
         is written to it",
        path.display()
    );
    assert_eq!(met.message, expected);

    let before = bytes(&path);
    assert!(!before.1.is_empty(), "the log holds what was written");
    let more = sound.prompt("sound", "m", "more").take();
    assert_eq!(store.append(&lease, more).await.unwrap_err(), met);
    assert_eq!(store.claim(large.tree()).await.unwrap_err(), met);
    let command = Command {
        id: CommandId::new("c"),
        tree: sound.tree().clone(),
        agent: sound.tree().root().clone(),
        order: Order::Resume,
    };
    let sent = store.submit(command, Timestamp::new(1)).await;
    assert_eq!(sent.unwrap_err(), met);
    // What is sound can still be read.
    let read = store.entries(sound.tree(), Pos::ZERO, all).await.unwrap();
    assert_eq!(read.len(), 3);
    drop((lease, store));
    // Not assert_eq, which would print both.
    assert!(bytes(&path) == before, "it was changed");
}

#[test]
fn r6_a_write_that_meets_damage_takes_its_whole_group_along() {
    let (_data, path) = damaged();
    let mut sqlite = Sqlite::open(&path).unwrap();
    let (large, mut sound) = (Scene::new("large"), Scene::opened("sound"));
    let owned = commit(&mut sqlite, Write::Claim(large.tree().clone()));
    let Written::Claimed(epoch) = owned else {
        panic!("claim answered {owned:?}");
    };
    let before = bytes(&path);
    let group = vec![
        Write::Create(sound.tree().clone(), sound.take()),
        // Refused by a rule, so that the group is tried again one by one.
        Write::Release(sound.tree().clone(), Epoch::new(99)),
        Write::Delete(large.tree().clone(), epoch),
    ];
    let results = sqlite.commit(group);
    let kinds = results
        .iter()
        .map(|result| result.as_ref().unwrap_err().kind);
    let kinds: Vec<_> = kinds.collect();
    let unusable = StoreErrorKind::Unusable;
    assert_eq!(kinds, [unusable, StoreErrorKind::Fenced, unusable]);
    let again = sqlite.commit(vec![Write::Claim(sound.tree().clone())]);
    assert_eq!(
        again[0].as_ref().unwrap_err().kind,
        StoreErrorKind::Unusable
    );
    drop(sqlite);
    assert!(bytes(&path) == before, "it was changed");
}
