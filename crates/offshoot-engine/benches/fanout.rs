//! What a child costs: fan-outs of blocking children with everything committed to disk.
//!
//! A model in process that answers at once, so that what is measured is ours:
//! spawn, stream, settle, deliver, on a real file with `synchronous=FULL`.
//! Criterion measures wall time; processor time and memory, which it does not
//! know, are measured once beside it and printed.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot go on fails here"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use offshoot_engine::{
    Asks, Ending, Helpers, Limits, OneProject, Overlay, Parts, Project, ProjectError, Projects,
    Runtime, Update, query,
};
use offshoot_store::Handle;
use offshoot_types::cancel::Cancel;
use offshoot_types::command::{Command, Opening, Order, Prompt};
use offshoot_types::env::Env;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos, Timestamp, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Registry};
use offshoot_types::message::{Arguments, StopReason, Usage};
use offshoot_types::model::{Chunk, Model, ModelError, Models, Request, RequestMessage};
use offshoot_types::sidecar::NoSidecars;
use tokio::sync::Semaphore;

const SIZES: [usize; 6] = [1, 10, 50, 200, 1_000, 10_000];

const IDLE_SESSIONS: usize = 1_000;

const WORKSPACES: usize = 200;

/// How long the model of the sleepers thinks.
const THINKS: Duration = Duration::from_millis(200);

/// A model that fans out as its prompt says and answers at once, or when the gate lets it, or after a
/// while.
#[derive(Clone)]
struct Instant {
    gate: Arc<Semaphore>,
    thinks: Duration,
}

impl Models for Instant {
    fn find(&self, _name: &str) -> Result<Arc<dyn Model>, ModelError> {
        Ok(Arc::new(self.clone()))
    }
}

impl Model for Instant {
    fn stream(
        &self,
        request: Request,
        _cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let mut chunks = Vec::new();
        let wanted = match request.messages.last() {
            Some(RequestMessage::User(text)) => text.as_str(),
            Some(_) | None => "",
        };
        // `50` makes fifty children and waits for them, `50&` does not wait.
        let background = wanted.ends_with('&');
        let fan_out: usize = wanted.trim_end_matches('&').parse().unwrap_or(0);
        let arguments = RawJson::of(&serde_json::json!({
            "subagent_type": "worker",
            "prompt": "work",
            "background": background,
        }));
        for index in 0..fan_out {
            chunks.push(Chunk::Call {
                id: format!("call-{index}"),
                tool: "task".to_owned(),
                arguments: Arguments::Json(arguments.clone()),
            });
        }
        let stop = if fan_out == 0 {
            StopReason::End
        } else {
            StopReason::Calls
        };
        if fan_out == 0 {
            chunks.push(Chunk::Text("done".to_owned()));
        }
        chunks.push(Chunk::End {
            stop,
            usage: Usage::default(),
        });
        let (gate, child) = (self.gate.clone(), request.from.depth > 0);
        let thinks = self.thinks;
        let wait = async move {
            if child {
                drop(gate.acquire().await);
                if !thinks.is_zero() {
                    tokio::time::sleep(thinks).await;
                }
            }
            futures_util::stream::iter(chunks.into_iter().map(Ok))
        };
        futures_util::stream::once(wait).flatten().boxed()
    }
}

struct Clock;

impl Env for Clock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default();
        Timestamp::new(u64::try_from(since.as_millis()).unwrap_or(0))
    }

    fn new_id(&self) -> String {
        static IDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let id = IDS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("0194d9a8-0000-7000-8000-{id:012x}")
    }
}

fn runtime(folder: &Path, gate: &Arc<Semaphore>) -> Runtime {
    thinking(folder, gate, Duration::ZERO)
}

fn thinking(folder: &Path, gate: &Arc<Semaphore>, thinks: Duration) -> Runtime {
    let projects = OneProject::from(project(gate, thinks));
    over(folder, Arc::new(projects))
}

fn project(gate: &Arc<Semaphore>, thinks: Duration) -> Project {
    let mut registry = Registry::default();
    registry.add(Manifest::new("lead", Mode::Primary, "Lead."));
    registry.add(Manifest::new("worker", Mode::Subagent, "Work."));
    Project {
        charter: Arc::new(offshoot_types::permission::charter::NoCharter),
        helpers: Helpers::default(),
        hooks: offshoot_types::hook::Hooks::default(),
        models: Arc::new(Instant {
            gate: gate.clone(),
            thinks,
        }),
        tools: Arc::default(),
        registry: Arc::new(registry),
        asks: Asks::NOBODY,
    }
}

fn over(folder: &Path, projects: Arc<dyn Projects>) -> Runtime {
    Runtime::new(Parts {
        store: Arc::new(Handle::open(folder).expect("open the store")),
        projects,
        env: Arc::new(Clock),
        limits: Limits {
            descendants: 20_000,
            slots: 20_000,
            ..Limits::default()
        },
        data: None,
        sidecars: Arc::new(NoSidecars),
    })
}

/// Opens a session, fans out and waits until the tree is quiet.
async fn fan_out(runtime: &Runtime, wanted: &str) -> TreeId {
    fan_out_in(runtime, "/w", wanted).await
}

async fn fan_out_in(runtime: &Runtime, workspace: &str, wanted: &str) -> TreeId {
    let id = AgentId::new(Clock.new_id());
    let tree = TreeId::of(id.clone());
    let prompt = Prompt {
        message: MessageId::new(Clock.new_id()),
        text: wanted.into(),
        from: offshoot_types::message::Author::Human,
        agent: None,
        model: None,
        metadata: None,
        output_schema: None,
        delegation: None,
        immediate: false,
    };
    let opening = Opening {
        definition: "lead".to_owned(),
        model: "instant".to_owned(),
        workspace: workspace.to_owned(),
        date: "2026-11-15".to_owned(),
        project: None,
        caps: offshoot_types::caps::Caps::default(),
        metadata: None,
        prompt: Some(prompt),
        client_tools: Vec::new(),
    };
    let command = Command {
        id: CommandId::new(Clock.new_id()),
        tree: tree.clone(),
        agent: id.clone(),
        order: Order::open(opening),
    };
    runtime.command(command).await.expect("open");
    let mut updates = runtime.subscribe(&tree, Pos::ZERO).await;
    let mut settled = false;
    loop {
        match updates.next().await.expect("follow") {
            Update::Entry(entry) => {
                settled |= entry.agent == id && matches!(entry.event, Event::Settled { .. });
            }
            Update::Idle if settled => return tree,
            Update::Parked(why) => panic!("{why}"),
            Update::Idle
            | Update::Orphaned
            | Update::Delta(_)
            | Update::Output(_)
            | Update::Activity(..)
            | Update::Notice(..)
            | Update::Hooked(..) => {}
        }
    }
}

fn threads() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("build a runtime")
}

fn bench(criterion: &mut Criterion) {
    let tokio = threads();
    let mut group = criterion.benchmark_group("fan-out");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300));
    for children in SIZES {
        group.throughput(Throughput::Elements(children as u64));
        let folder = tempfile::tempdir().expect("make a folder");
        let runtime = {
            let _inside = tokio.enter();
            runtime(
                folder.path(),
                &Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            )
        };
        group.bench_function(BenchmarkId::from_parameter(children), |bencher| {
            bencher.iter(|| tokio.block_on(fan_out(&runtime, &children.to_string())));
        });
        tokio.block_on(runtime.shutdown(Ending::Now));
    }
    group.finish();

    let mut group = criterion.benchmark_group("fan-out in the background");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300));
    for children in [50, 1_000] {
        group.throughput(Throughput::Elements(children));
        let folder = tempfile::tempdir().expect("make a folder");
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let runtime = runtime(folder.path(), &gate);
        group.bench_function(BenchmarkId::from_parameter(children), |bencher| {
            bencher.iter(|| tokio.block_on(fan_out(&runtime, &format!("{children}&"))));
        });
        tokio.block_on(runtime.shutdown(Ending::Now));
    }
    group.finish();
}

/// Prints how long children take whose model thinks, beside as many plain tasks that sleep as long.
#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn sleepers() {
    let tokio = threads();
    let children = 200;
    let folder = tempfile::tempdir().expect("make a folder");
    let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    tokio.block_on(async {
        let runtime = thinking(folder.path(), &gate, THINKS);
        fan_out(&runtime, &children.to_string()).await;
        for _ in 0..9 {
            let began = tokio::time::Instant::now();
            let naps = (0..children).map(|_| tokio::time::sleep(THINKS));
            futures_util::future::join_all(naps).await;
            bare.push(began.elapsed());
            let began = tokio::time::Instant::now();
            fan_out(&runtime, &children.to_string()).await;
            ours.push(began.elapsed());
        }
        runtime.shutdown(Ending::Now).await;
    });
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    println!(
        "{children:>6} children of a model that thinks {} ms: {ours:.0} ms, plain tasks {bare:.0} ms, ratio {:.2}",
        THINKS.as_millis(),
        ours / bare
    );
}

/// Prints processor time per child, and memory per live child.
#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn beside() {
    let tokio = threads();
    // Memory first: what a burst leaves behind would hide it.
    let folder = tempfile::tempdir().expect("make a folder");
    let gate = Arc::new(Semaphore::new(0));
    let live = 10_000;
    let each = tokio.block_on(live_bytes(folder.path(), &gate, live)) / 1024.0;
    println!("{live:>6} live children: {each:.1} KiB resident each");
    for children in SIZES {
        let folder = tempfile::tempdir().expect("make a folder");
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let rounds = (2_000 / children).max(1);
        let (cpu, wall) = tokio.block_on(async {
            let runtime = runtime(folder.path(), &gate);
            fan_out(&runtime, &children.to_string()).await;
            let (before, began) = (processor_ms(), tokio::time::Instant::now());
            for _ in 0..rounds {
                fan_out(&runtime, &children.to_string()).await;
            }
            let spent = (processor_ms() - before, began.elapsed());
            runtime.shutdown(Ending::Now).await;
            spent
        });
        let each = (children * rounds) as f64;
        let wall = wall.as_secs_f64() * 1e3 / each;
        println!(
            "{children:>6} children: {wall:.3} ms wall, {:.3} ms processor time each",
            cpu / each
        );
    }
}

/// Holds children live behind the gate and returns how much resident memory each takes.
async fn live_bytes(folder: &Path, gate: &Arc<Semaphore>, children: usize) -> f64 {
    let runtime = runtime(folder, gate);
    let before = resident_bytes();
    let wanted = children.to_string();
    let work = fan_out(&runtime, &wanted);
    let measure = async {
        loop {
            let Ok(page) = runtime.query(query::Sessions::default()).await else {
                panic!("list sessions");
            };
            // Live means spawned and asked: the gate's queue is what they wait in.
            if page
                .sessions
                .first()
                .is_some_and(|session| session.open_runs as usize > children)
            {
                tokio::time::sleep(Duration::from_millis(500)).await;
                let grown = resident_bytes() - before;
                gate.add_permits(Semaphore::MAX_PERMITS / 2);
                return grown / children as f64;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (each, _) = futures_util::future::join(measure, work).await;
    runtime.shutdown(Ending::Now).await;
    each
}

/// Prints memory per idle session.
#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn idle() {
    let folder = tempfile::tempdir().expect("make a folder");
    let each = threads().block_on(idle_bytes(folder.path())) / 1024.0;
    println!(
        "{IDLE_SESSIONS:>6} idle sessions of {WORKSPACES} workspaces: {each:.1} KiB resident each"
    );
}

/// A project of its own for each workspace, as a host that reads files has them.
#[derive(Default)]
struct PerWorkspace(Mutex<BTreeMap<String, Arc<Project>>>);

impl Projects for PerWorkspace {
    fn open<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Arc<Project>, ProjectError>> {
        let mut projects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let open = || Arc::new(project(&gate, Duration::ZERO));
        let project = projects.entry(workspace.to_owned()).or_insert_with(open);
        Box::pin(std::future::ready(Ok(project.clone())))
    }
}

/// Holds sessions that have answered one prompt each and returns how much resident memory each takes.
///
/// A subscription per session, as a client that has the session open keeps one.
async fn idle_bytes(folder: &Path) -> f64 {
    let runtime = over(folder, Arc::new(PerWorkspace::default()));
    fan_out_in(&runtime, "/warm", "0").await;
    let before = resident_bytes();
    let mut open = Vec::new();
    for number in 0..IDLE_SESSIONS {
        let workspace = format!("/{}", number % WORKSPACES);
        let tree = fan_out_in(&runtime, &workspace, "0").await;
        let attachment = runtime.attach(&tree, Overlay::default()).expect("attach");
        let mut updates = runtime.subscribe(&tree, Pos::ZERO).await;
        while !matches!(updates.next().await.expect("follow"), Update::Idle) {}
        open.push((attachment, updates));
    }
    let each = (resident_bytes() - before) / IDLE_SESSIONS as f64;
    let held = open.len();
    assert!(held == IDLE_SESSIONS, "{held} sessions are open");
    drop(open);
    runtime.shutdown(Ending::Now).await;
    each
}

/// Returns the processor time this process has used, in milliseconds.
fn processor_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("read /proc/self/stat");
    let after = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest)
        .unwrap_or_default();
    let ticks: f64 = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    // USER_HZ is 100 on every Linux that we run on.
    ticks * 10.0
}

fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("read /proc/self/statm");
    let pages: f64 = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0.0);
    pages * 4096.0
}

fn main() {
    // In a process of its own: memory that another measurement has freed would hide it.
    if std::env::args().any(|argument| argument == "idle") {
        return idle();
    }
    // A filter asks for one measurement only.
    if std::env::args()
        .skip(1)
        .all(|argument| argument == "--bench")
    {
        let program = std::env::current_exe().expect("find the benchmark");
        let ended = std::process::Command::new(program).arg("idle").status();
        assert!(ended.expect("start the benchmark again").success());
        beside();
        sleepers();
    }
    let mut criterion = Criterion::default().configure_from_args();
    bench(&mut criterion);
    criterion.final_summary();
}
