//! The projects of many workspaces in one process (R12): each is read once, and again when files change.
//!
//! `Workspaces` implements the engine's port `Projects`, and gives a server what it needs to open a session
//! in any workspace. What tells whether something has changed is compared, and not what the files hold:
//! names, sizes, inodes and times of the config files, the agent files and the trust record. These stamps
//! are taken before anything is read, so a change in between is found the next time. One reading of a file
//! is parsed, judged by the trust record, and used: nothing is used that was not judged. All of it blocks,
//! and runs on threads that may.

mod stamps;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use offshoot_agents::Catalogue;
use offshoot_engine::{Project, ProjectError, Projects};
use offshoot_types::caps::Price;
use offshoot_types::manifest::Manifest;
use offshoot_types::project::ProjectContext;

use crate::assemble::{self, Host, Models, Scripts};
use crate::config::{self, Settings};
use crate::definitions;
use crate::error::HostError;
use crate::harmless::harmless;
use crate::hooks::{self, Notice};
use crate::project_context::Reading;
use crate::{rules, servers};
use stamps::Stamps;

/// Most workspaces that are kept. Sessions keep the project that they work with, whatever is kept here.
pub const MOST_WORKSPACES: usize = 128;

/// The projects of all workspaces of a process. Cloning shares them.
#[derive(Clone)]
pub struct Workspaces(Arc<Inner>);

struct Inner {
    /// As they were read at the start: what was above all files is in them.
    settings: Settings,
    host: Host,
    /// The model whose script brings agents; without it the model of the settings.
    model: Option<String>,
    scripts: Arc<Scripts>,
    kept: Mutex<Kept>,
}

/// The workspaces that were read, by their real paths.
#[derive(Default)]
struct Kept {
    by_path: BTreeMap<PathBuf, Entry>,
    /// Grows with every use.
    clock: u64,
}

struct Entry {
    workspace: Arc<Workspace>,
    stamps: Stamps,
    last_use: u64,
}

/// A workspace as its files were when they were read.
pub struct Workspace {
    /// What is set there.
    pub settings: Settings,
    /// The agents, and what is wrong with the others.
    pub agents: Catalogue,
    /// The models that were loaded, and which of them agents get that name none.
    pub models: Models,
    /// The host, with the providers, rules and hooks of the workspace.
    pub host: Host,
    project: Arc<Project>,
}

/// What a session of a workspace begins with, and what a user may choose instead.
#[derive(Debug)]
pub struct SessionDefaults {
    /// The real path of the workspace, as the log keeps it.
    pub workspace: String,
    /// The model, as the log keeps it. Whether it can be asked is not known yet.
    pub model: String,
    /// The agent, one of `primary_agents`.
    pub agent: String,
    /// Instruction files and the state of git.
    pub context: ProjectContext,
    /// What a user should know: what is not trusted, what cannot be used.
    pub notices: Vec<Notice>,
    /// The agents that a user may start, by name.
    pub primary_agents: Vec<AgentSummary>,
    /// The agents that other agents may start, by name.
    pub subagents: Vec<AgentSummary>,
    /// The models that settings name, found without asking a server.
    pub models: Vec<KnownModel>,
}

/// An agent, as a user chooses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSummary {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// A model that settings name.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownModel {
    /// `PROVIDER/NAME`.
    pub name: String,
    /// How many tokens a conversation may have, if that is set.
    pub context_window: Option<u64>,
    /// What it costs, if that is set.
    pub price: Option<Price>,
    /// Whether it takes images.
    pub images: bool,
}

impl Workspaces {
    /// Makes the projects of a process of what it was started with: the flags and variables of the settings
    /// hold in every workspace.
    pub fn new(settings: Settings, host: Host) -> Self {
        Self::of(settings, host, None)
    }

    /// Makes the projects of a process that was started for one session: the agents of a script are those
    /// of the session's model.
    pub fn for_model(settings: Settings, host: Host, model: &str) -> Self {
        Self::of(settings, host, Some(model.to_owned()))
    }

    fn of(settings: Settings, host: Host, model: Option<String>) -> Self {
        Self(Arc::new(Inner {
            settings,
            host,
            model,
            scripts: Arc::default(),
            kept: Mutex::default(),
        }))
    }

    /// Returns a workspace as it is now: the same as before where no file has changed. Blocks.
    pub fn read(&self, workspace: &str) -> Result<Arc<Workspace>, HostError> {
        self.0.read(workspace)
    }

    /// Returns how many workspaces are kept, at most [`MOST_WORKSPACES`].
    pub fn kept(&self) -> usize {
        self.0.kept().by_path.len()
    }

    /// Returns what a session of a folder begins with.
    pub async fn session_defaults(&self, folder: &Path) -> Result<SessionDefaults, HostError> {
        let (inner, folder) = (self.0.clone(), folder.to_owned());
        let begun = blocking(move || {
            let path = config::workspace(Some(&folder))?;
            let context = Reading::start(&path);
            let workspace = inner.read(&path)?;
            let defaults = inner.defaults(path, &workspace)?;
            Ok((defaults, context))
        });
        let (mut defaults, context) = begun.await??;
        let (context, told) = context.finish().await;
        defaults.context = context;
        defaults
            .notices
            .extend(told.iter().map(|text| notice(text)));
        Ok(defaults)
    }
}

impl Projects for Workspaces {
    fn open<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Arc<Project>, ProjectError>> {
        let (inner, path) = (self.0.clone(), workspace.to_owned());
        Box::pin(async move {
            let read = blocking(move || inner.read(&path)).await;
            let read = read.and_then(|read| read).map_err(|error| ProjectError {
                workspace: workspace.to_owned(),
                why: error.to_string(),
            })?;
            Ok(read.project.clone())
        })
    }
}

impl Inner {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, workspace: &str) -> Result<Arc<Workspace>, HostError> {
        // A workspace that is gone has no files: what the user has holds for its sessions still.
        let path = Path::new(workspace).canonicalize();
        let path = path.unwrap_or_else(|_| PathBuf::from(workspace));
        let stamps = Stamps::take(&self.settings, &path);
        if let Some(kept) = self.kept().find(&path, &stamps) {
            return Ok(kept);
        }
        let read = Arc::new(self.load(workspace, &path)?);
        let mut kept = self.kept();
        // Another reader may have been quicker: of one state of the files there is one project.
        match kept.find(&path, &stamps) {
            Some(other) => Ok(other),
            None => {
                kept.put(path, stamps, read.clone());
                Ok(read)
            }
        }
    }

    fn load(&self, workspace: &str, path: &Path) -> Result<Workspace, HostError> {
        let settings = self.settings.read_for(path)?;
        let real = path.to_str().unwrap_or(workspace);
        let host = self.host.in_folder(&settings, real);
        let model = self.model(&settings)?;
        let models = Models::load_with(self.scripts.clone(), &model, &settings)?;
        let mut models = models.with_choices(&settings, &host)?;
        let agents = definitions::load(&settings, Some(real), &mut models);
        let project = Arc::new(host.project(&models, agents.registry()));
        Ok(Workspace {
            settings,
            agents,
            models,
            host,
            project,
        })
    }

    fn model(&self, settings: &Settings) -> Result<String, HostError> {
        match &self.model {
            Some(model) => Ok(model.clone()),
            None => assemble::chosen(&settings.model, settings),
        }
    }

    fn defaults(&self, path: String, workspace: &Workspace) -> Result<SessionDefaults, HostError> {
        let Workspace {
            settings, agents, ..
        } = workspace;
        let registry = agents.registry();
        let summary = |manifest: &Arc<Manifest>| AgentSummary {
            name: manifest.name.clone(),
            description: manifest.description.clone(),
        };
        Ok(SessionDefaults {
            model: self.model(settings)?,
            agent: definitions::startable(agents, &settings.agent)?,
            context: ProjectContext::default(),
            notices: notices(workspace, &path),
            primary_agents: registry.for_users().map(summary).collect(),
            subagents: registry.for_agents().map(summary).collect(),
            models: known_models(settings),
            workspace: path,
        })
    }
}

impl Kept {
    /// Returns a workspace if it is kept and its files are as they were.
    fn find(&mut self, path: &Path, stamps: &Stamps) -> Option<Arc<Workspace>> {
        self.clock += 1;
        let entry = self.by_path.get_mut(path)?;
        if entry.stamps != *stamps {
            return None;
        }
        entry.last_use = self.clock;
        Some(entry.workspace.clone())
    }

    /// Keeps a workspace, and lets go of the one that was not used for longest if there are too many.
    fn put(&mut self, path: PathBuf, stamps: Stamps, workspace: Arc<Workspace>) {
        let entry = Entry {
            workspace,
            stamps,
            last_use: self.clock,
        };
        self.by_path.insert(path, entry);
        if self.by_path.len() > MOST_WORKSPACES {
            let oldest = self.by_path.iter().min_by_key(|(_, entry)| entry.last_use);
            let oldest = oldest.map(|(path, _)| path.clone());
            oldest.and_then(|path| self.by_path.remove(&path));
        }
    }
}

/// Returns what a user should know before a session of a workspace.
fn notices(workspace: &Workspace, path: &str) -> Vec<Notice> {
    let Workspace {
        settings, agents, ..
    } = workspace;
    let broken = agents.diagnostics().iter().map(ToString::to_string);
    let strangers = rules::strangers(settings, path, agents);
    let odd = rules::few(&settings.warnings)
        .into_iter()
        .chain(rules::few(&strangers));
    let told = broken.chain(odd).map(|text| format!("warning: {text}"));
    let told = told.chain(definitions::untrusted(agents));
    let told = told.chain(servers::notice(settings, path));
    let mut notices: Vec<Notice> = told.map(|text| notice(&text)).collect();
    notices.extend(hooks::notices(settings, path, agents));
    notices
}

fn notice(text: &str) -> Notice {
    Notice {
        text: harmless(text),
        is_guard: false,
    }
}

/// Returns the models that settings name, by name; `offline` is among them.
fn known_models(settings: &Settings) -> Vec<KnownModel> {
    let mut known = BTreeMap::new();
    let mut add = |model: KnownModel| {
        known.entry(model.name.clone()).or_insert(model);
    };
    for (provider, server) in &settings.providers {
        for (model, setting) in &server.models {
            add(KnownModel {
                name: format!("{provider}/{model}"),
                context_window: setting.context_window.as_ref().map(|window| window.value),
                price: setting.price.as_ref().map(|price| price.value),
                images: setting.images.as_ref().is_some_and(|images| images.value),
            });
        }
    }
    let named = [Some(&settings.model), settings.child_model.as_ref()];
    let named = named.into_iter().flatten().chain(settings.tiers.values());
    let names = named.filter_map(|model| assemble::chosen(model, settings).ok());
    for name in names.chain([config::default_model().to_owned()]) {
        add(KnownModel {
            name,
            context_window: None,
            price: None,
            images: false,
        });
    }
    known.into_values().collect()
}

/// Runs what reads files on a thread that may block, and waits for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HostError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "awaited on the next line; the runtime bounds the threads"
    )]
    let task = tokio::task::spawn_blocking(work);
    task.await
        .map_err(|error| HostError::failed("read the files of a workspace", error))
}
