//! `run`: an answer on stdout, progress on stderr, how it went as the exit code.

use std::io::Read;

use crate::stage::{Stage, wait};

/// A root that waits for two children, one of which has a child, and leaves one in the background.
const FAMILY: &str = r#"
replies:
  - depth: 0
    after_tools: false
    prompt: go
    say: asking
    call:
      - {tool: task, arguments: {subagent_type: general, prompt: plain}}
      - {tool: task, arguments: {subagent_type: general, prompt: nested}}
      - {tool: task, arguments: {subagent_type: general, prompt: slow, background: true}}
  - {depth: 0, after_tools: true, say: "blocking said: {output}"}
  - {depth: 0, prompt: "<task_completion", say: "and later: {prompt}"}
  - {depth: 0, say: "you said {prompt}"}
  - depth: 1
    prompt: nested
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: general, prompt: deep}}]
  - {depth: 1, after_tools: true, say: "below me: {output}"}
  - {depth: 1, prompt: slow, delay_ms: 50, say: slow is done}
  - {say: "{prompt} at {depth}"}
"#;

#[test]
fn the_answer_is_on_stdout_and_nothing_else_is() {
    let stage = Stage::new("replies: [{say: 'you said {prompt}'}]");
    let done = stage.run("hello").succeeded();
    assert_eq!(done.stdout, "you said hello\n");
    assert_eq!(done.remarks().lines().count(), 1);
    assert!(done.stderr.starts_with("session "), "{}", done.stderr);
}

#[test]
fn a_prompt_comes_from_stdin() {
    let stage = Stage::new("replies: [{prompt_is: 'from afar', say: heard}]");
    let args = ["run", "--model", "scripted/script.yaml", "-"];
    let done = stage.offshoot_reading(&args, b"from afar").succeeded();
    assert_eq!(done.stdout, "heard\n");
}

#[test]
fn a_family_is_waited_for_and_told_of() {
    let stage = Stage::new(FAMILY);
    let done = stage.run("go").succeeded();
    let (first, later) = done.stdout.split_once("\n\n").unwrap();
    assert!(first.starts_with("blocking said: "), "{done:#?}");
    assert!(
        later.starts_with("and later: <task_completion"),
        "{done:#?}"
    );
    assert!(later.contains("slow is done"), "{done:#?}");
    let lines: Vec<&str> = done.stderr.lines().skip(1).collect();
    let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!(
        (count(" started"), count(" completed (")),
        (4, 4),
        "{lines:#?}"
    );
    assert_eq!(count("in the background"), 1);
    for words in [
        "started: 'plain'",
        "started: 'nested'",
        "started: 'deep'",
        "in the background: 'slow'",
    ] {
        assert_eq!(
            count(words),
            1,
            "siblings are told apart by {words}: {lines:#?}"
        );
    }
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("    general") || line.starts_with("    ✓ general"))
            .count(),
        2
    );
}

#[test]
fn a_session_goes_on_without_being_told_its_model_again() {
    let stage = Stage::new(FAMILY);
    let first = stage.run("go").succeeded();
    let id = first
        .stderr
        .lines()
        .next()
        .unwrap()
        .strip_prefix("session ")
        .unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = stage.command(["run", "--session", id, "more"]);
    let done = wait(command.current_dir(elsewhere.path()).spawn().unwrap()).succeeded();
    assert_eq!(done.stdout, "you said more\n");
    assert_eq!(done.remarks(), "");
}

#[test]
fn a_session_may_be_named_by_who_opens_it() {
    let stage = Stage::new("replies: [{say: '{prompt}'}]");
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "my session",
        "one",
    ];
    let first = stage.offshoot(args).succeeded();
    assert_eq!(first.stdout, "one\n");
    assert_eq!(first.remarks(), "session my session\n");
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "my session",
        "two",
    ];
    assert_eq!(stage.offshoot(args).succeeded().stdout, "two\n");
    let shown = stage
        .offshoot(["sessions", "show", "my session"])
        .succeeded();
    assert_eq!(
        shown.stdout.matches(" prompt ").count(),
        2,
        "{}",
        shown.stdout
    );
}

#[test]
fn going_on_with_a_quiet_session_says_that_nothing_is_waiting() {
    let stage = Stage::new("replies: [{say: '{prompt}'}]");
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "quiet",
        "one",
    ];
    stage.offshoot(args).succeeded();
    let done = stage.offshoot(["run", "--session", "quiet"]).succeeded();
    assert_eq!(done.stdout, "");
    let expected = "nothing is waiting in session quiet; send a prompt to go on\n";
    assert_eq!(done.remarks(), expected);
}

#[test]
fn the_agent_of_the_documentation_is_one() {
    let page = include_str!("../../../../docs/agents.md");
    let file = page.split("```markdown\n").nth(1).unwrap();
    let stage = Stage::new(
        "
replies:
  - {depth: 0, after_tools: false, call: [{tool: task, arguments: {subagent_type: reader, prompt: x}}]}
  - {depth: 1, after_tools: false, call: [{tool: read, arguments: {path: secrets/key}}]}
  - {say: '{output}'}
",
    );
    let file = file.split("```").next().unwrap();
    stage.write(".offshoot/agents/reader.md", file);
    stage.trust();
    let done = stage.run("go").succeeded();
    assert_eq!(
        done.stdout,
        "error: read was denied by agent reader: fs.read **/secrets/**\n"
    );
}

#[test]
fn a_model_that_is_tried_again_is_told_of() {
    let stage = Stage::new(
        "
        replies:
          - {depth: 1, times: 1, fault: {rate_limited: {retry_after_ms: 1}}}
          - {times: 1, fault: {rate_limited: {retry_after_ms: 1}}}
          - after_tools: false
            depth: 0
            call: [{tool: task, arguments: {subagent_type: general, prompt: x}}]
          - {say: done}
        ",
    );
    let done = stage.run("go").succeeded();
    let again: Vec<&str> = done
        .stderr
        .lines()
        .filter(|line| line.ends_with("ms (attempt 2)") && line.contains("; trying again after "))
        .collect();
    assert!(again[0].starts_with("build: "), "{done:#?}");
    assert!(again[1].starts_with("  general "), "{done:#?}");
}

#[test]
fn agents_of_a_script_may_have_models_of_their_own() {
    let stage = Stage::new(
        "
        agents: [{name: other, mode: subagent, model: scripted/other.yaml}]
        replies:
          - after_tools: false
            call: [{tool: task, arguments: {subagent_type: other, prompt: x}}]
          - say: '{output}'
        ",
    );
    let other = stage.path().join("other.yaml");
    std::fs::write(other, "replies: [{say: I am another}]").unwrap();
    assert_eq!(stage.run("go").succeeded().stdout, "I am another\n");
}

#[test]
fn the_exit_code_is_how_the_root_settled() {
    let check = |script: &str, code: i32, stdout: &str, stderr: &str| {
        let done = Stage::new(script).run("go").exited(code);
        assert_eq!(done.stdout, stdout, "{script}");
        assert!(done.stderr.contains(stderr), "{script}: {}", done.stderr);
    };
    check(
        "replies: [{say: half a, stop: length}]",
        3,
        "half a\n",
        "offshoot: partial: the model reached its output limit",
    );
    check(
        "replies: [{stop: refusal}]",
        3,
        "",
        "offshoot: partial: the model could not or would not do it",
    );
    check(
        "replies: [{prompt: never, say: x}]",
        1,
        "",
        "no rule matches",
    );
    check(
        "replies: [{say: so far, fault: malformed}]",
        1,
        "so far\n",
        "offshoot: failed: ",
    );
    check(
        "
        agents: [{name: build, mode: primary, max_turns: 1}]
        replies:
          - {depth: 1, say: x}
          - call: [{tool: task, arguments: {subagent_type: general, prompt: x}}]
        ",
        3,
        "",
        "Stopped at the step limit (1 step); there is no answer.",
    );
}

#[test]
fn a_failing_child_is_an_answer_to_its_parent() {
    let stage = Stage::new(
        "
        replies:
          - {depth: 1, fault: malformed}
          - after_tools: false
            call: [{tool: task, arguments: {subagent_type: general, prompt: x}}]
          - {results: [{tool: task, failed: true}], say: it failed and I went on}
        ",
    );
    let done = stage.run("go").succeeded();
    assert_eq!(done.stdout, "it failed and I went on\n");
    assert!(done.stderr.contains(" failed: "), "{}", done.stderr);
    let id = done.stderr.lines().next().unwrap();
    let id = id.strip_prefix("session ").unwrap();
    let tree = stage.offshoot(["sessions", "tree", id]).succeeded();
    assert!(tree.stdout.contains("  failed: "), "{}", tree.stdout);
}

#[test]
fn a_reader_who_leaves_does_not_stop_the_run() {
    let stage = Stage::new(FAMILY);
    let args = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--json",
        "--session",
        "deaf",
        "go",
    ];
    let mut child = stage.command(args).spawn().unwrap();
    let mut first = [0; 64];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert_eq!(stderr, "session deaf\n");
    assert_eq!(stage.status("deaf"), "completed");
}
