//! Overlays: what the client that opens a session brings for that session alone (R12).
//!
//! An overlay lies over the session's project: of one name, the overlay's tool, agent or model
//! counts. It may be attached before the session is opened or while it runs, and holds from each
//! agent's next turn on until its attachment is dropped. The log keeps names only, so a session
//! that is resumed without its overlay lacks what the overlay brought. An overlay brings no
//! permission rules: those of host, project and user stand above its agents as above all others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_types::client_ports::ClientPorts;
use offshoot_types::hook::{Hooks, HostHooks};
use offshoot_types::id::TreeId;
use offshoot_types::manifest::Manifest;
use offshoot_types::model::Model;
use offshoot_types::tool::Tool;

use crate::ask::Asks;
use crate::sabotage::{Bug, planted};
use crate::scope;

/// What a client brings for one session.
#[derive(Default)]
pub struct Overlay {
    /// Agents, which replace agents of the same name.
    pub agents: Vec<Manifest>,
    /// Tools, which replace tools of the same name.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Models by name.
    pub models: Vec<(String, Arc<dyn Model>)>,
    /// Hooks, asked behind those of the project.
    pub hooks: Hooks,
    /// The hooks of the program that hosts the session, which may rewrite; one overlay brings them.
    pub host_hooks: Option<Arc<dyn HostHooks>>,
    /// What becomes of the prompt of the session's root.
    pub system_message: Option<SystemMessage>,
    /// Which tools the agents of the session are offered at most.
    pub tool_filter: ToolFilter,
    /// Who answers what agents ask; of several overlays that say so, the one attached last.
    pub asks: Option<Asks>,
    /// The client's files and processes; of several overlays that bring them, the one attached last.
    pub client: Option<Arc<dyn ClientPorts>>,
}

/// What becomes of the prompt of a session's root. Its other sections stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemMessage {
    /// Stands behind the prompt of the root's definition.
    Append(String),
    /// Stands in the place of that prompt.
    Replace(String),
}

/// Which tools, the engine's own calls included, the agents of a session are offered at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Only these; without it all.
    pub available: Option<BTreeSet<String>>,
    /// None of these, whatever else is said.
    pub excluded: BTreeSet<String>,
}

impl ToolFilter {
    /// Tells whether a tool passes.
    pub(crate) fn passes(&self, id: &str) -> bool {
        let available = self.available.as_ref();
        available.is_none_or(|available| available.contains(id)) && !self.excluded.contains(id)
    }

    /// Lets through what both let through.
    pub(crate) fn narrow(&mut self, other: &Self) {
        if let Some(available) = &other.available {
            let both = |id: &String| self.passes(id);
            self.available = Some(available.iter().filter(|id| both(id)).cloned().collect());
        }
        self.excluded.extend(other.excluded.iter().cloned());
    }
}

/// An overlay that was not attached: nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// The session has a tool of this name from an overlay.
    #[error("attach tool {0}: the session has one of that name attached; give it another name")]
    Tool(String),
    /// The session has an agent of this name from an overlay.
    #[error("attach agent {0}: the session has one of that name attached; give it another name")]
    Agent(String),
    /// The session has a model of this name from an overlay.
    #[error("attach model {0}: the session has one of that name attached; give it another name")]
    Model(String),
    /// The engine has a call of this name.
    #[error("attach tool {0}: the engine has a call of that name; give it another name")]
    EngineCall(String),
    /// Another overlay of the session replaces the prompt of the root.
    #[error("attach a system message: the session has one attached that replaces the prompt")]
    SystemMessage,
    /// Another overlay of the session brings the hooks of its host.
    #[error("attach host hooks: the session has a host with hooks attached")]
    HostHooks,
}

/// An overlay that is attached; dropping it takes the overlay away.
#[must_use = "the overlay is taken away when this is dropped"]
pub struct Attachment {
    overlays: Arc<Overlays>,
    session: TreeId,
    number: u64,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut table = self.overlays.lock();
        if let Some(attached) = table.by_session.get_mut(&self.session) {
            attached.retain(|attached| attached.number != self.number);
            if attached.is_empty() {
                table.by_session.remove(&self.session);
            }
        }
    }
}

/// The overlays of all sessions, each session's in the order they were attached.
#[derive(Default)]
pub(crate) struct Overlays(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    by_session: BTreeMap<TreeId, Vec<Attached>>,
}

/// An overlay and the number of its attachment, which no other has.
#[derive(Clone)]
pub(crate) struct Attached {
    pub(crate) number: u64,
    pub(crate) overlay: Arc<Overlay>,
}

impl Overlays {
    /// Attaches an overlay to a session, which need not be open.
    pub(crate) fn attach(
        self: &Arc<Self>,
        session: &TreeId,
        overlay: Overlay,
    ) -> Result<Attachment, AttachError> {
        let mut table = self.lock();
        let there = table.by_session.get(session);
        check(there.map_or(&[], Vec::as_slice), &overlay)?;
        table.last += 1;
        let number = table.last;
        let attached = Attached {
            number,
            overlay: Arc::new(overlay),
        };
        let session = session.clone();
        let of_session = table.by_session.entry(session.clone()).or_default();
        of_session.push(attached);
        drop(table);
        Ok(Attachment {
            overlays: self.clone(),
            session,
            number,
        })
    }

    /// Returns the overlays of a session, in the order they were attached.
    pub(crate) fn of(&self, session: &TreeId) -> Vec<Attached> {
        let table = self.lock();
        if planted(Bug::OverlayOfAnotherSession) {
            return table.by_session.values().flatten().cloned().collect();
        }
        table.by_session.get(session).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses an overlay that has a name twice, by itself or with the overlays that are there.
fn check(there: &[Attached], overlay: &Overlay) -> Result<(), AttachError> {
    let mut tools = BTreeSet::new();
    let mut agents = BTreeSet::new();
    let mut models = BTreeSet::new();
    let there = there.iter().map(|attached| attached.overlay.as_ref());
    let mut replaces = false;
    let mut has_host = false;
    for overlay in there.chain([overlay]) {
        for id in overlay.tools.iter().map(|tool| tool.spec().id.as_str()) {
            if scope::own_tools().any(|own| own == id) {
                return Err(AttachError::EngineCall(id.to_owned()));
            }
            if !tools.insert(id) {
                return Err(AttachError::Tool(id.to_owned()));
            }
        }
        for manifest in &overlay.agents {
            if !agents.insert(manifest.name.as_str()) {
                return Err(AttachError::Agent(manifest.name.clone()));
            }
        }
        for (name, _) in &overlay.models {
            if !models.insert(name.as_str()) {
                return Err(AttachError::Model(name.clone()));
            }
        }
        if let Some(SystemMessage::Replace(_)) = overlay.system_message
            && std::mem::replace(&mut replaces, true)
        {
            return Err(AttachError::SystemMessage);
        }
        if overlay.host_hooks.is_some() && std::mem::replace(&mut has_host, true) {
            return Err(AttachError::HostHooks);
        }
    }
    Ok(())
}
