//! Text that nobody may read by accident.
//!
//! A key is shown as `***` wherever it is printed, and can be taken out of texts
//! that others wrote. It is not wiped from memory when it is dropped.

use std::fmt;
use std::sync::Arc;

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// Fewest bytes of a key that somebody could not guess.
const SHORTEST: usize = 8;

/// A secret, such as a provider's key. Cloning shares it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
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
    /// What is short is no secret but a word for a server that wants any, and may be part of others.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.len() < SHORTEST {
            return text.to_owned();
        }
        text.replace(&*self.0, HIDDEN)
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
        assert_eq!(
            Secret::new("ollama").hide_in("the ollama server"),
            "the ollama server"
        );
    }
}
