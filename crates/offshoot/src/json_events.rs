//! The log as wire events: a pure fold.
//!
//! The same entries give the same events with the same ids, whoever folds them
//! and when; what an entry gives depends on nothing but it and those before it.
//! Deltas are shown and never stored, so they are no link of the `parentId`
//! chain. A turn of the wire is a step of ours: it ends when the calls of one
//! message have their outcomes.

mod permission;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashMap;

use offshoot_engine::{Delta, DeltaKind, Output};
use offshoot_types::event::{Entry, Event, Origin, Parent, Spawned, TurnEnd};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, RunId, Timestamp, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantMessage, AssistantPart, Author, UserMessage};
use offshoot_types::outcome::{Body as Answer, Outcome};
use offshoot_types::permission::{Decision, Need};
use offshoot_types::settlement::{CancelledBy, FailureKind, Settlement, Status};
use uuid::Uuid;

use crate::clock;
use wire::Body;
pub(crate) use wire::WireEvent;

/// Where the ids of our events come from.
const NAMESPACE: Uuid = Uuid::from_u128(0x9d0b_6c1e_54b1_5f6a_8a3e_0c7f_5e0d_4f21);

/// The tool whose outcome holds a child's words.
const TASK: &str = "task";

/// Folds the log of one tree into wire events.
pub(crate) struct Fold {
    tree: TreeId,
    /// The last event that is stored.
    last: Option<Uuid>,
    pos: Pos,
    /// Events since `pos` that are not stored.
    shown: u64,
    agents: HashMap<AgentId, Agent>,
    /// How many bytes of an open message were given.
    given: HashMap<(AgentId, MessageId, DeltaKey), usize>,
    /// How many bytes of what an open call says were given.
    heard: HashMap<(AgentId, CallId), usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum DeltaKey {
    Text,
    Reasoning,
}

/// What has to be remembered of an agent.
struct Agent {
    spawned: Spawned,
    queued: HashMap<MessageId, UserMessage>,
    /// What the turn answers.
    processed: Option<MessageId>,
    /// The step of the turn, from 0.
    step: u32,
    open: HashMap<CallId, OpenCall>,
    /// Calls of the run so far.
    calls: u64,
}

struct OpenCall {
    tool: String,
    arguments: RawJson,
    started: bool,
    asked: bool,
}

impl Fold {
    /// A fold of a log from its beginning.
    pub(crate) fn new(tree: TreeId) -> Self {
        Self {
            tree,
            last: None,
            pos: Pos::ZERO,
            shown: 0,
            agents: HashMap::new(),
            given: HashMap::new(),
            heard: HashMap::new(),
        }
    }

    /// Takes the next entry and returns its events.
    pub(crate) fn entry(&mut self, entry: &Entry) -> Vec<WireEvent> {
        self.pos = entry.pos;
        self.shown = 0;
        let bodies = self.bodies(entry);
        let mut events = Vec::with_capacity(bodies.len());
        for (index, body) in bodies.into_iter().enumerate() {
            let name = format!("{}/{}/{index}", self.tree, entry.pos);
            events.push(self.envelope(&name, entry.at, &entry.agent, body));
        }
        events
    }

    /// Returns the event of a piece of a message; none if it was given before.
    pub(crate) fn delta(&mut self, delta: &Delta, at: Timestamp) -> Option<WireEvent> {
        let kind = match delta.kind {
            DeltaKind::Text => DeltaKey::Text,
            DeltaKind::Reasoning => DeltaKey::Reasoning,
        };
        let key = (delta.agent.clone(), delta.message.clone(), kind);
        let given = self.given.entry(key).or_default();
        // After a lag the whole open message comes again.
        let delta_content = fresh(given, delta.offset, &delta.text)?.to_owned();
        let parent_tool_call_id = self.parent_call(&delta.agent);
        let body = match delta.kind {
            DeltaKind::Text => Body::MessageDelta(wire::MessageDelta {
                message_id: delta.message.clone(),
                delta_content,
                parent_tool_call_id,
            }),
            DeltaKind::Reasoning => Body::ReasoningDelta(wire::ReasoningDelta {
                reasoning_id: delta.message.clone(),
                delta_content,
                parent_tool_call_id,
            }),
        };
        Some(self.unstored(at, &delta.agent.clone(), body))
    }

    /// Returns the event for what a call says while it runs; none if it was given before.
    pub(crate) fn output(&mut self, output: &Output, at: Timestamp) -> Option<WireEvent> {
        let key = (output.agent.clone(), output.call.clone());
        let given = self.heard.entry(key).or_default();
        // After a lag the end of what it said comes again.
        let partial_output = fresh(given, output.offset, &output.text)?.to_owned();
        let body = Body::ToolOutput(wire::ToolOutput {
            tool_call_id: output.call.clone(),
            partial_output,
        });
        Some(self.unstored(at, &output.agent, body))
    }

    /// Returns the event that says the tree is quiet.
    pub(crate) fn idle(&mut self, at: Timestamp) -> WireEvent {
        let root = self.tree.root().clone();
        self.unstored(at, &root, Body::SessionIdle {})
    }

    fn unstored(&mut self, at: Timestamp, agent: &AgentId, body: Body) -> WireEvent {
        self.shown += 1;
        let name = format!("{}/{}/shown/{}", self.tree, self.pos, self.shown);
        self.envelope(&name, at, agent, body)
    }

    fn envelope(&mut self, name: &str, at: Timestamp, agent: &AgentId, body: Body) -> WireEvent {
        let id = Uuid::new_v5(&NAMESPACE, name.as_bytes());
        let ephemeral = body.is_ephemeral();
        let parent_id = self.last;
        if !ephemeral {
            self.last = Some(id);
        }
        WireEvent {
            id,
            timestamp: clock::iso(at),
            parent_id,
            session_id: self.tree.root().clone(),
            agent_id: (agent != self.tree.root()).then(|| agent.clone()),
            ephemeral: ephemeral.then_some(true),
            body,
        }
    }

    /// Returns the call that made an agent; `None` for the root.
    fn parent_call(&self, agent: &AgentId) -> Option<CallId> {
        Some(self.agents.get(agent)?.parent()?.call.clone())
    }

    fn bodies(&mut self, entry: &Entry) -> Vec<Body> {
        if let Event::Spawned(spawned) = &entry.event {
            let body = self.born(entry, spawned);
            let agent = Agent::born(spawned);
            self.agents.insert(entry.agent.clone(), agent);
            return vec![body];
        }
        if let Event::Replied(_) = &entry.event {
            let over = |(agent, _, _): &(AgentId, MessageId, DeltaKey)| *agent == entry.agent;
            self.given.retain(|key, _| !over(key));
        }
        if let Event::CallFinished { call, .. } = &entry.event {
            self.heard.remove(&(entry.agent.clone(), call.clone()));
        }
        // A log without an agent's birth is refused before it gets here.
        let Some(agent) = self.agents.get_mut(&entry.agent) else {
            return Vec::new();
        };
        match &entry.event {
            Event::Spawned(_) => Vec::new(),
            Event::Asked { call, needs, .. } => agent.asked(call, needs).into_iter().collect(),
            Event::Decided {
                call,
                decision,
                grant,
                ..
            } => agent
                .decided(call, decision, grant.is_some())
                .into_iter()
                .collect(),
            Event::Prompted(message) => {
                agent.queued.insert(message.id.clone(), message.clone());
                Vec::new()
            }
            Event::Completion {
                message,
                run,
                definition,
                settlement,
            } => {
                agent.processed = Some(message.clone());
                vec![notification(run, definition, settlement)]
            }
            Event::TurnStarted { prompt, .. } => agent.turn_started(prompt.as_ref()),
            Event::Replied(message) => agent.replied(message),
            Event::CallStarted { call, .. } => agent.call_started(call).into_iter().collect(),
            Event::CallFinished { call, outcome, .. } => agent.call_finished(call, outcome),
            Event::TurnEnded { end, .. } => agent.turn_ended(end),
            Event::Settled { settlement, .. } => agent.settled(settlement).into_iter().collect(),
        }
    }

    fn born(&self, entry: &Entry, spawned: &Spawned) -> Body {
        match &spawned.origin {
            Origin::Session { workspace, .. } => Body::SessionStart(wire::SessionStart {
                session_id: entry.agent.clone(),
                version: 1,
                producer: "offshoot",
                copilot_version: env!("CARGO_PKG_VERSION"),
                start_time: clock::iso(entry.at),
                selected_model: spawned.model.clone(),
                context: wire::Context {
                    cwd: workspace.clone(),
                },
            }),
            Origin::Task(parent) => Body::SubagentStarted(wire::SubagentStarted {
                tool_call_id: parent.call.clone(),
                agent_name: spawned.definition.clone(),
                agent_display_name: spawned.definition.clone(),
                // The log does not keep what the manifest said of itself.
                agent_description: String::new(),
                model: spawned.model.clone(),
                agent_type: spawned.definition.clone(),
                execution_mode: if parent.background {
                    wire::ExecutionMode::Background
                } else {
                    wire::ExecutionMode::Sync
                },
                parent_id: (parent.agent != *self.tree.root()).then(|| parent.agent.clone()),
            }),
        }
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

impl Agent {
    fn born(spawned: &Spawned) -> Self {
        Self {
            spawned: spawned.clone(),
            queued: HashMap::new(),
            processed: None,
            step: 0,
            open: HashMap::new(),
            calls: 0,
        }
    }

    fn parent(&self) -> Option<&Parent> {
        match &self.spawned.origin {
            Origin::Session { .. } => None,
            Origin::Task(parent) => Some(parent),
        }
    }

    fn parent_call(&self) -> Option<CallId> {
        Some(self.parent()?.call.clone())
    }

    fn turn(&self) -> wire::Turn {
        wire::Turn {
            turn_id: self.step.to_string(),
            parent_tool_call_id: self.parent_call(),
        }
    }

    fn turn_started(&mut self, prompt: Option<&MessageId>) -> Vec<Body> {
        self.step = 0;
        let mut bodies = Vec::new();
        if let Some(message) = prompt.and_then(|prompt| self.queued.remove(prompt)) {
            self.processed = Some(message.id.clone());
            let source = match message.from {
                Author::Human => None,
                Author::Parent => self.parent().map(|above| format!("agent-{}", above.agent)),
            };
            bodies.push(Body::UserMessage(wire::UserMessage {
                content: message.text,
                message_id: message.id,
                source,
            }));
        }
        bodies.push(Body::TurnStart(self.turn()));
        bodies
    }

    fn replied(&mut self, message: &AssistantMessage) -> Vec<Body> {
        let mut requests = Vec::new();
        for call in message.calls() {
            let arguments = match &call.arguments {
                Arguments::Json(arguments) => arguments.clone(),
                Arguments::Malformed(text) => RawJson::of(text),
            };
            requests.push(wire::ToolRequest {
                tool_call_id: call.id.clone(),
                name: call.tool.clone(),
                arguments: arguments.clone(),
                kind: "function",
            });
            let open = OpenCall {
                tool: call.tool.clone(),
                arguments,
                started: false,
                asked: false,
            };
            self.open.insert(call.id.clone(), open);
            self.calls += 1;
        }
        let usage = Body::Usage(wire::Usage {
            model: message.model.clone(),
            input_tokens: message.usage.input,
            output_tokens: message.usage.output,
            cache_read_tokens: message.usage.cache_read,
            cache_write_tokens: message.usage.cache_write,
            parent_tool_call_id: self.parent_call(),
        });
        let whole = Body::Message(wire::Message {
            message_id: message.id.clone(),
            originating_message_id: self.processed.clone(),
            model: message.model.clone(),
            content: message.text().unwrap_or_default(),
            tool_requests: requests,
            turn_id: self.step.to_string(),
            output_tokens: message.usage.output,
            reasoning_text: reasoning(message),
            parent_tool_call_id: self.parent_call(),
        });
        vec![usage, whole]
    }

    fn asked(&mut self, call: &CallId, needs: &[Need]) -> Option<Body> {
        let open = self.open.get_mut(call)?;
        open.asked = true;
        let requested = permission::requested(call, &open.tool, &open.arguments, needs);
        Some(Body::PermissionRequested(Box::new(requested)))
    }

    /// Of what nobody was asked there is no event.
    fn decided(&mut self, call: &CallId, decision: &Decision, for_session: bool) -> Option<Body> {
        let open = self.open.get_mut(call).filter(|open| open.asked)?;
        open.asked = false;
        let completed = permission::completed(call, decision, for_session);
        Some(Body::PermissionCompleted(completed))
    }

    fn call_started(&mut self, call: &CallId) -> Option<Body> {
        let parent_tool_call_id = self.parent_call();
        let open = self.open.get_mut(call)?;
        open.started = true;
        Some(Body::ToolStart(wire::ToolStart {
            tool_call_id: call.clone(),
            tool_name: open.tool.clone(),
            arguments: open.arguments.clone(),
            parent_tool_call_id,
        }))
    }

    fn call_finished(&mut self, call: &CallId, outcome: &Outcome) -> Vec<Body> {
        let mut bodies = Vec::new();
        if self.open.get(call).is_some_and(|open| !open.started) {
            bodies.extend(self.call_started(call));
        }
        let Some(open) = self.open.remove(call) else {
            return bodies;
        };
        let (result, error) = match &outcome.body {
            Answer::Output(data) => (Some(content(&open.tool, data, outcome)), None),
            Answer::Error { kind, text } => {
                let (message, code) = (text.clone(), *kind);
                (None, Some(wire::ToolError { message, code }))
            }
        };
        bodies.push(Body::ToolComplete(wire::ToolComplete {
            tool_call_id: call.clone(),
            success: error.is_none(),
            result,
            error,
            parent_tool_call_id: self.parent_call(),
        }));
        if self.open.is_empty() {
            bodies.push(Body::TurnEnd(self.turn()));
            self.step += 1;
            bodies.push(Body::TurnStart(self.turn()));
        }
        bodies
    }

    fn turn_ended(&mut self, end: &TurnEnd) -> Vec<Body> {
        let error = |error_type, message: &str| {
            let message = message.to_owned();
            Some(Body::SessionError(wire::SessionError {
                error_type,
                message,
            }))
        };
        let why = match end {
            TurnEnd::Finished | TurnEnd::HandedBack(_) => None,
            TurnEnd::Aborted(by) => {
                let reason = match by {
                    CancelledBy::User => "user_initiated",
                    CancelledBy::Ancestor => "parent_aborted",
                    CancelledBy::Shutdown => "shutdown",
                };
                Some(Body::Abort { reason })
            }
            TurnEnd::Failed { kind, message } => error(
                match kind {
                    FailureKind::Model => "model",
                    FailureKind::RateLimited => "rate_limit",
                    FailureKind::Config => "config",
                    FailureKind::Internal => "internal",
                },
                message,
            ),
            TurnEnd::Lost => error("lost", "the process that ran this turn died"),
        };
        let mut bodies: Vec<Body> = why.into_iter().collect();
        bodies.push(Body::TurnEnd(self.turn()));
        bodies
    }

    fn settled(&mut self, settlement: &Settlement) -> Option<Body> {
        let total_tool_calls = std::mem::take(&mut self.calls);
        let parent = self.parent()?;
        let (cancelled, error) = match &settlement.status {
            Status::Completed | Status::Partial(_) => (None, None),
            Status::Cancelled(_) => (Some(true), None),
            Status::Failed { .. }
            | Status::BudgetExhausted(_)
            | Status::Denied { .. }
            | Status::Lost { .. } => (None, settlement.status.reason()),
        };
        let failed = error.is_some();
        let ended = wire::SubagentEnded {
            tool_call_id: parent.call.clone(),
            agent_name: self.spawned.definition.clone(),
            agent_display_name: self.spawned.definition.clone(),
            model: self.spawned.model.clone(),
            total_tool_calls,
            total_tokens: settlement.usage.total(),
            duration_ms: settlement.duration_ms,
            cancelled,
            error,
        };
        Some(if failed {
            Body::SubagentFailed(ended)
        } else {
            Body::SubagentCompleted(ended)
        })
    }
}

fn notification(run: &RunId, definition: &str, settlement: &Settlement) -> Body {
    let status = settlement.status.word();
    let mut content = format!("Agent {definition} ({}) ended: {status}", run.agent);
    if let Some(reason) = settlement.status.reason() {
        content.push_str(&format!(" ({reason})"));
    }
    if let Some(output) = &settlement.output {
        content.push('\n');
        content.push_str(output);
    }
    Body::Notification(wire::Notification {
        content,
        kind: wire::NotificationKind::AgentCompleted {
            agent_id: run.agent.clone(),
            agent_type: definition.to_owned(),
            status,
        },
    })
}

/// Returns what a reader wants of an answer: of a child its words, else what the model reads.
fn content(tool: &str, data: &RawJson, outcome: &Outcome) -> wire::ToolResult {
    #[derive(serde::Deserialize)]
    struct Child {
        output: String,
    }
    let content = match data.read::<Child>() {
        Ok(child) if tool == TASK => child.output,
        Ok(_) | Err(_) => outcome.for_model(),
    };
    wire::ToolResult { content }
}

fn reasoning(message: &AssistantMessage) -> Option<String> {
    let blocks: Vec<&str> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            AssistantPart::Reasoning(reasoning) if !reasoning.text.is_empty() => {
                Some(reasoning.text.as_str())
            }
            AssistantPart::Reasoning(_)
            | AssistantPart::Text(_)
            | AssistantPart::Call(_)
            | AssistantPart::Raw(_) => None,
        })
        .collect();
    (!blocks.is_empty()).then(|| blocks.join("\n"))
}
