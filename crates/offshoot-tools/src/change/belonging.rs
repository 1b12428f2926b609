//! Whom a file belongs to, carried over to the draft that takes its place.
//!
//! Owner, group, mode, access list and the user's attributes. A file that could
//! not stay its owner's is not replaced: it would become ours without a word, and
//! its owner would be shut out. What else the system does not let us carry over is
//! left, and what it would then mean goes with it: nobody gets to run a file as
//! somebody else, or to read it, who could not before. Capabilities and labels are
//! not carried over; the system drops them from whatever is written to, too.

#[cfg(test)]
mod tests;

use std::ffi::CString;
use std::fs::File;

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;

/// Where the system keeps who else may do what.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Most bytes of one attribute, and of the names of all: what the kernel has room for.
const MOST_BYTES: usize = 64 * 1024;

/// What an entry of an access list is about, in the form of the kernel.
const LIST_GROUP: u16 = 0x04;
const LIST_MOST: u16 = 0x10;
const LIST_OTHERS: u16 = 0x20;

/// Why a draft cannot take the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// It would not belong to whom the file does.
    Owner,
    Errno(Errno),
}

/// Whose group a draft has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    OfTheFile,
    /// Ours, because we may not give it the other one.
    Ours,
}

/// What became of the access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    /// Neither the file nor the draft has one.
    None,
    Carried,
    /// The draft lacks one, or has one too many.
    Lost,
}

/// Gives a draft to whoever the old file belongs to; `stat` is of the old file.
pub(super) fn carry_over(old: &File, stat: &Stat, draft: &File) -> Result<(), Left> {
    let own = rustix::fs::fstat(draft).map_err(Left::Errno)?;
    // Before the mode: it is for the new owner that the bits are meant.
    let group = give(
        (own.st_uid, own.st_gid),
        (stat.st_uid, stat.st_gid),
        &|owner, group| rustix::fs::fchown(draft, owner, group),
    )?;
    carry_attributes(old, draft);
    let list = carry_access_list(old, draft, group);
    let mode = mode(Mode::from_raw_mode(stat.st_mode), group, list);
    rustix::fs::fchmod(draft, mode).map_err(Left::Errno)
}

/// Gives a draft the owner and the group of the old file, each a pair of numbers.
fn give(
    own: (u32, u32),
    old: (u32, u32),
    chown: &dyn Fn(Option<Uid>, Option<Gid>) -> Result<(), Errno>,
) -> Result<Group, Left> {
    let owner = (own.0 != old.0).then(|| Uid::from_raw(old.0));
    let group = (own.1 != old.1).then(|| Gid::from_raw(old.1));
    if (owner, group) == (None, None) || chown(owner, group).is_ok() {
        return Ok(Group::OfTheFile);
    }
    if owner.is_some() && chown(owner, None).is_err() {
        return Err(Left::Owner);
    }
    Ok(match group {
        Some(_) => Group::Ours,
        None => Group::OfTheFile,
    })
}

/// Returns the mode of a draft by that of the old file.
fn mode(old: Mode, group: Group, list: List) -> Mode {
    let mut mode = old;
    if group == Group::Ours {
        mode -= Mode::SUID | Mode::SGID;
    }
    match (group, list) {
        // Whom the list was for, and against, nobody knows any more.
        (_, List::Lost) => mode -= Mode::RWXG | Mode::RWXO,
        // Of a file with a list these bits are the most that anybody on it gets, and not what the
        // group does.
        (Group::OfTheFile, List::None | List::Carried) | (Group::Ours, List::Carried) => {}
        (Group::Ours, List::None) => {
            // Who was of its group is one of the others now, and who was one of them may be of ours.
            let both = (old.bits() >> 3) & old.bits() & 0o7;
            mode -= Mode::RWXG | Mode::RWXO;
            mode |= Mode::from_bits_retain(both << 3 | both);
        }
    }
    mode
}

/// Copies the attributes that users give to files, as far as it goes.
fn carry_attributes(old: &File, draft: &File) {
    let mut names = vec![0; MOST_BYTES];
    let Ok(length) = rustix::fs::flistxattr(old, &mut names[..]) else {
        return;
    };
    for name in names[..length].split(|byte| *byte == 0) {
        if name.starts_with(b"user.")
            && let Ok(name) = CString::new(name)
        {
            let mut value = vec![0; MOST_BYTES];
            if let Ok(length) = rustix::fs::fgetxattr(old, &name, &mut value[..]) {
                let flags = XattrFlags::empty();
                // Another file system may have no room for it; the text matters more.
                rustix::fs::fsetxattr(draft, &name, &value[..length], flags).ok();
            }
        }
    }
}

/// Gives the draft the access list of the old file, or none.
fn carry_access_list(old: &File, draft: &File, group: Group) -> List {
    let mut list = vec![0; MOST_BYTES];
    match rustix::fs::fgetxattr(old, ACCESS_LIST, &mut list[..]) {
        Ok(length) => {
            list.truncate(length);
            if group == Group::Ours {
                narrow(&mut list);
            }
            match rustix::fs::fsetxattr(draft, ACCESS_LIST, &list, XattrFlags::empty()) {
                Ok(()) => List::Carried,
                Err(_) => List::Lost,
            }
        }
        // It has none. The draft may have got one from its folder.
        Err(Errno::NODATA) => match rustix::fs::fremovexattr(draft, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => List::None,
            Err(_) => List::Lost,
        },
        Err(Errno::NOTSUP) => List::None,
        Err(_) => List::Lost,
    }
}

/// Leaves the group of a list, and all others, what both of them may do.
fn narrow(list: &mut [u8]) {
    // A version of four bytes, then eight for each: what it is about, what it may, and who that is.
    let entries = || list.get(4..).unwrap_or_default().chunks_exact(8);
    let may = |wanted: u16| {
        let mut found = entries().filter(|entry| entry[..2] == wanted.to_le_bytes());
        found.next().map_or(0o7, |entry| entry[2])
    };
    let both = may(LIST_GROUP) & may(LIST_MOST) & may(LIST_OTHERS);
    for entry in list.get_mut(4..).unwrap_or_default().chunks_exact_mut(8) {
        if [LIST_GROUP, LIST_OTHERS].contains(&u16::from_le_bytes([entry[0], entry[1]])) {
            entry[2] = both;
        }
    }
}
