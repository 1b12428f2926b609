//! What comes while a turn runs, and when the agent reads it.
//!
//! The actor adds what is committed beside the turn; the turn takes it up between two steps, in the
//! order of the log. A child reads messages at its next step; a root reads immediate messages there, and
//! every other message at its next turn (R17).

use std::sync::{Arc, Mutex, PoisonError};

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::MessageId;
use offshoot_types::message::UserMessage;
use offshoot_types::store::StoreError;
use offshoot_types::transcript::Transcript;

use super::follow;
use crate::agent::Agent;
use crate::sabotage::{Bug, planted};

/// Entries that came while a turn runs, until it takes them up.
#[derive(Clone, Default)]
pub(crate) struct Arrived(Arc<Mutex<Vec<Arc<Entry>>>>);

impl Arrived {
    /// Adds entries, in the order of the log.
    pub(crate) fn add(&self, entries: Vec<Arc<Entry>>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(entries);
    }

    /// Returns what has come since the last call.
    pub(crate) fn take(&self) -> Vec<Arc<Entry>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *all)
    }
}

impl Agent {
    /// Takes messages that have come into the running turn, before its next step.
    pub(crate) async fn take_messages(
        &self,
        transcript: &mut Transcript,
        arrived: &Arrived,
    ) -> Result<(), StoreError> {
        follow(transcript, arrived.take())?;
        let events = self.steered(transcript);
        if events.is_empty() {
            return Ok(());
        }
        follow(transcript, self.log.append(events).await?)
    }

    /// Returns the entries that take messages into the running turn before its next step.
    pub(crate) fn steered(&self, transcript: &Transcript) -> Vec<Event> {
        let state = self.board.state();
        let queue = state.tree.agent(&self.id).map(|agent| &agent.queue);
        let waiting = queue.into_iter().flatten();
        // Messages that wait for a turn of their own are passed by immediate messages to a root, and by
        // none to a child.
        let is_candidate = |id: &&MessageId| {
            let message = transcript.queued(id);
            let waits = planted(Bug::ImmediateWaits);
            !self.is_root() || message.is_some_and(|message| message.immediate && !waits)
        };
        // Messages not yet in the transcript wait for the next step.
        let is_for_now = |id: &&MessageId| {
            let message = transcript.queued(id);
            message.is_some_and(UserMessage::fits_running_turn)
        };
        let known = waiting.filter(is_candidate).take_while(is_for_now);
        known
            .map(|id| Event::Steered { prompt: id.clone() })
            .collect()
    }
}
