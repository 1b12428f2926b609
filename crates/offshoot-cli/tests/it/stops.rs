//! Stop hooks of runs that nobody could keep: told to the end, whoever is killed meanwhile.

use std::process::Command;

use serde_json::Value;

use crate::stage::Stage;

/// A root whose worker fails, and another that only talks.
const SCRIPT: &str = r#"
agents:
  - {name: worker, mode: subagent, prompt: Work.}
replies:
  - {agent: worker, say: "half", fault: cut}
  - {prompt: delegate, after_tools: false, call: [{tool: task, arguments: {subagent_type: worker, prompt: go}}]}
  - {say: "so be it"}
"#;

/// Notes what it is told. The first that is told of an end never comes back.
const HOOKS: &str = r#"
[[hooks]]
event = "SubagentStart"
command = "cat >> told.jsonl; echo >> told.jsonl"

[[hooks]]
event = "SubagentStop"
command = '''
cat >> told.jsonl; echo >> told.jsonl
mkdir once 2>/dev/null && { echo > began; sleep 1000; }
true
'''
"#;

const RUN: [&str; 4] = ["run", "--model", "scripted/script.yaml", "--session"];

/// Returns what the hooks were told, as (event, agent, run, status).
fn told(stage: &Stage) -> Vec<[String; 4]> {
    let told = std::fs::read_to_string(stage.path().join("told.jsonl")).unwrap_or_default();
    let lines = told.lines().filter(|line| !line.is_empty());
    let fields = ["hook_event_name", "agent_id", "run", "status"];
    lines
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            fields.map(|field| line[field].to_string())
        })
        .collect()
}

#[test]
fn a_stop_hook_that_was_killed_with_its_process_is_called_by_the_next_and_then_no_more() {
    let stage = Stage::new(SCRIPT);
    stage.write(".config/offshoot/offshoot.toml", HOOKS);
    let began = stage.path().join("began");
    let made = Command::new("mkfifo").arg(&began).status().unwrap();
    assert!(made.success());
    let first = stage.live(&[&RUN[..], &["first", "--json", "delegate"]].concat());
    // Comes back when the hook has written to it.
    std::fs::read(&began).unwrap();
    first.kill();
    // The process that opens the session calls the hooks, and waits for them.
    for _ in 0..2 {
        stage
            .offshoot([&RUN[..], &["first", "talk"]].concat())
            .succeeded();
        let told = told(&stage);
        let [start, stop, again] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(start[0], "\"SubagentStart\"");
        assert_eq!(stop, again, "the same run");
        assert_eq!((&start[1], &start[2]), (&stop[1], &stop[2]));
        assert_eq!((&*stop[0], &*stop[3]), ("\"SubagentStop\"", "\"failed\""));
    }
    let shown = stage.offshoot(["sessions", "show", "first"]).succeeded();
    assert!(shown.stdout.contains("SubagentStop"), "{shown:?}");
}
