//! Events about what a model says.

use offshoot_types::caps::Money;
use offshoot_types::id::{CallId, MessageId};
use offshoot_types::json::RawJson;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnStart {
    /// Counts the model's steps within a turn of ours, from "0".
    pub(crate) turn_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interaction_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnEnd {
    pub(crate) turn_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Idle {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aborted: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Usage {
    pub(crate) model: String,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    /// Where the provider tells it apart from the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_to_first_token_ms: Option<u64>,
    pub(crate) initiator: Initiator,
    pub(crate) interaction_type: InteractionType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finish_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
    /// Ours: US dollars; absent where no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<Money>,
}

/// Because of whom the model was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Initiator {
    User,
    Agent,
    SubAgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum InteractionType {
    #[serde(rename = "conversation-agent")]
    Agent,
    #[serde(rename = "conversation-subagent")]
    Subagent,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reasoning {
    /// The message's id: a message has one stretch of thinking here.
    pub(crate) reasoning_id: MessageId,
    pub(crate) content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReasoningDelta {
    pub(crate) reasoning_id: MessageId,
    pub(crate) delta_content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    pub(crate) message_id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) originating_message_id: Option<MessageId>,
    pub(crate) model: String,
    pub(crate) content: String,
    pub(crate) tool_requests: Vec<ToolRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interaction_id: Option<Uuid>,
    pub(crate) turn_id: String,
    pub(crate) output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolRequest {
    pub(crate) tool_call_id: CallId,
    pub(crate) name: String,
    pub(crate) arguments: RawJson,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// What the model itself says the call is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intention_summary: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageStart {
    pub(crate) message_id: MessageId,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageDelta {
    pub(crate) message_id: MessageId,
    pub(crate) delta_content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}
