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
        match event.get("agentId") {
            Some(agent) => assert!(children.contains(&agent.as_str().unwrap()), "{event}"),
            None => assert!(!of_child, "{event}"),
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
    let mut more = stage.offshoot(args).succeeded().events();
    more.retain(|event| event.get("ephemeral").is_none());
    assert_eq!(more[0]["type"], "user.message");
    assert_eq!(more[0]["data"]["content"], "again");
    assert_eq!(more[0]["parentId"], stage.show("family")[stored - 1]["id"]);
}

/// Type and agent of each stored event of a capture or of ours that both sides tell.
fn told(events: &[Value]) -> Vec<String> {
    // A question depends on who is there to ask, the rest is of clients, hooks and the connection.
    let elsewhere = [
        "permission.",
        "external_tool.",
        "hook.",
        "system.message",
        "session.shutdown",
    ];
    let births = [
        "subagent.selected",
        "subagent.configured",
        "session.model_change",
    ];
    let mut agents: Vec<&str> = Vec::new();
    let mut told = Vec::new();
    for event in events {
        let kind = event["type"].as_str().unwrap();
        let left_out = elsewhere.iter().any(|head| kind.starts_with(head));
        if event.get("ephemeral").is_some() || left_out {
            continue;
        }
        let id = event["agentId"].as_str().unwrap_or_default();
        let place = agents.iter().position(|known| *known == id);
        let place = place.unwrap_or_else(|| {
            agents.push(id);
            agents.len() - 1
        });
        // Three events of one birth come in any order there.
        let kind = if births.contains(&kind) {
            "birth"
        } else {
            kind
        };
        told.push(format!("{kind} of {place}"));
    }
    told
}

#[test]
fn r5_a_run_tells_a_nested_child_in_the_captured_order() {
    let script = r#"
agents:
  - {name: lead, mode: primary, prompt: You lead., tools: [task]}
  - {name: outer, mode: subagent, description: Passes on., prompt: You pass it on., tools: [task]}
  - {name: inner, mode: subagent, prompt: You look., tools: [read]}
replies:
  - agent: lead
    after_tools: false
    say: spawning
    call: [{tool: task, arguments: {subagent_type: outer, prompt: ask}}]
  - agent: outer
    after_tools: false
    say: nest
    call: [{tool: task, arguments: {subagent_type: inner, prompt: look}}]
  - agent: inner
    after_tools: false
    say: in
    call: [{tool: read, arguments: {path: script.yaml}}]
  - {say: done}
"#;
    let stage = Stage::new(script);
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--agent",
        "lead",
        "--json",
        "go",
    ];
    let events = stage.offshoot(args).succeeded().events();
    let capture = include_str!("../../../offshoot-copilot/tests/golden/copilot/nested.jsonl");
    let captured: Vec<Value> = capture
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told(&events), told(&captured));
    // What only the log can know of it is there.
    let outer = &of_type(&events, "subagent.started")[0]["data"];
    assert_eq!(outer["agentDescription"], "Passes on.");
    let selected = &of_type(&events, "subagent.selected")[0]["data"];
    assert_eq!(selected["tools"], serde_json::json!(["task"]));
    for usage in of_type(&events, "assistant.usage") {
        assert!(usage["data"]["duration"].is_u64(), "{usage}");
    }
}
