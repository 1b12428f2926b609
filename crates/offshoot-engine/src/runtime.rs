//! What faces see: five verbs (R9).
//!
//! All faces have equal powers because there is nothing else to call. A command
//! goes to the session of its tree, which is opened if no process has it. If another
//! process has it, the command is left in the store and that process is nudged.

mod birth;
mod boards;
pub(crate) mod claims;
mod neighbours;
pub mod query;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_types::command::{Command, Order, Prompt, Receipt};
use offshoot_types::content::{Attached, AttachmentError, Digest, image_type};
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::message::Delegation;
use offshoot_types::sidecar::Sidecars;
use offshoot_types::store::{Store, StoreError, StoreErrorKind};
use offshoot_types::tree::Tree;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::attachments;
use crate::door;
use crate::fork;
use crate::kit::{Kit, Kits};
use crate::limits::Limits;
use crate::node::Ordered;
use crate::overlay::{AttachError, Attachment, Overlay};
use crate::project::{ProjectError, Projects};
use crate::session::{Departure, Parked, Session};
use crate::subscribe::Subscription;
use crate::update::{Activity, SessionState};
use boards::Boards;
use neighbours::Looked;
use query::Query;

/// Orders a session may have waiting before a face waits for it.
const INBOX: usize = if cfg!(test) { 2 } else { 64 };

/// How long a command waits before it looks again at a tree that is changing hands.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(20);

/// What a runtime is made of, whichever workspaces its sessions are in.
pub struct Parts {
    /// Where logs live.
    pub store: Arc<dyn Store>,
    /// What sessions work with, by their workspaces.
    pub projects: Arc<dyn Projects>,
    /// The clock and the source of ids.
    pub env: Arc<dyn Env>,
    /// The host's limits.
    pub limits: Limits,
    /// Who keeps what is too long to be shown.
    pub sidecars: Arc<dyn Sidecars>,
    /// The host's own folder, absolute and without links. Sessions keep what is not the user's in
    /// it; to agents' tools the rest of it is not there.
    pub data: Option<String>,
}

/// A command that was not taken.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// What was asked for cannot be: tell the client.
    #[error("{0}")]
    Invalid(String),
    /// No such session or agent.
    #[error("{0}")]
    Unknown(String),
    /// The project of the session cannot be opened: nothing has changed.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The session cannot go on without something that it does not have: nothing has changed.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Something is wrong with what the prompt has attached.
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The runtime is leaving, or has left.
    #[error("the runtime was shut down")]
    Closed,
}

/// A name in a session's log that neither the session's project nor its overlays know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The definition of the agent.
    #[error("the session has no agent {0} now; attach or add it, and try again")]
    Agent(String),
    /// The model of the agent.
    #[error("the session has no model {0} now; attach or add it, and try again")]
    Model(String),
}

/// How to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Stop taking work, cancel, settle, commit, let go; at most `Limits::shutdown`.
    Now,
    /// Cancel nothing; let each tree go as soon as it is quiet and nobody follows it.
    ///
    /// What another process sends in the meantime is still done.
    WhenQuiet,
}

/// The runtime. Dropping it is a crash: everything stops where it is, and recovery does the rest.
pub struct Runtime {
    inner: Arc<Inner>,
    sessions: Mutex<JoinSet<()>>,
}

struct Inner {
    parts: Arc<Parts>,
    /// What sessions work with.
    kits: Arc<Kits>,
    /// The table of sessions. A tree's own lock covers its opening and its closing.
    table: Mutex<BTreeMap<TreeId, Slot>>,
    /// Who is told of commits.
    boards: Arc<Boards>,
    departure: Departure,
    /// Held, for reading, by whoever opens a session, until that can be waited for.
    opening: tokio::sync::RwLock<()>,
    /// Where it was looked for what dead processes have left.
    looked: Mutex<Looked>,
}

/// A tree's place in the table. Locked, across awaits, while the tree is opened.
type Slot = Arc<tokio::sync::Mutex<Option<Handle>>>;

/// How to reach a session.
#[derive(Clone)]
struct Handle {
    orders: mpsc::Sender<Ordered>,
    parked: Parked,
}

/// Where a command got to.
enum Reached {
    /// The session that carries it out.
    Session(Handle),
    /// It is done.
    Done(Box<Receipt>),
}

impl Handle {
    fn is_live(&self) -> bool {
        !self.orders.is_closed()
    }
}

impl Runtime {
    /// Makes a runtime of its parts. Reads nothing and starts nothing.
    pub fn new(parts: Parts) -> Self {
        let boards = Arc::new(Boards::default());
        let committed = boards.clone();
        let nudged = boards.clone();
        parts.store.listen(
            Arc::new(move |entries| committed.committed(entries)),
            Arc::new(move |tree| nudged.nudged(tree)),
        );
        let inner = Inner {
            kits: Arc::new(Kits::new(parts.projects.clone())),
            parts: Arc::new(parts),
            table: Mutex::default(),
            boards,
            departure: Departure::default(),
            opening: tokio::sync::RwLock::default(),
            looked: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
            sessions: Mutex::new(JoinSet::new()),
        }
    }

    /// Carries out a command and returns what became of it.
    ///
    /// Durable and idempotent: when it returns, a crash does not undo it, and sending it again
    /// returns the same receipt. `Receipt::Queued` says that another process owns the tree and
    /// will carry it out.
    pub async fn command(&self, mut command: Command) -> Result<Receipt, CommandError> {
        self.inner.check(&command).await?;
        if let Order::Answer(answer) = &mut command.order {
            answer.given = Some(self.inner.parts.env.now());
        }
        self.inner.known(&command).await?;
        self.inner.check_child_id(&command).await?;
        if let Order::Delete(which) = command.order {
            return self.delete(&command, which).await;
        }
        attachments::check_blobs(&self.inner.parts, &command).await?;
        self.recover_others_once(&command);
        let store = &self.inner.parts.store;
        let mut submitted_at = None;
        loop {
            let reached = {
                let _opening = self.inner.opening.read().await;
                if self.inner.departure.is_near() {
                    self.reach_the_living(&command)
                } else {
                    self.reach(&command).await
                }
            };
            match reached {
                Ok(Reached::Done(receipt)) => return Ok(*receipt),
                // Whoever owns the tree will do it: whoever sent it must not do so again.
                Err(CommandError::Closed) if submitted_at.is_some() => {
                    let receipt = store.receipt(&command.id).await?;
                    return Ok(receipt.unwrap_or(Receipt::Queued));
                }
                Ok(Reached::Session(handle)) => {
                    self.inner.check_kit(&command).await?;
                    if let Some(receipt) = order(&handle, &command).await {
                        return refuse_second_opening(&command, receipt);
                    }
                    // Gone in good order, or taken over by somebody: look again. Anything else is told.
                    if let Some(error) = handle.parked.get()
                        && error.kind != StoreErrorKind::Fenced
                    {
                        return Err(error.clone().into());
                    }
                }
                Err(CommandError::Store(error)) if error.kind == StoreErrorKind::Held => {
                    if is_opening(&command.order) {
                        return Err(error.into());
                    }
                    let now = tokio::time::Instant::now();
                    let since = match submitted_at {
                        Some(since) => since,
                        None => {
                            store
                                .submit(command.clone(), self.inner.parts.env.now())
                                .await?;
                            *submitted_at.insert(now)
                        }
                    };
                    if now.duration_since(since) >= self.inner.parts.limits.answer {
                        return Ok(Receipt::Queued);
                    }
                }
                Err(error) => return Err(error),
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            // It may have been deleted meanwhile.
            self.inner.known(&command).await?;
        }
    }

    /// Answers a question about the state of things.
    pub async fn query<Q: Query>(&self, query: Q) -> Result<Q::Answer, StoreError> {
        query.answer(self).await
    }

    /// Stores bytes for a prompt to this session that will name them (`Part::Image`, `Part::File`).
    ///
    /// They are on disk when this returns, and are removed with the session. The media type of a
    /// picture is that of its bytes, whatever the client says; other bytes are what the client says.
    pub async fn store_blob(
        &self,
        session: &AgentId,
        name: Option<String>,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Attached, CommandError> {
        let tree = self.inner.session(session).await?;
        let media_type = image_type(&bytes).unwrap_or(media_type).to_owned();
        let length = bytes.len() as u64;
        let shown = name.as_deref().unwrap_or(&media_type);
        let digest = attachments::store(&self.inner.parts, &tree, shown, bytes).await?;
        Ok(Attached {
            digest,
            media_type,
            bytes: length,
            name,
            uri: None,
        })
    }

    /// Returns the bytes of a blob of a session.
    pub async fn read_blob(
        &self,
        session: &AgentId,
        digest: &Digest,
    ) -> Result<Vec<u8>, CommandError> {
        let tree = self.inner.session(session).await?;
        Ok(attachments::read(&self.inner.parts, &tree, digest).await?)
    }

    /// Tells whether this process runs a tree.
    pub fn is_run_here(&self, tree: &TreeId) -> bool {
        self.inner.status(tree, tree.root()).is_some()
    }

    /// Follows a tree from a position: entries after it, open messages, then whatever happens.
    pub async fn subscribe(&self, tree: &TreeId, after: Pos) -> Subscription {
        let boards = self.inner.boards.clone();
        let find = Arc::new(move |tree: &TreeId| boards.find(tree));
        Subscription::new(self.inner.parts.store.clone(), tree.clone(), after, find)
    }

    /// Adds to what a session's project has, for this session alone, until the attachment is dropped.
    ///
    /// The session need not be open, nor exist. An agent that is at work has the overlay from its next
    /// turn on. With an error nothing has changed.
    pub fn attach(&self, session: &TreeId, overlay: Overlay) -> Result<Attachment, AttachError> {
        self.inner.kits.overlays.attach(session, overlay)
    }

    /// Returns the host's limits that it was made with.
    pub fn limits(&self) -> &Limits {
        &self.inner.parts.limits
    }

    /// Leaves in good order (R20).
    ///
    /// Nothing is opened any more from here on. A command that waits for an answer has one by the time
    /// this returns, or is told `CommandError::Closed`.
    pub async fn shutdown(&self, ending: Ending) {
        match ending {
            Ending::WhenQuiet => self.inner.departure.when_quiet.cancel(),
            Ending::Now => self.inner.departure.now.cancel(),
        }
        let mut all = Box::pin(async {
            // Whoever was opening a session has opened it by then, and nobody opens another.
            drop(self.inner.opening.write().await);
            let mut sessions = std::mem::take(&mut *lock(&self.sessions));
            while sessions.join_next().await.is_some() {}
        });
        match ending {
            Ending::WhenQuiet => all.await,
            Ending::Now => {
                // What does not end in time is dropped, which is a crash, and recovered as one.
                drop(tokio::time::timeout(self.inner.parts.limits.shutdown, &mut all).await);
            }
        }
    }

    /// Reaches the session of a command's tree if it is there, and opens none.
    fn reach_the_living(&self, command: &Command) -> Result<Reached, CommandError> {
        let slot = self.inner.slot(&command.tree);
        // Whoever has it locked is opening it, and will find that we leave.
        let handle = slot.try_lock().ok().and_then(|held| held.clone());
        let living = handle.filter(Handle::is_live);
        living.map(Reached::Session).ok_or(CommandError::Closed)
    }

    /// Reaches the session of a command's tree, which is opened if need be.
    async fn reach(&self, command: &Command) -> Result<Reached, CommandError> {
        let mut held = self.inner.hold(&command.tree).await;
        if let Some(handle) = held.as_ref()
            && handle.is_live()
        {
            // It looks itself whether the command was done before.
            return Ok(Reached::Session(handle.clone()));
        }
        if let Some(receipt) = self.inner.parts.store.receipt(&command.id).await? {
            return Ok(Reached::Done(Box::new(receipt)));
        }
        let opened = match &command.order {
            Order::Open(opening) => {
                let kits = &self.inner.kits;
                let kit = kits.open(&command.tree, &opening.workspace).await?;
                let events = self.inner.opening(&kit.newest(), command, opening).await?;
                let of_root = |event| (command.agent.clone(), event);
                let events = events.into_iter().map(of_root).collect();
                self.inner.create(kit, command, events).await?
            }
            Order::Fork(fork) => {
                let Inner { parts, kits, .. } = self.inner.as_ref();
                let (kit, events) = fork::entries(parts, kits, &command.tree, fork).await?;
                self.inner.create(kit, command, events).await?
            }
            Order::Prompt(_)
            | Order::Cancel(_)
            | Order::Promote
            | Order::Answer(_)
            | Order::Rewind(_)
            | Order::Spawn(_)
            | Order::Resume
            | Order::Rename(_)
            | Order::Summarise
            | Order::Close
            | Order::Compact
            | Order::SetClientTools(_)
            | Order::SetRole(_) => Some(self.inner.open(&command.tree).await?),
            // It has a way of its own (`claims.rs`), which opens nothing.
            Order::Delete(_) => return Err(CommandError::Closed),
        };
        let Some((board, nudged)) = opened else {
            // Whoever was first may have carried out this very command.
            return match self.inner.parts.store.receipt(&command.id).await? {
                Some(receipt) => Ok(Reached::Done(Box::new(receipt))),
                None => Err(exists_already(&command.tree)),
            };
        };
        let (orders, inputs) = mpsc::channel(INBOX);
        let parked = Parked::default();
        let session = Session::new(
            board,
            self.inner.parts.clone(),
            inputs,
            nudged,
            self.inner.departure.clone(),
            parked.clone(),
        );
        let session = session.expecting(command.id.clone());
        let opens_with_prompt =
            matches!(&command.order, Order::Open(opening) if opening.prompt.is_some());
        let session = if opens_with_prompt {
            session.at_work()
        } else {
            session
        };
        let mut sessions = lock(&self.sessions);
        while sessions.try_join_next().is_some() {}
        sessions.spawn(session.run());
        let handle = Handle { orders, parked };
        *held = Some(handle.clone());
        Ok(if is_opening(&command.order) {
            Reached::Done(Box::new(Receipt::Opened))
        } else {
            Reached::Session(handle)
        })
    }
}

/// Tells whether a session lives in a slot, or somebody is about to put one there.
fn is_in_use(slot: &Slot) -> bool {
    let Ok(held) = slot.try_lock() else {
        return true;
    };
    let lives = held
        .as_ref()
        .is_some_and(|handle| !handle.orders.is_closed());
    lives || Arc::strong_count(slot) > 1
}

/// Tells whether an order makes the session that it is about.
fn is_opening(order: &Order) -> bool {
    match order {
        Order::Open(_) | Order::Fork(_) => true,
        Order::Prompt(_)
        | Order::Cancel(_)
        | Order::Promote
        | Order::Answer(_)
        | Order::Rewind(_)
        | Order::Spawn(_)
        | Order::Resume
        | Order::Rename(_)
        | Order::Summarise
        | Order::Close
        | Order::Compact
        | Order::SetClientTools(_)
        | Order::SetRole(_)
        | Order::Delete(_) => false,
    }
}

/// Makes an error of an answer that says that the session was there before.
fn refuse_second_opening(command: &Command, receipt: Receipt) -> Result<Receipt, CommandError> {
    let was_there = matches!(receipt, Receipt::NoEffect { .. });
    if was_there && is_opening(&command.order) {
        return Err(exists_already(&command.tree));
    }
    Ok(receipt)
}

fn exists_already(tree: &TreeId) -> CommandError {
    CommandError::Invalid(format!("session {tree} exists already"))
}

fn unknown(agent: &AgentId) -> CommandError {
    CommandError::Unknown(format!("there is no session or agent {agent}"))
}

/// Gives an order to a session; `None` when the session ended before it answered.
async fn order(handle: &Handle, command: &Command) -> Option<Receipt> {
    let (reply, receipt) = oneshot::channel();
    let order = Ordered {
        command: command.clone(),
        reply: Some(reply),
        heard: None,
        waits: false,
    };
    handle.orders.send(order).await.ok()?;
    receipt.await.ok()
}

impl Inner {
    fn slot(&self, tree: &TreeId) -> Slot {
        let mut table = lock(&self.table);
        if table.len() >= 64 && table.len().is_power_of_two() {
            table.retain(|_, slot| is_in_use(slot));
        }
        table.entry(tree.clone()).or_default().clone()
    }

    /// Locks a tree's place in the table. Who has it only to tell hooks of a dead neighbour is asked to
    /// let go.
    async fn hold(&self, tree: &TreeId) -> tokio::sync::OwnedMutexGuard<Option<Handle>> {
        let mut held = std::pin::pin!(self.slot(tree).lock_owned());
        loop {
            tokio::select! {
                biased;
                held = &mut held => return held,
                () = tokio::time::sleep(LOOK_AGAIN) => self.boards.nudged(tree),
            }
        }
    }

    /// Refuses what no session could do, or not the one that a command is about.
    async fn check(&self, command: &Command) -> Result<(), CommandError> {
        door::check(&self.parts.limits, command)?;
        let mut definition = None;
        let kit = match &command.order {
            Order::Open(opening) => {
                definition = Some(opening.definition.clone());
                let kit = self.kits.open(&command.tree, &opening.workspace).await?;
                Some(kit.newest())
            }
            Order::Prompt(Prompt {
                delegation: Some(Delegation::Require { .. }),
                ..
            }) => {
                definition = self.definition(command).await?;
                self.kit(&command.tree).await?
            }
            Order::Prompt(Prompt { agent: Some(_), .. } | Prompt { model: Some(_), .. })
            | Order::SetClientTools(_)
            | Order::SetRole(_)
            | Order::Spawn(_) => self.kit(&command.tree).await?,
            _ => None,
        };
        let Some(kit) = kit else {
            return Ok(());
        };
        door::check_with(&kit, &self.parts.limits, command, definition.as_deref())
    }

    /// Returns what the agent is now that a command is about; `None` if there is no such agent.
    async fn definition(&self, command: &Command) -> Result<Option<String>, CommandError> {
        let Command { tree, agent, .. } = command;
        let name = |tree: &Tree| Some(tree.agent(agent)?.definition().to_owned());
        if let Some(board) = self.boards.find(tree) {
            return Ok(name(&board.state().tree));
        }
        let log = self
            .parts
            .store
            .entries(tree, Pos::ZERO, usize::MAX)
            .await?;
        // The session reports a log that does not fold.
        Ok(Tree::fold(&log).ok().as_ref().and_then(name))
    }

    /// Returns what a session works with; `None` if there is no such session.
    async fn kit(&self, tree: &TreeId) -> Result<Option<Arc<Kit>>, CommandError> {
        if let Some(board) = self.boards.find(tree) {
            board.refresh_kit().await;
            return Ok(Some(board.kit()));
        }
        let Some(workspace) = self.workspace(tree).await? else {
            return Ok(None);
        };
        let kit = self.kits.open(tree, &workspace).await?;
        Ok(Some(kit.newest()))
    }

    /// Returns the workspace of a session that is in the store, from its first entry.
    async fn workspace(&self, tree: &TreeId) -> Result<Option<String>, StoreError> {
        let entries = self.parts.store.entries(tree, Pos::ZERO, 1).await?;
        let workspace = entries.first().and_then(|entry| entry.event.workspace());
        Ok(workspace.map(str::to_owned))
    }

    /// Refuses to have an agent go on that is here, if its definition or its model is not. A command
    /// that was carried out before has its receipt all the same. A session that sleeps goes on sleeping
    /// by itself: it queues what it is sent.
    async fn check_kit(&self, command: &Command) -> Result<(), CommandError> {
        let Some(board) = self.boards.find(&command.tree) else {
            return Ok(());
        };
        board.refresh_kit().await;
        if board.state().sleeps(board.tree.root()) {
            return Ok(());
        }
        let missing = match &command.order {
            Order::Prompt(prompt) => board.missing(&command.agent, prompt.agent.as_deref()),
            Order::Resume if board.state().has_work_left(&command.agent) => {
                board.missing(&command.agent, None)
            }
            _ => None,
        };
        match missing {
            Some(missing) if self.parts.store.receipt(&command.id).await?.is_none() => {
                Err(missing.into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Fails unless the command's agent is in the command's tree.
    async fn known(&self, command: &Command) -> Result<(), CommandError> {
        if is_opening(&command.order) {
            return Ok(());
        }
        let board = self.boards.find(&command.tree);
        if board.is_some_and(|board| board.state().tree.agent(&command.agent).is_some()) {
            return Ok(());
        }
        match self.parts.store.tree_of(&command.agent).await? {
            Some(tree) if tree == command.tree => Ok(()),
            Some(_) | None => Err(unknown(&command.agent)),
        }
    }

    /// Refuses a child whose id an agent of another session has.
    async fn check_child_id(&self, command: &Command) -> Result<(), CommandError> {
        let Order::Spawn(spawn) = &command.order else {
            return Ok(());
        };
        let Some(id) = &spawn.agent else {
            return Ok(());
        };
        match self.parts.store.tree_of(id).await? {
            Some(tree) if tree != command.tree => {
                let text = format!("the id {id} belongs to an agent of another session");
                Err(CommandError::Invalid(text))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the tree of a session; an error if there is no such session.
    async fn session(&self, id: &AgentId) -> Result<TreeId, CommandError> {
        match self.parts.store.tree_of(id).await? {
            Some(tree) if tree.root() == id => Ok(tree),
            Some(_) | None => Err(CommandError::Unknown(format!("there is no session {id}"))),
        }
    }

    fn status(&self, tree: &TreeId, agent: &AgentId) -> Option<(SessionState, Activity)> {
        let board = self.boards.find(tree)?;
        let state = board.state();
        Some((
            state.session_state(agent),
            state.node(agent)?.activity.clone(),
        ))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
