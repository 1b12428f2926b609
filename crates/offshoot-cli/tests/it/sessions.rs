//! `sessions`: looking at sessions and talking to their agents.

use serde_json::Value;

use crate::stage::{Stage, of_type};
use crate::terminal::Terminal;

const FAMILY: &str = r#"
agents: [{name: reader, mode: subagent, inspectable: true}]
replies:
  - depth: 0
    after_tools: false
    prompt: go
    call: [{tool: task, arguments: {subagent_type: reader, prompt: "one\ntwo\u001b[2J"}}]
  - {depth: 0, after_tools: true, say: "so: {output}"}
  - {depth: 0, prompt: "<task_completion", say: "I heard: {prompt}"}
  - {say: "you said {prompt}"}
"#;

fn family() -> Stage {
    let stage = Stage::new(FAMILY);
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "family-session",
        "go",
    ];
    stage.offshoot(args).succeeded();
    stage
}

fn child(stage: &Stage) -> String {
    let events = stage.show("family-session");
    let started = of_type(&events, "subagent.started");
    started[0]["agentId"].as_str().unwrap().to_owned()
}

#[test]
fn a_list_has_a_line_for_each_session_and_the_last_first() {
    let stage = family();
    stage.run("something\nelse").succeeded();
    let listed = stage.offshoot(["sessions", "list"]).succeeded();
    let lines: Vec<Vec<&str>> = listed
        .stdout
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        lines[0],
        ["ID", "AGENT", "STATUS", "AGE", "FOLDER", "TITLE"]
    );
    assert_eq!(lines[1][1..3], ["build", "completed"]);
    let folder = stage.path().canonicalize().unwrap();
    assert_eq!(lines[1][4], folder.to_str().unwrap());
    assert!(lines[1][5].starts_with("something"));
    assert_eq!(lines[2][..3], ["family-session", "build", "completed"]);
    assert_eq!(lines.len(), 3, "{}", listed.stdout);
}

#[test]
fn a_log_reads_line_by_line_and_cannot_clear_a_screen() {
    let stage = family();
    let shown = stage
        .offshoot(["sessions", "show", "family-session"])
        .succeeded();
    let child = child(&stage);
    let short = &child[child.len() - 8..];
    let expected = format!("{short} prompt     from its parent 'one\\ntwo\\u{{1b}}[2J'");
    assert!(shown.stdout.contains(&expected), "{}", shown.stdout);
    assert!(!shown.stdout.contains('\u{1b}'));
    // The day, then a line an entry; what else there is to say stands below it, without a number.
    let mut lines = shown.stdout.lines();
    let day = lines.next().unwrap();
    assert!(day.ends_with(" UTC") && day.len() == 14, "{day}");
    let entries: Vec<&str> = lines.filter(|line| !line.starts_with("      ")).collect();
    let last = entries.last().unwrap();
    let count = entries.len();
    assert!(
        last.trim_start().starts_with(&format!("{count} ")),
        "{last}"
    );
    assert!(
        last.contains("settled    run 1 completed 'so: you said one"),
        "{last}"
    );
    let shown = stage.offshoot(["sessions", "show", &child]).succeeded();
    let mut lines = shown.stdout.lines().skip(1);
    assert!(lines.all(|line| line.contains(&format!(" {short} ")) || line.starts_with("      ")));
}

#[test]
fn a_tree_shows_who_is_below_whom() {
    let stage = family();
    let shown = stage
        .offshoot(["sessions", "tree", "family-session"])
        .succeeded();
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(
        lines[0].starts_with("build  family-session  completed  "),
        "{lines:?}"
    );
    let child = child(&stage);
    assert!(
        lines[1].starts_with(&format!("  reader  {child}  completed  ")),
        "{lines:?}"
    );
    let args = ["sessions", "tree", "--json", "family-session"];
    let agents = stage.offshoot(args).succeeded().events();
    assert_eq!(agents[1]["agentId"], child.as_str());
    assert_eq!(agents[1]["parentAgentId"], "family-session");
    assert_eq!(agents[1]["waitsFor"], Value::Array(Vec::new()));
}

#[test]
fn part_of_an_id_is_enough_if_it_is_the_only_one() {
    let stage = family();
    let child = child(&stage);
    for part in [&child[..], &child[..20], &child[child.len() - 8..]] {
        let shown = stage.offshoot(["sessions", "show", part]).succeeded();
        assert!(
            shown.stdout.contains("for call_1_1 of -session"),
            "{}",
            shown.stdout
        );
    }
    stage.offshoot(["sessions", "show", "family-s"]).succeeded();
    stage
        .offshoot(["sessions", "show", "family"])
        .complained(2, "there is no session");
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "family-second",
        "x",
    ];
    stage.offshoot(args).succeeded();
    stage
        .offshoot(["sessions", "show", "family-se"])
        .complained(
            2,
            "any of 2 sessions or agents; give more of the id: family-se",
        );
    stage
        .offshoot(["run", "--session", "family-se", "x"])
        .complained(2, "any of 2");
    stage
        .offshoot(["run", "--session", &child, "x"])
        .complained(2, "is an agent of session");
}

#[test]
fn a_run_goes_on_with_a_session_by_part_of_its_id_and_opens_none_under_it() {
    let stage = family();
    let model = ["run", "--model", "scripted/script.yaml"];
    for given in [&["run"][..], &model] {
        for part in ["family-s", "y-session"] {
            let args = [given, &["--session", part, "more"]].concat();
            let done = stage.offshoot(args).succeeded();
            assert_eq!(done.stdout, "you said more\n");
            assert_eq!(done.remarks(), "");
        }
    }
    let child = child(&stage);
    stage
        .offshoot(["run", "--session", &child[child.len() - 8..], "x"])
        .complained(2, "is an agent of session family-session");
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.events().len(), 1);
}

#[test]
fn a_message_to_a_session_is_answered() {
    let stage = family();
    let said = stage
        .offshoot(["sessions", "message", "family-session", "and now?"])
        .succeeded();
    assert_eq!(said.stdout, "you said and now?\n");
}

#[test]
fn a_message_to_a_child_is_answered_by_it_and_told_to_its_parent() {
    let stage = family();
    let child = child(&stage);
    let said = stage
        .offshoot(["sessions", "message", &child, "and now?"])
        .succeeded();
    assert_eq!(said.stdout, "you said and now?\n");
    let events = stage.show("family-session");
    let told = of_type(&events, "system.notification");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["data"]["kind"]["agentId"], child.as_str());
    let answers = of_type(&events, "assistant.message");
    let last = answers.last().unwrap()["data"]["content"].as_str().unwrap();
    assert!(last.starts_with("I heard: <task_completion"), "{last}");
}

#[test]
fn a_message_needs_the_model_of_its_session() {
    let stage = family();
    std::fs::remove_file(stage.path().join("script.yaml")).unwrap();
    let refused = stage.offshoot(["sessions", "message", "family-session", "x"]);
    refused.complained(2, "load script ");
    stage
        .offshoot(["sessions", "show", "family-session"])
        .succeeded();
}

#[test]
fn cancelling_what_is_over_says_how_it_ended() {
    let stage = family();
    let child = child(&stage);
    for args in [
        &["family-session"][..],
        &["--turn", "family-session"],
        &[&child],
    ] {
        let args = [&["sessions", "cancel"], args].concat();
        let done = stage.offshoot(args).succeeded();
        assert_eq!(done.stdout, "nothing to cancel: it had ended (completed)\n");
        assert_eq!(done.stderr, "");
    }
    let done = stage
        .offshoot(["sessions", "cancel", "--json", "family-session"])
        .succeeded();
    assert_eq!(done.events()[0]["status"], "completed");
}

#[test]
fn a_log_is_cut_unless_all_is_wanted() {
    let stage = Stage::new("replies: [{say: '{prompt}'}]");
    let long = "word ".repeat(100);
    stage.run(&long).succeeded();
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let id = listed.events()[0]["sessionId"].as_str().unwrap().to_owned();
    let cut = stage.offshoot(["sessions", "show", &id]).succeeded();
    let full = stage
        .offshoot(["sessions", "show", "--full", &id])
        .succeeded();
    let whole = format!("prompt     '{}'", long.trim());
    assert!(cut.stdout.contains('…') && !cut.stdout.contains(&whole));
    assert!(full.stdout.contains(&whole) && !full.stdout.contains('…'));
}

#[test]
fn looking_changes_nothing() {
    let stage = family();
    let before = stage.show("family-session");
    for command in ["show", "tree"] {
        stage
            .offshoot(["sessions", command, "family-session"])
            .succeeded();
    }
    stage.offshoot(["sessions", "list"]).succeeded();
    assert_eq!(stage.show("family-session"), before);
}

#[test]
fn who_is_asked_whether_to_remove_sees_what() {
    let stage = family();
    let rm = ["sessions", "rm", "family-session"];
    let mut terminal = Terminal::start(&stage, (120, 10), &rm);
    terminal.until(&[
        "family-session  'go', in ",
        ", 2 agents",
        "remove 1 session for good?",
    ]);
    terminal.enter("n");
    assert_eq!(terminal.ended(), Some(0));
    assert_eq!(stage.status("family-session"), "completed");
    // What was typed before it was asked is no answer.
    let mut terminal = Terminal::typed_ahead(&stage, (120, 10), &rm, "y\r");
    terminal.until(&["remove 1 session for good?"]);
    terminal.enter("n");
    assert_eq!(terminal.ended(), Some(0));
    assert_eq!(stage.status("family-session"), "completed");
}

#[test]
fn who_only_looks_makes_no_data_folder() {
    let stage = Stage::new("replies: []");
    for args in [&["sessions", "list"][..], &["inbox", "list"]] {
        let done = stage.offshoot(args).succeeded();
        assert!(done.stderr.contains("there is no data folder"), "{done:#?}");
    }
    for command in ["show", "tree", "diff", "attach", "export"] {
        let done = stage.offshoot(["sessions", command, "01a1e7a3"]);
        done.complained(2, "there is no data folder");
    }
    assert!(!stage.data().exists());
    std::fs::create_dir(stage.data()).unwrap();
    let done = stage.offshoot(["sessions", "list"]).succeeded();
    assert!(
        done.stderr.contains("there are no sessions in"),
        "{done:#?}"
    );
    assert_eq!(std::fs::read_dir(stage.data()).unwrap().count(), 0);
}
