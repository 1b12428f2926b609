//! Finding sessions and agents, and reading their logs.
//!
//! Reads only: nothing here claims a tree or starts a turn. A tree has to be
//! read before a runtime can be made for it, because its log names its model.

use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::store::{Store, StoreError, StoreErrorKind};
use offshoot_types::tree::Tree;

use crate::exit::Stop;

/// The shortest part of an id that stands for the whole.
const SHORTEST_PART: usize = 8;

/// Entries read at one time.
const PAGE: usize = 4096;

/// A session, as its log has it.
pub(crate) struct Session {
    pub(crate) id: TreeId,
    pub(crate) log: Vec<Entry>,
    pub(crate) tree: Tree,
}

/// An agent and its session.
pub(crate) struct Found {
    pub(crate) agent: AgentId,
    pub(crate) session: Session,
}

/// Reads a session; `None` if there is none, or its root was never born.
pub(crate) async fn session(store: &dyn Store, id: &TreeId) -> Result<Option<Session>, StoreError> {
    let log = log(store, id, Pos::ZERO).await?;
    let tree = Tree::fold(&log).map_err(|violation| {
        let text = format!("load session {id}: {violation}");
        StoreError::new(StoreErrorKind::Unusable, text)
    })?;
    Ok(tree.root().is_some().then_some(Session {
        id: id.clone(),
        log,
        tree,
    }))
}

/// Reads the log of a tree after a position.
pub(crate) async fn log(
    store: &dyn Store,
    tree: &TreeId,
    after: Pos,
) -> Result<Vec<Entry>, StoreError> {
    let mut log: Vec<Entry> = Vec::new();
    loop {
        let last = log.last().map_or(after, |entry| entry.pos);
        let more = store.entries(tree, last, PAGE).await?;
        let whole = more.len() == PAGE;
        log.extend(more);
        if !whole {
            return Ok(log);
        }
    }
}

/// Finds an agent by its id, or by a part that no other id begins or ends with.
pub(crate) async fn find(store: &dyn Store, id: &str) -> Result<Found, Stop> {
    let agent = AgentId::new(id);
    if let Some(tree) = store.tree_of(&agent).await?
        && let Some(session) = session(store, &tree).await?
    {
        return Ok(Found { agent, session });
    }
    let mut matching = Vec::new();
    if id.len() >= SHORTEST_PART {
        let sessions = store.sessions().await?;
        let roots: Vec<&TreeId> = sessions.iter().map(|summary| &summary.tree).collect();
        matching.extend(roots.iter().map(|tree| tree.root().clone()));
        matching.retain(|root| is_part(id, root));
        // Roots go first: only when none is meant are the logs read for agents.
        if matching.is_empty() {
            for tree in roots {
                let Some(session) = session(store, tree).await? else {
                    continue;
                };
                let agents = session.tree.walk().into_iter();
                matching.extend(agents.filter(|agent| is_part(id, agent)).cloned());
            }
        }
    }
    match matching.as_slice() {
        [] => Err(unknown(id)),
        [agent] => match store.tree_of(agent).await? {
            Some(tree) => match session(store, &tree).await? {
                Some(session) => Ok(Found {
                    agent: agent.clone(),
                    session,
                }),
                None => Err(unknown(id)),
            },
            None => Err(unknown(id)),
        },
        several => Err(Stop::usage(format!(
            "{id} could be any of {} sessions or agents; give more of the id",
            several.len()
        ))),
    }
}

fn is_part(part: &str, id: &AgentId) -> bool {
    id.as_str().starts_with(part) || id.as_str().ends_with(part)
}

fn unknown(id: &str) -> Stop {
    let id: String = id.chars().take(200).collect();
    Stop::usage(format!(
        "there is no session or agent {}; see \"offshoot sessions list\"",
        id.escape_debug()
    ))
}

impl Session {
    /// A session of which nothing is known yet.
    pub(crate) fn unborn(id: TreeId) -> Self {
        Self {
            id,
            log: Vec::new(),
            tree: Tree::default(),
        }
    }

    /// Returns the model of its root.
    pub(crate) fn model(&self) -> Option<&str> {
        let root = self.tree.agent(self.tree.root()?)?;
        Some(&root.spawned.model)
    }
}
