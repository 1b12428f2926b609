//! Whether this process was started by a command of an agent.
//!
//! Such a command has its user's rights and could say yes in their name; what is a
//! person's to say is refused there (R24). Everything that a command starts has the
//! process above it that keeps it, daemons too, or the one that adopted it when it had
//! killed that one. Both are Offshoot, which people never start anything from, so that is
//! what is looked for, and not a variable, which a command can take away. Who cannot even
//! see itself is taken for one. Whom a server of the user's has started (tmux, at), who
//! outlived us, and who was put into a namespace of processes of its own cannot be told
//! from a person's own: that is for a sandbox to forbid.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;

use crate::assemble::KEEP;
use crate::exit::Stop;

/// Most processes above this one that are looked at.
const MOST: usize = 4096;

/// Fails where an agent would speak for a person; `what` is how.
pub(crate) fn refuse(what: &str) -> Result<(), Stop> {
    if is_inside_agent() {
        Err(Stop::usage(format!(
            "a command of an agent does not speak for you, so {what} is refused; do this from a \
             terminal of your own"
        )))
    } else {
        Ok(())
    }
}

/// Tells whether a command of an agent started this process, or may have.
pub(crate) fn is_inside_agent() -> bool {
    let own = std::process::id();
    let ours = Program::of(own);
    is_below_us(own, &|process| look(process, ours.as_ref()))
}

/// What is seen of a process.
#[derive(Clone, Copy)]
struct Seen {
    /// The process above it; 0 if that is not to be seen.
    above: u32,
    /// Whether it is Offshoot, or keeps those of a command.
    ours: bool,
}

/// Looks for Offshoot among the processes above one.
fn is_below_us(own: u32, look: &dyn Fn(u32) -> Option<Seen>) -> bool {
    let mut process = own;
    for _ in 0..MOST {
        let Some(Seen { above, ours }) = look(process) else {
            // Those of other users may be hidden, ourselves never are.
            return process == own;
        };
        if ours && process != own {
            return true;
        }
        if above == 0 {
            return false;
        }
        process = above;
    }
    true
}

/// The program that a process runs.
struct Program {
    /// Its name, whether or not the file is still there.
    name: OsString,
    /// Device and number of the file.
    file: Option<(u64, u64)>,
}

impl Program {
    /// Returns the program of a process; `None` if it is not to be seen.
    fn of(process: u32) -> Option<Self> {
        let exe = format!("/proc/{process}/exe");
        let path = fs::read_link(&exe).ok()?;
        // An update replaces the file while we run.
        let name = path.file_name()?.as_bytes();
        let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
        let file = fs::metadata(&exe).ok();
        Some(Self {
            name: OsString::from_vec(name.to_vec()),
            file: file.map(|file| (file.dev(), file.ino())),
        })
    }

    /// Tells whether both are the same program, perhaps of different versions.
    fn is(&self, other: &Self) -> bool {
        self.name == other.name || self.file.is_some() && self.file == other.file
    }
}

/// Looks at a process; `None` if it cannot be seen.
fn look(process: u32, ours: Option<&Program>) -> Option<Seen> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in front may have any letters, brackets too.
    let (_, behind) = stat.rsplit_once(')')?;
    let above = behind.split_whitespace().nth(1)?.parse().ok()?;
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    let keeps = words.nth(1) == Some(KEEP.as_bytes());
    let is_ours = || ours.is_some_and(|ours| Program::of(process).is_some_and(|it| ours.is(&it)));
    Some(Seen {
        above,
        ours: keeps || is_ours(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes 3, 2 and 1, of which 3 and perhaps another are Offshoot, and one may be hidden.
    #[track_caller]
    fn check(other: u32, hidden: u32, expected: bool) {
        let look = |process: u32| {
            let above = process - 1;
            let ours = process == 3 || process == other;
            (process != hidden).then_some(Seen { above, ours })
        };
        let found = is_below_us(3, &look);
        assert_eq!(found, expected, "{other} is ours, {hidden} hides");
    }

    #[test]
    fn a_command_of_an_agent_is_told_by_who_is_above_it() {
        check(2, 0, true);
        check(1, 0, true);
        check(0, 0, false);
        // A process of another user may be hidden, and keeps nothing of ours.
        check(0, 2, false);
    }

    #[test]
    fn r24_who_cannot_even_see_itself_is_taken_for_a_command_of_an_agent() {
        check(0, 3, true);
    }
}
