//! One memory that several handles share, as processes share a folder.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, CommandId, Pos, TreeId};
use offshoot_types::journal::{Recorded, Writer};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::{ChatExport, OpenAsk, SessionSummary, StoreError};

use super::place::{Hold, Listeners, Place, call_nudged};
use crate::backend::{Backend, Write, Written};
use crate::memory::Memory;

/// What the handles share.
#[derive(Default)]
pub(super) struct Shared {
    memory: Mutex<Memory>,
    holders: Mutex<HashMap<TreeId, Listeners>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One handle's access to it.
pub(super) struct Commons {
    pub(super) shared: Arc<Shared>,
    pub(super) listeners: Listeners,
}

impl Place for Commons {
    fn hold(&self, tree: &TreeId) -> Result<Option<Arc<Hold>>, StoreError> {
        let mut holders = lock(&self.shared.holders);
        if holders.contains_key(tree) {
            return Ok(None);
        }
        holders.insert(tree.clone(), Arc::clone(&self.listeners));
        Ok(Some(Hold::new(Token {
            shared: Arc::clone(&self.shared),
            tree: tree.clone(),
        })))
    }

    fn is_held(&self, tree: &TreeId) -> bool {
        lock(&self.shared.holders).contains_key(tree)
    }

    fn nudge(&self, tree: &TreeId) {
        let holder = lock(&self.shared.holders).get(tree).cloned();
        if let Some(listeners) = holder {
            call_nudged(&listeners, tree);
        }
    }
}

/// Gives a tree up when it is dropped.
struct Token {
    shared: Arc<Shared>,
    tree: TreeId,
}

impl Drop for Token {
    fn drop(&mut self) {
        lock(&self.shared.holders).remove(&self.tree);
    }
}

impl Backend for Arc<Shared> {
    fn commit(&mut self, group: Vec<Write>) -> Vec<Result<Written, StoreError>> {
        lock(&self.memory).commit(group)
    }

    fn entries(
        &mut self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        lock(&self.memory).entries(tree, after, limit)
    }

    fn agent_log(&mut self, agent: &AgentId) -> Result<Vec<Entry>, StoreError> {
        lock(&self.memory).agent_log(agent)
    }

    fn tree_of(&mut self, agent: &AgentId) -> Result<Option<TreeId>, StoreError> {
        lock(&self.memory).tree_of(agent)
    }

    fn pending(&mut self, tree: &TreeId) -> Result<Vec<Command>, StoreError> {
        lock(&self.memory).pending(tree)
    }

    fn receipt(&mut self, command: &CommandId) -> Result<Option<Receipt>, StoreError> {
        lock(&self.memory).receipt(command)
    }

    fn list(&mut self, query: &SessionQuery) -> Result<Vec<SessionSummary>, StoreError> {
        lock(&self.memory).list(query)
    }

    fn find(&mut self, part: &str, among: Among, limit: usize) -> Result<Vec<AgentId>, StoreError> {
        lock(&self.memory).find(part, among, limit)
    }

    fn asks(&mut self) -> Result<Vec<OpenAsk>, StoreError> {
        lock(&self.memory).asks()
    }

    fn changes(&mut self, tree: &TreeId) -> Result<Vec<Recorded>, StoreError> {
        lock(&self.memory).changes(tree)
    }

    fn last_writer(&mut self, path: &str) -> Result<Option<Writer>, StoreError> {
        lock(&self.memory).last_writer(path)
    }

    fn chat(&mut self, session: &AgentId) -> Result<Option<ChatExport>, StoreError> {
        lock(&self.memory).chat(session)
    }
}
