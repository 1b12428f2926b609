//! What a client is told that comes later.

use offshoot_server::acp::{Form, Transcripts, Watch};
use offshoot_types::event::Event;
use serde_json::{Value, json};

use crate::stage::{entries, fold, folded, log};

fn told(snapshot: &[offshoot_server::acp::wire::Notification]) -> Vec<Value> {
    let value = |one| serde_json::to_value(one).unwrap();
    snapshot.iter().map(value).collect()
}

#[test]
fn rule_20_a_snapshot_announces_every_child_again_parents_first() {
    let (fold, _) = folded(log!("nested"), Form::Sessions);
    let now = told(&fold.snapshot(Watch::Live));
    let chain: Vec<(&Value, &Value)> = now
        .iter()
        .map(|one| (&one["sessionId"], &one["update"]["sessionId"]))
        .collect();
    let (root, kid, deep) = (json!("root"), json!("kid"), json!("deep"));
    assert_eq!(chain, [(&root, &kid), (&kid, &deep)]);
    for one in &now {
        let update = &one["update"];
        assert_eq!(
            update["state"],
            json!({ "state": "idle", "stopReason": "end_turn" })
        );
        assert_eq!(update["capabilities"], json!({ "cancel": {} }));
        assert!(update["title"].is_string());
    }
}

#[test]
fn rules_9_21_what_nobody_runs_any_more_is_unknown_and_not_failed() {
    let mut fold = fold(Form::Sessions);
    for entry in entries(log!("nested")) {
        fold.entry(&entry);
        if entry.agent.as_str() == "deep" && matches!(entry.event, Event::TurnStarted { .. }) {
            break;
        }
    }
    let states = |watch| {
        let now = told(&fold.snapshot(watch));
        let states = now
            .iter()
            .map(|one| one["update"]["state"]["state"].clone());
        states.collect::<Vec<Value>>()
    };
    assert_eq!(states(Watch::Live), ["running", "running"]);
    assert_eq!(states(Watch::Unwatched), ["unknown", "unknown"]);
}

#[test]
fn rule_21_of_a_child_that_never_began_nothing_is_made_up() {
    let mut fold = fold(Form::Sessions);
    for entry in entries(log!("blocking")) {
        fold.entry(&entry);
        if entry.agent.as_str() == "kid" {
            break;
        }
    }
    let now = told(&fold.snapshot(Watch::Unwatched));
    assert_eq!(now.len(), 1);
    assert_eq!(now[0]["update"].get("state"), None);
}

#[test]
fn what_has_ended_is_still_idle_when_nobody_runs_it() {
    let (fold, _) = folded(log!("failed"), Form::Sessions);
    let now = told(&fold.snapshot(Watch::Unwatched));
    assert_eq!(now[0]["update"]["state"]["stopReason"], "error");
}

#[test]
fn the_flat_form_has_no_snapshot() {
    let (fold, _) = folded(log!("nested"), Form::Flat(Transcripts::Hidden));
    assert!(fold.snapshot(Watch::Live).is_empty());
}
