//! What a host has to say of children, and what it learns of them: answers, hooks, records.

use std::sync::{Arc, Mutex};

use offshoot_engine::{Activity, Asks, Limits, SessionState, Update, query};
use offshoot_types::command::{Receipt, Verdict};
use offshoot_types::event::Event;
use offshoot_types::hook::{About, Hook};
use offshoot_types::id::{AgentId, CallId, Pos};
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::message::UserMessage;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::Action;
use offshoot_types::settlement::Status;
use offshoot_types::tool::Effect;
use serde_json::json;

use crate::asks::{answer, asked};
use crate::stage::{Line, Probe, Script, Stage, call, data, kind, say, task, task_arguments};

fn write(path: &str) -> Line {
    call(&[("write", json!({ "path": path }))])
}

/// An answer for the session is a grant (R22): it reaches parent, child and siblings, as in
/// PilotDeck, but lies beside the chain, so that it lifts an ask and never a deny.
#[tokio::test]
async fn pd_28_an_answer_to_one_child_is_heard_by_all_and_widens_nobody() {
    let script = Script::default()
        .part(
            "lead",
            [
                task("worker", "go"),
                write("b"),
                task("helper", "go"),
                task("reader", "go"),
                say("done"),
            ],
        )
        .part("worker", [write("a"), say("ok")])
        .part("helper", [write("c"), say("ok")])
        .part("reader", [write("d"), say("may not")]);
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    stage.prompt(stage.root(), "go").await;
    let ask = asked(&stage, 1).await;
    let worker = stage.born("worker").await;
    assert_eq!(ask.0, worker);
    assert_eq!(
        answer(&stage, ask, Verdict::Session).await,
        Receipt::Answered
    );
    // A second ask would wait for ever.
    let root = stage.root();
    stage
        .until(|entry| match entry.event {
            Event::Asked { .. } => entry.agent != worker,
            Event::Settled { .. } => entry.agent == root,
            _ => false,
        })
        .await;
    let log = stage.log().await;
    let asks = log
        .iter()
        .filter(|entry| matches!(entry.event, Event::Asked { .. }));
    assert_eq!(asks.count(), 1, "once is enough");
    assert_eq!(data(&stage.outcomes("worker").await[0]), json!("done"));
    assert_eq!(
        data(&stage.outcomes("lead").await[1]),
        json!("done"),
        "its parent"
    );
    assert_eq!(
        data(&stage.outcomes("helper").await[0]),
        json!("done"),
        "a sibling"
    );
    assert_eq!(kind(&stage.outcomes("reader").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn pd_29_what_a_child_asks_is_shown_with_its_tree_and_the_answer_finds_its_call() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [write("a"), say("written")]);
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    let mut updates = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
    stage.prompt(stage.root(), "go").await;
    // Whoever follows the session sees it, with who asks for which call.
    let (agent, call) = loop {
        if let Update::Entry(entry) = updates.next().await.unwrap()
            && let Event::Asked { call, .. } = &entry.event
        {
            break (entry.agent.clone(), call.clone());
        }
    };
    assert_eq!(agent, stage.born("worker").await);
    stage
        .until_activity(|activity| matches!(activity, Activity::Permission(_)))
        .await;
    let query = query::Status(stage.tree.clone(), agent.clone());
    let (state, _) = stage.runtime.query(query).await.unwrap().unwrap();
    assert_eq!(state, SessionState::WaitingOnApproval);

    let other = (agent.clone(), CallId::new("another"));
    let stray = answer(&stage, other, Verdict::Once).await;
    assert!(matches!(stray, Receipt::NoEffect { .. }), "{stray:?}");
    let to_parent = (stage.root(), call.clone());
    let stray = answer(&stage, to_parent, Verdict::Once).await;
    assert!(matches!(stray, Receipt::NoEffect { .. }), "{stray:?}");
    assert_eq!(
        answer(&stage, (agent, call), Verdict::Once).await,
        Receipt::Answered
    );
    stage.quiet().await;
    assert_eq!(data(&stage.outcomes("worker").await[0]), json!("done"));
}

/// Notes whom it is asked about, and wants no agent of one definition.
#[derive(Default)]
struct Witness {
    seen: Mutex<Vec<(String, AgentId, AgentId, u32)>>,
}

impl Hook for Witness {
    fn user_message(&self, about: About<'_>, _message: &mut UserMessage) -> Result<(), String> {
        let About {
            session,
            agent,
            definition,
            depth,
        } = about;
        let seen = (definition.to_owned(), session.clone(), agent.clone(), depth);
        self.seen.lock().unwrap().push(seen);
        match definition {
            "aware" => Err("not today".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Beyond PilotDeck (W-14) a hook is told the type and may refuse the start. That a child began and
/// how it ended are entries of the log, which every follower gets, and not hooks.
#[tokio::test]
async fn pd_31_hooks_are_told_which_child_it_is_and_may_refuse_it() {
    let witness = Arc::new(Witness::default());
    let script = Script::default()
        .part(
            "lead",
            [task("worker", "go"), task("aware", "go"), say("done")],
        )
        .part("worker", [task("helper", "deeper"), say("ok")]);
    let stage = Stage::hooked(script, Vec::new(), witness.clone()).await;
    stage.ask("go").await;

    let (worker, helper) = (stage.born("worker").await, stage.born("helper").await);
    let seen = witness.seen.lock().unwrap().clone();
    let root = stage.root();
    let about = |definition: &str, agent: &AgentId, depth| {
        (definition.to_owned(), root.clone(), agent.clone(), depth)
    };
    assert_eq!(seen[0], about("lead", &root, 0));
    assert_eq!(seen[1], about("worker", &worker, 1));
    assert_eq!(seen[2], about("helper", &helper, 2));
    let refused = &stage.outcomes("lead").await[1];
    assert_eq!(kind(refused), ErrorKind::Denied);
    assert!(
        refused
            .for_model()
            .contains("cannot spawn aware: not today")
    );
    assert_eq!(stage.tree().await.walk().len(), 3, "there is no such child");
    let settled = stage
        .log()
        .await
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Settled { settlement, .. } => Some((entry.agent, settlement.status)),
            _ => None,
        });
    let ends: Vec<_> = settled.collect();
    let expected = [helper, worker, root].map(|agent| (agent, Status::Completed));
    assert_eq!(ends, expected);
}

/// Leaving a plan is for the session's own agent: a child that names the tool has it (SA-41), and a
/// call of it is an error. What PilotDeck forgot to hand down reaches children here: whether a person
/// can be asked (W-1), and the journal (W-4).
#[tokio::test]
async fn pd_32_the_way_out_of_a_plan_is_the_roots_and_asking_and_the_journal_hold_below_it() {
    let cast = |mode, name: &str| Manifest {
        tools: Toolset::only(["plan_exit", "task", "change", "write"]),
        ..Manifest::new(name, mode, "Plan.")
    };
    let cast = vec![cast(Mode::Primary, "lead"), cast(Mode::Subagent, "planner")];
    let calls = call(&[
        ("plan_exit", json!({ "plan": "1. leave" })),
        ("write", json!({ "path": "a" })),
        ("change", json!({ "path": "b" })),
    ]);
    let script = Script::default()
        .part("lead", [task("planner", "go"), say("done")])
        .part("planner", [calls, say("tried")]);
    let stage = Stage::cast(script, Limits::default(), Asks::NOBODY, cast).await;
    let (_, _attached) = Probe::new("change", Effect::Write).changing().on(&stage);
    stage.ask("go").await;

    let offered = |definition: &str| {
        let tools = stage.script.sent(definition)[0].tools.clone();
        tools.iter().any(|tool| tool.id == "plan_exit")
    };
    assert!(offered("lead") && offered("planner"));
    let outcomes = stage.outcomes("planner").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Failed);
    assert_eq!(kind(&outcomes[1]), ErrorKind::Denied, "at once");
    assert!(
        outcomes[1]
            .for_model()
            .contains("nobody is here to give it")
    );
    let planner = stage.born("planner").await;
    assert_eq!(
        stage.changes().await,
        [(planner.clone(), "/w/b".to_owned())]
    );
    assert_eq!(stage.settlement(&planner).await.files, ["b"]);
}

/// The log is the record (R23): no call of a child runs, or is kept from it, without an entry that
/// says which layer decided, and each has its outcome.
#[tokio::test]
async fn pd_56_every_decision_and_every_outcome_of_a_child_is_on_record() {
    let calls = [
        ("read", json!({ "path": "a" })),
        ("write", json!({ "path": "a" })),
        ("run", json!({ "path": "a" })),
    ];
    let both = call(&[
        ("task", task_arguments("reader", "go")),
        ("task", task_arguments("worker", "go")),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("reader", [call(&calls), say("ok")])
        .part("worker", [call(&calls), say("ok")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let log = stage.log().await;
    for (definition, said) in [
        ("reader", [Action::Allow, Action::Deny, Action::Deny]),
        ("worker", [Action::Allow; 3]),
    ] {
        let child = stage.born(definition).await;
        let own = || log.iter().filter(|entry| entry.agent == child);
        let calls = own().find_map(|entry| match &entry.event {
            Event::Replied(message) if message.calls().next().is_some() => Some(
                message
                    .calls()
                    .map(|call| call.id.clone())
                    .collect::<Vec<_>>(),
            ),
            _ => None,
        });
        for (wanted, action) in calls.unwrap().iter().zip(said) {
            let decided = own().find_map(|entry| match &entry.event {
                Event::Decided { call, decision, .. } if call == wanted => {
                    Some((entry.pos, decision.clone()))
                }
                _ => None,
            });
            let (decided_at, decision) = decided.unwrap();
            assert_eq!(decision.action, action, "{definition}");
            assert!(!decision.layer.is_empty(), "by whom");
            let finished = own().find_map(|entry| match &entry.event {
                Event::CallFinished { call, outcome, .. } if call == wanted => {
                    Some((entry.pos, outcome.is_error()))
                }
                _ => None,
            });
            let (finished_at, failed) = finished.unwrap();
            assert!(decided_at < finished_at);
            assert_eq!(failed, action == Action::Deny);
        }
    }
}
