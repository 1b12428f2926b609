//! Waiting for what the log says of an agent.
//!
//! The handles of a session share how far they have read its log, so that none reads it from the
//! beginning. What is waited for is a small fold of the agent's own entries, each of which is seen once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_engine::Update;
use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::{MessageId, Pos, TreeId};
use offshoot_types::settlement::Settlement;

use super::error::Error;
use super::runtime::Shared;
use crate::flow::{Follower, News, Orphan};

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

/// A handle that waits for something to happen in a tree.
pub(super) struct Waiting {
    follower: Follower,
    seen: Seen,
}

impl Waiting {
    pub(super) async fn new(
        shared: &Arc<Shared>,
        tree: &TreeId,
        seen: &Seen,
    ) -> Result<Self, Error> {
        Ok(Self {
            follower: shared.follow(tree, seen.pos()).await?,
            seen: seen.clone(),
        })
    }

    /// Leaves out what is said and done before it comes to something.
    pub(super) fn news_only(mut self) -> Self {
        self.follower = self.follower.news_only();
        self
    }

    /// Sends something while the tree is heard.
    pub(super) async fn hear<T>(
        &mut self,
        sending: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        self.follower.hear(sending).await?
    }

    /// Returns the next update. After a shutdown, and after the last entry, it is `Error::Closed`.
    pub(super) async fn next(&mut self, orphan: Orphan) -> Result<Update, Error> {
        loop {
            match self.follower.next(orphan).await? {
                News::Update(Update::Parked(error)) => return Err(error.into()),
                News::Update(update) => {
                    if let Update::Entry(entry) = &update {
                        self.seen.note(entry.pos);
                    }
                    return Ok(update);
                }
                // An answer that the session waits for may come from any client: go on waiting.
                News::Asleep => {}
            }
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
            _ => {}
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
