//! `cargo xtask peers`: clients of other projects against the built program.
//!
//! Installs the clients by name and exact version below `target/peers`, once, then runs the programs in
//! `peers/`, each of which prints one line per check. A client that cannot be installed is a failure, not a
//! check less: only `--allow-missing` makes it a notice.

mod install;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use self::install::{Node, Python};
use crate::ci::cargo;

/// The face that there is.
const ACP: &str = "acp";

/// What the command was asked to do.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// Leave out what takes long: the measurements.
    fast: bool,
    /// Print a notice where a client cannot be installed.
    allow_missing: bool,
}

/// A client of another project, with the programs of `peers/` that it runs.
struct Client {
    kind: Kind,
    programs: &'static [Program],
}

#[derive(Clone, Copy)]
enum Kind {
    /// The npm SDK and acpx.
    Node,
    /// A version of the package `agent-client-protocol`.
    Python(&'static str),
}

/// A file in `peers/`, and whether `--fast` runs it.
enum Program {
    Always(&'static str),
    Slow(&'static str),
}

const CLIENTS: &[Client] = &[
    Client {
        kind: Kind::Node,
        programs: &[
            Program::Always("acp/sessions.mjs"),
            Program::Always("acp/acpx.mjs"),
            Program::Always("acp/many.mjs"),
            Program::Slow("acp/speed.mjs"),
        ],
    },
    Client {
        kind: Kind::Python("0.12.1"),
        programs: &[Program::Always("acp/flat.py")],
    },
    Client {
        kind: Kind::Python("1.0.0rc3"),
        programs: &[Program::Always("acp/flat.py")],
    },
];

/// Builds the program, installs the clients and runs them; fails if a check does.
pub(crate) fn run(root: &Path, arguments: impl Iterator<Item = String>) -> Result<()> {
    let options = options(arguments)?;
    // With the tests: their dependencies have other features, so the program alone would be built all anew.
    cargo(root, &["build", "--workspace", "--bins", "--tests"])?;
    let target = target(root)?;
    let name = format!("offshoot{}", std::env::consts::EXE_SUFFIX);
    let binary = target.join("debug").join(name);
    let peers = target.join("peers");
    let work = peers.join("work");
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("empty {}", work.display()))?;
    }
    let mut failed = Vec::new();
    for client in CLIENTS {
        let name = client.kind.name();
        if let Err(error) = client.kind.command(&peers) {
            if options.allow_missing {
                println!("notice  {name}: not run: {error:#}");
            } else {
                println!("failed  {name}: {error:#}");
                failed.push(name);
            }
            continue;
        }
        for program in client.programs {
            let file = match program {
                Program::Slow(_) if options.fast => continue,
                Program::Always(file) | Program::Slow(file) => file,
            };
            // Every program has folders of its own: sessions of one are not listed by the next.
            let folder = work.join(format!("{name}-{}", file.replace('/', "-")));
            let command = client.kind.command(&peers)?;
            if !start(command, &root.join("peers").join(file), &binary, &folder)? {
                failed.push(format!("{file} with {name}"));
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("peers: checks failed in {}", failed.join(", "));
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Node => "node".to_owned(),
            Self::Python(version) => format!("python-{version}"),
        }
    }

    /// Returns how a program is started, with the client installed.
    fn command(self, peers: &Path) -> Result<Command> {
        let folder = peers.join(self.name());
        match self {
            Self::Node => {
                let node = Node::install(&folder)?;
                let mut command = Command::new(node.program);
                command.env("PEERS_MODULES", node.folder);
                Ok(command)
            }
            Self::Python(version) => Ok(Command::new(Python::install(&folder, version)?.program)),
        }
    }
}

/// Runs a program to its end; tells whether all of its checks passed.
fn start(mut command: Command, file: &Path, binary: &Path, work: &Path) -> Result<bool> {
    fs::create_dir_all(work).with_context(|| format!("make {}", work.display()))?;
    let status = command
        .arg(file)
        .env("PEERS_OFFSHOOT", binary)
        .env("PEERS_WORK", work)
        .status()
        .with_context(|| format!("start {}", file.display()))?;
    Ok(status.success())
}

/// Returns the folder that cargo builds into, which settings may have moved.
fn target(root: &Path) -> Result<PathBuf> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("start `cargo metadata`")?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("read `cargo metadata`")?;
    let folder = metadata["target_directory"].as_str();
    folder
        .map(PathBuf::from)
        .context("read `cargo metadata`: it names no target folder")
}

fn options(arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options::default();
    for argument in arguments {
        match argument.as_str() {
            ACP => {}
            "--fast" => options.fast = true,
            "--allow-missing" => options.allow_missing = true,
            other => bail!("read arguments: `{other}` is none of {ACP}, --fast, --allow-missing"),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<Options>) {
        let words = line.split_whitespace().map(str::to_owned);
        assert_eq!(options(words).ok(), expected, "{line}");
    }

    #[test]
    fn arguments_are_a_face_and_two_flags() {
        let plain = Options::default();
        check("", Some(plain));
        let fast = Options {
            fast: true,
            allow_missing: false,
        };
        check("acp --fast", Some(fast));
        let allowing = Options {
            fast: false,
            allow_missing: true,
        };
        check("--allow-missing", Some(allowing));
        check("copilot", None);
        check("--slow", None);
    }

    #[test]
    fn every_file_of_a_peer_is_run_or_imported() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers");
        let mut used = vec!["acp/client.mjs", "acp/script.yaml"];
        let programs = CLIENTS.iter().flat_map(|client| client.programs);
        used.extend(programs.map(|program| match program {
            Program::Always(file) | Program::Slow(file) => *file,
        }));
        used.sort_unstable();
        used.dedup();
        let files = fs::read_dir(folder.join("acp")).unwrap();
        let names = files.map(|file| file.unwrap().file_name());
        let mut found: Vec<String> = names
            .map(|name| format!("acp/{}", name.to_str().unwrap()))
            .collect();
        found.sort();
        assert_eq!(found, used);
    }
}
