//! Drafts: what a file is to contain, beside it, until it takes its place.
//!
//! A process that is killed leaves its draft. Whoever writes to the same folder
//! next removes it: by a name that only drafts have, of a process that is gone,
//! and only what is ours and nobody has locked. A folder is looked through once.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

use crate::confined;
use crate::refusal::Refusal;

/// Most folders that are remembered as looked through. Beyond that it is done once more.
const MOST_FOLDERS: usize = 10_000;

/// Creates a new, empty file under a name that nobody else has.
pub(super) fn create(folder: &OwnedFd, mode: Mode) -> Result<(String, File), Errno> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let draft = name(std::process::id(), number);
        match confined::create(folder, draft.as_str(), flags, mode) {
            // Left behind by a process of the same number; take the next name.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
            Ok(file) => {
                // In another container our number may be that of nobody. Where there are no locks,
                // the number has to do.
                rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok();
                return Ok((draft, File::from(file)));
            }
        }
    }
}

/// Writes the draft, down to the disk: a crash must not leave the name without the text.
pub(super) fn fill(mut file: &File, content: &[u8]) -> Result<(), Refusal> {
    file.write_all(content)
        .and_then(|()| file.sync_data())
        .map_err(|error| error.to_string().into())
}

/// Removes the drafts of processes that are gone, as far as it goes.
pub(super) fn sweep(folder: &OwnedFd) {
    static SWEPT: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());
    let Ok(stat) = rustix::fs::fstat(folder) else {
        return;
    };
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.len() >= MOST_FOLDERS {
        swept.clear();
    }
    let is_new = swept.insert((stat.st_dev, stat.st_ino));
    drop(swept);
    if is_new {
        sweep_now(folder);
    }
}

fn sweep_now(folder: &OwnedFd) {
    let entries = confined::open(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY);
    let Ok(entries) = entries.and_then(Dir::read_from) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_ok_and(is_of_the_dead) && is_free(folder, name) {
            // If it cannot be removed, it stays as it was.
            rustix::fs::unlinkat(folder, name, AtFlags::empty()).ok();
        }
    }
}

fn name(process: u32, number: u64) -> String {
    format!(".offshoot-{process}-{number}.tmp")
}

/// Tells whether this is the name of a draft whose process is gone.
fn is_of_the_dead(draft: &str) -> bool {
    let numbers = || {
        let numbers = draft.strip_prefix(".offshoot-")?.strip_suffix(".tmp")?;
        let (process, number) = numbers.split_once('-')?;
        Some((process.parse::<u32>().ok()?, number.parse::<u64>().ok()?))
    };
    let Some((process, number)) = numbers() else {
        return false;
    };
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    draft == name(process, number) && id.is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH))
}

/// Tells whether a file is ours and nobody writes it.
fn is_free(folder: &OwnedFd, name: &std::ffi::CStr) -> bool {
    // Across a network only who could write may lock for themselves alone.
    let to_write = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = match confined::open(folder, name, to_write) {
        // A draft may have the mode of what it was to replace.
        Err(Errno::ACCESS) => confined::open(folder, name, confined::READ),
        result => result,
    };
    let Ok(file) = opened else {
        return false;
    };
    let is_ours = rustix::fs::fstat(&file).is_ok_and(|stat| {
        confined::regular(&stat).is_ok() && stat.st_uid == geteuid().as_raw() && stat.st_nlink == 1
    });
    is_ours
        && is_unlocked(rustix::fs::flock(
            &file,
            FlockOperation::NonBlockingLockExclusive,
        ))
}

/// Tells by what came of locking a file whether nobody has. Who cannot tell leaves it.
fn is_unlocked(locked: Result<(), Errno>) -> bool {
    match locked {
        // Where there are no locks, the number has to do.
        Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS) => true,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let (gone, ours) = (gone.id(), std::process::id());
        let stay = [
            format!(".offshoot-{ours}-0.tmp"),
            format!(".offshoot-{gone}-0.tmp~"),
            format!(".offshoot-{gone}-00.tmp"),
            format!(".offshoot-{gone}-x.tmp"),
            format!(".offshoot-{gone}-1.tmp"),
            format!(".offshoot-{gone}-2.tmp"),
            format!("offshoot-{gone}-0.tmp"),
            ".offshoot-0-0.tmp".to_owned(),
        ];
        for name in &stay {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::remove_file(folder.path().join(&stay[4])).unwrap();
        fs::create_dir(folder.path().join(&stay[4])).unwrap();
        let held = fs::File::open(folder.path().join(&stay[5])).unwrap();
        rustix::fs::flock(&held, FlockOperation::LockExclusive).unwrap();
        let dead = folder.path().join(name(gone, 7));
        fs::write(&dead, "").unwrap();
        let unwritable = folder.path().join(name(gone, 8));
        fs::write(&unwritable, "").unwrap();
        fs::set_permissions(&unwritable, fs::Permissions::from_mode(0o444)).unwrap();

        let at = rustix::fs::openat(CWD, folder.path(), confined::FOLDER, Mode::empty()).unwrap();
        sweep(&at);
        assert!(!dead.exists());
        assert!(!unwritable.exists());
        for name in stay {
            assert!(folder.path().join(&name).exists(), "{name}");
        }
    }

    #[test]
    fn a_draft_is_free_only_if_its_lock_was_got_or_there_are_no_locks() {
        for (locked, expected) in [
            (Ok(()), true),
            (Err(Errno::NOTSUP), true),
            (Err(Errno::NOSYS), true),
            (Err(Errno::WOULDBLOCK), false),
            (Err(Errno::BADF), false),
            (Err(Errno::NOLCK), false),
        ] {
            assert_eq!(is_unlocked(locked), expected, "{locked:?}");
        }
    }
}
