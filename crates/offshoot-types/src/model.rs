//! The port to models.
//!
//! A request is complete and self-contained, the bytes of images included: a dialect
//! turns it into bytes without asking anything else, and equal requests give equal bytes. A stream
//! gives blocks in the model's order and ends with `Chunk::End` or an error;
//! retrying is the caller's decision, which the kind of error informs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::stream::BoxStream;

use crate::cancel::Cancel;
use crate::caps::Price;
use crate::content::{Attached, Content, Digest};
use crate::id::{AgentId, CallId};
use crate::json::RawJson;
use crate::manifest::Effort;
use crate::message::{Arguments, AssistantPart, StopReason, Usage};
use crate::tool::ToolSpec;

/// A model.
pub trait Model: Send + Sync {
    /// Starts a step. The stream owns all it needs; dropping it ends the request.
    ///
    /// When `cancel` fires, the stream ends soon, in any way.
    fn stream(
        &self,
        request: Request,
        cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>>;

    /// Returns what its tokens cost; `None` when nobody has said.
    fn price(&self) -> Option<Price> {
        None
    }

    /// Tells whether it uses tokens for an agent of a definition, also where it does not say how
    /// many. A program that stands in for a model uses none.
    fn is_metered(&self, _definition: &str) -> bool {
        true
    }

    /// Returns how many tokens a conversation with it may have, its answer included; `None` when
    /// nobody has said.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Tells whether it takes images. A model that does not is sent text only.
    fn takes_images(&self) -> bool {
        false
    }

    /// Returns what its provider counts requests by, such as a digest of a server and a key.
    ///
    /// Models of one name and one account wait together when the provider says that there are too many
    /// requests.
    fn account(&self) -> u64 {
        0
    }
}

/// The models there are, by `PROVIDER/NAME`.
pub trait Models: Send + Sync {
    /// Finds a model; the same name gives the same model.
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError>;
}

/// One step, as asked of a model.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks; for logs, budgets and scripts, never sent to a provider.
    pub from: Asker,
    /// The model's name within its provider.
    pub model: String,
    /// The five sections, rendered; shared by all steps of an agent.
    pub system: Arc<str>,
    /// What may be called, in a fixed order.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may call.
    pub choice: ToolChoice,
    /// What was said.
    pub messages: Vec<RequestMessage>,
    /// The bytes of images in the messages.
    pub images: Images,
    /// Sampling temperature, if the manifest sets one.
    pub temperature: Option<f64>,
    /// How hard to think, if the manifest says.
    pub effort: Option<Effort>,
    /// Cap of this step's output, if the manifest sets one.
    pub max_output_tokens: Option<u32>,
}

/// Who asks a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The agent.
    pub agent: AgentId,
    /// Its definition.
    pub definition: String,
    /// How far below the root.
    pub depth: u32,
    /// Which step of the run this is; the first is 1.
    pub step: u32,
}

/// Whether a model may call tools in this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Tools are shown, for the cache's sake, but not choosable.
    None,
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestMessage {
    /// The user's side.
    User(Content),
    /// The model's side, as it came.
    Assistant(Vec<AssistantPart>),
    /// The outcomes of the message before, in the order of its calls.
    Outcomes(Vec<CallOutcome>),
}

/// An outcome, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOutcome {
    /// Which call.
    pub call: CallId,
    /// The tool's id.
    pub tool: String,
    /// The text, and images that go with it.
    pub text: Content,
    /// Whether it failed.
    pub failed: bool,
}

/// The bytes of images, by digest: loaded when a request is sent, and dropped with it.
///
/// An image that has no bytes here is not sent; its note is.
#[derive(Clone, Default)]
pub struct Images(BTreeMap<Digest, Arc<[u8]>>);

impl Images {
    /// Adds the bytes of an image.
    pub fn insert(&mut self, digest: Digest, bytes: Arc<[u8]>) {
        self.0.insert(digest, bytes);
    }

    /// Returns the bytes of an image; `None` if it is not sent.
    pub fn get(&self, image: &Attached) -> Option<&Arc<[u8]>> {
        self.0.get(&image.digest)
    }
}

impl fmt::Debug for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.0.iter().map(|(digest, bytes)| (digest, bytes.len()));
        f.debug_map().entries(sizes).finish()
    }
}

/// A piece of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// The request waits its turn and was not sent yet. Says only that nothing hangs; may come again
    /// and again before anything else.
    Queued,
    /// The provider took the request and named its model.
    Started {
        /// As the provider names it.
        model: String,
    },
    /// More text; consecutive ones belong to one block.
    Text(String),
    /// More thinking; consecutive ones belong to one block.
    Reasoning(String),
    /// Ends a block of thinking with what must be sent back.
    ReasoningBlock(RawJson),
    /// More of what will be given once it is complete, such as the arguments of a call. Says only
    /// that the model is at work, and how much it has written.
    Gathering {
        /// Bytes that came since the last one.
        bytes: usize,
    },
    /// A complete call.
    Call {
        /// As the provider named it; may be empty or repeated.
        id: String,
        /// The tool's id.
        tool: String,
        /// Complete arguments.
        arguments: Arguments,
    },
    /// A complete image or file.
    File(GivenFile),
    /// A block this version does not know.
    Raw(RawJson),
    /// The end. Nothing follows.
    End {
        /// Why.
        stop: StopReason,
        /// What it cost.
        usage: Usage,
    },
}

/// An image or a file that a model gives. What it is called is cut to one line by faces that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFile {
    /// What people call it.
    pub name: Option<String>,
    /// What the provider says it is; of an image its bytes decide.
    pub media_type: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// For code.
    pub kind: ModelErrorKind,
    /// For people: what was attempted and what came back.
    pub message: String,
}

/// What can be done about a failed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// Wait, then try again.
    RateLimited {
        /// What the provider asked for.
        retry_after: Option<Duration>,
    },
    /// Try again, then give up.
    Unavailable,
    /// The conversation has more tokens than the model takes.
    TooLong,
    /// The request itself is wrong; trying again is no use.
    Invalid,
    /// No such model, or no key for it: ask the user.
    Config,
}

impl ModelError {
    /// An error from its parts.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
