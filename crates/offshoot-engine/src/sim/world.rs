//! One history: processes that die, a person who asks, and the end of it.
//!
//! Two processes share a disk. The person sends commands to either, again where
//! no answer came, some of them twice; locks are stolen and the disk is full now
//! and then. At the end nothing fails any more: what hangs is cancelled, one last
//! question is asked, and the tree has to come to rest in bounded virtual time.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offshoot_store::Backend;
use offshoot_types::command::{Command, Opening, Order, Prompt, Scope};
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos, TreeId};
use offshoot_types::manifest::{Manifest, Mode, Registry};
use offshoot_types::store::StoreErrorKind;
use offshoot_types::tool::Effect;
use offshoot_types::tree::Tree;
use tokio::task::JoinHandle;

use super::chance::Chance;
use super::disk::{Death, Disk, Flaw, Moment, Power, SimStore};
use super::fakes::{FINAL, SimEnv, SimModels, SimTool};
use super::oracle::{self, Verdict, Witness};
use crate::board::Update;
use crate::limits::Limits;
use crate::runtime::{CommandError, Parts, Runtime};

/// How long a tree may take to come to rest, in virtual time.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// What a history starts from.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) flaw: Option<Flaw>,
}

/// What happened in some histories.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) histories: u64,
    pub(crate) deaths: u64,
    pub(crate) commits: u64,
    pub(crate) agents: u64,
    pub(crate) entries: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.histories += other.histories;
        self.deaths += other.deaths;
        self.commits += other.commits;
        self.agents += other.agents;
        self.entries += other.entries;
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
        } = self;
        write!(
            f,
            "{histories} histories: {deaths} deaths, {commits} commits, {agents} agents, {entries} entries"
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

struct World {
    chance: Chance,
    disk: Arc<Disk>,
    witness: Arc<Witness>,
    tree: TreeId,
    processes: Vec<Process>,
    started: u32,
    deaths: u64,
    deaths_left: usize,
    commands: u32,
}

/// A process: a runtime, its power and the task that writes for it.
struct Process {
    runtime: Runtime,
    power: Arc<Power>,
    number: u32,
    writer: JoinHandle<()>,
    subscriber: JoinHandle<()>,
}

impl World {
    fn new(plan: Plan) -> Self {
        let chance = Chance::new(plan.seed);
        let verdict = Verdict::default();
        let witness = Arc::new(Witness::new(verdict.clone()));
        let disk = Arc::new(Disk::new(plan.backend, verdict, chance.clone(), plan.flaw));
        let deaths_left = 1 + chance.below(4);
        Self {
            chance,
            disk,
            witness,
            tree: TreeId::of(AgentId::new("root")),
            processes: Vec::new(),
            started: 0,
            deaths: 0,
            deaths_left,
            commands: 0,
        }
    }

    async fn live(&mut self) -> Result<Report, String> {
        for _ in 0..2 {
            let process = self.start().await;
            self.processes.push(process);
        }
        self.follow(0).await;
        let opening = Order::Open(Opening {
            definition: "lead".to_owned(),
            model: "sim".to_owned(),
            workspace: "/w".to_owned(),
            date: "2026-11-15".to_owned(),
            metadata: None,
        });
        self.send(self.tree.root().clone(), opening).await?;
        for _ in 0..3 + self.chance.below(6) {
            self.act().await?;
        }
        self.settle_down().await?;
        let tree = oracle::judge(&self.disk, &self.witness, &self.tree)?;
        Ok(Report {
            histories: 1,
            deaths: self.deaths,
            commits: self.disk.commits() as u64,
            agents: tree.walk().len() as u64,
            entries: tree.pos().get(),
        })
    }

    /// Does one thing a person, another process or bad luck might do.
    async fn act(&mut self) -> Result<(), String> {
        let root = self.tree.root().clone();
        match self.chance.below(20) {
            0..=6 => {
                let prompt = self.prompt("go");
                self.send(root, prompt).await
            }
            7 => {
                let prompt = self.prompt("more");
                self.send(self.some_agent(), prompt).await
            }
            8 | 9 => {
                self.send(self.some_agent(), Order::Cancel(Scope::Run))
                    .await
            }
            10 => {
                self.send(self.some_agent(), Order::Cancel(Scope::Turn))
                    .await
            }
            11 | 12 => self.send(self.some_agent(), Order::Promote).await,
            13 => {
                self.witness.stolen.store(true, Ordering::Relaxed);
                self.disk.steal(&self.tree);
                Ok(())
            }
            14 => {
                let process = &self.processes[self.chance.below(self.processes.len())];
                process
                    .power
                    .full
                    .store(1 + self.chance.below(2), Ordering::Relaxed);
                Ok(())
            }
            15 => self.send(root, Order::Resume).await,
            _ => {
                let ms = self.chance.draw() % 4_000;
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(())
            }
        }
    }

    /// Lets nothing fail any more and waits for the tree to come to rest.
    async fn settle_down(&mut self) -> Result<(), String> {
        self.witness.calm_down();
        self.deaths_left = 0;
        for process in &self.processes {
            process.power.spare();
        }
        let root = self.tree.root().clone();
        self.send(root.clone(), Order::Cancel(Scope::Run)).await?;
        let last = self.prompt(FINAL);
        self.send(root, last).await?;
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            self.revive().await;
            if let Some(broken) = self.witness.verdict.get() {
                return Err(broken);
            }
            let tree = self.tree_on_disk();
            let seen = self.witness.published.lock().unwrap().len() as u64;
            if oracle::is_quiet(&tree) && seen == tree.pos().get() {
                return Ok(());
            }
            if tokio::time::Instant::now() > until {
                let what = if oracle::is_quiet(&tree) {
                    "the subscriber"
                } else {
                    "the tree"
                };
                return Err(format!("{what} does not come to rest"));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn prompt(&self, text: &str) -> Order {
        Order::Prompt(Prompt {
            message: MessageId::new(format!("prompt-{}", self.commands)),
            text: text.to_owned(),
            metadata: None,
        })
    }

    fn some_agent(&self) -> AgentId {
        let tree = self.tree_on_disk();
        let agents = tree.walk();
        agents
            .get(self.chance.below(agents.len()))
            .map_or_else(|| self.tree.root().clone(), |id| (*id).clone())
    }

    fn tree_on_disk(&self) -> Tree {
        let entries = self
            .disk
            .read(|backend| backend.entries(&self.tree, Pos::ZERO, usize::MAX));
        Tree::fold(&entries).unwrap_or_else(|violation| {
            self.witness.verdict.fail(&violation.to_string());
            Tree::default()
        })
    }

    /// Sends a command until it is answered, to whichever process lives, now and then twice at once.
    async fn send(&mut self, agent: AgentId, order: Order) -> Result<(), String> {
        self.commands += 1;
        let command = Command {
            id: CommandId::new(format!("command-{}", self.commands)),
            tree: self.tree.clone(),
            agent,
            order,
        };
        let twice = self.chance.one_in(4);
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            self.revive().await;
            if let Some(broken) = self.witness.verdict.get() {
                return Err(broken);
            }
            if tokio::time::Instant::now() > until {
                return Err(format!("{command:?} is not answered"));
            }
            let process = &self.processes[self.chance.below(self.processes.len())];
            let answered = async {
                let once = process.runtime.command(command.clone());
                if twice {
                    let again = process.runtime.command(command.clone());
                    Box::pin(futures_util::future::join(once, again)).await.0
                } else {
                    Box::pin(once).await
                }
            };
            let died = async {
                futures_util::future::select_all(
                    self.processes
                        .iter()
                        .map(|process| Box::pin(process.power.died.notified())),
                )
                .await;
            };
            // A cancelled run may wait for something that only a later command brings about.
            let patience = tokio::time::sleep(Duration::from_secs(300));
            let answer = tokio::select! {
                biased;
                () = died => None,
                answer = answered => Some(answer),
                () = patience => None,
            };
            let was_full = process.power.was_full.load(Ordering::Relaxed);
            match answer {
                Some(Ok(receipt)) => {
                    self.witness.acknowledged(command, receipt);
                    return Ok(());
                }
                Some(Err(CommandError::Store(error))) => match error.kind {
                    StoreErrorKind::Held
                    | StoreErrorKind::Fenced
                    | StoreErrorKind::Full
                    | StoreErrorKind::Unknown => {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    // What was sent behind an append that failed is told as a gap.
                    StoreErrorKind::Conflict if was_full => {}
                    StoreErrorKind::Conflict
                    | StoreErrorKind::Refused
                    | StoreErrorKind::Unusable
                    | StoreErrorKind::Io => return Err(format!("{command:?}: {error}")),
                },
                Some(Err(error)) => return Err(format!("{command:?}: {error}")),
                None => {}
            }
        }
    }

    /// Buries processes that died and starts others in their place.
    async fn revive(&mut self) {
        for index in 0..self.processes.len() {
            if !self.processes[index].power.is_dead() {
                continue;
            }
            self.deaths += 1;
            let dead = &self.processes[index];
            dead.writer.abort();
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
        let store = SimStore::new(self.disk.clone(), self.started, power.clone());
        let chance = self.chance.clone();
        let runtime = Runtime::new(Parts {
            store: store.clone(),
            models: Arc::new(SimModels {
                process: self.started,
                chance: chance.clone(),
                witness: self.witness.clone(),
            }),
            tools: vec![
                SimTool::tool("read", Effect::Read, chance.clone(), self.witness.clone()),
                SimTool::tool("write", Effect::Write, chance.clone(), self.witness.clone()),
            ],
            registry: registry(),
            env: Arc::new(SimEnv(self.witness.clone())),
            limits: Limits {
                slots: 2,
                ..Limits::default()
            },
        });
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the process is buried"
        )]
        let writer = tokio::spawn(store.write());
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the process is buried"
        )]
        let subscriber = tokio::spawn(async {});
        Process {
            runtime,
            power,
            number: self.started,
            writer,
            subscriber,
        }
    }

    /// Follows the tree through a process, from where the last follower was; slowly, so that it lags.
    async fn follow(&mut self, index: usize) {
        let seen = self.witness.published.lock().unwrap().len() as u64;
        let process = &mut self.processes[index];
        let mut subscription = process.runtime.subscribe(&self.tree, Pos::new(seen)).await;
        let (witness, disk, chance) =
            (self.witness.clone(), self.disk.clone(), self.chance.clone());
        #[expect(
            clippy::disallowed_methods,
            reason = "aborted when the process is buried"
        )]
        let subscriber = tokio::spawn(async move {
            while let Ok(update) = subscription.next().await {
                if let Update::Entry(entry) = update {
                    witness.published(entry, &disk);
                }
                if chance.one_in(10) {
                    chance.pause().await;
                }
            }
        });
        process.subscriber = subscriber;
    }
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.add(Manifest::new("lead", Mode::Primary, "Lead."));
    registry.add(Manifest::new("worker", Mode::Subagent, "Work."));
    registry.add(Manifest {
        inspectable: true,
        ..Manifest::new("watched", Mode::All, "Be seen.")
    });
    registry
}
