//! The store port, as a simulated process sees it.
//!
//! Writes go through the process's queue, reads look at the disk; both take as
//! long as the seed says. A lock is an entry in a table that a crash clears.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_store::{Write, Written};
use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, CallId, CommandId, Pos, Timestamp, TreeId};
use offshoot_types::journal::{Change, Recorded, Writer};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::{
    Append, ChatExport, Committed, Created, Lease, Nudged, OpenAsk, SessionSummary, Store,
    StoreError, StoreErrorKind,
};

use super::{Disk, SimStore};

/// A held lock.
pub(super) struct Lock {
    disk: Arc<Disk>,
    tree: TreeId,
    process: u32,
}

impl Disk {
    /// Takes the lock of a tree, until it is dropped.
    fn lock(self: &Arc<Self>, tree: &TreeId, process: u32) -> Result<Arc<Lock>, StoreError> {
        let mut locks = self.locks.lock().unwrap();
        if locks.contains_key(tree) {
            return Err(StoreError::new(
                StoreErrorKind::Held,
                "claim: somebody has it",
            ));
        }
        locks.insert(tree.clone(), process);
        Ok(Arc::new(Lock {
            disk: self.clone(),
            tree: tree.clone(),
            process,
        }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.disk.unlock(&self.tree, self.process);
    }
}

impl Store for SimStore {
    fn listen(&self, committed: Committed, nudged: Nudged) {
        self.sinks.get_or_init(|| committed);
        self.disk
            .nudges
            .lock()
            .unwrap()
            .insert(self.process, nudged);
    }

    fn claim(&self, tree: &TreeId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        let tree = tree.clone();
        Box::pin(async move {
            self.disk.chance.pause().await;
            let lock = self.disk.lock(&tree, self.process)?;
            let claimed = self.send_under(Write::Claim(tree.clone()), Some(lock.clone()));
            let claimed = claimed.await?;
            let Written::Claimed(epoch) = claimed else {
                panic!("claim answered {claimed:?}");
            };
            Ok(Lease::new(tree, epoch, lock))
        })
    }

    fn create(
        &self,
        tree: &TreeId,
        append: Append,
    ) -> BoxFuture<'static, Result<Option<Created>, StoreError>> {
        let tree = tree.clone();
        let lock = match self.disk.lock(&tree, self.process) {
            Ok(lock) => lock,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        let sent = self.send_under(Write::Create(tree.clone(), append), Some(lock.clone()));
        Box::pin(async move {
            match sent.await? {
                Written::Created(epoch, entries) => {
                    Ok(Some((Lease::new(tree, epoch, lock), entries)))
                }
                Written::Exists => Ok(None),
                written @ (Written::Claimed(_)
                | Written::Released(_)
                | Written::Deleted
                | Written::Appended(_)
                | Written::Journaled
                | Written::Submitted) => panic!("create answered {written:?}"),
            }
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            let write = Write::Release(lease.tree.clone(), lease.epoch);
            let written = self.send(write).await?;
            let Written::Released(released) = written else {
                panic!("release answered {written:?}");
            };
            if !released {
                return Ok(Some(lease));
            }
            self.disk.unlock(&lease.tree, self.process);
            Ok(None)
        })
    }

    fn delete(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.send(Write::Delete(lease.tree.clone(), lease.epoch))
                .await?;
            self.disk.unlock(&lease.tree, self.process);
            Ok(())
        })
    }

    fn append(
        &self,
        lease: &Lease,
        append: Append,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>> {
        let sent = self.send(Write::Append(lease.tree.clone(), lease.epoch, append));
        Box::pin(async move {
            let appended = sent.await?;
            let Written::Appended(entries) = appended else {
                panic!("append answered {appended:?}");
            };
            Ok(entries)
        })
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
        let writer = Writer {
            agent: agent.clone(),
            definition: definition.to_owned(),
            at,
        };
        let recorded = Recorded {
            writer,
            call: call.clone(),
            change,
        };
        let sent = self.send(Write::Journal(lease.tree.clone(), lease.epoch, recorded));
        Box::pin(async move { sent.await.map(drop) })
    }

    fn changes(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Recorded>, StoreError>> {
        let tree = tree.clone();
        self.look(move |backend| backend.changes(&tree))
    }

    fn last_writer(&self, path: &str) -> BoxFuture<'_, Result<Option<Writer>, StoreError>> {
        let path = path.to_owned();
        self.look(move |backend| backend.last_writer(&path))
    }

    fn entries(
        &self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let tree = tree.clone();
        self.look(move |backend| backend.entries(&tree, after, limit))
    }

    fn agent_log(&self, agent: &AgentId) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let agent = agent.clone();
        self.look(move |backend| backend.agent_log(&agent))
    }

    fn tree_of(&self, agent: &AgentId) -> BoxFuture<'_, Result<Option<TreeId>, StoreError>> {
        let agent = agent.clone();
        self.look(move |backend| backend.tree_of(&agent))
    }

    fn submit(&self, command: Command, at: Timestamp) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let tree = command.tree.clone();
            self.send(Write::Submit(command, at)).await?;
            // One nudge in three is lost.
            if !self.disk.chance.one_in(3) {
                self.nudge(&tree);
            }
            Ok(())
        })
    }

    fn nudge(&self, tree: &TreeId) {
        let owner = self.disk.locks.lock().unwrap().get(tree).copied();
        let nudges = self.disk.nudges.lock().unwrap();
        if let Some(nudged) = owner.and_then(|owner| nudges.get(&owner)) {
            nudged(tree);
        }
    }

    fn pending(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>> {
        let tree = tree.clone();
        self.look(move |backend| backend.pending(&tree))
    }

    fn receipt(&self, command: &CommandId) -> BoxFuture<'_, Result<Option<Receipt>, StoreError>> {
        let command = command.clone();
        self.look(move |backend| backend.receipt(&command))
    }

    fn is_owned(&self, tree: &TreeId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (disk, tree) = (self.disk.clone(), tree.clone());
        self.look(move |_| Ok(disk.locks.lock().unwrap().contains_key(&tree)))
    }

    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.look(move |backend| backend.list(&query))
    }

    fn find(
        &self,
        part: &str,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AgentId>, StoreError>> {
        let part = part.to_owned();
        self.look(move |backend| backend.find(&part, among, limit))
    }

    fn asks(&self) -> BoxFuture<'_, Result<Vec<OpenAsk>, StoreError>> {
        self.look(|backend| backend.asks())
    }

    fn chat(&self, session: &AgentId) -> BoxFuture<'_, Result<Option<ChatExport>, StoreError>> {
        let session = session.clone();
        self.look(move |backend| backend.chat(&session))
    }
}
