//! Golden logs against what a Copilot server sent for the same stories.
//!
//! `tests/golden/copilot` has the session events of nine captures, reduced: `data`
//! is compared, `also` names fields that the capture has and ours has not, `…`
//! stands for a value that is given and differs. The logs are ours. What is left
//! out of the comparison stands in `normal.rs`, each with its reason.

use offshoot_types::event::Entry;
use offshoot_types::id::Timestamp;
use offshoot_types::tree::Unfinished;
use serde_json::Value;

use super::log::tree;
use super::normal::{Normal, Side};
use crate::Fold;

macro_rules! story {
    ($name:literal) => {
        (
            include_str!(concat!(
                "../../../../offshoot-types/tests/golden/logs/",
                $name,
                ".jsonl"
            )),
            include_str!(concat!("../../../tests/golden/copilot/", $name, ".jsonl")),
        )
    };
}

/// Whether agents took turns, so that there is one order of all events.
enum Order {
    Whole,
    /// Agents ran side by side: each has its order.
    EachAgent,
}

fn folded(log: &str) -> Vec<Value> {
    let mut fold = Fold::new(tree());
    let mut events = Vec::new();
    for line in log.lines() {
        let entry: Entry = serde_json::from_str(line).unwrap();
        events.extend(fold.entry(&entry));
    }
    events.push(fold.idle(Timestamp::new(0), &Unfinished::default()));
    let value = |event| serde_json::to_value(event).unwrap();
    events.iter().map(value).collect()
}

fn check((log, capture): (&str, &str), order: Order) {
    let captured = capture
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let captured = Normal::of(captured.collect(), Side::Captured);
    let ours = Normal::of(folded(log), Side::Ours);
    for (ours, captured) in ours.by_agent().iter().zip(captured.by_agent()) {
        for (ours, captured) in ours.iter().zip(&captured) {
            assert_eq!(ours, captured);
        }
        assert_eq!(ours.len(), captured.len(), "{ours:#?}");
    }
    assert_eq!(ours.by_agent().len(), captured.by_agent().len());
    if matches!(order, Order::Whole) {
        assert_eq!(ours.names(), captured.names());
    }
}

#[test]
fn r5_a_plain_answer_is_told_as_captured() {
    check(story!("plain"), Order::Whole);
}

#[test]
fn r5_a_tool_that_asks_is_told_as_captured() {
    check(story!("tool"), Order::Whole);
}

#[test]
fn r5_a_blocking_child_is_told_as_captured() {
    check(story!("blocking"), Order::Whole);
}

#[test]
fn r5_x_16_nested_children_are_told_as_captured() {
    check(story!("nested"), Order::Whole);
}

#[test]
fn r5_background_children_are_told_as_captured() {
    check(story!("background"), Order::EachAgent);
}

#[test]
fn r5_a_tool_that_a_child_has_not_is_told_as_captured() {
    check(story!("denied"), Order::Whole);
}

#[test]
fn r5_an_agent_that_does_not_exist_is_told_as_captured() {
    check(story!("badagent"), Order::Whole);
}

#[test]
fn r5_x_07_an_abort_is_told_as_captured() {
    check(story!("abort"), Order::EachAgent);
}

#[test]
fn r5_a_child_that_asks_for_a_command_is_told_as_captured() {
    check(story!("perm-hooks"), Order::Whole);
}

/// A call of the runtime's own starts its child as a model's call does, and no request of a model is
/// reported for it. The immediate prompt is told when it is taken up.
#[test]
fn a_turn_that_the_runtime_opens_reports_usage_of_models_only() {
    let log = include_str!("../../../../offshoot-types/tests/golden/logs/parts.jsonl");
    let events = folded(log);
    let of = |name: &str| -> Vec<&Value> {
        let named = |event: &&Value| event["type"] == name;
        events.iter().filter(named).collect()
    };
    let started = of("subagent.started");
    let messages = of("assistant.message");
    let [call] = &messages[0]["data"]["toolRequests"].as_array().unwrap()[..] else {
        panic!("{:?}", messages[0])
    };
    assert_eq!(started[0]["data"]["toolCallId"], call["toolCallId"]);
    assert_eq!((started.len(), messages.len()), (1, 4));
    assert_eq!(of("assistant.usage").len(), 3);
    let place = |name: &str, field: &str, value: &str| {
        let is_it = |event: &Value| event["type"] == name && event["data"][field] == value;
        events.iter().position(is_it).unwrap()
    };
    let asked = place("user.message", "content", "And the margin?");
    assert!(place("assistant.message", "content", "a chart") < asked);
    assert!(asked < place("assistant.message", "content", "root final"));
}
