//! How many durable appends a second, and how long a reload takes.
//!
//! Real files, `synchronous=FULL`. Writers share the one writer thread; each
//! waits for its own append before the next, as agents do.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use offshoot_store::contract::scene::{Child, Scene};
use offshoot_store::{Backend, Handle, Sqlite, Write};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, Epoch, MessageId, Pos, Seq, Timestamp};
use offshoot_types::message::{Author, UserMessage};
use offshoot_types::store::{Append, Lease, NewEntry, Store};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// An agent that appends.
struct Writer {
    lease: Lease,
    agent: AgentId,
    seq: Seq,
}

impl Writer {
    fn next(&mut self) -> Append {
        self.seq = self.seq.next();
        let message = UserMessage {
            id: MessageId::new(format!("{}-{}", self.agent, self.seq)),
            text: "a small entry, as most are".into(),
            from: Author::Parent,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        };
        let entry = NewEntry {
            agent: self.agent.clone(),
            seq: self.seq,
            event: Event::Prompted(message),
        };
        Append {
            at: Timestamp::new(1_000),
            entries: vec![entry],
            applied: Vec::new(),
        }
    }
}

/// Makes so many opaque agents, at most a hundred to a tree.
async fn writers(store: &Handle, count: usize) -> Vec<Writer> {
    let mut writers = Vec::new();
    for tree in 0..count.div_ceil(100) {
        let root = format!("root{tree}");
        let calls: Vec<String> = (0..count.min(100)).map(|n| format!("c{n}")).collect();
        let names: Vec<&str> = calls.iter().map(String::as_str).collect();
        let mut scene = Scene::opened(&root);
        scene.call(&root, "m", "task", &names);
        let lease = store.claim(scene.tree()).await.unwrap();
        for call in &names {
            let agent = format!("{root}-{call}");
            scene.spawn(&root, call, &agent, Child::Opaque);
            writers.push(Writer {
                lease: lease.clone(),
                agent: AgentId::new(agent),
                seq: Seq::new(2),
            });
        }
        store.append(&lease, scene.take()).await.unwrap();
    }
    writers
}

fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    group.sample_size(10);
    for count in [1, 100, 10_000] {
        let folder = tempfile::tempdir().unwrap();
        let runtime = runtime();
        let store = Arc::new(Handle::open(folder.path()).unwrap());
        let mut writers = runtime.block_on(writers(&store, count));
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("writers", count), |bencher| {
            bencher.iter(|| {
                runtime.block_on(async {
                    let mut running = JoinSet::new();
                    for writer in &mut writers {
                        let append = writer.next();
                        running.spawn(store.append(&writer.lease, append));
                    }
                    while let Some(done) = running.join_next().await {
                        done.unwrap().unwrap();
                    }
                });
            });
        });
    }
    group.finish();
}

/// One child from its spawn to its parent's outcome, in the four appends it takes.
async fn child(store: Arc<Handle>, lease: Lease, root: String, child: String) -> (String, String) {
    let mut scene = Scene::new(&root);
    scene.resume(&child, Seq::new(2));
    scene.turn(&child, Some(&format!("{child}-ask")));
    store.append(&lease, scene.take()).await.unwrap();
    scene.say(&child, &format!("{child}-says"), "3 files");
    scene.end(&child).settle(&child);
    store.append(&lease, scene.take()).await.unwrap();
    (root, child)
}

fn fan_out(criterion: &mut Criterion) {
    const CHILDREN: usize = 50;
    let mut group = criterion.benchmark_group("fan_out");
    group.sample_size(10);
    group.throughput(Throughput::Elements(CHILDREN as u64));
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let store = Arc::new(Handle::open(folder.path()).unwrap());
    let mut round = 0;
    group.bench_function(BenchmarkId::new("opaque children", CHILDREN), |bencher| {
        bencher.iter(|| {
            round += 1;
            runtime.block_on(fan_out_once(&store, &format!("root{round}"), CHILDREN));
        });
    });
    group.finish();
}

async fn fan_out_once(store: &Arc<Handle>, root: &str, children: usize) {
    let calls: Vec<String> = (0..children).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = calls.iter().map(String::as_str).collect();
    let mut scene = Scene::opened(root);
    scene.call(root, "m", "task", &names);
    for call in &names {
        scene.spawn(root, call, &format!("{root}-{call}"), Child::Opaque);
    }
    let lease = store.claim(scene.tree()).await.unwrap();
    store.append(&lease, scene.take()).await.unwrap();
    let mut running = JoinSet::new();
    for call in &names {
        let name = format!("{root}-{call}");
        running.spawn(child(
            Arc::clone(store),
            lease.clone(),
            root.to_owned(),
            name,
        ));
    }
    let mut told = Vec::new();
    while let Some(done) = running.join_next().await {
        let (root, child) = done.unwrap();
        let call = child.rsplit('-').next().unwrap_or_default();
        scene.finish(&root, call, &[(&child, 1)]);
        told.push(store.append(&lease, scene.take()));
    }
    for told in told {
        told.await.unwrap();
    }
}

fn reload(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reload");
    group.sample_size(10);
    for count in [10_000_u64, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let mut sqlite = Sqlite::open(&folder.path().join("offshoot.db")).unwrap();
        let mut scene = Scene::opened("s");
        sqlite.commit(vec![Write::Claim(scene.tree().clone())]);
        for n in 3..count {
            scene.prompt("s", &format!("m{n}"), "a small entry, as most are");
            if n % 1_000 == 999 {
                let append = Write::Append(scene.tree().clone(), Epoch::new(1), scene.take());
                assert!(sqlite.commit(vec![append])[0].is_ok());
            }
        }
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::new("entries", count), |bencher| {
            bencher.iter(|| {
                let entries = sqlite.entries(scene.tree(), Pos::ZERO, usize::MAX).unwrap();
                assert_eq!(entries.len() as u64, count);
                black_box(entries)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, append, fan_out, reload);
criterion_main!(benches);
