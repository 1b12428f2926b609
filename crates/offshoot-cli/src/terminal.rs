//! What a terminal can show.
//!
//! Widths are counted in columns: a letter of the East has two, an accent that
//! is put over a letter has none.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::fs::FileType;
use rustix::termios::QueueSelector;
use unicode_width::UnicodeWidthChar;

use crate::config::Color;
use crate::env::Surroundings;

/// Returns how many columns a stream shows; `None` if it is no terminal, or does not say.
pub(crate) fn width(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    size(stream).map(|(columns, _)| columns)
}

/// Returns how many columns and rows a stream shows; `None` if it is no terminal, or does not say.
pub(crate) fn size(stream: &(impl AsFd + IsTerminal)) -> Option<(usize, usize)> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let size = (usize::from(size.ws_col), usize::from(size.ws_row));
    Some(size).filter(|(columns, _)| *columns > 0)
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
        Color::Auto => stream.is_terminal() && !is_dumb(surroundings),
    }
}

/// Tells whether the terminal can do nothing but take line after line.
pub(crate) fn is_dumb(surroundings: &Surroundings) -> bool {
    surroundings
        .variable("TERM")
        .is_some_and(|term| term == "dumb")
}

/// Tells whether the locale has signs beyond ASCII.
pub(crate) fn has_unicode(surroundings: &Surroundings) -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let locale = names.into_iter().find_map(|name| surroundings.filled(name));
    locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Forgets what was typed up to now, where stdin is a terminal: it cannot answer what is asked next.
///
/// To be called before the question is written and not after it, or an answer that comes at once
/// could be lost.
pub(crate) fn forget_typed() -> std::io::Result<()> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        rustix::termios::tcflush(&stdin, QueueSelector::IFlush)?;
    }
    Ok(())
}

/// Tells whether keys can be read: from stdin, or from `/dev/tty` where text is piped in.
///
/// Without a terminal or text on stdin, as with `/dev/null`, no keys are read: such a process was started
/// to run alone. `/dev/tty` is read only if stdout is that terminal, so that the keys come from where the question is
/// shown, and only in the foreground: the terminal would stop a process of the background that reads.
pub(crate) fn has_keys() -> bool {
    let in_foreground = || {
        let group = rustix::termios::tcgetpgrp(std::io::stdout());
        group.is_ok_and(|group| group == rustix::process::getpgrp())
    };
    let stdin = std::io::stdin();
    let is_piped = || {
        let found = rustix::fs::fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
        found.is_ok_and(|it| {
            matches!(
                it,
                FileType::Fifo | FileType::RegularFile | FileType::Socket
            )
        })
    };
    stdin.is_terminal() || (is_piped() && in_foreground() && File::open("/dev/tty").is_ok())
}

/// Tells whether a person sits in front of both streams.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
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

/// Breaks a text between words into lines of so many columns; a longer word has a line of its own.
pub(crate) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn columns_of(character: char) -> usize {
    character.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_between_words() {
        let lines = wrapped("type a message; /help says more", 15);
        assert_eq!(lines, ["type a message;", "/help says more"]);
        assert_eq!(wrapped("a longerword b", 4), ["a", "longerword", "b"]);
    }

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
