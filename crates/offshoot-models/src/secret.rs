//! Text that nobody may read by accident.
//!
//! A key is shown as `***` wherever it is printed, and can be taken out of texts
//! that others wrote. It is not wiped from memory when it is dropped.

use std::fmt;
use std::sync::Arc;

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// A secret, such as a provider's key. Cloning shares it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Fewest bytes of a key that is not by accident a part of a word.
    pub(crate) const SHORTEST: usize = 8;

    /// Takes a text as a secret.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the wire only.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `text` with the secret taken out, should it be in there.
    ///
    /// What is short may be a part of other words, and goes only where it is one by itself.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        let secret = &*self.0;
        if secret.is_empty() {
            return text.to_owned();
        }
        if secret.len() >= Self::SHORTEST {
            return text.replace(secret, HIDDEN);
        }
        let ends_word = |beside: Option<char>| !beside.is_some_and(char::is_alphanumeric);
        let mut shown = String::with_capacity(text.len());
        let mut rest = 0;
        for (at, found) in text.match_indices(secret) {
            let (before, after) = (&text[..at], &text[at + found.len()..]);
            if ends_word(before.chars().next_back()) && ends_word(after.chars().next()) {
                shown.push_str(&text[rest..at]);
                shown.push_str(HIDDEN);
                rest = at + found.len();
            }
        }
        shown.push_str(&text[rest..]);
        shown
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("sk-12345");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
        let hidden = secret.hide_in("sk-12345, not sk-2, sk-12345");
        assert_eq!(hidden, "***, not sk-2, ***");
        assert_eq!(Secret::new("").hide_in("ab"), "ab");
    }

    #[test]
    fn a_short_secret_is_hidden_where_it_is_a_word() {
        let secret = Secret::new("ab-1");
        for (text, expected) in [
            ("key ab-1, ab-1.", "key ***, ***."),
            ("ab-1", "***"),
            ("Bearer=ab-1\"", "Bearer=***\""),
            ("ab-12, xab-1, ab-1x, ab-1é", "ab-12, xab-1, ab-1x, ab-1é"),
            ("üab-1 ab-1ü ü ab-1", "üab-1 ab-1ü ü ***"),
        ] {
            assert_eq!(secret.hide_in(text), expected);
        }
        assert_eq!(
            Secret::new("no").hide_in("no node knows no"),
            "*** node knows ***"
        );
    }
}
