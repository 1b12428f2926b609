//! Rewinding: an agent takes back what was said last (SES-06, R8).
//!
//! Nothing is undone and nothing leaves the log: one entry says which messages are
//! not part of the conversation any more, which children go with them, and that
//! nobody is told of those. It is written when these children have ended, so that
//! a crash leaves either no rewind or the whole one. Until then no turn begins;
//! what is asked meanwhile waits behind it.

use std::collections::BTreeSet;
use std::pin::pin;

use futures_util::StreamExt;
use offshoot_types::command::{Receipt, Rewind};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CallId, MessageId, RunId};
use offshoot_types::message::Usage;
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::transcript::{Item, Transcript};

use super::{Actor, Agent, nothing};
use crate::board::State;
use crate::log::Batch;
use crate::node::Ordered;
use crate::sabotage::{Bug, planted};
use crate::turn;

/// A rewind that was ordered and is not written yet.
pub(super) struct Pending {
    order: Ordered,
    to: Option<MessageId>,
    /// The prompts that waited when it was ordered: they are taken back too.
    waited: BTreeSet<MessageId>,
}

/// What is to be done about a rewind now.
enum Step {
    /// It has no effect.
    Refuse(&'static str),
    /// These have to end first, stopped by whoever it is.
    Stop(Vec<(AgentId, CancelledBy)>),
    /// It is written down.
    Write { event: Box<Event>, hidden: u32 },
}

impl Actor {
    /// Notes a rewind for when it can be carried out.
    pub(super) fn order_rewind(&mut self, order: Ordered, rewind: Rewind) {
        if self.stop_turn.is_some() {
            return self.record(order, Batch::default(), nothing(WORKS));
        }
        let mut waited = self.sent.clone();
        let state = self.agent.board.state();
        if let Some(agent) = state.tree.agent(&self.agent.id) {
            waited.extend(agent.queue.iter().cloned());
        }
        drop(state);
        self.rewinds.push_back(Pending {
            order,
            to: rewind.to,
            waited,
        });
    }

    /// Carries out the rewind that was ordered first, if one was: stops what goes with it, waits for
    /// its end and writes it down.
    pub(super) async fn rewind(&mut self) -> Result<(), StoreError> {
        let board = self.agent.board.clone();
        while let Some(pending) = self.rewinds.front() {
            // Before looking: what settles after the look is heard of.
            let mut settled = pin!(board.settled.notified());
            settled.as_mut().enable();
            match self.agent.rewound(&self.transcript, pending) {
                Step::Refuse(why) => {
                    return self.close_rewind(Batch::default(), nothing(why)).await;
                }
                Step::Write { event, hidden } => {
                    let batch = Batch::from(vec![*event]);
                    return self.close_rewind(batch, Receipt::Rewound { hidden }).await;
                }
                Step::Stop(open) => {
                    for (id, by) in open {
                        board.cancel(&id, by);
                    }
                }
            }
            tokio::select! {
                biased;
                Some(order) = self.inputs.recv() => self.take(order),
                Some(entries) = self.appends.next() => {
                    turn::follow(&mut self.transcript, entries?)?;
                }
                () = settled => {}
            }
        }
        Ok(())
    }

    /// Writes down what became of the first rewind, unless a child has begun something meanwhile:
    /// then it stays the first.
    async fn close_rewind(&mut self, mut batch: Batch, receipt: Receipt) -> Result<(), StoreError> {
        // What was sent before has its place before.
        while let Some(entries) = self.appends.next().await {
            turn::follow(&mut self.transcript, entries?)?;
        }
        let Some(pending) = self.rewinds.front() else {
            return Ok(());
        };
        batch.applied(pending.order.command.clone(), receipt.clone());
        match self.append(batch).await {
            Err(error) if error.kind == StoreErrorKind::Refused => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                if let Some(Pending { order, .. }) = self.rewinds.pop_front() {
                    order.answer(receipt);
                }
                Ok(())
            }
        }
    }
}

const WORKS: &str = "it is working; cancel the turn first";

impl Agent {
    /// Returns what is to be done about a rewind now.
    fn rewound(&self, transcript: &Transcript, pending: &Pending) -> Step {
        let state = self.board.state();
        let Some(agent) = state.tree.agent(&self.id) else {
            return Step::Refuse("there is no such agent");
        };
        if agent.turn.is_some() {
            return Step::Refuse(WORKS);
        }
        let Some(said) = after(transcript.items(), pending.to.as_ref()) else {
            return Step::Refuse("no message of that id is in its conversation");
        };
        let waited =
            |id: &&MessageId| pending.waited.contains(*id) || planted(Bug::LaterPromptHidden);
        let waiting = agent.queue.iter().filter(waited);
        let hides: Vec<MessageId> = said.iter().map(Item::id).chain(waiting).cloned().collect();
        if hides.is_empty() {
            return Step::Refuse("nothing was said after it");
        }
        let drops = state.made_by(&self.id, said);
        let open = state.open_below(&drops);
        if !open.is_empty() {
            return Step::Stop(open);
        }
        let mail = agent.mail.values().map(|mail| &mail.run);
        let consumes: Vec<RunId> = mail
            .filter(|run| drops.contains(&run.agent) || planted(Bug::RewindConsumesAll))
            .cloned()
            .collect();
        let hidden = u32::try_from(hides.len()).unwrap_or(u32::MAX);
        let event = Event::Rewound {
            to: pending.to.clone(),
            counts: counted(transcript, &hides),
            hides,
            drops,
            consumes,
        };
        Step::Write {
            event: Box::new(event),
            hidden,
        }
    }
}

/// Returns what was said after a message, or all of it; `None` if the message is not there.
fn after<'a>(items: &'a [Item], to: Option<&MessageId>) -> Option<&'a [Item]> {
    let Some(to) = to else {
        return Some(items);
    };
    let last = items.iter().position(|item| item.id() == to)?;
    items.get(last + 1..)
}

/// Returns what the messages have used that a model is still sent.
fn counted(transcript: &Transcript, hides: &[MessageId]) -> Usage {
    let mut rest = transcript.clone();
    let hide = Event::Rewound {
        to: None,
        hides: hides.to_vec(),
        drops: Vec::new(),
        consumes: Vec::new(),
        counts: Usage::default(),
    };
    let mut counts = Usage::default();
    // Only a call that is open could stand in the way, and then nothing is written.
    if rest.apply(&hide).is_ok() {
        for item in rest.view() {
            if let Item::Assistant(step) = item {
                counts += step.message().usage;
            }
        }
    }
    counts
}

impl State {
    /// Returns the children that calls of some messages made, in the order they were spawned.
    fn made_by(&self, parent: &AgentId, said: &[Item]) -> Vec<AgentId> {
        if planted(Bug::RewindLeavesChildren) {
            return Vec::new();
        }
        let mut calls: BTreeSet<&CallId> = BTreeSet::new();
        for item in said {
            if let Item::Assistant(step) = item {
                calls.extend(step.message().calls().map(|call| &call.id));
            }
        }
        // What the host started goes with the message behind which it was started.
        let behind = |message: &MessageId| said.iter().any(|item| item.id() == message);
        let made = |id: &&AgentId| {
            let child = self.tree.agent(id).and_then(|child| child.parent());
            child.is_some_and(|parent| match parent.made_by() {
                Some(call) => calls.contains(call),
                None => behind(&parent.message),
            })
        };
        let children = self.tree.agent(parent).map(|agent| &agent.children);
        let children = children.into_iter().flatten();
        children.filter(made).cloned().collect()
    }

    /// Returns those of some agents, and of all below them, whose runs are open, and who stops them:
    /// what is below one that is stopped goes with it.
    fn open_below(&self, tops: &[AgentId]) -> Vec<(AgentId, CancelledBy)> {
        let is_open = |id: &AgentId| {
            let agent = self.tree.agent(id);
            agent.is_some_and(|agent| agent.open_run().is_some())
        };
        let mut open = Vec::new();
        for top in tops {
            if is_open(top) {
                open.push((top.clone(), CancelledBy::User));
                continue;
            }
            if planted(Bug::RewindForgetsGrandchildren) {
                continue;
            }
            let below = self.tree.below(top).into_iter().filter(|id| is_open(id));
            open.extend(below.map(|id| (id.clone(), CancelledBy::Ancestor)));
        }
        open
    }
}
