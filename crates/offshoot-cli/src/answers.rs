//! What the agent that was asked says, turn by turn.
//!
//! Each of its turns has its answer: what it said before a background child came
//! back is not lost. Turns before the one that takes the prompt answer somebody
//! else.

use offshoot_types::event::{Entry, Event, TurnEnd};
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::tree::Tree;

/// What the agent that was asked says.
pub(crate) struct Answers {
    agent: AgentId,
    /// Turns before the one that takes this prompt answer somebody else.
    after: Option<MessageId>,
    /// The last text of the turn that runs, or of one that was cut short.
    text: Option<String>,
}

impl Answers {
    /// The answers of an agent.
    pub(crate) fn of(agent: AgentId) -> Self {
        Self {
            agent,
            after: None,
            text: None,
        }
    }

    /// Leaves out answers to what was asked before this prompt.
    pub(crate) fn after(&mut self, prompt: &MessageId) {
        self.after = Some(prompt.clone());
    }

    /// Returns the agent that was asked.
    pub(crate) fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Tells whether it is this agent that was asked.
    pub(crate) fn is_of(&self, agent: &AgentId) -> bool {
        self.agent == *agent
    }

    /// Returns whom it is now, where that is not whom it began as.
    pub(crate) fn speaker(&self, tree: &Tree) -> Option<String> {
        let agent = tree.agent(&self.agent)?;
        let now = agent.definition();
        (now != agent.spawned.definition).then(|| now.to_owned())
    }

    /// Takes an entry; returns the answer of a turn that it ends.
    pub(crate) fn take(&mut self, entry: &Entry) -> Option<String> {
        if entry.agent != self.agent {
            return None;
        }
        match &entry.event {
            Event::TurnStarted { prompt, .. } => {
                self.text = None;
                if prompt == &self.after {
                    self.after = None;
                }
                None
            }
            Event::Replied(message) => {
                self.text = message.text().or(self.text.take());
                None
            }
            Event::TurnEnded { end, .. } => match end {
                TurnEnd::Finished | TurnEnd::HandedBack(_) | TurnEnd::Exhausted(_) => {
                    self.text.take().filter(|_| self.after.is_none())
                }
                TurnEnd::Aborted(_)
                | TurnEnd::Denied { .. }
                | TurnEnd::Failed { .. }
                | TurnEnd::Lost => None,
            },
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. }
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Completion { .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::Settled { .. } => None,
        }
    }

    /// Takes what is said before calls, for who shows it at once: then it is no part of the answer.
    pub(crate) fn take_aside(&mut self, entry: &Entry) -> Option<String> {
        let Event::Replied(message) = &entry.event else {
            return None;
        };
        if entry.agent != self.agent || self.after.is_some() {
            return None;
        }
        message.calls().next()?;
        let aside = message.text()?;
        self.text = None;
        Some(aside)
    }

    /// Takes an entry that is old news; of a turn that still runs, its text is not.
    pub(crate) fn skip(&mut self, entry: &Entry) {
        drop(self.take(entry));
        if entry.agent == self.agent && matches!(entry.event, Event::TurnEnded { .. }) {
            self.text = None;
        }
    }

    /// Returns what was said in a turn that was cut short.
    pub(crate) fn unfinished(&mut self) -> Option<String> {
        self.text.take()
    }
}
