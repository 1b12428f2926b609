//! What the face needs of the program that serves it: a runtime, a clock, and what sessions begin with.
//!
//! The face reads no files and knows no configuration. `Workspaces` is the port through which the program
//! says what a session of a folder begins with; the program decides what it trusts there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use offshoot_engine::Runtime;
use offshoot_types::env::Env;
use offshoot_types::project::ProjectContext;

/// What serves a connection.
#[derive(Clone)]
pub struct Setup {
    /// The runtime of all sessions.
    pub runtime: Arc<Runtime>,
    /// The clock and the source of ids.
    pub env: Arc<dyn Env>,
    /// What sessions begin with.
    pub workspaces: Arc<dyn Workspaces>,
    /// The version of the program, for `agentInfo`.
    pub version: String,
}

/// Says what the sessions of a folder begin with, and may be changed to.
pub trait Workspaces: Send + Sync {
    /// Returns a folder without links; as it is if it does not exist.
    fn resolve(&self, folder: &Path) -> PathBuf;

    /// Returns what sessions of a folder begin with as things are now, or one sentence that says why there
    /// can be none. The folder is absolute; it may not exist.
    fn session_start<'a>(
        &'a self,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<SessionStart, StartError>>;
}

/// Why no session can begin in a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The client asked for something that is not there, such as the folder.
    #[error("{0}")]
    Invalid(String),
    /// A model needs a key or a server that is not configured.
    #[error("{0}")]
    Unauthenticated(String),
    /// Something of ours is broken.
    #[error("{0}")]
    Failed(String),
}

/// What a session begins with.
#[derive(Clone, Debug)]
pub struct SessionStart {
    /// The folder, without links.
    pub workspace: String,
    /// The date for prompts.
    pub date: String,
    /// The agent that a session begins with.
    pub agent: String,
    /// The model that a session begins with.
    pub model: String,
    /// What agents read about the project.
    pub project: Option<Box<ProjectContext>>,
    /// Agents that can lead a session, in the order in which they are listed.
    pub primaries: Vec<AgentSummary>,
    /// Agents that a session can start.
    pub subagents: Vec<AgentSummary>,
    /// Models that a session can be switched to.
    pub models: Vec<ModelSummary>,
    /// What the user should know, a sentence each.
    pub notices: Vec<String>,
}

/// An agent, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSummary {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// A model, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSummary {
    /// `PROVIDER/NAME`.
    pub name: String,
    /// How many tokens it takes, if that is known.
    pub context_window: Option<u64>,
}
