//! The project's own commands: `cargo xtask ci`, `tidy`, `bench`, `torture` and `peers`.
//!
//! Needs Rust and nothing else, so that what CI runs can be run by anyone; only `peers`
//! needs Node, Python and their registries too. It is not part of the product: no other
//! crate depends on it, and it on none.

#![expect(
    clippy::print_stdout,
    reason = "a command for people; stdout is its interface"
)]

mod bench;
mod ci;
mod peers;
mod tidy;
mod torture;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask ci | tidy | bench [PART] | torture [ARGUMENTS] | peers [ARGUMENTS]

  ci       format, clippy, tests, tidy; stops at the first stage that fails
  tidy     the house rules that no compiler checks, and the gauges
  bench    what Offshoot costs, in one table of medians; PART is http, criterion or instructions
  torture  kills processes at any moment and checks that nothing is lost; ARGUMENTS are --rounds N, --seed S,
           --only OPERATION or one round, --every (each injection, not a sample), --no-strace
  peers    clients of other projects against the built program; ARGUMENTS are acp, --fast (no measurements),
           --allow-missing (a client that cannot be installed is a notice)";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let command = arguments.next();
    if command.as_deref() == Some("bench") {
        return bench::run(root()?, arguments);
    }
    if command.as_deref() == Some("torture") {
        return torture::run(root()?, arguments);
    }
    if command.as_deref() == Some("peers") {
        return peers::run(root()?, arguments);
    }
    if let Some(extra) = arguments.next() {
        bail!("read arguments: nothing may follow the command, got `{extra}`\n{USAGE}");
    }
    match command.as_deref() {
        Some("ci") => ci::run(root()?),
        Some("tidy") => tidy::run(root()?),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        Some(other) => bail!("find command `{other}`: there is none\n{USAGE}"),
        None => bail!("find command: none given\n{USAGE}"),
    }
}

/// Returns the folder of the workspace: the one that holds this package.
fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("find the workspace: xtask lies in no folder")
}
