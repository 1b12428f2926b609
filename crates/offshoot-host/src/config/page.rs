//! The text of a file, and places in it.
//!
//! Complaints are one line that names the place and shows what stands there, as
//! far as it is fit to be shown.

use std::ops::Range;
use std::path::Path;

use crate::error::HostError;

/// How many characters of a line are shown.
const MOST: usize = 80;

/// What a line with a secret in it is likely to have; a password in an address ends in `@`.
const SECRETS: [&str; 6] = ["key", "token", "secret", "password", "sk-", "@"];

/// The text of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    pub(super) text: &'a str,
    pub(super) path: &'a Path,
}

/// A place in a text, counted from 1.
pub(super) struct Place<'a> {
    pub(super) line: usize,
    column: usize,
    text: &'a str,
}

impl<'a> Page<'a> {
    /// Returns the folder of the file.
    pub(super) fn folder(&self) -> &'a Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Returns where a span begins.
    pub(super) fn place(&self, span: &Range<usize>) -> Place<'a> {
        let start = (0..=span.start.min(self.text.len()))
            .rev()
            .find(|at| self.text.is_char_boundary(*at))
            .unwrap_or_default();
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let rest = &self.text[line_start..];
        Place {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            text: rest.lines().next().unwrap_or_default(),
        }
    }

    /// Says what is wrong at a place, and what to do about it.
    pub(super) fn fault(&self, what: &str, at: &Range<usize>, way: Option<&str>) -> HostError {
        let Place { line, column, text } = self.place(at);
        let path = self.path.display();
        let mut fault = format!("{what} in {path} line {line}, column {column}");
        if let Some(text) = shown(text) {
            fault.push_str(&format!(": {text}"));
        }
        if let Some(way) = way {
            fault.push_str(&format!("; {way}"));
        }
        // What a parser says may have lines.
        HostError::invalid(fault.lines().map(str::trim).collect::<Vec<_>>().join(" "))
    }
}

/// Returns a line, cut and made fit for a terminal; `None` if nobody should see it.
fn shown(line: &str) -> Option<String> {
    let line = line.trim();
    let lower = line.to_lowercase();
    if line.is_empty() || SECRETS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let end = line.char_indices().nth(MOST).map(|(end, _)| end);
    let (cut, more) = match end {
        Some(end) => (&line[..end], "…"),
        None => (line, ""),
    };
    Some(format!("`{}{more}`", crate::harmless::harmless(cut)))
}
