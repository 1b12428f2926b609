//! Replacing a text in a text, or saying why not.
//!
//! Pure. Works on bytes, so that what is not UTF-8 around the place survives.
//! In a file whose lines all end in CRLF, line ends of both strings mean CRLF:
//! models write `\n`, and the file stays what it was. Nothing else is guessed; a
//! near miss is told, not repaired.

use std::borrow::Cow;

use memchr::memmem::{self, Finder};
use offshoot_types::outcome::ErrorKind;

use crate::change::MOST_BYTES;
use crate::refusal::Refusal;

/// Most places that a refusal names.
const MOST_NAMED: usize = 10;

/// Which occurrences are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The only one; several are refused.
    Only,
    /// All, from the left, without overlap.
    All,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) text: Vec<u8>,
    pub(super) count: usize,
    /// Where the first one was, counted from 1.
    pub(super) line: usize,
}

/// Replaces `old`, which is not empty, by `new`.
pub(super) fn replace(
    text: &[u8],
    old: &str,
    new: &str,
    which: Which,
) -> Result<Replaced, Refusal> {
    let (old, new) = if ends_all_lines_in_crlf(text) {
        (with_crlf(old), with_crlf(new))
    } else {
        (Cow::Borrowed(old), Cow::Borrowed(new))
    };
    if old == new {
        let why = "`old_string` and `new_string` differ only in line ends, which this file has \
                   as CRLF; there is nothing to change";
        return Err(Refusal::new(ErrorKind::InvalidInput, why));
    }
    let finder = Finder::new(old.as_bytes());
    let count = finder.find_iter(text).count();
    let Some(first) = finder.find(text) else {
        return Err(conflict(not_found(text, &old)));
    };
    if which == Which::Only {
        check_only(text, &finder, first, count)?;
    }
    let replaced = Replaced {
        text: join(text, &finder, new.as_bytes(), count)?,
        count,
        line: line_of(text, first),
    };
    Ok(replaced)
}

/// Puts the new text in the place of every match.
fn join(text: &[u8], finder: &Finder, new: &[u8], count: usize) -> Result<Vec<u8>, Refusal> {
    let old = finder.needle().len();
    let kept = text.len() - count * old;
    // Known beforehand: a short text for a long one, a million times, would not fit into memory.
    let size = new.len().saturating_mul(count).saturating_add(kept);
    if size > MOST_BYTES {
        let why =
            format!("it would have {size} bytes, and files of at most {MOST_BYTES} can be changed");
        return Err(Refusal::new(ErrorKind::TooLarge, why));
    }
    let mut joined = Vec::with_capacity(size);
    let mut end = 0;
    for start in finder.find_iter(text) {
        joined.extend_from_slice(&text[end..start]);
        joined.extend_from_slice(new);
        end = start + old;
    }
    joined.extend_from_slice(&text[end..]);
    Ok(joined)
}

/// Refuses several matches, also those that overlap: which one is meant is not known.
fn check_only(text: &[u8], finder: &Finder, first: usize, count: usize) -> Result<(), Refusal> {
    let overlapping = || Some(first + 1 + finder.find(&text[first + 1..])?);
    let (count, places) = match (count, overlapping()) {
        (1, None) => return Ok(()),
        (1, Some(second)) => (2, vec![first, second]),
        (count, _) => (count, finder.find_iter(text).take(MOST_NAMED).collect()),
    };
    let lines: Vec<String> = places
        .iter()
        .map(|place| line_of(text, *place).to_string())
        .collect();
    let more = if count > lines.len() { ", …" } else { "" };
    let lines = lines.join(", ");
    Err(conflict(format!(
        "`old_string` is there {count} times, at lines {lines}{more}; nothing was changed; give \
         more of the text around the one you mean, or set `replace_all`"
    )))
}

fn conflict(why: String) -> Refusal {
    Refusal::new(ErrorKind::Conflict, why)
}

/// Says that a text is not there, and if it nearly is.
fn not_found(text: &[u8], old: &str) -> String {
    let near = |trimmed: &[u8]| {
        let text = without_line_ends(text, trimmed);
        let old = without_line_ends(old.as_bytes(), trimmed);
        let blank = old.iter().all(u8::is_ascii_whitespace);
        let place = memmem::find(&text, &old).filter(|_| !blank)?;
        Some(line_of(&text, place))
    };
    let hint = if let Some(line) = near(b"\r") {
        format!("it is at line {line} with other line ends (CRLF or LF); give them as in the file")
    } else if let Some(line) = near(b"\r \t") {
        format!("it is at line {line} but for spaces at the end of lines; give them as in the file")
    } else {
        "read the file and give the text as it is there".to_owned()
    };
    format!("`old_string` is not in the file; nothing was changed; {hint}")
}

/// Drops these bytes from the end of every line. Lines stay lines.
fn without_line_ends(text: &[u8], trimmed: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if number > 0 {
            result.push(b'\n');
        }
        let kept = line.iter().rposition(|byte| !trimmed.contains(byte));
        result.extend_from_slice(&line[..kept.map_or(0, |last| last + 1)]);
    }
    result
}

fn ends_all_lines_in_crlf(text: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', text).peekable();
    ends.peek().is_some() && ends.all(|end| end > 0 && text[end - 1] == b'\r')
}

fn with_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the number of the line that a byte is in, counted from 1.
fn line_of(text: &[u8], place: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &text[..place]).count()
}

#[cfg(test)]
mod tests;
