//! The tracked files, as text.
//!
//! Asks git, and walks the folder where there is no git (a source archive).
//! Files that are not UTF-8 are left out: no rule has anything to say of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// One file: its path from the root with `/`, and its text.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Tells whether the file is a test, by where it lies.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// Returns the lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }

    /// Returns the lines that are not comments, with their numbers.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// The tracked files, by path.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the tracked files under `root`.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut paths = match tracked(root) {
            Some(paths) => paths,
            None => walk(root)?,
        };
        paths.sort();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let whole = root.join(&path);
            // What is tracked may be gone from the work tree, or be a link to elsewhere.
            if !whole.is_file() {
                continue;
            }
            let bytes = fs::read(&whole).with_context(|| format!("read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path, text });
            }
        }
        Ok(Self { files })
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// Returns the files below a folder, which is given with its final `/`.
    pub(crate) fn under(&self, folder: &str) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(folder))
    }

    /// Tells whether any library has an example in its docs that rustdoc would run.
    pub(crate) fn has_doc_tests(&self) -> bool {
        self.rust()
            .filter(|file| file.path.contains("/src/"))
            .any(|file| has_doc_test(&file.text))
    }
}

fn has_doc_test(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim_start();
        // Documentation that is a file of its own is one for its examples' sake.
        let included = ["#![doc = include_str!(", "#[doc = include_str!("];
        if included.iter().any(|start| line.starts_with(start)) {
            return true;
        }
        let Some(doc) = line.strip_prefix("///").or(line.strip_prefix("//!")) else {
            inside = false;
            continue;
        };
        let Some(language) = doc.trim().strip_prefix("```") else {
            continue;
        };
        let runs = ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language);
        if !inside && runs {
            return true;
        }
        inside = !inside;
    }
    false
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let names = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = names.split_terminator('\0').map(str::to_owned).collect();
    // An archive unpacked inside somebody else's repository has no tracked file.
    (!paths.is_empty()).then_some(paths)
}

fn walk(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(root.join(&folder)).with_context(|| format!("list folder {folder}"))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("list folder {folder}"))?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = format!("{folder}{name}");
            if !entry.path().is_dir() {
                paths.push(path);
            } else if name != "target" && name != ".git" {
                folders.push(format!("{path}/"));
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(has_doc_test(text), expected, "{text}");
    }

    #[test]
    fn only_fences_that_rustdoc_runs_are_doc_tests() {
        check("/// ```\n/// f();\n/// ```", true);
        check("//! ```no_run\n//! f();\n//! ```", true);
        check("/// ```text\n/// f()\n/// ```", false);
        check(
            "/// ```yaml\n/// a: 1\n/// ```\n/// ```text\n/// ```",
            false,
        );
        check("// ```", false);
        check("#![doc = include_str!(\"guide.md\")]", true);
    }

    #[test]
    fn walking_finds_what_git_tracks() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let walked = walk(root).unwrap();
        assert!(walked.contains(&"src/tidy/tree.rs".to_owned()));
    }
}
