//! The simulation: whole trees on one thread, under a clock that only we move.
//!
//! A history is one seed with one death schedule: which process dies at which
//! commit, before it or between it and its answer. All randomness, of the
//! model, the tools, the person and the order in which things go on, is drawn
//! from the seed, so a failing seed repeats itself to the byte. After each
//! history the oracle reads the log, what the models were sent and what a
//! subscriber saw. Planted bugs prove that it can fail.

mod chance;
mod clients;
mod copies;
mod disk;
mod fakes;
mod hidden;
mod hooks;
mod oracle;
mod owners;
mod person;
mod prompts;
mod rules;
mod spawns;
mod world;

use offshoot_store::{Memory, Sqlite};

use crate::sabotage::{self, Bug};
use disk::Flaw;
use world::{Plan, Report};

/// Runs the histories of some seeds; the first that breaks a rule fails the test with its seed and
/// the shortest beginning of it that still does.
#[track_caller]
fn check(seeds: std::ops::Range<u64>, plan: fn(u64) -> Plan) -> Report {
    let mut sum = Report::default();
    for seed in seeds {
        match world::history(plan(seed)) {
            Ok(report) => sum += report,
            Err(broken) => panic!("seed {seed}: {broken}\n{}", shrunk(seed, plan)),
        }
    }
    println!("{sum}");
    sum
}

/// Returns the log of the shortest beginning of a history that still breaks a rule.
fn shrunk(seed: u64, plan: fn(u64) -> Plan) -> String {
    let plan = |acts| Plan { acts, ..plan(seed) };
    let enough = (0..16).find(|&acts| world::history(plan(acts)).is_err());
    let acts = enough.unwrap_or(usize::MAX);
    format!("{acts} acts are enough:\n{}", world::trace(plan(acts)))
}

fn memory(seed: u64) -> Plan {
    Plan::new(seed, Box::new(Memory::default()))
}

fn sqlite(seed: u64) -> Plan {
    let database = Sqlite::in_memory().expect("open an in-memory database");
    Plan::new(seed, Box::new(database))
}

/// The seeds are split over tests so that they share the cores.
const SHARE: u64 = 5_000;

/// More than a quarter of all histories.
const SQL_SHARE: u64 = 2_700;

/// How many histories run with real handles, locks and threads.
const HANDLES: u64 = 200;

#[test]
fn no_death_loses_or_doubles_a_result_first_share() {
    let report = check(0..SHARE, memory);
    assert!(report.deaths > SHARE, "{report}");
    let meets = [
        report.rewinds,
        report.dropped,
        report.copies,
        report.summaries,
    ];
    assert!(meets.into_iter().all(|some| some > SHARE / 50), "{report}");
}

#[test]
fn no_death_loses_or_doubles_a_result_second_share() {
    check(SHARE..2 * SHARE, memory);
}

#[test]
fn no_death_loses_or_doubles_a_result_third_share() {
    check(2 * SHARE..3 * SHARE, memory);
}

#[test]
fn no_death_loses_or_doubles_a_result_on_real_sql_first_share() {
    check(0..SQL_SHARE, sqlite);
}

#[test]
fn no_death_loses_or_doubles_a_result_on_real_sql_second_share() {
    check(SQL_SHARE..2 * SQL_SHARE, sqlite);
}

#[test]
fn no_death_loses_or_doubles_a_result_with_real_handles_and_locks() {
    let report = check(0..HANDLES, Plan::with_handles);
    assert!(report.deaths > HANDLES / 2, "{report}");
}

#[test]
fn a_seed_repeats_itself_to_the_byte() {
    for seed in [1, 7, 42, 99] {
        let twice: Vec<String> = (0..2).map(|_| world::trace(memory(seed))).collect();
        assert!(twice[0].len() > 100, "seed {seed} does next to nothing");
        assert_eq!(twice[0], twice[1], "seed {seed}");
    }
}

/// Returns the first history that finds a planted bug, and the rule it breaks. The rarest shows in one
/// of a thousand.
fn found(bug: Option<Bug>, flaw: Option<Flaw>) -> Option<(u64, String)> {
    sabotage::plant(bug);
    let found = (0..20_000).find_map(|seed| {
        let plan = Plan {
            flaw,
            ..memory(seed)
        };
        Some((seed, world::history(plan).err()?))
    });
    sabotage::plant(None);
    found
}

#[test]
fn every_planted_bug_of_the_engine_is_found() {
    let is_missed = |bug: &&Bug| {
        let seed = found(Some(**bug), None);
        println!("{bug:?}: found at seed {seed:?}");
        seed.is_none()
    };
    let missed: Vec<&Bug> = Bug::ALL.iter().filter(is_missed).collect();
    assert!(missed.is_empty(), "{missed:?} were not found");
}

#[test]
fn every_planted_flaw_of_the_store_is_found() {
    let is_missed = |flaw: &&Flaw| {
        let seed = found(None, Some(**flaw));
        println!("{flaw:?}: found at seed {seed:?}");
        seed.is_none()
    };
    let missed: Vec<&Flaw> = Flaw::ALL.iter().filter(is_missed).collect();
    assert!(missed.is_empty(), "{missed:?} were not found");
}
