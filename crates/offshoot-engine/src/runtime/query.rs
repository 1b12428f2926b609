//! What faces ask about the state of things (R9): a closed set of questions, each with its own answer.
//!
//! A query has no effect: it claims no tree, opens no project (but for `Request`) and starts no turn, so
//! a runtime that only answers queries needs neither models nor agents. What is asked about a session
//! that another process runs is answered from the store.

use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, CommandId, Pos, TreeId};
use offshoot_types::journal::{ContentId, Traced};
use offshoot_types::listing::{Among, SessionCursor, SessionPage, SessionQuery};
use offshoot_types::store::{
    ChatExport, OpenAsk, SessionSummary, Store, StoreError, StoreErrorKind,
};
use offshoot_types::tree::Tree;

use super::{Inner, Runtime};
use crate::rebuild::{self, NoRequest, RebuiltRequest};
use crate::update::{Activity, SessionState};

/// Entries read at one time.
const PAGE: usize = if cfg!(test) { 8 } else { 4096 };

/// A question about the state of things; has no effect. Only this module has queries.
pub trait Query: Send + sealed::Sealed {
    /// What it is answered with.
    type Answer: Send;

    /// Answers it; `Runtime::query` is how it is called.
    #[doc(hidden)]
    fn answer(
        self,
        runtime: &Runtime,
    ) -> impl Future<Output = Result<Self::Answer, StoreError>> + Send;
}

mod sealed {
    pub trait Sealed {}
}

/// A page of the list of sessions, and where the next one begins.
#[derive(Clone, Debug, Default)]
pub struct Sessions(pub SessionQuery);

/// A session as lists show it; `None` for an unknown one.
#[derive(Clone, Debug)]
pub struct Summary(pub TreeId);

/// The ids that begin or end with a part of one: of sessions, and if there is none and agents are
/// looked for too, of agents. Reads no log.
#[derive(Clone, Debug)]
pub struct Find {
    /// The part; none is found for an empty one.
    pub part: String,
    /// Whose ids.
    pub among: Among,
    /// How many are returned at most.
    pub limit: usize,
}

/// Which session an agent belongs to; `None` for an unknown agent.
#[derive(Clone, Debug)]
pub struct TreeOf(pub AgentId);

/// A session, folded from its log; without a root if there is none.
#[derive(Clone, Debug)]
pub struct SessionTree(pub TreeId);

/// The log of a session.
#[derive(Clone, Debug)]
pub struct Log {
    /// Which session; an unknown one has no entry.
    pub tree: TreeId,
    /// Only entries behind this place.
    pub after: Pos,
    /// At most this many; all without it.
    pub limit: Option<usize>,
}

impl Log {
    /// The whole log of a session.
    pub fn of(tree: TreeId) -> Self {
        Self::after(tree, Pos::ZERO)
    }

    /// The log of a session behind a place.
    pub fn after(tree: TreeId, after: Pos) -> Self {
        Self {
            tree,
            after,
            limit: None,
        }
    }
}

/// The log of one agent; empty for an unknown agent.
#[derive(Clone, Debug)]
pub struct AgentLog(pub AgentId);

/// What an agent does now; `None` if this process does not run its session.
#[derive(Clone, Debug)]
pub struct Status(pub TreeId, pub AgentId);

/// Whether a living process, this one included, runs a session.
#[derive(Clone, Debug)]
pub struct IsOwned(pub TreeId);

/// Calls of all sessions that wait for an answer, the oldest first.
#[derive(Clone, Debug)]
pub struct Inbox;

/// The commands of a session that are not done, in the order they came.
#[derive(Clone, Debug)]
pub struct Pending(pub TreeId);

/// What became of a command; `None` while it is pending or unknown.
#[derive(Clone, Debug)]
pub struct ReceiptOf(pub CommandId);

/// The conversation of an agent in the canonical form (DBG-01); `None` for an unknown agent.
#[derive(Clone, Debug)]
pub struct Chat(pub AgentId);

/// The changes that agents of a session recorded for files, in order, without what files contained.
#[derive(Clone, Debug)]
pub struct FileChanges(pub TreeId);

/// What a file contained, as a change names it; `None` if the session is gone meanwhile.
#[derive(Clone, Debug)]
pub struct FileContent(pub TreeId, pub ContentId);

/// The id by which changes of a session name a content; `None` if none does.
#[derive(Clone, Debug)]
pub struct FindContent(pub TreeId, pub Vec<u8>);

/// The request that was sent at a step of an agent's life, or without one the next.
///
/// Rebuilt from the log, whichever process runs the session.
#[derive(Clone, Debug)]
pub struct Request(pub AgentId, pub Option<u32>);

/// Implements queries that the store answers in one call.
macro_rules! from_store {
    ($($query:ty: $answer:ty = |$it:pat_param, $store:ident| $asked:expr;)*) => {$(
        impl sealed::Sealed for $query {}

        impl Query for $query {
            type Answer = $answer;

            async fn answer(self, runtime: &Runtime) -> Result<$answer, StoreError> {
                let $it = self;
                let $store = &runtime.inner.parts.store;
                $asked.await
            }
        }
    )*};
}

from_store! {
    TreeOf: Option<TreeId> = |TreeOf(agent), store| store.tree_of(&agent);
    AgentLog: Vec<Entry> = |AgentLog(agent), store| store.agent_log(&agent);
    IsOwned: bool = |IsOwned(tree), store| store.is_owned(&tree);
    Inbox: Vec<OpenAsk> = |Inbox, store| store.asks();
    Pending: Vec<Command> = |Pending(tree), store| store.pending(&tree);
    ReceiptOf: Option<Receipt> = |ReceiptOf(command), store| store.receipt(&command);
    Chat: Option<ChatExport> = |Chat(agent), store| store.chat(&agent);
    FileChanges: Vec<Traced> = |FileChanges(tree), store| store.trace(&tree);
    FileContent: Option<Vec<u8>> = |FileContent(tree, id), store| store.content(&tree, id);
    FindContent: Option<ContentId> = |FindContent(tree, bytes), store| store.find_content(&tree, bytes);
}

impl sealed::Sealed for Sessions {}

impl Query for Sessions {
    type Answer = SessionPage;

    async fn answer(self, runtime: &Runtime) -> Result<SessionPage, StoreError> {
        let Self(mut query) = self;
        let wanted = query.limit;
        // One more tells whether there is a next page.
        query.limit = wanted.map(|limit| limit.saturating_add(1));
        let mut sessions = runtime.inner.parts.store.list(query).await?;
        let has_more = wanted.is_some_and(|limit| sessions.len() > limit);
        sessions.truncate(wanted.unwrap_or(usize::MAX));
        let next = sessions.last().filter(|_| has_more).map(SessionCursor::of);
        Ok(SessionPage { sessions, next })
    }
}

impl sealed::Sealed for Summary {}

impl Query for Summary {
    type Answer = Option<SessionSummary>;

    async fn answer(self, runtime: &Runtime) -> Result<Option<SessionSummary>, StoreError> {
        let query = SessionQuery {
            session: Some(self.0),
            limit: Some(1),
            ..SessionQuery::default()
        };
        let found = runtime.inner.parts.store.list(query).await?;
        Ok(found.into_iter().next())
    }
}

impl sealed::Sealed for Find {}

impl Query for Find {
    type Answer = Vec<AgentId>;

    async fn answer(self, runtime: &Runtime) -> Result<Vec<AgentId>, StoreError> {
        let Self { part, among, limit } = self;
        let store = &runtime.inner.parts.store;
        let sessions = store.find(&part, Among::Sessions, limit).await?;
        if !sessions.is_empty() || among == Among::Sessions {
            return Ok(sessions);
        }
        store.find(&part, among, limit).await
    }
}

impl sealed::Sealed for Log {}

impl Query for Log {
    type Answer = Vec<Entry>;

    async fn answer(self, runtime: &Runtime) -> Result<Vec<Entry>, StoreError> {
        self.read(runtime.inner.parts.store.as_ref()).await
    }
}

impl Log {
    /// Reads it in pages, so that the store is never busy with a long log alone.
    async fn read(self, store: &dyn Store) -> Result<Vec<Entry>, StoreError> {
        let Self { tree, after, limit } = self;
        let limit = limit.unwrap_or(usize::MAX);
        let mut log: Vec<Entry> = Vec::new();
        loop {
            let last = log.last().map_or(after, |entry| entry.pos);
            let wanted = PAGE.min(limit - log.len());
            let more = store.entries(&tree, last, wanted).await?;
            let is_whole = more.len() == wanted;
            log.extend(more);
            if !is_whole || log.len() == limit {
                return Ok(log);
            }
        }
    }
}

impl sealed::Sealed for SessionTree {}

impl Query for SessionTree {
    type Answer = Tree;

    async fn answer(self, runtime: &Runtime) -> Result<Tree, StoreError> {
        let Self(tree) = self;
        let log = Log::of(tree.clone()).answer(runtime).await?;
        Tree::fold(&log).map_err(|violation| {
            let text = format!("load session {tree}: {violation}");
            StoreError::new(StoreErrorKind::Unusable, text)
        })
    }
}

impl sealed::Sealed for Status {}

impl Query for Status {
    type Answer = Option<(SessionState, Activity)>;

    async fn answer(self, runtime: &Runtime) -> Result<Self::Answer, StoreError> {
        let Self(tree, agent) = self;
        Ok(runtime.inner.status(&tree, &agent))
    }
}

impl sealed::Sealed for Request {}

impl Query for Request {
    type Answer = Result<RebuiltRequest, NoRequest>;

    async fn answer(self, runtime: &Runtime) -> Result<Self::Answer, StoreError> {
        let Self(agent, step) = self;
        let Inner { parts, kits, .. } = runtime.inner.as_ref();
        rebuild::rebuild(parts, kits, &agent, step).await
    }
}

#[cfg(test)]
mod tests {
    use offshoot_store::Handle;
    use offshoot_store::contract::scene::Scene;

    use super::*;

    /// A log of so many entries is read whole, from its beginning and from the middle.
    async fn check(entries: usize) {
        let store = Handle::memory().unwrap();
        let mut scene = Scene::new("s");
        scene.root();
        for number in 1..entries {
            scene.prompt("s", &format!("p{number}"), "go");
        }
        let first = scene.take();
        let created = store.create(scene.tree(), first).await;
        assert!(created.is_ok_and(|it| it.is_some()), "{entries} entries");
        let tree = scene.tree().clone();
        for (after, expected) in [(0, entries), (1, entries - 1)] {
            let read = Log::after(tree.clone(), Pos::new(after)).read(&store).await;
            assert_eq!(read.unwrap().len(), expected, "{entries} entries");
        }
    }

    #[tokio::test]
    async fn a_log_of_any_number_of_pages_is_read_whole() {
        for entries in [
            1,
            PAGE - 1,
            PAGE,
            PAGE + 1,
            2 * PAGE,
            2 * PAGE + 1,
            3 * PAGE + 1,
        ] {
            check(entries).await;
        }
    }
}
