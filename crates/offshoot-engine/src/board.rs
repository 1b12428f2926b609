//! The board of a tree: what its log adds up to, and who is to be told.
//!
//! Everything here follows from committed entries. The store calls `committed`
//! after each commit and before it answers the appender (R4), so an actor that
//! has been answered finds its own entries here. The board is the only publisher
//! of entries. It is locked for moments and never across an await, and it starts
//! nothing: the session does.

mod birth;
mod following;
mod live;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use offshoot_types::event::{Entry, Event};
use offshoot_types::hook::{Hooks, Occasion};
use offshoot_types::id::{AgentId, CallId, RunId, TreeId};
use offshoot_types::manifest::Context;
use offshoot_types::permission::Permissions;
use offshoot_types::settlement::{CancelledBy, Settlement};
use offshoot_types::store::Lease;
use offshoot_types::tree::Tree;
use tokio::sync::{Notify, Semaphore, broadcast, oneshot};
use tokio::time::Instant;

use self::live::{Partial, Spoken};
pub(crate) use self::places::{Full, Unready};
use crate::caps::Reserved;
use crate::context::Prefix;
use crate::governor::Governors;
use crate::ground::Ground;
use crate::hooks::{self, Caller, notices};
use crate::inherit::Shared;
use crate::kit::{Kit, SessionKit};
use crate::limits::Limits;
use crate::next::{self, Next};
use crate::node::{Node, Ordered};
use crate::sabotage::{Bug, planted};
use crate::scratch::Scratch;
use crate::settle;
use crate::slots::Slots;
use crate::update::{Activity, SessionState, Update};
use crate::watch::Slept;

/// Batches of updates that a slow subscriber may be behind before it reads the log again.
///
/// Each place takes 40 bytes twice in every open session, read or not.
const LIVE_BACKLOG: usize = if cfg!(test) { 16 } else { 256 };

/// Most updates that are told at one time: a subscriber that hangs keeps all it has not read.
const TOLD_AT_ONCE: usize = if cfg!(test) { 2 } else { 8 };

/// The board of one tree.
pub(crate) struct Board {
    pub(crate) tree: TreeId,
    pub(crate) lease: Lease,
    pub(crate) limits: Limits,
    pub(crate) slots: Slots,
    /// Shared with the other trees of the runtime.
    pub(crate) governors: Arc<Governors>,
    state: Mutex<State>,
    /// Every update, for those who watch agents at work. Made for the first of them: the queue is most of
    /// what a session takes that no client follows.
    live: OnceLock<broadcast::Sender<Arc<[Update]>>>,
    /// Only batches that hold more than activity and deltas: being woken for every move of every agent
    /// costs more than the move.
    news: OnceLock<broadcast::Sender<Arc<[Update]>>>,
    /// What its agents work with.
    kit: Arc<SessionKit>,
    /// Fires when somebody answered something.
    pub(crate) answered: Notify,
    /// Fires when a run has settled.
    pub(crate) settled: Notify,
    /// Fires when a step gives back what it had reserved.
    pub(crate) freed: Notify,
    /// Fires when agents were stirred: the session has to look.
    pub(crate) stirred: Notify,
    /// How many hooks run at a time that an agent waits for.
    hooking: Semaphore,
    /// How many are told of what has happened at a time: nobody waits for these, so nobody who is
    /// waited for may wait for them.
    pub(crate) telling: Arc<Semaphore>,
    /// How many are told of ends at a time: who begins its next run waits for these.
    announcing: Semaphore,
    /// Whether somebody else may have the tree by now.
    given_back: AtomicBool,
}

/// What is behind the lock.
pub(crate) struct State {
    pub(crate) tree: Tree,
    nodes: BTreeMap<AgentId, Node>,
    /// What the chains of its agents begin with.
    pub(super) ground: Ground,
    stirred: BTreeSet<AgentId>,
    runnable: BTreeSet<AgentId>,
    /// Agents that the commit at hand concerns.
    concerned: Vec<AgentId>,
    /// How many children of whom are planned and not committed yet; they count against descendants.
    planned: BTreeMap<AgentId, usize>,
    /// Agents that were sent messages which no turn has taken up yet, and how many; they count as well
    /// while they do not run.
    waking: BTreeMap<AgentId, usize>,
    pub(crate) slept: Option<Slept>,
    /// What steps under way may still use.
    pub(crate) reserved: Reserved,
    /// What siblings see of their parent's conversation.
    pub(crate) shared: Shared,
    /// By definition, model and version of the kit.
    prefixes: BTreeMap<PrefixKey, Arc<Prefix>>,
    partials: BTreeMap<AgentId, Partial>,
    /// What running calls have said lately.
    outputs: BTreeMap<(AgentId, CallId), Spoken>,
    broken: Option<String>,
    was_idle: bool,
    /// Whether the process is leaving: no run is opened any more.
    leaving: bool,
    /// Orders about calls that had returned by then, or had been decided, and what they are told.
    late: Vec<(Ordered, &'static str)>,
    /// Orders of agents to agents below them.
    errands: Vec<Ordered>,
    /// Who waits until what other processes left has been taken.
    hurried: Vec<oneshot::Sender<()>>,
    /// What hooks are to be told of what has happened.
    notices: Vec<Occasion>,
    /// What hooks said of the start of the session, until the root takes a message that it can stand
    /// behind.
    pub(crate) unsaid: Vec<String>,
    /// Whether followers know that a model of this session takes no images.
    withheld_image: bool,
    /// The children that open calls wait for, by parent and call.
    children_of_calls: BTreeMap<(AgentId, CallId), AgentId>,
    /// Children that the host starts and whose births are on their way to the log, with their parents.
    spawning: BTreeMap<AgentId, AgentId>,
}

impl Board {
    /// A board for a tree whose log so far adds up to `tree`.
    pub(crate) fn new(
        lease: Lease,
        limits: Limits,
        governors: Arc<Governors>,
        kit: Arc<SessionKit>,
        scratch: Option<Scratch>,
        tree: Tree,
    ) -> Self {
        let mut state = State::of(tree, Ground::of(&kit.newest(), scratch));
        let agents: Vec<AgentId> = state.nodes.keys().cloned().collect();
        for id in &agents {
            state.judge(id, &limits);
        }
        state.stir_untold();
        let stirred = Notify::new();
        if !state.stirred.is_empty() {
            stirred.notify_one();
        }
        Self {
            tree: lease.tree.clone(),
            lease,
            slots: Slots::new(limits.slots),
            governors,
            limits,
            state: Mutex::new(state),
            live: OnceLock::new(),
            news: OnceLock::new(),
            kit,
            answered: Notify::new(),
            freed: Notify::new(),
            settled: Notify::new(),
            stirred,
            hooking: Semaphore::new(hooks::AT_A_TIME),
            telling: Arc::new(Semaphore::new(hooks::AT_A_TIME)),
            announcing: Semaphore::new(hooks::AT_A_TIME),
            given_back: AtomicBool::new(false),
        }
    }

    /// Returns what agents of the session work with whose turns begin now.
    pub(crate) fn kit(&self) -> Arc<Kit> {
        self.kit.newest()
    }

    /// Has turns that begin from here on work with the project and the overlays as they are now.
    ///
    /// Rules that have changed hold at once, and for every agent of the session: a rule that denies
    /// does not wait for the end of a turn.
    pub(crate) async fn refresh_kit(&self) {
        if let Some(kit) = self.kit.refresh().await {
            let mut state = self.state();
            let scratch = state.ground.scratch.clone();
            state.change_ground(Ground::of(&kit, scratch));
        }
    }

    /// Returns what hooks are called with.
    pub(crate) fn caller<'a>(&'a self, hooks: &'a Hooks) -> Caller<'a> {
        Caller {
            hooks,
            gate: Some(&self.hooking),
            grace: self.limits.grace,
        }
    }

    /// Notes that the tree was given back: nothing happens to it here any more.
    pub(crate) fn give_back(&self) {
        self.given_back.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_given_back(&self) -> bool {
        self.given_back.load(Ordering::Relaxed)
    }

    /// Returns what hooks are told with of the ends of runs.
    pub(crate) fn announcer<'a>(&'a self, hooks: &'a Hooks) -> Caller<'a> {
        Caller {
            gate: Some(&self.announcing),
            ..self.caller(hooks)
        }
    }

    /// Locks the state. Never hold it across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes entries that have just been committed: folds, publishes, and stirs who is concerned.
    pub(crate) fn committed(&self, entries: &[Arc<Entry>]) {
        let kit = self.kit();
        let mut state = self.state();
        let mut told = Vec::with_capacity(entries.len());
        for entry in entries {
            if let Err(violation) = state.tree.apply(entry) {
                // The store let something through that the fold refuses: a bug. The session ends.
                state.broken.get_or_insert(violation.to_string());
                break;
            }
            state.follow(entry);
            let notice = notices::of(&kit.hooks, &state, entry);
            state.notices.extend(notice);
            if matches!(entry.event, Event::Decided { grant: Some(_), .. }) {
                self.answered.notify_waiters();
            }
            if matches!(entry.event, Event::Settled { .. }) {
                self.settled.notify_waiters();
                told.push(Update::Activity(entry.agent.clone(), Activity::Resting));
            }
            let skip =
                planted(Bug::EntryNotPublished) && matches!(entry.event, Event::TurnEnded { .. });
            if !skip {
                told.push(Update::Entry(entry.clone()));
            }
        }
        state.judge_concerned(&self.limits);
        let idle = state.is_idle();
        if idle && !state.was_idle {
            told.push(Update::Idle);
        }
        state.was_idle = idle;
        // Not one by one: each time whoever listens is woken, and this is the writer's thread.
        for told in told.chunks(TOLD_AT_ONCE) {
            self.tell(Arc::from(told));
        }
        drop(state);
        self.stirred.notify_one();
    }

    /// Has the session carry out an order of an agent to one below it.
    pub(crate) fn errand(&self, order: Ordered) {
        self.state().errands.push(order);
        self.stirred.notify_one();
    }

    /// Has the session take what other processes left, and returns when it has; or when it takes nothing
    /// any more.
    pub(crate) async fn take_pending(&self) {
        let (taken, waiting) = oneshot::channel();
        self.state().hurried.push(taken);
        self.stirred.notify_one();
        drop(waiting.await);
    }

    /// Notes a file that a run of an agent has changed.
    pub(crate) fn changed(&self, agent: &AgentId, path: &str) {
        if let Some(node) = self.state().nodes.get_mut(agent) {
            node.files.insert(path.to_owned());
        }
    }

    /// Publishes something that is not stored.
    pub(crate) fn publish(&self, update: Update) {
        self.tell(Arc::from([update]));
    }

    fn tell(&self, updates: Arc<[Update]>) {
        let is_news = updates.iter().any(Update::is_news);
        let queues = [Some(&self.live), is_news.then_some(&self.news)];
        for queue in queues.into_iter().flatten().filter_map(OnceLock::get) {
            // An error says that nothing receives.
            drop(queue.send(updates.clone()));
        }
    }

    /// Returns how many subscribers there are.
    pub(crate) fn listeners(&self) -> usize {
        let queues = [&self.live, &self.news].into_iter();
        let queues = queues.filter_map(OnceLock::get);
        queues.map(broadcast::Sender::receiver_count).sum()
    }

    /// Notes what an agent does now.
    pub(crate) fn set_activity(&self, agent: &AgentId, activity: Activity) {
        let mut state = self.state();
        let Some(node) = state.nodes.get_mut(agent) else {
            return;
        };
        node.progress = Instant::now();
        if node.activity != activity {
            node.activity = activity.clone();
            self.publish(Update::Activity(agent.clone(), activity));
        }
    }

    /// Stops a run and everything below it.
    pub(crate) fn cancel(&self, agent: &AgentId, by: CancelledBy) {
        let mut state = self.state();
        let Some(node) = state.nodes.get_mut(agent) else {
            return;
        };
        node.cancelled_by.get_or_insert(by);
        node.token.cancel();
        node.wake.notify_one();
        if planted(Bug::CancelStopsShort) {
            return;
        }
        // Tokens reach the runs that were spawned from this one. A run that a message opened below
        // an agent that had settled by then hangs on no other.
        for id in state.tree.below(agent) {
            if let Some(node) = state.nodes.get(id) {
                node.token.cancel();
            }
        }
    }

    /// Returns the prefix that agents of a kind share, made once.
    pub(crate) fn prefix<E>(
        &self,
        key: PrefixKey,
        make: impl FnOnce() -> Result<Prefix, E>,
    ) -> Result<Arc<Prefix>, E> {
        if let Some(prefix) = self.state().prefixes.get(&key) {
            return Ok(prefix.clone());
        }
        let prefix = Arc::new(make()?);
        let mut state = self.state();
        // What was made of an earlier kit or of earlier client tools is of no use any more.
        let is_older =
            |other: &PrefixKey| other.kit < key.kit || other.client_tools < key.client_tools;
        state.prefixes.retain(|other, _| !is_older(other));
        state.prefixes.insert(key, prefix.clone());
        Ok(prefix)
    }
}

/// What agents have in common that share a prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PrefixKey {
    /// Who they are and, as far as they see their conversations, who is above them.
    pub(crate) lineage: Vec<Kin>,
    /// Which version of the session's kit.
    pub(crate) kit: u64,
    /// How often the session's client tools were set.
    pub(crate) client_tools: u64,
}

/// What makes an agent's prompt and tools what they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kin {
    pub(crate) definition: String,
    pub(crate) model: String,
    /// Whether it works for the runtime, with words alone.
    pub(crate) helps: bool,
    /// Whether it is the root, whose prompt overlays may change.
    pub(crate) is_root: bool,
    /// What it sees of whoever is next.
    pub(crate) context: Context,
    /// Tools that its chain never allows.
    pub(crate) barred: Vec<String>,
}

/// An agent in a line of them, each the parent of the one before.
#[derive(Clone, Debug)]
pub(crate) struct Relative {
    /// Nothing is barred here yet: that depends on the tools there are.
    pub(crate) kin: Kin,
    pub(crate) chain: Permissions,
}

impl State {
    /// Notes that an image was not sent because of the model; tells whether it is the first.
    pub(crate) fn first_withheld_image(&mut self) -> bool {
        !std::mem::replace(&mut self.withheld_image, true)
    }

    /// What a tree adds up to that nobody works in yet.
    pub(crate) fn of(tree: Tree, ground: Ground) -> Self {
        let mut state = Self {
            tree: Tree::default(),
            nodes: BTreeMap::new(),
            stirred: BTreeSet::new(),
            ground,
            runnable: BTreeSet::new(),
            concerned: Vec::new(),
            planned: BTreeMap::new(),
            waking: BTreeMap::new(),
            slept: None,
            reserved: Reserved::default(),
            shared: Shared::default(),
            prefixes: BTreeMap::new(),
            partials: BTreeMap::new(),
            outputs: BTreeMap::new(),
            broken: None,
            was_idle: false,
            leaving: false,
            late: Vec::new(),
            errands: Vec::new(),
            hurried: Vec::new(),
            notices: Vec::new(),
            unsaid: Vec::new(),
            withheld_image: false,
            children_of_calls: BTreeMap::new(),
            spawning: BTreeMap::new(),
        };
        let mut all: Vec<AgentId> = tree.walk().into_iter().cloned().collect();
        all.extend(tree.helpers().iter().cloned());
        state.tree = tree;
        for id in &all {
            if let Some(spawned) = state.tree.agent(id).map(|agent| agent.spawned.clone()) {
                state.add_node(id, &spawned, None);
            }
        }
        if let Some(root) = state.tree.root().cloned() {
            state.change_role(&root);
        }
        state
    }

    /// Finds what the process knows of an agent.
    pub(crate) fn node(&self, id: &AgentId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// Finds what the process knows of an agent, to change it.
    pub(crate) fn node_mut(&mut self, id: &AgentId) -> Option<&mut Node> {
        self.nodes.get_mut(id)
    }

    /// Returns what an agent should do now (R17).
    pub(crate) fn next(&self, id: &AgentId, limits: &Limits) -> Next {
        let stopped = self.nodes.get(id).and_then(Node::stopped);
        match next::next(&self.tree, id, limits, stopped) {
            Next::Start { .. } if !self.may_begin(id) => self.hold(id),
            next @ (Next::Run
            | Next::Start { .. }
            | Next::Tell(_)
            | Next::Settle(_)
            | Next::Wait
            | Next::Rest) => next,
        }
    }

    /// Tells whether an agent that is between turns may begin one.
    pub(crate) fn may_begin(&self, id: &AgentId) -> bool {
        let Some(agent) = self.tree.agent(id) else {
            return false;
        };
        agent.turn.is_none() && !next::is_held(agent) && self.may_spawn(id)
    }

    /// Tells whether something new may begin below an agent.
    pub(crate) fn may_spawn(&self, id: &AgentId) -> bool {
        let agent = self.tree.agent(id);
        let open = agent.is_some_and(|agent| agent.open_run().is_some());
        let stopping = open && self.is_stopped(id);
        !stopping && !self.leaving && !self.is_stopping_above(id)
    }

    /// Tells whether a run above an agent is being stopped: nothing new begins below it until it has
    /// settled, or it would wait for what the stop did not mean.
    fn is_stopping_above(&self, id: &AgentId) -> bool {
        let parent_of = |id: &AgentId| Some(self.tree.agent(id)?.parent()?.agent.clone());
        let mut above = parent_of(id);
        while let Some(id) = above {
            let open = self
                .tree
                .agent(&id)
                .is_some_and(|agent| agent.open_run().is_some());
            if open && self.is_stopped(&id) {
                return true;
            }
            above = parent_of(&id);
        }
        false
    }

    /// Returns what an agent does that may not begin a turn.
    fn hold(&self, id: &AgentId) -> Next {
        let Some(agent) = self.tree.agent(id) else {
            return Next::Rest;
        };
        match agent.open_run() {
            None => Next::Rest,
            Some(_) if !agent.open_children.is_empty() => Next::Wait,
            Some(_) => Next::Settle(settle::status(&agent.tally, Some(CancelledBy::Ancestor))),
        }
    }

    /// Opens no run any more: the process is leaving.
    pub(crate) fn leave(&mut self) {
        self.leaving = true;
    }

    /// Tells whether an agent has a turn to take up or a prompt to answer.
    pub(crate) fn has_work_left(&self, id: &AgentId) -> bool {
        let agent = self.tree.agent(id);
        agent.is_some_and(|agent| agent.turn.is_some() || !agent.queue.is_empty())
    }

    /// Returns the agents that something happened to since the last call.
    pub(crate) fn take_stirred(&mut self) -> BTreeSet<AgentId> {
        std::mem::take(&mut self.stirred)
    }

    /// Tells whether the session has nobody left to look at.
    pub(crate) fn is_calm(&self) -> bool {
        self.stirred.is_empty()
            && self.late.is_empty()
            && self.errands.is_empty()
            && self.notices.is_empty()
    }

    /// Returns orders that came too late to have an effect.
    pub(crate) fn take_late(&mut self) -> Vec<(Ordered, &'static str)> {
        std::mem::take(&mut self.late)
    }

    /// Returns orders of agents to agents below them.
    pub(crate) fn take_errands(&mut self) -> Vec<Ordered> {
        std::mem::take(&mut self.errands)
    }

    /// Returns who waits until what other processes left has been taken.
    pub(crate) fn take_hurried(&mut self) -> Vec<oneshot::Sender<()>> {
        std::mem::take(&mut self.hurried)
    }

    /// Has hooks told of something that has happened.
    pub(crate) fn add_notices(&mut self, notices: impl IntoIterator<Item = Occasion>) {
        self.notices.extend(notices);
    }

    /// Returns what hooks are to be told of what has happened.
    pub(crate) fn take_notices(&mut self) -> Vec<Occasion> {
        std::mem::take(&mut self.notices)
    }

    /// Stirs every agent, so that the session looks at all of them.
    pub(crate) fn stir_all(&mut self) {
        self.stirred.extend(self.nodes.keys().cloned());
    }

    /// Has the session look at whose ends hooks have still to be told of.
    fn stir_untold(&mut self) {
        let tree = &self.tree;
        let untold = |id: &&AgentId| tree.agent(id).is_some_and(|it| it.untold().is_some());
        let untold = self.nodes.keys().filter(untold);
        self.stirred.extend(untold.cloned());
    }

    /// Returns why the board cannot be trusted any more, if so.
    pub(crate) fn broken(&self) -> Option<&String> {
        self.broken.as_ref()
    }

    /// Tells whether nothing runs and nothing wants to (R19).
    pub(crate) fn is_idle(&self) -> bool {
        self.tree.open_runs() == 0 && self.runnable.is_empty()
    }

    /// Returns how a run ended, if it has.
    pub(crate) fn settlement(&self, run: &RunId) -> Option<Arc<Settlement>> {
        self.tree
            .run(run)?
            .settled
            .as_ref()
            .map(|(_, settlement)| settlement.clone())
    }

    /// Returns the state of an agent, for people.
    pub(crate) fn session_state(&self, id: &AgentId) -> SessionState {
        let (Some(agent), Some(node)) = (self.tree.agent(id), self.nodes.get(id)) else {
            return SessionState::Idle;
        };
        match (&node.activity, agent.open_run()) {
            (Activity::Retrying { .. }, _) => SessionState::Retrying,
            (Activity::Permission(_), Some(_)) => SessionState::WaitingOnApproval,
            (Activity::Question, Some(_)) => SessionState::WaitingOnUserInput,
            (_, Some(_)) => SessionState::Busy,
            (_, None) if agent.paused => SessionState::Error,
            (_, None) => SessionState::Idle,
        }
    }
}
