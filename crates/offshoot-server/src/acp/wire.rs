//! The shapes of the protocol that the fold uses, field by field as the schema has them.
//!
//! Fields of `subagent_update` and `session_message` are three-valued there:
//! absent is unchanged, `null` is cleared. Nothing here ever clears one.

use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::json::RawJson;
use serde::Serialize;

/// The parameters of `session/update`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    /// Whose transcript it is for.
    pub session_id: AgentId,
    /// What is new there.
    pub update: Update,
}

/// What is new in a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub enum Update {
    /// A person said something.
    UserMessageChunk(Chunk),
    /// The model said something.
    AgentMessageChunk(Chunk),
    /// The model thought something.
    AgentThoughtChunk(Chunk),
    /// A call.
    ToolCall(ToolCall),
    /// What became of a call.
    ToolCallUpdate(ToolCallUpdate),
    /// What the agent is about to do; always the whole list.
    Plan {
        /// In order.
        entries: Vec<PlanEntry>,
    },
    /// What a session is called now.
    SessionInfoUpdate {
        /// Its name.
        title: String,
    },
    /// An announcement of a child, or what is new of it.
    SubagentUpdate(SubagentUpdate),
    /// Something that one session said to another.
    SessionMessage(SessionMessage),
    /// How full the context of the session's model is.
    UsageUpdate {
        /// Tokens of the last request and its answer.
        used: u64,
        /// Tokens that the model takes.
        size: u64,
        /// What the session has cost, all agents included; absent if no price is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// Something that the user should know.
    Notice {
        /// `info`, `warning` or `error`.
        severity: &'static str,
        /// In one sentence.
        title: String,
    },
    /// A conversation was shortened.
    #[serde(rename_all = "camelCase")]
    CompactionUpdate {
        /// Which time.
        compaction_id: MessageId,
        /// `completed`: the log has nothing before that.
        status: &'static str,
        /// What stands for what was said.
        summary: Vec<Content>,
    },
    /// What can be typed behind a slash; always the whole list.
    #[serde(rename_all = "camelCase")]
    AvailableCommandsUpdate {
        /// In the order in which they are listed.
        available_commands: Vec<Command>,
        /// The agents that can be started, for clients that asked for it.
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<RawJson>,
    },
    /// The agent that leads the session now.
    #[serde(rename_all = "camelCase")]
    CurrentModeUpdate {
        /// Its name.
        current_mode_id: String,
    },
    /// What can be chosen for the session; always the whole list.
    #[serde(rename_all = "camelCase")]
    ConfigOptionUpdate {
        /// As the protocol's library writes them.
        config_options: RawJson,
    },
}

/// Money.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// Always `USD`.
    pub currency: &'static str,
}

/// Something that can be typed behind a slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Without the slash.
    pub name: String,
    /// For people.
    pub description: String,
    /// What follows it.
    pub input: CommandInput,
}

/// What follows a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandInput {
    /// Shown until something is typed.
    pub hint: &'static str,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// The words.
    pub content: Content,
    /// Which message it is a piece of.
    pub message_id: MessageId,
    /// What clients agree on beside the protocol.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A block of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
}

impl Content {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique in its session.
    pub tool_call_id: String,
    /// For people.
    pub title: String,
    /// For programs: the tool.
    pub name: String,
    /// What sort of tool it is.
    pub kind: ToolKind,
    /// How far it is.
    pub status: ToolStatus,
    /// What it would change, where the call says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
    /// Which files it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// What it was called with.
    pub raw_input: RawJson,
    /// What clients agree on beside the protocol.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// What is new of a call; absent is unchanged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallUpdate {
    /// Which call.
    pub tool_call_id: String,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// What it came to; replaces what was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<RawJson>,
    /// What clients agree on beside the protocol.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// What sort of tool a call is of. The protocol's set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Looks for something.
    Search,
    /// Runs a command.
    Execute,
    /// Plans or delegates.
    Think,
    /// Anything else.
    Other,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It has not begun, or somebody has to allow it.
    Pending,
    /// It runs.
    InProgress,
    /// It worked.
    Completed,
    /// It did not.
    Failed,
}

/// What a call shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ToolContent {
    /// Words.
    Content {
        /// The words.
        content: Content,
    },
    /// A change of a file.
    Diff {
        /// Absolute.
        path: String,
        /// What was there; absent for all of a file, which may be new.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// What is there now.
        new_text: String,
    },
    /// A terminal of the client, in which the call's command runs.
    Terminal {
        /// Which.
        terminal_id: String,
    },
}

/// A file that a call is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// Absolute.
    pub path: String,
}

/// Something that an agent is about to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanEntry {
    /// What.
    pub content: String,
    /// Required; ours are all alike.
    pub priority: &'static str,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// An announcement of a child, or what is new of it; absent is unchanged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentUpdate {
    /// The child.
    pub session_id: AgentId,
    /// What the parent calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a client may do to it; replaces what was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<SubagentCapabilities>,
    /// What it does now; replaces what was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// What clients agree on beside the protocol.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// What a client may do to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SubagentCapabilities {
    /// Stop what it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Empty>,
}

/// `{}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Empty {}

/// What a child does now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    tag = "state",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum State {
    /// It works.
    Running,
    /// It waits for a person.
    RequiresAction,
    /// It rests. Neither an outcome nor an end.
    Idle {
        /// Why it stopped.
        stop_reason: StopReason,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Error>,
    },
    /// Nobody can see what it does.
    Unknown,
}

/// Why work stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had said all.
    EndTurn,
    /// The model reached the limit of its output.
    MaxTokens,
    /// A cap was reached.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// Somebody stopped it.
    Cancelled,
    /// It could not go on.
    Error,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Error {
    /// JSON-RPC's number.
    pub code: i32,
    /// For people.
    pub message: String,
}

/// Something that one session said to another, in the transcript of one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessage {
    /// Its id in this transcript.
    pub message_id: MessageId,
    /// Who said it.
    pub sender_session_id: AgentId,
    /// To whom.
    pub recipient_session_id: AgentId,
    /// Its id in the sender's transcript; in the recipient's view only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_message_id: Option<MessageId>,
    /// Its id in the recipient's transcript; in the sender's view only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient_message_id: Option<MessageId>,
    /// The words.
    pub content: Vec<Content>,
}

/// What clients agree on beside the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// How most clients nest the calls of a child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claude_code: Option<Nesting>,
    /// For our own clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offshoot: Option<Run>,
    /// `spawn_agent`: this call is a child that can be loaded.
    #[serde(rename = "tool_name", skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'static str>,
    /// Where the child can be loaded, and which part of it is this run.
    #[serde(
        rename = "subagent_session_info",
        skip_serializing_if = "Option::is_none"
    )]
    pub subagent_session_info: Option<ChildTranscript>,
}

/// The part of a child's transcript that a call stands for. Its keys are those of Zed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChildTranscript {
    /// The child.
    pub session_id: AgentId,
    /// The first entry of the run: a prompt, a message or a call, counted from 0.
    pub message_start_index: usize,
    /// The last one so far; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_end_index: Option<usize>,
}

/// How most clients nest the calls of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Nesting {
    /// `Agent`: this call is a child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'static str>,
    /// The call that made the child this is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_use_id: Option<String>,
}

/// Which child something is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// As the proposal on delegation has it.
    pub subagent: SubagentRun,
    /// The call that made it, in its parent's transcript.
    pub tool_call_id: String,
    /// How far below the root.
    pub depth: u32,
}

/// A run of a child, in the shape that the proposal on delegation gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentRun {
    /// The child.
    pub child_session_id: AgentId,
    /// Its definition.
    pub subagent_id: String,
    /// Whether its parent waits for it.
    pub run_mode: RunMode,
    /// For people.
    pub display_name: String,
}

/// Whether a parent waits for a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunMode {
    /// It does.
    Foreground,
    /// It does not.
    Background,
}
