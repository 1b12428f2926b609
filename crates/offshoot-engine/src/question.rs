//! The question call: an agent asks a person in words (TLS-10).
//!
//! The call waits, without a slot, until somebody answers, says that they will
//! not, or it is too late. Where nobody is there it fails at once, always with the
//! same words: an answer is never made up (TLS-17), and the host's yes to
//! permissions is none.

use offshoot_types::command::{Receipt, Verdict};
use offshoot_types::event::Event;
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision};
use offshoot_types::question::{self, MOST_CHOICES, MOST_QUESTIONS, Question};
use offshoot_types::store::StoreError;
use offshoot_types::tool::{Effect, ToolSpec};
use offshoot_types::tree::Ask;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::ask::{self, Answered, Asking};
use crate::log::Batch;
use crate::scheduler::Finished;

/// The tool's id. Locked.
pub(crate) const QUESTION: &str = "question";

/// What a call is told where nobody could answer it.
const NOBODY: &str = "nobody is here to answer; go on with what you know, and say in \
     your answer what you took for granted";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    questions: Vec<Question>,
}

/// Returns what models are told of `question`.
pub(crate) fn spec() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_QUESTIONS,
                "items": {
                    "type": "object",
                    "properties": {
                        "question": { "type": "string", "minLength": 1 },
                        "header": { "type": "string", "description": "what it is about, in a word or two" },
                        "options": {
                            "type": "array",
                            "maxItems": MOST_CHOICES,
                            "description": "answers to choose from; the user may say something else",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "label": { "type": "string", "minLength": 1 },
                                    "description": { "type": "string" },
                                },
                                "required": ["label"],
                                "additionalProperties": false,
                            },
                        },
                        "multi_select": { "type": "boolean", "description": "whether several may be chosen" },
                    },
                    "required": ["question"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["questions"],
        "additionalProperties": false,
    });
    ToolSpec::new(
        QUESTION,
        "Asks the user and waits for the answer. Use it where you cannot find out \
             yourself and a wrong guess would cost them; not for permission, which is asked for \
             without you. Returns {answers}, a list of strings for each question.",
        &parameters,
        Effect::Read,
    )
}

/// Reads what is asked, or says what is wrong with it.
pub(crate) fn read(arguments: &RawJson) -> Result<Vec<Question>, Outcome> {
    let wrong = |text: String| Outcome::error(ErrorKind::InvalidInput, text);
    let Arguments { questions } = arguments.read().map_err(|error| {
        wrong(format!(
            "question takes {{questions: [{{question, header?, options?, multi_select?}}]}}: {error}"
        ))
    })?;
    question::check(&questions).map_err(wrong)?;
    Ok(questions)
}

/// Returns what a person is asked when the call starts, or the outcome if no person is there.
pub(crate) fn put(
    agent: &Agent,
    call: &CallId,
    arguments: &RawJson,
    batch: &mut Batch,
) -> Result<Ask, Outcome> {
    let questions = read(arguments)?;
    if !agent.kit.asks.is_somebody_there() {
        return Err(nobody(call, batch));
    }
    Ok(Ask {
        questions,
        deadline: agent.ask_deadline(),
        ..Ask::default()
    })
}

/// Writes down that nobody was there to answer, so that the parent hears of it; returns what the
/// call is told.
pub(crate) fn nobody(call: &CallId, batch: &mut Batch) -> Outcome {
    batch.own(Event::Decided {
        call: call.clone(),
        decision: decision(),
        grant: None,
        reason: None,
    });
    Outcome::error(ErrorKind::Denied, NOBODY)
}

/// Returns why somebody is asked: no chain says so.
pub(crate) fn decision() -> Decision {
    Decision {
        action: Action::Ask,
        layer: "the agent, which has a question".to_owned(),
        rule: None,
    }
}

/// Waits for the answer.
pub(crate) async fn wait(
    agent: &Agent,
    call: CallId,
    ask: Ask,
    cancel: &CancellationToken,
) -> Result<Finished, StoreError> {
    let error = |kind, text: &str| Outcome::error(kind, text);
    let asking = Asking {
        call: &call,
        tool: QUESTION,
        ask: &ask,
        runs: None,
    };
    Ok(match ask::answer(agent, asking, cancel).await {
        Answered::By(order, verdict) => {
            let outcome = outcome(verdict);
            Finished::answered(call, outcome, (*order, Receipt::Answered))
        }
        Answered::TooLate => {
            let (unanswered, _) = ask::unanswered(&call, QUESTION);
            agent.log.append(vec![unanswered]).await?;
            let text = "nobody answered in time; go on with what you know";
            Finished::of(call, error(ErrorKind::Denied, text))
        }
        // What was granted is about permissions.
        Answered::Granted(_) | Answered::Cancelled => Finished::of(
            call,
            error(
                ErrorKind::Cancelled,
                "question was cancelled before anybody answered",
            ),
        ),
    })
}

fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Said { answers } => Outcome::output(RawJson::of(&json!({ "answers": answers }))),
        // Those who ask the session see to it that only these two come here.
        Verdict::Deny { .. }
        | Verdict::Once
        | Verdict::Session
        | Verdict::Agent
        | Verdict::Returned(_) => {
            let text = match verdict.reason() {
                Some(reason) => format!("the user does not answer: {reason}"),
                None => "the user does not answer".to_owned(),
            };
            Outcome::error(ErrorKind::Denied, text)
        }
    }
}
