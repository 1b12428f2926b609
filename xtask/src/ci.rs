//! What CI runs: format, clippy, tests, tidy, in that order.
//!
//! One command on a clean clone, with no service and no setup. The stages go
//! from cheap to dear and the first failure ends the run, so its output is the
//! last thing on the screen.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::tidy::{self, Tree};

type Stage = (&'static str, fn(&Path) -> Result<()>);

const STAGES: &[Stage] = &[
    ("format", format),
    ("clippy", clippy),
    ("tests", tests),
    ("tidy", tidy::run),
];

/// Runs all stages and prints how long each took.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut times = Vec::with_capacity(STAGES.len());
    for (name, stage) in STAGES {
        println!("── {name}");
        let started = now();
        let result = stage(root);
        times.push(format!("{name} {}", seconds(started.elapsed())));
        if let Err(error) = result {
            println!("── {}", times.join(", "));
            return Err(error.context(format!("stage `{name}` failed")));
        }
    }
    println!("── {}: all passed", times.join(", "));
    Ok(())
}

fn format(root: &Path) -> Result<()> {
    cargo(root, &["fmt", "--all", "--", "--check"])
}

fn clippy(root: &Path) -> Result<()> {
    let arguments = "clippy --workspace --all-targets -- -D warnings";
    cargo(root, &arguments.split(' ').collect::<Vec<_>>())
}

fn tests(root: &Path) -> Result<()> {
    if has_nextest(root) {
        cargo(root, &["nextest", "run", "--workspace"])?;
    } else {
        // Benchmarks are compiled by clippy and run by `cargo xtask bench`.
        let targets = ["--lib", "--bins", "--tests", "--examples"];
        cargo(root, &[&["test", "--workspace"], &targets[..]].concat())?;
    }
    // Doc tests link one binary each and nextest skips them: worth the time only where there are any.
    if Tree::load(root)?.has_doc_tests() {
        cargo(root, &["test", "--workspace", "--doc"])?;
    }
    Ok(())
}

fn has_nextest(root: &Path) -> bool {
    Command::new("cargo")
        .args(["nextest", "--version"])
        .current_dir(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs cargo in the workspace; fails if it does.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Result<()> {
    let line = format!("cargo {}", arguments.join(" "));
    let status = Command::new("cargo")
        .args(arguments)
        .current_dir(root)
        .status()
        .with_context(|| format!("start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "stages are timed for people; nothing depends on it"
)]
fn now() -> Instant {
    Instant::now()
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
