//! Settings that are one of a few words, such as `auto`, `always` and `never`.
//!
//! Each word names exactly one value. The command line makes its own parsers from the same lists.

/// A setting that is one of a few words.
pub trait Word: Copy + 'static {
    /// All values, in the order in which messages list them.
    const ALL: &'static [Self];

    /// Returns the word of a value.
    fn word(self) -> &'static str;

    /// Returns the value of a word; `None` if no value has it.
    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }
}

/// Lists the words there are.
pub(super) fn words<T: Word>() -> String {
    let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
    words.join(", ")
}
