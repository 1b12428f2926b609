//! What a tree's log adds up to: agents, runs, queues, mail.
//!
//! A pure fold. `apply` checks every entry against what came before, so this is
//! also the list of what can never be in a log: two settlements of a run, a
//! delivery told twice, a turn with an open call behind it, a run that settles
//! before its children (R18). No flag lives only in memory: what an agent should
//! do next is derived from here (R17). Transcripts are folded elsewhere.

mod agent;
mod unfinished;

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::{Entry, Event, Origin, Spawned};
use crate::id::{AgentId, CallId, MessageId, Pos, RunId, RunNo, Seq, Timestamp};
use crate::message::AssistantMessage;
use crate::permission::{Action, Decision, Grant, Need, Reach};

pub use self::agent::{Agent, Allowed, Ask, Mail, OpenCall, Run, RunningTurn, Spent, Tally};
pub use self::unfinished::{RunLimit, Unfinished};

/// A tree, as its log has it so far.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pos: Pos,
    root: Option<AgentId>,
    agents: HashMap<AgentId, Agent>,
    open_runs: usize,
    /// Helpers, in the order they were spawned. They are nobody's children.
    helpers: Vec<AgentId>,
    grants: Vec<Grant>,
    worked: Timestamp,
}

/// An entry that cannot follow what came before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {pos} of agent {agent} breaks the log: {what}")]
pub struct Violation {
    /// Where.
    pub pos: Pos,
    /// Whose log.
    pub agent: AgentId,
    /// Which rule.
    pub what: Broken,
}

/// A rule of the log that an entry broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// `pos` or `seq` is not the next.
    #[error("its place is not the next one")]
    Gap,
    /// The agent is not there, or is there already, or its parent is not there.
    #[error("the agent, its parent or its call is not there, or is there already")]
    Birth,
    /// A turn begins while one runs, or ends while none does or a call is open.
    #[error("turns do not follow each other")]
    Turn,
    /// A turn consumes a prompt that is not the first of the queue, or a prompt comes twice.
    #[error("prompts are queued once and consumed in order")]
    Queue,
    /// A call is answered twice, or was never made, or a message follows open calls.
    #[error("calls and outcomes do not pair")]
    Call,
    /// A delivery names a run that is not settled, not a child's, delivered already, or has an open call for it; or
    /// a rewind consumes mail of a child that it keeps.
    #[error("mail is told once, by the entry that consumes it")]
    Mail,
    /// A run settles twice, or within a turn, or was never opened.
    #[error("a run settles once, between turns")]
    Settle,
    /// A run settles before a child run, or a rewind drops a child that has not ended, or under which
    /// a run is open.
    #[error("a run cannot settle, nor a child be dropped, while a child run is unsettled")]
    Children,
}

impl Tree {
    /// Folds a log from its beginning.
    pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Self, Violation> {
        let mut tree = Self::default();
        for entry in entries {
            tree.apply(entry)?;
        }
        Ok(tree)
    }

    /// Returns the position of the last entry.
    pub fn pos(&self) -> Pos {
        self.pos
    }

    /// Returns when an agent last gave a sign of work: what it said, asked, began or was allowed.
    ///
    /// What is said to an agent is none, nor is what recovery writes, so this is when work stopped in
    /// a tree that nobody runs.
    pub fn worked(&self) -> Timestamp {
        self.worked
    }

    /// Returns the last entry that was copied from another session; zero if none was.
    pub fn copied_until(&self) -> Pos {
        let root = self.root.as_ref().and_then(|root| self.agents.get(root));
        match root.map(|root| &root.spawned.origin) {
            Some(Origin::Session {
                copy: Some(copied), ..
            }) => copied.until_pos.unwrap_or(Pos::new(copied.until.get())),
            _ => Pos::ZERO,
        }
    }

    /// Returns the root agent; `None` before its birth.
    pub fn root(&self) -> Option<&AgentId> {
        self.root.as_ref()
    }

    /// Finds an agent.
    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// Returns how many runs of the tree are open, the root's included, the helpers' not.
    pub fn open_runs(&self) -> usize {
        self.open_runs
    }

    /// Returns the helpers, in the order they were spawned.
    pub fn helpers(&self) -> &[AgentId] {
        &self.helpers
    }

    /// Returns the helpers whose runs are open.
    pub fn open_helpers(&self) -> impl Iterator<Item = &AgentId> {
        let open = |id: &&AgentId| {
            self.agents
                .get(*id)
                .is_some_and(|of| of.open_run().is_some())
        };
        self.helpers.iter().filter(open)
    }

    /// Returns all agents but the helpers, every parent before its children.
    pub fn walk(&self) -> Vec<&AgentId> {
        self.root
            .as_ref()
            .map_or_else(Vec::new, |root| self.below(root))
    }

    /// Returns an agent and its descendants, every parent before its children.
    pub fn below<'a>(&'a self, top: &'a AgentId) -> Vec<&'a AgentId> {
        let mut order = Vec::new();
        let mut stack = vec![top];
        while let Some(id) = stack.pop() {
            order.push(id);
            if let Some(agent) = self.agents.get(id) {
                stack.extend(agent.children.iter().rev());
            }
        }
        order
    }

    /// Returns an agent and everybody above it, up to the root.
    pub fn path<'a>(&'a self, id: &'a AgentId) -> Vec<&'a AgentId> {
        let mut path = Vec::new();
        let mut at = self.agents.get_key_value(id);
        while let Some((id, agent)) = at {
            path.push(id);
            at = agent
                .spawned
                .above()
                .and_then(|above| self.agents.get_key_value(above));
        }
        path
    }

    /// Tells whether agents may neither be started nor continued by an agent: a prompt that it or an
    /// agent above it works on forbids it (`Delegation::Disable`).
    pub fn is_delegation_disabled(&self, id: &AgentId) -> bool {
        let path = self.path(id).into_iter();
        let mut agents = path.filter_map(|id| self.agents.get(id));
        agents.any(|agent| agent.open_run().is_some() && agent.tally.no_delegation)
    }

    /// Finds a run.
    pub fn run(&self, id: &RunId) -> Option<&Run> {
        self.agents.get(&id.agent)?.run(id.run)
    }

    /// Returns the open call of the parent that waits for this run, if one does.
    ///
    /// Only a first run has a call; a later run of the same agent is told as a completion.
    pub fn waiting_call(&self, run: &RunId) -> Option<&CallId> {
        if run.run != RunNo::new(1) {
            return None;
        }
        let parent = self.agents.get(&run.agent)?.parent()?;
        let open = self
            .agents
            .get(&parent.agent)?
            .calls
            .get(parent.made_by()?)?;
        (open.child.as_ref() == Some(&run.agent)).then_some(&open.call)
    }

    /// Returns what an answer that was given before decides of what an agent needs (R22), with the
    /// scope of that answer.
    pub fn granted(
        &self,
        agent: &AgentId,
        tool: &str,
        need: &Need,
        reach: Reach,
    ) -> Option<Decision> {
        let mut grants = self.grants_of(agent);
        let allows = |grant| Some((grant, Grant::allows(grant, tool, need, reach)?));
        let (grant, rule) = grants.find_map(allows)?;
        let is_of_root = self.root.as_ref() == Some(&grant.agent);
        let layer = match self.agents.get(&grant.agent) {
            _ if is_of_root && grant.role.is_none() => Grant::SESSION.to_owned(),
            Some(above) if grant.agent != *agent => {
                format!("{} {} above it", Grant::ABOVE, above.definition())
            }
            Some(_) | None => Grant::AGENT.to_owned(),
        };
        Some(Decision {
            action: Action::Allow,
            layer,
            rule: Some(rule.clone()),
        })
    }

    /// Returns the answers that allow an agent something wherever it is asked about, the first first.
    pub fn grants(&self, agent: &AgentId) -> Vec<&Grant> {
        self.grants_of(agent).collect()
    }

    fn grants_of(&self, agent: &AgentId) -> impl Iterator<Item = &Grant> {
        let of_agent = move |grant: &&Grant| {
            let holder = self.agents.get(&grant.agent);
            let role = grant.role.as_deref();
            let is_still = role.is_none_or(|role| holder.is_some_and(|it| it.definition() == role));
            is_still && self.is_below(agent, &grant.agent)
        };
        self.grants.iter().filter(of_agent)
    }

    /// Takes an answer that allows something, unless one for the same agent does already.
    fn take_grant(&mut self, grant: &Grant) {
        let allows = |held: &Grant| grant.rules.iter().all(|rule| held.rules.contains(rule));
        let for_same = |held: &&Grant| {
            held.agent == grant.agent && (held.role.is_none() || held.role == grant.role)
        };
        let mut held = self.grants.iter().filter(for_same);
        if !held.any(allows) {
            self.grants.push(grant.clone());
        }
    }

    /// Tells whether an agent is another or descends from it.
    fn is_below(&self, agent: &AgentId, top: &AgentId) -> bool {
        let mut at = Some(agent);
        while let Some(id) = at {
            if id == top {
                return true;
            }
            at = self.agents.get(id).and_then(|agent| agent.spawned.above());
        }
        false
    }

    /// Takes the next entry, or says which rule it breaks and stays as it was.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Violation> {
        self.check(entry).map_err(|what| Violation {
            pos: entry.pos,
            agent: entry.agent.clone(),
            what,
        })?;
        self.take(entry);
        Ok(())
    }

    fn check(&self, entry: &Entry) -> Result<(), Broken> {
        if entry.pos != self.pos.next() {
            return Err(Broken::Gap);
        }
        if let Event::Spawned(spawned) = &entry.event {
            return self.check_birth(entry, spawned);
        }
        let agent = self.agents.get(&entry.agent).ok_or(Broken::Birth)?;
        if entry.seq != agent.seq.next() {
            return Err(Broken::Gap);
        }
        let is_copied = entry.seq <= agent.spawned.copies();
        for run in entry.event.delivers() {
            // What a copy says of children that it does not have is about the other session's.
            if !is_copied || self.agents.contains_key(&run.agent) {
                self.check_delivery(entry, run)?;
            }
        }
        if let Event::Rewound {
            drops, consumes, ..
        } = &entry.event
        {
            self.check_dropped(&entry.agent, drops, consumes)?;
        }
        agent.check(&entry.event)
    }

    /// What a rewind may take with it (R8): children of its own, each ended with everything below it,
    /// and no mail but theirs, of which none is left to be delivered.
    fn check_dropped(
        &self,
        of: &AgentId,
        drops: &[AgentId],
        consumes: &[RunId],
    ) -> Result<(), Broken> {
        if !consumes.iter().all(|run| drops.contains(&run.agent)) {
            return Err(Broken::Mail);
        }
        let is_open = |id: &&AgentId| {
            let agent = self.agents.get(*id);
            agent.is_some_and(|agent| agent.open_run().is_some())
        };
        let gone = |id: &AgentId| {
            let parent = self.agents.get(id).and_then(Agent::parent);
            let own = parent.is_some_and(|parent| parent.agent == *of);
            own && !self.below(id).iter().any(is_open)
        };
        let mail = self.agents.get(of).into_iter();
        let mut mail = mail.flat_map(|agent| agent.mail.values());
        let told = |run: &RunId| !drops.contains(&run.agent) || consumes.contains(run);
        if drops.iter().all(gone) && mail.all(|mail| told(&mail.run)) {
            Ok(())
        } else {
            Err(Broken::Children)
        }
    }

    fn check_birth(&self, entry: &Entry, spawned: &Spawned) -> Result<(), Broken> {
        let fits = match &spawned.origin {
            Origin::Session { .. } => self.root.is_none() && entry.tree.root() == &entry.agent,
            Origin::Task(parent) if parent.host => {
                let above = self.agents.get(&parent.agent);
                above.is_some_and(|above| above.spawned.helper().is_none())
            }
            Origin::Task(parent) => self.agents.get(&parent.agent).is_some_and(|above| {
                let open = above.calls.get(&parent.call);
                open.is_some_and(|open| open.child.as_ref() == Some(&entry.agent))
            }),
            Origin::Helper(helper) => self.agents.contains_key(&helper.of),
        };
        if entry.seq != Seq::new(1) || self.agents.contains_key(&entry.agent) || !fits {
            return Err(Broken::Birth);
        }
        Ok(())
    }

    fn check_delivery(&self, entry: &Entry, run: &RunId) -> Result<(), Broken> {
        let child = self.agents.get(&run.agent).ok_or(Broken::Mail)?;
        let told = child.run(run.run).ok_or(Broken::Mail)?;
        let is_mail = told.settled.is_some() && !told.delivered;
        let is_ours = child
            .parent()
            .is_some_and(|parent| parent.agent == entry.agent);
        let form_fits = match &entry.event {
            Event::Completion { .. } => self.waiting_call(run).is_none(),
            Event::CallFinished { call, .. } => {
                self.waiting_call(run).is_none_or(|open| open == call)
            }
            Event::Rewound { .. } => self.waiting_call(run).is_none(),
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::TurnStarted { .. }
            | Event::Replied(_)
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::TurnEnded { .. }
            | Event::Settled { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_) => false,
        };
        if is_mail && is_ours && form_fits {
            Ok(())
        } else {
            Err(Broken::Mail)
        }
    }

    fn take(&mut self, entry: &Entry) {
        self.pos = entry.pos;
        match &entry.event {
            Event::Spawned(spawned) => self.take_birth(&entry.agent, spawned),
            Event::TurnStarted { run, prompt, .. } => {
                self.take_opened(&entry.agent, *run, prompt.as_ref());
            }
            Event::Settled { run, .. } => self.take_settled(entry, *run),
            Event::Completion { .. } | Event::CallFinished { .. } => {
                for run in entry.event.delivers() {
                    self.take_delivered(&entry.agent, run);
                }
            }
            Event::Decided {
                grant: Some(grant), ..
            } => self.take_grant(grant),
            Event::Rewound {
                drops, consumes, ..
            } => self.take_rewound(&entry.agent, drops, consumes),
            Event::Replied(message) => self.take_spent(&entry.agent, message),
            Event::Prompted(_)
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::TurnEnded { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_) => {}
        }
        if entry.event.is_work() {
            self.worked = entry.at;
        }
        if let Some(agent) = self.agents.get_mut(&entry.agent) {
            agent.take(entry);
        }
    }

    fn take_birth(&mut self, id: &AgentId, spawned: &Spawned) {
        let mut born = Agent::born(spawned.clone());
        match &spawned.origin {
            Origin::Session { .. } => self.root = Some(id.clone()),
            Origin::Task(parent) => {
                if let Some(above) = self.agents.get_mut(&parent.agent) {
                    above.children.push(id.clone());
                    born.born_under.clone_from(&above.role);
                }
            }
            Origin::Helper(_) => self.helpers.push(id.clone()),
        }
        self.agents.insert(id.clone(), born);
    }

    /// What an agent uses counts for every agent above it.
    fn take_spent(&mut self, id: &AgentId, message: &AssistantMessage) {
        let mut at = Some(id.clone());
        while let Some(agent) = at.and_then(|id| self.agents.get_mut(&id)) {
            let spent = &mut agent.spent;
            spent.tokens = spent.tokens.saturating_add(message.usage.total());
            spent.cost = spent.cost.plus(message.cost.unwrap_or_default());
            at = agent.spawned.above().cloned();
        }
    }

    /// The first turn of a run opens it.
    fn take_opened(&mut self, id: &AgentId, run: RunNo, prompt: Option<&MessageId>) {
        let Some(agent) = self.agents.get_mut(id) else {
            return;
        };
        if agent.run(run).is_some() {
            return;
        }
        let quiet = agent.is_quiet(run, prompt);
        agent.runs.push(Run {
            settled: None,
            delivered: false,
            untold: false,
            quiet,
        });
        agent.tally = Tally {
            unread: std::mem::take(&mut agent.tally.unread),
            ..Tally::default()
        };
        agent.spent = Spent::default();
        if agent.spawned.helper().is_some() {
            return;
        }
        let above = agent.parent().map(|parent| parent.agent.clone());
        let holds = agent.holds_parent(run);
        self.open_runs += 1;
        if let Some(above) = above.and_then(|id| self.agents.get_mut(&id)) {
            above.open_children.insert(id.clone());
            above.held_by += usize::from(holds);
        }
    }

    fn take_settled(&mut self, entry: &Entry, run: RunNo) {
        let (pos, id) = (entry.pos, &entry.agent);
        let (
            Event::Settled {
                settlement, untold, ..
            },
            Some(agent),
        ) = (&entry.event, self.agents.get_mut(id))
        else {
            return;
        };
        let hidden = agent.hidden;
        let holds = agent.holds_parent(run);
        let quiet = agent.run(run).is_some_and(|run| run.quiet);
        if let Some(open) = agent.run_mut(run) {
            open.settled = Some((pos, Arc::new(settlement.clone())));
            // Nobody is told of what a rewind has hidden, hooks excepted.
            open.delivered = hidden;
            open.untold = *untold;
        }
        if agent.spawned.helper().is_some() {
            return;
        }
        self.open_runs -= 1;
        let above = agent.parent().map(|parent| parent.agent.clone());
        if let Some(above) = above.and_then(|id| self.agents.get_mut(&id)) {
            above.open_children.remove(id);
            above.held_by -= usize::from(holds);
            if hidden {
                return;
            }
            let wakes = settlement.status.wakes() && !quiet;
            above.waking_mail += usize::from(wakes);
            let run = RunId {
                agent: id.clone(),
                run,
            };
            above.mail.insert(pos, Mail { run, wakes });
        }
    }

    /// Whatever the children of hidden messages still do is told nobody.
    fn take_rewound(&mut self, of: &AgentId, drops: &[AgentId], consumes: &[RunId]) {
        for run in consumes {
            self.take_delivered(of, run);
        }
        for child in drops {
            if let Some(child) = self.agents.get_mut(child) {
                child.hidden = true;
            }
        }
    }

    fn take_delivered(&mut self, to: &AgentId, run: &RunId) {
        let Some(child) = self.agents.get_mut(&run.agent) else {
            return;
        };
        let Some(told) = child.run_mut(run.run) else {
            return;
        };
        told.delivered = true;
        let settled_at = told.settled.as_ref().map(|(pos, _)| *pos);
        if let Some(agent) = self.agents.get_mut(to)
            && let Some(mail) = settled_at.and_then(|pos| agent.mail.remove(&pos))
        {
            agent.waking_mail -= usize::from(mail.wakes);
        }
    }
}
