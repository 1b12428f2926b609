//! Prompts that require another agent, prefer one, or forbid all (issue 19, slice 6).

use offshoot_engine::{Asks, CommandError, Limits};
use offshoot_types::command::{Order, Prompt, Receipt, Verdict};
use offshoot_types::content::{Content, Part};
use offshoot_types::event::{Entry, Event, TurnEnd};
use offshoot_types::id::CommandId;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::message::{AssistantMessage, AssistantPart, Delegation, UserMessage};
use offshoot_types::model::RequestMessage;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Layer, Rule, Standing};
use offshoot_types::settlement::Status;
use serde_json::json;

use crate::asks::{answer, asked};
use crate::stage::{
    Gate, Script, Stage, call, data, kind, outcome_texts, say, task, task_in_background, user_texts,
};

fn require(agent: &str) -> Delegation {
    Delegation::Require {
        agent: agent.to_owned(),
        background: false,
    }
}

fn with(stage: &Stage, text: &str, delegation: Delegation) -> Prompt {
    Prompt {
        delegation: Some(delegation),
        ..stage.words(text)
    }
}

async fn send(stage: &Stage, prompt: Prompt) -> Result<Receipt, CommandError> {
    let command = offshoot_types::command::Command {
        id: CommandId::new(prompt.message.as_str()),
        tree: stage.tree.clone(),
        agent: stage.root(),
        order: Order::Prompt(prompt),
    };
    stage.runtime.command(command).await
}

fn own_messages(log: &[Entry]) -> Vec<AssistantMessage> {
    let own = |entry: &Entry| match &entry.event {
        Event::Replied(message) if message.by_runtime => Some(message.clone()),
        _ => None,
    };
    log.iter().filter_map(own).collect()
}

fn layer(action: Action) -> Layer {
    Layer {
        name: "the user".to_owned(),
        rules: vec![Rule::new("task", "worker", action)],
        standing: Standing::Grants,
        ..Layer::default()
    }
}

#[tokio::test]
async fn require_opens_the_turn_with_one_call_before_the_model_is_asked() {
    let script = Script::default()
        .part("lead", [say("as worker says")])
        .part("worker", [say("worked")]);
    let stage = Stage::new(script).await;
    let prompt = with(&stage, "look at it", require("worker"));
    assert_eq!(send(&stage, prompt).await.unwrap(), Receipt::Prompted);
    stage.quiet().await;

    let sent = stage.script.sent("lead");
    let [request] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    let [
        RequestMessage::User(_),
        RequestMessage::Assistant(parts),
        RequestMessage::Outcomes(outcomes),
    ] = request.messages.as_slice()
    else {
        panic!("{:?}", request.messages)
    };
    let [AssistantPart::Call(call)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert_eq!((call.tool.as_str(), &outcomes[0].call), ("task", &call.id));
    assert_eq!(request.from.step, 1, "the runtime's own message is no step");
    assert_eq!(user_texts(&stage.script.sent("worker")[0]), ["look at it"]);

    let log = stage.log().await;
    assert_eq!(own_messages(&log).len(), 1);
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("as worker says"));
    assert_eq!(settlement.steps, 1);
    assert_eq!(
        data(&stage.outcomes("lead").await[0]),
        json!({ "output": "worked" })
    );
    // The first step of the agent's life is the model's.
    let query = offshoot_engine::query::Request(stage.root(), Some(1));
    let rebuilt = stage.runtime.query(query).await.unwrap();
    assert_eq!(rebuilt.unwrap().request.messages, request.messages);
}

#[tokio::test]
async fn require_in_the_background_gives_a_receipt_and_the_result_wakes_the_root_once() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [say("it works on it"), say("it is done")])
        .part("worker", [say("worked").behind(&gate)]);
    let stage = Stage::new(script).await;
    let delegation = Delegation::Require {
        agent: "worker".to_owned(),
        background: true,
    };
    send(&stage, with(&stage, "go", delegation)).await.unwrap();
    stage.turn_ended(&stage.root()).await;
    assert!(outcome_texts(&stage.script.sent("lead")[0])[0].contains("session_id"));
    gate.open();
    stage.quiet().await;
    assert_eq!(stage.script.sent("lead").len(), 2);
    assert_eq!(own_messages(&stage.log().await).len(), 1);
    assert_eq!(stage.completions().await.len(), 1);
}

#[tokio::test]
async fn what_is_attached_to_the_prompt_goes_along_to_the_required_agent() {
    let script = Script::default()
        .part("lead", [say("done")])
        .part("worker", [say("seen")])
        .takes_images();
    let stage = Stage::new(script).await;
    let bytes = b"\x89PNG\r\n\x1a\nrest".to_vec();
    let stored = stage.runtime.store_blob(stage.tree.root(), None, "", bytes);
    let image = stored.await.unwrap();
    let prompt = Prompt {
        text: Content::new([Part::Text("look".to_owned()), Part::Image(image.clone())]),
        ..with(&stage, "", require("worker"))
    };
    send(&stage, prompt).await.unwrap();
    stage.quiet().await;
    assert!(stage.script.sent("worker")[0].images.get(&image).is_some());
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_is_an_error_at_the_door_and_nothing_is_written() {
    let alone = Manifest {
        tools: Toolset::only(["todo"]),
        ..Manifest::new("alone", Mode::Primary, "")
    };
    let choosy = Manifest {
        spawns: Some(vec!["helper".to_owned()]),
        ..Manifest::new("choosy", Mode::Primary, "")
    };
    let stage = Stage::with_agents(Script::default(), vec![alone, choosy]).await;
    let before = stage.log().await;
    let unknown = send(&stage, with(&stage, "go", require("nobody"))).await;
    assert!(
        matches!(unknown, Err(CommandError::Unknown(_))),
        "{unknown:?}"
    );
    let wrong_mode = send(&stage, with(&stage, "go", require("choosy"))).await;
    assert!(
        matches!(wrong_mode, Err(CommandError::Invalid(_))),
        "{wrong_mode:?}"
    );
    for caller in ["alone", "choosy"] {
        let prompt = Prompt {
            agent: Some(caller.to_owned()),
            ..with(&stage, "go", require("worker"))
        };
        let refused = send(&stage, prompt).await;
        assert!(
            matches!(refused, Err(CommandError::Invalid(_))),
            "{refused:?}"
        );
    }
    assert_eq!(stage.log().await, before);
}

#[tokio::test]
async fn a_required_agent_that_rules_deny_ends_the_turn_without_asking_the_model() {
    let stage = Stage::new(Script::default()).await;
    stage.says(vec![layer(Action::Deny)]);
    let stage = stage.crash().await;
    send(&stage, with(&stage, "go", require("worker")))
        .await
        .unwrap();
    stage.quiet().await;
    assert!(stage.script.sent("lead").is_empty());
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Denied);
    let log = stage.log().await;
    let is_denied = |end: &TurnEnd| matches!(end, TurnEnd::Denied { .. });
    let denied =
        |entry: &Entry| matches!(&entry.event, Event::TurnEnded { end, .. } if is_denied(end));
    assert!(log.iter().any(denied));
    let settlement = stage.settlement(&stage.root()).await;
    assert!(matches!(settlement.status, Status::Denied { .. }));
    assert_eq!(settlement.steps, 0);
}

/// The process dies while a person is asked about the runtime's own call: the call is asked about
/// still, its attachment is given to the child, and it is written once.
#[tokio::test]
async fn r16_the_runtimes_own_call_survives_a_crash_while_it_asks() {
    let script = Script::default()
        .part("lead", [say("done")])
        .part("worker", [say("seen")])
        .takes_images();
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    stage.says(vec![layer(Action::Ask)]);
    let stage = stage.crash().await;
    let bytes = b"\x89PNG\r\n\x1a\nrest".to_vec();
    let stored = stage.runtime.store_blob(stage.tree.root(), None, "", bytes);
    let image = stored.await.unwrap();
    let prompt = Prompt {
        text: Content::new([Part::Text("look".to_owned()), Part::Image(image.clone())]),
        ..with(&stage, "", require("worker"))
    };
    send(&stage, prompt).await.unwrap();
    let ask = asked(&stage, 1).await;
    let stage = stage.crash().await;
    assert_eq!(
        stage.order(stage.root(), Order::Resume).await,
        Receipt::Resumed
    );
    assert_eq!(answer(&stage, ask, Verdict::Once).await, Receipt::Answered);
    stage.quiet().await;
    assert_eq!(own_messages(&stage.log().await).len(), 1);
    assert!(stage.script.sent("worker")[0].images.get(&image).is_some());
    let settlement = stage.settlement(&stage.root()).await;
    assert_eq!(settlement.output.as_deref(), Some("done"));
}

#[tokio::test]
async fn prefer_adds_one_line_for_the_model_and_none_to_what_is_stored() {
    let script = Script::default().part("lead", [say("I did it"), say("again")]);
    let stage = Stage::new(script).await;
    let delegation = Delegation::Prefer {
        agent: "no-such-agent".to_owned(),
        background: Some(true),
    };
    send(&stage, with(&stage, "go", delegation)).await.unwrap();
    stage.quiet().await;
    stage.ask("and now?").await;
    let sent = stage.script.sent("lead");
    let texts = user_texts(&sent[1]);
    assert!(texts[0].starts_with("go\n\n") && texts[0].contains("no-such-agent"));
    assert_eq!(
        (texts[1].as_str(), user_texts(&sent[0])[0].as_str()),
        ("and now?", texts[0].as_str())
    );
    let stored = |entry: &Entry| matches!(&entry.event, Event::Prompted(UserMessage { text, .. }) if *text == "go");
    assert!(stage.log().await.iter().any(stored));
}

#[tokio::test]
async fn disable_denies_task_at_every_depth_until_the_next_prompt_and_keeps_the_tools_listed() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("lead2", "go"),
                say("started"),
                task("worker", "not now"),
                say("denied"),
                say("woken"),
                task("worker", "now"),
                say("done"),
            ],
        )
        .part(
            "lead2",
            [task("worker", "below").behind(&gate), say("alone")],
        )
        .part("worker", [say("worked")]);
    let lead2 = Manifest::new("lead2", Mode::All, "");
    let stage = Stage::with_agents(script, vec![lead2]).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    send(&stage, with(&stage, "yourself", Delegation::Disable))
        .await
        .unwrap();
    stage.asked("lead", 4).await;
    gate.open();
    stage.quiet().await;
    assert_eq!(kind(&stage.outcomes("lead2").await[0]), ErrorKind::Denied);
    assert_eq!(kind(&stage.outcomes("lead").await[1]), ErrorKind::Denied);
    stage.ask("with others").await;
    assert_eq!(
        data(&stage.outcomes("lead").await[2]),
        json!({ "output": "worked" })
    );
    let sent = stage.script.sent("lead");
    assert!(
        sent.iter()
            .all(|request| request.tools == sent[0].tools && request.system == sent[0].system)
    );
}

#[tokio::test]
async fn disable_denies_messages_to_settled_children_and_lets_running_ones_be_told() {
    let gate = Gate::shut();
    let tell = |word: &str| call(&[("message", json!({ "session_id": word, "text": "more" }))]);
    let script = Script::default()
        .part(
            "lead",
            [
                task("worker", "go"),
                task_in_background("helper", "go"),
                say("started"),
                tell("SETTLED"),
                tell("RUNNING"),
                say("done"),
                say("woken"),
            ],
        )
        .part("worker", [say("worked")])
        .part("helper", [say("one").behind(&gate), say("two")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    stage.script.name("SETTLED", &stage.born("worker").await);
    stage.script.name("RUNNING", &stage.born("helper").await);
    send(&stage, with(&stage, "yourself", Delegation::Disable))
        .await
        .unwrap();
    stage.asked("lead", 6).await;
    gate.open();
    stage.quiet().await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(kind(&outcomes[2]), ErrorKind::Denied);
    assert_eq!(data(&outcomes[3])["delivered"], true);
    assert_eq!(stage.script.sent("worker").len(), 1);
}
