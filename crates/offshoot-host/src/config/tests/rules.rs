//! Rules in config files: what is read, and what is said of what is wrong.

use offshoot_types::permission::charter::Charter;
use offshoot_types::permission::{Action, Layer as Chain, Rule, Standing};

use super::{Home, Layer, Owner, USER, line, parse, refused};
use crate::config::Sourced;
use crate::rules::Rules;

const TWO: &str = "
[[permissions]]
permission = 'shell.run'
pattern = 'cargo test *'
action = 'allow'

[[permissions]]
permission = 'fs.read'
action = 'ask'
";

#[test]
fn rules_are_read_in_either_form_and_keep_their_lines() {
    let expected = [
        Rule::new("shell.run", "cargo test *", Action::Allow),
        Rule::new("fs.read", "*", Action::Ask),
    ];
    let layer = parse(TWO, Owner::User).unwrap();
    let rules: Vec<Sourced<Rule>> = layer.user_rules;
    assert_eq!(rules[0], Sourced::new(expected[0].clone(), line(3)));
    assert_eq!(rules[1], Sourced::new(expected[1].clone(), line(8)));
    let short = "permissions = [
  {permission = 'shell.run', pattern = 'cargo test *', action = 'allow'},
  {permission = 'fs.read', action = 'ask'},
]";
    let layer = parse(short, Owner::Project).unwrap();
    assert!(layer.user_rules.is_empty());
    let rules: Vec<Rule> = layer
        .project_rules
        .iter()
        .map(|rule| rule.value.clone())
        .collect();
    assert_eq!(rules, expected);
    assert_eq!(layer.project_rules[1].source, line(3));
}

/// Checks what is said of a rule with these lines, the first of them in line 2.
#[track_caller]
fn check(lines: &str, expected: &str) {
    refused(&format!("[[permissions]]\n{lines}"), Owner::User, expected);
}

#[test]
fn tls_12_what_is_wrong_with_a_rule_is_said_with_its_place_and_what_was_meant() {
    check(
        "permission = 'fs.wirte'\naction = 'deny'",
        "unknown capability `fs.wirte` in /home/me/offshoot.toml line 2, column 14: \
         `permission = 'fs.wirte'`; did you mean `fs.write`?",
    );
    check(
        "action = 'deny'\npermission = 'fs.read'\npattern = 'a/{wrkspace}/b'",
        "unknown variable `{wrkspace}` in /home/me/offshoot.toml line 4, column 14: \
         `pattern = 'a/{wrkspace}/b'`; did you mean `{workspace}`?",
    );
    check(
        "permission = 'fs.read'\naction = 'alow'",
        "`action` cannot be `alow` in /home/me/offshoot.toml line 3, column 10: \
         `action = 'alow'`; did you mean `allow`?",
    );
    check(
        "permission = 'fs.read'\nactoin = 'allow'",
        "unknown key `actoin` in a rule in /home/me/offshoot.toml line 3, column 1: \
         `actoin = 'allow'`; did you mean `action`?",
    );
    check(
        "permission = 'fs.read'",
        "a rule has no `action` in /home/me/offshoot.toml line 2, column 1: \
         `permission = 'fs.read'`; it is allow, ask or deny",
    );
    check(
        "action = 'deny'",
        "a rule has no `permission` in /home/me/offshoot.toml line 2, column 1: \
         `action = 'deny'`; it says what the rule is about, such as fs.write",
    );
    check(
        "permission = 'fs.write'\npattern = '{scratch}/x'\naction = 'allow'",
        "`{scratch}` is an agent's own folder and means nothing here in \
         /home/me/offshoot.toml line 3, column 12: `pattern = '{scratch}/x'`; write such a rule \
         into the agent's file",
    );
    refused(
        "permissions = 'all'",
        Owner::User,
        "`permissions` has to be rules, each under [[permissions]], and is of type string in \
         /home/me/offshoot.toml line 1, column 15: `permissions = 'all'`",
    );
}

#[test]
fn rules_that_contradict_each_other_are_told() {
    let text = "permissions = [
  {permission = 'fs.read', pattern = 'a', action = 'allow'},
  {permission = 'fs.read', pattern = 'a', action = 'deny'},
]";
    let layer = parse(text, Owner::User).unwrap();
    assert_eq!(
        layer.warnings,
        [
            "the rules in /home/me/offshoot.toml line 2 and /home/me/offshoot.toml line 3 say \
          different things of fs.read a; the stricter holds"
        ]
    );
}

#[test]
fn a_bracket_in_a_pattern_of_paths_is_said_to_be_just_that() {
    let warned = |permission: &str, pattern: &str| {
        let text = format!(
            "permissions = [{{permission = '{permission}', pattern = '{pattern}', action = 'deny'}}]"
        );
        !parse(&text, Owner::User).unwrap().warnings.is_empty()
    };
    assert!(warned("fs.write", "[ab"));
    assert!(warned("edit", "src/[ab].rs"));
    assert!(!warned("fs.write", r"app/\[id]/**"));
    assert!(!warned("shell.run", "[ -e x ]"));
}

#[test]
fn a_projects_allow_that_gives_nothing_is_told() {
    let warnings = |text: &str, owner| parse(text, owner).unwrap().warnings;
    assert_eq!(
        warnings(TWO, Owner::Project),
        [
            "the rule in /home/me/offshoot.toml line 3 allows nothing: a project's rules can only \
          narrow; to allow it, put the rule into your own config file"
        ]
    );
    assert!(warnings(TWO, Owner::User).is_empty());
    // As an exception from its own deny it means something.
    let excepts = "permissions = [
  {permission = 'fs.write', action = 'deny'},
  {permission = 'fs.write', pattern = 'docs/**', action = 'allow'},
]";
    assert!(warnings(excepts, Owner::Project).is_empty());
}

fn layers(home: &Home) -> Vec<Chain> {
    let settings = home.load(Layer::default(), &[]).unwrap();
    let repo = home.path().join("repo").canonicalize().unwrap();
    said(&Rules::of(&settings), repo.to_str().unwrap())
}

/// The layers that people have written.
fn said(rules: &Rules, workspace: &str) -> Vec<Chain> {
    let mut layers = rules.layers(workspace);
    let last = layers.pop().unwrap();
    assert_eq!(last.name, "what people keep by hand");
    layers
}

#[test]
fn r21_the_projects_rules_stand_above_the_users_and_only_narrow() {
    let home = Home::new();
    home.write(USER, TWO);
    home.write(
        "repo/offshoot.toml",
        "permissions = [{permission = 'fs.write', pattern = 'docs/**', action = 'deny'}]",
    );
    let layers = layers(&home);
    let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["the project's rules", "the user's rules"]);
    let standings: Vec<Standing> = layers.iter().map(|layer| layer.standing).collect();
    assert_eq!(standings, [Standing::Narrows, Standing::Grants]);
    let repo = home.path().join("repo").canonicalize().unwrap();
    let pattern = format!("{}/docs/**", repo.display());
    assert_eq!(layers[0].rules[0].pattern, pattern);
}

#[test]
fn x_12_a_projects_rules_are_those_of_now_and_what_cannot_be_read_denies() {
    let home = Home::new();
    let settings = home.load(Layer::default(), &[]).unwrap();
    let rules = Rules::of(&settings);
    let repo = home.path().join("repo").canonicalize().unwrap();
    let now = || said(&rules, repo.to_str().unwrap());
    assert!(now().is_empty());
    let file = "repo/offshoot.toml";
    home.write(
        file,
        "permissions = [{permission = 'fs.write', action = 'deny'}]",
    );
    assert_eq!(now()[0].rules.len(), 1);
    home.write(
        file,
        "permissions = [{permission = 'fs.wirte', action = 'deny'}]",
    );
    let layers = now();
    assert!(layers[0].closed && layers[0].rules.is_empty());
    assert!(
        layers[0]
            .name
            .contains("cannot be read: unknown capability `fs.wirte`")
    );
}

#[test]
fn ten_thousand_rules_are_read_with_their_lines() {
    let rule = |n: usize| {
        format!("[[permissions]]\npermission = 'fs.read'\npattern = 'd/{n}/**'\naction = 'deny'\n")
    };
    let text: String = (0..10_000).map(rule).collect();
    let layer = parse(&text, Owner::User).unwrap();
    assert_eq!(layer.user_rules.len(), 10_000);
    assert_eq!(layer.user_rules[9_999].source, line(4 * 9_999 + 2));
}
