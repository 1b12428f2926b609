//! The conversation of one agent.

use offshoot_types::id::{CallId, MessageId};
use offshoot_types::message::Usage;
use offshoot_types::transcript::{Item, Transcript};

use crate::write::{completion, finished, prompted, replied, started};
use offshoot_types::event::{Compaction, Event};

fn fold(events: &[Event]) -> Transcript {
    Transcript::fold(events).unwrap()
}

#[test]
fn a_request_cannot_be_built_while_a_call_is_open() {
    let mut events = vec![
        prompted("p"),
        started(1, 1, Some("p")),
        replied(&["a", "b"]),
    ];
    assert!(fold(&events).ready().is_none());
    events.push(finished("b", &[]));
    assert!(fold(&events).ready().is_none());
    events.push(finished("a", &[]));
    assert!(fold(&events).ready().is_some());
}

#[test]
fn outcomes_stand_in_the_order_of_the_calls() {
    let events = [
        prompted("p"),
        started(1, 1, Some("p")),
        replied(&["a", "b"]),
        finished("b", &[]),
        finished("a", &[]),
    ];
    let transcript = fold(&events);
    let Some(Item::Assistant(step)) = transcript.items().last() else {
        panic!("the last item is the model's")
    };
    let calls: Vec<&str> = step.outcomes().map(|(call, _)| call.id.as_str()).collect();
    assert_eq!(calls, ["a", "b"]);
}

#[test]
fn a_prompt_is_said_when_its_turn_begins() {
    let queued = fold(&[prompted("p"), prompted("q")]);
    assert!(queued.items().is_empty());
    let said = fold(&[
        prompted("p"),
        prompted("q"),
        completion("kid", 1),
        started(1, 1, Some("p")),
    ]);
    assert!(
        matches!(said.items(), [Item::Completion(_), Item::User(message)] if message.id.as_str() == "p")
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let misfits: [&[Event]; 4] = [
        &[started(1, 1, Some("nobody asked"))],
        &[finished("a", &[])],
        &[replied(&["a"]), replied(&[])],
        &[replied(&["a"]), finished("a", &[]), replied(&["a"])],
    ];
    for events in misfits {
        assert!(Transcript::fold(events).is_err(), "{events:?}");
    }
}

#[test]
fn call_ids_of_the_whole_conversation_are_known() {
    let transcript = fold(&[replied(&["a"]), finished("a", &[])]);
    assert!(transcript.knows_call(&CallId::new("a")));
    assert!(!transcript.knows_call(&CallId::new("b")));
}

fn rewound(hides: &[&str]) -> Event {
    Event::Rewound {
        to: None,
        hides: hides.iter().map(|id| MessageId::new(*id)).collect(),
        drops: Vec::new(),
        consumes: Vec::new(),
        counts: Usage::default(),
    }
}

#[test]
fn ses_06_what_is_hidden_is_gone_and_its_call_ids_stay_used() {
    let mut events = vec![
        prompted("p"),
        started(1, 1, Some("p")),
        replied(&["a"]),
        finished("a", &[]),
        prompted("waits"),
        prompted("stays"),
    ];
    events.push(rewound(&["m", "waits"]));
    let transcript = fold(&events);
    assert!(matches!(transcript.items(), [Item::User(message)] if message.id.as_str() == "p"));
    assert!(transcript.knows_call(&CallId::new("a")));
    assert!(!transcript.has_queued(&MessageId::new("waits")));
    assert!(transcript.has_queued(&MessageId::new("stays")));
    let open = [prompted("p"), started(1, 1, Some("p")), replied(&["a"])];
    assert!(fold(&open).apply(&rewound(&["m"])).is_err());
}

#[test]
fn ses_12_a_rewind_over_a_summary_brings_back_what_it_stood_for() {
    let summary = Event::Compacted(Box::new(Compaction {
        request: None,
        message: MessageId::new("summary"),
        summary: "what was said".to_owned(),
        tail_start: None,
        auto: false,
        summary_tokens: 3,
        results: Vec::new(),
        live: Vec::new(),
        counts: Usage::default(),
        warning: None,
    }));
    let said = [prompted("p"), started(1, 1, Some("p")), summary];
    let mut transcript = fold(&said);
    let view = |transcript: &Transcript| -> Vec<String> {
        let ids = transcript.view().into_iter().map(Item::id);
        ids.map(ToString::to_string).collect()
    };
    assert_eq!(view(&transcript), ["summary"]);
    transcript.apply(&rewound(&["summary"])).unwrap();
    assert_eq!(view(&transcript), ["p"]);
}
