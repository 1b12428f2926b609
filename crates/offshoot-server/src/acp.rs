//! The Agent Client Protocol, version 1: a connection of one client, and the log as its session updates.
//!
//! Requests are the protocol library's; updates are shapes of our own, folded from the log (correction 28).
//! Children are shown in one of two forms: `Sessions`, the RFD on subagent sessions,
//! where a parent announces its children, and `Flat` for everybody else, where a
//! child is the tool call that made it.

mod agent;
mod asks;
mod blocks;
mod client;
mod control;
mod delegation;
mod error;
mod files;
mod flat;
mod fold;
mod hidden;
mod inputs;
mod lines;
mod live;
mod options;
mod ports;
mod prompts;
mod said;
mod send;
mod serve;
mod sessions;
mod setup;
mod terminals;
mod tool;
pub mod wire;

use offshoot_types::json::RawJson;
use serde::Deserialize;

pub use delegation::NAMESPACE;
pub use fold::{Fold, Piece, PieceKind, Watch};
pub use serve::serve;
pub use setup::{AgentSummary, ModelSummary, SessionStart, Setup, StartError, Workspaces};

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
        let meta = said.meta.and_then(|meta| meta.read().ok());
        let CapabilitiesMeta { transcript } = meta.unwrap_or_default();
        let wants_words = transcript.is_some_and(|value| value.as_str().trim() == "true");
        Self::Flat(if wants_words {
            Transcripts::Shown
        } else {
            Transcripts::Hidden
        })
    }
}

/// What we look at of a client's capabilities. Each value is read on its own: a malformed one costs the
/// client nothing else.
#[derive(Default, Deserialize)]
struct Capabilities {
    #[serde(default)]
    subagents: Option<RawJson>,
    #[serde(default, rename = "_meta")]
    meta: Option<RawJson>,
}

#[derive(Default, Deserialize)]
struct CapabilitiesMeta {
    #[serde(default, rename = "subagent-transcript")]
    transcript: Option<RawJson>,
}
