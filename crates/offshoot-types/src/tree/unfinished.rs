//! Work that a tree left undone although its root may have completed (R19).
//!
//! A pure fold of the log: agents that a limit of the run stopped, requests for a permission or
//! an answer that were denied because no one could answer, and results that the agent's model
//! had not read when its run ended. An agent that was stopped because the turn of an agent above it
//! had reached a limit counts like that agent. A limit that an agent's own
//! definition sets is its parent's to handle and does not count here, nor does a `task` call that
//! was refused for want of depth or descendants: that is a tool error to its caller (R26).

use std::collections::{BTreeMap, BTreeSet};

use super::{Agent, Tree, Violation};
use crate::caps::Caps;
use crate::event::{Entry, Event, TurnEnd};
use crate::id::AgentId;
use crate::permission::Action;
use crate::settlement::{CancelledBy, Cap, PartialReason, Status, Unread};

/// Work that a tree left undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Agents that a limit of the run stopped, and which limit did so last.
    pub stopped: BTreeMap<AgentId, RunLimit>,
    /// Requests for a permission or an answer that were denied because no one could answer.
    pub unanswered: u32,
    /// Results of agents below that the run ended without having read, as when a process died.
    pub unread: u32,
    /// Agents that were stopped with an agent above them, whose turn has not ended yet. How that turn
    /// ends says why.
    stopped_with_parent: BTreeSet<AgentId>,
}

/// A limit of a run that stops agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunLimit {
    /// A cap: of the session, or what the host allows every child.
    Cap(Cap),
    /// How often in a row results of children may wake an agent.
    Wakes,
}

impl RunLimit {
    /// Returns the word for it, as in a config file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cap(cap) => cap.word(),
            Self::Wakes => "wakes",
        }
    }
}

impl Unfinished {
    /// Folds the last run of an agent, with everything below it, from the log of its tree.
    pub fn of_last_run<'a>(
        agent: &AgentId,
        log: impl IntoIterator<Item = &'a Entry>,
    ) -> Result<Self, Violation> {
        let mut tree = Tree::default();
        let mut unfinished = Self::default();
        let is_open = |tree: &Tree| tree.agent(agent).and_then(Agent::open_run).is_some();
        for entry in log {
            unfinished.take(agent, &tree, entry);
            let was_open = is_open(&tree);
            tree.apply(entry)?;
            if !was_open && is_open(&tree) {
                unfinished = Self::default();
            }
        }
        Ok(unfinished)
    }

    /// Takes the next entry, if it is of an agent or of one below it; `tree` is as it was before it.
    pub fn take(&mut self, agent: &AgentId, tree: &Tree, entry: &Entry) {
        let helps = |agent: &Agent| agent.spawned.helper().is_some();
        if tree.agent(&entry.agent).is_none_or(helps) || !tree.path(&entry.agent).contains(&agent) {
            return;
        }
        if let (Event::Settled { settlement, .. }, true) = (&entry.event, entry.agent == *agent) {
            let unread = settlement.unread.as_deref();
            self.unread = unread.map_or(0, missed);
        }
        let limit = match &entry.event {
            Event::Decided { decision, .. } if decision.action == Action::Ask => {
                self.unanswered += 1;
                return;
            }
            Event::TurnEnded {
                end: TurnEnd::HandedBack(cap) | TurnEnd::Exhausted(cap),
                ..
            } if is_of_run(tree, entry, *cap) => {
                let limit = RunLimit::Cap(*cap);
                let below = self.take_stopped_below(tree, &entry.agent);
                self.stopped.extend(below.map(|agent| (agent, limit)));
                limit
            }
            // The agent was stopped with an agent above it, too: the turn of that one says why.
            Event::TurnEnded {
                end: TurnEnd::Aborted(CancelledBy::Ancestor),
                ..
            } => return,
            Event::Settled { settlement, .. }
                if settlement.status == Status::Partial(PartialReason::Wakes) =>
            {
                RunLimit::Wakes
            }
            Event::Settled { settlement, .. }
                if settlement.status == Status::Cancelled(CancelledBy::Ancestor) =>
            {
                let above = tree.path(&entry.agent).into_iter().skip(1);
                let open = above.filter(|id| is_in_run_without_turn(tree, id));
                match open.filter_map(|id| self.stopped.get(id)).next() {
                    // That turn ended before this agent did.
                    Some(limit) => *limit,
                    None => {
                        self.stopped_with_parent.insert(entry.agent.clone());
                        return;
                    }
                }
            }
            // It ended for a reason of its own, so the agents below it did not end for a limit above it.
            Event::TurnEnded { .. } | Event::Settled { .. } | Event::TurnStarted { .. } => {
                drop(self.take_stopped_below(tree, &entry.agent));
                return;
            }
            _ => return,
        };
        self.stopped.insert(entry.agent.clone(), limit);
    }

    /// Takes out the agents below an agent that were stopped with an agent above them.
    fn take_stopped_below(
        &mut self,
        tree: &Tree,
        agent: &AgentId,
    ) -> impl Iterator<Item = AgentId> + use<> {
        let all = std::mem::take(&mut self.stopped_with_parent);
        let (below, others) = all
            .into_iter()
            .partition(|id| tree.path(id).contains(&agent));
        self.stopped_with_parent = others;
        let below: BTreeSet<AgentId> = below;
        below.into_iter()
    }

    /// Tells whether nothing was left undone.
    pub fn is_empty(&self) -> bool {
        self.stopped.is_empty() && self.unanswered == 0 && self.unread == 0
    }

    /// Returns how many agents each limit stopped.
    pub fn by_limit(&self) -> BTreeMap<RunLimit, usize> {
        let mut counts = BTreeMap::new();
        for limit in self.stopped.values() {
            *counts.entry(*limit).or_default() += 1;
        }
        counts
    }
}

/// Counts the results that a run has not read, but for those of agents that were cancelled on purpose.
fn missed(unread: &Unread) -> u32 {
    let cancelled = Status::Cancelled(CancelledBy::User).word();
    let results = unread.results.iter();
    let missed = results.filter(|result| result.status != cancelled).count();
    u32::try_from(missed)
        .unwrap_or(u32::MAX)
        .saturating_add(unread.left_out)
}

/// Tells whether the last turn of an agent's open run is over: the run waits for the agents below.
fn is_in_run_without_turn(tree: &Tree, id: &AgentId) -> bool {
    let agent = tree.agent(id);
    agent.is_some_and(|agent| agent.open_run().is_some() && agent.turn.is_none())
}

/// Tells whether the cap that ended a turn is a limit of the run: it belongs to the root, or the
/// definition of the agent that it belongs to says nothing about it.
fn is_of_run(tree: &Tree, entry: &Entry, cap: Cap) -> bool {
    let owner = owner(tree, entry, cap);
    owner.is_none_or(|owner| owner.spawned.is_root() || !sets(&owner.terms().own_caps, cap))
}

/// Returns the agent whose cap ended a turn, as far as the log knows it.
fn owner<'a>(tree: &'a Tree, entry: &'a Entry, cap: Cap) -> Option<&'a Agent> {
    let own = tree.agent(&entry.agent)?;
    let now = entry.at.get();
    let is_own = match cap {
        Cap::Steps | Cap::Stall => true,
        Cap::Tokens | Cap::Cost => false,
        // An ancestor's time ends the run before its own time is up.
        Cap::Time => left(own, cap, now).is_some_and(|left| left <= hand_back(own)),
    };
    if is_own {
        return Some(own);
    }
    let path = tree.path(&entry.agent).into_iter();
    let path = path.filter_map(|id| tree.agent(id));
    let above = path.filter(|agent| cap != Cap::Time || agent.spawned.depth < own.spawned.depth);
    // An ancestor whose run has settled caps nothing.
    let open = above.filter(|agent| agent.open_run().is_some());
    let lefts = open.filter_map(|agent| Some((left(agent, cap, now)?, agent)));
    // The smallest rest; of two that are equal the outermost, which is the last one.
    let least = lefts.reduce(|least, next| if next.0 <= least.0 { next } else { least });
    least.map(|(_, agent)| agent)
}

/// Returns what is left of a cap of an agent's open run: tokens, millionths of a dollar or
/// milliseconds.
fn left(agent: &Agent, cap: Cap, now: u64) -> Option<u64> {
    let caps = &agent.terms().caps;
    let (most, used) = match cap {
        Cap::Tokens => (caps.tokens?, agent.spent.tokens),
        Cap::Cost => (caps.cost?.as_micros(), agent.spent.cost.as_micros()),
        Cap::Time => (
            caps.time?.as_millis(),
            now.saturating_sub(agent.tally.started.get()),
        ),
        Cap::Steps | Cap::Stall => return None,
    };
    Some(most.saturating_sub(used))
}

/// Returns what an agent keeps of its time to hand back, in milliseconds.
fn hand_back(agent: &Agent) -> u64 {
    let time = agent.terms().caps.time.unwrap_or_default();
    time.hand_back().as_millis()
}

/// Tells whether a definition sets a cap.
fn sets(own: &Caps, cap: Cap) -> bool {
    match cap {
        Cap::Steps => own.steps.is_some(),
        Cap::Tokens => own.tokens.is_some(),
        Cap::Cost => own.cost.is_some(),
        Cap::Time => own.time.is_some(),
        Cap::Stall => own.stall.is_some(),
    }
}
