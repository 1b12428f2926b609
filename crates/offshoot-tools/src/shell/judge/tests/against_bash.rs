//! The judge against bash itself: what it allows is run, and must do no more.
//!
//! Only programs of ours can be found, and the folder is empty: whatever runs `rm`
//! or makes a file that was allowed leaves something behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use offshoot_types::permission::Action;
use proptest::prelude::*;
use tempfile::TempDir;

use super::decide;

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

/// Runs a command where `rm` leaves a mark, and returns what was left behind.
fn left_behind(text: &str, programs: &Path) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let ended = Command::new("/bin/bash")
        .args(["-c", text])
        .env_clear()
        .env("PATH", programs)
        .env("MARK", folder.path().join("ran-rm"))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.expect("bash is there");
    let names = fs::read_dir(folder.path()).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn programs() -> TempDir {
    let folder = TempDir::new().unwrap();
    let programs = [
        ("rm", "#!/bin/sh\n: > \"$MARK\"\n"),
        ("ls", "#!/bin/sh\n"),
        ("cat", "#!/bin/sh\n"),
        ("git", "#!/bin/sh\n"),
    ];
    for (name, text) in programs {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_allowed_runs_nothing_that_is_denied_and_makes_no_file(text in text()) {
        if decide(&text) == Action::Allow && !text.contains('\0') {
            let programs = programs();
            prop_assert_eq!(left_behind(&text, programs.path()), Vec::<String>::new(), "{:?}", text);
        }
    }
}
