//! Whether this process was started by a command of an agent.
//!
//! Such a command has its user's rights and could say yes in their name; what is a
//! person's to say is refused there (R24). Everything that a command starts has the
//! process above it that keeps it, daemons too, so that is what is looked for, and not
//! a variable, which a command can take away.

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

/// Tells whether a command of an agent started this process.
pub(crate) fn is_inside_agent() -> bool {
    let mut process = std::process::id();
    for _ in 0..MOST {
        let Some(above) = parent(process) else {
            return false;
        };
        if keeps(above) {
            return true;
        }
        process = above;
    }
    false
}

/// Returns the process above another; `None` for the first one.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in front may have any letters, brackets too.
    let (_, behind) = stat.rsplit_once(')')?;
    let parent: u32 = behind.split_whitespace().nth(1)?.parse().ok()?;
    (parent > 0).then_some(parent)
}

/// Tells whether a process keeps those of a command.
fn keeps(process: u32) -> bool {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0);
    words.nth(1) == Some(KEEP.as_bytes())
}
