//! What can go wrong in SQLite, in the words of the store.
//!
//! Inside the backend `?` collects failures; they are explained once, on the way
//! out, with what was attempted and where.

use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::stored::Unreadable;
use offshoot_types::tree::Violation;
use rusqlite::ErrorCode;

use crate::backend::kind_of;

/// Why something could not be done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A rule of ours.
    Rule(StoreErrorKind, String),
    /// SQLite.
    Sql(rusqlite::Error),
    /// A row holds what this version cannot read.
    Unreadable(String),
}

impl Failure {
    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::Rule(StoreErrorKind::Conflict, message.into())
    }

    /// Tells whether SQLite found that the file is not what it should be.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Sql(error) => is_damage(error),
            Self::Rule(..) | Self::Unreadable(_) => false,
        }
    }

    /// Says what was attempted, where, and what came back.
    pub(super) fn explain(self, place: &str, what: &str) -> StoreError {
        match self {
            Self::Rule(kind, message) => StoreError::new(kind, format!("{what}: {message}")),
            Self::Sql(error) if is_damage(&error) => StoreError::new(
                StoreErrorKind::Unusable,
                format!("{what}: {place} is damaged: {error}"),
            ),
            Self::Sql(error) => {
                let kind = kind(&error);
                StoreError::new(kind, format!("{what} in {place}: {error}"))
            }
            Self::Unreadable(message) => StoreError::new(
                StoreErrorKind::Unusable,
                format!("{what} in {place}: {message}"),
            ),
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Self::Rule(kind_of(violation.what), violation.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(format!("a row cannot be read: {error}"))
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

impl From<Unreadable> for Failure {
    fn from(error: Unreadable) -> Self {
        Self::Unreadable(format!("an entry cannot be read: {error}"))
    }
}

fn kind(error: &rusqlite::Error) -> StoreErrorKind {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
        // Every key of ours stands for a rule of the log.
        Some(ErrorCode::ConstraintViolation) => StoreErrorKind::Conflict,
        Some(_) | None => StoreErrorKind::Io,
    }
}
