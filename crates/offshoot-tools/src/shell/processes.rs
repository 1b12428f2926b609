//! The processes of this machine, as `/proc` shows them.
//!
//! All are read and their parents followed. The kernel's own lists of children
//! (`/proc/PID/task/TID/children`) are not built into every kernel, and are
//! exact only for processes that stand still. A process is named by its number
//! and when it started: numbers are used again.

use std::collections::HashSet;
use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, Signal};

/// One process, at the time it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// When it started, in ticks since the machine did.
    pub(super) start: u64,
    parent: Option<Pid>,
    dead: bool,
}

impl Process {
    /// Looks at one process.
    pub(super) fn find(pid: Pid) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &stat)
    }

    fn parse(pid: Pid, stat: &[u8]) -> Option<Self> {
        // The name stands in brackets and may itself contain some, or anything else.
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
        let mut fields = rest.split(' ');
        let dead = matches!(fields.next()?, "Z" | "X");
        let parent = Pid::from_raw(fields.next()?.parse().ok()?);
        let start = fields.nth(17)?.parse().ok()?;
        Some(Self {
            pid,
            start,
            parent,
            dead,
        })
    }

    /// Its number and when it started: no other process has both.
    pub(super) fn name(&self) -> (Pid, u64) {
        (self.pid, self.start)
    }

    /// Tells whether it has ended and only waits to be looked at.
    ///
    /// So does one whose first thread alone has ended; it is signalled all the same.
    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn is_child_of(&self, parent: Pid) -> bool {
        self.parent == Some(parent)
    }

    /// Signals this process and never another that has got its number since.
    pub(super) fn signal(&self, signal: Signal) {
        let Ok(process) = rustix::process::pidfd_open(self.pid, PidfdFlags::empty()) else {
            return;
        };
        // The number names one process as long as the descriptor is open: look which.
        if Self::find(self.pid).is_some_and(|found| found.start == self.start) {
            // It may have ended by itself, which is as good; who is not allowed to cannot help it.
            rustix::process::pidfd_send_signal(process, signal).ok();
        }
    }

    /// Returns its command line for people, on one line and not too long.
    pub(super) fn command_line(&self) -> String {
        const MOST: usize = 60;
        let read = |file: &str| fs::read(format!("/proc/{}/{file}", self.pid)).unwrap_or_default();
        let mut line = read("cmdline");
        if line.is_empty() {
            line = read("comm");
        }
        let line = String::from_utf8_lossy(&line);
        let words = line.split(|c: char| c.is_control() || c.is_whitespace());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let mut line = words.join(" ");
        if line.chars().count() > MOST {
            line = line.chars().take(MOST).chain("...".chars()).collect();
        }
        line
    }

    /// Tells whether a variable of its environment had this value when it was started.
    pub(super) fn has_variable(&self, variable: &[u8]) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == variable)
    }
}

/// Returns all processes there are.
pub(super) fn all() -> io::Result<Vec<Process>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        processes.extend(pid.and_then(Pid::from_raw).and_then(Process::find));
    }
    Ok(processes)
}

/// Returns those that descend from one of `ancestors`, without these.
pub(super) fn descendants(all: &[Process], ancestors: &[Pid]) -> Vec<Process> {
    let mut known: HashSet<Pid> = ancestors.iter().copied().collect();
    let mut found = Vec::new();
    loop {
        let before = found.len();
        for process in all {
            if process.parent.is_some_and(|parent| known.contains(&parent))
                && known.insert(process.pid)
            {
                found.push(*process);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn a_name_full_of_brackets_confuses_nobody() {
        let stat = b"7 (a) Z 1 (b) S 5 7 7 0 -1 4194304 1 0 0 0 2 1 0 0 20 0 1 0 987 1 2\n";
        let process = Process::parse(pid(7), stat).unwrap();
        assert_eq!(process.parent, Some(pid(5)));
        assert_eq!(process.start, 987);
        assert!(!process.dead);
        assert_eq!(Process::parse(pid(7), b"7 (cut"), None);
        assert_eq!(Process::parse(pid(7), b"7 (cut) S 1"), None);
    }

    #[test]
    fn descendants_are_found_whatever_their_order() {
        let process = |number, parent| Process {
            pid: pid(number),
            parent: Pid::from_raw(parent),
            start: 0,
            dead: false,
        };
        let all = [(9, 8), (8, 5), (1, 0), (5, 1), (6, 1), (7, 6), (3, 9)];
        let all = all.map(|(number, parent)| process(number, parent));
        let mut found: Vec<i32> = descendants(&all, &[pid(5)])
            .iter()
            .map(|process| process.pid.as_raw_nonzero().get())
            .collect();
        found.sort_unstable();
        assert_eq!(found, [3, 8, 9]);
    }

    #[test]
    fn this_process_is_among_all() {
        let me = rustix::process::getpid();
        let found = all().unwrap().into_iter().find(|process| process.pid == me);
        assert_eq!(found.unwrap().name(), Process::find(me).unwrap().name());
    }
}
