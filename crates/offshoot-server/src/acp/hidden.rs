//! What a client is not shown of a log, because it was taken back (SES-06).
//!
//! A rewind hides messages and drops the children that were started behind them. It stays in the log, so the
//! fold takes it; a client that loads the session is shown the conversation as it is now.

use std::collections::BTreeSet;

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId};

/// What the rewinds of a log took back.
#[derive(Default)]
pub(super) struct Hidden {
    messages: BTreeSet<MessageId>,
    agents: BTreeSet<AgentId>,
    calls: BTreeSet<(AgentId, CallId)>,
}

impl Hidden {
    /// Reads the rewinds of a whole log.
    pub(super) fn of(log: &[Entry]) -> Self {
        let mut hidden = Self::default();
        for entry in log {
            if let Event::Rewound { hides, drops, .. } = &entry.event {
                hidden.messages.extend(hides.iter().cloned());
                hidden.agents.extend(drops.iter().cloned());
            }
        }
        hidden
    }

    /// Tells whether an entry was taken back. Takes the entries in the order of the log.
    pub(super) fn hides(&mut self, entry: &Entry) -> bool {
        if let Event::Spawned(spawned) = &entry.event
            && let Some(parent) = spawned.parent()
            && self.agents.contains(&parent.agent)
        {
            self.agents.insert(entry.agent.clone());
        }
        let is_hidden_call = |call: &CallId| {
            let key = (entry.agent.clone(), call.clone());
            self.calls.contains(&key)
        };
        let is_hidden = match &entry.event {
            Event::Replied(message) => self.messages.contains(&message.id),
            Event::Prompted(message) => self.messages.contains(&message.id),
            Event::Steered { prompt }
            | Event::TurnStarted {
                prompt: Some(prompt),
                ..
            } => self.messages.contains(prompt),
            Event::Completion { message, .. } => self.messages.contains(message),
            Event::Asked { call, .. }
            | Event::Decided { call, .. }
            | Event::CallStarted { call, .. }
            | Event::CallFinished { call, .. } => is_hidden_call(call),
            _ => false,
        };
        if let Event::Replied(message) = &entry.event
            && is_hidden
        {
            let calls = message.calls().map(|call| call.id.clone());
            let calls = calls.map(|call| (entry.agent.clone(), call));
            self.calls.extend(calls);
        }
        is_hidden || self.agents.contains(&entry.agent)
    }
}
