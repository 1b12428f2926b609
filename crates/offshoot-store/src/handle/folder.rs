//! The data folder: the database, the locks, the sockets.
//!
//! Who holds the lock file of a tree holds the tree. The kernel gives the lock
//! back when the process dies. Lock files are never unlinked: a name that came
//! back as another file would be two locks. A lock file contains the name of its
//! holder's socket, which is worth something only while the lock is held. One more
//! lock, which all share, tells whether anybody else has the database open.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use offshoot_types::id::TreeId;
use offshoot_types::store::{StoreError, StoreErrorKind};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use super::nudge::{Ears, Sockets};
use super::place::{Hold, Listeners, Place};
use crate::sqlite::{Company, Damage, Mark, Sqlite, has_log};

/// How often a lock that only others' glances keep us from is tried again.
const TRIES: usize = 1000;

/// A data folder, as one handle uses it.
pub(super) struct Folder {
    path: PathBuf,
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
            builder.create(path.join("locks"))?;
            builder.create(path.join("nudge"))?;
            let sockets = Sockets::open(&path.join("nudge"))?;
            Ok((sockets, lock_file(&presence(path))?))
        };
        let (sockets, presence) =
            open().map_err(|error| failed("open the data folder", path, &error))?;
        Ok(Self {
            path: path.to_owned(),
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

    /// Returns the name of this handle's socket; `None` if it could not have one.
    fn socket(&self) -> Option<String> {
        let mut ears = self.ears.lock().unwrap_or_else(PoisonError::into_inner);
        if ears.is_none() {
            // Without a socket the owner still polls, so this is no reason to fail.
            *ears = Ears::open(&self.sockets, &self.listeners).ok();
        }
        ears.as_ref().map(|ears| ears.name().to_owned())
    }

    fn take(&self, path: &Path) -> io::Result<Option<File>> {
        let mut file = lock_file(path)?;
        if !lock(&file)? {
            return Ok(None);
        }
        file.set_len(0)?;
        if let Some(name) = self.socket() {
            file.write_all(name.as_bytes())?;
        }
        Ok(Some(file))
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
        let path = lock_path(&self.path, tree);
        let file = self.take(&path);
        let file = file.map_err(|error| failed("take the lock", &path, &error))?;
        Ok(file.map(Hold::new))
    }

    fn is_held(&self, tree: &TreeId) -> bool {
        is_held(&self.path, tree)
    }

    fn nudge(&self, tree: &TreeId) {
        if let Ok(name) = fs::read_to_string(lock_path(&self.path, tree)) {
            self.sockets.send(&name, tree);
        }
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

/// Tells whether anybody holds a tree of a data folder.
pub(crate) fn is_held(folder: &Path, tree: &TreeId) -> bool {
    let Ok(file) = File::open(lock_path(folder, tree)) else {
        return false;
    };
    // A shared lock is a glance: it is gone with the file, and claimers see through it.
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

fn lock_path(folder: &Path, tree: &TreeId) -> PathBuf {
    let name = format!("{:032x}.lock", fnv1a(tree.as_str().as_bytes()));
    folder.join("locks").join(name)
}

/// Takes a lock for itself; `false` if somebody has it.
///
/// Somebody who glances has a shared lock for a moment. If we can share it too, then nobody owns
/// it, and it is tried again.
fn lock(file: &File) -> io::Result<bool> {
    for _ in 0..TRIES {
        if try_lock(file, FlockOperation::NonBlockingLockExclusive)? {
            return Ok(true);
        }
        if !try_lock(file, FlockOperation::NonBlockingLockShared)? {
            return Ok(false);
        }
        std::thread::yield_now();
    }
    Ok(false)
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

/// FNV-1a of 128 bits: file names of ids that may be any text, the same in every version.
fn fnv1a(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(PRIME)
    })
}

fn failed(what: &str, path: &Path, error: &io::Error) -> StoreError {
    let kind = if error.kind() == io::ErrorKind::StorageFull {
        StoreErrorKind::Full
    } else {
        StoreErrorKind::Io
    };
    StoreError::new(kind, format!("{what} {}: {error}", path.display()))
}
