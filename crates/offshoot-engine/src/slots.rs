//! Slots: how much of a tree works at one time (R27).
//!
//! A slot covers one model stream or one agent's tool runs. Waiting for a child
//! or for a slot holds none, so the cap counts work, not live agents, and a deep
//! tree cannot lock itself out. Order: resuming before admitting before helping, deeper first,
//! then first come first. A slot is given back by dropping it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The slots of one tree.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    free: usize,
    tickets: u64,
    waiting: BTreeMap<Place, oneshot::Sender<Slot>>,
}

/// A place in the queue; the smallest goes first.
type Place = (Rank, Reverse<u32>, u64);

/// Who goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// An agent in the middle of its turn.
    Resuming,
    /// An agent at the beginning of its turn.
    Admitting,
    /// An agent that works for the runtime, and that nobody else waits for (R19).
    Helping,
}

/// The right to work, until dropped. `None` once it has been disarmed.
#[derive(Debug)]
pub(crate) struct Slot(Option<Slots>);

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            free: count,
            tickets: 0,
            waiting: BTreeMap::new(),
        })))
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    pub(crate) async fn take(&self, rank: Rank, depth: u32) -> Slot {
        loop {
            let turn = {
                let mut inner = self.lock();
                if inner.free > 0 {
                    inner.free -= 1;
                    return Slot(Some(self.clone()));
                }
                inner.tickets += 1;
                let place = (rank, Reverse(depth), inner.tickets);
                let (tx, rx) = oneshot::channel();
                inner.waiting.insert(place, tx);
                rx
            };
            // The sender is dropped only together with the tree; then nobody waits for us either.
            if let Ok(slot) = turn.await {
                return slot;
            }
        }
    }

    /// Takes a slot if one is free. Then nobody waits for one.
    pub(crate) fn take_free(&self) -> Option<Slot> {
        let mut inner = self.lock();
        inner.free = inner.free.checked_sub(1)?;
        Some(Slot(Some(self.clone())))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing below can panic with the lock held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(slots) = self.0.take() else { return };
        loop {
            let next = {
                let mut inner = slots.lock();
                let next = inner.waiting.pop_first();
                if next.is_none() {
                    inner.free += 1;
                }
                next
            };
            let Some((_, waiting)) = next else { return };
            match waiting.send(Slot(Some(slots.clone()))) {
                Ok(()) => return,
                // That waiter has gone. Disarmed, so that a crowd that left together is passed
                // over in this loop and not by recursion.
                Err(mut unused) => drop(unused.0.take()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
