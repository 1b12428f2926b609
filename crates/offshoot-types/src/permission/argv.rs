//! Shell commands as permissions see them: words, not text.
//!
//! The target of a `shell.run` is one simple command, its words as a shell would
//! hand them over. A word that is not known before it runs is *open*: it may
//! become any words, or none, so nothing behind it has a place. A pattern is a
//! list of words too; a star at its end is whatever else there is. An open word
//! never fits a word of a pattern, it only *may*: that is too little for an
//! allow, and enough for a deny to become a question.

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// What the program is handed, quotes removed.
    Fixed(String),
    /// What is known only when it runs, as it stands in the command.
    Open(String),
}

/// Writes a command down as the target of a `shell.run`.
///
/// A fixed word is plain or in single quotes, and an open one is never either, so
/// that the two cannot be taken for each other.
pub fn render(words: &[Word]) -> String {
    let shown: Vec<String> = words.iter().map(show).collect();
    shown.join(" ")
}

fn show(word: &Word) -> String {
    match word {
        Word::Fixed(text) if is_plain(text) => text.clone(),
        Word::Fixed(text) => format!("'{}'", text.replace('\'', "'\\''")),
        Word::Open(text) => match read(text) {
            argv if argv.open && argv.fixed.is_empty() => text.clone(),
            _ => format!("\"{text}\""),
        },
    }
}

fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// A command as it was written down.
struct Argv {
    /// The words before the first open one.
    fixed: Vec<String>,
    /// Whether there is an open one.
    open: bool,
}

/// Reads a target; what is written in no way of ours is open from there on.
fn read(target: &str) -> Argv {
    let mut fixed = Vec::new();
    let mut rest = target;
    while !rest.is_empty() {
        let Some((word, behind)) = first(rest) else {
            return Argv { fixed, open: true };
        };
        fixed.push(word);
        rest = behind;
    }
    let open = target.ends_with(' ');
    Argv { fixed, open }
}

/// Takes the first word and the space behind it, if it is a fixed one.
fn first(text: &str) -> Option<(String, &str)> {
    let end = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    if !text.starts_with('\'') {
        let (word, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
        return is_plain(word).then(|| (word.to_owned(), skip(rest)));
    }
    let mut word = String::new();
    let mut rest = &text[1..];
    loop {
        let (part, behind) = rest.split_once('\'')?;
        word.push_str(part);
        match behind.strip_prefix("\\''") {
            Some(more) => {
                word.push('\'');
                rest = more;
            }
            None => return end(behind).then(|| (word, skip(behind))),
        }
    }
}

fn skip(rest: &str) -> &str {
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// How a pattern fits a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Whatever its open words become.
    Surely,
    /// Depending on what its open words become.
    Maybe,
}

/// Fits a pattern to a command; `None` if they cannot fit.
pub(super) fn fit(pattern: &str, target: &str) -> Option<Fit> {
    fit_words(&parse(pattern), &read(target))
}

/// The same for the program's bare name: who forbids `rm` means `/bin/rm` as well.
pub(super) fn fit_by_name(pattern: &str, target: &str) -> Option<Fit> {
    let mut argv = read(target);
    let program = argv.fixed.first_mut()?;
    let name = program.rsplit('/').next()?.to_owned();
    *program = name;
    fit_words(&parse(pattern), &argv)
}

fn fit_words(pattern: &[Vec<Atom>], argv: &Argv) -> Option<Fit> {
    for (index, atoms) in pattern.iter().enumerate() {
        let reaches_on = index + 1 == pattern.len() && atoms.last() == Some(&Atom::Many);
        if reaches_on && atoms.len() == 1 {
            return Some(Fit::Surely);
        }
        let Some(word) = argv.fixed.get(index) else {
            return argv.open.then_some(Fit::Maybe);
        };
        if !fits(atoms, word) {
            return None;
        }
        if reaches_on {
            return Some(Fit::Surely);
        }
    }
    match argv.fixed.len() > pattern.len() {
        true => None,
        false if argv.open => Some(Fit::Maybe),
        false => Some(Fit::Surely),
    }
}

/// A piece of a pattern's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Atom {
    Char(char),
    One,
    Many,
}

/// Takes a pattern apart: words between blanks, single quotes around blanks, `\` before a letter
/// that means itself.
fn parse(pattern: &str) -> Vec<Vec<Atom>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<Atom>> = None;
    let mut quoted = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let atom = match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
                continue;
            }
            c if quoted => Atom::Char(c),
            c if c.is_whitespace() => {
                words.extend(word.take());
                continue;
            }
            '*' => Atom::Many,
            '?' => Atom::One,
            '\\' => Atom::Char(chars.next().unwrap_or('\\')),
            c => Atom::Char(c),
        };
        word.get_or_insert_default().push(atom);
    }
    words.extend(word);
    words
}

/// Tells whether a word of a pattern fits a word; a star is anything, slashes too.
///
/// One point of return, so that no pattern is worse than pattern times word.
fn fits(atoms: &[Atom], word: &str) -> bool {
    let word: Vec<char> = word.chars().collect();
    let (mut a, mut w) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match atoms.get(a) {
            None if w == word.len() => return true,
            Some(Atom::Many) => {
                a += 1;
                star = Some((a, w));
                continue;
            }
            Some(Atom::One) if w < word.len() => {
                (a, w) = (a + 1, w + 1);
                continue;
            }
            Some(Atom::Char(c)) if word.get(w) == Some(c) => {
                (a, w) = (a + 1, w + 1);
                continue;
            }
            None | Some(Atom::One | Atom::Char(_)) => {}
        }
        match star {
            Some((after, at)) if at < word.len() => {
                star = Some((after, at + 1));
                (a, w) = (after, at + 1);
            }
            Some(_) | None => return false,
        }
    }
}

#[cfg(test)]
mod tests;
