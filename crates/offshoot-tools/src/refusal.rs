//! Why a call was not carried out.
//!
//! A kind for code, words for the model. It becomes an outcome at the edge of a
//! tool, with what was attempted in front of it; it is never an `Err` of the port.

use offshoot_types::outcome::{ErrorKind, Outcome};

/// Why a call was not carried out.
#[derive(Debug)]
pub(crate) struct Refusal {
    kind: ErrorKind,
    why: String,
}

impl Refusal {
    pub(crate) fn new(kind: ErrorKind, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { kind, why }
    }

    /// It ran and did not work.
    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, why)
    }

    /// The turn was cancelled first.
    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled")
    }

    /// Adds what else there is to say.
    #[must_use]
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.why.push_str(more);
        self
    }

    /// Returns the words.
    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the outcome; `attempted` is the tool and what it was about.
    pub(crate) fn into_outcome(self, attempted: &str) -> Outcome {
        Outcome::error(self.kind, format!("{attempted}: {}", self.why))
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::failed(why)
    }
}

impl From<&'static str> for Refusal {
    fn from(why: &'static str) -> Self {
        Self::failed(why)
    }
}
