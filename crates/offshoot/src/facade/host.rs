//! A session whose root is the program itself, and which starts agents for it.
//!
//! Every agent below a session has a parent. Where the program wants none that has a conversation, the
//! root is this definition: it is never prompted, so no model is asked for it. What it starts are
//! children like any others: in one tree, under one cap, and stopped together.

use offshoot_types::content::Content;
use offshoot_types::manifest::{Manifest, Mode, Toolset};

use super::agent::Agent;
use super::error::Error;
use super::session::Session;

/// The name of the agent that stands for the program.
pub(super) const HOST: &str = "host";

/// A session whose root is this program. Cloning gives another handle on the same.
#[derive(Clone, Debug)]
pub struct Host(pub(super) Session);

impl Host {
    /// Starts an agent below this program, and returns as soon as it is there; see [`Agent::spawn`].
    pub async fn spawn_child(
        &self,
        definition: &str,
        prompt: impl Into<Content>,
    ) -> Result<Agent, Error> {
        let child = self.0.root().spawn(definition);
        child.prompt(prompt).start().await
    }

    /// Returns the session, to follow it, to stop all of it, to reach agents further below.
    pub fn session(&self) -> &Session {
        &self.0
    }
}

/// Returns the agent that stands for the program.
pub(super) fn manifest() -> Manifest {
    Manifest {
        description: "Stands for the program that runs this, and starts agents for it.".to_owned(),
        tools: Toolset::only([]),
        project_instructions: Some(false),
        git_status: Some(false),
        ..Manifest::new(HOST, Mode::Primary, "")
    }
}
