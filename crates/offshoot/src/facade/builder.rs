//! Assembles a runtime of what a program brings.
//!
//! The counterpart of the command line's `assemble`: all choices are made here, at run time. Nothing
//! is read from the environment; the clock and the ids are the system's unless others are given. What
//! cannot be right is told when it is built and not when an agent runs into it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agents::{Catalogue, no_helper, unknown_tools};
use offshoot_engine::{
    Asks, Compacting, Helpers, Limits, OneProject, Parts, Project, Runtime as Engine, own_tools,
};
use offshoot_host::config::{Settings, Source, Sourced};
use offshoot_host::{HostError, Surroundings, System, assemble, hooks};
use offshoot_models::{Http, ModelSet, OpenAiChat, OpenAiChatSettings};
use offshoot_store::Handle;
use offshoot_tools::Sidecars;
use offshoot_tools::shell::{Bash, Environment, Keeper};
use offshoot_types::env::Env;
use offshoot_types::hook::{Hook, Hooks, Watch};
use offshoot_types::manifest::{Manifest, Registry};
use offshoot_types::model::{Model, Models};
use offshoot_types::permission::Rule;
use offshoot_types::store::Store;
use offshoot_types::tier::{ModelChoices, Tier};
use offshoot_types::tool::Tool;

use super::agent_files;
use super::error::Error;
use super::host::{self, HOST};
use super::rules::HostRules;
use super::runtime::{Runtime, Shared};
use super::session::absolute;
use crate::flow::Client;

/// The folder of sessions that have none: nothing can be in it.
const NOWHERE: &str = "/dev/null";

/// A runtime that is being assembled.
#[must_use = "nothing is made before `build`"]
pub struct Builder {
    place: Option<Place>,
    settings: Option<PathBuf>,
    /// What variables of a settings file hold.
    variables: Surroundings,
    models: BTreeMap<String, Arc<dyn Model>>,
    providers: BTreeMap<String, Arc<dyn Models>>,
    model: Option<String>,
    tools: Vec<Arc<dyn Tool>>,
    shell: Option<Keeper>,
    /// Variables that commands do not see.
    secret_variables: Vec<String>,
    agents: Vec<Manifest>,
    agent_files: Vec<PathBuf>,
    builtin: bool,
    workspace: Option<PathBuf>,
    limits: Option<Limits>,
    choices: ModelChoices,
    compaction: Option<Compacting>,
    asks: Asks,
    rules: HostRules,
    hooks: Hooks,
    env: Arc<dyn Env>,
    /// What servers are reached through.
    http: Arc<Http>,
}

/// Where the log is kept.
enum Place {
    Memory,
    Folder(PathBuf),
    Store(Arc<dyn Store>),
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            place: None,
            settings: None,
            variables: Surroundings::default(),
            models: BTreeMap::new(),
            providers: BTreeMap::new(),
            model: None,
            tools: Vec::new(),
            shell: None,
            secret_variables: Vec::new(),
            agents: Vec::new(),
            agent_files: Vec::new(),
            builtin: true,
            workspace: None,
            limits: None,
            choices: ModelChoices::default(),
            compaction: None,
            asks: Asks::default(),
            rules: HostRules::default(),
            hooks: Hooks::default(),
            env: Arc::new(System),
            http: Arc::new(Http::new()),
        }
    }
}

impl Builder {
    /// Keeps sessions in a folder, as the command line does; both may use one at a time.
    ///
    /// Without it, and without a store of your own, they are kept in memory and gone with the runtime.
    pub fn data_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.place = Some(Place::Folder(folder.into()));
        self
    }

    /// Keeps sessions in a store of your own.
    ///
    /// The contract is the suite in `offshoot_store::contract`.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.place = Some(Place::Store(Arc::new(store)));
        self
    }

    /// Reads an `offshoot.toml`, as `docs/config.md` has it, when the runtime is built: `model`,
    /// `child_model`, `tiers`, `providers`, `limits`, `compaction`, `permissions`, `hooks` and `data_dir`.
    ///
    /// What this builder is told otherwise goes before what the file says; rules of both hold, the file's
    /// first. Hooks are commands, so a file that has some needs [`shell`](Self::shell). Variables that the file
    /// names, such as those of keys, are taken from [`variables`](Self::variables).
    pub fn settings(mut self, file: impl Into<PathBuf>) -> Self {
        self.settings = Some(file.into());
        self
    }

    /// Hands in what the variables hold that a settings file names: keys of providers, and `HOME`.
    ///
    /// The library reads no environment. `std::env::vars_os()` hands in all of this process.
    pub fn variables<Name: Into<OsString>, Text: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (Name, Text)>,
    ) -> Self {
        self.variables = Surroundings::new(None, variables);
        self
    }

    /// Adds a model under a name, `PROVIDER/NAME`. The first is the one that sessions ask.
    pub fn model(mut self, name: impl Into<String>, model: impl Model + 'static) -> Self {
        let name = name.into();
        self.model.get_or_insert_with(|| name.clone());
        self.models.insert(name, Arc::new(model));
        self
    }

    /// Adds a provider, which is asked for what follows `PROVIDER/` in the name of a model.
    pub fn provider(mut self, provider: impl Into<String>, models: impl Models + 'static) -> Self {
        self.providers.insert(provider.into(), Arc::new(models));
        self
    }

    /// Adds the models of a server that speaks OpenAI's chat dialect, as `PROVIDER/NAME`.
    ///
    /// `PROVIDER` is what the settings say, `openai-chat` by default; each server needs its own.
    pub fn openai_chat(mut self, settings: OpenAiChatSettings) -> Self {
        self.secret_variables.extend(settings.key_variable.clone());
        let provider = settings.provider.clone();
        let server = OpenAiChat::new(settings, self.http.clone());
        self.provider(provider, server)
    }

    /// Names the model that sessions ask, where neither they nor their agents name one.
    pub fn default_model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Maps a tier to a model, for agents whose manifests name the tier.
    ///
    /// `Tier::Small` also does the chores: names for sessions, summaries, shorter conversations.
    /// Without it no session is named by a model, and the rest is done by the agent's own.
    pub fn tier(mut self, tier: Tier, name: impl Into<String>) -> Self {
        self.choices.tiers.insert(tier, name.into());
        self
    }

    /// Names the model of children whose manifests name neither a model nor a tier; without it they
    /// have their parent's.
    pub fn child_model(mut self, name: impl Into<String>) -> Self {
        self.choices.child = Some(name.into());
        self
    }

    /// Says how conversations are shortened that grow too long for their model.
    pub fn compaction(mut self, rules: Compacting) -> Self {
        self.compaction = Some(rules);
        self
    }

    /// Offers agents a tool, behind those that were added before.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Offers agents the built-in tools for files: `read`, `write`, `edit`, `glob` and `grep`.
    ///
    /// They are confined to the workspace. Agents may read there; before they write, they ask.
    pub fn file_tools(mut self) -> Self {
        self.tools.extend(offshoot_tools::builtin());
        self
    }

    /// Offers agents `bash`, whose commands are kept by `keeper`; see [`keeper`](crate::keeper).
    ///
    /// Commands see the environment of this process without the keys of known providers. They are not
    /// confined to the workspace: before a command runs, the agent asks.
    pub fn shell(mut self, keeper: Keeper) -> Self {
        self.shell = Some(keeper);
        self
    }

    /// Names the folder in which agents work, where their session names none.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Adds an agent; it replaces a built-in one of its name.
    ///
    /// What a program hands in is its own and trusted. No files are looked for, so a repository
    /// that agents work in brings none.
    pub fn agent(mut self, manifest: Manifest) -> Self {
        self.agents.push(manifest);
        self
    }

    /// Adds the agents that are files of a folder, in the format of `docs/agents.md`; one that is added
    /// with [`agent`](Self::agent) replaces a file of its name.
    ///
    /// They are trusted, so name no folder of a repository that you have not read. `build` reads the
    /// folder and fails if a file has a mistake.
    pub fn agent_files(mut self, folder: impl Into<PathBuf>) -> Self {
        self.agent_files.push(folder.into());
        self
    }

    /// Leaves out the built-in agents.
    pub fn without_builtin_agents(mut self) -> Self {
        self.builtin = false;
        self
    }

    /// Sets the limits on trees and turns.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Says who answers when an agent needs a permission that nobody has given. Without it nobody does,
    /// and that is a no.
    pub fn asks(mut self, asks: Asks) -> Self {
        self.asks = asks;
        self
    }

    /// Adds rules about what agents may do, above all that agents say of themselves.
    ///
    /// What they allow needs no asking; what they deny no agent may. See `docs/permissions.md`.
    pub fn permissions(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.rules.extend(rules);
        self
    }

    /// Lets agents that others started have some of what is personal (`credential.use` and the like),
    /// as far as one of these rules allows it. Gives nothing by itself.
    pub fn delegable(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.delegable.extend(rules);
        self
    }

    /// Adds a hook that answers at once, behind those that were added before.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.add(Arc::new(hook));
        self
    }

    /// Adds a hook that may take its time, behind those that were added before.
    ///
    /// It hears of what agents are about to do and have done, and may be against it; it cannot allow
    /// anything.
    pub fn watch(mut self, watch: impl Watch + 'static) -> Self {
        self.hooks.watch(Arc::new(watch));
        self
    }

    /// Takes the time and ids from elsewhere than the system.
    pub fn env(mut self, env: impl Env + 'static) -> Self {
        self.env = Arc::new(env);
        self
    }

    /// Makes the runtime. Starts no agent; a store in a folder is opened, and made if it is not there.
    pub fn build(mut self) -> Result<Runtime, Error> {
        if let Some(file) = self.settings.take() {
            self = self.with_settings(&file)?;
        }
        if let Some(keeper) = self.shell {
            let environment = Environment::without_keys(&self.secret_variables);
            self.tools.push(Arc::new(Bash::new(keeper, environment)));
        }
        check_tools(&self.tools)?;
        let known = known_tools(&self.tools);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        check_named_tools(&self.agents, &known)?;
        let files = self.agent_files.iter();
        let mut agents = Vec::new();
        for folder in files {
            agents.extend(agent_files::read(folder, &known)?);
        }
        agents.extend(self.agents);
        self.rules.check(&agents)?;
        let registry = registry(agents, self.builtin)?;
        let workspace = match &self.workspace {
            Some(folder) => absolute(folder)?,
            None => NOWHERE.to_owned(),
        };
        let (store, data) = self.place.unwrap_or(Place::Memory).open()?;
        let models = self.models.into_iter().collect::<ModelSet>().with_offline();
        let providers = self.providers.into_iter();
        let models = providers.fold(models, |models, (name, provider)| {
            models.with_provider(&name, provider)
        });
        let ModelChoices { tiers, child } = &self.choices;
        for name in tiers.values().chain(child) {
            let found = models.find(name).map(drop);
            found.map_err(|error| Error::Unknown(error.message))?;
        }
        let project = Project {
            charter: Arc::new(self.rules),
            models: Arc::new(models),
            tools: self.tools.into(),
            registry: Arc::new(registry),
            asks: self.asks,
            helpers: Helpers {
                models: self.choices,
                compaction: self.compaction.unwrap_or_default(),
            },
            hooks: self.hooks,
        };
        let engine = Engine::new(Parts {
            store,
            projects: Arc::new(OneProject::from(project)),
            env: self.env.clone(),
            limits: self.limits.unwrap_or_default(),
            sidecars: Arc::new(Sidecars),
            data,
        });
        let shared = Shared::new(Client::new(engine, self.env), self.model, workspace);
        Ok(Runtime(Arc::new(shared)))
    }

    /// Adds what a settings file says, below what this builder was told.
    fn with_settings(mut self, file: &Path) -> Result<Self, Error> {
        let invalid = |error: HostError| Error::Invalid(error.to_string());
        let settings = Settings::from_file(file, &self.variables).map_err(invalid)?;
        let chosen = |model: &Sourced<String>| assemble::chosen(model, &settings).map_err(invalid);
        if self.model.is_none() && settings.model.source != Source::Default {
            self.model = Some(chosen(&settings.model)?);
        }
        if let (None, Some(child)) = (&self.choices.child, &settings.child_model) {
            self.choices.child = Some(chosen(child)?);
        }
        for (tier, model) in &settings.tiers {
            if !self.choices.tiers.contains_key(tier) {
                self.choices.tiers.insert(*tier, chosen(model)?);
            }
        }
        for server in assemble::servers(&settings) {
            if !self.providers.contains_key(&server.provider) {
                self = self.openai_chat(server);
            }
        }
        self.secret_variables.extend(settings.secret_variables());
        self.limits.get_or_insert_with(|| settings.limits());
        self.compaction.get_or_insert_with(|| settings.compacting());
        if settings.data_dir.source != Source::Default {
            let folder = Place::Folder(settings.data_dir.value.clone());
            self.place.get_or_insert(folder);
        }
        let written = settings.user_rules.iter().map(|rule| rule.value.clone());
        self.rules.rules.splice(..0, written);
        self.rules.home = settings.search.home().map(str::to_owned);
        let commands = settings.hooks();
        if !commands.is_empty() {
            let Some(keeper) = self.shell.clone() else {
                let file = file.display();
                let why =
                    format!("use the hooks of {file}: they are commands; add `Builder::shell`");
                return Err(Error::Invalid(why));
            };
            let environment = Environment::without_keys(&self.secret_variables);
            let mut hooks = hooks::assemble(&commands, keeper, environment, None);
            hooks.extend(&self.hooks);
            self.hooks = hooks;
        }
        Ok(self)
    }
}

impl Place {
    /// Opens the store; returns the folder that agents' tools are kept from, if there is one.
    fn open(self) -> Result<(Arc<dyn Store>, Option<String>), Error> {
        Ok(match self {
            Self::Memory => (Arc::new(Handle::memory()?), None),
            Self::Folder(folder) => {
                let store = Handle::open(&folder)?;
                (Arc::new(store), Some(absolute(&folder)?))
            }
            Self::Store(store) => (store, None),
        })
    }
}

/// Refuses tools that agents would silently not be offered.
fn check_tools(tools: &[Arc<dyn Tool>]) -> Result<(), Error> {
    let mut ids = BTreeSet::new();
    for tool in tools {
        let id = tool.spec().id.as_str();
        if own_tools().any(|own| own == id) {
            return Err(Error::Invalid(format!(
                "add tool {id}: the engine has a call of that name; give it another"
            )));
        }
        if !ids.insert(id) {
            let why = format!("add tool {id}: there is one of that name already");
            return Err(Error::Invalid(why));
        }
    }
    Ok(())
}

/// Returns the names that `tools` of an agent may name: those of the program's tools, and of those that
/// Offshoot has for programs that want them.
fn known_tools(tools: &[Arc<dyn Tool>]) -> Vec<String> {
    let ours = offshoot_tools::builtin();
    let mut known: Vec<String> = own_tools().chain(["bash"]).map(str::to_owned).collect();
    known.extend(ours.iter().chain(tools).map(|tool| tool.spec().id.clone()));
    known.sort_unstable();
    known.dedup();
    known
}

/// Refuses agents whose `tools` name what no tool is called.
fn check_named_tools(agents: &[Manifest], known: &[&str]) -> Result<(), Error> {
    for agent in agents {
        if let Some(why) = unknown_tools(agent, known) {
            return Err(Error::Invalid(format!("add agent {}: {why}", agent.name)));
        }
    }
    Ok(())
}

fn registry(agents: Vec<Manifest>, builtin: bool) -> Result<Registry, Error> {
    if agents.iter().any(|manifest| manifest.name == HOST) {
        return Err(Error::Invalid(format!(
            "add agent {HOST}: that is the one that stands for the program; give it another name"
        )));
    }
    if let Some(why) = agents.iter().find_map(no_helper) {
        return Err(Error::Invalid(why));
    }
    let mut registry = if builtin {
        Catalogue::builtin().registry()
    } else {
        Registry::default()
    };
    registry.extend(agents);
    registry.add(host::manifest());
    Ok(registry)
}
