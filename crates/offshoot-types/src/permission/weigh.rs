//! Whether a rule is about a need, and how specific it is.
//!
//! Targets are text, and those of `shell.run` words. What is opaque is allowed by
//! nothing but a rule that names it, whatever else that rule set allows.

use super::argv::{self, Fit};
use super::pattern::{glob, literal};
use super::{Action, Need, Rule};

/// How specific a match is: exact text, then prefix, glob, `*`; longer literal text first.
pub(super) type Weight = (u8, usize, u8);

impl Rule {
    /// Returns what the rule says of a need, if it is about it.
    pub(super) fn says(&self, tool: &str, need: &Need) -> Option<(Fit, Weight, Action)> {
        match need.capability.as_str() {
            Need::SHELL_RUN => {
                let strict = self.action != Action::Allow;
                let fit = argv::fit(&self.pattern, &need.target);
                let by_name = || argv::fit_by_name(&self.pattern, &need.target);
                let fit = fit.or_else(|| by_name().filter(|_| strict))?;
                let pattern = self.pattern.as_str();
                let weight = (
                    self.kind(),
                    literal(pattern.as_bytes()),
                    self.named(tool, need)?,
                );
                Some((fit, weight, self.action))
            }
            Need::SHELL_OPAQUE if self.permission != Need::SHELL_OPAQUE => {
                // Who allows commands has not allowed what nobody can see into.
                let action = self.action.min(Action::Ask);
                if self.permission == Need::SHELL_RUN {
                    let all = self.pattern == "*";
                    return all.then_some((Fit::Surely, (0, 0, 0), action));
                }
                Some((Fit::Surely, self.weight(tool, need)?, action))
            }
            _ => Some((Fit::Surely, self.weight(tool, need)?, self.action)),
        }
    }

    /// Returns how directly the rule names what it is about; `None` if it is about something else.
    fn named(&self, tool: &str, need: &Need) -> Option<u8> {
        match self.permission.as_str() {
            "*" => Some(0),
            name if name == need.capability => Some(1),
            name if name == tool => Some(2),
            _ => None,
        }
    }

    /// Returns what kind of pattern it has: text 3, a beginning 2, a glob 1, everything 0.
    fn kind(&self) -> u8 {
        let pattern = self.pattern.as_str();
        match pattern.find(['*', '?', '\\']) {
            None => 3,
            Some(0) if pattern == "*" => 0,
            Some(at) if at + 1 == pattern.len() && pattern.ends_with('*') => 2,
            Some(_) => 1,
        }
    }

    pub(super) fn weight(&self, tool: &str, need: &Need) -> Option<Weight> {
        let named = self.named(tool, need)?;
        let pattern = self.pattern.as_str();
        let kind = self.kind();
        let (literal, matches) = match kind {
            3 => (pattern.len(), pattern == need.target),
            2 => {
                let beginning = &pattern[..pattern.len() - 1];
                (beginning.len(), need.target.starts_with(beginning))
            }
            1 => (
                literal(pattern.as_bytes()),
                glob(pattern.as_bytes(), need.target.as_bytes()),
            ),
            _ => (0, true),
        };
        matches.then_some((kind, literal, named))
    }
}
