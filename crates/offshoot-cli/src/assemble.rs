//! What the command line adds to an assembled runtime: its store, and who answers its agents.
//!
//! Models, tools, hooks and projects are put together in `offshoot-host`, which prints nothing: what a
//! hook did that no client hears of is shown from here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offshoot_engine::{Asks, Runtime, Who};
use offshoot_host::assemble as host;
use offshoot_host::projects::Workspaces;
use offshoot_store::Handle;
use offshoot_types::manifest::Registry;
use offshoot_types::store::Store;

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

/// Opens the store in a data folder.
pub(crate) fn store(data_dir: &Path) -> Result<Arc<dyn Store>, Stop> {
    Ok(Arc::new(Handle::open(data_dir)?))
}

/// Opens the store for a command that only reads: where there is nothing yet, nothing is made.
pub(crate) fn kept_store(data_dir: &Path) -> Result<Arc<dyn Store>, Stop> {
    match nothing_in(data_dir) {
        Some(nothing) => Err(Stop::usage(nothing)),
        None => store(data_dir),
    }
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

/// Makes a runtime whose sessions have the project of their own workspace, also when its files change.
pub(crate) fn runtime_of_workspaces(store: Arc<dyn Store>, workspaces: Workspaces) -> Runtime {
    host::runtime_of_workspaces(store, workspaces)
}

/// Makes a runtime with these models and agents and the built-in tools.
pub(crate) fn runtime(
    store: Arc<dyn Store>,
    models: Models,
    registry: Registry,
    host: Host,
) -> Runtime {
    host::runtime(store, models, registry, shown(host))
}

/// Makes a runtime that is only asked what it would do: also where a model is not there, or has no key.
pub(crate) fn looking_runtime(
    store: Arc<dyn Store>,
    models: Models,
    registry: Registry,
    host: Host,
) -> Runtime {
    host::looking_runtime(store, models, registry, shown(host))
}

/// Has what hooks did shown on stderr where no client hears of it.
fn shown(mut host: Host) -> Host {
    host.unheard = Some(Arc::new(|hooked| {
        let text = format!("hook {}", render::hooked(hooked));
        output::note(&render::harmless(&text));
    }));
    host
}
