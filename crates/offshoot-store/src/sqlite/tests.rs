//! What only a look inside can test: full disks, groups, old counters, old files.

use std::path::Path;

use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::id::{AgentId, CallId, CommandId, Epoch, Pos, Timestamp, TreeId};
use offshoot_types::journal::{Change, Recorded, Writer};
use offshoot_types::store::{StoreError, StoreErrorKind};

use super::{Sqlite, schema};
use crate::backend::{Backend, Write, Written};
use crate::chat;
use crate::contract::scene::{Child, Scene};

fn claim(sqlite: &mut Sqlite, scene: &Scene) -> Epoch {
    let results = sqlite.commit(vec![Write::Claim(scene.tree().clone())]);
    match &results[..] {
        [Ok(Written::Claimed(epoch))] => *epoch,
        other => panic!("{other:?}"),
    }
}

fn append(scene: &mut Scene, epoch: Epoch) -> Write {
    Write::Append(scene.tree().clone(), epoch, scene.take())
}

fn kinds(results: &[Result<Written, StoreError>]) -> Vec<Option<StoreErrorKind>> {
    let kind = |result: &Result<_, StoreError>| result.as_ref().err().map(|error| error.kind);
    results.iter().map(kind).collect()
}

fn count(sqlite: &mut Sqlite, tree: &TreeId) -> usize {
    sqlite.entries(tree, Pos::ZERO, usize::MAX).unwrap().len()
}

/// Leaves room for so many more pages.
fn leave_room(sqlite: &Sqlite, pages: i64) {
    let connection = &sqlite.connection;
    let now: i64 = connection
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    connection
        .pragma_update(None, "max_page_count", now + pages)
        .unwrap();
}

fn reopened(path: &Path) -> Sqlite {
    Sqlite::open(path).unwrap()
}

#[test]
fn a_write_that_fails_in_the_middle_of_a_group_keeps_the_others() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let (mut one, mut two) = (Scene::opened("one"), Scene::opened("two"));
    let (first, second) = (claim(&mut sqlite, &one), claim(&mut sqlite, &two));
    let good = append(&mut one, first);
    let bad = append(&mut two.clone(), Epoch::new(99));
    let results = sqlite.commit(vec![good, bad, append(&mut two, second)]);
    assert_eq!(kinds(&results), [None, Some(StoreErrorKind::Fenced), None]);
    assert_eq!(count(&mut sqlite, one.tree()), 3);
    assert_eq!(count(&mut sqlite, two.tree()), 3);
}

#[test]
fn appends_of_one_tree_in_one_group_follow_each_other() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    let first = append(&mut scene, epoch);
    let bad = append(scene.clone().settle("s").settle("s"), epoch);
    let second = append(scene.say("s", "m", "well"), epoch);
    let results = sqlite.commit(vec![first, bad, second]);
    assert_eq!(
        kinds(&results),
        [None, Some(StoreErrorKind::Conflict), None]
    );
    let entries = sqlite.entries(scene.tree(), Pos::ZERO, 99).unwrap();
    let places: Vec<u64> = entries.iter().map(|entry| entry.pos.get()).collect();
    assert_eq!(places, [1, 2, 3, 4]);
    assert_eq!(
        sqlite.chat_rows(scene.tree()).unwrap(),
        chat::fold(&entries)
    );
}

#[test]
fn a_full_disk_is_told_and_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offshoot.db");
    let mut sqlite = Sqlite::open(&path).unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    let results = sqlite.commit(vec![append(&mut scene, epoch)]);
    assert_eq!(kinds(&results), [None]);
    leave_room(&sqlite, 1);
    let before = scene.clone();
    let long = "long ".repeat(20_000);
    let full = append(scene.say("s", "m", &long), epoch);
    let error = sqlite.commit(vec![full]).remove(0).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Full);
    assert!(error.message.contains("append to session s"), "{error}");
    assert!(error.message.contains("offshoot.db"), "{error}");
    assert_eq!(count(&mut sqlite, scene.tree()), 3);
    // As small as it was, it still fits.
    let mut scene = before;
    let results = sqlite.commit(vec![append(scene.prompt("s", "m1", "more"), epoch)]);
    assert_eq!(kinds(&results), [None]);
    leave_room(&sqlite, 1_000);
    let results = sqlite.commit(vec![append(scene.say("s", "m", &long), epoch)]);
    assert_eq!(kinds(&results), [None]);
    drop(sqlite);
    assert_eq!(count(&mut reopened(&path), scene.tree()), 5);
}

#[test]
fn what_two_writers_put_into_a_log_with_room_is_there_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offshoot.db");
    let (mut a, mut b) = (reopened(&path), reopened(&path));
    let (mut one, mut two) = (Scene::opened("one"), Scene::opened("two"));
    let log = folder.path().join("offshoot.db-wal");
    let first = claim(&mut a, &one);
    // The second finds a log that ends where its last page does, and makes its room behind that.
    let pages = a.log_pages().load(std::sync::atomic::Ordering::Relaxed);
    let file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.set_len(32 + pages * (24 + 4096)).unwrap();
    let second = claim(&mut b, &two);
    a.commit(vec![append(&mut one, first)]);
    b.commit(vec![append(&mut two, second)]);
    assert_eq!(log.metadata().unwrap().len(), 1024 * 1024);
    // What a machine finds that lost its power now.
    let found = tempfile::tempdir().unwrap();
    for name in ["offshoot.db", "offshoot.db-wal"] {
        std::fs::copy(folder.path().join(name), found.path().join(name)).unwrap();
    }
    let mut found = reopened(&found.path().join("offshoot.db"));
    assert_eq!(count(&mut found, one.tree()), 3);
    assert_eq!(count(&mut found, two.tree()), 3);
}

#[test]
fn counters_that_another_process_moved_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offshoot.db");
    let (mut a, mut b) = (reopened(&path), reopened(&path));
    let mut scene = Scene::opened("s");
    let first = claim(&mut a, &scene);
    assert_eq!(kinds(&a.commit(vec![append(&mut scene, first)])), [None]);
    let second = claim(&mut b, &scene);
    let write = append(scene.prompt("s", "m1", "more"), second);
    assert_eq!(kinds(&b.commit(vec![write])), [None]);
    let third = claim(&mut a, &scene);
    let write = append(scene.prompt("s", "m2", "more"), third);
    assert_eq!(kinds(&a.commit(vec![write])), [None]);
    // Nothing says that `b` heard of it.
    let late = append(scene.clone().prompt("s", "m3", "late"), second);
    let fenced = kinds(&b.commit(vec![late]));
    assert_eq!(fenced, [Some(StoreErrorKind::Fenced)]);
    assert_eq!(count(&mut b, scene.tree()), 5);
}

#[test]
fn a_group_that_cannot_begin_fails_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offshoot.db");
    let (mut a, b) = (reopened(&path), reopened(&path));
    a.connection.busy_handler(None::<fn(i32) -> bool>).unwrap();
    b.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let scene = Scene::opened("s");
    let claims = vec![Write::Claim(scene.tree().clone()); 2];
    let results = a.commit(claims);
    assert_eq!(kinds(&results), [Some(StoreErrorKind::Io); 2]);
    b.connection.execute_batch("ROLLBACK").unwrap();
    claim(&mut a, &scene);
}

#[test]
fn entries_cannot_be_changed_by_anybody() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    sqlite.commit(vec![append(&mut scene, epoch)]);
    let changed = sqlite.connection.execute("UPDATE entries SET at = 0", []);
    let message = changed.unwrap_err().to_string();
    assert!(message.contains("never changed"), "{message}");
}

#[test]
fn a_log_is_only_added_to() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    sqlite.commit(vec![append(&mut scene, epoch)]);
    let mut stored = stored_text(&sqlite);
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Inspectable);
    sqlite.commit(vec![append(&mut scene, epoch)]);
    scene.answer("child", "3 files").settle("child");
    scene.finish("s", "c", &[("child", 1)]).end("s").settle("s");
    sqlite.commit(vec![append(&mut scene, epoch)]);
    let now = stored_text(&sqlite);
    let added = now.len();
    stored.extend_from_slice(&now[stored.len()..]);
    assert_eq!(stored, now);
    assert_eq!(added, 14);
}

fn stored_text(sqlite: &Sqlite) -> Vec<String> {
    let mut statement = sqlite
        .connection
        .prepare("SELECT tree || pos || agent || seq || at || event FROM entries ORDER BY pos")
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn settings_are_as_the_design_wants_them() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = reopened(&folder.path().join("offshoot.db"));
    let text = |name| -> String {
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        sqlite
            .connection
            .pragma_query_value(None, name, read)
            .unwrap()
    };
    let number = |name| -> i64 {
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        sqlite
            .connection
            .pragma_query_value(None, name, read)
            .unwrap()
    };
    assert_eq!(text("journal_mode"), "wal");
    assert_eq!(number("synchronous"), 2);
    assert_eq!(number("foreign_keys"), 1);
    assert_eq!(number("wal_autocheckpoint"), 0);
}

#[test]
fn a_command_keeps_its_place_when_it_is_sent_again() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    sqlite.commit(vec![append(&mut scene, epoch)]);
    let submit = |id: &str| {
        let command = Command {
            id: CommandId::new(id),
            tree: scene.tree().clone(),
            agent: scene.tree().root().clone(),
            order: Order::Resume,
        };
        Write::Submit(command, Timestamp::new(1))
    };
    let results = sqlite.commit(vec![submit("b"), submit("a"), submit("b")]);
    assert_eq!(kinds(&results), [None; 3]);
    let pending = sqlite.pending(scene.tree()).unwrap();
    let ids: Vec<&str> = pending.iter().map(|command| command.id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
}

#[test]
fn a_command_that_is_done_leaves_its_receipt_and_not_its_text() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    sqlite.commit(vec![append(&mut scene, epoch)]);
    let command = Command {
        id: CommandId::new("c"),
        tree: scene.tree().clone(),
        agent: scene.tree().root().clone(),
        order: Order::Resume,
    };
    let submit = Write::Submit(command.clone(), Timestamp::new(1));
    sqlite.commit(vec![submit]);
    let bytes = "SELECT sum(length(body)) FROM commands";
    let stored = |sqlite: &Sqlite| -> i64 {
        let read = sqlite.connection.query_row(bytes, [], |row| row.get(0));
        read.unwrap()
    };
    assert!(stored(&sqlite) > 0);
    let mut done = scene.end("s").take();
    done.applied.push((command, Receipt::Resumed));
    let done = Write::Append(scene.tree().clone(), epoch, done);
    assert_eq!(kinds(&sqlite.commit(vec![done])), [None]);
    assert_eq!(stored(&sqlite), 0);
}

/// Writes two trees in one group while a trigger makes it fail; then both again, without it.
fn check_group_fails(trigger: &str) {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let (mut one, mut two) = (Scene::opened("one"), Scene::opened("two"));
    let (first, second) = (claim(&mut sqlite, &one), claim(&mut sqlite, &two));
    sqlite.commit(vec![append(&mut one, first)]);
    sqlite.connection.execute_batch(trigger).unwrap();
    let group = vec![
        append(one.clone().say("one", "m", "well"), first),
        append(&mut two.clone(), second),
    ];
    let results = sqlite.commit(group);
    assert!(results.iter().all(Result::is_err), "{results:?}");
    assert!(sqlite.connection.is_autocommit(), "nothing is left open");
    assert_eq!(count(&mut sqlite, one.tree()), 3);
    assert_eq!(count(&mut sqlite, two.tree()), 0);
    sqlite
        .connection
        .execute_batch("DROP TRIGGER saboteur")
        .unwrap();
    one.say("one", "m", "well");
    let group = vec![append(&mut one, first), append(&mut two, second)];
    assert_eq!(kinds(&sqlite.commit(group)), [None, None]);
}

#[test]
fn a_commit_that_fails_fails_its_group_and_is_left_behind() {
    check_group_fails(
        "CREATE TABLE broken (tree REFERENCES trees DEFERRABLE INITIALLY DEFERRED);
        CREATE TEMP TRIGGER saboteur AFTER INSERT ON entries WHEN new.tree = 2
        BEGIN INSERT INTO broken VALUES (-1); END",
    );
}

#[test]
fn a_group_that_sqlite_rolls_back_fails_as_a_whole() {
    check_group_fails(
        "CREATE TEMP TRIGGER saboteur AFTER INSERT ON entries WHEN new.tree = 2
        BEGIN SELECT RAISE(ROLLBACK, 'sabotage'); END",
    );
}

/// What the tables of a file are, as SQLite tells it.
fn tables(sqlite: &Sqlite) -> Vec<(String, Option<String>)> {
    let sql = "SELECT name, sql FROM sqlite_schema ORDER BY name";
    let mut statement = sqlite.connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Copies a file into tables of the first version: what it has besides is left out.
fn as_of_the_first_version(now: &Path, path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    schema::upgrade(&connection, 0, 1).unwrap();
    // Tables are copied by name and not in the order in which they refer to each other.
    let attach = format!("PRAGMA foreign_keys = 0; ATTACH '{}' AS now", now.display());
    connection.execute_batch(&attach).unwrap();
    let columns = "SELECT m.name, group_concat('\"' || c.name || '\"')
        FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' GROUP BY 1";
    let mut statement = connection.prepare(columns).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let tables: Vec<(String, String)> = rows.unwrap().map(Result::unwrap).collect();
    for (table, columns) in tables {
        let copy =
            format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}");
        connection.execute_batch(&copy).unwrap();
    }
}

#[test]
fn an_entry_of_a_newer_form_is_refused_and_says_so() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    sqlite.commit(vec![append(&mut scene, epoch)]);
    let newer = "DROP TRIGGER entries_are_final; UPDATE entries SET form = 99 WHERE pos = 2";
    sqlite.connection.execute_batch(newer).unwrap();
    let error = sqlite.entries(scene.tree(), Pos::ZERO, 99).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unusable);
    assert!(error.message.contains("a newer one"), "{}", error.message);
}

#[test]
fn a_file_of_the_first_version_is_brought_to_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offshoot.db");
    let now = folder.path().join("now.db");
    let mut old = reopened(&now);
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Inspectable);
    let epoch = claim(&mut old, &scene);
    assert_eq!(kinds(&old.commit(vec![append(&mut scene, epoch)])), [None]);
    let entries = old.entries(scene.tree(), Pos::ZERO, 99).unwrap();
    drop(old);
    as_of_the_first_version(&now, &path);

    let mut sqlite = reopened(&path);
    assert_eq!(
        sqlite.entries(scene.tree(), Pos::ZERO, 99).unwrap(),
        entries
    );
    assert_eq!(
        sqlite.chat_rows(scene.tree()).unwrap(),
        chat::fold(&entries)
    );
    assert_eq!(tables(&sqlite), tables(&Sqlite::in_memory().unwrap()));
    let keys = "SELECT count(*) FROM pragma_foreign_key_check";
    let broken: i64 = sqlite
        .connection
        .query_row(keys, [], |row| row.get(0))
        .unwrap();
    assert_eq!(broken, 0);
    let enforced: i64 = (sqlite.connection)
        .pragma_query_value(None, "foreign_keys", |row| row.get(0))
        .unwrap();
    assert_eq!(enforced, 1, "they are on again");
    // The owner of then is still the owner, and goes on where it was.
    scene.answer("child", "3 files").settle("child");
    scene.finish("s", "c", &[("child", 1)]);
    let more = append(&mut scene, epoch);
    let results = sqlite.commit(vec![more, change(&scene, epoch, "a", "b")]);
    assert_eq!(kinds(&results), [None, None]);
    let delete = Write::Delete(scene.tree().clone(), epoch);
    assert_eq!(kinds(&sqlite.commit(vec![delete])), [None]);
}

fn change(scene: &Scene, epoch: Epoch, before: &str, after: &str) -> Write {
    let recorded = Recorded {
        writer: Writer {
            agent: AgentId::new(scene.tree().as_str()),
            definition: "build".to_owned(),
            at: Timestamp::new(1),
        },
        call: CallId::new("c"),
        change: Change {
            path: "/file".to_owned(),
            before: Some(before.as_bytes().to_vec()),
            after: Some(after.as_bytes().to_vec()),
        },
    };
    Write::Journal(scene.tree().clone(), epoch, recorded)
}

fn rows(sqlite: &Sqlite, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    let count = sqlite.connection.query_row(&sql, [], |row| row.get(0));
    count.unwrap()
}

#[test]
fn contents_are_stored_once_and_go_with_their_last_change() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let (mut one, mut two) = (Scene::opened("one"), Scene::opened("two"));
    let (first, second) = (claim(&mut sqlite, &one), claim(&mut sqlite, &two));
    let group = vec![
        append(&mut one, first),
        append(&mut two, second),
        change(&one, first, "a", "b"),
        change(&one, first, "b", "a"),
        change(&one, first, "a", "c"),
        change(&two, second, "c", "d"),
    ];
    assert_eq!(kinds(&sqlite.commit(group)), [None; 6]);
    assert_eq!(rows(&sqlite, "blobs"), 4);
    let delete = Write::Delete(one.tree().clone(), first);
    assert_eq!(kinds(&sqlite.commit(vec![delete])), [None]);
    assert_eq!(rows(&sqlite, "blobs"), 2, "what the other tree names stays");
    let delete = Write::Delete(two.tree().clone(), second);
    assert_eq!(kinds(&sqlite.commit(vec![delete])), [None]);
    for table in [
        "blobs",
        "file_changes",
        "entries",
        "runs",
        "agents",
        "commands",
        "chat_sessions",
        "chat_messages",
        "chat_parts",
    ] {
        assert_eq!(rows(&sqlite, table), 0, "{table}");
    }
}

#[test]
fn contents_that_share_a_hash_are_not_mixed_up() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let mut scene = Scene::opened("s");
    let epoch = claim(&mut sqlite, &scene);
    let write = change(&scene, epoch, "a", "b");
    sqlite.commit(vec![append(&mut scene, epoch), write]);
    // As if both had the hash of the other one, too.
    let swap = "INSERT INTO blobs (hash, bytes)
        SELECT one.hash, other.bytes FROM blobs AS one, blobs AS other WHERE one.key < other.key;
        UPDATE blobs SET bytes = x'00' WHERE key = 1";
    sqlite.connection.execute_batch(swap).unwrap();
    sqlite.commit(vec![change(&scene, epoch, "a", "a")]);
    let changes = sqlite.changes(scene.tree()).unwrap();
    assert_eq!(changes[1].change.before.as_deref(), Some("a".as_bytes()));
    assert_eq!(changes[1].change.after.as_deref(), Some("a".as_bytes()));
    assert_eq!(changes[0].change.before.as_deref(), Some([0].as_slice()));
}

#[test]
fn a_change_that_fails_leaves_nothing() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    let (mut one, two) = (Scene::opened("one"), Scene::opened("two"));
    let (first, second) = (claim(&mut sqlite, &one), claim(&mut sqlite, &two));
    let group = vec![
        append(&mut one, first),
        change(&two, second, "a", "b"),
        change(&one, Epoch::new(99), "c", "d"),
        Write::Delete(one.tree().clone(), Epoch::new(99)),
    ];
    let (conflict, fenced) = (StoreErrorKind::Conflict, StoreErrorKind::Fenced);
    assert_eq!(
        kinds(&sqlite.commit(group)),
        [None, Some(conflict), Some(fenced), Some(fenced)]
    );
    assert_eq!(rows(&sqlite, "blobs"), 0);
    assert_eq!(count(&mut sqlite, one.tree()), 3);
}

/// Nests a child's log in its parent's part, across another connection, and compares with the fold.
fn check_nested(text: &str, reopen: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offshoot.db");
    let mut sqlite = reopened(&path);
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.answer("child", text);
    let mut epoch = claim(&mut sqlite, &scene);
    sqlite.commit(vec![append(&mut scene, epoch)]);
    if reopen {
        sqlite = reopened(&path);
        epoch = claim(&mut sqlite, &scene);
    }
    scene.settle("child").finish("s", "c", &[("child", 1)]);
    let results = sqlite.commit(vec![append(&mut scene, epoch)]);
    assert_eq!(kinds(&results), [None]);
    let entries = sqlite.entries(scene.tree(), Pos::ZERO, 99).unwrap();
    let rows = sqlite.chat_rows(scene.tree()).unwrap();
    assert_eq!(rows, chat::fold(&entries));
    let part = rows.parts.values().find(|part| part.tool.is_some());
    assert!(part.unwrap().data_json.contains(text), "it is nested");
}

#[test]
fn a_log_is_nested_whether_or_not_it_is_remembered() {
    check_nested("3 files", false);
    check_nested("3 files", true);
    check_nested(&"3 files ".repeat(2_000), false);
}
