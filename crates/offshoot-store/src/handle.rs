//! A store for async code.
//!
//! A handle gives a backend a writer thread with group commit, a reader thread,
//! and ownership of trees: by a lock that a crash gives back and an epoch that
//! every append checks (R7). Async code never blocks on it: it sends and awaits
//! the answer. Each handle counts as a process of its own, also within one.
//! Dropping it finishes what is queued, joins its threads and gives up its trees.

mod checkpoint;
mod folder;
mod locks;
mod mailbox;
mod nudge;
mod place;
mod reader;
mod shared;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use futures_core::future::BoxFuture;
use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, CallId, CommandId, Pos, Timestamp, TreeId};
use offshoot_types::journal::{self, Change, ContentId, Recorded, Traced};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::{
    Append, ChatExport, Committed, Created, Lease, Nudged, OpenAsk, SessionSummary, Store,
    StoreError,
};
use tokio::sync::oneshot;

use crate::backend::Backend;
use crate::sqlite::Sqlite;
use checkpoint::Checkpoints;
use folder::Folder;
pub(crate) use folder::database;
pub(crate) use locks::is_held;
use mailbox::Worker;
use place::{Listeners, Place};
use reader::{Open, Reader, gone};
use shared::{Commons, Shared};
use writer::{Held, Job, Reply, Writer};

/// A store: SQLite in a folder, or memory.
pub struct Handle {
    // In the order they are dropped: the writer may still need what comes after it.
    writer: Worker<Job>,
    reader: Reader,
    checkpoints: Option<Checkpoints>,
    place: Arc<dyn Place>,
    listeners: Listeners,
    another: Box<dyn Fn() -> Result<Handle, StoreError> + Send + Sync>,
}

impl Handle {
    /// Opens the store in a data folder, and makes both if they are not there.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let listeners = Listeners::default();
        let folder = Folder::open(data_dir, Arc::clone(&listeners))?;
        let database = database(data_dir);
        let backend = folder.enter()?;
        let damage = backend.damage().clone();
        let checkpoints = Checkpoints::start(database.clone(), damage.clone(), backend.deleted())?;
        let after = checkpoints.watch(backend.log_pages());
        let data_dir = data_dir.to_owned();
        Self::start(Parts {
            backend: Box::new(backend),
            place: Arc::new(folder),
            listeners,
            after: Box::new(after),
            open: Box::new(move || Ok(Box::new(Sqlite::open_reader(&database, &damage)?))),
            checkpoints: Some(checkpoints),
            another: Box::new(move || Self::open(&data_dir)),
        })
    }

    /// Makes a store that is gone with its last handle.
    pub fn memory() -> Result<Self, StoreError> {
        Self::over(Arc::default())
    }

    /// Opens the same store once more, as another process would.
    pub fn another(&self) -> Result<Self, StoreError> {
        (self.another)()
    }

    /// Tells whether nothing that was deleted through this handle can be read from the store's files
    /// any more. Waits a moment for others who are in the way.
    pub async fn swept(&self) -> bool {
        match &self.checkpoints {
            Some(checkpoints) => checkpoints.swept().await,
            None => true,
        }
    }

    fn over(shared: Arc<Shared>) -> Result<Self, StoreError> {
        let listeners = Listeners::default();
        let readers = Arc::clone(&shared);
        let others = Arc::clone(&shared);
        Self::start(Parts {
            backend: Box::new(Arc::clone(&shared)),
            place: Arc::new(Commons {
                shared,
                listeners: Arc::clone(&listeners),
            }),
            listeners,
            after: Box::new(|| {}),
            open: Box::new(move || Ok(Box::new(Arc::clone(&readers)))),
            checkpoints: None,
            another: Box::new(move || Self::over(Arc::clone(&others))),
        })
    }

    fn start(parts: Parts) -> Result<Self, StoreError> {
        let writer = Writer {
            backend: parts.backend,
            place: Arc::clone(&parts.place),
            listeners: Arc::clone(&parts.listeners),
            after: parts.after,
            held: Held::default(),
        };
        Ok(Self {
            writer: Worker::start("offshoot-write", |mailbox| writer.run(mailbox))?,
            reader: Reader::start(parts.open)?,
            checkpoints: parts.checkpoints,
            place: parts.place,
            listeners: parts.listeners,
            another: parts.another,
        })
    }

    /// Sends a job now and returns the future of its answer.
    fn send<T: Send + 'static>(
        &self,
        job: impl FnOnce(Reply<T>) -> Job,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (reply, answer) = oneshot::channel();
        self.writer.mailbox().send(job(reply));
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(gone())) })
    }
}

/// What a handle is started from.
struct Parts {
    backend: Box<dyn Backend>,
    place: Arc<dyn Place>,
    listeners: Listeners,
    after: Box<dyn FnMut() + Send>,
    open: Open,
    checkpoints: Option<Checkpoints>,
    another: Box<dyn Fn() -> Result<Handle, StoreError> + Send + Sync>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Store for Handle {
    fn listen(&self, committed: Committed, nudged: Nudged) {
        let listeners: &OnceLock<_> = &self.listeners;
        // The first stays: who is told cannot change under those who wait.
        listeners.get_or_init(|| (committed, nudged));
    }

    fn claim(&self, tree: &TreeId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.send(|reply| Job::Claim(tree.clone(), reply))
    }

    fn create(
        &self,
        tree: &TreeId,
        append: Append,
    ) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        self.send(|reply| Job::Create(tree.clone(), append, reply))
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.send(|reply| Job::Release(lease, reply))
    }

    fn delete(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        self.send(|reply| Job::Delete(lease, reply))
    }

    fn wipe(&self) -> BoxFuture<'_, bool> {
        Box::pin(self.swept())
    }

    fn append(
        &self,
        lease: &Lease,
        append: Append,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>> {
        self.send(|reply| Job::Append(lease.tree.clone(), lease.epoch, append, reply))
    }

    fn journal(
        &self,
        lease: &Lease,
        agent: &AgentId,
        definition: &str,
        call: &CallId,
        change: Change,
        at: Timestamp,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let recorded = Recorded {
            writer: journal::Writer {
                agent: agent.clone(),
                definition: definition.to_owned(),
                at,
            },
            call: call.clone(),
            change,
        };
        self.send(|reply| Job::Journal(lease.tree.clone(), lease.epoch, recorded, reply))
    }

    fn changes(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Recorded>, StoreError>> {
        let tree = tree.clone();
        self.reader.ask(move |backend| backend.changes(&tree))
    }

    fn trace(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Traced>, StoreError>> {
        let tree = tree.clone();
        self.reader.ask(move |backend| backend.trace(&tree))
    }

    fn content(
        &self,
        tree: &TreeId,
        id: ContentId,
    ) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let tree = tree.clone();
        self.reader.ask(move |backend| backend.content(&tree, id))
    }

    fn find_content(
        &self,
        tree: &TreeId,
        bytes: Vec<u8>,
    ) -> BoxFuture<'_, Result<Option<ContentId>, StoreError>> {
        let tree = tree.clone();
        let ask = move |backend: &mut dyn Backend| backend.find_content(&tree, &bytes);
        self.reader.ask(ask)
    }

    fn last_writer(
        &self,
        path: &str,
    ) -> BoxFuture<'_, Result<Option<journal::Writer>, StoreError>> {
        let path = path.to_owned();
        self.reader.ask(move |backend| backend.last_writer(&path))
    }

    fn entries(
        &self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let tree = tree.clone();
        let ask = move |backend: &mut dyn Backend| backend.entries(&tree, after, limit);
        self.reader.ask(ask)
    }

    fn agent_log(&self, agent: &AgentId) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let agent = agent.clone();
        self.reader.ask(move |backend| backend.agent_log(&agent))
    }

    fn tree_of(&self, agent: &AgentId) -> BoxFuture<'_, Result<Option<TreeId>, StoreError>> {
        let agent = agent.clone();
        self.reader.ask(move |backend| backend.tree_of(&agent))
    }

    fn submit(&self, command: Command, at: Timestamp) -> BoxFuture<'_, Result<(), StoreError>> {
        self.send(|reply| Job::Submit(command, at, reply))
    }

    fn nudge(&self, tree: &TreeId) {
        self.place.nudge(tree);
    }

    fn pending(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        let tree = tree.clone();
        self.reader.ask(move |backend| backend.pending(&tree))
    }

    fn receipt(&self, command: &CommandId) -> BoxFuture<'_, Result<Option<Receipt>, StoreError>> {
        let command = command.clone();
        self.reader.ask(move |backend| backend.receipt(&command))
    }

    fn is_owned(&self, tree: &TreeId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (place, tree) = (Arc::clone(&self.place), tree.clone());
        self.reader.ask(move |_| Ok(place.is_held(&tree)))
    }

    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        let place = Arc::clone(&self.place);
        self.reader.ask(move |backend| {
            let mut sessions = backend.list(&query)?;
            for session in &mut sessions {
                // The rows say who took it; only the lock says whether they live.
                let held = session.owned && place.is_held(&session.tree);
                session.abandoned = session.owned && !held;
                session.owned = held;
            }
            Ok(sessions)
        })
    }

    fn find(
        &self,
        part: &str,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AgentId>, StoreError>> {
        let part = part.to_owned();
        let ask = move |backend: &mut dyn Backend| backend.find(&part, among, limit);
        self.reader.ask(ask)
    }

    fn asks(&self) -> BoxFuture<'_, Result<Vec<OpenAsk>, StoreError>> {
        let place = Arc::clone(&self.place);
        self.reader.ask(move |backend| {
            let mut asks = backend.asks()?;
            for ask in &mut asks {
                ask.owned = ask.owned && place.is_held(&ask.tree);
            }
            Ok(asks)
        })
    }

    fn chat(&self, session: &AgentId) -> BoxFuture<'_, Result<Option<ChatExport>, StoreError>> {
        let session = session.clone();
        self.reader.ask(move |backend| backend.chat(&session))
    }
}
