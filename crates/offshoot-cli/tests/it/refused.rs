//! What cannot be carried out: one line on stderr, exit code 2, nothing started.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::stage::Stage;

const PLAIN: &str = "replies: [{say: '{prompt}'}]";

const MODEL: [&str; 3] = ["run", "--model", "scripted/script.yaml"];

#[track_caller]
fn check(script: &str, args: &[&str], about: &str) {
    let stage = Stage::new(script);
    stage.offshoot(args).complained(2, about);
    let listed = stage.offshoot(["sessions", "list"]).succeeded();
    assert_eq!(listed.stdout, "", "something was started");
}

#[test]
fn an_agent_that_is_not_there_or_not_for_people() {
    let with = |agent| [&MODEL[..], &["--agent", agent, "x"]].concat();
    check(
        PLAIN,
        &with("nobody"),
        "there is no agent nobody; there are: build, general, plan",
    );
    check(PLAIN, &with("explore"), "started by other agents only");
}

#[test]
fn a_script_that_cannot_be_used() {
    let run = [&MODEL[..], &["x"]].concat();
    check("replies: [{sya: x}]", &run, "unknown key `sya`");
    check("agents: []", &run, "`replies` is missing");
    check(
        PLAIN,
        &["run", "--model", "scripted/none.yaml", "x"],
        "none.yaml: ",
    );
    check(
        PLAIN,
        &["run", "--model", "acme/large", "x"],
        "there is no model acme/large",
    );
    check(
        PLAIN,
        &["run", "--model", "scripted/", "x"],
        "there is no model scripted/",
    );
}

#[test]
fn a_script_that_would_never_end_is_not_waited_for() {
    let stage = Stage::new(PLAIN);
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, stage.path().join("pipe"), FileType::Fifo, mode, 0).unwrap();
    let long = File::create(stage.path().join("long")).unwrap();
    long.set_len(16 * 1024 * 1024 + 1).unwrap();
    // An agent of a script may name one as well.
    let agents = "agents: [{name: a, mode: all, model: scripted/pipe}]";
    stage.write("refers", &format!("{agents}\n{PLAIN}"));
    for (script, about) in [
        ("pipe", "pipe: it is not a file"),
        ("refers", "pipe: it is not a file"),
        ("/dev/zero", "load script /dev/zero: it is not a file"),
        ("data", "data: it is not a file"),
        ("long", "long: it has more than 16777216 bytes"),
    ] {
        stage.write("data/x", "");
        let model = format!("scripted/{script}");
        let refused = stage.offshoot(["run", "--model", &model, "x"]);
        refused.complained(2, about);
        let looked = stage.offshoot(["doctor", "--model", &model]).exited(1);
        assert!(looked.stdout.contains(about), "{looked:#?}");
    }
}

#[test]
fn a_prompt_that_is_too_long_or_no_text() {
    let stage = Stage::new("replies: [{say: taken}]");
    let stdin = [&MODEL[..], &["-"]].concat();
    let long = vec![b'a'; 1024 * 1024 + 1];
    let refused = stage.offshoot_reading(&stdin, &long);
    refused.complained(2, "more than 1048576 bytes");
    let taken = stage.offshoot_reading(&stdin, &long[1..]).succeeded();
    assert_eq!(taken.stdout, "taken\n");
    let refused = stage.offshoot_reading(&stdin, b"caf\xe9");
    refused.complained(2, "not UTF-8");
    let mut args: Vec<&OsStr> = MODEL.iter().map(OsStr::new).collect();
    args.push(OsStr::from_bytes(b"caf\xe9"));
    stage.offshoot(args).complained(2, "not UTF-8");
    stage
        .offshoot_reading(&stdin, b" \n")
        .complained(2, "empty");
    stage.offshoot(MODEL).complained(2, "give a PROMPT");
}

#[test]
fn a_session_that_is_not_there() {
    let about = r#"there is no session or agent nobody at all; see "offshoot sessions list""#;
    // Where there is no session at all, that is said.
    let stage = Stage::new(PLAIN);
    stage.run("x").succeeded();
    let refused = |args: &[&str], about| stage.offshoot(args).complained(2, about);
    for command in ["show", "tree", "cancel"] {
        refused(&["sessions", command, "nobody at all"], about);
    }
    refused(&["sessions", "message", "nobody at all", "x"], about);
    refused(&["sessions", "show", "nobody"], "at least 8 characters");
    refused(&["sessions", "show", ""], "the id is empty");
    check(PLAIN, &["run", "--session", "", "x"], "--session is empty");
    check(
        PLAIN,
        &["run", "--session", "nobody", "x"],
        "there is no session nobody; to start one with this id, give --model PROVIDER/NAME, \
         such as scripted/FILE",
    );
    check(
        PLAIN,
        &[&MODEL[..], &["--session", "a\u{1b}b", "x"]].concat(),
        "no control characters",
    );
}

#[test]
fn a_folder_that_is_not_there() {
    let cwd = [&MODEL[..], &["--cwd", "nowhere", "x"]].concat();
    check(PLAIN, &cwd, "work in nowhere: ");
}

#[test]
fn what_would_change_a_session() {
    let stage = Stage::new(PLAIN);
    let session = [&MODEL[..], &["--session", "fixed"]].concat();
    let with = |more: &[&'static str]| [&session[..], more].concat();
    stage.offshoot(with(&["x"])).succeeded();
    let other = [
        "run",
        "--model",
        "scripted/other.yaml",
        "--session",
        "fixed",
        "x",
    ];
    stage.offshoot(other).complained(2, "keeps its model");
    let refused = stage.offshoot(with(&["--agent", "nobody", "x"]));
    refused.complained(2, "there is no agent nobody");
    let refused = stage.offshoot(with(&["--agent", "general"]));
    refused.complained(2, "agent general takes over with a message; give a PROMPT");
    let refused = stage.offshoot(with(&["--cwd", "..", "x"]));
    refused.complained(2, "keeps its folder");
    stage
        .offshoot(with(&["--agent", "build", "--cwd", ".", "x"]))
        .succeeded();
}
