//! Questions and their answers, in the wire's words.
//!
//! The wire knows one question at a time, so each of a call's has a request of its
//! own. They are told for who watches: the answer goes the way of every order.

use offshoot_types::id::CallId;
use offshoot_types::outcome::{Body as Answer, Outcome};
use offshoot_types::question::Question;
use uuid::Uuid;

use crate::wire::user_input::{Completed, Requested};

/// The tool that asks in words. The engine's own, so nobody else's is called so.
pub(super) const TOOL: &str = "question";

/// Returns what is asked.
pub(super) fn requested(request_id: Uuid, call: &CallId, question: &Question) -> Requested {
    let choices = question.options.iter().map(|choice| choice.label.clone());
    Requested {
        request_id,
        question: question.question.clone(),
        choices: choices.collect(),
        allow_freeform: true,
        tool_call_id: call.clone(),
    }
}

/// Returns what was answered to one of a call's questions, if anything was.
pub(super) fn completed(
    request_id: Uuid,
    question: &Question,
    at: usize,
    outcome: &Outcome,
) -> Completed {
    #[derive(serde::Deserialize)]
    struct Answers {
        answers: Vec<Vec<String>>,
    }
    let answers: Option<Answers> = match &outcome.body {
        Answer::Output(data) => data.read().ok(),
        Answer::Error { .. } => None,
    };
    let said = answers.and_then(|given| given.answers.get(at).cloned());
    let is_choice = |word: &String| question.options.iter().any(|choice| choice.label == *word);
    Completed {
        request_id,
        was_freeform: said.as_ref().map(|said| !said.iter().all(is_choice)),
        answer: said.map(|said| said.join(", ")),
    }
}
