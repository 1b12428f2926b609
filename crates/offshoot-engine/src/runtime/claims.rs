//! Claims of a session for something else than to run it: to delete it (R8), or to keep others out.
//!
//! A session to delete that runs in this process is stopped first: its agents settle and their processes end,
//! then the session deletes its own log. A session that no process has is fenced and deleted as it is:
//! neither its project nor its log has to be readable. A session of another process is refused with
//! `StoreErrorKind::Held`. The place of the tree in the table is locked meanwhile, so that no command
//! opens what is being deleted.

use std::sync::Arc;
use std::time::Duration;

use offshoot_types::command::{Command, Deletion, Receipt};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{Pos, TreeId};
use offshoot_types::store::{Lease, Store, StoreError, StoreErrorKind};
use tokio::sync::OwnedMutexGuard;

use super::{CommandError, Handle, Inner, LOOK_AGAIN, Parts, Runtime, order, unknown};
use crate::agent::nothing;
use crate::scratch;

/// How long a process that only calls hooks for a tree gets to let it go.
const PATIENCE: Duration = Duration::from_secs(1);

/// A session that no process runs as long as this is held. Dropping it without `release` gives the
/// session up as a crash would.
pub struct Hold {
    lease: Lease,
    store: Arc<dyn Store>,
    /// Keeps this process from opening it.
    _place: OwnedMutexGuard<Option<Handle>>,
}

impl Hold {
    /// Gives the session back. A command that came meanwhile waits for the process that opens it next.
    pub async fn release(self) -> Result<(), StoreError> {
        self.store.release(self.lease).await.map(drop)
    }
}

/// Why a session stays that is only deleted unprompted.
const PROMPTED: &str = "something was said in the session, or another process uses it";

impl Runtime {
    /// Keeps every process from running a session: for a host that changes what its agents work on.
    /// Refused with `StoreErrorKind::Held` while a process runs it.
    pub async fn hold(&self, session: &TreeId) -> Result<Hold, StoreError> {
        let place = self.inner.hold(session).await;
        Ok(Hold {
            lease: self.inner.claim_patiently(session).await?,
            store: self.inner.parts.store.clone(),
            _place: place,
        })
    }

    /// Deletes a session: its log, with everything that the store derives from it, and its folder.
    pub(super) async fn delete(
        &self,
        command: &Command,
        which: Deletion,
    ) -> Result<Receipt, CommandError> {
        let _opening = self.inner.opening.read().await;
        if self.inner.departure.is_near() {
            return Err(CommandError::Closed);
        }
        let mut held = self.inner.hold(&command.tree).await;
        let living = held.take().filter(Handle::is_live);
        let deleted = match &living {
            Some(handle) => delete_living(handle, command).await?,
            None => None,
        };
        let receipt = match deleted {
            Some(receipt) => receipt,
            // It had ended by itself.
            None => self.inner.delete_resting(&command.tree, which).await?,
        };
        if !matches!(receipt, Receipt::Deleted { .. }) {
            *held = living;
            return Ok(receipt);
        }
        self.inner.remove_folder(&command.tree).await?;
        let is_wiped = self.inner.parts.store.wipe().await;
        Ok(Receipt::Deleted { is_wiped })
    }
}

/// Has a session that runs here delete itself; `None` if it ended before it took the order.
async fn delete_living(handle: &Handle, command: &Command) -> Result<Option<Receipt>, StoreError> {
    let receipt = order(handle, command).await;
    match handle.parked.get() {
        Some(error) if receipt.is_none() && error.kind != StoreErrorKind::Fenced => {
            Err(error.clone())
        }
        Some(_) | None => Ok(receipt),
    }
}

impl Inner {
    /// Deletes the log of a session that this process does not run.
    async fn delete_resting(
        &self,
        tree: &TreeId,
        which: Deletion,
    ) -> Result<Receipt, CommandError> {
        let store = &self.parts.store;
        let lease = self.claim_patiently(tree).await?;
        // Another process may have deleted it before the claim.
        if store.tree_of(tree.root()).await?.is_none() {
            return Err(unknown(tree.root()));
        }
        if which == Deletion::IfUnprompted && !is_unprompted(&self.parts, tree).await? {
            store.release(lease).await?;
            return Ok(nothing(PROMPTED));
        }
        store.delete(lease).await?;
        Ok(Receipt::Deleted { is_wiped: false })
    }

    /// Claims a tree. A process that only calls hooks for it lets it go when it is nudged.
    async fn claim_patiently(&self, tree: &TreeId) -> Result<Lease, StoreError> {
        let store = &self.parts.store;
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            match store.claim(tree).await {
                Err(error)
                    if error.kind == StoreErrorKind::Held
                        && tokio::time::Instant::now() < until =>
                {
                    store.nudge(tree);
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                claimed => return claimed,
            }
        }
    }

    /// Removes the folder of a session: outputs, transcripts and blobs of all its agents.
    async fn remove_folder(&self, tree: &TreeId) -> Result<(), CommandError> {
        if let Some(data) = &self.parts.data {
            let folder = scratch::of_session(&scratch::base(data), tree);
            self.parts.sidecars.remove_folder(folder).await?;
        }
        Ok(())
    }
}

/// Tells whether no client has said anything in a session, or is about to.
pub(crate) async fn is_unprompted(parts: &Parts, tree: &TreeId) -> Result<bool, StoreError> {
    let is_set_up = |entry: &Entry| {
        matches!(
            entry.event,
            Event::Spawned(_) | Event::Hooked(_) | Event::ClientTools { .. } | Event::RoleChosen(_)
        )
    };
    let log = parts.store.entries(tree, Pos::ZERO, usize::MAX).await?;
    Ok(log.iter().all(is_set_up) && parts.store.pending(tree).await?.is_empty())
}
