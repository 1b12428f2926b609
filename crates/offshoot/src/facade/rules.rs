//! What the program that embeds us says of permissions.
//!
//! One layer above all agents, and what children may have of what is personal.
//! Which capabilities there are is the program's business: its tools may need ones
//! of their own. Patterns are judged when the runtime is built.

use offshoot_types::manifest::Manifest;
use offshoot_types::permission::charter::Charter;
use offshoot_types::permission::written::{Part, Variables, check, expand};
use offshoot_types::permission::{Layer, Rule, Standing};

use super::error::Error;

/// What the program says of permissions.
#[derive(Clone, Debug, Default)]
pub(super) struct HostRules {
    pub(super) rules: Vec<Rule>,
    pub(super) delegable: Vec<Rule>,
    /// The home folder, as patterns name it; `None` if the program has not said.
    pub(super) home: Option<String>,
}

impl HostRules {
    /// Fails if a rule, of the program or of one of its agents, could not mean what it says.
    pub(super) fn check(&self, agents: &[Manifest]) -> Result<(), Error> {
        for rule in self.rules.iter().chain(&self.delegable) {
            judge(rule, "add a rule")?;
        }
        for agent in agents {
            let adding = format!("add agent {}", agent.name);
            let mut rules = agent.permissions.iter().flatten();
            rules.try_for_each(|rule| judge(rule, &adding))?;
        }
        Ok(())
    }
}

fn judge(rule: &Rule, adding: &str) -> Result<(), Error> {
    match check(rule, &[rule.permission.as_str()]) {
        Err(fault) if fault.part == Part::Pattern => {
            let Rule {
                permission,
                pattern,
                ..
            } = rule;
            let why = format!("{adding}: the rule for {permission} {pattern:?}: {fault}");
            Err(Error::Invalid(why))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Charter for HostRules {
    fn layers(&self, workspace: &str) -> Vec<Layer> {
        let variables = Variables {
            workspace,
            home: self.home(),
            ..Variables::default()
        };
        if self.rules.is_empty() {
            return Vec::new();
        }
        vec![Layer {
            name: "the host's rules".to_owned(),
            rules: expand(&self.rules, &variables),
            standing: Standing::Grants,
            ..Layer::default()
        }]
    }

    fn delegable(&self) -> Vec<Rule> {
        self.delegable.clone()
    }

    fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }
}
