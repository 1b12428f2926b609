//! Rewinding: what was said last is taken back, with whoever goes with it.

use offshoot_types::command::{Order, Receipt, Rewind, Scope};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::message::Usage;
use offshoot_types::model::ModelErrorKind;
use offshoot_types::settlement::{CancelledBy, PartialReason, Status};
use offshoot_types::transcript::Transcript;

use crate::stage::{
    Gate, Script, Stage, Trouble, call, fail, say, task, task_in_background, user_texts,
};

/// Takes back what the root was told and said after a message.
async fn rewind(stage: &Stage, to: Option<&MessageId>) -> Receipt {
    let to = to.cloned();
    stage
        .order(stage.root(), Order::Rewind(Rewind { to }))
        .await
}

/// Returns the ids of the root's conversation.
async fn said(stage: &Stage) -> Vec<MessageId> {
    let items = conversation(stage).await.into_items();
    items.iter().map(|item| item.id().clone()).collect()
}

async fn conversation(stage: &Stage) -> Transcript {
    let log = stage.log().await;
    let own = log.iter().filter(|entry| entry.agent == stage.root());
    Transcript::fold(own.map(|entry| &entry.event)).unwrap()
}

/// Returns the only rewind of the log.
async fn rewound(stage: &Stage) -> (Vec<MessageId>, Vec<AgentId>, usize, Usage) {
    let log = stage.log().await;
    let mut all = log.into_iter().filter_map(|entry| match entry.event {
        Event::Rewound {
            hides,
            drops,
            consumes,
            counts,
            ..
        } => Some((hides, drops, consumes.len(), counts)),
        _ => None,
    });
    let one = all.next().unwrap();
    assert!(all.next().is_none(), "it was taken back twice");
    one
}

#[track_caller]
fn refused(receipt: &Receipt, why: &str) {
    match receipt {
        Receipt::NoEffect { why: told } => assert!(told.contains(why), "{told}"),
        other => panic!("it was answered {other:?}"),
    }
}

#[tokio::test]
async fn ses_06_what_came_after_a_message_is_hidden_and_not_sent_again() {
    let script = Script::default().part("lead", [say("one"), say("two"), say("three")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    stage.ask("second").await;
    let before = said(&stage).await;

    let receipt = rewind(&stage, Some(&before[1])).await;
    assert_eq!(receipt, Receipt::Rewound { hidden: 2 });
    let (hides, drops, consumed, counts) = rewound(&stage).await;
    assert_eq!(hides, before[2..]);
    assert!(drops.is_empty() && consumed == 0);
    assert_eq!((counts.input, counts.output), (10, 2), "one message counts");

    stage.ask("another").await;
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(user_texts(&sent), ["first", "another"]);
    let chat = stage.chat().await;
    let hidden = chat["messages"].as_array().unwrap().iter();
    let hidden = hidden.filter(|message| {
        let metadata = message["message"]["metadata_json"].to_string();
        metadata.contains("hidden_at")
    });
    assert_eq!(hidden.count(), 2, "{chat}");
}

#[tokio::test]
async fn ses_06_everything_can_be_taken_back_and_the_session_goes_on() {
    let script = Script::default().part("lead", [say("one"), say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    assert_eq!(rewind(&stage, None).await, Receipt::Rewound { hidden: 2 });
    assert!(said(&stage).await.is_empty());
    stage.ask("again").await;
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(user_texts(&sent), ["again"]);
    assert_eq!(sent.messages.len(), 1);
}

#[tokio::test]
async fn ses_06_a_rewind_that_cannot_be_says_why_and_changes_nothing() {
    let gate = Gate::shut();
    let script = Script::default().part("lead", [say("one"), say("two").behind(&gate)]);
    let stage = Stage::new(script).await;
    refused(&rewind(&stage, None).await, "nothing was said");
    stage.ask("first").await;
    let before = said(&stage).await;
    refused(
        &rewind(&stage, Some(&MessageId::new("nobody's"))).await,
        "no message of that id",
    );
    refused(
        &rewind(&stage, before.last()).await,
        "nothing was said after",
    );

    stage.prompt(stage.root(), "second").await;
    stage.asked("lead", 2).await;
    refused(&rewind(&stage, Some(&before[0])).await, "it is working");
    gate.open();
    stage.quiet().await;
    assert_eq!(said(&stage).await.len(), 4);

    rewind(&stage, Some(&before[0])).await;
    refused(
        &rewind(&stage, Some(&before[1])).await,
        "no message of that id",
    );
}

#[tokio::test]
async fn r8_children_of_hidden_calls_end_first_and_nobody_is_told_of_them() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("afterwards"),
            ],
        )
        .part("worker", [say("never").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    let child = stage.born("worker").await;

    let prompt = said(&stage).await[0].clone();
    assert_eq!(
        rewind(&stage, Some(&prompt)).await,
        Receipt::Rewound { hidden: 2 }
    );
    let (_, drops, consumed, _) = rewound(&stage).await;
    assert_eq!((drops, consumed), (vec![child.clone()], 1));
    assert_eq!(
        stage.settlement(&child).await.status,
        Status::Cancelled(CancelledBy::User)
    );
    stage.quiet().await;
    // What it had said is nobody's answer any more.
    let settled = stage.settlement(&stage.root()).await;
    assert_eq!(settled.status, Status::Partial(PartialReason::NoAnswer));
    assert_eq!(settled.output, None);
    stage.ask("and now?").await;
    assert!(stage.completions().await.is_empty());
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(user_texts(&sent), ["go", "and now?"]);
}

#[tokio::test]
async fn r8_what_a_dropped_child_does_later_is_told_nobody() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("here"), say("later")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let child = stage.born("worker").await;
    rewind(&stage, None).await;

    stage.prompt(child.clone(), "more").await;
    stage.settled_twice(&child).await;
    stage.quiet().await;
    assert!(stage.completions().await.is_empty());
    assert_eq!(stage.script.sent("lead").len(), 2, "nobody was woken");
}

#[tokio::test]
async fn r8_children_of_calls_that_stay_go_on_and_are_told() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("second"),
                say("heard"),
            ],
        )
        .part("worker", [say("the answer").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    let before = said(&stage).await;
    stage.prompt(stage.root(), "and?").await;
    stage.asked("lead", 3).await;
    stage
        .until(|entry| matches!(&entry.event, Event::TurnEnded { turn, .. } if turn.get() == 2))
        .await;

    let receipt = rewind(&stage, before.last()).await;
    assert_eq!(receipt, Receipt::Rewound { hidden: 2 });
    gate.open();
    stage.quiet().await;
    assert_eq!(
        stage.completions().await,
        [("completed".to_owned(), Some("the answer".to_owned()))]
    );
    let sent = stage.script.sent("lead").pop().unwrap();
    let texts = user_texts(&sent);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert_eq!(texts[0], "go");
}

#[tokio::test]
async fn r8_what_is_asked_while_children_end_waits_behind_the_rewind() {
    let gate = Gate::shut();
    let script = Script::default()
        .part(
            "lead",
            [
                task_in_background("worker", "go"),
                say("started"),
                say("fresh"),
            ],
        )
        .part("worker", [say("never").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    stage.asked("worker", 1).await;

    // The rewind has stopped the child, and waits for its end until the prompt is in the log.
    let end = Gate::shut();
    let settles = |event: &Event| matches!(event, Event::Settled { .. });
    stage.wire.trouble_with(Trouble::Held(end.clone()), settles);
    let prompt = async {
        stage.wire.met(1).await;
        stage.prompt(stage.root(), "from the beginning").await;
        end.open();
    };
    let (receipt, ()) = tokio::join!(rewind(&stage, None), prompt);
    assert_eq!(receipt, Receipt::Rewound { hidden: 3 });
    stage.quiet().await;
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(user_texts(&sent), ["from the beginning"]);
}

#[tokio::test]
async fn ses_06_prompts_that_waited_are_taken_back_too() {
    let gate = Gate::shut();
    let broken = fail(ModelErrorKind::Invalid).behind(&gate);
    let script = Script::default().part("lead", [say("one"), broken, say("afterwards")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let before = said(&stage).await;
    // The second fails, and the third waits behind it.
    stage.prompt(stage.root(), "second").await;
    stage.asked("lead", 2).await;
    stage.prompt(stage.root(), "third").await;
    gate.open();
    stage.settled_twice(&stage.root()).await;
    let receipt = rewind(&stage, before.last()).await;
    assert_eq!(receipt, Receipt::Rewound { hidden: 2 });
    stage.ask("fourth").await;
    let sent = stage.script.sent("lead").pop().unwrap();
    assert_eq!(user_texts(&sent), ["first", "fourth"]);
}

#[tokio::test]
async fn r8_a_cancel_while_children_end_is_answered() {
    let gate = Gate::shut();
    let script = Script::default()
        .part("lead", [task_in_background("worker", "go"), say("started")])
        .part("worker", [say("never").behind(&gate)]);
    let stage = Stage::new(script).await;
    stage.prompt(stage.root(), "go").await;
    stage.turn_ended(&stage.root()).await;
    stage.asked("worker", 1).await;
    let (receipt, cancelled) = tokio::join!(
        rewind(&stage, None),
        stage.order(stage.root(), Order::Cancel(Scope::Run))
    );
    assert_eq!(receipt, Receipt::Rewound { hidden: 3 });
    assert!(matches!(cancelled, Receipt::Settled(_)), "{cancelled:?}");
}

#[tokio::test]
async fn ses_06_call_ids_of_what_is_hidden_stay_used() {
    let read = || call(&[("read", serde_json::json!({ "path": "a" }))]);
    let script = Script::default().part("lead", [read(), say("one"), read(), say("two")]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    rewind(&stage, None).await;
    stage.ask("second").await;
    let log = stage.log().await;
    let mut calls: Vec<_> = log
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::CallFinished { call, .. } => Some(call.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(calls.len(), 2);
    calls.dedup();
    assert_eq!(calls.len(), 2, "{calls:?}");
}

#[tokio::test]
async fn r16_a_rewind_of_a_session_that_died_starts_nothing() {
    let never = Gate::shut();
    let script = Script::default().part("lead", [say("one"), say("never").behind(&never)]);
    let stage = Stage::new(script).await;
    stage.ask("first").await;
    let before = said(&stage).await;
    stage.prompt(stage.root(), "second").await;
    stage.asked("lead", 2).await;
    stage.prompt(stage.root(), "third").await;

    let stage = stage.crash().await;
    refused(
        &rewind(&stage, Some(&MessageId::new("nobody's"))).await,
        "no message of that id",
    );
    let receipt = rewind(&stage, before.last()).await;
    assert_eq!(receipt, Receipt::Rewound { hidden: 2 });
    assert_eq!(stage.script.sent("lead").len(), 2, "nobody was asked");
    let stage = stage.crash().await;
    assert_eq!(said(&stage).await, before);
}
