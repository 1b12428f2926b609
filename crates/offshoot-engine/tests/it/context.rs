//! What a model is sent.

use offshoot_types::manifest::CALLER_LINE;
use offshoot_types::model::{Request, RequestMessage};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::tool::Effect;
use serde_json::json;

use crate::stage::{Note, Script, Stage, call, data, kind, opening, say, task, task_in_background};
use offshoot_types::command::{Command, Order, Prompt};
use offshoot_types::id::{AgentId, CommandId, MessageId, TreeId};

#[tokio::test]
async fn sa_41_a_childs_prompt_equals_that_of_a_top_level_run() {
    let script = Script::default()
        .part("lead", [task("helper", "the same words"), say("done")])
        .part("helper", [say("as a child"), say("as a root")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let agent = AgentId::new("other");
    let command = |id: &str, order| Command {
        id: CommandId::new(id),
        tree: TreeId::of(agent.clone()),
        agent: agent.clone(),
        order,
    };
    stage
        .runtime
        .command(command("open", Order::open(opening("helper"))))
        .await
        .unwrap();
    let prompt = Prompt {
        message: MessageId::new("m"),
        text: "the same words".to_owned(),
        from: offshoot_types::message::Author::Human,
        agent: None,
        metadata: None,
    };
    stage
        .runtime
        .command(command("ask", Order::Prompt(prompt)))
        .await
        .unwrap();
    let mut updates = stage
        .runtime
        .subscribe(&TreeId::of(agent.clone()), offshoot_types::id::Pos::ZERO)
        .await;
    while !matches!(updates.next().await.unwrap(), offshoot_engine::Update::Idle) {}

    let sent = stage.script.sent("helper");
    assert_eq!(sent[0].system, sent[1].system);
    assert_eq!(sent[0].tools, sent[1].tools);
    assert_eq!(sent[0].messages, sent[1].messages);
}

#[tokio::test]
async fn sa_42_the_caller_flag_adds_exactly_one_line() {
    let both = [
        ("task", json!({ "subagent_type": "helper", "prompt": "x" })),
        ("task", json!({ "subagent_type": "aware", "prompt": "x" })),
    ];
    let script = Script::default().part("lead", [call(&both), say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let (plain, aware) = (
        &stage.script.sent("helper")[0],
        &stage.script.sent("aware")[0],
    );
    let without: Vec<&str> = aware
        .system
        .lines()
        .filter(|line| *line != CALLER_LINE)
        .collect();
    assert_eq!(without.join("\n"), plain.system.as_ref());
    assert_eq!(aware.system.matches(CALLER_LINE).count(), 1);
    assert_eq!(
        (&aware.tools, &aware.messages),
        (&plain.tools, &plain.messages)
    );
}

#[tokio::test]
async fn ses_21_the_sections_come_in_their_order() {
    let script = Script::default().part("lead", [say("hello")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let system = stage.script.sent("lead")[0].system.to_string();
    let expected = "Lead.\n\n# Environment\nplatform: linux\nworkspace: /w\ndate: 2026-11-15\n\
                    model: script\n\n# Tools\n- read: read for tests\n- write: write for tests\n- run: run for tests\n- todo: ";
    assert!(system.starts_with(expected), "{system}");
}

#[tokio::test]
async fn cst_01_an_injected_completion_only_appends() {
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                call(&[("read", json!({ "path": "a" }))]),
                say("started"),
                say("heard"),
            ],
        )
        .part("worker", [say("ok")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let sent = stage.script.sent("lead");
    for pair in sent.windows(2) {
        assert_eq!(pair[0].system, pair[1].system);
        assert!(pair[1].messages.starts_with(&pair[0].messages));
    }
}

#[tokio::test]
async fn outcomes_are_sent_in_the_order_of_the_calls_whatever_ended_first() {
    let gate = crate::stage::Gate::shut();
    let both = [
        (
            "task",
            json!({ "subagent_type": "worker", "prompt": "slow" }),
        ),
        (
            "task",
            json!({ "subagent_type": "helper", "prompt": "quick" }),
        ),
    ];
    let script = Script::default()
        .part("lead", [call(&both), say("done")])
        .part("worker", [say("slow").behind(&gate)])
        .part("helper", [say("quick")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let helper = stage.born("helper").await;
    stage.settled(&helper).await;
    gate.open();
    stage.quiet().await;
    let last = stage.script.sent("lead").pop().unwrap();
    let Some(RequestMessage::Outcomes(outcomes)) = last.messages.last() else {
        panic!("{:?}", last.messages)
    };
    let texts: Vec<&str> = outcomes
        .iter()
        .map(|outcome| outcome.text.as_str())
        .collect();
    assert_eq!(texts, [r#"{"output":"slow"}"#, r#"{"output":"quick"}"#]);
}

#[tokio::test]
async fn r9_attached_tools_are_offered_from_the_next_turn_until_they_are_taken_away() {
    let use_it = || call(&[("extra", json!({ "path": "a" }))]);
    let script = Script::default().part(
        "lead",
        [
            say("none yet"),
            use_it(),
            say("used"),
            use_it(),
            say("gone"),
        ],
    );
    let stage = Stage::new(script).await;
    stage.ask("before").await;
    let attached = stage
        .runtime
        .attach(vec![Note::tool("extra", Effect::Read, "fs.read")]);
    stage.ask("with").await;
    drop(attached);
    stage.ask("after").await;

    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!("done"));
    assert_eq!(kind(&outcomes[1]), ErrorKind::UnknownTool);
    let offered = |request: &Request| request.tools.iter().any(|tool| tool.id == "extra");
    let sent: Vec<bool> = stage.script.sent("lead").iter().map(offered).collect();
    assert_eq!(sent, [false, true, true, false, false]);
}
