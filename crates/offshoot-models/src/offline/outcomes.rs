//! What tools answer, read back: lists of files and lists of matches.
//!
//! The forms are those of `glob` and `grep`. Anything else is read as far as it
//! goes and never taken for complete, so that a number is only called exact when
//! the tool said so.

use std::collections::BTreeMap;
use std::fmt;

/// What a search says of files that rules keep from it.
const LEFT_OUT: &str = " left out, if there are any";

/// A number that may be only a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) number: usize,
    pub(super) exact: bool,
}

impl Count {
    pub(super) fn exactly(number: usize) -> Self {
        Self {
            number,
            exact: true,
        }
    }

    /// Writes it with its noun.
    pub(super) fn of(self, noun: &str) -> String {
        let plural = if self.number == 1 { "" } else { "s" };
        format!("{self} {noun}{plural}")
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, exact } = self;
        let head = if *exact { "" } else { "at least " };
        write!(f, "{head}{number}")
    }
}

/// What `glob` found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing<'a> {
    /// What was shown, in the tool's order.
    pub(super) paths: Vec<&'a str>,
    /// How many there are, as far as the tool looked.
    pub(super) total: usize,
    /// Their size together, as the tool wrote it.
    pub(super) size: Option<&'a str>,
    /// Where the whole list lies, when only its head was shown.
    pub(super) whole: Option<&'a str>,
    /// Whether the tool said that these are all.
    pub(super) complete: bool,
    /// What the tool could not or did not look at, in its words.
    pub(super) gaps: Vec<&'a str>,
    looked: Looked,
}

impl<'a> Listing<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let mut lines: Vec<&str> = lines(text);
        let end = lines.last().and_then(|line| bracketed(line));
        let (total, size) = match end {
            Some("no files match") => (Some(0), None),
            Some(end) => files_and_size(end).unzip(),
            None => (None, None),
        };
        if total.is_some() {
            lines.pop();
        }
        let notes = notes(&mut lines);
        let told = notes.iter().find(|note| note.contains(" files shown; "));
        let looked = Looked::of(total.is_some(), &notes, told.is_some());
        let shown = lines.len();
        Self {
            gaps: notes
                .iter()
                .copied()
                .filter(|note| Some(note) != told)
                .collect(),
            whole: told.and_then(|note| Some(note.split_once(" are in ")?.1.trim())),
            complete: looked == Looked::Everywhere && total == Some(shown),
            total: total.unwrap_or(0).max(shown),
            paths: lines,
            size,
            looked,
        }
    }

    /// Returns how many files there are.
    pub(super) fn count(&self) -> Count {
        Count {
            number: self.total,
            exact: self.complete || self.looked.counts(self.total, self.paths.len()),
        }
    }
}

/// How far a tool looked, by what it says at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Looked {
    /// It said so, and nothing against it.
    Everywhere,
    /// It looked everywhere and showed a part.
    ShowedPart,
    /// It stopped early, left something out, or did not say.
    #[default]
    Somewhere,
}

impl Looked {
    fn of(is_summed_up: bool, notes: &[&str], showed_part: bool) -> Self {
        match (is_summed_up, notes.len(), showed_part) {
            (true, 0, _) => Self::Everywhere,
            (true, 1, true) => Self::ShowedPart,
            (_, _, _) => Self::Somewhere,
        }
    }

    /// Tells whether a sum counts more than was shown.
    fn counts(self, total: usize, shown: usize) -> bool {
        self == Self::ShowedPart && total > shown
    }
}

/// What `grep` found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Matches<'a> {
    /// What was shown, in the tool's order.
    pub(super) lines: Vec<Match<'a>>,
    matches: usize,
    files: usize,
    /// Whether the tool said that these are all.
    pub(super) complete: bool,
    looked: Looked,
}

/// One line that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match<'a> {
    pub(super) path: &'a str,
    pub(super) line: usize,
    pub(super) text: &'a str,
}

impl<'a> Matches<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let mut lines: Vec<&str> = lines(text);
        let end = lines.last().and_then(|line| bracketed(line));
        let sum = match end {
            Some("no matches") => Some((0, 0)),
            Some(end) => matches_and_files(end),
            None => None,
        };
        if sum.is_some() {
            lines.pop();
        }
        let notes = notes(&mut lines);
        let showed_part = notes.iter().any(|note| note.contains(" matches shown"));
        let looked = Looked::of(sum.is_some(), &notes, showed_part);
        let lines: Vec<Match<'a>> = lines.into_iter().filter_map(matched).collect();
        let (matches, files) = sum.unwrap_or_default();
        Self {
            complete: looked == Looked::Everywhere && matches == lines.len(),
            lines,
            matches,
            files,
            looked,
        }
    }

    /// Returns how many lines matched.
    pub(super) fn count(&self) -> Count {
        Count {
            number: self.matches.max(self.lines.len()),
            exact: self.is_counted(),
        }
    }

    /// Returns how many files have a match.
    pub(super) fn file_count(&self) -> Count {
        let shown = by_file(&self.lines).len();
        Count {
            number: self.files.max(shown),
            exact: self.is_counted(),
        }
    }

    fn is_counted(&self) -> bool {
        self.complete || self.looked.counts(self.matches, self.lines.len())
    }
}

/// Counts the lines of a file that was read, as far as it was shown.
pub(super) fn line_count(text: &str) -> Count {
    let number = text.lines().count();
    let note = text.lines().next_back().and_then(bracketed);
    if note.is_some_and(|note| note.starts_with("truncated: ")) {
        return Count {
            number: number - 1,
            exact: false,
        };
    }
    Count::exactly(number)
}

/// Counts matches by file.
pub(super) fn by_file<'a>(lines: &[Match<'a>]) -> BTreeMap<&'a str, usize> {
    let mut files = BTreeMap::new();
    for found in lines {
        *files.entry(found.path).or_insert(0) += 1;
    }
    files
}

fn lines(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .collect()
}

fn bracketed(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// Takes the notes off the end of a list.
///
/// `[truncated: …]`, `[folders that could not be read: 3]`, `[… left out, if there are any]`: a path may
/// have brackets around it, but hardly a colon or a comma with a space inside.
fn notes<'a>(lines: &mut Vec<&'a str>) -> Vec<&'a str> {
    let mut notes = Vec::new();
    while let Some(note) = lines.last().and_then(|line| bracketed(line)) {
        if !note.contains(": ") && !note.contains(LEFT_OUT) {
            break;
        }
        notes.push(note);
        lines.pop();
    }
    notes
}

/// Reads `312 files, 1.2 MB`.
fn files_and_size(text: &str) -> Option<(usize, &str)> {
    let (files, size) = text.split_once(", ")?;
    let number = files
        .strip_suffix(" files")
        .or_else(|| files.strip_suffix(" file"))?;
    Some((number.parse().ok()?, size))
}

/// Reads `57 matches in 12 files`.
fn matches_and_files(text: &str) -> Option<(usize, usize)> {
    let mut words = text.split_whitespace();
    let matches = words.next()?.parse().ok()?;
    let word = words.next()?;
    let files = words.nth(1)?.parse().ok()?;
    word.starts_with("match").then_some((matches, files))
}

/// Reads `path:line:text`; a path may have colons too.
fn matched(line: &str) -> Option<Match<'_>> {
    line.match_indices(':').find_map(|(at, _)| {
        let (path, rest) = (line.get(..at)?, line.get(at + 1..)?);
        let (number, text) = rest.split_once(':')?;
        Some(Match {
            path,
            line: number.parse().ok()?,
            text,
        })
    })
}

#[cfg(test)]
mod tests;
