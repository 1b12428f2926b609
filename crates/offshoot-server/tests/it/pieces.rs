//! Pieces of messages, before they are in the log.

use offshoot_server::acp::{Fold, Form, Piece, PieceKind, Transcripts};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::message::{AssistantPart, Reasoning};
use serde_json::Value;

use crate::stage::{entries, fold, log};

/// A log up to the kid's first message, and that.
fn until_the_kid_speaks(form: Form) -> (Fold, Entry) {
    let mut fold = fold(form);
    for entry in entries(log!("denied")) {
        if entry.agent.as_str() == "kid" && matches!(entry.event, Event::Replied(_)) {
            return (fold, entry);
        }
        fold.entry(&entry);
    }
    panic!("the kid never speaks")
}

fn shows(fold: &mut Fold, message: &str, kind: PieceKind, offset: usize, text: &str) -> Value {
    let told = fold.piece(Piece {
        agent: &AgentId::new("kid"),
        message: &MessageId::new(message),
        kind,
        offset,
        text,
    });
    let told = serde_json::to_value(told).unwrap();
    told["update"]["content"]["text"].clone()
}

fn words(told: &[Value]) -> Vec<&Value> {
    let texts = told.iter().map(|one| &one["update"]["content"]["text"]);
    texts.filter(|text| !text.is_null()).collect()
}

#[test]
fn r4_what_was_shown_while_it_came_is_not_said_again() {
    let (mut fold, entry) = until_the_kid_speaks(Form::Sessions);
    let Event::Replied(message) = &entry.event else {
        unreachable!()
    };
    let id = message.id.as_str().to_owned();
    let mut piece = |offset, text| shows(&mut fold, &id, PieceKind::Text, offset, text);
    assert_eq!(piece(0, "t"), "t");
    // After a lag all of it comes again.
    assert_eq!(piece(0, "t"), Value::Null);
    assert_eq!(piece(0, "tr"), "r");
    let told = fold.entry(&entry);
    let told: Vec<Value> = (told.iter().map(serde_json::to_value))
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(words(&told), ["y"], "the log says `try`");
}

#[test]
fn thinking_is_told_apart_from_words() {
    let (mut fold, mut entry) = until_the_kid_speaks(Form::Sessions);
    if let Event::Replied(message) = &mut entry.event {
        let thinking = Reasoning {
            text: "hm".to_owned(),
            raw: None,
        };
        message.parts.insert(0, AssistantPart::Reasoning(thinking));
    }
    let told = serde_json::to_value(fold.entry(&entry)).unwrap();
    assert_eq!(told[0]["update"]["sessionUpdate"], "agent_thought_chunk");
    assert_eq!(told[1]["update"]["sessionUpdate"], "agent_message_chunk");
    assert_eq!(told[0]["update"]["content"]["text"], "hm");
}

#[test]
fn pieces_of_a_child_are_not_shown_to_who_does_not_want_its_words() {
    let (mut fold, _) = until_the_kid_speaks(Form::Flat(Transcripts::Hidden));
    let shown = shows(&mut fold, "m9", PieceKind::Text, 0, "secret");
    assert_eq!(shown, Value::Null);
    let (mut fold, _) = until_the_kid_speaks(Form::Flat(Transcripts::Shown));
    let shown = shows(&mut fold, "m9", PieceKind::Text, 0, "known");
    assert_eq!(shown, "known");
}
