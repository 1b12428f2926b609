//! What the agents of one session work with: its project under its overlays, resolved.
//!
//! A `Kit` never changes; a turn holds the one that it began with. `SessionKit` has the newest one and
//! makes another when the project or the overlays have changed. Kits of two sessions share nothing
//! but compiled schemas, which are found by their text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_types::client_ports::ClientPorts;
use offshoot_types::hook::{Hooks, HostHooks};
use offshoot_types::id::TreeId;
use offshoot_types::manifest::{Manifest, Registry};
use offshoot_types::model::{Model, ModelError, Models};
use offshoot_types::permission::charter::Charter;
use offshoot_types::tool::{Tool, ToolSpec};

use crate::ask::Asks;
use crate::helper::Helpers;
use crate::overlay::{Attached, Overlays, SystemMessage, ToolFilter};
use crate::project::{Project, ProjectError, Projects};
use crate::schema::{Schema, Schemas};

/// What the agents of one session work with.
pub(crate) struct Kit {
    /// Grows with every change of the session's kit.
    pub(crate) version: u64,
    pub(crate) models: Arc<dyn Models>,
    /// Each id once: the project's, then those of overlays.
    pub(crate) tools: Arc<[Arc<dyn Tool>]>,
    pub(crate) tool_filter: ToolFilter,
    pub(crate) registry: Arc<Registry>,
    pub(crate) asks: Asks,
    pub(crate) helpers: Helpers,
    pub(crate) hooks: Hooks,
    pub(crate) host_hooks: Option<Arc<dyn HostHooks>>,
    pub(crate) charter: Arc<dyn Charter>,
    pub(crate) client: Option<Arc<dyn ClientPorts>>,
    /// What becomes of the root's prompt.
    system_messages: Vec<SystemMessage>,
    schemas: Arc<Schemas>,
    /// What this was made of.
    project: Arc<Project>,
    overlays: Vec<u64>,
}

impl Kit {
    fn resolve(
        version: u64,
        project: Arc<Project>,
        overlays: &[Attached],
        schemas: Arc<Schemas>,
    ) -> Self {
        let mut kit = Self {
            version,
            models: project.models.clone(),
            tools: project.tools.clone(),
            tool_filter: ToolFilter::default(),
            registry: project.registry.clone(),
            asks: project.asks,
            helpers: project.helpers.clone(),
            hooks: project.hooks.clone(),
            host_hooks: None,
            charter: project.charter.clone(),
            client: None,
            system_messages: Vec::new(),
            schemas,
            overlays: numbers(overlays),
            project,
        };
        let overlays = || overlays.iter().map(|attached| attached.overlay.as_ref());
        kit.tools = each_id_once(&kit.tools, overlays().flat_map(|overlay| &overlay.tools));
        if overlays().any(|overlay| !overlay.agents.is_empty()) {
            let registry = Arc::make_mut(&mut kit.registry);
            registry.extend(overlays().flat_map(|overlay| overlay.agents.iter().cloned()));
        }
        let models = overlays().flat_map(|overlay| overlay.models.iter().cloned());
        let models: BTreeMap<_, _> = models.collect();
        if !models.is_empty() {
            kit.models = Arc::new(OverlaidModels {
                models,
                project: kit.models.clone(),
            });
        }
        for overlay in overlays() {
            kit.hooks.extend(&overlay.hooks);
            kit.host_hooks = overlay.host_hooks.clone().or(kit.host_hooks);
            kit.tool_filter.narrow(&overlay.tool_filter);
            kit.system_messages.extend(overlay.system_message.clone());
            kit.asks = overlay.asks.unwrap_or(kit.asks);
            kit.client = overlay.client.clone().or(kit.client);
        }
        kit
    }

    /// Tells whether it was made of this project and these overlays.
    fn is_of(&self, project: &Arc<Project>, overlays: &[Attached]) -> bool {
        Arc::ptr_eq(&self.project, project) && self.overlays == numbers(overlays)
    }

    /// Returns the schema of a tool; the same text gives the same one.
    pub(crate) fn schema(&self, spec: &ToolSpec) -> Arc<Schema> {
        self.schemas.of(spec)
    }

    /// Tells whether overlays say something of the root's prompt.
    pub(crate) fn changes_root_prompt(&self) -> bool {
        !self.system_messages.is_empty()
    }

    /// Returns a definition as the session's root has it.
    pub(crate) fn of_root(&self, manifest: &Arc<Manifest>) -> Arc<Manifest> {
        if !self.changes_root_prompt() {
            return manifest.clone();
        }
        let mut manifest = manifest.as_ref().clone();
        let replaced = self
            .system_messages
            .iter()
            .find_map(|message| match message {
                SystemMessage::Replace(text) => Some(text.clone()),
                SystemMessage::Append(_) => None,
            });
        manifest.prompt = replaced.unwrap_or(manifest.prompt);
        for message in &self.system_messages {
            if let SystemMessage::Append(text) = message {
                let prompt = format!("{}\n\n{text}", manifest.prompt.trim_end());
                manifest.prompt = prompt.trim_start().to_owned();
            }
        }
        Arc::new(manifest)
    }
}

fn numbers(overlays: &[Attached]) -> Vec<u64> {
    overlays.iter().map(|attached| attached.number).collect()
}

/// Returns the project's tools but for those that overlays replace, then the overlays'.
fn each_id_once<'a>(
    project: &[Arc<dyn Tool>],
    overlays: impl Iterator<Item = &'a Arc<dyn Tool>>,
) -> Arc<[Arc<dyn Tool>]> {
    let overlays: Vec<Arc<dyn Tool>> = overlays.cloned().collect();
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for tool in project {
        let is_other = |other: &Arc<dyn Tool>| other.spec().id != tool.spec().id;
        if tools.iter().chain(&overlays).all(is_other) {
            tools.push(tool.clone());
        }
    }
    tools.extend(overlays);
    tools.into()
}

/// The models of overlays, in front of the project's.
struct OverlaidModels {
    models: BTreeMap<String, Arc<dyn Model>>,
    project: Arc<dyn Models>,
}

impl Models for OverlaidModels {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        match self.models.get(name) {
            Some(model) => Ok(model.clone()),
            None => self.project.find(name),
        }
    }
}

/// What the kits of all sessions are made of.
pub(crate) struct Kits {
    projects: Arc<dyn Projects>,
    pub(crate) overlays: Arc<Overlays>,
    schemas: Arc<Schemas>,
}

impl Kits {
    pub(crate) fn new(projects: Arc<dyn Projects>) -> Self {
        Self {
            projects,
            overlays: Arc::default(),
            schemas: Arc::default(),
        }
    }

    /// Opens the project of a session's workspace, and resolves it with the session's overlays.
    pub(crate) async fn open(
        self: &Arc<Self>,
        session: &TreeId,
        workspace: &str,
    ) -> Result<Arc<SessionKit>, ProjectError> {
        let project = self.projects.open(workspace).await?;
        let overlays = self.overlays.of(session);
        let kit = Kit::resolve(0, project, &overlays, self.schemas.clone());
        Ok(Arc::new(SessionKit {
            kits: self.clone(),
            session: session.clone(),
            workspace: workspace.to_owned(),
            newest: Mutex::new(Arc::new(kit)),
            refreshing: tokio::sync::Mutex::default(),
        }))
    }
}

/// The newest kit of a session.
pub(crate) struct SessionKit {
    kits: Arc<Kits>,
    session: TreeId,
    workspace: String,
    newest: Mutex<Arc<Kit>>,
    /// Held while the project is opened: of two that refresh at once, the later finds the newer.
    refreshing: tokio::sync::Mutex<()>,
}

impl SessionKit {
    /// Returns the newest kit.
    pub(crate) fn newest(&self) -> Arc<Kit> {
        self.lock().clone()
    }

    /// Makes a new kit if the project or the overlays have changed, and returns it then. A project
    /// that cannot be opened leaves the session what it has.
    pub(crate) async fn refresh(&self) -> Option<Arc<Kit>> {
        let _refreshing = self.refreshing.lock().await;
        let project = match self.kits.projects.open(&self.workspace).await {
            Ok(project) => project,
            Err(error) => {
                tracing::warn!(session = %self.session, %error, "keep the project as it was");
                self.lock().project.clone()
            }
        };
        let overlays = self.kits.overlays.of(&self.session);
        let mut newest = self.lock();
        if newest.is_of(&project, &overlays) {
            return None;
        }
        let schemas = self.kits.schemas.clone();
        let kit = Kit::resolve(newest.version + 1, project, &overlays, schemas);
        *newest = Arc::new(kit);
        Some(newest.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Kit>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
