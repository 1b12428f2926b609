//! `cargo xtask bench`: what Offshoot costs, in one table.
//!
//! Three parts, each measured by what suits it: the program over HTTP beside a
//! bare loop, small things by criterion, instructions by callgrind. All of it is
//! medians or counts; nothing here passes or fails, because the machine it runs on
//! may be busy. What a part needs and the machine lacks is said, not skipped in
//! silence.

mod criterion;
mod http;
mod instructions;
mod table;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use self::table::Table;

type Part = (&'static str, fn(&Path) -> Result<Table>);

const PARTS: &[Part] = &[
    ("http", http::measure),
    ("criterion", criterion::measure),
    ("instructions", instructions::measure),
];

/// Measures all parts, or the one that is named, and prints their tables at the end.
pub(crate) fn run(root: &Path, mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let wanted = arguments.next();
    if let Some(extra) = arguments.next() {
        bail!("read arguments: nothing may follow the part, got `{extra}`");
    }
    let chosen: Vec<&Part> = PARTS
        .iter()
        .filter(|(name, _)| wanted.as_deref().is_none_or(|wanted| wanted == *name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        bail!("find the part: there are {}", names.join(", "));
    }
    let mut tables = Vec::new();
    for (name, measure) in chosen {
        println!("── {name}");
        tables.push(measure(root).with_context(|| format!("measure `{name}`"))?);
    }
    for table in tables {
        println!("\n{table}");
    }
    Ok(())
}

/// Runs a benchmark and returns what it printed; what it says besides goes to the terminal.
fn benchmark(root: &Path, package: &str, name: &str, settings: &[(&str, &str)]) -> Result<String> {
    let line = ["bench", "--package", package, "--bench", name];
    println!("cargo {}", line.join(" "));
    let output = Command::new("cargo")
        .args(line)
        .envs(settings.iter().copied())
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("start cargo")?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("the benchmark ended with {}:\n{printed}", output.status);
    }
    Ok(printed)
}
