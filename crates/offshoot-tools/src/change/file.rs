//! Finding what a file contains, and replacing it at once or not at all.
//!
//! The new text goes to a draft beside the target, which is then renamed over
//! it: whoever reads the target sees the old text or the new, also after a crash.
//! Under a lock of the folder, which other processes of ours respect, the target
//! is read once more; it is replaced only if it is still what it was.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::time::Duration;

use offshoot_types::outcome::ErrorKind;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::belonging::Left;
use super::{belonging, draft};
use crate::confined::{self, Entered};
use crate::refusal::Refusal;
use crate::target::{RootKind, Target};

/// Biggest file that is changed, in bytes (TLS-08).
pub const MOST_BYTES: usize = 10 * 1024 * 1024;

/// How often the lock of a folder is tried for; some five seconds in all.
const TRIES: u32 = 1000;

/// What stands at a target.
pub(super) struct Found {
    pub(super) content: Vec<u8>,
    file: File,
    stat: Stat,
}

/// Reads the file at a target; `None` where there is none.
pub(super) fn find(target: &Target) -> Result<Option<Found>, Refusal> {
    let (folder, name) = split(target)?;
    let Some(root) = confined::root(target.root())? else {
        return Ok(None);
    };
    match confined::open(&root, folder, confined::FOLDER) {
        Ok(folder) => find_in(&folder, name, target),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(confined::explain(target, errno).into()),
    }
}

/// Replaces what a target contains, if that is still `before`.
pub(super) fn replace(target: &Target, before: Option<&[u8]>, after: &[u8]) -> Result<(), Refusal> {
    let (_, name) = split(target)?;
    let way = Way::to(target)?;
    let replaced = replace_in(&way.folder, name, target, before, after);
    if replaced.is_err() {
        way.undo();
    }
    replaced
}

/// Makes the folders on the way to a target that a client is about to write, if the target contains
/// `before`: the client then makes none, and follows no link to make them.
pub(super) fn prepare(target: &Target, before: Option<&[u8]>) -> Result<Way, Refusal> {
    let (_, name) = split(target)?;
    let way = Way::to(target)?;
    let found = find_in(&way.folder, name, target).and_then(|found| {
        if found.as_ref().map(|found| found.content.as_slice()) == before {
            Ok(())
        } else {
            Err(changed())
        }
    });
    match found {
        Ok(()) => Ok(way),
        Err(refusal) => {
            way.undo();
            Err(refusal)
        }
    }
}

fn replace_in(
    folder: &OwnedFd,
    name: &str,
    target: &Target,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<(), Refusal> {
    let explain = |errno| Refusal::from(confined::explain(target, errno));
    draft::sweep(folder);
    // What may be read by few is read by few in the draft as well.
    let mode = if before.is_some() { 0o600 } else { 0o666 };
    let (draft, file) = draft::create(folder, Mode::from_raw_mode(mode)).map_err(explain)?;
    let replaced = draft::fill(&file, after).and_then(|()| {
        let _lock = lock(folder, target)?;
        let found = find_in(folder, name, target)?;
        if found.as_ref().map(|found| found.content.as_slice()) != before {
            return Err(changed());
        }
        if let Some(Found {
            file: old, stat, ..
        }) = found
        {
            belonging::carry_over(&old, &stat, &file).map_err(|left| match left {
                Left::Errno(errno) => explain(errno),
                Left::Owner => Refusal::failed(format!(
                    "it belongs to another user (number {}), to whom it could not be given back, and \
                     is as it was",
                    stat.st_uid
                )),
            })?;
        }
        rename(folder, &draft, name, before.is_some()).map_err(|errno| match errno {
            Errno::EXIST => changed(),
            errno => explain(errno),
        })
    });
    replaced.map_err(
        |refusal| match rustix::fs::unlinkat(folder, &draft, AtFlags::empty()) {
            Ok(()) => refusal,
            Err(errno) => refusal.and(&format!("; {draft} stays behind: {errno}")),
        },
    )
}

/// Removes a file, if it is still `content`.
pub(super) fn remove(target: &Target, content: &[u8]) -> Result<(), Refusal> {
    let explain = |errno| Refusal::from(confined::explain(target, errno));
    let (folder, name) = split(target)?;
    let root = confined::root(target.root())?.ok_or_else(|| explain(Errno::NOENT))?;
    let folder = confined::open(&root, folder, confined::FOLDER).map_err(explain)?;
    draft::sweep(&folder);
    let _lock = lock(&folder, target)?;
    let found = find_in(&folder, name, target)?;
    if found.is_none_or(|found| found.content != content) {
        return Err(changed());
    }
    rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(explain)
}

/// The folders on the way to a file, and which of them were made for it.
pub(super) struct Way {
    folder: OwnedFd,
    /// Each with the folder that it is in.
    made: Vec<(OwnedFd, String)>,
}

impl Way {
    fn to(target: &Target) -> Result<Self, Refusal> {
        let (folders, _) = split(target)?;
        let mut way = Self {
            folder: confined::made_root(target.root())?,
            made: Vec::new(),
        };
        for part in folders.split('/').filter(|part| *part != ".") {
            if let Err(errno) = way.enter(part) {
                way.undo();
                return Err(confined::explain(target, errno).into());
            }
        }
        Ok(way)
    }

    fn enter(&mut self, part: &str) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(0o777);
        let Entered { folder, made } = confined::enter(&self.folder, part, mode)?;
        let above = std::mem::replace(&mut self.folder, folder);
        if made {
            self.made.push((above, part.to_owned()));
        }
        Ok(())
    }

    /// Removes what was made, as far as nobody has put something there.
    pub(super) fn undo(self) {
        for (above, name) in self.made.iter().rev() {
            if rustix::fs::unlinkat(above, name.as_str(), AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }
}

/// Refuses a size above the most; `what` leads up to it.
pub(super) fn check_size(bytes: usize, what: &str) -> Result<(), Refusal> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let why = format!("{what} {bytes} bytes, and files of at most {MOST_BYTES} can be changed");
    Err(Refusal::new(ErrorKind::TooLarge, why))
}

fn split(target: &Target) -> Result<(&str, &str), Refusal> {
    target
        .folder_and_name()
        .ok_or_else(|| match target.root().kind() {
            RootKind::Workspace => "it is the workspace, not a file".into(),
            RootKind::Scratch => "it is the scratch folder, not a file".into(),
        })
}

fn find_in(folder: &OwnedFd, name: &str, target: &Target) -> Result<Option<Found>, Refusal> {
    let explain = |errno| Refusal::from(confined::explain(target, errno));
    let file = match confined::open(folder, name, confined::READ) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(explain(errno)),
    };
    let stat = rustix::fs::fstat(&file).map_err(explain)?;
    confined::regular(&stat)?;
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    check_size(size, "it has")?;
    let mut content = Vec::with_capacity(size);
    let file = File::from(file);
    // It may grow while it is read.
    (&file)
        .take(MOST_BYTES as u64 + 1)
        .read_to_end(&mut content)
        .map_err(|error| error.to_string())?;
    check_size(content.len(), "it has at least")?;
    Ok(Some(Found {
        content,
        file,
        stat,
    }))
}

fn changed() -> Refusal {
    let why = "the file was changed by somebody else in this moment and is as they left it; \
               read it and try again";
    Refusal::new(ErrorKind::Conflict, why)
}

/// Locks a folder against other processes of ours, until the descriptor is dropped.
fn lock(folder: &OwnedFd, target: &Target) -> Result<OwnedFd, Refusal> {
    let explain = |errno| Refusal::from(confined::explain(target, errno));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let folder = confined::open(folder, ".", flags).map_err(explain)?;
    for attempt in 0..TRIES {
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(folder),
            // Held for microseconds as a rule; waiting without end would hang on a stranger's lock.
            Err(Errno::WOULDBLOCK) => {
                std::thread::sleep(Duration::from_micros(u64::from(attempt.min(50)) * 100));
            }
            Err(Errno::INTR) => {}
            // A file system without locks: what is left is the check before the rename.
            Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(folder),
            Err(errno) => return Err(explain(errno)),
        }
    }
    let why = "another program holds a lock on its folder; try again later";
    Err(Refusal::new(ErrorKind::Conflict, why))
}

fn rename(folder: &OwnedFd, draft: &str, name: &str, replaces: bool) -> Result<(), Errno> {
    if replaces {
        return rustix::fs::renameat(folder, draft, folder, name);
    }
    let flags = RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(folder, draft, folder, name, flags) {
        // A file system that cannot; that there was nothing was seen a moment ago.
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(folder, draft, folder, name),
        result => result,
    }
}
