//! Where programs start: what manifests name, what searches found, what files are called.

use super::super::markdown::{capped, code, prose};
use super::super::outcomes::Matches;
use super::files::{Files, folder_of, is_foreign, is_sample, is_test, name_of};
use super::manifests::Manifest;

/// Names of files that programs start at by convention.
const NAMES: &[&str] = &[
    "__main__.py",
    "main.py",
    "manage.py",
    "app.py",
    "main.rs",
    "main.go",
    "main.c",
    "main.cpp",
    "Main.java",
    "Program.cs",
    "index.html",
];

/// Folders of programs that serve the project itself.
const ASIDE: &[&str] = &[
    "bench",
    "benches",
    "benchmarks",
    "ci",
    "dev",
    "hack",
    "scripts",
    "tools",
    "xtask",
];

/// A place where a program starts, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) path: String,
    pub(super) why: String,
}

/// Returns the starts, the surest first, each file once.
pub(super) fn of(files: &Files<'_>, manifests: &[Manifest], mains: &[Matches<'_>]) -> Vec<Start> {
    let mut starts: Vec<Start> = Vec::new();
    let mut push = |path: &str, why: String| {
        if !starts.iter().any(|start| start.path == path) {
            starts.push(Start {
                path: path.to_owned(),
                why,
            });
        }
    };
    for manifest in manifests {
        for (name, target) in &manifest.starts {
            let place = joined(folder_of(&manifest.path), target);
            let why = format!("{} in {}", code(name), code(&manifest.path));
            push(&place, why);
        }
    }
    // Cargo runs a build script; it is no program of the project.
    let own = |path: &str| {
        !is_test(path) && !is_foreign(path) && !is_sample(path) && name_of(path) != "build.rs"
    };
    let mut found: Vec<_> = mains
        .iter()
        .flat_map(|matches| &matches.lines)
        .filter(|found| own(found.path))
        .collect();
    found.sort_by_key(|found| (is_aside(found.path), found.path.matches('/').count()));
    for found in found {
        let text = code(&capped(found.text.trim(), 60));
        push(found.path, format!("line {}: {text}", found.line));
    }
    for path in files.paths.iter().filter(|path| own(path)) {
        let name = name_of(path);
        let in_bin = folder_of(path).ends_with("src/bin") && name.ends_with(".rs");
        let in_cmd = folder_of(path).split('/').any(|part| part == "cmd") && name == "main.go";
        if NAMES.contains(&name) || in_bin || in_cmd {
            push(path, "by its name".to_owned());
        }
    }
    starts
}

/// Tells a program that serves the project itself from one that is its purpose.
pub(super) fn is_aside(path: &str) -> bool {
    folder_of(path)
        .split('/')
        .any(|folder| ASIDE.contains(&folder))
}

impl Start {
    /// Writes it for a list.
    pub(super) fn shown(&self) -> String {
        format!("{} ({})", code(&self.path), prose(&self.why, 120))
    }
}

/// Returns a path as seen from the workspace.
fn joined(folder: &str, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    if folder.is_empty() {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}
