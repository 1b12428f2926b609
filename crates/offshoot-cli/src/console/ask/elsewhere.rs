//! Which answers were given here, and what is said of those that were not.
//!
//! Whoever is asked may not be the only one. Of what somebody else has answered they
//! are told how, also if they answered too and were not the first. What an earlier
//! answer of theirs covers is not news to them.

use std::collections::VecDeque;

use offshoot_types::command::Verdict;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Grant};
use serde_json::Value;

use super::Ask;
use crate::render;

/// Most answers of which it is known for how they went.
const MOST: usize = 64;

/// Most characters of what somebody else has answered.
const MOST_OF_ANSWER: usize = 200;

/// What became of an answer that was given here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is the one that counts.
    Yes,
    /// It came too late, or was none.
    No,
}

/// The answers that were given here, of which it is not known yet that they count.
#[derive(Default)]
pub(super) struct Sent {
    answers: VecDeque<Given>,
    /// Whether the last answer for more than one call was given here.
    covers: bool,
}

struct Given {
    agent: AgentId,
    call: CallId,
    what: String,
    /// Whether it allows; `None` if it is words.
    allows: Option<bool>,
    /// How it was answered by whoever was heard.
    how: Option<String>,
    lost: bool,
}

impl Sent {
    /// Takes an answer that is given here.
    pub(super) fn push(&mut self, ask: &Ask, verdict: &Verdict) {
        if self.answers.len() == MOST {
            self.answers.pop_front();
        }
        self.answers.push_back(Given {
            agent: ask.agent.clone(),
            call: ask.call.clone(),
            what: ask.what(),
            allows: match verdict {
                Verdict::Once | Verdict::Session | Verdict::Agent => Some(true),
                Verdict::Deny { .. } => Some(false),
                Verdict::Said { .. } | Verdict::Returned(_) => None,
            },
            how: None,
            lost: false,
        });
    }

    /// Takes how a call was decided; `what` it is about, if it was still asked here.
    pub(super) fn decided(
        &mut self,
        call: (&AgentId, &CallId),
        what: Option<String>,
        (decision, grant): (&Decision, Option<&Grant>),
    ) -> Option<String> {
        let at = self.find(call);
        if grant.is_some() {
            self.covers = at.is_some();
        }
        let Some(at) = at else {
            let is_covered = grant.is_none() && is_by_grant(decision);
            return what
                .filter(|_| !(is_covered && self.covers))
                .map(|what| how(decision, &what));
        };
        let given = &mut self.answers[at];
        let how = how(decision, &given.what);
        let allowed = decision.action == Action::Allow;
        if given.lost || given.allows.is_some_and(|allows| allows != allowed) {
            self.answers.remove(at);
            return Some(how);
        }
        given.how = Some(how);
        None
    }

    /// Takes what a call came to; `what` was asked, if it was still asked here and is a question.
    pub(super) fn finished(
        &mut self,
        call: (&AgentId, &CallId),
        what: Option<String>,
        outcome: &Outcome,
    ) -> Option<String> {
        let Some(at) = self.find(call) else {
            return what.and_then(|what| said(outcome, &what));
        };
        let given = &mut self.answers[at];
        // What was decided is told; what that came to is not about the answer.
        if given.how.is_none() {
            given.how = said(outcome, &given.what);
        }
        if given.lost {
            return self.answers.remove(at)?.how;
        }
        None
    }

    /// Takes what became of an answer; returns how it was answered instead, if that is known.
    pub(super) fn answered(&mut self, call: (&AgentId, &CallId), taken: Taken) -> Option<String> {
        let at = self.find(call)?;
        let given = &mut self.answers[at];
        given.lost = taken == Taken::No;
        if given.lost && given.how.is_none() {
            return None;
        }
        let given = self.answers.remove(at)?;
        given.how.filter(|_| given.lost)
    }

    fn find(&self, (agent, call): (&AgentId, &CallId)) -> Option<usize> {
        let mut answers = self.answers.iter();
        answers.position(|given| given.agent == *agent && given.call == *call)
    }
}

/// Tells whether an earlier answer, for more than its call, decided.
fn is_by_grant(decision: &Decision) -> bool {
    let layers = [Grant::SESSION, Grant::AGENT, Grant::ABOVE];
    layers.iter().any(|layer| decision.layer.starts_with(layer))
}

/// Says how something was decided.
fn how(decision: &Decision, what: &str) -> String {
    let how = match decision.action {
        Action::Allow => "allowed",
        Action::Deny => "denied",
        Action::Ask => return format!("nobody answered in time: {what}"),
    };
    format!("answered elsewhere: {how} by {}: {what}", decision.layer)
}

/// Says how a question was answered; `None` if it was not.
fn said(outcome: &Outcome, what: &str) -> Option<String> {
    let answer = match &outcome.body {
        Body::Output(output) => {
            let answers: Option<Value> = output.read().ok();
            let answers = answers.as_ref().and_then(|value| value.get("answers"));
            let answers = answers.and_then(Value::as_array)?.iter();
            let words = |answer: &Value| {
                let words = answer.as_array().into_iter().flatten();
                let words: Vec<&str> = words.filter_map(Value::as_str).collect();
                words.join(", ")
            };
            answers.map(words).collect::<Vec<_>>().join("; ")
        }
        Body::Error { kind, text } if *kind == ErrorKind::Denied => text.clone(),
        Body::Error { .. } => return None,
    };
    let answer = render::first_words(&answer, MOST_OF_ANSWER);
    Some(format!("answered elsewhere: {answer}: {what}"))
}
