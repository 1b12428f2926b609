//! One tree in this process: its owner and the keeper of its actors.
//!
//! Opens a tree (claim, load, recover), starts an actor for every agent the log
//! says has something to do, hands orders to them, and lets the tree go when it
//! is quiet and nobody is attached (R7). Actors live in its join set and nowhere
//! else, so dropping the session ends them. It decides nothing about turns.

mod leaving;
mod reception;
mod sleep;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use offshoot_types::command::{Order, Receipt, Scope, Verdict};
use offshoot_types::event::{Entry, Origin, Purpose};
use offshoot_types::id::{AgentId, CommandId, MessageId, RunId};
use offshoot_types::store::{Append, Lease, StoreError, StoreErrorKind};
use offshoot_types::transcript::Transcript;
use offshoot_types::tree::Tree;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::agent::{self, Agent, Ended, nothing};
use crate::board::Board;
use crate::helper;
use crate::hooks::notices;
use crate::hooks::prompts::Start;
use crate::inherit::{self, Inherited};
use crate::log::{AgentLog, Batch};
use crate::next::Next;
use crate::node::Ordered;
use crate::recover;
use crate::runtime::Parts;
use crate::sabotage::{Bug, planted};
use crate::turn;
use crate::update::Update;

/// Orders an actor may have waiting before the session waits for it.
const MAILBOX: usize = if cfg!(test) { 2 } else { 64 };

/// Orders that are remembered as taken up before the answered ones are forgotten.
const MANY: usize = if cfg!(test) { 2 } else { 1024 };

/// Entries read at one time when a tree is loaded.
const PAGE: usize = if cfg!(test) { 8 } else { 4096 };

/// One tree in this process.
pub(crate) struct Session {
    board: Arc<Board>,
    parts: Arc<Parts>,
    inputs: mpsc::Receiver<Ordered>,
    actors: JoinSet<Ended>,
    mailboxes: BTreeMap<AgentId, mpsc::Sender<Ordered>>,
    /// Orders that were taken up here, so that one that comes twice is done once.
    taken: BTreeSet<CommandId>,
    /// One that may be pending and comes with whoever opened the session: they wait for it.
    expected: Option<CommandId>,
    /// Those of them that are left in the store for whoever opens the session.
    kept: BTreeSet<CommandId>,
    /// Whether agents may start turns. Recovery alone starts none (R16).
    working: bool,
    nudged: Arc<Notify>,
    departure: Departure,
    /// What people have said and hooks are to be asked about, in the order it came.
    waiting: VecDeque<(Ordered, Start)>,
    /// The one that they are being asked about, alone: those behind it do not overtake it.
    receiving: JoinSet<Ordered>,
    /// Whom it is for, whether the session is taken up with it, and how to take it back.
    stop_receiving: Option<(AgentId, Start, CancellationToken)>,
    /// Hooks that are being told of what has happened.
    notices: JoinSet<()>,
    /// Messages that open the session once they are taken: whose, and which.
    openers: Vec<(AgentId, MessageId)>,
    /// Children of the host that open the session once they are born.
    newborns: Vec<AgentId>,
    /// Whether somebody has wanted to open the session, and it had to go on sleeping.
    wanted: bool,
    /// Whether somebody has spoken to the root since this process has the tree: hooks hear of the
    /// first time, and then of the end.
    begun: bool,
    /// Whether hooks have heard that this process takes the session up.
    greeted: bool,
    /// The order to delete the session, once it is taken.
    deletion: Option<Ordered>,
    /// Why the tree was dropped as it was, for those whose orders were dropped with it.
    parked: Parked,
}

/// Where a session says why it could not go on.
pub(crate) type Parked = Arc<OnceLock<StoreError>>;

/// How a session is told to end.
#[derive(Clone, Default)]
pub(crate) struct Departure {
    /// Stop everything and leave.
    pub(crate) now: CancellationToken,
    /// Leave as soon as there is nothing left to do.
    pub(crate) when_quiet: CancellationToken,
}

impl Departure {
    /// Tells whether the process is leaving, one way or the other.
    pub(crate) fn is_near(&self) -> bool {
        self.now.is_cancelled() || self.when_quiet.is_cancelled()
    }
}

/// Reads a tree's whole log and folds it.
pub(crate) async fn load(parts: &Parts, lease: &Lease) -> Result<Tree, StoreError> {
    let mut tree = Tree::default();
    loop {
        let entries = parts.store.entries(&lease.tree, tree.pos(), PAGE).await?;
        let more = if planted(Bug::LogCutAtAPage) {
            entries.len() > PAGE
        } else {
            entries.len() == PAGE
        };
        for entry in &entries {
            tree.apply(entry).map_err(|violation| {
                let text = format!("load session {}: {violation}", lease.tree);
                StoreError::new(StoreErrorKind::Unusable, text)
            })?;
        }
        if !more {
            return Ok(tree);
        }
    }
}

/// Settles what a dead owner left behind. The board hears of it through the store.
///
/// Agents of one depth do not depend on each other, so their appends share commits.
pub(crate) async fn recover(parts: &Parts, board: &Board) -> Result<(), StoreError> {
    let kit = board.kit();
    let levels = recover::levels(&board.state().tree);
    for level in levels {
        let appends: Vec<_> = {
            let state = board.state();
            let append = |id: AgentId| {
                let events = recover::events(&state.tree, &id, parts.env.as_ref(), &kit.hooks);
                let last = state.tree.agent(&id)?.seq;
                (!events.is_empty()).then(|| (AgentLog::new(parts, &board.lease, id, last), events))
            };
            level.into_iter().filter_map(append).collect()
        };
        let sent = appends
            .into_iter()
            .map(|(log, events)| log.append(Batch::from(events)));
        futures_util::future::try_join_all(sent.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

impl Session {
    pub(crate) fn new(
        board: Arc<Board>,
        parts: Arc<Parts>,
        inputs: mpsc::Receiver<Ordered>,
        nudged: Arc<Notify>,
        departure: Departure,
        parked: Parked,
    ) -> Self {
        Self {
            board,
            parts,
            inputs,
            actors: JoinSet::new(),
            mailboxes: BTreeMap::new(),
            taken: BTreeSet::new(),
            expected: None,
            kept: BTreeSet::new(),
            working: false,
            nudged,
            departure,
            waiting: VecDeque::new(),
            receiving: JoinSet::new(),
            stop_receiving: None,
            notices: JoinSet::new(),
            openers: Vec::new(),
            newborns: Vec::new(),
            wanted: false,
            begun: false,
            greeted: false,
            deletion: None,
            parked,
        }
    }

    /// Takes an order only from whoever is about to send it, although it may be pending: they had left it
    /// for somebody who had the tree then.
    pub(crate) fn expecting(mut self, command: CommandId) -> Self {
        self.expected = Some(command);
        self
    }

    /// Lets agents start turns from the first: the session was opened with a prompt.
    pub(crate) fn at_work(mut self) -> Self {
        self.working = true;
        self.begun = true;
        self.greeted = true;
        self
    }

    /// Runs the tree until it is let go: given back when it is quiet, or dropped as it is when the
    /// log cannot be written (R6).
    pub(crate) async fn run(mut self) {
        if let Err(error) = self.serve().await {
            // Known before anybody's order is dropped: they look here for the reason.
            self.parked.get_or_init(|| error.clone());
            self.inputs.close();
            self.actors.shutdown().await;
            self.board.publish(Update::Parked(error));
            self.end_leftovers().await;
        }
        self.turn_away();
        let farewell = self.farewell();
        // The lease goes with the board: whoever wants the tree waits for nobody's hooks.
        drop(self);
        farewell.say().await;
    }

    async fn serve(&mut self) -> Result<(), StoreError> {
        self.take_pending().await?;
        let mut poll = tokio::time::interval(self.board.limits.poll);
        poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        poll.reset();
        let Departure { now, when_quiet } = self.departure.clone();
        let mut finishing = false;
        while !now.is_cancelled() {
            tokio::select! {
                biased;
                () = now.cancelled() => {}
                Some(ended) = self.actors.join_next() => self.ended(ended).await?,
                () = self.board.stirred.notified() => self.look().await?,
                Some(order) = self.inputs.recv() => self.take(order).await?,
                Some(order) = self.receiving.join_next() => self.received(order).await?,
                Some(_) = self.notices.join_next() => {}
                () = self.nudged.notified() => self.take_pending().await?,
                () = when_quiet.cancelled(), if !finishing => finishing = true,
                _ = poll.tick() => {
                    // They have given up.
                    self.expected = None;
                    self.check_lease().await?;
                    self.take_pending().await?;
                    if self.is_unneeded() && self.release().await? {
                        return Ok(());
                    }
                }
            }
            if let Some(order) = self.deletion.take() {
                return self.delete(order).await;
            }
            if finishing && self.board.state().is_idle() {
                self.stop_helpers(|purpose| purpose == Purpose::Title);
            }
            if finishing && self.is_unneeded() && self.release().await? {
                return Ok(());
            }
        }
        self.leave().await
    }

    /// Looks at everyone something happened to, and starts who has something to do.
    async fn look(&mut self) -> Result<(), StoreError> {
        let (stirred, late, errands, broken) = {
            let mut state = self.board.state();
            (
                state.take_stirred(),
                state.take_late(),
                state.take_errands(),
                state.broken().cloned(),
            )
        };
        if let Some(what) = broken {
            return Err(StoreError::new(StoreErrorKind::Conflict, what));
        }
        for (order, why) in late {
            self.note(order, nothing(why)).await?;
        }
        for order in errands {
            self.take(order).await?;
        }
        let hurried = self.board.state().take_hurried();
        if !hurried.is_empty() && !self.departure.now.is_cancelled() {
            self.take_pending().await?;
        }
        // Whoever waited goes on.
        drop(hurried);
        for occasion in self.board.state().take_notices() {
            self.notices.spawn(notices::tell(&self.board, occasion));
        }
        self.open_if_prompted().await?;
        for id in stirred {
            if !self.mailboxes.contains_key(&id) && self.has_work(&id) {
                self.start(&id).await?;
            }
        }
        Ok(())
    }

    fn has_work(&self, id: &AgentId) -> bool {
        if self.board.has_to_announce(id) {
            return true;
        }
        let state = self.board.state();
        match state.next(id, &self.board.limits) {
            Next::Rest => false,
            Next::Start { .. } => self.working,
            Next::Run => self.working || !state.sleeps(id),
            Next::Tell(_) | Next::Settle(_) | Next::Wait => true,
        }
    }

    /// Starts an agent's actor.
    async fn start(&mut self, id: &AgentId) -> Result<(), StoreError> {
        let infancy = self
            .board
            .state()
            .node_mut(id)
            .and_then(|node| node.infancy.take());
        let entries = match infancy {
            Some(entries) => entries,
            None => self
                .parts
                .store
                .agent_log(id)
                .await?
                .into_iter()
                .map(Arc::new)
                .collect(),
        };
        let inherited = inherit::find(&self.parts, &self.board, id).await?;
        let mut transcript = Transcript::default();
        transcript.reserve_calls(inherited.iter().flat_map(|inherited| inherited.calls()));
        let Some(agent) = agent(&self.board, &self.parts, id, &entries, inherited) else {
            return Ok(());
        };
        turn::follow(&mut transcript, entries)?;
        let (mailbox, inputs) = mpsc::channel(MAILBOX);
        self.mailboxes.insert(id.clone(), mailbox);
        self.actors.spawn(agent::act(
            Arc::new(agent),
            transcript,
            inputs,
            self.working,
        ));
        Ok(())
    }

    /// Has the session named if the process that was to name it ended before it was done (SA-45).
    async fn make_title_again(&self) -> Result<(), StoreError> {
        let root = self.board.tree.root();
        if self.departure.is_near() || !helper::is_title_cut_off(&self.board.state().tree) {
            return Ok(());
        }
        let log = self.parts.store.agent_log(root).await?;
        let entries: Vec<Arc<Entry>> = log.into_iter().map(Arc::new).collect();
        let Some(agent) = agent(&self.board, &self.parts, root, &entries, None) else {
            return Ok(());
        };
        let mut transcript = Transcript::default();
        turn::follow(&mut transcript, entries)?;
        // These are entries of the helper: the log of the root keeps its one writer.
        if let Some(batch) = agent.plan_title(&transcript) {
            agent.log.append(batch).await?;
        }
        Ok(())
    }

    /// Takes back what an actor left, and starts it again if something came meanwhile.
    async fn ended(&mut self, ended: Result<Ended, JoinError>) -> Result<(), StoreError> {
        let Ended {
            agent,
            leftover,
            result,
        } = ended.map_err(|error| self.failed("an agent's task", &error))?;
        self.mailboxes.remove(&agent);
        result?;
        for order in leftover {
            self.dispatch(order).await?;
        }
        if !self.mailboxes.contains_key(&agent) && self.has_work(&agent) {
            self.start(&agent).await?;
        }
        Ok(())
    }

    /// Takes up commands that other processes left.
    async fn take_pending(&mut self) -> Result<(), StoreError> {
        for command in self.parts.store.pending(&self.board.tree).await? {
            if self.expected.as_ref() != Some(&command.id) {
                self.take(Ordered::unheard(command)).await?;
            }
        }
        Ok(())
    }

    /// Fails if somebody else has taken the tree over: an owner that writes nothing would not notice.
    async fn check_lease(&self) -> Result<(), StoreError> {
        let nothing = Append {
            at: self.parts.env.now(),
            ..Append::default()
        };
        self.parts
            .store
            .append(&self.board.lease, nothing)
            .await
            .map(drop)
    }

    /// Takes up an order, once.
    async fn take(&mut self, order: Ordered) -> Result<(), StoreError> {
        if self.is_kept(&order) {
            order.answer(Receipt::Queued);
            return Ok(());
        }
        // Before the look at the receipt: a command that is answered during the look is either
        // remembered here or has its receipt by then.
        let forgets_late = planted(Bug::ForgottenAfterLook);
        if self.taken.len() >= MANY && !forgets_late {
            self.forget_answered().await?;
        }
        if let Some(receipt) = self.parts.store.receipt(&order.command.id).await? {
            // Done by a former owner, who may have died of what came after: whoever asked that
            // opens the session all the same.
            if matches!(
                order.command.order,
                Order::Prompt(_) | Order::Resume | Order::Spawn(_)
            ) {
                self.reopen(&receipt).await?;
            }
            order.answer(receipt);
            return Ok(());
        }
        if forgets_late {
            self.forget_answered().await?;
        }
        // One that is on its way already is answered by its receipt: the sender looks again.
        if self.taken.insert(order.command.id.clone()) {
            self.dispatch(order).await?;
        }
        Ok(())
    }

    /// Forgets orders that have their receipts: the store knows those.
    async fn forget_answered(&mut self) -> Result<(), StoreError> {
        for id in std::mem::take(&mut self.taken) {
            let receipt = self.parts.store.receipt(&id).await?;
            if receipt.is_none() && !planted(Bug::UnansweredForgotten) {
                self.taken.insert(id);
            }
        }
        Ok(())
    }

    async fn dispatch(&mut self, mut order: Ordered) -> Result<(), StoreError> {
        if matches!(order.command.order, Order::Cancel(_)) {
            self.stop_receiving(&order.command.agent);
        }
        match &mut order.command.order {
            Order::Open(_) | Order::Fork(_) => {
                self.note(order, nothing("the session is open")).await
            }
            Order::Resume => self.resume(order).await,
            Order::Delete(which) => {
                let which = *which;
                self.order_deletion(order, which).await
            }
            Order::Prompt(_)
            | Order::Compact
            | Order::SetClientTools(_)
            | Order::SetRole(_)
            | Order::Summarise
            | Order::Close
            | Order::Rename(_)
            | Order::Rewind(_)
            | Order::Spawn(_)
                if self.is_helper(&order.command.agent) =>
            {
                let why = "it works for offshoot itself, and not for people";
                self.note(order, nothing(why)).await
            }
            Order::Prompt(_) => self.prompted(order).await,
            Order::Summarise
            | Order::Close
            | Order::Compact
            | Order::Rewind(_)
            | Order::Spawn(_)
                if self.sleeps() =>
            {
                let why = "it waits for an answer; open the session first";
                self.note(order, nothing(why)).await
            }
            Order::Spawn(spawn) => {
                let new_id = || AgentId::new(self.parts.env.new_id());
                let child = spawn.agent.get_or_insert_with(new_id).clone();
                if !self.working {
                    self.newborns.push(child);
                }
                self.hand_to_actor(order).await
            }
            // These do not make queued work start.
            Order::Rename(_)
            | Order::Summarise
            | Order::Close
            | Order::Compact
            | Order::SetClientTools(_)
            | Order::SetRole(_)
            | Order::Rewind(_) => self.hand_to_actor(order).await,
            Order::Cancel(_)
                if self.mailboxes.contains_key(&order.command.agent)
                    || self.board.state().sleeps(&order.command.agent) =>
            {
                self.hand_to_actor(order).await
            }
            Order::Cancel(scope) => {
                if *scope == Scope::Run {
                    self.stop_below(&order.command.agent);
                }
                let receipt = self.last_settlement(&order.command.agent);
                self.note(order, receipt).await
            }
            Order::Promote => self.promote(order).await,
            Order::Answer(_) => self.answer(order).await,
        }
    }

    fn failed(&self, what: &str, error: &JoinError) -> StoreError {
        let text = format!("session {}: {what} failed: {error}", self.board.tree);
        StoreError::new(StoreErrorKind::Conflict, text)
    }

    fn is_helper(&self, id: &AgentId) -> bool {
        let state = self.board.state();
        let agent = state.tree.agent(id);
        agent.is_some_and(|agent| agent.spawned.helper().is_some())
    }

    /// Tells whether prompts of an agent wait because a turn failed.
    fn is_held_back(&self, id: &AgentId) -> bool {
        let state = self.board.state();
        let agent = state.tree.agent(id);
        agent.is_some_and(|agent| agent.paused && !agent.queue.is_empty())
    }

    async fn hand_to_actor(&mut self, order: Ordered) -> Result<(), StoreError> {
        let id = order.command.agent.clone();
        if !self.mailboxes.contains_key(&id) {
            self.start(&id).await?;
        }
        match self.mailboxes.get(&id) {
            // Fails only when the actor has just ended: then its end brings the order back.
            Some(mailbox) => match mailbox.send(order).await {
                Ok(()) => Ok(()),
                Err(mpsc::error::SendError(order)) => {
                    self.reap().await?;
                    Box::pin(self.hand_to_actor(order)).await
                }
            },
            None => self.note(order, nothing("there is no such agent")).await,
        }
    }

    /// Waits for one actor to end.
    async fn reap(&mut self) -> Result<(), StoreError> {
        match self.actors.join_next().await {
            Some(ended) => Box::pin(self.ended(ended)).await,
            None => Ok(()),
        }
    }

    async fn promote(&mut self, order: Ordered) -> Result<(), StoreError> {
        let child = order.command.agent.clone();
        let run = RunId::first(child.clone());
        let refused = {
            let mut state = self.board.state();
            let waiting = state.tree.waiting_call(&run).is_some();
            match state.node_mut(&child) {
                Some(node) if waiting && node.promote.is_none() => {
                    node.promote = Some(order);
                    node.returned.notify_one();
                    None
                }
                Some(_) | None => Some(order),
            }
        };
        match refused {
            Some(order) => {
                self.note(order, nothing("no call waits for this agent"))
                    .await
            }
            None => Ok(()),
        }
    }

    /// Hands an answer to the call that waits for it. The first one counts.
    async fn answer(&mut self, order: Ordered) -> Result<(), StoreError> {
        let Order::Answer(answer) = &order.command.order else {
            return Ok(());
        };
        let refused = self.objection(&order.command);
        match refused {
            Some(why) => {
                // Whoever waits has to hear of that as well.
                if why == sleep::TOO_LATE {
                    self.board.answered.notify_waiters();
                }
                let is_result = matches!(answer.verdict, Verdict::Returned(_));
                let receipt = if planted(Bug::LateResultAcknowledged) && is_result {
                    Receipt::Answered
                } else {
                    nothing(&why)
                };
                self.note(order, receipt).await
            }
            None if self.sleeps() => self.keep_answer(order).await,
            None => {
                let call = answer.call.clone();
                let agent = order.command.agent.clone();
                if let Some(node) = self.board.state().node_mut(&agent) {
                    node.answers.insert(call, order);
                }
                if !planted(Bug::AnswerNotHeard) {
                    self.board.answered.notify_waiters();
                }
                Ok(())
            }
        }
    }

    fn last_settlement(&self, id: &AgentId) -> Receipt {
        let state = self.board.state();
        match state.tree.agent(id).and_then(|agent| agent.settlement()) {
            Some(settlement) => Receipt::Settled(settlement.as_ref().clone()),
            None => nothing("it has not run yet"),
        }
    }

    /// Stores the receipt of an order that causes no entry.
    async fn note(&mut self, order: Ordered, receipt: Receipt) -> Result<(), StoreError> {
        self.board.state().wake_not(&order.command, &receipt);
        let applied = vec![(order.command.clone(), receipt.clone())];
        let append = Append {
            at: self.parts.env.now(),
            entries: Vec::new(),
            applied,
        };
        self.parts.store.append(&self.board.lease, append).await?;
        order.answer(receipt);
        Ok(())
    }
}

/// Returns an agent as its tree has it now, given its own entries.
pub(crate) fn agent(
    board: &Arc<Board>,
    parts: &Arc<Parts>,
    id: &AgentId,
    entries: &[Arc<Entry>],
    inherited: Option<Arc<Inherited>>,
) -> Option<Agent> {
    let kit = board.kit();
    let state = board.state();
    let root = state.tree.agent(state.tree.root()?)?;
    let Origin::Session {
        workspace, date, ..
    } = &root.spawned.origin
    else {
        return None;
    };
    let found = state.tree.agent(id)?;
    let last = entries.last()?.seq;
    let node = state.node(id)?;
    Some(Agent {
        id: id.clone(),
        definition: found.definition().to_owned(),
        depth: found.spawned.depth,
        helps: found.spawned.helper().map(|helper| helper.purpose),
        model: found.model().to_owned(),
        lineage: state.lineage(id),
        inherited,
        workspace: workspace.clone(),
        scratch: node.scratch.clone(),
        date: date.clone(),
        permissions: node.permissions.clone(),
        read_only: node.read_only,
        board: board.clone(),
        parts: parts.clone(),
        kit,
        log: AgentLog::new(parts, &board.lease, id.clone(), last),
    })
}
