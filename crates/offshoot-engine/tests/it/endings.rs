//! How a child's work comes to an end, in good order or not: time, stops, failures, what is left.

use offshoot_engine::{Activity, Limits, query};
use offshoot_types::caps::{Caps, Span};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::manifest::{Manifest, Mode};
use offshoot_types::message::AssistantPart;
use offshoot_types::model::ModelErrorKind;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{
    CancelledBy, Cap, FailureKind, PartialReason, Settlement, Status,
};
use offshoot_types::tool::Effect;
use offshoot_types::transcript::{Item, Transcript};
use serde_json::json;

use crate::stage::{
    Gate, Probe, Script, Stage, call, data, fail, kind, outcome_texts, say, task, task_arguments,
};

/// An agent that may be silent for as long as it likes.
fn patient(name: &str, time: Option<Span>) -> Manifest {
    Manifest {
        limits: Caps {
            time,
            stall: Some(Span::secs(100_000)),
            ..Caps::default()
        },
        ..Manifest::new(name, Mode::Subagent, "Take your time.")
    }
}

async fn ended(stage: &Stage, definition: &str) -> Settlement {
    let agent = stage.born(definition).await;
    stage.settlement(&agent).await
}

const OUT_OF_TIME: Status = Status::Partial(PartialReason::Budget(Cap::Time));

#[tokio::test(start_paused = true)]
async fn pd_35_a_child_has_an_hour_or_what_the_host_says_for_all() {
    let script = Script::default().part("lead", [task("worker", "go"), say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let (tree, worker) = (stage.tree().await, stage.born("worker").await);
    let usual = tree.agent(&worker).unwrap().spawned.terms.caps;
    assert_eq!(usual.time, Some(Span::secs(60 * 60)));

    let never = Gate::shut();
    let both = call(&[
        ("task", task_arguments("one", "go")),
        ("task", task_arguments("two", "go")),
    ]);
    let slow = || [say("…").behind(&never), say("so far")];
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("one", slow())
        .part("two", slow());
    let limits = Limits {
        spawned: Caps {
            time: Some(Span::secs(15 * 60)),
            ..Limits::default().spawned
        },
        ..Limits::default()
    };
    let cast = vec![patient("one", None), patient("two", None)];
    let stage = Stage::ticking_with(script, limits, cast).await;
    stage.ask_and_wait("go").await;
    for definition in ["one", "two"] {
        let settlement = ended(&stage, definition).await;
        assert_eq!(settlement.status, OUT_OF_TIME);
        // What is kept for handing back lies before the end (R26).
        let took = settlement.duration_ms;
        assert!((870_000..900_000).contains(&took), "{took}");
    }
}

/// The first settlement that is committed is the one there is (R18). Until then a stop counts more
/// than a cap: whoever is handing back when the parent is stopped is stopped as well.
#[tokio::test(start_paused = true)]
async fn pd_36_out_of_time_is_no_abort_and_what_came_first_stays() {
    let never = Gate::shut();
    let both = call(&[
        ("task", task_arguments("quick", "go")),
        ("task", task_arguments("slow", "go")),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("quick", [say("…").behind(&never), say("so far")])
        .part("slow", [say("…").behind(&never), say("…").behind(&never)]);
    let time = Some(Span::secs(600));
    let cast = vec![patient("quick", time), patient("slow", time)];
    let stage = Stage::ticking(script, cast).await;
    stage.prompt(stage.root(), "go").await;
    let quick = stage.born("quick").await;
    while stage.script.sent("slow").len() < 2
        || stage
            .tree()
            .await
            .agent(&quick)
            .unwrap()
            .settlement()
            .is_none()
    {
        stage.pass(1).await;
    }
    stage.cancel(stage.root()).await;
    stage.quiet().await;

    assert_eq!(ended(&stage, "quick").await.status, OUT_OF_TIME);
    let slow = ended(&stage, "slow").await;
    assert_eq!(slow.status, Status::Cancelled(CancelledBy::Ancestor));
    let outcomes = stage.outcomes("lead").await;
    let partial = json!({ "output": "[partial: budget: time] so far" });
    assert_eq!(data(&outcomes[0]), partial);
    assert_eq!(kind(&outcomes[1]), ErrorKind::AbortedByParent);
}

#[tokio::test]
async fn pd_37_a_stop_reaches_streams_and_tools_below_and_nobody_is_asked_after_it() {
    let never = Gate::shut();
    let both = call(&[
        ("task", task_arguments("worker", "go")),
        ("task", task_arguments("helper", "go")),
    ]);
    let script = Script::default()
        .part("lead", [both, say("never")])
        .part("worker", [say("half").stalls_at(&never), say("never")])
        .part("helper", [call(&[("hold", json!({}))]), say("never")]);
    let stage = Stage::new(script).await;
    let (notes, _attached) = Probe::new("hold", Effect::Write).held_at(&never).on(&stage);
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    notes.running(1).await;
    assert!(!stage.script.signals("worker")[0].is_cancelled());
    stage.cancel(stage.root()).await;
    stage.quiet().await;

    assert!(stage.script.signals("worker")[0].is_cancelled());
    let outcome = &stage.outcomes("helper").await[0];
    assert_eq!(kind(outcome), ErrorKind::Cancelled);
    assert!(
        outcome.for_model().contains("asked to stop"),
        "it heard of it"
    );
    let sent = ["lead", "worker", "helper"].map(|name| stage.script.sent(name).len());
    assert_eq!(sent, [1, 1, 1]);
}

#[tokio::test]
async fn pd_37_a_child_that_waits_for_its_turn_is_never_asked_once_it_is_stopped() {
    let never = Gate::shut();
    let both = call(&[
        ("task", task_arguments("worker", "go")),
        ("task", task_arguments("helper", "go")),
    ]);
    let script = Script::default()
        .part("lead", [both, say("never")])
        .part("worker", [say("never").behind(&never)])
        .part("helper", [say("never").behind(&never)]);
    let limits = Limits {
        slots: 1,
        ..Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    stage.prompt(stage.root(), "go").await;
    let children = [stage.born("worker").await, stage.born("helper").await];
    let doing = async |agent: &AgentId| {
        let query = query::Status(stage.tree.clone(), agent.clone());
        stage.runtime.query(query).await.unwrap().unwrap().1
    };
    loop {
        let now = [doing(&children[0]).await, doing(&children[1]).await];
        if now.contains(&Activity::Slot) && now.contains(&Activity::FirstByte) {
            break;
        }
        tokio::task::yield_now().await;
    }
    stage.cancel(stage.root()).await;
    stage.quiet().await;
    let sent = stage.script.sent("worker").len() + stage.script.sent("helper").len();
    assert_eq!(sent, 1, "the one that held the slot");
    for child in &children {
        let status = stage.settlement(child).await.status;
        assert_eq!(status, Status::Cancelled(CancelledBy::Ancestor));
    }
}

#[tokio::test]
async fn pd_48_a_parent_is_replayed_without_its_children_and_each_child_from_its_own_log() {
    let script = Script::default()
        .part("lead", [task("worker", "look"), say("done")])
        .part(
            "worker",
            [
                call(&[("read", json!({ "path": "a" }))]).saying("inside"),
                say("seen"),
            ],
        );
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let log = stage.log().await;
    let replayed = |agent: &AgentId| {
        let own = log.iter().filter(|entry| entry.agent == *agent);
        Transcript::fold(own.map(|entry| &entry.event)).unwrap()
    };
    let texts = |transcript: &Transcript| -> Vec<String> {
        let items = transcript.items().iter();
        items
            .flat_map(|item| match item {
                Item::User(message) => vec![message.text.to_string()],
                Item::Completion(_) | Item::Compacted(_) => Vec::new(),
                Item::Assistant(step) => {
                    let parts = step.message().parts.iter();
                    let text = |part: &AssistantPart| match part {
                        AssistantPart::Text(text) => Some(text.clone()),
                        _ => None,
                    };
                    parts.filter_map(text).collect()
                }
            })
            .collect()
    };
    assert_eq!(texts(&replayed(&stage.root())), ["go", "done"]);
    let child = stage.born("worker").await;
    assert_eq!(texts(&replayed(&child)), ["look", "inside", "seen"]);

    // Of one that is not there, there is nothing, and that is no error.
    let nobody = AgentId::new("nobody");
    assert!(stage.chat_of(&nobody).await.is_none());
    let query = query::Log::of(TreeId::of(nobody));
    let log = stage.runtime.query(query).await.unwrap();
    assert_eq!(log, []);
}

/// The scheduler is the one there is (SA-01). It goes by what a tool does: every read may run beside
/// others, which PilotDeck's does not let its `read_file` do.
#[tokio::test]
async fn pd_52_in_a_child_too_reads_run_side_by_side_and_writes_one_after_another() {
    for (effect, most) in [(Effect::Read, 3), (Effect::Write, 1)] {
        let three = ["a", "b", "c"].map(|path| ("touch", json!({ "path": path })));
        let script = Script::default()
            .part("lead", [task("worker", "go"), say("done")])
            .part("worker", [call(&three), say("ok")]);
        let stage = Stage::new(script).await;
        let (notes, _attached) = Probe::new("touch", effect).on(&stage);
        stage.ask("go").await;
        assert_eq!(notes.most_at_once(), most, "{effect:?}");
        let read = outcome_texts(&stage.script.sent("worker")[1]);
        let paths = ["a", "b", "c"].map(|path| format!("{{\"path\":\"{path}\"}}"));
        assert_eq!(read, paths, "in the order of the calls");
    }
}

/// Nothing that failed is recorded as if it had done nothing (R13, W-7): the record has what it took,
/// and the parent's model reads why.
#[tokio::test(start_paused = true)]
async fn pd_53_pd_54_a_failure_is_recorded_with_what_it_took_and_told_as_a_tool_error() {
    let gate = Gate::shut();
    let look = call(&[("read", json!({ "path": "a" }))]).saying("looking");
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("without it")])
        .part(
            "worker",
            [look, fail(ModelErrorKind::Invalid).behind(&gate)],
        );
    let stage = Stage::ticking(script, Vec::new()).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 2).await;
    stage.pass(7).await;
    gate.open();
    stage.quiet().await;

    let child = stage.born("worker").await;
    let log = stage.log().await;
    let last = log.iter().rfind(|entry| entry.agent == child).unwrap();
    let Event::Settled { settlement, .. } = &last.event else {
        panic!("{last:?}")
    };
    let why = Status::Failed {
        kind: FailureKind::Model,
        message: "the model is unwell".to_owned(),
    };
    assert_eq!(settlement.status, why);
    assert_eq!((settlement.steps, settlement.usage.input), (1, 10));
    assert_eq!(settlement.duration_ms, 7_000);
    assert_eq!(settlement.output.as_deref(), Some("looking"));

    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(kind(outcome), ErrorKind::ChildFailed);
    let read = outcome_texts(&stage.script.sent("lead")[1]);
    assert!(
        read[0].contains("ended failed: the model is unwell"),
        "{read:?}"
    );
    let root = stage.settlement(&stage.root()).await;
    assert_eq!(root.output.as_deref(), Some("without it"));
}

#[tokio::test(start_paused = true)]
async fn pd_55_a_childs_step_is_tried_again_before_its_first_word_and_not_after() {
    let gone = ModelErrorKind::Unavailable;
    let script = Script::default()
        .part(
            "lead",
            [task("worker", "go"), task("helper", "go"), say("done")],
        )
        .part("worker", [fail(gone), fail(gone), say("at last")])
        .part(
            "helper",
            [say("half an ans").breaking_off(gone), say("never")],
        );
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let tries = stage.script.sent("worker");
    assert_eq!(tries.len(), 3);
    assert!(
        tries
            .iter()
            .all(|request| request.messages == tries[0].messages)
    );
    let worker = ended(&stage, "worker").await;
    assert_eq!((worker.status, worker.steps), (Status::Completed, 1));
    assert_eq!(stage.script.sent("helper").len(), 1, "somebody has seen it");
    let helper = ended(&stage, "helper").await;
    assert!(matches!(helper.status, Status::Failed { .. }), "{helper:?}");
    assert_eq!(
        helper.output.as_deref(),
        Some("half an ans"),
        "and it is kept"
    );
}

/// A cap on tokens (R25) is not on one request but on a run and all below it. Off by default, too.
#[tokio::test]
async fn pd_60_a_request_that_is_larger_than_its_cap_is_not_sent() {
    let prompt = "x".repeat(40_000);
    let frugal = Manifest {
        limits: Caps {
            tokens: Some(8_000),
            ..Caps::default()
        },
        ..Manifest::new("frugal", Mode::Subagent, "Be brief.")
    };
    let both = call(&[
        ("task", task_arguments("frugal", &prompt)),
        ("task", task_arguments("worker", &prompt)),
    ]);
    let script = Script::default().part("lead", [both, say("done")]);
    let stage = Stage::with_agents(script, vec![frugal]).await;
    stage.ask("go").await;
    assert!(stage.script.sent("frugal").is_empty());
    assert_eq!(stage.script.sent("worker").len(), 1);
    let status = ended(&stage, "frugal").await.status;
    assert_eq!(status, Status::BudgetExhausted(Cap::Tokens));
    let read = outcome_texts(&stage.script.sent("lead")[1]);
    assert!(read[0].contains("budget exhausted: tokens"), "{read:?}");
    assert!(!read[1].starts_with("error"), "{read:?}");
}
