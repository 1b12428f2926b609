//! What the fold remembers of one agent, and the events of its turns.
//!
//! A step begins with `assistant.turn_start` and ends once with
//! `assistant.turn_end`, whatever happens in between. What an event belongs to
//! (the prompt, the step, the call that made the agent) is filled in here.

use std::collections::HashMap;

use offshoot_types::caps::Money;
use offshoot_types::event::{Parent, Spawned, TurnEnd};
use offshoot_types::id::{AgentId, CallId, MessageId, TreeId};
use offshoot_types::message::{
    AssistantMessage, AssistantPart, Author, StopReason, Timing, UserMessage,
};
use offshoot_types::settlement::Settlement;
use uuid::Uuid;

use super::call::OpenCall;
use crate::wire::Body;
use crate::wire::assistant::{
    Initiator, InteractionType, Message, Reasoning, TurnEnd as StepEnd, TurnStart, Usage,
};
use crate::wire::attachment::Attachment;
use crate::wire::session::{self, Delivery};

use super::{NAMESPACE, ending};

/// What has to be remembered of an agent.
pub(super) struct Agent {
    pub(super) id: AgentId,
    pub(super) spawned: Spawned,
    pub(super) tree: TreeId,
    queued: HashMap<MessageId, (UserMessage, Delivery)>,
    /// Whether its session has been given its name.
    titled: bool,
    /// The last prompt that a turn consumed.
    pub(super) prompt: Option<MessageId>,
    pub(super) turn: Turn,
    pub(super) open: HashMap<CallId, OpenCall>,
    /// Whether it has an open run.
    runs: bool,
    /// What the run has used so far, and the runs below it.
    spent: Totals,
}

/// Where the agent stands in its turn.
#[derive(Default)]
pub(super) struct Turn {
    open: bool,
    /// The step of the turn, from 0.
    step: u32,
    /// Because of whom the next step is made.
    asked: Asked,
    /// Whether a call ended because the turn is being stopped.
    pub(super) stopping: bool,
}

/// Because of whom a step is made.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Asked {
    ByHuman,
    #[default]
    ByAgent,
}

/// What runs have used.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) calls: u64,
    pub(super) tokens: u64,
    pub(super) cost: Option<Money>,
}

impl Totals {
    fn pay(&mut self, cost: Option<Money>) {
        let both = [self.cost, cost].into_iter().flatten();
        self.cost = both.reduce(Money::plus);
    }
}

/// The birth of an agent.
pub(super) struct Birth<'a> {
    pub(super) tree: &'a TreeId,
    pub(super) id: &'a AgentId,
    pub(super) spawned: &'a Spawned,
}

impl Agent {
    pub(super) fn born(birth: Birth<'_>) -> Self {
        Self {
            id: birth.id.clone(),
            spawned: birth.spawned.clone(),
            tree: birth.tree.clone(),
            queued: HashMap::new(),
            titled: false,
            prompt: None,
            turn: Turn::default(),
            open: HashMap::new(),
            runs: false,
            spent: Totals::default(),
        }
    }

    pub(super) fn parent(&self) -> Option<&Parent> {
        self.spawned.parent()
    }

    /// Returns the call that made it; `None` for the root.
    pub(super) fn parent_call(&self) -> Option<CallId> {
        Some(self.parent()?.call.clone())
    }

    pub(super) fn description(&self) -> &str {
        &self.spawned.profile.description
    }

    pub(super) fn has_queue(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Adds what a run below it used, if it has a run itself.
    pub(super) fn has_spent(&mut self, totals: Totals) {
        if self.runs {
            self.spent.calls += totals.calls;
            self.spent.tokens = self.spent.tokens.saturating_add(totals.tokens);
            self.spent.pay(totals.cost);
        }
    }

    /// Returns an id for something of this agent that is not an event.
    pub(super) fn derived(&self, what: &str, id: &str) -> Uuid {
        let name = format!("{}/{}/{what}/{id}", self.tree, self.id);
        Uuid::new_v5(&NAMESPACE, name.as_bytes())
    }

    /// Returns the id of what began with the last prompt: turns that mail starts belong to it.
    pub(super) fn interaction(&self) -> Option<Uuid> {
        let prompt = self.prompt.as_ref()?;
        Some(self.derived("interaction", prompt.as_str()))
    }

    pub(super) fn turn_id(&self) -> String {
        self.turn.step.to_string()
    }

    pub(super) fn prompted(&mut self, message: &UserMessage) -> Vec<Body> {
        let busy = self.turn.open || self.has_queue();
        let delivery = if busy {
            Delivery::Queued
        } else {
            Delivery::Idle
        };
        let queued = (message.clone(), delivery);
        self.queued.insert(message.id.clone(), queued);
        self.queue_changed()
    }

    /// Clients are told of the root's queue only.
    fn queue_changed(&self) -> Vec<Body> {
        match self.parent() {
            None => vec![Body::QueueChanged {}],
            Some(_) => Vec::new(),
        }
    }

    pub(super) fn turn_started(&mut self, prompt: Option<&MessageId>) -> Vec<Body> {
        self.runs = true;
        self.turn = Turn {
            open: true,
            ..Turn::default()
        };
        let mut bodies = prompt.map_or_else(Vec::new, |prompt| self.taken_up(prompt));
        bodies.push(self.step_started());
        bodies
    }

    /// A message that waited is taken up.
    pub(super) fn taken_up(&mut self, prompt: &MessageId) -> Vec<Body> {
        let mut bodies = Vec::new();
        if let Some((message, delivery)) = self.queued.remove(prompt) {
            bodies.extend(self.queue_changed());
            if self.parent().is_none() && !std::mem::replace(&mut self.titled, true) {
                let title = message.title();
                bodies.push(Body::TitleChanged { title });
            }
            self.prompt = Some(message.id.clone());
            bodies.push(self.user_message(message, delivery));
        }
        bodies
    }

    /// Messages were taken back: those that waited wait no longer.
    pub(super) fn rewound(&mut self, hides: &[MessageId]) -> Vec<Body> {
        let before = self.queued.len();
        self.queued.retain(|id, _| !hides.contains(id));
        if self.queued.len() == before {
            Vec::new()
        } else {
            self.queue_changed()
        }
    }

    fn user_message(&mut self, message: UserMessage, delivery: Delivery) -> Body {
        let source = match message.from {
            Author::Human => {
                self.turn.asked = Asked::ByHuman;
                None
            }
            Author::Parent => self.parent().map(|above| format!("agent-{}", above.agent)),
            Author::Host => Some("system".to_owned()),
        };
        Body::UserMessage(session::UserMessage {
            interaction_id: self.derived("interaction", message.id.as_str()),
            content: message.text.as_str().to_owned(),
            attachments: message
                .text
                .attachments()
                .filter_map(Attachment::of)
                .collect(),
            message_id: message.id,
            source,
            delivery,
            turn_id: self.turn_id(),
        })
    }

    fn step_started(&self) -> Body {
        Body::TurnStart(TurnStart {
            turn_id: self.turn_id(),
            interaction_id: self.interaction(),
            parent_tool_call_id: self.parent_call(),
        })
    }

    fn step_ended(&self) -> Body {
        Body::TurnEnd(StepEnd {
            turn_id: self.turn_id(),
            parent_tool_call_id: self.parent_call(),
        })
    }

    /// Ends a step and begins the next.
    pub(super) fn next_step(&mut self) -> [Body; 2] {
        let ended = self.step_ended();
        self.turn.step += 1;
        self.turn.asked = Asked::ByAgent;
        self.turn.stopping = false;
        [ended, self.step_started()]
    }

    pub(super) fn replied(&mut self, message: &AssistantMessage) -> Vec<Body> {
        let mut bodies = Vec::new();
        // It was not being stopped after all.
        if self.turn.stopping {
            bodies.extend(self.next_step());
        }
        if !message.by_runtime {
            bodies.push(Body::Usage(self.usage(message)));
        }
        let thinking = thinking(message);
        if let Some(content) = thinking.clone() {
            bodies.push(Body::Reasoning(Reasoning {
                reasoning_id: message.id.clone(),
                content,
            }));
        }
        let turn_id = self.turn_id();
        let mut requests = Vec::new();
        for call in message.calls() {
            let open = OpenCall::of(call, &message.model, &turn_id);
            requests.push(open.request(&call.id));
            self.open.insert(call.id.clone(), open);
            self.spent.calls += 1;
        }
        bodies.push(Body::Message(Message {
            message_id: message.id.clone(),
            originating_message_id: self.prompt.clone(),
            model: message.model.clone(),
            content: message.text().unwrap_or_default(),
            tool_requests: requests,
            interaction_id: self.interaction(),
            turn_id,
            output_tokens: message.usage.output,
            reasoning_text: thinking,
            parent_tool_call_id: self.parent_call(),
        }));
        bodies
    }

    fn usage(&self, message: &AssistantMessage) -> Usage {
        let usage = &message.usage;
        let (initiator, interaction_type) = match (self.parent(), self.turn.asked) {
            (Some(_), _) => (Initiator::SubAgent, InteractionType::Subagent),
            (None, Asked::ByHuman) => (Initiator::User, InteractionType::Agent),
            (None, Asked::ByAgent) => (Initiator::Agent, InteractionType::Agent),
        };
        let finish_reason = match message.stop {
            StopReason::End => Some("stop"),
            StopReason::Calls => Some("tool_calls"),
            StopReason::Length => Some("length"),
            StopReason::Refusal => Some("content_filter"),
            StopReason::Cut => None,
        };
        let first = |timing: Timing| timing.first_ms;
        Usage {
            model: message.model.clone(),
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            reasoning_tokens: (usage.reasoning > 0).then_some(usage.reasoning),
            duration: message.timing.map(|timing| timing.total_ms),
            time_to_first_token_ms: message.timing.and_then(first),
            initiator,
            interaction_type,
            finish_reason,
            parent_tool_call_id: self.parent_call(),
            cost_usd: message.cost,
        }
    }

    pub(super) fn turn_ended(&mut self, end: &TurnEnd) -> Vec<Body> {
        let mut bodies: Vec<Body> = ending::why(end, self.prompt.as_ref()).into_iter().collect();
        if std::mem::take(&mut self.turn.open) {
            bodies.push(self.step_ended());
        }
        bodies
    }

    /// Returns what the run used, all below it included.
    pub(super) fn settled(&mut self, settlement: &Settlement) -> Totals {
        self.runs = false;
        let mut totals = std::mem::take(&mut self.spent);
        totals.tokens = totals.tokens.saturating_add(settlement.usage.total());
        totals.pay(settlement.cost);
        totals
    }
}

/// Returns what may be shown of a model's thinking.
fn thinking(message: &AssistantMessage) -> Option<String> {
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
            | AssistantPart::Attached(_)
            | AssistantPart::Raw(_) => None,
        })
        .collect();
    (!blocks.is_empty()).then(|| blocks.join("\n"))
}
