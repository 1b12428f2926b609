//! Who holds which tree: one file, and a byte of it for each tree.
//!
//! A lock on a byte belongs to the open file it was taken through: the kernel
//! gives it back when the process dies, and two handles of one process keep each
//! other out like two processes do. The file is empty and never unlinked: a name
//! that came back as another file would be two locks. A session costs no file and
//! no descriptor. Which byte is said by a hash of the id; should two ids ever share
//! one, they wait for each other and nothing else happens.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::{self, flock};
use offshoot_types::id::TreeId;

/// The locks of a data folder, as one handle uses them.
pub(super) struct Locks(Arc<Shared>);

struct Shared {
    file: File,
    /// The bytes that this handle has: to the kernel it may take its own once more.
    taken: Mutex<BTreeSet<i64>>,
}

/// A lock, until dropped.
pub(super) struct Lock {
    of: Arc<Shared>,
    byte: i64,
}

impl Locks {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(path(folder))?;
        Ok(Self(Arc::new(Shared {
            file,
            taken: Mutex::default(),
        })))
    }

    /// Takes the lock of a tree; `None` if somebody has it.
    pub(super) fn take(&self, tree: &TreeId) -> io::Result<Option<Lock>> {
        let byte = byte_of(tree);
        let mut taken = self.0.taken();
        if taken.contains(&byte) {
            return Ok(None);
        }
        let wanted = range(byte, libc::F_WRLCK);
        match fcntl(&self.0.file, FcntlArg::F_OFD_SETLK(&wanted)) {
            Ok(_) => {}
            Err(nix::Error::EAGAIN | nix::Error::EACCES) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        taken.insert(byte);
        Ok(Some(Lock {
            of: Arc::clone(&self.0),
            byte,
        }))
    }
}

impl Shared {
    fn taken(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        taken.remove(&self.byte);
        let given_back = range(self.byte, libc::F_UNLCK);
        if fcntl(&self.of.file, FcntlArg::F_OFD_SETLK(&given_back)).is_err() {
            // It cannot fail for a lock that we have; if it did, the end of the handle would free it.
        }
    }
}

/// Tells whether anybody holds a tree of a data folder, this process included. Takes no lock.
pub(crate) fn is_held(folder: &Path, tree: &TreeId) -> bool {
    let Ok(file) = File::open(path(folder)) else {
        return false;
    };
    let mut found = range(byte_of(tree), libc::F_WRLCK);
    let looked = fcntl(&file, FcntlArg::F_OFD_GETLK(&mut found));
    looked.is_ok() && i32::from(found.l_type) != libc::F_UNLCK
}

fn path(folder: &Path) -> PathBuf {
    folder.join("trees.lock")
}

fn range(byte: i64, kind: i32) -> flock {
    flock {
        l_type: i16::try_from(kind).unwrap_or(i16::MAX),
        l_whence: 0,
        l_start: byte,
        l_len: 1,
        l_pid: 0,
    }
}

/// FNV-1a of 64 bits, the same in every version.
fn byte_of(tree: &TreeId) -> i64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = tree.as_str().bytes();
    let hash = bytes.fold(BASIS, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    // The last byte of a file is at i64::MAX - 1.
    (hash >> 2).cast_signed()
}
