//! `cargo xtask torture`: processes of the built program, killed at any moment.
//!
//! The rounds are a test target of the `offshoot-cli` package, which reads its databases;
//! this builds and starts it. `ci` runs the short form of the same target.

use std::path::Path;

use anyhow::Result;

use crate::ci::cargo;

/// Builds the program and the rounds, and runs them with these arguments.
pub(crate) fn run(root: &Path, arguments: impl Iterator<Item = String>) -> Result<()> {
    let line = "test --package offshoot-cli --test torture -- full";
    let mut line: Vec<String> = line.split(' ').map(str::to_owned).collect();
    line.extend(arguments);
    cargo(root, &line.iter().map(String::as_str).collect::<Vec<_>>())
}
