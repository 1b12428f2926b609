//! `test` and `[`: which of their words are operators.
//!
//! They evaluate the name of a variable that `-v` is given, and with it whatever
//! stands in its index. Which word is an operator they find when they know all of
//! them; so a word that is not known has to stay one word, and stand where it can
//! be no operator. That is so in the forms with at most four words, by the rules
//! of POSIX, which look at the number of words first.

use offshoot_types::permission::argv::Word;

use super::options::{is, is_number, listed, quoted};

const UNARY: &str = "-b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S";
const BINARY: &str = "= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef";

/// Tells whether a test evaluates nothing.
pub(super) fn is_plain(words: &[Word]) -> bool {
    let known =
        |word: &Word| matches!(word, Word::Fixed(word) if !matches!(word.as_str(), "-v" | "-R"));
    words.iter().all(known) || is_short(words)
}

/// Tells whether a test has one of the forms in which no word becomes an operator by its value.
fn is_short(words: &[Word]) -> bool {
    let words = match words {
        [not, rest @ ..] if is(not, "!") => rest,
        words => words,
    };
    match words {
        [word] => is_one(word),
        [Word::Fixed(operator), word] => listed(UNARY, operator) && is_one(word),
        [left, Word::Fixed(operator), right] => {
            listed(BINARY, operator) && is_one(left) && is_one(right)
        }
        _ => false,
    }
}

/// Tells whether a word stays one word, whatever it becomes.
fn is_one(word: &Word) -> bool {
    let Word::Open(text) = word else {
        return true;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let home = text.strip_prefix('~');
    quoted(text).is_some() || is_number(text) || home.is_some_and(|path| path.chars().all(plain))
}
