//! What the guide leaves to hosts or only says by the way: the fact that stands behind each.

use std::collections::BTreeSet;

use offshoot_engine::{Asks, Limits, query};
use offshoot_types::event::{Event, Origin};
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::model::Request;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::Status;
use offshoot_types::store::Store as _;
use offshoot_types::tool::Effect;
use serde_json::{Value, json};

use crate::stage::{
    Gate, Probe, Script, Stage, call, data, kind, say, task, task_arguments, task_in_background,
    user_texts,
};

fn part_types(message: &Value) -> Vec<&str> {
    let parts = message["parts"].as_array().unwrap().iter();
    parts.map(|part| part["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn sa_20_a_host_can_tell_a_completion_from_a_prompt_and_from_what_the_model_said() {
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("heard"),
            ],
        )
        .part("worker", [say("the answer")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let root = stage.root();
    let log = stage.log().await;
    let own = || log.iter().filter(|entry| entry.agent == root);
    let told: Vec<_> = own()
        .filter_map(|entry| match &entry.event {
            Event::Completion { message, .. } => Some(message.as_str()),
            _ => None,
        })
        .collect();
    let prompts = own().filter(|entry| matches!(entry.event, Event::Prompted(_)));
    assert_eq!((told.len(), prompts.count()), (1, 1), "events of their own");

    let rows = stage.chat().await;
    let rows = rows["messages"].as_array().unwrap();
    let marked = |row: &&Value| part_types(row).contains(&"data-task-completion");
    let completions: Vec<_> = rows.iter().filter(marked).collect();
    assert_eq!(completions.len(), 1, "{rows:#?}");
    let row = &completions[0]["message"];
    assert_eq!(
        (&row["id"], &row["role"]),
        (&json!(told[0]), &json!("assistant"))
    );
    assert_eq!(part_types(completions[0]).len(), 1, "nothing else is in it");
}

fn task_spec(request: &Request) -> (String, Value) {
    let spec = request.tools.iter().find(|tool| tool.id == "task").unwrap();
    (spec.description.clone(), spec.parameters.read().unwrap())
}

#[tokio::test]
async fn sa_24_task_is_no_clock_and_a_turn_that_nobody_prompted_may_spawn_in_the_background() {
    let mut later = task_arguments("worker", "in an hour");
    later["delay"] = json!(3600);
    let script = Script::default()
        .part(
            "lead",
            [
                call(&[("task", later)]),
                task_in_background("worker", "now"),
                say("started"),
                task_in_background("helper", "because of that"),
                say("started another"),
                say("heard both"),
            ],
        )
        .part("worker", [say("one")])
        .part("helper", [say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let (description, parameters) = task_spec(&stage.script.sent("lead")[0]);
    assert!(description.contains("Not for waiting on a clock"));
    let properties = parameters["properties"].as_object().unwrap();
    let keys: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
    // Those of the guide and `attachments`, by which a prompt has images and files.
    let known = [
        "attachments",
        "background",
        "metadata",
        "prompt",
        "subagent_type",
    ];
    assert_eq!(keys, BTreeSet::from(known));
    assert_eq!(
        kind(&stage.outcomes("lead").await[0]),
        ErrorKind::InvalidInput,
        "there is no time to give"
    );

    // The second child was spawned in a turn that a completion woke.
    let helper = stage.born("helper").await;
    let tree = stage.tree().await;
    let Origin::Task(parent) = &tree.agent(&helper).unwrap().spawned.origin else {
        panic!("it is a child")
    };
    let woke = stage.log().await.into_iter().any(|entry| {
        matches!(entry.event, Event::Completion { message, .. } if message == parent.message)
    });
    assert!(woke && parent.background);
    assert_eq!(stage.completions().await.len(), 2);
}

#[tokio::test]
async fn sa_36_a_childs_grant_is_logical_and_what_it_launches_is_its_own() {
    let use_it = || call(&[("launch", json!({ "path": "a" }))]);
    let script = Script::default()
        .part(
            "lead",
            [
                use_it(),
                task("reader", "go"),
                task("worker", "go"),
                say("done"),
            ],
        )
        .part("reader", [use_it(), say("may not")])
        .part("worker", [use_it(), say("launched")]);
    let stage = Stage::new(script).await;
    let (notes, _attached) = Probe::new("launch", Effect::Write)
        .needing("shell.run")
        .on(&stage);
    stage.ask("go").await;

    let worker = stage.born("worker").await;
    let [root, child] = notes.ran().try_into().unwrap();
    assert_eq!(
        kind(&stage.outcomes("reader").await[0]),
        ErrorKind::Denied,
        "the grant is what holds it"
    );
    assert_eq!(
        (&child.workspace, &child.off_limits),
        (&root.workspace, &root.off_limits),
        "no new place for it"
    );
    assert_eq!(root.owner, stage.root().as_str());
    assert_eq!(child.owner, worker.as_str(), "and not its parent's");
    let ended = notes.ended();
    assert!(ended.contains(&child.owner), "it ends with its agent");
    assert!(!ended.contains(&root.owner), "and nobody else's does");
}

#[tokio::test]
async fn sa_39_the_mark_gives_a_child_rows_of_its_own_and_changes_nothing_else() {
    let both = call(&[
        ("task", task_arguments("watched", "the same")),
        ("task", task_arguments("worker", "the same")),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("watched", [say("seen"), say("corrected")])
        .part("worker", [say("seen"), say("corrected")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let (watched, worker) = (stage.born("watched").await, stage.born("worker").await);
    let opaque = stage.store.chat(&worker).await.unwrap().unwrap();
    assert!(!opaque.has_rows, "folded from its log");
    let rows = stage.chat_of(&watched).await.unwrap();
    assert_eq!(rows["session"]["parent_id"], "root");
    assert_eq!(rows["messages"].as_array().unwrap().len(), 2);
    let shown: Vec<_> = stage.outcomes("lead").await.iter().map(data).collect();
    let pointer = json!({ "output": "seen", "session_id": watched.as_str() });
    assert!(shown.contains(&pointer) && shown.contains(&json!({ "output": "seen" })));
    // Whoever knows its id can correct either.
    for child in [&watched, &worker] {
        stage.prompt(child.clone(), "not so").await;
        stage.quiet().await;
        let said = stage.settlement(child).await.output;
        assert_eq!(said.as_deref(), Some("corrected"));
    }
}

/// Every point of the guide's checklist, in its order, on one tree.
#[tokio::test]
async fn sa_50_the_checklist_holds_on_one_tree() {
    let write = || call(&[("write", json!({ "path": "a" }))]);
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task("nobody", "go"),
                task("reader", "write it"),
                task("watched", "look"),
                task_in_background("worker", "long"),
                say("started"),
                say("heard"),
            ],
        )
        .part("reader", [write(), say("may not")])
        .part("watched", [task("helper", "deeper"), say("seen")])
        .part("helper", [task("worker", "too deep"), say("no further")])
        .part("worker", [say("at last").behind(&gate)]);
    let limits = Limits {
        depth: 2,
        ..Limits::default()
    };
    let stage = Stage::asking(script, limits, Asks::YES).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;

    let outcomes = stage.outcomes("lead").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::UnknownAgent, "SA-11");
    assert_eq!(
        kind(&stage.outcomes("reader").await[0]),
        ErrorKind::Denied,
        "SA-31, 32"
    );
    let watched = stage.born("watched").await;
    let rows = stage.chat_of(&watched).await.unwrap();
    let asked = stage.chat().await["messages"][0]["message"]["id"].clone();
    assert_eq!(rows["session"]["parent_id"], "root", "SA-13, 38");
    assert_eq!(rows["session"]["parent_message_id"], asked, "SA-13");
    assert_eq!(
        kind(&stage.outcomes("helper").await[0]),
        ErrorKind::Depth,
        "SA-27"
    );
    assert_eq!(data(&outcomes[1])["session_id"], Value::Null, "SA-37");
    let handle = data(&outcomes[3])["session_id"].clone();
    assert_eq!(handle, stage.born("worker").await.as_str(), "SA-10");
    assert!(
        stage.completions().await.is_empty(),
        "SA-10: before its answer"
    );
    gate.open();
    stage.quiet().await;
    let told = ("completed".to_owned(), Some("at last".to_owned()));
    assert_eq!(stage.completions().await, [told], "SA-18");
    // SA-01: one loop for all of them. Each left a log that begins and ends the same way.
    let tree = stage.tree().await;
    assert_eq!(tree.walk().len(), 5);
    for id in tree.walk() {
        let settlement = tree.agent(id).unwrap().settlement().unwrap();
        assert_eq!(settlement.status, Status::Completed, "{id}");
    }
}

#[tokio::test]
async fn sa_51_pd_7_every_call_makes_an_agent_of_its_own_and_nothing_is_pooled() {
    let again = || task("worker", "the same words");
    let script = Script::default()
        .part(
            "lead",
            [again(), again(), say("done"), again(), say("done")],
        )
        .part("worker", [say("one"), say("two"), say("three")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    stage.ask("once more").await;

    let sent = stage.script.sent("worker");
    let mut agents: Vec<&AgentId> = sent.iter().map(|request| &request.from.agent).collect();
    agents.sort();
    agents.dedup();
    assert_eq!(agents.len(), 3, "a new id for each");
    for request in &sent {
        assert_eq!(
            user_texts(request),
            ["the same words"],
            "and nothing before it"
        );
    }
    let tree = stage.tree().await;
    for id in agents {
        let agent = tree.agent(id).unwrap();
        assert_eq!((agent.runs.len(), agent.turns.get()), (1, 1));
        // One id everywhere (R2), and it leads to one tree.
        let of = stage
            .runtime
            .query(query::TreeOf(id.clone()))
            .await
            .unwrap();
        assert_eq!(of, Some(stage.tree.clone()));
    }
    // Another session knows nothing of this one.
    stage.open_another("beside").await;
    let other = TreeId::of(AgentId::new("beside"));
    let log = stage.runtime.query(query::Log::of(other)).await.unwrap();
    assert_eq!(log.len(), 1, "its birth");
}
