//! How many instructions the heart takes, which no busy machine changes.
//!
//! Counted by valgrind's callgrind through gungraun: a child's life in SQL, the
//! fold of a log, a decision of the permission chain. Run by `cargo xtask bench`,
//! which installs the runner; without valgrind it is left out.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use offshoot_store::contract::scene::{Child, Scene};
use offshoot_store::{Backend, Sqlite, Write, Written};
use offshoot_types::event::Entry;
use offshoot_types::id::{Epoch, Pos};
use offshoot_types::permission::{Action, Layer, Need, Permissions, Rule};
use offshoot_types::store::Append;
use offshoot_types::tree::Tree;

const ROOT: &str = "root";

/// A database with an open tree, and what is to be appended to it, commit by commit.
struct Stage {
    backend: Sqlite,
    epoch: Epoch,
    scene: Scene,
    commits: Vec<Append>,
}

/// Sets up a root that fans out to so many children, up to their outcomes.
fn fan_out(children: usize) -> Stage {
    let mut backend = Sqlite::in_memory().unwrap();
    let calls: Vec<String> = (0..children).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = calls.iter().map(String::as_str).collect();
    let mut scene = Scene::opened(ROOT);
    let claim = backend.commit(vec![Write::Claim(scene.tree().clone())]);
    let Some(Ok(Written::Claimed(epoch))) = claim.into_iter().next() else {
        panic!("claim the tree");
    };
    scene.call(ROOT, "m", "task", &names);
    for call in &names {
        let child = format!("child-{call}");
        scene.spawn(ROOT, call, &child, Child::Opaque);
        scene.turn(&child, Some(&format!("{child}-ask")));
    }
    let mut commits = vec![scene.take()];
    for call in &names {
        let child = format!("child-{call}");
        scene.say(&child, &format!("{child}-says"), "3 files");
        scene.end(&child).settle(&child);
    }
    commits.push(scene.take());
    for call in &names {
        scene.finish(ROOT, call, &[(&format!("child-{call}"), 1)]);
    }
    commits.push(scene.take());
    Stage {
        backend,
        epoch,
        scene,
        commits,
    }
}

impl Stage {
    fn play(mut self) -> Self {
        for append in std::mem::take(&mut self.commits) {
            let write = Write::Append(self.scene.tree().clone(), self.epoch, append);
            for result in self.backend.commit(vec![write]) {
                result.unwrap();
            }
        }
        self
    }
}

#[library_benchmark]
#[bench::one_child(args = (1), setup = fan_out)]
#[bench::fifty_children(args = (50), setup = fan_out)]
fn store(stage: Stage) -> Stage {
    black_box(stage.play())
}

/// Returns the log of a fan-out.
fn log(children: usize) -> Vec<Entry> {
    let mut stage = fan_out(children).play();
    let tree = stage.scene.tree().clone();
    stage.backend.entries(&tree, Pos::ZERO, usize::MAX).unwrap()
}

#[library_benchmark]
#[bench::fifty_children(args = (50), setup = log)]
fn fold(entries: Vec<Entry>) -> Tree {
    black_box(Tree::fold(&entries).unwrap())
}

/// Returns a chain of five layers with forty rules each, and what is to be decided: a file that most
/// of them do not name, or a command that all of them do.
fn chain(capability: &str, target: &str) -> (Permissions, Need) {
    let mut chain = Permissions::empty().narrow(Layer::root_grant("/home/me/project", None));
    for layer in 0..4 {
        let folder = |n| format!("/home/me/{layer}/{n}/**");
        let writes = (0..20).map(|n| Rule::new("fs.write", folder(n), Action::Allow));
        let program = |n| format!("tool{n} run *");
        let runs = (0..18).map(|n| Rule::new("shell.run", program(n), Action::Allow));
        let more = [
            Rule::new("fs.read", "/home/me/project/**", Action::Allow),
            Rule::new("shell.run", "git *", Action::Allow),
        ];
        let rules: Vec<Rule> = writes.chain(runs).chain(more).collect();
        chain = chain.narrow(Layer::of_agent(&format!("agent{layer}"), Some(&rules)));
    }
    (chain, Need::new(capability, target))
}

#[library_benchmark]
#[bench::five_layers(args = ("fs.read", "/home/me/project/src/main.rs"), setup = chain)]
#[bench::five_layers_command(args = ("shell.run", "git log --oneline"), setup = chain)]
fn decide((chain, need): (Permissions, Need)) -> Action {
    black_box(chain.decide("read", &need).action)
}

library_benchmark_group!(name = heart, benchmarks = [store, fold, decide]);
main!(library_benchmark_groups = heart);
