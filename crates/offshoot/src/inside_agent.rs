//! Whether this process was started by a command of an agent.
//!
//! Such a command has its user's rights and could say yes in their name; what is a
//! person's to say is refused there (R24). Everything that a command starts has the
//! process above it that keeps it, daemons too, so that is what is looked for, and not
//! a variable, which a command can take away. Who cannot even see itself is taken for
//! one. Who was put into a namespace of processes of its own cannot be told from a
//! container, in which people work: that is for a sandbox to forbid.

use std::fs;

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
    is_below_a_keeper(std::process::id(), &look)
}

/// What is seen of a process.
#[derive(Clone, Copy)]
struct Seen {
    /// The process above it; 0 if that is not to be seen.
    above: u32,
    /// Whether it keeps those of a command.
    keeps: bool,
}

/// Looks for a keeper among the processes above one.
fn is_below_a_keeper(own: u32, look: &dyn Fn(u32) -> Option<Seen>) -> bool {
    let mut process = own;
    for _ in 0..MOST {
        let Some(Seen { above, keeps }) = look(process) else {
            // Those of other users may be hidden, ourselves never are.
            return process == own;
        };
        if keeps {
            return true;
        }
        if above == 0 {
            return false;
        }
        process = above;
    }
    true
}

/// Looks at a process; `None` if it cannot be seen.
fn look(process: u32) -> Option<Seen> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in front may have any letters, brackets too.
    let (_, behind) = stat.rsplit_once(')')?;
    let above = behind.split_whitespace().nth(1)?.parse().ok()?;
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    let keeps = words.nth(1) == Some(KEEP.as_bytes());
    Some(Seen { above, keeps })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes 3, 2 and 1, of which one may keep and one may be hidden.
    #[track_caller]
    fn check(keeper: u32, hidden: u32, expected: bool) {
        let look = |process: u32| {
            let above = process - 1;
            let keeps = process == keeper;
            (process != hidden).then_some(Seen { above, keeps })
        };
        let found = is_below_a_keeper(3, &look);
        assert_eq!(found, expected, "{keeper} keeps, {hidden} hides");
    }

    #[test]
    fn a_command_of_an_agent_is_told_by_who_keeps_it() {
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
