//! A simulated process with a real store: its own handle on one folder, with a writer thread, a
//! reader thread, lock files and nudges.
//!
//! The clock of the history stays virtual: it stands still while a request is with the threads of
//! the handle. Those threads interleave as they like, so such a history does not repeat itself to
//! the byte. A death drops the process's runtime and its handle without a release; what the handle
//! has queued by then is still committed, as by a process that is killed a moment later.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_core::future::BoxFuture;
use offshoot_store::{Handle, Write, Written};
use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, CallId, CommandId, Pos, Timestamp, TreeId};
use offshoot_types::journal::{Change, Recorded, Writer};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::{
    Append, ChatExport, Committed, Created, Lease, Nudged, OpenAsk, SessionSummary, Store,
    StoreError, StoreErrorKind,
};

use super::{Disk, Moment, Power};
use crate::sim::owners::Noted;

/// One process's real handle on the folder of a history.
pub(crate) struct RealStore {
    disk: Arc<Disk>,
    process: u32,
    power: Arc<Power>,
    handle: Arc<Handle>,
}

/// Waits for the threads of a handle, with the virtual clock stopped.
async fn with_clock_stopped<T: Send + 'static>(
    answer: impl Future<Output = T> + Send + 'static,
) -> T {
    let runtime = tokio::runtime::Handle::current();
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock does not advance while a blocking task runs"
    )]
    let waits = tokio::task::spawn_blocking(move || runtime.block_on(answer));
    waits.await.expect("a handle answers")
}

impl RealStore {
    pub(crate) fn open(
        disk: Arc<Disk>,
        process: u32,
        power: Arc<Power>,
        folder: &Path,
    ) -> Arc<Self> {
        let handle = Handle::open(folder).expect("open the folder of the history");
        Arc::new(Self {
            disk,
            process,
            power,
            handle: Arc::new(handle),
        })
    }

    fn look<T, F>(
        &self,
        ask: impl FnOnce(Arc<Handle>) -> F,
    ) -> BoxFuture<'static, Result<T, StoreError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let power = self.power.clone();
        let answer = ask(self.handle.clone());
        Box::pin(async move {
            let answer = with_clock_stopped(answer).await;
            if power.is_dead() {
                return std::future::pending().await;
            }
            answer
        })
    }

    /// Sends a write now, unless the process is dead or dies of it, or finds the disk full.
    fn write<T, F>(
        &self,
        write: &Write,
        send: impl FnOnce(Arc<Handle>) -> F,
        written: fn(&T) -> Written,
    ) -> BoxFuture<'static, Result<T, StoreError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let noted = Noted::of(write);
        let number = self.power.commits.fetch_add(1, Ordering::Relaxed) + 1;
        if self.power.dies(number, Moment::BeforeCommit) {
            self.die();
        }
        if self.power.is_dead() {
            return Box::pin(std::future::pending());
        }
        if self.power.full.load(Ordering::Relaxed) > 0 {
            self.disk.owners.refused(&noted);
            self.power.full.fetch_sub(1, Ordering::Relaxed);
            self.power.was_full.store(true, Ordering::Relaxed);
            let full = StoreError::new(StoreErrorKind::Full, "append: refused");
            return Box::pin(std::future::ready(Err(full)));
        }
        self.disk.count(!super::is_a_look(write));
        let sent = send(self.handle.clone());
        let (disk, process, power) = (self.disk.clone(), self.process, self.power.clone());
        Box::pin(async move {
            let answer = with_clock_stopped(sent).await;
            let result = answer.as_ref().map(written).map_err(Clone::clone);
            if let Err(broken) = disk.owners.committed(process, &noted, &result) {
                disk.verdict.fail(&broken);
            }
            if power.dies(number, Moment::BeforeAnswer) {
                disk.owners.died(process);
                power.cut();
            }
            if power.is_dead() {
                return std::future::pending().await;
            }
            answer
        })
    }

    fn die(&self) {
        self.disk.owners.died(self.process);
        self.power.cut();
    }
}

impl Store for RealStore {
    fn listen(&self, committed: Committed, nudged: Nudged) {
        self.handle.listen(committed, nudged);
    }

    fn claim(&self, tree: &TreeId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        let id = tree.clone();
        let claim = |handle: Arc<Handle>| async move { handle.claim(&id).await };
        let written = |lease: &Lease| Written::Claimed(lease.epoch);
        self.write(&Write::Claim(tree.clone()), claim, written)
    }

    fn create(
        &self,
        tree: &TreeId,
        append: Append,
    ) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        let write = Write::Create(tree.clone(), append.clone());
        let create = |handle: Arc<Handle>| handle.create(tree, append);
        let written = |created: &Option<Created>| match created {
            Some((lease, entries)) => Written::Created(lease.epoch, entries.clone()),
            None => Written::Exists,
        };
        self.write(&write, create, written)
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let write = Write::Release(lease.tree.clone(), lease.epoch);
        let release = |handle: Arc<Handle>| async move { handle.release(lease).await };
        let written = |kept: &Option<Lease>| Written::Released(kept.is_none());
        self.write(&write, release, written)
    }

    fn delete(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        let write = Write::Delete(lease.tree.clone(), lease.epoch);
        let delete = |handle: Arc<Handle>| async move { handle.delete(lease).await };
        self.write(&write, delete, |()| Written::Deleted)
    }

    fn append(
        &self,
        lease: &Lease,
        append: Append,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>> {
        let write = Write::Append(lease.tree.clone(), lease.epoch, append.clone());
        let send = |handle: Arc<Handle>| handle.append(lease, append);
        let written = |entries: &Vec<Arc<Entry>>| Written::Appended(entries.clone());
        self.write(&write, send, written)
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
        self.look(|handle| handle.journal(lease, agent, definition, call, change, at))
    }

    fn changes(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Recorded>, StoreError>> {
        let tree = tree.clone();
        self.look(|handle| async move { handle.changes(&tree).await })
    }

    fn last_writer(&self, path: &str) -> BoxFuture<'_, Result<Option<Writer>, StoreError>> {
        let path = path.to_owned();
        self.look(|handle| async move { handle.last_writer(&path).await })
    }

    fn entries(
        &self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let tree = tree.clone();
        self.look(move |handle| async move { handle.entries(&tree, after, limit).await })
    }

    fn agent_log(&self, agent: &AgentId) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let agent = agent.clone();
        self.look(|handle| async move { handle.agent_log(&agent).await })
    }

    fn tree_of(&self, agent: &AgentId) -> BoxFuture<'_, Result<Option<TreeId>, StoreError>> {
        let agent = agent.clone();
        self.look(|handle| async move { handle.tree_of(&agent).await })
    }

    fn submit(&self, command: Command, at: Timestamp) -> BoxFuture<'_, Result<(), StoreError>> {
        let write = Write::Submit(command.clone(), at);
        let submit = move |handle: Arc<Handle>| async move { handle.submit(command, at).await };
        self.write(&write, submit, |()| Written::Submitted)
    }

    fn nudge(&self, tree: &TreeId) {
        self.handle.nudge(tree);
    }

    fn pending(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        let tree = tree.clone();
        self.look(|handle| async move { handle.pending(&tree).await })
    }

    fn receipt(&self, command: &CommandId) -> BoxFuture<'_, Result<Option<Receipt>, StoreError>> {
        let command = command.clone();
        self.look(|handle| async move { handle.receipt(&command).await })
    }

    fn is_owned(&self, tree: &TreeId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let tree = tree.clone();
        self.look(|handle| async move { handle.is_owned(&tree).await })
    }

    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.look(|handle| async move { handle.list(query).await })
    }

    fn find(
        &self,
        part: &str,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AgentId>, StoreError>> {
        let part = part.to_owned();
        self.look(move |handle| async move { handle.find(&part, among, limit).await })
    }

    fn asks(&self) -> BoxFuture<'_, Result<Vec<OpenAsk>, StoreError>> {
        self.look(|handle| async move { handle.asks().await })
    }

    fn chat(&self, session: &AgentId) -> BoxFuture<'_, Result<Option<ChatExport>, StoreError>> {
        let session = session.clone();
        self.look(|handle| async move { handle.chat(&session).await })
    }
}
