//! What an agent is: its manifest, as data.
//!
//! A manifest declares needs and mints no authority; what an agent may do is
//! the permission chain's business. `mode` gates who may invoke it and nothing
//! else. Where manifests come from (files, scripts, code) is not known here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::permission::Rule;

/// The line that `caller: agent` adds to the prompt, and the only thing it does.
pub const CALLER_LINE: &str = "Your caller is another agent; return structured output.";

/// One agent, as its author described it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What `task` and people call it.
    pub name: String,
    /// Who may invoke it. Has no default on purpose.
    pub mode: Mode,
    /// For pickers and for the catalogue in `task`'s description.
    #[serde(default)]
    pub description: String,
    /// Section 1 of its context.
    #[serde(default)]
    pub prompt: String,
    /// `PROVIDER/NAME`; without it the parent's, or the session's for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature; without it the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Hard cap of one step's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Tool ids it wants; without it, all that its place offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Its permission layer. Declared, it ends in an implicit `* deny`; absent, it adds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<Rule>>,
    /// Whether its runs have session rows of their own.
    #[serde(default)]
    pub inspectable: bool,
    /// Whom it is told it works for.
    #[serde(default)]
    pub caller: Caller,
    /// Most model requests of one run; without it the host's default for spawned runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
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
            temperature: None,
            max_output_tokens: None,
            tools: None,
            permissions: None,
            inspectable: false,
            caller: Caller::default(),
            max_turns: None,
        }
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
pub struct Registry(BTreeMap<String, Arc<Manifest>>);

impl Registry {
    /// Adds a manifest; a later one of the same name replaces the earlier.
    pub fn add(&mut self, manifest: Manifest) {
        self.0.insert(manifest.name.clone(), Arc::new(manifest));
    }

    /// Finds a manifest by name.
    pub fn get(&self, name: &str) -> Option<&Arc<Manifest>> {
        self.0.get(name)
    }

    /// Returns what a person may start, by name.
    pub fn for_users(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.0
            .values()
            .filter(|manifest| manifest.mode.user_may_start())
    }

    /// Returns what `task` may spawn, by name.
    pub fn for_agents(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.0
            .values()
            .filter(|manifest| manifest.mode.agents_may_spawn())
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
