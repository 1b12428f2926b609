//! Waiting for what the log says of an agent.
//!
//! The log is the only truth, so a handle that waits sees the same whether its own process does the
//! work or another, and also when that other one dies: then this process takes the tree up. What is
//! waited for is a small fold of the agent's own entries, each of which is seen once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_engine::{Subscription, Update};
use offshoot_types::command::Order;
use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::{MessageId, Pos, TreeId};
use offshoot_types::settlement::{CancelledBy, Settlement, Status};

use super::error::Error;
use super::runtime::Shared;

/// How far the handles of a session have read its log, so that none reads it from the beginning.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<AtomicU64>);

impl Seen {
    fn pos(&self) -> Pos {
        Pos::new(self.0.load(Ordering::Acquire))
    }

    fn note(&self, pos: Pos) {
        self.0.fetch_max(pos.get(), Ordering::AcqRel);
    }
}

/// What to do about a tree that is nobody's.
#[derive(Clone, Copy)]
pub(super) enum Orphan {
    /// Go on with it: something is waiting there.
    TakeUp,
    /// Nothing, until somebody does.
    Leave,
}

/// Whoever waits for something to happen in a tree.
pub(super) struct Follower {
    shared: Arc<Shared>,
    tree: TreeId,
    updates: Subscription,
    seen: Seen,
}

impl Follower {
    pub(super) async fn new(
        shared: &Arc<Shared>,
        tree: &TreeId,
        seen: &Seen,
    ) -> Result<Self, Error> {
        Ok(Self {
            shared: shared.clone(),
            tree: tree.clone(),
            updates: shared.subscribe(tree, seen.pos()).await?,
            seen: seen.clone(),
        })
    }

    /// Leaves out what is said and done before it comes to something.
    pub(super) fn news_only(mut self) -> Self {
        self.updates = self.updates.news_only();
        self
    }

    /// Returns the next update. After a shutdown, and after the last entry, it is `Error::Closed`.
    pub(super) async fn next(&mut self, orphan: Orphan) -> Result<Update, Error> {
        loop {
            let update = tokio::select! {
                biased;
                update = self.updates.next() => update?,
                () = self.shared.closed() => {
                    if self.updates.is_caught_up().await? {
                        return Err(Error::Closed);
                    }
                    self.updates.next().await?
                }
            };
            match update {
                Update::Parked(error) => return Err(error.into()),
                Update::Orphaned => self.orphaned(orphan).await?,
                update => {
                    if let Update::Entry(entry) = &update {
                        self.seen.note(entry.pos);
                    }
                    return Ok(update);
                }
            }
        }
    }

    /// Takes up a tree that no living process owns, where something waits in it.
    async fn orphaned(&self, orphan: Orphan) -> Result<(), Error> {
        let Orphan::TakeUp = orphan else {
            return Ok(());
        };
        let resumed = self
            .shared
            .order(&self.tree, self.tree.root(), Order::Resume);
        match resumed.await {
            // This runtime is leaving: `next` says so once it has left.
            Ok(_) | Err(Error::Closed) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A message that an agent was sent, on its way to an answer.
pub(super) struct Asked {
    message: MessageId,
    progress: Progress,
}

/// How far a message has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It is not in the log yet: nothing that happens is about it.
    Sent,
    /// It waits for its turn.
    Queued,
    /// A turn has failed before its own: it stays queued until somebody asks again.
    HeldBack,
    /// A turn has taken it.
    Taken,
}

impl Asked {
    pub(super) fn new(message: MessageId) -> Self {
        let progress = Progress::Sent;
        Self { message, progress }
    }

    /// Tells whether it is in the log.
    pub(super) fn is_stored(&self) -> bool {
        self.progress != Progress::Sent
    }

    /// Tells whether a turn has taken it.
    fn is_taken(&self) -> bool {
        self.progress == Progress::Taken
    }

    /// Takes the agent's next event; returns how the run ended that answers the message.
    ///
    /// One that is held back is answered by the failure that holds it back.
    pub(super) fn take(&mut self, event: &Event) -> Option<Settlement> {
        match event {
            Event::Prompted(message) => {
                let is_stored = self.is_stored() || message.id == self.message;
                if is_stored && !self.is_taken() {
                    self.progress = Progress::Queued;
                }
            }
            Event::TurnStarted { prompt, .. } => self.consumed(prompt.as_ref()),
            Event::Steered { prompt } => self.consumed(Some(prompt)),
            Event::TurnEnded { end, .. } => {
                let failed = matches!(end, TurnEnd::Failed { .. });
                if failed && self.progress == Progress::Queued {
                    self.progress = Progress::HeldBack;
                }
            }
            Event::Settled { settlement, .. } => match self.progress {
                Progress::HeldBack | Progress::Taken => return Some(settlement.clone()),
                Progress::Sent | Progress::Queued => {}
            },
            // Somebody took it back before a turn had taken it: nothing will ever answer it.
            Event::Rewound { hides, .. } if !self.is_taken() && hides.contains(&self.message) => {
                return Some(Settlement::new(Status::Cancelled(CancelledBy::User)));
            }
            Event::Spawned(_)
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. }
            | Event::Became(_)
            | Event::Completion { .. }
            | Event::Replied(_)
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. } => {}
        }
        None
    }

    fn consumed(&mut self, prompt: Option<&MessageId>) {
        if prompt == Some(&self.message) {
            self.progress = Progress::Taken;
        }
    }
}

/// Whether an agent rests, as its own log has it.
#[derive(Default)]
pub(super) struct Rest {
    queued: BTreeSet<MessageId>,
    open: bool,
    held_back: bool,
    last: Option<Settlement>,
}

impl Rest {
    /// Takes the agent's next event.
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::Prompted(message) => {
                self.queued.insert(message.id.clone());
                self.held_back = false;
            }
            Event::TurnStarted { prompt, .. } => {
                self.open = true;
                self.queued.retain(|queued| Some(queued) != prompt.as_ref());
            }
            Event::Steered { prompt } => {
                self.queued.remove(prompt);
            }
            Event::Rewound { hides, .. } => self.queued.retain(|queued| !hides.contains(queued)),
            Event::TurnEnded { end, .. } => self.held_back = matches!(end, TurnEnd::Failed { .. }),
            Event::Settled { settlement, .. } => {
                self.open = false;
                self.last = Some(settlement.clone());
            }
            Event::Spawned(_)
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Became(_)
            | Event::Completion { .. }
            | Event::Replied(_)
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. } => {}
        }
    }

    /// Returns how its last run ended; `None` while it works, or was never asked anything.
    pub(super) fn settlement(&self) -> Option<&Settlement> {
        self.last.as_ref().filter(|_| !self.is_busy())
    }

    /// Returns what to do about its tree where that is nobody's.
    pub(super) fn orphan(&self) -> Orphan {
        if self.is_busy() {
            Orphan::TakeUp
        } else {
            Orphan::Leave
        }
    }

    fn is_busy(&self) -> bool {
        self.open || (!self.queued.is_empty() && !self.held_back)
    }
}
