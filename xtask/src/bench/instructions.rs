//! Instruction counts, by callgrind through gungraun.
//!
//! Needs valgrind, which is not Rust: without it the part says so. The runner
//! has to be of the library's version, so it is installed from the lock file,
//! once, below `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::benchmark;
use super::table::Table;

const TITLE: &str = "instructions (callgrind)";

pub(super) fn measure(root: &Path) -> Result<Table> {
    let valgrind = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !valgrind.is_ok_and(|status| status.success()) {
        let text = "not counted, valgrind is not installed (on Debian: apt install valgrind)";
        return Ok(Table::remark(TITLE, text));
    }
    let runner = runner(root)?;
    let runner = runner.to_str().context("name the runner")?;
    let settings = [("GUNGRAUN_RUNNER", runner), ("GUNGRAUN_COLOR", "never")];
    let printed = benchmark(root, "offshoot-store", "instructions", &settings)?;
    read(&printed)
}

/// Returns the runner, which is installed if need be.
fn runner(root: &Path) -> Result<PathBuf> {
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("read Cargo.lock")?;
    let version = locked(&lock, "gungraun").context("find gungraun in Cargo.lock")?;
    let tools = root
        .join("target/tools")
        .join(format!("gungraun-{version}"));
    let runner = tools.join("bin/gungraun-runner");
    if runner.is_file() {
        return Ok(runner);
    }
    println!("cargo install gungraun-runner@{version}");
    let status = Command::new("cargo")
        .args(["install", "--locked", "--quiet", "--root"])
        .arg(&tools)
        .arg(format!("gungraun-runner@{version}"))
        .current_dir(root)
        .status()
        .context("start cargo")?;
    if !status.success() {
        bail!("install gungraun-runner {version}: it ended with {status}");
    }
    Ok(runner)
}

/// Returns the version of a package in a lock file.
fn locked<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let name = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1)?.strip_prefix("version = ")?;
    Some(version.trim_matches('"'))
}

/// Reads the report: a line that names the benchmark, then its figures.
fn read(printed: &str) -> Result<Table> {
    let mut table = Table::new(TITLE, &["", "instructions"]);
    let mut name = None;
    let mut any = false;
    for line in printed.lines() {
        if let Some((_, rest)) = line
            .split_once("::heart::")
            .filter(|_| !line.starts_with(' '))
        {
            let words: Vec<&str> = rest.split_whitespace().take(2).collect();
            name = Some(words.join(" "));
        } else if let Some(figures) = line.trim().strip_prefix("Instructions:")
            && let Some(name) = name.take()
        {
            let now = figures.trim().split(['|', ' ']).next().unwrap_or_default();
            table.row(vec![name, now.to_owned()]);
            any = true;
        }
    }
    if !any {
        bail!("the report has no count:\n{printed}");
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::{locked, read};

    #[test]
    fn the_runner_is_of_the_version_that_is_locked() {
        let lock = "[[package]]\nname = \"gungraun\"\nversion = \"0.20.0\"\n";
        assert_eq!(locked(lock, "gungraun"), Some("0.20.0"));
        assert_eq!(locked(lock, "other"), None);
    }

    #[test]
    fn each_benchmark_has_its_count() {
        let report = "instructions::heart::store one_child:fan_out(1)\n  \
            Instructions:        123456|N/A   (*********)\n  L1 Hits:   9|N/A\n";
        let table = read(report).unwrap().to_string();
        assert!(table.contains("store one_child:fan_out(1)"), "{table}");
        assert!(table.contains("123456"), "{table}");
        assert!(read("nothing").is_err());
    }
}
