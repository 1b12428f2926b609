//! Room in the write-ahead log.
//!
//! A file that is written over is on disk sooner than one that grows, whose
//! length has to be stored as well: half the time of a small commit. Whoever
//! closes the database last removes the log, so that each process would begin
//! with one that grows. Before its first commit it fills the log with zeros up
//! to what a short session needs; to SQLite a page of zeros is where the log ends.
//!
//! Only to be made by who holds the lock for writing: otherwise the zeros might
//! come down on what somebody else has just written there.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How long a log is at least. What a short session writes; more would make its start slower.
const ROOM: u64 = 1024 * 1024;

/// What has to be done for room in the log.
#[derive(Debug)]
pub(super) enum Room {
    /// There is no log, or room has been made.
    Made,
    /// To be made in the log of this database.
    Wanted(PathBuf),
}

impl Room {
    /// Room for the log of a database.
    pub(super) fn wanted(database: &Path) -> Self {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Self::Wanted(log.into())
    }

    /// Makes room if that has not been done. Without room the log grows, and that is all.
    pub(super) fn make(&mut self) {
        if let Self::Wanted(log) = std::mem::replace(self, Self::Made)
            && let Ok(log) = OpenOptions::new().write(true).open(log)
        {
            fill(&log);
        }
    }
}

fn fill(log: &File) {
    let Ok(length) = log.metadata().map(|log| log.len()) else {
        return;
    };
    let zeros = vec![0; usize::try_from(ROOM.saturating_sub(length)).unwrap_or(0)];
    if log.write_all_at(&zeros, length).is_err() {
        // A full disk has something better to do with what is left.
        drop(log.set_len(length));
    }
}
