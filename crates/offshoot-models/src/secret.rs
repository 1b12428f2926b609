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
    /// Takes a text as a secret.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text, for the wire only.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `text` with the secret taken out, should it be in there.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.is_empty() {
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
        let secret = Secret::new("sk-1");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
        assert_eq!(secret.hide_in("sk-1, not sk-2, sk-1"), "***, not sk-2, ***");
        assert_eq!(Secret::new("").hide_in("ab"), "ab");
    }
}
