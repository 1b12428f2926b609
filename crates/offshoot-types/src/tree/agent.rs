//! One agent of a tree, as its own entries have it so far.
//!
//! What concerns more than one agent (births, deliveries, what counts upwards) is
//! the tree's business; here is what can be told from the agent's own log.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::Broken;
use crate::caps::Money;
use crate::client_tool::ClientTool;
use crate::event::{Entry, Event, Hooked, Parent, Role, RoleChoice, Spawned, TurnEnd};
use crate::hook::Point;
use crate::id::{AgentId, CallId, MessageId, Pos, RunId, RunNo, Seq, Timestamp, TurnNo};
use crate::json::RawJson;
use crate::message::{AssistantMessage, Author, Call, Delegation, StopReason, Usage, UserMessage};
use crate::permission::{Action, Decision, Layer, Need};
use crate::question::Question;
use crate::settlement::Settlement;
use crate::terms::Terms;

/// An agent, as the log has it so far.
#[derive(Clone, Debug)]
pub struct Agent {
    /// How it was born.
    pub spawned: Spawned,
    /// What it has become since.
    pub(super) role: Option<Box<Role>>,
    /// What it was before each message that made it something else.
    former_roles: Vec<(Option<MessageId>, Option<Box<Role>>)>,
    /// What its parent had become when it was born.
    pub(super) born_under: Option<Box<Role>>,
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
    pub(super) calls: HashMap<CallId, OpenCall>,
    /// Children with an open run.
    pub open_children: BTreeSet<AgentId>,
    /// How many of them the host waits for: while there are any, no turn begins.
    pub held_by: usize,
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
    /// How large its conversation is, in tokens, as the provider counted last; 0 if it has not.
    pub context: u64,
    /// What its session is called, and by whom, if anybody has said.
    pub title: Option<(String, Author)>,
    /// What happened in its session, if that was written down.
    pub summary: Option<String>,
    /// The tools that clients of its session carry out, if it is a root.
    pub client_tools: Arc<[ClientTool]>,
    /// How often they were set.
    pub client_tools_set: u64,
    /// What a client wants it to be from its next turn on, until that turn begins.
    pub role_choice: Option<RoleChoice>,
    /// Whether a rewind of its parent has hidden the call that made it.
    pub hidden: bool,
    pub(super) last_completion: Option<MessageId>,
    pub(super) prompts: HashSet<MessageId>,
    /// Those of them that came from its parent's model, of a child that the host waits for.
    parent_prompts: HashSet<MessageId>,
    /// What prompts ask of their run that no turn has consumed yet. A prompt of a person is here also if
    /// it asks for nothing, since it ends what the prompt before asked for.
    demands: BTreeMap<MessageId, Demands>,
}

/// What a prompt asks of the run that takes it up.
#[derive(Clone, Debug)]
struct Demands {
    output_schema: Option<RawJson>,
    no_delegation: bool,
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
    /// What it waits to be told.
    pub asks: Option<Ask>,
    /// What it has asked and was allowed. It keeps that until it starts, also over a crash.
    pub allowed: Option<Allowed>,
}

impl OpenCall {
    /// Returns what it asks, or has asked and was allowed; `None` if no person was asked about it.
    pub fn asked(&self) -> Option<&Ask> {
        let allowed = self.allowed.as_ref().map(|allowed| &allowed.ask);
        self.asks.as_ref().or(allowed)
    }
}

/// What a call waits to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// What it needs and nobody has allowed yet; empty for questions.
    pub needs: Vec<Need>,
    /// What its agent wants to know; empty for a permission.
    pub questions: Vec<Question>,
    /// When it is too late to answer.
    pub deadline: Option<Timestamp>,
    /// Whether a client has to carry the call out, which may run.
    pub waits_for_client: bool,
}

/// What a call has asked, and the decision that allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// What it has asked.
    pub ask: Ask,
    /// Who has allowed it.
    pub by: Decision,
}

/// One run of an agent.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended, and where in the log; `None` while it is open.
    pub settled: Option<(Pos, Arc<Settlement>)>,
    /// Whether its parent has been told.
    pub delivered: bool,
    /// Whether hooks have still to be told that it is over.
    pub untold: bool,
    /// Whether its end starts no turn of the parent: the host waits for it, and not the parent.
    pub quiet: bool,
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
    /// The message it is of.
    pub said: Option<MessageId>,
    /// Whether its last message had text.
    pub spoke: bool,
    /// Why its last message stopped.
    pub stop: Option<StopReason>,
    /// How its last turn ended.
    pub end: Option<TurnEnd>,
    /// Whether mail that would have woken it was written down without a turn behind it.
    pub unheard: bool,
    /// How many of its calls needed an answer that nobody was there to give.
    pub unanswered: u32,
    /// How often hooks have kept it from ending.
    pub kept: u32,
    /// Whether hooks have been told that it ends, and it has done nothing since.
    pub told: bool,
    /// Child runs that the agent was told of and that its model has not answered to yet. The next run
    /// goes on with them.
    pub unread: Vec<RunId>,
    /// What the answer has to fit, if the message says so that is being answered.
    pub output_schema: Option<RawJson>,
    /// Whether the prompt that is being answered forbids that agents start or continue others.
    pub no_delegation: bool,
}

impl Tally {
    /// Takes the next event of the run.
    pub fn take(&mut self, event: &Event) {
        match event {
            // The host reads what it waits for; the agent may never be asked about it.
            Event::Completion { quiet: true, .. } => {}
            Event::Completion {
                run, settlement, ..
            } => {
                self.unheard |= settlement.status.wakes();
                self.unread.push(run.clone());
            }
            Event::CallFinished { delivers, .. } => self.unread.extend_from_slice(delivers),
            Event::TurnStarted { .. } => {
                self.unheard = false;
                self.told = false;
            }
            Event::Hooked(hooked) => {
                self.kept += u32::from(hooked.kept_at_work());
                self.told |= hooked.point.is_end_of_run() && !hooked.kept_at_work();
            }
            // No model has read or said anything.
            Event::Replied(message) if message.by_runtime => self.told = false,
            Event::Replied(message) => {
                self.told = false;
                self.unread.clear();
                self.steps += 1;
                self.usage += message.usage;
                if let Some(cost) = message.cost {
                    self.cost = Some(self.cost.unwrap_or_default().plus(cost));
                }
                self.stop = Some(message.stop);
                let text = message.text();
                self.spoke = text.is_some();
                if text.is_some() {
                    self.text = text;
                    self.said = Some(message.id.clone());
                }
            }
            // What was taken back is nobody's answer.
            Event::Rewound { hides, .. } => {
                if self.said.as_ref().is_some_and(|said| hides.contains(said)) {
                    self.text = None;
                    self.said = None;
                    self.spoke = false;
                    self.stop = None;
                }
            }
            Event::TurnEnded { end, .. } => self.end = Some(end.clone()),
            Event::Decided { decision, .. } => {
                self.unanswered += u32::from(decision.action == Action::Ask);
            }
            // One hook may have let it end that another keeps at work: then it is spoken to.
            Event::Prompted(_) | Event::Steered { .. } => self.told = false,
            Event::Spawned(_)
            | Event::Became(_)
            | Event::Asked { .. }
            | Event::CallStarted { .. }
            | Event::Settled { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Compacted(_) => {}
        }
    }
}

impl Agent {
    pub(super) fn born(spawned: Spawned) -> Self {
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
            held_by: 0,
            wakes: 0,
            turns: TurnNo::ZERO,
            turn: None,
            paused: false,
            tally: Tally::default(),
            spent: Spent::default(),
            context: 0,
            title: None,
            summary: None,
            client_tools: Arc::from([]),
            client_tools_set: 0,
            role_choice: None,
            hidden: false,
            role: None,
            former_roles: Vec::new(),
            born_under: None,
            last_completion: None,
            prompts: HashSet::new(),
            parent_prompts: HashSet::new(),
            demands: BTreeMap::new(),
        }
    }

    /// Returns the call or the order that made it; `None` for a root and for a helper.
    pub fn parent(&self) -> Option<&Parent> {
        self.spawned.parent()
    }

    /// Tells whether the host waits for a run, so that the parent begins no turn before it has ended:
    /// the first run of a child that was started so.
    pub(super) fn holds_parent(&self, run: RunNo) -> bool {
        let awaited = self.parent().is_some_and(Parent::is_awaited_by_host);
        awaited && run == RunNo::new(1)
    }

    /// Tells whether the end of a run starts no turn of the parent: of a child that the host waits for,
    /// every run that the parent's model has not asked for.
    pub(super) fn is_quiet(&self, run: RunNo, prompt: Option<&MessageId>) -> bool {
        let awaited = self.parent().is_some_and(Parent::is_awaited_by_host);
        let asked = prompt.is_some_and(|prompt| self.parent_prompts.contains(prompt));
        self.holds_parent(run) || (awaited && !asked)
    }

    /// Finds a run by number.
    pub fn run(&self, run: RunNo) -> Option<&Run> {
        self.runs.get((run.get() as usize).checked_sub(1)?)
    }

    pub(super) fn run_mut(&mut self, run: RunNo) -> Option<&mut Run> {
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

    /// Returns how its last run ended if hooks have still to be told of it.
    ///
    /// Of an earlier run it is too late: whoever began the next one knew of nobody to tell.
    pub fn untold(&self) -> Option<&Arc<Settlement>> {
        let untold = self.run(self.last_run())?.untold;
        self.settlement().filter(|_| untold)
    }

    /// Returns how its last run ended; `None` while one is open or before the first.
    pub fn settlement(&self) -> Option<&Arc<Settlement>> {
        self.run(self.last_run())?
            .settled
            .as_ref()
            .map(|(_, settlement)| settlement)
    }

    /// Returns what a call waits to be told.
    pub fn asks(&self, call: &CallId) -> Option<&Ask> {
        self.calls.get(call)?.asks.as_ref()
    }

    /// Returns a call that is open.
    pub fn open_call(&self, call: &CallId) -> Option<&OpenCall> {
        self.calls.get(call)
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

    /// Returns that model if it was chosen with a message, and so holds on.
    pub fn chosen_model(&self) -> Option<&str> {
        let role = self.role.as_ref().filter(|role| role.model_chosen);
        role.map(|role| role.model.as_str())
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

    pub(super) fn check(&self, event: &Event) -> Result<(), Broken> {
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
            Event::ClientTools { .. } | Event::RoleChosen(_) => {
                holds(self.spawned.is_root(), Broken::Birth)
            }
            Event::Titled { .. } | Event::Summarised { .. } | Event::Hooked(_) => Ok(()),
            Event::Compacted(_) => holds(self.calls.is_empty(), Broken::Call),
            Event::Rewound { .. } => holds(self.turn.is_none(), Broken::Turn),
        }
    }

    pub(super) fn take(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.tally.take(&entry.event);
        match &entry.event {
            Event::Spawned(_) | Event::Settled { .. } => {}
            Event::Hooked(hooked) => self.take_hooked(hooked),
            Event::Asked {
                call,
                needs,
                questions,
                deadline,
                waits_for_client,
                ..
            } => {
                if let Some(open) = self.calls.get_mut(call) {
                    open.asks = Some(Ask {
                        needs: needs.clone(),
                        questions: questions.clone(),
                        deadline: *deadline,
                        waits_for_client: *waits_for_client,
                    });
                }
            }
            Event::Decided { call, decision, .. } => {
                if let Some(open) = self.calls.get_mut(call) {
                    let by = decision.clone();
                    match (open.asks.take(), decision.action) {
                        (Some(ask), Action::Allow) => open.allowed = Some(Allowed { ask, by }),
                        (None, Action::Allow) => {}
                        (_, Action::Ask | Action::Deny) => open.allowed = None,
                    }
                }
            }
            Event::Prompted(message) => self.take_prompt(message),
            Event::Completion { message, .. } => self.last_completion = Some(message.clone()),
            Event::Became(role) => {
                let by = self
                    .queue
                    .front()
                    .filter(|_| !self.is_chosen(role))
                    .cloned();
                let former = self.role.replace(role.clone());
                self.former_roles.push((by, former));
            }
            Event::Steered { prompt } => {
                self.queue.retain(|queued| queued != prompt);
                self.wakes = 0;
                if let Some(turn) = &mut self.turn {
                    turn.message = prompt.clone();
                }
                // What is decided when a turn begins stays as it is.
                let demands = self.demands.remove(prompt);
                if let Some(schema) = demands.and_then(|demands| demands.output_schema) {
                    self.tally.output_schema = Some(schema);
                }
            }
            Event::TurnStarted { turn, prompt, .. } => {
                self.role_choice = None;
                if let Some(prompt) = prompt {
                    self.queue.pop_front();
                    self.wakes = 0;
                    if let Some(demands) = self.demands.remove(prompt) {
                        self.tally.output_schema = demands.output_schema;
                        self.tally.no_delegation = demands.no_delegation;
                    }
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
            Event::Replied(message) => self.take_reply(message),
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
            Event::Titled { title, by } => self.title = Some((title.clone(), by.clone())),
            Event::ClientTools { tools } => {
                self.client_tools = tools.as_slice().into();
                self.client_tools_set += 1;
            }
            Event::RoleChosen(choice) => self.take_choice(choice),
            Event::Summarised { summary } => self.summary = Some(summary.clone()),
            // How large it is now nobody has counted yet.
            Event::Compacted(_) => self.context = 0,
            Event::Rewound { hides, .. } => self.take_back(hides),
        }
    }

    /// Queues a prompt, and notes what it asks of its run.
    fn take_prompt(&mut self, message: &UserMessage) {
        let id = &message.id;
        self.queue.push_back(id.clone());
        self.prompts.insert(id.clone());
        let awaited = self.parent().is_some_and(Parent::is_awaited_by_host);
        if awaited && message.from == Author::Parent {
            self.parent_prompts.insert(id.clone());
        }
        let demands = Demands {
            output_schema: message.output_schema.clone(),
            no_delegation: message.delegation == Some(Delegation::Disable),
        };
        if message.from.is_human() || demands.output_schema.is_some() {
            self.demands.insert(id.clone(), demands);
        }
        self.paused = false;
    }

    /// Notes what a client wants it to be. A model that was set for another agent is dropped.
    fn take_choice(&mut self, choice: &RoleChoice) {
        let RoleChoice { agent, model } = self.role_choice.take().unwrap_or_default();
        let same = |named: &String| named == agent.as_deref().unwrap_or(self.definition());
        let keeps_model = choice.agent.as_ref().is_none_or(same);
        self.role_choice = Some(RoleChoice {
            model: choice.model.clone().or(model.filter(|_| keeps_model)),
            agent: choice.agent.clone().or(agent),
        });
    }

    /// Tells whether a client has set the role that it has from here on, rather than a message.
    fn is_chosen(&self, role: &Role) -> bool {
        let is_it =
            |chosen: &Option<String>, it: &String| chosen.as_ref().is_none_or(|one| one == it);
        let choice = self.role_choice.as_ref();
        choice.is_some_and(|choice| {
            is_it(&choice.agent, &role.definition) && is_it(&choice.model, &role.model)
        })
    }

    /// Notes the calls of a message, and how large the conversation is.
    fn take_reply(&mut self, message: &AssistantMessage) {
        // One that was cut does not say, and a guess is only better than nothing.
        let said = !message.estimated || self.context == 0;
        if message.usage != Usage::default() && said {
            self.context = message.usage.total();
        }
        let open = |(index, call): (usize, &Call)| OpenCall {
            call: call.id.clone(),
            index,
            started: false,
            child: None,
            asks: None,
            allowed: None,
        };
        let calls = message.calls().enumerate().map(open);
        self.calls = calls.map(|open| (open.call.clone(), open)).collect();
    }

    /// Notes that hooks have been told of the end of the last run, if that is over.
    fn take_hooked(&mut self, hooked: &Hooked) {
        if hooked.point == Point::SubagentStop
            && self.open_run().is_none()
            && let Some(told) = self.run_mut(self.last_run())
        {
            told.untold = false;
        }
    }

    /// Forgets what hidden messages have brought about.
    fn take_back(&mut self, hides: &[MessageId]) {
        self.queue.retain(|queued| !hides.contains(queued));
        self.demands.retain(|queued, _| !hides.contains(queued));
        self.paused &= !self.queue.is_empty();
        // A message that is taken back brings nobody in.
        let is_hidden =
            |message: &Option<MessageId>| message.as_ref().is_some_and(|id| hides.contains(id));
        while let Some((_, former)) = self.former_roles.pop_if(|(by, _)| is_hidden(by)) {
            self.role = former;
        }
        self.context = 0;
    }
}

fn holds(condition: bool, otherwise: Broken) -> Result<(), Broken> {
    if condition { Ok(()) } else { Err(otherwise) }
}
