//! The keeper of a command in a terminal that is not ours, such as an editor's.
//!
//! Whoever started it shows what the command prints and ends it; nobody talks to this keeper. It is
//! there so that a command of an agent has Offshoot above it, as any other has, and so that nothing
//! of the command is left when its shell has ended. What is left if the keeper is killed is found by
//! its mark, by the process whose agent runs the command (`shell/terminal`).

use std::ffi::OsStr;
use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use rustix::process::{Pid, WaitOptions};

use super::{SWEEP_EVERY, processes, sweep};

/// The code of a command that could not be started, as shells have it.
const NOT_STARTED: u8 = 126;

/// What a shell adds to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Runs a command with `bash` in this terminal and ends what it leaves; returns the command's code.
///
/// For a process of its own, in the folder and with the variables that the command is to have.
pub fn keep_in_terminal(command: &OsStr) -> ExitCode {
    match run(command) {
        Ok(code) => ExitCode::from(code),
        Err(_) => ExitCode::from(NOT_STARTED),
    }
}

fn run(command: &OsStr) -> io::Result<u8> {
    rustix::thread::set_name(c"offshoot-keeper").ok();
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me))?;
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    // A client takes no variable away.
    for name in ["CDPATH", "PWD", "OLDPWD"] {
        shell.env_remove(name);
    }
    let shell = shell.spawn()?;
    let shell = i32::try_from(shell.id()).ok().and_then(Pid::from_raw);
    let code = wait_for(shell)?;
    // Killing may meet a loop that starts new ones, so it is done until nobody is left.
    while sweep::kill(|all| processes::descendants(all, &[me]))?
        .iter()
        .any(|process| !process.is_dead())
    {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        thread::sleep(SWEEP_EVERY);
    }
    Ok(code)
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
