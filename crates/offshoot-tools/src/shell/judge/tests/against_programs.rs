//! The judge against programs that read scripts: what it sees through is run, and must do no more.
//!
//! The programs are the real ones, in a folder of their own: whatever runs `touch`
//! or writes leaves something behind, or another text in the one file that is there.

use std::fs;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::against_bash::tries;
use super::is_opaque;

/// What stands in the file: lines that are commands, for those who run lines.
const LINES: &str = "touch ran\nx\n]/x\n[x\n1 2\n";

/// Some pieces of text, one behind the other.
fn some(
    pieces: &'static [&'static str],
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), count).prop_map(|pieces| pieces.concat())
}

fn sed() -> impl Strategy<Value = String> {
    let pattern = &["[]", "[^]", "][", "[", "]", "x", "^", ".", "\\", "[:", ":]"];
    let tail = &[
        "",
        "p",
        "g;p",
        "p;/e;p#/p",
        "p;/w o",
        "p;s|x|touch ran|p;/e;p#/p",
        "I;s|x|y|",
        "e",
    ];
    let tail = prop::sample::select(tail);
    (some(pattern, 0..3), some(pattern, 0..3), tail)
        .prop_map(|(pattern, with, tail)| format!("sed -n 's/{pattern}/{with}/{tail}' f"))
}

fn awk() -> impl Strategy<Value = String> {
    let pieces = &[
        "{",
        "}",
        "{ ",
        " }",
        "print ",
        "print ",
        "$1",
        " > ",
        ">",
        "\"o\"",
        "\"touch ran\"",
        " | ",
        "|",
        "||",
        "/",
        "/",
        "[",
        "]",
        "[^",
        "\"",
        ";",
        "#",
        "\n",
        "x",
        "=",
        "(",
        ")",
        "!",
        ",",
        " ~ ",
        "\\",
        "BEGIN ",
        "1",
    ];
    some(pieces, 1..9).prop_map(|program| format!("awk '{program}' f"))
}

/// Programs of `awk` that are well formed but for one text, which is wherever a pattern may be.
fn awk_with_text() -> impl Strategy<Value = String> {
    let text = &[
        "/", "[", "]", "^", "x", "\"", "|", ">", ";", "}", " ", "\\", "#",
    ];
    let tails = &[
        "",
        " { print }",
        " | \"touch ran\"",
        "{ print > \"o\" }",
        " { print | \"touch ran\" } #/",
        " > \"o\" #\"",
    ];
    let heads = &["", "$1 ~ ", "{ print ", "x ", "!", "1 / 2; "];
    let select = |list: &'static [&'static str]| prop::sample::select(list);
    (
        select(heads),
        select(&["/", "\""]),
        some(text, 0..5),
        select(tails),
    )
        .prop_map(|(head, mark, text, tail)| format!("awk '{head}{mark}{text}{mark}{tail}' f"))
}

fn other() -> impl Strategy<Value = String> {
    let sort = &[
        " -u",
        " -k1",
        " -n",
        " -o",
        " -uo",
        " o",
        " --outp=o",
        " --output",
        " f",
        " -t",
        " -S",
        " --",
        " -",
        " -ko",
    ];
    let printf = &[
        " --",
        " -v",
        " PATH",
        " '%s'",
        " '%n'",
        " '%%%n'",
        " '-%d'",
        " x",
        " '%5n'",
        " '%(%Y)T'",
        " -vx",
    ];
    let uniq = &[
        " -f", " -s", " 1", " f", " o", " -c", " -", " --", " -w", " -f1",
    ];
    prop_oneof![
        some(sort, 1..5).prop_map(|words| format!("sort{words}")),
        // What it has set is seen by where programs are looked for.
        some(printf, 1..4).prop_map(|words| format!(
            "printf{words}; [ \"$PATH\" = /usr/bin:/bin ] || /bin/touch o"
        )),
        some(uniq, 1..5).prop_map(|words| format!("uniq{words}")),
    ]
}

/// Runs those of some commands that are seen through, and finds what they left behind.
fn check(cases: u32, commands: impl Strategy<Value = String>) {
    let mut runner = TestRunner::new(tries(cases));
    let found = runner.run(&commands, |text| {
        if is_opaque(&text) {
            return Ok(());
        }
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, LINES).unwrap();
        let ended = Command::new("/bin/bash")
            .args(["-c", &text])
            .env("PATH", "/usr/bin:/bin")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output();
        ended.expect("bash is there");
        let names = fs::read_dir(folder.path()).unwrap();
        prop_assert_eq!(names.count(), 1, "{} made a file", text);
        prop_assert_eq!(fs::read_to_string(&file).unwrap(), LINES);
        Ok(())
    });
    if let Err(found) = found {
        panic!("{found}");
    }
}

#[test]
fn a_script_of_sed_that_is_seen_through_runs_and_writes_nothing() {
    check(1_000, sed());
}

#[test]
fn a_program_of_awk_that_is_seen_through_runs_and_writes_nothing() {
    check(500, awk());
    check(500, awk_with_text());
}

#[test]
fn what_else_takes_options_that_write_and_is_seen_through_writes_nothing() {
    check(500, other());
}
