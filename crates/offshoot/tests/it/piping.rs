//! Text that is piped in beside a prompt.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::stage::{Stage, wait};

/// An agent that repeats what it heard.
const ECHO: &str = "replies: [{say: \"heard {prompt}\"}]";

const RUN: [&str; 4] = ["run", "--model", "scripted/script.yaml", "Review this"];

#[test]
fn text_on_stdin_is_context_for_the_prompt() {
    let stage = Stage::new(ECHO);
    let marked = "heard Review this\n\n<stdin>\n+ a\n+ b\n</stdin>\n";
    let done = stage.offshoot_reading(&RUN, b"+ a\n+ b\n").succeeded();
    assert_eq!(done.stdout, marked);
    // So it is in a file, and for an agent that is there.
    stage.write("diff", "+ a\n+ b\n");
    let file = std::fs::File::open(stage.path().join("diff")).unwrap();
    let session = [&RUN[..3], &["--session", "s", "Review this"]].concat();
    let done = wait(stage.command(session).stdin(file).spawn().unwrap());
    assert_eq!(done.succeeded().stdout, marked);
    let message = ["sessions", "message", "s", "Review this"];
    let done = stage.offshoot_reading(&message, b"+ a\n+ b\n").succeeded();
    assert_eq!(done.stdout, marked);
}

#[test]
fn nothing_on_stdin_changes_nothing() {
    let stage = Stage::new(ECHO);
    for piped in ["", " \n"] {
        let done = stage.offshoot_reading(&RUN, piped.as_bytes()).succeeded();
        assert_eq!(done.stdout, "heard Review this\n");
    }
}

#[test]
fn text_on_stdin_that_cannot_be_sent_is_an_error() {
    let stage = Stage::new(ECHO);
    stage
        .offshoot_reading(&RUN, b"caf\xe9")
        .complained(2, "not UTF-8");
    let long = vec![b'x'; 1024 * 1024];
    stage
        .offshoot_reading(&RUN, &long)
        .complained(2, "1048576 bytes");
    assert!(!stage.data().exists(), "nothing was opened");
}

#[test]
fn a_pipe_that_only_processes_above_hold_open_is_given_up_with_a_note() {
    let stage = Stage::new(ECHO);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let socket = Stdio::from(std::os::fd::OwnedFd::from(theirs));
    for stdin in [socket, Stdio::piped()] {
        let mut child = stage.command(RUN).stdin(stdin).spawn().unwrap();
        let held = child.stdin.take();
        let done = wait(child).succeeded();
        assert_eq!(done.stdout, "heard Review this\n");
        assert!(done.stderr.contains("stdin is open"), "{done:#?}");
        drop(held);
    }
    drop(ours);
}

#[test]
fn a_command_of_the_pipeline_is_waited_for_however_late_it_writes() {
    let stage = Stage::new(ECHO);
    // The command in front writes once the shell's own stdin says so.
    let script = r#"(read line; echo "$line") | "$0" "$@""#;
    let program = env!("CARGO_BIN_EXE_offshoot");
    let mut shell = Command::new("sh")
        .args(["-c", script, program])
        .args(RUN)
        .current_dir(stage.path())
        .env("HOME", stage.path())
        .env("OFFSHOOT_DATA_DIR", stage.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = std::io::BufReader::new(shell.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert!(line.contains("reading stdin"), "{line}");
    let mut stdin = shell.stdin.take().unwrap();
    stdin.write_all(b"late\n").unwrap();
    drop(stdin);
    let output = shell.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("<stdin>\nlate\n</stdin>"), "{said}");
}

#[test]
fn a_pipe_that_does_not_end_is_waited_for_and_that_is_said() {
    let stage = Stage::new(ECHO);
    let mut child = stage.command(RUN).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"first\n").unwrap();
    // The note that it reads comes before the rest is written.
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert!(line.contains("reading stdin"), "{line}");
    stdin.write_all(b"last\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("<stdin>\nfirst\nlast\n</stdin>"), "{said}");
}
