//! Whether this process was started by a command of an agent.
//!
//! Such a command has its user's rights and could say yes in their name; what is a
//! person's to say is refused there (R24). Everything that a command starts has the
//! process above it that keeps it, daemons too, or the one that adopted it when it had
//! killed that one. Both are Offshoot, which people never start anything from, so that is
//! what is looked for, and not a variable, which a command can take away. Both have a name
//! that nobody else can give or take, whatever the program is called that looks. Who cannot
//! be seen well enough to know is taken for one. Whom a server of the user's has started
//! (tmux, at), who outlived us, and who was put into a namespace of processes of its own
//! cannot be told from a person's own: that is for a sandbox to forbid.

use std::ffi::{CStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;

use rustix::io::Errno;

use crate::assemble::KEEP;
use crate::exit::Stop;

/// What Offshoot calls itself, of which the kernel keeps 15 bytes. A wrapper that people write is
/// called like the program.
const NAME: &CStr = c"offshoot-main";

/// What calls itself so keeps the processes of a command.
const KEEPER: &[u8] = b"offshoot-keeper";

/// Most processes above this one that are looked at.
const MOST: usize = 4096;

/// How often they are looked at while they change.
const MOST_TRIES: usize = 32;

/// Gives this process the name by which those below it know that it is Offshoot.
pub(crate) fn be_known() {
    if let Err(error) = rustix::thread::set_name(NAME) {
        tracing::warn!(%error, "give this process its name");
    }
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// It is there.
    Process {
        /// The process above it; 0 if that is not to be seen.
        above: u32,
        /// Whether it is Offshoot, or keeps those of a command.
        ours: bool,
    },
    /// It is hidden, as those of other users may be, or it is gone.
    Nothing,
    /// It is there, and nobody can tell what it is.
    Unclear,
}

/// Looks for Offshoot among the processes above one.
///
/// They are looked at one after the other, and meanwhile one may end, whose children then have another
/// parent. So they are looked at until they are twice the same: then each was there all the while, and
/// one that cannot be seen is hidden and not gone.
fn is_below_us(own: u32, look: &dyn Fn(u32) -> Seen) -> bool {
    let mut before = None;
    for _ in 0..MOST_TRIES {
        let Some(above) = strangers_above(own, look) else {
            return true;
        };
        if before.as_ref() == Some(&above) {
            return false;
        }
        before = Some(above);
    }
    true
}

/// Returns the processes above one, as far as they can be seen; `None` if one of them is Offshoot, or
/// may be.
fn strangers_above(own: u32, look: &dyn Fn(u32) -> Seen) -> Option<Vec<u32>> {
    let mut strangers = Vec::new();
    let mut process = own;
    while strangers.len() < MOST {
        match look(process) {
            Seen::Process { ours: true, .. } if process != own => return None,
            Seen::Process { above: 0, .. } => return Some(strangers),
            Seen::Process { above, .. } => {
                strangers.push(above);
                process = above;
            }
            // Those of other users may be hidden, ourselves never are.
            Seen::Nothing if process != own => return Some(strangers),
            Seen::Nothing | Seen::Unclear => return None,
        }
    }
    None
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

/// Looks at a process.
fn look(process: u32, ours: Option<&Program>) -> Seen {
    let stat = match fs::read(format!("/proc/{process}/stat")) {
        Ok(stat) => stat,
        Err(error) if is_nothing(&error) => return Seen::Nothing,
        Err(_) => return Seen::Unclear,
    };
    let Some((name, above)) = parse(&stat) else {
        return Seen::Unclear;
    };
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    let keeps = words.nth(1) == Some(KEEP.as_bytes());
    let is_named = [NAME.to_bytes(), KEEPER].contains(&name);
    // Earlier versions have no name of their own.
    let is_same = || ours.is_some_and(|ours| Program::of(process).is_some_and(|it| ours.is(&it)));
    Seen::Process {
        above,
        ours: is_named || keeps || is_same(),
    }
}

/// Tells whether an error says that there is no such process, or that it is none of ours: what the
/// kernel says of those that it hides. That something else forbids to look (`EACCES`) a command can
/// bring about for itself.
fn is_nothing(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::NOENT, Errno::SRCH, Errno::PERM].contains(&errno))
}

/// Reads what a process calls itself, and which is above it.
fn parse(stat: &[u8]) -> Option<(&[u8], u32)> {
    // The name stands in brackets, and may have any bytes: brackets, and such as are no text.
    let begin = stat.iter().position(|byte| *byte == b'(')?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let name = stat.get(begin + 1..end)?;
    let behind = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let above = behind.split_whitespace().nth(1)?.parse().ok()?;
    Some((name, above))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Processes 3, 2 and 1, of which 3 and perhaps another are Offshoot, and one may look odd.
    #[track_caller]
    fn check(other: u32, (odd, how): (u32, Seen), expected: bool) {
        let look = |process: u32| {
            let above = process - 1;
            let ours = process == 3 || process == other;
            if process == odd {
                how
            } else {
                Seen::Process { above, ours }
            }
        };
        let found = is_below_us(3, &look);
        assert_eq!(found, expected, "{other} is ours, {odd} is {how:?}");
    }

    #[test]
    fn a_command_of_an_agent_is_told_by_who_is_above_it() {
        check(2, (0, Seen::Nothing), true);
        check(1, (0, Seen::Nothing), true);
        check(0, (0, Seen::Nothing), false);
        // A process of another user may be hidden, and keeps nothing of ours.
        check(0, (2, Seen::Nothing), false);
    }

    #[test]
    fn r24_who_cannot_even_see_itself_is_taken_for_a_command_of_an_agent() {
        check(0, (3, Seen::Nothing), true);
    }

    #[test]
    fn r24_what_is_there_and_cannot_be_understood_may_be_a_command_of_an_agent() {
        check(0, (2, Seen::Unclear), true);
        check(0, (3, Seen::Unclear), true);
    }

    #[test]
    fn r24_a_parent_that_ends_while_it_is_looked_for_hides_nobody() {
        // The shell 7 ends between two looks, and then 9 belongs to Offshoot, which is 5.
        let looks = Cell::new(0);
        let look = |process: u32| {
            looks.set(looks.get() + 1);
            let seen = |above, ours| Seen::Process { above, ours };
            match process {
                9 if looks.get() == 1 => seen(7, true),
                9 => seen(5, true),
                5 => seen(1, true),
                1 => seen(0, false),
                _ => Seen::Nothing,
            }
        };
        assert!(is_below_us(9, &look));
        // And who always has another parent cannot be known.
        let look = |process: u32| {
            looks.set(looks.get() + 1);
            match process {
                9 => Seen::Process {
                    above: looks.get() + 100,
                    ours: true,
                },
                _ => Seen::Nothing,
            }
        };
        assert!(is_below_us(9, &look));
    }

    #[test]
    fn r24_who_may_not_look_does_not_know_that_there_is_nothing() {
        let nothing = |errno: Errno| is_nothing(&io::Error::from(errno));
        assert!(nothing(Errno::NOENT) && nothing(Errno::SRCH) && nothing(Errno::PERM));
        assert!(!nothing(Errno::ACCESS) && !nothing(Errno::MFILE));
    }

    #[test]
    fn r24_a_process_is_read_whatever_it_calls_itself() {
        assert_eq!(parse(b"7 (sh) S 5 7 7 0"), Some((&b"sh"[..], 5)));
        assert_eq!(parse(b"7 (\xff) S 5 7"), Some((&b"\xff"[..], 5)));
        assert_eq!(parse(b"7 (a) Z 1 (b) S 5 7"), Some((&b"a) Z 1 (b"[..], 5)));
        assert_eq!(parse(b"7 (a"), None);
        assert_eq!(parse(b"7 )a( S 5"), None);
        assert_eq!(parse(b""), None);
    }
}
