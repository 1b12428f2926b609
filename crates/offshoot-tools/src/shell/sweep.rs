//! Ending many processes that may be making more.
//!
//! Killing one after the other loses to a loop that starts new ones, so all are
//! stopped first and looked for again until there is nobody new; what stands
//! still forks nothing. Then all are killed. A fork that was under way may still
//! slip through, so whoever sweeps does it again until nothing is left.

use std::collections::HashSet;
use std::io;

use rustix::process::Signal;

use super::processes::{self, Process};

/// How often they are looked for; with a loop that forks, three or four times is usual.
const MOST_ROUNDS: usize = 50;

/// Stops, then kills everything that `family` finds; returns what it was.
pub(super) fn kill(family: impl Fn(&[Process]) -> Vec<Process>) -> io::Result<Vec<Process>> {
    let mut stopped = HashSet::new();
    let mut found = Vec::new();
    for _ in 0..MOST_ROUNDS {
        found = family(&processes::all()?);
        let mut anybody_new = false;
        for process in &found {
            if stopped.insert(process.name()) {
                process.signal(Signal::STOP);
                anybody_new = true;
            }
        }
        if !anybody_new {
            break;
        }
    }
    for process in &found {
        process.signal(Signal::KILL);
    }
    Ok(found)
}

/// Asks everything that `family` finds to end.
pub(super) fn terminate(family: impl Fn(&[Process]) -> Vec<Process>) -> io::Result<()> {
    for process in family(&processes::all()?) {
        process.signal(Signal::TERM);
        // One that was stopped would not hear it.
        process.signal(Signal::CONT);
    }
    Ok(())
}
