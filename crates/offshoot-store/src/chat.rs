//! The guide's chat tables as a fold of the log (R5).
//!
//! `derive` turns an entry into row operations; SQL carries them out in the
//! transaction of the entry, and `fold` carries the same ones out in memory, so
//! that what a database holds can be compared with what its log says. An agent
//! has rows of its own if it is a root or inspectable (R3). An opaque one has
//! none: its transcript is nested in the part of its parent that tells of its
//! run. Nothing here reads a clock or is read back by the engine.

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
use offshoot_types::id::AgentId;

pub(crate) use derive::{Source, derive};
pub(crate) use export::export;
pub(crate) use part::{finished, fired, hidden};
pub(crate) use row::{Finish, RowOp};
pub use row::{Kind, MessageRow, PartRow, PartState, Role, SessionRow, ToolCall};
use sheet::Sheet;
pub use sheet::{PartKey, Rows};

/// Folds the log of a tree, from its beginning, into the rows it has.
pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Rows {
    let mut logs = Logs::default();
    let mut sheet = Sheet::default();
    for entry in entries {
        if !logs.take(entry) {
            continue;
        }
        match derive(entry, &mut logs) {
            Ok(ops) => sheet.execute(ops),
            Err(never) => match never {},
        }
    }
    sheet.rows
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
#[derive(Default)]
struct Logs<'a> {
    opaque: HashMap<&'a AgentId, Vec<&'a Entry>>,
    workspace: Option<&'a str>,
}

impl<'a> Logs<'a> {
    /// Keeps an entry of an opaque agent; tells whether its agent has rows instead.
    fn take(&mut self, entry: &'a Entry) -> bool {
        if let Event::Spawned(spawned) = &entry.event {
            if let Origin::Session { workspace, .. } = &spawned.origin {
                self.workspace = Some(workspace);
            }
            if !has_rows(spawned) {
                self.opaque.insert(&entry.agent, Vec::new());
            }
        }
        match self.opaque.get_mut(&entry.agent) {
            Some(log) => {
                log.push(entry);
                false
            }
            None => true,
        }
    }
}

impl Source for Logs<'_> {
    type Error = Infallible;

    fn workspace(&mut self) -> Result<Option<String>, Infallible> {
        Ok(self.workspace.map(str::to_owned))
    }

    fn opaque_log(&mut self, agent: &AgentId) -> Result<Option<Vec<Arc<Entry>>>, Infallible> {
        let log = self.opaque.get(agent);
        let own = |log: &Vec<&Entry>| log.iter().map(|&entry| Arc::new(entry.clone())).collect();
        Ok(log.map(own))
    }
}
