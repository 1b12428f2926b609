//! What holds of every log: the rules of the RFD that a fold can keep or break.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_server::acp::{Form, Transcripts};
use offshoot_types::event::{Event, Origin};
use serde_json::{Value, json};

use crate::stage::{LOGS, entries, folded, log};

/// Calls back with each log's name and what a client of child sessions is told of it.
fn each(mut check: impl FnMut(&str, &str, Vec<Value>)) {
    for (name, log) in LOGS {
        check(name, log, folded(log, Form::Sessions).1);
    }
}

/// Who made whom, by the log itself.
fn parents(log: &str) -> BTreeMap<String, String> {
    let mut parents = BTreeMap::new();
    for entry in entries(log) {
        if let Event::Spawned(spawned) = &entry.event
            && let Origin::Task(parent) = &spawned.origin
        {
            parents.insert(entry.agent.to_string(), parent.agent.to_string());
        }
    }
    parents
}

fn is(update: &Value, kind: &str) -> bool {
    update["update"]["sessionUpdate"] == kind
}

/// Tells whether a value has this text somewhere.
fn names(value: &Value, id: &str) -> bool {
    match value {
        Value::String(text) => text == id,
        Value::Array(values) => values.iter().any(|value| names(value, id)),
        Value::Object(fields) => fields.values().any(|value| names(value, id)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[test]
fn rule_1_nothing_names_a_child_before_it_is_announced() {
    each(|name, log, told| {
        for child in parents(log).keys() {
            let first = told.iter().find(|one| names(one, child)).unwrap();
            assert!(is(first, "subagent_update"), "{name}: {first}");
            assert_eq!(first["update"]["sessionId"], child.as_str(), "{name}");
        }
    });
}

#[test]
fn rule_2_a_child_has_one_parent_for_ever_and_it_is_the_one_that_made_it() {
    each(|name, log, told| {
        let parents = parents(log);
        for one in told.iter().filter(|one| is(one, "subagent_update")) {
            let child = one["update"]["sessionId"].as_str().unwrap();
            assert_eq!(one["sessionId"], parents[child].as_str(), "{name}: {one}");
        }
    });
}

#[test]
fn rule_4_calls_of_a_child_stand_in_its_own_session() {
    each(|name, log, told| {
        for entry in entries(log) {
            let Event::Replied(message) = &entry.event else {
                continue;
            };
            for call in message.calls() {
                let is_it = |one: &&Value| {
                    is(one, "tool_call") && one["update"]["toolCallId"] == call.id.as_str()
                };
                let shown: Vec<&Value> = told.iter().filter(is_it).collect();
                let made_child = call.tool == "task" && *name != *"badagent";
                assert_eq!(shown.is_empty(), made_child, "{name}: {}", call.id);
                let own = |one: &&Value| one["sessionId"] == entry.agent.as_str();
                assert!(shown.iter().all(own), "{name}: {shown:?}");
            }
        }
    });
}

#[test]
fn rule_9_a_childs_state_is_told_when_it_changes_and_only_then() {
    let check = |log: &str, child: &str, expected: Value| {
        let (_, told) = folded(log, Form::Sessions);
        let of_child =
            |one: &&Value| is(one, "subagent_update") && one["update"]["sessionId"] == child;
        let states = told.iter().filter(of_child);
        let states: Vec<&Value> = states
            .filter_map(|one| one["update"].get("state"))
            .collect();
        assert_eq!(json!(states), expected);
    };
    let (running, waits) = (
        json!({ "state": "running" }),
        json!({ "state": "requires_action" }),
    );
    let idle = |why: &str| json!({ "state": "idle", "stopReason": why });
    let done = idle("end_turn");
    check(log!("denied"), "kid", json!([running, done]));
    check(
        log!("blocking"),
        "kid",
        json!([running, waits, running, done]),
    );
    check(log!("nested"), "kid", json!([running, done]));
    check(
        log!("nested"),
        "deep",
        json!([running, waits, running, done]),
    );
    check(log!("abort"), "kid", json!([running, idle("cancelled")]));
    // Rule 10: idle is no end; it is asked again.
    check(
        log!("again"),
        "kid",
        json!([running, waits, running, done, running, done]),
    );
    let (_, told) = folded(log!("failed"), Form::Sessions);
    let errors = told
        .iter()
        .filter_map(|one| one["update"]["state"].get("error"));
    let errors: Vec<&Value> = errors.collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["message"], "the provider wants us to wait");
}

#[test]
fn rule_11_what_sessions_say_to_each_other_is_seen_from_both_sides() {
    each(|name, _, told| {
        let messages: Vec<&Value> = told
            .iter()
            .filter(|one| is(one, "session_message"))
            .collect();
        for one in &messages {
            let (outer, update) = (&one["sessionId"], &one["update"]);
            let sent = update["senderSessionId"] == *outer;
            assert!(
                sent || update["recipientSessionId"] == *outer,
                "{name}: {one}"
            );
            // Each view names the id that the other has, and the other is there.
            let link = if sent {
                "recipientMessageId"
            } else {
                "senderMessageId"
            };
            let other = messages.iter().find(|two| {
                two["sessionId"] != *outer && two["update"]["messageId"] == update[link]
            });
            let other = other.unwrap_or_else(|| panic!("{name}: {one}"));
            assert_eq!(other["update"]["content"], update["content"]);
        }
    });
}

#[test]
fn rule_11_ids_of_messages_are_unique_in_their_transcript() {
    each(|name, _, told| {
        let mut seen = BTreeSet::new();
        for one in told.iter().filter(|one| is(one, "session_message")) {
            let key = format!("{} {}", one["sessionId"], one["update"]["messageId"]);
            assert!(seen.insert(key), "{name}: {one}");
        }
    });
}

#[test]
fn a_client_that_knows_no_child_sessions_is_told_of_none() {
    for (name, log) in LOGS {
        for transcripts in [Transcripts::Hidden, Transcripts::Shown] {
            let (_, told) = folded(log, Form::Flat(transcripts));
            for one in &told {
                assert_eq!(one["sessionId"], "root", "{name}");
                let new = is(one, "subagent_update") || is(one, "session_message");
                assert!(!new, "{name}: {one}");
                assert_ne!(one["update"]["kind"], "subagent", "never was in a schema");
            }
        }
    }
}

#[test]
fn in_the_flat_form_every_call_ends_once_and_names_what_it_is_below() {
    for (name, log) in LOGS {
        let (_, told) = folded(log, Form::Flat(Transcripts::Hidden));
        let mut made = BTreeSet::new();
        let mut ended = BTreeSet::new();
        for one in &told {
            let update = &one["update"];
            let Some(id) = update.get("toolCallId").map(Value::to_string) else {
                continue;
            };
            if is(one, "tool_call") {
                assert!(made.insert(id.clone()), "{name}: {one}");
            }
            assert!(made.contains(&id), "{name}: {one}");
            if update["status"] == "completed" || update["status"] == "failed" {
                assert!(ended.insert(id.clone()), "{name}: {one}");
            }
            // Ids of a child's calls begin with whose they are.
            if id.contains('/') {
                let parent = update["_meta"]["claudeCode"].get("parentToolUseId");
                let parent = parent.unwrap_or_else(|| panic!("{name}: {one}"));
                assert!(made.contains(&parent.to_string()), "{name}: {one}");
            }
        }
        assert_eq!(made, ended, "{name}");
    }
}

#[test]
fn in_the_flat_form_the_words_of_children_are_shown_to_who_asks_for_them() {
    let (_, told) = folded(log!("nested"), Form::Flat(Transcripts::Shown));
    let words = told.iter().filter(|one| is(one, "agent_message_chunk"));
    let words: Vec<(Value, Value)> = words
        .map(|one| {
            let update = &one["update"];
            let below = update["_meta"]["claudeCode"]["parentToolUseId"].clone();
            (update["content"]["text"].clone(), below)
        })
        .collect();
    let (kid, deep) = (json!("call_0011"), json!("kid/call_0012"));
    assert_eq!(
        words,
        [
            (json!("spawning"), Value::Null),
            (json!("nest"), kid.clone()),
            (json!("in"), deep.clone()),
            (json!("INNER done"), deep),
            (json!("OUTER done"), kid),
            (json!("root final"), Value::Null),
        ]
    );
}
