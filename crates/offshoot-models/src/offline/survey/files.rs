//! The files of the repository, as far as they could be listed.

use super::super::conversation::{Conversation, Outcome};
use super::super::outcomes::{Count, Listing};
use super::plan;

/// What is known of the files.
#[derive(Debug)]
pub(super) struct Files<'a> {
    /// Sorted, each once.
    pub(super) paths: Vec<&'a str>,
    pub(super) total: Count,
    /// As the tool wrote it.
    pub(super) size: Option<&'a str>,
    pub(super) listed: Listed<'a>,
    /// What the list leaves out, in the tool's words.
    pub(super) gaps: Vec<&'a str>,
}

/// Whether the files could be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed<'a> {
    Whole,
    /// More files exist than are known here.
    Partly,
    Failed(&'a str),
    /// There is no tool for it, or it may not be called.
    Not,
}

impl<'a> Files<'a> {
    pub(super) fn of(talk: &Conversation<'a>) -> Self {
        let nothing = |listed| Self {
            paths: Vec::new(),
            total: Count::exactly(0),
            size: None,
            listed,
            gaps: Vec::new(),
        };
        let text = match talk.outcome(&plan::all_files()) {
            Outcome::Said(text) => text,
            Outcome::Failed(why) => return nothing(Listed::Failed(why)),
            Outcome::Open => return nothing(Listed::Not),
        };
        let listing = Listing::read(text);
        let mut paths = listing.paths.clone();
        for call in plan::rest(talk) {
            let lines = talk.said(&call).into_iter().flat_map(str::lines);
            paths.extend(lines.filter(|line| is_path(line)));
        }
        paths.sort_unstable();
        paths.dedup();
        let all_shown = listing.total > 0 && paths.len() >= listing.total;
        let whole = listing.complete || all_shown && listing.gaps.is_empty();
        // These may know what the long list was too short, or too shy of dots, to show.
        for call in [plan::manifest_files(), plan::ci_files()] {
            let listing = talk.said(&call).map(Listing::read).unwrap_or_default();
            paths.extend(listing.paths);
        }
        paths.sort_unstable();
        paths.dedup();
        Self {
            total: listing.count(),
            size: listing.size,
            listed: if whole { Listed::Whole } else { Listed::Partly },
            gaps: listing.gaps,
            paths,
        }
    }

    /// Returns a number of files that were counted in the list: a lower bound where that was cut.
    pub(super) fn counted(&self, number: usize) -> Count {
        Count {
            number,
            exact: self.listed == Listed::Whole,
        }
    }

    /// Returns the files at the top.
    pub(super) fn top(&self) -> impl Iterator<Item = &'a str> {
        self.paths
            .iter()
            .copied()
            .filter(|path| !path.contains('/'))
    }

    /// Finds a file at the top by its name's beginning, whatever its case.
    pub(super) fn top_named(&self, start: &str) -> Option<&'a str> {
        self.top().find(|path| {
            let head = path.get(..start.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(start)) && is_readable(path)
        })
    }
}

/// Tells a path from the notes that tools put at the end of a list.
fn is_path(line: &str) -> bool {
    let is_note = line.starts_with('[') && line.ends_with(']') && line.contains(' ');
    !line.trim().is_empty() && !is_note
}

/// Tells whether a name can be handed to a tool as it is shown; odd ones are shown in quotes.
pub(super) fn is_readable(path: &str) -> bool {
    if path.starts_with('"') {
        return false;
    }
    !path
        .chars()
        .any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER)
}

/// Folders whose files are not the project's own work.
const FOREIGN: &[&str] = &[
    "node_modules",
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "external",
    "site-packages",
    ".venv",
    "venv",
    "dist",
    "target",
    "__pycache__",
];

/// Folders whose manifests describe no part of the project.
const SAMPLES: &[&str] = &[
    "fixtures",
    "fixture",
    "testdata",
    "test-data",
    "examples",
    "example",
    "templates",
    "template",
    "samples",
    "__fixtures__",
    "snapshots",
];

/// Tells whether a file lies where other people's code is kept.
pub(super) fn is_foreign(path: &str) -> bool {
    folders(path).any(|folder| FOREIGN.contains(&folder))
}

/// Tells whether a file lies among samples.
pub(super) fn is_sample(path: &str) -> bool {
    folders(path).any(|folder| SAMPLES.contains(&folder))
}

/// Tells whether a part of a path begins with a dot.
pub(super) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    let folder = folder_of(path);
    folder.split('/').filter(|name| !name.is_empty())
}

/// Returns the folder that a file lies in; empty at the top.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Tells whether a file is one of tests, by its name and folders.
pub(in super::super) fn is_test(path: &str) -> bool {
    let name = name_of(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    folders(path).any(|folder| matches!(folder, "tests" | "test" | "__tests__" | "spec" | "specs"))
        || stem.starts_with("test_")
        || ["_test", "_spec", "Test", "Tests"]
            .iter()
            .any(|end| stem.ends_with(end) && stem != *end)
        || name.contains(".test.")
        || name.contains(".spec.")
}

#[cfg(test)]
mod tests;
