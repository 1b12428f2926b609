//! Opening the file.
//!
//! What is there is first looked at through a connection that cannot write, so that
//! a file which is damaged, newer or not ours stays as it is, byte for byte. A small
//! file is looked through, and so is a larger one that nobody has closed or that
//! somebody has changed since (`mark.rs`); other damage in the depths of a large
//! file is met later (`damage.rs`). A transaction that a killed process left half
//! done is rolled back first, if the file is ours or empty (`repair`). A new file is
//! readable to its owner only; SQLite gives its companions (`-wal`, `-shm`) the same mode.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use offshoot_types::store::{StoreError, StoreErrorKind};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::failure::Failure;
use super::mark::Mark;
use super::schema;

/// Held while a file is made and opened.
///
/// POSIX locks belong to a process: closing a descriptor of the file drops the locks that every
/// connection of the process has on it. The only descriptor of ours is the one that makes the file.
static OPENING: Mutex<()> = Mutex::new(());

/// More statements than the backend has.
const STATEMENTS: usize = 64;

/// What a connection keeps of the file; pages are taken as they are needed.
const CACHE_KIB: i64 = 16 * 1024;

/// How often a lock is tried again, and so how long: 55 ms, then in steps of 25 ms up to 5 s.
const TRIES: i32 = 208;

/// How often the writer tries: a minute. Whoever is stopped or slow in the middle of a write holds up
/// every other process, and none of them should lose its trees for that.
const WRITER_TRIES: i32 = 2_400;

/// Largest file that is looked through before it is written to, in bytes: some 4 ms.
const LOOKED_THROUGH: u64 = 2 * 1024 * 1024;

/// The same for a file that nobody has closed, or nobody has said so, which is when a disk that did
/// not keep its promises has spoilt something: some 0.4 s, once after a crash.
const LOOKED_THROUGH_AFTER_A_CRASH: u64 = 256 * 1024 * 1024;

/// Who else has the file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    /// Nobody: a log beside it was left by somebody who died, or who had met damage. What the file
    /// looked like when it was closed last, if whoever did that has said.
    Nobody(Option<Mark>),
    /// Perhaps somebody: a log beside it may be theirs.
    Others,
}

/// Opens the file for reading and writing, and makes it if it is not there.
pub(super) fn writer(path: &Path, company: Company) -> Result<Connection, StoreError> {
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    let place = path.display().to_string();
    let what = "open the database";
    make(path).map_err(|error| {
        let message = format!("{what} {place}: {error}");
        StoreError::new(StoreErrorKind::Io, message)
    })?;
    let open = || {
        look(path, company)?;
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        patiently(|| write_ahead(&connection))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        // What is deleted is overwritten. Not in deletions only: a row that has grown leaves its old
        // pages behind, which nobody would find again. It costs an append 0.4 % more of the log.
        connection.pragma_update(None, "secure_delete", true)?;
        // What a savepoint needs to undo is kept in memory rather than in a file of its own.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        prepare(&connection, path)?;
        connection.busy_handler(Some(wait_for_a_turn))?;
        Ok(connection)
    };
    open().map_err(|failure: Failure| failure.explain(&place, what))
}

/// Opens the file for reading only.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let open = || {
        // A connection that may not write to the folder cannot read a log without its index.
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    };
    open().map_err(|failure: Failure| {
        failure.explain(&path.display().to_string(), "open the database")
    })
}

/// Opens the file for checkpoints only: it waits for nobody.
pub(crate) fn checkpointer(path: &Path) -> Result<Connection, StoreError> {
    let open = || {
        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_handler(None::<fn(i32) -> bool>)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    };
    open().map_err(|failure: Failure| {
        failure.explain(&path.display().to_string(), "open the database")
    })
}

/// A file that is there, as a connection finds it that changes nothing.
pub(crate) enum Existing<C> {
    /// The process that made the file, or wrote to it last, was killed; the next open repairs it.
    Interrupted,
    /// It has tables, of this version.
    Tables(C, i64),
}

/// Opens the file so that nothing is made or changed; `None` if it is not there or empty.
pub(super) fn untouched(path: &Path) -> Result<Option<Existing<Connection>>, StoreError> {
    let what = "look at the database";
    let place = path.display().to_string();
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) => {
            let message = format!("{what} {place}: {error}");
            return Err(StoreError::new(StoreErrorKind::Io, message));
        }
    }
    let open = || {
        // Where there is a log it has to be read, and its index is there too. Where there is none,
        // SQLite would make one, unless it is told that the file is all there is.
        if has_hot_journal(path) {
            judge_half_written(path)?;
            return Ok(Some(Existing::Interrupted));
        }
        let connection = if has_log(path) {
            connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?
        } else {
            let connection = connect_alone(path)?;
            settle(&connection)?;
            connection
        };
        if judge(&connection, path)? == Found::Older(0) {
            let is_begun = path.metadata().is_ok_and(|file| file.len() > 0);
            return Ok(is_begun.then_some(Existing::Interrupted));
        }
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok(Some(Existing::Tables(connection, version)))
    };
    open().map_err(|failure: Failure| failure.explain(&place, what))
}

/// Tells whether there is a log beside the file. Whoever closes it last removes that.
pub(crate) fn has_log(path: &Path) -> bool {
    companion(path, "-wal").exists()
}

/// Tells whether a transaction was left half done without a log: SQLite clears the first byte of a
/// rollback journal, or removes the journal, when its transaction ends.
fn has_hot_journal(path: &Path) -> bool {
    let mut first = [0];
    let journal = File::open(companion(path, "-journal"));
    let read = journal.and_then(|mut journal| journal.read_exact(&mut first));
    read.is_ok() && first != [0]
}

fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Opens the file for reading, as if there were no others beside it, and reads nothing yet.
fn connect_alone(path: &Path) -> Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(alone(path), flags)?)
}

/// Returns the name under which SQLite opens a file without looking for others beside it.
fn alone(path: &Path) -> String {
    let mut name = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => name.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => name.push(char::from(*byte)),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name.push_str("?immutable=1");
    name
}

/// Makes a database without a file.
pub(super) fn in_memory() -> Result<Connection, StoreError> {
    let open = || {
        let connection = Connection::open_in_memory()?;
        settle(&connection)?;
        prepare(&connection, Path::new("memory"))?;
        Ok(connection)
    };
    open().map_err(|failure: Failure| failure.explain("memory", "open the database"))
}

fn make(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, Failure> {
    let mut connection =
        Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_handler(Some(wait))?;
    settle(&connection)?;
    Ok(connection)
}

/// Sets what every connection needs.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this SQLite plans a statement anew for every value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Waits for a lock of another process a little longer each time, and not for ever.
fn wait(tries: i32) -> bool {
    tries < TRIES && pause(tries)
}

/// Waits as the writer does.
fn wait_for_a_turn(tries: i32) -> bool {
    tries < WRITER_TRIES && pause(tries)
}

/// Lets a moment pass; always worth another try.
fn pause(tries: i32) -> bool {
    let pause = if tries < 10 {
        tries.unsigned_abs() + 1
    } else {
        25
    };
    thread::sleep(Duration::from_millis(u64::from(pause)));
    true
}

/// Repeats what SQLite refuses at once when another process opens the file too.
fn patiently(step: impl Fn() -> Result<(), Failure>) -> Result<(), Failure> {
    let mut tries = 0;
    loop {
        match step() {
            Err(Failure::Sql(error))
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && wait(tries) =>
            {
                tries += 1;
            }
            result => return result,
        }
    }
}

fn write_ahead(connection: &Connection) -> Result<(), Failure> {
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let message = "the file system cannot keep a write-ahead log".to_owned();
    Err(Failure::Rule(StoreErrorKind::Io, message))
}

/// What a file says it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Of this version.
    Ours,
    /// Of an older one; 0 for an empty file.
    Older(i64),
}

/// Looks at a file without being able to change it.
///
/// Looking through costs 1.7 ms a MB, which is too much for every start and little for one after a
/// crash, or after somebody else has changed the file. A look at some of the pages would cost less and
/// say next to nothing of the others.
fn look(path: &Path, company: Company) -> Result<(), Failure> {
    // Before SQLite makes a log.
    let most = match company {
        Company::Others => LOOKED_THROUGH,
        Company::Nobody(_) if has_log(path) => LOOKED_THROUGH_AFTER_A_CRASH,
        Company::Nobody(None) => LOOKED_THROUGH_AFTER_A_CRASH,
        Company::Nobody(closed) if closed == Mark::of(path) => LOOKED_THROUGH,
        // Somebody else was at it.
        Company::Nobody(Some(_)) => u64::MAX,
    };
    repair(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    judge(&connection, path)?;
    let size = path.metadata().map_or(0, |file| file.len());
    if size > most {
        return Ok(());
    }
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    let first = found.lines().next_back().unwrap_or_default();
    let message = format!("{} is damaged: {first}", path.display());
    Err(Failure::Rule(StoreErrorKind::Unusable, message))
}

/// Rolls back a transaction that a killed process left half done.
///
/// A new file has a rollback journal for a moment: when it is switched to a write-ahead log. A
/// connection that cannot write cannot roll back, and so could not even read the file. The journal of a
/// file that is not ours belongs to another program and stays.
fn repair(path: &Path) -> Result<(), Failure> {
    if !has_hot_journal(path) {
        return Ok(());
    }
    judge_half_written(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Any read rolls back, unless the journal belongs to a process that lives.
    judge(&connection, path)?;
    Ok(())
}

/// Refuses a file in the middle of a transaction unless it is ours or has no tables.
fn judge_half_written(path: &Path) -> Result<(), Failure> {
    let connection = connect_alone(path)?;
    // The head of the file is whole; the list of tables may not be.
    let id = connection.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0))?;
    if id != schema::APPLICATION_ID {
        judge(&connection, path)?;
    }
    Ok(())
}

fn judge(connection: &Connection, path: &Path) -> Result<Found, Failure> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let place = path.display();
    let refuse = |message| Err(Failure::Rule(StoreErrorKind::Unusable, message));
    match (pragma("application_id")?, pragma("user_version")?) {
        (0, 0) if tables == 0 => Ok(Found::Older(0)),
        (schema::APPLICATION_ID, schema::VERSION) => Ok(Found::Ours),
        (schema::APPLICATION_ID, version @ 1..schema::VERSION) => Ok(Found::Older(version)),
        (schema::APPLICATION_ID, version) if version > schema::VERSION => refuse(format!(
            "{place} was written by a newer offshoot (schema {version}, this one knows {}); \
             upgrade offshoot to use it",
            schema::VERSION
        )),
        (_, _) => refuse(format!("{place} is not a database of offshoot")),
    }
}

/// Makes the tables, or brings them to this version, unless another process has.
fn prepare(connection: &Connection, path: &Path) -> Result<(), Failure> {
    if judge(connection, path)? == Found::Ours {
        return Ok(());
    }
    // Has no effect inside a transaction.
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Whatever fails here is rolled back when the connection closes.
    if let Found::Older(version) = judge(connection, path)? {
        schema::upgrade(connection, version, schema::VERSION)?;
    }
    connection.execute_batch("COMMIT")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}
