//! One agent: an actor that does what its log says comes next.
//!
//! The actor is the only writer of its agent's log. Each round it asks the board
//! what to do now and does that. What it does next follows from the log; besides
//! that it keeps only orders that are under way, which are handed back or sent
//! again if it ends. A turn is an owned future that the actor drives beside its
//! mailbox, which only the session fills (R11). It ends when there is nothing left
//! to do; the session starts another when there is.

pub(crate) mod chores;
mod delegation;
mod ends;
mod rewind;
mod spawns;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use offshoot_types::command::{Order, Prompt, Receipt, Scope};
use offshoot_types::event::{Entry, Event, Purpose};
use offshoot_types::id::{AgentId, MessageId, RunId, RunNo, TurnNo};
use offshoot_types::message::UserMessage;
use offshoot_types::permission::Permissions;
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::StoreError;
use offshoot_types::transcript::Transcript;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::board::{Board, Relative};
use crate::hooks;
use crate::hooks::prompts::Reception;
use crate::inherit::Inherited;
use crate::kit::Kit;
use crate::log::{AgentLog, Batch};
use crate::next::{self, Next};
use crate::node::Ordered;
use crate::runtime::Parts;
use crate::sabotage::{Bug, planted};
use crate::scratch::Scratch;
use crate::settle;
use crate::turn;
use crate::turn::Arrived;
use crate::update::Activity;

/// What an agent is and what it works with; fixed for a turn.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) id: AgentId,
    pub(crate) definition: String,
    pub(crate) depth: u32,
    /// What it does for the runtime; none if it works for itself.
    pub(crate) helps: Option<Purpose>,
    pub(crate) model: String,
    /// Itself and, as far as it sees their conversations, those above it.
    pub(crate) lineage: Vec<Relative>,
    /// What it sees of the conversation above it.
    pub(crate) inherited: Option<Arc<Inherited>>,
    pub(crate) workspace: String,
    /// Its part of the host's data folder.
    pub(crate) scratch: Option<Scratch>,
    pub(crate) date: String,
    pub(crate) permissions: Permissions,
    /// Whether it is held to reading, by its own manifest or one above it.
    pub(crate) read_only: bool,
    pub(crate) board: Arc<Board>,
    pub(crate) parts: Arc<Parts>,
    /// What there is to work with, as it was when its turn began.
    pub(crate) kit: Arc<Kit>,
    pub(crate) log: AgentLog,
}

impl Agent {
    /// Returns a completion for each piece of mail.
    pub(crate) fn completions(&self, mail: &[RunId], new_id: impl Fn() -> MessageId) -> Vec<Event> {
        let state = self.board.state();
        let completion = |run: &RunId| {
            let (child, settlement) = (state.tree.agent(&run.agent)?, state.settlement(run)?);
            Some(settle::completion(new_id(), run, child, &settlement))
        };
        mail.iter().filter_map(completion).collect()
    }
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
    working: bool,
) -> Ended {
    let mut actor = Actor {
        agent,
        inputs,
        transcript,
        appends: FuturesUnordered::new(),
        cancels: Vec::new(),
        sent: BTreeSet::new(),
        opening: None,
        stop_turn: None,
        chores: VecDeque::new(),
        stop_chore: None,
        named: false,
        rewinds: VecDeque::new(),
        dropping: Vec::new(),
        resumes: Vec::new(),
        last_message: None,
        working,
    };
    let result = actor.run().await;
    actor.inputs.close();
    let cancels = std::mem::take(&mut actor.cancels);
    let mut leftover: Vec<Ordered> = cancels.into_iter().map(|(_, order)| order).collect();
    leftover.extend(std::mem::take(&mut actor.chores));
    leftover.extend(actor.dropping.drain(..).map(|(order, _)| order));
    leftover.append(&mut actor.resumes);
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
    /// Who asked for a run to stop and waits for its settlement.
    cancels: Vec<(RunNo, Ordered)>,
    /// Prompts on their way to the log.
    sent: BTreeSet<MessageId>,
    /// The run that opens with what is on its way to the log.
    opening: Option<RunNo>,
    /// Stops the turn that runs.
    stop_turn: Option<CancellationToken>,
    /// Orders that need the conversation at rest.
    chores: VecDeque<Ordered>,
    /// Stops the one that is being carried out.
    stop_chore: Option<CancellationToken>,
    /// Whether a person's name for the session is in the log, or on its way there.
    named: bool,
    /// Rewinds that were ordered, the first that came first. No turn begins before they are done.
    rewinds: VecDeque<rewind::Pending>,
    /// Orders to cancel the turn that sleeps, or its run.
    dropping: Vec<(Ordered, Scope)>,
    /// Orders to go on, until hooks have been told of the last end.
    resumes: Vec<Ordered>,
    /// The last message of the conversation when the turn that runs began.
    last_message: Option<MessageId>,
    /// Whether it may begin turns that no order asks for. If that changes, the session starts the actor
    /// again.
    working: bool,
}

impl Actor {
    async fn run(&mut self) -> Result<(), StoreError> {
        loop {
            while let Some(entries) = self.appends.next().await {
                turn::follow(&mut self.transcript, entries?)?;
            }
            self.opening = None;
            while let Ok(order) = self.inputs.try_recv() {
                self.take(order);
            }
            if !self.appends.is_empty() {
                continue;
            }
            if !self.rewinds.is_empty() {
                self.rewind().await?;
                continue;
            }
            if !self.dropping.is_empty() {
                self.drop_turn().await?;
                continue;
            }
            self.answer_cancels().await?;
            if self.is_at_rest()
                && let Some(order) = self.chores.pop_front()
            {
                self.carry_out(order).await?;
                continue;
            }
            if self.has_to_announce() {
                self.announce().await?;
                continue;
            }
            let next = self
                .agent
                .board
                .state()
                .next(&self.agent.id, &self.agent.board.limits);
            match next {
                // A turn that sleeps is taken up by whoever opens the session.
                Next::Run if !self.working && self.agent.sleeps() => return Ok(()),
                Next::Run => self.turn().await?,
                // What is queued is for whoever opens the session.
                Next::Start { .. } if !self.working => return Ok(()),
                Next::Start { prompt } => self.start(prompt).await?,
                Next::Tell(mail) => {
                    let mut batch = Batch::default();
                    self.tell(&mut batch, &mail);
                    self.append(batch).await?;
                }
                Next::Settle(status) => self.settle(status).await?,
                Next::Wait => self.wait().await,
                Next::Rest => return Ok(()),
            }
        }
    }

    /// Carries out an order, or notes it for when it can be answered.
    fn take(&mut self, order: Ordered) {
        match order.command.order.clone() {
            Order::Prompt(prompt) => self.take_prompt(order, prompt),
            Order::Rename(rename) => self.rename(order, rename),
            Order::Summarise | Order::Close | Order::Compact => self.chores.push_back(order),
            Order::Cancel(scope) => self.take_cancel(order, scope),
            Order::Resume if self.has_to_announce() => self.resumes.push(order),
            Order::Resume => {
                let mut batch = Batch::default();
                if let Some(prompt) = self.held_back() {
                    self.begin(&mut batch, Some(prompt));
                }
                self.record(order, batch, Receipt::Resumed);
            }
            Order::Rewind(rewind) => self.order_rewind(order, rewind),
            Order::SetClientTools(tools) => self.set_client_tools(order, tools),
            Order::SetRole(choice) => self.set_role(order, choice),
            Order::Spawn(spawn) => self.spawn(order, &spawn),
            // The session handles these itself.
            Order::Open(_)
            | Order::Fork(_)
            | Order::Promote
            | Order::Answer(_)
            | Order::Delete(_) => {
                self.record(
                    order,
                    Batch::default(),
                    nothing("an agent does not take this order"),
                );
            }
        }
    }

    /// Puts a prompt into the queue, or begins a turn with it; or says why it is not taken.
    fn take_prompt(&mut self, mut order: Ordered, prompt: Prompt) {
        let Reception {
            hooked,
            refused,
            switch,
            unsaid,
        } = order.heard.take().unwrap_or_default();
        let mut batch = Batch::default();
        for hooked in hooked {
            batch.own(Event::Hooked(Box::new(hooked)));
        }
        if let Some(why) = refused {
            return self.refuse(order, batch, &why);
        }
        let mut message = user_message(prompt);
        let agent = self.agent.as_it_is_now();
        if let Some((hook, switch)) = switch {
            let came_of = agent.switch(&switch, &mut message);
            batch.own(Event::Hooked(Box::new(hooks::switched(hook, came_of))));
        }
        if let Err(why) = agent.kit.hooks.user_message(agent.about(), &mut message) {
            self.agent.board.state().unsaid.extend(unsaid);
            return self.refuse(order, batch, &why);
        }
        // One that only waits in the queue does not need the agent that it finds there now.
        let own = agent.next_definition();
        let own = Some(&own).filter(|_| !order.waits);
        if let Some(named) = message.agent.as_ref().or(own)
            && agent.kit.registry.get(named).is_none()
        {
            // The process that sent it may have other agents than the one that has the session.
            let why = format!("the process that runs this session knows no agent {named}");
            self.agent.board.state().unsaid.extend(unsaid);
            return self.record(order, batch, nothing(&why));
        }
        if let Err(refusal) = self.check_delegation(&agent, &message) {
            self.agent.board.state().unsaid.extend(unsaid);
            return self.record(order, batch, refusal.into_receipt());
        }
        if self.knows(&message.id) {
            let why = nothing("a message of that id has been sent before");
            self.agent.board.state().unsaid.extend(unsaid);
            return self.record(order, batch, why);
        }
        self.sent.insert(message.id.clone());
        // Where nothing is before it, its turn begins in the same commit.
        let begins = !order.waits && self.is_free();
        let start = begins.then(|| message.id.clone());
        let lost = planted(Bug::ImmediateLost) && message.immediate && self.stop_turn.is_some();
        if !lost {
            batch.own(Event::Prompted(message));
        }
        if let Some(prompt) = start {
            self.begin(&mut batch, Some(prompt));
        }
        let receipt = if order.waits {
            Receipt::Queued
        } else {
            Receipt::Prompted
        };
        self.record(order, batch, receipt);
    }

    /// Records that a prompt was refused, and not what it said.
    fn refuse(&mut self, mut order: Ordered, batch: Batch, why: &str) {
        order.command = order.command.without_words();
        self.record(order, batch, nothing(why));
    }

    /// Appends what an order caused, with the order, and answers when that is committed.
    fn record(&mut self, order: Ordered, mut batch: Batch, receipt: Receipt) {
        let board = &self.agent.board;
        board.state().wake_not(&order.command, &receipt);
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
        self.agent.board.refresh_kit().await;
        let mut batch = Batch::default();
        self.begin(&mut batch, prompt);
        self.append(batch).await
    }

    /// Tells whether a prompt that comes now would be the next thing to do.
    fn is_free(&self) -> bool {
        let waits = {
            let state = self.agent.board.state();
            let agent = state.tree.agent(&self.agent.id);
            agent.is_some_and(|agent| !agent.queue.is_empty())
        };
        self.may_begin() && !waits
    }

    /// Tells whether a turn may begin with what is sent to the log next.
    fn may_begin(&self) -> bool {
        let idle = self.stop_turn.is_none() && self.stop_chore.is_none() && self.appends.is_empty();
        let idle = idle && self.rewinds.is_empty() && !self.has_to_announce();
        idle && self.agent.board.state().may_begin(&self.agent.id)
    }

    /// Returns the prompt that waits because the turn before it failed (QUE-05).
    fn held_back(&self) -> Option<MessageId> {
        if !self.may_begin() {
            return None;
        }
        let state = self.agent.board.state();
        let agent = state.tree.agent(&self.agent.id)?;
        agent.queue.front().filter(|_| agent.paused).cloned()
    }

    /// Adds the beginning of a turn: all mail, then the turn, which opens a run if none is open.
    fn begin(&mut self, batch: &mut Batch, prompt: Option<MessageId>) {
        let mut state = self.agent.board.state();
        let Some(agent) = state.tree.agent(&self.agent.id) else {
            return;
        };
        let (open, turn) = (agent.open_run(), agent.turns.next());
        let run = open.unwrap_or(agent.last_run().next());
        let mail = next::all_mail(agent);
        if open.is_none() {
            state.renew_token(&self.agent.id);
        }
        drop(state);
        self.opening = Some(run);
        if !planted(Bug::WakeWithoutMail) {
            self.tell(batch, &mail);
        }
        let message = prompt.as_ref().and_then(|id| {
            let on_its_way = batch.prompted(id);
            on_its_way.or_else(|| self.transcript.queued(id))
        });
        if let Some(role) = self.agent.as_it_is_now().next_role(message) {
            batch.own(Event::Became(Box::new(role)));
        }
        let prompt = prompt.filter(|_| !planted(Bug::PromptNotConsumed));
        batch.own(Event::TurnStarted { run, turn, prompt });
    }

    /// Adds a completion for each piece of mail.
    fn tell(&self, batch: &mut Batch, mail: &[RunId]) {
        let new_id = || MessageId::new(self.agent.parts.env.new_id());
        for completion in self.agent.completions(mail, new_id) {
            batch.own(completion);
        }
    }

    /// Drives the open turn, and the mailbox beside it.
    async fn turn(&mut self) -> Result<(), StoreError> {
        self.agent.board.refresh_kit().await;
        self.agent = self.agent.as_it_is_now();
        let token = self.agent.token();
        let cancel = token.child_token();
        self.stop_turn = Some(cancel.clone());
        if let Some(batch) = self.agent.plan_first_title(&self.transcript) {
            self.appends.push(self.agent.log.append(batch));
        }
        self.last_message = self.transcript.items().last().map(|item| item.id().clone());
        let transcript = std::mem::take(&mut self.transcript);
        let arrived = Arrived::default();
        let turn = turn::run(self.agent.clone(), transcript, arrived.clone(), cancel);
        let mut turn = Box::pin(turn);
        let over = loop {
            tokio::select! {
                biased;
                Some(order) = self.inputs.recv() => self.take(order),
                Some(entries) = self.appends.next() => arrived.add(entries?),
                over = &mut turn => break over?,
            }
        };
        self.stop_turn = None;
        self.transcript = if self.agent.sleeps() {
            // The process ends. The turn stays open for the process that opens the session next.
            self.working = false;
            over.into_transcript()
        } else {
            turn::end(&self.agent, over).await?
        };
        turn::follow(&mut self.transcript, arrived.take())
    }

    /// Tells whether a prompt of this id is in the log, or on its way there.
    fn knows(&mut self, id: &MessageId) -> bool {
        let state = self.agent.board.state();
        let Some(agent) = state.tree.agent(&self.agent.id) else {
            return false;
        };
        self.sent.retain(|sent| !agent.knows_prompt(sent));
        agent.knows_prompt(id) || self.sent.contains(id)
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
        self.agent.set_activity(self.agent.waits_for_children());
        tokio::select! {
            biased;
            Some(order) = self.inputs.recv() => self.take(order),
            () = token.cancelled(), if !stopped => {}
            () = wake.notified() => {}
        }
    }
}

/// Returns what is asked of a new agent and the turn that takes it up: nothing is left to commit
/// before it works.
pub(crate) fn first_turn(message: UserMessage) -> [Event; 2] {
    let started = Event::TurnStarted {
        run: RunNo::new(1),
        turn: TurnNo::new(1),
        prompt: Some(message.id.clone()),
    };
    [Event::Prompted(message), started]
}

pub(crate) fn user_message(prompt: Prompt) -> UserMessage {
    let Prompt {
        message,
        text,
        from,
        agent,
        model,
        metadata,
        output_schema,
        delegation,
        immediate,
    } = prompt;
    UserMessage {
        id: message,
        text,
        from,
        agent,
        model,
        metadata,
        output_schema,
        delegation,
        immediate,
    }
}

/// An order that has no effect, and why.
pub(crate) fn nothing(why: &str) -> Receipt {
    Receipt::NoEffect {
        why: why.to_owned(),
    }
}

impl Agent {
    /// Notes what the agent does now.
    pub(crate) fn set_activity(&self, activity: Activity) {
        self.board.set_activity(&self.id, activity);
    }

    /// Tells whether it is the root of its tree.
    pub(crate) fn is_root(&self) -> bool {
        self.board.tree.root() == &self.id
    }

    /// Returns the run that is open, if one is.
    fn open_run(&self) -> Option<RunNo> {
        self.board.state().tree.agent(&self.id)?.open_run()
    }

    /// Returns how a run ended, or the last one.
    fn how_it_ended(&self, run: Option<RunNo>) -> Receipt {
        let state = self.board.state();
        let ended = state.tree.agent(&self.id).and_then(|agent| {
            let run = agent.run(run.unwrap_or(agent.last_run()))?;
            run.settled
                .as_ref()
                .map(|(_, settlement)| settlement.as_ref().clone())
        });
        ended.map_or_else(|| nothing("it has not run yet"), Receipt::Settled)
    }

    /// Tells whether its turn waits for an answer, and outlives the process.
    pub(crate) fn sleeps(&self) -> bool {
        self.board.state().sleeps(&self.id)
    }

    /// Tells whether its turn was stopped because the process ends, and by no person: calls of a root
    /// that wait for an answer then go on waiting, in the next process (R16, R20).
    pub(crate) fn leaves_asks_open(&self) -> bool {
        let state = self.board.state();
        let stopped = state.node(&self.id).and_then(crate::node::Node::stopped);
        let withdraws = planted(Bug::AskWithdrawnAtExit);
        self.is_root() && stopped == Some(CancelledBy::Shutdown) && !withdraws
    }

    /// Tells whether the run was told to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        let state = self.board.state();
        let stopped = state.node(&self.id).and_then(crate::node::Node::stopped);
        stopped.is_some()
    }

    /// Returns the token that stops the run.
    fn token(&self) -> CancellationToken {
        let state = self.board.state();
        state
            .node(&self.id)
            .map_or_else(CancellationToken::new, |node| node.token.clone())
    }

    /// Returns the turn that is open; `None` between two.
    pub(crate) fn turn(&self) -> Option<TurnNo> {
        let state = self.board.state();
        let agent = state.tree.agent(&self.id)?;
        Some(agent.turn.as_ref()?.turn)
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

    fn has_no_open_child(&self) -> bool {
        let state = self.board.state();
        let agent = state.tree.agent(&self.id);
        agent.is_none_or(|agent| agent.open_children.is_empty())
    }

    /// Says that it waits for the children whose runs are open.
    fn waits_for_children(&self) -> Activity {
        let state = self.board.state();
        let agent = state.tree.agent(&self.id);
        Activity::children(agent.into_iter().flat_map(|agent| &agent.open_children))
    }
}
