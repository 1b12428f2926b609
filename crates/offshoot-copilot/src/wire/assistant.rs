//! Events about what a model says.

use offshoot_types::caps::Money;
use offshoot_types::id::{CallId, MessageId};
use offshoot_types::json::RawJson;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    /// Counts the model's steps within a turn of ours, from "0".
    pub turn_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    pub turn_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Idle {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub model: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Where the provider tells it apart from the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_first_token_ms: Option<u64>,
    pub initiator: Initiator,
    pub interaction_type: InteractionType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
    /// Ours: US dollars; absent where no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Money>,
}

/// Because of whom the model was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initiator {
    User,
    Agent,
    SubAgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum InteractionType {
    #[serde(rename = "conversation-agent")]
    Agent,
    #[serde(rename = "conversation-subagent")]
    Subagent,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    /// The message's id: a message has one stretch of thinking here.
    pub reasoning_id: MessageId,
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasoningDelta {
    pub reasoning_id: MessageId,
    pub delta_content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub message_id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub originating_message_id: Option<MessageId>,
    pub model: String,
    pub content: String,
    pub tool_requests: Vec<ToolRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<Uuid>,
    pub turn_id: String,
    pub output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequest {
    pub tool_call_id: CallId,
    pub name: String,
    pub arguments: RawJson,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What the model itself says the call is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intention_summary: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageStart {
    pub message_id: MessageId,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageDelta {
    pub message_id: MessageId,
    pub delta_content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
}
