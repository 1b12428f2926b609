//! Opening files beneath a root, and nothing else.
//!
//! The kernel resolves every path beneath the workspace or the scratch folder
//! (`openat2`), so no link and no race leads out. Links inside are not followed
//! either: permissions were asked about the name, and a link would make it
//! another file. What is refused is told in words that let a model go on.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::target::{Root, RootKind, Target};

/// How a file is opened for reading: a pipe without a writer would block its reader for ever.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// How a folder is opened to be passed through.
pub(crate) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// How often a path is opened that the kernel says to open again.
const MOST_TRIES: usize = 100;

/// Opens a root; `None` where a scratch folder has not been made yet.
pub(crate) fn root(root: &Root) -> Result<Option<OwnedFd>, String> {
    match open_root(root) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) if root.kind() == RootKind::Scratch => Ok(None),
        Err(errno) => Err(explain_root(root, errno.into())),
    }
}

/// Opens a root, making a scratch folder that only its owner may enter.
pub(crate) fn made_root(root: &Root) -> Result<OwnedFd, String> {
    try_made_root(root).map_err(|error| explain_root(root, error))
}

/// Like `made_root`, for those who go on without it.
pub(crate) fn try_made_root(root: &Root) -> io::Result<OwnedFd> {
    match (open_root(root), root.kind()) {
        (Err(Errno::NOENT), RootKind::Scratch) => {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(root.path())?;
            Ok(open_root(root)?)
        }
        (result, RootKind::Scratch | RootKind::Workspace) => Ok(result?),
    }
}

fn open_root(root: &Root) -> Result<OwnedFd, Errno> {
    let flags = FOLDER | OFlags::CLOEXEC;
    let flags = match root.kind() {
        RootKind::Workspace => flags,
        // It lies in a folder that other agents write to, who could put a link there.
        RootKind::Scratch => flags | OFlags::NOFOLLOW,
    };
    rustix::fs::openat(CWD, root.path(), flags, Mode::empty())
}

fn explain_root(root: &Root, error: io::Error) -> String {
    let what = match root.kind() {
        RootKind::Workspace => "workspace",
        RootKind::Scratch => "scratch folder",
    };
    format!("open the {what} {}: {error}", root.path())
}

/// Opens what `path` names below `folder`, following no link.
pub(crate) fn open(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    create(folder, path, flags, Mode::empty())
}

/// A folder that was entered.
pub(crate) struct Entered {
    pub(crate) folder: OwnedFd,
    /// Whether it was not there before.
    pub(crate) made: bool,
}

/// Opens a folder in a folder, making it where there is none.
pub(crate) fn enter(folder: impl AsFd, name: &str, mode: Mode) -> Result<Entered, Errno> {
    let entered = |folder, made| Entered { folder, made };
    match open(&folder, name, FOLDER) {
        Err(Errno::NOENT) => {}
        result => return result.map(|folder| entered(folder, false)),
    }
    let made = match rustix::fs::mkdirat(&folder, name, mode) {
        Ok(()) => true,
        // Somebody else was faster, which is as good.
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno),
    };
    open(&folder, name, FOLDER).map(|folder| entered(folder, made))
}

/// Like `open`, for flags that create a file with this mode.
pub(crate) fn create(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let flags = flags | OFlags::CLOEXEC;
    persistently(|| rustix::fs::openat2(&folder, path, flags, mode, resolve))
}

/// Opens again where somebody renamed something while the kernel was looking, or a signal came.
///
/// Not for ever: whoever holds a lease on the file makes the kernel say the same.
fn persistently(mut open: impl FnMut() -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    for _ in 1..MOST_TRIES {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            result => return result,
        }
    }
    open()
}

/// Refuses what is not a regular file.
pub(crate) fn regular(stat: &Stat) -> Result<(), &'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err("it is a folder, not a file"),
        FileType::Symlink => Err("it is a link, not a file"),
        FileType::Fifo => Err("it is a pipe, not a file"),
        FileType::Socket => Err("it is a socket, not a file"),
        FileType::CharacterDevice | FileType::BlockDevice => Err("it is a device, not a file"),
        FileType::Unknown => Err("it is not a regular file"),
    }
}

/// Says why a path could not be opened.
pub(crate) fn explain(target: &Target, errno: Errno) -> String {
    match errno {
        Errno::NOENT => "there is no such file".to_owned(),
        Errno::NOTDIR => "a part of the path is a file, not a folder".to_owned(),
        Errno::ISDIR => "it is a folder, not a file".to_owned(),
        Errno::NXIO => "it is a socket or a device, not a file".to_owned(),
        Errno::LOOP | Errno::XDEV => explain_link(target),
        Errno::ACCESS | Errno::PERM => "the operating system does not permit it".to_owned(),
        Errno::AGAIN | Errno::INTR => {
            "another program holds it, or moves things around it; try again later".to_owned()
        }
        Errno::NAMETOOLONG => "the path is too long".to_owned(),
        other => other.to_string(),
    }
}

/// Says where a link leads, so that the file can be asked for by its own name.
///
/// For the message only; nothing is opened by what is found here.
fn explain_link(target: &Target) -> String {
    match own_name(target) {
        Led::Inside(path) => {
            format!("it leads through a link, which is not followed; use {path:?} instead")
        }
        Led::Nowhere => "it leads through a link, and that leads nowhere".to_owned(),
        Led::Outside => "it leads through a link to something outside the workspace".to_owned(),
    }
}

/// Where a link leads.
enum Led {
    /// To what has this name below the root.
    Inside(String),
    Outside,
    Nowhere,
}

/// Finds the name that a target really has below its root; the file need not exist.
fn own_name(target: &Target) -> Led {
    let absolute = target.absolute();
    let path = Path::new(&absolute);
    let beside = || {
        let folder = fs::canonicalize(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    };
    let Some(real) = fs::canonicalize(path).ok().or_else(beside) else {
        return Led::Nowhere;
    };
    let Ok(root) = fs::canonicalize(target.root().path()) else {
        return Led::Outside;
    };
    match real.strip_prefix(&root).map(Path::to_str) {
        // It would be named as its own replacement.
        Ok(Some(relative)) if relative == target.below_root() => Led::Nowhere,
        Ok(Some(relative)) => Led::Inside(target.root().name(relative)),
        Ok(None) | Err(_) => Led::Outside,
    }
}

#[cfg(test)]
mod tests {
    use offshoot_types::tool::Place;

    use super::*;

    #[test]
    fn what_is_held_for_good_is_given_up_with_a_reason() {
        let mut tries = 0;
        let held = persistently(|| {
            tries += 1;
            Err(Errno::AGAIN)
        });
        assert_eq!(held.unwrap_err(), Errno::AGAIN);
        assert_eq!(tries, MOST_TRIES);
        let target = Target::new("a", &Place::new("/w")).unwrap();
        let said = explain(&target, Errno::AGAIN);
        assert_eq!(
            said,
            "another program holds it, or moves things around it; try again later"
        );
    }

    #[test]
    fn what_was_only_renamed_meanwhile_is_opened() {
        let mut refusals = [Errno::AGAIN, Errno::INTR].into_iter();
        let opened = persistently(|| match refusals.next() {
            Some(errno) => Err(errno),
            None => rustix::fs::open("/", FOLDER, Mode::empty()),
        });
        assert!(opened.is_ok());
    }
}
