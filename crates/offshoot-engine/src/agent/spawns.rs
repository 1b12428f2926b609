//! Children that the host starts by an order.
//!
//! What a child may be is decided as for a `task` call (`task.rs`). Its first entries and the receipt of
//! the order are one append, so an order that was acknowledged has its child, and sending it again
//! makes no second one. An order that comes while the agent is being stopped is refused: nothing new
//! begins below a run that ends.

use offshoot_types::command::{Receipt, Spawn};
use offshoot_types::id::{AgentId, MessageId};
use offshoot_types::outcome::{Body, ErrorKind, Outcome};

use super::Actor;
use crate::board::Unready;
use crate::log::Batch;
use crate::node::Ordered;
use crate::sabotage::{Bug, planted};
use crate::task;

impl Actor {
    /// Starts a child of the agent, or says why there can be none.
    pub(super) fn spawn(&mut self, order: Ordered, spawn: &Spawn) {
        let mut batch = Batch::default();
        let receipt = match self.plan_spawn(spawn, &mut batch) {
            Ok(agent) => Receipt::Spawned { agent },
            Err(refusal) => refusal.into_receipt(),
        };
        if planted(Bug::SpawnNotWritten) {
            batch = Batch::default();
        }
        self.record(order, batch, receipt);
    }

    fn plan_spawn(&self, spawn: &Spawn, batch: &mut Batch) -> Result<AgentId, Refusal> {
        let agent = self.agent.as_it_is_now();
        let new_id = || AgentId::new(agent.parts.env.new_id());
        let id = spawn.agent.clone().unwrap_or_else(new_id);
        let opens = self.opening.is_some();
        let ready = agent.board.state().plan_spawn(&agent.id, &id, opens);
        match ready {
            Ok(()) => {}
            Err(Unready::Started) => return Ok(id),
            Err(Unready::Taken) => {
                let why = format!("the id {id} belongs to another agent of this session");
                return Err(Refusal {
                    kind: ErrorKind::InvalidInput,
                    why,
                });
            }
            Err(Unready::Stopping) => {
                let why = "the agent is being stopped; send the order again when it has ended";
                return Err(Refusal {
                    kind: ErrorKind::Cancelled,
                    why: why.to_owned(),
                });
            }
        }
        let planned = task::plan_spawn(&agent, spawn, &id, self.last_message(), batch);
        if let Err(outcome) = planned {
            agent.board.state().forget_spawn(&id);
            return Err(Refusal::of(outcome));
        }
        Ok(id)
    }

    /// Returns the last message of the conversation, without what a turn that runs has added.
    fn last_message(&self) -> Option<MessageId> {
        if self.stop_turn.is_some() {
            return self.last_message.clone();
        }
        let last = self.transcript.items().last();
        last.map(|item| item.id().clone())
    }
}

/// Why there can be no child.
pub(super) struct Refusal {
    kind: ErrorKind,
    why: String,
}

impl Refusal {
    /// Returns what a `task` call would be given as its outcome.
    pub(super) fn of(outcome: Outcome) -> Self {
        match outcome.body {
            Body::Error { kind, text } => Self { kind, why: text },
            // Only errors come here.
            Body::Output(_) => Self {
                kind: ErrorKind::Failed,
                why: outcome.for_model(),
            },
        }
    }

    pub(super) fn into_receipt(self) -> Receipt {
        let Self { kind, why } = self;
        Receipt::Refused { kind, why }
    }
}
