//! What the runtime has agents do for itself.
//!
//! A helper is spawned like any agent (SA-44). Nobody is told of its end and
//! nobody waits for it but whoever asked: it is neither a child of the agent it
//! works for nor part of what makes a tree busy (R19, X-21). What it uses counts
//! like everything below that agent.

use serde::{Deserialize, Serialize};

use crate::id::AgentId;

/// Whom a helper works for, and at what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Helper {
    /// The agent it works for.
    pub of: AgentId,
    /// What for.
    pub purpose: Purpose,
}

/// What a helper is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Naming the session.
    Title,
    /// Saying what happened in it.
    Summary,
    /// Shortening a conversation so that it can go on.
    Compaction,
}

impl Purpose {
    /// Returns the name of the agent that does it.
    pub fn agent(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Summary => "summary",
            Self::Compaction => "compaction",
        }
    }
}
