//! What one source says: a file, the environment or the command line.
//!
//! Layers are put over each other, and what the upper one says wins. Nothing is
//! judged here beyond which values there are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use offshoot_types::permission::Rule as Permission;
use offshoot_types::tier::Tier;

use super::compaction::Rule;
use super::hook::Hook;
use super::limit::Limit;
use super::providers::ProviderLayer;
use super::source::Sourced;
use super::word::Word;

/// When output has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Word for Color {
    const ALL: &'static [Self] = &[Self::Auto, Self::Always, Self::Never];

    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Word for Level {
    const ALL: &'static [Self] = &[
        Self::Off,
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// What one source says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    pub model: Option<Sourced<String>>,
    pub child_model: Option<Sourced<String>>,
    /// What tiers are mapped to.
    pub tiers: BTreeMap<Tier, Sourced<String>>,
    pub agent: Option<Sourced<String>>,
    pub data_dir: Option<Sourced<PathBuf>>,
    pub color: Option<Sourced<Color>>,
    pub log_level: Option<Sourced<Level>>,
    pub log_file: Option<Sourced<PathBuf>>,
    /// Each in the unit of its limit.
    pub limits: BTreeMap<Limit, Sourced<u64>>,
    /// The servers of models, by name.
    pub providers: BTreeMap<String, ProviderLayer>,
    /// Each a whole number, or 0 and 1.
    pub compaction: BTreeMap<Rule, Sourced<u64>>,
    /// Folders whose repositories the user trusts.
    pub trusted_projects: Vec<Sourced<PathBuf>>,
    /// Whether the one of the folder to work in is trusted for this call.
    pub trust_project: bool,
    /// What agents may do, as the user says.
    pub user_rules: Vec<Sourced<Permission>>,
    /// What they may not, as the project says.
    pub project_rules: Vec<Sourced<Permission>>,
    /// What is odd about the rules and stands in nobody's way.
    pub warnings: Vec<String>,
    /// In the order they are called.
    pub hooks: Vec<Hook>,
}

impl Layer {
    /// Puts this layer over another.
    pub fn over(self, below: Self) -> Self {
        let mut limits = below.limits;
        limits.extend(self.limits);
        let mut providers = below.providers;
        for (name, provider) in self.providers {
            let own = providers.remove(&name).unwrap_or_default();
            providers.insert(name, provider.over(own));
        }
        let mut tiers = below.tiers;
        tiers.extend(self.tiers);
        let mut compaction = below.compaction;
        compaction.extend(self.compaction);
        let mut trusted_projects = below.trusted_projects;
        trusted_projects.extend(self.trusted_projects);
        let (mut user_rules, mut project_rules) = (below.user_rules, below.project_rules);
        user_rules.extend(self.user_rules);
        project_rules.extend(self.project_rules);
        let mut warnings = below.warnings;
        warnings.extend(self.warnings);
        let mut hooks = below.hooks;
        hooks.extend(self.hooks);
        Self {
            model: self.model.or(below.model),
            child_model: self.child_model.or(below.child_model),
            tiers,
            agent: self.agent.or(below.agent),
            data_dir: self.data_dir.or(below.data_dir),
            color: self.color.or(below.color),
            log_level: self.log_level.or(below.log_level),
            log_file: self.log_file.or(below.log_file),
            limits,
            providers,
            compaction,
            trusted_projects,
            trust_project: self.trust_project || below.trust_project,
            user_rules,
            project_rules,
            warnings,
            hooks,
        }
    }
}
