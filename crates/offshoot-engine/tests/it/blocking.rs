//! Blocking children: `task` waits and returns the answer.

use offshoot_engine::CommandError;
use offshoot_types::command::{Command, Order};
use offshoot_types::event::{Event, Origin};
use offshoot_types::id::{AgentId, CommandId, TreeId};
use offshoot_types::model::ModelErrorKind;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::settlement::{FailureKind, PartialReason, Status};
use serde_json::json;

use crate::stage::{Script, Stage, call, data, fail, kind, opening, say, task, task_arguments};

#[tokio::test]
async fn sa_01_sa_09_sa_17_a_child_answers_its_parent() {
    let script = Script::default()
        .part(
            "lead",
            [task("worker", "count the files"), say("There are 3.")],
        )
        .part("worker", [say("3 files")]);
    let stage = Stage::new(script).await;
    stage.ask("how many files?").await;

    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "output": "3 files" })
    );
    let root = stage.settlement(&stage.root()).await;
    assert_eq!(
        (root.status, root.output.as_deref()),
        (Status::Completed, Some("There are 3."))
    );
    // One loop: two entries, the parent's and the child's.
    assert_eq!(stage.script.sent("lead").len(), 2);
    assert_eq!(stage.script.sent("worker").len(), 1);
}

#[tokio::test]
async fn r15_a_blocking_child_costs_three_commits() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("ok")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let child = stage.born("worker").await;
    let log = stage.log().await;
    let of = |wanted: fn(&Event) -> bool, agent: &AgentId| {
        log.iter()
            .find(|entry| entry.agent == *agent && wanted(&entry.event))
            .unwrap()
            .pos
            .get()
    };
    // The child's first turn rides with its spawn, its settlement with its last message.
    let spawned = of(|event| matches!(event, Event::Spawned(_)), &child);
    assert_eq!(
        of(|event| matches!(event, Event::TurnStarted { .. }), &child),
        spawned + 2
    );
    let replied = of(|event| matches!(event, Event::Replied(_)), &child);
    assert_eq!(
        of(|event| matches!(event, Event::Settled { .. }), &child),
        replied + 2
    );
}

#[tokio::test]
async fn tls_14_of_a_long_answer_the_parent_is_shown_the_head_and_told_where_the_whole_lies() {
    let long = "ä\n".repeat(50_000);
    let script = Script::default()
        .part("lead", [task("worker", "go"), say(&long)])
        .part("worker", [say(&long)]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let child = stage.born("worker").await;
    // The last newline is not part of what was said.
    let path = format!("/w/.data/scratch/root/{child}/task-of-149999-bytes");
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(outcome.metadata.truncated, Some(true));
    assert_eq!(outcome.metadata.output_path.as_ref(), Some(&path));
    let output = data(outcome)["output"].as_str().unwrap().to_owned();
    let (head, note) = output.rsplit_once('\n').unwrap();
    assert!(long.starts_with(head) && head.len() > 100_000);
    assert_eq!(
        note,
        format!("[truncated: 102399 of 149999 bytes shown; all of them are in {path}]")
    );
    // What the model reads is that, and was not cut again.
    let sent = &stage.script.sent("lead")[1];
    let read = crate::stage::outcome_texts(sent);
    assert!(read[0].contains(note), "it was cut again");
    // The log has it all, and a root's answer is handed to nobody.
    let said = stage.settlement(&child).await.output.unwrap();
    assert_eq!(said, long.trim());
    assert_eq!(stage.settlement(&stage.root()).await.output_path, None);
}

#[tokio::test]
async fn sa_13_sa_14_sa_16_a_child_knows_where_it_comes_from() {
    let mut arguments = task_arguments("watched", "look at this");
    arguments["metadata"] = json!({ "ticket": 7 });
    let script = Script::default()
        .part("lead", [call(&[("task", arguments)]), say("done")])
        .part("watched", [say("seen")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let child = stage.born("watched").await;
    let tree = stage.tree().await;
    let agent = tree.agent(&child).unwrap();
    let Origin::Task(parent) = &agent.spawned.origin else {
        panic!("a child has a parent")
    };
    let prompt = stage
        .log()
        .await
        .into_iter()
        .find_map(|entry| match entry.event {
            Event::Prompted(message) if entry.agent == stage.root() => Some(message.id),
            _ => None,
        });
    assert_eq!(
        (&parent.agent, Some(&parent.message)),
        (&stage.root(), prompt.as_ref())
    );
    assert_eq!(
        agent.spawned.metadata.as_ref().unwrap().as_str(),
        r#"{"ticket":7}"#
    );
    assert!(agent.spawned.inspectable);
    // X-03: the answer, and a pointer to who gave it.
    let outcome = data(&stage.outcomes("lead").await[0]);
    assert_eq!(
        outcome,
        json!({ "output": "seen", "session_id": child.as_str() })
    );
    assert_eq!(
        crate::stage::user_texts(&stage.script.sent("watched")[0]),
        ["look at this"]
    );
}

#[tokio::test]
async fn sa_03_sa_08_sa_11_what_cannot_be_spawned_is_a_typed_tool_error_and_the_parent_goes_on() {
    let big = "x".repeat(10 * 1024 * 1024);
    let calls = [
        ("task", task_arguments("nobody", "go")),
        ("task", task_arguments("lead", "go")),
        ("task", json!({ "prompt": "no type" })),
        ("task", json!({ "subagent_type": "worker", "prompt": 3 })),
        (
            "task",
            json!({ "subagent_type": "worker", "prompt": "x", "model": "better" }),
        ),
        ("task", task_arguments("worker", &big)),
        (
            "task",
            json!({ "subagent_type": "worker", "prompt": "x", "metadata": [1] }),
        ),
        ("nothing", json!({})),
    ];
    let script = Script::default().part("lead", [call(&calls), say("I went on.")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let kinds: Vec<ErrorKind> = stage.outcomes("lead").await.iter().map(kind).collect();
    use ErrorKind::{InvalidInput, UnknownAgent, UnknownTool, WrongMode};
    assert_eq!(
        kinds,
        [
            UnknownAgent,
            WrongMode,
            InvalidInput,
            InvalidInput,
            InvalidInput,
            InvalidInput,
            InvalidInput,
            UnknownTool
        ]
    );
    assert_eq!(
        stage.settlement(&stage.root()).await.status,
        Status::Completed
    );
    assert_eq!(stage.tree().await.walk().len(), 1, "no child was made");
}

#[tokio::test]
async fn sa_04_sa_05_sa_07_a_user_starts_primary_and_all_and_nothing_else() {
    let stage = Stage::new(Script::default()).await;
    for (definition, allowed) in [("helper", true), ("worker", false), ("watched", false)] {
        let agent = AgentId::new(format!("session of {definition}"));
        let command = Command {
            id: CommandId::new(definition),
            tree: TreeId::of(agent.clone()),
            agent,
            order: Order::open(opening(definition)),
        };
        let answer = stage.runtime.command(command).await;
        match answer {
            Ok(_) => assert!(allowed, "{definition}"),
            Err(CommandError::Invalid(text)) => {
                assert!(
                    !allowed && text.contains("aware, helper, lead"),
                    "{definition}: {text}"
                );
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn r13_a_child_that_fails_is_an_error_that_says_why() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("noted")])
        .part("worker", [fail(ModelErrorKind::Invalid)]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(kind(outcome), ErrorKind::ChildFailed);
    assert!(
        outcome.for_model().contains("the model is unwell"),
        "{outcome:?}"
    );
    let child = stage.settlement(&stage.born("worker").await).await;
    assert!(matches!(
        child.status,
        Status::Failed {
            kind: FailureKind::Model,
            ..
        }
    ));
    assert_eq!(
        stage.settlement(&stage.root()).await.status,
        Status::Completed
    );
}

#[tokio::test]
async fn r13_a_child_without_an_answer_is_partial_and_not_an_empty_success() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("noted")])
        .part("worker", [call(&[])]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let outcome = data(&stage.outcomes("lead").await[0]);
    assert_eq!(outcome["output"], "[partial: it ended without an answer]");
    let child = stage.settlement(&stage.born("worker").await).await;
    assert_eq!(child.status, Status::Partial(PartialReason::NoAnswer));
}

#[tokio::test]
async fn sa_26_children_have_children_and_usage_stays_with_who_used_it() {
    let script = Script::default()
        .part("lead", [task("helper", "go"), say("done")])
        .part("helper", [task("worker", "deeper"), say("relayed")])
        .part("worker", [say("from below")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    let tree = stage.tree().await;
    let depths: Vec<u32> = tree
        .walk()
        .iter()
        .map(|id| tree.agent(id).unwrap().spawned.depth)
        .collect();
    assert_eq!(depths, [0, 1, 2]);
    let inputs: Vec<u64> = tree
        .walk()
        .iter()
        .map(|id| tree.agent(id).unwrap().settlement().unwrap().usage.input)
        .collect();
    assert_eq!(inputs, [20, 20, 10]);
}
