//! What the user and projects say of permissions, for the runtime.
//!
//! The user's rules were read with the settings. Those of a project are read
//! whenever a session in it is taken up, whichever folder that is: what holds is
//! what its file says now. They only narrow. A file that cannot be read denies
//! everything, because nobody knows what it would have forbidden.

use std::path::{Path, PathBuf};

use offshoot_agents::Catalogue;
use offshoot_engine::is_about_an_agent;
use offshoot_types::permission::charter::Charter;
use offshoot_types::permission::written::{Variables, expand};
use offshoot_types::permission::{Action, Layer, Rule, Standing};
use offshoot_types::suggest;

use crate::config::{Search, Settings, Source, Sourced};
use crate::error::HostError;

/// The layer of the user's rules.
pub const USER: &str = "the user's rules";

/// The layer of the project's rules.
pub const PROJECT: &str = "the project's rules";

/// The layer of what holds agents, and is not for them to change.
pub const HAND: &str = "what people keep by hand";

/// The files that say what agents may do in a folder or in one below it, which somebody may work in
/// next, and what is called about it; and those of git, which runs what its settings and hooks name, in
/// whatever folder a repository lies.
const BY_HAND: [&str; 6] = [
    "{workspace}/**/offshoot.toml",
    "{workspace}/**/.mcp.json",
    "{workspace}/**/.offshoot",
    "{workspace}/**/.offshoot/**",
    "{workspace}/**/.git",
    "{workspace}/**/.git/**",
];

/// Most warnings that are told before a run and by `doctor`; `permissions list` tells all.
const MOST_WARNINGS: usize = 10;

/// What the user and projects say of permissions.
#[derive(Clone, Debug)]
pub struct Rules {
    user: Vec<Sourced<Rule>>,
    search: Search,
    /// Where the user's agents are.
    agents: Option<PathBuf>,
    /// The rules of the one project that these are for; without them each project's file is read.
    project: Option<Vec<Sourced<Rule>>>,
}

impl Rules {
    pub fn of(settings: &Settings) -> Self {
        Self {
            user: settings.user_rules.clone(),
            search: settings.search.clone(),
            agents: settings.agents_dir.clone(),
            project: None,
        }
    }

    /// Returns the rules of the folder for which the settings were read, as they were read.
    pub(crate) fn as_read(settings: &Settings) -> Self {
        Self {
            project: Some(settings.project_rules.clone()),
            ..Self::of(settings)
        }
    }

    /// Returns the rules of the project that a folder belongs to.
    fn project(&self, workspace: &str) -> Result<Vec<Sourced<Rule>>, HostError> {
        match &self.project {
            Some(rules) => Ok(rules.clone()),
            None => self.search.project_rules(Path::new(workspace)),
        }
    }

    /// Returns the rules of a layer as they hold in a folder, each with its place in a file.
    pub fn placed(&self, layer: &str, workspace: &str) -> Vec<(Rule, Source)> {
        let project = || self.project(workspace);
        let written = match layer {
            USER => self.user.clone(),
            PROJECT => project().unwrap_or_default(),
            _ => Vec::new(),
        };
        let variables = self.variables(workspace);
        let mut placed = Vec::new();
        for Sourced { value, source } in written {
            let rules = expand(&[value], &variables);
            placed.extend(rules.into_iter().map(|rule| (rule, source.clone())));
        }
        placed
    }

    fn variables<'a>(&'a self, workspace: &'a str) -> Variables<'a> {
        Variables {
            workspace,
            scratch: None,
            home: self.search.home(),
        }
    }

    /// Returns the layer that has a person asked before an agent changes what holds agents: else one that
    /// may write could write itself free. What the user allows by its whole path is excepted.
    fn kept_by_hand(&self, workspace: &str) -> Layer {
        let ask = |pattern: &str| Rule::new("fs.write", pattern, Action::Ask);
        let mut rules = BY_HAND.map(ask).to_vec();
        let files = self.search.files(Path::new(workspace)).into_iter();
        let files = files.filter_map(|path| path.into_os_string().into_string().ok());
        rules.extend(files.map(|path| ask(&escaped(&path))));
        if let Some(agents) = self.agents.as_deref().and_then(Path::to_str) {
            let agents = escaped(agents);
            rules.extend([ask(&agents), ask(&format!("{agents}/**"))]);
        }
        let mut rules = expand(&rules, &self.variables(workspace));
        let user: Vec<Rule> = self.user.iter().map(|rule| rule.value.clone()).collect();
        for rule in expand(&user, &self.variables(workspace)) {
            let is_whole = !rule.pattern.contains(['*', '?']);
            if rule.permission == "fs.write" && rule.action == Action::Allow && is_whole {
                rules.retain(|ask| ask.pattern != rule.pattern);
                rules.push(rule);
            }
        }
        Layer {
            name: HAND.to_owned(),
            rules,
            ..Layer::default()
        }
    }

    fn layer(
        &self,
        name: &str,
        standing: Standing,
        rules: &[Sourced<Rule>],
        workspace: &str,
    ) -> Layer {
        let rules: Vec<Rule> = rules.iter().map(|rule| rule.value.clone()).collect();
        Layer {
            name: name.to_owned(),
            rules: expand(&rules, &self.variables(workspace)),
            standing,
            ..Layer::default()
        }
    }
}

/// Returns a path as a pattern that fits it and nothing else.
fn escaped(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for character in path.chars() {
        if "\\*?{}[]".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

impl Charter for Rules {
    fn layers(&self, workspace: &str) -> Vec<Layer> {
        let mut layers = Vec::new();
        match self.project(workspace) {
            Ok(rules) if rules.is_empty() => {}
            Ok(rules) => layers.push(self.layer(PROJECT, Standing::Narrows, &rules, workspace)),
            Err(stop) => {
                tracing::warn!(workspace, "{stop}");
                layers.push(Layer {
                    name: format!("{PROJECT}, which cannot be read: {stop}"),
                    closed: true,
                    ..Layer::default()
                });
            }
        }
        if !self.user.is_empty() {
            layers.push(self.layer(USER, Standing::Grants, &self.user, workspace));
        }
        layers.push(self.kept_by_hand(workspace));
        layers
    }

    fn home(&self) -> Option<&str> {
        self.search.home()
    }
}

/// Returns a warning for each rule that names an agent that is not there.
///
/// The user's rules hold in every folder, and an agent may be there in another: of those only one that
/// looks misspelt is mentioned.
pub fn strangers(settings: &Settings, workspace: &str, agents: &Catalogue) -> Vec<String> {
    // A file that cannot be read is told of elsewhere.
    let project = settings.search.project_rules(Path::new(workspace));
    let project = project.unwrap_or_default();
    let is_there = |name: &str| {
        agents.get(name).is_some()
            || agents.fault(name).is_some()
            || agents.untrusted(name).is_some()
    };
    let mut warnings = Vec::new();
    let users = settings.user_rules.iter().map(|rule| (rule, false));
    for (rule, local) in users.chain(project.iter().map(|rule| (rule, true))) {
        let Sourced { value, source } = rule;
        let name = value.pattern.as_str();
        let is_pattern = name.contains(['*', '?', '\\', '{']);
        if !is_about_an_agent(&value.permission) || is_pattern || is_there(name) {
            continue;
        }
        let known = agents.all().map(|agent| agent.manifest.name.as_str());
        let way = match suggest::nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if local => "see \"offshoot agents list\"".to_owned(),
            None => continue,
        };
        let shown = name.escape_debug();
        warnings.push(format!(
            "the rule in {source} is about agent `{shown}`, and there is none; {way}"
        ));
    }
    warnings
}

/// Returns as many warnings as people read, and how many more there are.
pub fn few(warnings: &[String]) -> Vec<String> {
    let mut told: Vec<String> = warnings.iter().take(MOST_WARNINGS).cloned().collect();
    if let Some(more @ 1..) = warnings.len().checked_sub(MOST_WARNINGS) {
        told.push(format!("{more} more; see \"offshoot permissions list\""));
    }
    told
}

/// Returns a rule in one line.
pub fn shown(rule: &Rule) -> String {
    let action = word(rule.action);
    format!("{action} {} {}", rule.permission, rule.pattern)
}

/// Returns the word of an action.
pub fn word(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}
