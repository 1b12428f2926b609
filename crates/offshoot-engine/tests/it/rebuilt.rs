//! Requests that are rebuilt from the log are the ones that were sent.

use offshoot_engine::{Compacting, Helpers, Limits, NoRequest, RebuiltRequest, Remark, query};
use offshoot_types::caps::Caps;
use offshoot_types::command::{Command, Fork, Order, Receipt, Rewind};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CommandId, TreeId};
use offshoot_types::manifest::{Context, Manifest, Mode};
use offshoot_types::model::Request;
use serde_json::json;

use crate::chores::cast;
use crate::stage::{
    Gate, Note, Script, Stage, call, say, task, task_arguments, task_in_background, user_texts,
};

async fn rebuilt(
    stage: &Stage,
    agent: &AgentId,
    step: Option<u32>,
) -> Result<RebuiltRequest, NoRequest> {
    let query = query::Request(agent.clone(), step);
    stage.runtime.query(query).await.unwrap()
}

/// Returns the agents of a log, in the order of their births.
fn agents(log: &[Entry]) -> Vec<AgentId> {
    let births = log
        .iter()
        .filter(|entry| matches!(entry.event, Event::Spawned(_)));
    births.map(|entry| entry.agent.clone()).collect()
}

/// Every request that any agent was sent is rebuilt, word for word, and known to be what was sent.
/// Returns how many there were.
async fn check_all(stage: &Stage) -> usize {
    let sent = stage.script.sent_to_all();
    for agent in agents(&stage.log().await) {
        let own: Vec<&Request> = sent
            .iter()
            .filter(|sent| sent.from.agent == agent)
            .collect();
        for (step, sent) in (1..).zip(&own) {
            let rebuilt = rebuilt(stage, &agent, Some(step)).await.unwrap();
            assert_eq!(format!("{:?}", rebuilt.request), format!("{sent:?}"));
            assert_eq!(rebuilt.remarks, [Remark::AsSent]);
            assert_eq!(rebuilt.step, step);
        }
        let beyond = u32::try_from(own.len()).unwrap() + 1;
        let none = rebuilt(stage, &agent, Some(beyond)).await.unwrap_err();
        assert!(matches!(none, NoRequest::UnknownStep { .. }), "{none:?}");
    }
    sent.len()
}

fn seeing(name: &str, context: Context) -> Manifest {
    Manifest {
        context,
        temperature: Some(0.5),
        max_output_tokens: Some(700),
        ..Manifest::new(name, Mode::All, "Be a child.")
    }
}

#[tokio::test]
async fn every_request_of_root_and_children_is_rebuilt_as_it_was_sent() {
    for context in [Context::Fresh, Context::Fork, Context::Inherit] {
        let both = call(&[
            ("task", task_arguments("twin", "the left half")),
            ("read", json!({ "path": "a" })),
            ("task", task_arguments("twin", "the right half")),
        ]);
        let script = Script::default()
            .part(
                "lead",
                [
                    call(&[("read", json!({ "path": "b" }))]),
                    both,
                    say("done"),
                    say("again"),
                ],
            )
            .part(
                "twin",
                [call(&[("read", json!({ "path": "c" }))]), say("half")],
            );
        let stage = Stage::with_agents(script, vec![seeing("twin", context)]).await;
        stage.ask("split it").await;
        stage.ask("more").await;
        assert!(check_all(&stage).await >= 7);
    }
}

#[tokio::test]
async fn requests_are_rebuilt_after_a_background_child_a_summary_and_a_rewind() {
    let rules = Compacting {
        reserve_tokens: Some(1_000),
        ..Compacting::default()
    };
    let script = Script::default()
        .taking(10_000)
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("heard"),
                say("two"),
                say("three").using(9_000, 1),
                say("four"),
                say("instead"),
            ],
        )
        .part("worker", [say("the answer")])
        .part("compaction", [say("In short.")]);
    let helpers = Helpers {
        compaction: rules,
        ..Helpers::default()
    };
    let stage = Stage::helped(script, cast(), helpers).await;
    for prompt in ["first", "second", "third", "fourth"] {
        stage.ask(prompt).await;
    }
    let log = stage.log().await;
    assert!(
        log.iter()
            .any(|entry| matches!(entry.event, Event::Compacted(_)))
    );
    let before = check_all(&stage).await;
    let third = log.iter().find_map(|entry| match &entry.event {
        Event::Prompted(message) if message.text == "third" => Some(message.id.clone()),
        _ => None,
    });
    let rewind = Order::Rewind(Rewind { to: third });
    stage.order(stage.root(), rewind).await;
    stage.ask("otherwise").await;
    assert_eq!(
        check_all(&stage).await,
        before + 1,
        "what was taken back was sent"
    );
}

#[tokio::test]
async fn the_last_step_of_a_run_is_rebuilt_with_tools_that_cannot_be_called() {
    let read = || call(&[("read", json!({ "path": "a" }))]);
    let script = Script::default().part("lead", [read(), read(), say("that is all")]);
    let limits = Limits {
        root: Caps {
            steps: Some(2),
            tokens: Some(100_000),
            ..Caps::default()
        },
        ..Limits::default()
    };
    let stage = Stage::with(script, limits).await;
    stage.ask("go").await;
    assert_eq!(check_all(&stage).await, 3);
}

/// The next request is what is sent when its time has come.
#[tokio::test]
async fn the_next_request_is_the_one_that_is_sent_next() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("one"), say("two")])
        .part("worker", [say("done").behind(&gate)]);
    let stage = Stage::new(script).await;
    let root = stage.root();
    let next = rebuilt(&stage, &root, None).await.unwrap();
    assert_eq!(next.remarks, [Remark::Next, Remark::NoPrompt]);
    assert_eq!((next.step, next.request.messages.len()), (1, 0));
    stage.prompt(root.clone(), "first").await;
    stage.asked("worker", 1).await;
    let worker = stage.born("worker").await;
    let next = rebuilt(&stage, &worker, None).await.unwrap();
    assert_eq!(next.remarks, [Remark::Next]);
    let sent = stage.script.sent("worker").pop().unwrap();
    assert_eq!(format!("{:?}", next.request), format!("{sent:?}"));
    // The root waits for its child, and another prompt for the root.
    stage.prompt(root.clone(), "second").await;
    let next = rebuilt(&stage, &root, None).await.unwrap();
    assert!(
        matches!(next.remarks[..], [Remark::Next, Remark::OpenCalls(_)]),
        "{:?}",
        next.remarks
    );
    assert_eq!(user_texts(&next.request), ["first"]);
    gate.open();
    stage.quiet().await;
    let next = rebuilt(&stage, &root, None).await.unwrap();
    assert_eq!(next.remarks, [Remark::Next, Remark::NoPrompt]);
    assert_eq!(next.step, 4);
    let sent = stage.script.sent("lead").pop().unwrap();
    assert!(next.request.messages.starts_with(&sent.messages));
    let nobody = rebuilt(&stage, &AgentId::new("nobody"), None)
        .await
        .unwrap_err();
    assert_eq!(nobody, NoRequest::UnknownAgent(AgentId::new("nobody")));
}

#[tokio::test]
async fn what_has_changed_since_is_said_and_not_hidden() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let root = stage.root();
    let tool = Note::tool("newcomer", offshoot_types::tool::Effect::Read, "fs.read");
    let attached = stage.attach(vec![tool]);
    let then = rebuilt(&stage, &root, Some(1)).await.unwrap();
    assert_eq!(then.remarks, [Remark::SystemDiffers]);
    drop(attached);
    let then = rebuilt(&stage, &root, Some(1)).await.unwrap();
    assert_eq!(then.remarks, [Remark::AsSent]);
    // A log that is older than digests.
    let mut events: Vec<Event> = stage
        .log()
        .await
        .into_iter()
        .map(|entry| entry.event)
        .collect();
    for event in &mut events {
        if let Event::Replied(message) = event {
            message.request = None;
        }
    }
    stage.write_another("old", events).await;
    let old = rebuilt(&stage, &AgentId::new("old"), Some(1))
        .await
        .unwrap();
    assert_eq!(old.remarks, [Remark::NoDigest]);
    assert_eq!(user_texts(&old.request), ["first"]);
}

#[tokio::test]
async fn a_step_that_was_copied_says_who_sent_it() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("one"), say("two")])
        .part("worker", [say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let copy = AgentId::new("copy");
    let fork = Fork {
        of: stage.root(),
        at: None,
        metadata: None,
    };
    let command = Command {
        id: CommandId::new("fork"),
        tree: TreeId::of(copy.clone()),
        agent: copy.clone(),
        order: Order::Fork(fork),
    };
    assert_eq!(
        stage.runtime.command(command).await.unwrap(),
        Receipt::Opened
    );
    let then = rebuilt(&stage, &copy, Some(2)).await.unwrap();
    assert_eq!(then.remarks, [Remark::Copied(stage.root()), Remark::AsSent]);
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(then.request.messages, sent.messages);
    let prompt = Order::Prompt(stage.words("second"));
    stage
        .order_in(&TreeId::of(copy.clone()), copy.clone(), prompt)
        .await;
    stage.quiet_in(&TreeId::of(copy.clone())).await;
    let then = rebuilt(&stage, &copy, Some(3)).await.unwrap();
    assert_eq!(then.remarks, [Remark::AsSent]);
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(format!("{:?}", then.request), format!("{sent:?}"));
}
