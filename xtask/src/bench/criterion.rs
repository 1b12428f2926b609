//! Small things, by criterion: its medians, read from where it keeps them.
//!
//! Only what was measured now: what an earlier run left is older than the start.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde_json::Value;

use super::benchmark;
use super::table::Table;

const BENCHMARKS: [(&str, &str); 4] = [
    ("offshoot-store", "append"),
    ("offshoot-engine", "fanout"),
    ("offshoot-models", "sse"),
    ("offshoot-types", "permission"),
];

pub(super) fn measure(root: &Path) -> Result<Table> {
    let started = now();
    let mut beside = Vec::new();
    for (package, name) in BENCHMARKS {
        let printed = benchmark(root, package, name, &[])?;
        // What criterion does not know (processor time, memory) is printed beside it.
        let lines = printed.lines().filter(|line| line.contains(" each"));
        beside.extend(lines.map(|line| line.trim().to_owned()));
    }
    let columns = ["", "median", "for each", "per second"];
    let mut table = Table::new(
        "in process, everything on disk (criterion, medians)",
        &columns,
    );
    let mut found = Vec::new();
    find(&root.join("target/criterion"), started, &mut found)?;
    found.sort();
    for folder in found {
        table.row(row(&folder)?);
    }
    for line in beside {
        table.row(vec![line]);
    }
    Ok(table)
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the times of files, nothing else"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Finds the folders of results that are newer than the start.
fn find(folder: &Path, started: SystemTime, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        let result = path.join("estimates.json");
        let is_new = path.file_name().is_some_and(|name| name == "new");
        if is_new && result.is_file() {
            if result.metadata()?.modified()? >= started {
                found.push(path);
            }
        } else {
            find(&path, started, found)?;
        }
    }
    Ok(())
}

fn row(folder: &Path) -> Result<Vec<String>> {
    let read = |name: &str| -> Result<Value> {
        let path = folder.join(name);
        let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    };
    let (what, estimates) = (read("benchmark.json")?, read("estimates.json")?);
    let median = estimates["median"]["point_estimate"]
        .as_f64()
        .context("find the median")?;
    let name = what["full_id"].as_str().unwrap_or_default().to_owned();
    let Some(elements) = what["throughput"]["Elements"].as_f64() else {
        return Ok(vec![name, time(median)]);
    };
    let second = format!("{:.0}", elements * 1e9 / median);
    Ok(vec![name, time(median), time(median / elements), second])
}

/// Renders nanoseconds.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.3} ms", ns / 1e6),
        ns => format!("{:.3} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let all = [12.0, 1_500.0, 2_500_000.0, 3e9].map(time);
        assert_eq!(all, ["12 ns", "1.50 µs", "2.500 ms", "3.000 s"]);
    }
}
