//! The port to tools.
//!
//! A tool gets its arguments and a place to work in, never an agent, a session
//! or a store. It says beforehand what a call needs, so that the permission
//! chain can be asked; it answers with an outcome, so there is no `Err`.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde::Serialize;

use crate::cancel::Cancel;
use crate::client_ports::{Files, Processes};
use crate::content::{AttachmentError, Digest};
use crate::journal::{Journal, NoJournal};
use crate::json::RawJson;
use crate::outcome::Outcome;
use crate::permission::Need;

/// A tool.
pub trait Tool: Send + Sync {
    /// Returns what models are told of it. Always the same.
    fn spec(&self) -> &ToolSpec;

    /// Checks the arguments and returns what the call needs, or tells the model what is wrong.
    ///
    /// Has no effect. Called once before `run`, with arguments that fit the schema.
    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String>;

    /// Returns the capabilities without which it is of no use: every call of any use needs one of them.
    ///
    /// An agent that may have none of them is not offered it. Empty if that cannot be said.
    fn requires(&self) -> &[&'static str] {
        &[]
    }

    /// Returns what a person is asked, in one, where the call needs many things and its chain says ask.
    ///
    /// What is granted then is that whole, and none of its parts: they may mean something else in
    /// another call. `None` asks for each need that is open.
    fn asks(&self, _arguments: &RawJson) -> Option<Need> {
        None
    }

    /// Runs the call. Watches the signal and ends soon after it fires; may be dropped at any await.
    fn run(&self, work: Work) -> BoxFuture<'static, Outcome>;

    /// Ends whatever calls of an owner have left running; resolves when nothing of it is left.
    fn end(&self, _owner: &str) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What models are told of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its id.
    pub id: String,
    /// What it does, what it does not, when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: RawJson,
    /// What it does to the world.
    pub effect: Effect,
}

impl ToolSpec {
    /// A spec from its four parts.
    pub fn new(
        id: impl Into<String>,
        description: impl Into<String>,
        parameters: &impl Serialize,
        effect: Effect,
    ) -> Self {
        Self {
            id: id.into(),
            description: description.into(),
            parameters: RawJson::of(parameters),
            effect,
        }
    }
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Looks only: calls run side by side, and their start is stored with their end.
    Read,
    /// Changes something: that it started is stored before it runs.
    Write,
}

/// Where a call works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The root folder, absolute.
    pub workspace: String,
    /// A folder for what is not the user's, absolute; made on first use. What the owner's children
    /// keep lies below it.
    pub scratch: Option<String>,
    /// A folder, absolute and without links, that the host keeps for itself: to tools it is not
    /// there, wherever it lies, except for `scratch`.
    pub off_limits: Option<String>,
    /// A key for whatever outlives the call: see `Tool::end`.
    pub owner: String,
}

impl Place {
    /// A place without a scratch folder.
    pub fn new(workspace: impl Into<String>) -> Self {
        Self {
            workspace: workspace.into(),
            scratch: None,
            off_limits: None,
            owner: String::new(),
        }
    }
}

/// One call that is to be run.
#[derive(Clone)]
pub struct Work {
    /// Arguments that fit the schema.
    pub arguments: RawJson,
    /// Where.
    pub place: Place,
    /// Asks it to stop.
    pub cancel: Cancel,
    /// Where changes of files are recorded before they are made.
    pub journal: Arc<dyn Journal>,
    /// Where to say what comes out while it runs.
    pub output: Output,
    /// Which files it may look at where it was allowed a folder.
    pub sight: Sight,
    /// Where it stores the bytes of images and files that its outcome names.
    pub blobs: BlobSink,
    /// Whether the agent's model takes images.
    pub takes_images: bool,
    /// The text files of the session's client, where it offers them.
    pub files: Option<Arc<dyn Files>>,
    /// The processes of the session's client, where it offers them.
    pub processes: Option<Arc<dyn Processes>>,
}

impl Work {
    /// A call that nobody stops, records or listens to.
    pub fn new(arguments: RawJson, place: Place) -> Self {
        Self {
            arguments,
            place,
            cancel: Cancel::never(),
            journal: Arc::new(NoJournal),
            output: Output::unheard(),
            sight: Sight::unhindered(),
            blobs: BlobSink::none(),
            takes_images: false,
            files: None,
            processes: None,
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            arguments, place, ..
        } = self;
        write!(f, "Work({}, {place:?})", arguments.as_str())
    }
}

/// Takes what a call says while it runs. Cloning shares it.
///
/// For those who watch: nothing of it is stored, and the outcome repeats what matters.
#[derive(Clone)]
pub struct Output(Arc<dyn Fn(&str) + Send + Sync>);

impl Output {
    /// Hands every piece to `listener`, which must not block.
    pub fn new(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Nobody listens.
    pub fn unheard() -> Self {
        Self::new(|_| {})
    }

    /// Says a piece.
    pub fn say(&self, text: &str) {
        (self.0)(text);
    }
}

/// Stores bytes as blobs of the session. Cloning shares it.
#[derive(Clone)]
pub struct BlobSink(Arc<StoreBlob>);

type StoreBlob =
    dyn Fn(Vec<u8>) -> BoxFuture<'static, Result<Digest, AttachmentError>> + Send + Sync;

impl BlobSink {
    /// Hands bytes to `store`, which returns once they are on disk.
    pub fn new(
        store: impl Fn(Vec<u8>) -> BoxFuture<'static, Result<Digest, AttachmentError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(store))
    }

    /// Stores nothing.
    pub fn none() -> Self {
        Self::new(|_| Box::pin(std::future::ready(Err(AttachmentError::NoFolder))))
    }

    /// Stores bytes and returns their digest.
    pub fn store(&self, bytes: Vec<u8>) -> BoxFuture<'static, Result<Digest, AttachmentError>> {
        (self.0)(bytes)
    }
}

/// Tells which files a search may look at: it is allowed for a folder, and rules may be about some
/// of the files below. Cloning shares it.
#[derive(Clone)]
pub struct Sight {
    narrows: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    shows: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Sight {
    /// Has `shows` asked about the absolute path of every file, and `narrows` about that of a folder,
    /// with a slash at its end, whether `shows` could say no of a file below. Neither may block.
    pub fn new(
        narrows: impl Fn(&str) -> bool + Send + Sync + 'static,
        shows: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            narrows: Arc::new(narrows),
            shows: Arc::new(shows),
        }
    }

    /// Everything may be looked at.
    pub fn unhindered() -> Self {
        Self::new(|_| false, |_| true)
    }

    /// Tells whether there may be files below a folder that may not be looked at. It says so whether
    /// or not there are: nobody learns from it what is there.
    pub fn narrows(&self, folder: &str) -> bool {
        (self.narrows)(folder)
    }

    /// Tells whether a file may be looked at.
    pub fn shows(&self, path: &str) -> bool {
        (self.shows)(path)
    }
}
