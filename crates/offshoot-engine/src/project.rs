//! The project of a workspace: what its sessions work with, and the port that opens it (R12).
//!
//! The host implements `Projects`: it reads a workspace's files once and again when they change. The
//! engine asks at the start of every turn and works on what it got, so a change never touches a turn
//! that runs. Sessions of two workspaces share nothing but the runtime: store, clock, limits, slots.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::hook::Hooks;
use offshoot_types::manifest::Registry;
use offshoot_types::model::Models;
use offshoot_types::permission::charter::Charter;
use offshoot_types::tool::Tool;

use crate::ask::Asks;
use crate::helper::Helpers;

/// What the sessions of one workspace work with. Cloning is cheap.
#[derive(Clone)]
pub struct Project {
    /// Models by name.
    pub models: Arc<dyn Models>,
    /// Tools that agents are offered, in a fixed order. Of two with one id, the first is offered.
    pub tools: Arc<[Arc<dyn Tool>]>,
    /// Agents by name.
    pub registry: Arc<Registry>,
    /// Who answers when the permission chain says ask.
    pub asks: Asks,
    /// How the runtime uses agents for itself.
    pub helpers: Helpers,
    /// Hooks that are asked about, and told of, what agents do.
    pub hooks: Hooks,
    /// What the host, the project and the user say before any agent does.
    pub charter: Arc<dyn Charter>,
}

/// Opens the projects of workspaces.
pub trait Projects: Send + Sync {
    /// Returns the project of a workspace as it is now.
    ///
    /// Called when a session is opened or resumed and at the start of every turn, so it has to be
    /// quick where nothing has changed. Returning the same `Arc` says that nothing has changed. With
    /// an error no session is opened; one that is open keeps the project that it has.
    fn open<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Arc<Project>, ProjectError>>;
}

/// A project that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("open the project of {workspace}: {why}")]
pub struct ProjectError {
    /// Which workspace.
    pub workspace: String,
    /// What is wrong.
    pub why: String,
}

/// One project for every workspace, which never changes.
pub struct OneProject(Arc<Project>);

impl From<Project> for OneProject {
    fn from(project: Project) -> Self {
        Self(Arc::new(project))
    }
}

impl Projects for OneProject {
    fn open<'a>(
        &'a self,
        _workspace: &'a str,
    ) -> BoxFuture<'a, Result<Arc<Project>, ProjectError>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}
