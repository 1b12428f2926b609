//! Whom a file belongs to, carried over to the draft that takes its place.
//!
//! Owner, group, mode, access list and the user's attributes. What the system
//! does not let us carry over is left, and what it would then mean goes with it:
//! nobody gets to run a file as somebody else, or to read it, who could not
//! before. Capabilities and labels are not carried over; the system drops them
//! from whatever is written to, too.

use std::ffi::CString;
use std::fs::File;

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;

/// Where the system keeps who else may do what.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Most bytes of one attribute, and of the names of all: what the kernel has room for.
const MOST_BYTES: usize = 64 * 1024;

/// Gives a draft to whoever the old file belongs to; `stat` is of the old file.
pub(super) fn carry_over(old: &File, stat: &Stat, draft: &File) -> Result<(), Errno> {
    let mut mode = Mode::from_raw_mode(stat.st_mode);
    // Before the mode: it is for the new owner that the bits are meant.
    if !give(draft, stat)? {
        mode -= Mode::SUID | Mode::SGID;
    }
    carry_attributes(old, draft);
    if !carry_access_list(old, draft) {
        // Of a file with a list these bits are the most that anybody on it gets, and not what the
        // group does.
        mode -= Mode::RWXG;
    }
    rustix::fs::fchmod(draft, mode)
}

/// Gives a draft the owner and the group of the old file; false where one of them stays ours.
fn give(draft: &File, stat: &Stat) -> Result<bool, Errno> {
    let own = rustix::fs::fstat(draft)?;
    if (own.st_uid, own.st_gid) == (stat.st_uid, stat.st_gid) {
        return Ok(true);
    }
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    if rustix::fs::fchown(draft, Some(owner), Some(group)).is_ok() {
        return Ok(true);
    }
    // The group is what people share files by, and a member may give it. If not, it is ours.
    rustix::fs::fchown(draft, None, Some(group)).ok();
    Ok(false)
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

/// Gives the draft the access list of the old file, or none; false where it should have one.
fn carry_access_list(old: &File, draft: &File) -> bool {
    let mut list = vec![0; MOST_BYTES];
    match rustix::fs::fgetxattr(old, ACCESS_LIST, &mut list[..]) {
        Ok(length) => {
            let flags = XattrFlags::empty();
            rustix::fs::fsetxattr(draft, ACCESS_LIST, &list[..length], flags).is_ok()
        }
        // It has none. The draft may have got one from its folder.
        Err(Errno::NODATA) => match rustix::fs::fremovexattr(draft, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => true,
            Err(_) => false,
        },
        Err(_) => true,
    }
}
