//! The tool envelope: what a call came to.
//!
//! A failing tool is an answer, so there is no `Err` here. The stored and wire
//! form is `{type, data|error_text, attachments?, metadata{duration_ms, truncated?,
//! output_path?, …}}`; metadata keys of others are kept. Nothing on an envelope is dropped: a key that
//! is not known is refused.

mod metadata;

use serde::{Deserialize, Serialize};

use crate::content::{Content, Part};
use crate::json::RawJson;

pub use self::metadata::{Extra, Metadata};

/// What a call came to, with how it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Envelope", try_from = "Envelope")]
pub struct Outcome {
    /// The answer.
    pub body: Body,
    /// Images, files and links that go with the answer.
    pub attachments: Vec<Part>,
    /// How it went.
    pub metadata: Metadata,
}

/// The answer of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// It worked.
    Output(RawJson),
    /// It did not, and this tells the model why.
    Error {
        /// For code.
        kind: ErrorKind,
        /// For the model and for people.
        text: String,
    },
}

/// Why a call failed, for code that branches on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The arguments are not what the tool takes.
    InvalidInput,
    /// No tool of that name is offered to this agent.
    UnknownTool,
    /// The permission chain said no.
    Denied,
    /// The tool ran and failed.
    Failed,
    /// A file is, or would become, larger than tools take.
    TooLarge,
    /// A file is not what the call took it for, so nothing was changed.
    Conflict,
    /// The turn was cancelled before the tool was done.
    Cancelled,
    /// The process died while it ran; whether it had an effect is unknown.
    Interrupted,
    /// `task`: no agent of that name.
    UnknownAgent,
    /// `task`: the agent may not be spawned by agents.
    WrongMode,
    /// `task`: the tree is as deep as it may be.
    Depth,
    /// `task`: a cap of the tree is reached.
    Caps,
    /// `task`: the child was cancelled together with, or by, its parent.
    AbortedByParent,
    /// `task`: the child failed, was denied, lost or cancelled.
    ChildFailed,
}

impl Outcome {
    /// A call that worked.
    pub fn output(data: RawJson) -> Self {
        Self {
            body: Body::Output(data),
            attachments: Vec::new(),
            metadata: Metadata::default(),
        }
    }

    /// A call that failed.
    pub fn error(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self {
            body: Body::Error {
                kind,
                text: text.into(),
            },
            attachments: Vec::new(),
            metadata: Metadata::default(),
        }
    }

    /// Adds an image, a file or a link.
    #[must_use]
    pub fn with(mut self, part: Part) -> Self {
        self.attachments.push(part);
        self
    }

    /// Sets how long it took.
    #[must_use]
    pub fn took(mut self, duration_ms: u64) -> Self {
        self.metadata.duration_ms = duration_ms;
        self
    }

    /// Returns the text that the model reads and what goes with it.
    pub fn content(&self) -> Content {
        let text = std::iter::once(Part::Text(self.for_model()));
        Content::new(text.chain(self.attachments.iter().cloned()))
    }

    /// Returns what the model reads: the text of a text, the JSON of anything else, or the error.
    pub fn for_model(&self) -> String {
        match &self.body {
            Body::Output(data) => data
                .read::<String>()
                .unwrap_or_else(|_| data.as_str().to_owned()),
            Body::Error { text, .. } => format!("error: {text}"),
        }
    }

    /// Tells whether the call failed.
    pub fn is_error(&self) -> bool {
        matches!(self.body, Body::Error { .. })
    }
}

/// The stored and wire form.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    #[serde(rename = "type")]
    kind: EnvelopeType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_kind: Option<ErrorKind>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Part>,
    metadata: Metadata,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EnvelopeType {
    Output,
    Error,
}

impl From<Outcome> for Envelope {
    fn from(outcome: Outcome) -> Self {
        let Outcome {
            body,
            attachments,
            metadata,
        } = outcome;
        match body {
            Body::Output(data) => Self {
                kind: EnvelopeType::Output,
                data: Some(data),
                error_text: None,
                error_kind: None,
                attachments,
                metadata,
            },
            Body::Error { kind, text } => Self {
                kind: EnvelopeType::Error,
                data: None,
                error_text: Some(text),
                error_kind: Some(kind),
                attachments,
                metadata,
            },
        }
    }
}

impl TryFrom<Envelope> for Outcome {
    type Error = &'static str;

    fn try_from(envelope: Envelope) -> Result<Self, &'static str> {
        let Envelope {
            kind,
            data,
            error_text,
            error_kind,
            attachments,
            metadata,
        } = envelope;
        let body = match (kind, data, error_text, error_kind) {
            // JSON null and an absent field look alike to serde.
            (EnvelopeType::Output, data, None, None) => {
                Body::Output(data.unwrap_or_else(RawJson::null))
            }
            (EnvelopeType::Error, None, Some(text), kind) => Body::Error {
                kind: kind.unwrap_or(ErrorKind::Failed),
                text,
            },
            (EnvelopeType::Output, _, _, _) => {
                return Err("an output envelope has neither error_text nor error_kind");
            }
            (EnvelopeType::Error, _, _, _) => {
                return Err("an error envelope has error_text and no data");
            }
        };
        Ok(Self {
            body,
            attachments,
            metadata,
        })
    }
}
