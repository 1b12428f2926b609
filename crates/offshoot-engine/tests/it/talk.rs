//! Prompts, queues, messages to children, and who follows along.

use offshoot_engine::{CommandError, DeltaKind, Update, query};
use offshoot_types::command::{Command, Opening, Order, Prompt, Receipt};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::model::ModelErrorKind;

use crate::stage::{Gate, Script, Stage, fail, say, task, user_texts};

#[tokio::test]
async fn que_03_prompts_while_busy_fire_one_a_turn_in_order() {
    let gate = Gate::shut();
    let script =
        Script::default().part("lead", [say("one").behind(&gate), say("two"), say("three")]);
    let stage = Stage::new(script).await;
    for text in ["1", "2", "3"] {
        stage.prompt(stage.root(), text).await;
    }
    gate.open();
    stage.quiet().await;
    let sent: Vec<_> = stage.script.sent("lead").iter().map(user_texts).collect();
    assert_eq!(sent, [vec!["1"], vec!["1", "2"], vec!["1", "2", "3"]]);
}

#[tokio::test]
async fn que_05_a_failed_turn_pauses_the_queue_until_somebody_asks_again() {
    let gate = Gate::shut();
    let script = Script::default().part(
        "lead",
        [
            fail(ModelErrorKind::Invalid).behind(&gate),
            say("two"),
            say("three"),
        ],
    );
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "1").await;
    stage.prompt(stage.root(), "2").await;
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.script.sent("lead").len(), 1, "paused");
    stage.ask("3").await;
    assert_eq!(stage.script.sent("lead").len(), 3);
}

#[tokio::test]
async fn que_05_resuming_a_session_takes_up_what_a_failed_turn_left_waiting() {
    let gate = Gate::shut();
    let script = Script::default().part(
        "lead",
        [
            fail(ModelErrorKind::Invalid).behind(&gate),
            say("two"),
            say("three"),
        ],
    );
    let stage = Stage::new(script).await;
    for text in ["1", "2", "3"] {
        stage.prompt(stage.root(), text).await;
    }
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.script.sent("lead").len(), 1);

    let resumed = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(resumed, Receipt::Resumed);
    stage.quiet().await;
    assert_eq!(stage.script.sent("lead").len(), 3);
    assert_eq!(stage.tree().await.agent(&stage.root()).unwrap().queue, []);
}

#[tokio::test]
async fn que_08_the_same_command_twice_has_one_effect_and_one_receipt() {
    let stage = Stage::new(Script::default().part("lead", [say("once")])).await;
    let prompt = Prompt {
        message: MessageId::new("m"),
        text: "go".into(),
        from: offshoot_types::message::Author::Human,
        agent: None,
        model: None,
        metadata: None,
        output_schema: None,
        delegation: None,
        immediate: false,
    };
    let command = Command {
        id: CommandId::new("same"),
        tree: stage.tree.clone(),
        agent: stage.root(),
        order: Order::Prompt(prompt),
    };
    let both = futures_util::future::join(
        stage.runtime.command(command.clone()),
        stage.runtime.command(command.clone()),
    )
    .await;
    assert_eq!(both.0.unwrap(), both.1.unwrap());
    stage.quiet().await;
    stage.runtime.command(command).await.unwrap();
    let prompts = stage
        .log()
        .await
        .into_iter()
        .filter(|entry| matches!(entry.event, Event::Prompted(_)));
    assert_eq!(prompts.count(), 1);
}

#[tokio::test]
async fn sa_40_a_settled_child_that_is_messaged_runs_again_and_its_parent_is_told() {
    let script = Script::default()
        .part(
            "lead",
            [task("watched", "go"), say("done"), say("heard more")],
        )
        .part("watched", [say("first"), say("second")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let child = stage.born("watched").await;
    stage.prompt(child.clone(), "look again").await;
    stage.quiet().await;

    let tree = stage.tree().await;
    assert_eq!(tree.agent(&child).unwrap().runs.len(), 2);
    assert_eq!(
        stage.completions().await,
        [("completed".to_owned(), Some("second".to_owned()))]
    );
    assert_eq!(
        stage.settlement(&stage.root()).await.output.as_deref(),
        Some("heard more")
    );
    assert_eq!(
        user_texts(&stage.script.sent("watched")[1]),
        ["go", "look again"]
    );
}

#[tokio::test]
async fn commands_that_make_no_sense_are_refused_in_one_sentence() {
    let stage = Stage::new(Script::default()).await;
    let prompt = |text: String| {
        Order::Prompt(Prompt {
            message: MessageId::new("m"),
            text: text.into(),
            from: offshoot_types::message::Author::Human,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        })
    };
    let command = |agent: &str, order| Command {
        id: CommandId::new("c"),
        tree: stage.tree.clone(),
        agent: AgentId::new(agent),
        order,
    };
    let unknown = stage
        .runtime
        .command(command("stranger", prompt("hi".to_owned())))
        .await;
    assert!(
        matches!(unknown, Err(CommandError::Unknown(_))),
        "{unknown:?}"
    );
    let long = stage
        .runtime
        .command(command("root", prompt("x".repeat(1024 * 1024 + 1))))
        .await;
    assert!(matches!(long, Err(CommandError::Invalid(_))), "{long:?}");
    let mut again = crate::stage::opening("lead");
    let exists = stage
        .runtime
        .command(command("root", Order::open(again.clone())))
        .await;
    assert!(
        matches!(exists, Err(CommandError::Invalid(_))),
        "{exists:?}"
    );
    again.definition = "nobody".to_owned();
    let nobody = stage
        .runtime
        .command(command("root", Order::open(again)))
        .await;
    assert!(
        matches!(nobody, Err(CommandError::Unknown(_))),
        "{nobody:?}"
    );
}

#[tokio::test]
async fn r15_a_session_opened_with_a_prompt_is_born_asked_and_at_work_in_one_commit() {
    let stage = Stage::new(Script::default().part("lead", [say("four")])).await;
    let agent = AgentId::new("second");
    let tree = TreeId::of(agent.clone());
    let open = |text: String| {
        let prompt = Prompt {
            message: MessageId::new("first"),
            text: text.into(),
            from: offshoot_types::message::Author::Human,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        };
        let opening = Opening {
            prompt: Some(prompt),
            ..crate::stage::opening("lead")
        };
        stage.runtime.command(Command {
            id: CommandId::new("open"),
            tree: tree.clone(),
            agent: agent.clone(),
            order: Order::open(opening),
        })
    };
    let long = open("x".repeat(1024 * 1024 + 1)).await;
    assert!(matches!(long, Err(CommandError::Invalid(_))), "{long:?}");

    assert_eq!(open("2 + 2?".to_owned()).await.unwrap(), Receipt::Opened);
    let mut updates = stage.runtime.subscribe(&tree, Pos::ZERO).await;
    let mut entries = Vec::new();
    loop {
        match updates.next().await.unwrap() {
            Update::Entry(entry) => entries.push(entry),
            Update::Idle if entries.len() > 3 => break,
            _ => {}
        }
    }
    let begun: Vec<_> = entries.iter().take(3).map(|entry| entry.at).collect();
    assert!(begun.iter().all(|at| *at == begun[0]), "{begun:?}");
    assert!(matches!(entries[1].event, Event::Prompted(_)));
    assert!(matches!(entries[2].event, Event::TurnStarted { .. }));
    let Event::Settled { settlement, .. } = &entries.last().unwrap().event else {
        panic!("it did not settle: {entries:?}");
    };
    assert_eq!(settlement.output.as_deref(), Some("four"));
    // Sent again it is the same command: nothing is asked twice.
    assert_eq!(open("2 + 2?".to_owned()).await.unwrap(), Receipt::Opened);
    let last = entries.last().unwrap().pos;
    let more = query::Log::after(tree, last);
    let more = stage.runtime.query(more).await.unwrap();
    assert_eq!(more, []);
}

#[tokio::test]
async fn a_session_whose_id_or_metadata_cannot_be_kept_is_not_opened_by_any_face() {
    let stage = Stage::new(Script::default()).await;
    let open = async |id: &str, metadata_bytes: usize| {
        let root = AgentId::new(id);
        let command = Command {
            id: CommandId::new(format!("open {id:.8} {metadata_bytes}")),
            tree: TreeId::of(root.clone()),
            agent: root,
            order: Order::open(Opening {
                metadata: Some(RawJson::of(&"x".repeat(metadata_bytes - 2))),
                ..crate::stage::opening("lead")
            }),
        };
        stage.runtime.command(command).await
    };
    for id in ["", "a\nb", "\u{1b}[2J", &"x".repeat(129)] {
        let said = open(id, 2).await.unwrap_err().to_string();
        let expected = "a session id has 1 to 128 bytes and no control characters";
        assert_eq!(said, expected, "{id:?}");
    }
    let said = open("large", 16 * 1024 + 1).await.unwrap_err().to_string();
    assert_eq!(said, "metadata has 16385 bytes; at most 16384 are taken");
    for (id, bytes) in [("fits", 16 * 1024), (&*"x".repeat(128), 2)] {
        assert_eq!(open(id, bytes).await.unwrap(), Receipt::Opened);
    }
}

#[tokio::test]
async fn r4_whoever_joins_late_sees_no_text_twice_and_none_missing() {
    let gate = Gate::shut();
    let script = Script::default().part("lead", [say("half and half").stalls_at(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    let mut early = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
    while !matches!(early.next().await.unwrap(), Update::Delta(_)) {}

    let mut late = stage.runtime.subscribe(&stage.tree, Pos::ZERO).await;
    gate.open();
    let mut text = String::new();
    let mut last = Pos::ZERO;
    loop {
        match late.next().await.unwrap() {
            Update::Entry(entry) => {
                assert_eq!(entry.pos, last.next());
                last = entry.pos;
            }
            Update::Delta(delta) => {
                assert_eq!((delta.kind, delta.offset), (DeltaKind::Text, text.len()));
                text.push_str(&delta.text);
            }
            Update::Idle => break,
            Update::Orphaned => panic!("this process owns the tree"),
            Update::Output(_) | Update::Activity(..) | Update::Notice(..) | Update::Hooked(..) => {}
            Update::Parked(why) => panic!("{why}"),
        }
    }
    assert_eq!(text, "half and half");
}
