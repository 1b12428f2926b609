//! `sed`: scripts that print, drop, count and replace lines.
//!
//! Its other commands run programs and write files, and so do two letters behind a
//! replacement. So scripts are read as a small grammar, and what is not in it is
//! opaque.

use offshoot_types::permission::argv::Word;

use super::options::is_operand;

/// Tells whether `sed` only prints: `-i` writes to the file.
pub(super) fn is_plain(arguments: &[Word]) -> bool {
    let mut scripts = 0;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Word::Fixed(text) = word else {
            return false;
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

/// Tells whether all commands of a script are known.
fn prints(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';']);
        if rest.is_empty() {
            return true;
        }
        let Some(behind) = command(rest) else {
            return false;
        };
        rest = behind.trim_start_matches(' ');
        if !rest.is_empty() && !rest.starts_with(';') {
            return false;
        }
    }
}

/// Takes one command and returns what stands behind it.
fn command(text: &str) -> Option<&str> {
    let digit = |c: char| c.is_ascii_digit();
    let mut rest = address(text)?;
    if let Some(behind) = rest.strip_prefix(',') {
        let second = address(behind.trim_start_matches([' ', '+', '~']))?;
        rest = (second.len() < behind.len()).then_some(second)?;
    }
    rest = rest.trim_start_matches([' ', '!']);
    let letter = rest.chars().next()?;
    let behind = &rest[letter.len_utf8()..];
    match letter {
        'p' | 'd' | '=' => Some(behind),
        'q' => Some(behind.trim_start_matches(' ').trim_start_matches(digit)),
        's' => {
            let mark = behind.chars().next()?;
            if mark.is_alphanumeric() || " ;\\[]\n".contains(mark) || !mark.is_ascii() {
                return None;
            }
            let (pattern, behind) = part(&behind[1..], mark)?;
            let (_, behind) = part(behind, mark)?;
            let flags = |c: char| c.is_ascii_digit() || "gpI".contains(c);
            is_pattern(pattern).then(|| behind.trim_start_matches(flags))
        }
        _ => None,
    }
}

/// Takes an address, if there is one: a number, the last line, a pattern.
fn address(text: &str) -> Option<&str> {
    let digit = |c: char| c.is_ascii_digit();
    match text.chars().next() {
        Some('/') => {
            let (pattern, behind) = part(&text[1..], '/')?;
            is_pattern(pattern).then(|| behind.strip_prefix('I').unwrap_or(behind))
        }
        Some('$') => Some(&text[1..]),
        _ => Some(text.trim_start_matches(digit)),
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

/// Some take a mark between square brackets for text.
fn is_pattern(text: &str) -> bool {
    text.matches('[').count() == text.matches(']').count()
}
