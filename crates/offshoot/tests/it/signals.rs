//! Ctrl-C and SIGTERM while something runs.

use crate::stage::{Stage, of_type};

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
    let stage = Stage::new(HANGS);
    let mut run = stage.start("hangs", "go");
    run.until("assistant.message_delta");
    run.signal("TERM");
    let done = run.wait().0.exited(130);
    let expected = "offshoot: terminated; cancelling what runs, then leaving\n";
    assert!(done.stderr.ends_with(expected), "{done:#?}");
    assert_eq!(stage.status("hangs"), "cancelled");
}
