//! Who an event is of, what it follows, and that it is always the same.

use offshoot_types::message::Author;
use serde_json::Value;

use super::log::{Log, blocking, tree};
use crate::Fold;
use crate::wire::WireEvent;

#[test]
fn the_chain_of_parents_is_one_line_of_stored_events() {
    let mut last = Value::Null;
    for event in blocking().events() {
        assert!(event.as_object().unwrap().contains_key("parentId"));
        assert_eq!(event["parentId"], last, "{event}");
        if event["ephemeral"].is_null() {
            last = event["id"].clone();
        } else {
            assert_eq!(event["ephemeral"], true);
        }
    }
}

#[test]
fn r2_a_child_is_named_on_each_of_its_events_and_the_root_on_none() {
    let log = blocking();
    let mut fold = Fold::new(tree());
    for entry in &log.entries {
        let own = (entry.agent.as_str() != "root").then(|| entry.agent.clone());
        for event in fold.entry(entry) {
            // What a child does to the session's list of agents is about the session.
            let expected = if event.body.is_of_session() {
                None
            } else {
                own.clone()
            };
            assert_eq!(event.agent_id, expected, "{event:?}");
            assert_eq!(event.session_id.as_str(), "root");
        }
    }
}

#[test]
fn r2_the_same_log_gives_the_same_lines() {
    let lines = |log: &Log| {
        let events = log.events();
        events.iter().map(Value::to_string).collect::<Vec<_>>()
    };
    assert_eq!(lines(&blocking()), lines(&blocking()));
    let events = blocking().events();
    let mut ids: Vec<String> = events.iter().map(|event| event["id"].to_string()).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are not repeated");
}

#[test]
fn an_event_has_its_fields_in_the_documented_order() {
    let (_, events) = blocking().fold();
    let is_usage = |event: &&WireEvent| {
        let line = serde_json::to_string(event).unwrap();
        event.agent_id.is_some() && line.contains("assistant.usage")
    };
    let usage = events.iter().find(is_usage).unwrap();
    let line = serde_json::to_string(usage).unwrap();
    let fields = [
        "id",
        "timestamp",
        "parentId",
        "sessionId",
        "agentId",
        "ephemeral",
        "type",
        "data",
    ];
    let places: Vec<usize> = fields
        .iter()
        .map(|field| line.find(&format!("\"{field}\":")).unwrap())
        .collect();
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{line}");
    assert!(
        line.contains("\"timestamp\":\"2026-11-15T18:41:35.009Z\""),
        "{line}"
    );
}

#[test]
fn what_belongs_to_one_prompt_has_one_interaction_and_the_next_prompt_another() {
    let mut log = blocking();
    log.asks("root", "and now?", Author::Human);
    let starts = log.data("assistant.turn_start");
    let ids: Vec<&Value> = starts.iter().map(|data| &data["interactionId"]).collect();
    let [first, kid, second, next] = ids[..] else {
        panic!("{ids:?}")
    };
    assert_eq!(first, second);
    assert_ne!(first, kid);
    assert_ne!(first, next);
    assert!(uuid::Uuid::parse_str(first.as_str().unwrap()).is_ok());
    assert_eq!(log.data("user.message")[0]["interactionId"], *first);
}
