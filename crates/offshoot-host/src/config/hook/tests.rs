//! What is read of `[[hooks]]`, and what is wrong with the rest.

use std::path::Path;
use std::time::Duration;

use offshoot_types::hook::Point;

use super::Hook;
use crate::config::file::{self, Owner};

fn parse(text: &str, owner: Owner) -> Result<Vec<Hook>, String> {
    let layer = file::parse(text, Path::new("/p/offshoot.toml"), owner, None);
    layer
        .map(|layer| layer.hooks)
        .map_err(|stop| stop.to_string())
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let why = parse(text, Owner::User).unwrap_err();
    assert!(why.contains(expected), "{why}");
}

fn hook(more: &str) -> String {
    format!("[[hooks]]\nevent = \"Stop\"\ncommand = \"./check.sh --all\"\n{more}")
}

#[test]
fn a_hook_needs_an_event_and_a_command_and_the_rest_has_defaults() {
    let [read] = parse(&hook(""), Owner::User).unwrap().try_into().unwrap();
    assert_eq!(
        (read.event, read.name.as_str()),
        (Point::Stop, "./check.sh")
    );
    assert_eq!(
        (read.matcher.as_str(), read.limit),
        ("", Duration::from_secs(60))
    );
    assert_eq!(read.shown(), "Stop: ./check.sh --all");
    refused(
        "[[hooks]]\nevent = \"Stop\"",
        "a hook needs `event` and `command`",
    );
    refused(
        "[[hooks]]\ncommand = \"x\"",
        "a hook needs `event` and `command`",
    );
    refused("hooks = 1", "a list of tables, [[hooks]]");
}

#[test]
fn a_time_is_seconds_or_has_a_unit() {
    let limit = |text: &str| {
        let hooks = parse(&hook(&format!("timeout = {text}")), Owner::User).unwrap();
        hooks[0].limit
    };
    assert_eq!(limit("5"), Duration::from_secs(5));
    assert_eq!(limit("\"200ms\""), Duration::from_millis(200));
    for never in ["0", "3601", "\"2h\""] {
        refused(&hook(&format!("timeout = {never}")), "is not between");
    }
    refused(&hook("timeout = true"), "seconds, or text with a unit");
}

#[test]
fn what_is_misspelled_is_said_with_its_place_and_a_suggestion() {
    let wrong = "[[hooks]]\nevent = \"PreToolUs\"\ncommand = \"x\"";
    refused(wrong, "did you mean `PreToolUse`?");
    refused(wrong, "offshoot.toml line 2, column 9");
    refused(
        "[[hooks]]\nevent = \"subagentstop\"",
        "did you mean `SubagentStop`?",
    );
    refused("[[hooks]]\nevent = \"Whenever\"", "there are: PreToolUse,");
    refused(&hook("macther = \"x\""), "did you mean `matcher`?");
    refused(&hook("matcher = \"(\""), "`hooks.matcher` cannot be read");
}

#[test]
fn hooks_of_a_project_are_read_and_told_apart() {
    let theirs = parse(&hook(""), Owner::Project).unwrap();
    assert_eq!(theirs[0].owner, Owner::Project);
}
