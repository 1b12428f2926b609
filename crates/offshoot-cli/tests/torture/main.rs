//! Real processes of the built program, cut off at every kind of moment and checked.
//!
//! A round prepares a folder, cuts one operation off (kill -9 after a while, a kill
//! or an error injected at a system call, a full disk), brings the folder to rest
//! with clean processes, and checks its database and every request that the model
//! was sent. Without arguments this is the short form that `cargo xtask ci` runs;
//! `cargo xtask torture` starts it with `full` and its own arguments.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, prints what it found and reads the real clock"
)]

mod check;
mod cut;
mod model;
mod operation;
mod plan;
mod settings;
mod world;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cut::{CALLS, Cut, ERRORS};
use model::Server;
use operation::Operation;
use plan::Dice;
use settings::{Case, Settings};
use world::World;

/// The name that nextest lists and runs.
const SHORT_FORM: &str = "killed_processes_lose_nothing";

/// The most room that a full disk has left, in KiB.
const MOST_ROOM: u64 = 400;

/// Rounds at one time.
const SIDE_BY_SIDE: usize = 4;

/// What one operation costs when nothing cuts it off.
#[derive(Clone, Default)]
struct Measured {
    took: Duration,
    /// How often the busiest thread makes each call.
    calls: BTreeMap<String, u64>,
}

/// A row of the table.
#[derive(Clone, Copy, Default)]
struct Row {
    rounds: usize,
    kills: usize,
    injected: usize,
    /// Answers of children that were found in their parents' requests.
    told: usize,
    found: usize,
}

/// What became of a round.
struct Ended {
    killed: bool,
    injected: bool,
    measured: Measured,
    told: usize,
    found: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("{SHORT_FORM}: test");
        }
        return ExitCode::SUCCESS;
    }
    let settings = match arguments.split_first() {
        Some((first, rest)) if first == "full" => Settings::read(rest),
        _ => Ok(Settings::short()),
    };
    match settings.and_then(|settings| run(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("torture: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all rounds and prints the table; fails if anything was found.
fn run(settings: &Settings) -> Result<(), String> {
    let began = Instant::now();
    let bench = Bench {
        server: Server::start(),
        rows: Mutex::default(),
        rounds: AtomicUsize::new(0),
    };
    if let Some(case) = &settings.case {
        let cases = (0..settings.rounds as u64).map(|round| Case {
            seed: settings.seed + round,
            ..case.clone()
        });
        bench.all(cases.collect());
        return bench.report(began);
    }
    let can_trace = settings.can_trace()?;
    let can_mount = settings.mounts && world::can_mount();
    if !can_mount {
        println!("torture: no small file system is mounted: a full disk is an injected error");
    }
    let measured = bench.measure(settings, can_trace);
    let cases = choose(settings, &measured, can_trace, can_mount);
    bench.all(cases);
    bench.report(began)
}

/// What is cut off, in a grown folder or not, and how.
type Choice = (Operation, bool, Cut);

/// Chooses the rounds: half are killed after a while, the others at a call or by an error.
fn choose(
    settings: &Settings,
    measured: &BTreeMap<(Operation, bool), Measured>,
    can_trace: bool,
    can_mount: bool,
) -> Vec<Case> {
    let mut dice = Dice::new(settings.seed);
    // One list for each call of an operation: calls that are made often are not chosen more often.
    let (mut kills, mut errors) = (Vec::new(), Vec::new());
    for ((operation, grown), measured) in measured {
        let list = |call: &str, cut: &dyn Fn(u64) -> Cut| -> Vec<Choice> {
            let count = measured.calls.get(call).copied().unwrap_or(0);
            (1..=count)
                .map(|when| (*operation, *grown, cut(when)))
                .collect()
        };
        for call in CALLS {
            kills.push(list(call, &|when| Cut::kill(call, when)));
        }
        for (call, error, lasting) in ERRORS {
            errors.push(list(call, &|when| Cut::error(call, error, when, lasting)));
        }
        if can_mount && operation.may_fill() {
            let full = (0..8).map(|_| Cut::Full(dice.below(MOST_ROOM / 4) * 4));
            errors.push(full.map(|cut| (*operation, *grown, cut)).collect());
        }
    }
    let random = if can_trace {
        settings.rounds / 2
    } else {
        settings.rounds
    };
    let (all_kills, all_errors) = (
        kills.iter().flatten().count(),
        errors.iter().flatten().count(),
    );
    let (most_kills, most_errors) = if settings.every {
        (all_kills, all_errors)
    } else {
        let injected = settings.rounds - random;
        (injected * 2 / 3, injected - injected * 2 / 3)
    };
    let kills = sample(kills, most_kills, &mut dice);
    let errors = sample(errors, most_errors, &mut dice);
    println!(
        "torture: {random} kills after a while, {} of {all_kills} kills at a call, {} of {all_errors} \
         errors and full disks; seed {}",
        kills.len(),
        errors.len(),
        settings.seed
    );
    let all: Vec<_> = measured.iter().collect();
    let after = |round: usize| {
        let ((operation, grown), measured) = all[round % all.len()];
        let longest = measured.took.as_micros() as u64;
        let delay = Duration::from_micros(dice.below(longest));
        (*operation, *grown, Cut::After(delay))
    };
    let after: Vec<Choice> = (0..random).map(after).collect();
    let chosen = after.into_iter().chain(kills).chain(errors);
    chosen
        .zip(settings.seed..)
        .map(|((operation, grown, cut), seed)| Case {
            operation,
            grown,
            cut,
            seed,
        })
        .collect()
}

/// Takes so many from all lists: each time a list is chosen by dice, then one of what it still has.
fn sample(mut lists: Vec<Vec<Choice>>, most: usize, dice: &mut Dice) -> Vec<Choice> {
    let mut chosen = Vec::new();
    while chosen.len() < most {
        lists.retain(|list| !list.is_empty());
        if lists.is_empty() {
            break;
        }
        let list = dice.below(lists.len() as u64) as usize;
        let list = &mut lists[list];
        chosen.push(list.swap_remove(dice.below(list.len() as u64) as usize));
    }
    chosen
}

/// What all rounds share.
struct Bench {
    server: Server,
    rows: Mutex<BTreeMap<Operation, Row>>,
    rounds: AtomicUsize,
}

impl Bench {
    /// Runs each operation undisturbed, and once with its calls counted.
    fn measure(
        &self,
        settings: &Settings,
        can_trace: bool,
    ) -> BTreeMap<(Operation, bool), Measured> {
        let mut cases = Vec::new();
        for operation in Operation::ALL.into_iter().filter(|it| settings.wants(*it)) {
            for grown in [false, true] {
                let cuts = [Some(Cut::None), can_trace.then_some(Cut::Counted)];
                cases.extend(cuts.into_iter().flatten().map(|cut| Case {
                    operation,
                    grown,
                    cut,
                    seed: settings.seed,
                }));
            }
        }
        let mut measured: BTreeMap<(Operation, bool), Measured> = BTreeMap::new();
        for (case, ended) in self.all(cases) {
            let entry = measured.entry((case.operation, case.grown)).or_default();
            match case.cut {
                Cut::None => entry.took = ended.took,
                _ => entry.calls = ended.calls,
            }
        }
        measured
    }

    /// Runs rounds side by side; returns what each process that was not cut off cost.
    fn all(&self, cases: Vec<Case>) -> Vec<(Case, Measured)> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..SIDE_BY_SIDE {
                scope.spawn(|| {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let ended = self.round(case);
                        let mut results = results.lock().expect("no round panics");
                        results.push((case.clone(), ended));
                    }
                });
            }
        });
        results.into_inner().expect("no round panics")
    }

    fn round(&self, case: &Case) -> Measured {
        let number = self.rounds.fetch_add(1, Ordering::Relaxed);
        let mut world = World::new(&self.server, format!("r{number}"), case.seed);
        let ended = perform(case, &mut world);
        let mut rows = self.rows.lock().expect("no round panics");
        let row = rows.entry(case.operation).or_default();
        row.rounds += 1;
        row.kills += usize::from(ended.killed);
        row.injected += usize::from(ended.injected);
        row.told += ended.told;
        if let Some(found) = ended.found {
            row.found += 1;
            let folder = world.keep();
            println!(
                "\nround {number}, seed {}, {case}: {found}\n  kept: {}\n  again: cargo xtask torture \
                 --seed {} --only {case}\n",
                case.seed,
                folder.display(),
                case.seed
            );
        }
        ended.measured
    }

    /// Prints the table; fails if anything was found.
    fn report(&self, began: Instant) -> Result<(), String> {
        let rows = self.rows.lock().expect("no round panics");
        println!(
            "\n{:16} {:>7} {:>7} {:>9} {:>7} {:>7}",
            "operation", "rounds", "kills", "injected", "told", "found"
        );
        let mut sum = Row::default();
        let print = |name: &str, row: Row| {
            let Row {
                rounds,
                kills,
                injected,
                told,
                found,
            } = row;
            println!("{name:16} {rounds:>7} {kills:>7} {injected:>9} {told:>7} {found:>7}");
        };
        for (operation, row) in rows.iter() {
            print(operation.name(), *row);
            sum.rounds += row.rounds;
            sum.kills += row.kills;
            sum.injected += row.injected;
            sum.told += row.told;
            sum.found += row.found;
        }
        print("all", sum);
        println!("within {:.1} s", began.elapsed().as_secs_f64());
        if sum.found > 0 {
            return Err(format!("{} rounds failed", sum.found));
        }
        // Otherwise the rounds had nothing to lose.
        if sum.rounds >= 50 && (sum.kills < sum.rounds / 5 || sum.told < sum.rounds) {
            return Err("too few processes were killed, or too few children answered".to_owned());
        }
        Ok(())
    }
}

/// Runs one round to its end.
fn perform(case: &Case, world: &mut World<'_>) -> Ended {
    let result = (|| {
        if case.grown {
            let old = world.session("old");
            world.prompted(&old)?;
            world.prompted(&old)?;
        }
        case.operation.perform(world, &case.cut)?;
        let sessions = world.come_to_rest(case.operation)?;
        check::check(world, &sessions)
    })();
    let mut ended = Ended {
        killed: false,
        injected: false,
        measured: Measured::default(),
        told: result.as_ref().copied().unwrap_or_default(),
        found: result.err(),
    };
    if let Some(done) = &world.cut_process {
        ended.killed = done.code.is_none();
        let is_traced = !done.trace.is_empty() && case.cut != Cut::Counted;
        ended.injected = is_traced
            && (ended.killed
                || done.trace.contains("INJECTED")
                || done.trace.contains("killed by SIGKILL"));
        ended.measured.took = done.took;
        if case.cut == Cut::Counted {
            ended.measured.calls = count(&done.trace);
        }
    }
    ended
}

/// Counts the calls of the busiest thread in a trace, by name.
fn count(trace: &str) -> BTreeMap<String, u64> {
    let mut by_thread: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for line in trace.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        if let Some((name, _)) = rest.trim_start().split_once('(') {
            *by_thread.entry((thread, name)).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((_, name), count) in by_thread {
        let entry = most.entry(name.to_owned()).or_default();
        *entry = count.max(*entry);
    }
    most
}
