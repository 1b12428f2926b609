//! Logs that will be wanted again soon.
//!
//! An opaque agent has no rows: when its run is told, its log is nested in its
//! parent's part. Most end soon after they were born, so their entries are kept
//! here while they are few and small, and need not be read back and parsed. What
//! is not here is in the table. Forgotten with the counters of its tree.

use std::collections::HashMap;
use std::sync::Arc;

use offshoot_types::event::Entry;
use offshoot_types::id::AgentId;

/// Longest log that is kept, in bytes as it is stored.
const LONGEST: usize = 8 * 1024;

/// The whole logs of agents that were born a short while ago.
#[derive(Debug, Default)]
pub(super) struct Young(HashMap<AgentId, Infancy>);

#[derive(Debug, Default)]
struct Infancy {
    entries: Vec<Arc<Entry>>,
    bytes: usize,
}

impl Young {
    /// Begins with an agent of which nothing is stored yet.
    pub(super) fn born(&mut self, agent: &AgentId) {
        self.0.insert(agent.clone(), Infancy::default());
    }

    /// Keeps the next entry of an agent, unless its log is not kept or becomes too long for it.
    pub(super) fn keep(&mut self, entry: &Arc<Entry>, bytes: usize) {
        let Some(log) = self.0.get_mut(&entry.agent) else {
            return;
        };
        log.bytes += bytes;
        if log.bytes > LONGEST {
            self.0.remove(&entry.agent);
        } else {
            log.entries.push(Arc::clone(entry));
        }
    }

    /// Gives away the log of an agent, if it is here. It is rarely wanted twice.
    pub(super) fn take(&mut self, agent: &AgentId) -> Option<Vec<Arc<Entry>>> {
        self.0.remove(agent).map(|log| log.entries)
    }
}
