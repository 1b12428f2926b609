//! Prompts, steps, messages and births.

use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::{AgentId, RunId};
use offshoot_types::message::{AssistantPart, Author, Reasoning, StopReason, Timing, Usage};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{CancelledBy, Status};
use serde_json::{Value, json};

use super::log::{
    Log, blocking, ends, fails, finishes, message, says, settlement, settles, starts, tells, turn,
};

#[test]
fn a_blocking_child_is_told_in_the_order_of_the_wire() {
    assert_eq!(
        blocking().names(),
        [
            "session.start",
            "session.title_changed",
            "user.message",
            "assistant.turn_start",
            "assistant.usage",
            "assistant.message",
            "tool.execution_start",
            "subagent.started(kid)",
            "subagent.selected(kid)",
            "subagent.configured(kid)",
            "session.model_change(kid)",
            "user.message(kid)",
            "assistant.turn_start(kid)",
            "assistant.usage(kid)",
            "assistant.message(kid)",
            "assistant.turn_end(kid)",
            "subagent.completed(kid)",
            "tool.execution_complete",
            "assistant.turn_end",
            "assistant.turn_start",
            "assistant.usage",
            "assistant.message",
            "assistant.turn_end",
            "assistant.idle",
        ]
    );
}

#[test]
fn a_childs_prompt_names_its_source_and_its_answer_its_call() {
    let log = blocking();
    let prompts = log.data("user.message");
    assert_eq!(prompts[0].get("source"), None);
    assert_eq!(prompts[1]["source"], "agent-root");
    assert_eq!(prompts[1]["content"], "count");
    let messages = log.data("assistant.message");
    assert_eq!(messages[0]["originatingMessageId"], "p-root-go");
    assert_eq!(
        messages[0]["toolRequests"],
        json!([{
            "toolCallId": "c1", "name": "task", "type": "function",
            "arguments": { "a": 2, "b": 1 },
        }])
    );
    assert_eq!(messages[1]["parentToolCallId"], "c1");
    assert_eq!(messages[2]["turnId"], "1");
    let done = &log.data("tool.execution_complete")[0];
    assert_eq!(done["result"], json!({ "content": "3 files" }));
    assert_eq!(
        (&done["turnId"], &done["model"]),
        (&json!("0"), &json!("x"))
    );
}

#[test]
fn a_prompt_says_whether_it_had_to_wait() {
    let mut log = Log::asked();
    let second = log.queues("root", "second", Author::Human);
    log.add("root", says("m1", &["done"], &[]));
    log.add("root", ends(TurnEnd::Finished));
    assert!(log.data("assistant.idle").is_empty(), "the next is waiting");
    log.add("root", turn(Some(second)));
    let deliveries: Vec<Value> = (log.data("user.message").iter())
        .map(|data| data["delivery"].clone())
        .collect();
    assert_eq!(deliveries, ["idle", "queued"]);
    assert_eq!(log.data("pending_messages.modified").len(), 4);
    assert_eq!(
        log.data("session.title_changed"),
        [json!({ "title": "go" })]
    );
}

#[test]
fn a_background_child_is_announced_when_it_is_told() {
    let mut log = Log::with_task(true);
    log.add("root", says("m2", &["started"], &[]))
        .add("root", ends(TurnEnd::Finished))
        .add("kid", says("m3", &["3 files"], &[]))
        .add("kid", ends(TurnEnd::Finished))
        .add("kid", settles(Status::Completed))
        .add("root", tells("kid", Status::Completed))
        .add("root", turn(None))
        .add("root", says("m5", &["it came"], &[]));
    assert_eq!(
        log.tail(5),
        [
            "subagent.completed(kid)",
            "system.notification",
            "assistant.turn_start",
            "assistant.usage",
            "assistant.message",
        ]
    );
    let [notification]: [Value; 1] = log.data("system.notification").try_into().unwrap();
    let subagent = settlement(Status::Completed).metadata(&AgentId::new("kid"), "reader");
    assert_eq!(
        notification,
        json!({
            "content": "Agent reader (kid) ended: completed\n3 files",
            "kind": {
                "type": "agent_idle", "agentId": "kid", "agentType": "reader",
                "outcome": "completed",
            },
            "toolCallId": "call",
            "subagent": subagent,
        })
    );
    assert_eq!(
        log.data("subagent.started")[0]["executionMode"],
        "background"
    );
    // Clients find the answers to what they sent by this, also those that mail brought about.
    let answers = log.data("assistant.message");
    assert_eq!(answers.last().unwrap()["originatingMessageId"], "p-root-go");
    let usage = log.data("assistant.usage");
    let who: Vec<&Value> = usage.iter().map(|data| &data["initiator"]).collect();
    assert_eq!(who, ["user", "agent", "sub-agent", "agent"]);
}

#[test]
fn the_root_rests_only_if_nothing_is_about_to_wake_it() {
    let ended = |end, told: bool| {
        let mut log = Log::with_task(true);
        log.add("kid", settles(Status::Completed));
        if told {
            log.add("root", tells("kid", Status::Completed));
        }
        log.add("root", ends(end));
        log.data("assistant.idle")
    };
    assert!(ended(TurnEnd::Finished, false).is_empty());
    assert_eq!(ended(TurnEnd::Finished, true), [json!({})]);
    let stopped = TurnEnd::Aborted(CancelledBy::User);
    assert_eq!(ended(stopped, false), [json!({ "aborted": true })]);
}

#[test]
fn a_grandchild_names_the_agent_that_spawned_it() {
    let mut log = Log::with_task(false);
    log.add("kid", says("m2", &[], &[("c2", "task")]));
    log.add("kid", starts("c2", Some("grandkid")));
    log.born("grandkid", "kid", "c2", false);
    let started = log.data("subagent.started");
    assert_eq!(started[0].get("parentId"), None);
    assert_eq!(started[1]["parentId"], "kid");
    let prompts = log.data("user.message");
    assert_eq!(prompts[2]["source"], "agent-kid");
}

#[test]
fn a_call_that_never_started_gets_a_start_before_its_end() {
    let mut log = Log::asked();
    log.add("root", says("m1", &[], &[("c1", "nothing")]));
    let text = "there is no tool nothing";
    log.add("root", fails("c1", ErrorKind::UnknownTool, text));
    assert_eq!(
        log.tail(4),
        [
            "tool.execution_start",
            "tool.execution_complete",
            "assistant.turn_end",
            "assistant.turn_start",
        ]
    );
    let done = &log.data("tool.execution_complete")[0];
    assert_eq!(done["success"], false);
    assert_eq!(
        done["error"],
        json!({ "message": text, "code": "failure", "kind": "unknown_tool" })
    );
}

#[test]
fn a_step_that_is_stopped_in_its_calls_ends_once_and_none_follows() {
    let mut log = Log::asked();
    log.add("root", says("m1", &[], &[("c1", "bash")]));
    log.add("root", starts("c1", None));
    log.add("root", fails("c1", ErrorKind::Cancelled, "cancelled"));
    let mut stopped = Log {
        entries: log.entries.clone(),
    };
    stopped.add("root", ends(TurnEnd::Aborted(CancelledBy::User)));
    assert_eq!(
        stopped.tail(4),
        [
            "tool.execution_complete",
            "abort",
            "assistant.turn_end",
            "assistant.idle"
        ]
    );
    // Only the call was stopped: the turn goes on, and so do the steps.
    log.add("root", says("m2", &["well"], &[]));
    assert_eq!(
        log.tail(5),
        [
            "tool.execution_complete",
            "assistant.turn_end",
            "assistant.turn_start",
            "assistant.usage",
            "assistant.message",
        ]
    );
    assert_eq!(log.data("assistant.message")[1]["turnId"], "1");
}

#[test]
fn thinking_is_told_before_and_beside_the_words() {
    let mut log = Log::asked();
    let mut said = message("m1", &["yes"], &[]);
    let thinking = Reasoning {
        text: "hm".to_owned(),
        raw: None,
    };
    said.parts.insert(0, AssistantPart::Reasoning(thinking));
    log.add("root", Event::Replied(said));
    assert_eq!(
        log.tail(3),
        [
            "assistant.usage",
            "assistant.reasoning",
            "assistant.message"
        ]
    );
    let reasoning = json!({ "reasoningId": "m1", "content": "hm" });
    assert_eq!(log.data("assistant.reasoning"), [reasoning]);
    let said = &log.data("assistant.message")[0];
    assert_eq!(
        (&said["reasoningText"], &said["content"]),
        (&json!("hm"), &json!("yes"))
    );
}

#[test]
fn usage_says_how_long_it_took_and_why_the_model_stopped() {
    let usage = |stop, timing| {
        let mut log = Log::asked();
        let mut said = message("m1", &["yes"], &[]);
        said.stop = stop;
        said.timing = timing;
        said.usage.reasoning = 3;
        log.add("root", Event::Replied(said));
        log.data("assistant.usage")[0].clone()
    };
    let timing = Timing {
        first_ms: Some(40),
        total_ms: 1200,
    };
    assert_eq!(
        usage(StopReason::Length, Some(timing)),
        json!({
            "model": "x", "inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 0,
            "cacheWriteTokens": 0, "reasoningTokens": 3, "duration": 1200,
            "timeToFirstTokenMs": 40, "initiator": "user", "finishReason": "length",
            "interactionType": "conversation-agent",
        })
    );
    let cut = usage(StopReason::Cut, None);
    assert_eq!((cut.get("finishReason"), cut.get("duration")), (None, None));
}

#[test]
fn what_a_command_ended_with_is_told() {
    let mut log = Log::asked();
    log.add("root", says("m1", &[], &[("c1", "bash")]));
    let Event::CallFinished {
        call,
        mut outcome,
        delivers,
    } = finishes("c1", json!("[exit code 2]"))
    else {
        unreachable!()
    };
    outcome.metadata.extra.insert("exit_code", &2);
    log.add(
        "root",
        Event::CallFinished {
            call,
            outcome,
            delivers,
        },
    );
    let done = &log.data("tool.execution_complete")[0];
    assert_eq!(done["shellExecution"], json!({ "exitCode": 2 }));
}

#[test]
fn ses_06_what_was_taken_back_keeps_nobody_from_resting() {
    let mut log = Log::with_task(true);
    log.add("root", says("m2", &["started"], &[]));
    let waits = log.queues("root", "more", Author::Human);
    log.add("root", ends(TurnEnd::Aborted(CancelledBy::User)))
        .add("kid", ends(TurnEnd::Aborted(CancelledBy::User)))
        .add("kid", settles(Status::Cancelled(CancelledBy::User)));
    log.add(
        "root",
        Event::Rewound {
            to: None,
            hides: vec![waits],
            drops: vec![AgentId::new("kid")],
            consumes: vec![RunId::first(AgentId::new("kid"))],
            counts: Usage::default(),
        },
    );
    // The child is asked something by somebody else, and ends; nobody is told.
    log.asks("kid", "again", Author::Human)
        .add("kid", says("m3", &["well"], &[]))
        .add("kid", ends(TurnEnd::Finished))
        .add("kid", settles(Status::Completed));
    log.asks("root", "next", Author::Human)
        .add("root", says("m4", &["here"], &[]))
        .add("root", ends(TurnEnd::Finished));
    let names = log.names();
    assert_eq!(names.last().map(String::as_str), Some("assistant.idle"));
    assert_eq!(log.data("session.info")[0]["infoType"], "rewind");
}
