//! Exit code 3: a run whose root completed although a limit of the run stopped an agent, or a
//! request was denied because no one could answer it (R19).

use crate::stage::{Done, Stage, of_type};

/// A lead that asks a worker, and a worker that reads for ever and hands back when it must.
const ENDLESS: &str = r#"
agents:
  - {name: lead, mode: primary, prompt: Lead., tools: [task]}
  - {name: worker, mode: subagent, prompt: Work., tools: [read]}
  - {name: modest, mode: subagent, prompt: Work., tools: [read], max_turns: 1}
  - {name: patient, mode: subagent, prompt: Work., tools: [read], max_turns: 900}
replies:
  - {agent: lead, prompt: rest, say: rested}
  - {agent: lead, after_tools: true, say: all is well}
  - agent: lead
    call: [{tool: task, arguments: {subagent_type: '{prompt}', prompt: read}}]
  - {may_call: false, say: so far, usage: {input: 100, output: 10}}
  - call: [{tool: read, arguments: {path: script.yaml}}]
    usage: {input: 1000, output: 100}
"#;

/// A lead that asks a worker, and a worker that wants to write what no rule allows.
const WRITING: &str = r#"
agents:
  - {name: lead, mode: primary, prompt: Lead., tools: [task, write]}
  - {name: worker, mode: subagent, prompt: Work., tools: [write]}
replies:
  - {agent: lead, after_tools: true, say: all is well}
  - agent: lead
    prompt: delegate
    call: [{tool: task, arguments: {subagent_type: worker, prompt: write}}]
  - {after_tools: true, say: I could not}
  - call: [{tool: write, arguments: {path: a.txt, content: a}}]
"#;

fn lead(stage: &Stage, flags: &[&str], prompt: &str) -> Done {
    let start = ["run", "--model", "scripted/script.yaml", "--agent", "lead"];
    stage.offshoot([&start[..], flags, &[prompt]].concat())
}

/// Returns the line that counts what was left undone, if there is one.
fn counted(done: &Done) -> Option<&str> {
    let mut lines = done.stderr.lines();
    lines.find(|line| line.contains("; see: offshoot sessions show "))
}

#[track_caller]
fn counts(done: &Done, expected: &str) {
    assert_eq!(done.stdout, "all is well\n", "the root completed");
    let line = counted(done).unwrap_or_else(|| panic!("{done:#?}"));
    let said = format!("offshoot: {expected}; see: ");
    assert!(line.starts_with(&said), "{line}");
}

fn limited(limits: &str) -> Stage {
    let stage = Stage::new(ENDLESS);
    stage.write(".config/offshoot/offshoot.toml", limits);
    stage
}

#[test]
fn r19_a_child_that_a_configured_limit_stopped_turns_0_into_3() {
    let done = lead(&limited("limits.steps = 2"), &[], "worker").exited(3);
    counts(&done, "1 agent was stopped by limits (1 by steps)");
}

#[test]
fn r19_a_child_that_a_flag_of_the_run_stopped_turns_0_into_3() {
    let flags = ["--max-tokens", "60000"];
    let done = lead(&Stage::new(ENDLESS), &flags, "patient").exited(3);
    counts(&done, "1 agent was stopped by limits (1 by tokens)");
}

#[test]
fn r19_the_limit_of_a_childs_own_definition_is_its_parents_to_handle() {
    let done = lead(&Stage::new(ENDLESS), &[], "modest").succeeded();
    assert_eq!(done.stdout, "all is well\n");
    assert_eq!(counted(&done), None);
}

#[test]
fn r19_a_permission_that_no_one_could_give_turns_0_into_3_in_a_root_and_in_a_child() {
    let stage = Stage::new(WRITING);
    for prompt in ["delegate", "write"] {
        let done = lead(&stage, &[], prompt).exited(3);
        counts(&done, "1 request was denied because no one could answer it");
        let done = lead(&stage, &["--quiet"], prompt).exited(3);
        assert_eq!(done.stderr.lines().count(), 1, "{done:#?}");
        let done = lead(&stage, &["--yes"], prompt).succeeded();
        assert_eq!(counted(&done), None);
    }
}

#[test]
fn r19_a_permission_that_a_rule_denies_is_not_one_that_no_one_could_give() {
    let stage = Stage::new(WRITING);
    let rules = "[[permissions]]\npermission = \"fs.write\"\naction = \"deny\"\n";
    stage.write(".config/offshoot/offshoot.toml", rules);
    lead(&stage, &[], "delegate").succeeded();
}

#[test]
fn r19_events_end_with_the_same_counts_and_the_same_code() {
    let done = lead(&limited("limits.steps = 2"), &["--json"], "worker").exited(3);
    let events = done.events();
    let last = events.last().unwrap();
    assert_eq!(last["type"], "session.idle");
    assert_eq!(last["data"]["status"], "completed");
    assert_eq!(last["data"]["stoppedByLimits"]["steps"], 1);
    let done = lead(&Stage::new(WRITING), &["--json"], "delegate").exited(3);
    let events = done.events();
    assert_eq!(events.last().unwrap()["data"]["unansweredRequests"], 1);
}

#[test]
fn r19_only_what_this_call_left_undone_counts() {
    let stage = limited("limits.steps = 2");
    let done = lead(&stage, &["--session", "s"], "worker").exited(3);
    counts(&done, "1 agent was stopped by limits (1 by steps)");
    let waited = stage.offshoot(["sessions", "wait", "s"]).exited(3);
    assert!(counted(&waited).is_some(), "its last run: {waited:#?}");
    let done = stage
        .offshoot(["run", "--session", "s", "rest"])
        .succeeded();
    assert_eq!(counted(&done), None);
    stage.offshoot(["sessions", "wait", "s"]).succeeded();
}

#[test]
fn r19_going_on_without_a_prompt_has_the_code_of_the_last_run() {
    let stage = Stage::new(
        "replies: [{prompt: half, say: half, stop: length}, {prompt: bad, fault: malformed}, {say: fine}]",
    );
    let go_on = || stage.offshoot(["run", "--session", "s"]);
    for (prompt, code) in [("go", 0), ("half", 3), ("bad", 1), ("go", 0)] {
        let model = ["run", "--model", "scripted/script.yaml", "--session", "s"];
        stage
            .offshoot([&model[..], &[prompt]].concat())
            .exited(code);
        assert_eq!(go_on().exited(code).stdout, "");
    }
}

/// A lead that asks a worker, which asks another; the last one never gets an answer of its model.
const HANGING: &str = r#"
agents:
  - {name: lead, mode: primary, prompt: Lead., tools: [task]}
  - {name: worker, mode: subagent, prompt: Work., tools: [task], spawns: [sleeper]}
  - {name: sleeper, mode: subagent, prompt: Sleep., tools: []}
replies:
  - {may_call: false, say: so far}
  - {after_tools: true, say: thinking, fault: hang}
  - agent: lead
    call: [{tool: task, arguments: {subagent_type: worker, prompt: work}}]
  - agent: worker
    call: [{tool: task, arguments: {subagent_type: sleeper, prompt: sleep}}]
  - {say: thinking, fault: hang}
"#;

#[test]
fn r19_agents_that_the_time_of_the_run_stopped_are_counted_however_each_of_them_ended() {
    let done = lead(&Stage::new(HANGING), &["--max-time", "1s"], "work").exited(3);
    let line = counted(&done).unwrap_or_else(|| panic!("{done:#?}"));
    let said = "offshoot: 3 agents were stopped by limits (3 by time); see: ";
    assert!(line.starts_with(said), "{line}");
}

#[test]
fn r19_what_the_model_offline_cannot_do_ends_with_3_and_runs_no_command() {
    let stage = Stage::new("replies: []");
    for prompt in ["fix the tests", "run the linter and fix all errors"] {
        let done = stage.offshoot(["run", "--yes", "--json", "--model", "offline", prompt]);
        let events = done.exited(3).events();
        let calls = of_type(&events, "tool.execution_start");
        let commands = calls
            .iter()
            .filter(|call| call["data"]["toolName"] == "bash");
        assert_eq!(commands.count(), 0, "{prompt}");
    }
}
