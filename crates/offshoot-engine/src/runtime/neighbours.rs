//! Trees that dead processes left in a folder that this one works in (R7).
//!
//! They are settled beside everything else, one after another, hooks that have to hear of the ends are
//! told, and they are given back: at once if somebody wants one, who then tells the rest. Trees of other
//! folders are left to who opens them: they may have hooks that this process does not know of.

use std::collections::BTreeSet;
use std::sync::Arc;

use offshoot_types::command::{Command, Order};
use offshoot_types::id::TreeId;
use offshoot_types::store::{SessionSummary, StoreErrorKind};
use tokio::sync::Notify;

use super::{CommandError, Handle, Inner, Runtime, lock, unknown};
use crate::board::Board;
use crate::hooks::announce;
use crate::session;

/// Where it was looked for what dead processes have left.
#[derive(Default)]
pub(super) struct Looked {
    folders: BTreeSet<String>,
    /// Sessions whose folder is among these.
    trees: BTreeSet<TreeId>,
}

impl Runtime {
    /// After the first request in a folder, recovers the trees that dead processes left there, beside
    /// everything else.
    pub(super) fn recover_others_once(&self, command: &Command) {
        if self.inner.departure.is_near() {
            return;
        }
        let is_new = {
            let mut looked = lock(&self.inner.looked);
            let is_new = looked.trees.insert(command.tree.clone());
            if let Order::Open(opening) = &command.order {
                looked.folders.insert(opening.workspace.clone())
            } else {
                is_new
            }
        };
        if !is_new {
            return;
        }
        let inner = self.inner.clone();
        let command = command.clone();
        lock(&self.sessions).spawn(async move { inner.recover_others(&command).await });
    }
}

impl Inner {
    /// Settles what dead processes left in the folder that a command is about, if it has not been
    /// looked at before. What cannot be recovered is left alone and logged; the client that opens that
    /// tree gets the reason.
    async fn recover_others(&self, command: &Command) {
        let sessions = match self.parts.store.sessions().await {
            Ok(sessions) => sessions,
            Err(error) => {
                tracing::warn!(%error, "look for sessions of dead processes");
                return;
            }
        };
        let Some(folder) = folder_of(command, &sessions) else {
            return;
        };
        let is_new = lock(&self.looked).folders.insert(folder.clone());
        // That of a session that is opened was noted before.
        if !is_new && !matches!(command.order, Order::Open(_)) {
            return;
        }
        for session in sessions {
            if self.departure.is_near() {
                // Whoever comes next goes on with it: nobody waits at the door for a neighbour.
                return;
            }
            let is_left = session.open_runs > 0 || session.abandoned;
            // The command opens its own tree: hooks that were called here would be stopped for it, and
            // called again.
            let is_other = session.tree != command.tree;
            if !is_left || !is_other || session.owned || session.workspace != folder {
                continue;
            }
            let slot = self.slot(&session.tree);
            let held = slot.lock().await;
            if held.as_ref().is_some_and(Handle::is_live) {
                continue;
            }
            if let Err(error) = self.recover_other(&session.tree).await {
                not_recovered(&session.tree, &error);
            }
            // The lease went first: the next process that waits for the slot finds the tree free.
            drop(held);
        }
    }

    /// Recovers a tree that no process works in, and calls the hooks that it owes.
    async fn recover_other(&self, tree: &TreeId) -> Result<(), CommandError> {
        // Looked at before anybody can find the tree taken: what comes after is meant for us.
        let pending = self.parts.store.pending(tree).await?;
        let (board, nudged) = self.open(tree).await?;
        self.announce(&board, &nudged, &pending).await;
        Ok(())
    }

    /// Tells hooks of the ends in a tree that nobody works in, and gives it back. What they have not
    /// heard when somebody wants the tree, or the process leaves, is left for whoever has it next.
    async fn announce(&self, board: &Arc<Board>, nudged: &Notify, pending: &[Command]) {
        let told = tokio::select! {
            biased;
            told = announce::tell_all(&self.parts, board) => {
                let told = told.map_err(CommandError::from);
                told.inspect_err(|error| not_recovered(&board.tree, error)).is_ok()
            }
            () = self.departure.now.cancelled() => false,
            () = self.departure.when_quiet.cancelled() => false,
            () = self.wanted(&board.tree, nudged, pending) => false,
        };
        if told && !board.owes_a_stop() {
            // A command that came meanwhile stays pending for whoever opens the tree next. An error
            // leaves the tree as a crash would.
            drop(self.parts.store.release(board.lease.clone()).await);
        }
    }

    /// Waits until somebody wants a tree, or has sent a command there that was not pending before.
    async fn wanted(&self, tree: &TreeId, nudged: &Notify, before: &[Command]) {
        let store = &self.parts.store;
        let mut poll = tokio::time::interval(self.parts.limits.poll);
        loop {
            tokio::select! {
                biased;
                () = nudged.notified() => return,
                _ = poll.tick() => {
                    if store.pending(tree).await.as_deref() != Ok(before) {
                        return;
                    }
                }
            }
        }
    }

    /// Takes a tree over: open its project, claim, load, recover. With a project that cannot be opened
    /// the tree is left as it is.
    pub(super) async fn open(
        &self,
        tree: &TreeId,
    ) -> Result<(Arc<Board>, Arc<Notify>), CommandError> {
        // The first entry of a log never changes: it can be read without the lease.
        let workspace = self.workspace(tree).await?;
        if workspace.is_none() && self.parts.store.tree_of(tree.root()).await?.is_none() {
            return Err(unknown(tree.root()));
        }
        // A log without one does not fold, and loading it below fails.
        let kit = self
            .kits
            .open(tree, workspace.as_deref().unwrap_or_default());
        let kit = kit.await?;
        let lease = self.parts.store.claim(tree).await?;
        let folded = session::load(&self.parts, &lease).await?;
        let (board, nudged) = self.boards.add(lease, &self.parts, kit, folded);
        session::recover(&self.parts, &board).await?;
        Ok((board, nudged))
    }
}

/// Notes that a tree could not be recovered, unless another process has it or was faster. The client
/// that opens the tree gets the same error; `doctor` names a tree whose log does not fold.
fn not_recovered(tree: &TreeId, error: &CommandError) {
    match error {
        CommandError::Store(error)
            if matches!(error.kind, StoreErrorKind::Held | StoreErrorKind::Fenced) => {}
        _ => tracing::warn!(session = %tree, %error, "recover the session of a dead process"),
    }
}

/// Returns the folder of the session that a command is about.
fn folder_of(command: &Command, sessions: &[SessionSummary]) -> Option<String> {
    if let Order::Open(opening) = &command.order {
        return Some(opening.workspace.clone());
    }
    // A copy is where what it is a copy of is.
    let tree = if let Order::Fork(fork) = &command.order {
        TreeId::of(fork.of.clone())
    } else {
        command.tree.clone()
    };
    let session = sessions.iter().find(|session| session.tree == tree)?;
    Some(session.workspace.clone())
}
