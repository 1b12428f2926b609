//! Clients of other projects, installed by name and exact version below one folder.
//!
//! A folder that holds the wanted versions is used again, so that only the first run needs a registry. What
//! was installed is written to a file at the very end: a half-made folder is made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Packages for Node, with their versions.
const NODE_PACKAGES: &[&str] = &["@agentclientprotocol/sdk@2.4.0", "acpx@0.19.1"];

/// The file in a folder that says what is installed there.
const INSTALLED: &str = "installed.txt";

/// Node, and a folder with packages in `node_modules`.
pub(super) struct Node {
    pub(super) program: &'static str,
    pub(super) folder: PathBuf,
}

/// The Python of a virtual environment.
pub(super) struct Python {
    pub(super) program: PathBuf,
}

impl Node {
    /// Installs the packages unless they are there.
    pub(super) fn install(folder: &Path) -> Result<Self> {
        let program = "node";
        run(program, &["--version"], folder.parent())?;
        once(folder, &NODE_PACKAGES.join("\n"), || {
            fs::write(folder.join("package.json"), "{\"private\": true}\n")
                .context("write package.json")?;
            let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
            let flags = ["install", "--save-exact", "--no-audit", "--no-fund"];
            run(npm, &[&flags, NODE_PACKAGES].concat(), Some(folder))
        })?;
        Ok(Self {
            program,
            folder: folder.to_owned(),
        })
    }
}

impl Python {
    /// Installs one version of the package `agent-client-protocol` unless it is there.
    pub(super) fn install(folder: &Path, version: &str) -> Result<Self> {
        let package = format!("agent-client-protocol=={version}");
        let inside = if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        };
        let program = folder.join(inside);
        once(folder, &package, || {
            run("python3", &["-m", "venv", "."], Some(folder))?;
            let python = program.to_string_lossy();
            let pip = ["-m", "pip", "install", "--quiet", "--no-input", &package];
            run(&python, &pip, Some(folder))
        })?;
        Ok(Self { program })
    }
}

/// Fills a folder unless it holds what is wanted.
fn once(folder: &Path, wanted: &str, fill: impl FnOnce() -> Result<()>) -> Result<()> {
    let mark = folder.join(INSTALLED);
    if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let name = wanted.replace('\n', ", ");
    println!("install {name}");
    fill().with_context(|| format!("install {name}"))?;
    fs::write(&mark, wanted).context("note what is installed")
}

/// Runs a program to its end; its output is shown only if it fails.
fn run(program: &str, arguments: &[&str], folder: Option<&Path>) -> Result<()> {
    let line = format!("{program} {}", arguments.join(" "));
    let mut command = Command::new(program);
    if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
        command.current_dir(folder);
    }
    let output = command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("start `{line}`"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    bail!("`{line}` ended with {}:\n{said}", output.status);
}
