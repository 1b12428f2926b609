//! Opening files that are inside the workspace, and nothing else.
//!
//! The kernel resolves every path beneath the workspace (`openat2`), so no link
//! and no race leads out. Links inside are not followed either: permissions were
//! asked about the name, and a link would make it another file. What is refused
//! is told in words that let a model go on.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::target::Target;

/// Opens the workspace.
pub(crate) fn root(target: &Target) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, target.root(), flags, Mode::empty())
        .map_err(|errno| format!("open the workspace {}: {errno}", target.root()))
}

/// Opens what `path` names below `folder`, following no link.
pub(crate) fn open(folder: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let flags = flags | OFlags::CLOEXEC;
    loop {
        match rustix::fs::openat2(&folder, path, flags, Mode::empty(), resolve) {
            // Somebody renamed something while the kernel was looking.
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
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
        Errno::NAMETOOLONG => "the path is too long".to_owned(),
        other => other.to_string(),
    }
}

/// Says where a link leads, so that the file can be asked for by its own name.
///
/// For the message only; nothing is opened by what is found here.
fn explain_link(target: &Target) -> String {
    match own_name(target) {
        Some(path) => {
            format!("it leads through a link, which is not followed; use {path:?} instead")
        }
        None => "it leads through a link to something outside the workspace".to_owned(),
    }
}

/// Returns the path below the workspace that a target really has; the file need not exist.
fn own_name(target: &Target) -> Option<String> {
    let root = fs::canonicalize(target.root()).ok()?;
    let absolute = target.absolute();
    let path = Path::new(&absolute);
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(_) => fs::canonicalize(path.parent()?)
            .ok()?
            .join(path.file_name()?),
    };
    // A link that leads nowhere would be named as its own replacement.
    let relative = real.strip_prefix(&root).ok()?.to_str()?;
    (relative != target.relative()).then(|| relative.to_owned())
}
