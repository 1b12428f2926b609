//! The judge against bash itself: what it allows is run, and must do no more.
//!
//! Only programs of ours can be found, and the folder is empty: whatever runs `rm`
//! or makes a file that was allowed leaves something behind.

mod grammar;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use offshoot_types::permission::Action;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use tempfile::TempDir;

use super::{decide_by, rules};

/// Pieces that bash and a grammar may read differently where they meet.
const PIECES: &[&str] = &[
    "rm x",
    "ls",
    "cat",
    "echo",
    "git status",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "|&",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "\\\n",
    "{ ",
    "; }",
    "(",
    "<<EOF\n",
    "<<'EOF'\n",
    "<<-EOF\n",
    "\nEOF\n",
    "\nEOF",
    "EOF",
    "#",
    " #",
    "$x",
    "${x:-",
    "}",
    ">f",
    "> f",
    "<f",
    ">/dev/null",
    "2>&1",
    "a",
    "$((",
    "))",
    "1",
    "case x in x) ",
    ";; esac",
    "if ls; then ",
    "; fi",
    "[[ ",
    " ]]",
    "! ",
    "=",
    "x=",
    "<(",
    ">(",
    "\t",
    "\r",
    "\u{e9}",
    "\u{a0}",
    "$'",
    "$\"",
    "<<<",
    "for f in a; do ",
    "; done",
    "*",
    "?",
    "[",
    "]",
    "~",
    "{a,b}",
    "&>",
    ">&",
    ">|",
    "${#x}",
    "${x/",
    "$#",
    "\x0b",
    "\x0c",
    "f() ",
    "time ",
    "coproc ",
    "cd /;",
    "@(",
    "!(",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES);
    let start = prop::sample::select(vec![
        "",
        "echo ",
        "cat ",
        "ls ",
        "echo \"",
        "cat <<EOF\n",
        "(",
        "{ ",
    ]);
    let pieces = prop::collection::vec(piece, 1..9);
    (start, pieces).prop_map(|(start, pieces)| format!("{start}{}", pieces.concat()))
}

/// What stands between double quotes, where the grammar has blanks elsewhere than bash.
fn between_quotes() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        " ",
        " ",
        "a",
        "$x",
        "${x}",
        "$(ls)",
        "`ls`",
        "`echo \\`rm x\\``",
        "\\`",
        "`",
        "$((1))",
        "\n",
        "\\",
    ]);
    let pieces = prop::collection::vec(piece, 1..6);
    pieces.prop_map(|pieces| format!("echo \"{}\"", pieces.concat()))
}

/// Returns how many commands are tried, unless more are asked for (`PROPTEST_CASES`). It is the
/// same ones each time, unless others are (`PROPTEST_RNG_SEED`).
pub(super) fn tries(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let rng_seed = match asked.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        RngSeed::Fixed(seed) => RngSeed::Fixed(seed),
    };
    ProptestConfig {
        cases: asked.cases.max(cases),
        failure_persistence: None,
        rng_seed,
        ..asked
    }
}

/// Runs those of some commands that are allowed, and finds what they left behind.
fn check(tries: ProptestConfig, commands: impl Strategy<Value = String>) {
    let programs = programs();
    let rules = rules(&["ls *", "cat *", "echo *", "git status", "[ *", "[[ *"]);
    let mut runner = TestRunner::new(tries);
    let found = runner.run(&commands, |text| {
        if decide_by(&rules, &text) == Action::Allow {
            let left = left_behind(&text, programs.path());
            prop_assert_eq!(left, Vec::<String>::new());
        }
        Ok(())
    });
    if let Err(found) = found {
        panic!("{found}");
    }
}

/// Runs a command where `rm` leaves a mark, and returns what was left behind.
fn left_behind(text: &str, programs: &Path) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    // Until all that it started has closed its output, also in the background.
    let ended = Command::new("/bin/bash")
        .args(["-c", text])
        .env_clear()
        .env("PATH", programs)
        .env("MARK", folder.path().join("ran-rm"))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output();
    ended.expect("bash is there");
    let names = fs::read_dir(folder.path()).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn programs() -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["ls", "cat", "git"] {
        symlink("/bin/true", folder.path().join(name)).unwrap();
    }
    let rm = folder.path().join("rm");
    fs::write(&rm, "#!/bin/sh\n: > \"$MARK\"\n").unwrap();
    fs::set_permissions(&rm, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn what_is_allowed_runs_nothing_that_is_denied_and_makes_no_file() {
    check(tries(2_000), text());
}

#[test]
fn what_is_allowed_and_stands_between_double_quotes_does_not_either() {
    check(tries(1_000), between_quotes());
}

#[test]
fn what_is_allowed_and_made_by_a_grammar_does_not_either() {
    check(
        tries(10_000),
        any::<u64>().no_shrink().prop_map(grammar::command),
    );
}
