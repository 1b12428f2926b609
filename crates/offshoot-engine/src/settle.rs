//! How a run ends, and what its parent reads of it.
//!
//! Everything others learn of an end derives from the one settlement record
//! (R13): the outcome of the call that waits for it, the completion that is told
//! later. The form is chosen at delivery (R14); the run is the same.

use offshoot_types::event::TurnEnd;
use offshoot_types::id::{AgentId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::StopReason;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::settlement::{CancelledBy, PartialReason, Settlement, Status};
use offshoot_types::tree::{Agent, Tally};
use serde_json::json;

use crate::context;

/// Returns how a run ends if it ends now.
pub(crate) fn status(tally: &Tally, stopped: Option<CancelledBy>) -> Status {
    if let Some(by) = stopped {
        return Status::Cancelled(by);
    }
    match &tally.end {
        Some(TurnEnd::Aborted(by)) => Status::Cancelled(*by),
        Some(TurnEnd::Failed { kind, message }) => Status::Failed {
            kind: *kind,
            message: message.clone(),
        },
        Some(TurnEnd::Lost) => Status::Lost {
            why: "its process died".to_owned(),
        },
        Some(TurnEnd::HandedBack(cap)) if tally.spoke => {
            Status::Partial(PartialReason::Budget(*cap))
        }
        Some(TurnEnd::HandedBack(cap)) => Status::BudgetExhausted(*cap),
        Some(TurnEnd::Finished) | None if tally.unheard => Status::Partial(PartialReason::Wakes),
        Some(TurnEnd::Finished) | None => finished(tally),
    }
}

/// Returns how a run ends whose last turn came to its natural end.
fn finished(tally: &Tally) -> Status {
    match (tally.stop, &tally.text) {
        (Some(StopReason::Refusal), _) => Status::Partial(PartialReason::Refusal),
        (_, None) => Status::Partial(PartialReason::NoAnswer),
        (Some(StopReason::Length | StopReason::Cut), Some(_)) => {
            Status::Partial(PartialReason::Length)
        }
        (Some(StopReason::End | StopReason::Calls) | None, Some(_)) => Status::Completed,
    }
}

/// Returns the record of a run that ends now.
pub(crate) fn settlement(tally: &Tally, status: Status, now: Timestamp) -> Settlement {
    Settlement {
        status,
        output: tally.text.clone(),
        usage: tally.usage,
        steps: tally.steps,
        duration_ms: now.get().saturating_sub(tally.started.get()),
    }
}

/// Returns the outcome of the call that waited for a run.
pub(crate) fn outcome(child: &AgentId, agent: &Agent, settlement: &Settlement) -> Outcome {
    let definition = &agent.spawned.definition;
    let mut outcome = match (&settlement.status, settlement.status.reason()) {
        (Status::Completed, _) => {
            output(child, agent, settlement.output.clone().unwrap_or_default())
        }
        (Status::Partial(_), reason) => {
            let text = settlement.output.as_deref().unwrap_or_default();
            let head = format!("[partial: {}]", reason.unwrap_or_default());
            output(child, agent, format!("{head} {text}").trim_end().to_owned())
        }
        (Status::Cancelled(CancelledBy::Ancestor | CancelledBy::Shutdown), _) => Outcome::error(
            ErrorKind::AbortedByParent,
            format!("agent {definition} was aborted by parent"),
        ),
        (
            Status::Cancelled(CancelledBy::User)
            | Status::Failed { .. }
            | Status::BudgetExhausted(_)
            | Status::Denied { .. }
            | Status::Lost { .. },
            reason,
        ) => Outcome::error(
            ErrorKind::ChildFailed,
            failure(child, definition, settlement, reason),
        ),
    }
    .took(settlement.duration_ms);
    let extra = &mut outcome.metadata.extra;
    extra.insert("settlement", &settlement.status.word());
    extra.insert("usage", &settlement.usage);
    extra.insert("turns", &settlement.steps);
    outcome
}

/// Returns the outcome of a call that does not wait: the handle.
pub(crate) fn handle(child: &AgentId) -> Outcome {
    Outcome::output(RawJson::of(&json!({ "session_id": child })))
}

fn output(child: &AgentId, agent: &Agent, text: String) -> Outcome {
    let data = if agent.spawned.inspectable {
        json!({ "output": text, "session_id": child })
    } else {
        json!({ "output": text })
    };
    Outcome::output(RawJson::of(&data))
}

fn failure(
    child: &AgentId,
    definition: &str,
    settlement: &Settlement,
    reason: Option<String>,
) -> String {
    let word = settlement.status.word();
    let reason = reason.unwrap_or_default();
    let mut text = format!("agent {definition} ({child}) ended {word}: {reason}");
    if let Some(last) = &settlement.output {
        text.push_str("; its last text was: ");
        text.push_str(last);
    }
    text
}

/// Returns what the model reads of a run that was told outside any call.
///
/// A child's text is data (R24): it is marked with its origin, and cannot close the mark.
pub(crate) fn completion_text(
    child: &AgentId,
    definition: &str,
    settlement: &Settlement,
    max_bytes: usize,
) -> String {
    let status = settlement.status.word();
    let mut body = String::new();
    if let Some(reason) = settlement.status.reason() {
        body.push_str(&format!("[{status}: {reason}]\n"));
    }
    body.push_str(settlement.output.as_deref().unwrap_or_default());
    let body = without_closing_mark(&context::capped(body.trim_end().to_owned(), max_bytes));
    let definition = definition.replace(['"', '<', '>'], "'");
    format!(
        "<task_completion agent=\"{definition}\" session_id=\"{child}\" status=\"{status}\">\n{body}\n</task_completion>"
    )
}

/// Breaks whatever a reader could take for the end of the mark, however it is spelled.
fn without_closing_mark(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<") {
        let (before, from) = rest.split_at(at);
        safe.push_str(before);
        let letters = from[1..]
            .trim_start()
            .strip_prefix('/')
            .map(str::trim_start);
        let closes = letters.is_some_and(|name| {
            let head = name.get(..MARK.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(MARK))
        });
        safe.push_str(if closes { "<\\" } else { "<" });
        rest = &from[1..];
    }
    safe.push_str(rest);
    safe
}

/// The name of the mark.
const MARK: &str = "task_completion";

#[cfg(test)]
mod tests;
