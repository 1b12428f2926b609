//! The journal: what agents did to files, written down before it is done.
//!
//! A change is recorded with what stood there before and what comes after, and
//! is made only when that is durable; so whatever happens, a file that an agent
//! changed can be told from one that it did not, and put back. What commands of
//! a shell do to files is not seen here.

use futures_core::future::BoxFuture;

use crate::id::{AgentId, CallId, Timestamp};

/// The port to the journal, as one call sees it: who calls is known to whoever made it.
pub trait Journal: Send + Sync {
    /// Records a change that is about to be made. If it fails, the change must not be made.
    fn record(&self, change: Change) -> BoxFuture<'_, Result<(), String>>;

    /// Returns who wrote a file last, as far as the journal knows.
    fn last_writer(&self, path: &str) -> BoxFuture<'_, Option<Writer>>;
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file, absolute.
    pub path: String,
    /// What stood there; `None` where there was no file.
    pub before: Option<Vec<u8>>,
    /// What comes; `None` where there will be no file.
    pub after: Option<Vec<u8>>,
}

/// A change, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// By whom.
    pub writer: Writer,
    /// In which call.
    pub call: CallId,
    /// What.
    pub change: Change,
}

/// Who wrote a file, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The agent.
    pub agent: AgentId,
    /// Its definition, for people.
    pub definition: String,
    /// When.
    pub at: Timestamp,
}

/// A journal that keeps nothing: for tests and for hosts that want none.
pub struct NoJournal;

impl Journal for NoJournal {
    fn record(&self, _change: Change) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn last_writer(&self, _path: &str) -> BoxFuture<'_, Option<Writer>> {
        Box::pin(std::future::ready(None))
    }
}
