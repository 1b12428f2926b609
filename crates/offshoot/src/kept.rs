//! Whether this process was started by a command of an agent.
//!
//! Such a command has its user's rights and could say yes in their name; what is a
//! person's to say is refused there (R24). Everything that a command starts has the
//! process above it that keeps it, daemons too, so that is what is looked for, and not
//! a variable, which a command can take away. Where whoever started us may have hidden
//! the processes above, nobody can tell, and it is taken for kept.

use std::fs;

use crate::assemble::KEEP;
use crate::exit::Stop;

/// Most processes above this one that are looked at.
const MOST: usize = 4096;

/// Fails where an agent would speak for a person; `what` is how.
pub(crate) fn refuse(what: &str) -> Result<(), Stop> {
    match is_kept() {
        true => Err(Stop::usage(format!(
            "a command of an agent does not speak for you, so {what} is refused; do this from a \
             terminal of your own"
        ))),
        false => Ok(()),
    }
}

/// Tells whether a command of an agent started this process, or may have.
pub(crate) fn is_kept() -> bool {
    is_below_a_keeper(std::process::id(), &look, View::here())
}

/// What is seen of a process.
#[derive(Clone, Copy)]
struct Seen {
    /// The process above it; 0 if that is not to be seen.
    above: u32,
    /// Whether it keeps those of a command.
    keeps: bool,
}

/// What this process can see of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// All of them, as far as their owners let it.
    Whole,
    /// Those of a container that somebody with rights of their own has made.
    Contained,
    /// Those that anybody without rights may have left to be seen, by `unshare` for instance.
    Doubtful,
}

impl View {
    fn here() -> Self {
        // The namespaces of the machine itself have these numbers.
        let processes = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let all_users = users.split_whitespace().eq(["0", "0", "4294967295"]);
        match (processes.as_os_str() == "pid:[4026531836]", all_users) {
            (true, true) => Self::Whole,
            (false, true) => Self::Contained,
            (_, false) => Self::Doubtful,
        }
    }
}

/// Looks for a keeper among the processes above one.
fn is_below_a_keeper(own: u32, look: &dyn Fn(u32) -> Option<Seen>, view: View) -> bool {
    let mut process = own;
    for _ in 0..MOST {
        let Some(Seen { above, keeps }) = look(process) else {
            // Those of other users may be hidden, ourselves never are.
            return process == own || view == View::Doubtful;
        };
        if keeps {
            return true;
        }
        if above == 0 {
            return view == View::Doubtful;
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
    fn check(keeper: u32, hidden: u32, view: View, expected: bool) {
        let look = |process: u32| {
            let above = process - 1;
            let keeps = process == keeper;
            (process != hidden).then_some(Seen { above, keeps })
        };
        let found = is_below_a_keeper(3, &look, view);
        assert_eq!(found, expected, "{keeper} keeps, {hidden} hides, {view:?}");
    }

    #[test]
    fn a_command_of_an_agent_is_told_by_who_keeps_it() {
        for view in [View::Whole, View::Contained, View::Doubtful] {
            check(2, 0, view, true);
            check(1, 0, view, true);
        }
        check(0, 0, View::Whole, false);
        check(0, 0, View::Contained, false);
    }

    #[test]
    fn r24_who_may_have_hidden_what_keeps_it_is_taken_for_kept() {
        check(0, 0, View::Doubtful, true);
        check(0, 2, View::Doubtful, true);
        for view in [View::Whole, View::Contained, View::Doubtful] {
            check(0, 3, view, true);
        }
        // A process of another user may be hidden, and keeps nothing of ours.
        check(0, 2, View::Whole, false);
    }
}
