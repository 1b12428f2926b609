//! The shape of an event on stdout.
//!
//! Names and fields are those of Copilot's session events, so that tools made
//! for those read ours. Plain data: which event follows from which entry is the
//! fold's business.

use offshoot_types::id::{AgentId, CallId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::ErrorKind;
use serde::Serialize;
use uuid::Uuid;

use super::permission;

/// One event, one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireEvent {
    pub(crate) id: Uuid,
    pub(crate) timestamp: String,
    /// The last event that is stored, whoever it was about; not a hierarchy.
    pub(crate) parent_id: Option<Uuid>,
    pub(crate) session_id: AgentId,
    /// Absent for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ephemeral: Option<bool>,
    #[serde(flatten)]
    pub(crate) body: Body,
}

/// `type` and `data`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", content = "data")]
pub(crate) enum Body {
    #[serde(rename = "session.start")]
    SessionStart(SessionStart),
    #[serde(rename = "session.idle")]
    SessionIdle {},
    #[serde(rename = "session.error")]
    SessionError(SessionError),
    #[serde(rename = "user.message")]
    UserMessage(UserMessage),
    #[serde(rename = "system.notification")]
    Notification(Notification),
    #[serde(rename = "assistant.turn_start")]
    TurnStart(Turn),
    #[serde(rename = "assistant.turn_end")]
    TurnEnd(Turn),
    #[serde(rename = "assistant.message")]
    Message(Message),
    #[serde(rename = "assistant.message_delta")]
    MessageDelta(MessageDelta),
    #[serde(rename = "assistant.reasoning_delta")]
    ReasoningDelta(ReasoningDelta),
    #[serde(rename = "assistant.usage")]
    Usage(Usage),
    #[serde(rename = "tool.execution_start")]
    ToolStart(ToolStart),
    #[serde(rename = "tool.execution_complete")]
    ToolComplete(ToolComplete),
    #[serde(rename = "tool.execution_partial_result")]
    ToolOutput(ToolOutput),
    #[serde(rename = "permission.requested")]
    PermissionRequested(Box<permission::Requested>),
    #[serde(rename = "permission.completed")]
    PermissionCompleted(permission::Completed),
    #[serde(rename = "subagent.started")]
    SubagentStarted(SubagentStarted),
    #[serde(rename = "subagent.completed")]
    SubagentCompleted(SubagentEnded),
    #[serde(rename = "subagent.failed")]
    SubagentFailed(SubagentEnded),
    #[serde(rename = "abort")]
    Abort { reason: &'static str },
}

impl Body {
    /// Tells whether it is left out of what is stored.
    pub(crate) fn is_ephemeral(&self) -> bool {
        match self {
            Self::SessionIdle {}
            | Self::MessageDelta(_)
            | Self::ReasoningDelta(_)
            | Self::ToolOutput(_)
            | Self::Usage(_) => true,
            Self::SessionStart(_)
            | Self::SessionError(_)
            | Self::UserMessage(_)
            | Self::Notification(_)
            | Self::TurnStart(_)
            | Self::TurnEnd(_)
            | Self::Message(_)
            | Self::ToolStart(_)
            | Self::ToolComplete(_)
            | Self::PermissionRequested(_)
            | Self::PermissionCompleted(_)
            | Self::SubagentStarted(_)
            | Self::SubagentCompleted(_)
            | Self::SubagentFailed(_)
            | Self::Abort { .. } => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionStart {
    pub(crate) session_id: AgentId,
    pub(crate) version: u32,
    pub(crate) producer: &'static str,
    pub(crate) copilot_version: &'static str,
    pub(crate) start_time: String,
    pub(crate) selected_model: String,
    pub(crate) context: Context,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Context {
    pub(crate) cwd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionError {
    pub(crate) error_type: &'static str,
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserMessage {
    pub(crate) content: String,
    pub(crate) message_id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Notification {
    pub(crate) content: String,
    pub(crate) kind: NotificationKind,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum NotificationKind {
    #[serde(rename_all = "camelCase")]
    AgentCompleted {
        agent_id: AgentId,
        agent_type: String,
        status: &'static str,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    /// Counts the model's steps within a turn of ours, from "0".
    pub(crate) turn_id: String,
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
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageDelta {
    pub(crate) message_id: MessageId,
    pub(crate) delta_content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReasoningDelta {
    /// The message's id: a message has one stretch of thinking here.
    pub(crate) reasoning_id: MessageId,
    pub(crate) delta_content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Usage {
    pub(crate) model: String,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolStart {
    pub(crate) tool_call_id: CallId,
    pub(crate) tool_name: String,
    pub(crate) arguments: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolOutput {
    pub(crate) tool_call_id: CallId,
    pub(crate) partial_output: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolComplete {
    pub(crate) tool_call_id: CallId,
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<ToolResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ToolError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolResult {
    pub(crate) content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolError {
    pub(crate) message: String,
    pub(crate) code: ErrorKind,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubagentStarted {
    pub(crate) tool_call_id: CallId,
    pub(crate) agent_name: String,
    pub(crate) agent_display_name: String,
    pub(crate) agent_description: String,
    pub(crate) model: String,
    pub(crate) agent_type: String,
    pub(crate) execution_mode: ExecutionMode,
    /// The agent that spawned it, unless that is the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<AgentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExecutionMode {
    Sync,
    Background,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubagentEnded {
    pub(crate) tool_call_id: CallId,
    pub(crate) agent_name: String,
    pub(crate) agent_display_name: String,
    pub(crate) model: String,
    pub(crate) total_tool_calls: u64,
    pub(crate) total_tokens: u64,
    pub(crate) duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}
