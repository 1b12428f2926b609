//! The fold: entries in, notifications out.
//!
//! What is the same in both forms stands here: words, calls and lists of an agent,
//! at the place where its form shows them. What differs, a child itself, is in
//! `sessions` and `flat`. The same entries give the same notifications.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::caps::Money;
use offshoot_types::event::{Entry, Event, Origin, Parent, Spawned, TurnEnd};
use offshoot_types::id::{AgentId, CallId, MessageId, RunId, RunNo, TreeId};
use offshoot_types::message::{AssistantMessage, Author, UserMessage};
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::question::Question;
use offshoot_types::settlement::Settlement;

use super::agent::{Agent, OpenCall};
use super::asks::Ask;
use super::tool::{self, TASK};
use super::wire::{Cost, Meta, Notification, State, ToolCallUpdate, ToolStatus, Update};
use super::{Form, Transcripts, flat, said, sessions};

/// Folds the log of one tree into notifications.
pub struct Fold {
    /// The agent whose session is shown, with everything below it.
    top: AgentId,
    is_view: bool,
    form: Form,
    workspace: String,
    agents: BTreeMap<AgentId, Agent>,
    /// Agents in the order of their births: parents first.
    order: Vec<AgentId>,
    /// Children that were taken back.
    dropped: BTreeSet<AgentId>,
    /// How runs ended that have not been told to their parents.
    settled: BTreeMap<(AgentId, RunNo), Settlement>,
    /// What all agents have cost, as far as prices were known.
    cost: Option<Money>,
}

/// A piece of a message that is not in the log yet.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Whose message.
    pub agent: &'a AgentId,
    /// The id it will be committed under.
    pub message: &'a MessageId,
    /// What kind of text.
    pub kind: PieceKind,
    /// How many bytes of that kind came before.
    pub offset: usize,
    /// The piece.
    pub text: &'a str,
}

/// What kind of text a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PieceKind {
    /// Thinking.
    Thought,
    /// Words for the reader.
    Text,
}

/// Whether somebody runs the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// What the log says is so.
    Live,
    /// Nobody does: what has not ended is not known (rule 9).
    Unwatched,
}

/// Where a form shows what an agent does.
struct Place {
    session: AgentId,
    meta: Option<Meta>,
    /// Whether its words are shown.
    words: bool,
}

impl Fold {
    /// A fold of a log from its beginning.
    pub fn new(tree: TreeId, form: Form) -> Self {
        Self {
            top: tree.root().clone(),
            is_view: false,
            form,
            workspace: String::new(),
            agents: BTreeMap::new(),
            order: Vec::new(),
            dropped: BTreeSet::new(),
            settled: BTreeMap::new(),
            cost: None,
        }
    }

    /// A fold that shows the session of a child, of the log of its tree.
    pub(super) fn view(child: AgentId, tree: TreeId, form: Form) -> Self {
        Self {
            top: child,
            is_view: true,
            ..Self::new(tree, form)
        }
    }

    /// Takes the next entry and returns what it tells.
    pub fn entry(&mut self, entry: &Entry) -> Vec<Notification> {
        let mut told = self.take(entry);
        if self.is_view {
            // In the flat form everything is on one session, so the agent decides.
            let is_shown = self.is_at_or_below(&entry.agent, &self.top);
            told.retain(|one| is_shown && self.is_at_or_below(&one.session_id, &self.top));
        }
        told
    }

    fn take(&mut self, entry: &Entry) -> Vec<Notification> {
        let agent = &entry.agent;
        match &entry.event {
            // Nobody is shown what the runtime has done for itself.
            Event::Spawned(spawned) if spawned.helper().is_some() => Vec::new(),
            Event::Spawned(spawned) => self.born(agent, spawned),
            Event::Prompted(message) => self.prompted(agent, message),
            Event::Completion {
                run, settlement, ..
            } => self.told(agent, run, settlement),
            Event::TurnStarted { run, prompt, .. } => {
                self.turn_started(agent, *run, prompt.as_ref())
            }
            Event::Steered { prompt } => self.steered(agent, prompt),
            // Which agent works in a session is the face's to tell.
            Event::Became(_) => Vec::new(),
            Event::Titled { title, .. } => self.titled(agent, title),
            // Clients that take these have to say so, and none has been asked yet.
            Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Compacted(_)
            | Event::Hooked(_) => Vec::new(),
            Event::Rewound { hides, drops, .. } => {
                // What waited waits no longer; there is no update that takes words back.
                self.dropped.extend(drops.iter().cloned());
                if let Some(agent) = self.agents.get_mut(agent) {
                    agent.queued.retain(|id, _| !hides.contains(id));
                }
                Vec::new()
            }
            Event::Replied(message) => self.replied(agent, message),
            // The result of a client tool is another client's to return.
            Event::Asked {
                waits_for_client: true,
                ..
            } => Vec::new(),
            Event::Asked {
                call, questions, ..
            } => self.asked(agent, call, questions),
            Event::Decided { call, .. } => self.answered(agent, call),
            Event::CallStarted { call, child } => self.call_started(agent, call, child.as_ref()),
            Event::CallFinished {
                call,
                outcome,
                delivers,
            } => self.call_finished(agent, call, outcome, delivers),
            Event::TurnEnded { end, .. } => self.turn_ended(agent, end),
            Event::Settled {
                run, settlement, ..
            } => self.run_settled(agent, *run, settlement),
        }
    }

    /// Returns what of a piece is new, before its message is in the log.
    pub fn piece(&mut self, piece: Piece<'_>) -> Option<Notification> {
        let place = self.place(piece.agent)?;
        if !place.words {
            return None;
        }
        let agent = self.agents.get_mut(piece.agent)?;
        let update = agent.given.piece(&piece, place.meta.clone())?;
        Some(place.with(update))
    }

    /// Returns what every child is and does now, parents first (rule 20). Of the flat form nothing:
    /// there a child is its calls.
    pub fn snapshot(&self, watch: Watch) -> Vec<Notification> {
        if matches!(self.form, Form::Flat(_)) {
            return Vec::new();
        }
        let now = |id: &AgentId| {
            let agent = self.agents.get(id).filter(|_| !self.is_dropped(id))?;
            let state = match (watch, &agent.state) {
                (Watch::Live, state) => state.clone(),
                (Watch::Unwatched, Some(idle @ State::Idle { .. })) => Some(idle.clone()),
                (Watch::Unwatched, Some(_)) => Some(State::Unknown),
                (Watch::Unwatched, None) => None,
            };
            sessions::announced(agent, state)
        };
        self.order.iter().filter_map(now).collect()
    }

    /// Returns what agents ask a person and have no answer to.
    pub(super) fn open_asks(&self) -> Vec<(AgentId, CallId)> {
        let asks = |(id, agent): (&AgentId, &Agent)| {
            let id = id.clone();
            let calls = agent.asks.keys().cloned();
            calls
                .map(move |call| (id.clone(), call))
                .collect::<Vec<_>>()
        };
        self.agents.iter().flat_map(asks).collect()
    }

    /// Returns what an agent asks about one of its calls; `None` if it asks nothing a client can answer.
    pub(super) fn ask(&self, id: &AgentId, call: &CallId) -> Option<Ask> {
        let agent = self.agents.get(id)?;
        let questions = agent.asks.get(call)?.clone();
        let open = agent.open.get(call)?;
        let place = self.place(id)?;
        let shown = tool::shown(
            self.call_id(id, call),
            &open.tool,
            open.arguments.clone(),
            &self.workspace,
            place.meta,
        );
        Some(Ask {
            session: place.session,
            shown,
            path: self.path(id),
            questions,
        })
    }

    /// Returns the session on which an agent is shown.
    pub(super) fn session_of(&self, id: &AgentId) -> AgentId {
        let place = self.place(id);
        place.map_or_else(|| self.top.clone(), |place| place.session)
    }

    /// Tells whether an agent was taken back, or one above it.
    fn is_dropped(&self, id: &AgentId) -> bool {
        self.dropped.iter().any(|top| self.is_at_or_below(id, top))
    }

    /// Tells whether an agent is another one, or below it.
    pub(super) fn is_at_or_below(&self, id: &AgentId, top: &AgentId) -> bool {
        let mut next = Some(id);
        while let Some(id) = next {
            if id == top {
                return true;
            }
            let parent = self.agents.get(id).and_then(Agent::parent);
            next = parent.map(|parent| &parent.agent);
        }
        false
    }

    /// Returns what all agents have cost; `None` if no price was known.
    pub(super) fn cost(&self) -> Option<Cost> {
        self.cost.map(|cost| Cost {
            amount: cost.as_dollars(),
            currency: "USD",
        })
    }

    /// Returns the definitions from below the root down to an agent.
    fn path(&self, id: &AgentId) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = self.agents.get(id);
        while let Some((agent, parent)) = next.and_then(|agent| Some((agent, agent.parent()?))) {
            path.push(agent.spawned.definition.clone());
            next = self.agents.get(&parent.agent);
        }
        path.reverse();
        path
    }

    /// Returns where an agent is shown.
    fn place(&self, id: &AgentId) -> Option<Place> {
        let agent = self.agents.get(id)?;
        if self.is_view && !self.is_at_or_below(id, &self.top) {
            return None;
        }
        let root = &self.top;
        Some(match self.form {
            Form::Sessions => Place {
                session: id.clone(),
                meta: None,
                words: true,
            },
            Form::Flat(transcripts) => Place {
                session: root.clone(),
                meta: flat::below(agent),
                words: id == root || transcripts == Transcripts::Shown,
            },
        })
    }

    /// Returns the id of a call where it is shown.
    fn call_id(&self, agent: &AgentId, call: &CallId) -> String {
        match self.form {
            Form::Sessions => call.to_string(),
            Form::Flat(_) => flat::id(&self.top, agent, call),
        }
    }

    fn born(&mut self, id: &AgentId, spawned: &Spawned) -> Vec<Notification> {
        let mut agent = Agent::born(id, spawned);
        if let Origin::Session { workspace, .. } = &spawned.origin {
            self.workspace = workspace.clone();
        }
        let caller = agent.parent().and_then(|of| self.agents.get(&of.agent));
        let task = agent.parent().zip(caller).and_then(|(of, caller)| {
            let call = caller.open.get(&of.call)?;
            tool::task(&call.arguments)
        });
        agent.task = task;
        let mut told = Vec::new();
        match self.form {
            Form::Sessions => told.extend(sessions::announced(&agent, None)),
            Form::Flat(_) => {
                let has_call = |parent: &&Parent| !parent.host && *id != self.top;
                let parent = agent.parent().filter(has_call);
                if let Some((of, caller)) = parent.zip(caller) {
                    let id = flat::id(&self.top, &of.agent, &of.call);
                    let meta = flat::makes_child(caller, agent.made(id.clone()));
                    told.push(self.on_root(flat::born(id.clone(), meta)));
                    agent.run_call = Some(id);
                }
            }
        }
        self.order.push(id.clone());
        self.agents.insert(id.clone(), agent);
        told
    }

    fn titled(&self, id: &AgentId, title: &str) -> Vec<Notification> {
        let Some(place) = self.place(id).filter(|place| place.session == *id) else {
            return Vec::new();
        };
        let title = title.to_owned();
        vec![place.with(Update::SessionInfoUpdate { title })]
    }

    fn prompted(&mut self, id: &AgentId, message: &UserMessage) -> Vec<Notification> {
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        agent.queued.insert(message.id.clone(), message.clone());
        match (self.form, &message.from) {
            (Form::Sessions, Author::Parent) => {
                sessions::task_sent(agent, message).into_iter().collect()
            }
            (Form::Sessions, Author::Human | Author::Host) | (Form::Flat(_), _) => Vec::new(),
        }
    }

    fn turn_started(
        &mut self,
        id: &AgentId,
        run: RunNo,
        prompt: Option<&MessageId>,
    ) -> Vec<Notification> {
        let root = self.top.clone();
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        let prompt = prompt.and_then(|prompt| agent.queued.remove(prompt));
        let mut told = Vec::new();
        let session = match self.form {
            Form::Sessions => {
                told.extend(sessions::is_now(agent, State::Running));
                id.clone()
            }
            Form::Flat(_) if *id == root => root,
            Form::Flat(_) => {
                agent.entries += usize::from(prompt.is_some());
                if agent.run_call.is_none() {
                    let update = flat::again(agent, run, prompt.as_ref());
                    told.push(self.on_root(update));
                }
                return told;
            }
        };
        if let Some(prompt) = prompt {
            told.extend(taken_up(self.form, agent, session, &prompt));
        }
        told
    }

    /// A message is taken into a turn that runs. In the flat form a child is its calls.
    fn steered(&mut self, id: &AgentId, prompt: &MessageId) -> Vec<Notification> {
        let is_root = id == &self.top;
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        let Some(prompt) = agent.queued.remove(prompt) else {
            return Vec::new();
        };
        match self.form {
            Form::Flat(_) if !is_root => Vec::new(),
            Form::Sessions | Form::Flat(_) => taken_up(self.form, agent, id.clone(), &prompt),
        }
    }

    fn replied(&mut self, id: &AgentId, message: &AssistantMessage) -> Vec<Notification> {
        let Some(place) = self.place(id) else {
            return Vec::new();
        };
        if let Some(cost) = message.cost {
            self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        }
        let mut updates = Vec::new();
        if let Some(agent) = self.agents.get_mut(id) {
            agent.stop = Some(message.stop);
            agent.entries += usize::from(said::is_any(message)) + message.calls().count();
            if place.words {
                updates.extend(agent.given.message(message, place.meta.as_ref()));
            }
            for call in message.calls() {
                let open = OpenCall {
                    tool: call.tool.clone(),
                    arguments: tool::arguments(call),
                    child: None,
                };
                agent.open.insert(call.id.clone(), open);
            }
        }
        for call in message.calls() {
            let meta = match (self.form, call.tool.as_str()) {
                // It is a message to somebody, or has failed: that is told when it is known.
                (Form::Sessions, TASK) => continue,
                (Form::Flat(_), TASK) => {
                    let caller = self.agents.get(id);
                    caller.map(|caller| flat::makes_child(caller, None))
                }
                (Form::Sessions | Form::Flat(_), _) => place.meta.clone(),
            };
            let call_id = self.call_id(id, &call.id);
            let made = tool::made(call_id, call, &self.workspace, meta);
            updates.push(Update::ToolCall(made));
        }
        let mut told: Vec<_> = updates.into_iter().map(|it| place.with(it)).collect();
        told.extend(self.progress(id, message));
        told
    }

    /// Shows in the call of a child's run, and of the runs above it, what the child does: clients of the
    /// flat form see nothing else of it before it has ended.
    fn progress(&mut self, id: &AgentId, message: &AssistantMessage) -> Vec<Notification> {
        if self.form == Form::Sessions {
            return Vec::new();
        }
        let mut lines = flat::steps(message);
        let mut told = Vec::new();
        let mut next = Some(id.clone());
        while let Some(agent) = next.take().and_then(|id| self.agents.get_mut(&id)) {
            let (Some(call), Some(parent)) = (agent.run_call.clone(), agent.parent().cloned())
            else {
                break;
            };
            agent.steps.extend(lines.iter().cloned());
            let about = agent.made(call.clone());
            let update = flat::works(call, &mut agent.steps);
            for line in &mut lines {
                *line = format!("{}: {line}", agent.spawned.definition);
            }
            next = Some(parent.agent.clone());
            if let Some(caller) = self.agents.get(&parent.agent) {
                let meta = flat::makes_child(caller, about);
                told.push(self.on_root(Update::ToolCallUpdate(ToolCallUpdate {
                    meta: Some(meta),
                    ..update
                })));
            }
        }
        told
    }

    fn asked(&mut self, id: &AgentId, call: &CallId, questions: &[Question]) -> Vec<Notification> {
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        agent.asks.insert(call.clone(), questions.to_vec());
        match self.form {
            Form::Sessions => {
                let told = sessions::is_now(agent, State::RequiresAction);
                told.into_iter().collect()
            }
            Form::Flat(_) => Vec::new(),
        }
    }

    /// Notes that nobody is asked about a call any more.
    fn answered(&mut self, id: &AgentId, call: &CallId) -> Vec<Notification> {
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        let was_asked = agent.asks.remove(call).is_some();
        match self.form {
            Form::Sessions if was_asked && agent.asks.is_empty() => {
                sessions::is_now(agent, State::Running)
                    .into_iter()
                    .collect()
            }
            Form::Sessions | Form::Flat(_) => Vec::new(),
        }
    }

    fn call_started(
        &mut self,
        id: &AgentId,
        call: &CallId,
        child: Option<&AgentId>,
    ) -> Vec<Notification> {
        let (Some(place), call_id) = (self.place(id), self.call_id(id, call)) else {
            return Vec::new();
        };
        let open = self
            .agents
            .get_mut(id)
            .and_then(|agent| agent.open.get_mut(call));
        if let Some(open) = open {
            open.child = child.cloned();
        }
        if child.is_some() {
            // The birth, which is next, says it with whom.
            return Vec::new();
        }
        let update = tool::is_now(call_id, ToolStatus::InProgress, place.meta.clone());
        vec![place.with(update)]
    }

    fn call_finished(
        &mut self,
        id: &AgentId,
        call: &CallId,
        outcome: &Outcome,
        delivers: &[RunId],
    ) -> Vec<Notification> {
        let is_cancelled =
            matches!(&outcome.body, Body::Error { kind, .. } if *kind == ErrorKind::Cancelled);
        let mut told = Vec::new();
        if !is_cancelled {
            told.extend(self.answered(id, call));
        } else if let Some(agent) = self.agents.get_mut(id) {
            // The call ends with its turn: the agent does not work on.
            agent.asks.remove(call);
        }
        let open = self
            .agents
            .get_mut(id)
            .and_then(|agent| agent.open.remove(call));
        let (Some(open), Some(place)) = (open, self.place(id)) else {
            return told;
        };
        let call_id = self.call_id(id, call);
        match (&open.child, self.form) {
            (Some(_), Form::Sessions) => {}
            (Some(child), Form::Flat(_)) => {
                if delivers.is_empty() {
                    told.extend(self.left_alone(id, child, call_id));
                }
            }
            (None, form) => {
                if form == Form::Sessions && open.tool == TASK {
                    let made = tool::failed_task(call_id.clone(), &open.arguments);
                    told.push(place.with(Update::ToolCall(made)));
                }
                let finished = tool::finished(call_id, &open.tool, outcome, place.meta.clone());
                told.push(place.with(finished));
            }
        }
        // A client has one list a session: that of the root.
        if place.session == *id {
            let plan = tool::plan(&open.tool, &open.arguments, outcome);
            told.extend(plan.map(|plan| place.with(plan)));
        }
        for run in delivers {
            if let Some(settlement) = self.settled.remove(&(run.agent.clone(), run.run)) {
                told.extend(self.told(id, run, &settlement));
            }
        }
        told
    }

    fn left_alone(&self, id: &AgentId, child: &AgentId, call: String) -> Option<Notification> {
        let (caller, child) = (self.agents.get(id)?, self.agents.get(child)?);
        let meta = flat::makes_child(caller, child.made(call.clone()));
        Some(self.on_root(flat::left_alone(call, child, meta)))
    }

    /// Tells an agent how a run of its child ended.
    fn told(&mut self, id: &AgentId, run: &RunId, settlement: &Settlement) -> Vec<Notification> {
        self.settled.remove(&(run.agent.clone(), run.run));
        match self.form {
            Form::Sessions => {
                let told = sessions::answer_received(id, run, settlement);
                told.into_iter().collect()
            }
            Form::Flat(_) => Vec::new(),
        }
    }

    fn turn_ended(&mut self, id: &AgentId, end: &TurnEnd) -> Vec<Notification> {
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        match self.form {
            Form::Sessions => {
                let state = sessions::after_turn(agent, end);
                sessions::is_now(agent, state).into_iter().collect()
            }
            Form::Flat(_) => Vec::new(),
        }
    }

    fn run_settled(
        &mut self,
        id: &AgentId,
        run: RunNo,
        settlement: &Settlement,
    ) -> Vec<Notification> {
        let root = self.top.clone();
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        let Some(parent) = agent.parent().cloned() else {
            return Vec::new();
        };
        let key = (id.clone(), run);
        self.settled.insert(key, settlement.clone());
        let mut told = Vec::new();
        match self.form {
            Form::Sessions => {
                let agent_run = RunId {
                    agent: id.clone(),
                    run,
                };
                told.extend(sessions::answer_sent(agent, &agent_run, settlement));
                let state = sessions::after_run(&settlement.status);
                told.extend(sessions::is_now(agent, state));
            }
            Form::Flat(_) => {
                agent.steps.clear();
                let Some(call) = agent.run_call.take() else {
                    return Vec::new();
                };
                let about = agent.made(call.clone());
                agent.first_entry = agent.entries;
                if let Some(caller) = self.agents.get(&parent.agent) {
                    let meta = flat::makes_child(caller, about);
                    told.push(Notification {
                        session_id: root,
                        update: flat::settled(call, settlement, meta),
                    });
                }
            }
        }
        told
    }

    fn on_root(&self, update: Update) -> Notification {
        Notification {
            session_id: self.top.clone(),
            update,
        }
    }
}

impl Place {
    fn with(&self, update: Update) -> Notification {
        Notification {
            session_id: self.session.clone(),
            update,
        }
    }
}

/// Returns how a message is shown that an agent takes up.
fn taken_up(
    form: Form,
    agent: &mut Agent,
    session: AgentId,
    prompt: &UserMessage,
) -> Vec<Notification> {
    match (&prompt.from, form) {
        // The view of a child: clients of the flat form know no messages between sessions.
        (Author::Human | Author::Host, _) | (Author::Parent, Form::Flat(_)) => vec![Notification {
            session_id: session,
            update: said::prompt(prompt),
        }],
        (Author::Parent, Form::Sessions) => {
            sessions::task_received(agent, prompt).into_iter().collect()
        }
    }
}
