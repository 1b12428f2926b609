//! Ctrl-C and SIGTERM while something runs.

use std::io::Write;
use std::process::{Command, Stdio};

use rustix::io::ioctl_fionread;

use crate::stage::{Stage, of_type, wait};

/// A root that waits for a child that never ends.
const HANGS: &str = r#"
replies:
  - depth: 0
    after_tools: false
    prompt: go
    call: [{tool: task, arguments: {subagent_type: general, prompt: hang}}]
  - {depth: 0, say: "{prompt}"}
  - {say: thinking, fault: hang}
"#;

#[test]
fn ctrl_c_cancels_the_run_and_leaves_the_session_usable() {
    let stage = Stage::new(HANGS);
    let mut run = stage.start("hangs", "go");
    run.until("assistant.message_delta");
    run.signal("INT");
    let (done, events) = run.wait();
    done.exited(130);
    assert_eq!(of_type(&events, "abort").len(), 2);
    assert_eq!(
        of_type(&events, "subagent.completed")[0]["data"]["cancelled"],
        true
    );
    assert_eq!(events.last().unwrap()["type"], "session.idle");
    assert_eq!(stage.status("hangs"), "cancelled");
    let more = stage
        .offshoot(["run", "--session", "hangs", "hello"])
        .succeeded();
    assert_eq!(more.stdout, "hello\n");
}

#[test]
fn sigterm_leaves_in_good_order() {
    check_terminated("TERM");
}

#[test]
fn closing_the_terminal_leaves_in_good_order() {
    check_terminated("HUP");
}

#[track_caller]
fn check_terminated(signal: &str) {
    let stage = Stage::new(HANGS);
    let mut run = stage.start("hangs", "go");
    run.until("assistant.message_delta");
    run.signal(signal);
    if signal == "HUP" {
        // The kernel says it, and then the shell.
        run.signal(signal);
    }
    let done = run.wait().0.exited(130);
    let expected = "offshoot: terminated; cancelling what runs, then leaving\n";
    assert!(done.stderr.ends_with(expected), "{done:#?}");
    assert_eq!(stage.status("hangs"), "cancelled");
}

/// Checks that a signal ends what reads its prompt from stdin.
#[track_caller]
fn check_reading(stage: &Stage, args: &[&str], signal: &str) {
    let mut child = stage.command(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"never finished").unwrap();
    // Once the pipe is empty the process is at it, and waits for more.
    while ioctl_fionread(&stdin).unwrap() > 0 {
        std::thread::yield_now();
    }
    let sent = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let done = wait(child);
    // Held open until here: the end of stdin would end it as well.
    drop(stdin);
    assert_eq!(done.code, None, "{args:?} {signal}: {done:#?}");
}

#[test]
fn a_prompt_that_is_being_read_can_be_interrupted() {
    let stage = Stage::new(HANGS);
    let run = ["run", "--model", "scripted/script.yaml", "-"];
    let message = ["sessions", "message", "any", "-"];
    for args in [&run[..], &message] {
        for signal in ["INT", "TERM"] {
            check_reading(&stage, args, signal);
        }
    }
    assert!(!stage.data().exists());
}

#[test]
fn ctrl_c_stops_a_summary_and_leaves_the_session_as_it_was() {
    let stage =
        Stage::new("replies: [{agent: summary, say: it begins, fault: hang}, {say: \"{prompt}\"}]");
    let run = ["run", "--model", "scripted/script.yaml", "--session"];
    stage
        .offshoot([&run[..], &["talk", "hello"]].concat())
        .succeeded();
    let args = ["sessions", "summary", "talk"];
    let child = stage.command(args).spawn().unwrap();
    let show = ["sessions", "show", "--full", "talk"];
    let begun = || {
        let shown = stage.offshoot(show).succeeded().stdout;
        shown.contains("summary for talk")
    };
    while !begun() {}
    let sent = Command::new("kill")
        .args(["-INT".to_owned(), child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let done = wait(child).exited(130);
    assert_eq!(done.stdout, "");
    assert_eq!(done.stderr, "offshoot: interrupted\n");
    assert_eq!(stage.status("talk"), "completed");
    let more = ["run", "--session", "talk", "more"];
    assert_eq!(stage.offshoot(more).succeeded().stdout, "more\n");
}
