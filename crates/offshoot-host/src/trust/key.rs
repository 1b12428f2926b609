//! Under what it is kept that a thing was accepted.
//!
//! A file is kept under its path: there is one of each, and what is there tomorrow is what it has
//! become. Of things that stand in a row in one file the place says nothing, because another may be
//! put before them: such a thing is kept under what it is, and its name if somebody gave it one.

use std::fmt;

use super::Digest;

/// Stands between what a thing is called and its digest, which has no such sign.
const SIGN: char = '@';

/// Under what a thing is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Its path.
    Path(String),
    /// What it is.
    Content {
        /// Where it stands, and its name if it was given one.
        stem: String,
        /// Whether it was: only then it is known what it has become.
        named: bool,
        digest: Digest,
    },
}

impl Key {
    /// Returns the key of a thing of a file that has many.
    pub fn of_content(file: &str, name: Option<&str>, digest: &Digest) -> Self {
        Self::Content {
            stem: match name {
                Some(name) => format!("{file}.{name}"),
                None => file.to_owned(),
            },
            named: name.is_some(),
            digest: digest.clone(),
        }
    }

    /// Tells whether what is kept under a key was this before it changed.
    pub(super) fn follows(&self, key: &str, digest: &str) -> bool {
        match self {
            Self::Path(path) => path == key,
            Self::Content { stem, named, .. } => {
                let kept = key.strip_suffix(digest);
                let kept = kept.and_then(|kept| kept.strip_suffix(SIGN));
                *named && kept == Some(stem)
            }
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(path),
            Self::Content { stem, digest, .. } => write!(f, "{stem}{SIGN}{}", digest.as_str()),
        }
    }
}
