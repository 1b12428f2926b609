//! Which `toolCallId` a call has on the wire: unique in its tree (ruling 5).
//!
//! In the log a call id is unique within its agent, and local models give `call_0` in every
//! conversation. The first call of a tree with an id keeps it; a later one of another agent gets
//! `AGENT/ID`. Only the entry and those before it decide, so a prefix of the log always gives the same
//! ids. An entry is rewritten before it is folded; no other part of the fold sees the log's ids.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::event::{Event, Origin};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::message::AssistantPart;

/// The ids that calls of a tree have on the wire.
#[derive(Default)]
pub(super) struct ToolCallIds {
    taken: BTreeSet<CallId>,
    /// Those that are not the log's.
    renamed: BTreeMap<(AgentId, CallId), CallId>,
}

impl ToolCallIds {
    /// Returns the wire's id of a call.
    pub(super) fn of(&self, agent: &AgentId, call: &CallId) -> CallId {
        let renamed = self.renamed.get(&(agent.clone(), call.clone()));
        renamed.unwrap_or(call).clone()
    }

    /// Takes the next event of an agent and returns it with the wire's ids.
    pub(super) fn rewrite<'a>(&mut self, agent: &AgentId, event: &'a Event) -> Cow<'a, Event> {
        if let Event::Replied(message) = event {
            for call in message.calls() {
                self.add(agent, &call.id);
            }
        }
        if self.renamed.is_empty() {
            return Cow::Borrowed(event);
        }
        let mut event = event.clone();
        self.replace(agent, &mut event);
        Cow::Owned(event)
    }

    fn add(&mut self, agent: &AgentId, call: &CallId) {
        let mut id = call.clone();
        // A model may have chosen an id that looks like one of ours.
        let mut number = 1;
        while !self.taken.insert(id.clone()) {
            id = match number {
                1 => CallId::new(format!("{agent}/{call}")),
                _ => CallId::new(format!("{agent}/{call}/{number}")),
            };
            number += 1;
        }
        if id != *call {
            self.renamed.insert((agent.clone(), call.clone()), id);
        }
    }

    fn replace(&self, agent: &AgentId, event: &mut Event) {
        match event {
            Event::Spawned(spawned) => {
                if let Origin::Task(parent) = &mut spawned.origin {
                    parent.call = self.of(&parent.agent, &parent.call);
                }
            }
            Event::Replied(message) => {
                for part in &mut message.parts {
                    if let AssistantPart::Call(call) = part {
                        call.id = self.of(agent, &call.id);
                    }
                }
            }
            Event::Asked { call, .. }
            | Event::Decided { call, .. }
            | Event::CallStarted { call, .. }
            | Event::CallFinished { call, .. }
            | Event::Completion {
                call: Some(call), ..
            } => *call = self.of(agent, call),
            Event::Hooked(hooked) => {
                hooked.call = hooked.call.as_ref().map(|call| self.of(agent, call));
            }
            // No other event names a call.
            _ => {}
        }
    }
}
