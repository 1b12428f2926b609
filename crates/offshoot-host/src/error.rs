//! What can be wrong when a host reads its files and assembles a runtime.
//!
//! `Invalid` is an input that the user can correct: a file, a flag, a variable. `Failed` is an operation
//! that went wrong although its input was right. Nothing is printed here; the caller shows the text.

use std::error::Error;

use crate::config::Source;

/// Why settings cannot be used, or an operation of the host failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The input is wrong; another input would help.
    #[error("{0}")]
    Invalid(String),
    /// An operation failed.
    #[error("{what}: {error}")]
    Failed {
        /// What was attempted.
        what: String,
        /// Why it failed.
        error: Box<dyn Error + Send + Sync>,
    },
}

impl HostError {
    /// Returns an error about an input that the user can correct.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }

    /// Returns an error about an operation, with what was attempted.
    pub fn failed(what: impl Into<String>, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed {
            what: what.into(),
            error: error.into(),
        }
    }

    /// Adds the name of the setting that is at fault.
    #[must_use]
    pub fn about(self, setting: &str) -> Self {
        match self {
            Self::Invalid(text) => Self::Invalid(format!("`{setting}` cannot be used: {text}")),
            failed @ Self::Failed { .. } => failed,
        }
    }

    /// Adds where the value at fault comes from; the user has just typed the value of a flag.
    #[must_use]
    pub fn coming_from(self, source: &Source) -> Self {
        match (self, source) {
            (Self::Invalid(text), Source::Variable(_) | Source::File(..)) => {
                Self::Invalid(format!("{text}; it comes from {source}"))
            }
            (Self::Invalid(text), Source::Default) => {
                Self::Invalid(format!("{text}; it is {source}"))
            }
            (invalid @ Self::Invalid(_), Source::Flag(_)) => invalid,
            (failed @ Self::Failed { .. }, _) => failed,
        }
    }
}
