//! What one source says: a file, the environment or the command line.
//!
//! Layers are put over each other, and what the upper one says wins. Nothing is
//! judged here beyond which values there are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;
use offshoot_types::permission::Rule as Permission;
use offshoot_types::tier::Tier;

use super::compaction::Rule;
use super::hook::Hook;
use super::limit::Limit;
use super::providers::ProviderLayer;
use super::source::Sourced;

/// When output has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    // Without doc comments, which would be half of every help page.
    Auto,
    Always,
    Never,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// What one source says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Layer {
    pub(crate) model: Option<Sourced<String>>,
    pub(crate) child_model: Option<Sourced<String>>,
    /// What tiers are mapped to.
    pub(crate) tiers: BTreeMap<Tier, Sourced<String>>,
    pub(crate) agent: Option<Sourced<String>>,
    pub(crate) data_dir: Option<Sourced<PathBuf>>,
    pub(crate) color: Option<Sourced<Color>>,
    pub(crate) log_level: Option<Sourced<Level>>,
    pub(crate) log_file: Option<Sourced<PathBuf>>,
    /// Each in the unit of its limit.
    pub(crate) limits: BTreeMap<Limit, Sourced<u64>>,
    /// The servers of models, by name.
    pub(crate) providers: BTreeMap<String, ProviderLayer>,
    /// Each a whole number, or 0 and 1.
    pub(crate) compaction: BTreeMap<Rule, Sourced<u64>>,
    /// Folders whose repositories the user trusts.
    pub(crate) trusted_projects: Vec<Sourced<PathBuf>>,
    /// Whether the one of the folder to work in is trusted for this call.
    pub(crate) trust_project: bool,
    /// What agents may do, as the user says.
    pub(crate) user_rules: Vec<Sourced<Permission>>,
    /// What they may not, as the project says.
    pub(crate) project_rules: Vec<Sourced<Permission>>,
    /// What is odd about the rules and stands in nobody's way.
    pub(crate) warnings: Vec<String>,
    /// In the order they are called.
    pub(crate) hooks: Vec<Hook>,
}

impl Layer {
    /// Puts this layer over another.
    pub(crate) fn over(self, below: Self) -> Self {
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
