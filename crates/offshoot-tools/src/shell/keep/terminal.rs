//! The keeper of a command in a terminal that is not ours, such as an editor's.
//!
//! The client shows what the command prints and ends it, and gives this keeper no orders. The keeper is
//! there so that a command of an agent has Offshoot above it, as any other has, and so that nothing
//! of the command is left when its shell has ended. A command may kill the keeper above it, so there are
//! two, one below the other: the outer one gets what the inner one has left. What is left if both are
//! killed is found by its mark, by the process whose agent runs the command (`shell/terminal`).

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, WaitOptions};

use super::{SWEEP_EVERY, processes, sweep};

/// Tells the inner keeper what it is. A client that sets it gets one keeper only.
const INNER: &str = "OFFSHOOT_INNER_KEEPER";

/// What a shell adds to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Runs a command with `bash` in this terminal and ends what it leaves; returns the command's code.
pub(super) fn run(command: &OsStr) -> io::Result<u8> {
    rustix::thread::set_name(c"offshoot-keeper").ok();
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me))?;
    let shell = below()?.map_or_else(|| shell(command), Ok)?;
    let shell = i32::try_from(shell.id()).ok().and_then(Pid::from_raw);
    let code = wait_for(shell)?;
    // Killing may meet a loop that starts new ones, so it is done until no process is left.
    while sweep::kill(|all| processes::descendants(all, &[me]))?
        .iter()
        .any(|process| !process.is_dead())
    {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        thread::sleep(SWEEP_EVERY);
    }
    Ok(code)
}

/// Starts the inner keeper; `None` in the inner keeper itself.
fn below() -> io::Result<Option<Child>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a process of its own, started with nothing but words and variables"
    )]
    let (is_inner, words) = (std::env::var_os(INNER).is_some(), std::env::args_os());
    if is_inner {
        return Ok(None);
    }
    let mut keeper = Command::new("/proc/self/exe");
    let keeper = keeper.args(words.skip(1)).env(INNER, "1");
    keeper.spawn().map(Some)
}

fn shell(command: &OsStr) -> io::Result<Child> {
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    // A client takes no variable away.
    for name in ["CDPATH", "PWD", "OLDPWD", INNER] {
        shell.env_remove(name);
    }
    shell.spawn()
}

/// Waits until the shell has ended, and for whatever else ends before.
fn wait_for(shell: Option<Pid>) -> io::Result<u8> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == shell => {
                let signal = || SIGNALLED + status.terminating_signal().unwrap_or_default();
                let code = status.exit_status().unwrap_or_else(signal);
                return Ok(u8::try_from(code).unwrap_or(u8::MAX));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
