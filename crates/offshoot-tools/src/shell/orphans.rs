//! What is left when a keeper is killed.
//!
//! A command may kill its keeper (`kill -9 $PPID`). What it kept then has another
//! parent, and the tree no longer tells whose it is. Nor do the children of our
//! own process, even if we adopt them: others start processes in it too, and
//! nothing tells an adopted child from theirs. So every command carries a mark
//! in its environment, the keeper's number and when it started, which no other
//! keeper has; whoever bears it, and whatever descends from these, is ended. A
//! process that cleared its environment and has lost its parents escapes, and so
//! does everything if a command kills us and all our keepers at once.

use std::collections::HashMap;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions};

use super::processes::{self, Process};
use super::sweep;

/// Names the keeper to whatever its command starts.
pub(super) const VARIABLE: &str = "OFFSHOOT_OWNER";

/// How often it is tried to end what bears a mark, with a pause in between.
const MOST_TRIES: usize = 150;
const PAUSE: Duration = Duration::from_millis(10);

/// Makes this process the parent of orphans below it.
///
/// With that, what a killed keeper leaves behind becomes ours rather than init's, so that it is
/// seen below us and leaves no zombie where init does not look after them. What is not found by its
/// mark stays ours, as a zombie once it ends. For the whole process: call it once, at the start of
/// the program.
pub fn adopt_orphans() -> io::Result<()> {
    let me = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(me))?)
}

/// Processes that were killed, each once.
pub(super) type Ended = HashMap<(Pid, u64), Process>;

/// The mark of one keeper's commands.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    keeper: Pid,
    value: String,
}

impl Mark {
    /// The mark of a keeper that has not been waited for.
    pub(super) fn of(keeper: Pid) -> Option<Self> {
        let Process { pid, start, .. } = Process::find(keeper)?;
        Some(Self {
            keeper,
            value: format!("{pid}-{start}"),
        })
    }

    pub(super) fn value(&self) -> &str {
        &self.value
    }

    /// Ends what bears the mark and what is below the keeper; blocks until it is gone.
    ///
    /// The keeper itself is spared: it may be there still, but not do its work. What was ended so
    /// far is taken and returned with the rest: when the keeper goes it may become our child, and
    /// then it is looked after here.
    pub(super) fn end_bearers(&self, mut ended: Ended) -> Ended {
        for _ in 0..MOST_TRIES {
            // Without /proc nothing can be found; it was there when this began.
            let found = sweep::kill(|all| self.family(all)).unwrap_or_default();
            ended.extend(found.into_iter().map(|process| (process.name(), process)));
            if ended.values().all(is_gone) {
                break;
            }
            thread::sleep(PAUSE);
        }
        ended
    }

    fn family(&self, all: &[Process]) -> Vec<Process> {
        let variable = format!("{VARIABLE}={}", self.value);
        let mut family: Vec<Process> = all
            .iter()
            .filter(|process| process.has_variable(variable.as_bytes()))
            .copied()
            .collect();
        let keeper = all.iter().find(|process| process.pid == self.keeper);
        let keeper =
            keeper.filter(|keeper| self.value == format!("{}-{}", keeper.pid, keeper.start));
        let ancestors: Vec<Pid> = family
            .iter()
            .chain(keeper)
            .map(|process| process.pid)
            .collect();
        // None of the bearers is found again: they are ancestors here.
        family.extend(processes::descendants(all, &ancestors));
        family
    }
}

/// Tells whether a killed process is gone, and looks after it if it became our child.
fn is_gone(process: &Process) -> bool {
    let Some(found) = Process::find(process.pid) else {
        return true;
    };
    if found.name() != process.name() {
        return true;
    }
    if found.is_child_of(rustix::process::getpid()) {
        let waited = rustix::process::waitpid(Some(found.pid), WaitOptions::NOHANG);
        return matches!(waited, Ok(Some(_)));
    }
    found.is_dead()
}
