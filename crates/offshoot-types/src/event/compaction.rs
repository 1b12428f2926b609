//! A summary in the place of what was said before it (SES-12).
//!
//! It stands where it was made; nothing is hidden or removed by it. What a model
//! is sent is computed from the latest one: the summary, the tail that was kept
//! word for word, and whatever came after.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, MessageId};
use crate::message::Usage;

/// A summary in the place of what was said before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The id of the synthetic message.
    pub message: MessageId,
    /// What stands for the rest.
    pub summary: String,
    /// The message that was being worked on, word for word, if it is not kept below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The first message that is kept word for word; none if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_start: Option<MessageId>,
    /// Whether it was made because the context was full, and not because somebody asked.
    pub auto: bool,
    /// How many tokens the summary has.
    pub summary_tokens: u64,
    /// The children that had not ended, so that whoever goes on keeps their handles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub live: Vec<Live>,
    /// The results of children that it stands for, in their order, within a budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<KeptResult>,
    /// What the messages that still count have used.
    #[serde(default)]
    pub counts: Usage,
    /// What did not go as it should have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The result of a child's run that a compaction stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptResult {
    /// The child.
    pub agent: AgentId,
    /// Its definition.
    pub definition: String,
    /// How the run ended, in a word.
    pub status: String,
    /// What the parent was told; absent if there was no room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A child that had not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    /// Which one.
    pub agent: AgentId,
    /// Its definition.
    pub definition: String,
}
