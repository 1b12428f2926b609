//! What a person sees of the work: calls, agents below, totals, and how a conversation ended.

use crate::stage::Stage;
use crate::terminal::Terminal;

/// An agent that edits, tests, fails and hands work on.
const WORK: &str = r#"
replies:
  - {depth: 1, after_tools: false, call: [{tool: write, arguments: {path: made.txt, content: "one\ntwo\n"}}]}
  - {depth: 1, say: "I made it."}
  - {depth: 0, step: 1, call: [{tool: write, arguments: {path: a.txt, content: "old\n"}}]}
  - {depth: 0, step: 2, call: [{tool: edit, arguments: {path: a.txt, old_string: old, new_string: new}}]}
  - {depth: 0, step: 3, call: [{tool: bash, arguments: {command: "echo checked; exit 3"}}]}
  - {depth: 0, step: 4, call: [{tool: read, arguments: {path: gone}}]}
  - {depth: 0, step: 5, call: [{tool: task, arguments: {subagent_type: general, prompt: make it}}]}
  - {say: "All done."}
"#;

const MODEL: [&str; 2] = ["--model", "scripted/script.yaml"];

/// What every line of the work says, whatever stands around it.
const SAID: [&str; 8] = [
    "write a.txt  created, 1 line",
    "edit a.txt  +1 -1",
    "- old",
    "+ new",
    "exit 3",
    "| checked",
    "read gone  failed: ",
    "| I made it.",
];

#[test]
fn run_tells_every_call_and_its_outcome_on_stderr() {
    let stage = Stage::new(WORK);
    let run = [&["run", "--yes"], &MODEL[..], &["go"]].concat();
    let done = stage.offshoot(&run).succeeded();
    assert_eq!(done.stdout, "All done.\n");
    for said in SAID {
        assert!(done.stderr.contains(said), "{said} in {}", done.stderr);
    }
    assert!(done.stderr.contains(" completed ("), "{done:#?}");
    assert!(done.stderr.contains(" changed made.txt\n"), "{done:#?}");
    assert!(
        done.stderr.ends_with(" tokens, with all agents\n"),
        "{done:#?}"
    );
    assert!(!done.stderr.contains('\u{1b}'), "{done:#?}");
    let quiet = stage.offshoot([&run[..], &["-q"]].concat()).succeeded();
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.as_str()),
        ("All done.\n", "")
    );
}

#[test]
fn chat_shows_every_call_and_quiet_only_what_failed() {
    let stage = Stage::new(WORK);
    let chat = [&["chat", "--yes"], &MODEL[..]].concat();
    let mut terminal = Terminal::start(&stage, (80, 40), &chat);
    terminal.until_prompt();
    terminal.enter("go");
    terminal.until(&["All done.", "tokens, with all agents"]);
    terminal.until(&SAID);
    let mut terminal = Terminal::start(&stage, (80, 40), &[&chat[..], &["-q"]].concat());
    terminal.until_prompt();
    terminal.enter("go");
    terminal.until(&["exit 3", "failed: ", "All done."]);
    let text = terminal.text();
    assert!(
        !text.contains("+1 -1") && !text.contains("I made it"),
        "{text}"
    );
}

#[test]
fn a_conversation_that_goes_on_shows_how_it_ended() {
    let stage = Stage::new("replies: [{say: \"You said {prompt}\"}]");
    let run = [&["run"], &MODEL[..], &["--session", "s", "first words"]].concat();
    stage.offshoot(run).succeeded();
    let mut terminal = Terminal::start(&stage, (80, 24), &["chat", "--continue"]);
    terminal.until(&["> first words\nYou said first words\n"]);
    terminal.until_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    let again = stage.offshoot(["run", "--continue", "more"]).succeeded();
    let end = "> first words\n| You said first words\n";
    assert!(again.stderr.contains(end), "{again:#?}");
    let events = stage
        .offshoot(["run", "--session", "s", "--json", "x"])
        .succeeded();
    assert!(!events.stderr.contains("You said"), "{events:#?}");
}

#[test]
fn a_bare_command_opens_a_chat_at_a_terminal_and_says_how_to_use_it_elsewhere() {
    let stage = Stage::new("replies: [{say: hello}]");
    let none: [&str; 0] = [];
    let mut terminal = Terminal::start(&stage, (80, 24), &none);
    terminal.until(&["type a message"]);
    terminal.until_prompt();
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    let done = stage.offshoot(none).exited(2);
    assert!(done.stderr.contains("Usage: offshoot"), "{done:#?}");
}

#[test]
fn the_tree_of_a_session_sums_up_tokens_without_a_price() {
    let stage = Stage::new(WORK);
    let run = [&["run", "--yes", "--session", "s"], &MODEL[..], &["go"]].concat();
    stage.offshoot(run).succeeded();
    let tree = stage.offshoot(["sessions", "tree", "s"]).succeeded();
    let tokens = |line: &str| {
        let (before, _) = line.split_once(" tokens").unwrap();
        before.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let lines: Vec<&str> = tree.stdout.lines().collect();
    let [all @ .., total] = lines.as_slice() else {
        panic!("{tree:#?}");
    };
    let sum: u64 = all.iter().map(|line| tokens(line)).sum();
    assert_eq!((all.len(), tokens(total)), (2, sum), "{tree:#?}");
}

/// Children that wait for a model that never answers.
const WAITING: &str = r#"
replies:
  - {prompt: hang, fault: hang}
  - call: [{tool: task, count: 30, arguments: {subagent_type: general, prompt: hang}}]
"#;

#[test]
fn thirty_agents_that_wait_repaint_nothing_but_their_clocks() {
    let stage = Stage::new(WAITING);
    let args = [&["run", "--yes"], &MODEL[..], &["go"]].concat();
    let terminal = Terminal::start(&stage, (100, 30), &args);
    terminal.until(&["waits for 30 agents", "more that run"]);
    let clock = |text: &str| {
        text.lines()
            .find(|line| line.contains("waits for 30"))
            .map(str::to_owned)
    };
    let seconds = 4;
    let mut last = clock(&terminal.text());
    let mut begin = 0;
    // From one tick of the clock to the fourth after it.
    for tick in 0..=seconds {
        terminal.wait_for("a clock that ticks", |text| clock(text) != last);
        last = clock(&terminal.text());
        if tick == 0 {
            begin = terminal.written();
        }
    }
    let bytes = (terminal.written() - begin) / seconds;
    assert!(bytes < 1500, "{bytes} bytes a second");
}
