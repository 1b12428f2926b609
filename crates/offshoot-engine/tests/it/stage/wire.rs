//! The way from the runtime to its store: it may keep, break or lose what goes over it.
//!
//! Nothing is lost or held unless a test says so. What is held is sent once the
//! test lets it go; what breaks has never been sent.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use offshoot_store::Handle;
use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, CommandId, Pos, Timestamp, TreeId};
use offshoot_types::journal::{Change, Recorded, Writer};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::{
    Append, ChatExport, Committed, Created, Lease, Nudged, OpenAsk, SessionSummary, Store,
    StoreError, StoreErrorKind,
};
use tokio::sync::watch;

use super::Gate;

type Wanted = dyn Fn(&Append) -> bool + Send + Sync;

/// The way from a runtime to its store.
pub(crate) struct Wire {
    store: Arc<Handle>,
    /// How many commands the runtime has left in the store.
    submits: AtomicUsize,
    /// How many appends the runtime has sent.
    appends: AtomicUsize,
    deaf: Arc<AtomicBool>,
    trouble: Mutex<Option<(Box<Wanted>, Trouble)>>,
    met: watch::Sender<usize>,
    /// What the appends would have written that broke.
    broken: Mutex<Vec<Vec<Event>>>,
}

/// What becomes of appends that a test wants to meet.
#[derive(Clone)]
pub(crate) enum Trouble {
    /// They wait at a gate.
    Held(Gate),
    /// They fail.
    Broken,
}

impl Wire {
    pub(crate) fn to(store: Arc<Handle>) -> Arc<Self> {
        Arc::new(Self {
            store,
            submits: AtomicUsize::new(0),
            appends: AtomicUsize::new(0),
            deaf: Arc::default(),
            trouble: Mutex::default(),
            met: watch::Sender::new(0),
            broken: Mutex::default(),
        })
    }

    /// Loses nudges from now on.
    pub(crate) fn lose_nudges(&self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    /// Makes trouble for appends from now on.
    pub(crate) fn trouble(
        &self,
        trouble: Trouble,
        wanted: impl Fn(&Append) -> bool + Send + Sync + 'static,
    ) {
        *self.trouble.lock().unwrap() = Some((Box::new(wanted), trouble));
    }

    /// Makes trouble for appends with an entry of a kind.
    pub(crate) fn trouble_with(&self, trouble: Trouble, wanted: fn(&Event) -> bool) {
        self.trouble(trouble, move |append| {
            append.entries.iter().any(|entry| wanted(&entry.event))
        });
    }

    /// Waits until so many appends have met with trouble.
    pub(crate) async fn met(&self, times: usize) {
        let mut met = self.met.subscribe();
        met.wait_for(|met| *met >= times).await.unwrap();
    }

    /// Returns what the appends would have written that broke.
    pub(crate) fn broken(&self) -> Vec<Vec<Event>> {
        self.broken.lock().unwrap().clone()
    }

    /// Returns how many appends the runtime has sent.
    pub(crate) fn appends(&self) -> usize {
        self.appends.load(Ordering::SeqCst)
    }

    /// Returns how many commands the runtime has left in the store.
    pub(crate) fn submits(&self) -> usize {
        self.submits.load(Ordering::SeqCst)
    }
}

impl Store for Wire {
    fn listen(&self, committed: Committed, nudged: Nudged) {
        let deaf = self.deaf.clone();
        let heard: Nudged = Arc::new(move |tree: &TreeId| {
            if !deaf.load(Ordering::SeqCst) {
                nudged(tree);
            }
        });
        self.store.listen(committed, heard);
    }

    fn claim(&self, tree: &TreeId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.store.claim(tree)
    }

    fn create(
        &self,
        tree: &TreeId,
        append: Append,
    ) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        self.store.create(tree, append)
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.store.release(lease)
    }

    fn delete(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.delete(lease)
    }

    fn append(
        &self,
        lease: &Lease,
        append: Append,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>> {
        self.appends.fetch_add(1, Ordering::SeqCst);
        let trouble = self.trouble.lock().unwrap();
        let Some((_, trouble)) = trouble.as_ref().filter(|(wanted, _)| wanted(&append)) else {
            return self.store.append(lease, append);
        };
        let trouble = trouble.clone();
        let met = || self.met.send_modify(|met| *met += 1);
        match trouble {
            Trouble::Broken => {
                let events = append.entries.into_iter().map(|entry| entry.event);
                self.broken.lock().unwrap().push(events.collect());
                met();
                let error = StoreError::new(StoreErrorKind::Io, "append: it is broken");
                Box::pin(std::future::ready(Err(error)))
            }
            Trouble::Held(gate) => {
                met();
                let (store, lease) = (self.store.clone(), lease.clone());
                Box::pin(async move {
                    gate.passed().await;
                    store.append(&lease, append).await
                })
            }
        }
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
        self.store
            .journal(lease, agent, definition, call, change, at)
    }

    fn changes(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Recorded>, StoreError>> {
        self.store.changes(tree)
    }

    fn last_writer(&self, path: &str) -> BoxFuture<'_, Result<Option<Writer>, StoreError>> {
        self.store.last_writer(path)
    }

    fn entries(
        &self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        self.store.entries(tree, after, limit)
    }

    fn agent_log(&self, agent: &AgentId) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        self.store.agent_log(agent)
    }

    fn tree_of(&self, agent: &AgentId) -> BoxFuture<'_, Result<Option<TreeId>, StoreError>> {
        self.store.tree_of(agent)
    }

    fn submit(&self, command: Command, at: Timestamp) -> BoxFuture<'_, Result<(), StoreError>> {
        self.submits.fetch_add(1, Ordering::SeqCst);
        self.store.submit(command, at)
    }

    fn nudge(&self, tree: &TreeId) {
        self.store.nudge(tree);
    }

    fn pending(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        self.store.pending(tree)
    }

    fn receipt(&self, command: &CommandId) -> BoxFuture<'_, Result<Option<Receipt>, StoreError>> {
        self.store.receipt(command)
    }

    fn is_owned(&self, tree: &TreeId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.store.is_owned(tree)
    }

    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.store.list(query)
    }

    fn find(
        &self,
        part: &str,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AgentId>, StoreError>> {
        self.store.find(part, among, limit)
    }

    fn asks(&self) -> BoxFuture<'_, Result<Vec<OpenAsk>, StoreError>> {
        self.store.asks()
    }

    fn chat(&self, session: &AgentId) -> BoxFuture<'_, Result<Option<ChatExport>, StoreError>> {
        self.store.chat(session)
    }
}
