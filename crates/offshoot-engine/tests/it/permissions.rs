//! A child may do no more than its parent.

use offshoot_engine::{Asks, Limits};
use offshoot_types::event::Event;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::Action;
use serde_json::json;

use crate::stage::{Script, Stage, call, data, kind, say, task};

fn write() -> crate::stage::Line {
    call(&[("write", json!({ "path": "a" }))])
}

#[tokio::test]
async fn sa_33_sa_34_a_narrow_child_narrows_its_children_and_not_its_parent() {
    let script = Script::default()
        .part("lead", [task("reader", "go"), write(), say("done")])
        .part(
            "reader",
            [write(), task("worker", "try it"), say("could not")],
        )
        .part("worker", [write(), say("could not either")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;

    assert_eq!(kind(&stage.outcomes("reader").await[0]), ErrorKind::Denied);
    assert_eq!(kind(&stage.outcomes("worker").await[0]), ErrorKind::Denied);
    assert_eq!(
        data(&stage.outcomes("lead").await[1]),
        json!("done"),
        "the parent still writes"
    );
}

#[tokio::test]
async fn r23_every_decision_is_an_entry_that_names_who_decided() {
    let script = Script::default()
        .part("lead", [write(), task("reader", "go"), say("done")])
        .part("reader", [write(), say("no")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let decided: Vec<(Action, String)> = stage
        .log()
        .await
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Decided { decision, .. } => Some((decision.action, decision.layer)),
            _ => None,
        })
        .collect();
    let expected = [
        (
            Action::Allow,
            "the host, which says yes to everything".to_owned(),
        ),
        (Action::Deny, "agent reader".to_owned()),
    ];
    assert_eq!(decided, expected);
}

#[tokio::test]
async fn tls_17_an_ask_with_nobody_to_answer_is_a_denial_that_says_so() {
    let run = call(&[("run", json!({ "path": "ls" }))]);
    let script = Script::default().part("lead", [run, say("done")]);
    let stage = Stage::asking(script, Limits::default(), Asks::NOBODY).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(kind(outcome), ErrorKind::Denied);
    assert!(
        outcome.for_model().contains("nobody is here to give it"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn tls_02_arguments_a_tool_does_not_take_are_told_and_nothing_runs() {
    let script = Script::default().part("lead", [call(&[("write", json!({}))]), say("done")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    let outcome = &stage.outcomes("lead").await[0];
    assert_eq!(kind(outcome), ErrorKind::InvalidInput);
    let started = |event: &Event| matches!(event, Event::CallStarted { .. });
    assert!(!stage.log().await.iter().any(|entry| started(&entry.event)));
}
