//! The simulation: whole trees on one thread, under a clock that only we move.
//!
//! A history is one seed with one death schedule: which process dies at which
//! commit, before it or between it and its answer. All randomness, of the
//! model, the tools, the person and the order in which things go on, is drawn
//! from the seed, so a failing seed repeats itself to the byte. After each
//! history the oracle reads the log, what the models were sent and what a
//! subscriber saw. Planted bugs prove that it can fail.

mod chance;
mod copies;
mod disk;
mod fakes;
mod hidden;
mod hooks;
mod oracle;
mod person;
mod rules;
mod world;

use offshoot_store::{Backend, Memory, Sqlite};

use crate::sabotage::{self, Bug};
use disk::Flaw;
use world::{Plan, Report};

/// Runs the histories of some seeds; the first that breaks a rule fails the test with its seed and
/// the shortest beginning of it that still does.
#[track_caller]
fn check(seeds: std::ops::Range<u64>, backend: fn() -> Box<dyn Backend>) -> Report {
    let mut sum = Report::default();
    for seed in seeds {
        match world::history(Plan::new(seed, backend())) {
            Ok(report) => sum += report,
            Err(broken) => panic!("seed {seed}: {broken}\n{}", shrunk(seed, backend)),
        }
    }
    println!("{sum}");
    sum
}

/// Returns the log of the shortest beginning of a history that still breaks a rule.
fn shrunk(seed: u64, backend: fn() -> Box<dyn Backend>) -> String {
    let plan = |acts| Plan {
        acts,
        ..Plan::new(seed, backend())
    };
    let enough = (0..16).find(|&acts| world::history(plan(acts)).is_err());
    let acts = enough.unwrap_or(usize::MAX);
    format!("{acts} acts are enough:\n{}", world::trace(plan(acts)))
}

fn memory() -> Box<dyn Backend> {
    Box::new(Memory::default())
}

fn sqlite() -> Box<dyn Backend> {
    Box::new(Sqlite::in_memory().expect("open an in-memory database"))
}

/// The seeds are split over tests so that they share the cores.
const SHARE: u64 = 5_000;

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
fn no_death_loses_or_doubles_a_result_fourth_share() {
    check(3 * SHARE..4 * SHARE, memory);
}

#[test]
fn no_death_loses_or_doubles_a_result_on_real_sql() {
    check(0..600, sqlite);
}

#[test]
fn a_seed_repeats_itself_to_the_byte() {
    for seed in [1, 7, 42, 99] {
        let twice: Vec<String> = (0..2)
            .map(|_| world::trace(Plan::new(seed, memory())))
            .collect();
        assert!(twice[0].len() > 100, "seed {seed} does next to nothing");
        assert_eq!(twice[0], twice[1], "seed {seed}");
    }
}

/// Returns how many histories it took to find a planted bug. The rarest shows in one of a thousand.
fn found(bug: Option<Bug>, flaw: Option<Flaw>) -> Option<u64> {
    sabotage::plant(bug);
    let found = (0..4_000).find(|&seed| {
        world::history(Plan {
            flaw,
            ..Plan::new(seed, memory())
        })
        .is_err()
    });
    sabotage::plant(None);
    found
}

#[test]
fn every_planted_bug_of_the_engine_is_found() {
    for &bug in Bug::ALL {
        let seeds = found(Some(bug), None);
        println!("{bug:?}: found at seed {seeds:?}");
        assert!(seeds.is_some(), "{bug:?} was not found");
    }
}

#[test]
fn every_planted_flaw_of_the_store_is_found() {
    for flaw in [
        Flaw::PublishBeforeCommit,
        Flaw::AnswerBeforeCommit,
        Flaw::EpochIgnored,
        Flaw::MarkedApart,
    ] {
        let seeds = found(None, Some(flaw));
        println!("{flaw:?}: found at seed {seeds:?}");
        assert!(seeds.is_some(), "{flaw:?} was not found");
    }
}
