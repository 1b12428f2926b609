//! The points of a session at which hooks are called. The names are Claude Code's.

use serde::{Deserialize, Serialize};

/// A point at which hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Point {
    /// A call is allowed, or about to be asked for, and has not begun.
    PreToolUse,
    /// A call has its outcome, and that is in the log.
    PostToolUse,
    /// The same for one that failed.
    PostToolUseFailure,
    /// Somebody is about to be asked whether a call may run.
    PermissionRequest,
    /// A person says something, and it is not in the log yet.
    UserPromptSubmit,
    /// A process takes a session up, with the first prompt.
    SessionStart,
    /// It lets the session go.
    SessionEnd,
    /// A run of a root is about to end.
    Stop,
    /// A run of a child begins.
    SubagentStart,
    /// A run of a child is about to end, or has.
    SubagentStop,
    /// A conversation is about to be shortened.
    PreCompact,
    /// Somebody is wanted.
    Notification,
}

impl Point {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PermissionRequest,
        Self::UserPromptSubmit,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreCompact,
        Self::Notification,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PermissionRequest => "PermissionRequest",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::Notification => "Notification",
        }
    }

    /// Finds a point by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.name() == name)
    }

    /// Tells whether a hook hears here of a call that is over.
    pub fn is_after_call(self) -> bool {
        matches!(self, Self::PostToolUse | Self::PostToolUseFailure)
    }

    /// Tells whether a hook that breaks down here leaves a call unguarded.
    pub fn guards(self) -> bool {
        match self {
            Self::PreToolUse | Self::PermissionRequest => true,
            Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::UserPromptSubmit
            | Self::SessionStart
            | Self::SessionEnd
            | Self::Stop
            | Self::SubagentStart
            | Self::SubagentStop
            | Self::PreCompact
            | Self::Notification => false,
        }
    }

    /// Tells whether it is about what a person says, before any agent hears it.
    pub fn is_before_prompt(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::SessionStart)
    }

    /// Tells whether it is about the end of a run.
    pub fn is_end_of_run(self) -> bool {
        matches!(self, Self::Stop | Self::SubagentStop)
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
