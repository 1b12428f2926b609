//! The rules of a file: what agents may do.
//!
//! Read and judged one by one, so that what is wrong is told with its line and
//! column. A project's rules come with a repository that somebody else may have
//! written: they only narrow, whatever they say, and one that would widen is told.

use offshoot_types::permission::written::{Part, check, contradictions, idle_allows, overshadowed};
use offshoot_types::permission::{Action, Rule};
use offshoot_types::suggest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Owner, Reading, entries};
use crate::assemble;
use crate::config::source::{Source, Sourced};
use crate::error::HostError;

/// What a rule is made of.
const PARTS: [&str; 3] = ["permission", "pattern", "action"];

/// What a rule can say.
const ACTIONS: [(&str, Action); 3] = [
    ("allow", Action::Allow),
    ("ask", Action::Ask),
    ("deny", Action::Deny),
];

/// A variable that means something only where an agent is.
const SCRATCH: &str = "{scratch}";

impl Reading<'_> {
    /// Reads all rules, and notes what is odd about them.
    pub(super) fn permissions(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), HostError> {
        let DeValue::Array(rules) = value.get_ref() else {
            return Err(self.mistyped("permissions", "rules, each under [[permissions]]", value));
        };
        let tools = assemble::tools();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let mut read: Vec<Sourced<Rule>> = Vec::new();
        // Counted on and not anew: there may be thousands.
        let (mut line, mut counted) = (1, 0);
        for rule in rules.iter() {
            let Some(table) = rule.get_ref().as_table() else {
                return Err(self.mistyped("permissions", "rules, each a table", rule));
            };
            let own = self.rule(table, rule, &tools)?;
            let start = entries(table)
                .first()
                .map_or(rule.span().start, |(key, _)| key.span().start);
            let between = self.page.text.get(counted..start).unwrap_or_default();
            line += between.matches('\n').count();
            counted = start.max(counted);
            let source = Source::File(self.page.path.to_owned(), line);
            read.push(Sourced::new(own, source));
        }
        self.oddities(&read);
        match self.owner {
            Owner::User => self.layer.user_rules = read,
            Owner::Project => self.layer.project_rules = read,
        }
        Ok(())
    }

    fn rule(
        &self,
        table: &DeTable<'_>,
        at: &Spanned<DeValue<'_>>,
        tools: &[&str],
    ) -> Result<Rule, HostError> {
        let mut permission = None;
        let mut pattern = None;
        let mut action = None;
        for (key, value) in entries(table) {
            match key.get_ref().as_ref() {
                "permission" => permission = Some((self.string("permission", value)?, value)),
                "pattern" => pattern = Some((self.string("pattern", value)?, value)),
                "action" => action = Some(self.action(value)?),
                other => {
                    let way = match suggest::nearest(other, PARTS) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("a rule has {}", PARTS.join(", ")),
                    };
                    let what = format!("unknown key `{}` in a rule", other.escape_debug());
                    return Err(self.page.fault(&what, &key.span(), Some(&way)));
                }
            }
        }
        let missing = |part: &str, way: &str| {
            let what = format!("a rule has no `{part}`");
            let place = entries(table)
                .first()
                .map_or(at.span(), |(key, _)| key.span());
            self.page.fault(&what, &place, Some(way))
        };
        let Some((permission, named)) = permission else {
            let way = "it says what the rule is about, such as fs.write";
            return Err(missing("permission", way));
        };
        let Some(action) = action else {
            return Err(missing("action", "it is allow, ask or deny"));
        };
        let (pattern, within) = pattern.map_or(("*", None), |(text, value)| (text, Some(value)));
        let rule = Rule::new(permission, pattern, action);
        if let Err(fault) = check(&rule, tools) {
            let place = match (fault.part, within) {
                (Part::Pattern, Some(value)) => self.inside(value, pattern, fault.at),
                (Part::Permission, _) | (Part::Pattern, None) => named.span(),
            };
            return Err(self.page.fault(&fault.what, &place, fault.way.as_deref()));
        }
        if let (Some(at), Some(value)) = (pattern.find(SCRATCH), within) {
            let what = format!("`{SCRATCH}` is an agent's own folder and means nothing here");
            let way = "write such a rule into the agent's file";
            let place = self.inside(value, pattern, at);
            return Err(self.page.fault(&what, &place, Some(way)));
        }
        Ok(rule)
    }

    /// Returns the place of a byte of a text; its beginning where it is not written as it is read.
    fn inside(
        &self,
        value: &Spanned<DeValue<'_>>,
        text: &str,
        at: usize,
    ) -> std::ops::Range<usize> {
        let span = value.span();
        let quoted = self
            .page
            .text
            .get(span.start + 1..span.end.saturating_sub(1));
        if quoted == Some(text) {
            span.start + 1 + at..span.end
        } else {
            span
        }
    }

    fn string<'a>(
        &self,
        name: &str,
        value: &'a Spanned<DeValue<'_>>,
    ) -> Result<&'a str, HostError> {
        let text = value.get_ref().as_str();
        text.ok_or_else(|| self.mistyped(name, "text in quotes", value))
    }

    fn action(&self, value: &Spanned<DeValue<'_>>) -> Result<Action, HostError> {
        let word = self.string("action", value)?;
        let known = ACTIONS.iter().find(|(name, _)| *name == word);
        known.map(|(_, action)| *action).ok_or_else(|| {
            let what = format!("`action` cannot be `{}`", word.escape_debug());
            let way = match suggest::nearest(word, ACTIONS.map(|(name, _)| name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "it is allow, ask or deny".to_owned(),
            };
            self.page.fault(&what, &value.span(), Some(&way))
        })
    }

    /// Notes rules that are no mistake and not what somebody may think.
    fn oddities(&mut self, rules: &[Sourced<Rule>]) {
        let plain: Vec<Rule> = rules.iter().map(|rule| rule.value.clone()).collect();
        for (first, second) in contradictions(&plain) {
            let Rule {
                permission,
                pattern,
                ..
            } = &plain[second];
            self.layer.warnings.push(format!(
                "the rules in {} and {} say different things of {permission} {pattern}; the \
                 stricter holds",
                rules[first].source, rules[second].source
            ));
        }
        for found in overshadowed(&plain) {
            self.layer.warnings.push(format!(
                "the rule in {} does not hold where that in {} allows, {}{}",
                rules[found.rule].source,
                rules[found.by].source,
                found.why,
                match found.instead {
                    Some(instead) => format!("; write `{instead}`"),
                    None => String::new(),
                }
            ));
        }
        for Sourced { value, source } in rules {
            if is_about_files(value) && has_bracket(&value.pattern) {
                self.layer.warnings.push(format!(
                    "`[` in the rule in {source} is just that letter, and no choice of letters as \
                     in a shell; write `\\[` if you mean it"
                ));
            }
        }
        if self.owner == Owner::User {
            return;
        }
        // As an exception from a stricter rule of the same file an allow means something.
        let idle = idle_allows(&plain);
        let mut idle = idle.iter().map(|index| &rules[*index]);
        if let Some(first) = idle.next() {
            let more = match idle.count() {
                0 => String::new(),
                more => format!(", and {more} more like it"),
            };
            self.layer.warnings.push(format!(
                "the rule in {} allows nothing{more}: a project's rules can only narrow; to allow \
                 it, put the rule into your own config file",
                first.source
            ));
        }
    }
}

/// Tells whether the pattern of a rule is one of paths.
fn is_about_files(rule: &Rule) -> bool {
    let tools = ["read", "write", "edit", "glob", "grep"];
    rule.permission.starts_with("fs.") || tools.contains(&rule.permission.as_str())
}

/// Tells whether a pattern has a bracket that no backslash stands before.
fn has_bracket(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '[' => return true,
            '\\' => drop(letters.next()),
            _ => {}
        }
    }
    false
}
