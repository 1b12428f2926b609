//! Steering what another process runs: waiting for agents, and correcting one.

use serde_json::Value;

use crate::stage::{Live, Stage, of_type};

/// A root that waits for a child; the child hangs, or reads a pipe and goes on with what it hears.
const BUSY: &str = r#"
agents: [{name: worker, mode: subagent, inspectable: true}]
replies:
  - depth: 0
    after_tools: false
    prompt: hang
    call: [{tool: task, arguments: {subagent_type: worker, prompt: hang}}]
  - depth: 0
    after_tools: false
    prompt: work
    call: [{tool: task, arguments: {subagent_type: worker, prompt: work}}]
  - {depth: 0, after_tools: true, say: "went on: {output}"}
  - {depth: 1, prompt: hang, say: thinking, fault: hang}
  - {depth: 1, prompt: work, after_tools: false, call: [{tool: bash, arguments: {command: cat pipe}}]}
  - {depth: 1, seen: only the tests, say: "then only the tests"}
  - {say: "you said {prompt}"}
"#;

fn started(stage: &Stage, session: &str, prompt: &str) -> (Live, String) {
    let mut run = stage.start(session, prompt);
    run.until("subagent.started");
    let id = of_type(&run.events, "subagent.started")[0]["agentId"].clone();
    (run, id.as_str().unwrap().to_owned())
}

#[test]
fn waiting_tells_how_each_ended_and_the_exit_code_is_the_worst() {
    let stage = Stage::new(BUSY);
    for (id, prompt) in [("done", "hello"), ("other", "again")] {
        stage.start(id, prompt).wait().0.succeeded();
    }
    let done = stage
        .offshoot(["sessions", "wait", "done", "other", "done"])
        .succeeded();
    assert_eq!(
        ends(&done.stdout),
        [
            "done  completed 'you said hello'",
            "other  completed 'you said again'"
        ]
    );
    let (run, child) = started(&stage, "busy", "hang");
    let wait = ["sessions", "wait", "done", &child, "--timeout", "200ms"];
    let done = stage.offshoot(wait).exited(124);
    let running = format!("{child}  running");
    assert_eq!(
        ends(&done.stdout),
        ["done  completed 'you said hello'", running.as_str()]
    );
    assert!(done.stderr.contains("the time is up"), "{done:#?}");
    let any = ["sessions", "wait", "--any", "busy", "done"];
    let first = stage.offshoot(any).succeeded();
    assert_eq!(ends(&first.stdout), ["done  completed 'you said hello'"]);
    let waiter = stage.live(&["sessions", "wait", "--json", &child, "busy"]);
    stage.offshoot(["sessions", "cancel", &child]).succeeded();
    let (waited, mut events) = waiter.wait();
    waited.exited(130);
    // The root ends right after its child, so one look at the log may find both at rest.
    events.sort_by_key(|event| event["agentId"] != child.as_str());
    assert_eq!(events[0]["status"], "cancelled");
    assert_eq!(events[0]["reason"], "cancelled by the user");
    assert_eq!(
        events[0]["settlement"]["status"],
        serde_json::json!({"cancelled": "user"})
    );
    assert_eq!(events[1]["output"], events[1]["settlement"]["output"]);
    for number in ["totalTokens", "durationMs"] {
        assert!(events[1][number].is_u64(), "{number}: {events:#?}");
    }
    assert_eq!(
        (&events[1]["agentId"], &events[1]["status"]),
        (&"busy".into(), &"completed".into())
    );
    run.wait().0.succeeded();
}

/// What was printed, a line each, without what it took.
fn ends(printed: &str) -> Vec<&str> {
    printed
        .lines()
        .map(|line| line.split_once(", ").map_or(line, |(end, _)| end))
        .collect()
}

#[test]
fn what_nobody_runs_any_more_is_told_and_not_waited_for() {
    let stage = Stage::new(BUSY);
    let (run, _) = started(&stage, "dead", "hang");
    run.kill();
    let done = stage.offshoot(["sessions", "wait", "dead"]).exited(1);
    assert_eq!(done.stdout, "dead  interrupted\n");
    stage.offshoot(["sessions", "wait"]).exited(2);
    stage
        .offshoot(["sessions", "wait", "nobody here"])
        .complained(2, "there is no session");
}

#[test]
fn a_session_that_runs_is_not_removed() {
    let stage = Stage::new(BUSY);
    let (run, _) = started(&stage, "busy", "hang");
    let rm = ["sessions", "rm", "--yes", "busy"];
    stage
        .offshoot(rm)
        .complained(2, "session busy is run by another process; stop that first");
    assert_eq!(stage.status("busy"), "running");
    run.kill();
    stage.offshoot(rm).succeeded();
}

fn answers(events: &[Value]) -> Vec<&str> {
    let messages = of_type(events, "assistant.message");
    let texts = messages
        .iter()
        .filter_map(|event| event["data"]["content"].as_str());
    texts.filter(|text| !text.is_empty()).collect()
}

#[test]
fn a_message_reaches_a_child_that_works_at_its_next_step() {
    let stage = Stage::new(BUSY);
    let pipe = stage.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let args = [
        "run",
        "--yes",
        "--model",
        "scripted/script.yaml",
        "--json",
        "--session",
        "s",
        "work",
    ];
    let mut run = stage.live(&args);
    let is_bash = |event: &Value| event["data"]["toolName"] == "bash";
    while !run.events.last().is_some_and(is_bash) {
        run.until("tool.execution_start");
    }
    let child = of_type(&run.events, "subagent.started")[0]["agentId"].clone();
    let child = child.as_str().unwrap();
    let message = ["sessions", "message", child, "only the tests"];
    let told = stage.offshoot(message).succeeded();
    assert!(
        told.stderr.contains("the message was delivered there"),
        "{told:#?}"
    );
    // Its call ends when somebody has written; the message was there before.
    std::fs::write(&pipe, "ok").unwrap();
    let (done, events) = run.wait();
    done.succeeded();
    let answers = answers(&events);
    assert!(answers.contains(&"then only the tests"), "{answers:?}");
}

#[test]
fn a_child_is_interrupted_and_corrected_and_its_parent_goes_on() {
    let stage = Stage::new(BUSY);
    let (mut run, child) = started(&stage, "s", "hang");
    run.until("assistant.message_delta");
    let cancelled = stage
        .offshoot(["sessions", "cancel", "--turn", &child])
        .succeeded();
    assert_eq!(cancelled.stdout, "turn cancelled\n");
    let (done, _) = run.wait();
    done.succeeded();
    let corrected = stage
        .offshoot(["sessions", "message", &child, "better"])
        // Its parent is woken and starts a worker whose command no one can allow.
        .exited(3);
    assert_eq!(
        corrected.stdout.lines().next(),
        Some("you said better"),
        "{corrected:#?}"
    );
}

#[test]
fn a_run_that_was_cancelled_says_so_although_a_queued_message_goes_on() {
    let stage = Stage::new(BUSY);
    let mut run = stage.start("s", "hang");
    run.until("assistant.message_delta");
    stage
        .offshoot(["sessions", "message", "s", "and this"])
        .succeeded();
    stage.offshoot(["sessions", "cancel", "s"]).succeeded();
    let (done, events) = run.wait();
    let done = done.exited(130);
    let said = "cancelled by the user; going on with a message that was queued";
    assert!(done.stderr.contains(said), "{done:#?}");
    assert!(
        answers(&events).contains(&"you said and this"),
        "{events:#?}"
    );
}
