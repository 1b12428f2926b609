//! The permission chain (R21).
//!
//! A chain of layers, never a merge: inside a layer the most specific rule
//! wins, a layer without a matching rule abstains, and between layers the
//! strictest word holds. Layers that grant (host, project, user, session) come
//! first; when all of them abstain, the word is ask. Layers of agents come
//! after and only narrow: a manifest mints no authority (SA-35), so its allow
//! does not lift that ask. A child is never looser than its parent, by
//! construction. Nobody is asked here and nothing is stored; who answers an ask
//! is the inbox's business.

pub mod argv;
mod pattern;
mod weigh;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::argv::Fit;
use self::pattern::{bare, glob_escape, inside};
use self::weigh::Weight;
use crate::id::AgentId;

/// What a decision says. Ordered from the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// No.
    Deny,
    /// Somebody has to say.
    Ask,
    /// Yes.
    Allow,
}

/// One rule: what it is about, where it holds, what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A capability (`fs.read`), a tool id, or `*`.
    pub permission: String,
    /// Which targets: exact text, a prefix (`/w/src/*` ends in its only star), a glob, or `*`. Paths
    /// are absolute. Of `shell.run`: words, as in [`argv`].
    #[serde(default = "any")]
    pub pattern: String,
    /// What it says.
    pub action: Action,
}

fn any() -> String {
    "*".to_owned()
}

impl Rule {
    /// A rule from its three parts.
    pub fn new(permission: impl Into<String>, pattern: impl Into<String>, action: Action) -> Self {
        Self {
            permission: permission.into(),
            pattern: pattern.into(),
            action,
        }
    }
}

/// What somebody wants to do: a capability, the tool that wants it, and the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Such as `fs.write`.
    pub capability: String,
    /// Such as an absolute path. Of `shell.run` it is one command, as [`argv::render`] has it.
    pub target: String,
}

impl Need {
    /// The capability of running a command.
    pub const SHELL_RUN: &str = "shell.run";

    /// The capability of running what cannot be seen through, such as `sh -c`; its target is the text.
    ///
    /// Only a rule that names it allows it: for an allow of anything else it is an ask.
    pub const SHELL_OPAQUE: &str = "shell.opaque";

    /// A need from its two parts.
    pub fn new(capability: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            capability: capability.into(),
            target: target.into(),
        }
    }
}

/// One layer of the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Who put it there, for people: `root grant`, `agent explore`.
    pub name: String,
    /// Its rules, in the author's order.
    pub rules: Vec<Rule>,
    /// Whether what no rule names is denied, rather than left to other layers.
    pub closed: bool,
    /// Whether its allow counts for anything.
    pub standing: Standing,
}

/// Whether a layer can give, or only take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It speaks for a person: host, project, user, session.
    Grants,
    /// It speaks for an agent's author.
    #[default]
    Narrows,
}

impl Layer {
    /// The capability of having another agent go on.
    pub const SWITCH: &str = "agent.switch";

    /// The layer of an agent: closed when it declares permissions, empty when it does not.
    pub fn of_agent(name: &str, declared: Option<&[Rule]>) -> Self {
        Self {
            name: format!("agent {name}"),
            rules: declared.unwrap_or_default().to_vec(),
            closed: declared.is_some(),
            standing: Standing::Narrows,
        }
    }

    /// What holds an agent, and all below it, to reading: whatever else a call needs is denied.
    pub fn read_only(name: &str) -> Self {
        Self {
            name: format!("agent {name}, which is read-only"),
            // Who works next is for a person to say, and changes no file.
            rules: vec![
                Rule::new("fs.read", "*", Action::Allow),
                Rule::new(Self::SWITCH, "*", Action::Allow),
            ],
            closed: true,
            standing: Standing::Narrows,
        }
    }

    /// The grant of a session: read inside `root`, read and write in its scratch folder. Nothing is
    /// said of anything else.
    pub fn root_grant(root: &str, scratch: Option<&str>) -> Self {
        let read = |pattern| Rule::new("fs.read", pattern, Action::Allow);
        // The folder itself as well: that is what looking for files in it asks for.
        let mut rules = vec![read(glob_escape(bare(root))), read(inside(root))];
        if let Some(scratch) = scratch.map(inside) {
            rules.push(read(scratch.clone()));
            rules.push(Rule::new("fs.write", scratch, Action::Allow));
        }
        Self {
            name: "root grant".to_owned(),
            rules,
            closed: false,
            standing: Standing::Grants,
        }
    }

    /// What the host keeps for itself: no file of `folder`, except in the agent's own scratch folder.
    ///
    /// It narrows, so no answer of a person and no grant of a session lifts it.
    pub fn off_limits(folder: &str, scratch: &str) -> Self {
        let mut rules = Vec::new();
        for capability in ["fs.read", "fs.write"] {
            for (folder, action) in [(folder, Action::Deny), (scratch, Action::Allow)] {
                rules.push(Rule::new(capability, glob_escape(bare(folder)), action));
                rules.push(Rule::new(capability, inside(folder), action));
            }
        }
        Self {
            name: "the data folder, which is not for agents".to_owned(),
            rules,
            closed: false,
            standing: Standing::Narrows,
        }
    }

    fn decide(&self, tool: &str, need: &Need) -> Option<Decision> {
        let mut best: Option<(Weight, Action, &Rule)> = None;
        let mut doubt: Option<&Rule> = None;
        for rule in &self.rules {
            match rule.says(tool, need) {
                Some((Fit::Surely, weight, action)) => {
                    // The most specific rule; on a tie the strictest, for which `Deny` sorts first.
                    let wins = |(so_far, said, _): &(Weight, Action, &Rule)| {
                        weight.cmp(so_far).then(said.cmp(&action)).is_ge()
                    };
                    if best.as_ref().is_none_or(wins) {
                        best = Some((weight, action, rule));
                    }
                }
                Some((Fit::Maybe, _, Action::Deny | Action::Ask)) => doubt = Some(rule),
                Some((Fit::Maybe, _, Action::Allow)) | None => {}
            }
        }
        let (action, rule) = match (best, doubt) {
            // What may be forbidden is not allowed without a word.
            (Some((_, Action::Allow, _)), Some(rule)) => (Action::Ask, Some(rule)),
            (Some((_, action, rule)), _) => (action, Some(rule)),
            (None, _) if self.closed => (Action::Deny, None),
            (None, doubt) => (Action::Ask, Some(doubt?)),
        };
        Some(Decision {
            action,
            layer: self.name.clone(),
            rule: rule.cloned(),
        })
    }
}

/// What the chain said, and who decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What was said.
    pub action: Action,
    /// The layer that decided; `default` when all abstained.
    pub layer: String,
    /// The rule that decided; `None` for a closed layer's implicit deny and for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
}

/// What a person's answer allows from then on (R22).
///
/// Looked at only where the chain said ask, so it never touches a deny.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// For this agent and everything below it.
    pub agent: AgentId,
    /// What is allowed.
    pub rules: Vec<Rule>,
}

impl Grant {
    /// What "for this session" means for a need: the same command again, any file of the workspace.
    pub fn like(agent: AgentId, needs: &[Need], workspace: &str) -> Self {
        let root = workspace.trim_end_matches('/');
        let rule = |need: &Need| {
            // Only a file's target is a path. A command may begin like one and do anything.
            let is_path = need.capability.starts_with("fs.");
            let below = need.target.strip_prefix(root).filter(|_| is_path);
            let pattern = match below.is_some_and(|rest| rest.starts_with('/')) {
                true => inside(root),
                false => glob_escape(&need.target),
            };
            Rule::new(need.capability.clone(), pattern, Action::Allow)
        };
        let mut rules: Vec<Rule> = needs.iter().map(rule).collect();
        rules.dedup();
        Self { agent, rules }
    }

    /// Returns the rule that allows a need; the caller looks whether it is for the agent.
    pub fn allows(&self, tool: &str, need: &Need) -> Option<&Rule> {
        self.rules
            .iter()
            .find(|rule| rule.weight(tool, need).is_some())
    }
}

/// The chain of one agent, from the host down to itself.
#[derive(Clone, Debug, Default)]
pub struct Permissions(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    layer: Layer,
    above: Permissions,
}

impl Permissions {
    /// The chain without any layer: everything asks.
    pub fn empty() -> Self {
        Self(None)
    }

    /// Tells whether two are the same chain, and not merely alike.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Returns this chain with one layer more. The only way to make a chain.
    #[must_use]
    pub fn narrow(&self, layer: Layer) -> Self {
        Self(Some(Arc::new(Link {
            layer,
            above: self.clone(),
        })))
    }

    /// Decides one need: the strictest word of all layers that have one.
    ///
    /// On a tie the outermost layer is named: it is the one to change.
    pub fn decide(&self, tool: &str, need: &Need) -> Decision {
        let mut granted: Option<Decision> = None;
        let mut narrowed: Option<Decision> = None;
        let mut link = self.0.as_deref();
        while let Some(Link { layer, above }) = link {
            let so_far = match layer.standing {
                Standing::Grants => &mut granted,
                Standing::Narrows => &mut narrowed,
            };
            if let Some(decision) = layer.decide(tool, need)
                && so_far
                    .as_ref()
                    .is_none_or(|stricter| decision.action <= stricter.action)
            {
                *so_far = Some(decision);
            }
            link = above.0.as_deref();
        }
        let granted = granted.unwrap_or_else(|| Decision {
            action: Action::Ask,
            layer: "default".to_owned(),
            rule: None,
        });
        match narrowed {
            Some(narrowed) if narrowed.action < granted.action => narrowed,
            Some(_) | None => granted,
        }
    }
}

#[cfg(test)]
mod tests;
