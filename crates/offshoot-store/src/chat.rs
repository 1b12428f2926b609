//! The guide's chat tables as a fold of the log (R5).
//!
//! `derive` turns an entry into row operations; SQL carries them out in the
//! transaction of the entry, and `fold` carries the same ones out in memory, so
//! that what a database holds can be compared with what its log says. An agent
//! has rows of its own if it is a root or inspectable (R3). An opaque one has
//! none: its transcript is nested in the part of its parent that tells of its
//! run, as far as a row may grow. An export nests all of it (SA-37). Nothing here
//! reads a clock or is read back by the engine.

mod derive;
mod export;
mod part;
mod row;
mod sheet;
mod transcript;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use offshoot_types::event::{Entry, Event, Origin, Spawned};
use offshoot_types::id::{AgentId, Seq};
use offshoot_types::stored;

pub(crate) use derive::{Source, derive, is_for_session};
pub(crate) use export::export;
pub(crate) use part::{finished, fired, hidden, permitted};
pub(crate) use row::{Finish, MOST_MICROS, RowOp};
pub use row::{Kind, MessageRow, PartRow, PartState, Role, SessionRow, ToolCall};
use sheet::Sheet;
pub use sheet::{PartKey, Rows};
pub(crate) use transcript::Nesting;

/// Folds the log of a tree, from its beginning, into the rows it has.
pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Rows {
    let mut logs = Logs::default();
    let mut sheet = Sheet::default();
    for entry in entries {
        logs.take(entry);
        if logs.opaque.contains_key(&entry.agent) && !is_for_session(entry) {
            continue;
        }
        logs.nesting = Nesting::ROW;
        match derive(entry, &mut logs) {
            Ok(ops) => sheet.execute(ops),
            Err(never) => match never {},
        }
    }
    sheet.rows
}

/// Folds the own log of an agent, as if it had rows: all of it, whatever rows could hold.
pub(crate) fn fold_agent<'a, E>(
    log: impl IntoIterator<Item = &'a Entry>,
    source: &mut dyn Source<Error = E>,
) -> Result<Rows, E> {
    *source.nesting() = Nesting::Whole;
    let mut sheet = Sheet::default();
    for entry in log {
        sheet.execute(derive(entry, source)?);
    }
    Ok(sheet.rows)
}

/// Tells whether an agent has rows of its own.
pub(crate) fn has_rows(spawned: &Spawned) -> bool {
    match &spawned.origin {
        Origin::Session { .. } => true,
        Origin::Task(_) => spawned.inspectable,
        Origin::Helper(_) => false,
    }
}

/// What has been folded so far, where it may be needed again.
pub(crate) struct Logs<'a> {
    opaque: HashMap<&'a AgentId, Vec<&'a Entry>>,
    /// Every agent with the one above it, parents before their children.
    above: Vec<(&'a AgentId, Option<&'a AgentId>)>,
    workspace: Option<&'a str>,
    nesting: Nesting,
}

impl Default for Logs<'_> {
    fn default() -> Self {
        Self {
            opaque: HashMap::new(),
            above: Vec::new(),
            workspace: None,
            nesting: Nesting::ROW,
        }
    }
}

impl<'a> Logs<'a> {
    /// Returns all logs of a tree.
    pub(crate) fn of(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut logs = Self::default();
        for entry in entries {
            logs.take(entry);
        }
        logs
    }

    /// Takes the next entry of the tree.
    fn take(&mut self, entry: &'a Entry) {
        if let Event::Spawned(spawned) = &entry.event {
            if let Origin::Session { workspace, .. } = &spawned.origin {
                self.workspace = Some(workspace);
            }
            if !has_rows(spawned) {
                self.opaque.insert(&entry.agent, Vec::new());
            }
            let parent = spawned.parent().map(|parent| &parent.agent);
            self.above.push((&entry.agent, parent));
        }
        if let Some(log) = self.opaque.get_mut(&entry.agent) {
            log.push(entry);
        }
    }
}

impl Source for Logs<'_> {
    type Error = Infallible;

    fn workspace(&mut self) -> Result<Option<String>, Infallible> {
        Ok(self.workspace.map(str::to_owned))
    }

    fn opaque_birth(&mut self, agent: &AgentId) -> Result<Option<Spawned>, Infallible> {
        let first = self.opaque.get(agent).and_then(|log| log.first());
        Ok(first.and_then(|entry| match &entry.event {
            Event::Spawned(spawned) => Some(spawned.as_ref().clone()),
            _ => None,
        }))
    }

    fn opaque_log(
        &mut self,
        agent: &AgentId,
        after: Seq,
    ) -> Result<Option<Vec<Arc<Entry>>>, Infallible> {
        let own = |log: &Vec<&Entry>| {
            let rest = log.iter().filter(|entry| entry.seq > after);
            rest.map(|&entry| Arc::new(entry.clone())).collect()
        };
        Ok(self.opaque.get(agent).map(own))
    }

    fn log_bytes(&mut self, agent: &AgentId) -> Result<u64, Infallible> {
        let log = self.opaque.get(agent).into_iter().flatten();
        let bytes = |entry: &&Entry| stored::write(&entry.event).map_or(0, |line| line.len());
        Ok(log.map(bytes).sum::<usize>() as u64)
    }

    fn below(&mut self, agent: &AgentId) -> Result<Vec<AgentId>, Infallible> {
        let mut below = vec![agent.clone()];
        for (child, parent) in &self.above {
            if parent.is_some_and(|parent| below.contains(parent)) {
                below.push(AgentId::clone(child));
            }
        }
        Ok(below)
    }

    fn nesting(&mut self) -> &mut Nesting {
        &mut self.nesting
    }
}
