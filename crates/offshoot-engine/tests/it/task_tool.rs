//! `task` beside PilotDeck's `agent`: the same promises where there is no ruling, and ours where
//! there is one.

use offshoot_engine::{Asks, Limits};
use offshoot_types::event::Event;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::settlement::Status;
use offshoot_types::tool::{Effect, ToolSpec};
use serde_json::{Value, json};

use crate::stage::{
    Gate, Script, Stage, call, data, kind, outcome_texts, say, task, task_arguments,
};

/// Calls `task` with arguments and returns what it came to, whether or not a child was made of it.
async fn called_with(arguments: Value) -> (Outcome, Stage) {
    let script = Script::default().part("lead", [call(&[("task", arguments)]), say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let outcome = stage.outcomes("lead").await.remove(0);
    (outcome, stage)
}

fn task_spec(stage: &Stage, definition: &str) -> ToolSpec {
    let request = stage.script.sent(definition).remove(0);
    let spec = request.tools.iter().find(|tool| tool.id == "task");
    spec.unwrap().clone()
}

/// The guide locks the input (SA-08): models are told of one spelling, and the type has to be said.
/// What stays is that unknown properties are refused; those of other agents' tools are known.
#[tokio::test]
async fn pd_1_the_input_is_the_guides_and_nothing_beside_it_is_taken() {
    let wrong = [
        json!({ "subagent_type": "worker", "prompt": "x", "descripton": "a label" }),
        json!({ "subagent_type": "worker", "prompt": "x", "backgrund": true }),
        json!({ "subagent_type": "worker", "agent": "reader", "prompt": "x" }),
        json!({ "subagentType": "worker", "prompt": "x" }),
        json!({ "subagent_type": "worker" }),
    ];
    for arguments in wrong {
        let (outcome, stage) = called_with(arguments).await;
        assert_eq!(kind(&outcome), ErrorKind::InvalidInput);
        assert_eq!(stage.tree().await.walk().len(), 1, "no child is made of it");
        let schema: Value = task_spec(&stage, "lead").parameters.read().unwrap();
        assert_eq!(schema["required"], json!(["subagent_type", "prompt"]));
        assert_eq!(schema["additionalProperties"], json!(false));
    }
    let (outcome, _) = called_with(task_arguments("worker", "x")).await;
    assert!(!outcome.is_error());
}

#[tokio::test]
async fn arguments_of_other_agents_tools_are_taken() {
    let taken = [
        json!({ "subagent_type": "worker", "prompt": "x", "description": "a label" }),
        json!({ "agent": "worker", "prompt": "x", "name": "a label" }),
        json!({ "agent_type": "worker", "prompt": "x", "run_in_background": false }),
    ];
    for arguments in taken {
        let (outcome, stage) = called_with(arguments).await;
        assert!(!outcome.is_error(), "{outcome:?}");
        let worker = stage.born("worker").await;
        assert!(stage.tree().await.agent(&worker).is_some());
    }
}

/// Names are looked up as they are (SA-11): what an agent also answers to is the registry's
/// business. An unknown one is refused with those there are, as in PilotDeck.
#[tokio::test]
async fn pd_2_an_unknown_type_is_refused_with_the_names_there_are() {
    for name in ["Worker", " worker", "general purpose"] {
        let (outcome, stage) = called_with(task_arguments(name, "x")).await;
        assert_eq!(kind(&outcome), ErrorKind::UnknownAgent, "{name}");
        let text = outcome.for_model();
        for known in ["aware", "helper", "reader", "watched", "worker"] {
            assert!(text.contains(known), "{text}");
        }
        assert!(!text.contains("lead"), "people only: {text}");
        assert_eq!(stage.tree().await.walk().len(), 1);
    }
}

/// There is no type that stands for none (SA-08). A parent that only reads needs no other type for
/// its children either: its layer is in their chain (R21), so whichever it names only reads.
#[tokio::test]
async fn pd_3_without_a_type_there_is_no_child_and_a_reading_parent_has_reading_children() {
    let (outcome, _) = called_with(json!({ "prompt": "x" })).await;
    assert_eq!(kind(&outcome), ErrorKind::InvalidInput);
    assert!(outcome.for_model().contains("subagent_type"));

    let lead = Manifest {
        read_only: true,
        ..Manifest::new("lead", Mode::Primary, "Plan.")
    };
    let calls = [
        ("write", json!({ "path": "a" })),
        ("read", json!({ "path": "a" })),
    ];
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [call(&calls), say("looked")]);
    let stage = Stage::with_agents(script, vec![lead]).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("worker").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Denied);
    assert_eq!(data(&outcomes[1]), json!("done"));
    let worker = stage.born("worker").await;
    let tree = stage.tree().await;
    let born_as = &tree.agent(&worker).unwrap().spawned.definition;
    assert_eq!(born_as, "worker", "it is the one that was named");
}

/// Types are the host's registry and not compiled in, so those are told that this agent may spawn.
#[tokio::test]
async fn pd_4_the_types_that_may_be_spawned_are_told_with_what_they_are_for() {
    let cook = Manifest {
        description: "Cooks,\n  and cleans.".to_owned(),
        ..Manifest::new("cook", Mode::All, "Cook.")
    };
    let boss = Manifest {
        spawns: Some(vec!["cook".to_owned()]),
        ..Manifest::new("boss", Mode::Subagent, "Manage.")
    };
    let script = Script::default().part("lead", [task("boss", "go"), say("done")]);
    let stage = Stage::with_agents(script, vec![cook, boss]).await;
    stage.ask("go").await;
    let told = task_spec(&stage, "lead").description;
    assert!(told.contains(" [cook: Cooks, and cleans.]"), "{told}");
    assert!(
        told.contains(" [boss] ") && told.contains(" [worker]"),
        "{told}"
    );
    assert!(!told.contains("[lead"), "people only: {told}");
    let told = task_spec(&stage, "boss").description;
    assert!(
        told.ends_with("Agents: [cook: Cooks, and cleans.]"),
        "{told}"
    );
}

#[tokio::test]
async fn pd_5_task_is_not_read_only_runs_side_by_side_and_nobody_is_asked_for_it() {
    let gate = Gate::shut();
    let both = call(&[
        ("task", task_arguments("worker", "one")),
        ("task", task_arguments("helper", "two")),
        ("write", json!({ "path": "a" })),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("worker", [say("one").behind(&gate)])
        .part("helper", [say("two").behind(&gate)]);
    // Nobody could allow anything, and `write` shows that something is asked.
    let stage = Stage::asking(script, Limits::default(), Asks::NOBODY).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    stage.asked("helper", 1).await;
    gate.open();
    stage.quiet().await;
    assert_eq!(task_spec(&stage, "lead").effect, Effect::Write);
    let read = outcome_texts(&stage.script.sent("lead")[1]);
    assert_eq!(read[0], r#"{"output":"one"}"#);
    assert_eq!(read[1], r#"{"output":"two"}"#);
    assert!(read[2].contains("nobody is here to give it"), "{read:?}");
    let log = stage.log().await;
    let decided = log
        .iter()
        .filter(|entry| matches!(entry.event, Event::Decided { .. } | Event::Asked { .. }));
    assert_eq!(decided.count(), 1, "the one for write");
}

/// Children may have children here (SA-26), to a depth that is the host's; at the limit `task` stays
/// in the registry, so that the limit is a tool error (X-08).
#[tokio::test]
async fn pd_6_at_the_limit_of_depth_task_is_still_offered_and_fails_with_a_kind_of_its_own() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [task("helper", "deeper"), say("alone then")]);
    let limits = Limits {
        depth: 1,
        ..Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    stage.ask("go").await;
    assert_eq!(task_spec(&stage, "worker").id, "task");
    let outcome = &stage.outcomes("worker").await[0];
    assert_eq!(kind(outcome), ErrorKind::Depth);
    assert!(
        outcome.for_model().contains("at most 1 deep"),
        "{outcome:?}"
    );
    assert_eq!(stage.tree().await.walk().len(), 2);
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "output": "alone then" })
    );
}

/// The model reads `{output}` and nothing twice (X-01, W-8): type, id, usage, turns, duration and the
/// parsed report are metadata of the envelope. What is too long lies in a file (TLS-14).
#[tokio::test]
async fn pd_8_a_result_is_the_answer_once_and_all_about_it_is_metadata() {
    let report = "Scope: s\nResult: r\nKey files: k\nFiles changed: f\nIssues: i";
    let long = "x".repeat(200_001);
    let script = Script::default()
        .part(
            "lead",
            [task("worker", "go"), task("helper", "go"), say("done")],
        )
        .part("worker", [say(report)])
        .part("helper", [say(&long)]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!({ "output": report }));
    let metadata = serde_json::to_value(&outcomes[0]).unwrap()["metadata"].clone();
    let mut keys: Vec<_> = metadata.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    let all = [
        "definition_id",
        "duration_ms",
        "report",
        "settlement",
        "subagent_id",
        "turns",
        "usage",
    ];
    assert_eq!(keys, all);
    assert_eq!(outcomes[1].metadata.truncated, Some(true));
    let read = outcome_texts(stage.script.sent("lead").last().unwrap());
    assert!(read[1].len() < 200_001);
    let path = outcomes[1].metadata.output_path.as_ref().unwrap();
    assert!(read[1].contains(path), "it is told where the whole lies");
}

/// Nothing is compacted so far: whatever a model was told stays in its requests, results of `task`
/// among it.
#[tokio::test]
async fn pd_9_the_result_of_a_child_stays_in_every_later_request() {
    let look = || call(&[("read", json!({ "path": "a" }))]);
    let lines = [task("worker", "go"), say("done")].into_iter();
    let lines = lines.chain((0..20).map(|_| look())).chain([say("looked")]);
    let script = Script::default()
        .part("lead", lines)
        .part("worker", [say("the result")]);
    let lead = Manifest {
        tools: Toolset::only(["task", "read"]),
        ..Manifest::new("lead", Mode::Primary, "Lead.")
    };
    let stage = Stage::with_agents(script, vec![lead]).await;
    stage.ask("go").await;
    let stage = stage.crash().await;
    stage.ask("look around").await;
    let sent = stage.script.sent("lead");
    assert_eq!(sent.len(), 23);
    for request in &sent[1..] {
        assert_eq!(outcome_texts(request)[0], r#"{"output":"the result"}"#);
    }
    let root = stage.settlement(&stage.root()).await;
    assert_eq!(root.status, Status::Completed);
}
