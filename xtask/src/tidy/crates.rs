//! Rules about manifests: which crate may depend on what, and from where.
//!
//! Reads `Cargo.toml` line by line, for which the way we write them is regular
//! enough; a form it does not know shows as a dependency of an odd name, never
//! as none.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::{File, Tree};

/// What `offshoot-types` may depend on. Whoever embeds us gets all of these.
const TYPES: &[&str] = &["futures-core", "serde", "serde_json", "thiserror"];
const TYPES_DEV: &[&str] = &["criterion", "proptest"];

/// What no program gets that embeds the library: it has its own, or needs none.
const NOT_EMBEDDED: &[&str] = &["clap", "crossterm", "tracing-subscriber"];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// One row of the table of arrows.
struct Arrows {
    package: &'static str,
    to: &'static [&'static str],
    /// In tests only, besides `to`.
    in_tests: &'static [&'static str],
}

/// Which of our crates may know which. Arrows point down only.
const ARROWS: &[Arrows] = &[
    leaf("offshoot-types", &[]),
    leaf("offshoot-store", &["offshoot-types"]),
    leaf("offshoot-models", &["offshoot-types"]),
    leaf("offshoot-tools", &["offshoot-types"]),
    leaf("offshoot-agents", &["offshoot-types"]),
    leaf("offshoot-copilot", &["offshoot-types"]),
    Arrows {
        package: "offshoot-server",
        to: &["offshoot", "offshoot-engine", "offshoot-types"],
        in_tests: &["offshoot-models", "offshoot-store", "offshoot-tools"],
    },
    Arrows {
        package: "offshoot-engine",
        to: &["offshoot-types"],
        in_tests: &["offshoot-store"],
    },
    leaf(
        "offshoot-host",
        &[
            "offshoot-agents",
            "offshoot-engine",
            "offshoot-models",
            "offshoot-tools",
            "offshoot-types",
        ],
    ),
    leaf("offshoot-macros", &[]),
    leaf(
        "offshoot",
        &[
            "offshoot-agents",
            "offshoot-engine",
            "offshoot-host",
            "offshoot-macros",
            "offshoot-models",
            "offshoot-store",
            "offshoot-tools",
            "offshoot-types",
        ],
    ),
    leaf(
        "offshoot-cli",
        &[
            "offshoot",
            "offshoot-agents",
            "offshoot-copilot",
            "offshoot-engine",
            "offshoot-host",
            "offshoot-models",
            "offshoot-server",
            "offshoot-store",
            "offshoot-tools",
            "offshoot-types",
        ],
    ),
    leaf("xtask", &[]),
];

const fn leaf(package: &'static str, to: &'static [&'static str]) -> Arrows {
    Arrows {
        package,
        to,
        in_tests: &[],
    }
}

/// A line of a manifest that names a dependency.
struct Dependency<'a> {
    line: usize,
    name: &'a str,
    in_tests: bool,
}

pub(super) fn types_allow_list(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.under("crates/offshoot-types/Cargo.toml") {
        for dependency in dependencies(&file.text) {
            let Dependency { line, name, .. } = dependency;
            let allowed =
                TYPES.contains(&name) || (dependency.in_tests && TYPES_DEV.contains(&name));
            if !allowed {
                let what = format!("the vocabulary may not depend on {name}, use it a crate above");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

pub(super) fn arrows(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, package) in packages(tree) {
        let Some(arrows) = ARROWS.iter().find(|arrows| arrows.package == package) else {
            let what = format!("{package} is not in the table of arrows, add it in xtask/src/tidy");
            findings.push(Finding::new(&file.path, 1, what));
            continue;
        };
        for Dependency {
            line,
            name,
            in_tests,
        } in dependencies(&file.text)
        {
            let ours = ARROWS.iter().any(|arrows| arrows.package == name);
            let allowed =
                arrows.to.contains(&name) || (in_tests && arrows.in_tests.contains(&name));
            if ours && !allowed {
                let what =
                    format!("{package} may not know {name}, pass what you need through a port");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

/// The library `offshoot`, with everything that it pulls in, brings nothing that is the program's own.
///
/// Our crates are followed by their manifests, because the lock file does not tell what only tests need;
/// all others by the lock file, where several versions of one crate count as one.
pub(super) fn embeddable(tree: &Tree) -> Vec<Finding> {
    let manifests: BTreeMap<&str, &File> =
        packages(tree).map(|(file, name)| (name, file)).collect();
    let locks = tree.files.iter().filter(|file| file.path == "Cargo.lock");
    let locked: BTreeMap<&str, BTreeSet<&str>> =
        locks.flat_map(|lock| locked(&lock.text)).collect();
    let Some(library) = manifests.get("offshoot") else {
        return Vec::new();
    };
    // Each package that is reached, with the way to it.
    let mut ways = BTreeMap::from([("offshoot", "offshoot".to_owned())]);
    let mut next = vec!["offshoot"];
    while let Some(package) = next.pop() {
        let needed: Vec<&str> = match manifests.get(package) {
            Some(manifest) => {
                let all = dependencies(&manifest.text).into_iter();
                let built = all.filter(|dependency| !dependency.in_tests);
                built.map(|dependency| dependency.name).collect()
            }
            None => locked.get(package).into_iter().flatten().copied().collect(),
        };
        let way = ways[package].clone();
        for name in needed {
            if !ways.contains_key(name) {
                ways.insert(name, format!("{way} > {name}"));
                next.push(name);
            }
        }
    }
    let banned = NOT_EMBEDDED.iter().filter_map(|name| ways.get(name));
    let what = |way| format!("a program that embeds the library would get {way}, leave it out");
    banned
        .map(|way| Finding::new(&library.path, 1, what(way)))
        .collect()
}

/// Returns what each package of a lock file depends on, by name.
fn locked(lock: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut packages: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut package = "";
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = \"") {
            package = name.trim_end_matches('"');
        } else if let Some(dependency) = line.strip_prefix(" \"") {
            let name = dependency.split([' ', '"']).next().unwrap_or_default();
            packages.entry(package).or_default().insert(name);
        }
    }
    packages
}

/// Everything comes from crates.io, and no manifest names another place to get it from.
pub(super) fn sources(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            let elsewhere = if file.path.ends_with("Cargo.lock") {
                line.starts_with("source = ") && !line.contains(CRATES_IO)
            } else if file.path.ends_with(".toml") {
                names_a_source(line)
            } else {
                false
            };
            if elsewhere {
                let what = "a source other than crates.io, keep mirrors in your own ~/.cargo";
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}

fn names_a_source(line: &str) -> bool {
    let line = line.trim();
    ["[source", "[registries", "[registry", "replace-with"]
        .iter()
        .any(|start| line.starts_with(start))
        || [" git = ", "{ git = ", " registry = ", "{ registry = "]
            .iter()
            .any(|key| line.contains(key))
}

/// Returns each crate's manifest with its name.
fn packages(tree: &Tree) -> impl Iterator<Item = (&File, &str)> {
    tree.files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("/Cargo.toml")?;
        // A folder is named like its crate.
        Some((
            file,
            folder.rsplit_once('/').map_or(folder, |(_, name)| name),
        ))
    })
}

fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut section = "";
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let number = index + 1;
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // The long form, `[dependencies.name]`.
            if let Some((kind, name)) = section.split_once("dependencies.") {
                found.push(Dependency {
                    line: number,
                    name,
                    in_tests: kind.ends_with("dev-"),
                });
            }
        } else if section.ends_with("dependencies")
            && let Some(end) = line.find(['.', ' ', '='])
            && !line.starts_with('#')
        {
            found.push(Dependency {
                line: number,
                name: &line[..end],
                in_tests: section.ends_with("dev-dependencies"),
            });
        }
    }
    found
}
