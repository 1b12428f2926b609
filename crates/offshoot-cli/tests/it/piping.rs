//! Text that is piped in beside a prompt.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::stage::{Stage, wait};
use crate::terminal::Terminal;

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

/// An agent that wants to run a command, and says what became of it.
const ASKS: &str = r#"
replies:
  - {after_tools: false, call: [{tool: bash, arguments: {command: "echo ran"}}]}
  - {say: "it said {output} of {prompt}"}
"#;

/// Pipes a text into the binary, whose stdout and stderr are the terminal.
const PIPED: &str = "echo '+ a line' | \"$0\" \"$@\"; echo code $?";

#[test]
fn a_permission_is_asked_at_the_terminal_beside_piped_text() {
    let stage = Stage::new(ASKS);
    let mut terminal = Terminal::script(&stage, (80, 24), PIPED, &RUN);
    terminal.until(&["build asks", "echo ran", "allow?"]);
    terminal.enter("y");
    terminal.until(&["it said ran", "+ a line", "code 0"]);
    let mut terminal = Terminal::script(&stage, (80, 24), PIPED, &RUN);
    terminal.until(&["build asks", "allow?"]);
    terminal.enter("n not now");
    terminal.until(&["not now", "code 0"]);
    // Ctrl-C is a key here too, and what was typed before is cleared by it.
    let mut terminal = Terminal::script(&stage, (80, 24), PIPED, &RUN);
    terminal.until(&["build asks", "allow?"]);
    terminal.press("y\x03");
    terminal.until(&["the line is cleared", "allow?"]);
    terminal.press("\x03");
    terminal.until(&["cancelled", "code 130"]);
}

#[test]
fn without_a_terminal_to_read_keys_from_piped_text_leaves_no_one_to_ask() {
    let stage = Stage::new(ASKS);
    let denied = stage.offshoot_reading(&RUN, b"+ a line\n").exited(3);
    assert!(denied.stderr.contains("denied"), "{denied:#?}");
    // In the background the terminal would stop a process that reads keys.
    let behind = format!("set -m; ({PIPED}) & wait");
    let mut terminal = Terminal::script(&stage, (80, 24), &behind, &RUN);
    terminal.until(&["denied", "code 3"]);
    assert_eq!(terminal.ended(), Some(0));
    // A terminal that shows the question and is not the one of the keys.
    // A process whose stdin is closed off was started to run alone.
    let alone = "\"$0\" \"$@\" </dev/null; echo code $?";
    let mut terminal = Terminal::script(&stage, (80, 24), alone, &RUN);
    terminal.until(&["denied", "code 3"]);
    assert_eq!(terminal.ended(), Some(0));
    let apart = format!("setsid sh -c '{}' \"$0\" \"$@\"", PIPED.replace('\'', "\""));
    let mut terminal = Terminal::script(&stage, (80, 24), &apart, &RUN);
    terminal.until(&["denied", "code 3"]);
    assert_eq!(terminal.ended(), Some(0));
}
