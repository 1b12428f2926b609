//! The order of the calls of one message (R10): groups of reads, groups of `task` calls, the rest alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use offshoot_engine::{Asks, Attachment, Limits};
use offshoot_types::caps::{Caps, Span};
use offshoot_types::command::{Order, Receipt, Scope, Verdict};
use offshoot_types::event::{Entry, Event};
use offshoot_types::hook::{Point, Say, Word};
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Layer, Need, Rule, Standing};
use offshoot_types::settlement::{Cap, PartialReason, Status};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::{Value, json};

use crate::asks::{answer, asked, no};
use crate::stage::{
    Gate, Guard, Line, Probe, Script, Stage, call, data, kind, outcome_texts, say, task_arguments,
};

/// Files in memory. `put` writes one, behind a gate if there is one, and `get` reads one.
#[derive(Clone, Default)]
pub(crate) struct Files {
    files: Arc<Mutex<BTreeMap<String, String>>>,
    gate: Option<Gate>,
}

struct FileTool(Files, ToolSpec);

impl Files {
    pub(crate) fn held_at(gate: &Gate) -> Self {
        Self {
            gate: Some(gate.clone()),
            ..Self::default()
        }
    }

    pub(crate) fn on(&self, stage: &Stage) -> Attachment {
        let tool = |id, effect| -> Arc<dyn Tool> {
            let parameters = json!({ "type": "object" });
            let spec = ToolSpec::new(id, "for tests", &parameters, effect);
            Arc::new(FileTool(self.clone(), spec))
        };
        let tools = vec![tool("put", Effect::Write), tool("get", Effect::Read)];
        stage.attach(tools)
    }
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.1
    }

    /// A path that starts with `link` needs whatever file `link` names.
    fn needs(&self, arguments: &RawJson, _: &Place) -> Result<Vec<Need>, String> {
        let arguments: Value = arguments.read().map_err(|error| error.to_string())?;
        let path = arguments["path"].as_str().unwrap_or_default();
        let files = self.0.files.lock().unwrap();
        let target = match path.strip_prefix("link/") {
            Some(_) => files.get("link").map_or(path, String::as_str),
            None => path,
        };
        let capability = match self.1.effect {
            Effect::Read => Need::FS_READ,
            Effect::Write => Need::FS_WRITE,
        };
        Ok(vec![Need::new(capability, format!("/w/{target}"))])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let Self(Files { files, gate }, spec) = self;
        let (files, gate, effect) = (files.clone(), gate.clone(), spec.effect);
        Box::pin(async move {
            let arguments: Value = work.arguments.read().unwrap();
            let path = arguments["path"].as_str().unwrap().to_owned();
            if effect == Effect::Read {
                return match files.lock().unwrap().get(&path) {
                    Some(text) => Outcome::output(RawJson::of(text)),
                    None => Outcome::error(ErrorKind::Failed, "there is no such file"),
                };
            }
            // Whatever may run beside it gets its chance to.
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            if let Some(gate) = gate {
                tokio::select! {
                    () = gate.passed() => {}
                    () = work.cancel.cancelled() => {
                        return Outcome::error(ErrorKind::Cancelled, "asked to stop");
                    }
                }
            }
            let text = arguments["text"].as_str().unwrap_or("text").to_owned();
            files.lock().unwrap().insert(path, text);
            Outcome::output(RawJson::of(&"written"))
        })
    }
}

pub(crate) fn put(path: &str) -> (&'static str, Value) {
    ("put", json!({ "path": path }))
}

pub(crate) fn get(path: &str) -> (&'static str, Value) {
    ("get", json!({ "path": path }))
}

pub(crate) fn worker() -> (&'static str, Value) {
    ("task", task_arguments("worker", "go"))
}

fn worker_in_background() -> (&'static str, Value) {
    let (tool, mut arguments) = worker();
    arguments["background"] = true.into();
    (tool, arguments)
}

pub(crate) fn lead(calls: &[(&str, Value)]) -> Script {
    let lines = [call(calls), say("done")];
    Script::default().part("lead", lines)
}

pub(crate) fn worker_says(text: &str) -> [Line; 1] {
    [say(text)]
}

/// A step of a call of the root, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Did {
    Ask,
    Start,
    End,
}

/// Returns what the calls of the root's message did, in the order of the log, each by its place in
/// the message.
pub(crate) async fn history(stage: &Stage) -> Vec<(Did, usize)> {
    let root = stage.root();
    let log = stage.log().await;
    let mut calls: Vec<CallId> = Vec::new();
    let mut history = Vec::new();
    for Entry { event, .. } in log.iter().filter(|entry| entry.agent == root) {
        let (did, call) = match event {
            Event::Replied(message) if message.calls().next().is_some() => {
                calls = message.calls().map(|call| call.id.clone()).collect();
                continue;
            }
            Event::Asked { call, .. } => (Did::Ask, call),
            Event::CallStarted { call, .. } => (Did::Start, call),
            Event::CallFinished { call, .. } => (Did::End, call),
            _ => continue,
        };
        let place = calls.iter().position(|made| made == call).unwrap();
        history.push((did, place));
    }
    history
}

/// Waits until a call of the root has started.
pub(crate) async fn started(stage: &Stage, place: usize) {
    let root = stage.root();
    let calls: Mutex<Vec<CallId>> = Mutex::default();
    stage
        .until(|entry| {
            if entry.agent != root {
                return false;
            }
            if let Event::Replied(message) = &entry.event {
                *calls.lock().unwrap() = message.calls().map(|call| call.id.clone()).collect();
            }
            let calls = calls.lock().unwrap();
            matches!(&entry.event, Event::CallStarted { call, .. } if calls.get(place) == Some(call))
        })
        .await;
}

/// Returns the outcomes that the root's model was sent, in the order of the calls.
pub(crate) fn read_by_lead(stage: &Stage) -> Vec<String> {
    outcome_texts(&stage.script.sent("lead")[1])
}

async fn has_children(stage: &Stage) -> bool {
    let root = stage.root();
    let tree = stage.tree().await;
    !tree.agent(&root).unwrap().children.is_empty()
}

/// Starts a session again under these rules of the user.
pub(crate) async fn ruled(stage: Stage, rules: &[(&str, &str, Action)]) -> Stage {
    let rule = |(permission, pattern, action): &(&str, &str, Action)| {
        Rule::new(*permission, *pattern, *action)
    };
    stage.says(vec![Layer {
        name: "the user's rules".to_owned(),
        rules: rules.iter().map(rule).collect(),
        standing: Standing::Grants,
        ..Layer::default()
    }]);
    stage.crash().await
}

/// A session in which a person is asked about commands, and about writes as this says.
pub(crate) async fn asking(script: Script, writes: Action) -> Stage {
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    let rules = [
        (Need::FS_READ, "*", Action::Allow),
        (Need::FS_WRITE, "*", writes),
    ];
    ruled(stage, &rules).await
}

use Did::{Ask, End, Start};

#[tokio::test]
async fn r10_a_read_sees_what_the_write_before_it_wrote() {
    let stage = Stage::new(lead(&[put("h"), get("h")])).await;
    let _tools = Files::default().on(&stage);
    stage.ask("go").await;
    assert_eq!(read_by_lead(&stage), ["written", "text"]);
    let in_order = [(Start, 0), (End, 0), (Start, 1), (End, 1)];
    assert_eq!(history(&stage).await, in_order);
}

#[tokio::test]
async fn r10_a_child_sees_what_the_write_before_its_task_wrote() {
    let script = lead(&[put("g"), worker()]);
    let script = script.part("worker", [call(&[get("g")]), say("read")]);
    let stage = Stage::new(script).await;
    let _tools = Files::default().on(&stage);
    stage.ask("go").await;
    assert_eq!(data(&stage.outcomes("worker").await[0]), json!("text"));
    let in_order = [(Start, 0), (End, 0), (Start, 1), (End, 1)];
    assert_eq!(history(&stage).await, in_order);
}

#[tokio::test]
async fn r10_a_write_after_a_blocking_task_waits_for_the_child() {
    let gate = Gate::shut();
    let script = lead(&[worker(), put("a")]).part("worker", [say("ok").behind(&gate)]);
    let stage = Stage::new(script).await;
    let files = Files::default();
    let _tools = files.on(&stage);
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    assert!(files.files.lock().unwrap().is_empty());
    gate.open();
    stage.quiet().await;
    let in_order = [(Start, 0), (End, 0), (Start, 1), (End, 1)];
    assert_eq!(history(&stage).await, in_order);
}

#[tokio::test]
async fn r10_a_background_task_is_over_with_its_receipt() {
    let gate = Gate::shut();
    let script = lead(&[worker_in_background(), put("a"), get("a")]);
    let script = script
        .part("lead", [say("heard")])
        .part("worker", [say("late").behind(&gate)]);
    let stage = Stage::new(script).await;
    let _tools = Files::default().on(&stage);
    stage.prompt(stage.root(), "go").await;
    stage.asked("lead", 2).await;
    assert_eq!(read_by_lead(&stage)[1..], ["written", "text"]);
    let in_order = [
        (Start, 0),
        (End, 0),
        (Start, 1),
        (End, 1),
        (Start, 2),
        (End, 2),
    ];
    assert_eq!(history(&stage).await, in_order);
    gate.open();
    stage.quiet().await;
}

#[tokio::test]
async fn r10_adjacent_reads_run_side_by_side_and_a_write_parts_them() {
    let (looking, writing) = (Gate::shut(), Gate::shut());
    let look = || ("look", json!({ "path": "a" }));
    let stage = Stage::new(lead(&[look(), look(), put("a"), look()])).await;
    let (looks, _look) = Probe::new("look", Effect::Read)
        .held_at(&looking)
        .on(&stage);
    let files = Files::held_at(&writing);
    let _files = files.on(&stage);
    stage.prompt(stage.root(), "go").await;
    looks.running(2).await;
    assert_eq!(history(&stage).await, []);
    looking.let_through(2);
    started(&stage, 2).await;
    assert_eq!(looks.ran().len(), 2, "a read passed the write before it");
    writing.open();
    looks.running(1).await;
    assert!(files.files.lock().unwrap().contains_key("a"));
    looking.open();
    stage.quiet().await;
    assert_eq!(looks.most_at_once(), 2);
    let history = history(&stage).await;
    assert_eq!(history[4..], [(Start, 2), (End, 2), (Start, 3), (End, 3)]);
}

#[tokio::test]
async fn r10_adjacent_tasks_run_side_by_side() {
    let gate = Gate::shut();
    let script = lead(&[worker(), worker(), put("a")]);
    let line = || say("ok").behind(&gate);
    let script = script.part("worker", [line(), line()]);
    let stage = Stage::new(script).await;
    let _tools = Files::default().on(&stage);
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 2).await;
    assert_eq!(history(&stage).await, [(Start, 0), (Start, 1)]);
    gate.open();
    stage.quiet().await;
    let history = history(&stage).await;
    assert_eq!(history[4..], [(Start, 2), (End, 2)]);
}

#[tokio::test]
async fn r10_a_refused_call_is_an_outcome_like_any_other() {
    let unknown = ("nothing", json!({}));
    let script = lead(&[put("a"), unknown, get("a")]);
    let stage = Stage::new(script).await;
    let _tools = Files::default().on(&stage);
    stage.ask("go").await;
    let read = read_by_lead(&stage);
    assert_eq!((read[0].as_str(), read[2].as_str()), ("written", "text"));
    assert!(read[1].starts_with("error: there is no tool"), "{read:?}");
}

#[tokio::test]
async fn r15_calls_of_one_kind_cost_no_commit_more_and_each_further_group_one() {
    // Of these, one is of the prompt with its turn and one of the last message with the settlement.
    let reads = [get("a"), get("b")];
    let tasks = [worker(), worker()];
    let background = [worker_in_background(), get("a")];
    let mixed = [put("a"), get("a")];
    let cases: [(&[(&str, Value)], usize); 4] = [
        // The message, the outcomes.
        (&reads, 4),
        // The message with both births, each child's end, and their outcomes together or one by one.
        (&tasks, 7),
        // The message with the birth, the receipt and what follows; the child's end; the read's outcome;
        // the end of the turn; the completion with the next turn.
        (&background, 7),
        // The message, the write's outcome, the read's.
        (&mixed, 5),
    ];
    for (calls, most) in cases {
        let script = lead(calls)
            .part("lead", worker_says("heard"))
            .part("worker", [say("ok"), say("ok")]);
        let stage = Stage::new(script).await;
        let _tools = Files::default().on(&stage);
        let before = stage.wire.appends();
        stage.ask("go").await;
        let appends = stage.wire.appends() - before;
        assert!(appends <= most, "{calls:?}: {appends} appends");
    }
}

#[tokio::test]
async fn r10_calls_behind_one_that_is_cancelled_do_not_run_and_say_so() {
    let never = Gate::shut();
    let stage = Stage::new(lead(&[put("a"), get("a"), worker()])).await;
    let files = Files::held_at(&never);
    let _tools = files.on(&stage);
    stage.prompt(stage.root(), "go").await;
    started(&stage, 0).await;
    stage.order(stage.root(), Order::Cancel(Scope::Turn)).await;
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.iter().all(|one| kind(one) == ErrorKind::Cancelled));
    let started: Vec<_> = history(&stage).await;
    assert_eq!(started.iter().filter(|(did, _)| *did == Start).count(), 1);
    assert!(!has_children(&stage).await);
}

#[tokio::test]
async fn r10_calls_whose_group_had_not_started_when_the_process_died_are_told_that_they_did_not_run()
 {
    let never = Gate::shut();
    let stage = Stage::new(lead(&[put("a"), get("a"), worker()])).await;
    let tools = Files::held_at(&never).on(&stage);
    stage.prompt(stage.root(), "go").await;
    started(&stage, 0).await;
    let stage = stage.crash().await;
    drop(tools);
    stage.order(stage.root(), Order::Resume).await;
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    let interrupted = |one: &Outcome| kind(one) == ErrorKind::Interrupted;
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.iter().all(interrupted));
    let ran = |one: &Outcome| !one.for_model().contains("before this ran");
    let ran: Vec<bool> = outcomes.iter().map(ran).collect();
    assert_eq!(ran, [true, false, false]);
    assert!(!has_children(&stage).await);
}

#[tokio::test]
async fn r10_a_process_that_dies_between_two_groups_loses_no_outcome_and_starts_nothing_twice() {
    // The append that ends the write also starts the child: it is there as a whole or not at all.
    let gate = Gate::shut();
    let script = lead(&[put("a"), worker()]).part("worker", [say("ok").behind(&gate)]);
    let stage = Stage::new(script).await;
    let _tools = Files::default().on(&stage);
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    assert_eq!(history(&stage).await, [(Start, 0), (End, 0), (Start, 1)]);
    let stage = stage.crash().await;
    stage.order(stage.root(), Order::Resume).await;
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!("written"));
    assert_eq!(kind(&outcomes[1]), ErrorKind::ChildFailed);
    assert_eq!(outcomes.len(), 2);
}

#[tokio::test]
async fn r10_a_call_that_waits_for_an_answer_holds_up_the_groups_behind_it() {
    for (verdict, read) in [(Verdict::Once, "written"), (no("not now"), "not now")] {
        let script = lead(&[get("a"), put("a"), worker()]).part("worker", worker_says("ok"));
        let stage = asking(script, Action::Ask).await;
        let _tools = Files::default().on(&stage);
        stage.prompt(stage.root(), "go").await;
        let ask = asked(&stage, 1).await;
        let finished = |entry: &Entry| matches!(entry.event, Event::CallFinished { .. });
        stage.until(finished).await;
        assert!(!has_children(&stage).await);
        assert_eq!(answer(&stage, ask, verdict).await, Receipt::Answered);
        stage.quiet().await;
        let outcomes = read_by_lead(&stage);
        assert!(outcomes[1].contains(read), "{outcomes:?}");
        assert!(outcomes[2].contains("ok"), "{outcomes:?}");
        let history = history(&stage).await;
        assert_eq!(history[history.len() - 2..], [(Start, 2), (End, 2)]);
    }
}

#[tokio::test]
async fn r10_an_answer_is_taken_at_once_and_its_call_starts_with_its_group() {
    let gate = Gate::shut();
    let command = ("run", json!({ "path": "ls" }));
    let stage = asking(lead(&[put("a"), command]), Action::Allow).await;
    let _tools = Files::held_at(&gate).on(&stage);
    stage.prompt(stage.root(), "go").await;
    started(&stage, 0).await;
    let ask = asked(&stage, 1).await;
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    assert_eq!(history(&stage).await, [(Ask, 1), (Start, 0)]);
    gate.open();
    stage.quiet().await;
    let in_order = [(Ask, 1), (Start, 0), (End, 0), (Start, 1), (End, 1)];
    assert_eq!(history(&stage).await, in_order);
    assert_eq!(data(&stage.outcomes("lead").await[1]), json!("done"));
}

#[tokio::test]
async fn r10_a_question_is_put_when_its_turn_comes() {
    let gate = Gate::shut();
    let question = (
        "question",
        json!({ "questions": [{ "question": "like it?" }] }),
    );
    let stage = asking(lead(&[put("a"), question]), Action::Allow).await;
    let _tools = Files::held_at(&gate).on(&stage);
    stage.prompt(stage.root(), "go").await;
    started(&stage, 0).await;
    assert_eq!(history(&stage).await, [(Start, 0)]);
    gate.open();
    let ask = asked(&stage, 1).await;
    assert_eq!(history(&stage).await, [(Start, 0), (End, 0), (Ask, 1)]);
    let said = Verdict::Said {
        answers: vec![vec!["yes".to_owned()]],
    };
    assert_eq!(answer(&stage, ask, said).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(stage.outcomes("lead").await.len(), 2);
}

#[tokio::test]
async fn r10_calls_that_slept_run_in_their_order_whichever_is_answered_first() {
    let writes = ["a", "b"].map(|path| ("write", json!({ "path": path })));
    let stage = asking(lead(&writes), Action::Ask).await;
    stage.prompt(stage.root(), "go").await;
    let (first, second) = (asked(&stage, 1).await, asked(&stage, 2).await);
    let stage = stage.crash().await;
    stage.order(stage.root(), Order::Resume).await;
    assert_eq!(
        answer(&stage, second, Verdict::Once).await,
        Receipt::Answered
    );
    assert_eq!(history(&stage).await, [(Ask, 0), (Ask, 1)]);
    assert_eq!(
        answer(&stage, first, Verdict::Once).await,
        Receipt::Answered
    );
    stage.quiet().await;
    let in_order = [(Start, 0), (End, 0), (Start, 1), (End, 1)];
    assert_eq!(history(&stage).await[2..], in_order);
}

#[tokio::test(start_paused = true)]
async fn r10_calls_behind_one_that_a_cap_cuts_do_not_run_and_the_agent_hands_back() {
    let never = Gate::shut();
    let slow = Manifest {
        limits: Caps {
            time: Some(Span::secs(600)),
            stall: Some(Span::secs(3_600)),
            ..Caps::default()
        },
        ..Manifest::new("slow", Mode::Subagent, "Work.")
    };
    let script = Script::default()
        .part(
            "lead",
            [call(&[("task", task_arguments("slow", "go"))]), say("done")],
        )
        .part(
            "slow",
            [call(&[put("a"), get("a"), worker()]), say("so far")],
        );
    let stage = Stage::ticking(script, vec![slow]).await;
    let _tools = Files::held_at(&never).on(&stage);
    stage.ask_and_wait("go").await;
    let outcomes = stage.outcomes("slow").await;
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.iter().all(|one| kind(one) == ErrorKind::Cancelled));
    let child = stage.born("slow").await;
    let settlement = stage.settlement(&child).await;
    let cut = Status::Partial(PartialReason::Budget(Cap::Time));
    assert_eq!(settlement.status, cut);
    assert!(
        stage
            .tree()
            .await
            .agent(&child)
            .unwrap()
            .children
            .is_empty()
    );
}

#[tokio::test]
async fn r10_a_call_is_judged_again_if_calls_have_run_before_it() {
    // What the second call writes to is decided by the first.
    let link = ("put", json!({ "path": "link", "text": "secret" }));
    let stage = Stage::new(lead(&[link, put("link/x")])).await;
    let stage = ruled(stage, &[(Need::FS_WRITE, "/w/secret", Action::Deny)]).await;
    let _tools = Files::default().on(&stage);
    stage.ask("go").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!("written"));
    assert_eq!(kind(&outcomes[1]), ErrorKind::Denied);
    let in_order = [(Start, 0), (End, 0), (End, 1)];
    assert_eq!(history(&stage).await, in_order);
}

/// A session whose calls a hook hears of when they are over.
async fn heard_after(script: Script, guard: Guard) -> (Stage, Arc<Guard>) {
    let guard = Arc::new(guard);
    (Stage::watched(script, Asks::YES, &guard).await, guard)
}

#[tokio::test]
async fn hooks_hear_of_a_group_before_the_next_one_starts() {
    let background = (worker_in_background(), vec![(Start, 0), (End, 0)]);
    let write = (put("b"), vec![(Start, 0), (End, 0)]);
    for (first, over) in [background, write] {
        let gate = Gate::shut();
        let guard = Guard::at(&[Point::PostToolUse]).behind(&gate);
        let script = lead(&[first, put("a"), get("a")])
            .part("lead", [say("heard")])
            .part("worker", worker_says("ok"));
        let (stage, guard) = heard_after(script, guard).await;
        let _tools = Files::default().on(&stage);
        stage.prompt(stage.root(), "go").await;
        guard.called(1).await;
        assert_eq!(history(&stage).await, over);
        gate.open();
        stage.quiet().await;
        let of_lead = guard.seen().into_iter();
        let of_lead = of_lead.filter(|it| it.who.agent == stage.root());
        assert_eq!(of_lead.count(), 3, "each call is told of once");
        assert_eq!(read_by_lead(&stage)[1..], ["written", "text"]);
    }
}

#[tokio::test]
async fn a_hook_that_stops_the_agent_after_a_group_lets_no_later_call_run() {
    let guard = Guard::at(&[Point::PostToolUse]).saying(Say {
        word: Word::Stop {
            reason: "enough".to_owned(),
        },
        ..Say::nothing()
    });
    let (stage, guard) = heard_after(lead(&[put("a"), get("a"), worker()]), guard).await;
    let _tools = Files::default().on(&stage);
    stage.ask("go").await;
    assert_eq!(guard.seen().len(), 1);
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!("written"));
    for not_run in &outcomes[1..] {
        assert_eq!(kind(not_run), ErrorKind::Denied);
        assert!(not_run.for_model().contains("enough"));
    }
    assert!(!has_children(&stage).await);
    assert_eq!(stage.script.sent("lead").len(), 1, "the turn is over");
}

#[tokio::test]
async fn r15_hooks_after_calls_cost_no_commit_in_a_message_with_one_group() {
    let guard = Guard::at(&[Point::PostToolUse]);
    let (stage, guard) = heard_after(lead(&[get("a"), get("b")]), guard).await;
    let files = Files::default();
    for path in ["a", "b"] {
        let mut files = files.files.lock().unwrap();
        files.insert(path.to_owned(), "text".to_owned());
    }
    let _tools = files.on(&stage);
    let before = stage.wire.appends();
    stage.ask("go").await;
    let appends = stage.wire.appends() - before;
    assert!(appends <= 4, "{appends} appends");
    assert_eq!(guard.seen().len(), 2);
}
