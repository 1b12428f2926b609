//! The synchronous heart of a store.
//!
//! A backend commits groups: each write of a group fails alone, and the group
//! becomes durable as one. It keeps no thread, no lock and no subscriber; those
//! are the handle's. A simulation drives a backend directly and draws the
//! groups from its seed.

use std::sync::Arc;

use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{AgentId, CommandId, Epoch, Pos, Timestamp, TreeId};
use offshoot_types::journal::{self, ContentId, Recorded, Traced, Writer};
use offshoot_types::listing::{Among, SessionQuery};
use offshoot_types::store::{
    Append, ChatExport, OpenAsk, SessionSummary, StoreError, StoreErrorKind,
};
use offshoot_types::tree::Broken;

use crate::chat::{self, Rows};

/// What can be written.
#[derive(Clone, Debug)]
pub enum Write {
    /// Raise the epoch of a tree, which may be new, and mark it as owned.
    Claim(TreeId),
    /// Raise the epoch of a tree without entries, mark it as owned, and append its first ones.
    Create(TreeId, Append),
    /// Mark a tree as not owned, unless a command is pending or the epoch has moved on.
    Release(TreeId, Epoch),
    /// Remove a tree with everything that belongs to it, but for its epoch.
    Delete(TreeId, Epoch),
    /// Append entries to a tree.
    Append(TreeId, Epoch, Append),
    /// Record a change of a file.
    Journal(TreeId, Epoch, Recorded),
    /// Store a command for the owner of its tree.
    Submit(Command, Timestamp),
}

impl Write {
    /// Tells whether it writes nothing: an append of nothing is how an owner looks whether it is one.
    pub(crate) fn only_looks(&self) -> bool {
        match self {
            Self::Append(_, _, append) => append.entries.is_empty() && append.applied.is_empty(),
            Self::Claim(_)
            | Self::Create(_, _)
            | Self::Release(_, _)
            | Self::Delete(_, _)
            | Self::Journal(_, _, _)
            | Self::Submit(_, _) => false,
        }
    }
}

/// What a write came to.
#[derive(Clone, Debug)]
pub enum Written {
    /// The new epoch.
    Claimed(Epoch),
    /// The new epoch, and the entries with their places.
    Created(Epoch, Vec<Arc<Entry>>),
    /// The tree has entries already; nothing was written.
    Exists,
    /// Whether the tree is released now; not if a command is pending.
    Released(bool),
    /// The tree is gone.
    Deleted,
    /// The entries with their places.
    Appended(Vec<Arc<Entry>>),
    /// The change is recorded.
    Journaled,
    /// The command is stored, now or before.
    Submitted,
}

/// A store without threads.
pub trait Backend: Send {
    /// Commits a group. One result for each write, in order; `Err` for all when the commit itself failed.
    fn commit(&mut self, group: Vec<Write>) -> Vec<Result<Written, StoreError>>;

    /// Does ahead, while nobody waits, what the first commits would have to do.
    fn make_ready(&mut self) {}

    /// Returns up to `limit` entries of a tree after a position, in order.
    fn entries(
        &mut self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;

    /// Returns an agent's whole log, in order.
    fn agent_log(&mut self, agent: &AgentId) -> Result<Vec<Entry>, StoreError>;

    /// Returns the tree of an agent.
    fn tree_of(&mut self, agent: &AgentId) -> Result<Option<TreeId>, StoreError>;

    /// Returns the commands of a tree that are not done, in the order they came.
    fn pending(&mut self, tree: &TreeId) -> Result<Vec<Command>, StoreError>;

    /// Returns what became of a command.
    fn receipt(&mut self, command: &CommandId) -> Result<Option<Receipt>, StoreError>;

    /// Lists roots and inspectable children in the order that a query has. `owned` is as the rows have
    /// it.
    fn list(&mut self, query: &SessionQuery) -> Result<Vec<SessionSummary>, StoreError>;

    /// Lists all roots.
    fn sessions(&mut self) -> Result<Vec<SessionSummary>, StoreError> {
        self.list(&SessionQuery::default())
    }

    /// Returns up to `limit` ids that begin or end with a part, in the order of ids.
    fn find(&mut self, part: &str, among: Among, limit: usize) -> Result<Vec<AgentId>, StoreError>;

    /// Lists what somebody has to answer, what was asked first first. `owned` is as the rows have it.
    fn asks(&mut self) -> Result<Vec<OpenAsk>, StoreError>;

    /// Returns the changes of files of a tree, in the order they were recorded.
    fn changes(&mut self, tree: &TreeId) -> Result<Vec<Recorded>, StoreError>;

    /// Returns them without what files contained.
    fn trace(&mut self, tree: &TreeId) -> Result<Vec<Traced>, StoreError> {
        Ok(journal::trace(&self.changes(tree)?))
    }

    /// Returns a content that a trace of a tree names.
    fn content(&mut self, tree: &TreeId, id: ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(journal::content(&self.changes(tree)?, id))
    }

    /// Finds the id by which a trace of a tree would name a content.
    fn find_content(
        &mut self,
        tree: &TreeId,
        bytes: &[u8],
    ) -> Result<Option<ContentId>, StoreError> {
        Ok(journal::find(&self.changes(tree)?, bytes))
    }

    /// Returns who recorded a change of a file last.
    fn last_writer(&mut self, path: &str) -> Result<Option<Writer>, StoreError>;

    /// Returns the chat rows of one session; `None` if it has none.
    fn chat(&mut self, session: &AgentId) -> Result<Option<ChatExport>, StoreError>;

    /// Returns the chat rows of a tree (R5). A backend that keeps none folds them from its log.
    fn chat_rows(&mut self, tree: &TreeId) -> Result<Rows, StoreError> {
        Ok(chat::fold(&self.entries(tree, Pos::ZERO, usize::MAX)?))
    }
}

/// How long the receipt of a command is kept, in milliseconds: a week. A client that sends the same
/// command again within that time gets the receipt; later the command is a new one.
const RECEIPTS_KEPT: u64 = 7 * 24 * 60 * 60 * 1000;

/// How long old receipts are left before they are looked for again: an hour.
const PRUNED_EVERY: u64 = 60 * 60 * 1000;

/// When old receipts are removed: by an append that stores a receipt, once an hour.
#[derive(Debug, Default)]
pub(crate) struct Pruning {
    last: Option<Timestamp>,
}

impl Pruning {
    /// Returns the time before which receipts are to be removed now; `None` if it is too early.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<Timestamp> {
        let next = self.last.map_or(0, |last| last.get() + PRUNED_EVERY);
        if now.get() < next {
            return None;
        }
        self.last = Some(now);
        Some(Timestamp::new(now.get().saturating_sub(RECEIPTS_KEPT)))
    }
}

/// Returns what a caller can do about an entry that breaks a rule of the log.
pub(crate) fn kind_of(broken: Broken) -> StoreErrorKind {
    match broken {
        // A child began or ended something meanwhile.
        Broken::Children => StoreErrorKind::Refused,
        Broken::Gap
        | Broken::Birth
        | Broken::Turn
        | Broken::Queue
        | Broken::Call
        | Broken::Mail
        | Broken::Settle => StoreErrorKind::Conflict,
    }
}
