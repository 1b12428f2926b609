//! Manifests: which there are, and what they say of a package.
//!
//! Each kind is read just far enough for its name, description, licence, starts
//! and dependencies. A manifest that cannot be read has none of them.

use serde_json::Value;

use super::files::name_of;
use super::toml::{self, Entry};

/// A kind of manifest.
#[derive(Debug)]
pub(in super::super) struct Kind {
    pub(in super::super) file: &'static str,
    /// What builds it.
    pub(in super::super) system: &'static str,
    /// Whether its folder is a package of its own.
    package: bool,
    /// Commands that work by convention.
    pub(in super::super) build: Option<&'static str>,
    pub(in super::super) test: Option<&'static str>,
}

const fn package(
    file: &'static str,
    system: &'static str,
    build: &'static str,
    test: &'static str,
) -> Kind {
    Kind {
        file,
        system,
        package: true,
        build: Some(build),
        test: Some(test),
    }
}

const fn script(file: &'static str, system: &'static str) -> Kind {
    Kind {
        file,
        system,
        package: false,
        build: None,
        test: None,
    }
}

/// What is known, the more telling first.
const KINDS: &[Kind] = &[
    package("Cargo.toml", "Cargo", "cargo build", "cargo test"),
    package("package.json", "npm", "npm install", "npm test"),
    package(
        "pyproject.toml",
        "Python",
        "pip install .",
        "python -m pytest",
    ),
    package("go.mod", "Go", "go build ./...", "go test ./..."),
    package("pom.xml", "Maven", "mvn package", "mvn test"),
    package("build.gradle", "Gradle", "gradle build", "gradle test"),
    package("build.gradle.kts", "Gradle", "gradle build", "gradle test"),
    package("mix.exs", "Mix", "mix compile", "mix test"),
    package(
        "composer.json",
        "Composer",
        "composer install",
        "composer test",
    ),
    package("pubspec.yaml", "Dart", "dart pub get", "dart test"),
    package("Package.swift", "Swift", "swift build", "swift test"),
    package("setup.py", "Python", "pip install .", "python -m pytest"),
    package("build.zig", "Zig", "zig build", "zig build test"),
    package("dune-project", "Dune", "dune build", "dune test"),
    package(
        "Gemfile",
        "Bundler",
        "bundle install",
        "bundle exec rake test",
    ),
    Kind {
        file: "CMakeLists.txt",
        system: "CMake",
        package: false,
        build: Some("cmake -B build && cmake --build build"),
        test: Some("ctest --test-dir build"),
    },
    script("Makefile", "Make"),
    script("justfile", "Just"),
    script("meson.build", "Meson"),
    script("configure.ac", "Autotools"),
    script("MODULE.bazel", "Bazel"),
    script("flake.nix", "Nix"),
];

/// What a manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Manifest {
    pub(in super::super) path: String,
    pub(in super::super) name: Option<String>,
    pub(in super::super) description: Option<String>,
    pub(in super::super) licence: Option<String>,
    /// Programs: what starts them, and where.
    pub(in super::super) starts: Vec<(String, String)>,
    /// Names of what can be run, such as scripts and targets.
    pub(in super::super) targets: Vec<String>,
    pub(in super::super) dependencies: Vec<String>,
    /// Patterns of the packages that belong to it.
    pub(in super::super) members: Vec<String>,
}

/// Returns what matches every manifest.
pub(in super::super) fn pattern() -> String {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.file).collect();
    format!("**/{{{}}}", names.join(","))
}

/// Returns the kind of a manifest.
pub(in super::super) fn kind(path: &str) -> Option<&'static Kind> {
    let name = name_of(path);
    KINDS.iter().find(|kind| kind.file == name)
}

pub(super) fn is_known(path: &str) -> bool {
    kind(path).is_some()
}

/// Tells whether the file's folder is a package.
pub(super) fn is_package(path: &str) -> bool {
    kind(path).is_some_and(|kind| kind.package)
}

/// Returns how much a manifest tells, least first.
pub(super) fn rank(path: &str) -> usize {
    let name = name_of(path);
    let at = KINDS.iter().position(|kind| kind.file == name);
    at.unwrap_or(KINDS.len())
}

/// Reads a manifest.
pub(in super::super) fn read(path: &str, text: &str) -> Manifest {
    let mut manifest = match name_of(path) {
        "Cargo.toml" => cargo(&toml::entries(text)),
        "pyproject.toml" => pyproject(&toml::entries(text)),
        "package.json" | "composer.json" => json(text),
        "go.mod" => go(text),
        "pom.xml" => maven(text),
        "Makefile" => Manifest {
            targets: make_targets(text),
            ..Manifest::default()
        },
        "justfile" => Manifest {
            targets: just_recipes(text),
            ..Manifest::default()
        },
        _ => Manifest::default(),
    };
    path.clone_into(&mut manifest.path);
    manifest
}

fn cargo(entries: &[Entry]) -> Manifest {
    let package = |key| {
        toml::text(entries, "package", key)
            .or_else(|| toml::text(entries, "workspace.package", key))
    };
    let mut dependencies = Vec::new();
    for entry in entries {
        if entry.section.ends_with("dependencies") && entry.section != "workspace.dependencies" {
            let name = entry.key.split('.').next().unwrap_or_default();
            dependencies.push(name.to_owned());
        } else if let Some((_, name)) = entry.section.split_once("dependencies.")
            && !entry.section.starts_with("workspace")
        {
            dependencies.push(name.to_owned());
        }
    }
    unique(&mut dependencies);
    let bins = values(entries, "bin", "name")
        .into_iter()
        .zip(values(entries, "bin", "path"));
    Manifest {
        name: toml::text(entries, "package", "name"),
        description: package("description"),
        licence: package("license"),
        starts: bins.collect(),
        members: list(entries, "workspace", "members"),
        dependencies,
        ..Manifest::default()
    }
}

fn pyproject(entries: &[Entry]) -> Manifest {
    let either = |key| {
        toml::text(entries, "project", key).or_else(|| toml::text(entries, "tool.poetry", key))
    };
    let scripts = entries.iter().filter(|entry| {
        matches!(
            entry.section.as_str(),
            "project.scripts" | "tool.poetry.scripts"
        )
    });
    let starts = scripts
        .filter_map(|entry| {
            let target = toml::texts(&entry.value).into_iter().next()?;
            Some((entry.key.clone(), target))
        })
        .collect();
    let mut dependencies: Vec<String> = list(entries, "project", "dependencies")
        .iter()
        .map(|name| bare_requirement(name).to_owned())
        .collect();
    let poetry = entries
        .iter()
        .filter(|entry| entry.section == "tool.poetry.dependencies");
    dependencies.extend(poetry.map(|entry| entry.key.clone()));
    unique(&mut dependencies);
    Manifest {
        name: either("name"),
        description: either("description"),
        licence: either("license"),
        starts,
        dependencies,
        members: list(entries, "tool.uv.workspace", "members"),
        ..Manifest::default()
    }
}

fn json(text: &str) -> Manifest {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Manifest::default();
    };
    let field = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let keys = |key: &str| {
        let object = value.get(key).and_then(Value::as_object);
        object.into_iter().flat_map(|object| object.keys().cloned())
    };
    let mut starts: Vec<(String, String)> = Vec::new();
    starts.extend(field("main").map(|path| ("main".to_owned(), path)));
    match value.get("bin") {
        Some(Value::String(path)) => starts.push(("bin".to_owned(), path.clone())),
        Some(Value::Object(bins)) => starts.extend(
            bins.iter()
                .filter_map(|(name, path)| Some((name.clone(), path.as_str()?.to_owned()))),
        ),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {}
    }
    let workspaces = value.get("workspaces");
    let members = workspaces.and_then(|w| w.as_array().or_else(|| w.get("packages")?.as_array()));
    let mut dependencies: Vec<String> = ["dependencies", "devDependencies", "peerDependencies"]
        .into_iter()
        .flat_map(keys)
        .collect();
    dependencies.extend(["require", "require-dev"].into_iter().flat_map(keys));
    unique(&mut dependencies);
    Manifest {
        name: field("name"),
        description: field("description").filter(|text| !text.trim().is_empty()),
        licence: field("license"),
        starts,
        targets: keys("scripts").collect(),
        dependencies,
        members: members
            .into_iter()
            .flatten()
            .filter_map(|member| member.as_str().map(str::to_owned))
            .collect(),
        ..Manifest::default()
    }
}

fn go(text: &str) -> Manifest {
    let mut lines = text.lines().map(str::trim);
    let name = lines.find_map(|line| line.strip_prefix("module "));
    let required = lines
        .map(|line| line.strip_prefix("require ").unwrap_or(line))
        .filter(|line| line.contains(" v") && !line.starts_with("//"))
        .filter_map(|line| line.split_whitespace().next());
    Manifest {
        name: name.map(|name| name.trim().to_owned()),
        dependencies: required.map(str::to_owned).collect(),
        ..Manifest::default()
    }
}

/// Reads what stands in the project's own elements; those of its parent come before or inside.
fn maven(text: &str) -> Manifest {
    let own = match text.split_once("</parent>") {
        Some((_, own)) => own,
        None => text,
    };
    let element = |name: &str| {
        let (_, rest) = own.split_once(&format!("<{name}>"))?;
        let (text, _) = rest.split_once(&format!("</{name}>"))?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let modules = text.split("<module>").skip(1);
    Manifest {
        name: element("artifactId"),
        description: element("description"),
        members: modules
            .filter_map(|part| Some(part.split_once("</module>")?.0.to_owned()))
            .collect(),
        ..Manifest::default()
    }
}

fn make_targets(text: &str) -> Vec<String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "-_".contains(c))
    };
    let mut targets: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with(['\t', ' ', '#']))
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            (is_name(name.trim()) && !rest.starts_with('=')).then(|| name.trim().to_owned())
        })
        .collect();
    unique(&mut targets);
    targets
}

fn just_recipes(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with([' ', '\t', '#', '[']) && !line.contains(":="));
    let mut recipes: Vec<String> = lines
        .filter_map(|line| {
            let (head, _) = line.split_once(':')?;
            let name = head.trim_start_matches('@').split_whitespace().next()?;
            let plain = name
                .chars()
                .all(|c| c.is_alphanumeric() || "-_".contains(c));
            plain.then(|| name.to_owned())
        })
        .collect();
    unique(&mut recipes);
    recipes
}

fn bare_requirement(requirement: &str) -> &str {
    let end = requirement.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    end.and_then(|end| requirement.get(..end))
        .unwrap_or(requirement)
}

fn list(entries: &[Entry], section: &str, key: &str) -> Vec<String> {
    let mut found = entries
        .iter()
        .filter(|entry| entry.section == section && entry.key == key);
    found
        .next()
        .map(|entry| toml::texts(&entry.value))
        .unwrap_or_default()
}

/// Returns the texts of a key in all sections of that name.
fn values(entries: &[Entry], section: &str, key: &str) -> Vec<String> {
    entries
        .iter()
        .filter(|entry| entry.section == section && entry.key == key)
        .filter_map(|entry| toml::texts(&entry.value).into_iter().next())
        .collect()
}

/// Drops what was there before, and keeps the order.
fn unique(names: &mut Vec<String>) {
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
}

#[cfg(test)]
mod tests;
