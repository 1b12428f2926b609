//! What PilotDeck tells of its subagents while they work, on our events.

use serde_json::{Value, json};

use crate::stage::{Live, Stage, of_type};

/// A child that says something, waits for a pipe, and answers.
const CHILD: &str = r#"
agents: [{name: worker, mode: subagent, model: scripted/other.yaml}]
replies:
  - depth: 0
    after_tools: false
    call:
      - tool: task
        arguments:
          subagent_type: worker
          prompt: "go <pilotdeck-subagent-model>scripted/stranger.yaml</pilotdeck-subagent-model>"
  - {say: "told: {output}"}
"#;

const OTHER: &str = r#"
replies:
  - {after_tools: false, think: hm, say: I look, call: [{tool: bash, arguments: {command: cat pipe}}], usage: {input: 100, output: 10}}
  - {after_tools: true, say: "it was {output}", usage: {input: 100, output: 10}}
"#;

/// A run whose child is in the middle of its call.
fn in_the_middle() -> (Stage, Live) {
    let stage = Stage::new(CHILD);
    stage.write("other.yaml", OTHER);
    let pipe = stage.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let args = ["run", "--yes", "--model", "scripted/script.yaml", "--json"];
    let mut run = stage.live(&[&args[..], &["--session", "s", "go"]].concat());
    let is_bash = |event: &Value| event["data"]["toolName"] == "bash";
    while !run.events.last().is_some_and(is_bash) {
        run.until("tool.execution_start");
    }
    (stage, run)
}

/// Lets the child go on; returns all that was told.
fn to_the_end((stage, run): (Stage, Live)) -> Vec<Value> {
    std::fs::write(stage.path().join("pipe"), "ok").unwrap();
    let (done, events) = run.wait();
    done.succeeded();
    events
}

/// The types of the events of the child.
fn of_child(events: &[Value]) -> Vec<&str> {
    let theirs = events.iter().filter(|event| event.get("agentId").is_some());
    theirs
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

#[test]
fn pd_40_pd_44_what_a_child_says_thinks_and_does_is_told_in_its_parents_session() {
    let events = to_the_end(in_the_middle());
    assert!(events.iter().all(|event| event["sessionId"] == "s"));
    let told = of_child(&events);
    for kind in [
        "assistant.reasoning_delta",
        "assistant.message_delta",
        "assistant.message",
        "tool.execution_start",
        "tool.execution_complete",
    ] {
        assert!(told.contains(&kind), "{kind}: {told:?}");
    }
    let ends = of_type(&events, "tool.execution_complete");
    let bash = ends.iter().find(|event| event.get("agentId").is_some());
    assert_eq!(bash.unwrap()["data"]["result"]["content"], "ok");
}

#[test]
fn pd_41_a_childs_start_and_its_end_stand_around_all_it_does() {
    let events = to_the_end(in_the_middle());
    let told = of_child(&events);
    assert_eq!(told.first(), Some(&"subagent.started"));
    assert_eq!(told.last(), Some(&"subagent.completed"));
    let started = &of_type(&events, "subagent.started")[0];
    let ended = &of_type(&events, "subagent.completed")[0];
    assert_eq!(started["agentId"], ended["agentId"]);
    assert_eq!(started["data"]["agentName"], "worker");
    assert_eq!(started["data"]["toolCallId"], ended["data"]["toolCallId"]);
    assert!(ended["data"]["durationMs"].is_u64(), "{ended}");
    assert_eq!(ended["data"]["status"], "completed");
}

/// Ours pushes where PilotDeck drains a buffer every 500 ms, and what a silent child waits for is
/// there to be asked instead of a heartbeat.
#[test]
fn pd_42_pd_43_what_a_child_does_is_told_while_it_does_it() {
    let (stage, run) = in_the_middle();
    // It was told, and neither the child's call nor the parent's has ended.
    assert!(of_type(&run.events, "tool.execution_complete").is_empty());
    let tree = stage
        .offshoot(["sessions", "tree", "--json", "s"])
        .succeeded();
    let rows = tree.events();
    assert_eq!(rows[1]["status"], "running", "{rows:#?}");
    assert_eq!(rows[1]["waitsFor"], json!(["tool bash"]), "{rows:#?}");
    to_the_end((stage, run));
}

#[test]
fn pd_58_every_request_is_on_record_with_whose_it_was_its_model_and_its_usage() {
    let events = to_the_end(in_the_middle());
    let usage = of_type(&events, "assistant.usage");
    let of = |child: bool| {
        let theirs = usage.iter();
        theirs.filter(move |event| event.get("agentId").is_some() == child)
    };
    assert_eq!((of(false).count(), of(true).count()), (2, 2));
    for event in of(true) {
        let data = &event["data"];
        assert!(
            data["model"].as_str().unwrap().ends_with("other.yaml"),
            "{event}"
        );
        assert_eq!(
            (&data["inputTokens"], &data["outputTokens"]),
            (&json!(100), &json!(10)),
            "{event}"
        );
    }
}

/// Replaced by X-24: no router, no judge, and no prompt chooses a model.
#[test]
fn pd_59_a_childs_model_is_its_agents_else_its_parents_and_no_prompt_chooses_one() {
    let events = to_the_end(in_the_middle());
    let model = |events: &[Value]| {
        let started = of_type(events, "subagent.started");
        started[0]["data"]["model"].as_str().unwrap().to_owned()
    };
    assert!(model(&events).ends_with("other.yaml"), "{events:#?}");
    let asked = of_type(&events, "user.message");
    let prompt = asked.last().unwrap()["data"]["content"].as_str().unwrap();
    assert!(prompt.contains("<pilotdeck-subagent-model>"), "{prompt}");
    let heir = CHILD.replace(", model: scripted/other.yaml", "");
    let stage = Stage::new(&heir.replace("  - {say:", "  - {depth: 1, say: mine}\n  - {say:"));
    let (done, events) = stage.start("s", "go").wait();
    done.succeeded();
    assert!(model(&events).ends_with("script.yaml"), "{events:#?}");
}
