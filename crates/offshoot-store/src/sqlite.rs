//! A store in one SQLite file.
//!
//! Rules of the log are kept in the transaction of the entry, by the fold of its
//! tree (`Tree`) and, as a second check, by keys and row counts. Folds and counters are
//! remembered between groups and trusted only as far as the row of their tree
//! confirms them, because other processes share the file. This is a backend and
//! nothing more: no thread, no lock, no subscriber, and never a checkpoint.

mod append;
mod ask;
mod chat;
mod command;
mod counters;
mod damage;
mod delete;
mod failure;
mod journal;
mod list;
mod mark;
mod open;
mod read;
mod room;
mod schema;
#[cfg(test)]
mod tests;
mod young;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, CommandId, Pos, TreeId};
use offshoot_types::journal::{ContentId, Recorded, Traced, Writer};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::{ChatExport, OpenAsk, SessionSummary, StoreError};
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::backend::{Backend, Write, Written};
use crate::chat::Rows;
use counters::Counters;
pub(crate) use damage::Damage;
use failure::Failure;
pub(crate) use mark::Mark;
pub(crate) use open::{Company, Existing, checkpointer, has_log};
use room::Room;

/// All trees, in one SQLite file.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    /// The path, for messages.
    place: String,
    damage: Damage,
    counters: Counters,
    log_pages: Arc<AtomicU64>,
    deleted: Arc<AtomicBool>,
    room: Room,
}

impl Sqlite {
    /// Opens the file at `path`, or makes it, readable to its owner only.
    ///
    /// Fails with `Unusable`, and leaves the file as it is, if it is damaged, of a newer version, or
    /// not ours.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_in(Company::Others, path)
    }

    /// Opens the file like `open`, knowing who else has it open.
    pub(crate) fn open_in(company: Company, path: &Path) -> Result<Self, StoreError> {
        let place = path.display().to_string();
        let mut sqlite = Self::over(open::writer(path, company)?, place);
        sqlite.room = Room::wanted(path);
        let pages = Arc::clone(&sqlite.log_pages);
        // Takes the place of automatic checkpoints, which SQLite would make in this very hook.
        let count = move |_: &mut Wal, in_log: i32| {
            pages.store(in_log.unsigned_abs().into(), Ordering::Relaxed);
            Ok(())
        };
        let hooked = sqlite.connection.wal_hook(Some(count));
        hooked.map_err(|error| sqlite.explain(error, "open the database"))?;
        Ok(sqlite)
    }

    /// Opens a file that is there already, for reading only, beside others of the same handle: what
    /// one of them has met of damage, all of them know.
    pub(crate) fn open_reader(path: &Path, damage: &Damage) -> Result<Self, StoreError> {
        let mut reader = Self::over(open::reader(path)?, path.display().to_string());
        reader.damage = damage.clone();
        Ok(reader)
    }

    /// Opens a file so that nothing is made or changed; `None` if it is not there or empty.
    pub(crate) fn open_untouched(path: &Path) -> Result<Option<Existing<Self>>, StoreError> {
        let place = path.display().to_string();
        let opened = open::untouched(path)?;
        Ok(opened.map(|existing| match existing {
            Existing::Interrupted => Existing::Interrupted,
            Existing::Tables(connection, version) => {
                Existing::Tables(Self::over(connection, place), version)
            }
        }))
    }

    /// Makes a database that is gone when it is dropped.
    pub fn in_memory() -> Result<Self, StoreError> {
        open::in_memory().map(|connection| Self::over(connection, "memory".to_owned()))
    }

    /// Returns the flag that is set when something was deleted, which the write-ahead log and the
    /// file still hold until a checkpoint.
    pub(crate) fn deleted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.deleted)
    }

    /// Returns the counter of pages in the write-ahead log, as of the last commit.
    pub(crate) fn log_pages(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.log_pages)
    }

    /// Returns what is known of damage.
    pub(crate) fn damage(&self) -> &Damage {
        &self.damage
    }

    fn over(connection: Connection, place: String) -> Self {
        Self {
            connection,
            place,
            damage: Damage::default(),
            counters: Counters::default(),
            log_pages: Arc::default(),
            deleted: Arc::default(),
            room: Room::Made,
        }
    }

    fn reading<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        // One snapshot for all statements of a request, and none after it.
        let read = || {
            let snapshot = self.connection.unchecked_transaction()?;
            let found = read(&snapshot)?;
            snapshot.finish()?;
            Ok(found)
        };
        read().map_err(|failure: Failure| self.explain(failure, what))
    }

    /// Carries out one write; what it has done so far stays if it fails.
    fn carry_out(&mut self, write: Write) -> Result<Written, StoreError> {
        let what = describe(&write);
        let connection = &self.connection;
        let counters = &mut self.counters;
        let written = match write {
            Write::Claim(tree) => {
                counters.forget(&tree);
                command::claim(connection, &tree).map(Written::Claimed)
            }
            Write::Create(tree, append) => append::create(connection, counters, &tree, append),
            Write::Release(tree, epoch) => {
                counters.forget(&tree);
                command::release(connection, &tree, epoch)
            }
            Write::Delete(tree, epoch) => {
                counters.forget(&tree);
                delete::delete(connection, &tree, epoch)
            }
            Write::Append(tree, epoch, append) => {
                append::append(connection, counters, &tree, epoch, append).map(Written::Appended)
            }
            Write::Journal(tree, epoch, recorded) => {
                journal::record(connection, counters, &tree, epoch, &recorded)
            }
            Write::Submit(command, at) => command::submit(connection, &command, at),
        };
        written.map_err(|failure| self.explain(failure, &what))
    }

    /// Carries out one write, alone: what it did is undone if it fails.
    fn write(&mut self, write: Write) -> Result<Written, Ended> {
        let tree = tree_of(&write).clone();
        let begun = execute(&self.connection, "SAVEPOINT write");
        let begun = begun.map_err(|failure| self.explain(failure, "begin to write"));
        let written = begun.and_then(|()| self.carry_out(write));
        let written = written.and_then(|written| {
            let kept = execute(&self.connection, "RELEASE write");
            kept.map_err(|failure| self.explain(failure, "write"))?;
            Ok(written)
        });
        written.map_err(|error| {
            self.counters.forget(&tree);
            let damaged = self.damage.met().is_some();
            if damaged || self.connection.is_autocommit() || self.undo().is_err() {
                return Ended::Group(error);
            }
            Ended::Write(error)
        })
    }

    fn explain(&self, failure: impl Into<Failure>, what: &str) -> StoreError {
        self.damage.explain(failure, &self.place, what)
    }

    fn undo(&self) -> rusqlite::Result<()> {
        self.connection
            .execute_batch("ROLLBACK TO write; RELEASE write")
    }

    /// Begins a transaction, but none in a file that is damaged; one that only looks waits for nobody.
    fn begin(&mut self, group: &[Write]) -> Result<(), StoreError> {
        if let Some(damaged) = self.damage.met() {
            return Err(damaged.clone());
        }
        let looks = group.iter().all(Write::only_looks);
        self.fold_ahead(group);
        let sql = if looks { "BEGIN" } else { "BEGIN IMMEDIATE" };
        let begun = execute(&self.connection, sql);
        begun.map_err(|failure| self.explain(failure, "begin to write"))?;
        if !looks {
            self.room.make();
        }
        Ok(())
    }

    /// Folds the logs that the group is the first to add to, before other processes wait for it.
    fn fold_ahead(&mut self, group: &[Write]) {
        for write in group {
            if let Write::Append(id, _, append) = write
                && !append.entries.is_empty()
                && let Ok(Some(tree)) = self.counters.tree(&self.connection, id)
            {
                // An append that cannot be folded fails, and is reported, in the transaction.
                drop(tree.fold(&self.connection, id));
            }
        }
    }

    /// Commits a group that has begun; if any of it fails, the caller rolls all of it back.
    ///
    /// Almost every group is good, and a savepoint around each write is dear: a copy of every page
    /// that the write changes.
    fn together(&mut self, group: Vec<Write>) -> Result<Vec<Written>, StoreError> {
        let mut done = Vec::with_capacity(group.len());
        for write in group {
            done.push(self.carry_out(write)?);
        }
        let committed = execute(&self.connection, "COMMIT");
        committed.map_err(|failure| self.explain(failure, "commit"))?;
        Ok(done)
    }

    /// Commits what is good of a group: each write is a savepoint and fails alone (R6).
    fn one_by_one(
        &mut self,
        group: Vec<Write>,
        trees: &[TreeId],
    ) -> Vec<Result<Written, StoreError>> {
        let mut results = Vec::with_capacity(group.len());
        if let Err(error) = self.begin(&group) {
            return self.abandon(results, trees, &error);
        }
        for write in group {
            match self.write(write) {
                Ok(written) => results.push(Ok(written)),
                Err(Ended::Write(error)) => results.push(Err(error)),
                Err(Ended::Group(error)) => return self.abandon(results, trees, &error),
            }
        }
        match execute(&self.connection, "COMMIT") {
            Ok(()) => results,
            Err(failure) => {
                let error = self.explain(failure, "commit");
                self.abandon(results, trees, &error)
            }
        }
    }

    /// Leaves a transaction. The counters of its trees have moved with it, so they are read again.
    fn roll_back(&mut self, trees: &[TreeId]) -> Result<(), StoreError> {
        for tree in trees {
            self.counters.forget(tree);
        }
        if self.connection.is_autocommit() {
            return Ok(());
        }
        let rolled_back = self.connection.execute_batch("ROLLBACK");
        rolled_back.map_err(|failure| self.explain(failure, "roll back"))
    }

    /// Fails a whole group; `trees` has the tree of each of its writes.
    fn abandon(
        &mut self,
        done: Vec<Result<Written, StoreError>>,
        trees: &[TreeId],
        error: &StoreError,
    ) -> Vec<Result<Written, StoreError>> {
        let of = trees.len();
        if let Err(failure) = self.roll_back(trees) {
            return vec![Err(failure); of];
        }
        let mut results: Vec<_> = done
            .into_iter()
            .map(|result| match result {
                Ok(_) => Err(error.clone()),
                Err(own) => Err(own),
            })
            .collect();
        results.resize(of, Err(error.clone()));
        results
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.damage.spare(&self.connection);
    }
}

/// Executes a statement that has no parameters.
fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// What a failing write took with it.
enum Ended {
    /// Only itself.
    Write(StoreError),
    /// The transaction: SQLite has rolled it back.
    Group(StoreError),
}

fn tree_of(write: &Write) -> &TreeId {
    match write {
        Write::Claim(tree)
        | Write::Create(tree, _)
        | Write::Release(tree, _)
        | Write::Delete(tree, _)
        | Write::Append(tree, _, _)
        | Write::Journal(tree, _, _) => tree,
        Write::Submit(command, _) => &command.tree,
    }
}

fn describe(write: &Write) -> String {
    let tree = tree_of(write);
    match write {
        Write::Claim(_) => format!("take over session {tree}"),
        Write::Create(_, _) => format!("create session {tree}"),
        Write::Release(_, _) => format!("release session {tree}"),
        Write::Delete(_, _) => format!("delete session {tree}"),
        Write::Append(_, _, _) => format!("append to session {tree}"),
        Write::Journal(_, _, _) => format!("record a change in session {tree}"),
        Write::Submit(_, _) => format!("send a command to session {tree}"),
    }
}

impl Backend for Sqlite {
    fn commit(&mut self, group: Vec<Write>) -> Vec<Result<Written, StoreError>> {
        let of = group.len();
        if of == 0 {
            return Vec::new();
        }
        let trees: Vec<TreeId> = group.iter().map(|write| tree_of(write).clone()).collect();
        if let Err(error) = self.begin(&group) {
            return self.abandon(Vec::new(), &trees, &error);
        }
        // A single write has nobody that its failure could take along.
        let again = (of > 1).then(|| group.clone());
        let results = match self.together(group) {
            Ok(done) => done.into_iter().map(Ok).collect(),
            Err(error) => match (self.roll_back(&trees), again) {
                (Ok(()), Some(group)) => self.one_by_one(group, &trees),
                (Ok(()), None) => vec![Err(error); of],
                (Err(failure), _) => vec![Err(failure); of],
            },
        };
        let is_deletion = |result: &_| matches!(result, Ok(Written::Deleted));
        if results.iter().any(is_deletion) {
            self.deleted.store(true, Ordering::Relaxed);
        }
        results
    }

    fn make_ready(&mut self) {
        for sql in append::SOON.iter().chain(&chat::SOON) {
            // What cannot be prepared is reported when it is needed.
            drop(self.connection.prepare_cached(sql));
        }
    }

    fn entries(
        &mut self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.reading("read the log of a session", |connection| {
            read::entries(connection, tree, after, limit)
        })
    }

    fn agent_log(&mut self, agent: &AgentId) -> Result<Vec<Entry>, StoreError> {
        self.reading("read the log of an agent", |connection| {
            read::agent_log(connection, agent)
        })
    }

    fn tree_of(&mut self, agent: &AgentId) -> Result<Option<TreeId>, StoreError> {
        self.reading("find the session of an agent", |connection| {
            read::tree_of(connection, agent)
        })
    }

    fn pending(&mut self, tree: &TreeId) -> Result<Vec<Command>, StoreError> {
        self.reading("read the commands of a session", |connection| {
            command::pending(connection, tree)
        })
    }

    fn receipt(&mut self, command: &CommandId) -> Result<Option<Receipt>, StoreError> {
        self.reading("read what became of a command", |connection| {
            command::receipt(connection, command)
        })
    }

    fn list(&mut self, query: &SessionQuery) -> Result<Vec<SessionSummary>, StoreError> {
        self.reading("list the sessions", |connection| {
            list::list(connection, query)
        })
    }

    fn find(&mut self, part: &str, among: Among, limit: usize) -> Result<Vec<AgentId>, StoreError> {
        self.reading("find an id", |connection| {
            list::find(connection, part, among, limit)
        })
    }

    fn asks(&mut self) -> Result<Vec<OpenAsk>, StoreError> {
        self.reading("list what is asked", ask::list)
    }

    fn changes(&mut self, tree: &TreeId) -> Result<Vec<Recorded>, StoreError> {
        self.reading("read the changes of files", |connection| {
            journal::changes(connection, tree)
        })
    }

    fn trace(&mut self, tree: &TreeId) -> Result<Vec<Traced>, StoreError> {
        self.reading("read the changes of files", |connection| {
            journal::trace(connection, tree)
        })
    }

    fn content(&mut self, tree: &TreeId, id: ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        self.reading("read what a file contained", |connection| {
            journal::content(connection, tree, id)
        })
    }

    fn find_content(
        &mut self,
        tree: &TreeId,
        bytes: &[u8],
    ) -> Result<Option<ContentId>, StoreError> {
        self.reading("find what a file contains", |connection| {
            journal::find(connection, tree, bytes)
        })
    }

    fn last_writer(&mut self, path: &str) -> Result<Option<Writer>, StoreError> {
        self.reading("read who wrote a file", |connection| {
            journal::last_writer(connection, path)
        })
    }

    fn chat(&mut self, session: &AgentId) -> Result<Option<ChatExport>, StoreError> {
        self.reading("read the chat rows of a session", |connection| {
            chat::export(connection, session)
        })
    }

    fn chat_rows(&mut self, tree: &TreeId) -> Result<Rows, StoreError> {
        self.reading("read the chat rows of a session", |connection| {
            chat::rows(connection, tree)
        })
    }
}
