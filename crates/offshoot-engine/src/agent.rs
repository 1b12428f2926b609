//! One agent: an actor that does what its log says comes next.
//!
//! The actor is the only writer of its agent's log. It holds no state that the
//! log does not: each round it asks the board what to do now and does that. A
//! turn is an owned future that the actor drives beside its mailbox, which only
//! the session fills (R11). It ends when there is nothing left to do; the session
//! starts another when there is.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use offshoot_types::command::{Order, Prompt, Receipt, Scope};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId, RunId, TurnNo};
use offshoot_types::message::{Author, UserMessage};
use offshoot_types::model::{ModelError, ModelErrorKind};
use offshoot_types::permission::Permissions;
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::tool::ToolSpec;
use offshoot_types::transcript::Transcript;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::board::{Activity, Board, Ordered};
use crate::context::{self, Prefix, Surroundings};
use crate::log::{AgentLog, Batch};
use crate::next::Next;
use crate::runtime::Parts;
use crate::sabotage::{Bug, planted};
use crate::task::{self, TASK};
use crate::{settle, turn};

/// What an agent is and what it works with; fixed for the life of its actor.
pub(crate) struct Agent {
    pub(crate) id: AgentId,
    pub(crate) definition: String,
    pub(crate) depth: u32,
    pub(crate) model: String,
    pub(crate) workspace: String,
    pub(crate) date: String,
    pub(crate) permissions: Permissions,
    pub(crate) board: Arc<Board>,
    pub(crate) parts: Arc<Parts>,
    pub(crate) log: AgentLog,
}

/// What an actor leaves behind.
pub(crate) struct Ended {
    pub(crate) agent: AgentId,
    /// Orders that came too late for it.
    pub(crate) leftover: Vec<Ordered>,
    pub(crate) result: Result<(), StoreError>,
}

/// Runs an agent until there is nothing left for it to do.
pub(crate) async fn act(
    agent: Arc<Agent>,
    transcript: Transcript,
    inputs: mpsc::Receiver<Ordered>,
) -> Ended {
    let mut actor = Actor {
        agent,
        inputs,
        transcript,
        appends: FuturesUnordered::new(),
        cancels: Vec::new(),
        turn: None,
    };
    let result = actor.run().await;
    actor.inputs.close();
    let mut leftover = std::mem::take(&mut actor.cancels);
    while let Some(order) = actor.inputs.recv().await {
        leftover.push(order);
    }
    Ended {
        agent: actor.agent.id.clone(),
        leftover,
        result,
    }
}

type Committed = BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>>;

struct Actor {
    agent: Arc<Agent>,
    inputs: mpsc::Receiver<Ordered>,
    transcript: Transcript,
    /// Appends of commands, on their way beside the turn's.
    appends: FuturesUnordered<Committed>,
    /// Who asked for the run to stop and waits for its settlement.
    cancels: Vec<Ordered>,
    /// Stops the turn that runs.
    turn: Option<CancellationToken>,
}

impl Actor {
    async fn run(&mut self) -> Result<(), StoreError> {
        loop {
            while let Some(entries) = self.appends.next().await {
                turn::follow(&mut self.transcript, entries?)?;
            }
            while let Ok(order) = self.inputs.try_recv() {
                self.take(order);
            }
            if !self.appends.is_empty() {
                continue;
            }
            let next = self
                .agent
                .board
                .state()
                .next(&self.agent.id, &self.agent.board.limits);
            match next {
                Next::Run => self.turn().await?,
                Next::Start { prompt } => self.start(prompt).await?,
                Next::Tell(mail) => {
                    let mut batch = Batch::default();
                    self.tell(&mut batch, &mail);
                    self.append(batch).await?;
                }
                Next::Settle(status) => self.settle(status).await?,
                Next::Wait => self.wait().await,
                Next::Rest if self.cancels.is_empty() => return Ok(()),
                Next::Rest => self.answer_cancels().await?,
            }
        }
    }

    /// Carries out an order, or notes it for when it can be answered.
    fn take(&mut self, order: Ordered) {
        match order.command.order.clone() {
            Order::Prompt(prompt) => {
                let message = user_message(prompt);
                let mut batch = Batch::default();
                // Where nothing is before it, its turn begins in the same commit.
                let start = self.is_free().then(|| message.id.clone());
                batch.own(Event::Prompted(message));
                if let Some(prompt) = start {
                    self.begin(&mut batch, Some(prompt));
                }
                self.record(order, batch, Receipt::Prompted);
            }
            Order::Cancel(Scope::Run) => {
                self.agent.board.cancel(&self.agent.id, CancelledBy::User);
                self.cancels.push(order);
            }
            Order::Cancel(Scope::Turn) => match &self.turn {
                Some(turn) => {
                    turn.cancel();
                    self.record(order, Batch::default(), Receipt::TurnCancelled);
                }
                None => self.record(order, Batch::default(), nothing("no turn is running")),
            },
            // The session keeps these to itself.
            Order::Open(_) | Order::Promote | Order::Resume => {
                self.record(
                    order,
                    Batch::default(),
                    nothing("an agent does not take this order"),
                );
            }
        }
    }

    /// Appends what an order caused, with the order, and answers when that is committed.
    fn record(&mut self, order: Ordered, mut batch: Batch, receipt: Receipt) {
        if !planted(Bug::OrderWithoutRecord) {
            batch.applied(order.command.clone(), receipt.clone());
        }
        let sent = self.agent.log.append(batch);
        self.appends.push(Box::pin(async move {
            let entries = sent.await?;
            order.answer(receipt);
            Ok(entries)
        }));
    }

    async fn append(&mut self, batch: Batch) -> Result<(), StoreError> {
        let entries = self.agent.log.append(batch).await?;
        turn::follow(&mut self.transcript, entries)
    }

    async fn start(&mut self, prompt: Option<MessageId>) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        self.begin(&mut batch, prompt);
        self.append(batch).await
    }

    /// Tells whether a prompt that comes now would be the next thing to do.
    fn is_free(&self) -> bool {
        let state = self.agent.board.state();
        let waits = state
            .tree
            .agent(&self.agent.id)
            .is_some_and(|agent| !agent.queue.is_empty());
        self.turn.is_none() && self.appends.is_empty() && !waits && state.may_begin(&self.agent.id)
    }

    /// Adds the beginning of a turn: all mail, then the turn, which opens a run if none is open.
    fn begin(&self, batch: &mut Batch, prompt: Option<MessageId>) {
        let mut state = self.agent.board.state();
        let Some(agent) = state.tree.agent(&self.agent.id) else {
            return;
        };
        let (open, turn) = (agent.open_run(), agent.turns.next());
        let run = open.unwrap_or(agent.last_run().next());
        let mail: Vec<RunId> = agent.mail.values().cloned().collect();
        if open.is_none() {
            state.renew_token(&self.agent.id);
        }
        drop(state);
        if !planted(Bug::WakeWithoutMail) {
            self.tell(batch, &mail);
        }
        let prompt = prompt.filter(|_| !planted(Bug::PromptNotConsumed));
        batch.own(Event::TurnStarted { run, turn, prompt });
    }

    /// Adds a completion for each piece of mail.
    fn tell(&self, batch: &mut Batch, mail: &[RunId]) {
        let state = self.agent.board.state();
        for run in mail {
            let (Some(child), Some(settlement)) =
                (state.tree.agent(&run.agent), state.settlement(run))
            else {
                continue;
            };
            batch.own(Event::Completion {
                message: MessageId::new(self.agent.parts.env.new_id()),
                run: run.clone(),
                definition: child.spawned.definition.clone(),
                settlement: settlement.as_ref().clone(),
            });
        }
    }

    /// Drives the open turn, and the mailbox beside it.
    async fn turn(&mut self) -> Result<(), StoreError> {
        let token = self.agent.token();
        let cancel = token.child_token();
        self.turn = Some(cancel.clone());
        let transcript = std::mem::take(&mut self.transcript);
        let mut turn = Box::pin(turn::run(self.agent.clone(), transcript, cancel));
        let mut arrived = Vec::new();
        self.transcript = loop {
            tokio::select! {
                biased;
                Some(order) = self.inputs.recv() => self.take(order),
                Some(entries) = self.appends.next() => arrived.extend(entries?),
                transcript = &mut turn => break transcript?,
            }
        };
        self.turn = None;
        turn::follow(&mut self.transcript, arrived)
    }

    /// Settles the run, with whoever asked for it to stop.
    async fn settle(&mut self, status: Status) -> Result<(), StoreError> {
        let event = {
            let state = self.agent.board.state();
            let agent = state.tree.agent(&self.agent.id).ok_or_else(unborn)?;
            let Some(run) = agent.open_run() else {
                return Ok(());
            };
            let now = self.agent.parts.env.now();
            Event::Settled {
                run,
                settlement: settle::settlement(&agent.tally, status, now),
            }
        };
        match self.append(Batch::from(vec![event])).await {
            // A child run was opened meanwhile (R18); the next look says wait.
            Err(error) if error.kind == StoreErrorKind::Refused => Ok(()),
            other => other,
        }
    }

    /// Tells whoever asked for a stop how the run ended, by that or otherwise.
    async fn answer_cancels(&mut self) -> Result<(), StoreError> {
        let last = {
            let state = self.agent.board.state();
            let agent = state.tree.agent(&self.agent.id);
            agent.and_then(|agent| agent.settlement().cloned())
        };
        let receipt = match last {
            Some(settlement) => Receipt::Settled(settlement.as_ref().clone()),
            None => nothing("it has not run yet"),
        };
        let mut batch = Batch::default();
        for order in &self.cancels {
            batch.applied(order.command.clone(), receipt.clone());
        }
        self.append(batch).await?;
        for order in self.cancels.drain(..) {
            order.answer(receipt.clone());
        }
        Ok(())
    }

    /// Waits for mail, an order or a stop.
    async fn wait(&mut self) {
        let (wake, token, stopped) = {
            let state = self.agent.board.state();
            let Some(node) = state.node(&self.agent.id) else {
                return;
            };
            (
                node.wake.clone(),
                node.token.clone(),
                node.stopped().is_some(),
            )
        };
        let children = self.agent.open_children();
        self.agent.set_activity(Activity::Children(children));
        tokio::select! {
            biased;
            Some(order) = self.inputs.recv() => self.take(order),
            () = token.cancelled(), if !stopped => {}
            () = wake.notified() => {}
        }
    }
}

fn user_message(prompt: Prompt) -> UserMessage {
    let Prompt {
        message,
        text,
        metadata,
    } = prompt;
    UserMessage {
        id: message,
        text,
        from: Author::Human,
        metadata,
    }
}

fn nothing(why: &str) -> Receipt {
    Receipt::NoEffect {
        why: why.to_owned(),
    }
}

fn unborn() -> StoreError {
    StoreError::new(
        StoreErrorKind::Conflict,
        "run an agent: its tree does not have it",
    )
}

impl Agent {
    /// Notes what the agent does now.
    pub(crate) fn set_activity(&self, activity: Activity) {
        self.board.set_activity(&self.id, activity);
    }

    /// Returns what all agents of this definition and model share.
    pub(crate) fn prefix(&self) -> Result<Arc<Prefix>, ModelError> {
        self.board.prefix(&self.definition, &self.model, || {
            let manifest = self.parts.registry.get(&self.definition).ok_or_else(|| {
                let text = format!("run agent {}: there is no such definition", self.definition);
                ModelError::new(ModelErrorKind::Config, text)
            })?;
            let tools = self.specs(manifest.tools.as_deref());
            let place = Surroundings {
                workspace: &self.workspace,
                date: &self.date,
                model: &self.model,
            };
            Ok(Prefix {
                manifest: manifest.clone(),
                model: self.parts.models.find(&self.model)?,
                model_name: self.model.clone(),
                system: context::system(manifest, &place, &tools).into(),
                tools: tools.into(),
            })
        })
    }

    /// Returns the tools this agent is offered, `task` last.
    fn specs(&self, wanted: Option<&[String]>) -> Vec<ToolSpec> {
        let wants = |id: &str| wanted.is_none_or(|list| list.iter().any(|tool| tool == id));
        let mut specs: Vec<ToolSpec> = self
            .parts
            .tools
            .iter()
            .map(|tool| tool.spec().clone())
            .collect();
        specs.push(task::spec(self.parts.registry.for_agents()));
        specs.retain(|spec| wants(&spec.id));
        specs
    }

    /// Returns the ids of the tools this agent is offered.
    pub(crate) fn tool_ids(&self) -> Vec<String> {
        match self.prefix() {
            Ok(prefix) => prefix.tools.iter().map(|tool| tool.id.clone()).collect(),
            Err(_) => vec![TASK.to_owned()],
        }
    }

    /// Tells whether this agent is offered a tool.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.prefix()
            .is_ok_and(|prefix| prefix.tools.iter().any(|spec| spec.id == tool))
    }

    /// Returns the token that stops the run.
    fn token(&self) -> CancellationToken {
        let state = self.board.state();
        state
            .node(&self.id)
            .map_or_else(CancellationToken::new, |node| node.token.clone())
    }

    /// Returns the turn that runs.
    pub(crate) fn turn(&self) -> TurnNo {
        let state = self.board.state();
        let running = state
            .tree
            .agent(&self.id)
            .and_then(|agent| agent.turn.as_ref());
        running.map_or(TurnNo::ZERO, |running| running.turn)
    }

    /// Returns the message that the turn processes.
    pub(crate) fn processed(&self) -> MessageId {
        let state = self.board.state();
        let running = state
            .tree
            .agent(&self.id)
            .and_then(|agent| agent.turn.as_ref());
        running.map_or_else(|| MessageId::new(""), |running| running.message.clone())
    }

    /// Returns the children whose runs are open.
    fn open_children(&self) -> Vec<AgentId> {
        let state = self.board.state();
        let Some(agent) = state.tree.agent(&self.id) else {
            return Vec::new();
        };
        let open = |id: &&AgentId| {
            state
                .tree
                .agent(id)
                .is_some_and(|child| child.open_run().is_some())
        };
        agent.children.iter().filter(open).cloned().collect()
    }
}
