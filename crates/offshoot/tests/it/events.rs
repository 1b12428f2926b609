//! `--json`: what programs read.

use serde_json::Value;

use crate::stage::{Stage, of_type};

const FAMILY: &str = r#"
replies:
  - depth: 0
    after_tools: false
    prompt: go
    call:
      - {tool: task, arguments: {subagent_type: general, prompt: nested}}
      - {tool: task, arguments: {subagent_type: general, prompt: slow, background: true}}
  - {depth: 0, after_tools: true, say: first}
  - {depth: 0, say: second}
  - depth: 1
    prompt: nested
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: general, prompt: deep}}]
  - {depth: 1, after_tools: true, say: "{output}"}
  - {depth: 1, prompt: slow, delay_ms: 30, say: [slow, " is", " done"]}
  - {think: hm, say: "{prompt}"}
"#;

fn family() -> (Stage, Vec<Value>) {
    let stage = Stage::new(FAMILY);
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--json",
        "--session",
        "family",
        "go",
    ];
    let events = stage.offshoot(args).succeeded().events();
    (stage, events)
}

#[test]
fn every_event_of_a_child_names_it_and_no_event_of_the_root_does() {
    let (_stage, events) = family();
    let mut children: Vec<&str> = Vec::new();
    for event in &events {
        assert_eq!(event["sessionId"], "family");
        let data = &event["data"];
        if event["type"] == "subagent.started" {
            children.push(event["agentId"].as_str().unwrap());
        }
        let of_child = data.get("parentToolCallId").is_some()
            || data.get("source").is_some()
            || event["type"].as_str().unwrap().starts_with("subagent.");
        assert_eq!(event.get("agentId").is_some(), of_child, "{event}");
        if let Some(agent) = event.get("agentId") {
            assert!(children.contains(&agent.as_str().unwrap()), "{event}");
        }
    }
    assert_eq!(children.len(), 3);
    let started = of_type(&events, "subagent.started");
    let nested: Vec<_> = started
        .iter()
        .filter_map(|event| event["data"].get("parentId"))
        .collect();
    assert_eq!(nested, [children[0]]);
}

#[test]
fn ids_are_a_chain_of_what_is_stored_and_quiet_comes_last() {
    let (_stage, events) = family();
    let mut last = Value::Null;
    for event in &events {
        assert_eq!(event["parentId"], last, "{event}");
        if event.get("ephemeral").is_none() {
            last = event["id"].clone();
        }
    }
    assert_eq!(of_type(&events, "session.idle").len(), 1);
    assert_eq!(events.last().unwrap()["type"], "session.idle");
    assert_eq!(of_type(&events, "system.notification").len(), 1);
}

#[test]
fn pieces_add_up_to_the_message() {
    let (_stage, events) = family();
    for message in of_type(&events, "assistant.message") {
        let id = &message["data"]["messageId"];
        let pieces: String = of_type(&events, "assistant.message_delta")
            .iter()
            .filter(|delta| delta["data"]["messageId"] == *id)
            .map(|delta| delta["data"]["deltaContent"].as_str().unwrap())
            .collect();
        assert_eq!(message["data"]["content"], pieces.as_str());
    }
    let thought = of_type(&events, "assistant.reasoning_delta");
    assert!(!thought.is_empty());
}

#[test]
fn showing_a_session_repeats_what_was_stored_of_it() {
    let (stage, events) = family();
    let stored: Vec<Value> = events
        .into_iter()
        .filter(|event| event.get("ephemeral").is_none())
        .collect();
    assert_eq!(stage.show("family"), stored);
    assert_eq!(stage.show("family"), stored, "and again");
}

#[test]
fn going_on_tells_only_what_is_new() {
    let (stage, events) = family();
    let stored = events
        .iter()
        .filter(|event| event.get("ephemeral").is_none())
        .count();
    let args = ["run", "--json", "--session", "family", "again"];
    let more = stage.offshoot(args).succeeded().events();
    assert_eq!(more[0]["type"], "user.message");
    assert_eq!(more[0]["data"]["content"], "again");
    assert_eq!(more[0]["parentId"], stage.show("family")[stored - 1]["id"]);
}
