//! Small logs to write, the way the engine writes them.
//!
//! A scene counts each agent's entries, turns and runs, so that a test names
//! only what it is about. It checks nothing: a test may tell it to write what no
//! log can hold.

use std::collections::HashMap;

use offshoot_types::caps::Money;
use offshoot_types::event::{Copied, Event, Origin, Parent, Profile, Role, Spawned, TurnEnd};
use offshoot_types::id::{
    AgentId, CallId, MessageId, RunId, RunNo, Seq, Timestamp, TreeId, TurnNo,
};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    Arguments, AssistantMessage, AssistantPart, Author, Call, SentRequest, StopReason, Usage,
    UserMessage,
};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Layer, Need, Rule};
use offshoot_types::settlement::{Settlement, Status};
use offshoot_types::store::{Append, NewEntry};
use offshoot_types::terms::Terms;

/// A tree that is being written.
#[derive(Clone, Debug)]
pub struct Scene {
    tree: TreeId,
    at: u64,
    agents: HashMap<AgentId, Progress>,
    new: Vec<NewEntry>,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    seq: Seq,
    turn: TurnNo,
    run: RunNo,
}

/// Where sessions work that do not say so.
const WORKSPACE: &str = "/home/me/project";

/// Whether a child has rows of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// It has none.
    Opaque,
    /// It has.
    Inspectable,
}

impl Scene {
    /// A tree without an entry.
    pub fn new(tree: &str) -> Self {
        Self {
            tree: TreeId::of(AgentId::new(tree)),
            at: 1_000,
            agents: HashMap::new(),
            new: Vec::new(),
        }
    }

    /// A tree whose root has been spawned and asked something, with a turn under way.
    pub fn opened(tree: &str) -> Self {
        let mut scene = Self::new(tree);
        scene.root();
        scene.prompt(tree, "ask", "go").turn(tree, Some("ask"));
        scene
    }

    /// A tree as `opened` makes it, in another folder and with another question.
    pub fn opened_in(tree: &str, workspace: &str, text: &str) -> Self {
        let mut scene = Self::new(tree);
        scene.born(workspace, None);
        scene.prompt(tree, "ask", text).turn(tree, Some("ask"));
        scene
    }

    /// Returns the tree.
    pub fn tree(&self) -> &TreeId {
        &self.tree
    }

    /// Takes what was written since the last time, stamped a millisecond later than that.
    pub fn take(&mut self) -> Append {
        self.at += 1;
        Append {
            at: Timestamp::new(self.at),
            entries: std::mem::take(&mut self.new),
            applied: Vec::new(),
        }
    }

    /// Goes on with an agent that another scene has written as far as `seq`.
    pub fn resume(&mut self, agent: &str, seq: Seq) -> &mut Self {
        let progress = self.agents.entry(AgentId::new(agent)).or_default();
        progress.seq = seq;
        self
    }

    /// Another takes over from an agent.
    pub fn becomes(&mut self, agent: &str, definition: &str) -> &mut Self {
        let role = Role {
            definition: definition.to_owned(),
            model: "m".to_owned(),
            model_chosen: false,
            layer: Layer::default(),
            terms: Terms::default(),
        };
        self.event(agent, Event::Became(Box::new(role)))
    }

    /// Writes any event as the next of an agent.
    pub fn event(&mut self, agent: &str, event: Event) -> &mut Self {
        let agent = AgentId::new(agent);
        let progress = self.agents.entry(agent.clone()).or_default();
        progress.seq = progress.seq.next();
        let seq = progress.seq;
        self.new.push(NewEntry { agent, seq, event });
        self
    }

    /// Spawns the root.
    pub fn root(&mut self) -> &mut Self {
        self.born(WORKSPACE, None)
    }

    /// Spawns the root of a copy.
    pub fn root_copying(&mut self, copied: Copied) -> &mut Self {
        self.born(WORKSPACE, Some(Box::new(copied)))
    }

    fn born(&mut self, workspace: &str, copy: Option<Box<Copied>>) -> &mut Self {
        let root = self.tree.as_str().to_owned();
        let origin = Origin::Session {
            workspace: workspace.to_owned(),
            date: "2026-11-15".to_owned(),
            project: None,
            copy,
        };
        self.event(&root, spawned(origin, "build", 0, Child::Opaque))
    }

    /// Queues a prompt.
    pub fn prompt(&mut self, agent: &str, message: &str, text: &str) -> &mut Self {
        let message = UserMessage {
            id: MessageId::new(message),
            text: text.into(),
            from: Author::Human,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        };
        self.event(agent, Event::Prompted(message))
    }

    /// Starts a turn of the run that is open, or of the next.
    pub fn turn(&mut self, agent: &str, prompt: Option<&str>) -> &mut Self {
        let progress = self.agents.entry(AgentId::new(agent)).or_default();
        progress.turn = progress.turn.next();
        if progress.run == RunNo::ZERO {
            progress.run = RunNo::new(1);
        }
        let event = Event::TurnStarted {
            run: progress.run,
            turn: progress.turn,
            prompt: prompt.map(MessageId::new),
        };
        self.event(agent, event)
    }

    /// Says something without a call.
    pub fn say(&mut self, agent: &str, message: &str, text: &str) -> &mut Self {
        let parts = vec![AssistantPart::Text(text.to_owned())];
        self.event(agent, replied(message, parts, StopReason::End))
    }

    /// Says something and makes calls of `tool`.
    pub fn call(&mut self, agent: &str, message: &str, tool: &str, calls: &[&str]) -> &mut Self {
        let mut parts = vec![AssistantPart::Text("let me see".to_owned())];
        parts.extend(calls.iter().map(|id| {
            AssistantPart::Call(Call {
                id: CallId::new(*id),
                tool: tool.to_owned(),
                arguments: Arguments::Json(RawJson::of(&serde_json::json!({ "prompt": "look" }))),
            })
        }));
        self.event(agent, replied(message, parts, StopReason::Calls))
    }

    /// Asks whether a call may write a file.
    pub fn asks(&mut self, agent: &str, call: &str) -> &mut Self {
        let asked = Event::Asked {
            call: CallId::new(call),
            needs: vec![Need::new("fs.write", "/home/me/project/a")],
            decision: Decision {
                action: Action::Ask,
                layer: "default".to_owned(),
                rule: None,
            },
            tool: "write".to_owned(),
            questions: Vec::new(),
            deadline: Some(Timestamp::new(9_000)),
            waits_for_client: false,
        };
        self.event(agent, asked)
    }

    /// Has a call wait until a client returns its result.
    pub fn waits(&mut self, agent: &str, call: &str) -> &mut Self {
        let waits = Event::Asked {
            call: CallId::new(call),
            needs: Vec::new(),
            decision: Decision {
                action: Action::Ask,
                layer: "the session".to_owned(),
                rule: None,
            },
            tool: "lookup".to_owned(),
            questions: Vec::new(),
            deadline: None,
            waits_for_client: true,
        };
        self.event(agent, waits)
    }

    /// Allows what a call asked.
    pub fn allows(&mut self, agent: &str, call: &str) -> &mut Self {
        let decided = Event::Decided {
            call: CallId::new(call),
            decision: Decision {
                action: Action::Allow,
                layer: "the user".to_owned(),
                rule: None,
            },
            grant: None,
            reason: None,
        };
        self.event(agent, decided)
    }

    /// Allows what a call asked from here on: for the session, or for an agent while it is `role`.
    pub fn grants(&mut self, agent: &str, call: &str, role: Option<&str>) -> &mut Self {
        let whom = match role {
            None => self.tree.as_str(),
            Some(_) => agent,
        };
        // As a log has it: only the engine makes one.
        let rule = Rule::new("fs.write", "/home/me/project/a", Action::Allow);
        let grant = serde_json::json!({ "agent": whom, "rules": [rule], "role": role });
        let decided = Event::Decided {
            call: CallId::new(call),
            decision: Decision {
                action: Action::Allow,
                layer: "the user".to_owned(),
                rule: None,
            },
            grant: serde_json::from_value(grant).ok(),
            reason: None,
        };
        self.event(agent, decided)
    }

    /// Says something that has a price, by a model of this name.
    pub fn pays(&mut self, agent: &str, message: &str, model: &str, micros: u64) -> &mut Self {
        let parts = vec![AssistantPart::Text("said".to_owned())];
        let Event::Replied(said) = replied(message, parts, StopReason::End) else {
            return self;
        };
        let said = AssistantMessage {
            cost: Some(Money::micros(micros)),
            request: Some(Box::new(SentRequest {
                model: model.to_owned(),
                system_prompt_digest: "5a".to_owned(),
                digest: "5b".to_owned(),
                hands_back: false,
                max_output_tokens: None,
            })),
            ..said
        };
        self.event(agent, Event::Replied(said))
    }

    /// Starts a `task` call and spawns its child, which is asked something.
    pub fn spawn(&mut self, parent: &str, call: &str, child: &str, kind: Child) -> &mut Self {
        let started = Event::CallStarted {
            call: CallId::new(call),
            child: Some(AgentId::new(child)),
        };
        let origin = Origin::Task(Parent {
            agent: AgentId::new(parent),
            call: CallId::new(call),
            message: MessageId::new("ask"),
            background: false,
            host: false,
        });
        self.event(parent, started)
            .event(child, spawned(origin, "explore", 1, kind))
            .prompt(child, &format!("{child}-ask"), "look")
    }

    /// Runs an agent that was just asked something, to the end of its turn.
    pub fn answer(&mut self, agent: &str, text: &str) -> &mut Self {
        self.turn(agent, Some(&format!("{agent}-ask")))
            .say(agent, &format!("{agent}-says"), text)
            .end(agent)
    }

    /// Gives a call its outcome.
    pub fn finish(&mut self, agent: &str, call: &str, delivers: &[(&str, u32)]) -> &mut Self {
        let outcome = Outcome::output(RawJson::of(&serde_json::json!({ "output": "3 files" })));
        self.outcome(agent, call, outcome, delivers)
    }

    /// Gives a call an error.
    pub fn fail(&mut self, agent: &str, call: &str) -> &mut Self {
        let outcome = Outcome::error(ErrorKind::Failed, "it is not there");
        self.outcome(agent, call, outcome, &[])
    }

    fn outcome(
        &mut self,
        agent: &str,
        call: &str,
        outcome: Outcome,
        delivers: &[(&str, u32)],
    ) -> &mut Self {
        let event = Event::CallFinished {
            call: CallId::new(call),
            outcome,
            delivers: delivers.iter().map(|(id, no)| run(id, *no)).collect(),
        };
        self.event(agent, event)
    }

    /// Tells an agent of a child's run outside any call.
    pub fn complete(&mut self, agent: &str, message: &str, child: (&str, u32)) -> &mut Self {
        let event = Event::Completion {
            message: MessageId::new(message),
            run: run(child.0, child.1),
            definition: "explore".to_owned(),
            call: None,
            settlement: settlement(),
            quiet: false,
        };
        self.event(agent, event)
    }

    /// Ends the turn that runs.
    pub fn end(&mut self, agent: &str) -> &mut Self {
        let turn = self.progress(agent).turn;
        let end = TurnEnd::Finished;
        self.event(agent, Event::TurnEnded { turn, end })
    }

    /// Settles the run that is open.
    pub fn settle(&mut self, agent: &str) -> &mut Self {
        let progress = self.agents.entry(AgentId::new(agent)).or_default();
        let run = progress.run;
        progress.run = run.next();
        let settlement = settlement();
        let untold = false;
        self.event(
            agent,
            Event::Settled {
                run,
                settlement,
                untold,
            },
        )
    }

    fn progress(&self, agent: &str) -> Progress {
        let progress = self.agents.get(&AgentId::new(agent));
        progress.cloned().unwrap_or_default()
    }
}

/// Names a run.
pub fn run(agent: &str, run: u32) -> RunId {
    RunId {
        agent: AgentId::new(agent),
        run: RunNo::new(run),
    }
}

fn settlement() -> Settlement {
    Settlement {
        output: Some("3 files".to_owned()),
        output_path: None,
        usage: usage(),
        steps: 1,
        duration_ms: 5,
        ..Settlement::new(Status::Completed)
    }
}

fn usage() -> Usage {
    Usage {
        input: 100,
        output: 10,
        reasoning: 3,
        cache_read: 50,
        cache_write: 7,
    }
}

fn spawned(origin: Origin, definition: &str, depth: u32, kind: Child) -> Event {
    Event::Spawned(Box::new(Spawned {
        definition: definition.to_owned(),
        origin,
        depth,
        model: "offline/echo".to_owned(),
        layer: Layer::default(),
        inspectable: kind == Child::Inspectable,
        terms: offshoot_types::terms::Terms::default(),
        profile: Profile::default(),
        metadata: None,
    }))
}

fn replied(message: &str, parts: Vec<AssistantPart>, stop: StopReason) -> Event {
    Event::Replied(AssistantMessage {
        id: MessageId::new(message),
        parts,
        model: "echo-1".to_owned(),
        usage: usage(),
        estimated: false,
        cost: None,
        stop,
        timing: None,
        request: None,
        by_runtime: false,
    })
}
