//! The prompts of a session that its client waits for, each until its request is answered.
//!
//! A prompt is answered when its turn is over and either the tree is quiet or the turn of the next prompt
//! begins (correction 24). Turns that background results start count for the prompt before them. A cancel
//! only marks prompts: the answer follows the last updates of what was cancelled. How far a prompt has come
//! is the library's fold; here is when that is an answer for a client of this protocol.

use agent_client_protocol::Error;
use offshoot::flow::{Progress, SentPrompt};
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
    sent: SentPrompt,
    responder: R,
    /// How its turn ended, if it has. A later turn of the same run may end otherwise.
    end: Option<PromptEnd>,
    /// Whether the client has cancelled it. However its turn ends, that is the answer.
    is_cancelled: bool,
}

impl<R> Open<R> {
    fn take(&mut self, event: &Event, said: Option<Said>) {
        self.sent.take(event);
        self.end = match self.sent.progress() {
            Progress::TurnOver(end) | Progress::HeldBack(end) => Some(prompt_end(end, said)),
            Progress::TakenBack => Some(PromptEnd::Stopped(StopReason::Cancelled)),
            Progress::Sent | Progress::Queued | Progress::Running => None,
            // How the turn ended is known.
            Progress::Answered(_) => self.end.take(),
        };
    }

    fn is_over(&self) -> bool {
        self.end.is_some()
    }

    fn end(self) -> Option<(R, PromptEnd)> {
        if self.is_cancelled {
            let cancelled = PromptEnd::Stopped(StopReason::Cancelled);
            return Some((self.responder, cancelled));
        }
        Some((self.responder, self.end?))
    }
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
            sent: SentPrompt::new(message),
            responder,
            end: None,
            is_cancelled: false,
        });
    }

    /// Notes that the client has cancelled everything that is open, or this one. The entries of the log
    /// say when it is over.
    pub(super) fn cancel(&mut self, only: Option<&MessageId>) {
        for open in &mut self.open {
            open.is_cancelled |= only.is_none_or(|only| open.sent.message() == only);
        }
    }

    /// Tells whether the client has cancelled a prompt that is open.
    pub(super) fn is_cancelled(&self, message: &MessageId) -> bool {
        let mut open = self.open.iter();
        open.any(|open| open.sent.message() == message && open.is_cancelled)
    }

    /// Tells whether the client has cancelled any that is open.
    pub(super) fn is_any_cancelled(&self) -> bool {
        self.open.iter().any(|open| open.is_cancelled)
    }

    /// Tells whether a prompt is open.
    pub(super) fn is_open(&self, message: &MessageId) -> bool {
        self.open.iter().any(|open| open.sent.message() == message)
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
        let mut open = self.open.iter();
        let at = open.position(|open| open.sent.message() == message)?;
        let open = Open {
            end: Some(end),
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
        if let Event::Replied(message) = event {
            self.said = Some(message.stop);
        }
        let mut answered = match event {
            Event::TurnStarted {
                prompt: Some(_), ..
            } => self.answer(Open::is_over),
            _ => Vec::new(),
        };
        for open in &mut self.open {
            open.take(event, self.said);
        }
        answered.extend(self.answer(|open| *open.sent.progress() == Progress::TakenBack));
        answered
    }

    /// The tree is quiet: returns the requests that are answered now.
    pub(super) fn quiet(&mut self) -> Vec<(R, PromptEnd)> {
        self.answer(|open| open.is_over() || (open.is_cancelled && open.sent.is_stored()))
    }

    /// Takes out the prompts that are answered now.
    fn answer(&mut self, is_answered: impl Fn(&Open<R>) -> bool) -> Vec<(R, PromptEnd)> {
        let answered = self.open.extract_if(.., |open| is_answered(open));
        answered.filter_map(Open::end).collect()
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
