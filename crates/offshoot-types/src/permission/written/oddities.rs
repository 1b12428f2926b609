//! Rules of one list that are no mistake, and not what their author may think.
//!
//! Compared as they are written, with one spelling for what means the same: `docs/**`
//! is `{workspace}/docs/**`. Each rule is looked for among the others in an index,
//! so that a long list costs little more than its length.

use std::collections::{BTreeMap, BTreeSet};

use super::{Reading, begins_in_a_part, is_files, readings, rooted};
use crate::permission::argv;
use crate::permission::capability::Capability;
use crate::permission::pattern::{Kind, Pattern};
use crate::permission::{Action, Rule};

/// How many allows are held against a rule that may lose to one of them.
const MOST_LOOKED_AT: usize = 64;

/// Finds rules of one list that say different things of the same under the same name: places of the
/// earlier and the later.
pub fn contradictions(rules: &[Rule]) -> Vec<(usize, usize)> {
    let mut seen = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (index, rule) in rules.iter().enumerate() {
        for form in forms(rule) {
            let about = (rule.permission.as_str(), form);
            let (first, action) = *seen.entry(about).or_insert((index, rule.action));
            if action != rule.action {
                found.insert((index, first));
            }
        }
    }
    let found = found.into_iter();
    found.map(|(index, first)| (first, index)).collect()
}

/// A rule that forbids, or asks, and does not hold everywhere it seems to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overshadowed {
    /// Its place.
    pub rule: usize,
    /// The place of the allow that is more specific.
    pub by: usize,
    /// What makes it that, as a clause about it.
    pub why: &'static str,
    /// The pattern that would hold against that.
    pub instead: Option<String>,
}

/// Finds rules that forbid, or ask, and lose to an allow where both fit: because that begins with more
/// text, however narrow the other is behind its star, or because it names a tool where the other names
/// what the tool needs, or commands where the other names everything.
pub fn overshadowed(rules: &[Rule]) -> Vec<Overshadowed> {
    let mut allows: BTreeMap<(&str, Reading), Heads> = BTreeMap::new();
    let mut of_names: BTreeMap<(Reading, String), Vec<usize>> = BTreeMap::new();
    let allowed = rules.iter().enumerate();
    let allowed = allowed.filter(|(_, rule)| rule.action == Action::Allow);
    for (index, rule) in allowed {
        for (reading, form) in forms(rule) {
            let heads = allows.entry((&rule.permission, reading));
            heads.or_default().add(index, rule, reading, &form);
            of_names.entry((reading, form)).or_default().push(index);
        }
    }
    let mut found = Vec::new();
    let strict = rules.iter().enumerate();
    for (index, rule) in strict.filter(|(_, rule)| rule.action != Action::Allow) {
        let loses = forms(rule).into_iter().find_map(|(reading, form)| {
            let heads = allows.get(&(rule.permission.as_str(), reading));
            let by_text = heads.and_then(|heads| heads.beating(rule, reading, &form));
            by_text.or_else(|| {
                let same = of_names.get(&(reading, form))?;
                let mut same = same.iter().copied();
                let names = |by: &usize| names_more(&rules[*by].permission, rule, reading);
                let by = same.find(names)?;
                let why = match Capability::of(&rules[by].permission) {
                    Some(_) => "which names what is needed",
                    None => "which names the tool",
                };
                Some((by, why, None))
            })
        });
        found.extend(loses.map(|(by, why, instead)| Overshadowed {
            rule: index,
            by,
            why,
            instead,
        }));
    }
    found
}

/// Tells whether an allow of the same names more directly what a rule is about, and leaves nothing of it.
fn names_more(allowed: &str, rule: &Rule, reading: Reading) -> bool {
    // Of what `*` is about, only commands have words. An allow to read a file is an exception.
    let is_command = reading == Reading::Text && rule.pattern.contains(char::is_whitespace);
    let is_all = rule.permission == "*" && is_command;
    let names_commands = allowed == super::SHELL || allowed == Capability::ShellRun.name();
    (is_all && names_commands) || may_need(allowed, &rule.permission)
}

/// Tells whether a rule is about a tool that may need a capability.
fn may_need(tool: &str, capability: &str) -> bool {
    match Capability::of(capability) {
        None => false,
        Some(Capability::ShellRun) if tool == super::SHELL => true,
        Some(Capability::FsRead) if ["read", "glob", "grep", "edit"].contains(&tool) => true,
        Some(Capability::FsWrite) if ["write", "edit"].contains(&tool) => true,
        Some(_) => tool.starts_with("mcp:"),
    }
}

/// The allows of one permission that have stars, by the text they begin with.
#[derive(Default)]
struct Heads(BTreeMap<String, (usize, Kind, Pattern)>);

type Beaten = (usize, &'static str, Option<String>);

impl Heads {
    fn add(&mut self, index: usize, rule: &Rule, reading: Reading, form: &str) {
        let (kind, pattern) = taken_apart(rule, reading, form);
        if matches!(kind, Kind::Glob | Kind::Begins) {
            let entry = self.0.entry(pattern.head().to_owned());
            let known = entry.or_insert((index, kind, pattern.clone()));
            if known.1 < kind {
                *known = (index, kind, pattern);
            }
        }
    }

    /// Finds an allow that has the word where both fit.
    fn beating(&self, rule: &Rule, reading: Reading, form: &str) -> Option<Beaten> {
        let (kind, pattern) = taken_apart(rule, reading, form);
        // What has nothing behind its star is all that begins so, and an allow below it an exception.
        if kind != Kind::Glob || pattern.is_beginning() {
            return None;
        }
        let head = pattern.head();
        let longer = self.0.range(head.to_owned()..);
        let longer = longer.take_while(|(allow, _)| allow.starts_with(head));
        for (allow, (by, allows, _)) in longer.take(MOST_LOOKED_AT) {
            let is_longer = allow.len() > head.len();
            let wins = is_longer || *allows == Kind::Begins;
            if wins && pattern.may_begin(allow) {
                return Some(if is_longer {
                    let instead = instead(rule, form, head, allow);
                    (*by, "which begins with more text", instead)
                } else {
                    (*by, ONLY_AT_END, None)
                });
            }
        }
        // A pattern with its only star at its end is more specific than any other with stars.
        let shorter = (0..head.len()).filter_map(|end| self.0.get(head.get(..end)?));
        let mut begins = shorter.filter(|(_, kind, _)| *kind == Kind::Begins);
        begins.next().map(|(by, _, _)| (*by, ONLY_AT_END, None))
    }
}

const ONLY_AT_END: &str = "which has its only star at its end";

/// Returns what a rule about files would have to be to begin as an allow does.
fn instead(rule: &Rule, form: &str, head: &str, allow: &str) -> Option<String> {
    let rest = form.strip_prefix(head)?;
    let is_folder = allow.ends_with('/') && is_files(&rule.permission);
    (is_folder && rest.starts_with("**/")).then(|| format!("{allow}{rest}"))
}

/// Returns the kind of a pattern and the pattern itself; that of commands as text with one blank
/// between words.
fn taken_apart(rule: &Rule, reading: Reading, form: &str) -> (Kind, Pattern) {
    match reading {
        Reading::Text if is_commands(rule) => argv::as_text(form),
        Reading::Text | Reading::Path => (Kind::of(form), Pattern::of(form)),
    }
}

/// Tells whether what a rule is about are commands, or may be.
fn is_commands(rule: &Rule) -> bool {
    match Capability::of(&rule.permission) {
        Some(about) => about == Capability::ShellRun,
        None => true,
    }
}

/// Returns the one spelling of a pattern in each way that it is read, with variables in it.
fn forms(rule: &Rule) -> Vec<(Reading, String)> {
    let pattern = rule.pattern.as_str();
    let form = |reading: &Reading| match reading {
        Reading::Text if is_commands(rule) => (*reading, argv::spelling(pattern)),
        Reading::Text => (*reading, pattern.to_owned()),
        Reading::Path if rule.action != Action::Allow && begins_in_a_part(pattern) => {
            (*reading, format!("**/{pattern}"))
        }
        Reading::Path => (*reading, rooted(pattern).into_owned()),
    };
    readings(rule).iter().map(form).collect()
}

/// Finds the allows of a list that can only narrow that have no effect: no stricter rule of it could be
/// about the same, so there is nothing that they except from.
pub fn idle_allows(rules: &[Rule]) -> Vec<usize> {
    let is_capability = |name: &str| Capability::of(name).is_some();
    let meet = |one: &str, other: &str| {
        // Any tool may need any capability.
        one == other || one == "*" || other == "*" || is_capability(one) != is_capability(other)
    };
    let strict = rules.iter().filter(|rule| rule.action != Action::Allow);
    let strict: BTreeSet<&str> = strict.map(|rule| rule.permission.as_str()).collect();
    let idle = |rule: &Rule| {
        let mut strict = strict.iter();
        rule.action == Action::Allow && !strict.any(|other| meet(&rule.permission, other))
    };
    let all = rules.iter().enumerate();
    let found = all.filter(|(_, rule)| idle(rule));
    found.map(|(index, _)| index).collect()
}
