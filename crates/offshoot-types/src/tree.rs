//! What a tree's log adds up to: agents, runs, queues, mail.
//!
//! A pure fold. `apply` checks every entry against what came before, so this is
//! also the list of what can never be in a log: two settlements of a run, a
//! delivery told twice, a turn with an open call behind it, a run that settles
//! before its children (R18). No flag lives only in memory: what an agent should
//! do next is derived from here (R17). Transcripts are folded elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use crate::caps::Money;
use crate::event::{Entry, Event, Origin, Parent, Role, Spawned, TurnEnd};
use crate::id::{AgentId, CallId, MessageId, Pos, RunId, RunNo, Seq, Timestamp, TurnNo};
use crate::message::{AssistantMessage, StopReason, Usage};
use crate::permission::{Grant, Layer, Need, Rule};
use crate::settlement::Settlement;
use crate::terms::Terms;

/// A tree, as its log has it so far.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pos: Pos,
    root: Option<AgentId>,
    agents: HashMap<AgentId, Agent>,
    open_runs: usize,
    grants: Vec<Grant>,
}

/// An agent, as the log has it so far.
#[derive(Clone, Debug)]
pub struct Agent {
    /// How it was born.
    pub spawned: Spawned,
    /// What it has become since.
    role: Option<Box<Role>>,
    /// What its parent had become when it was born.
    born_under: Option<Box<Role>>,
    /// The last entry of its log.
    pub seq: Seq,
    /// Its children, in the order they were spawned.
    pub children: Vec<AgentId>,
    /// Its runs; run `n` is at `n - 1`.
    pub runs: Vec<Run>,
    /// Prompts that no turn has consumed yet, first come first.
    pub queue: VecDeque<MessageId>,
    /// Settled child runs it has not been told of, in the order they settled.
    pub mail: BTreeMap<Pos, Mail>,
    /// How many of them would start a turn.
    pub waking_mail: usize,
    /// Calls without an outcome. For an order, see `open_calls`.
    calls: HashMap<CallId, OpenCall>,
    /// Children with an open run.
    pub open_children: BTreeSet<AgentId>,
    /// Turns that mail started since the last prompt.
    pub wakes: u32,
    /// How many turns have begun.
    pub turns: TurnNo,
    /// The turn that runs, if one does.
    pub turn: Option<RunningTurn>,
    /// Whether the last turn failed and nobody has asked anything since.
    pub paused: bool,
    /// What the open run has used and said.
    pub tally: Tally,
    /// What it has used since its run opened, everything below it included.
    pub spent: Spent,
    /// How large its conversation is, in tokens, as the provider counted last.
    pub context: u64,
    last_completion: Option<MessageId>,
    prompts: HashSet<MessageId>,
}

/// A settled child run that its parent has not been told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Which run.
    pub run: RunId,
    /// Whether it starts a turn of an idle parent (R17).
    pub wakes: bool,
}

/// A turn that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningTurn {
    /// Its number.
    pub turn: TurnNo,
    /// What it processes: its prompt, or the last completion before it.
    pub message: MessageId,
}

/// A call without an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// Which call.
    pub call: CallId,
    /// Its place among the calls of its message.
    pub index: usize,
    /// Whether it began to run.
    pub started: bool,
    /// The child it waits for, for a blocking `task`.
    pub child: Option<AgentId>,
    /// What it needs and nobody has decided yet.
    pub asks: Option<Vec<Need>>,
}

/// One run of an agent.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended, and where in the log; `None` while it is open.
    pub settled: Option<(Pos, Arc<Settlement>)>,
    /// Whether its parent has been told.
    pub delivered: bool,
}

/// What counts against caps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Tokens of every kind.
    pub tokens: u64,
    /// Money, as far as prices were known.
    pub cost: Money,
}

/// What the open run of an agent has used and said.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// When its first turn began.
    pub started: Timestamp,
    /// Its model requests.
    pub steps: u32,
    /// Their tokens.
    pub usage: Usage,
    /// What they cost, as far as prices were known.
    pub cost: Option<Money>,
    /// Its last text.
    pub text: Option<String>,
    /// Whether its last message had text.
    pub spoke: bool,
    /// Why its last message stopped.
    pub stop: Option<StopReason>,
    /// How its last turn ended.
    pub end: Option<TurnEnd>,
    /// Whether mail that would have woken it was written down without a turn behind it.
    pub unheard: bool,
}

impl Tally {
    /// Takes the next event of the run.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Completion { settlement, .. } => self.unheard |= settlement.status.wakes(),
            Event::TurnStarted { .. } => self.unheard = false,
            Event::Replied(message) => {
                self.steps += 1;
                self.usage += message.usage;
                if let Some(cost) = message.cost {
                    self.cost = Some(self.cost.unwrap_or_default().plus(cost));
                }
                self.stop = Some(message.stop);
                let text = message.text();
                self.spoke = text.is_some();
                self.text = text.or(self.text.take());
            }
            Event::TurnEnded { end, .. } => self.end = Some(end.clone()),
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::Settled { .. } => {}
        }
    }
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
    /// A run is told that is not settled, not a child's, told already, or has an open call for it.
    #[error("mail is told once, by the entry that consumes it")]
    Mail,
    /// A run settles twice, or within a turn, or was never opened.
    #[error("a run settles once, between turns")]
    Settle,
    /// A run settles before a child run.
    #[error("a run cannot settle while a child run is unsettled")]
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

    /// Returns the root agent; `None` before its birth.
    pub fn root(&self) -> Option<&AgentId> {
        self.root.as_ref()
    }

    /// Finds an agent.
    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// Returns how many runs of the tree are open, the root's included.
    pub fn open_runs(&self) -> usize {
        self.open_runs
    }

    /// Returns all agents, every parent before its children.
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
                .parent()
                .and_then(|parent| self.agents.get_key_value(&parent.agent));
        }
        path
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
        let open = self.agents.get(&parent.agent)?.calls.get(&parent.call)?;
        (open.child.as_ref() == Some(&run.agent)).then_some(&open.call)
    }

    /// Returns the rule of an answer that allows an agent what it needs (R22).
    pub fn granted(&self, agent: &AgentId, tool: &str, need: &Need) -> Option<&Rule> {
        let of_agent = |grant: &&Grant| self.is_below(agent, &grant.agent);
        let mut grants = self.grants.iter().filter(of_agent);
        grants.find_map(|grant| grant.allows(tool, need))
    }

    /// Tells whether an agent is another or descends from it.
    fn is_below(&self, agent: &AgentId, top: &AgentId) -> bool {
        let mut at = Some(agent);
        while let Some(id) = at {
            if id == top {
                return true;
            }
            at = self
                .agents
                .get(id)
                .and_then(|agent| Some(&agent.parent()?.agent));
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
        for run in entry.event.delivers() {
            self.check_delivery(entry, run)?;
        }
        agent.check(&entry.event)
    }

    fn check_birth(&self, entry: &Entry, spawned: &Spawned) -> Result<(), Broken> {
        let fits = match &spawned.origin {
            Origin::Session { .. } => self.root.is_none() && entry.tree.root() == &entry.agent,
            Origin::Task(parent) => self.agents.get(&parent.agent).is_some_and(|above| {
                let open = above.calls.get(&parent.call);
                open.is_some_and(|open| open.child.as_ref() == Some(&entry.agent))
            }),
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
            | Event::Settled { .. } => false,
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
            Event::TurnStarted { run, .. } => self.take_opened(&entry.agent, *run),
            Event::Settled { run, settlement } => {
                self.take_settled(entry.pos, &entry.agent, *run, settlement);
            }
            Event::Completion { .. } | Event::CallFinished { .. } => {
                for run in entry.event.delivers() {
                    self.take_delivered(&entry.agent, run);
                }
            }
            Event::Decided {
                grant: Some(grant), ..
            } => self.grants.push(grant.clone()),
            Event::Replied(message) => self.take_spent(&entry.agent, message),
            Event::Prompted(_)
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::TurnEnded { .. } => {}
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
            at = agent.parent().map(|parent| parent.agent.clone());
        }
    }

    /// The first turn of a run opens it.
    fn take_opened(&mut self, id: &AgentId, run: RunNo) {
        let Some(agent) = self.agents.get_mut(id) else {
            return;
        };
        if agent.run(run).is_some() {
            return;
        }
        agent.runs.push(Run {
            settled: None,
            delivered: false,
        });
        agent.tally = Tally::default();
        agent.spent = Spent::default();
        let above = agent.parent().map(|parent| parent.agent.clone());
        self.open_runs += 1;
        if let Some(above) = above.and_then(|id| self.agents.get_mut(&id)) {
            above.open_children.insert(id.clone());
        }
    }

    fn take_settled(&mut self, pos: Pos, id: &AgentId, run: RunNo, settlement: &Settlement) {
        let Some(agent) = self.agents.get_mut(id) else {
            return;
        };
        if let Some(open) = agent.run_mut(run) {
            open.settled = Some((pos, Arc::new(settlement.clone())));
        }
        self.open_runs -= 1;
        let above = agent.parent().map(|parent| parent.agent.clone());
        if let Some(above) = above.and_then(|id| self.agents.get_mut(&id)) {
            above.open_children.remove(id);
            let wakes = settlement.status.wakes();
            above.waking_mail += usize::from(wakes);
            let run = RunId {
                agent: id.clone(),
                run,
            };
            above.mail.insert(pos, Mail { run, wakes });
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

impl Agent {
    fn born(spawned: Spawned) -> Self {
        Self {
            spawned,
            seq: Seq::ZERO,
            children: Vec::new(),
            runs: Vec::new(),
            queue: VecDeque::new(),
            mail: BTreeMap::new(),
            waking_mail: 0,
            calls: HashMap::new(),
            open_children: BTreeSet::new(),
            wakes: 0,
            turns: TurnNo::ZERO,
            turn: None,
            paused: false,
            tally: Tally::default(),
            spent: Spent::default(),
            context: 0,
            role: None,
            born_under: None,
            last_completion: None,
            prompts: HashSet::new(),
        }
    }

    /// Returns the call that made it; `None` for a root.
    pub fn parent(&self) -> Option<&Parent> {
        match &self.spawned.origin {
            Origin::Session { .. } => None,
            Origin::Task(parent) => Some(parent),
        }
    }

    /// Finds a run by number.
    pub fn run(&self, run: RunNo) -> Option<&Run> {
        self.runs.get((run.get() as usize).checked_sub(1)?)
    }

    fn run_mut(&mut self, run: RunNo) -> Option<&mut Run> {
        self.runs.get_mut((run.get() as usize).checked_sub(1)?)
    }

    /// Returns the number of its last run; zero before the first.
    pub fn last_run(&self) -> RunNo {
        RunNo::new(u32::try_from(self.runs.len()).unwrap_or(u32::MAX))
    }

    /// Returns the run that is open, if one is.
    pub fn open_run(&self) -> Option<RunNo> {
        let last = self.last_run();
        self.run(last)?.settled.is_none().then_some(last)
    }

    /// Returns how its last run ended; `None` while one is open or before the first.
    pub fn settlement(&self) -> Option<&Arc<Settlement>> {
        self.run(self.last_run())?
            .settled
            .as_ref()
            .map(|(_, settlement)| settlement)
    }

    /// Returns what a call needs and nobody has decided yet.
    pub fn asks(&self, call: &CallId) -> Option<&[Need]> {
        self.calls.get(call)?.asks.as_deref()
    }

    /// Returns what its parent had become when it was born; `None` if nothing else than it was born
    /// as.
    pub fn born_under(&self) -> Option<&Role> {
        self.born_under.as_deref()
    }

    /// Tells whether it has become another agent since its birth.
    pub fn has_changed(&self) -> bool {
        self.role.is_some()
    }

    /// Returns the name of the manifest that it goes by now.
    pub fn definition(&self) -> &str {
        let born = &self.spawned.definition;
        self.role.as_ref().map_or(born, |role| &role.definition)
    }

    /// Returns the model that it uses now.
    pub fn model(&self) -> &str {
        let born = &self.spawned.model;
        self.role.as_ref().map_or(born, |role| &role.model)
    }

    /// Returns the layer that it adds to the permission chain now.
    pub fn layer(&self) -> &Layer {
        let born = &self.spawned.layer;
        self.role.as_ref().map_or(born, |role| &role.layer)
    }

    /// Returns the terms on which it works now.
    pub fn terms(&self) -> &Terms {
        let born = &self.spawned.terms;
        self.role.as_ref().map_or(born, |role| &role.terms)
    }

    /// Tells whether it has been asked under this message id before.
    pub fn knows_prompt(&self, id: &MessageId) -> bool {
        self.prompts.contains(id)
    }

    /// Returns the calls without an outcome, in the order of the model.
    pub fn open_calls(&self) -> Vec<&OpenCall> {
        let mut calls: Vec<_> = self.calls.values().collect();
        calls.sort_by_key(|open| open.index);
        calls
    }

    fn check(&self, event: &Event) -> Result<(), Broken> {
        match event {
            Event::Spawned(_) => Err(Broken::Birth),
            Event::Prompted(message) => holds(!self.knows_prompt(&message.id), Broken::Queue),
            Event::Completion { .. } => holds(self.turn.is_none(), Broken::Turn),
            Event::TurnStarted { run, turn, prompt } => {
                let expected = self.open_run().unwrap_or(self.last_run().next());
                holds(
                    self.turn.is_none() && *turn == self.turns.next(),
                    Broken::Turn,
                )?;
                holds(*run == expected, Broken::Settle)?;
                match prompt {
                    Some(prompt) => holds(self.queue.front() == Some(prompt), Broken::Queue),
                    None => Ok(()),
                }
            }
            Event::Became(_) => holds(self.turn.is_none(), Broken::Turn),
            Event::Steered { prompt } => {
                holds(self.turn.is_some(), Broken::Turn)?;
                holds(self.calls.is_empty(), Broken::Call)?;
                // Any of them: what the runtime says itself does not wait behind what just came.
                holds(self.queue.contains(prompt), Broken::Queue)
            }
            Event::Replied(message) => {
                holds(self.turn.is_some(), Broken::Turn)?;
                holds(self.calls.is_empty(), Broken::Call)?;
                let mut ids: Vec<_> = message.calls().map(|call| &call.id).collect();
                ids.sort();
                holds(ids.windows(2).all(|pair| pair[0] != pair[1]), Broken::Call)
            }
            Event::Asked { call, .. } => holds(
                self.calls
                    .get(call)
                    .is_some_and(|open| !open.started && open.asks.is_none()),
                Broken::Call,
            ),
            Event::Decided { call, .. } => holds(self.calls.contains_key(call), Broken::Call),
            Event::CallStarted { call, .. } => holds(
                self.calls.get(call).is_some_and(|open| !open.started),
                Broken::Call,
            ),
            Event::CallFinished { call, .. } => holds(self.calls.contains_key(call), Broken::Call),
            Event::TurnEnded { turn, .. } => {
                let running = self
                    .turn
                    .as_ref()
                    .is_some_and(|running| running.turn == *turn);
                holds(running, Broken::Turn)?;
                holds(self.calls.is_empty(), Broken::Call)
            }
            Event::Settled { run, .. } => {
                holds(
                    self.open_run() == Some(*run) && self.turn.is_none(),
                    Broken::Settle,
                )?;
                holds(self.open_children.is_empty(), Broken::Children)
            }
        }
    }

    fn take(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.tally.take(&entry.event);
        match &entry.event {
            Event::Spawned(_) | Event::Settled { .. } => {}
            Event::Asked { call, needs, .. } => {
                if let Some(open) = self.calls.get_mut(call) {
                    open.asks = Some(needs.clone());
                }
            }
            Event::Decided { call, .. } => {
                if let Some(open) = self.calls.get_mut(call) {
                    open.asks = None;
                }
            }
            Event::Prompted(message) => {
                self.queue.push_back(message.id.clone());
                self.prompts.insert(message.id.clone());
                self.paused = false;
            }
            Event::Completion { message, .. } => self.last_completion = Some(message.clone()),
            Event::Became(role) => self.role = Some(role.clone()),
            Event::Steered { prompt } => {
                self.queue.retain(|queued| queued != prompt);
                self.wakes = 0;
                if let Some(turn) = &mut self.turn {
                    turn.message = prompt.clone();
                }
            }
            Event::TurnStarted { turn, prompt, .. } => {
                if prompt.is_some() {
                    self.queue.pop_front();
                    self.wakes = 0;
                } else {
                    self.wakes += 1;
                }
                if self.tally.steps == 0 && self.tally.end.is_none() {
                    self.tally.started = entry.at;
                }
                self.turns = *turn;
                let processed = prompt.clone().or_else(|| self.last_completion.clone());
                self.turn = Some(RunningTurn {
                    turn: *turn,
                    message: processed.unwrap_or_else(|| MessageId::new("")),
                });
            }
            Event::Replied(message) => {
                // One that was cut does not say.
                if message.usage != Usage::default() {
                    self.context = message.usage.total();
                }
                self.calls = message
                    .calls()
                    .enumerate()
                    .map(|(index, call)| {
                        let call = call.id.clone();
                        (
                            call.clone(),
                            OpenCall {
                                call,
                                index,
                                started: false,
                                child: None,
                                asks: None,
                            },
                        )
                    })
                    .collect();
            }
            Event::CallStarted { call, child } => {
                if let Some(open) = self.calls.get_mut(call) {
                    open.started = true;
                    open.child.clone_from(child);
                }
            }
            Event::CallFinished { call, .. } => {
                self.calls.remove(call);
            }
            Event::TurnEnded { end, .. } => {
                self.turn = None;
                self.paused = matches!(end, TurnEnd::Failed { .. });
            }
        }
    }
}

fn holds(condition: bool, otherwise: Broken) -> Result<(), Broken> {
    if condition { Ok(()) } else { Err(otherwise) }
}
