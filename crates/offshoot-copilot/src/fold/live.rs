//! What is shown while it comes and never stored: pieces of messages and of what calls say.
//!
//! After a lag a subscriber gets an open message again from its beginning, and of
//! a call the end of what it said; what was given before is left out.

use std::collections::HashMap;

use offshoot_types::id::{AgentId, CallId, MessageId};
use offshoot_types::live::{Delta, DeltaKind, Output};

use crate::wire::Body;
use crate::wire::assistant::{MessageDelta, MessageStart, ReasoningDelta};
use crate::wire::tool;

/// How much of what is open was given.
#[derive(Default)]
pub(super) struct Live {
    /// Bytes of an open message.
    given: HashMap<(AgentId, MessageId, Kind), usize>,
    /// Bytes of what an open call says.
    pub(super) heard: HashMap<(AgentId, CallId), usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Reasoning,
}

impl Live {
    /// Returns what of a piece is new, behind the start of its message where it is the first.
    pub(super) fn delta(&mut self, delta: &Delta, parent_call: Option<CallId>) -> Vec<Body> {
        let kind = match delta.kind {
            DeltaKind::Text => Kind::Text,
            DeltaKind::Reasoning => Kind::Reasoning,
        };
        let key = (delta.agent.clone(), delta.message.clone(), kind);
        let given = self.given.entry(key).or_default();
        let first = *given == 0;
        let Some(fresh) = fresh(given, delta.offset, &delta.text) else {
            return Vec::new();
        };
        let delta_content = fresh.to_owned();
        match kind {
            Kind::Reasoning => vec![Body::ReasoningDelta(ReasoningDelta {
                reasoning_id: delta.message.clone(),
                delta_content,
                parent_tool_call_id: parent_call,
            })],
            Kind::Text => {
                let message_id = delta.message.clone();
                let start = first.then_some(Body::MessageStart(MessageStart { message_id }));
                let piece = Body::MessageDelta(MessageDelta {
                    message_id: delta.message.clone(),
                    delta_content,
                    parent_tool_call_id: parent_call,
                });
                start.into_iter().chain([piece]).collect()
            }
        }
    }

    /// Returns what of a piece is new; `call` is its id on the wire.
    pub(super) fn output(&mut self, output: &Output, call: CallId) -> Option<Body> {
        let key = (output.agent.clone(), call.clone());
        let given = self.heard.entry(key).or_default();
        let partial_output = fresh(given, output.offset, &output.text)?.to_owned();
        Some(Body::ToolOutput(tool::Output {
            tool_call_id: call,
            partial_output,
        }))
    }

    /// Forgets the open message of an agent.
    pub(super) fn said(&mut self, agent: &AgentId) {
        self.given.retain(|(whose, _, _), _| whose != agent);
    }

    /// Forgets a call.
    pub(super) fn finished(&mut self, agent: &AgentId, call: &CallId) {
        self.heard.remove(&(agent.clone(), call.clone()));
    }
}

/// Returns what of a piece was not given before, and notes it as given.
fn fresh<'a>(given: &mut usize, offset: usize, text: &'a str) -> Option<&'a str> {
    let fresh = text.get(given.saturating_sub(offset)..)?;
    if fresh.is_empty() {
        return None;
    }
    *given = offset + text.len();
    Some(fresh)
}
