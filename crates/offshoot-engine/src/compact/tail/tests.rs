//! The sizes by which a tail is chosen, held against measuring each tail anew.

use offshoot_types::event::Event;
use offshoot_types::id::{CallId, RunNo, TurnNo};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    Arguments, AssistantMessage, AssistantPart, Author, Call, StopReason, Usage, UserMessage,
};
use offshoot_types::outcome::Outcome;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Returns how many tokens items have, measured as a whole.
fn measured(items: &[&Item]) -> u64 {
    let mut messages = Vec::new();
    context::push_items(&mut messages, items.iter().copied(), None);
    let bytes: u64 = messages.iter().map(caps::message_bytes).sum();
    bytes / BYTES_PER_TOKEN
}

/// Returns a conversation of prompts, answers and steps with a call, of these lengths.
fn conversation(parts: &[(u8, usize)]) -> Transcript {
    let mut transcript = Transcript::default();
    let mut take = |event: Event| transcript.apply(&event).unwrap();
    for (number, (kind, length)) in parts.iter().enumerate() {
        let id = MessageId::new(format!("m{number}"));
        let text = "a".repeat(*length);
        if *kind == 0 {
            take(Event::Prompted(UserMessage {
                id: id.clone(),
                text: text.into(),
                from: Author::Human,
                agent: None,
                model: None,
                metadata: None,
                output_schema: None,
                delegation: None,
                immediate: false,
            }));
            take(Event::TurnStarted {
                run: RunNo::new(1),
                turn: TurnNo::ZERO,
                prompt: Some(id),
            });
            continue;
        }
        let call = CallId::new(format!("c{number}"));
        let mut parts = vec![AssistantPart::Text(text.clone())];
        if *kind == 1 {
            parts.push(AssistantPart::Call(Call {
                id: call.clone(),
                tool: "read".to_owned(),
                arguments: Arguments::Json(RawJson::of(&"b")),
            }));
        }
        take(Event::Replied(AssistantMessage {
            id,
            parts,
            model: "x".to_owned(),
            usage: Usage::default(),
            estimated: false,
            cost: None,
            stop: StopReason::End,
            timing: None,
            request: None,
            by_runtime: false,
        }));
        if *kind == 1 {
            take(Event::CallFinished {
                call,
                outcome: Outcome::output(RawJson::of(&text)),
                delivers: Vec::new(),
            });
        }
    }
    transcript
}

proptest! {
    #[test]
    fn the_size_of_every_tail_is_what_measuring_it_anew_gives(
        parts in vec((0..3_u8, 0..400_usize), 0..40),
    ) {
        let transcript = conversation(&parts);
        let view = transcript.view();
        let anew: Vec<u64> = (0..=view.len()).map(|at| measured(&view[at..])).collect();
        prop_assert_eq!(sizes(&view), anew);
    }
}
