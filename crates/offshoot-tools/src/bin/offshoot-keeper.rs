//! A keeper as a program of its own.
//!
//! The command line has the same behind a hidden argument and does not need it;
//! tests and other hosts do.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(command) => offshoot_tools::shell::keep_in_terminal(&command),
        None => offshoot_tools::shell::keep(),
    }
}
