//! Commands, and what a careful person says to them under a small set of rules.
//!
//! Cases are data: one table each of what is allowed, denied and asked. `bounds`
//! is about size and depth, `folders` about paths.

mod against_bash;
mod against_programs;
mod bounds;
mod builders;
mod evasions;
mod filters;
mod folders;
mod misread;
mod opaque;
mod options;
mod plain;
mod runners;
mod spellings;

use offshoot_types::permission::{Action, Layer, Need, Permissions, Rule, Standing};
use offshoot_types::tool::Place;

use crate::shell::needs::needs;

fn place() -> Place {
    Place {
        scratch: Some("/s".to_owned()),
        ..Place::new("/w")
    }
}

/// What is allowed to run, but where a test says otherwise.
const ALLOWED: &[&str] = &[
    "git status",
    "git diff *",
    "cargo test *",
    "ls *",
    "cat *",
    "echo *",
    "grep *",
];

fn rules(allowed: &[&str]) -> Permissions {
    let allow = |pattern: &&str| Rule::new("shell.run", *pattern, Action::Allow);
    let deny = Rule::new("shell.run", "rm *", Action::Deny);
    let layer = Layer {
        name: "rules".to_owned(),
        rules: allowed.iter().map(allow).chain([deny]).collect(),
        standing: Standing::Grants,
        ..Layer::default()
    };
    Permissions::empty()
        .narrow(Layer::root_grant("/w", Some("/s")))
        .narrow(layer)
}

fn decide(command: &str) -> Action {
    decide_by(&rules(ALLOWED), command)
}

/// Decides by these rules and no others.
fn decide_with(allow: &[(&str, &str)], deny: &[(&str, &str)], command: &str) -> Action {
    let of = |rules: &[(&str, &str)], action| -> Vec<Rule> {
        let rule = |(permission, pattern): &(&str, &str)| Rule::new(*permission, *pattern, action);
        rules.iter().map(rule).collect()
    };
    let layer = Layer {
        rules: [of(allow, Action::Allow), of(deny, Action::Deny)].concat(),
        standing: Standing::Grants,
        ..Layer::default()
    };
    decide_by(&Permissions::empty().narrow(layer), command)
}

fn decide_by(rules: &Permissions, command: &str) -> Action {
    let needs = needs(command, &place());
    let said = needs.iter().map(|need| rules.decide("bash", need).action);
    said.min().expect("a command needs something")
}

#[track_caller]
fn check(commands: &[&str], expected: Action) {
    let wrong: Vec<String> = commands
        .iter()
        .filter(|command| decide(command) != expected)
        .map(|command| format!("{command:?}: {:?} {:?}", decide(command), shown(command)))
        .collect();
    assert!(wrong.is_empty(), "not {expected:?}:\n{}", wrong.join("\n"));
}

/// Checks that commands ask or are denied.
#[track_caller]
fn check_not_allowed(commands: &[&str]) {
    let allowed = |command: &&&str| decide(command) == Action::Allow;
    let wrong: Vec<_> = commands.iter().filter(allowed).collect();
    assert!(wrong.is_empty(), "allowed: {wrong:#?}");
}

/// Checks that commands have something that nobody can see through.
#[track_caller]
fn check_opaque(commands: &[&str]) {
    let wrong: Vec<_> = commands.iter().filter(|text| !is_opaque(text)).collect();
    assert!(wrong.is_empty(), "seen through: {wrong:#?}");
}

/// Checks that all of some commands can be seen through.
#[track_caller]
fn check_seen_through(commands: &[&str]) {
    let wrong: Vec<_> = commands.iter().filter(|text| is_opaque(text)).collect();
    assert!(wrong.is_empty(), "opaque: {wrong:#?}");
}

fn is_opaque(command: &str) -> bool {
    let opaque = [Need::SHELL_OPAQUE, Need::SHELL_UNREAD];
    let needs = needs(command, &place());
    let mut names = needs.iter().map(|need| need.capability.as_str());
    names.any(|name| opaque.contains(&name))
}

fn shown(command: &str) -> Vec<String> {
    let show = |need: Need| format!("{} {}", need.capability, need.target);
    needs(command, &place()).into_iter().map(show).collect()
}
