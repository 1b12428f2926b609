//! Ruling 5: a `toolCallId` is unique in its tree, and the same in every event of its call.

use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::{AgentId, CallId, Timestamp};
use offshoot_types::live::Output;
use offshoot_types::permission::{Action, Decision};
use offshoot_types::settlement::Status;
use serde_json::{Value, json};

use super::log::{Log, ends, finishes, returns, says, settles, starts};

/// Root, kid and grandchild call their only tool by the id `call_0`, as local models do.
fn three_generations() -> Log {
    let mut log = Log::asked();
    log.add("root", says("m1", &[], &[("call_0", "task")]))
        .add("root", starts("call_0", Some("kid")));
    log.born("kid", "root", "call_0", false);
    log.add("kid", says("m2", &[], &[("call_0", "task")]))
        .add("kid", starts("call_0", Some("deep")));
    log.born("deep", "kid", "call_0", false);
    log.add(
        "deep",
        says("m3", &[], &[("call_0", "bash"), ("own", "read")]),
    )
    .add("deep", asked("call_0"))
    .add("deep", decided("call_0"))
    .add("deep", starts("call_0", None))
    .add("deep", starts("own", None));
    log
}

fn finished() -> Log {
    let mut log = three_generations();
    log.add("deep", finishes("call_0", json!("x")))
        .add("deep", finishes("own", json!("y")))
        .add("deep", says("m4", &["deep"], &[]))
        .add("deep", ends(TurnEnd::Finished))
        .add("deep", settles(Status::Completed))
        .add("kid", returns("call_0", "deep", "deep"))
        .add("kid", ends(TurnEnd::Finished))
        .add("kid", settles(Status::Completed))
        .add("root", returns("call_0", "kid", "kid"));
    log
}

fn decision(action: Action) -> Decision {
    Decision {
        action,
        layer: "default".to_owned(),
        rule: None,
    }
}

fn asked(call: &str) -> Event {
    Event::Asked {
        call: CallId::new(call),
        needs: Vec::new(),
        decision: decision(Action::Ask),
        tool: "bash".to_owned(),
        questions: Vec::new(),
        deadline: None,
        waits_for_client: false,
    }
}

fn decided(call: &str) -> Event {
    Event::Decided {
        call: CallId::new(call),
        decision: decision(Action::Allow),
        grant: None,
        reason: None,
    }
}

/// The values of a field in the events of a type.
fn each(log: &Log, kind: &str, field: &str) -> Vec<Value> {
    let data = log.data(kind);
    data.iter().map(|data| data[field].clone()).collect()
}

#[test]
fn ruling_5_the_same_id_of_two_agents_is_two_ids_on_the_wire() {
    let log = finished();
    let requested: Vec<Value> = log
        .data("assistant.message")
        .iter()
        .filter_map(|data| data["toolRequests"].as_array())
        .flatten()
        .map(|request| request["toolCallId"].clone())
        .collect();
    assert_eq!(
        requested,
        ["call_0", "kid/call_0", "deep/call_0", "own"].map(Value::from),
        "the first call with an id keeps it, and an id that is unique stays"
    );
    let started = each(&log, "tool.execution_start", "toolCallId");
    assert_eq!(started, requested);
    let mut completed = each(&log, "tool.execution_complete", "toolCallId");
    completed.sort_by_key(ToString::to_string);
    let mut all = requested;
    all.sort_by_key(ToString::to_string);
    assert_eq!(completed, all);
}

#[test]
fn ruling_5_a_child_starts_and_ends_under_the_id_of_the_call_that_made_it() {
    let log = finished();
    let ids = |kind| each(&log, kind, "toolCallId");
    assert_eq!(ids("subagent.started"), ["call_0", "kid/call_0"]);
    assert_eq!(ids("subagent.completed"), ["kid/call_0", "call_0"]);
    let below = each(&log, "tool.execution_start", "parentToolCallId");
    assert_eq!(
        below,
        [
            Value::Null,
            json!("call_0"),
            json!("kid/call_0"),
            json!("kid/call_0")
        ]
    );
}

#[test]
fn ruling_5_what_is_asked_and_printed_for_a_call_has_its_id() {
    let log = three_generations();
    let requested = &log.data("permission.requested")[0];
    let completed = &log.data("permission.completed")[0];
    assert_eq!(
        requested["permissionRequest"]["toolCallId"], "deep/call_0",
        "{requested}"
    );
    assert_eq!(completed["toolCallId"], "deep/call_0", "{completed}");
    let (mut fold, _) = log.fold();
    let output = Output {
        agent: AgentId::new("deep"),
        call: CallId::new("call_0"),
        offset: 0,
        text: "line".to_owned(),
    };
    let event = fold.output(&output, Timestamp::new(0)).unwrap();
    let event = serde_json::to_value(&event).unwrap();
    assert_eq!(event["data"]["toolCallId"], "deep/call_0");
}

#[test]
fn ruling_5_a_prefix_of_the_log_gives_the_ids_of_the_whole() {
    let whole = finished();
    let events = whole.events();
    for length in 0..=whole.entries.len() {
        let entries = whole.entries[..length].to_vec();
        let prefix = Log { entries }.events();
        assert_eq!(prefix, events[..prefix.len()]);
    }
}

#[test]
fn ruling_5_an_id_that_looks_qualified_is_not_given_twice() {
    let mut log = Log::asked();
    log.add(
        "root",
        says(
            "m1",
            &[],
            &[("c", "task"), ("kid/c", "read"), ("kid/c/2", "read")],
        ),
    );
    log.born("kid", "root", "c", false);
    log.add("kid", says("m2", &[], &[("c", "read")]))
        .add("kid", starts("c", None));
    assert_eq!(
        each(&log, "tool.execution_start", "toolCallId"),
        ["kid/c/3"]
    );
}
