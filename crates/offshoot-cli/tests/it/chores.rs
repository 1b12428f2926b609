//! What Offshoot has done for itself: names, summaries, conversations that shrink.

use serde_json::Value;

use crate::stage::{Done, Stage, of_type};

const USER: &str = ".config/offshoot/offshoot.toml";

/// An agent with little to say, whose model takes little, and helpers that answer from the script.
const SMALL: &str = r#"
window: 2000
agents:
  - {name: lead, mode: primary, prompt: Lead., tools: []}
replies:
  - {agent: compaction, prompt: poison, fault: malformed}
  - {agent: compaction, say: "Goal: to go on", usage: {input: 10, output: 7}}
  - {agent: summary, say: "It was about {prompt}"}
  - {agent: title, say: "A fine name."}
  - {prompt: wait, fault: hang}
  - {prompt: much, say: That was much., usage: {input: 1900, output: 10}}
  - {seen: Goal, say: "I read the short of it, then {prompt}"}
  - {say: "you said {prompt}"}
"#;

/// What makes the small window count, and keeps only the turn at hand.
const RULES: &str = "[compaction]\nreserve_tokens = 500\ntail_turns = 1\nretry_on_transient = 0\n";

#[track_caller]
fn ask(stage: &Stage, prompt: &str) -> Done {
    let model = ["--model", "scripted/script.yaml", "--agent", "lead"];
    let args = ["run", "--json", "--session", "first"].into_iter();
    let known = stage.data().exists();
    let model = model.into_iter().filter(|_| !known);
    stage
        .offshoot(args.chain(model).chain([prompt]))
        .succeeded()
}

fn small() -> Stage {
    let stage = Stage::new(SMALL);
    stage.write(USER, RULES);
    stage
}

#[track_caller]
fn title(stage: &Stage) -> Value {
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    listed.events()[0]["title"].clone()
}

#[test]
fn sa_44_a_helper_is_started_by_task_and_is_a_child_like_any_other() {
    let stage = Stage::new(
        "agents: [{name: lead, mode: primary, prompt: Lead., tools: [task]}]
replies:
  - {agent: title, say: \"About {prompt}\"}
  - {depth: 0, after_tools: false, call: [{tool: task, arguments: {subagent_type: title, prompt: cats}}]}
  - {depth: 0, say: \"{output}\"}
",
    );
    let model = ["--model", "scripted/script.yaml", "--agent", "lead"];
    let run = [&["run"][..], &model, &["name it"]].concat();
    assert_eq!(stage.offshoot(run).succeeded().stdout, "About cats\n");
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let id = listed.events()[0]["sessionId"].as_str().unwrap().to_owned();
    let tree = stage.offshoot(["sessions", "tree", &id]).succeeded();
    assert!(tree.stdout.contains("title"), "{tree:#?}");
}

#[test]
fn what_is_said_to_a_helper_is_refused_and_nobody_waits() {
    let stage = small();
    ask(&stage, "hello");
    let summary = ["sessions", "summary", "first"];
    stage.offshoot(summary).succeeded();
    let shown = ["sessions", "show", "--full", "first"];
    let shown = stage.offshoot(shown).succeeded().stdout;
    let born = shown
        .lines()
        .find(|line| line.contains(" spawned ") && line.contains("summary"));
    let short = born.unwrap().split_whitespace().nth(2).unwrap();
    // Nothing shows the whole id of a helper, and only that finds one.
    let bytes = std::fs::read(stage.data().join("offshoot.db")).unwrap();
    let mut ids = bytes
        .windows(36)
        .filter_map(|id| std::str::from_utf8(id).ok());
    let id = ids.find(|id| id.ends_with(short) && id.as_bytes()[8] == b'-');
    let message = ["sessions", "message", id.unwrap(), "hi"];
    let why = "it works for offshoot itself, and not for people";
    stage.offshoot(message).complained(2, why);
}

#[test]
fn a_conversation_that_grows_too_long_is_shortened_and_goes_on() {
    let stage = small();
    ask(&stage, "much of it");
    let events = ask(&stage, "and now").events();
    assert_eq!(
        of_type(&events, "session.compaction_start").len(),
        1,
        "{events:#?}"
    );
    let done = of_type(&events, "session.compaction_complete");
    assert_eq!(done[0]["data"]["auto"], true);
    assert_eq!(done[0]["data"]["summaryContent"], "Goal: to go on");
    assert_eq!(done[0]["data"]["summaryTokens"], 7);
    assert!(done[0].get("ephemeral").is_none());
    let said = of_type(&events, "assistant.message");
    assert_eq!(
        said[0]["data"]["content"],
        "I read the short of it, then and now"
    );
    // No child was seen to start: it was done for the agent itself.
    assert_eq!(of_type(&events, "subagent.started").len(), 0);
    // It stands in the log; what was done for it is shown to who wants all.
    let shown = stage.offshoot(["sessions", "show", "first"]).succeeded();
    assert!(
        shown
            .stdout
            .contains("compacted  of itself to 'Goal: to go on', a summary of 7 tokens"),
        "{shown:#?}"
    );
    assert!(shown.stdout.contains("much of it"), "{shown:#?}");
    assert!(!shown.stdout.contains("compaction for"), "{shown:#?}");
    let full = stage
        .offshoot(["sessions", "show", "--full", "first"])
        .succeeded();
    assert!(full.stdout.contains("compaction for first"), "{full:#?}");
    let stored = stage.show("first");
    assert_eq!(of_type(&stored, "session.compaction_start").len(), 1);
    let tree = stage.offshoot(["sessions", "tree", "first"]).succeeded();
    let lines: Vec<&str> = tree.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{tree:#?}");
    assert!(lines[1].starts_with("helpers: "), "{tree:#?}");
}

#[test]
fn a_conversation_that_could_not_be_shortened_goes_on_with_a_warning() {
    let stage = small();
    ask(&stage, "much poison");
    let events = ask(&stage, "and now").events();
    let warned = of_type(&events, "session.warning");
    assert_eq!(warned.len(), 1, "{events:#?}");
    assert_eq!(warned[0]["ephemeral"], true);
    assert_eq!(warned[0]["data"]["warningType"], "context");
    let message = warned[0]["data"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("its context is full and could not be shortened"),
        "{message}"
    );
    let said = of_type(&events, "assistant.message");
    assert_eq!(said[0]["data"]["content"], "you said and now");
    assert_eq!(of_type(&stage.show("first"), "session.warning").len(), 0);
    // A person is told in words.
    ask(&stage, "much more");
    let done = stage
        .offshoot(["run", "--session", "first", "again"])
        .succeeded();
    assert!(
        done.stderr.contains("lead: its context is full"),
        "{done:#?}"
    );
}

#[test]
fn who_turns_it_off_is_left_alone() {
    let stage = small();
    stage.write(USER, "[compaction]\nauto = false\nreserve_tokens = 500\n");
    ask(&stage, "much of it");
    let events = ask(&stage, "and now").events();
    assert_eq!(of_type(&events, "session.compaction_start").len(), 0);
    // Whoever asks for it gets it.
    let done = stage.offshoot(["sessions", "compact", "first"]).succeeded();
    assert_eq!(done.stdout, "compacted: the summary has 7 tokens\n");
}

#[test]
fn a_session_is_shortened_on_request() {
    let stage = small();
    ask(&stage, "hello");
    let compact = ["sessions", "compact", "first"];
    let done = stage.offshoot(compact).succeeded();
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("compacted: the summary has 7 tokens\n", "")
    );
    let again = stage.offshoot(compact).succeeded();
    assert_eq!(again.stdout, "not compacted: there is nothing to shorten\n");
    ask(&stage, "poison");
    let failed = stage
        .offshoot(["sessions", "compact", "--json", "first"])
        .exited(1);
    let status = failed.events()[0]["status"].as_str().unwrap().to_owned();
    assert!(status.starts_with("not compacted: "), "{status}");
    let why = "not compacted: ";
    stage.offshoot(compact).complained(1, why);
    stage
        .offshoot(["sessions", "compact", "nobody-there"])
        .complained(2, "there is no session");
}

#[test]
fn a_summary_is_written_once_and_again_when_something_happened() {
    let stage = small();
    ask(&stage, "hello");
    let made = |args: &[&str]| {
        let summary = ["sessions", "summary", "--json", "first"]
            .iter()
            .chain(args);
        let done = stage.offshoot(summary).succeeded();
        let event = done.events().remove(0);
        assert_eq!(event["agentId"], "first");
        let text = event["summary"].as_str().unwrap().to_owned();
        assert!(
            text.starts_with("It was about <conversation>\n## asked\nhello"),
            "{text}"
        );
        event["made"].as_bool().unwrap()
    };
    assert!(made(&[]));
    assert!(!made(&[]));
    assert!(made(&["--fresh"]));
    stage
        .offshoot(["sessions", "rename", "first", "Other"])
        .succeeded();
    assert!(!made(&[]));
    ask(&stage, "more");
    assert!(made(&[]));
    let done = stage.offshoot(["sessions", "summary", "first"]).succeeded();
    assert!(done.stdout.starts_with("It was about "), "{done:#?}");
    assert_eq!(done.stderr, "");
    let shown = stage.offshoot(["sessions", "show", "first"]).succeeded();
    assert_eq!(
        shown.stdout.matches(" summary    'It was about").count(),
        3,
        "{shown:#?}"
    );
}

#[test]
fn a_person_names_a_session_and_the_list_shows_it() {
    let stage = small();
    ask(&stage, "hello");
    assert_eq!(title(&stage), "hello");
    let done = stage
        .offshoot(["sessions", "rename", "first", "The first\nof many"])
        .succeeded();
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("renamed\n", "")
    );
    assert_eq!(title(&stage), "The first");
    let refused = stage.offshoot(["sessions", "rename", "first", " "]);
    refused.complained(2, "a name needs at least one letter");
    let shown = stage.offshoot(["sessions", "show", "first"]).succeeded();
    assert!(
        shown.stdout.contains("titled     'The first'"),
        "{shown:#?}"
    );
}

#[test]
fn a_small_model_names_sessions_and_without_one_nobody_does() {
    let stage = small();
    ask(&stage, "hello");
    let full = stage
        .offshoot(["sessions", "show", "--full", "first"])
        .succeeded();
    assert!(!full.stdout.contains("title for"), "{full:#?}");
    let stage = small();
    // Seen from the file it stands in, as every model is.
    stage.write(
        USER,
        &format!("tiers.small = 'scripted/small.yaml'\n{RULES}"),
    );
    let small = ".config/offshoot/small.yaml";
    stage.write(
        small,
        "replies: [{agent: title, say: '\"By the small one.\"'}]",
    );
    let mut live = stage.live(&[
        "run",
        "--model",
        "scripted/script.yaml",
        "--agent",
        "lead",
        "--session",
        "first",
        "--json",
        "wait",
    ]);
    // The first is what was asked, the second what it was named.
    live.until("session.title_changed")
        .until("session.title_changed");
    assert_eq!(
        live.events.last().unwrap()["data"]["title"],
        "By the small one"
    );
    live.signal("TERM");
    live.wait();
    assert_eq!(title(&stage), "By the small one");
}

#[test]
fn a_small_model_that_cannot_be_asked_is_told_with_where_it_was_said() {
    let stage = small();
    stage.write(USER, "tiers.small = 'acme/small'");
    let run = ["run", "--model", "scripted/script.yaml", "x"];
    stage.offshoot(run).complained(
        2,
        "`tiers.small` cannot be used: there is no model acme/small",
    );
    let refused = stage.offshoot(run);
    assert!(
        refused.stderr.contains("offshoot.toml line 1"),
        "{refused:#?}"
    );
    let doctor = stage.offshoot(["doctor"]).exited(1);
    assert!(
        doctor
            .stdout
            .contains("fail  small model      there is no model acme/small"),
        "{doctor:#?}"
    );
    stage.write(USER, "tiers.small = 'offline'\n");
    let doctor = stage.offshoot(["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("ok    small model      offline, from "),
        "{doctor:#?}"
    );
    assert!(
        doctor.stdout.contains("tiers.small = offline, from "),
        "{doctor:#?}"
    );
}

#[test]
fn a_helper_of_ones_own_that_is_broken_is_told_and_not_passed_over() {
    let stage = small();
    stage.run("hello").succeeded();
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let id = listed.events()[0]["sessionId"].as_str().unwrap().to_owned();
    for (command, name) in [("summary", "summary"), ("compact", "compaction")] {
        let file = format!(".config/offshoot/agents/{name}.md");
        stage.write(&file, "---\nmood: subagent\n---\nSum up.");
        let refused = stage.offshoot(["sessions", command, &id]);
        refused.complained(2, &format!("agent {name} cannot be used: "));
    }
}

#[test]
fn what_helpers_used_is_in_the_tree() {
    let stage = Stage::new(
        "price: {input: 1000, output: 0}
replies:
  - {agent: summary, say: short, usage: {input: 40}}
  - {say: hi, usage: {input: 7}}",
    );
    let run = ["run", "--model", "scripted/script.yaml", "--session"];
    stage
        .offshoot([&run[..], &["talk", "x"]].concat())
        .succeeded();
    let tree = || {
        stage
            .offshoot(["sessions", "tree", "talk"])
            .succeeded()
            .stdout
    };
    assert!(!tree().contains("helpers"), "{}", tree());
    stage.offshoot(["sessions", "summary", "talk"]).succeeded();
    assert!(
        tree().ends_with("\nhelpers: 40 tokens, $0.04\nall: 47 tokens, $0.047\n"),
        "{}",
        tree()
    );
    let json = ["sessions", "tree", "--json", "talk"];
    let json = stage.offshoot(json).succeeded().events();
    assert_eq!(json[0]["totalTokens"], 7);
    assert_eq!(json[0]["helperTokens"], 40);
    assert_eq!(json[0]["helperCostUsd"], 0.04);
}

#[test]
fn the_tree_fits_the_window() {
    let stage = small();
    stage
        .run("a prompt of some words that go on for a while")
        .succeeded();
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let id = listed.events()[0]["sessionId"].as_str().unwrap().to_owned();
    let args = ["sessions", "tree", &id];
    let piped = stage.offshoot(args).succeeded().stdout;
    assert!(
        piped.lines().next().unwrap().chars().count() > 60,
        "{piped}"
    );
    let shown = stage.on_terminal(60, &args);
    for line in shown.lines() {
        assert!(line.chars().count() <= 60, "{shown}");
    }
    assert!(shown.contains('…'), "{shown}");
}

/// A title that takes a moment, and a model for it.
fn slow_title() -> Stage {
    let stage = small();
    stage.write(
        USER,
        &format!("tiers.small = 'scripted/small.yaml'\n{RULES}"),
    );
    let script = "replies: [{agent: title, delay_ms: 700, say: Slow but sure}, {say: Short.}]";
    stage.write(".config/offshoot/small.yaml", script);
    stage
}

#[test]
fn sa_45_a_script_waits_for_no_title_and_the_next_opening_makes_it() {
    let stage = slow_title();
    ask(&stage, "hello");
    assert_ne!(title(&stage), "Slow but sure", "a script does not wait");
    let mut live = stage.live(&["run", "--session", "first", "--json", "wait"]);
    live.until("session.title_changed");
    assert_eq!(
        live.events.last().unwrap()["data"]["title"],
        "Slow but sure"
    );
    live.signal("TERM");
    live.wait();
}

#[test]
fn sa_45_at_a_terminal_a_title_in_flight_gets_two_seconds() {
    let stage = slow_title();
    let model = ["--model", "scripted/script.yaml", "--agent", "lead"];
    let args = ["run", "--session", "first"].into_iter().chain(model);
    let args: Vec<&str> = args.chain(["hello"]).collect();
    stage.on_terminal(80, &args);
    assert_eq!(title(&stage), "Slow but sure");
}

#[test]
fn sa_45_sessions_close_writes_a_summary_if_there_is_news_and_a_small_tier() {
    let stage = small();
    ask(&stage, "hello");
    let close = ["sessions", "close", "first"];
    let closed = stage.offshoot(close).succeeded().stdout;
    assert!(closed.contains("closed without a new summary"), "{closed}");
    stage.write(
        USER,
        &format!("tiers.small = 'scripted/small.yaml'\n{RULES}"),
    );
    let script = "replies: [{agent: summary, say: It was brief.}]";
    stage.write(".config/offshoot/small.yaml", script);
    let closed = stage.offshoot(close).succeeded().stdout;
    assert_eq!(closed.trim(), "closed; its summary is written");
    let closed = stage.offshoot(close).succeeded().stdout;
    assert!(closed.contains("closed without a new summary"), "{closed}");
    // No model is asked for what is written already.
    stage.write(USER, RULES);
    let summary = stage.offshoot(["sessions", "summary", "first"]).succeeded();
    assert_eq!(summary.stdout.trim(), "It was brief.");
    stage.offshoot(["sessions", "close", "nobody"]).exited(2);
}

#[test]
fn sa_45_a_run_that_ends_does_not_close_its_session() {
    let stage = small();
    stage.write(
        USER,
        &format!("tiers.small = 'scripted/small.yaml'\n{RULES}"),
    );
    let script = "replies: [{agent: summary, say: It was brief.}, {say: Short.}]";
    stage.write(".config/offshoot/small.yaml", script);
    ask(&stage, "hello");
    // A close writes a summary of what none has summed up yet.
    let closed = stage.offshoot(["sessions", "close", "first"]).succeeded();
    assert_eq!(closed.stdout.trim(), "closed; its summary is written");
}
