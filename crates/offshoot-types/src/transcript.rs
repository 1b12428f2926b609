//! The conversation of one agent, with calls and outcomes paired by construction.
//!
//! A fold of the agent's own log, committed entries only. The fields are
//! private and a model's request can be built from `Ready` alone, which exists
//! only while every call has its outcome: a request with a dangling call cannot
//! be written down. Items are only ever added, so what a model was sent stays a
//! prefix of what it will be sent, but for two events that say otherwise: a
//! compaction, from which on a summary stands for what came before, and a rewind,
//! which takes back what came last.

use std::collections::{HashMap, HashSet};

use crate::event::{Compaction, Event};
use crate::id::{CallId, MessageId, RunId};
use crate::message::{AssistantMessage, Call, UserMessage};
use crate::outcome::Outcome;
use crate::settlement::Settlement;

/// The conversation of one agent.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    items: Vec<Item>,
    /// Prompts that are written but that no turn has consumed yet.
    queued: HashMap<MessageId, UserMessage>,
    /// Where each open call's outcome will go: the index among the last message's calls.
    open: HashMap<CallId, usize>,
    /// Every call id of this agent, so that ids stay unique.
    seen: HashSet<CallId>,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A prompt that a turn consumed.
    User(UserMessage),
    /// A child's end, told outside any call.
    Completion(Completion),
    /// A step of the model, with the outcomes of its calls.
    Assistant(Step),
    /// A summary that stands for what was said before it.
    Compacted(Box<Compaction>),
}

impl Item {
    /// Returns the id of the message.
    pub fn id(&self) -> &MessageId {
        match self {
            Self::User(message) => &message.id,
            Self::Completion(completion) => &completion.message,
            Self::Assistant(step) => &step.message.id,
            Self::Compacted(compaction) => &compaction.message,
        }
    }
}

/// A child's end, told outside any call.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The id of the synthetic message.
    pub message: MessageId,
    /// The run it is about.
    pub run: RunId,
    /// The child's definition.
    pub definition: String,
    /// The call that made the child; absent in older logs.
    pub call: Option<CallId>,
    /// How it ended.
    pub settlement: Settlement,
    /// Whether it starts no turn.
    pub quiet: bool,
}

/// A step of the model, with the outcomes of its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    message: AssistantMessage,
    outcomes: Vec<Option<Outcome>>,
}

impl Step {
    /// Returns what the model said.
    pub fn message(&self) -> &AssistantMessage {
        &self.message
    }

    /// Returns the outcomes that are there, in the order of the calls.
    pub fn outcomes(&self) -> impl Iterator<Item = (&crate::message::Call, &Outcome)> {
        let outcomes = self.outcomes.iter().map(Option::as_ref);
        self.message
            .calls()
            .zip(outcomes)
            .filter_map(|(call, outcome)| Some((call, outcome?)))
    }
}

/// A transcript whose every call has its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Ready<'a>(&'a Transcript);

impl<'a> Ready<'a> {
    /// Returns the transcript.
    pub fn transcript(&self) -> &'a Transcript {
        self.0
    }
}

/// An event that does not fit the conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} does not fit the conversation")]
pub struct Misfit(&'static str);

impl Transcript {
    /// Folds an agent's log from its beginning.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, Misfit> {
        let mut transcript = Self::default();
        for event in events {
            transcript.apply(event)?;
        }
        Ok(transcript)
    }

    /// Returns what the model said last, if nothing was said since.
    pub fn last_reply(&self) -> Option<&AssistantMessage> {
        match self.items.last()? {
            Item::Assistant(step) => Some(&step.message),
            Item::User(_) | Item::Completion(_) | Item::Compacted(_) => None,
        }
    }

    /// Returns the calls without an outcome, in the order of the model.
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        let calls = self.last_reply().into_iter().flat_map(|last| last.calls());
        calls.filter(|call| self.open.contains_key(&call.id))
    }

    /// Takes the next event of the agent's log.
    pub fn apply(&mut self, event: &Event) -> Result<(), Misfit> {
        match event {
            Event::Prompted(message) => {
                self.queued.insert(message.id.clone(), message.clone());
            }
            Event::TurnStarted {
                prompt: Some(prompt),
                ..
            }
            | Event::Steered { prompt } => {
                if !self.open.is_empty() {
                    return Err(Misfit("a prompt behind open calls"));
                }
                let message = self
                    .queued
                    .remove(prompt)
                    .ok_or(Misfit("a turn without its prompt"))?;
                self.items.push(Item::User(message));
            }
            Event::Completion {
                message,
                run,
                definition,
                call,
                settlement,
                quiet,
            } => {
                self.items.push(Item::Completion(Completion {
                    message: message.clone(),
                    run: run.clone(),
                    definition: definition.clone(),
                    call: call.clone(),
                    settlement: settlement.clone(),
                    quiet: *quiet,
                }));
            }
            Event::Replied(message) => self.reply(message)?,
            Event::CallFinished { call, outcome, .. } => self.answer(call, outcome)?,
            Event::Compacted(compaction) => {
                if !self.open.is_empty() {
                    return Err(Misfit("a summary behind open calls"));
                }
                self.items.push(Item::Compacted(compaction.clone()));
            }
            Event::Rewound { hides, .. } => {
                if !self.open.is_empty() {
                    return Err(Misfit("a rewind behind open calls"));
                }
                let hides: HashSet<&MessageId> = hides.iter().collect();
                self.items.retain(|item| !hides.contains(item.id()));
                self.queued.retain(|id, _| !hides.contains(id));
            }
            Event::Spawned(_)
            | Event::Became(_)
            | Event::TurnStarted { prompt: None, .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::TurnEnded { .. }
            | Event::Settled { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_) => {}
        }
        Ok(())
    }

    /// Returns the whole conversation, open calls included, for people.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns what of it a model is sent (SES-12): from the latest summary on, that first, then the
    /// tail that was kept word for word, then what came after.
    pub fn view(&self) -> Vec<&Item> {
        let marker = self
            .items
            .iter()
            .rposition(|item| matches!(item, Item::Compacted(_)));
        let Some(marker) = marker else {
            return self.items.iter().collect();
        };
        let (before, after) = self.items.split_at(marker);
        let tail_start = match &self.items[marker] {
            Item::Compacted(compaction) => compaction.tail_start.as_ref(),
            Item::User(_) | Item::Completion(_) | Item::Assistant(_) => None,
        };
        let tail_start = tail_start.and_then(|id| before.iter().position(|item| item.id() == id));
        let tail = &before[tail_start.unwrap_or(marker)..];
        let tail = tail
            .iter()
            .filter(|item| !matches!(item, Item::Compacted(_)));
        after[..1].iter().chain(tail).chain(&after[1..]).collect()
    }

    /// Returns the transcript as something a request can be built from; `None` while a call is open.
    pub fn ready(&self) -> Option<Ready<'_>> {
        self.open.is_empty().then_some(Ready(self))
    }

    /// Returns the whole conversation.
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }

    /// Takes call ids as used: they are seen by the agent and not its own.
    pub fn reserve_calls(&mut self, ids: impl IntoIterator<Item = CallId>) {
        self.seen.extend(ids);
    }

    /// Finds a message that waits to be taken up.
    pub fn queued(&self, id: &MessageId) -> Option<&UserMessage> {
        self.queued.get(id)
    }

    /// Tells whether a message waits to be taken up.
    pub fn has_queued(&self, id: &MessageId) -> bool {
        self.queued.contains_key(id)
    }

    /// Tells whether the agent has used this call id before.
    pub fn knows_call(&self, id: &CallId) -> bool {
        self.seen.contains(id)
    }

    fn reply(&mut self, message: &AssistantMessage) -> Result<(), Misfit> {
        if !self.open.is_empty() {
            return Err(Misfit("a message behind open calls"));
        }
        for (index, call) in message.calls().enumerate() {
            if !self.seen.insert(call.id.clone()) {
                return Err(Misfit("a repeated call id"));
            }
            self.open.insert(call.id.clone(), index);
        }
        let outcomes = vec![None; self.open.len()];
        self.items.push(Item::Assistant(Step {
            message: message.clone(),
            outcomes,
        }));
        Ok(())
    }

    fn answer(&mut self, call: &CallId, outcome: &Outcome) -> Result<(), Misfit> {
        let index = self
            .open
            .remove(call)
            .ok_or(Misfit("an outcome without its call"))?;
        let step = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Assistant(step) => Some(step),
            Item::User(_) | Item::Completion(_) | Item::Compacted(_) => None,
        });
        match step.and_then(|step| step.outcomes.get_mut(index)) {
            Some(slot) => *slot = Some(outcome.clone()),
            None => return Err(Misfit("an outcome without its call")),
        }
        Ok(())
    }
}
