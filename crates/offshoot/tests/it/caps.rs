//! Caps that people set: by a flag, in a config file, and what a run that reaches one comes to.

use crate::stage::{Done, Stage};

/// An agent that reads for ever and hands back when it may not.
const ENDLESS: &str = r#"
replies:
  - {may_call: false, say: so far, usage: {input: 100, output: 10}}
  - call: [{tool: read, arguments: {path: script.yaml}}]
    usage: {input: 1000, output: 100}
"#;

const HANGING: &str = "replies: [{say: thinking, fault: hang}]";

fn run(stage: &Stage, flags: &[&str]) -> Done {
    let model = ["run", "--yes", "--model", "scripted/script.yaml"];
    stage.offshoot([&model[..], flags, &["go"]].concat())
}

#[track_caller]
fn check(script: &str, flags: &[&str], stdout: &str, stderr: &str) {
    let done = run(&Stage::new(script), flags).exited(3);
    assert_eq!(done.stdout, stdout);
    let last = done.stderr.lines().last().unwrap();
    assert_eq!(last, format!("offshoot: {stderr}"));
}

#[test]
fn a_run_that_reaches_a_cap_hands_back_and_exits_with_3() {
    check(
        ENDLESS,
        &["--max-turns", "2"],
        "so far\n",
        "partial: budget: steps",
    );
    let tokens = ["--max-tokens", "12000"];
    check(ENDLESS, &tokens, "so far\n", "partial: budget: tokens");
}

#[test]
fn a_run_that_cannot_even_hand_back_exits_with_3_and_says_so() {
    check(
        ENDLESS,
        &["--max-tokens", "1"],
        "",
        "budget exhausted: tokens",
    );
}

#[test]
fn a_run_whose_time_is_up_gives_what_it_has_said_and_exits_with_3() {
    let time = ["--max-time", "200ms"];
    check(HANGING, &time, "thinking\n", "partial: budget: time");
}

#[test]
fn a_cap_on_money_needs_a_price_and_costs_nothing_without_one() {
    let stage = Stage::new(ENDLESS);
    run(&stage, &["--max-cost", "0.5"])
        .complained(2, "the cost is capped and the price of scripted/");
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.stdout, "");
    stage.write(
        ".config/offshoot/offshoot.toml",
        "limits.session.cost_usd = 1",
    );
    run(&stage, &[]).complained(2, "is not known; set its price or drop the cap");
}

#[test]
fn a_config_file_caps_roots_and_spawned_runs_each_for_itself() {
    let script = r#"
replies:
  - {depth: 0, after_tools: false, call: [{tool: task, arguments: {subagent_type: general, prompt: go}}]}
  - {depth: 0, say: "{result}"}
  - {depth: 1, may_call: false, say: so far}
  - {depth: 1, call: [{tool: read, arguments: {path: script.yaml}}]}
"#;
    let stage = Stage::new(script);
    stage.write("offshoot.toml", "limits.steps = 3");
    let done = run(&stage, &[]).succeeded();
    assert!(
        done.stdout.contains("[partial: budget: steps] so far"),
        "{done:#?}"
    );
    stage.write("offshoot.toml", "limits.session.steps = 1");
    let done = run(&stage, &[]).exited(3);
    assert!(
        done.stderr.ends_with("offshoot: partial: budget: steps\n"),
        "{done:#?}"
    );
}

#[test]
fn a_session_keeps_its_limits_and_flags_that_say_nothing_are_refused() {
    let stage = Stage::new("replies: [{say: ok}]");
    run(&stage, &["--session", "mine", "--max-turns", "5"]).succeeded();
    for args in [["--session", "mine"], ["--continue", "--quiet"]] {
        let more = [&["run"][..], &args, &["--max-time", "1h", "more"]].concat();
        let refused = "session mine keeps its limits; leave out --max-time";
        stage.offshoot(more).complained(2, refused);
    }
    for wrong in [
        ["--max-turns", "0"],
        ["--max-tokens", "-1"],
        ["--max-cost", "0"],
        ["--max-cost", "much"],
        ["--max-time", "10"],
        ["--max-time", "0s"],
    ] {
        run(&stage, &wrong).exited(2);
    }
}
