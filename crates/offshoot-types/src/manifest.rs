//! What an agent is: its manifest, as data.
//!
//! A manifest declares needs and mints no authority; what an agent may do is
//! the permission chain's business. `mode` gates who may invoke it and nothing
//! else. Where manifests come from (files, scripts, code) is not known here.

mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::caps::Caps;
use crate::json::RawJson;
use crate::permission::written::{self as rules, Fault, Variables};
use crate::permission::{Layer, Rule};

use self::written::Written;

/// The line that `caller: agent` adds to the prompt, and the only thing it does.
pub const CALLER_LINE: &str = "Your caller is another agent; return structured output.";

/// A key that older versions had: a manifest with it is refused, and no list of keys suggests it.
pub const REMOVED_KEY: &str = "own_permissions";

/// One agent, as its author described it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Manifest {
    /// What `task` and people call it.
    pub name: String,
    /// Who may invoke it. Has no default on purpose.
    pub mode: Mode,
    /// For pickers and for the catalogue in `task`'s description.
    pub description: String,
    /// Section 1 of its context.
    pub prompt: String,
    /// `PROVIDER/NAME` or the name of a tier; without it the default for children, else the parent's,
    /// or the session's for a root.
    pub model: Option<String>,
    /// How hard the model is to think; without it the provider's default.
    pub effort: Option<Effort>,
    /// Sampling temperature; without it the provider's default.
    pub temperature: Option<f64>,
    /// Hard cap of one step's output.
    pub max_output_tokens: Option<u32>,
    /// Which of the tools that its place offers it wants.
    pub tools: Toolset,
    /// Its permission layer. Declared, it ends in an implicit `* deny`; absent, it adds nothing.
    pub permissions: Option<Vec<Rule>>,
    /// Whether its runs have session rows of their own.
    pub inspectable: bool,
    /// Whom it is told it works for.
    pub caller: Caller,
    /// Whether every call of its runs, and of all below them, is held to reading.
    pub read_only: bool,
    /// What of its parent's conversation it sees.
    pub context: Context,
    /// Which agents it may spawn; without it all that agents may.
    pub spawns: Option<Vec<String>>,
    /// What its runs may use.
    pub limits: Caps,
    /// JSON Schema of its answer; the answer is then a value and not prose.
    pub output_schema: Option<RawJson>,
    /// Whether its prompt has the project's instructions; see `shows_project_instructions`.
    pub project_instructions: Option<bool>,
    /// Whether its prompt has the state of git; see `shows_git_status`.
    pub git_status: Option<bool>,
}

impl Manifest {
    /// A manifest with a name, a mode and a prompt, all else at its default.
    pub fn new(name: impl Into<String>, mode: Mode, prompt: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            mode,
            description: String::new(),
            prompt: prompt.into(),
            model: None,
            effort: None,
            temperature: None,
            max_output_tokens: None,
            tools: Toolset::default(),
            permissions: None,
            inspectable: false,
            caller: Caller::default(),
            read_only: false,
            context: Context::default(),
            spawns: None,
            limits: Caps::default(),
            output_schema: None,
            project_instructions: None,
            git_status: None,
        }
    }

    /// Tells whether its prompt has the project's instructions: unless it says so itself, those of
    /// read-only agents leave them out (PD-18).
    pub fn shows_project_instructions(&self) -> bool {
        self.project_instructions.unwrap_or(!self.read_only)
    }

    /// Tells whether its prompt has the state of git, by the same rule.
    pub fn shows_git_status(&self) -> bool {
        self.git_status.unwrap_or(!self.read_only)
    }

    /// Returns its layer of the permission chain, with folders in the place of variables.
    pub fn layer(&self, variables: &Variables<'_>) -> Layer {
        let declared = self.permissions.as_deref();
        let declared = declared.map(|declared| rules::expand(declared, variables));
        Layer::of_agent(&self.name, declared.as_deref())
    }

    /// Finds the first of its rules that cannot mean what its author thinks; `tools` are those there
    /// are.
    pub fn check_rules(&self, tools: &[&str]) -> Result<(), WrongRule> {
        for (index, rule) in self.permissions.iter().flatten().enumerate() {
            rules::check(rule, tools).map_err(|fault| WrongRule { index, fault })?;
        }
        Ok(())
    }

    /// Tells whether it may spawn an agent of a name, as far as it has a say.
    pub fn may_spawn(&self, name: &str) -> bool {
        let spawns = self.spawns.as_ref();
        spawns.is_none_or(|spawns| spawns.iter().any(|allowed| allowed == name))
    }
}

/// A rule of a manifest that cannot mean what its author thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongRule {
    /// Which one of `permissions` it is.
    pub index: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for WrongRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nth = self.index + 1;
        write!(f, "rule {nth} of `permissions`: {}", self.fault)
    }
}

/// Which of the tools that a place offers an agent wants. A name may end in `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Toolset {
    /// These and no others; without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// And not these, whatever `allow` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl Toolset {
    /// These and no others.
    pub fn only<const N: usize>(names: [&str; N]) -> Self {
        Self {
            allow: Some(names.map(str::to_owned).to_vec()),
            deny: Vec::new(),
        }
    }

    /// Tells whether a tool is among them.
    pub fn has(&self, id: &str) -> bool {
        let allowed = self.allow.as_deref();
        allowed.is_none_or(|names| names_any(names, id)) && !names_any(&self.deny, id)
    }

    /// Tells whether a tool is asked for by its name, and not merely not refused.
    pub fn names(&self, id: &str) -> bool {
        self.has(id) && self.allow.iter().flatten().any(|name| name == id)
    }

    /// Returns the names, of either list, that fit none of the tools there are.
    pub fn unknown<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let names = self.allow.iter().flatten().chain(&self.deny);
        let names = names.map(String::as_str);
        names.filter(|name| !known.iter().any(|id| is_named(name, id)))
    }

    /// Returns the names that were asked for and are not among what there is.
    pub fn missing<'a>(&'a self, offered: &'a [String]) -> impl Iterator<Item = &'a String> {
        let is_there = |name: &str| offered.iter().any(|id| is_named(name, id));
        let wanted = self.allow.iter().flatten();
        wanted.filter(move |name| !is_there(name) && !names_any(&self.deny, name))
    }
}

fn names_any(names: &[String], id: &str) -> bool {
    names.iter().any(|name| is_named(name, id))
}

/// Tells whether a name, which may end in `*`, is that of a tool.
fn is_named(name: &str, id: &str) -> bool {
    match name.strip_suffix('*') {
        Some(head) => id.starts_with(head),
        None => name == id,
    }
}

/// How hard a model is to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// What of its parent's conversation an agent sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Context {
    /// Nothing: its own prompt and what it is asked.
    #[default]
    Fresh,
    /// The parent's last message, with what it was told itself.
    Fork,
    /// The parent's whole request, unchanged.
    Inherit,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fresh => "fresh",
            Self::Fork => "fork",
            Self::Inherit => "inherit",
        })
    }
}

/// Who may invoke an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// People only.
    Primary,
    /// Agents only, through `task`.
    Subagent,
    /// Both.
    All,
}

impl Mode {
    /// Tells whether a person may start a session with it.
    pub fn user_may_start(self) -> bool {
        matches!(self, Self::Primary | Self::All)
    }

    /// Tells whether `task` may spawn it.
    pub fn agents_may_spawn(self) -> bool {
        matches!(self, Self::Subagent | Self::All)
    }
}

/// Whom an agent is told it works for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Caller {
    /// It is not told.
    #[default]
    User,
    /// One line says that its caller is an agent.
    Agent,
}

/// The agents of one workspace, by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    agents: BTreeMap<String, Arc<Manifest>>,
    /// Other names that an agent answers to.
    aliases: BTreeMap<String, String>,
    /// Agents that the engine starts itself; no list has them.
    helpers: BTreeSet<String>,
}

impl Registry {
    /// Adds a manifest; a later one of the same name replaces the earlier.
    pub fn add(&mut self, manifest: Manifest) {
        self.agents
            .insert(manifest.name.clone(), Arc::new(manifest));
    }

    /// Lets an agent answer to another name, as long as no agent has that name itself.
    pub fn add_alias(&mut self, alias: impl Into<String>, name: impl Into<String>) {
        self.aliases.insert(alias.into(), name.into());
    }

    /// Finds a manifest by name, or by another name it answers to.
    pub fn get(&self, name: &str) -> Option<&Arc<Manifest>> {
        let other = || self.agents.get(self.aliases.get(name)?);
        self.agents.get(name).or_else(other)
    }

    /// Returns every name that an agent answers to, its own first.
    pub fn names_of<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let others = self.aliases.iter();
        let others =
            others.filter(|(alias, own)| *own == name && !self.agents.contains_key(*alias));
        let others = others.map(|(alias, _)| alias.as_str());
        std::iter::once(name).chain(others).collect()
    }

    /// Leaves an agent out of the lists that people and models choose from, because the engine starts
    /// it itself. `task` starts it all the same where a call names it (SA-44).
    pub fn hide(&mut self, name: impl Into<String>) {
        self.helpers.insert(name.into());
    }

    /// Tells whether an agent is one that the engine starts itself.
    pub fn is_hidden(&self, name: &str) -> bool {
        self.helpers.contains(name)
    }

    /// Returns all, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.agents.values()
    }

    /// Returns what a person may start, by name.
    pub fn for_users(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.all().filter(|manifest| manifest.mode.user_may_start())
    }

    /// Returns what `task` may spawn and advertises, by name.
    pub fn for_agents(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.all().filter(|manifest| {
            manifest.mode.agents_may_spawn() && !self.helpers.contains(&manifest.name)
        })
    }
}

impl Extend<Manifest> for Registry {
    fn extend<T: IntoIterator<Item = Manifest>>(&mut self, manifests: T) {
        for manifest in manifests {
            self.add(manifest);
        }
    }
}

/// Joins names for a person: `build, general, plan`.
pub fn names<'a>(manifests: impl Iterator<Item = &'a Arc<Manifest>>) -> String {
    manifests
        .map(|manifest| manifest.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "primary",
            Self::Subagent => "subagent",
            Self::All => "all",
        })
    }
}
