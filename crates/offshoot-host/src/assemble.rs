//! Wires the parts of a runtime together.
//!
//! All choices that other products make by build options are made here, at run
//! time. A model's name in the log says where it comes from, absolutely, so that
//! a session can go on without being told again, and from any folder.

mod script;

use std::path::Path;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use offshoot_engine::{
    Asks, Compacting, Helpers, Limits, OneProject, Parts, Project, Projects, Runtime, own_tools,
};
use offshoot_models::{Header, HeaderText, Http, ModelSet, OpenAiChat, OpenAiChatSettings, Secret};
use offshoot_tools::Sidecars;
use offshoot_tools::shell::{Bash, Environment, Keeper};
use offshoot_types::cancel::Cancel;
use offshoot_types::caps::Price;
use offshoot_types::manifest::{Manifest, Registry};
use offshoot_types::model::{Chunk, Model, ModelError, ModelErrorKind, Models as _, Request};
use offshoot_types::store::Store;
use offshoot_types::tier::{ModelChoices, Tier};

use crate::config::{self, HeaderSetting, Hook, Key, Provider, Settings, Sourced};
use crate::error::HostError;
use crate::hooks::{self, Unheard};
use crate::rules::Rules;
use crate::system::System;
pub(crate) use script::Scripts;

/// The provider whose models are files.
const SCRIPTED: &str = "scripted/";

/// The model that needs nobody.
const OFFLINE: &str = "offline";

/// The hidden argument by which this program keeps the processes of a command.
pub const KEEP: &str = "__keep";

/// What a runtime is told by the person who started it.
#[derive(Clone)]
pub struct Host {
    limits: Limits,
    /// Who answers when an agent asks.
    pub asks: Asks,
    /// The servers of models.
    providers: Vec<OpenAiChatSettings>,
    /// How conversations are shortened.
    compaction: Compacting,
    /// The variables whose values are secret.
    secret_variables: Vec<String>,
    /// What the user and projects say of permissions.
    rules: Rules,
    hooks: Vec<Hook>,
    /// Takes what hooks did that no client hears of.
    pub unheard: Option<Unheard>,
    /// What keeps the processes of commands: usually this program, started a second time.
    pub keeper: Keeper,
    /// What servers are reached through.
    http: Arc<Http>,
}

impl Host {
    /// A host that is asked by nobody: for commands that start no turn of their own.
    pub fn of(settings: &Settings) -> Self {
        Self {
            limits: settings.limits(),
            asks: Asks::NOBODY,
            providers: servers(settings),
            compaction: settings.compacting(),
            secret_variables: settings.secret_variables(),
            rules: Rules::of(settings),
            hooks: settings.hooks(),
            unheard: None,
            keeper: this_program(),
            http: Arc::new(Http::new()),
        }
    }

    /// Returns this host as it is in a folder for which settings were read: its providers, its rules, its
    /// hooks. Who answers, and what servers are reached through, stays.
    pub(crate) fn in_folder(&self, settings: &Settings, workspace: &str) -> Self {
        Self {
            asks: self.asks,
            unheard: self.unheard.clone(),
            keeper: self.keeper.clone(),
            http: self.http.clone(),
            rules: Rules::as_read(settings),
            hooks: hooks::used_as_read(settings, workspace),
            ..Self::of(settings)
        }
    }

    /// Returns how much there may be of what.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Adds the hooks of the folder to work in that its user has accepted.
    pub fn working_in(mut self, settings: &Settings, workspace: &str) -> Self {
        self.hooks.extend(hooks::accepted(settings, workspace));
        self
    }
}

/// Returns how the servers of all providers are reached.
pub fn servers(settings: &Settings) -> Vec<OpenAiChatSettings> {
    let providers = settings.providers.iter();
    providers
        .map(|(name, provider)| server(name, provider))
        .collect()
}

/// Returns how the server of a provider is reached.
fn server(name: &str, provider: &Provider) -> OpenAiChatSettings {
    let secret = |key: &Key| Secret::new(key.expose().to_owned());
    let headers = provider.headers.iter().map(|(name, header)| {
        let (text, source) = match &header.value {
            HeaderSetting::Text(text) => {
                (HeaderText::Plain(text.clone()), header.source.to_string())
            }
            HeaderSetting::Variable(variable) => {
                // Where the variable is not set, the empty text is refused with its name.
                let held = provider.header_keys.get(variable);
                let text = held.map_or_else(|| Secret::new(""), secret);
                (HeaderText::Secret(text), variable.clone())
            }
        };
        let name = name.clone();
        Header { name, text, source }
    });
    let models = provider.models.iter();
    let prices = models.clone().filter_map(|(model, setting)| {
        let price = setting.price.as_ref()?;
        Some((model.clone(), price.value))
    });
    let images = models.clone().filter_map(|(model, setting)| {
        let images = setting.images.as_ref()?;
        images.value.then(|| model.clone())
    });
    let windows = models.filter_map(|(model, setting)| {
        let window = setting.context_window.as_ref()?;
        Some((model.clone(), window.value))
    });
    let variable = provider.api_key_env.as_ref();
    OpenAiChatSettings {
        provider: name.to_owned(),
        base_url: provider.base_url.value.clone(),
        base_url_source: provider.base_url.source.to_string(),
        api_key: provider.key.as_ref().map(secret),
        key_variable: variable.map(|variable| variable.value.clone()),
        headers: headers.collect(),
        prices: prices.collect(),
        windows: windows.collect(),
        images: images.collect(),
        ..OpenAiChatSettings::default()
    }
}

/// Models, and the agents that came with the first of them.
#[derive(Clone, Default)]
pub struct Models {
    scripts: Arc<Scripts>,
    /// The file of the script that is the session's model, and its agents.
    script: Option<(String, Vec<Manifest>)>,
    /// Whether the session's model is the one that needs nobody.
    offline: bool,
    /// Which models agents get that name none.
    choices: ModelChoices,
}

impl Models {
    /// Loads a model by the name that `model_name` gave it, and what its agents name.
    pub fn load(name: &str, settings: &Settings) -> Result<Self, HostError> {
        Self::load_with(Arc::default(), name, settings)
    }

    /// Loads it with scripts that are loaded already: a script counts its answers, and goes on counting.
    pub(crate) fn load_with(
        scripts: Arc<Scripts>,
        name: &str,
        settings: &Settings,
    ) -> Result<Self, HostError> {
        let mut loaded = Self {
            scripts,
            offline: is_offline(name),
            ..Self::default()
        };
        let Some(path) = name.strip_prefix(SCRIPTED) else {
            return Ok(loaded);
        };
        let script = loaded.scripts.get(path)?;
        let folder = Path::new(path).parent();
        let mut agents = Vec::new();
        for manifest in script.agents() {
            let mut manifest = manifest.clone();
            let named = manifest.model.as_deref();
            let named = named.filter(|model| Tier::named(model).is_none());
            if let (Some(model), Some(folder)) = (named, folder) {
                let whole = model_name(model, folder, settings)?;
                loaded.add(&whole)?;
                manifest.model = Some(whole);
            }
            agents.push(manifest);
        }
        loaded.script = Some((path.to_owned(), agents));
        Ok(loaded)
    }

    /// Loads the models of tiers and the one for children, and fails if one of them cannot be asked.
    ///
    /// The small tier is `offline` where that is the session's model, because it is free. Otherwise
    /// it has to be named: no model is asked, and paid, that the user did not name.
    pub fn with_choices(mut self, settings: &Settings, host: &Host) -> Result<Self, HostError> {
        for (tier, asked) in &settings.tiers {
            let name = self.usable(&format!("tiers.{tier}"), asked, settings, host)?;
            self.choices.tiers.insert(*tier, name);
        }
        if let Some(asked) = &settings.child_model {
            self.choices.child = Some(self.usable("child_model", asked, settings, host)?);
        }
        self.free_small();
        Ok(self)
    }

    /// Returns what tiers and children would get, whether those models can be asked or not.
    pub fn would_choose(mut self, settings: &Settings) -> ModelChoices {
        let tiers = settings.tiers.iter();
        self.choices.tiers = tiers
            .map(|(tier, model)| (*tier, model.value.clone()))
            .collect();
        self.choices.child = settings
            .child_model
            .as_ref()
            .map(|model| model.value.clone());
        self.free_small();
        self.choices
    }

    fn free_small(&mut self) {
        if self.offline {
            let small = self.choices.tiers.entry(Tier::Small);
            small.or_insert_with(|| OFFLINE.to_owned());
        }
    }

    /// Loads a model that a setting names.
    fn usable(
        &mut self,
        key: &str,
        asked: &Sourced<String>,
        settings: &Settings,
        host: &Host,
    ) -> Result<String, HostError> {
        let wrong = |stop: HostError| stop.about(key);
        let name = chosen(asked, settings).map_err(wrong)?;
        let usable = self.add(&name).and_then(|()| check(&name, host));
        usable.map_err(|stop| wrong(stop.coming_from(&asked.source)))?;
        Ok(name)
    }

    /// Returns which models agents get that name none.
    pub fn choices(&self) -> &ModelChoices {
        &self.choices
    }

    /// Loads one more model, for an agent that does not use its parent's.
    pub fn add(&mut self, name: &str) -> Result<(), HostError> {
        match name.strip_prefix(SCRIPTED) {
            Some(path) => self.scripts.get(path).map(drop),
            None => Ok(()),
        }
    }

    /// Returns the file of the script that is the session's model, and the agents in it.
    pub fn script(&self) -> Option<(&str, &[Manifest])> {
        let (path, agents) = self.script.as_ref()?;
        Some((path, agents))
    }

    /// Returns what a model costs; `None` if nobody has said.
    fn price(&self, name: &str, host: &Host) -> Option<Price> {
        self.set(host).find(name).ok()?.price()
    }

    /// Refuses a cap on money that could not be held, and says where prices are set.
    pub fn check_price(&self, name: &str, host: &Host) -> Result<(), HostError> {
        if self.price(name, host).is_some() {
            return Ok(());
        }
        let (shown, way) = match name.strip_prefix(SCRIPTED) {
            Some(path) => (format!("script {path}"), "set `price` in it".to_owned()),
            None => {
                let (provider, model) = name.split_once('/').unwrap_or((name, ""));
                let table = format!("[providers.{provider}.models.\"{model}\"]");
                let way = format!("set `price` in {table} of your own offshoot.toml");
                (name.to_owned(), way)
            }
        };
        Err(HostError::invalid(format!(
            "the cost is capped and the price of {shown} is not known; {way}, or drop the cap"
        )))
    }

    /// Returns all models there are: `offline`, the providers', and scripts.
    fn set(&self, host: &Host) -> ModelSet {
        let scripts = SCRIPTED.trim_end_matches('/');
        let set = ModelSet::default().with_offline();
        let set = set.with_provider(scripts, self.scripts.clone());
        host.providers.iter().fold(set, |set, settings| {
            let server = OpenAiChat::new(settings.clone(), host.http.clone());
            set.with_provider(&settings.provider, Arc::new(server))
        })
    }
}

/// Fails if a model cannot be asked as things are, so that nobody waits for an agent to find out.
pub fn check(name: &str, host: &Host) -> Result<(), HostError> {
    if name.starts_with(SCRIPTED) {
        return Ok(());
    }
    let set = Models::default().set(host);
    let found = set.find(name).map(drop);
    found.map_err(|error| HostError::invalid(error.to_string()))
}

/// Returns the name, as the log keeps it, of the model that was chosen.
pub fn chosen(model: &Sourced<String>, settings: &Settings) -> Result<String, HostError> {
    let folder = model.source.base().unwrap_or(Path::new(""));
    model_name(&model.value, folder, settings).map_err(|stop| stop.coming_from(&model.source))
}

/// Returns the name of a model as the log keeps it; files are seen from `folder`.
pub fn model_name(asked: &str, folder: &Path, settings: &Settings) -> Result<String, HostError> {
    let Some(path) = asked.strip_prefix(SCRIPTED).filter(|path| !path.is_empty()) else {
        return known(asked, settings).map(str::to_owned);
    };
    let whole = config::absolute(&folder.join(path))?;
    match whole.into_os_string().into_string() {
        Ok(path) => Ok(format!("{SCRIPTED}{path}")),
        Err(_) => Err(HostError::invalid(format!(
            "load model {asked}: its path is not UTF-8"
        ))),
    }
}

/// Tells whether a name is that of the model that needs nobody.
pub fn is_offline(name: &str) -> bool {
    matches!(
        name.split_once('/').unwrap_or((name, "")),
        (OFFLINE, "" | "survey")
    )
}

/// Refuses a name that nothing here could be asked under.
fn known<'a>(asked: &'a str, settings: &Settings) -> Result<&'a str, HostError> {
    let (provider, name) = asked.split_once('/').unwrap_or((asked, ""));
    match (provider, name) {
        _ if is_offline(asked) => Ok(asked),
        (provider, name) if !name.is_empty() && settings.providers.contains_key(provider) => {
            Ok(asked)
        }
        _ if Tier::named(asked).is_some() => Err(HostError::invalid(format!(
            "{asked} is a tier, and here a model is needed: PROVIDER/NAME"
        ))),
        _ => {
            let providers = settings.providers.keys();
            let providers: Vec<String> = providers.map(|name| format!("{name}/NAME")).collect();
            let providers = providers.join(", ");
            Err(HostError::invalid(format!(
                "there is no model {asked}; there are: offline, {providers}, scripted/FILE"
            )))
        }
    }
}

/// Makes a runtime with these projects.
///
/// `data_dir` is the folder of the store, which has made it.
pub fn runtime(
    store: Arc<dyn Store>,
    projects: Arc<dyn Projects>,
    limits: Limits,
    data_dir: &Path,
) -> Runtime {
    tracing::debug!(?limits, "runtime");
    Runtime::new(Parts {
        store,
        projects,
        env: Arc::new(System),
        limits,
        data: data(data_dir),
        sidecars: Arc::new(Sidecars),
    })
}

/// Returns a project with these models and agents and the built-in tools, for one workspace.
pub fn project(models: &Models, registry: Registry, host: &Host) -> OneProject {
    host.project(models, registry).into()
}

/// Returns a project that is only looked at: also where a model is not there, or has no key.
pub fn looked_at_project(models: &Models, registry: Registry, host: &Host) -> OneProject {
    let mut project = host.project(models, registry);
    project.models = Arc::new(NeverAsked(models.set(host)));
    project.into()
}

impl Host {
    /// Returns what the sessions of a workspace work with.
    pub(crate) fn project(&self, models: &Models, registry: Registry) -> Project {
        let mut tools = offshoot_tools::builtin();
        let environment = Environment::without_keys(&self.secret_variables);
        let bash = Bash::new(self.keeper.clone(), environment.clone());
        tools.push(Arc::new(bash));
        let (keeper, unheard) = (self.keeper.clone(), self.unheard.clone());
        Project {
            charter: Arc::new(self.rules.clone()),
            helpers: Helpers {
                models: models.choices.clone(),
                compaction: self.compaction.clone(),
            },
            hooks: hooks::assemble(&self.hooks, keeper, environment, unheard),
            models: Arc::new(models.set(self)),
            tools: tools.into(),
            registry: Arc::new(registry),
            asks: self.asks,
        }
    }
}

/// Models of which none is asked anything: each name is one.
struct NeverAsked(ModelSet);

impl offshoot_types::model::Models for NeverAsked {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let found = self.0.find(name);
        Ok(found.unwrap_or_else(|_| Arc::new(NoModel)))
    }
}

/// Stands for a model of which only its name is known.
struct NoModel;

impl Model for NoModel {
    fn stream(
        &self,
        request: Request,
        _cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let text = format!("ask model {}: it cannot be asked here", request.model);
        let error = ModelError::new(ModelErrorKind::Config, text);
        Box::pin(futures_util::stream::once(std::future::ready(Err(error))))
    }
}

/// Returns the data folder as it is kept from agents.
pub fn data(folder: &Path) -> Option<String> {
    // The workspace has no links in its path either, so that one can be told to lie in the other. The
    // store has made the folder; should it be gone since, there is nothing in it to keep.
    let data = folder.canonicalize();
    let data = data.unwrap_or_else(|_| folder.to_owned());
    data.into_os_string().into_string().ok()
}

/// Returns the names of all tools that an agent may be offered, by name.
pub fn tools() -> Vec<String> {
    let builtin = offshoot_tools::builtin();
    let builtin = builtin.iter().map(|tool| tool.spec().id.clone());
    let own = own_tools().chain(["bash"]).map(str::to_owned);
    let mut tools: Vec<String> = builtin.chain(own).collect();
    tools.sort();
    tools
}

/// Returns this program as the keeper of processes; its `main` has to know [`KEEP`].
fn this_program() -> Keeper {
    Keeper {
        program: "/proc/self/exe".into(),
        arguments: vec![KEEP.into()],
    }
}
