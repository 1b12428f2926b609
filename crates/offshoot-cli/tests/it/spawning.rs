//! `task` calls that go wrong are answers to the model, and the parent goes on.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stage::{Stage, of_type};

fn results(events: &[Value]) -> BTreeMap<String, Value> {
    of_type(events, "tool.execution_complete")
        .into_iter()
        .map(|event| {
            let data = &event["data"];
            (
                data["toolCallId"].as_str().unwrap().to_owned(),
                data.clone(),
            )
        })
        .collect()
}

#[test]
fn wrong_arguments_are_told_to_the_model() {
    let script = "
        replies:
          - depth: 0
            after_tools: false
            call:
              - {id: missing, tool: task, arguments: {subagent_type: general}}
              - {id: primary, tool: task, arguments: {subagent_type: build, prompt: x}}
              - {id: unknown, tool: task, arguments: {subagent_type: nobody, prompt: x}}
              - {id: huge, tool: task, arguments: {subagent_type: general, prompt: HUGE}}
              - {id: extra, tool: task, arguments: {subagent_type: general, prompt: x, colour: red}}
              - {id: good, tool: task, arguments: {subagent_type: general, prompt: x}}
          - {depth: 0, say: I go on}
          - {say: done}
    ";
    let stage = Stage::new(&script.replace("HUGE", &"a".repeat(10_000_000)));
    let args = ["run", "--model", "scripted/script.yaml", "--json", "go"];
    let events = stage.offshoot(args).succeeded().events();
    let results = results(&events);
    let check = |call: &str, kind: &str, about: &str| {
        let error = &results[call]["error"];
        assert_eq!(error["kind"], kind, "{call}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(about), "{call}: {message}");
    };
    check("missing", "invalid_input", "missing field `prompt`");
    check("primary", "wrong_mode", "explore, general, plan");
    check("unknown", "unknown_agent", "there is no agent nobody");
    check("huge", "invalid_input", "10000000 bytes");
    check("extra", "invalid_input", "unknown field `colour`");
    assert_eq!(results["good"]["result"]["content"], "done");
    assert_eq!(of_type(&events, "subagent.started").len(), 1);
    let answers = of_type(&events, "assistant.message");
    assert_eq!(answers.last().unwrap()["data"]["content"], "I go on");
}

#[test]
fn of_five_hundred_children_as_many_start_as_may_and_the_rest_are_told() {
    let stage = Stage::new(
        "
        replies:
          - depth: 0
            after_tools: false
            call: [{tool: task, count: 500, arguments: {subagent_type: general, prompt: 'part {i}'}}]
          - {depth: 0, say: all done}
          - {say: '{prompt}'}
        ",
    );
    let args = ["run", "--model", "scripted/script.yaml", "--json", "go"];
    let events = stage.offshoot(args).succeeded().events();
    let results = results(&events);
    let (granted, told): (Vec<_>, Vec<_>) = results
        .values()
        .partition(|result| result["success"] == true);
    assert_eq!((granted.len(), told.len()), (256, 244));
    assert!(told.iter().all(|result| result["error"]["kind"] == "caps"));
    assert_eq!(of_type(&events, "subagent.started").len(), 256);
    assert_eq!(of_type(&events, "subagent.completed").len(), 256);
    assert_eq!(of_type(&events, "session.idle").len(), 1);
}

#[test]
fn agents_nest_as_deep_as_they_may() {
    let stage = Stage::new(
        "
        replies:
          - {results: [{tool: task, failed: true}], say: 'the end is at {depth}'}
          - {after_tools: true, say: '{output}'}
          - call: [{tool: task, arguments: {subagent_type: general, prompt: deeper}}]
        ",
    );
    assert_eq!(stage.run("go").succeeded().stdout, "the end is at 5\n");
}
