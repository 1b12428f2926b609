//! The one writer of an agent's log.
//!
//! Hands out `seq` and sends appends in that order; the store commits them in
//! the order they were sent. What is sent is independent of who waits for it.
//! Any failure but `Refused` means that the tree has to be let go: the caller
//! passes it up and writes nothing more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use offshoot_types::command::{Command, Receipt};
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId, Seq};
use offshoot_types::message::UserMessage;
use offshoot_types::store::{Append, Lease, NewEntry, Store, StoreError, StoreErrorKind};

use crate::runtime::Parts;

/// The one writer of an agent's log.
#[derive(Clone)]
pub(crate) struct AgentLog {
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    lease: Lease,
    agent: AgentId,
    last: Arc<Mutex<Seq>>,
}

/// Entries to append together: the agent's own, and the first ones of its children.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    entries: Vec<(Place, Event)>,
    applied: Vec<(Command, Receipt)>,
}

/// A batch that was sent, until it is heard of: whoever needs it on disk waits here.
///
/// Only for what nobody acts on before: asking a model is not acting, taking what it says is.
#[derive(Default)]
pub(crate) enum Sent {
    #[default]
    Heard,
    Underway(BoxFuture<'static, Result<(), StoreError>>),
    Failed(StoreError),
}

impl Sent {
    /// Waits until it is committed. May be given up and called again.
    pub(crate) async fn committed(&mut self) -> Result<(), StoreError> {
        if let Self::Underway(commit) = self {
            *self = match commit.await {
                Ok(()) => Self::Heard,
                Err(error) => Self::Failed(error),
            };
        }
        match self {
            Self::Failed(error) => Err(error.clone()),
            Self::Heard | Self::Underway(_) => Ok(()),
        }
    }

    /// Waits for something else meanwhile, unless it is known before that this has failed.
    pub(crate) async fn beside<T>(
        &mut self,
        other: impl Future<Output = T>,
    ) -> Result<T, StoreError> {
        let mut other = std::pin::pin!(other);
        tokio::select! {
            biased;
            value = &mut other => return Ok(value),
            written = self.committed() => written?,
        }
        Ok(other.await)
    }
}

#[derive(Debug)]
enum Place {
    Own,
    Child(AgentId, Seq),
}

impl Batch {
    /// Finds a message of the agent's own among them.
    pub(crate) fn prompted(&self, id: &MessageId) -> Option<&UserMessage> {
        self.entries.iter().find_map(|(_, event)| {
            let Event::Prompted(message) = event else {
                return None;
            };
            (message.id == *id).then_some(message)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns what is the agent's own.
    pub(crate) fn own_events(&self) -> impl Iterator<Item = &Event> {
        self.entries
            .iter()
            .filter_map(|(place, event)| match place {
                Place::Own => Some(event),
                Place::Child(..) => None,
            })
    }

    /// Adds entries to the agent's own log.
    pub(crate) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.own(event);
        }
    }

    /// Adds an entry to the agent's own log.
    pub(crate) fn own(&mut self, event: Event) {
        self.entries.push((Place::Own, event));
    }

    /// Adds the first entries of a child, whose actor does not exist yet (R1).
    pub(crate) fn child(&mut self, child: &AgentId, events: Vec<Event>) {
        let mut seq = Seq::ZERO;
        for event in events {
            seq = seq.next();
            self.entries.push((Place::Child(child.clone(), seq), event));
        }
    }

    /// Marks a command as done by this.
    pub(crate) fn applied(&mut self, command: Command, receipt: Receipt) {
        self.applied.push((command, receipt));
    }
}

impl From<Vec<Event>> for Batch {
    fn from(events: Vec<Event>) -> Self {
        let mut batch = Self::default();
        batch.extend(events);
        batch
    }
}

impl AgentLog {
    /// The writer of a log that ends at `last`.
    pub(crate) fn new(parts: &Parts, lease: &Lease, agent: AgentId, last: Seq) -> Self {
        Self {
            store: parts.store.clone(),
            env: parts.env.clone(),
            lease: lease.clone(),
            agent,
            last: Arc::new(Mutex::new(last)),
        }
    }

    /// Sends a batch at once; the future tells when it is committed and returns the agent's own entries.
    pub(crate) fn append(
        &self,
        batch: impl Into<Batch>,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>> {
        let Batch {
            entries: drafts,
            applied,
        } = batch.into();
        let mut last = lock(&self.last);
        let before = *last;
        let mut entries = Vec::with_capacity(drafts.len());
        for (place, event) in drafts {
            entries.push(match place {
                Place::Own => {
                    *last = last.next();
                    NewEntry {
                        agent: self.agent.clone(),
                        seq: *last,
                        event,
                    }
                }
                Place::Child(agent, seq) => NewEntry { agent, seq, event },
            });
        }
        let after = *last;
        // Sent while `seq` is locked, so that the store gets appends in the order of their places.
        let append = Append {
            at: self.env.now(),
            entries,
            applied,
        };
        let sent = self.store.append(&self.lease, append);
        drop(last);
        let (agent, last) = (self.agent.clone(), self.last.clone());
        Box::pin(async move {
            let result = sent.await;
            if let Err(StoreError {
                kind: StoreErrorKind::Refused,
                ..
            }) = &result
            {
                // Refused entries leave no gap. Only a settlement and a rewind can be refused, and
                // nothing is sent behind one before it is heard of.
                let mut last = lock(&last);
                debug_assert_eq!(*last, after, "something was sent behind what was refused");
                if *last == after {
                    *last = before;
                }
            }
            let mut entries = result?;
            entries.retain(|entry| entry.agent == agent);
            Ok(entries)
        })
    }
}

fn lock(last: &Mutex<Seq>) -> MutexGuard<'_, Seq> {
    last.lock().unwrap_or_else(PoisonError::into_inner)
}
