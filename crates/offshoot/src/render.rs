//! The log as text, one line an entry.
//!
//! A pure function of the entry. Lines are for people and for tests: text is
//! quoted, cut, and cannot move a terminal's cursor. Nothing is parsed back.

#[cfg(test)]
mod tests;

use offshoot_types::event::{Entry, Event, Origin, Spawned, TurnEnd};
use offshoot_types::id::AgentId;
use offshoot_types::message::{Arguments, AssistantMessage, AssistantPart, Author};
use offshoot_types::outcome::{Body, Outcome};
use offshoot_types::permission::Action;
use offshoot_types::settlement::{CancelledBy, Cap, Settlement, Status};

use crate::clock;

/// How many characters of a text are shown.
const MOST: usize = 240;

/// Renders an entry: its place, its agent, what happened.
pub(crate) fn line(entry: &Entry) -> String {
    let (kind, what) = event(&entry.event);
    let (pos, agent) = (entry.pos, short(&entry.agent));
    let line = format!("{pos:>4} {agent:<8} {kind:<10} {what}");
    harmless(line.trim_end())
}

/// Returns the end of an id, which is what tells the agents of a tree apart.
///
/// Ids of one moment begin alike, because they begin with the time.
pub(crate) fn short(id: &AgentId) -> String {
    let id = id.as_str();
    let skip = id.chars().count().saturating_sub(8);
    id.chars()
        .skip(skip)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

/// Quotes a text on one line and cuts it.
pub(crate) fn quote(text: &str) -> String {
    let text = text.trim();
    let mut shown: String = text.chars().take(MOST).collect();
    if text.len() > shown.len() {
        shown.push('…');
    }
    format!("'{}'", harmless(&shown))
}

/// Escapes what could do something to a terminal.
pub(crate) fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            safe.extend(character.escape_debug());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Renders how a run ended, with the reason: `failed: 500 server error`, `cancelled by the user`.
pub(crate) fn status(status: &Status) -> String {
    let word = status.word();
    let Some(reason) = status.reason() else {
        return word.to_owned();
    };
    harmless(&match status {
        // Their reasons say it in the same words.
        Status::Cancelled(CancelledBy::User | CancelledBy::Shutdown)
        | Status::BudgetExhausted(_) => reason,
        Status::Completed
        | Status::Partial(_)
        | Status::Failed { .. }
        | Status::Cancelled(CancelledBy::Ancestor)
        | Status::Denied { .. }
        | Status::Lost { .. } => format!("{word}: {reason}"),
    })
}

fn event(event: &Event) -> (&'static str, String) {
    match event {
        Event::Spawned(spawned) => ("spawned", birth(spawned)),
        Event::Prompted(message) => {
            let from = match message.from {
                Author::Human => "",
                Author::Parent => "from its parent ",
            };
            ("prompt", format!("{from}{}", quote(&message.text)))
        }
        Event::Completion {
            run,
            definition,
            settlement,
            ..
        } => {
            let agent = short(&run.agent);
            ("told", format!("{definition} {agent} {}", end(settlement)))
        }
        Event::TurnStarted { run, turn, prompt } => {
            let by = if prompt.is_some() { "prompt" } else { "mail" };
            ("turn", format!("{turn} of run {run}, by {by}"))
        }
        Event::Replied(message) => ("said", reply(message)),
        Event::Decided { call, decision } => {
            let word = match decision.action {
                Action::Allow => "allowed",
                Action::Ask => "needs an answer",
                Action::Deny => "denied",
            };
            ("decided", format!("{call} {word} by {}", decision.layer))
        }
        Event::CallStarted { call, child } => {
            let child = child
                .as_ref()
                .map(|child| format!(", agent {}", short(child)));
            ("started", format!("{call}{}", child.unwrap_or_default()))
        }
        Event::CallFinished { call, outcome, .. } => {
            ("finished", format!("{call} {}", result(outcome)))
        }
        Event::TurnEnded { turn, end } => ("turn end", format!("{turn} {}", turn_end(end))),
        Event::Settled { run, settlement } => ("settled", format!("run {run} {}", end(settlement))),
    }
}

fn birth(spawned: &Spawned) -> String {
    let Spawned {
        definition, model, ..
    } = spawned;
    match &spawned.origin {
        Origin::Session { workspace, .. } => {
            format!(
                "{definition} on {} in {}",
                harmless(model),
                harmless(workspace)
            )
        }
        Origin::Task(parent) => {
            let how = if parent.background {
                " in the background"
            } else {
                ""
            };
            let (call, above) = (&parent.call, short(&parent.agent));
            format!("{definition} for {call} of {above}{how}")
        }
    }
}

fn reply(message: &AssistantMessage) -> String {
    let parts = message.parts.iter().map(|part| match part {
        AssistantPart::Text(text) => quote(text),
        AssistantPart::Reasoning(reasoning) => format!("thinking {}", quote(&reasoning.text)),
        AssistantPart::Call(call) => {
            let arguments = match &call.arguments {
                Arguments::Json(arguments) => arguments.as_str(),
                Arguments::Malformed(text) => text,
            };
            let mut shown: String = arguments.chars().take(MOST).collect();
            if shown.len() < arguments.len() {
                shown.push('…');
            }
            format!("{}#{}({})", harmless(&call.tool), call.id, harmless(&shown))
        }
        AssistantPart::Raw(_) => "a block of the provider".to_owned(),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn result(outcome: &Outcome) -> String {
    match &outcome.body {
        Body::Output(_) => format!("ok {}", quote(&outcome.for_model())),
        Body::Error { text, .. } => format!("error {}", quote(text)),
    }
}

fn turn_end(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Finished => "finished".to_owned(),
        TurnEnd::HandedBack(Cap::Steps) => "handed back: steps".to_owned(),
        TurnEnd::Aborted(CancelledBy::User) => "aborted by the user".to_owned(),
        TurnEnd::Aborted(CancelledBy::Ancestor) => "aborted by its parent".to_owned(),
        TurnEnd::Aborted(CancelledBy::Shutdown) => "aborted: shutting down".to_owned(),
        TurnEnd::Failed { message, .. } => format!("failed: {}", quote(message)),
        TurnEnd::Lost => "lost".to_owned(),
    }
}

/// Renders how a run ended.
pub(crate) fn end(settlement: &Settlement) -> String {
    let mut text = settlement.status.word().to_owned();
    if let Some(reason) = settlement.status.reason() {
        text.push_str(&format!(" ({})", harmless(&reason)));
    }
    if let Some(output) = &settlement.output {
        text.push_str(&format!(" {}", quote(output)));
    }
    let tokens = settlement.usage.total();
    let took = clock::span(settlement.duration_ms);
    text.push_str(&format!(", {tokens} tokens, {took}"));
    text
}
