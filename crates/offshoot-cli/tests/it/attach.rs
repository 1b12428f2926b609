//! `sessions attach` and `promote`: looking at what another process runs, and sending a child to
//! the background there.

use std::io::{BufRead, BufReader};

use crate::stage::{Stage, of_type, wait};

/// A root that waits for a child: one that waits for ever, or until somebody talks to it.
const BUSY: &str = r#"
agents: [{name: worker, mode: subagent, inspectable: true}]
replies:
  - depth: 0
    after_tools: false
    prompt: hang
    call: [{tool: task, arguments: {subagent_type: worker, prompt: hang}}]
  - {depth: 0, prompt: "<task_completion", say: "I heard"}
  - {depth: 0, after_tools: true, say: "went on: {output}"}
  - {depth: 1, prompt: hang, say: thinking, fault: hang}
  - {say: "you said {prompt}"}
"#;

fn child(events: &[serde_json::Value]) -> String {
    let started = of_type(events, "subagent.started");
    started[0]["agentId"].as_str().unwrap().to_owned()
}

#[test]
fn r16_attaching_follows_another_process_until_it_is_quiet() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "hang");
    run.until("assistant.message_delta");
    let mut attached = stage
        .command(["sessions", "attach", "--from-start", "owned"])
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(attached.stderr.take().unwrap());
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    assert!(
        first.contains("worker") && first.contains("started"),
        "{first}"
    );
    let id = child(&run.events);
    stage.offshoot(["sessions", "cancel", &id]).succeeded();
    run.wait().0.succeeded();
    attached.stderr = Some(stderr.into_inner());
    let done = wait(attached).succeeded();
    assert!(done.stdout.starts_with("went on: "), "{done:#?}");
}

#[test]
fn r16_attaching_to_what_nobody_runs_reads_and_starts_nothing() {
    let stage = Stage::new(BUSY);
    let attach = ["sessions", "attach", "dead"];
    let from_start = ["sessions", "attach", "--from-start", "dead"];
    let mut run = stage.start("dead", "hang");
    run.until("assistant.message_delta");
    run.kill();
    let before = stage.show("dead");
    let done = stage.offshoot(attach).succeeded();
    assert!(
        done.stderr.contains("nobody runs session dead any more"),
        "{done:#?}"
    );
    stage.offshoot(from_start).succeeded();
    assert_eq!(stage.status("dead"), "interrupted");
    assert_eq!(stage.show("dead"), before);
}

#[test]
fn attaching_to_a_quiet_session_says_so_or_shows_how_it_was() {
    let stage = Stage::new(BUSY);
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "quiet",
        "hello",
    ];
    stage.offshoot(args).succeeded();
    let done = stage.offshoot(["sessions", "attach", "quiet"]).succeeded();
    assert_eq!(done.stdout, "");
    assert_eq!(done.stderr, "session quiet is quiet\n");
    let args = ["sessions", "attach", "--from-start", "quiet"];
    let done = stage.offshoot(args).succeeded();
    assert_eq!(done.stdout, "you said hello\n");
    let events = stage.offshoot(["sessions", "attach", "--from-start", "--json", "quiet"]);
    let events = events.succeeded().events();
    assert_eq!(of_type(&events, "assistant.message").len(), 1);
    assert_eq!(events.last().unwrap()["type"], "session.idle");
}

#[test]
fn r16_leaving_an_attached_session_leaves_it_running() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "hang");
    run.until("assistant.message_delta");
    let args = ["sessions", "attach", "--json", "--from-start", "owned"];
    let mut attached = stage.live(&args);
    attached.until("subagent.started");
    attached.signal("INT");
    let (done, _) = attached.wait();
    done.exited(130);
    assert_eq!(stage.status("owned"), "running");
    stage.offshoot(["sessions", "cancel", "owned"]).succeeded();
    run.wait().0.exited(130);
}

#[test]
fn the_code_of_an_attached_session_is_how_its_run_ended() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "hang");
    run.until("assistant.message_delta");
    let args = ["sessions", "attach", "--json", "--from-start", "owned"];
    let mut attached = stage.live(&args);
    attached.until("subagent.started");
    stage.offshoot(["sessions", "cancel", "owned"]).succeeded();
    run.wait().0.exited(130);
    attached.wait().0.exited(130);
}

#[test]
fn a_child_that_is_waited_for_can_be_sent_to_the_background() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "hang");
    run.until("assistant.message_delta");
    let id = child(&run.events);
    let done = stage.offshoot(["sessions", "promote", &id]).succeeded();
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("promoted\n", "")
    );
    // The parent has gone on; the child still works.
    run.until("assistant.turn_end");
    let done = stage.offshoot(["sessions", "promote", &id]).succeeded();
    assert_eq!(done.stdout, "nothing to promote\n");
    assert_eq!(done.stderr, "no call waits for this agent\n");
    let args = ["sessions", "promote", "--json", &id];
    let answer = &stage.offshoot(args).succeeded().events()[0];
    assert_eq!(answer["status"], "nothing to promote");
    stage.offshoot(["sessions", "cancel", "owned"]).succeeded();
    run.wait().0.exited(130);
    // Nobody runs it now: nothing is taken over for this.
    let done = stage.offshoot(["sessions", "promote", &id]).succeeded();
    assert_eq!(done.stderr, "nobody runs session owned\n");
}
