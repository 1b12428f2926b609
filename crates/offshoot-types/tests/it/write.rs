//! Short ways to write down a log.

use offshoot_types::event::{Entry, Event, Origin, Parent, Profile, Spawned, TurnEnd};
use offshoot_types::id::{
    AgentId, CallId, MessageId, RunId, RunNo, Seq, Timestamp, TreeId, TurnNo,
};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    Arguments, AssistantMessage, AssistantPart, Author, Call, StopReason, Usage, UserMessage,
};
use offshoot_types::outcome::Outcome;
use offshoot_types::permission::Layer;
use offshoot_types::settlement::{Settlement, Status};
use offshoot_types::tree::{Tree, Violation};

/// A log that grows entry by entry, folded as it goes.
#[derive(Clone, Default)]
pub(crate) struct Log {
    pub(crate) tree: Tree,
}

impl Log {
    /// Adds an event at the next place of an agent's log.
    pub(crate) fn add(&mut self, agent: &str, event: Event) -> Result<(), Violation> {
        let seq = self
            .tree
            .agent(&AgentId::new(agent))
            .map_or(Seq::ZERO, |agent| agent.seq);
        self.tree.apply(&Entry {
            tree: TreeId::of(AgentId::new("root")),
            pos: self.tree.pos().next(),
            agent: AgentId::new(agent),
            seq: seq.next(),
            at: Timestamp::new(5),
            event,
        })
    }

    /// Adds events that have to fit.
    #[track_caller]
    pub(crate) fn with(mut self, events: impl IntoIterator<Item = (&'static str, Event)>) -> Self {
        for (agent, event) in events {
            self.add(agent, event).unwrap();
        }
        self
    }
}

/// A root whose first message has called `task` twice, `a` blocking and `b` in the background.
pub(crate) fn family() -> Log {
    Log::default().with([
        ("root", root()),
        ("root", prompted("p1")),
        ("root", started(1, 1, Some("p1"))),
        ("root", replied(&["a", "b"])),
        ("root", call_started("a", Some("kid-a"))),
        ("kid-a", child("a", false)),
        ("kid-a", prompted("p2")),
        ("kid-a", started(1, 1, Some("p2"))),
        ("root", call_started("b", Some("kid-b"))),
        ("kid-b", child("b", true)),
        ("kid-b", prompted("p3")),
        ("kid-b", started(1, 1, Some("p3"))),
        ("root", finished("b", &[])),
    ])
}

pub(crate) fn spawned(origin: Origin, depth: u32) -> Event {
    Event::Spawned(Box::new(Spawned {
        definition: "worker".to_owned(),
        origin,
        depth,
        model: "scripted/x".to_owned(),
        layer: Layer::of_agent("worker", None),
        inspectable: false,
        terms: offshoot_types::terms::Terms::default(),
        profile: Profile::default(),
        metadata: None,
    }))
}

pub(crate) fn root() -> Event {
    spawned(
        Origin::Session {
            workspace: "/w".to_owned(),
            date: "2026-11-15".to_owned(),
            project: None,
            copy: None,
        },
        0,
    )
}

pub(crate) fn child(call: &str, background: bool) -> Event {
    let parent = Parent {
        agent: AgentId::new("root"),
        call: CallId::new(call),
        message: MessageId::new("p1"),
        background,
        host: false,
    };
    spawned(Origin::Task(parent), 1)
}

pub(crate) fn prompted(id: &str) -> Event {
    Event::Prompted(UserMessage {
        id: MessageId::new(id),
        text: format!("text of {id}").into(),
        from: Author::Human,
        agent: None,
        model: None,
        metadata: None,
        output_schema: None,
        delegation: None,
        immediate: false,
    })
}

pub(crate) fn started(run: u32, turn: u32, prompt: Option<&str>) -> Event {
    Event::TurnStarted {
        run: RunNo::new(run),
        turn: TurnNo::new(turn),
        prompt: prompt.map(MessageId::new),
    }
}

pub(crate) fn replied(calls: &[&str]) -> Event {
    let mut parts = vec![AssistantPart::Text(" said ".to_owned())];
    parts.extend(calls.iter().map(|id| {
        AssistantPart::Call(Call {
            id: CallId::new(*id),
            tool: "task".to_owned(),
            arguments: Arguments::Json(RawJson::parse("{}".to_owned()).unwrap()),
        })
    }));
    Event::Replied(AssistantMessage {
        id: MessageId::new("m"),
        parts,
        model: "x".to_owned(),
        usage: Usage {
            input: 3,
            output: 1,
            ..Usage::default()
        },
        estimated: false,
        cost: None,
        stop: StopReason::Calls,
        timing: None,
        request: None,
        by_runtime: false,
    })
}

pub(crate) fn call_started(call: &str, child: Option<&str>) -> Event {
    Event::CallStarted {
        call: CallId::new(call),
        child: child.map(AgentId::new),
    }
}

pub(crate) fn finished(call: &str, delivers: &[&str]) -> Event {
    Event::CallFinished {
        call: CallId::new(call),
        outcome: Outcome::output(RawJson::null()),
        delivers: delivers.iter().map(|agent| run(agent, 1)).collect(),
    }
}

pub(crate) fn ended(turn: u32) -> Event {
    Event::TurnEnded {
        turn: TurnNo::new(turn),
        end: TurnEnd::Finished,
    }
}

pub(crate) fn settled(run: u32, status: Status) -> Event {
    Event::Settled {
        run: RunNo::new(run),
        settlement: settlement(status),
        untold: false,
    }
}

pub(crate) fn settlement(status: Status) -> Settlement {
    Settlement {
        output: Some("said".to_owned()),
        output_path: None,
        usage: Usage::default(),
        steps: 1,
        duration_ms: 2,
        ..Settlement::new(status)
    }
}

pub(crate) fn completion(agent: &str, run_no: u32) -> Event {
    Event::Completion {
        message: MessageId::new("c"),
        run: run(agent, run_no),
        definition: "worker".to_owned(),
        call: None,
        settlement: settlement(Status::Completed),
        quiet: false,
    }
}

fn run(agent: &str, run: u32) -> RunId {
    RunId {
        agent: AgentId::new(agent),
        run: RunNo::new(run),
    }
}
