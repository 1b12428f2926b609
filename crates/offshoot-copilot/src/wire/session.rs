//! Events about the session and what is said to its agents.

use std::collections::BTreeMap;

use offshoot_types::id::{AgentId, CallId, MessageId};
use offshoot_types::manifest::Effort;
use offshoot_types::outcome::Metadata;
use offshoot_types::settlement::CancelledBy;
use serde::Serialize;
use uuid::Uuid;

use super::attachment::Attachment;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    pub session_id: AgentId,
    pub version: u32,
    pub producer: &'static str,
    pub copilot_version: &'static str,
    pub start_time: String,
    pub selected_model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
    pub context: Context,
    /// Ours: which agent the root is.
    pub agent_name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Context {
    pub cwd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelChange {
    pub source: &'static str,
    pub new_model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    pub warning_type: &'static str,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    pub info_type: &'static str,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    pub success: bool,
    pub summary_content: String,
    /// Ours: the first message that is still sent word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_start_id: Option<MessageId>,
    /// Ours: whether it came of itself.
    pub auto: bool,
    /// Ours.
    pub summary_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Error {
    pub error_type: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub originating_message_id: Option<MessageId>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
    /// Ours: how the root's last run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// Ours: what is behind that word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Ours: how many agents each limit of the run stopped.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stopped_by_limits: BTreeMap<&'static str, usize>,
    /// Ours: requests that were denied because no one could answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub unanswered_requests: u32,
    /// Ours: results of other agents that the root's run ended without having read.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread_results: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    pub content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    pub message_id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub delivery: Delivery,
    pub interaction_id: Uuid,
    pub turn_id: String,
}

/// What the agent was doing when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    Idle,
    Queued,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    pub content: String,
    pub kind: NotificationKind,
    /// Ours: the call that made the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
    /// Ours: what the agent used and did, as in `tool.execution_complete` of a `task` that waited.
    pub subagent: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum NotificationKind {
    /// It has answered and can be asked again.
    AgentIdle {
        agent_id: AgentId,
        agent_type: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        description: String,
        /// Ours: `completed` or `partial`.
        outcome: &'static str,
    },
    /// It has not.
    AgentCompleted {
        agent_id: AgentId,
        agent_type: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        description: String,
        /// Clients know `completed` and `failed` and break at anything else.
        status: &'static str,
        /// Ours: the word for it.
        outcome: &'static str,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Abort {
    /// Clients know three reasons and break at anything else; this is the one that fits all of ours.
    pub reason: &'static str,
    /// Ours: who stopped it.
    pub by: CancelledBy,
}
