//! How a run ends, and what its parent reads of it.
//!
//! Everything others learn of an end derives from the one settlement record
//! (R13): the outcome of the call that waits for it, the completion that is told
//! later. The form is chosen at delivery (R14); the run is the same.

use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::{AgentId, CallId, MessageId, RunId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::StopReason;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::report::Report;
use offshoot_types::settlement::{CancelledBy, PartialReason, Settlement, Status};
use offshoot_types::transcript::Completion;
use offshoot_types::tree::{Agent, Tally, Tree};
use serde_json::{Value, json};

use crate::{compact, context, hooks, inherit, unread};

/// Most bytes of a child's answer that its parent is shown. As JSON it may take twice as many, and
/// still fits into a context.
const MAX_ANSWER_BYTES: usize = 100 * 1024;

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
        Some(TurnEnd::Denied { reason }) => Status::Denied {
            reason: reason.clone(),
        },
        Some(TurnEnd::Lost) => Status::Lost {
            why: "its process died".to_owned(),
        },
        Some(TurnEnd::HandedBack(cap)) if tally.spoke => {
            Status::Partial(PartialReason::Budget(*cap))
        }
        Some(TurnEnd::HandedBack(cap) | TurnEnd::Exhausted(cap)) => Status::BudgetExhausted(*cap),
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
        output: tally.text.clone(),
        usage: tally.usage,
        steps: tally.steps,
        cost: tally.cost,
        duration_ms: now.get().saturating_sub(tally.started.get()),
        report: tally.text.as_deref().and_then(Report::parse).map(Box::new),
        unanswered: tally.unanswered,
        ..Settlement::new(status)
    }
}

/// Returns the outcome of the call that waited for a run.
pub(crate) fn outcome(child: &AgentId, agent: &Agent, settlement: &Settlement) -> Outcome {
    let definition = &agent.spawned.definition;
    let mut outcome = match (&settlement.status, settlement.status.reason()) {
        (Status::Completed, _) => {
            let data = match (value(settlement), unanswered(settlement)) {
                (None, _) => json!({ "output": shown(child, settlement) }),
                (Some(value), None) => json!({ "output": value }),
                // There is no place for words in a value.
                (Some(value), Some(words)) => json!({ "output": value, "unanswered": words }),
            };
            marked(output(child, agent, data), settlement)
        }
        (Status::Partial(_), reason) => {
            let head = format!("[partial: {}]", reason.unwrap_or_default());
            let text = format!("{head} {}", shown(child, settlement));
            let data = json!({ "output": text.trim_end() });
            marked(output(child, agent, data), settlement)
        }
        (Status::Cancelled(CancelledBy::Ancestor | CancelledBy::Shutdown), _) => {
            let mut text = format!("agent {definition} was aborted by parent");
            push_notice(&mut text, unread::notice(child, settlement));
            Outcome::error(ErrorKind::AbortedByParent, text)
        }
        (
            Status::Cancelled(CancelledBy::User | CancelledBy::Parent)
            | Status::Failed { .. }
            | Status::BudgetExhausted(_)
            | Status::Denied { .. }
            | Status::Lost { .. },
            reason,
        ) => {
            let text = failure(child, definition, settlement, reason);
            marked(Outcome::error(ErrorKind::ChildFailed, text), settlement)
        }
    };
    let metadata = settlement.metadata(child, definition);
    outcome.metadata.duration_ms = metadata.duration_ms;
    outcome.metadata.extra = metadata.extra;
    outcome
}

/// Returns the entry that tells an agent of a run that no call waits for (R14).
pub(crate) fn completion(
    message: MessageId,
    run: &RunId,
    child: &Agent,
    settlement: &Settlement,
) -> Event {
    Event::Completion {
        message,
        run: run.clone(),
        definition: child.spawned.definition.clone(),
        call: child.parent().and_then(|parent| parent.made_by().cloned()),
        settlement: settlement.clone(),
        quiet: child.run(run.run).is_some_and(|run| run.quiet),
    }
}

/// Returns what became of a run, for a call that asked after it.
pub(crate) fn capsule(run: &RunId, tree: &Tree, settlement: &Settlement) -> Value {
    let definition = tree
        .agent(&run.agent)
        .map(|agent| &agent.spawned.definition);
    let mut capsule = json!({
        "session_id": run.agent,
        "agent": definition,
        "status": settlement.status.word(),
        "turns": settlement.steps,
        "tokens": settlement.usage.total(),
    });
    if let Some(reason) = settlement.status.reason() {
        capsule["reason"] = without_marks(&reason).into();
    }
    match value(settlement) {
        Some(value) => capsule["output"] = value,
        None if settlement.output.is_some() => capsule["output"] = said(settlement).into(),
        None => {}
    }
    if let Some(unanswered) = unanswered(settlement) {
        capsule["unanswered"] = unanswered.into();
    }
    if let Some(unread) = unread::notice(&run.agent, settlement) {
        capsule["unread"] = unread.into();
    }
    if let Some(path) = &settlement.transcript_path {
        capsule["transcript_path"] = path.clone().into();
    }
    if !settlement.files.is_empty() {
        capsule["files_changed"] = json!(settlement.files);
    }
    if let Some(cost) = settlement.cost {
        capsule["cost_usd"] = json!(cost);
    }
    capsule
}

/// Returns the outcome of a call that does not wait: the handle.
pub(crate) fn handle(child: &AgentId) -> Outcome {
    Outcome::output(RawJson::of(&json!({ "session_id": child })))
}

fn output(child: &AgentId, agent: &Agent, mut data: Value) -> Outcome {
    if agent.spawned.inspectable {
        data["session_id"] = json!(child);
    }
    Outcome::output(RawJson::of(&data))
}

/// Returns the value of an answer that had to fit a schema. Of one that is too long the head is shown
/// as text.
fn value(settlement: &Settlement) -> Option<Value> {
    let value = settlement.value.as_ref().filter(|_| !is_long(settlement))?;
    value.read().ok()
}

/// Tells whether a run said more than its parent is shown.
pub(crate) fn is_long(settlement: &Settlement) -> bool {
    let output = settlement.output.as_deref();
    output.is_some_and(|text| text.len() > MAX_ANSWER_BYTES)
}

/// Returns what a parent is shown of a run in words: what it said, what it could not do because
/// no one answered, and which results it has not read.
fn shown(child: &AgentId, settlement: &Settlement) -> String {
    let mut text = said(settlement);
    let unanswered = unanswered(settlement).map(|words| format!("[{words}]"));
    push_notice(&mut text, unanswered);
    push_notice(&mut text, unread::notice(child, settlement));
    text
}

/// Puts a notice of ours on a line of its own.
fn push_notice(text: &mut String, notice: Option<String>) {
    if let Some(notice) = notice {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&notice);
    }
}

/// Says what a run could not do because nobody was there to allow or to answer it.
fn unanswered(settlement: &Settlement) -> Option<String> {
    let calls = match settlement.unanswered {
        0 => return None,
        1 => "one of its calls".to_owned(),
        many => format!("{many} of its calls"),
    };
    Some(format!(
        "{calls} needed permission or an answer, and nobody was there to give it"
    ))
}

/// Returns what a parent is shown of what a run said: all, or the head and where the whole lies; and
/// nothing that could pass for our own words (R24).
fn said(settlement: &Settlement) -> String {
    let text = settlement.output.as_deref().unwrap_or_default();
    let harmless = |text: &str| without_marks(&without_notices(text));
    if !is_long(settlement) {
        return harmless(text);
    }
    let head = &text[..text.floor_char_boundary(MAX_ANSWER_BYTES)];
    let place = match &settlement.output_path {
        Some(path) => format!("all of them are in {path}"),
        None => "the rest could not be kept".to_owned(),
    };
    let (shown, whole) = (head.len(), text.len());
    let head = harmless(head);
    format!("{head}\n[truncated: {shown} of {whole} bytes shown; {place}]")
}

/// Marks an outcome that has only the head of what a run said (TLS-14).
fn marked(mut outcome: Outcome, settlement: &Settlement) -> Outcome {
    if is_long(settlement) {
        outcome.metadata.truncated = Some(true);
        outcome.metadata.output_path = settlement.output_path.clone();
    }
    outcome
}

fn failure(
    child: &AgentId,
    definition: &str,
    settlement: &Settlement,
    reason: Option<String>,
) -> String {
    let word = settlement.status.word();
    let reason = without_marks(&reason.unwrap_or_default());
    let mut text = format!("agent {definition} ({child}) ended {word}: {reason}");
    if settlement.output.is_some() {
        text.push_str("; its last text was: ");
        text.push_str(&said(settlement));
    }
    let unanswered = unanswered(settlement).map(|words| format!("[{words}]"));
    push_notice(&mut text, unanswered);
    push_notice(&mut text, unread::notice(child, settlement));
    text.push_str(&handle_of_failure(settlement));
    text
}

/// Returns where the parent finds what a child did that has nothing to hand over, if it was kept.
fn handle_of_failure(settlement: &Settlement) -> String {
    match (&settlement.status, &settlement.transcript_path) {
        (Status::Partial(_), _) | (_, None) => String::new(),
        (_, Some(path)) => format!("\n[what it did is in {path}]"),
    }
}

/// Returns what the model reads of a run that was told outside any call.
///
/// A child's text is data (R24): it is marked with its origin, and can neither close the mark nor open
/// another.
pub(crate) fn completion_text(completion: &Completion, max_bytes: usize) -> String {
    let Completion {
        run,
        definition,
        call,
        settlement,
        ..
    } = completion;
    let status = settlement.status.word();
    let body = context::capped(told(&run.agent, settlement), max_bytes);
    block(&run.agent, definition, call.as_ref(), status, &body)
}

/// Renders the end of a run for its parent: why it ended so, what it said, where the rest is.
pub(crate) fn told(child: &AgentId, settlement: &Settlement) -> String {
    let mut text = String::new();
    if let Some(reason) = settlement.status.reason() {
        text.push_str(&format!("[{}: {reason}]\n", settlement.status.word()));
    }
    text.push_str(&shown(child, settlement));
    text.push_str(&handle_of_failure(settlement));
    text.truncate(text.trim_end().len());
    text
}

/// Marks what a child said with its origin.
pub(crate) fn block(
    child: &AgentId,
    definition: &str,
    call: Option<&CallId>,
    status: &str,
    body: &str,
) -> String {
    let body = without_marks(body);
    let plain = |text: &str| text.replace(['"', '<', '>'], "'");
    let definition = plain(definition);
    let call = call.map_or_else(String::new, |call| {
        format!(" call_id=\"{}\"", plain(call.as_str()))
    });
    format!(
        "<{MARK} agent=\"{definition}\" session_id=\"{child}\"{call} status=\"{status}\">\n{body}\n</{MARK}>"
    )
}

/// Quotes the lines of a child's words that a reader could take for notices of ours (R24).
fn without_notices(text: &str) -> String {
    let ends = |c: char| matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let lines = text.split_inclusive(ends);
    let quoted = lines.map(|line| {
        if is_like_notice(line) {
            format!("> {line}")
        } else {
            line.to_owned()
        }
    });
    quoted.collect()
}

/// Tells whether a line begins as a notice of ours does, as far as anybody can see.
fn is_like_notice(line: &str) -> bool {
    let seen = line.chars().filter(|c| !is_unseen(*c)).take(MOST_OF_NOTICE);
    let seen = seen.collect::<String>().to_lowercase();
    let Some(inside) = seen.strip_prefix('[') else {
        return false;
    };
    let inside = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    NOTICES.iter().any(|notice| inside.starts_with(notice))
}

/// Breaks whatever a reader could take for the mark, its beginning or its end, however it is spelled.
pub(crate) fn without_mark(text: &str, mark: &str) -> String {
    without_any(text, &[mark])
}

/// Breaks whatever a reader could take for one of our marks: nobody else's words may pass for a
/// completion, a hook's, a summary or a directive.
pub(crate) fn without_marks(text: &str) -> String {
    without_any(text, &[MARK, hooks::MARK, compact::MARK, inherit::MARK])
}

pub(crate) fn without_any(text: &str, marks: &[&str]) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        safe.push_str(before);
        rest = &from[1..];
        let seen = rest.chars().filter(|c| !is_unseen(*c));
        let mut seen = seen.map(|c| c.to_ascii_lowercase()).peekable();
        seen.next_if_eq(&'/');
        let is_mark = marks.iter().any(|mark| {
            let mut seen = seen.clone();
            mark.chars().all(|letter| seen.next() == Some(letter))
        });
        safe.push_str(if is_mark { "<\\" } else { "<" });
    }
    safe.push_str(rest);
    safe
}

/// Tells whether nobody sees a character, so that words with and without it look alike.
fn is_unseen(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// How notices of ours begin behind their bracket and a number, without what nobody sees.
const NOTICES: [&str; 12] = [
    "partial:",
    "truncated:",
    "oneofitscalls",
    "ofitscalls",
    "whatitdidisin",
    "unread:",
    "unreadresult:",
    "cancelled:",
    "failed:",
    "budget_exhausted:",
    "denied:",
    "lost:",
];

/// Most characters of a line that are looked at.
const MOST_OF_NOTICE: usize = 64;

/// The name of the mark.
const MARK: &str = "task_completion";

#[cfg(test)]
mod tests;
