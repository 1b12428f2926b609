//! The port to the store: the log, commands, ownership, the journal of files.
//!
//! Phrased in what the engine does, never in tables. One process owns a tree at
//! a time (R7); only the owner appends. Whatever is derived from entries
//! (rows for people, marks on mail) is written in the transaction of the entry
//! it derives from. The contract suite in `offshoot-store` is this page, as tests.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde::Serialize;

use crate::command::{Command, Receipt};
use crate::event::{Entry, Event};
use crate::id::{AgentId, CallId, CommandId, Epoch, Pos, Seq, Timestamp, TreeId};
use crate::journal::{self, Change, ContentId, Recorded, Traced, Writer};
use crate::json::RawJson;
use crate::listing::{Among, SessionKind, SessionQuery};
use crate::permission::Decision;
use crate::tree::Ask;

/// Called with every committed group of one tree, in `pos` order, after the commit and before any
/// appender is told. Must not block.
pub type Committed = Arc<dyn Fn(&[Arc<Entry>]) + Send + Sync>;

/// Called with a tree that another process has left a command for. Must not block.
pub type Nudged = Arc<dyn Fn(&TreeId) + Send + Sync>;

/// A store of trees.
pub trait Store: Send + Sync {
    /// Sets who is told of commits and nudges through this handle. Called once, before anything else.
    fn listen(&self, committed: Committed, nudged: Nudged);

    /// Takes ownership of a tree, whether or not it exists yet.
    ///
    /// Fails with `Held` while another handle, of this process or another, owns it. Raises the
    /// epoch, so that whatever a former owner still sends is refused as `Fenced`.
    fn claim(&self, tree: &TreeId) -> BoxFuture<'_, Result<Lease, StoreError>>;

    /// Takes ownership of a tree that has no entry yet and appends its first ones.
    ///
    /// As `claim` and `append` are, but in one transaction: there is no moment in which a tree is
    /// owned and empty. `None`, and nothing has changed, if the tree has entries. Fails as both do.
    fn create(
        &self,
        tree: &TreeId,
        append: Append,
    ) -> BoxFuture<'static, Result<Option<Created>, StoreError>>;

    /// Gives ownership back, unless a command is pending: then the lease comes back.
    ///
    /// Judged and done in one transaction, so that no command falls between.
    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<Option<Lease>, StoreError>>;

    /// Removes a tree with everything that belongs to it, also commands that wait, and gives
    /// ownership back.
    ///
    /// All or nothing, durable when it returns. Afterwards the tree is unknown, as if it had never
    /// been, but for its epoch: whoever claims its id next gets a higher one, so that a former
    /// owner stays fenced. Fails with `Fenced` if the lease is no longer good.
    fn delete(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Removes what was deleted from the store's files as well, as far as other processes that read
    /// there allow it; tells whether none of it is left.
    fn wipe(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    /// Appends entries, in the order given, and returns them with their places.
    ///
    /// All or nothing, durable when it returns, and independent of the caller once called: dropping
    /// the future does not stop it. Fails with `Fenced` if the lease is no longer good, with
    /// `Refused` if an entry breaks a rule that only the store can judge (R18), with `Conflict` if
    /// an agent's log does not end right before the first of its entries, which is a bug of the
    /// caller. Commands in `applied` are stored as done with their receipts, whether or not their
    /// row was there before; one that was done before fails the append with `Conflict`.
    fn append(
        &self,
        lease: &Lease,
        append: Append,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>>;

    /// Records a change that a call of an agent is about to make to a file.
    ///
    /// Durable when it returns, and independent of the caller once called. Fails with `Fenced` if
    /// the lease is no longer good, with `Conflict` if the tree has no such agent.
    fn journal(
        &self,
        lease: &Lease,
        agent: &AgentId,
        definition: &str,
        call: &CallId,
        change: Change,
        at: Timestamp,
    ) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Returns the changes of files that agents of a tree recorded, in the order they did; none for
    /// an unknown tree.
    fn changes(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Recorded>, StoreError>>;

    /// Returns the same without what files contained, which may be far more than fits into memory.
    fn trace(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Traced>, StoreError>> {
        let changes = self.changes(tree);
        Box::pin(async move { Ok(journal::trace(&changes.await?)) })
    }

    /// Returns a content that a trace of this tree names; `None` if the tree is gone meanwhile.
    fn content(
        &self,
        tree: &TreeId,
        id: ContentId,
    ) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        let changes = self.changes(tree);
        Box::pin(async move { Ok(journal::content(&changes.await?, id)) })
    }

    /// Finds the id by which a trace of this tree would name a content; `None` if none does.
    fn find_content(
        &self,
        tree: &TreeId,
        bytes: Vec<u8>,
    ) -> BoxFuture<'_, Result<Option<ContentId>, StoreError>> {
        let changes = self.changes(tree);
        Box::pin(async move { Ok(journal::find(&changes.await?, &bytes)) })
    }

    /// Returns who recorded a change of a file last, in whichever tree; `None` if nobody has.
    fn last_writer(&self, path: &str) -> BoxFuture<'_, Result<Option<Writer>, StoreError>>;

    /// Returns up to `limit` entries of a tree after a position, in order; none for an unknown tree.
    fn entries(
        &self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Returns an agent's whole log, in order; empty for an unknown agent.
    fn agent_log(&self, agent: &AgentId) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>>;

    /// Returns the tree of an agent; `None` for an unknown agent.
    fn tree_of(&self, agent: &AgentId) -> BoxFuture<'_, Result<Option<TreeId>, StoreError>>;

    /// Stores a command for whoever owns, or will own, its tree, and nudges them.
    ///
    /// A command that is there already is left as it is. Fails with `Unknown` if the tree is unknown.
    fn submit(&self, command: Command, at: Timestamp) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Tells whoever owns a tree that somebody wants it. May be lost.
    fn nudge(&self, tree: &TreeId);

    /// Returns the commands of a tree that are not done, in the order they came.
    fn pending(&self, tree: &TreeId) -> BoxFuture<'_, Result<Vec<Command>, StoreError>>;

    /// Returns what became of a command; `None` while it is pending or unknown.
    fn receipt(&self, command: &CommandId) -> BoxFuture<'_, Result<Option<Receipt>, StoreError>>;

    /// Tells whether a living process, this one included, owns a tree; looks at nothing but its lock.
    ///
    /// What an owner wrote before it let go, or died, can be read once this says no. No for an unknown
    /// tree.
    fn is_owned(&self, tree: &TreeId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// Lists roots and inspectable children in the order that a query has, and up to its limit.
    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>>;

    /// Returns up to `limit` ids that begin or end with a part (`listing::is_part`), in the order of
    /// ids; none for an empty part. Reads no log.
    fn find(
        &self,
        part: &str,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AgentId>, StoreError>>;

    /// Lists all roots.
    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.list(SessionQuery::default())
    }

    /// Lists the inspectable children of all trees, archived ones included.
    fn children(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.list(SessionQuery {
            kind: SessionKind::Children,
            ..SessionQuery::default()
        })
    }

    /// Lists what somebody has to answer, in all trees, what was asked first first.
    fn asks(&self) -> BoxFuture<'_, Result<Vec<OpenAsk>, StoreError>>;

    /// Returns the conversation of an agent in the form of the chat rows, with the transcripts of its
    /// opaque children whole, at any size (SA-37); `None` for an unknown agent.
    ///
    /// A root and an inspectable child have rows. Those of any other agent are folded from its log.
    fn chat(&self, session: &AgentId) -> BoxFuture<'_, Result<Option<ChatExport>, StoreError>>;
}

/// Ownership of a tree by one store handle.
///
/// Dropping it without `release` gives up the lock as a crash would: the next claim raises the epoch.
#[derive(Clone)]
pub struct Lease {
    /// Which tree.
    pub tree: TreeId,
    /// Which ownership of it.
    pub epoch: Epoch,
    guard: Arc<dyn Send + Sync>,
}

impl Lease {
    /// For stores: ties ownership to a guard that is dropped with the last clone.
    pub fn new(tree: TreeId, epoch: Epoch, guard: Arc<dyn Send + Sync>) -> Self {
        Self { tree, epoch, guard }
    }

    /// For stores: returns how many clones there are, this one included.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.guard)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({}, epoch {})", self.tree, self.epoch)
    }
}

/// A tree that was just created: its ownership and its first entries, with their places.
pub type Created = (Lease, Vec<Arc<Entry>>);

/// Entries to append, and commands they carry out.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// When.
    pub at: Timestamp,
    /// In the order they get their places.
    pub entries: Vec<NewEntry>,
    /// Commands that are done by this.
    pub applied: Vec<(Command, Receipt)>,
}

/// An entry that has no place in its tree yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEntry {
    /// Whose log.
    pub agent: AgentId,
    /// The place in that log that the writer expects to be next.
    pub seq: Seq,
    /// What happened.
    pub event: Event,
}

/// A root or an inspectable child, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The tree it belongs to; for a root, the session itself.
    pub tree: TreeId,
    /// The agent itself.
    pub agent: AgentId,
    /// The agent that spawned it; `None` for a root.
    pub parent: Option<AgentId>,
    /// Its manifest's name.
    pub definition: String,
    /// The manifest's name that it goes by now: another agent may have taken over.
    pub now: String,
    /// Its root folder.
    pub workspace: String,
    /// Its first prompt, cut to a line; empty before one.
    pub title: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed: for a root its tree, for a child its own log.
    pub updated_at: Timestamp,
    /// How many agents it has, itself and all below it.
    pub agents: u64,
    /// How many runs of theirs are open.
    pub open_runs: u64,
    /// Whether a living process owns its tree.
    pub owned: bool,
    /// Whether whoever owned its tree last is gone and has not given it back: something may be left to
    /// do although no run is open.
    pub abandoned: bool,
    /// The word for how its last run ended; `None` while one is open or before the first.
    pub status: Option<String>,
    /// When it was archived: the call that made it, or an agent above it, was taken back (R8).
    pub archived_at: Option<Timestamp>,
}

/// A call that waits to be told something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAsk {
    /// The tree it belongs to.
    pub tree: TreeId,
    /// Who asks.
    pub agent: AgentId,
    /// For which call.
    pub call: CallId,
    /// From the root down to who asks: each agent, and the manifest's name that it goes by.
    pub path: Vec<(AgentId, String)>,
    /// The tool that was called; empty if an older version asked.
    pub tool: String,
    /// What is asked.
    pub ask: Ask,
    /// Why somebody has to say.
    pub decision: Decision,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Whether a living process owns its tree.
    pub owned: bool,
}

impl OpenAsk {
    /// What an entry asks, if it does; `path` leads to its agent.
    pub fn of(entry: &Entry, path: Vec<(AgentId, String)>, owned: bool) -> Option<Self> {
        let Event::Asked {
            call,
            needs,
            decision,
            tool,
            questions,
            deadline,
            waits_for_client,
        } = &entry.event
        else {
            return None;
        };
        Some(Self {
            tree: entry.tree.clone(),
            agent: entry.agent.clone(),
            call: call.clone(),
            path,
            tool: tool.clone(),
            ask: Ask {
                needs: needs.clone(),
                questions: questions.clone(),
                deadline: *deadline,
                waits_for_client: *waits_for_client,
            },
            decision: decision.clone(),
            asked_at: entry.at,
            owned,
        })
    }
}

/// A session as the chat tables have it, in the canonical form (DBG-01).
///
/// A row is an object of its columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChatExport {
    /// The row of the session.
    pub session: RawJson,
    /// Its messages, in the order they were written or, for a prompt that waited, fired.
    pub messages: Vec<ChatMessage>,
    /// Whether it has rows of its own; otherwise this is what they would be.
    #[serde(skip)]
    pub has_rows: bool,
}

/// A message with its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChatMessage {
    /// The row of the message.
    pub message: RawJson,
    /// The rows of its parts, in order. One with `row_is_cut` has a transcript in it that its row
    /// only refers to.
    pub parts: Vec<RawJson>,
}

/// A store that could not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// For code.
    pub kind: StoreErrorKind,
    /// For people: what was attempted, where, and what came back.
    pub message: String,
}

/// What can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// Another handle owns the tree: send it a command.
    Held,
    /// Ownership was lost: stop, write nothing more.
    Fenced,
    /// The caller's picture of the log is wrong: a bug.
    Conflict,
    /// The entry breaks a rule as things stand: look again.
    Refused,
    /// No such tree.
    Unknown,
    /// The disk is full: park the tree.
    Full,
    /// The file is damaged or of a newer version: leave it alone and say so.
    Unusable,
    /// Anything else the disk or the system did.
    Io,
}

impl StoreError {
    /// An error from its parts.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
