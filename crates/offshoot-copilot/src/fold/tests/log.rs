//! Short ways to write down a log and to read its events.

use offshoot_types::event::{Entry, Event, Origin, Parent, Profile, Spawned, TurnEnd};
use offshoot_types::id::{
    AgentId, CallId, MessageId, Pos, RunId, RunNo, Seq, Timestamp, TreeId, TurnNo,
};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    Arguments, AssistantMessage, AssistantPart, Author, Call, StopReason, Usage, UserMessage,
};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Layer;
use offshoot_types::settlement::{Settlement, Status};
use serde_json::Value;

use crate::Fold;
use crate::wire::WireEvent;

/// A log that is being written.
#[derive(Default)]
pub(super) struct Log {
    pub(super) entries: Vec<Entry>,
}

impl Log {
    /// A root that has been asked something.
    pub(super) fn asked() -> Self {
        let mut log = Self::default();
        log.add("root", root());
        log.asks("root", "go", Author::Human);
        log
    }

    /// A root that was asked something and calls `task` once.
    pub(super) fn with_task(background: bool) -> Self {
        let mut log = Self::asked();
        log.add("root", says("m1", &["spawning"], &[("c1", "task")]));
        log.add("root", starts("c1", Some("kid")));
        log.born("kid", "root", "c1", background);
        if background {
            let handle = serde_json::json!({ "session_id": "kid" });
            log.add("root", finishes("c1", handle));
        }
        log
    }

    pub(super) fn add(&mut self, agent: &str, event: Event) -> &mut Self {
        let pos = Pos::new(self.entries.len() as u64 + 1);
        self.entries.push(Entry {
            tree: tree(),
            pos,
            agent: AgentId::new(agent),
            // Places in an agent's log are not looked at here.
            seq: Seq::new(1),
            at: Timestamp::new(1_794_768_095_000 + pos.get()),
            event,
        });
        self
    }

    pub(super) fn asks(&mut self, agent: &str, text: &str, from: Author) -> &mut Self {
        let id = self.queues(agent, text, from);
        self.add(agent, turn(Some(id)))
    }

    pub(super) fn queues(&mut self, agent: &str, text: &str, from: Author) -> MessageId {
        let id = MessageId::new(format!("p-{agent}-{text}"));
        let message = UserMessage {
            id: id.clone(),
            text: text.into(),
            from,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        };
        self.add(agent, Event::Prompted(message));
        id
    }

    pub(super) fn born(&mut self, child: &str, parent: &str, call: &str, background: bool) {
        let origin = Origin::Task(Parent {
            agent: AgentId::new(parent),
            call: CallId::new(call),
            message: MessageId::new("p"),
            background,
            host: false,
        });
        self.add(child, spawned(origin, 1));
        self.asks(child, "count", Author::Parent);
    }

    pub(super) fn fold(&self) -> (Fold, Vec<WireEvent>) {
        let mut fold = Fold::new(tree());
        let events = self.entries.iter().flat_map(|entry| fold.entry(entry));
        let events = events.collect();
        (fold, events)
    }

    pub(super) fn events(&self) -> Vec<Value> {
        let (_, events) = self.fold();
        let value = |event: &WireEvent| serde_json::to_value(event).unwrap();
        events.iter().map(value).collect()
    }

    /// `type` of each event that is not only a hint, with `(agentId)` behind those of a child.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for event in self.events() {
            let kind = event["type"].as_str().unwrap();
            if kind == "pending_messages.modified" || kind == "session.background_tasks_changed" {
                assert_eq!(event["data"], serde_json::json!({}));
                continue;
            }
            let agent = event["agentId"].as_str().map(|agent| format!("({agent})"));
            names.push(format!("{kind}{}", agent.unwrap_or_default()));
        }
        names
    }

    /// The last of the names.
    pub(super) fn tail(&self, count: usize) -> Vec<String> {
        let names = self.names();
        names[names.len() - count..].to_vec()
    }

    /// `data` of the events of a type.
    pub(super) fn data(&self, kind: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["type"] == kind);
        events.iter().map(|event| event["data"].clone()).collect()
    }
}

pub(super) fn tree() -> TreeId {
    TreeId::of(AgentId::new("root"))
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
        terms: offshoot_types::terms::Terms::default(),
        metadata: None,
    }))
}

pub(super) fn root() -> Event {
    let origin = Origin::Session {
        workspace: "/book".to_owned(),
        date: "2026-11-15".to_owned(),
        project: None,
        copy: None,
    };
    spawned(origin, 0)
}

pub(super) fn turn(prompt: Option<MessageId>) -> Event {
    Event::TurnStarted {
        run: RunNo::new(1),
        turn: TurnNo::new(1),
        prompt,
    }
}

pub(super) fn message(id: &str, texts: &[&str], calls: &[(&str, &str)]) -> AssistantMessage {
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
    AssistantMessage {
        id: MessageId::new(id),
        parts: texts.chain(calls).collect(),
        model: "x".to_owned(),
        usage: Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        },
        estimated: false,
        cost: None,
        stop: StopReason::End,
        timing: None,
        request: None,
        by_runtime: false,
    }
}

pub(super) fn says(id: &str, texts: &[&str], calls: &[(&str, &str)]) -> Event {
    Event::Replied(message(id, texts, calls))
}

pub(super) fn starts(call: &str, child: Option<&str>) -> Event {
    Event::CallStarted {
        call: CallId::new(call),
        child: child.map(AgentId::new),
    }
}

pub(super) fn finishes(call: &str, data: Value) -> Event {
    Event::CallFinished {
        call: CallId::new(call),
        outcome: Outcome::output(RawJson::of(&data)),
        delivers: Vec::new(),
    }
}

/// A call that waited for a child.
pub(super) fn returns(call: &str, child: &str, words: &str) -> Event {
    let data = serde_json::json!({ "output": words });
    Event::CallFinished {
        call: CallId::new(call),
        outcome: Outcome::output(RawJson::of(&data)),
        delivers: vec![RunId::first(AgentId::new(child))],
    }
}

pub(super) fn fails(call: &str, kind: ErrorKind, text: &str) -> Event {
    Event::CallFinished {
        call: CallId::new(call),
        outcome: Outcome::error(kind, text),
        delivers: Vec::new(),
    }
}

pub(super) fn ends(end: TurnEnd) -> Event {
    Event::TurnEnded {
        turn: TurnNo::new(1),
        end,
    }
}

pub(super) fn settlement(status: Status) -> Settlement {
    Settlement {
        output: Some("3 files".to_owned()),
        usage: Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        },
        steps: 1,
        duration_ms: 7,
        ..Settlement::new(status)
    }
}

pub(super) fn settles(status: Status) -> Event {
    Event::Settled {
        run: RunNo::new(1),
        settlement: settlement(status),
        untold: false,
    }
}

pub(super) fn tells(agent: &str, status: Status) -> Event {
    Event::Completion {
        message: MessageId::new("told"),
        run: RunId {
            agent: AgentId::new(agent),
            run: RunNo::new(1),
        },
        definition: "reader".to_owned(),
        call: Some(CallId::new("call")),
        settlement: settlement(status),
        quiet: false,
    }
}

/// The kid answers, and the root with it.
pub(super) fn blocking() -> Log {
    let mut log = Log::with_task(false);
    log.add("kid", says("m2", &["3 files"], &[]))
        .add("kid", ends(TurnEnd::Finished))
        .add("kid", settles(Status::Completed))
        .add("root", returns("c1", "kid", "3 files"))
        .add("root", says("m3", &["There are 3."], &[]))
        .add("root", ends(TurnEnd::Finished))
        .add("root", settles(Status::Completed));
    log
}
