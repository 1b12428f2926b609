//! The prompts of a session that its client waits for, each until its request is answered.
//!
//! A prompt is answered when its turn is over and either the tree is quiet or the turn of the next prompt
//! begins (correction 24). Turns that background results start count for the prompt before them. A cancel
//! only marks prompts: the answer follows the last updates of what was cancelled. A pure fold of the root's
//! entries: the requests that are answered, and with what, are returned.

use agent_client_protocol::Error;
use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::MessageId;
use offshoot_types::message::StopReason as Said;

use super::wire::StopReason;

/// How a prompt ends for its client.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PromptEnd {
    /// With a stop reason.
    Stopped(StopReason),
    /// With an error, in one sentence.
    Failed(String),
    /// With an error of the request.
    Refused(Box<Error>),
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
    /// Whether the log has it. Until then no quiet tree says anything about it.
    is_stored: bool,
    /// Whether the client has cancelled it. However its turn ends, that is the answer.
    is_cancelled: bool,
}

impl<R> Open<R> {
    fn is_over(&self) -> bool {
        matches!(self.progress, Progress::Over(_))
    }

    fn end(self) -> Option<(R, PromptEnd)> {
        match self.progress {
            _ if self.is_cancelled => {
                let cancelled = PromptEnd::Stopped(StopReason::Cancelled);
                Some((self.responder, cancelled))
            }
            Progress::Over(end) => Some((self.responder, end)),
            Progress::Queued | Progress::Running => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
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
            is_stored: false,
            is_cancelled: false,
        });
    }

    /// Notes that the client has cancelled everything that is open, or this one. The entries of the log
    /// say when it is over.
    pub(super) fn cancel(&mut self, only: Option<&MessageId>) {
        for open in &mut self.open {
            open.is_cancelled |= only.is_none_or(|only| open.message == *only);
        }
    }

    /// Tells whether the client has cancelled a prompt that is open.
    pub(super) fn is_cancelled(&self, message: &MessageId) -> bool {
        let mut open = self.open.iter();
        open.any(|open| open.message == *message && open.is_cancelled)
    }

    /// Tells whether a prompt is open.
    pub(super) fn is_open(&self, message: &MessageId) -> bool {
        self.open.iter().any(|open| open.message == *message)
    }

    /// Tells whether a client waits for any.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the request of a prompt that has no turn, and its answer: this one, unless the client has
    /// cancelled it.
    pub(super) fn no_turn(
        &mut self,
        message: &MessageId,
        end: PromptEnd,
    ) -> Option<(R, PromptEnd)> {
        let at = self.open.iter().position(|open| open.message == *message)?;
        let open = Open {
            progress: Progress::Over(end),
            ..self.open.remove(at)
        };
        open.end()
    }

    /// Returns all open requests, when nothing can be waited for any more.
    pub(super) fn give_up(&mut self) -> Vec<R> {
        self.open.drain(..).map(|open| open.responder).collect()
    }

    /// Tells whether the turn of one is still to come, or runs.
    pub(super) fn is_busy(&self) -> bool {
        self.open.iter().any(|open| !open.is_over())
    }

    /// Takes the root's next event; returns the requests that are answered now.
    pub(super) fn entry(&mut self, event: &Event) -> Vec<(R, PromptEnd)> {
        match event {
            Event::Replied(message) => self.said = Some(message.stop),
            Event::Prompted(message) => {
                let is_it = |open: &&mut Open<R>| open.message == message.id;
                if let Some(open) = self.open.iter_mut().find(is_it) {
                    open.is_stored = true;
                }
            }
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

    /// The tree is quiet: returns the requests that are answered now.
    pub(super) fn quiet(&mut self) -> Vec<(R, PromptEnd)> {
        let is_done = |open: &mut Open<R>| open.is_over() || (open.is_cancelled && open.is_stored);
        let done = self.open.extract_if(.., is_done);
        done.filter_map(Open::end).collect()
    }

    fn turn_started(&mut self, prompt: Option<&MessageId>) -> Vec<(R, PromptEnd)> {
        let Some(prompt) = prompt else {
            // A result woke the root: the last prompt goes on.
            if let Some(last) = self.open.iter_mut().rfind(|open| open.is_over()) {
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
        let over = self.open.extract_if(.., |open| open.is_over());
        over.filter_map(Open::end).collect()
    }
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
