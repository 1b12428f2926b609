//! What holds for this call: flags over the environment, over the project's file, over the user's.
//!
//! Every value knows where it comes from. Files are read and nothing is created
//! here. Who may set what is judged in `config/file.rs`; whether a model or an
//! agent of that name exists is judged where it is used.

mod compaction;
mod file;
mod find;
mod hook;
mod layer;
mod limit;
mod page;
mod providers;
mod source;
#[cfg(test)]
mod tests;
mod variables;
mod word;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_engine::{Compacting, Limits};
use offshoot_types::permission::Rule as Permission;
use offshoot_types::tier::Tier;

use crate::error::HostError;
use crate::surroundings::Surroundings;
use compaction::Rule;
use file::Owner;
use limit::Limit;

pub use hook::Hook;
pub use layer::{Color, Layer, Level};
pub use providers::{HeaderSetting, Provider, Providers};
pub use source::{Source, Sourced};
pub use variables::Key;
pub use word::Word;

/// The agent that is asked when none is named.
const AGENT: &str = "build";

/// Most rules of a file that are listed among the settings; `permissions list` has all.
const MOST_RULES: usize = 20;

/// What holds for this call.
#[derive(Clone, Debug)]
pub struct Settings {
    /// As it was asked for; a file in it is seen from its source.
    pub model: Sourced<String>,
    /// The model of children that name none; as it was asked for, too.
    pub child_model: Option<Sourced<String>>,
    /// What tiers are mapped to; as it was asked for, too.
    pub tiers: BTreeMap<Tier, Sourced<String>>,
    pub agent: Sourced<String>,
    /// Where sessions are kept; absolute.
    pub data_dir: Sourced<PathBuf>,
    pub color: Sourced<Color>,
    pub log_level: Option<Sourced<Level>>,
    pub log_file: Option<Sourced<PathBuf>>,
    /// The servers of models, by name.
    pub providers: Providers,
    /// The config files that were read, the strongest last.
    pub files: Vec<PathBuf>,
    /// Where the user's own agents are, whether there are any or not; `None` without a home.
    pub agents_dir: Option<PathBuf>,
    /// Folders whose repositories the user trusts; absolute.
    pub trusted_projects: Vec<Sourced<PathBuf>>,
    /// Whether the one of the folder to work in is trusted for this call.
    pub trust_project: bool,
    compaction: BTreeMap<Rule, Sourced<u64>>,
    /// What agents may do, as the user says.
    pub user_rules: Vec<Sourced<Permission>>,
    /// What they may not, as the project of the folder says.
    pub project_rules: Vec<Sourced<Permission>>,
    /// What is odd about those rules.
    pub warnings: Vec<String>,
    /// Where rules of other projects are looked for.
    pub search: Search,
    /// Everybody's, the user's first.
    hooks: Vec<Hook>,
    /// Each in the unit of its limit.
    limits: BTreeMap<Limit, Sourced<u64>>,
    /// What is above all files.
    above: Arc<Above>,
}

/// What is above all files, so that settings can be read again for another folder.
#[derive(Clone, Debug, Default)]
struct Above {
    flags: Layer,
    surroundings: Surroundings,
}

/// Where the files of projects are looked for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The user's file, which is no project's.
    user: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl Search {
    /// Reads the rules of the project that a folder belongs to.
    pub fn project_rules(&self, folder: &Path) -> Result<Vec<Sourced<Permission>>, HostError> {
        Ok(self.project(folder)?.project_rules)
    }

    /// Reads the hooks of the project that a folder belongs to.
    pub fn project_hooks(&self, folder: &Path) -> Result<Vec<Hook>, HostError> {
        Ok(self.project(folder)?.hooks)
    }

    /// Returns the paths at which a file would have a say in a folder, whether it is there or not.
    pub(crate) fn places(&self, folder: &Path) -> Vec<PathBuf> {
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let user = self.user.clone().into_iter();
        user.chain(find::places(folder, home.as_deref())).collect()
    }

    /// Returns the files that have a say in a folder: the user's, and the project's if there is one.
    pub fn files(&self, folder: &Path) -> Vec<PathBuf> {
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let project = find::project(folder, self.user.as_deref(), home.as_deref());
        let user = self.user.clone().into_iter();
        user.chain(project.ok().flatten()).collect()
    }

    fn project(&self, folder: &Path) -> Result<Layer, HostError> {
        let home = self.home.as_ref().and_then(|home| home.canonicalize().ok());
        let found = find::project(folder, self.user.as_deref(), home.as_deref())?;
        let layer = found.map(|path| file::read(&path, Owner::Project, self.home.as_deref()));
        Ok(layer.transpose()?.unwrap_or_default())
    }

    /// Returns the home folder, as rules have it.
    pub fn home(&self) -> Option<&str> {
        self.home.as_deref()?.to_str()
    }
}

/// Which files have a say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// The user's, and that of the project of the folder to work in.
    Read,
    /// The user's only, so that one can look around although the project's is wrong.
    Own,
    /// None, so that something can be said although one of them is wrong.
    Ignore,
}

/// Returns the name of the model that is used when nobody names one.
pub fn default_model() -> &'static str {
    "offline"
}

impl Settings {
    /// Finds out what holds, from flags, the environment and files; `cwd` is the folder to work in
    /// if it is not the current one.
    pub fn load(
        flags: Layer,
        cwd: Option<&Path>,
        surroundings: &Surroundings,
        files: Files,
    ) -> Result<Self, HostError> {
        let (below, files) = match files {
            Files::Read | Files::Own => from_files(cwd, surroundings, files)?,
            Files::Ignore => (Layer::default(), Vec::new()),
        };
        let above = Above {
            flags: flags.clone(),
            surroundings: surroundings.clone(),
        };
        let layer = flags.over(variables::layer(surroundings)?).over(below);
        let data_dir = match &layer.data_dir {
            Some(Sourced { value, source }) => Sourced::new(absolute(value)?, source.clone()),
            None => usual_data_dir(surroundings)?,
        };
        Self::of(layer, above, data_dir, files)
    }

    /// Reads one file as a user's own, under no flags; `surroundings` has the keys that it names.
    pub fn from_file(path: &Path, surroundings: &Surroundings) -> Result<Self, HostError> {
        let path = absolute(path)?;
        let layer = file::read(&path, Owner::User, surroundings.home())?;
        let above = Above {
            flags: Layer::default(),
            surroundings: surroundings.clone(),
        };
        let data_dir = layer.data_dir.clone();
        let data_dir = data_dir.unwrap_or_else(|| Sourced::default(PathBuf::new()));
        Self::of(layer, above, data_dir, vec![path])
    }

    /// Reads the files again, for a folder to work in: the user's, and the one of the folder's project.
    ///
    /// Flags and variables are those of the first time, and so is the data folder: it is open.
    pub fn read_for(&self, workspace: &Path) -> Result<Self, HostError> {
        let Above {
            flags,
            surroundings,
        } = self.above.as_ref();
        let mut settings = Self::load(flags.clone(), Some(workspace), surroundings, Files::Read)?;
        settings.data_dir = self.data_dir.clone();
        settings.above = self.above.clone();
        Ok(settings)
    }

    fn of(
        layer: Layer,
        above: Above,
        data_dir: Sourced<PathBuf>,
        files: Vec<PathBuf>,
    ) -> Result<Self, HostError> {
        let surroundings = &above.surroundings;
        let or = |value: Option<Sourced<String>>, usual: &str| {
            value.unwrap_or_else(|| Sourced::default(usual.to_owned()))
        };
        let color = layer.color.unwrap_or(Sourced::default(Color::Auto));
        Ok(Self {
            model: or(layer.model, default_model()),
            child_model: layer.child_model,
            tiers: layer.tiers,
            agent: or(layer.agent, AGENT),
            data_dir,
            color,
            log_level: layer.log_level,
            log_file: layer.log_file,
            providers: providers::providers(layer.providers, surroundings)?,
            files,
            agents_dir: find::user_agents(surroundings),
            trusted_projects: layer.trusted_projects,
            trust_project: layer.trust_project,
            compaction: layer.compaction,
            user_rules: layer.user_rules,
            project_rules: layer.project_rules,
            warnings: layer.warnings,
            search: Search {
                user: find::user(surroundings),
                home: surroundings.home().map(Path::to_owned),
            },
            hooks: layer.hooks,
            limits: layer.limits,
            above: Arc::new(above),
        })
    }

    /// Returns where the user's config file is, whether it is there or not; `None` without a home.
    pub fn user_file(surroundings: &Surroundings) -> Option<PathBuf> {
        find::user(surroundings)
    }

    /// Returns the host's limits on trees and turns.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for (limit, Sourced { value, .. }) in &self.limits {
            limit.set(&mut limits, *value);
        }
        limits
    }

    /// Returns the variables whose values are secret: commands do not see them.
    pub fn secret_variables(&self) -> Vec<String> {
        let providers = self.providers.values();
        let secret = providers.flat_map(Provider::secret_variables);
        secret.map(str::to_owned).collect()
    }

    /// Returns how conversations are shortened.
    pub fn compacting(&self) -> Compacting {
        let mut rules = Compacting::default();
        for (rule, Sourced { value, .. }) in &self.compaction {
            rule.set(&mut rules, *value);
        }
        rules
    }

    /// Returns the hooks that are used wherever agents work: the user's own.
    pub fn hooks(&self) -> Vec<Hook> {
        self.hooks_of(Owner::User)
    }

    /// Returns the hooks of the project whose file was read, which are yet to be judged.
    pub(crate) fn project_hooks(&self) -> Vec<Hook> {
        self.hooks_of(Owner::Project)
    }

    fn hooks_of(&self, owner: Owner) -> Vec<Hook> {
        let hooks = self.hooks.iter().filter(|hook| hook.owner == owner);
        hooks.cloned().collect()
    }

    /// Lists every setting that somebody made: its name, its value and where it comes from.
    pub fn made(&self) -> Vec<(String, String, Source)> {
        let mut made = Vec::new();
        let mut add = |name: &str, value: String, source: &Source| {
            if *source != Source::Default {
                made.push((name.to_owned(), value, source.clone()));
            }
        };
        add("model", self.model.value.clone(), &self.model.source);
        if let Some(child) = &self.child_model {
            add("child_model", child.value.clone(), &child.source);
        }
        for (tier, model) in &self.tiers {
            add(&format!("tiers.{tier}"), model.value.clone(), &model.source);
        }
        add("agent", self.agent.value.clone(), &self.agent.source);
        let path = |path: &Path| path.display().to_string();
        add(
            "data_dir",
            path(&self.data_dir.value),
            &self.data_dir.source,
        );
        add(
            "color",
            self.color.value.word().to_owned(),
            &self.color.source,
        );
        if let Some(level) = &self.log_level {
            add("log.level", level.value.word().to_owned(), &level.source);
        }
        if let Some(file) = &self.log_file {
            add("log.file", path(&file.value), &file.source);
        }
        for Sourced { value, source } in &self.trusted_projects {
            add("trusted_projects", path(value), source);
        }
        for (limit, number) in &self.limits {
            let name = format!("limits.{}", limit.name());
            add(&name, limit.shown(number.value), &number.source);
        }
        for (name, provider) in &self.providers {
            for (key, value, source) in provider.made(name) {
                add(&key, value, &source);
            }
        }
        for (rule, Sourced { value, source }) in &self.compaction {
            let name = format!("compaction.{}", rule.name());
            add(&name, rule.shown(*value), source);
        }
        for rules in [&self.user_rules, &self.project_rules] {
            for Sourced { value, source } in rules.iter().take(MOST_RULES) {
                add("permissions", crate::rules::shown(value), source);
            }
            if let Some(next) = rules.get(MOST_RULES) {
                let more = rules.len() - MOST_RULES;
                add("permissions", format!("{more} more rules"), &next.source);
            }
        }
        for hook in &self.hooks {
            let unused = match hook.owner {
                Owner::User => "",
                Owner::Project => " (a project's: see offshoot trust)",
            };
            let shown = format!("{}{unused}", hook.shown());
            add("hooks", shown, &hook.source);
        }
        made
    }
}

/// Reads the user's file and the project's, the latter over the former.
fn from_files(
    cwd: Option<&Path>,
    surroundings: &Surroundings,
    which: Files,
) -> Result<(Layer, Vec<PathBuf>), HostError> {
    let home = surroundings.home();
    let user = find::user(surroundings);
    let mut files = Vec::new();
    let mut layer = Layer::default();
    if let Some(user) = user.as_ref().filter(|user| user.symlink_metadata().is_ok()) {
        layer = file::read(user, Owner::User, home)?;
        files.push(user.clone());
    }
    if which != Files::Read {
        return Ok((layer, files));
    }
    let folder = match (cwd, surroundings.folder()) {
        (Some(cwd), Some(folder)) => Some(folder.join(cwd)),
        (Some(cwd), None) => Some(cwd.to_owned()),
        (None, folder) => folder.map(Path::to_owned),
    };
    // Where the folder is not there, whoever wants to work in it says so.
    let folder = folder.and_then(|folder| folder.canonicalize().ok());
    let home_folder = home.and_then(|home| home.canonicalize().ok());
    if let Some(folder) = folder
        && let Some(path) = find::project(&folder, user.as_deref(), home_folder.as_deref())?
    {
        let project = file::read(&path, Owner::Project, home)?;
        lowers_only(&project, &layer)?;
        layer = project.over(layer);
        files.push(path);
    }
    Ok((layer, files))
}

/// Fails if a project would raise a limit: a repository must not make its user pay for more.
fn lowers_only(project: &Layer, user: &Layer) -> Result<(), HostError> {
    let usual = Limits::default();
    for (limit, asked) in &project.limits {
        let (most, from) = match user.limits.get(limit) {
            Some(own) => (Some(own.value), &own.source),
            None => (limit.of(&usual), &Source::Default),
        };
        if let Some(most) = most.filter(|most| asked.value > *most) {
            return Err(HostError::invalid(format!(
                "`limits.{}` in {} is {}, and more than {}, which is {from}; a project can lower \
                 limits, and only your own config file can raise them",
                limit.name(),
                asked.source,
                limit.shown(asked.value),
                limit.shown(most),
            )));
        }
    }
    Ok(())
}

/// Returns the data folder that the XDG rules give.
fn usual_data_dir(surroundings: &Surroundings) -> Result<Sourced<PathBuf>, HostError> {
    if let Some(shared) = surroundings.xdg("XDG_DATA_HOME") {
        let source = Source::Variable("XDG_DATA_HOME".to_owned());
        return Ok(Sourced::new(shared.join("offshoot"), source));
    }
    match surroundings.home() {
        Some(home) => Ok(Sourced::default(home.join(".local/share/offshoot"))),
        None => Err(HostError::invalid(
            "there is no home folder to keep sessions in; give --data-dir DIR",
        )),
    }
}

/// Makes a path absolute, as seen from the current folder.
pub fn absolute(path: &Path) -> Result<PathBuf, HostError> {
    std::path::absolute(path)
        .map_err(|error| HostError::failed(format!("make path {} absolute", path.display()), error))
}

/// Returns the folder to work in, as the log keeps it.
pub fn workspace(asked: Option<&Path>) -> Result<String, HostError> {
    let folder = asked.unwrap_or(Path::new("."));
    let real = folder
        .canonicalize()
        .map_err(|error| HostError::invalid(format!("work in {}: {error}", folder.display())))?;
    if !real.is_dir() {
        let text = format!("work in {}: it is not a folder", folder.display());
        return Err(HostError::invalid(text));
    }
    real.into_os_string().into_string().map_err(|_| {
        HostError::invalid(format!(
            "work in {}: its path is not UTF-8",
            folder.display()
        ))
    })
}
