//! Real work: files that are written, shown and put back, commands and their processes.

use std::fs;
use std::time::{Duration, Instant};

use crate::stage::{Stage, of_type};

/// A root and a child that write a file each.
const WRITES: &str = r#"
replies:
  - depth: 0
    after_tools: false
    call:
      - {tool: write, arguments: {path: a.txt, content: "one\n"}}
      - {tool: task, arguments: {subagent_type: general, prompt: x}}
  - depth: 1
    after_tools: false
    call:
      - {tool: edit, arguments: {path: b.txt, old_string: old, new_string: new}}
  - {say: done}
"#;

const RUN: [&str; 6] = [
    "run",
    "--model",
    "scripted/script.yaml",
    "--session",
    "writes",
    "go",
];

fn stage() -> Stage {
    let stage = Stage::new(WRITES);
    stage.write("b.txt", "old\n");
    stage
}

fn yes(stage: &Stage) {
    let mut args = RUN.to_vec();
    args.push("--yes");
    stage.offshoot(args).succeeded();
}

fn read(stage: &Stage, name: &str) -> Option<String> {
    fs::read_to_string(stage.path().join(name)).ok()
}

/// Returns the id of the only child of a session.
fn child(stage: &Stage) -> String {
    let events = stage.show("writes");
    let started = of_type(&events, "subagent.started");
    started[0]["agentId"].as_str().unwrap().to_owned()
}

#[test]
fn tls_17_writing_without_yes_is_denied_and_says_so() {
    let stage = stage();
    stage.offshoot(RUN).exited(3);
    assert_eq!(read(&stage, "a.txt"), None);
    assert_eq!(read(&stage, "b.txt").as_deref(), Some("old\n"));
    let shown = stage.offshoot(["sessions", "show", "writes"]).stdout;
    let denial = "write needs permission and nobody is here to give it";
    assert!(shown.contains(denial), "{shown}");
}

#[test]
fn what_agents_wrote_is_shown_by_agent_and_put_back() {
    let stage = stage();
    yes(&stage);
    assert_eq!(read(&stage, "a.txt").as_deref(), Some("one\n"));
    let all = stage.offshoot(["sessions", "diff", "writes"]).succeeded();
    let expected = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n\
                    --- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-old\n+new\n";
    assert_eq!(all.stdout, expected);

    let child = child(&stage);
    let own = stage.offshoot(["sessions", "diff", &child]).succeeded();
    assert!(own.stdout.starts_with("--- a/b.txt"), "{}", own.stdout);
    let dry = ["sessions", "revert", "--dry-run", "writes"];
    let dry = stage.offshoot(dry).succeeded();
    assert_eq!(dry.stdout, "would remove a.txt\nwould revert b.txt\n");
    let back = stage.offshoot(["sessions", "revert", &child]).succeeded();
    assert_eq!(back.stdout, "reverted b.txt\n");
    assert_eq!(read(&stage, "b.txt").as_deref(), Some("old\n"));
    assert_eq!(read(&stage, "a.txt").as_deref(), Some("one\n"));

    let rest = stage.offshoot(["sessions", "revert", "writes"]).succeeded();
    assert_eq!(rest.stdout, "removed a.txt\n");
    assert_eq!(read(&stage, "a.txt"), None);
}

#[test]
fn a_file_that_was_edited_later_is_kept() {
    let stage = stage();
    yes(&stage);
    stage.write("b.txt", "mine\n");
    let done = stage.offshoot(["sessions", "revert", "writes"]).exited(3);
    let expected = "removed a.txt\nkept b.txt: it was edited since\n";
    assert_eq!(done.stdout, expected);
    assert_eq!(read(&stage, "b.txt").as_deref(), Some("mine\n"));
}

/// A child, then the root, then, asked again, the child edits the same file.
const IN_TURN: &str = r#"
replies:
  - depth: 0
    prompt: go
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: general, prompt: first}}]
  - depth: 0
    results: [{tool: task}]
    call: [{tool: edit, arguments: {path: f.txt, old_string: two, new_string: three}}]
  - depth: 1
    prompt: first
    after_tools: false
    call: [{tool: edit, arguments: {path: f.txt, old_string: one, new_string: two}}]
  - depth: 1
    prompt: second
    after_tools: false
    call: [{tool: edit, arguments: {path: f.txt, old_string: three, new_string: four}}]
  - {say: done}
"#;

#[test]
fn what_somebody_else_did_in_between_is_not_shown_as_the_agents() {
    let stage = Stage::new(IN_TURN);
    stage.write("f.txt", "one\n");
    yes(&stage);
    let child = child(&stage);
    let more = ["sessions", "message", "--yes", &child, "second"];
    stage.offshoot(more).succeeded();
    assert_eq!(read(&stage, "f.txt").as_deref(), Some("four\n"));
    let own = stage.offshoot(["sessions", "diff", &child]).succeeded();
    let head = "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n";
    let expected = format!("{head}-one\n+two\n{head}-three\n+four\n");
    assert_eq!(own.stdout, expected);
    let back = stage.offshoot(["sessions", "revert", &child]).exited(3);
    let expected = "kept f.txt: build writes edited it later\nreverted f.txt\n";
    assert_eq!(back.stdout, expected);
    assert_eq!(read(&stage, "f.txt").as_deref(), Some("three\n"));
}

#[test]
fn files_of_a_session_that_runs_are_left_alone() {
    let script = r#"
replies:
  - after_tools: false
    call: [{tool: edit, arguments: {path: b.txt, old_string: old, new_string: new}}]
  - {say: thinking, fault: hang}
"#;
    let stage = Stage::new(script);
    stage.write("b.txt", "old\n");
    let mut run = stage.live(&[&RUN[..], &["--yes", "--json"]].concat());
    run.until("assistant.message_delta");
    for more in [&[][..], &["--dry-run"]] {
        let args = [&["sessions", "revert", "writes"], more].concat();
        let refused = stage.offshoot(args);
        refused.complained(2, "session writes is run by another process");
    }
    assert_eq!(read(&stage, "b.txt").as_deref(), Some("new\n"));
    run.kill();
    let back = stage.offshoot(["sessions", "revert", "writes"]).succeeded();
    assert_eq!(back.stdout, "reverted b.txt\n");
    assert_eq!(stage.status("writes"), "interrupted");
}

#[test]
fn a_session_is_exported_and_removed() {
    let stage = stage();
    yes(&stage);
    let lines = stage.offshoot(["sessions", "export", "writes"]).succeeded();
    let rows = lines.events();
    assert_eq!(rows[0]["type"], "session");
    assert!(rows.iter().any(|row| row["type"] == "part"));
    let whole = stage.offshoot(["sessions", "export", "writes", "--format", "json"]);
    let whole: serde_json::Value = serde_json::from_str(&whole.succeeded().stdout).unwrap();
    assert_eq!(whole["session"], rows[0]["data"]);

    let refused = stage.offshoot(["sessions", "rm", "writes"]);
    refused.complained(2, "give --yes where nobody can be asked");
    stage
        .offshoot(["sessions", "rm", "--yes", "writes"])
        .succeeded();
    let gone = stage.offshoot(["sessions", "show", "writes"]);
    gone.complained(2, "there is no session or agent writes");
    assert_eq!(read(&stage, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn a_long_output_is_kept_whole_where_the_agent_can_read_it() {
    let script = r#"
replies:
  - {after_tools: false, call: [{id: long, tool: bash, arguments: {command: "seq 200000"}}]}
  - {say: done}
"#;
    let stage = Stage::new(script);
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "s",
        "--yes",
        "go",
    ];
    stage.offshoot(args).succeeded();
    let shown = stage
        .offshoot(["sessions", "export", "s", "--format", "json"])
        .stdout;
    let scratch = stage.data().join("scratch");
    let start = shown
        .find(scratch.to_str().unwrap())
        .expect("a sidecar is named");
    let end = start + shown[start..].find(['"', '\\', ']']).unwrap();
    let whole = fs::read_to_string(&shown[start..end]).unwrap();
    assert_eq!(whole.lines().count(), 200_000);
}

#[test]
fn tls_14_what_a_child_said_beyond_the_head_is_where_its_parent_can_look() {
    let stage = Stage::new("");
    let folder = fs::canonicalize(stage.path()).unwrap();
    let script = format!(
        "
replies:
  - depth: 0
    step: 1
    call: [{{tool: task, arguments: {{subagent_type: general, prompt: x}}}}]
  - depth: 0
    step: 2
    call: [{{id: look, tool: grep, arguments: {{pattern: the end, path: '{}/data/scratch/s'}}}}]
  - {{depth: 1, say: '{}the end'}}
  - {{say: done}}
",
        folder.display(),
        "and so on, ".repeat(20_000)
    );
    stage.write("long.yaml", &script);
    let model = ["--model", "scripted/long.yaml"];
    let args = ["run", model[0], model[1], "--session", "s", "go"];
    stage.offshoot(args).succeeded();
    let events = stage.show("s");
    let ended = of_type(&events, "tool.execution_complete");
    let looked = ended
        .iter()
        .find(|event| event["data"]["toolCallId"] == "look");
    let found = looked.unwrap()["data"]["result"]["content"]
        .as_str()
        .unwrap();
    assert!(found.contains("-task.txt:1:"), "{found}");
    assert!(found.ends_with("[1 match in 1 file]"), "{found}");
}

/// Twenty agents, each with a sleeper, a daemon of its own session and something that computes.
const BUSY: &str = r#"
replies:
  - depth: 0
    after_tools: false
    call: CALLS
  - after_tools: false
    call:
      - {tool: bash, arguments: {command: "setsid sleep MARK & sleep MARK & while :; do :; done"}}
  - {say: done}
"#;

#[test]
fn cancelling_a_tree_of_twenty_agents_leaves_no_process() {
    // A length of sleep that nobody else chooses, to count by.
    let mark = format!("3600.{}", std::process::id());
    let task = "{tool: task, arguments: {subagent_type: general, prompt: x}}";
    let calls = format!("[{}]", [task; 20].join(", "));
    let stage = Stage::new(&BUSY.replace("CALLS", &calls).replace("MARK", &mark));
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "busy",
        "--json",
        "--yes",
        "go",
    ];
    let run = stage.live(&args);
    // Slots let sixteen run at a time; each has two that sleep.
    until(|| count(&mark) >= 32);
    run.signal("INT");
    let (done, _) = run.wait();
    done.exited(130);
    assert_eq!(count(&mark), 0);
}

#[test]
fn a_killed_process_takes_its_commands_with_it() {
    let mark = format!("3601.{}", std::process::id());
    let task = "{tool: task, arguments: {subagent_type: general, prompt: x}}";
    let stage = Stage::new(
        &BUSY
            .replace("CALLS", &format!("[{task}]"))
            .replace("MARK", &mark),
    );
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "busy",
        "--json",
        "--yes",
        "go",
    ];
    let run = stage.live(&args);
    until(|| count(&mark) == 2);
    run.kill();
    // Whoever keeps them hears of it from the kernel; that takes a moment and no longer.
    until(|| count(&mark) == 0);
}

/// Waits for something that comes soon or never.
#[expect(
    clippy::disallowed_methods,
    reason = "what never comes is given up, by the clock of those who wait"
)]
fn until(mut come: impl FnMut() -> bool) {
    let began = Instant::now();
    while !come() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it does not come"
        );
        std::thread::yield_now();
    }
}

/// Counts the processes that sleep for just this long.
fn count(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let sleeps = format!("sleep\0{mark}\0");
    lines.filter(|line| line == sleeps.as_bytes()).count()
}
