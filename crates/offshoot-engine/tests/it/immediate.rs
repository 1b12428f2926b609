//! Immediate prompts: a busy root takes them up at its next step (R17).

use offshoot_types::command::{Order, Prompt, Receipt};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::MessageId;
use offshoot_types::message::Delegation;
use offshoot_types::tool::Effect;
use serde_json::json;

use crate::stage::{Gate, Probe, Script, Stage, call, say, task, user_texts};

async fn send(stage: &Stage, prompt: Prompt) -> MessageId {
    let id = prompt.message.clone();
    let receipt = stage.order(stage.root(), Order::Prompt(prompt)).await;
    assert_eq!(receipt, Receipt::Prompted);
    id
}

fn immediate(stage: &Stage, text: &str) -> Prompt {
    Prompt {
        immediate: true,
        ..stage.words(text)
    }
}

fn steered(log: &[Entry]) -> Vec<MessageId> {
    let steered = |entry: &Entry| match &entry.event {
        Event::Steered { prompt } => Some(prompt.clone()),
        _ => None,
    };
    log.iter().filter_map(steered).collect()
}

/// Counts the turns of the root.
fn turns(log: &[Entry]) -> usize {
    let begins = |entry: &&Entry| {
        let is_root = entry.tree.root() == &entry.agent;
        is_root && matches!(entry.event, Event::TurnStarted { .. })
    };
    log.iter().filter(begins).count()
}

#[tokio::test]
async fn r17_immediate_prompts_enter_at_the_next_step_in_their_order_and_pass_the_queue() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task("worker", "go"),
                say("with both"),
                say("the queued one"),
            ],
        )
        .part("worker", [say("worked").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    send(&stage, stage.words("queued")).await;
    let first = send(&stage, immediate(&stage, "first")).await;
    let second = send(&stage, immediate(&stage, "second")).await;
    gate.open();
    stage.settled(&stage.root()).await;
    stage.quiet().await;
    let sent = stage.script.sent("lead");
    assert_eq!(user_texts(&sent[1]), ["go", "first", "second"]);
    assert_eq!(user_texts(&sent[2]), ["go", "first", "second", "queued"]);
    let log = stage.log().await;
    assert_eq!(steered(&log), [first, second]);
    assert_eq!(turns(&log), 2);
}

#[tokio::test]
async fn an_immediate_prompt_to_an_idle_root_is_an_ordinary_turn() {
    let stage = Stage::new(Script::default().part("lead", [say("hello")])).await;
    send(&stage, immediate(&stage, "hi")).await;
    stage.quiet().await;
    let log = stage.log().await;
    assert_eq!((turns(&log), steered(&log).len()), (1, 0));
    assert_eq!(user_texts(&stage.script.sent("lead")[0]), ["hi"]);
}

#[tokio::test]
async fn an_immediate_prompt_that_comes_during_the_last_step_opens_the_next_turn() {
    let gate = Gate::shut();
    let script = Script::default().part("lead", [say("one").behind(&gate), say("two")]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("lead", 1).await;
    send(&stage, immediate(&stage, "more")).await;
    gate.open();
    stage.quiet().await;
    let log = stage.log().await;
    assert_eq!((turns(&log), steered(&log).len()), (2, 0));
    assert_eq!(user_texts(&stage.script.sent("lead")[1]), ["go", "more"]);
}

/// What is decided when a turn begins is not decided in the middle of one.
#[tokio::test]
async fn an_immediate_prompt_about_delegation_waits_for_a_turn_of_its_own() {
    let gate = Gate::shut();
    let script = Script::default().part(
        "lead",
        [call(&[("slow", json!({}))]), say("one"), say("two")],
    );
    let stage = Stage::new(script).await;
    let (notes, _attached) = Probe::new("slow", Effect::Read).held_at(&gate).on(&stage);
    stage.prompt(stage.root(), "go").await;
    notes.running(1).await;
    let prompt = Prompt {
        delegation: Some(Delegation::Disable),
        ..immediate(&stage, "alone")
    };
    send(&stage, prompt).await;
    gate.open();
    stage.quiet().await;
    assert_eq!(turns(&stage.log().await), 2);
}

/// The process dies after the prompt was acknowledged: the next run takes it up.
#[tokio::test]
async fn r16_an_immediate_prompt_survives_a_crash() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("here")])
        .part("worker", [say("never").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.asked("worker", 1).await;
    let id = send(&stage, immediate(&stage, "more")).await;
    let stage = stage.crash().await;
    let resumed = stage.order(stage.root(), Order::Resume).await;
    assert_eq!(resumed, Receipt::Resumed);
    stage.quiet().await;
    let takes = |entry: &Entry| matches!(&entry.event, Event::TurnStarted { prompt: Some(taken), .. } if *taken == id);
    assert!(stage.log().await.iter().any(takes));
}
