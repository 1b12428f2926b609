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

/// A change, as the journal has it, without what the file contained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// By whom.
    pub writer: Writer,
    /// In which call.
    pub call: CallId,
    /// The file, absolute.
    pub path: String,
    /// What stood there; `None` where there was no file.
    pub before: Option<ContentId>,
    /// What came; `None` where there was to be no file.
    pub after: Option<ContentId>,
}

/// A content in the journal. Two changes of one journal name the same content by the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentId(i64);

impl ContentId {
    /// Takes an id as a store has it.
    pub fn new(id: i64) -> Self {
        Self(id)
    }

    /// Returns the id as the store has it.
    pub fn get(self) -> i64 {
        self.0
    }
}

/// Returns records without what files contained, for stores that keep them whole.
pub fn trace(records: &[Recorded]) -> Vec<Traced> {
    let id = |content: &Option<Vec<u8>>| content.as_ref().and_then(|bytes| find(records, bytes));
    let traced = |record: &Recorded| Traced {
        writer: record.writer.clone(),
        call: record.call.clone(),
        path: record.change.path.clone(),
        before: id(&record.change.before),
        after: id(&record.change.after),
    };
    records.iter().map(traced).collect()
}

/// Returns the content that has an id of `trace`; `None` for another id.
pub fn content(records: &[Recorded], id: ContentId) -> Option<Vec<u8>> {
    let content = contents(records).nth(usize::try_from(id.get()).ok()?)?;
    content.cloned()
}

/// Finds the id that a content has in `trace`.
pub fn find(records: &[Recorded], bytes: &[u8]) -> Option<ContentId> {
    let place = contents(records).position(|content| content.is_some_and(|known| known == bytes));
    place.and_then(|place| i64::try_from(place).ok().map(ContentId))
}

fn contents(records: &[Recorded]) -> impl Iterator<Item = Option<&Vec<u8>>> {
    records
        .iter()
        .flat_map(|record| [record.change.before.as_ref(), record.change.after.as_ref()])
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
