//! The writer: many appends, one transaction, one fsync (R6).
//!
//! Takes whatever waits and commits it as one group; while the disk works, the
//! next group gathers. After the commit it first tells the subscriber, tree by
//! tree in the order of positions, and then the callers that wait (R4). It also
//! owns what this handle holds, so that locks are taken before and let go after
//! the transaction that says so. A subscriber that panics costs its tree the
//! ownership, as a crash would, and no other tree anything.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use offshoot_types::command::Command;
use offshoot_types::event::Entry;
use offshoot_types::id::{Epoch, Timestamp, TreeId};
use offshoot_types::journal::Recorded;
use offshoot_types::store::{Append, Created, Lease, StoreError, StoreErrorKind};
use tokio::sync::oneshot;

use super::mailbox::Mailbox;
use super::place::{Hold, Listeners, Place};
use crate::backend::{Backend, Write, Written};

/// Most writes in a group; in unit tests so few that what waits needs more than one.
const MOST: usize = if cfg!(test) { 3 } else { 1024 };

/// Where the answer to a request goes.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What is asked of the writer.
pub(super) enum Job {
    Claim(TreeId, Reply<Lease>),
    Create(TreeId, Append, Reply<Option<Created>>),
    Release(Lease, Reply<Option<Lease>>),
    Delete(Lease, Reply<()>),
    Append(TreeId, Epoch, Append, Reply<Vec<Arc<Entry>>>),
    Journal(TreeId, Epoch, Recorded, Reply<()>),
    Submit(Command, Timestamp, Reply<()>),
}

/// Who waits for a write, and with what.
enum Waiting {
    Claim(TreeId, Arc<Hold>, Reply<Lease>),
    Create(TreeId, Arc<Hold>, Reply<Option<Created>>),
    Release(Lease, Reply<Option<Lease>>),
    Delete(Lease, Reply<()>),
    Append(Reply<Vec<Arc<Entry>>>),
    Journal(Reply<()>),
    Submit(TreeId, Reply<()>),
}

/// The writer's thread.
pub(super) struct Writer {
    pub(super) backend: Box<dyn Backend>,
    pub(super) place: Arc<dyn Place>,
    pub(super) listeners: Listeners,
    /// Called after each commit.
    pub(super) after: Box<dyn FnMut() + Send>,
    pub(super) held: Held,
}

impl Writer {
    pub(super) fn run(mut self, mailbox: &Mailbox<Job>) {
        let mut ready = false;
        while let Some(jobs) = mailbox.take(MOST) {
            self.group(jobs);
            if !ready {
                // Whoever began waits for a model now.
                self.backend.make_ready();
                ready = true;
            }
        }
        self.held.let_all_go();
    }

    fn group(&mut self, jobs: Vec<Job>) {
        let mut writes = Vec::with_capacity(jobs.len());
        let mut waiting = Vec::with_capacity(jobs.len());
        for job in jobs {
            if let Some((write, who)) = self.admit(job) {
                writes.push(write);
                waiting.push(who);
            }
        }
        let mut results = self.backend.commit(writes);
        for tree in self.publish(&results) {
            self.give_up(&tree, &mut results);
        }
        let mut nudges = Vec::new();
        for (who, result) in waiting.into_iter().zip(results) {
            nudges.extend(self.answer(who, result));
        }
        for tree in nudges {
            self.place.nudge(&tree);
        }
        (self.after)();
    }

    /// Turns a job into a write, or answers it at once.
    fn admit(&mut self, job: Job) -> Option<(Write, Waiting)> {
        match job {
            Job::Claim(tree, reply) => match self.hold(&tree) {
                Ok(hold) => Some((
                    Write::Claim(tree.clone()),
                    Waiting::Claim(tree, hold, reply),
                )),
                Err(error) => {
                    answer(reply, Err(error));
                    None
                }
            },
            Job::Create(tree, append, reply) => match self.hold(&tree) {
                Ok(hold) => Some((
                    Write::Create(tree.clone(), append),
                    Waiting::Create(tree, hold, reply),
                )),
                Err(error) => {
                    answer(reply, Err(error));
                    None
                }
            },
            Job::Release(lease, reply) => Some((
                Write::Release(lease.tree.clone(), lease.epoch),
                Waiting::Release(lease, reply),
            )),
            Job::Delete(lease, reply) => Some((
                Write::Delete(lease.tree.clone(), lease.epoch),
                Waiting::Delete(lease, reply),
            )),
            Job::Append(tree, epoch, append, reply) => {
                Some((Write::Append(tree, epoch, append), Waiting::Append(reply)))
            }
            Job::Journal(tree, epoch, recorded, reply) => Some((
                Write::Journal(tree, epoch, recorded),
                Waiting::Journal(reply),
            )),
            Job::Submit(command, at, reply) => {
                let tree = command.tree.clone();
                Some((Write::Submit(command, at), Waiting::Submit(tree, reply)))
            }
        }
    }

    /// Takes hold of a tree.
    fn hold(&self, tree: &TreeId) -> Result<Arc<Hold>, StoreError> {
        self.place.hold(tree)?.ok_or_else(|| {
            let message = format!("take over session {tree}: another process has it");
            StoreError::new(StoreErrorKind::Held, message)
        })
    }

    /// Tells the subscriber what was committed, each tree's entries at once; returns the trees for
    /// which it panicked.
    fn publish(&self, results: &[Result<Written, StoreError>]) -> Vec<TreeId> {
        let Some((committed, _)) = self.listeners.get() else {
            return Vec::new();
        };
        let mut trees: Vec<Vec<Arc<Entry>>> = Vec::new();
        let mut places: HashMap<&TreeId, usize> = HashMap::new();
        for result in results {
            let Ok(Written::Appended(entries) | Written::Created(_, entries)) = result else {
                continue;
            };
            let Some(first) = entries.first() else {
                continue;
            };
            let place = *places.entry(&first.tree).or_insert(trees.len());
            match trees.get_mut(place) {
                Some(tree) => tree.extend(entries.iter().cloned()),
                None => trees.push(entries.clone()),
            }
        }
        let panics = |entries: &Vec<Arc<Entry>>| {
            catch_unwind(AssertUnwindSafe(|| committed(entries.as_slice()))).is_err()
        };
        trees.retain(panics);
        let tree = |entries: &Vec<Arc<Entry>>| entries.first().map(|entry| entry.tree.clone());
        trees.iter().filter_map(tree).collect()
    }

    /// Ends the ownership of a tree whose subscriber panicked: what this process knows of the tree is
    /// not what the log says any more.
    ///
    /// The entries stay. The epoch is raised, so that the leases of this process are fenced, and the
    /// lock is let go: the next claim, of any process, finds the tree as a crash would leave it.
    fn give_up(&mut self, tree: &TreeId, results: &mut [Result<Written, StoreError>]) {
        let raised = self.backend.commit(vec![Write::Claim(tree.clone())]);
        if raised.iter().all(Result::is_ok) {
            self.held.let_go(tree);
        }
        let error = StoreError::new(
            StoreErrorKind::Fenced,
            format!("append to session {tree}: its subscriber panicked, so it was given up"),
        );
        for result in results {
            if let Ok(Written::Appended(entries) | Written::Created(_, entries)) = result
                && entries.first().is_some_and(|entry| entry.tree == *tree)
            {
                *result = Err(error.clone());
            }
        }
    }

    /// Answers who waited; returns the tree whose owner should be nudged.
    fn answer(&mut self, who: Waiting, result: Result<Written, StoreError>) -> Option<TreeId> {
        match (who, result) {
            (Waiting::Claim(tree, hold, reply), Ok(Written::Claimed(epoch))) => {
                self.held.keep(&tree, &hold);
                answer(reply, Ok(Lease::new(tree, epoch, hold)));
            }
            (Waiting::Create(tree, hold, reply), Ok(Written::Created(epoch, entries))) => {
                self.held.keep(&tree, &hold);
                answer(reply, Ok(Some((Lease::new(tree, epoch, hold), entries))));
            }
            (Waiting::Create(_, hold, reply), Ok(Written::Exists)) => {
                drop(hold);
                answer(reply, Ok(None));
            }
            (Waiting::Release(lease, reply), Ok(Written::Released(released))) => {
                if released {
                    self.held.let_go(&lease.tree);
                }
                answer(reply, Ok((!released).then_some(lease)));
            }
            (Waiting::Delete(lease, reply), Ok(Written::Deleted)) => {
                self.held.let_go(&lease.tree);
                answer(reply, Ok(()));
            }
            (Waiting::Append(reply), Ok(Written::Appended(entries))) => answer(reply, Ok(entries)),
            (Waiting::Journal(reply), Ok(Written::Journaled)) => answer(reply, Ok(())),
            (Waiting::Submit(tree, reply), Ok(Written::Submitted)) => {
                answer(reply, Ok(()));
                return Some(tree);
            }
            (who, Err(error)) => who.fail(error),
            (who, Ok(written)) => who.fail(StoreError::new(
                StoreErrorKind::Io,
                format!("the store answered something else: {written:?}"),
            )),
        }
        None
    }
}

impl Waiting {
    /// Answers with an error, after what was held for it has been let go.
    fn fail(self, error: StoreError) {
        match self {
            Self::Claim(_, hold, reply) => {
                drop(hold);
                answer(reply, Err(error));
            }
            Self::Create(_, hold, reply) => {
                drop(hold);
                answer(reply, Err(error));
            }
            Self::Release(_, reply) => answer(reply, Err(error)),
            Self::Append(reply) => answer(reply, Err(error)),
            Self::Delete(_, reply) => answer(reply, Err(error)),
            Self::Submit(_, reply) => answer(reply, Err(error)),
            Self::Journal(reply) => answer(reply, Err(error)),
        }
    }
}

fn answer<T>(reply: Reply<T>, result: Result<T, StoreError>) {
    if reply.send(result).is_err() {
        // Nobody waits any more. What was written stays written.
    }
}

/// What this handle holds, as far as a lease of it lives.
#[derive(Default)]
pub(super) struct Held {
    holds: HashMap<TreeId, Weak<Hold>>,
    sweep_at: usize,
}

impl Held {
    fn keep(&mut self, tree: &TreeId, hold: &Arc<Hold>) {
        if self.holds.len() >= self.sweep_at {
            // Leases that were dropped leave their names here.
            self.holds.retain(|_, hold| hold.strong_count() > 0);
            self.sweep_at = 64 + 2 * self.holds.len();
        }
        self.holds.insert(tree.clone(), Arc::downgrade(hold));
    }

    fn let_go(&mut self, tree: &TreeId) {
        if let Some(hold) = self.holds.remove(tree).and_then(|hold| hold.upgrade()) {
            hold.let_go();
        }
    }

    fn let_all_go(&mut self) {
        for (_, hold) in self.holds.drain() {
            if let Some(hold) = hold.upgrade() {
                hold.let_go();
            }
        }
    }
}
