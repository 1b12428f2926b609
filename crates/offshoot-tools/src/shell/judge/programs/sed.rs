//! `sed`: scripts that print, drop, count and replace lines.
//!
//! Its other commands run programs and write files, and so do two letters behind a
//! replacement. So scripts are read as a small grammar, and what is not in it is
//! opaque. Where a pattern ends depends on who wrote the `sed`, so a script is plain
//! only if it is in every reading.

use std::collections::BTreeSet;

use offshoot_types::permission::argv::Word;

use super::options::{is_operand, may_be_option};

/// Tells whether `sed` only prints: `-i` writes to the file.
pub(super) fn is_plain(arguments: &[Word]) -> bool {
    let mut scripts = 0;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = match word {
            Word::Fixed(text) => text,
            Word::Open(text) if scripts > 0 && !may_be_option(text) => continue,
            Word::Open(_) => return false,
        };
        let bundle = text.strip_prefix('-').filter(|bundle| !bundle.is_empty());
        let script = match bundle {
            Some(bundle) => {
                let (flags, takes) = match bundle.strip_suffix('e') {
                    Some(flags) => (flags, true),
                    None => (bundle, false),
                };
                if !flags.chars().all(|c| "nErs".contains(c)) {
                    return false;
                }
                match (takes, takes.then(|| words.next()).flatten()) {
                    (true, Some(Word::Fixed(script))) => Some(script),
                    (true, _) => return false,
                    (false, _) => None,
                }
            }
            None if scripts == 0 => Some(text),
            None if is_operand(word) => None,
            None => return false,
        };
        if let Some(script) = script {
            if !prints(script) {
                return false;
            }
            scripts += 1;
        }
    }
    scripts > 0
}

/// What may stand between commands. Where a brace may not, a `sed` refuses all of it.
const SEPARATORS: [char; 4] = [' ', ';', '{', '}'];

/// In how many ways a script is read before that is too many.
const MOST_READINGS: usize = 64;

/// Tells whether all commands of a script are known, however it is read.
///
/// Where a pattern ends is not the same to all who wrote a `sed`, so there may be several places
/// from which a script goes on.
fn prints(script: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![script];
    while let Some(rest) = left.pop() {
        let rest = rest.trim_start_matches(SEPARATORS);
        if rest.is_empty() || !seen.insert(rest.len()) {
            continue;
        }
        let Some(readings) = command(rest).filter(|_| seen.len() <= MOST_READINGS) else {
            return false;
        };
        for behind in readings {
            let behind = behind.trim_start_matches(' ');
            if !behind.is_empty() && !behind.starts_with(SEPARATORS) {
                return false;
            }
            left.push(behind);
        }
    }
    true
}

/// Takes one command and returns what may stand behind it. A reading that every `sed` refuses is
/// none: it does nothing at all then.
fn command(text: &str) -> Option<Vec<&str>> {
    let mut places = address(text)?;
    if places.iter().any(|rest| rest.starts_with(',')) {
        let mut behind = Vec::new();
        for rest in places {
            behind.extend(second_address(rest)?);
        }
        places = behind;
    }
    let mut readings = Vec::new();
    for rest in places {
        readings.extend(letter(rest.trim_start_matches([' ', '!']))?);
    }
    (!readings.is_empty()).then_some(readings)
}

/// Takes the second address, if there is one.
fn second_address(text: &str) -> Option<Vec<&str>> {
    let Some(behind) = text.strip_prefix(',') else {
        return Some(vec![text]);
    };
    let behind = behind.trim_start_matches([' ', '+', '~']);
    let places = address(behind)?;
    let is_there = |rest: &&str| rest.len() < behind.len();
    places.iter().all(is_there).then_some(places)
}

/// Takes a command's letter and what belongs to it.
fn letter(text: &str) -> Option<Vec<&str>> {
    let digit = |c: char| c.is_ascii_digit();
    let letter = text.chars().next()?;
    let behind = &text[letter.len_utf8()..];
    match letter {
        'p' | 'd' | '=' => Some(vec![behind]),
        '{' => Some(vec![text]),
        'y' => {
            let mark = behind.chars().next().filter(char::is_ascii_punctuation)?;
            if ";\\[]{}".contains(mark) {
                return None;
            }
            let (_, behind) = part(&behind[1..], mark)?;
            part(behind, mark).map(|(_, behind)| vec![behind])
        }
        'q' => Some(vec![
            behind.trim_start_matches(' ').trim_start_matches(digit),
        ]),
        's' => {
            let mark = behind.chars().next()?;
            if mark.is_alphanumeric() || " ;\\[]\n".contains(mark) || !mark.is_ascii() {
                return None;
            }
            let mut readings = Vec::new();
            for behind in pattern(&behind[1..], mark)? {
                let (_, behind) = part(behind, mark)?;
                let flags = |c: char| c.is_ascii_digit() || "gpI".contains(c);
                readings.push(behind.trim_start_matches(flags));
            }
            readings.retain(|behind| !behind.starts_with(is_no_flag));
            Some(readings)
        }
        // No command to anybody.
        '/' | '*' | '$' | '^' | '.' | ']' | '[' | '(' | ')' | '+' | '?' | '|' => Some(Vec::new()),
        _ => None,
    }
}

/// Tells whether a letter behind a replacement is a flag to nobody, and ends no command.
fn is_no_flag(letter: char) -> bool {
    letter.is_ascii_graphic() && !"eEgGiImMpPwWsS0123456789;}#\\".contains(letter)
}

/// Takes an address, if there is one: a number, the last line, a pattern.
fn address(text: &str) -> Option<Vec<&str>> {
    match text.chars().next() {
        Some('/') => {
            let mut places = pattern(&text[1..], '/')?;
            for behind in &mut places {
                *behind = behind.strip_prefix('I').unwrap_or(behind);
            }
            Some(places)
        }
        Some('$') => Some(vec![&text[1..]]),
        _ => Some(vec![text.trim_start_matches(|c: char| c.is_ascii_digit())]),
    }
}

/// Takes what stands before a mark, in which `\\` takes the next letter as it is.
fn part(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => return None,
            '\\' => drop(chars.next().filter(|(_, c)| *c != '\n')?),
            c if c == mark => return Some((&text[..at], &text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    None
}

/// Takes a pattern up to its mark, as all read it: some take a mark between square brackets for text,
/// and of those some a `\\` there for what it is elsewhere.
fn pattern(text: &str, mark: char) -> Option<Vec<&str>> {
    let (_, plain) = part(text, mark)?;
    let mut places = vec![plain];
    for backslash in [Backslash::Text, Backslash::Escapes] {
        let behind = part_with_brackets(text, mark, backslash)?;
        if !places.contains(&behind) {
            places.push(behind);
        }
    }
    Some(places)
}

/// What a `\\` between square brackets is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backslash {
    Text,
    Escapes,
}

fn part_with_brackets(text: &str, mark: char, backslash: Backslash) -> Option<&str> {
    let mut rest = text;
    loop {
        let c = rest.chars().next()?;
        let behind = &rest[c.len_utf8()..];
        rest = match c {
            '\n' => return None,
            '\\' => escaped(behind)?,
            '[' => bracket(behind, backslash)?,
            c if c == mark => return Some(behind),
            _ => behind,
        };
    }
}

/// Takes a letter behind a `\\`.
fn escaped(text: &str) -> Option<&str> {
    let c = text.chars().next().filter(|c| *c != '\n')?;
    Some(&text[c.len_utf8()..])
}

/// Takes what stands behind a `[`, up to its end. A `]` that is its first letter is one of its
/// letters, and what looks like a class has to be one.
fn bracket(text: &str, backslash: Backslash) -> Option<&str> {
    let text = text.strip_prefix('^').unwrap_or(text);
    let mut rest = text.strip_prefix(']').unwrap_or(text);
    loop {
        let c = rest.chars().next()?;
        let behind = &rest[c.len_utf8()..];
        rest = match c {
            '\n' => return None,
            ']' => return Some(behind),
            '[' => match behind.chars().next()? {
                kind @ (':' | '.' | '=') => {
                    let name = behind[1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
                    name.strip_prefix(kind)?.strip_prefix(']')?
                }
                _ => behind,
            },
            '\\' if backslash == Backslash::Escapes => escaped(behind)?,
            _ => behind,
        };
    }
}
