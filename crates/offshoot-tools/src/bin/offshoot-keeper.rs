//! A keeper as a program of its own.
//!
//! The command line has the same behind a hidden argument and does not need it;
//! tests and other hosts do.

use std::process::ExitCode;

fn main() -> ExitCode {
    offshoot_tools::shell::keep(std::env::args_os().nth(1)).into()
}
