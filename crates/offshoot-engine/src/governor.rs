//! The governor: how much of one model this process uses at a time (R28).
//!
//! One for each model of an account, shared by all trees of a runtime: two sessions that bring models of one
//! name with keys of their own do not wait for each other. As long as the provider
//! says nothing, it lets everybody through. When one stream is told to wait,
//! nobody asks that model before the wait is over, and half as many as before may
//! ask then; each answer lets one more through, until as many may as when it
//! complained and nobody waits: then it says nothing again. Order: first come,
//! first; who could not use a ticket comes back to the place it had.
//!
//! A ticket is a stream: nobody holds one who waits for anything else, and nobody
//! who waits for one holds a slot, but for one that has come back and waits for no
//! more than a stream of somebody else to end. Dropping it gives it back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use offshoot_types::model::Model;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// How many governors there are before those that govern nothing are dropped.
const MANY: usize = 64;

/// The governors of a runtime, by account and name of the model.
#[derive(Debug, Default)]
pub(crate) struct Governors(Mutex<BTreeMap<(u64, String), Governor>>);

/// The governor of one model.
#[derive(Clone, Debug)]
pub(crate) struct Governor(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    /// When the model may be asked again. Changed under the lock; those who wait follow it.
    again: watch::Sender<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Streams under way.
    open: usize,
    /// How many there may be; `None` as long as the provider has not complained.
    most: Option<usize>,
    /// How many there were when it complained first.
    too_many: usize,
    /// Complaints so far. What becomes of a stream from before the last one says nothing new.
    complaints: u64,
    arrivals: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Ticket>>,
}

/// The right to ask the model, until dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// `None` once it has been disarmed.
    of: Option<Governor>,
    complaints: u64,
}

/// How it went when somebody came to ask.
pub(crate) enum Admission {
    Granted(Ticket),
    /// Not now; it is to wait.
    Queued(Turn),
}

/// Which place somebody has, or had, in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(u64);

/// A place in the queue. Dropping it leaves the queue.
pub(crate) struct Turn {
    governor: Governor,
    place: u64,
    ticket: oneshot::Receiver<Ticket>,
    again: watch::Receiver<Option<Instant>>,
}

impl Governors {
    /// Returns the governor of a model.
    pub(crate) fn of(&self, name: &str, model: &dyn Model) -> Governor {
        let key = (model.account(), name.to_owned());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(governor) = all.get(&key) {
            return governor.clone();
        }
        if all.len() >= MANY {
            // Models of sessions come and go. One that limits nothing is made again as it was.
            all.retain(|_, governor| governor.is_used());
        }
        let governor = Governor(Arc::default());
        all.insert(key, governor.clone());
        governor
    }
}

impl Governor {
    /// Lets the caller through, or gives it a place in the queue: the last, or the one it had.
    pub(crate) fn admit(&self, had: Option<Place>) -> Admission {
        let mut inner = self.lock();
        let place = match had {
            Some(Place(place)) => place,
            None => {
                inner.arrivals += 1;
                inner.arrivals
            }
        };
        let is_next = inner
            .waiting
            .keys()
            .next()
            .is_none_or(|first| place < *first);
        if is_next && self.has_room(&inner) {
            inner.open += 1;
            return Admission::Granted(self.ticket(&inner));
        }
        let (tx, rx) = oneshot::channel();
        inner.waiting.insert(place, tx);
        Admission::Queued(Turn {
            governor: self.clone(),
            place,
            ticket: rx,
            again: self.0.again.subscribe(),
        })
    }

    /// Lets through whoever may go, in the order they came.
    fn let_through(&self) {
        loop {
            let (next, ticket) = {
                let mut inner = self.lock();
                if !self.has_room(&inner) {
                    return;
                }
                let Some((_, next)) = inner.waiting.pop_first() else {
                    return;
                };
                inner.open += 1;
                (next, self.ticket(&inner))
            };
            // Sent without the lock, which a ticket that comes back would want. One whose taker has gone
            // is disarmed, so that a crowd that left is passed over in this loop and not by recursion.
            if let Err(mut unused) = next.send(ticket) {
                unused.of = None;
                self.lock().open -= 1;
            }
        }
    }

    /// Tells whether a stream has it, waits for it, or is held back by it.
    fn is_used(&self) -> bool {
        let inner = self.lock();
        inner.open > 0 || inner.most.is_some() || Arc::strong_count(&self.0) > 1
    }

    fn has_room(&self, inner: &Inner) -> bool {
        !self.is_parked() && inner.most.is_none_or(|most| inner.open < most)
    }

    /// Tells whether the provider wants everybody to wait.
    fn is_parked(&self) -> bool {
        self.0.again.borrow().is_some_and(|at| at > Instant::now())
    }

    fn ticket(&self, inner: &Inner) -> Ticket {
        Ticket {
            of: Some(self.clone()),
            complaints: inner.complaints,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics with the lock held.
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// The provider wants everybody to wait.
    pub(crate) fn limited(&self, wait: Duration) {
        let Some(governor) = &self.of else { return };
        let mut inner = governor.lock();
        if self.complaints == inner.complaints {
            inner.complaints += 1;
            // What was too many at first stays the aim, or a few complaints would make it one.
            let before = inner.most.map_or(0, |_| inner.too_many);
            inner.too_many = before.max(inner.open);
            inner.most = Some((inner.open / 2).max(1));
        }
        let at = Instant::now() + wait;
        governor.0.again.send_if_modified(|again| {
            let later = again.is_none_or(|again| again < at);
            if later {
                *again = Some(at);
            }
            later
        });
    }

    /// The provider has answered to the end.
    pub(crate) fn answered(&self) {
        let Some(governor) = &self.of else { return };
        {
            let mut inner = governor.lock();
            let Some(most) = inner.most.filter(|_| self.complaints == inner.complaints) else {
                return;
            };
            // Whoever has queued meanwhile is let through one by one as well.
            let limits = |most: &usize| *most <= inner.too_many || !inner.waiting.is_empty();
            inner.most = Some(most + 1).filter(limits);
        }
        governor.let_through();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(governor) = self.of.take() else {
            return;
        };
        governor.lock().open -= 1;
        governor.let_through();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.governor.lock().waiting.remove(&self.place);
    }
}

impl Turn {
    /// Returns the place, to come back to.
    pub(crate) fn place(&self) -> Place {
        Place(self.place)
    }

    /// Waits until it is the caller's turn.
    pub(crate) async fn come(mut self) -> Ticket {
        let mut slept = None;
        loop {
            // Whoever looks when a wait is over lets through all that may go, itself among them.
            let at = *self.again.borrow_and_update();
            self.governor.let_through();
            // Once for each wait, also for one that ended a moment ago: the look before may have come
            // a moment too early.
            let over = async {
                match at.filter(|at| slept != Some(*at)) {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                ticket = &mut self.ticket => return taken(ticket).await,
                _ = self.again.changed() => {}
                () = over => slept = at,
            }
        }
    }

    /// Waits until it is the caller's turn, but not while the provider wants everybody to wait.
    pub(crate) async fn come_soon(mut self) -> Result<Ticket, Self> {
        self.again.mark_unchanged();
        self.governor.let_through();
        if self.governor.is_parked() {
            return Err(self);
        }
        tokio::select! {
            biased;
            ticket = &mut self.ticket => Ok(taken(ticket).await),
            _ = self.again.changed() => Err(self),
        }
    }
}

/// Returns a ticket that was sent.
async fn taken(ticket: Result<Ticket, oneshot::error::RecvError>) -> Ticket {
    match ticket {
        Ok(ticket) => ticket,
        // The queue holds the sender until it sends, and the governor lives as long as we do.
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
