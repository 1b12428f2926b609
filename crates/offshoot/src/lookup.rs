//! Finding sessions and agents, and reading their logs.
//!
//! Reads only: nothing here claims a tree or starts a turn. A tree has to be
//! read before a runtime can be made for it, because its log names its model.

use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::store::{Store, StoreError, StoreErrorKind};
use offshoot_types::tree::Tree;

use crate::exit::Stop;
use crate::render;

/// The shortest part of an id that stands for the whole.
const SHORTEST_PART: usize = 8;

/// How many ids are named when a part could be any of them.
const MOST_NAMED: usize = 5;

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

/// Whose ids a part may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Sessions only; reads no log but that of the one that is found.
    Sessions,
    /// Sessions, and if none is meant, every agent of every session.
    Agents,
}

/// Finds an agent by its id, or by a part that no other id begins or ends with.
pub(crate) async fn find(store: &dyn Store, id: &str) -> Result<Found, Stop> {
    match search(store, id, Among::Agents).await? {
        Some(found) => Ok(found),
        None => Err(unknown(id)),
    }
}

/// Finds an agent as `find` does; `None` if there is none. A part that could be several is refused.
pub(crate) async fn search(
    store: &dyn Store,
    id: &str,
    among: Among,
) -> Result<Option<Found>, Stop> {
    if id.is_empty() {
        let text = r#"the id is empty; see "offshoot sessions list""#;
        return Err(Stop::usage(text));
    }
    if let Some(found) = load(store, AgentId::new(id)).await? {
        return Ok(Some(found));
    }
    if is_too_short(id) {
        return Ok(None);
    }
    let matching = matching(store, id, among).await?;
    match matching.as_slice() {
        [] => Ok(None),
        [agent] => Ok(load(store, agent.clone()).await?),
        several => Err(ambiguous(id, several)),
    }
}

/// Finds the session that changed last of those that work in a folder.
pub(crate) async fn newest_in(store: &dyn Store, workspace: &str) -> Result<Session, Stop> {
    let sessions = store.sessions().await?;
    let mut sessions = sessions.iter();
    let newest = sessions.find(|session| session.workspace == workspace);
    let found = match newest {
        Some(newest) => session(store, &newest.tree).await?,
        None => None,
    };
    found.ok_or_else(|| {
        Stop::usage(format!(
            "there is no session in {workspace} to continue; start one with: offshoot run PROMPT"
        ))
    })
}

async fn load(store: &dyn Store, agent: AgentId) -> Result<Option<Found>, StoreError> {
    let Some(tree) = store.tree_of(&agent).await? else {
        return Ok(None);
    };
    let session = session(store, &tree).await?;
    Ok(session.map(|session| Found { agent, session }))
}

async fn matching(store: &dyn Store, part: &str, among: Among) -> Result<Vec<AgentId>, StoreError> {
    let sessions = store.sessions().await?;
    let roots = sessions.iter().map(|summary| summary.tree.root());
    let mut matching: Vec<AgentId> = roots.filter(|root| is_part(part, root)).cloned().collect();
    // Roots go first: only when none is meant are the logs read for agents.
    if matching.is_empty() && among == Among::Agents {
        for summary in &sessions {
            if let Some(session) = session(store, &summary.tree).await? {
                let agents = session.tree.walk().into_iter();
                matching.extend(agents.filter(|agent| is_part(part, agent)).cloned());
            }
        }
    }
    Ok(matching)
}

fn is_part(part: &str, id: &AgentId) -> bool {
    id.as_str().starts_with(part) || id.as_str().ends_with(part)
}

fn is_too_short(part: &str) -> bool {
    part.chars().count() < SHORTEST_PART
}

fn ambiguous(part: &str, several: &[AgentId]) -> Stop {
    let count = several.len();
    let named = several.iter().take(MOST_NAMED).map(AgentId::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if count > MOST_NAMED { ", …" } else { "" };
    Stop::usage(format!(
        "{} could be any of {count} sessions or agents; give more of the id: {named}{more}",
        shown(part)
    ))
}

fn unknown(id: &str) -> Stop {
    let way = if is_too_short(id) {
        format!("a part of an id has at least {SHORTEST_PART} characters; ")
    } else {
        String::new()
    };
    Stop::usage(format!(
        "there is no session or agent {}; {way}see \"offshoot sessions list\"",
        shown(id)
    ))
}

/// Returns an id as a person gave it, made fit for a line.
fn shown(id: &str) -> String {
    let id: String = id.chars().take(200).collect();
    id.escape_debug().to_string()
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

    /// Returns the agent that its root is now.
    pub(crate) fn definition(&self) -> Option<&str> {
        let root = self.tree.agent(self.tree.root()?)?;
        Some(root.definition())
    }

    /// Returns the beginning of what its root was asked first; empty if nobody has asked yet.
    pub(crate) fn first_words(&self, most: usize) -> String {
        for entry in &self.log {
            if let Event::Prompted(message) = &entry.event
                && entry.agent == *self.id.root()
            {
                return render::first_words(&message.text, most);
            }
        }
        String::new()
    }

    /// Returns the folder it works in.
    pub(crate) fn workspace(&self) -> Option<&str> {
        let root = self.tree.agent(self.tree.root()?)?;
        match &root.spawned.origin {
            Origin::Session { workspace, .. } => Some(workspace),
            Origin::Task(_) | Origin::Helper(_) => None,
        }
    }
}
