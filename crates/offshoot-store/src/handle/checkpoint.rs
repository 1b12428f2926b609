//! Checkpoints: moving what the write-ahead log holds into the database.
//!
//! On a thread and a connection of their own, because a checkpoint inside a
//! commit is what makes a commit slow (p99 5 ms against 0.7 ms). A passive one
//! waits for nobody. Only a log that has grown large although it was copied is
//! cut, and only if nobody writes at that moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use super::mailbox::{Mailbox, Worker};
use crate::sqlite::checkpointer;
use offshoot_types::store::StoreError;

/// Pages in the log that are worth a checkpoint: 4 MiB.
const WORTH_IT: u64 = 1024;

/// Pages in the log that are too many to be left lying there: 64 MiB.
const TOO_MANY: i64 = 16 * 1024;

/// The thread that makes checkpoints.
pub(super) struct Checkpoints {
    worker: Worker<()>,
}

impl Checkpoints {
    pub(super) fn start(database: PathBuf) -> Result<Self, StoreError> {
        let worker = Worker::start("offshoot-checkpoint", move |mailbox: &Mailbox<()>| {
            let mut connection = None;
            while mailbox.take(usize::MAX).is_some() {
                if connection.is_none() {
                    // If it cannot be opened, the log grows until it can.
                    connection = checkpointer(&database).ok();
                }
                if let Some(connection) = &connection {
                    checkpoint(connection);
                }
            }
        })?;
        Ok(Self { worker })
    }

    /// Returns what the writer calls after each commit, given the size of the log.
    pub(super) fn watch(&self, pages: Arc<AtomicU64>) -> impl FnMut() + Send + use<> {
        let mailbox = Arc::clone(self.worker.mailbox());
        let mut last = 0;
        move || {
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

fn checkpoint(connection: &Connection) {
    let pragma = |mode| {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        connection.query_row(&sql, [], |row| row.get::<_, i64>(1))
    };
    // What fails here (a full disk, a busy file) is tried again when the log has grown further, and
    // costs nothing but its length.
    if pragma("PASSIVE").is_ok_and(|pages| pages > TOO_MANY) && pragma("TRUNCATE").is_err() {
        // Somebody reads or writes.
    }
}
