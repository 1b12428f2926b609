//! Lines of calls and of ends, held against `lines.txt`.

use offshoot_types::event::{Parent, Profile, Spawned, TurnEnd};
use offshoot_types::id::{Pos, RunNo, Seq, Timestamp, TreeId, TurnNo};
use offshoot_types::message::{
    AssistantMessage, AssistantPart, Author, StopReason, Usage, UserMessage,
};
use offshoot_types::permission::Layer;
use offshoot_types::settlement::FailureKind;
use offshoot_types::terms::Terms;
use serde_json::json;

use super::*;

const PLAIN: Style = Style {
    colour: false,
    unicode: true,
};

/// A log that is written entry by entry, and what is said of it.
struct Log {
    tree: Tree,
    calls: Calls,
    pos: u64,
    seqs: BTreeMap<AgentId, u64>,
    said: Vec<Report>,
}

impl Log {
    fn new() -> Self {
        let mut log = Self {
            tree: Tree::default(),
            calls: Calls::of(AgentId::new("root")),
            pos: 0,
            seqs: BTreeMap::new(),
            said: Vec::new(),
        };
        let origin = Origin::Session {
            workspace: "/w".to_owned(),
            date: "2026-11-15".to_owned(),
            project: None,
            copy: None,
        };
        log.born("root", "build", origin, 0);
        log
    }

    fn add(&mut self, agent: &str, event: Event) {
        let agent = AgentId::new(agent);
        self.pos += 1;
        let seq = self.seqs.entry(agent.clone()).or_default();
        *seq += 1;
        let entry = Entry {
            tree: TreeId::of(AgentId::new("root")),
            pos: Pos::new(self.pos),
            agent,
            seq: Seq::new(*seq),
            at: Timestamp::new(0),
            event,
        };
        self.said.extend(self.calls.take(&self.tree, &entry));
        self.tree.apply(&entry).unwrap();
    }

    /// An agent that begins to work.
    fn born(&mut self, id: &str, definition: &str, origin: Origin, depth: u32) {
        self.add(
            id,
            Event::Spawned(Box::new(Spawned {
                definition: definition.to_owned(),
                origin,
                depth,
                model: "offline".to_owned(),
                layer: Layer::default(),
                inspectable: false,
                terms: Terms::default(),
                profile: Profile::default(),
                metadata: None,
            })),
        );
        let message = offshoot_types::id::MessageId::new(format!("prompt of {id}"));
        self.add(
            id,
            Event::Prompted(UserMessage {
                id: message.clone(),
                text: format!("Look into {id} and say what there is").into(),
                from: Author::Human,
                agent: None,
                model: None,
                metadata: None,
                output_schema: None,
                delegation: None,
                immediate: false,
            }),
        );
        self.add(
            id,
            Event::TurnStarted {
                run: RunNo::new(1),
                turn: TurnNo::new(1),
                prompt: Some(message),
            },
        );
    }

    /// Has an agent make calls.
    fn replied(&mut self, agent: &str, calls: Vec<Call>) {
        let number = self.pos;
        self.add(
            agent,
            Event::Replied(AssistantMessage {
                id: offshoot_types::id::MessageId::new(format!("m{number}")),
                parts: calls.into_iter().map(AssistantPart::Call).collect(),
                model: "offline".to_owned(),
                usage: Usage::default(),
                estimated: false,
                cost: None,
                stop: StopReason::Calls,
                timing: None,
                request: None,
                by_runtime: false,
            }),
        );
    }

    /// A call, from its beginning to its end.
    fn called(&mut self, agent: &str, tool: &str, arguments: &Value, outcome: Outcome) {
        let id = CallId::new(format!("c{}", self.pos));
        let call = Call {
            id: id.clone(),
            tool: tool.to_owned(),
            arguments: Arguments::Json(RawJson::of(arguments)),
        };
        self.replied(agent, vec![call]);
        self.add(
            agent,
            Event::CallStarted {
                call: id.clone(),
                child: None,
            },
        );
        self.add(
            agent,
            Event::CallFinished {
                call: id,
                outcome,
                delivers: Vec::new(),
            },
        );
    }

    /// Children of the root, all at work.
    fn children(&mut self, ids: &[&str]) {
        let call = |id: &&str| Call {
            id: CallId::new(*id),
            tool: "task".to_owned(),
            arguments: Arguments::Json(RawJson::of(&json!({ "subagent_type": "explore" }))),
        };
        self.replied("root", ids.iter().map(call).collect());
        for id in ids {
            let origin = Origin::Task(Parent {
                agent: AgentId::new("root"),
                call: CallId::new(*id),
                message: offshoot_types::id::MessageId::new("prompt of root"),
                background: false,
                host: false,
            });
            let child = Some(AgentId::new(*id));
            self.add(
                "root",
                Event::CallStarted {
                    call: CallId::new(*id),
                    child,
                },
            );
            self.born(id, "explore", origin, 1);
        }
    }

    fn ended(&mut self, agent: &str, settlement: Settlement) {
        self.add(
            agent,
            Event::TurnEnded {
                turn: TurnNo::new(1),
                end: TurnEnd::Finished,
            },
        );
        self.add(
            agent,
            Event::Settled {
                run: RunNo::new(1),
                settlement,
                untold: false,
            },
        );
    }

    /// Has the user cancel the root.
    fn aborted(&mut self) {
        let end = TurnEnd::Aborted(CancelledBy::User);
        let turn = TurnNo::new(1);
        self.add("root", Event::TurnEnded { turn, end });
        let settlement = Settlement::new(Status::Cancelled(CancelledBy::User));
        self.add(
            "root",
            Event::Settled {
                run: RunNo::new(1),
                settlement,
                untold: false,
            },
        );
    }

    fn shown(&self, width: usize) -> String {
        let lines = self.said.iter().flat_map(|said| said.lines(width, PLAIN));
        let lines: Vec<String> = lines.map(|line| line.render(PLAIN)).collect();
        lines.join("\n")
    }
}

fn said(text: &str) -> Outcome {
    Outcome::output(RawJson::of(&text))
}

fn exited(code: i32, text: &str) -> Outcome {
    let mut outcome = said(text).took(3100);
    outcome.metadata.extra.insert("exit_code", &code);
    outcome
}

/// One call of each kind, and two agents that end.
fn work() -> Log {
    let mut log = Log::new();
    let old = "fn a() {\n    1\n}\n";
    let edit =
        json!({ "path": "src/a.rs", "old_string": old, "new_string": "fn a() {\n    2\n}\n" });
    log.called(
        "root",
        "edit",
        &edit,
        said("edited src/a.rs, 1 replacement at line 7"),
    );
    let all = json!({ "path": "b", "old_string": "x", "new_string": "y", "replace_all": true });
    let twice = "edited b, 3 replacements from line 2 on; it was last written by explore 12345678";
    log.called("root", "edit", &all, said(twice));
    let write = json!({ "path": "new.md", "content": "1\n2\n3\n4\n5\n" });
    log.called("root", "write", &write, said("created new.md, 10 bytes"));
    let test = json!({ "command": "cargo test\n  --all" });
    let failure = "1\n2\n3\n4\n5\n6\n7\nerror: no\n[exit code 101]";
    log.called("root", "bash", &test, exited(101, failure));
    log.called(
        "root",
        "bash",
        &json!({ "command": "true" }),
        exited(0, "[no output]"),
    );
    log.called(
        "root",
        "bash",
        &json!({ "command": "seq 3" }),
        exited(0, "1\n2\n3\n"),
    );
    log.called("root", "read", &json!({ "path": "a" }), said("1\n2\n"));
    let found = "a:1:x\nb:2:x\n[2 matches in 2 files]";
    log.called("root", "grep", &json!({ "pattern": "x" }), said(found));
    let gone = Outcome::error(ErrorKind::Failed, "read `gone`: there is no such file");
    log.called("root", "read", &json!({ "path": "gone" }), gone);
    let denied = Outcome::error(
        ErrorKind::Denied,
        "bash is denied by the user: not that\u{1b}[2J",
    );
    log.called("root", "bash", &json!({ "command": "rm -r ." }), denied);
    log.called("root", "mine", &json!({ "to": 1 }), said("done\nwell"));
    let answers = Outcome::output(RawJson::of(&json!({ "answers": [["blue"], ["a", "b"]] })));
    log.called("root", "question", &json!({ "questions": [] }), answers);
    log.children(&["agent-01", "agent-02"]);
    log.called("agent-01", "read", &json!({ "path": "a" }), said("1\n2\n"));
    log.called("agent-01", "bash", &test, exited(1, failure));
    log.ended(
        "agent-01",
        Settlement {
            output: Some("I found\n  two things.".to_owned()),
            duration_ms: 4200,
            files: vec![
                "/w/a".to_owned(),
                "/w/b".to_owned(),
                "/x/c".to_owned(),
                "/w/d".to_owned(),
            ],
            ..Settlement::new(Status::Completed)
        },
    );
    let failed = Status::Failed {
        kind: FailureKind::Model,
        message: "500 server error".to_owned(),
    };
    log.ended("agent-02", Settlement::new(failed));
    log
}

#[test]
fn every_call_and_every_end_has_its_line() {
    let log = work();
    let shown = format!("{}\n\n--- 40 columns\n{}\n", log.shown(100), log.shown(40));
    assert_eq!(shown, include_str!("lines.txt"), "\n{shown}");
}

#[test]
fn no_line_is_wider_than_the_window_or_moves_the_cursor() {
    let log = work();
    for width in [20, 40, 60, 80] {
        for line in log.said.iter().flat_map(|said| said.lines(width, PLAIN)) {
            assert!(line.width() <= width, "{width}: {line:?}");
            assert!(!line.render(PLAIN).contains('\u{1b}'), "{line:?}");
        }
    }
    let plain = log.said.iter().flat_map(|said| said.plain(PLAIN));
    assert!(plain.into_iter().all(|line| !line.contains('\u{1b}')));
}

#[test]
fn what_failed_is_marked_and_what_went_well_is_not() {
    let log = work();
    let bad = log
        .said
        .iter()
        .enumerate()
        .filter(|(_, said)| said.is_bad());
    let bad: Vec<usize> = bad.map(|(at, _)| at).collect();
    // A test, a file that is not there, a denial; a test of an agent below, and one that ends badly.
    assert_eq!(bad, [3, 8, 9, 13, 15]);
}

#[test]
fn calls_of_a_crowd_are_counted_and_only_failures_are_shown() {
    let mut log = Log::new();
    let ids: Vec<String> = (1..=50).map(|id| format!("agent-{id:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    log.children(&ids);
    for id in &ids {
        log.called(id, "read", &json!({ "path": "a" }), said("1\n"));
    }
    assert_eq!(log.said.len(), 0);
    let gone = Outcome::error(ErrorKind::Failed, "read gone: there is no such file");
    log.called(ids[0], "read", &json!({ "path": "gone" }), gone);
    assert_eq!(log.said.len(), 1);
    for id in &ids {
        log.ended(id, Settlement::new(Status::Completed));
    }
    assert_eq!(log.said.len(), 51);
    let shown = log.said[1].plain(PLAIN).concat();
    assert!(shown.contains("2 calls, 1 failed"), "{shown}");
}

/// So many children that end because their root is cancelled, and the lines of that.
fn cancelled(children: usize) -> String {
    let mut log = Log::new();
    let ids: Vec<String> = (1..=children).map(|id| format!("agent-{id:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    log.children(&ids);
    for id in &ids {
        log.ended(
            id,
            Settlement::new(Status::Cancelled(CancelledBy::Ancestor)),
        );
        let outcome = Outcome::error(ErrorKind::Cancelled, "cancelled");
        log.add(
            "root",
            Event::CallFinished {
                call: CallId::new(*id),
                outcome,
                delivers: Vec::new(),
            },
        );
    }
    log.aborted();
    log.shown(100)
}

#[test]
fn many_agents_that_are_cancelled_together_are_counted_in_one_line() {
    assert_eq!(cancelled(5).lines().count(), 5);
    assert_eq!(cancelled(30), "  ✗ 30 agents cancelled (30 explore)");
}
