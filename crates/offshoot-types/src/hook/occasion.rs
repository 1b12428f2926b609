//! What a hook is told: whom it is about, and what happens.
//!
//! No wire format: whoever hands it to a program writes that.

use super::Point;
use crate::id::{AgentId, CallId, RunNo};
use crate::json::RawJson;

/// What a hook is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Occasion {
    /// Whom it is about.
    pub who: Who,
    /// What happens.
    pub what: What,
}

/// Whom a hook is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The root of its tree.
    pub session: AgentId,
    /// The agent.
    pub agent: AgentId,
    /// What it is now.
    pub definition: String,
    /// The agent that started it; none of a root.
    pub parent: Option<AgentId>,
    /// How far below the root.
    pub depth: u32,
    /// Which of its runs. With the agent it is the key of everything about one run.
    pub run: Option<RunNo>,
    /// The folder it works in, absolute.
    pub workspace: String,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// See [`Point::PreToolUse`].
    PreToolUse(Use),
    /// See [`Point::PostToolUse`].
    PostToolUse {
        /// Which call.
        used: Use,
        /// What it gave.
        response: RawJson,
    },
    /// See [`Point::PostToolUseFailure`].
    PostToolUseFailure {
        /// Which call.
        used: Use,
        /// What the model is told.
        error: String,
        /// Whether it was stopped.
        interrupted: bool,
    },
    /// See [`Point::PermissionRequest`].
    PermissionRequest(Use),
    /// See [`Point::UserPromptSubmit`].
    UserPromptSubmit {
        /// What was said.
        prompt: String,
    },
    /// See [`Point::SessionStart`].
    SessionStart {
        /// Whether the session has been at work before.
        resumes: bool,
    },
    /// See [`Point::SessionEnd`].
    SessionEnd,
    /// See [`Point::Stop`].
    Stop(Ending),
    /// See [`Point::SubagentStart`].
    SubagentStart,
    /// See [`Point::SubagentStop`].
    SubagentStop(Ending),
    /// See [`Point::PreCompact`].
    PreCompact {
        /// Whether nobody asked for it: the context is full.
        auto: bool,
    },
    /// See [`Point::Notification`].
    Notification {
        /// For people.
        message: String,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// Its id, unique within the agent.
    pub call: CallId,
    /// The tool's id.
    pub tool: String,
    /// What it is called with.
    pub input: RawJson,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How: `completed` while it can still be kept from ending, else the word of its settlement.
    pub status: &'static str,
    /// Whether a hook has kept this run from ending before.
    pub kept: bool,
    /// Whether it is over already: nothing can be said against it.
    pub over: bool,
    /// The last it said.
    pub said: Option<String>,
}

impl What {
    /// Returns the point it happens at.
    pub fn point(&self) -> Point {
        match self {
            Self::PreToolUse(_) => Point::PreToolUse,
            Self::PostToolUse { .. } => Point::PostToolUse,
            Self::PostToolUseFailure { .. } => Point::PostToolUseFailure,
            Self::PermissionRequest(_) => Point::PermissionRequest,
            Self::UserPromptSubmit { .. } => Point::UserPromptSubmit,
            Self::SessionStart { .. } => Point::SessionStart,
            Self::SessionEnd => Point::SessionEnd,
            Self::Stop(_) => Point::Stop,
            Self::SubagentStart => Point::SubagentStart,
            Self::SubagentStop(_) => Point::SubagentStop,
            Self::PreCompact { .. } => Point::PreCompact,
            Self::Notification { .. } => Point::Notification,
        }
    }
}

impl Occasion {
    /// Returns the point it happens at.
    pub fn point(&self) -> Point {
        self.what.point()
    }

    /// Returns what a hook may choose by: a tool, the type of a child, or how it came to this.
    pub fn subject(&self) -> &str {
        match &self.what {
            What::PreToolUse(used)
            | What::PermissionRequest(used)
            | What::PostToolUse { used, .. }
            | What::PostToolUseFailure { used, .. } => &used.tool,
            What::SubagentStart | What::SubagentStop(_) => &self.who.definition,
            What::SessionStart { resumes: false } => "startup",
            What::SessionStart { resumes: true } => "resume",
            What::SessionEnd => "other",
            What::PreCompact { auto: true } => "auto",
            What::PreCompact { auto: false } => "manual",
            What::Notification { .. } => "permission_prompt",
            What::UserPromptSubmit { .. } | What::Stop(_) => "",
        }
    }

    /// Returns the call it is about.
    pub fn call(&self) -> Option<&CallId> {
        match &self.what {
            What::PreToolUse(used)
            | What::PermissionRequest(used)
            | What::PostToolUse { used, .. }
            | What::PostToolUseFailure { used, .. } => Some(&used.call),
            What::UserPromptSubmit { .. }
            | What::SessionStart { .. }
            | What::SessionEnd
            | What::Stop(_)
            | What::SubagentStart
            | What::SubagentStop(_)
            | What::PreCompact { .. }
            | What::Notification { .. } => None,
        }
    }
}
