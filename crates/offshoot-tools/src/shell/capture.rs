//! The beginning and the end of an output, within a bound.
//!
//! Whatever a command prints, no more than the bound is held. As long as the
//! output fits, beginning and end together are all of it.

use std::collections::VecDeque;

use super::characters::{first_character, whole_characters};
use crate::listing::ANSWER_BYTES;

/// Most bytes that are kept and shown: an answer without the line between beginning and end, and what
/// `bash` says below them of how the command ended.
pub(super) const SHOWN: usize = ANSWER_BYTES - 10 * 1024;

/// Most bytes of the end.
const TAIL: usize = 50 * 1024;

/// Most bytes of the beginning.
const HEAD: usize = SHOWN - TAIL;

#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// What is shown of an output.
pub(super) struct Excerpt {
    pub(super) head: String,
    /// How many bytes are left out after it.
    pub(super) left_out: u64,
    pub(super) tail: String,
}

impl Capture {
    pub(super) fn take(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let (first, rest) = piece.split_at(piece.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// How many bytes came out.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Tells whether something has been dropped, or would be with `more` bytes.
    pub(super) fn overflows_with(&self, more: usize) -> bool {
        self.total + more as u64 > SHOWN as u64
    }

    /// Returns what is held: all of it, as long as nothing was dropped.
    pub(super) fn held(&self) -> Vec<u8> {
        self.head.iter().chain(&self.tail).copied().collect()
    }

    /// Returns the text to show.
    pub(super) fn excerpt(&self) -> Excerpt {
        let held = self.held();
        if !self.overflows_with(0) {
            let text = String::from_utf8_lossy(&held);
            // What is not text grows when it is made text.
            if text.len() <= SHOWN {
                return Excerpt {
                    head: text.into_owned(),
                    left_out: 0,
                    tail: String::new(),
                };
            }
        }
        let (head, tail) = held.split_at(self.head.len());
        let head = &head[..whole_characters(head)];
        let tail = &tail[first_character(tail)..];
        let (head, head_bytes) = fit(head, HEAD, |bytes, less| {
            &bytes[..whole_characters(&bytes[..bytes.len() - less])]
        });
        let (tail, tail_bytes) = fit(tail, TAIL, |bytes, less| {
            let rest = &bytes[less..];
            &rest[first_character(rest)..]
        });
        Excerpt {
            head,
            left_out: self.total - (head_bytes + tail_bytes) as u64,
            tail,
        }
    }
}

/// Makes text of as many bytes as fit; returns it with their number.
fn fit(mut bytes: &[u8], most: usize, shorten: impl Fn(&[u8], usize) -> &[u8]) -> (String, usize) {
    loop {
        let text = String::from_utf8_lossy(bytes);
        let over = text.len().saturating_sub(most);
        if over == 0 {
            return (text.into_owned(), bytes.len());
        }
        // One byte becomes three at most, so this is never too much.
        bytes = shorten(bytes, over.div_ceil(3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(pieces: &[&[u8]]) -> (String, u64, String) {
        let mut capture = Capture::default();
        for piece in pieces {
            capture.take(piece);
        }
        let Excerpt {
            head,
            left_out,
            tail,
        } = capture.excerpt();
        (head, left_out, tail)
    }

    #[test]
    fn what_fits_is_whole() {
        let all = "ä".repeat(SHOWN / 2);
        for width in [1000, 65_537, all.len()] {
            let pieces: Vec<&[u8]> = all.as_bytes().chunks(width).collect();
            assert_eq!(excerpt(&pieces), (all.clone(), 0, String::new()));
        }
    }

    #[test]
    fn of_what_does_not_fit_beginning_and_end_are_kept() {
        let line = "0123456789abcde\n";
        let all = line.repeat(1024 * 1024);
        for width in [4096, 1024 * 1024, all.len()] {
            let pieces: Vec<&[u8]> = all.as_bytes().chunks(width).collect();
            let (head, left_out, tail) = excerpt(&pieces);
            assert_eq!(head, all[..HEAD]);
            assert_eq!(tail, all[all.len() - TAIL..]);
            assert_eq!(left_out, (all.len() - HEAD - TAIL) as u64);
        }
    }

    #[test]
    fn cuts_fall_between_characters_and_are_counted() {
        let all = format!("x{}", "€".repeat(100_000));
        let (head, left_out, tail) = excerpt(&[all.as_bytes()]);
        assert!(all.starts_with(&head) && all.ends_with(&tail));
        assert_eq!(head.len() + left_out as usize + tail.len(), all.len());
        assert!(!head.contains('\u{fffd}') && !tail.contains('\u{fffd}'));
    }

    #[test]
    fn what_is_no_text_stays_within_the_bound() {
        for length in [SHOWN, 4 * HEAD] {
            let garbage = vec![0xff; length];
            let (head, left_out, tail) = excerpt(&[&garbage]);
            assert!(head.len() <= HEAD && tail.len() <= TAIL);
            let shown = (head.chars().count() + tail.chars().count()) as u64;
            assert_eq!(shown + left_out, length as u64);
        }
    }
}
