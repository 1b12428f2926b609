//! What a terminal can show.
//!
//! Widths are counted in columns: a letter of the East has two, an accent that
//! is put over a letter has none. The table of them is short and errs on letters
//! that few people use.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use crate::config::Color;
use crate::env::Surroundings;

/// Returns how many columns a stream shows; `None` if it is no terminal, or does not say.
pub(crate) fn width(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Tells whether a stream is to have colours.
pub(crate) fn has_colors(
    color: Color,
    stream: &impl IsTerminal,
    surroundings: &Surroundings,
) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let dumb = surroundings
                .variable("TERM")
                .is_some_and(|term| term == "dumb");
            stream.is_terminal() && !dumb
        }
    }
}

/// Counts the columns of a text.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Cuts a text to a number of columns; what is cut ends in `…`.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in text.chars() {
        used += columns_of(character);
        // One column is for the mark.
        if used + 1 > most {
            break;
        }
        kept.push(character);
    }
    if most > 0 {
        kept.push('…');
    }
    kept
}

fn columns_of(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036F | 0x200B..=0x200F | 0x20D0..=0x20FF | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_columns_and_never_within_a_letter() {
        for (text, most, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}a", 2, "e\u{301}a"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
        ] {
            assert_eq!(cut(text, most), expected, "{text} {most}");
            assert!(columns(&cut(text, most)) <= most);
        }
    }
}
