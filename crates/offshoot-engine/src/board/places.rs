//! Who lives in a tree, and who is about to: places for children and for those who are woken.
//!
//! A place is reserved before anything is written, so that calls of one message, or
//! of two agents at a time, never make more agents live than may. It is given back
//! when what it was for is in the log, or will not come.

use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::id::AgentId;
use offshoot_types::message::Author;

use super::State;
use crate::limits::Limits;

/// Why there is no place for another agent.
pub(crate) enum Full {
    /// As many live below an agent as its cap allows.
    Cap(u32),
    /// As many live in the session as may.
    Session,
}

/// Why the host cannot start a child of an agent now.
pub(crate) enum Unready {
    /// The host has started that child of the agent before.
    Started,
    /// Another agent has that id.
    Taken,
    /// The agent is being stopped, or one above it, or the process is leaving.
    Stopping,
}

impl State {
    /// Reserves a place for a child of an agent; not if as many live as may.
    pub(crate) fn plan_child(&mut self, parent: &AgentId, limits: &Limits) -> Result<(), Full> {
        if let Some(cap) = self.is_full(parent, limits) {
            return Err(Full::Cap(cap));
        }
        if self.live() >= limits.descendants {
            return Err(Full::Session);
        }
        *self.planned.entry(parent.clone()).or_default() += 1;
        Ok(())
    }

    /// Readies an agent for a child that the host starts, and reserves the child's id; says why there
    /// can be no child.
    ///
    /// `opens` says that a run of the agent is on its way to the log.
    pub(crate) fn plan_spawn(
        &mut self,
        parent: &AgentId,
        child: &AgentId,
        opens: bool,
    ) -> Result<(), Unready> {
        let there = self.tree.agent(child).map(|agent| agent.parent());
        if let Some(made) = there {
            let same = made.is_some_and(|made| made.host && made.agent == *parent);
            return Err(if same {
                Unready::Started
            } else {
                Unready::Taken
            });
        }
        if let Some(above) = self.spawning.get(child) {
            let same = above == parent;
            return Err(if same {
                Unready::Started
            } else {
                Unready::Taken
            });
        }
        let agent = self.tree.agent(parent);
        let rests = agent.is_some_and(|agent| agent.open_run().is_none()) && !opens;
        if rests && !self.planned.contains_key(parent) && self.may_spawn(parent) {
            // The stop was for the last run, which is over.
            self.renew_token(parent);
        }
        if !self.may_spawn(parent) || self.is_stopped(parent) {
            return Err(Unready::Stopping);
        }
        self.spawning.insert(child.clone(), parent.clone());
        Ok(())
    }

    /// Gives back the id of a child that will not come.
    pub(crate) fn forget_spawn(&mut self, child: &AgentId) {
        self.spawning.remove(child);
    }

    /// Returns how many agents below one are about to live.
    pub(crate) fn planned_below(&self, top: &AgentId) -> usize {
        let is_below = |id: &AgentId| self.tree.path(id).contains(&top);
        let planned = self.planned.iter().filter(|(parent, _)| is_below(parent));
        let waking = self.waking().filter(|id| *id != top && is_below(id));
        planned.map(|(_, many)| many).sum::<usize>() + waking.count()
    }

    /// Returns how many descendants of the root live, or are about to.
    pub(crate) fn live(&self) -> usize {
        let root_runs = self
            .tree
            .root()
            .and_then(|root| self.tree.agent(root)?.open_run());
        self.tree.open_runs() - usize::from(root_runs.is_some()) + self.planned()
    }

    /// Tells whether an agent rests and has something to run for.
    pub(crate) fn is_about_to_run(&self, id: &AgentId) -> bool {
        let agent = self.tree.agent(id);
        self.runnable.contains(id) && agent.is_some_and(|agent| agent.open_run().is_none())
    }

    /// Notes that a planned child of an agent is there.
    pub(super) fn born_as_planned(&mut self, parent: &AgentId) {
        if let Some(planned) = self.planned.get_mut(parent) {
            *planned -= 1;
            if *planned == 0 {
                self.planned.remove(parent);
            }
        }
    }

    /// Returns how many agents are about to live.
    pub(crate) fn planned(&self) -> usize {
        self.planned.values().sum::<usize>() + self.waking().count()
    }

    /// Returns the agents that are about to live again: one that still runs is counted as running.
    fn waking(&self) -> impl Iterator<Item = &AgentId> {
        let runs = |id: &AgentId| {
            let agent = self.tree.agent(id);
            agent.is_some_and(|agent| agent.open_run().is_some())
        };
        self.waking.keys().filter(move |id| !runs(id))
    }

    /// Counts an agent as one that is about to live, from when it rests on.
    pub(crate) fn plan_to_wake(&mut self, id: &AgentId) {
        *self.waking.entry(id.clone()).or_default() += 1;
    }

    /// Tells whether an agent is about to be woken.
    pub(crate) fn is_waking(&self, id: &AgentId) -> bool {
        self.waking.contains_key(id)
    }

    /// Gives back what was taken for a message of an agent to one below it, if it is refused.
    pub(crate) fn wake_not(&mut self, command: &Command, receipt: &Receipt) {
        let (Order::Prompt(prompt), Receipt::NoEffect { .. }) = (&command.order, receipt) else {
            return;
        };
        if prompt.from == Author::Parent
            && let Some(messages) = self.waking.get_mut(&command.agent)
        {
            *messages -= 1;
            if *messages == 0 {
                self.let_sleep(&command.agent);
            }
        }
    }

    /// Takes that back: it runs, or nobody wakes it.
    pub(crate) fn let_sleep(&mut self, id: &AgentId) {
        self.waking.remove(id);
    }
}
