//! Events of small hand-made logs.

use offshoot_types::event::Profile;
use offshoot_types::id::{RunNo, Seq, TurnNo};
use offshoot_types::message::{Call, Reasoning, StopReason, Usage};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::Layer;
use serde_json::{Value, json};

use super::*;

/// A log that is being written.
#[derive(Default)]
struct Log {
    entries: Vec<Entry>,
}

impl Log {
    fn add(&mut self, agent: &str, event: Event) -> &mut Self {
        let pos = Pos::new(self.entries.len() as u64 + 1);
        self.entries.push(Entry {
            tree: TreeId::of(AgentId::new("root")),
            pos,
            agent: AgentId::new(agent),
            // Places in an agent's log are not looked at here.
            seq: Seq::new(1),
            at: Timestamp::new(1_794_768_095_000 + pos.get()),
            event,
        });
        self
    }

    /// A root that was asked something and calls `task` once.
    fn with_task(background: bool) -> Self {
        let mut log = Self::default();
        log.add("root", root());
        asks(&mut log, "root", "go", Author::Human);
        log.add("root", says("m1", &["spawning"], &[("c1", "task")]));
        log.add("root", starts("c1", Some("kid")));
        born(&mut log, "kid", "root", "c1", background);
        if background {
            log.add("root", finishes("c1", json!({ "session_id": "kid" })));
        }
        log
    }

    fn events(&self) -> Vec<Value> {
        let mut fold = Fold::new(TreeId::of(AgentId::new("root")));
        let events = self.entries.iter().flat_map(|entry| fold.entry(entry));
        events
            .map(|event| serde_json::to_value(&event).unwrap())
            .collect()
    }

    /// `type` of each event, with `(agentId)` behind those of a child.
    fn names(&self) -> Vec<String> {
        let name = |event: &Value| {
            let agent = event["agentId"].as_str().map(|agent| format!("({agent})"));
            let kind = event["type"].as_str().unwrap();
            format!("{kind}{}", agent.unwrap_or_default())
        };
        self.events().iter().map(name).collect()
    }

    /// `data` of the events of a type.
    fn data(&self, kind: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["type"] == kind);
        events.iter().map(|event| event["data"].clone()).collect()
    }
}

fn spawned(origin: Origin, depth: u32) -> Event {
    Event::Spawned(Box::new(Spawned {
        definition: if depth == 0 { "build" } else { "reader" }.to_owned(),
        origin,
        depth,
        model: "scripted/x".to_owned(),
        layer: Layer::default(),
        inspectable: false,
        profile: Profile::default(),
        metadata: None,
    }))
}

fn root() -> Event {
    let origin = Origin::Session {
        workspace: "/book".to_owned(),
        date: "2026-11-15".to_owned(),
    };
    spawned(origin, 0)
}

fn born(log: &mut Log, child: &str, parent: &str, call: &str, background: bool) {
    let origin = Origin::Task(Parent {
        agent: AgentId::new(parent),
        call: CallId::new(call),
        message: MessageId::new("p"),
        background,
    });
    log.add(child, spawned(origin, 1));
    asks(log, child, "count", Author::Parent);
}

fn asks(log: &mut Log, agent: &str, text: &str, from: Author) {
    let id = MessageId::new(format!("p-{agent}-{text}"));
    let message = UserMessage {
        id: id.clone(),
        text: text.to_owned(),
        from,
        metadata: None,
    };
    log.add(agent, Event::Prompted(message));
    log.add(agent, turn(Some(id)));
}

fn turn(prompt: Option<MessageId>) -> Event {
    Event::TurnStarted {
        run: RunNo::new(1),
        turn: TurnNo::new(1),
        prompt,
    }
}

fn says(id: &str, texts: &[&str], calls: &[(&str, &str)]) -> Event {
    let texts = texts
        .iter()
        .map(|text| AssistantPart::Text((*text).to_owned()));
    let calls = calls.iter().map(|(id, tool)| {
        AssistantPart::Call(Call {
            id: CallId::new(*id),
            tool: (*tool).to_owned(),
            arguments: Arguments::Json(RawJson::parse(r#"{"b": 1, "a": 2}"#.to_owned()).unwrap()),
        })
    });
    Event::Replied(AssistantMessage {
        id: MessageId::new(id),
        parts: texts.chain(calls).collect(),
        model: "x".to_owned(),
        usage: Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        },
        stop: StopReason::End,
        timing: None,
    })
}

fn starts(call: &str, child: Option<&str>) -> Event {
    Event::CallStarted {
        call: CallId::new(call),
        child: child.map(AgentId::new),
    }
}

fn finishes(call: &str, data: Value) -> Event {
    Event::CallFinished {
        call: CallId::new(call),
        outcome: Outcome::output(RawJson::of(&data)),
        delivers: Vec::new(),
    }
}

fn ends(end: TurnEnd) -> Event {
    Event::TurnEnded {
        turn: TurnNo::new(1),
        end,
    }
}

fn settlement(status: Status) -> Settlement {
    Settlement {
        status,
        output: Some("3 files".to_owned()),
        output_path: None,
        usage: Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        },
        steps: 1,
        duration_ms: 7,
    }
}

fn settles(status: Status) -> Event {
    Event::Settled {
        run: RunNo::new(1),
        settlement: settlement(status),
    }
}

/// The kid answers, and the root with it.
fn blocking() -> Log {
    let mut log = Log::with_task(false);
    log.add("kid", says("m2", &["3 files"], &[]))
        .add("kid", ends(TurnEnd::Finished))
        .add("kid", settles(Status::Completed))
        .add("root", finishes("c1", json!({ "output": "3 files" })))
        .add("root", says("m3", &["There are 3."], &[]))
        .add("root", ends(TurnEnd::Finished))
        .add("root", settles(Status::Completed));
    log
}

#[test]
fn a_blocking_child_is_told_in_the_order_of_the_wire() {
    assert_eq!(
        blocking().names(),
        [
            "session.start",
            "user.message",
            "assistant.turn_start",
            "assistant.usage",
            "assistant.message",
            "tool.execution_start",
            "subagent.started(kid)",
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
        ]
    );
}

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
            assert_eq!(event["type"], "assistant.usage");
        }
    }
}

#[test]
fn a_child_is_named_on_each_of_its_events_and_the_root_on_none() {
    let log = blocking();
    let mut fold = Fold::new(TreeId::of(AgentId::new("root")));
    for entry in &log.entries {
        let expected = (entry.agent.as_str() != "root").then(|| entry.agent.clone());
        for event in fold.entry(entry) {
            assert_eq!(event.agent_id, expected, "{event:?}");
            assert_eq!(event.session_id.as_str(), "root");
        }
    }
}

#[test]
fn the_same_log_gives_the_same_lines() {
    let lines = |log: &Log| {
        let events = log.events();
        events.iter().map(Value::to_string).collect::<Vec<_>>()
    };
    assert_eq!(lines(&blocking()), lines(&blocking()));
    let mut ids: Vec<String> = blocking()
        .events()
        .iter()
        .map(|event| event["id"].to_string())
        .collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are not repeated");
}

#[test]
fn an_event_has_its_fields_in_the_documented_order() {
    let mut fold = Fold::new(TreeId::of(AgentId::new("root")));
    let log = blocking();
    let events: Vec<WireEvent> = log
        .entries
        .iter()
        .flat_map(|entry| fold.entry(entry))
        .collect();
    let line = serde_json::to_string(&events[9]).unwrap();
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
fn a_childs_prompt_names_its_source_and_its_answer_its_call() {
    let log = blocking();
    assert_eq!(
        log.data("user.message"),
        [
            json!({ "content": "go", "messageId": "p-root-go" }),
            json!({ "content": "count", "messageId": "p-kid-count", "source": "agent-root" }),
        ]
    );
    let messages = log.data("assistant.message");
    assert_eq!(
        messages[0],
        json!({
            "messageId": "m1", "originatingMessageId": "p-root-go", "model": "x",
            "content": "spawning", "turnId": "0", "outputTokens": 5,
            "toolRequests": [{
                "toolCallId": "c1", "name": "task", "type": "function",
                "arguments": { "a": 2, "b": 1 },
            }],
        })
    );
    assert_eq!(messages[1]["parentToolCallId"], "c1");
    assert_eq!(messages[2]["turnId"], "1");
    assert_eq!(
        log.data("tool.execution_complete"),
        [json!({ "toolCallId": "c1", "success": true, "result": { "content": "3 files" } })]
    );
    assert_eq!(
        log.data("subagent.completed"),
        [json!({
            "toolCallId": "c1", "agentName": "reader", "agentDisplayName": "reader",
            "model": "scripted/x", "totalToolCalls": 0, "totalTokens": 15, "durationMs": 7,
        })]
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
        .add(
            "root",
            Event::Completion {
                message: MessageId::new("m4"),
                run: RunId {
                    agent: AgentId::new("kid"),
                    run: RunNo::new(1),
                },
                definition: "reader".to_owned(),
                settlement: settlement(Status::Completed),
            },
        )
        .add("root", turn(None))
        .add("root", says("m5", &["it came"], &[]));
    let names = log.names();
    let tail = &names[names.len() - 5..];
    assert_eq!(
        tail,
        [
            "subagent.completed(kid)",
            "system.notification",
            "assistant.turn_start",
            "assistant.usage",
            "assistant.message",
        ]
    );
    assert_eq!(
        log.data("system.notification"),
        [json!({
            "content": "Agent reader (kid) ended: completed\n3 files",
            "kind": {
                "type": "agent_completed", "agentId": "kid", "agentType": "reader",
                "status": "completed",
            },
        })]
    );
    assert_eq!(
        log.data("subagent.started")[0]["executionMode"],
        "background"
    );
    let answers = log.data("assistant.message");
    assert_eq!(answers.last().unwrap()["originatingMessageId"], "m4");
}

#[test]
fn a_grandchild_names_the_agent_that_spawned_it() {
    let mut log = Log::with_task(false);
    log.add("kid", says("m2", &[], &[("c2", "task")]));
    log.add("kid", starts("c2", Some("grandkid")));
    born(&mut log, "grandkid", "kid", "c2", false);
    let started = log.data("subagent.started");
    assert_eq!(started[0].get("parentId"), None);
    assert_eq!(started[1]["parentId"], "kid");
    let prompts = log.data("user.message");
    assert_eq!(prompts[2]["source"], "agent-kid");
}

#[test]
fn a_call_that_never_started_gets_a_start_before_its_end() {
    let mut log = Log::default();
    log.add("root", root());
    asks(&mut log, "root", "go", Author::Human);
    log.add("root", says("m1", &[], &[("c1", "nothing")]));
    log.add(
        "root",
        Event::CallFinished {
            call: CallId::new("c1"),
            outcome: Outcome::error(ErrorKind::UnknownTool, "there is no tool nothing"),
            delivers: Vec::new(),
        },
    );
    let names = log.names();
    assert_eq!(
        names[5..],
        [
            "tool.execution_start",
            "tool.execution_complete",
            "assistant.turn_end",
            "assistant.turn_start",
        ]
    );
    assert_eq!(
        log.data("tool.execution_complete"),
        [json!({
            "toolCallId": "c1", "success": false,
            "error": { "message": "there is no tool nothing", "code": "unknown_tool" },
        })]
    );
}

#[test]
fn how_a_child_ended_decides_between_completed_and_failed() {
    let ended = |status| {
        let mut log = Log::with_task(false);
        log.add("kid", settles(status));
        let events = log.events();
        let last = events.last().unwrap();
        let kind = last["type"].as_str().unwrap().to_owned();
        (
            kind,
            last["data"]["cancelled"].clone(),
            last["data"]["error"].clone(),
        )
    };
    let failed = Status::Failed {
        kind: FailureKind::Model,
        message: "no answer".to_owned(),
    };
    let lost = Status::Lost {
        why: "gone".to_owned(),
    };
    let name = |word: &str| format!("subagent.{word}");
    assert_eq!(
        ended(Status::Cancelled(CancelledBy::Ancestor)),
        (name("completed"), json!(true), Value::Null)
    );
    assert_eq!(
        ended(failed),
        (name("failed"), Value::Null, json!("no answer"))
    );
    assert_eq!(ended(lost), (name("failed"), Value::Null, json!("gone")));
}

#[test]
fn a_turn_that_went_wrong_says_so_before_it_ends() {
    let tail = |end| {
        let mut log = Log::with_task(false);
        log.add("kid", ends(end));
        let events = log.events();
        let (said, ended) = (&events[events.len() - 2], &events[events.len() - 1]);
        assert_eq!(ended["type"], "assistant.turn_end");
        (said["type"].clone(), said["data"].clone())
    };
    assert_eq!(
        tail(TurnEnd::Aborted(CancelledBy::User)),
        (json!("abort"), json!({ "reason": "user_initiated" }))
    );
    let failed = TurnEnd::Failed {
        kind: FailureKind::Model,
        message: "500".to_owned(),
    };
    assert_eq!(
        tail(failed),
        (
            json!("session.error"),
            json!({ "errorType": "model", "message": "500" })
        )
    );
}

#[test]
fn what_a_call_says_is_shown_once_also_after_a_lag() {
    let mut log = Log::with_task(false);
    log.add("kid", says("m2", &[], &[("c2", "bash"), ("c3", "bash")]));
    let mut fold = Fold::new(TreeId::of(AgentId::new("root")));
    log.entries.iter().for_each(|entry| drop(fold.entry(entry)));
    let piece = |call: &str, offset: usize, text: &str| Output {
        agent: AgentId::new("kid"),
        call: CallId::new(call),
        offset,
        text: text.to_owned(),
    };
    let at = Timestamp::new(0);
    let mut shown = Vec::new();
    for output in [
        piece("c2", 0, "1\n"),
        piece("c3", 0, "other"),
        piece("c2", 2, "2\n"),
        // What a subscriber gets that lagged or joined: the end, as far as it is kept.
        piece("c2", 0, "1\n2\n"),
        piece("c2", 2, "2\n3\n"),
        // Of what fell out meanwhile nothing can be shown.
        piece("c2", 90, "99\n"),
    ] {
        shown.extend(fold.output(&output, at));
    }
    let texts: Vec<Value> = shown
        .iter()
        .map(|event| serde_json::to_value(event).unwrap()["data"]["partialOutput"].clone())
        .collect();
    assert_eq!(texts, ["1\n", "other", "2\n", "3\n", "99\n"]);
    log.add("kid", finishes("c2", json!("done")));
    fold.entry(log.entries.last().unwrap());
    assert_eq!(fold.heard.len(), 1, "{:?}", fold.heard);
}

#[test]
fn deltas_are_shown_once_and_break_no_chain() {
    let log = Log::with_task(false);
    let mut fold = Fold::new(TreeId::of(AgentId::new("root")));
    let stored: Vec<WireEvent> = log
        .entries
        .iter()
        .flat_map(|entry| fold.entry(entry))
        .collect();
    let last = stored.last().map(|event| event.id);
    let piece = |offset: usize, text: &str| Delta {
        agent: AgentId::new("kid"),
        message: MessageId::new("m2"),
        kind: DeltaKind::Text,
        offset,
        text: text.to_owned(),
    };
    let at = Timestamp::new(0);
    let mut shown = Vec::new();
    for delta in [
        piece(0, "3 "),
        piece(2, "fi"),
        piece(0, "3 fi"),
        piece(0, "3 files"),
    ] {
        shown.extend(fold.delta(&delta, at));
    }
    shown.push(fold.idle(at));
    let texts: Vec<Value> = shown
        .iter()
        .map(|event| serde_json::to_value(event).unwrap()["data"]["deltaContent"].clone())
        .collect();
    assert_eq!(texts, [json!("3 "), json!("fi"), json!("les"), Value::Null]);
    assert!(shown.iter().all(|event| event.parent_id == last));
    assert!(shown.iter().all(|event| event.ephemeral == Some(true)));
    let mut ids: Vec<Uuid> = shown.iter().map(|event| event.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn thinking_is_told_beside_the_words() {
    let mut log = Log::default();
    log.add("root", root());
    asks(&mut log, "root", "go", Author::Human);
    let thinking = AssistantPart::Reasoning(Reasoning {
        text: "hm".to_owned(),
        raw: None,
    });
    let Event::Replied(mut message) = says("m1", &["yes"], &[]) else {
        unreachable!()
    };
    message.parts.insert(0, thinking);
    log.add("root", Event::Replied(message));
    let said = &log.data("assistant.message")[0];
    assert_eq!(
        (&said["reasoningText"], &said["content"]),
        (&json!("hm"), &json!("yes"))
    );
}
