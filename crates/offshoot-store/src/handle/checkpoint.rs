//! Checkpoints: moving what the write-ahead log holds into the database.
//!
//! On a thread and a connection of their own, because a checkpoint inside a
//! commit is what makes a commit slow (p99 5 ms against 0.7 ms). What there is
//! is copied while others write; what came meanwhile is little, and is copied in
//! a moment when nobody does, so that the log can begin anew in the same place: a
//! file that is written over is on disk sooner than one that grows. Nobody is
//! waited for: a log that could not begin anew has another chance at the next
//! checkpoint, and is cut when it has grown large all the same. One that holds what
//! was deleted is tried again until it is cut, for as long as there is this handle.
//! Nothing is copied into a file that is known to be damaged.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::mailbox::{Mailbox, Taken, Worker};
use crate::sqlite::{Damage, checkpointer};
use offshoot_types::store::StoreError;

/// Pages in the log that are worth a checkpoint: 16 MiB. The pages that every commit writes are then
/// copied once for many; what a process that died leaves to be read again stays small. In unit tests
/// every few commits.
const WORTH_IT: u64 = if cfg!(test) { 16 } else { 4096 };

/// Pages in the log that are too many to be left lying there: 64 MiB.
const TOO_MANY: i64 = if cfg!(test) { 64 } else { 16 * 1024 };

/// How often we try to find a moment when nobody writes, and how long we let go in between.
const MOMENTS: usize = 32;

/// The same where the log holds what somebody wants gone.
const MOMENTS_AFTER_A_DELETION: usize = 1024;

const MOMENT: Duration = Duration::from_micros(200);

/// How long a log that holds what was deleted is left alone before it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// How often it is tried, and with what pauses, for somebody who waits.
const TRIES_FOR_SOMEBODY: usize = 3;
const PAUSE_FOR_SOMEBODY: Duration = Duration::from_millis(100);

/// The thread that makes checkpoints.
pub(super) struct Checkpoints {
    worker: Worker<Wanted>,
    deleted: Arc<AtomicBool>,
}

/// What is asked of the thread.
pub(super) enum Wanted {
    Checkpoint,
    /// That the log holds nothing that was deleted, and to be told whether it does not.
    Swept(oneshot::Sender<bool>),
}

impl Checkpoints {
    /// Starts the thread; `deleted` says that the log holds what was deleted.
    pub(super) fn start(
        database: PathBuf,
        damage: Damage,
        deleted: Arc<AtomicBool>,
    ) -> Result<Self, StoreError> {
        let mut log = Log {
            connection: None,
            database,
            damage,
            deleted: Arc::clone(&deleted),
            is_owed: false,
        };
        let work = move |mailbox: &Mailbox<Wanted>| log.work(mailbox);
        let worker = Worker::start("offshoot-checkpoint", work)?;
        Ok(Self { worker, deleted })
    }

    /// Cuts the log if it holds what was deleted; tells whether it holds none of it any more.
    pub(super) async fn swept(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        self.worker.mailbox().send(Wanted::Swept(reply));
        // Who found damage makes no checkpoint any more.
        answer.await.unwrap_or(false)
    }

    /// Returns what the writer calls after each commit, given the size of the log.
    pub(super) fn watch(&self, pages: Arc<AtomicU64>) -> impl FnMut() + Send + use<> {
        let mailbox = Arc::clone(self.worker.mailbox());
        let deleted = Arc::clone(&self.deleted);
        let mut last = 0;
        move || {
            if deleted.load(Ordering::Relaxed) {
                mailbox.send(Wanted::Checkpoint);
            }
            let now = pages.load(Ordering::Relaxed);
            if now < last {
                // It was copied as a whole and began anew.
                last = 0;
            }
            if now - last >= WORTH_IT {
                last = now;
                mailbox.send_if_empty(Wanted::Checkpoint);
            }
        }
    }
}

/// The log, as its thread has it.
struct Log {
    connection: Option<Connection>,
    database: PathBuf,
    damage: Damage,
    /// Set with every deletion.
    deleted: Arc<AtomicBool>,
    /// Something was deleted, and the log has not been cut since.
    is_owed: bool,
}

impl Log {
    fn work(&mut self, mailbox: &Mailbox<Wanted>) {
        loop {
            let patience = self.is_owed.then_some(AGAIN);
            let wanted = match mailbox.take_within(usize::MAX, patience) {
                Taken::Items(wanted) => wanted,
                Taken::Nothing => Vec::new(),
                Taken::Closed => break,
            };
            if self.damage.met().is_some() {
                return self.leave();
            }
            self.checkpoint();
            for wanted in wanted {
                if let Wanted::Swept(reply) = wanted
                    && reply.send(self.sweep()).is_err()
                {
                    // Nobody waits any more. It is tried again all the same.
                }
            }
        }
        if self.is_owed && self.damage.met().is_none() {
            self.checkpoint();
        }
        self.leave();
    }

    /// Makes a checkpoint, and cuts the log if it holds what was deleted.
    fn checkpoint(&mut self) {
        // Before the work: what is deleted meanwhile may come too late for it.
        self.is_owed |= self.deleted.swap(false, Ordering::Relaxed);
        let until = if self.is_owed {
            Until::Cut
        } else {
            Until::BegunAnew
        };
        if self.connection.is_none() {
            // If it cannot be opened, the log grows until it can.
            self.connection = checkpointer(&self.database).ok();
        }
        let Some(connection) = &self.connection else {
            return;
        };
        match checkpoint(connection, until) {
            Ok(Left::Clear) => self.is_owed = false,
            Ok(Left::Busy) => {}
            Err(error) => {
                // A full disk, a busy file: tried again when the log has grown further, and costs
                // nothing but its length. Damage is remembered.
                let place = shown(&self.database);
                drop(self.damage.explain(error, &place, "make a checkpoint"));
            }
        }
    }

    /// Goes on for a while if the log is still to be cut; tells whether it is not.
    fn sweep(&mut self) -> bool {
        for _ in 1..TRIES_FOR_SOMEBODY {
            if !self.is_owed || self.damage.met().is_some() {
                break;
            }
            thread::sleep(PAUSE_FOR_SOMEBODY);
            self.checkpoint();
        }
        !self.is_owed
    }

    fn leave(&self) {
        if let Some(connection) = &self.connection {
            self.damage.spare(connection);
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What is to become of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// It is written over from its beginning.
    BegunAnew,
    /// It is empty.
    Cut,
}

/// What a checkpoint left in the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// What was wanted.
    Clear,
    /// More, because others were in the way.
    Busy,
}

fn checkpoint(connection: &Connection, until: Until) -> rusqlite::Result<Left> {
    let run = |mode| {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        connection.query_row(&sql, [], |row| {
            Ok(Copied {
                whole: row.get::<_, i64>(0)? == 0,
                pages: row.get(1)?,
            })
        })
    };
    let Copied { pages, .. } = run("PASSIVE").and_then(|_| run("PASSIVE"))?;
    let (mode, moments) = match until {
        Until::Cut => ("TRUNCATE", MOMENTS_AFTER_A_DELETION),
        Until::BegunAnew if pages > TOO_MANY => ("TRUNCATE", MOMENTS),
        Until::BegunAnew => ("RESTART", MOMENTS),
    };
    for _ in 0..moments {
        if run(mode)?.whole {
            return Ok(Left::Clear);
        }
        // Busy: somebody writes, or reads what is in the log.
        thread::sleep(MOMENT);
    }
    Ok(Left::Busy)
}

/// What a checkpoint did.
struct Copied {
    /// Whether nobody was in its way.
    whole: bool,
    /// Pages in the log.
    pages: i64,
}
