//! What the command line adds to an assembled runtime: its store, and who answers its agents.
//!
//! The store is opened here and handed to the runtime; commands have the runtime's queries and orders.
//!
//! Models, tools, hooks and projects are put together in `offshoot-host`, which prints nothing: what a
//! hook did that no client hears of is shown from here.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use offshoot_engine::{Asks, Limits, OneProject, Project, ProjectError, Projects, Runtime, Who};
use offshoot_host::assemble as host;
use offshoot_host::projects::Workspaces;
use offshoot_store::Handle;
use offshoot_types::manifest::Registry;

pub(crate) use offshoot_host::assemble::{
    Host, KEEP, Models, check, chosen, data, is_offline, model_name, tools,
};

use crate::cli::{Consent, Waiting};
use crate::config::{Settings, Source, Sourced};
use crate::exit::Stop;
use crate::{output, render};

/// Who answers when an agent asks, as the command line says.
pub(crate) trait Answered {
    /// Says who answers: the person agreed beforehand, is at the terminal, or is not.
    fn asking(self, consent: Consent, interactive: bool) -> Self;

    /// Says whether another client answers, and how long that may take.
    fn waiting(self, waiting: Waiting) -> Self;
}

impl Answered for Host {
    fn asking(mut self, consent: Consent, interactive: bool) -> Self {
        let who = if interactive {
            Who::Somebody { within: None }
        } else {
            Who::Nobody
        };
        self.asks = Asks {
            yes: consent.yes,
            who,
        };
        self
    }

    fn waiting(mut self, waiting: Waiting) -> Self {
        if let Some(within) = waiting.wait_for_answers {
            let within = within.map(Duration::from);
            self.asks.who = Who::Somebody { within };
        }
        self
    }
}

/// Returns the line that says which model was chosen, and why; `None` if the flag chose it.
pub(crate) fn choice(model: &Sourced<String>) -> Option<String> {
    let Sourced { value, source } = model;
    match source {
        Source::Flag(_) => None,
        Source::Variable(_) | Source::File(..) => Some(format!("model {value}, from {source}")),
        Source::Default => Some(format!(
            "model {value}, the default, which is no language model; for one: --model \
             openai-chat/NAME, or OFFSHOOT_MODEL, or `model` in your own offshoot.toml"
        )),
    }
}

/// The data folder of a command: a runtime that answers queries and takes orders that open no session at
/// once, and the others once it has projects.
///
/// A session has to be found before it is known which project it needs, and a store tells one runtime
/// only what is committed.
pub(crate) struct DataFolder {
    pub(crate) runtime: Runtime,
    projects: Arc<LateProjects>,
}

impl DataFolder {
    /// Says what the sessions of this process work with. The first call counts.
    pub(crate) fn use_projects(&self, projects: impl Projects + 'static) {
        self.projects.0.get_or_init(|| Box::new(projects));
    }
}

/// Projects that are known later than the runtime that opens them.
#[derive(Default)]
struct LateProjects(OnceLock<Box<dyn Projects>>);

impl Projects for LateProjects {
    fn open<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Arc<Project>, ProjectError>> {
        match self.0.get() {
            Some(projects) => projects.open(workspace),
            None => Box::pin(std::future::ready(Err(ProjectError {
                workspace: workspace.to_owned(),
                why: "this command runs no session".to_owned(),
            }))),
        }
    }
}

/// Opens the data folder of a command.
pub(crate) fn data_folder(settings: &Settings) -> Result<DataFolder, Stop> {
    data_folder_at(&settings.data_dir.value, settings.limits())
}

/// Opens the data folder of a command that only reads: where there is nothing yet, nothing is made.
pub(crate) fn kept_data_folder(settings: &Settings) -> Result<DataFolder, Stop> {
    match nothing_in(&settings.data_dir.value) {
        Some(nothing) => Err(Stop::usage(nothing)),
        None => data_folder(settings),
    }
}

/// Opens a data folder.
pub(crate) fn data_folder_at(data_dir: &Path, limits: Limits) -> Result<DataFolder, Stop> {
    let store = Arc::new(Handle::open(data_dir)?);
    let projects = Arc::new(LateProjects::default());
    Ok(DataFolder {
        runtime: host::runtime(store, projects.clone(), limits, data_dir),
        projects,
    })
}

/// Says that there are no sessions in a data folder, or no such folder; `None` if there may be some.
pub(crate) fn nothing_in(data_dir: &Path) -> Option<String> {
    let place = data_dir.display();
    match offshoot_store::look(data_dir) {
        Ok(None) if data_dir.exists() => Some(format!("there are no sessions in {place} yet")),
        Ok(None) => Some(format!(
            "there are no sessions: there is no data folder {place}"
        )),
        // Opening it says what is wrong with it.
        Ok(Some(_)) | Err(_) => None,
    }
}

/// Returns the workspaces of a process that was started for one session, which has this model.
pub(crate) fn workspaces(settings: &Settings, host: Host, model: &str) -> Workspaces {
    Workspaces::for_model((**settings).clone(), shown(host), model)
}

/// Returns the workspaces of a process that serves sessions of any folder.
pub(crate) fn served_workspaces(settings: &Settings, host: Host) -> Workspaces {
    Workspaces::new((**settings).clone(), shown(host))
}

/// Returns a project with these models and agents and the built-in tools.
pub(crate) fn project(models: &Models, registry: Registry, host: Host) -> OneProject {
    host::project(models, registry, &shown(host))
}

/// Returns a project that is only looked at: also where a model is not there, or has no key.
pub(crate) fn looked_at_project(models: &Models, registry: Registry, host: Host) -> OneProject {
    host::looked_at_project(models, registry, &shown(host))
}

/// Has what hooks did shown on stderr where no client hears of it.
fn shown(mut host: Host) -> Host {
    host.unheard = Some(Arc::new(|hooked| {
        let text = format!("hook {}", render::hooked(hooked));
        output::note(&render::harmless(&text));
    }));
    host
}
