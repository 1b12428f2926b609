//! The prompts of a session that its client waits for, each until its request is answered.
//!
//! A prompt is answered when its turn is over and either the tree is quiet or the turn of the next prompt
//! begins (correction 24). Turns that background results start count for the prompt before them. A pure
//! fold of the root's entries: who is answered, and with what, is returned.

use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::MessageId;
use offshoot_types::message::StopReason as Said;

use super::wire::StopReason;

/// How a prompt ends for its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PromptEnd {
    /// With a stop reason.
    Stopped(StopReason),
    /// With an error, in one sentence.
    Failed(String),
}

/// The open prompts of one session, in the order in which they were sent. `R` answers one.
pub(super) struct Prompts<R> {
    open: Vec<Open<R>>,
    /// Why the root's model stopped last.
    said: Option<Said>,
}

struct Open<R> {
    message: MessageId,
    responder: R,
    progress: Progress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    /// Sent, and in no turn yet.
    Queued,
    /// Its turn runs, or one that its background children started.
    Running,
    /// Its turn ended like this. A later turn of the same run may end otherwise.
    Over(PromptEnd),
}

impl<R> Default for Prompts<R> {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            said: None,
        }
    }
}

impl<R> Prompts<R> {
    /// Notes a prompt that is about to be sent.
    pub(super) fn sent(&mut self, message: MessageId, responder: R) {
        self.open.push(Open {
            message,
            responder,
            progress: Progress::Queued,
        });
    }

    /// Tells whether a client waits for any.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns who waits for a prompt that was not accepted.
    pub(super) fn refused(&mut self, message: &MessageId) -> Option<R> {
        let at = self.open.iter().position(|open| open.message == *message)?;
        Some(self.open.remove(at).responder)
    }

    /// Returns everybody who waits, when nothing can be waited for any more.
    pub(super) fn give_up(&mut self) -> Vec<R> {
        self.open.drain(..).map(|open| open.responder).collect()
    }

    /// Tells whether the turn of one is still to come, or runs.
    pub(super) fn is_busy(&self) -> bool {
        self.open.iter().any(|open| !is_over(open))
    }

    /// Takes the root's next event; returns who is answered now.
    pub(super) fn entry(&mut self, event: &Event) -> Vec<(R, PromptEnd)> {
        match event {
            Event::Replied(message) => self.said = Some(message.stop),
            Event::TurnStarted { prompt, .. } => return self.turn_started(prompt.as_ref()),
            Event::Steered { prompt } => self.taken(prompt),
            Event::TurnEnded { end, .. } => self.turn_ended(end),
            Event::Rewound { hides, .. } => {
                let stopped = PromptEnd::Stopped(StopReason::Cancelled);
                let is_hidden = |open: &Open<R>| {
                    open.progress == Progress::Queued && hides.contains(&open.message)
                };
                let hidden = self.open.extract_if(.., |open| is_hidden(open));
                return hidden
                    .map(|open| (open.responder, stopped.clone()))
                    .collect();
            }
            _ => {}
        }
        Vec::new()
    }

    /// The tree is quiet: returns who is answered now.
    pub(super) fn quiet(&mut self) -> Vec<(R, PromptEnd)> {
        self.answer_over()
    }

    fn turn_started(&mut self, prompt: Option<&MessageId>) -> Vec<(R, PromptEnd)> {
        let Some(prompt) = prompt else {
            // A result woke the root: the last prompt goes on.
            if let Some(last) = self.open.iter_mut().rfind(|open| is_over(open)) {
                last.progress = Progress::Running;
            }
            return Vec::new();
        };
        let answered = self.answer_over();
        self.taken(prompt);
        answered
    }

    fn taken(&mut self, prompt: &MessageId) {
        if let Some(open) = self.open.iter_mut().find(|open| open.message == *prompt) {
            open.progress = Progress::Running;
        }
    }

    fn turn_ended(&mut self, end: &TurnEnd) {
        let failed = matches!(end, TurnEnd::Failed { .. });
        let end = prompt_end(end, self.said);
        for open in &mut self.open {
            let is_held_back = failed && open.progress == Progress::Queued;
            if open.progress == Progress::Running || is_held_back {
                open.progress = Progress::Over(end.clone());
            }
        }
    }

    fn answer_over(&mut self) -> Vec<(R, PromptEnd)> {
        let over = self.open.extract_if(.., |open| is_over(open));
        over.filter_map(|open| match open.progress {
            Progress::Over(end) => Some((open.responder, end)),
            Progress::Queued | Progress::Running => None,
        })
        .collect()
    }
}

fn is_over<R>(open: &Open<R>) -> bool {
    matches!(open.progress, Progress::Over(_))
}

/// Returns how a turn's end is told to the client that waits for it.
fn prompt_end(end: &TurnEnd, said: Option<Said>) -> PromptEnd {
    PromptEnd::Stopped(match end {
        TurnEnd::Finished => match said {
            Some(Said::Length | Said::Cut) => StopReason::MaxTokens,
            Some(Said::Refusal) => StopReason::Refusal,
            Some(Said::End | Said::Calls) | None => StopReason::EndTurn,
        },
        TurnEnd::HandedBack(_) | TurnEnd::Exhausted(_) => StopReason::MaxTurnRequests,
        TurnEnd::Aborted(_) => StopReason::Cancelled,
        TurnEnd::Failed { message, .. } => return PromptEnd::Failed(message.clone()),
        TurnEnd::Denied { reason } => return PromptEnd::Failed(reason.clone()),
        TurnEnd::Lost => return PromptEnd::Failed("the process of the session died".to_owned()),
    })
}
