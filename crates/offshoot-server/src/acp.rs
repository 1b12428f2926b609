//! The log as session updates of the Agent Client Protocol, version 1.
//!
//! Children are shown in one of two forms: `Sessions`, the RFD on subagent sessions,
//! where a parent announces its children, and `Flat` for everybody else, where a
//! child is the tool call that made it. Of the earlier proposal on delegation only
//! the record of a run is kept, in `_meta`. The shapes are our own until a face needs
//! a transport: the protocol's library has them behind an unstable feature.

mod agent;
mod flat;
mod fold;
mod said;
mod sessions;
mod tool;
pub mod wire;

use offshoot_types::json::RawJson;
use serde::Deserialize;

pub use fold::{Fold, Piece, PieceKind, Watch};

/// How children are shown to a client. Chosen once, when it says what it understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A session each: `subagent_update` and `session_message`.
    Sessions,
    /// A tool call each, on the root's session.
    Flat(Transcripts),
}

/// Whether a client that knows no child sessions wants the words of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transcripts {
    /// Their calls and their answers only.
    Hidden,
    /// All of it, marked with the call that made the child.
    Shown,
}

impl Form {
    /// Returns the form for the `clientCapabilities` of `initialize`.
    ///
    /// A client that says nothing it understands gets the flat form: a variant that it does not know
    /// may cost it the whole notification.
    pub fn of(capabilities: &RawJson) -> Self {
        let said: Capabilities = capabilities.read().unwrap_or_default();
        let is_object = |value: &RawJson| value.as_str().trim_start().starts_with('{');
        if said.subagents.is_some_and(|value| is_object(&value)) {
            return Self::Sessions;
        }
        Self::Flat(if said.meta.transcript {
            Transcripts::Shown
        } else {
            Transcripts::Hidden
        })
    }
}

/// What we look at of a client's capabilities.
#[derive(Default, Deserialize)]
struct Capabilities {
    #[serde(default)]
    subagents: Option<RawJson>,
    #[serde(default, rename = "_meta")]
    meta: CapabilitiesMeta,
}

#[derive(Default, Deserialize)]
struct CapabilitiesMeta {
    #[serde(default, rename = "subagent-transcript")]
    transcript: bool,
}
