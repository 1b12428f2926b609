//! Caps that people set: by a flag, in a config file, and what a run that reaches one comes to.

use crate::stage::{Done, Stage, of_type};
use crate::terminal::Terminal;

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
    let remarks = done.remarks();
    let last = remarks.lines().last().unwrap();
    assert_eq!(last, format!("offshoot: {stderr}"));
}

#[test]
fn a_run_that_reaches_a_cap_hands_back_and_exits_with_3() {
    check(
        ENDLESS,
        &["--max-turns", "2"],
        "so far\n",
        "Stopped at the step limit (2 steps); the answer is incomplete.",
    );
    let tokens = ["--max-tokens", "12000"];
    let stopped = "Stopped at the token limit (12000 tokens); the answer is incomplete.";
    check(ENDLESS, &tokens, "so far\n", stopped);
    // The same in the tree and in the log, as words for people; programs get the codes.
    let stage = Stage::new(ENDLESS);
    run(&stage, &["--max-turns", "2", "--session", "s"]).exited(3);
    let tree = stage.offshoot(["sessions", "tree", "s"]).succeeded();
    let stopped = "stopped at the step limit (2 steps)";
    assert!(tree.stdout.contains(stopped), "{tree:#?}");
    let shown = stage.offshoot(["sessions", "show", "s"]).succeeded();
    let stopped = "run 1 stopped at the step limit 'so far'";
    assert!(shown.stdout.contains(stopped), "{shown:#?}");
    let tree = stage
        .offshoot(["sessions", "tree", "s", "--json"])
        .succeeded();
    assert_eq!(tree.events()[0]["status"], "partial");
    assert_eq!(tree.events()[0]["reason"], "budget: steps");
}

#[test]
fn a_run_that_cannot_even_hand_back_exits_with_3_and_says_so() {
    check(
        ENDLESS,
        &["--max-tokens", "1"],
        "",
        "Stopped at the token limit (1 token); one request would need more than is left of it.",
    );
}

#[test]
fn a_run_whose_time_is_up_gives_what_it_has_said_and_exits_with_3() {
    let time = ["--max-time", "200ms"];
    let stopped = "Stopped at the time limit (200ms); the answer is incomplete.";
    check(HANGING, &time, "thinking\n", stopped);
}

#[test]
fn a_cap_on_money_needs_a_price_and_costs_nothing_without_one() {
    let stage = Stage::new(ENDLESS);
    run(&stage, &["--max-cost", "0.5"])
        .complained(2, "the cost is capped and the price of script /");
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.stdout, "");
    stage.write(
        ".config/offshoot/offshoot.toml",
        "limits.session.cost_usd = 1",
    );
    run(&stage, &[]).complained(2, "is not known; set `price` in it, or drop the cap");
}

#[test]
fn a_cap_on_money_that_no_request_fits_says_how_much_it_is() {
    let priced = format!("price: {{input: 1000, output: 1000}}{ENDLESS}");
    let why = "Stopped at the cost limit ($0.001); one request would need more than is left of it.";
    check(&priced, &["--max-cost", "0.001"], "", why);
}

/// A planner whose money is capped, and a script without a price.
const CAPPED: &str = "
agents:
  - {name: lead, mode: primary, prompt: Lead.}
  - {name: thrifty, mode: all, prompt: Save., max_cost_usd: 1}
replies: [{say: hello}]
";

#[test]
fn an_agent_whose_money_is_capped_takes_no_session_over_whose_model_has_no_price() {
    let stage = Stage::new(CAPPED);
    run(&stage, &["--agent", "lead", "--session", "first"]).succeeded();
    let over = ["run", "--session", "first", "--agent", "thrifty", "go on"];
    let why = "is not known; set `price` in it, or drop the cap";
    stage.offshoot(over).complained(2, why);
    let mut terminal = Terminal::start(&stage, (100, 24), &["chat", "--session", "first"]);
    terminal.until(&["> "]);
    terminal.enter("/agent thrifty");
    terminal.until(&["the cost is capped and the price of script"]);
}

#[test]
fn a_cap_on_money_of_a_model_without_a_price_says_where_prices_are_set() {
    let stage = Stage::new(HANGING);
    let mut command = stage.command([
        "run",
        "--model",
        "openai-chat/some",
        "--max-cost",
        "1",
        "go",
    ]);
    let done = crate::stage::wait(command.env("OPENAI_API_KEY", "x").spawn().unwrap());
    done.complained(
        2,
        "set `price` in [providers.openai-chat.models.\"some\"] of your own offshoot.toml, or drop the cap",
    );
}

#[test]
fn money_can_be_capped_where_the_model_is_offline_which_is_free() {
    let stage = Stage::new(HANGING);
    let run = ["run", "--model", "offline", "--max-cost", "0.01", "list"];
    let done = stage.offshoot(run).succeeded();
    assert!(!done.stderr.contains('$'), "{}", done.stderr);
    // Nothing was used, and nothing is guessed.
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let id = listed.events()[0]["sessionId"].as_str().unwrap().to_owned();
    let tree = stage.offshoot(["sessions", "tree", "--json", &id]);
    assert_eq!(tree.succeeded().events()[0]["totalTokens"], 0);
}

/// A root and a child, at a dollar a thousand tokens.
const PRICED: &str = r#"
price: {input: 1000, output: 1000}
replies:
  - depth: 0
    after_tools: false
    usage: {input: 200, output: 50}
    call: [{tool: task, arguments: {subagent_type: general, prompt: go}}]
  - {depth: 0, say: done, usage: {input: 300, output: 50}}
  - {say: below, usage: {input: 100, output: 25}}
"#;

#[test]
fn what_a_run_costs_is_shown_wherever_its_tokens_are() {
    let stage = Stage::new(PRICED);
    let done = run(&stage, &["--session", "mine"]).succeeded();
    assert!(done.stderr.contains(", 125 tokens, $0.125)\n"), "{done:#?}");
    assert!(
        done.stderr
            .ends_with("\n725 tokens, $0.725, with all agents\n"),
        "{done:#?}"
    );
    let tree = stage.offshoot(["sessions", "tree", "mine"]).succeeded();
    assert!(
        tree.stdout
            .contains("  completed  600 tokens, $0.6  'go'\n"),
        "{tree:#?}"
    );
    assert!(
        tree.stdout.contains("  completed  125 tokens, $0.125"),
        "{tree:#?}"
    );
    let tree = stage
        .offshoot(["sessions", "tree", "mine", "--json"])
        .succeeded();
    assert_eq!(tree.events()[0]["costUsd"], 0.6);
    let events = run(&stage, &["--session", "another", "--json"]).events();
    let of = |kind: &str| of_type(&events, kind)[0]["data"].clone();
    assert_eq!(of("assistant.usage")["costUsd"], 0.25);
    assert_eq!(of("subagent.completed")["totalCostUsd"], 0.125);
    let shown = stage.offshoot(["sessions", "show", "mine"]).succeeded();
    assert!(
        shown
            .stdout
            .contains("run 1 completed 'done', 600 tokens, $0.6, "),
        "{shown:#?}"
    );
}

#[test]
fn a_run_that_nears_its_cap_on_money_hands_back_and_exits_with_3() {
    let priced = format!("price: {{input: 100, output: 100}}{ENDLESS}");
    let money = ["--max-cost", "1"];
    check_last(
        &priced,
        &money,
        "offshoot: Stopped at the cost limit ($1); the answer is incomplete.",
    );
}

#[track_caller]
fn check_last(script: &str, flags: &[&str], complaint: &str) {
    let done = run(&Stage::new(script), flags).exited(3);
    assert_eq!(done.stdout, "so far\n");
    let mut lines = done.stderr.lines().rev();
    assert!(
        lines.next().unwrap().contains(", with all agents"),
        "{done:#?}"
    );
    assert_eq!(lines.next(), Some(complaint));
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
    let done = run(&stage, &[]).exited(3);
    assert!(
        done.stdout.contains("[partial: budget: steps] so far"),
        "{done:#?}"
    );
    stage.write("offshoot.toml", "limits.session.steps = 1");
    let done = run(&stage, &[]).exited(3);
    assert!(
        done.stderr
            .contains("offshoot: Stopped at the step limit (1 step); "),
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

/// A model with a price, and an agent of one without.
const TWO_MODELS: &str = "
price: {input: 1, output: 1}
agents:
  - {name: lead, mode: primary, prompt: Lead.}
  - {name: other, mode: primary, prompt: Other., model: scripted/other.yaml}
replies: [{say: hello}]
";

#[test]
fn whoever_takes_over_a_session_whose_money_is_capped_needs_a_price() {
    let stage = Stage::new(TWO_MODELS);
    stage.write("other.yaml", "replies: [{say: dear}]");
    run(
        &stage,
        &["--agent", "lead", "--session", "capped", "--max-cost", "1"],
    )
    .succeeded();
    stage
        .offshoot(["run", "--session", "capped", "--agent", "other", "two"])
        .complained(2, "the cost is capped and the price of script");
    // It was refused before anything was said: whoever had the word goes on.
    let on = stage
        .offshoot(["run", "--session", "capped", "three"])
        .succeeded();
    assert_eq!(on.stdout, "hello\n");
}
