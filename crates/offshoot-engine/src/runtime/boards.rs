//! The boards of the trees that this process owns: who is told of what is committed.
//!
//! The store tells of every commit and of every nudge; here it is known whose board that concerns. A
//! board that nobody holds any more is not there, and neither is one whose tree was given back: what
//! happens to that tree from then on is told to somebody else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use offshoot_types::event::Entry;
use offshoot_types::id::TreeId;
use offshoot_types::store::Lease;
use offshoot_types::tree::Tree;
use tokio::sync::Notify;

use super::{Parts, lock};
use crate::board::Board;
use crate::governor::Governors;
use crate::kit::SessionKit;
use crate::scratch::Scratch;

/// The boards of the trees this process owns.
#[derive(Default)]
pub(crate) struct Boards {
    listeners: Mutex<BTreeMap<TreeId, Listener>>,
    /// What they share.
    governors: Arc<Governors>,
}

/// A board, and how to tell its session that another process has left a command.
struct Listener {
    board: Weak<Board>,
    nudged: Arc<Notify>,
}

impl Boards {
    pub(super) fn add(
        &self,
        lease: Lease,
        parts: &Parts,
        kit: Arc<SessionKit>,
        tree: Tree,
    ) -> (Arc<Board>, Arc<Notify>) {
        let id = lease.tree.clone();
        let data = parts.data.as_deref();
        let scratch = data.map(|data| Scratch::of_root(data, &id));
        let limits = parts.limits.clone();
        let board = Board::new(lease, limits, self.governors.clone(), kit, scratch, tree);
        let board = Arc::new(board);
        let nudged = Arc::new(Notify::new());
        let mut boards = lock(&self.listeners);
        boards.retain(|_, listener| listener.board.strong_count() > 0);
        boards.insert(
            id,
            Listener {
                board: Arc::downgrade(&board),
                nudged: nudged.clone(),
            },
        );
        (board, nudged)
    }

    pub(super) fn find(&self, tree: &TreeId) -> Option<Arc<Board>> {
        let listeners = lock(&self.listeners);
        let board = listeners.get(tree)?.board.upgrade()?;
        (!board.is_given_back()).then_some(board)
    }

    pub(super) fn committed(&self, entries: &[Arc<Entry>]) {
        if let Some(board) = entries.first().and_then(|entry| self.find(&entry.tree)) {
            board.committed(entries);
        }
    }

    pub(super) fn nudged(&self, tree: &TreeId) {
        if let Some(listener) = lock(&self.listeners).get(tree) {
            listener.nudged.notify_one();
        }
    }
}
