//! What is left when a keeper is killed.
//!
//! A command may kill its keeper (`kill -9 $PPID`). What it kept then has another
//! parent, and the tree no longer tells whose it is. So every command carries a mark
//! in its environment, the keeper's number and when it started, which no other
//! keeper has; whoever bears it, and whatever descends from these, is ended. A
//! process that cleared its environment and has lost its parents is found where it
//! becomes our child: if we adopt, had no children when we began to, and start none
//! but keepers, then every other child of ours is such a one. It escapes where that
//! does not hold (a container's first process has everybody's orphans), and so does
//! everything if a command kills us and all our keepers at once.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
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

/// Whether every child of this process that is no keeper was left behind by one.
static EXCLUSIVE: AtomicBool = AtomicBool::new(false);

/// The keepers that this process has started, at least those that live.
static KEEPERS: Mutex<Vec<(Pid, u64)>> = Mutex::new(Vec::new());

/// Makes this process the parent of orphans below it.
///
/// With that, what a killed keeper leaves behind becomes ours rather than init's, so that it is
/// seen below us and ended, and leaves no zombie where init does not look after them. For the whole
/// process, and only for one that starts no processes but keepers: whatever else becomes its child
/// is ended when a keeper is killed. Call it once, at the start of the program.
pub fn adopt_orphans() -> io::Result<()> {
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me))?;
    // Who was started in place of a shell has the shell's children, and theirs may become ours.
    let is_alone = !processes::all()?.iter().any(|it| it.is_child_of(me));
    EXCLUSIVE.store(is_alone && !me.is_init(), Ordering::Relaxed);
    Ok(())
}

/// The keepers of this process, for as long as nobody may start or look for one.
pub(super) struct Known(MutexGuard<'static, Vec<(Pid, u64)>>);

impl Known {
    /// Waits for whoever starts one, or looks what is none.
    pub(super) fn lock() -> Self {
        Self(KEEPERS.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a keeper that was started since.
    pub(super) fn add(&mut self, keeper: Pid) {
        let lives = |name: (Pid, u64)| Process::find(name.0).is_some_and(|it| it.name() == name);
        self.0.retain(|name| lives(*name));
        self.0.extend(Process::find(keeper).map(|it| it.name()));
    }

    /// Returns the children of ours that only a killed keeper can have left.
    fn adopted<'a>(&'a self, all: &'a [Process]) -> impl Iterator<Item = &'a Process> {
        let me = rustix::process::getpid();
        let exclusive = EXCLUSIVE.load(Ordering::Relaxed);
        let mine = all.iter().filter(move |it| exclusive && it.is_child_of(me));
        mine.filter(|it| !self.0.contains(&it.name()))
    }
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

    /// A mark of this process for a command that a client starts.
    pub(super) fn new() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mark = Self::of(rustix::process::getpid())?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            value: format!("{}-{number}", mark.value),
            ..mark
        })
    }

    pub(super) fn value(&self) -> &str {
        &self.value
    }

    /// Ends what bears the mark, what is below the keeper, and what we adopted; blocks until it is
    /// gone.
    ///
    /// The keeper itself is spared: it may be there still, but not do its work. What was ended so
    /// far is taken and returned with the rest: when the keeper goes it may become our child, and
    /// then it is looked after here.
    pub(super) fn end_bearers(&self, mut ended: Ended) -> Ended {
        for _ in 0..MOST_TRIES {
            // Without /proc nothing can be found; it was there when this began.
            let known = Known::lock();
            let found = sweep::kill(|all| self.family(all, &known)).unwrap_or_default();
            drop(known);
            ended.extend(found.into_iter().map(|process| (process.name(), process)));
            if ended.values().all(is_gone) {
                break;
            }
            thread::sleep(PAUSE);
        }
        ended
    }

    fn family(&self, all: &[Process], known: &Known) -> Vec<Process> {
        let variable = format!("{VARIABLE}={}", self.value);
        let mut family: Vec<Process> = all
            .iter()
            .filter(|process| process.has_variable(variable.as_bytes()))
            .copied()
            .collect();
        let bearers: HashSet<Pid> = family.iter().map(|process| process.pid).collect();
        let adopted = known.adopted(all);
        family.extend(adopted.filter(|process| !bearers.contains(&process.pid)));
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
