//! One history: processes that die, and the end of it.
//!
//! Two processes share a disk. A person (`person.rs`) sends commands to either;
//! processes die, leave in good order and are started again. At the end nothing fails any more: what hangs is cancelled, one last
//! question is asked, and the tree has to come to rest in bounded virtual time.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offshoot_store::{Backend, Handle, Sqlite};
use offshoot_types::caps::{Caps, Span};
use offshoot_types::client_tool::ClientTool;
use offshoot_types::command::{Opening, Order, Scope};
use offshoot_types::event::{Entry, Event};
use offshoot_types::hook::{Hooks, Point};
use offshoot_types::id::{AgentId, CallId, Pos, TreeId};
use offshoot_types::manifest::{Manifest, Mode, Registry, Toolset};
use offshoot_types::outcome::{Body, ErrorKind};
use offshoot_types::permission::charter::Charter;
use offshoot_types::sidecar::NoSidecars;
use offshoot_types::store::Store;
use offshoot_types::tier::{ModelChoices, Tier};
use offshoot_types::tool::Effect;
use offshoot_types::tree::{Agent, Tree};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::chance::Chance;
use super::clients;
use super::disk::{Death, Disk, Flaw, Moment, Power, RealStore, SimStore};
use super::fakes::{FINAL, SimEnv, SimModels, SimTool, WINDOW};
use super::hooks;
use super::oracle::{self, Texts, Verdict, Witness};
use super::rules;
use crate::ask::{Asks, Who};
use crate::compact::Compacting;
use crate::helper::Helpers;
use crate::limits::Limits;
use crate::overlay::Attachment;
use crate::project::{OneProject, Project};
use crate::recover;
use crate::runtime::{Ending, Parts, Runtime};
use crate::update::Update;

/// How long a tree may take to come to rest, in virtual time.
pub(super) const PATIENCE: Duration = Duration::from_secs(3_600);

/// What a history starts from.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) flaw: Option<Flaw>,
    /// Where real handles work; without it, processes are simulated down to their commits.
    pub(crate) folder: Option<TempDir>,
    /// At most this much happens before the end; for shrinking.
    pub(crate) acts: usize,
}

impl Plan {
    /// A whole history.
    pub(crate) fn new(seed: u64, backend: Box<dyn Backend>) -> Self {
        Self {
            seed,
            backend,
            flaw: None,
            folder: None,
            acts: usize::MAX,
        }
    }

    /// A history whose processes have real handles on a folder of their own.
    pub(crate) fn with_handles(seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("make a folder");
        drop(Handle::open(folder.path()).expect("make a store"));
        let database = Sqlite::open(&folder.path().join("offshoot.db"));
        Self {
            folder: Some(folder),
            ..Self::new(seed, Box::new(database.expect("open the database")))
        }
    }
}

/// What happened in some histories.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) histories: u64,
    pub(crate) deaths: u64,
    pub(crate) commits: u64,
    pub(crate) agents: u64,
    pub(crate) entries: u64,
    pub(crate) rewinds: u64,
    pub(crate) dropped: u64,
    pub(crate) copies: u64,
    pub(crate) summaries: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.histories += other.histories;
        self.deaths += other.deaths;
        self.commits += other.commits;
        self.agents += other.agents;
        self.entries += other.entries;
        self.rewinds += other.rewinds;
        self.dropped += other.dropped;
        self.copies += other.copies;
        self.summaries += other.summaries;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            histories,
            deaths,
            commits,
            agents,
            entries,
            rewinds,
            dropped,
            copies,
            summaries,
        } = self;
        write!(
            f,
            "{histories} histories: {deaths} deaths, {commits} commits, {agents} agents, \
             {entries} entries, {rewinds} rewinds that dropped {dropped}, {copies} copies, \
             {summaries} summaries"
        )
    }
}

/// Runs a history; an error says which rule was broken.
pub(crate) fn history(plan: Plan) -> Result<Report, String> {
    run(plan).1
}

/// Runs a history and returns its whole log as text.
pub(crate) fn trace(plan: Plan) -> String {
    run(plan).0.join("\n")
}

fn run(plan: Plan) -> (Vec<String>, Result<Report, String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("build a runtime");
    runtime.block_on(async {
        let mut world = World::new(plan);
        let result = Box::pin(world.live()).await;
        let log = world
            .disk
            .read(|backend| backend.entries(&world.tree, Pos::ZERO, usize::MAX));
        let log = log.iter().map(|entry| format!("{entry:?}")).collect();
        (log, result)
    })
}

pub(super) struct World {
    pub(super) chance: Chance,
    hooks: Hooks,
    charter: Arc<dyn Charter>,
    pub(super) disk: Arc<Disk>,
    folder: Option<TempDir>,
    pub(super) witness: Arc<Witness>,
    pub(super) tree: TreeId,
    pub(super) processes: Vec<Process>,
    limits: Limits,
    registry: Registry,
    helpers: Helpers,
    /// How many tokens the model takes, if anybody says.
    window: Option<u64>,
    asks: Asks,
    client_tools: Vec<ClientTool>,
    /// The sessions that have a tool attached.
    pub(super) attached: Vec<TreeId>,
    started: u32,
    deaths: u64,
    deaths_left: usize,
    acts: usize,
    pub(super) commands: u32,
}

/// A process: a runtime, its power and the task that writes for it.
pub(super) struct Process {
    pub(super) runtime: Runtime,
    pub(super) power: Arc<Power>,
    number: u32,
    /// Writes for a simulated store; a real one has a thread.
    writer: Option<JoinHandle<()>>,
    subscriber: JoinHandle<()>,
    pub(super) attachments: Vec<Attachment>,
}

/// Returns the calls of the root that wait for an answer.
fn waits_of_root(tree: &Tree) -> Vec<CallId> {
    let root = tree.root().and_then(|root| tree.agent(root));
    let calls = root.map(Agent::open_calls).unwrap_or_default();
    let waiting = calls.into_iter().filter(|open| open.asks.is_some());
    waiting.map(|open| open.call.clone()).collect()
}

impl World {
    fn new(plan: Plan) -> Self {
        let chance = Chance::new(plan.seed);
        let verdict = Verdict::default();
        let witness = Witness::new(verdict.clone(), plan.folder.is_some());
        let witness = Arc::new(witness);
        let disk = Arc::new(Disk::new(plan.backend, verdict, chance.clone(), plan.flaw));
        let deaths_left = 1 + chance.below(4);
        let limits = Limits {
            slots: 1 + chance.below(3),
            wakes: 1 + chance.below(4) as u32,
            // Without a cap on time, what hangs does so for ever, unless it is stopped.
            spawned: Caps {
                steps: Some(2 + chance.below(3) as u32),
                ..[Caps::default(), Limits::default().spawned][chance.below(2)]
            },
            descendants: 3 + chance.below(8),
            depth: 2 + chance.below(4) as u32,
            ..Limits::default()
        };
        let registry = registry(&chance);
        let helpers = helpers(&chance);
        let window = chance.one_in(2).then_some(WINDOW);
        let within = Some(Duration::from_secs(1 + chance.below(60) as u64));
        let impatient = Asks {
            yes: chance.one_in(2),
            who: Who::Somebody { within },
        };
        let asks = [Asks::NOBODY, Asks::YES, Asks::SOMEBODY, impatient][chance.below(4)];
        let hooks = hooks::hooks(plan.seed, &witness);
        let tree = TreeId::of(AgentId::new("root"));
        let attached = clients::has_overlays(plan.seed).then(|| tree.clone());
        Self {
            chance,
            hooks,
            charter: rules::charter(plan.seed),
            disk,
            folder: plan.folder,
            witness,
            tree,
            processes: Vec::new(),
            limits,
            registry,
            helpers,
            window,
            asks,
            client_tools: clients::client_tools(plan.seed),
            attached: attached.into_iter().collect(),
            started: 0,
            deaths: 0,
            deaths_left,
            acts: plan.acts,
            commands: 0,
        }
    }

    async fn live(&mut self) -> Result<Report, String> {
        for _ in 0..2 {
            let process = self.start().await;
            self.processes.push(process);
        }
        self.follow(0).await;
        let prompt = self.chance.one_in(2).then(|| self.words("go"));
        let opening = Order::open(Opening {
            definition: "lead".to_owned(),
            model: "sim".to_owned(),
            workspace: "/w".to_owned(),
            date: "2026-11-15".to_owned(),
            project: None,
            caps: Caps::default(),
            metadata: None,
            prompt,
            client_tools: self.client_tools.clone(),
        });
        self.send(vec![(self.tree.root().clone(), opening)]).await?;
        let acts = 3 + self.chance.below(6);
        for _ in 0..acts.min(self.acts) {
            self.act().await?;
        }
        self.settle_down().await?;
        let tree = oracle::judge(&self.disk, &self.witness, &self.tree)?;
        if self.hooks.is_watched(Point::SubagentStop) {
            // A process that dies, leaves or loses its lock has the next one tell again.
            self.witness.judge_stops(&tree, self.started as usize)?;
        }
        let (rewinds, dropped, summaries) = self.cuts();
        Ok(Report {
            histories: 1,
            deaths: self.deaths,
            commits: self.disk.commits() as u64,
            agents: tree.walk().len() as u64,
            entries: tree.pos().get(),
            rewinds,
            dropped,
            copies: self.copies().len() as u64,
            summaries,
        })
    }

    /// Lets nothing fail any more and waits for the tree to come to rest.
    async fn settle_down(&mut self) -> Result<(), String> {
        self.witness.calm_down();
        self.deaths_left = 0;
        for process in &self.processes {
            process.power.spare();
        }
        self.stop_copies().await?;
        let root = self.tree.root().clone();
        // A stop has to end what hangs. It would also dissolve what waits for a wake that was lost, so
        // half of the trees come to rest without one, and without a word to them: opened at most.
        if self.chance.one_in(2) {
            let stop = Order::Cancel(Scope::Run);
            self.send(vec![(root.clone(), stop)]).await?;
        } else {
            self.witness.let_go();
            self.send(vec![(root.clone(), Order::Resume)]).await?;
            self.come_to_rest().await?;
        }
        let last = self.prompt(FINAL);
        self.send(vec![(root, last)]).await?;
        self.come_to_rest().await
    }

    /// Waits until the tree is quiet, its commands are done and the subscriber has seen all of it.
    async fn come_to_rest(&mut self) -> Result<(), String> {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            self.revive().await;
            if let Some(broken) = self.witness.verdict.get() {
                return Err(broken);
            }
            let tree = self.tree_on_disk();
            let seen = self.witness.published.lock().unwrap().len() as u64;
            // An order may be under way although nothing runs: a summary is no run of anybody's.
            let pending = self.disk.read(|backend| backend.pending(&self.tree));
            let quiet =
                oracle::is_quiet(&tree) && pending.is_empty() && oracle::all_announced(&tree);
            if quiet && seen == tree.pos().get() {
                return Ok(());
            }
            self.answer_all(&tree).await?;
            if tokio::time::Instant::now() > until {
                let what = if !oracle::all_announced(&tree) {
                    "what hooks are told"
                } else if oracle::is_quiet(&tree) {
                    "the subscriber"
                } else {
                    "the tree"
                };
                return Err(format!("{what} does not come to rest"));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub(super) fn tree_on_disk(&self) -> Tree {
        let entries = self
            .disk
            .read(|backend| backend.entries(&self.tree, Pos::ZERO, usize::MAX));
        Tree::fold(&entries).unwrap_or_else(|violation| {
            self.witness.verdict.fail(&violation.to_string());
            Tree::default()
        })
    }

    /// Ends a process in good order, in the middle of whatever it does, and starts another.
    pub(super) async fn leave(&mut self, index: usize) -> Result<(), String> {
        let fresh = self.start().await;
        let old = std::mem::replace(&mut self.processes[index], fresh);
        old.subscriber.abort();
        let owned = old.runtime.is_run_here(&self.tree);
        let waited = waits_of_root(&self.tree_on_disk());
        let left = tokio::select! {
            biased;
            () = old.power.died.notified() => false,
            () = old.runtime.shutdown(Ending::Now) => true,
        };
        old.writer.iter().for_each(JoinHandle::abort);
        self.disk.forget(old.number);
        if index == 0 {
            self.follow(0).await;
        }
        let left = left && !old.power.is_dead();
        let full = old.power.was_full.load(Ordering::Relaxed);
        let stolen = self.witness.stolen.load(Ordering::Relaxed);
        let tree = self.tree_on_disk();
        // What a root of a dead process has asked somebody sleeps, whoever looks in meanwhile (R16).
        let root = tree.agent(self.tree.root());
        let asleep = usize::from(root.is_some_and(recover::survives));
        let open = tree.open_runs() > asleep || tree.open_helpers().next().is_some();
        if left && owned && !full && !stolen && open {
            return Err("a process left in good order and a run is open (R20)".to_owned());
        }
        if left && owned && !full && !stolen {
            self.judge_waits(&waited)?;
        }
        Ok(())
    }

    /// Fails if a process that ended in good order has withdrawn what the root waited for.
    fn judge_waits(&self, waited: &[CallId]) -> Result<(), String> {
        let root = self.tree.root();
        let entries = self
            .disk
            .read(|backend| backend.entries(&self.tree, Pos::ZERO, usize::MAX));
        let withdrawn = |entry: &Entry| match &entry.event {
            Event::CallFinished { call, outcome, .. } => {
                let kind = ErrorKind::Cancelled;
                let is_cancelled =
                    matches!(&outcome.body, Body::Error { kind: it, .. } if *it == kind);
                entry.agent == *root && is_cancelled && waited.contains(call)
            }
            _ => false,
        };
        if entries.iter().any(withdrawn) {
            let text = "an orderly end withdrew what the root waited for (R20)";
            return Err(text.to_owned());
        }
        Ok(())
    }

    /// Tells whether the session has client tools.
    pub(super) fn has_client_tools(&self) -> bool {
        !self.client_tools.is_empty()
    }

    /// Tells whether the processes are simulated down to their commits.
    pub(super) fn is_simulated(&self) -> bool {
        self.folder.is_none()
    }

    /// Tells whether a process has died so far.
    pub(super) fn has_died(&self) -> bool {
        self.deaths > 0 || self.processes.iter().any(|it| it.power.is_dead())
    }

    /// Buries processes that died and starts others in their place.
    pub(super) async fn revive(&mut self) {
        for index in 0..self.processes.len() {
            if !self.processes[index].power.is_dead() {
                continue;
            }
            self.deaths += 1;
            let dead = &self.processes[index];
            dead.writer.iter().for_each(JoinHandle::abort);
            dead.subscriber.abort();
            self.disk.forget(dead.number);
            let process = self.start().await;
            // The old runtime is dropped here, and with it all that ran in it.
            self.processes[index] = process;
            if index == 0 {
                self.follow(0).await;
            }
        }
    }

    async fn start(&mut self) -> Process {
        self.started += 1;
        let death = (self.deaths_left > 0).then(|| Death {
            at_commit: 1 + self.chance.below([4, 12, 40][self.chance.below(3)]),
            moment: [Moment::BeforeCommit, Moment::BeforeAnswer][self.chance.below(2)],
        });
        self.deaths_left = self.deaths_left.saturating_sub(1);
        let power = Arc::new(Power::dying(death));
        let (store, writer) = self.open_store(&power);
        let chance = self.chance.clone();
        let project = Project {
            charter: self.charter.clone(),
            helpers: self.helpers.clone(),
            hooks: self.hooks.clone(),
            models: Arc::new(SimModels {
                process: self.started,
                chance: chance.clone(),
                witness: self.witness.clone(),
                disk: self.disk.clone(),
                window: self.window,
            }),
            tools: vec![
                SimTool::tool("read", Effect::Read, chance.clone(), self.witness.clone()),
                SimTool::tool("write", Effect::Write, chance.clone(), self.witness.clone()),
            ]
            .into(),
            registry: Arc::new(self.registry.clone()),
            asks: self.asks,
        };
        let runtime = Runtime::new(Parts {
            store,
            projects: Arc::new(OneProject::from(project)),
            env: Arc::new(SimEnv(self.witness.clone())),
            limits: self.limits.clone(),
            data: None,
            sidecars: Arc::new(NoSidecars),
        });
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the process is buried"
        )]
        let subscriber = tokio::spawn(async {});
        let attachments = self.attach(&runtime, &self.attached);
        Process {
            runtime,
            power,
            number: self.started,
            writer,
            subscriber,
            attachments,
        }
    }

    /// Opens the store of the process that was started last.
    fn open_store(&self, power: &Arc<Power>) -> (Arc<dyn Store>, Option<JoinHandle<()>>) {
        let (disk, number, power) = (self.disk.clone(), self.started, power.clone());
        if let Some(folder) = &self.folder {
            return (RealStore::open(disk, number, power, folder.path()), None);
        }
        let store = SimStore::new(disk, number, power);
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the process is buried"
        )]
        let writer = tokio::spawn(store.clone().write());
        (store, Some(writer))
    }

    /// Follows the tree through a process, from where the last follower was; slowly, so that it lags.
    async fn follow(&mut self, index: usize) {
        let seen = self.witness.published.lock().unwrap().len() as u64;
        let process = &mut self.processes[index];
        let mut subscription = process.runtime.subscribe(&self.tree, Pos::new(seen)).await;
        let (witness, disk, chance) =
            (self.witness.clone(), self.disk.clone(), self.chance.clone());
        let limits = self.limits.clone();
        let (tree, number) = (self.tree.clone(), process.number);
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the process is buried"
        )]
        let subscriber = tokio::spawn(async move {
            let mut texts = Texts::default();
            while let Ok(update) = subscription.next().await {
                match update {
                    Update::Entry(entry) => witness.published(entry, &disk),
                    Update::Delta(delta) => texts.take(&delta, &witness.verdict),
                    Update::Idle => witness.idle(&limits),
                    Update::Output(_)
                    | Update::Orphaned
                    | Update::Activity(..)
                    | Update::Notice(..)
                    | Update::Hooked(..) => {}
                    Update::Parked(error) => disk.parked(&tree, number, &error),
                }
                if chance.one_in(10) {
                    chance.pause().await;
                }
            }
        });
        process.subscriber = subscriber;
    }
}

fn registry(chance: &Chance) -> Registry {
    let mut registry = Registry::default();
    registry.add(Manifest {
        limits: Caps {
            tokens: Some([0, 600, 2_000, 6_000][chance.below(4)]),
            time: Some(Span::secs(1 + chance.below(60) as u64)),
            stall: Some(Span::secs(1 + chance.below(10) as u64)),
            descendants: Some(chance.below(3) as u32),
            ..Caps::default()
        },
        ..Manifest::new("thrifty", Mode::Subagent, "Save.")
    });
    registry.add(Manifest {
        tools: Toolset::only(["*", "question"]),
        ..Manifest::new("lead", Mode::Primary, "Lead.")
    });
    registry.add(Manifest::new("worker", Mode::Subagent, "Work."));
    registry.add(Manifest {
        inspectable: true,
        ..Manifest::new("watched", Mode::All, "Be seen.")
    });
    for name in ["title", "summary", "compaction"] {
        registry.add(Manifest {
            tools: Toolset::only([]),
            ..Manifest::new(name, Mode::Subagent, "Help.")
        });
        registry.hide(name);
    }
    registry
}

/// Draws how the runtime uses agents for itself.
fn helpers(chance: &Chance) -> Helpers {
    Helpers {
        models: ModelChoices {
            tiers: (chance
                .one_in(2)
                .then(|| (Tier::Small, "sim".to_owned()))
                .into_iter())
            .collect(),
            child: None,
        },
        compaction: Compacting {
            reserve_tokens: Some(1_000),
            tail_turns: chance.below(3),
            // Next to nothing, so that a part of what was said is always too much to be kept.
            tail_budget_pct: [0, 1, 25][chance.below(3)],
            ..Compacting::default()
        },
    }
}
