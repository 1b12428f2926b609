//! The shape of an event on stdout: the envelope, and which events there are.
//!
//! Names and fields are those of Copilot's session events, so that tools made for
//! those read ours; `docs/events.md` says of each field whether it is given.
//! Plain data: which event follows from which entry is the fold's business.

pub mod assistant;
pub mod attachment;
pub mod external_tool;
pub mod hook;
pub mod permission;
pub mod session;
pub mod subagent;
pub mod tool;
pub mod user_input;

use offshoot_types::id::AgentId;
use serde::Serialize;
use uuid::Uuid;

/// One event, one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WireEvent {
    pub id: Uuid,
    pub timestamp: String,
    /// The last event that is stored, whoever it was about; not a hierarchy.
    pub parent_id: Option<Uuid>,
    pub session_id: AgentId,
    /// Absent for the root and for what is about the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
    #[serde(flatten)]
    pub body: Body,
}

/// `type` and `data`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", content = "data")]
pub enum Body {
    #[serde(rename = "session.start")]
    SessionStart(session::Start),
    #[serde(rename = "session.title_changed")]
    TitleChanged { title: String },
    #[serde(rename = "session.model_change")]
    ModelChange(session::ModelChange),
    #[serde(rename = "session.background_tasks_changed")]
    TasksChanged {},
    #[serde(rename = "session.compaction_start")]
    CompactionStart {},
    #[serde(rename = "session.compaction_complete")]
    CompactionComplete(session::Compacted),
    #[serde(rename = "session.info")]
    Info(session::Info),
    #[serde(rename = "session.warning")]
    Warning(session::Warning),
    /// A warning that is not in the log.
    #[serde(rename = "session.warning")]
    Notice(session::Warning),
    #[serde(rename = "session.error")]
    Error(session::Error),
    #[serde(rename = "session.idle")]
    SessionIdle(session::Idle),
    #[serde(rename = "pending_messages.modified")]
    QueueChanged {},
    #[serde(rename = "user.message")]
    UserMessage(session::UserMessage),
    #[serde(rename = "system.notification")]
    Notification(session::Notification),
    #[serde(rename = "abort")]
    Abort(session::Abort),
    #[serde(rename = "assistant.turn_start")]
    TurnStart(assistant::TurnStart),
    #[serde(rename = "assistant.turn_end")]
    TurnEnd(assistant::TurnEnd),
    #[serde(rename = "assistant.idle")]
    AssistantIdle(assistant::Idle),
    #[serde(rename = "assistant.usage")]
    Usage(assistant::Usage),
    #[serde(rename = "assistant.reasoning")]
    Reasoning(assistant::Reasoning),
    #[serde(rename = "assistant.reasoning_delta")]
    ReasoningDelta(assistant::ReasoningDelta),
    #[serde(rename = "assistant.message")]
    Message(assistant::Message),
    #[serde(rename = "assistant.message_start")]
    MessageStart(assistant::MessageStart),
    #[serde(rename = "assistant.message_delta")]
    MessageDelta(assistant::MessageDelta),
    #[serde(rename = "tool.execution_start")]
    ToolStart(tool::Start),
    #[serde(rename = "tool.execution_partial_result")]
    ToolOutput(tool::Output),
    #[serde(rename = "tool.execution_complete")]
    ToolComplete(tool::Complete),
    #[serde(rename = "permission.requested")]
    PermissionRequested(Box<permission::Requested>),
    #[serde(rename = "permission.completed")]
    PermissionCompleted(permission::Completed),
    #[serde(rename = "user_input.requested")]
    InputRequested(user_input::Requested),
    #[serde(rename = "user_input.completed")]
    InputCompleted(user_input::Completed),
    #[serde(rename = "external_tool.requested")]
    ExternalToolRequested(external_tool::Requested),
    #[serde(rename = "external_tool.completed")]
    ExternalToolCompleted(external_tool::Completed),
    #[serde(rename = "hook.start")]
    HookStart(hook::Start),
    #[serde(rename = "hook.end")]
    HookEnd(hook::End),
    #[serde(rename = "subagent.started")]
    SubagentStarted(subagent::Started),
    #[serde(rename = "subagent.selected")]
    SubagentSelected(subagent::Selected),
    #[serde(rename = "subagent.configured")]
    SubagentConfigured(subagent::Configured),
    #[serde(rename = "subagent.completed")]
    SubagentCompleted(subagent::Ended),
    #[serde(rename = "subagent.failed")]
    SubagentFailed(subagent::Ended),
}

impl Body {
    /// Tells whether it is left out of what is stored.
    pub fn is_ephemeral(&self) -> bool {
        match self {
            Self::TitleChanged { .. }
            | Self::Notice(_)
            | Self::TasksChanged {}
            | Self::SessionIdle(_)
            | Self::QueueChanged {}
            | Self::AssistantIdle(_)
            | Self::Usage(_)
            | Self::ReasoningDelta(_)
            | Self::MessageStart(_)
            | Self::MessageDelta(_)
            | Self::InputRequested(_)
            | Self::InputCompleted(_)
            | Self::ExternalToolCompleted(_)
            | Self::ToolOutput(_) => true,
            Self::SessionStart(_)
            | Self::ModelChange(_)
            | Self::CompactionStart {}
            | Self::CompactionComplete(_)
            | Self::Info(_)
            | Self::Warning(_)
            | Self::Error(_)
            | Self::UserMessage(_)
            | Self::Notification(_)
            | Self::Abort(_)
            | Self::TurnStart(_)
            | Self::TurnEnd(_)
            | Self::Reasoning(_)
            | Self::Message(_)
            | Self::ToolStart(_)
            | Self::ToolComplete(_)
            | Self::PermissionRequested(_)
            | Self::PermissionCompleted(_)
            | Self::ExternalToolRequested(_)
            | Self::HookStart(_)
            | Self::HookEnd(_)
            | Self::SubagentStarted(_)
            | Self::SubagentSelected(_)
            | Self::SubagentConfigured(_)
            | Self::SubagentCompleted(_)
            | Self::SubagentFailed(_) => false,
        }
    }

    /// Tells whether it is about the session, whichever agent it came of.
    pub fn is_of_session(&self) -> bool {
        matches!(self, Self::TasksChanged {} | Self::ExternalToolCompleted(_))
    }
}
