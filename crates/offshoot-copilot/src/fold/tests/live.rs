//! What is shown while it comes.

use offshoot_types::id::{AgentId, CallId, MessageId, Timestamp};
use offshoot_types::live::{Delta, DeltaKind, Output};
use offshoot_types::tree::Unfinished;
use serde_json::{Value, json};

use super::log::{Log, finishes, says};
use crate::wire::WireEvent;

const NOW: Timestamp = Timestamp::new(0);

fn piece(kind: DeltaKind, offset: usize, text: &str) -> Delta {
    Delta {
        agent: AgentId::new("kid"),
        message: MessageId::new("m2"),
        kind,
        offset,
        text: text.to_owned(),
    }
}

fn told(events: &[WireEvent]) -> Vec<(String, Value)> {
    let pair = |event: &WireEvent| {
        let event = serde_json::to_value(event).unwrap();
        let kind = event["type"].as_str().unwrap().to_owned();
        (kind, event["data"]["deltaContent"].clone())
    };
    events.iter().map(pair).collect()
}

#[test]
fn deltas_are_shown_once_and_break_no_chain() {
    let (mut fold, stored) = Log::with_task(false).fold();
    let is_stored = |event: &&WireEvent| event.ephemeral.is_none();
    let last = stored.iter().rfind(is_stored).map(|event| event.id);
    let mut shown = Vec::new();
    for (offset, text) in [(0, "3 "), (2, "fi"), (0, "3 fi"), (0, "3 files")] {
        shown.extend(fold.delta(&piece(DeltaKind::Text, offset, text), NOW));
    }
    shown.push(fold.idle(NOW, &Unfinished::default()));
    let kind = |word: &str| format!("assistant.message_{word}");
    assert_eq!(
        told(&shown),
        [
            (kind("start"), Value::Null),
            (kind("delta"), json!("3 ")),
            (kind("delta"), json!("fi")),
            (kind("delta"), json!("les")),
            ("session.idle".to_owned(), Value::Null),
        ]
    );
    assert!(shown.iter().all(|event| event.parent_id == last));
    assert!(shown.iter().all(|event| event.ephemeral == Some(true)));
    let mut ids: Vec<_> = shown.iter().map(|event| event.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

#[test]
fn thinking_comes_in_pieces_of_its_own() {
    let (mut fold, _) = Log::with_task(false).fold();
    let mut shown = fold.delta(&piece(DeltaKind::Reasoning, 0, "hm"), NOW);
    shown.extend(fold.delta(&piece(DeltaKind::Text, 0, "yes"), NOW));
    let kinds: Vec<String> = told(&shown).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(
        kinds,
        [
            "assistant.reasoning_delta",
            "assistant.message_start",
            "assistant.message_delta",
        ]
    );
    let first = serde_json::to_value(&shown[0]).unwrap();
    assert_eq!(
        first["data"],
        json!({ "reasoningId": "m2", "deltaContent": "hm", "parentToolCallId": "c1" })
    );
}

#[test]
fn what_a_call_says_is_shown_once_also_after_a_lag() {
    let mut log = Log::with_task(false);
    log.add("kid", says("m2", &[], &[("c2", "bash"), ("c3", "bash")]));
    let (mut fold, _) = log.fold();
    let piece = |call: &str, offset: usize, text: &str| Output {
        agent: AgentId::new("kid"),
        call: CallId::new(call),
        offset,
        text: text.to_owned(),
    };
    let mut shown = Vec::new();
    for output in [
        piece("c2", 0, "1\n"),
        piece("c3", 0, "other"),
        piece("c2", 2, "2\n"),
        // What a subscriber gets that lagged or joined: the end, as far as it is kept.
        piece("c2", 0, "1\n2\n"),
        piece("c2", 2, "2\n3\n"),
        // Of what fell out meanwhile nothing can be shown.
        piece("c2", 90, "99\n"),
    ] {
        shown.extend(fold.output(&output, NOW));
    }
    let texts: Vec<Value> = shown
        .iter()
        .map(|event| serde_json::to_value(event).unwrap()["data"]["partialOutput"].clone())
        .collect();
    assert_eq!(texts, ["1\n", "other", "2\n", "3\n", "99\n"]);
    log.add("kid", finishes("c2", json!("done")));
    fold.entry(log.entries.last().unwrap());
    assert_eq!(fold.live.heard.len(), 1, "{:?}", fold.live.heard);
}
