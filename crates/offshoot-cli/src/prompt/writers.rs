//! The processes that may still write to the pipe on stdin.
//!
//! A command in front of ours in a pipeline is a process beside us: its text is worth
//! waiting for, however late it comes. A pipe whose only writers are processes above
//! us, such as the server or the script that started this program, is one that they
//! left open. Reads `/proc` and guesses nothing: a process that cannot be looked at
//! counts as none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Most processes above this one that are looked at.
const MOST_ABOVE: usize = 64;

/// Tells whether a process other than this one and those above it can write to the pipe with this
/// number.
pub(super) fn is_written_beside_us(inode: u64) -> bool {
    let above = ourselves_and_above();
    let pipe = format!("pipe:[{inode}]");
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| !above.contains(id))
        .any(|id| writes_to(id, &pipe))
}

fn ourselves_and_above() -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    let mut process = std::process::id();
    while process != 0 && seen.len() < MOST_ABOVE && seen.insert(process) {
        process = parent(process).unwrap_or(0);
    }
    seen
}

fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Tells whether a process has a pipe open for writing.
fn writes_to(process: u32, pipe: &str) -> bool {
    let folder = format!("/proc/{process}/fd");
    let Ok(descriptors) = fs::read_dir(folder) else {
        return false;
    };
    let mut descriptors = descriptors.filter_map(Result::ok);
    descriptors.any(|descriptor| {
        let path = descriptor.path();
        fs::read_link(&path).is_ok_and(|link| link == Path::new(pipe))
            && can_write(process, &descriptor.file_name().to_string_lossy())
    })
}

/// Tells whether a descriptor was opened for writing: the last octal digit of its flags is the access
/// mode.
fn can_write(process: u32, descriptor: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}"));
    let info = info.unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let mode = flags.and_then(|flags| flags.trim().chars().last()?.to_digit(8));
    mode.is_some_and(|mode| mode & 3 != 0)
}
