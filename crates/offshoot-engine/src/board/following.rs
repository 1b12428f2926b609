//! What hangs on an entry: agents that are born, called, answered, woken and done.
//!
//! Called with every entry, after the fold has taken it. Nothing is started here: whoever is stirred
//! is looked at by the session, and who wants to work is known from the tree alone.

use std::sync::Arc;

use offshoot_types::event::{Entry, Event, Origin, Spawned};
use offshoot_types::id::{AgentId, CallId, TreeId};
use offshoot_types::settlement::{CancelledBy, Status};

use super::State;
use crate::helper;
use crate::limits::Limits;
use crate::next::Next;
use crate::node::Node;
use crate::recover;
use crate::sabotage::{Bug, planted};
use crate::update::Activity;

impl State {
    /// Updates everything that hangs on one entry, after the fold has taken it.
    pub(super) fn follow(&mut self, entry: &Arc<Entry>) {
        let id = &entry.agent;
        match &entry.event {
            Event::Spawned(spawned) => self.born(id, spawned),
            Event::Settled { .. } => self.rests(&entry.tree, id),
            Event::Became(_) => self.change_role(id),
            Event::Replied(_) => {
                self.partials.remove(id);
            }
            Event::CallFinished { call, .. } => {
                self.outputs.remove(&(id.clone(), call.clone()));
                // Whoever answered what nobody waits for any more is told so, and whoever wanted it to
                // return.
                self.tell_late_answer(id, call, "the call was over by then");
                let child = self.children_of_calls.remove(&(id.clone(), call.clone()));
                let child = child.and_then(|child| self.nodes.get_mut(&child));
                let promote = child.and_then(|child| child.promote.take());
                let late = promote.map(|order| (order, "the agent had already ended"));
                self.late.extend(late);
            }
            // The one that was heard is not there any more; whoever else answers is not to wait for the
            // end of the call.
            Event::Decided { call, .. } => self.tell_late_answer(id, call, "it has been decided"),
            Event::TurnStarted { .. } => {
                self.let_sleep(id);
                // It was on its way when the process began to leave.
                if self.leaving
                    && let Some(node) = self.nodes.get_mut(id)
                {
                    node.cancelled_by.get_or_insert(CancelledBy::Shutdown);
                    node.token.cancel();
                }
            }
            Event::Steered { .. } => self.let_sleep(id),
            Event::Prompted(_)
            | Event::Completion { .. }
            | Event::Asked { .. }
            | Event::CallStarted { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_) => {}
            Event::TurnEnded { .. } => self.let_sleep_if_paused(id),
            Event::Rewound { .. } => {
                self.let_sleep(id);
                self.change_role(id);
            }
        }
        if let Some(infancy) = self
            .nodes
            .get_mut(id)
            .and_then(|node| node.infancy.as_mut())
        {
            infancy.push(entry.clone());
        }
        self.concern(id);
        if let Event::Settled { settlement, .. } = &entry.event {
            let was_stopped = matches!(settlement.status, Status::Cancelled(_));
            self.stir_around(id, was_stopped || self.is_stopped(id));
        }
        if matches!(
            entry.event,
            Event::Spawned(_) | Event::Prompted(_) | Event::Settled { untold: true, .. }
        ) {
            self.stirred.insert(id.clone());
        }
    }

    /// Takes an agent that is born.
    fn born(&mut self, id: &AgentId, spawned: &Spawned) {
        self.add_node(id, spawned, Some(Vec::new()));
        let changed = |above: &AgentId| {
            let agent = self.tree.agent(above);
            agent.is_some_and(|agent| agent.has_changed())
        };
        if self.tree.path(id).into_iter().any(changed) {
            self.change_role(id);
        }
        if let Origin::Task(parent) = &spawned.origin {
            self.born_as_planned(&parent.agent);
            self.spawning.remove(id);
            if let Some(call) = parent.made_by() {
                let call = (parent.agent.clone(), call.clone());
                self.children_of_calls.insert(call, id.clone());
            }
        }
    }

    /// Takes an agent whose run has settled, and wakes who waits for it.
    fn rests(&mut self, tree: &TreeId, id: &AgentId) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.files.clear();
            node.activity = Activity::Resting;
            node.returned.notify_one();
        }
        if let Some(order) = helper::follows(tree, &self.tree, id) {
            self.errands.push(order);
        }
        let parent = self.parent_of(id);
        if let Some(above) = parent.and_then(|parent| self.nodes.get(&parent))
            && !planted(Bug::LostWake)
        {
            above.wake.notify_one();
        }
    }

    /// Has those looked at whom the end of a run concerns: its parent, and where it was stopped those
    /// below, who may begin now, also if the stop came too late to count.
    fn stir_around(&mut self, id: &AgentId, was_stopped: bool) {
        let mut around: Vec<AgentId> = self.parent_of(id).into_iter().collect();
        if was_stopped {
            around.extend(self.tree.below(id).into_iter().cloned());
        }
        for id in around {
            self.concern(&id);
            self.stirred.insert(id);
        }
    }

    fn parent_of(&self, id: &AgentId) -> Option<AgentId> {
        Some(self.tree.agent(id)?.parent()?.agent.clone())
    }

    /// Has an answer that nobody waits for told why it has no effect.
    fn tell_late_answer(&mut self, id: &AgentId, call: &CallId, why: &'static str) {
        let node = self.nodes.get_mut(id);
        let answer = node.and_then(|node| node.answers.remove(call));
        self.late.extend(answer.map(|order| (order, why)));
    }

    /// Tells whether the turn of an agent only waits to be told something: such a turn of a root
    /// outlives its process (R16, R20), and sleeps until a process opens the session. A person who
    /// stops it withdraws what it asks.
    pub(crate) fn sleeps(&self, id: &AgentId) -> bool {
        let agent = self.tree.agent(id);
        let stopped = self.nodes.get(id).and_then(Node::stopped);
        let is_kept = match stopped {
            None => true,
            Some(CancelledBy::Shutdown) => !planted(Bug::AskWithdrawnAtExit),
            Some(_) => false,
        };
        is_kept && agent.is_some_and(recover::survives)
    }

    /// Tells whether the run of an agent was told to stop.
    pub(super) fn is_stopped(&self, id: &AgentId) -> bool {
        self.nodes
            .get(id)
            .is_some_and(|node| node.stopped().is_some())
    }

    /// Notes that an entry of a commit concerns an agent; it is judged once, where the commit ends.
    fn concern(&mut self, id: &AgentId) {
        if self.concerned.last() != Some(id) {
            self.concerned.push(id.clone());
        }
    }

    /// Judges everybody whom a commit concerned.
    pub(super) fn judge_concerned(&mut self, limits: &Limits) {
        for id in std::mem::take(&mut self.concerned) {
            self.judge(&id, limits);
        }
    }

    /// Keeps the set of agents that want to work although no run of theirs is open. Helpers do not
    /// count: a tree is quiet without them (R19).
    pub(super) fn judge(&mut self, id: &AgentId, limits: &Limits) {
        let helps = |agent: &offshoot_types::tree::Agent| agent.spawned.helper().is_some();
        if self.tree.agent(id).is_some_and(helps) {
            return;
        }
        let wants = match self.next(id, limits) {
            Next::Start { .. } | Next::Run => true,
            Next::Tell(_) | Next::Settle(_) | Next::Wait | Next::Rest => false,
        };
        if wants {
            self.runnable.insert(id.clone());
        } else {
            self.runnable.remove(id);
        }
    }
}
