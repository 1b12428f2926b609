//! Events about the session and what is said to its agents.

use std::collections::BTreeMap;

use offshoot_types::id::{AgentId, CallId, MessageId};
use offshoot_types::manifest::Effort;
use offshoot_types::outcome::Metadata;
use offshoot_types::settlement::CancelledBy;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    pub(crate) session_id: AgentId,
    pub(crate) version: u32,
    pub(crate) producer: &'static str,
    pub(crate) copilot_version: &'static str,
    pub(crate) start_time: String,
    pub(crate) selected_model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_effort: Option<Effort>,
    pub(crate) context: Context,
    /// Ours: which agent the root is.
    pub(crate) agent_name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Context {
    pub(crate) cwd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelChange {
    pub(crate) source: &'static str,
    pub(crate) new_model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_effort: Option<Effort>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Warning {
    pub(crate) warning_type: &'static str,
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    pub(crate) info_type: &'static str,
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Compacted {
    pub(crate) success: bool,
    pub(crate) summary_content: String,
    /// Ours: the first message that is still sent word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tail_start_id: Option<MessageId>,
    /// Ours: whether it came of itself.
    pub(crate) auto: bool,
    /// Ours.
    pub(crate) summary_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Error {
    pub(crate) error_type: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) originating_message_id: Option<MessageId>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Idle {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aborted: Option<bool>,
    /// Ours: how the root's last run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<&'static str>,
    /// Ours: what is behind that word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Ours: how many agents each limit of the run stopped.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) stopped_by_limits: BTreeMap<&'static str, usize>,
    /// Ours: requests that were denied because no one could answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) unanswered_requests: u32,
    /// Ours: results of other agents that the root's run ended without having read.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) unread_results: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserMessage {
    pub(crate) content: String,
    pub(crate) message_id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    pub(crate) delivery: Delivery,
    pub(crate) interaction_id: Uuid,
    pub(crate) turn_id: String,
}

/// What the agent was doing when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Delivery {
    Idle,
    Queued,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Notification {
    pub(crate) content: String,
    pub(crate) kind: NotificationKind,
    /// Ours: the call that made the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<CallId>,
    /// Ours: what the agent used and did, as in `tool.execution_complete` of a `task` that waited.
    pub(crate) subagent: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(crate) enum NotificationKind {
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
pub(crate) struct Abort {
    /// Clients know three reasons and break at anything else; this is the one that fits all of ours.
    pub(crate) reason: &'static str,
    /// Ours: who stopped it.
    pub(crate) by: CancelledBy,
}
