//! `awk`: programs that print, count and compare.
//!
//! Others run commands and write files: `system`, `getline`, a pipe, and a `>` behind
//! `print`. What stands in a string or a regular expression is text, and where one
//! may begin or end in two ways it is not taken for one.

use offshoot_types::permission::argv::Word;

use super::options::{is, may_be_option, quoted};

/// Tells whether `awk` runs and writes nothing.
pub(super) fn is_plain(arguments: &[Word]) -> bool {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word {
            // Behind these two stands a value.
            word if is(word, "-F") || is(word, "-v") => {
                if !matches!(words.next(), Some(Word::Fixed(_))) {
                    return false;
                }
            }
            Word::Fixed(word) if word.starts_with("-F") || word.starts_with("-v") => {}
            Word::Fixed(program) if !program.starts_with('-') => {
                // Behind the program stand files and variables.
                let is_file = |word: &Word| match word {
                    Word::Fixed(word) => !word.starts_with('-') || word == "-",
                    // Behind the program nothing is an option.
                    Word::Open(text) => !may_be_option(text) || quoted(text).is_some(),
                };
                return only_prints(program) && words.all(is_file);
            }
            Word::Fixed(_) | Word::Open(_) => return false,
        }
    }
    false
}

/// Tells whether a program runs and writes nothing.
fn only_prints(program: &str) -> bool {
    let runs = ["system", "getline"];
    // Two lines that are one may join two halves of such a word.
    if runs.iter().any(|word| program.contains(word)) || program.contains("\\\n") {
        return false;
    }
    let (code, ends): (_, &[char]) = match code(program) {
        Some(code) => (code, &[';', '{', '}']),
        None => (program.to_owned(), &[]),
    };
    let code = code.replace("||", " ");
    // A `>` behind `print` is a file, up to the end of the statement.
    let mut statements = code.split(ends);
    let writes = |statement: &str| {
        let behind = statement.split_once("print").map(|(_, behind)| behind);
        behind.is_some_and(|behind| behind.contains('>'))
    };
    !code.contains(['|', '@']) && !statements.any(writes)
}

/// Returns a program without its strings, regular expressions and comments; `None` where it cannot be
/// told what is one of them.
fn code(program: &str) -> Option<String> {
    let mut code = String::new();
    let mut chars = program.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                text(&mut chars, '"')?;
                code.push_str("\"\"");
            }
            '/' => {
                // Behind anything else it may divide.
                let before = code.trim_end().chars().next_back();
                let begins = before.is_none_or(|before| "{};(,~!&|".contains(before));
                if !begins || chars.as_str().starts_with('=') {
                    return None;
                }
                text(&mut chars, '/')?;
                code.push_str("\"\"");
            }
            '#' => {
                chars.find(|c| *c == '\n');
                code.push('\n');
            }
            '\\' => return None,
            c => code.push(c),
        }
    }
    Some(code)
}

/// Takes text up to its mark.
fn text(chars: &mut std::str::Chars<'_>, mark: char) -> Option<()> {
    let mut bracket = false;
    while let Some(c) = chars.next() {
        match c {
            // Some end there, between square brackets, and some do not.
            c if c == mark => return (!bracket).then_some(()),
            '\n' => return None,
            '\\' => drop(chars.next().filter(|c| *c != '\n')?),
            '[' if mark == '/' => {
                let behind = chars.as_str();
                let behind = behind.strip_prefix('^').unwrap_or(behind);
                // Classes, and a `]` that is a letter.
                if bracket || behind.starts_with(']') {
                    return None;
                }
                bracket = true;
            }
            ']' if mark == '/' => bracket = false,
            _ => {}
        }
    }
    None
}
