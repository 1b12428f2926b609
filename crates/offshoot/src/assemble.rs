//! Wires the parts of a runtime together.
//!
//! All choices that other products make by build options are made here, at run
//! time. A model's name in the log says where it comes from, absolutely, so that
//! a session can go on without being told again, and from any folder.

use std::path::Path;
use std::sync::Arc;

use offshoot_engine::{Limits, Parts, Runtime};
use offshoot_models::{ModelSet, Scripted};
use offshoot_store::Handle;
use offshoot_types::manifest::{Manifest, Registry};
use offshoot_types::model::Model;
use offshoot_types::store::Store;

use crate::cli::Consent;
use crate::config::{self, Settings, Source, Sourced};
use crate::env::System;
use crate::exit::Stop;

/// The provider whose models are files.
const SCRIPTED: &str = "scripted/";

/// What becomes of a call that needs a person's permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Whoever is there is asked; with nobody there it is a no.
    Ask,
    /// It is a yes, given beforehand. What is denied stays denied.
    Yes,
}

impl From<Consent> for Asks {
    fn from(consent: Consent) -> Self {
        if consent.yes { Self::Yes } else { Self::Ask }
    }
}

/// What a runtime is told by the person who started it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) limits: Limits,
    pub(crate) asks: Asks,
}

impl Host {
    /// A host that is asked by nobody: for commands that start no turn of their own.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            limits: settings.limits(),
            asks: Asks::Ask,
        }
    }

    /// Says beforehand what becomes of asks.
    pub(crate) fn with(self, asks: impl Into<Asks>) -> Self {
        Self {
            asks: asks.into(),
            ..self
        }
    }
}

/// Models, and the agents that came with them.
#[derive(Default)]
pub(crate) struct Models {
    models: Vec<(String, Arc<dyn Model>)>,
    agents: Vec<Manifest>,
}

impl Models {
    /// Loads a model by the name that `model_name` gave it, and what its agents name.
    pub(crate) fn load(name: &str) -> Result<Self, Stop> {
        let mut loaded = Self::default();
        let script = scripted(name)?;
        let folder = Path::new(&name[SCRIPTED.len()..]).parent();
        for manifest in script.agents() {
            let mut manifest = manifest.clone();
            if let (Some(model), Some(folder)) = (&manifest.model, folder) {
                let whole = model_name(model, folder)?;
                loaded.add(&whole)?;
                manifest.model = Some(whole);
            }
            loaded.agents.push(manifest);
        }
        loaded.models.push((name.to_owned(), Arc::new(script)));
        Ok(loaded)
    }

    /// Loads one more model, for an agent that does not use its parent's.
    fn add(&mut self, name: &str) -> Result<(), Stop> {
        if !self.models.iter().any(|(known, _)| known == name) {
            let script = scripted(name)?;
            self.models.push((name.to_owned(), Arc::new(script)));
        }
        Ok(())
    }
}

/// Returns the name, as the log keeps it, of the model that was chosen.
pub(crate) fn chosen(model: &Sourced<String>) -> Result<String, Stop> {
    let folder = model.source.base().unwrap_or(Path::new(""));
    model_name(&model.value, folder).map_err(|stop| stop.coming_from(&model.source))
}

/// Returns the line that says which model was chosen, and why; `None` if the flag chose it.
pub(crate) fn choice(model: &Sourced<String>) -> Option<String> {
    let Sourced { value, source } = model;
    match source {
        Source::Flag(_) => None,
        Source::Variable(_) | Source::File(..) => Some(format!("model {value}, from {source}")),
        Source::Default => Some(format!(
            "model {value}, the default, which is no language model; for one: --model \
             openai-chat/NAME, or OFFSHOOT_MODEL, or `model` in offshoot.toml"
        )),
    }
}

/// Returns the name of a model as the log keeps it; files are seen from `folder`.
pub(crate) fn model_name(asked: &str, folder: &Path) -> Result<String, Stop> {
    let path = file(asked)?;
    let whole = config::absolute(&folder.join(path))?;
    match whole.into_os_string().into_string() {
        Ok(path) => Ok(format!("{SCRIPTED}{path}")),
        Err(_) => Err(Stop::usage(format!(
            "load model {asked}: its path is not UTF-8"
        ))),
    }
}

/// Opens the store in a data folder.
pub(crate) fn store(data_dir: &Path) -> Result<Arc<dyn Store>, Stop> {
    Ok(Arc::new(Handle::open(data_dir)?))
}

/// Makes a runtime with these models, the built-in agents and the built-in tools.
pub(crate) fn runtime(store: Arc<dyn Store>, models: Models, host: Host) -> Runtime {
    let Host { limits, asks } = host;
    tracing::debug!(?limits, ?asks, "runtime");
    let mut registry = Registry::default();
    registry.extend(offshoot_agents::builtin());
    registry.extend(models.agents);
    Runtime::new(Parts {
        store,
        models: Arc::new(models.models.into_iter().collect::<ModelSet>()),
        tools: offshoot_tools::builtin().into(),
        registry,
        env: Arc::new(System),
        limits,
    })
}

fn scripted(name: &str) -> Result<Scripted, Stop> {
    let path = file(name)?;
    let text = std::fs::read_to_string(path)
        .map_err(|error| Stop::usage(format!("load script {path}: {error}")))?;
    Scripted::load(&text, path).map_err(|error| Stop::usage(error.to_string()))
}

/// Returns the file behind the name of a scripted model.
fn file(name: &str) -> Result<&str, Stop> {
    match name.strip_prefix(SCRIPTED) {
        Some(path) if !path.is_empty() => Ok(path),
        Some(_) | None => Err(Stop::usage(format!(
            "there is no model {name}; models are named PROVIDER/NAME, and this version has \
             scripted/FILE"
        ))),
    }
}
