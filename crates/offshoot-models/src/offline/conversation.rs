//! The request, folded: the last prompt, and what was done about it so far.
//!
//! A message that tells of a child's end is not a prompt: it belongs to the call
//! that made the child. Calls before the last prompt are history and are not
//! looked at.

use offshoot_types::id::CallId;
use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::model::{CallOutcome, Request, RequestMessage, ToolChoice};
use offshoot_types::tool::ToolSpec;
use serde::Deserialize;
use serde_json::Value;

use super::reply::Reply;
use super::wanted::{TASK, Wanted};

/// Most steps with calls for one prompt. The rules need fewer; this holds if they are wrong.
const MOST_ROUNDS: usize = 8;

const COMPLETION: &str = "<task_completion ";

/// A request, as the rules see it.
pub(super) struct Conversation<'a> {
    /// What is asked; empty when nothing is.
    pub(super) prompt: &'a str,
    /// How far below the root the agent is that asks.
    pub(super) depth: u32,
    tools: &'a [ToolSpec],
    may_call: bool,
    made: Vec<Made<'a>>,
    rounds: usize,
    completions: Vec<Completion<'a>>,
    /// Whether the model has said anything since the prompt.
    spoke: bool,
    /// How many of the completions were there when it spoke last.
    told: usize,
}

/// A call that was made since the prompt.
pub(super) struct Made<'a> {
    id: &'a CallId,
    pub(super) tool: &'a str,
    pub(super) arguments: Value,
    pub(super) outcome: Outcome<'a>,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome<'a> {
    Said(&'a str),
    Failed(&'a str),
    /// Nothing is known of it.
    Open,
}

/// The end of a child, told outside its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completion<'a> {
    pub(super) session: &'a str,
    pub(super) status: &'a str,
    pub(super) body: &'a str,
}

/// What came of asking a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Answered(String),
    Failed(String),
    /// It works in the background and will be heard later.
    Running,
    NotAsked,
}

/// How `task` tells of a child.
#[derive(Deserialize)]
struct TaskOutcome {
    output: Option<String>,
    session_id: Option<String>,
}

impl<'a> Conversation<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        let messages = request.messages.as_slice();
        let start = messages.iter().rposition(
            |message| matches!(message, RequestMessage::User(text) if !is_completion(text)),
        );
        let (prompt, since) = match start.and_then(|at| messages.get(at..)) {
            Some([RequestMessage::User(prompt), since @ ..]) => (prompt.as_str(), since),
            Some(_) | None => ("", messages),
        };
        let mut talk = Self {
            prompt,
            depth: request.from.depth,
            tools: &request.tools,
            may_call: match request.choice {
                ToolChoice::Auto => true,
                ToolChoice::None => false,
            },
            made: Vec::new(),
            rounds: 0,
            completions: Vec::new(),
            spoke: false,
            told: 0,
        };
        for message in since {
            match message {
                RequestMessage::User(text) => talk.completions.extend(completion(text)),
                RequestMessage::Assistant(parts) => talk.take_step(parts),
                RequestMessage::Outcomes(outcomes) => talk.take_outcomes(outcomes),
            }
        }
        talk
    }

    /// Tells whether a tool may be called at all.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.id == tool)
    }

    /// Makes the calls that are offered and were not made yet; `None` when there are none to make.
    pub(super) fn ask(&self, wanted: Vec<Wanted>, text: &str) -> Option<Reply> {
        if !self.may_call || self.rounds >= MOST_ROUNDS {
            return None;
        }
        let mut calls: Vec<Wanted> = Vec::new();
        for wanted in wanted {
            let known = self.find(&wanted).is_some() || calls.contains(&wanted);
            if !known && self.offers(wanted.tool) {
                calls.push(wanted);
            }
        }
        (!calls.is_empty()).then(|| Reply {
            text: format!("{text}\n"),
            calls,
            unable: false,
        })
    }

    /// Returns what came of a call; `Open` also when it was never made.
    pub(super) fn outcome(&self, wanted: &Wanted) -> Outcome<'a> {
        self.find(wanted).map_or(Outcome::Open, |made| made.outcome)
    }

    /// Returns what a call gave, if it was made and worked.
    pub(super) fn said(&self, wanted: &Wanted) -> Option<&'a str> {
        match self.outcome(wanted) {
            Outcome::Said(text) => Some(text),
            Outcome::Failed(_) | Outcome::Open => None,
        }
    }

    /// Returns what came of asking a child.
    pub(super) fn child(&self, wanted: &Wanted) -> Child {
        let Some(made) = self.find(wanted) else {
            return Child::NotAsked;
        };
        match made.outcome {
            Outcome::Open => Child::NotAsked,
            Outcome::Failed(why) => Child::Failed(why.to_owned()),
            Outcome::Said(text) => match serde_json::from_str::<TaskOutcome>(text) {
                Ok(TaskOutcome {
                    output: Some(output),
                    ..
                }) => Child::Answered(output),
                Ok(TaskOutcome {
                    session_id: Some(session),
                    ..
                }) => self.background(&session),
                Ok(_) | Err(_) => Child::Answered(text.to_owned()),
            },
        }
    }

    /// Returns the end of a child of an earlier prompt, when that is what the model was woken for.
    pub(super) fn late(&self) -> Option<&Completion<'a>> {
        if !self.spoke {
            return None;
        }
        let news = self.completions.get(self.told..)?;
        news.iter().rfind(|end| {
            let session = Some(end.session);
            !self
                .made
                .iter()
                .any(|made| made.session().as_deref() == session)
        })
    }

    fn background(&self, session: &str) -> Child {
        let mut ends = self.completions.iter();
        match ends.rfind(|end| end.session == session) {
            Some(end) if matches!(end.status, "completed" | "partial") => {
                Child::Answered(end.body.to_owned())
            }
            Some(end) => Child::Failed(format!("it ended {}: {}", end.status, end.body)),
            None => Child::Running,
        }
    }

    fn find(&self, wanted: &Wanted) -> Option<&Made<'a>> {
        self.made
            .iter()
            .find(|made| made.tool == wanted.tool && made.arguments == wanted.arguments)
    }

    fn take_step(&mut self, parts: &'a [AssistantPart]) {
        let before = self.made.len();
        self.made.extend(parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(Made {
                id: &call.id,
                tool: &call.tool,
                arguments: match &call.arguments {
                    Arguments::Json(json) => json.read().unwrap_or_default(),
                    Arguments::Malformed(_) => Value::Null,
                },
                outcome: Outcome::Open,
            }),
            AssistantPart::Text(_)
            | AssistantPart::Reasoning(_)
            | AssistantPart::Attached(_)
            | AssistantPart::Raw(_) => None,
        }));
        self.rounds += usize::from(self.made.len() > before);
        self.spoke = true;
        self.told = self.completions.len();
    }

    fn take_outcomes(&mut self, outcomes: &'a [CallOutcome]) {
        for outcome in outcomes {
            let mut made = self.made.iter_mut();
            if let Some(made) = made.rfind(|made| *made.id == outcome.call) {
                made.outcome = if outcome.failed {
                    Outcome::Failed(&outcome.text)
                } else {
                    Outcome::Said(&outcome.text)
                };
            }
        }
    }
}

impl Made<'_> {
    /// Returns the child's session, if `task` named one.
    fn session(&self) -> Option<String> {
        match self.outcome {
            Outcome::Said(text) if self.tool == TASK => {
                serde_json::from_str::<TaskOutcome>(text).ok()?.session_id
            }
            Outcome::Said(_) | Outcome::Failed(_) | Outcome::Open => None,
        }
    }
}

fn is_completion(text: &str) -> bool {
    text.starts_with(COMPLETION)
}

/// Reads `<task_completion agent="…" session_id="…" status="…">`, the body and the closing mark.
fn completion(text: &str) -> Option<Completion<'_>> {
    let (head, rest) = text.strip_prefix(COMPLETION)?.split_once('>')?;
    let attribute = |name: &str| {
        let (_, value) = head.split_once(&format!("{name}=\""))?;
        Some(value.split_once('"')?.0)
    };
    let body = rest.trim_end();
    let body = body.strip_suffix("</task_completion>").unwrap_or(body);
    Some(Completion {
        session: attribute("session_id")?,
        status: attribute("status")?,
        body: body.trim(),
    })
}

#[cfg(test)]
mod tests;
