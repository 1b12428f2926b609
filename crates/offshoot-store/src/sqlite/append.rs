//! Appending entries.
//!
//! The row of the tree is moved first, under the condition that the epoch and
//! the position are what we think: that one statement is the fence. Then each
//! entry is checked by the fold of the tree (`Tree::apply`), as every reader of the
//! log checks it, stored and projected. The keys of the tables are a second check.
//! What is found wrong half way is undone by the savepoint around it.

use std::sync::Arc;

use offshoot_types::event::{Entry, Event, Origin, Spawned};
use offshoot_types::id::{AgentId, Epoch, RunId, RunNo, Timestamp, TreeId};
use offshoot_types::settlement::Settlement;
use offshoot_types::store::{Append, NewEntry, StoreErrorKind};
use offshoot_types::stored;
use offshoot_types::tree::Agent;
use rusqlite::{CachedStatement, Connection, params};

use super::ask;
use super::chat;
use super::command;
use super::counters::{AgentCounters, Counters, TreeCounters};
use super::failure::Failure;
use super::read::signed;
use crate::backend::Written;
use crate::chat::{has_rows, is_for_session};

/// Makes a tree with its first entries, unless it has some.
pub(super) fn create(
    connection: &Connection,
    counters: &mut Counters,
    id: &TreeId,
    append: Append,
) -> Result<Written, Failure> {
    let sql = "SELECT 1 FROM trees WHERE id = ?1 AND pos > 0";
    if connection.prepare_cached(sql)?.exists([id.as_str()])? {
        return Ok(Written::Exists);
    }
    let epoch = command::claim(connection, id)?;
    counters.forget(id);
    let entries = self::append(connection, counters, id, epoch, append)?;
    Ok(Written::Created(epoch, entries))
}

/// Appends entries to a tree, and marks the commands they carry out as done.
pub(super) fn append(
    connection: &Connection,
    counters: &mut Counters,
    id: &TreeId,
    epoch: Epoch,
    append: Append,
) -> Result<Vec<Arc<Entry>>, Failure> {
    let count = append.entries.len() as u64;
    if !append.applied.is_empty()
        && let Some(before) = counters.receipts.due(append.at)
    {
        command::prune(connection, before)?;
    }
    let tree = advance(connection, counters, id, epoch, (count, append.at))?;
    for (command, receipt) in &append.applied {
        command::done(connection, tree.key, command, receipt, append.at)?;
    }
    let mut place = Place {
        connection,
        insert: connection.prepare_cached(INSERT)?,
        id,
        tree,
        at: append.at,
    };
    let mut appended = Vec::with_capacity(append.entries.len());
    for new in append.entries {
        appended.push(place.entry(new)?);
    }
    Ok(appended)
}

/// Returns where a tree is, if it is ours; writes nothing.
pub(super) fn owned<'c>(
    connection: &Connection,
    counters: &'c mut Counters,
    id: &TreeId,
    epoch: Epoch,
) -> Result<&'c mut TreeCounters, Failure> {
    advance(connection, counters, id, epoch, (0, Timestamp::ZERO))
}

/// Looks whether a tree is where we left it and ours.
const LOOK: &str = "SELECT 1 FROM trees WHERE key = ?1 AND epoch = ?2 AND pos = ?3 AND owned";

/// Moves the row of a tree ahead, on the same condition.
const ADVANCE: &str = "UPDATE trees SET pos = pos + ?4, updated_at = ?5
    WHERE key = ?1 AND epoch = ?2 AND pos = ?3 AND owned";

/// Moves the row of a tree ahead, if it is where we left it and ours.
fn advance<'c>(
    connection: &Connection,
    counters: &'c mut Counters,
    id: &TreeId,
    epoch: Epoch,
    (count, at): (u64, Timestamp),
) -> Result<&'c mut TreeCounters, Failure> {
    // An append of nothing is how an owner looks whether it still is one: it writes nothing, so
    // that its commit waits for no disk.
    let sql = if count == 0 { LOOK } else { ADVANCE };
    let mut statement = connection.prepare_cached(sql)?;
    let mut is_ours = |tree: &TreeCounters| {
        let epoch = signed(epoch.get());
        let pos = signed(tree.pos.get());
        if count == 0 {
            return Ok::<_, Failure>(statement.exists(params![tree.key, epoch, pos])?);
        }
        let moved = statement.execute(params![
            tree.key,
            epoch,
            pos,
            signed(count),
            signed(at.get())
        ])?;
        Ok(moved == 1)
    };
    let mut good = match counters.tree(connection, id)? {
        Some(tree) => is_ours(tree)?,
        None => false,
    };
    if !good {
        // Perhaps the counters are old. If it is still not ours when they are new, it is not ours.
        counters.forget(id);
        good = match counters.tree(connection, id)? {
            Some(tree) => is_ours(tree)?,
            None => false,
        };
    }
    match counters.tree(connection, id)? {
        Some(tree) if good => Ok(tree),
        Some(_) | None => Err(Failure::Rule(
            StoreErrorKind::Fenced,
            "another process has taken it over".to_owned(),
        )),
    }
}

/// The end of a tree, where entries go.
struct Place<'a> {
    connection: &'a Connection,
    /// Held, because every entry needs it, and to look it up each time is not free.
    insert: CachedStatement<'a>,
    id: &'a TreeId,
    tree: &'a mut TreeCounters,
    at: Timestamp,
}

const INSERT: &str = "INSERT INTO entries (tree, pos, agent, seq, at, event, form)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const SETTLE: &str = "UPDATE runs SET settled_pos = ?3, status = ?4
    WHERE agent = ?1 AND run = ?2 AND settled_pos IS NULL";

const DELIVER: &str = "UPDATE runs SET delivered_pos = ?3
    WHERE agent = ?1 AND run = ?2 AND parent = ?4
        AND settled_pos IS NOT NULL AND delivered_pos IS NULL";

/// What every child needs and the birth of a session does not.
pub(super) const SOON: [&str; 3] = [ADVANCE, SETTLE, DELIVER];

impl Place<'_> {
    fn entry(&mut self, new: NewEntry) -> Result<Arc<Entry>, Failure> {
        let entry = Arc::new(Entry {
            tree: self.id.clone(),
            pos: self.tree.pos.next(),
            agent: new.agent,
            seq: new.seq,
            at: self.at,
            event: new.event,
        });
        self.tree.pos = entry.pos;
        let fold = self.tree.fold(self.connection, self.id)?;
        let was_open = fold.agent(&entry.agent).and_then(Agent::open_run).is_some();
        fold.apply(&entry)?;
        if let Event::Spawned(spawned) = &entry.event {
            self.born(&entry, spawned)?;
        }
        let agent = self.agent(&entry.agent)?;
        let bytes = self.store(&entry, agent.key)?;
        self.tree.young.keep(&entry, bytes);
        self.take_effect(&entry, agent, was_open)?;
        ask::follow(self.connection, self.tree, &entry, agent.key)?;
        if agent.has_rows || is_for_session(&entry) {
            chat::project(self.connection, self.tree, &entry)?;
        }
        Ok(entry)
    }

    /// Returns the keys of an agent, which the fold of the tree knows.
    fn agent(&mut self, id: &AgentId) -> Result<AgentCounters, Failure> {
        let found = self.tree.agent(self.connection, id)?.copied();
        found.ok_or_else(|| Failure::conflict(format!("there is no agent {id} in it")))
    }

    /// Makes an agent.
    fn born(&mut self, entry: &Entry, spawned: &Spawned) -> Result<(), Failure> {
        let parent = match &spawned.origin {
            Origin::Task(parent) => Some(self.agent(&parent.agent)?.key),
            // A helper has no parent: no run waits for it (R18).
            Origin::Session { .. } | Origin::Helper(_) => None,
        };
        let sql = "INSERT INTO agents (id, tree, parent, definition, depth, inspectable)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let key = self.connection.prepare_cached(sql)?.insert(params![
            entry.agent.as_str(),
            self.tree.key,
            parent,
            spawned.definition,
            spawned.depth,
            spawned.inspectable,
        ])?;
        let agent = AgentCounters {
            key,
            parent,
            has_rows: has_rows(spawned),
            touched: None,
        };
        if !agent.has_rows {
            self.tree.young.born(&entry.agent);
        }
        self.tree.born(&entry.agent, agent);
        Ok(())
    }

    /// Stores an entry; returns how long it is.
    fn store(&mut self, entry: &Entry, agent: i64) -> Result<usize, Failure> {
        let event = stored::write(&entry.event)?;
        self.insert.execute(params![
            self.tree.key,
            signed(entry.pos.get()),
            agent,
            signed(entry.seq.get()),
            signed(entry.at.get()),
            event,
            stored::FORM,
        ])?;
        Ok(event.len())
    }

    /// Opens, settles and delivers runs, and follows changes of the definition.
    fn take_effect(
        &mut self,
        entry: &Entry,
        agent: AgentCounters,
        was_open: bool,
    ) -> Result<(), Failure> {
        for run in entry.event.delivers() {
            // A copy may tell of children of the session that it was copied from.
            if let Some(child) = self.tree.agent(self.connection, &run.agent)?.copied() {
                self.deliver(entry, agent, child, run)?;
            }
        }
        match &entry.event {
            Event::TurnStarted { run, .. } if !was_open => self.open(agent, *run),
            Event::Settled {
                run, settlement, ..
            } => self.settle(entry, agent, *run, settlement),
            Event::Became(_) | Event::Rewound { .. } => self.change_definition(entry, agent),
            _ => Ok(()),
        }
    }

    /// Names the definition that an agent has after an entry.
    fn change_definition(&mut self, entry: &Entry, agent: AgentCounters) -> Result<(), Failure> {
        let fold = self.tree.fold(self.connection, self.id)?;
        let definition = fold.agent(&entry.agent).map(Agent::definition);
        let sql = "UPDATE agents SET definition = ?2 WHERE key = ?1";
        let mut update = self.connection.prepare_cached(sql)?;
        update.execute(params![agent.key, definition])?;
        Ok(())
    }

    fn open(&self, agent: AgentCounters, run: RunNo) -> Result<(), Failure> {
        let sql = "INSERT INTO runs (agent, run, tree, parent) VALUES (?1, ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute(params![
            agent.key,
            run.get(),
            self.tree.key,
            agent.parent
        ])?;
        Ok(())
    }

    fn settle(
        &self,
        entry: &Entry,
        agent: AgentCounters,
        run: RunNo,
        settlement: &Settlement,
    ) -> Result<(), Failure> {
        let settled = self.connection.prepare_cached(SETTLE)?.execute(params![
            agent.key,
            run.get(),
            signed(entry.pos.get()),
            settlement.status.word(),
        ])?;
        if settled == 1 {
            Ok(())
        } else {
            Err(Failure::conflict(format!(
                "run {run} of agent {} is not open",
                entry.agent
            )))
        }
    }

    fn deliver(
        &self,
        entry: &Entry,
        agent: AgentCounters,
        child: AgentCounters,
        run: &RunId,
    ) -> Result<(), Failure> {
        let told = self.connection.prepare_cached(DELIVER)?.execute(params![
            child.key,
            run.run.get(),
            signed(entry.pos.get()),
            agent.key,
        ])?;
        if told == 1 {
            return Ok(());
        }
        let message = format!("run {run} is not mail of agent {}", entry.agent);
        Err(Failure::conflict(message))
    }
}
