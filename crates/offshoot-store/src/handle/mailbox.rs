//! A thread with a mailbox.
//!
//! Sending never blocks, so async code may send. The queue has no bound of its
//! own because its senders have one: an agent waits for each of its appends, and
//! a reader for each of its reads, so what is in a mailbox is at most what is
//! alive. The thread is owned: dropping the worker lets it finish what is queued
//! and joins it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use offshoot_types::store::{StoreError, StoreErrorKind};

/// Where a thread finds its work.
pub(super) struct Mailbox<T> {
    state: Mutex<State<T>>,
    ready: Condvar,
}

struct State<T> {
    queue: VecDeque<T>,
    closed: bool,
    /// Whether the thread waits: waking one that does not costs a system call all the same.
    waiting: bool,
}

/// What was found in a mailbox.
pub(super) enum Taken<T> {
    Items(Vec<T>),
    /// Nothing came in time.
    Nothing,
    /// It is closed and empty.
    Closed,
}

impl<T> Mailbox<T> {
    /// Leaves something, unless the thread is gone; then it is dropped.
    pub(super) fn send(&self, item: T) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        state.queue.push_back(item);
        let wake = state.waiting;
        state.waiting = false;
        drop(state);
        if wake {
            self.ready.notify_one();
        }
    }

    /// Leaves something, unless something waits already.
    pub(super) fn send_if_empty(&self, item: T) {
        if self.lock().queue.is_empty() {
            self.send(item);
        }
    }

    /// Waits, then takes what is there, up to `most`; `None` when it is closed and empty.
    pub(super) fn take(&self, most: usize) -> Option<Vec<T>> {
        match self.take_within(most, None) {
            Taken::Items(items) => Some(items),
            Taken::Nothing | Taken::Closed => None,
        }
    }

    /// Like `take`, and gives up when it has waited for that long.
    pub(super) fn take_within(&self, most: usize, patience: Option<Duration>) -> Taken<T> {
        let mut state = self.lock();
        while state.queue.is_empty() && !state.closed {
            state.waiting = true;
            let (woken, time_is_up) = match patience {
                None => {
                    let woken = self.ready.wait(state);
                    (woken.unwrap_or_else(PoisonError::into_inner), false)
                }
                Some(patience) => {
                    let woken = self.ready.wait_timeout(state, patience);
                    let (state, waited) = woken.unwrap_or_else(PoisonError::into_inner);
                    (state, waited.timed_out())
                }
            };
            state = woken;
            if time_is_up && state.queue.is_empty() && !state.closed {
                state.waiting = false;
                return Taken::Nothing;
            }
        }
        let count = state.queue.len().min(most);
        match count {
            0 => Taken::Closed,
            _ => Taken::Items(state.queue.drain(..count).collect()),
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread, its mailbox, and the duty to join it.
pub(super) struct Worker<T> {
    mailbox: Arc<Mailbox<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a thread that works until its mailbox is closed and empty.
    pub(super) fn start(
        name: &str,
        work: impl FnOnce(&Mailbox<T>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let mailbox = Arc::new(Mailbox {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                closed: false,
                waiting: false,
            }),
            ready: Condvar::new(),
        });
        let theirs = Arc::clone(&mailbox);
        let thread = spawn(name, move || {
            // Whatever ends the thread, those who wait for an answer are told: by the drop of it.
            let leaving = Leaving(&theirs);
            work(leaving.0);
        })?;
        Ok(Self {
            mailbox,
            thread: Some(thread),
        })
    }

    /// Returns the mailbox.
    pub(super) fn mailbox(&self) -> &Arc<Mailbox<T>> {
        &self.mailbox
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.mailbox.close();
        join(&mut self.thread);
    }
}

/// Starts a thread that its caller joins.
pub(super) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map_err(|error| {
        let message = format!("start the thread {name}: {error}");
        StoreError::new(StoreErrorKind::Io, message)
    })
}

/// Joins a thread, unless it is this one, which happens when a subscriber held the last handle.
pub(super) fn join(thread: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = thread.take()
        && thread.thread().id() != thread::current().id()
        && thread.join().is_err()
    {
        // It panicked, which the panic hook has told; those who waited for it were answered.
    }
}

struct Leaving<'a, T>(&'a Mailbox<T>);

impl<T> Drop for Leaving<'_, T> {
    fn drop(&mut self) {
        self.0.close();
        self.0.lock().queue.clear();
    }
}
