//! All agents of a workspace, where each comes from, and which of one name counts.
//!
//! Sources are added from the weakest to the strongest: what is built in, the
//! user's files, the project's, a script's. A project comes with a repository that
//! somebody else may have written. So its agents are listed, and nobody's until
//! somebody has accepted them: `registry` has none that is only listed. Who has is
//! not decided here. Nothing is dropped without a word.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use offshoot_types::manifest::{Manifest, Mode, Registry};
use offshoot_types::suggest;

use crate::builtin::{ALIASES, HELPERS, builtin};
use crate::diagnostic::Diagnostic;
use crate::file::Reading;

/// Whose files they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The person's who runs this.
    User,
    /// The repository's.
    Project,
}

/// Where an agent comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is always there.
    BuiltIn,
    /// A file of the user's.
    User(String),
    /// A file of the project's.
    Project(String),
    /// The script that is the session's model.
    Script(String),
}

impl Origin {
    /// Returns the file; `None` for what is built in.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::BuiltIn => None,
            Self::User(path) | Self::Project(path) | Self::Script(path) => Some(path),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built-in",
            Self::User(_) => "user",
            Self::Project(_) => "project",
            Self::Script(_) => "script",
        })
    }
}

/// An agent, and where it comes from.
#[derive(Clone, Debug)]
pub struct Definition {
    /// What it is.
    pub manifest: Arc<Manifest>,
    /// Where it comes from.
    pub origin: Origin,
    /// Where the one comes from that it stands in for.
    pub replaces: Option<Origin>,
}

/// Why an agent of a project is listed and not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nobody has accepted it.
    New,
    /// It is not any more what was accepted.
    Changed,
}

impl Doubt {
    /// Returns the word that programs read.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "not trusted; see \"offshoot trust\"",
            Self::Changed => "changed since you accepted it; see \"offshoot trust\"",
        })
    }
}

/// All agents of a workspace.
#[derive(Clone, Debug)]
pub struct Catalogue {
    agents: BTreeMap<String, Definition>,
    /// Files that would have been the agent of a name.
    broken: BTreeMap<String, Diagnostic>,
    /// Agents of the project that nobody has accepted.
    untrusted: BTreeMap<String, (Definition, Doubt)>,
    /// The agents that a file says its own may start, with the file and the line.
    spawns: Vec<(String, Option<usize>, String)>,
    diagnostics: Vec<Diagnostic>,
}

impl Catalogue {
    /// The agents that are always there.
    pub fn builtin() -> Self {
        let mut catalogue = Self {
            agents: BTreeMap::new(),
            broken: BTreeMap::new(),
            untrusted: BTreeMap::new(),
            spawns: Vec::new(),
            diagnostics: Vec::new(),
        };
        for manifest in builtin() {
            catalogue.put(manifest, Origin::BuiltIn);
        }
        catalogue
    }

    /// Adds the files of one scope, in the order in which the first of a name counts.
    pub fn add_files(&mut self, scope: Scope, readings: Vec<Reading>) {
        // Two files of one scope are a mistake, and not a replacement of one by the other.
        let mut first: BTreeMap<String, String> = BTreeMap::new();
        for mut reading in readings {
            if let Some(why) = misused(&reading) {
                reading.refuse("mode", &why);
            }
            self.diagnostics.append(&mut reading.warnings);
            match (&reading.manifest, first.get(&reading.name)) {
                (Err(diagnostic), taken) => {
                    self.diagnostics.push(diagnostic.clone());
                    // A project's file could not have replaced the agent there is.
                    let is_missed = scope == Scope::User || self.get(&reading.name).is_none();
                    if taken.is_none() && is_missed {
                        self.broken.insert(reading.name, diagnostic.clone());
                    }
                }
                (Ok(_), Some(taken)) => {
                    let why = format!("agent {} is in {taken} already", reading.name);
                    self.complain(&reading, "name", &why);
                }
                (Ok(manifest), None) => {
                    first.insert(reading.name.clone(), reading.path.clone());
                    let line = reading.line_of("spawns");
                    let spawns = manifest.spawns.iter().flatten();
                    let spawns = spawns.map(|name| (reading.path.clone(), line, name.clone()));
                    self.spawns.extend(spawns);
                    let path = reading.path.clone();
                    let origin = match scope {
                        Scope::User => Origin::User(path),
                        Scope::Project => Origin::Project(path),
                    };
                    self.put(manifest.clone(), origin);
                }
            }
        }
    }

    /// Lists an agent of the project that nobody has accepted; the first of a name counts.
    pub fn list_untrusted(&mut self, path: &str, manifest: Manifest, doubt: Doubt) {
        let definition = Definition {
            replaces: self.agents.get(&manifest.name).map(|it| it.origin.clone()),
            origin: Origin::Project(path.to_owned()),
            manifest: Arc::new(manifest),
        };
        let name = definition.manifest.name.clone();
        self.untrusted.entry(name).or_insert((definition, doubt));
    }

    /// Adds the agents of a script, which replace all others.
    pub fn add_script(&mut self, path: &str, manifests: &[Manifest]) {
        for manifest in manifests {
            match no_helper(manifest) {
                Some(why) => self.refuse(&manifest.name, Diagnostic::error(path, None, &why)),
                None => {
                    let spawns = manifest.spawns.iter().flatten();
                    let spawns = spawns.map(|name| (path.to_owned(), None, name.clone()));
                    self.spawns.extend(spawns);
                    self.put(manifest.clone(), Origin::Script(path.to_owned()));
                }
            }
        }
    }

    /// Notes that the agent of a name cannot be used, and why.
    pub fn refuse(&mut self, name: &str, why: Diagnostic) {
        self.note(why.clone());
        self.broken.insert(name.to_owned(), why);
    }

    /// Notes what is wrong with a folder of definitions.
    pub fn note(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Warns of agents that somebody may start and that there are none of. For when all were added.
    pub fn check_spawns(&mut self) {
        for (path, line, name) in std::mem::take(&mut self.spawns) {
            if self.get(&name).is_some() || self.broken.contains_key(&name) {
                continue;
            }
            let known = self.agents.keys().map(String::as_str);
            let shown = name.escape_debug();
            let why = match (self.untrusted(&name), suggest::nearest(&name, known)) {
                (Some((_, doubt)), _) => {
                    format!("agent `{shown}` cannot be started: it is {doubt}")
                }
                (None, Some(near)) => {
                    format!("there is no agent `{shown}` to start; did you mean `{near}`?")
                }
                (None, None) => {
                    format!("there is no agent `{shown}` to start; see \"offshoot agents list\"")
                }
            };
            self.note(Diagnostic::warning(&path, line, &why));
        }
    }

    /// Finds an agent by name, or by another name it answers to.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        let other = || self.agents.get(meant_by(name)?);
        self.agents.get(name).or_else(other)
    }

    /// Returns the other names that an agent answers to.
    pub fn aliases<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'static str> + 'a {
        let own = |alias: &str| self.agents.contains_key(alias);
        let aliases = ALIASES.iter();
        let aliases = aliases.filter(move |(alias, other)| *other == name && !own(alias));
        aliases.map(|(alias, _)| *alias)
    }

    /// Returns all agents, by name.
    pub fn all(&self) -> impl Iterator<Item = &Definition> {
        self.agents.values()
    }

    /// Returns the agents for the runtime.
    pub fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        registry.extend(self.all().map(|agent| Manifest::clone(&agent.manifest)));
        for (alias, name) in ALIASES {
            registry.add_alias(alias, name);
        }
        for name in HELPERS {
            registry.hide(name);
        }
        registry
    }

    /// Returns everything that is wrong, in the order it was found.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns why the agent of a name cannot be had, or is not the one that its file describes.
    pub fn fault(&self, name: &str) -> Option<&Diagnostic> {
        self.broken.get(name)
    }

    /// Returns the agents that cannot be used, by name, and why.
    pub fn all_broken(&self) -> impl Iterator<Item = (&str, &Diagnostic)> {
        let broken = self.broken.iter();
        broken.map(|(name, why)| (name.as_str(), why))
    }

    /// Returns the agents of the project that nobody has accepted, by name.
    pub fn all_untrusted(&self) -> impl Iterator<Item = (&Definition, Doubt)> {
        self.untrusted
            .values()
            .map(|(agent, doubt)| (agent, *doubt))
    }

    /// Finds an agent of the project that nobody has accepted.
    pub fn untrusted(&self, name: &str) -> Option<(&Definition, Doubt)> {
        let (agent, doubt) = self.untrusted.get(name)?;
        Some((agent, *doubt))
    }

    fn complain(&mut self, reading: &Reading, key: &str, why: &str) {
        let line = reading.line_of(key);
        self.diagnostics
            .push(Diagnostic::error(&reading.path, line, why));
    }

    fn put(&mut self, manifest: Manifest, origin: Origin) {
        let name = manifest.name.clone();
        self.broken.remove(&name);
        let replaces = self.agents.get(&name).map(|agent| agent.origin.clone());
        let definition = Definition {
            manifest: Arc::new(manifest),
            origin,
            replaces,
        };
        self.agents.insert(name, definition);
    }
}

/// Says why a file cannot be the helper whose name it has.
fn misused(reading: &Reading) -> Option<String> {
    no_helper(reading.manifest.as_ref().ok()?)
}

/// Says why a manifest cannot be the helper whose name it has: only Offshoot and agents start one.
pub fn no_helper(manifest: &Manifest) -> Option<String> {
    let name = manifest.name.as_str();
    let taken = HELPERS.contains(&name) && manifest.mode != Mode::Subagent;
    taken.then(|| {
        format!(
            "agent {name} is started by Offshoot itself and by `task`: its `mode` has to be \
             `subagent`; or give this one another name"
        )
    })
}

/// Returns the agent that answers to a name which is not its own.
fn meant_by(alias: &str) -> Option<&'static str> {
    let mut aliases = ALIASES.iter();
    aliases
        .find(|(other, _)| *other == alias)
        .map(|(_, name)| *name)
}
