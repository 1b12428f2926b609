//! What became of one prompt, as the entries of the agent say that it was sent to.
//!
//! A fold without a clock: the same whichever process works on the prompt. A prompt is answered by the run
//! that has taken it, which may have several turns: results of background children start more of them.

use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::MessageId;
use offshoot_types::settlement::Settlement;

/// A prompt on its way to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPrompt {
    message: MessageId,
    progress: Progress,
}

/// How far a prompt has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is not in the log yet: nothing that happens is about it.
    Sent,
    /// It waits for its turn.
    Queued,
    /// A turn failed before its own: it stays queued until the agent is prompted again.
    HeldBack(TurnEnd),
    /// A turn works on it, or one that its background children started.
    Running,
    /// Its turn ended so. A later turn of the same run may end otherwise.
    TurnOver(TurnEnd),
    /// The run that took it, or that held it back, settled so.
    Answered(Box<Settlement>),
    /// It was taken back before a turn had taken it: nothing will ever answer it.
    TakenBack,
}

impl SentPrompt {
    /// Begins to follow a prompt that is about to be sent.
    pub fn new(message: MessageId) -> Self {
        let progress = Progress::Sent;
        Self { message, progress }
    }

    /// Returns the id of its message.
    pub fn message(&self) -> &MessageId {
        &self.message
    }

    /// Tells how far it has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Tells whether it is in the log.
    pub fn is_stored(&self) -> bool {
        self.progress != Progress::Sent
    }

    /// Tells whether its turn is still to come, or runs.
    pub fn is_open(&self) -> bool {
        matches!(
            self.progress,
            Progress::Sent | Progress::Queued | Progress::Running
        )
    }

    /// Takes the agent's next event.
    pub fn take(&mut self, event: &Event) {
        let next = match (&self.progress, event) {
            (Progress::Answered(_) | Progress::TakenBack, _) => None,
            (Progress::Sent, Event::Prompted(message)) if message.id == self.message => {
                Some(Progress::Queued)
            }
            (Progress::HeldBack(_), Event::Prompted(_)) => Some(Progress::Queued),
            (_, Event::TurnStarted { prompt, .. }) if self.is(prompt.as_ref()) => {
                Some(Progress::Running)
            }
            (Progress::TurnOver(_), Event::TurnStarted { prompt: None, .. }) => {
                Some(Progress::Running)
            }
            (_, Event::Steered { prompt }) if self.is(Some(prompt)) => Some(Progress::Running),
            (Progress::Queued, Event::TurnEnded { end, .. }) => {
                let failed = matches!(end, TurnEnd::Failed { .. });
                failed.then(|| Progress::HeldBack(end.clone()))
            }
            (Progress::Running, Event::TurnEnded { end, .. }) => {
                Some(Progress::TurnOver(end.clone()))
            }
            (
                Progress::HeldBack(_) | Progress::Running | Progress::TurnOver(_),
                Event::Settled { settlement, .. },
            ) => Some(Progress::Answered(Box::new(settlement.clone()))),
            (
                Progress::Sent | Progress::Queued | Progress::HeldBack(_),
                Event::Rewound { hides, .. },
            ) if hides.contains(&self.message) => Some(Progress::TakenBack),
            _ => None,
        };
        if let Some(next) = next {
            self.progress = next;
        }
    }

    fn is(&self, prompt: Option<&MessageId>) -> bool {
        prompt == Some(&self.message)
    }
}
