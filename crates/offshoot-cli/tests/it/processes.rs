//! Several processes in one data folder: side by side, talking, and after a death.

use crate::stage::{Stage, of_type, wait};

/// A root that waits for a child that takes its time, or for ever.
const BUSY: &str = r#"
replies:
  - depth: 0
    after_tools: false
    prompt: go
    call: [{tool: task, arguments: {subagent_type: general, prompt: slow}}]
  - depth: 0
    after_tools: false
    prompt: hang
    call: [{tool: task, arguments: {subagent_type: general, prompt: hang}}]
  - {depth: 0, after_tools: true, say: "done: {output}"}
  - {depth: 1, prompt: slow, delay_ms: 700, say: slow}
  - {depth: 1, prompt: hang, say: thinking, fault: hang}
  - {say: "you said {prompt}"}
"#;

#[test]
fn two_runs_in_one_folder_do_not_disturb_each_other() {
    let stage = Stage::new(BUSY);
    let mut first = stage.start("first", "go");
    let mut second = stage.start("second", "go");
    first.until("subagent.started");
    second.until("subagent.started");
    assert_eq!(stage.status("first"), "running");
    assert_eq!(stage.status("second"), "running");
    for run in [first, second] {
        let (done, events) = run.wait();
        done.succeeded();
        let answers = of_type(&events, "assistant.message");
        assert_eq!(answers.last().unwrap()["data"]["content"], "done: slow");
    }
    assert_eq!(stage.status("first"), "completed");
    assert_eq!(stage.status("second"), "completed");
}

#[test]
fn two_runs_that_open_the_same_session_share_it() {
    let stage = Stage::new("replies: [{delay_ms: 20, say: 'you said {prompt}'}]");
    let open = |prompt: &str| {
        let model = "scripted/script.yaml";
        let args = ["run", "--model", model, "--session", "shared", prompt];
        stage.command(args).spawn().unwrap()
    };
    let (first, second) = (open("one"), open("two"));
    wait(first).succeeded();
    wait(second).succeeded();
    let shown = stage.offshoot(["sessions", "show", "shared"]).succeeded();
    for answer in ["'you said one'", "'you said two'"] {
        assert!(shown.stdout.contains(answer), "{}", shown.stdout);
    }
}

#[test]
fn a_message_to_a_session_that_another_process_runs_is_answered_there() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "go");
    run.until("subagent.started");
    let sent = stage
        .offshoot(["sessions", "message", "owned", "hello"])
        .succeeded();
    assert_eq!(sent.stdout, "");
    let expected = "session owned is run by another process; \
                    the message was delivered there\n";
    assert_eq!(sent.stderr, expected);
    let (done, events) = run.wait();
    done.succeeded();
    let answers: Vec<&str> = of_type(&events, "assistant.message")
        .into_iter()
        .filter(|event| event.get("agentId").is_none())
        .map(|event| event["data"]["content"].as_str().unwrap())
        .collect();
    assert_eq!(answers, ["", "done: slow", "you said hello"]);
    assert_eq!(of_type(&events, "session.idle").len(), 1);
}

#[test]
fn a_run_of_a_session_that_another_process_runs_follows_it_there() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "go");
    run.until("subagent.started");
    let follower = stage
        .offshoot(["run", "--session", "owned", "hello"])
        .succeeded();
    assert_eq!(follower.stdout, "you said hello\n");
    assert!(
        follower.stderr.contains("following it there"),
        "{follower:#?}"
    );
    run.wait().0.succeeded();
}

#[test]
fn a_run_that_another_process_works_on_can_be_cancelled() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "hang");
    run.until("assistant.message_delta");
    let tree = stage.offshoot(["sessions", "tree", "owned"]).succeeded();
    assert!(
        tree.stdout.contains("  waits for agent "),
        "{}",
        tree.stdout
    );
    assert!(
        tree.stdout.contains("  waits for the model"),
        "{}",
        tree.stdout
    );
    let done = stage.offshoot(["sessions", "cancel", "owned"]).succeeded();
    assert_eq!(done.stdout, "cancelled\n");
    let (done, events) = run.wait();
    done.exited(130);
    assert_eq!(
        of_type(&events, "subagent.completed")[0]["data"]["cancelled"],
        true
    );
}

#[test]
fn a_child_that_another_process_runs_can_be_cancelled_and_its_parent_goes_on() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "hang");
    run.until("assistant.message_delta");
    let child = run.events.last().unwrap()["agentId"]
        .as_str()
        .unwrap()
        .to_owned();
    let done = stage.offshoot(["sessions", "cancel", &child]).succeeded();
    assert_eq!(done.stdout, "cancelled\n");
    let (done, events) = run.wait();
    done.succeeded();
    let told = &of_type(&events, "tool.execution_complete")[0]["data"];
    assert_eq!(told["error"]["kind"], "child_failed", "{told}");
}

#[test]
fn a_turn_that_another_process_runs_can_be_cancelled() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("owned", "hang");
    run.until("assistant.message_delta");
    let done = stage
        .offshoot(["sessions", "cancel", "--turn", "owned"])
        .succeeded();
    assert_eq!(done.stdout, "turn cancelled\n");
    run.wait().0.exited(130);
}

#[test]
fn a_killed_session_is_shown_as_interrupted_and_recovered_by_a_neighbour() {
    let stage = Stage::new(BUSY);
    let mut alive = stage.start("alive", "hang");
    alive.until("assistant.message_delta");
    let mut dead = stage.start("dead", "hang");
    dead.until("assistant.message_delta");
    dead.kill();
    assert_eq!(stage.status("dead"), "interrupted");
    let tree = stage.offshoot(["sessions", "tree", "dead"]).succeeded();
    assert!(
        tree.stdout.starts_with("build  dead  interrupted  "),
        "{}",
        tree.stdout
    );
    assert!(
        tree.stdout.contains("  was waiting for agent "),
        "{}",
        tree.stdout
    );
    stage.run("hello").succeeded();
    assert_eq!(stage.status("dead"), "lost");
    assert_eq!(stage.status("alive"), "running");
    stage.offshoot(["sessions", "cancel", "alive"]).succeeded();
    alive.wait().0.exited(130);
}

#[test]
fn a_killed_session_can_be_talked_to() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("dead", "hang");
    run.until("assistant.message_delta");
    run.kill();
    let said = stage
        .offshoot(["sessions", "message", "dead", "hello"])
        .succeeded();
    assert_eq!(said.stdout, "you said hello\n");
    assert_eq!(stage.status("dead"), "completed");
}

#[test]
fn going_on_with_a_killed_session_says_that_its_run_is_lost() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("dead", "hang");
    run.until("assistant.message_delta");
    run.kill();
    let done = stage.offshoot(["run", "--session", "dead"]).exited(1);
    assert_eq!(done.stdout, "");
    let expected = "the last run of session dead is lost: its process ended before it was done\n\
                    nothing is waiting in session dead; send a prompt to go on\n";
    assert!(done.stderr.ends_with(expected), "{}", done.stderr);
}

#[test]
fn a_killed_session_can_be_cancelled() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("dead", "hang");
    run.until("assistant.message_delta");
    run.kill();
    let done = stage.offshoot(["sessions", "cancel", "dead"]).succeeded();
    assert_eq!(done.stdout, "lost\n");
}

#[test]
fn a_follower_takes_over_when_the_owner_is_killed() {
    let stage = Stage::new(BUSY);
    let mut owner = stage.start("owned", "hang");
    owner.until("assistant.message_delta");
    let args = ["run", "--json", "--session", "owned", "hello"];
    let follower = stage.live(&args);
    // Its prompt is in the log from here on, behind a turn that never ends.
    let queued = |stage: &Stage| {
        let tree = stage.offshoot(["sessions", "tree", "owned"]).succeeded();
        tree.stdout.contains("a turn for 1 prompt")
    };
    while !queued(&stage) {}
    owner.kill();
    let (done, events) = follower.wait();
    done.succeeded();
    let answers = of_type(&events, "assistant.message");
    assert_eq!(answers.last().unwrap()["data"]["content"], "you said hello");
}
