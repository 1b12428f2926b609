//! The permission chain (R21).
//!
//! A chain of layers, never a merge: inside a layer the most specific rule
//! wins, a layer without a matching rule abstains, and between layers the
//! strictest word holds. Some layers can grant (host, user, session); when all of
//! them abstain, the word is ask. Those of agents and of projects only narrow: a
//! manifest mints no authority (SA-35), so its allow does not lift that ask. A
//! child is never looser than its parent, by construction. Nobody is asked here
//! and nothing is stored; who answers an ask is the inbox's business.
//!
//! `written` is what people write, `compiled` one layer made ready, `chain` all of
//! them; `pattern`, `argv` and `host` are how targets are fitted.

pub mod argv;
mod capability;
mod chain;
pub mod charter;
mod compiled;
mod host;
mod pattern;
pub mod written;

use serde::{Deserialize, Serialize};

use self::pattern::{Pattern, bare, glob_escape, inside};
use crate::id::AgentId;

pub use self::capability::Capability;
pub use self::chain::{Explanation, Permissions, Said};

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
    /// A capability (`fs.read`), a tool id, `mcp:SERVER:TOOL`, or `*`.
    pub permission: String,
    /// Which targets: exact text, a prefix (`/w/src/*` ends in its only star), a glob, or `*`. Of
    /// `shell.run`: words, as in [`argv`]; of `net.fetch`: hosts. As it is written it may have
    /// variables and relative paths: see [`written::expand`].
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

    /// Tells whether it is about a need, as text: a grant is for exactly what was asked.
    fn covers(&self, tool: &str, need: &Need) -> bool {
        let permission = self.permission.as_str();
        let names = permission == "*" || permission == need.capability || permission == tool;
        names && Pattern::of(&self.pattern).fits(&need.target)
    }
}

/// What a call needs: a capability and its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Such as `fs.write`.
    pub capability: String,
    /// Such as an absolute path. Of `shell.run` it is one command, as [`argv::render`] has it.
    pub target: String,
}

impl Need {
    /// The capability of reading a file.
    pub const FS_READ: &str = "fs.read";

    /// The capability of changing a file.
    pub const FS_WRITE: &str = "fs.write";

    /// The capability of running a command.
    pub const SHELL_RUN: &str = "shell.run";

    /// The capability of running what cannot be seen through, such as `sh -c`; its target is the text.
    ///
    /// Only a rule that names it allows it: for an allow of anything else it is an ask.
    pub const SHELL_OPAQUE: &str = "shell.opaque";

    /// The capability of running what was not read at all, because it is too long for instance; its
    /// target is the text. It has no rules of its own: those for [`Self::SHELL_OPAQUE`] are about it,
    /// but of them only one with the pattern `*` allows it.
    pub const SHELL_UNREAD: &str = "shell.unread";

    /// The capability of running a command through another, such as `nohup`; its target is all of it,
    /// the wrapped command too. Rules for [`Self::SHELL_RUN`] that name the wrapper are about it. It
    /// needs no allow of its own: the wrapped command does.
    pub const SHELL_WRAPPER: &str = "shell.wrapper";

    /// The capability of running what is opaque, by its words; its target is one command of it. Rules
    /// about what is opaque are about it. It needs no allow: the text that it stands in does.
    pub const SHELL_WORDS: &str = "shell.words";

    /// The capability of running a command by another name of it, as `npm i` for `npm install`. Rules
    /// for [`Self::SHELL_RUN`] that say which command they mean are about it. It needs no allow.
    pub const SHELL_ALIAS: &str = "shell.alias";

    /// The capability of running a command with its paths as others would write them: absolute, or
    /// from the workspace with `./`. Rules for [`Self::SHELL_RUN`] that name a path there are about
    /// it. It needs no allow.
    pub const SHELL_PATHS: &str = "shell.paths";

    /// The capability of calling a tool that a client of the session carries out; its target is the
    /// name of the tool.
    pub const CLIENT_TOOL: &str = "client_tool";

    /// What a hook wants a person to be asked; its target is why. Rules and grants are never about
    /// it: an answer is for that question of that call only.
    pub const HOOK_ASKS: &str = "hook.asks";

    /// Tells whether it is what a hook wants a person to be asked.
    pub fn is_of_hook(&self) -> bool {
        self.capability == Self::HOOK_ASKS
    }

    /// Says which hook wants a person to be asked, and why: `hook guard asks: sure?`.
    pub fn asked_by_hook(&self) -> Option<String> {
        self.is_of_hook().then(|| hook_asks(&self.target))
    }

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
    /// The `own_permissions` of logs that older versions wrote: a second list, which narrows the agent
    /// and all below it. A chain judges it as a layer of its own; no manifest makes one any more.
    #[serde(rename = "own", default, skip_serializing_if = "Vec::is_empty")]
    pub former_own: Vec<Rule>,
}

/// Whether a layer can give, or only take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It speaks for a person who is here: host, user, session.
    Grants,
    /// It speaks for whoever wrote an agent or a repository.
    #[default]
    Narrows,
}

impl Layer {
    /// Returns the same layer where what it says of a folder is said of another.
    #[must_use]
    pub fn moved(mut self, old: &str, new: &str) -> Self {
        let (old, new) = (glob_escape(old), glob_escape(new));
        for rule in self.rules.iter_mut().chain(&mut self.former_own) {
            let rest = rule.pattern.strip_prefix(&old);
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                rule.pattern = format!("{new}{rest}");
            }
        }
        self
    }

    /// The capability of having another agent go on.
    pub const SWITCH: &str = "agent.switch";

    /// The name of the layer of what the host keeps for itself: see [`Self::off_limits`].
    pub const OFF_LIMITS: &str = "the data folder, which is not for agents";

    /// The layer of an agent: closed when it declares permissions, empty when it does not.
    pub fn of_agent(name: &str, declared: Option<&[Rule]>) -> Self {
        Self {
            name: format!("agent {name}"),
            rules: declared.unwrap_or_default().to_vec(),
            closed: declared.is_some(),
            ..Self::default()
        }
    }

    /// Takes the list out that only logs of older versions have, as a layer of its own.
    fn take_former_own(&mut self) -> Option<Self> {
        let rules = std::mem::take(&mut self.former_own);
        (!rules.is_empty()).then(|| Self {
            name: format!("{}, its former own_permissions", self.name),
            rules,
            ..Self::default()
        })
    }

    /// What holds an agent, and all below it, to reading: whatever else a call needs is denied.
    pub fn read_only(name: &str) -> Self {
        Self {
            name: format!("agent {name}, which is read-only"),
            // Who works next is for a person to say, and changes no file.
            rules: vec![
                Rule::new(Need::FS_READ, "*", Action::Allow),
                Rule::new(Self::SWITCH, "*", Action::Allow),
            ],
            closed: true,
            ..Self::default()
        }
    }

    /// The grant of a session: read inside `root`, read and write in its scratch folder. Nothing is
    /// said of anything else.
    pub fn root_grant(root: &str, scratch: Option<&str>) -> Self {
        let read = |pattern| Rule::new(Need::FS_READ, pattern, Action::Allow);
        // The folder itself as well: that is what looking for files in it asks for.
        let mut rules = vec![read(glob_escape(bare(root))), read(inside(root))];
        if let Some(scratch) = scratch.map(inside) {
            rules.push(read(scratch.clone()));
            rules.push(Rule::new(Need::FS_WRITE, scratch, Action::Allow));
        }
        Self {
            name: "root grant".to_owned(),
            rules,
            closed: false,
            standing: Standing::Grants,
            ..Self::default()
        }
    }

    /// What the host keeps for itself: no file of `folder`, except in the agent's own scratch folder.
    ///
    /// It narrows, so no answer of a person and no grant of a session lifts it.
    pub fn off_limits(folder: &str, scratch: &str) -> Self {
        let mut rules = Vec::new();
        for capability in [Need::FS_READ, Need::FS_WRITE] {
            for (folder, action) in [(folder, Action::Deny), (scratch, Action::Allow)] {
                rules.push(Rule::new(capability, glob_escape(bare(folder)), action));
                rules.push(Rule::new(capability, inside(folder), action));
            }
        }
        Self {
            name: Self::OFF_LIMITS.to_owned(),
            rules,
            closed: false,
            ..Self::default()
        }
    }
}

/// What the chain said, and who decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What was said.
    pub action: Action,
    /// The layer that decided; [`Self::DEFAULT`] when all abstained.
    pub layer: String,
    /// The rule that decided; `None` for a closed layer's implicit deny and for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
}

impl Decision {
    /// The layer that is named where all others abstain.
    pub const DEFAULT: &str = "default";

    /// What stands in the place of a layer where somebody was asked and did not answer in time.
    pub const TOO_LATE: &str = "nobody answered in time";

    /// The layer that is named where nothing is needed and nobody has a rule.
    pub const NEEDS_NOTHING: &str = "needs nothing";

    /// What holds of a call that needs nothing and that nobody has a rule for.
    pub fn needs_nothing() -> Self {
        Self {
            action: Action::Allow,
            layer: Self::NEEDS_NOTHING.to_owned(),
            rule: None,
        }
    }

    /// Says which hook wants a person to be asked, and why, where that is what decided.
    pub fn asked_by_hook(&self) -> Option<String> {
        // No layer asks without a rule.
        let by_hook = self.action == Action::Ask && self.rule.is_none();
        let by_hook = by_hook && self.layer.starts_with("hook ");
        by_hook.then(|| hook_asks(&self.layer))
    }

    /// Returns what holds after answers that were given before, which count only where the chain said
    /// ask (R22).
    #[must_use]
    pub fn or_granted(self, granted: impl FnOnce(Reach) -> Option<Self>) -> Self {
        if self.action != Action::Ask {
            return self;
        }
        granted(self.reach()).unwrap_or(self)
    }

    /// Returns which answers count for an ask.
    pub fn reach(&self) -> Reach {
        match self.rule {
            Some(_) => Reach::Exact,
            None => Reach::Like,
        }
    }
}

/// Which answers count that were given before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Also those to the like: nobody has a rule about it.
    Like,
    /// Those to exactly that: somebody wrote down that they want to be asked about it, and a yes to
    /// something else does not take that back.
    Exact,
}

/// Makes a sentence of `hook guard: sure?`; a hook need not say why.
fn hook_asks(why: &str) -> String {
    let (hook, reason) = why.split_once(": ").unwrap_or((why, ""));
    match reason.trim() {
        "" => format!("{hook} asks"),
        reason => format!("{hook} asks: {reason}"),
    }
}

/// What a person's answer allows from then on (R22).
///
/// Looked at only where the chain said ask, so it never touches a deny. It is made from what was asked
/// or read from the log, and is nothing by itself: what counts are those of a session's tree (EXA-03).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grant {
    /// For this agent and everything below it.
    pub agent: AgentId,
    /// What is allowed.
    pub rules: Vec<Rule>,
    /// What the agent was, where the answer was for that: whoever takes over from it has no part in
    /// it. `None` where it was for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

impl Grant {
    /// Who decided, where an answer was for the session.
    pub const SESSION: &str = "the user, for this session";

    /// Who decided, where an answer was for the agent that asked and those below it.
    pub const AGENT: &str = "the user, for this agent";

    /// Who decided, where an answer was for an agent above, whose name follows.
    pub const ABOVE: &str = "the user, for agent";

    /// What "for this session" means for a need: the same command again, any file of the workspace;
    /// only that file where it was a rule that asked.
    ///
    /// Nobody asks this of what a hook wants asked: see [`Need::HOOK_ASKS`].
    pub fn like(
        agent: AgentId,
        needs: &[Need],
        workspace: &str,
        reach: impl Fn(&Need) -> Reach,
    ) -> Self {
        let root = workspace.trim_end_matches('/');
        let rule = |need: &Need| {
            // Only a file's target is a path. A command may begin like one and do anything.
            let is_path = need.capability.starts_with("fs.") && reach(need) == Reach::Like;
            let below = need.target.strip_prefix(root).filter(|_| is_path);
            let pattern = if below.is_some_and(|rest| rest.starts_with('/')) {
                inside(root)
            } else {
                glob_escape(&need.target)
            };
            Rule::new(need.capability.clone(), pattern, Action::Allow)
        };
        let mut rules: Vec<Rule> = needs.iter().map(rule).collect();
        rules.dedup();
        Self {
            agent,
            rules,
            role: None,
        }
    }

    /// Says that it holds while its agent is this, and for nobody who takes over.
    #[must_use]
    pub fn while_it_is(mut self, role: &str) -> Self {
        self.role = Some(role.to_owned());
        self
    }

    /// Returns the rule that allows a need; the caller looks whether it is for the agent.
    pub fn allows(&self, tool: &str, need: &Need, reach: Reach) -> Option<&Rule> {
        if need.is_of_hook() {
            return None;
        }
        let exact = glob_escape(&need.target);
        let reaches = |rule: &&Rule| reach == Reach::Like || rule.pattern == exact;
        let mut rules = self.rules.iter().filter(reaches);
        rules.find(|rule| rule.covers(tool, need))
    }
}

#[cfg(test)]
mod tests;
