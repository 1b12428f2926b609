//! Options among words that may be anything.
//!
//! A program may take an option shortened, with its value in the same word, several
//! letters in one, or behind its operands. So no order is trusted: an option is
//! there if any word might be it.

use offshoot_types::permission::argv::Word;

/// Tells whether a word is just this.
pub(super) fn is(word: &Word, text: &str) -> bool {
    matches!(word, Word::Fixed(word) if word == text)
}

/// Tells whether a name is in a list that is written as words.
pub(super) fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}

/// Tells whether a word is known and no option.
pub(super) fn is_operand(word: &Word) -> bool {
    matches!(word, Word::Fixed(word) if !word.starts_with('-') && !word.is_empty())
}

/// Tells whether a long option is among the words, also shortened or with a value, or may be.
/// With a star it is any that begins so.
pub(super) fn has_option(words: &[Word], options: &[&str]) -> bool {
    words.iter().any(|word| match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => {
            let given = word.split('=').next().unwrap_or_default();
            let fits = |option: &&str| {
                let name = option.trim_end_matches('*');
                let shortened = given.len() > 2 && name.starts_with(given);
                shortened || (name != *option && given.starts_with(name))
            };
            options.iter().any(fits)
        }
    })
}

/// Tells whether a word begins with one of some options, or may.
pub(super) fn begins(word: &Word, options: &[&str]) -> bool {
    match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => options.iter().any(|option| word.starts_with(option)),
    }
}

/// Tells whether one of some letters is among the words as a short option, or may be: in whatever
/// place of a bundle, as in another option's value if that stands in the same word.
pub(super) fn has_short(words: &[Word], letters: &[char]) -> bool {
    words.iter().any(|word| match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => match word.strip_prefix('-') {
            Some(bundle) => !bundle.starts_with('-') && bundle.contains(letters),
            None => false,
        },
    })
}

/// The same where some letters take what stands behind them for their value.
pub(super) fn has_short_of(words: &[Word], letters: &str, valued: &str) -> bool {
    words.iter().any(|word| match word {
        Word::Open(text) => may_be_option(text),
        Word::Fixed(word) => {
            let bundle = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            let mut bundle = bundle.unwrap_or_default().chars();
            let ends = |c: char| letters.contains(c) || valued.contains(c);
            bundle
                .find(|c| ends(*c))
                .is_some_and(|c| letters.contains(c))
        }
    })
}

/// Tells whether an open word may become an option: only what begins like a path does not, if it
/// is quoted or holds nothing but patterns for names of files, and the shell's own numbers.
pub(super) fn may_be_option(text: &str) -> bool {
    let path = |c: char| c.is_ascii_alphanumeric() || "_./".contains(c);
    let is_pattern = !text.contains(['$', '`', '{', '(', '"', '\'']);
    let begins = match quoted(text) {
        Some(inner) => inner.starts_with(path),
        None => is_pattern && text.starts_with(path),
    };
    !begins && !is_number(text)
}

/// Returns what stands between the quotes of an open word that stays one word, whatever it becomes.
pub(super) fn quoted(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    // `"$@"` is as many words as there are arguments.
    (!inner.contains(['"', '@'])).then_some(inner)
}

/// Returns the words before a `--` that can be nothing but the end of the options: behind an option
/// it may be that one's value, unless it is one of some that take none.
pub(super) fn before_end<'a>(words: &'a [Word], flags: &str) -> &'a [Word] {
    let is_flag = |word: &Word| matches!(word, Word::Fixed(word) if listed(flags, word));
    let ends = |pair: &[Word]| (is_operand(&pair[0]) || is_flag(&pair[0])) && is(&pair[1], "--");
    match words.windows(2).position(ends) {
        Some(at) => &words[..=at],
        None => words,
    }
}

/// Tells whether a variable is one of those that hold a number whatever happens.
pub(super) fn is_number(text: &str) -> bool {
    matches!(text, "$?" | "$#" | "$$" | "$!")
}
