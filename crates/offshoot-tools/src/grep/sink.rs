//! Takes matching lines from the searcher and lists them.
//!
//! A long line is cut: what matters is where it is.

use std::io;

use grep_searcher::{Searcher, Sink, SinkMatch};

use crate::listing::Listing;

/// Most characters of a line that are shown.
const MOST_CHARACTERS: usize = 500;

const CUT: &str = "… [cut]";

/// The matching lines of one file.
pub(super) struct Lines<'a, 'b> {
    name: &'a str,
    listing: &'a mut Listing<'b>,
}

impl<'a, 'b> Lines<'a, 'b> {
    pub(super) fn new(name: &'a str, listing: &'a mut Listing<'b>) -> Self {
        Self { name, listing }
    }
}

impl Sink for Lines<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let name = self.name;
        let number = found.line_number().unwrap_or(0);
        let text = shown(found.bytes());
        self.listing.push(&format!("{name}:{number}:{text}"));
        Ok(true)
    }
}

/// Decodes a line as well as it goes, without its end.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // No character has more than four bytes, so what is cut here is not shown anyway.
    let start = &line[..line.len().min(4 * (MOST_CHARACTERS + 1))];
    let text = String::from_utf8_lossy(start);
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}{CUT}", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_at_five_hundred_characters() {
        let check = |line: &str, expected: &str| assert_eq!(shown(line.as_bytes()), expected);
        check("a\r\n", "a");
        check("a\rb\n", "a\rb");
        let whole = "€".repeat(500);
        check(&whole, &whole);
        check(&format!("{whole}€\n"), &format!("{whole}{CUT}"));
        check(&"x".repeat(10_000), &format!("{}{CUT}", "x".repeat(500)));
        assert_eq!(shown(b"gr\xfcn\n"), "gr\u{fffd}n");
    }
}
