//! Following a session: everything that happens, and who it happens to.
//!
//! Every entry comes once and in order, however slow the reader; what is not stored (pieces of text,
//! what an agent waits for) is said once. The tree is folded on the way, so that an id can be told as
//! a path.

use std::sync::Arc;

use futures_util::stream::{Stream, try_unfold};
use offshoot_engine::{Subscription, Update, query};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::tree::Tree;

use super::error::Error;
use super::runtime::Shared;

/// Everything that happens in a session, as it happens.
pub struct Updates {
    updates: Subscription,
    id: TreeId,
    tree: Tree,
}

impl Updates {
    pub(super) async fn new(shared: &Arc<Shared>, id: &TreeId, after: Pos) -> Result<Self, Error> {
        let before = usize::try_from(after.get()).unwrap_or(usize::MAX);
        let log = match before {
            0 => Vec::new(),
            before => {
                let query = query::Log {
                    limit: Some(before),
                    ..query::Log::of(id.clone())
                };
                shared.query(query).await?
            }
        };
        let tree = fold(id, &log)?;
        let updates = shared.subscribe(id, tree.pos()).await?;
        let id = id.clone();
        Ok(Self { updates, id, tree })
    }

    /// Returns the next update; waits for one. Ends only with an error.
    ///
    /// May be dropped while it waits, as `select!` does: nothing is lost.
    pub async fn next(&mut self) -> Result<Update, Error> {
        let update = self.updates.next().await?;
        if let Update::Entry(entry) = &update {
            let applied = self.tree.apply(entry);
            applied.map_err(|violation| broken(&self.id, &violation))?;
        }
        Ok(update)
    }

    /// Returns all of it as a stream, which ends after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Update, Error>> + Send {
        try_unfold(self, |mut updates| async move {
            let update = updates.next().await?;
            Ok(Some((update, updates)))
        })
    }

    /// Returns who there is, and how far each has come, as of the last update.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the way from the root to an agent, by names: `build/explore:2`.
    ///
    /// Children of one agent that share a name are counted, from the second on. Of an agent that
    /// nothing has been heard of it is the id.
    pub fn path(&self, agent: &AgentId) -> String {
        let path = self.tree.path(agent);
        if path.is_empty() {
            return agent.to_string();
        }
        let names: Vec<String> = path.into_iter().rev().map(|id| self.name(id)).collect();
        names.join("/")
    }

    fn name(&self, id: &AgentId) -> String {
        let definition = |id: &AgentId| Some(&self.tree.agent(id)?.spawned.definition);
        let Some(own) = definition(id) else {
            return id.to_string();
        };
        let parent = self.tree.agent(id).and_then(|agent| agent.parent());
        let siblings = parent.and_then(|parent| self.tree.agent(&parent.agent));
        let siblings = siblings.map_or(&[][..], |above| &above.children);
        let elder = siblings.iter().take_while(|sibling| *sibling != id);
        match elder.filter(|elder| definition(elder) == Some(own)).count() {
            0 => own.clone(),
            before => format!("{own}:{}", before + 1),
        }
    }
}

/// Folds the log of a tree.
pub(super) fn fold(id: &TreeId, log: &[Entry]) -> Result<Tree, Error> {
    Tree::fold(log).map_err(|violation| broken(id, &violation))
}

pub(super) fn broken(id: &TreeId, violation: &impl std::fmt::Display) -> Error {
    let text = format!("follow session {id}: {violation}");
    Error::Store(StoreError::new(StoreErrorKind::Unusable, text))
}
