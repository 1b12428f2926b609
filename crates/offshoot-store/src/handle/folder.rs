//! The data folder: the database, the locks, the sockets.
//!
//! Who holds the lock of a tree holds the tree; see `locks`. Whoever holds any
//! hears nudges over a socket of its own. One more lock, which all share, tells
//! whether anybody else has the database open.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use offshoot_types::id::TreeId;
use offshoot_types::store::{StoreError, StoreErrorKind};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use super::locks::{Locks, is_held};
use super::nudge::{Ears, Sockets};
use super::place::{Hold, Listeners, Place};
use crate::sqlite::{Company, Damage, Mark, Sqlite, has_log};

/// A data folder, as one handle uses it.
pub(super) struct Folder {
    path: PathBuf,
    locks: Locks,
    sockets: Arc<Sockets>,
    listeners: Listeners,
    /// Says to others that the database is open.
    presence: File,
    /// What is known of damage, from when the database was opened.
    damage: OnceLock<Damage>,
    /// Where this handle hears nudges, from its first claim on.
    ears: Mutex<Option<Ears>>,
}

impl Folder {
    /// Opens a folder, or makes it, for its owner only.
    pub(super) fn open(path: &Path, listeners: Listeners) -> Result<Self, StoreError> {
        let open = || {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(path.join("nudge"))?;
            let sockets = Sockets::open(&path.join("nudge"))?;
            Ok((Locks::open(path)?, sockets, lock_file(&presence(path))?))
        };
        let (locks, sockets, presence) =
            open().map_err(|error| failed("open the data folder", path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            locks,
            sockets: Arc::new(sockets),
            listeners,
            presence,
            damage: OnceLock::new(),
            ears: Mutex::new(None),
        })
    }

    /// Opens the database, and is there from then on until it is dropped.
    ///
    /// Whoever is alone keeps others out meanwhile, so that nobody writes to what is still looked at.
    pub(super) fn enter(&self) -> Result<Sqlite, StoreError> {
        let failed =
            |error: io::Error| failed("take the lock of the data folder", &self.path, &error);
        let company = self.company().map_err(failed)?;
        let opened = Sqlite::open_in(company, &database(&self.path))?;
        share(&self.presence).map_err(failed)?;
        self.damage.get_or_init(|| opened.damage().clone());
        Ok(opened)
    }

    /// Takes the lock, for itself where nobody else has it.
    fn company(&self) -> io::Result<Company> {
        loop {
            if try_lock(&self.presence, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Company::Nobody(self.closed()));
            }
            if try_lock(&self.presence, FlockOperation::NonBlockingLockShared)? {
                return Ok(Company::Others);
            }
            // Somebody is alone with it. They let us in, or find damage and leave: then it is for us to
            // look.
            share(&self.presence)?;
        }
    }

    /// Returns what the database looked like when it was closed last, if anybody has said.
    fn closed(&self) -> Option<Mark> {
        let text = fs::read_to_string(presence(&self.path)).ok()?;
        Mark::read(&text)
    }

    /// Says what the database looks like now that it is closed.
    fn mark(&self) -> io::Result<()> {
        let database = database(&self.path);
        // Whoever has it open yet will say so themselves.
        let mark = Mark::of(&database).filter(|_| !has_log(&database));
        let line = mark.map_or_else(String::new, |mark| mark.line());
        self.presence.set_len(0)?;
        self.presence.write_all_at(line.as_bytes(), 0)
    }

    /// Listens for nudges from now on.
    fn listen(&self) {
        let mut ears = self.ears.lock().unwrap_or_else(PoisonError::into_inner);
        if ears.is_none() {
            // Without a socket the owner still polls, so this is no reason to fail.
            *ears = Ears::open(&self.sockets, &self.listeners).ok();
        }
    }
}

impl Drop for Folder {
    /// By now every connection of the handle is closed.
    fn drop(&mut self) {
        let sound = self
            .damage
            .get()
            .is_some_and(|damage| damage.met().is_none());
        if sound {
            // Without a mark the file is looked through when it is opened next: that is all.
            drop(self.mark());
        }
    }
}

impl Place for Folder {
    fn hold(&self, tree: &TreeId) -> Result<Option<Arc<Hold>>, StoreError> {
        let lock = self.locks.take(tree);
        let lock = lock.map_err(|error| failed("take the lock of a tree", &self.path, &error))?;
        if lock.is_some() {
            self.listen();
        }
        Ok(lock.map(Hold::new))
    }

    fn is_held(&self, tree: &TreeId) -> bool {
        is_held(&self.path, tree)
    }

    fn nudge(&self, tree: &TreeId) {
        self.sockets.send(tree);
    }
}

/// Returns the lock that all share who have the database open.
fn presence(folder: &Path) -> PathBuf {
    folder.join("open.lock")
}

/// Returns where the database of a data folder is.
pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join("offshoot.db")
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

/// Tries to take a lock; `false` if somebody has one that does not go with it.
fn try_lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes a lock that others may have too, and waits for whoever has it alone.
fn share(file: &File) -> io::Result<()> {
    Ok(retry_on_intr(|| flock(file, FlockOperation::LockShared))?)
}

fn failed(what: &str, path: &Path, error: &io::Error) -> StoreError {
    let kind = if error.kind() == io::ErrorKind::StorageFull {
        StoreErrorKind::Full
    } else {
        StoreErrorKind::Io
    };
    StoreError::new(kind, format!("{what} {}: {error}", path.display()))
}
