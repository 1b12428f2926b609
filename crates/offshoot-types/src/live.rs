//! Pieces of what an agent says or a call prints before it is committed.
//!
//! They are shown and never stored: a subscriber that lags gets them again, or not at all.

use crate::id::{AgentId, CallId, MessageId};

/// A piece of a message that is not committed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Whose message.
    pub agent: AgentId,
    /// The id it will be committed under.
    pub message: MessageId,
    /// What kind of text.
    pub kind: DeltaKind,
    /// How many bytes of that kind came before.
    pub offset: usize,
    /// The piece.
    pub text: String,
}

/// A piece of what a call says while it runs. Nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Whose call.
    pub agent: AgentId,
    /// Which call.
    pub call: CallId,
    /// How many bytes came before.
    pub offset: usize,
    /// The piece.
    pub text: String,
}

/// What kind of text a delta holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// Words for the reader.
    Text,
    /// Thinking.
    Reasoning,
}
