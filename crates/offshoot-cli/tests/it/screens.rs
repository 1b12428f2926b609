//! What a person sees at a terminal, kept as pictures.
//!
//! The binary runs on a real terminal; what it writes is drawn by an emulator, and
//! the screen is held against a file in `screens/`. Ids, times and tokens are
//! left out: they differ. `OFFSHOOT_DRAW=1` draws the files anew.

#![expect(
    clippy::disallowed_methods,
    reason = "a picture that never comes is given up"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::stage::Stage;
use crate::terminal::Terminal;

/// A root with a child that asks, a child of it that asks, and one that never ends.
const FAMILY: &str = r##"
agents:
  - {name: lead, mode: primary, prompt: Lead.}
  - {name: helper, mode: all, prompt: Help.}
replies:
  - depth: 0
    after_tools: false
    prompt: go
    say: I hand this on.
    call:
      - {tool: task, arguments: {subagent_type: helper, prompt: ask below}}
      - {tool: task, arguments: {subagent_type: helper, prompt: hang}}
  - {prompt: hang, say: thinking, fault: hang}
  - depth: 1
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: helper, prompt: ask}}]
  - depth: 2
    after_tools: false
    call: [{tool: bash, arguments: {command: "echo from below"}}]
  - {depth: 2, say: "it said {output}"}
  - {depth: 0, prompt: read, say: "# Title\n\nSome *words* and `code`:\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| x | 1 |\n"}
  - {say: "{output}"}
"##;

/// Holds a window against its picture, which may take a moment to be painted.
#[track_caller]
fn check_window(terminal: &Terminal, name: &str) {
    let wanted = if is_drawing() {
        None
    } else {
        Some(picture(name))
    };
    let patience = Duration::from_secs(if is_drawing() { 1 } else { 20 });
    let began = Instant::now();
    while began.elapsed() < patience && wanted.as_ref() != Some(&drawn(&terminal.text())) {
        std::thread::yield_now();
    }
    check(name, &terminal.text());
}

#[track_caller]
fn check(name: &str, text: &str) {
    let drawn = drawn(text);
    if is_drawing() {
        fs::write(path(name), &drawn).unwrap();
    }
    assert_eq!(drawn, picture(name), "{name} looks different:\n{drawn}");
}

fn is_drawing() -> bool {
    std::env::var_os("OFFSHOOT_DRAW").is_some()
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/screens");
    folder.join(format!("{name}.txt"))
}

fn picture(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_default()
}

fn drawn(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(settled).collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Leaves out of a line what differs from run to run.
fn settled(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut words: Vec<String> = Vec::new();
    for word in line[indent..].split(' ') {
        let bare = word.trim_end_matches(':');
        let hex = bare.len() >= 8 && bare.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let number = word.trim_start_matches('(');
        let number = number.trim_end_matches(['k', 'M', 's', 'm', ',']);
        let counts = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
        words.push(match (hex, counts) {
            (true, _) => "ID".to_owned(),
            (false, true) => "N".to_owned(),
            (false, false) => word.to_owned(),
        });
    }
    // What stands alone on the right begins where its width lets it.
    let indent = indent.min(20);
    // The gap before what stands on the right depends on how wide that is.
    let mut line = words.join(" ");
    while line.contains("   ") {
        line = line.replace("   ", "  ");
    }
    format!("{}{}", " ".repeat(indent), line.trim_end())
}

/// A conversation with the root.
const CHAT: [&str; 5] = ["chat", "--agent", "lead", "--model", "scripted/script.yaml"];

#[test]
fn a_live_tree_shows_who_does_what() {
    let stage = Stage::new(FAMILY);
    let args = [
        "run",
        "--agent",
        "lead",
        "--model",
        "scripted/script.yaml",
        "--yes",
        "go",
    ];
    let terminal = Terminal::start(&stage, (80, 24), &args);
    terminal.until(&["helper", "completed", "writes", "waits for 1 agent"]);
    check_window(&terminal, "live");
}

#[test]
fn a_grandchild_asks_in_the_chat_and_is_answered() {
    let stage = Stage::new(FAMILY);
    let mut terminal = Terminal::start(&stage, (80, 24), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["allow?", "writes"]);
    check_window(&terminal, "ask");
    terminal.enter("perhaps");
    terminal.until(&["y, a, s or n, please"]);
    terminal.enter("y");
    terminal.until(&["completed", "waits for 1 agent"]);
    terminal.press("\x03");
    terminal.until(&["cancelled by the user"]);
    terminal.until_prompt();
    terminal.enter("read");
    terminal.until(&["Title", "x  1"]);
    check_window(&terminal, "answer");
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
}

#[test]
fn twenty_columns_are_enough_for_an_ask() {
    let stage = Stage::new(FAMILY);
    let mut terminal = Terminal::start(&stage, (20, 30), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["allow?", "writes"]);
    check_window(&terminal, "narrow");
}

#[test]
fn a_window_of_eight_rows_says_what_is_asked_and_how_to_answer() {
    let stage = Stage::new(FAMILY);
    let mut terminal = Terminal::start(&stage, (20, 8), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["| bash echo from", "|   below", "y/a/s/n?", "allow?"]);
    terminal.enter("perhaps");
    terminal.until(&["| bash echo from", "y, a, s or n", "allow?"]);
}

#[test]
fn a_tree_of_agents_is_drawn() {
    let stage = Stage::new(&FAMILY.replace(", fault: hang", ""));
    let args = [
        "run",
        "--agent",
        "lead",
        "--model",
        "scripted/script.yaml",
        "--session",
        "s",
    ];
    stage
        .offshoot([&args[..], &["--yes", "go"]].concat())
        .succeeded();
    let done = stage.offshoot(["sessions", "tree", "s"]).succeeded();
    check("tree", &done.stdout);
}

#[test]
fn a_narrow_tree_says_how_each_agent_ended() {
    let stage = Stage::new("replies: [{say: done}]");
    let id = "01a1e7a3-de11-7000-8000-0123456789ab";
    let model = ["run", "--model", "scripted/script.yaml", "--session"];
    stage
        .offshoot([&model[..], &[id, "go"]].concat())
        .succeeded();
    for (columns, is_whole) in [(80, true), (40, false)] {
        let shown = stage.on_terminal(columns, &["sessions", "tree", id]);
        assert!(shown.contains("456789ab  completed"), "{columns}: {shown}");
        assert_eq!(shown.contains(id), is_whole, "{columns}: {shown}");
    }
}

#[test]
fn a_crowd_that_is_waited_for_is_counted_in_full() {
    let stage = Stage::new(
        r##"
replies:
  - {prompt: hang, fault: hang}
  - call: [{tool: task, count: 40, arguments: {subagent_type: general, prompt: hang}}]
"##,
    );
    let args = ["run", "--model", "scripted/script.yaml", "--yes", "go"];
    let terminal = Terminal::start(&stage, (80, 24), &args);
    terminal.until(&["waits for 40 agents"]);
}

#[test]
fn a_tree_that_was_painted_leaves_a_line() {
    let stage = Stage::new(
        r##"
replies:
  - {depth: 1, say: part}
  - depth: 0
    after_tools: false
    call: [{tool: task, count: 3, arguments: {subagent_type: general, prompt: a part}}]
  - {say: done}
"##,
    );
    let args = ["run", "--model", "scripted/script.yaml", "--yes", "go"];
    let mut terminal = Terminal::start(&stage, (80, 24), &args);
    terminal.until(&[
        "done",
        "3 general agents, ",
        "; see offshoot sessions tree ",
    ]);
    assert_eq!(terminal.ended(), Some(0));
}
