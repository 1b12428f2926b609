//! Checkpoints: moving what the write-ahead log holds into the database.
//!
//! On a thread and a connection of their own, because a checkpoint inside a
//! commit is what makes a commit slow (p99 5 ms against 0.7 ms). What there is
//! is copied while others write; what came meanwhile is little, and is copied in
//! a moment when nobody does, so that the log can begin anew in the same place: a
//! file that is written over is on disk sooner than one that grows. Nobody is
//! waited for: a log that could not begin anew has another chance at the next
//! checkpoint, and is cut when it has grown large all the same, or when it holds
//! what was deleted. Nothing is copied into a file that is known to be damaged.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::mailbox::{Mailbox, Worker};
use crate::sqlite::{Damage, checkpointer};
use offshoot_types::store::StoreError;

/// Pages in the log that are worth a checkpoint: 16 MiB. The pages that every commit writes are then
/// copied once for many; what a process that died leaves to be read again stays small.
const WORTH_IT: u64 = 4096;

/// Pages in the log that are too many to be left lying there: 64 MiB.
const TOO_MANY: i64 = 16 * 1024;

/// How often we try to find a moment when nobody writes, and how long we let go in between.
const MOMENTS: usize = 32;

/// The same where the log holds what somebody wants gone.
const MOMENTS_AFTER_A_DELETION: usize = 1024;

const MOMENT: Duration = Duration::from_micros(200);

/// The thread that makes checkpoints.
pub(super) struct Checkpoints {
    worker: Worker<()>,
    deleted: Arc<AtomicBool>,
}

impl Checkpoints {
    /// Starts the thread; `deleted` says that the log holds what was deleted.
    pub(super) fn start(
        database: PathBuf,
        damage: Damage,
        deleted: Arc<AtomicBool>,
    ) -> Result<Self, StoreError> {
        let is_deleted = Arc::clone(&deleted);
        let worker = Worker::start("offshoot-checkpoint", move |mailbox: &Mailbox<()>| {
            let mut connection = None;
            while mailbox.take(usize::MAX).is_some() && damage.met().is_none() {
                if connection.is_none() {
                    // If it cannot be opened, the log grows until it can.
                    connection = checkpointer(&database).ok();
                }
                let until = if is_deleted.swap(false, Ordering::Relaxed) {
                    Until::Cut
                } else {
                    Until::BegunAnew
                };
                if let Some(connection) = &connection
                    && let Err(error) = checkpoint(connection, until)
                {
                    // A full disk, a busy file: tried again when the log has grown further, and costs
                    // nothing but its length. Damage is remembered.
                    let place = database.display().to_string();
                    drop(damage.explain(error, &place, "make a checkpoint"));
                }
            }
            if let Some(connection) = &connection {
                damage.spare(connection);
            }
        })?;
        Ok(Self { worker, deleted })
    }

    /// Returns what the writer calls after each commit, given the size of the log.
    pub(super) fn watch(&self, pages: Arc<AtomicU64>) -> impl FnMut() + Send + use<> {
        let mailbox = Arc::clone(self.worker.mailbox());
        let deleted = Arc::clone(&self.deleted);
        let mut last = 0;
        move || {
            if deleted.load(Ordering::Relaxed) {
                mailbox.send(());
            }
            let now = pages.load(Ordering::Relaxed);
            if now < last {
                // It was copied as a whole and began anew.
                last = 0;
            }
            if now - last >= WORTH_IT {
                last = now;
                mailbox.send_if_empty(());
            }
        }
    }
}

/// What is to become of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// It is written over from its beginning.
    BegunAnew,
    /// It is empty.
    Cut,
}

fn checkpoint(connection: &Connection, until: Until) -> rusqlite::Result<()> {
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
            break;
        }
        // Busy: somebody writes, or reads what is in the log.
        thread::sleep(MOMENT);
    }
    Ok(())
}

/// What a checkpoint did.
struct Copied {
    /// Whether nobody was in its way.
    whole: bool,
    /// Pages in the log.
    pages: i64,
}
