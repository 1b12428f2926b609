//! Who is asked at a terminal, what they see of it, and which keys answer.

use crate::stage::Stage;
use crate::terminal::Terminal;

/// A root that wants to run a command, and says what became of it.
const ASKS: &str = r#"
replies:
  - {after_tools: false, call: [{tool: bash, arguments: {command: "echo ran"}}]}
  - {say: "it said {output}"}
"#;

/// Asks the root something.
const RUN: [&str; 6] = [
    "run",
    "--model",
    "scripted/script.yaml",
    "--session",
    "asks",
    "go",
];

/// Says that nobody could be asked.
const NOBODY: &str = "nobody is here to give it";

#[test]
fn a_quiet_run_at_a_terminal_asks_nobody_and_ends() {
    let stage = Stage::new(ASKS);
    let mut terminal = Terminal::start(&stage, (80, 24), &[&RUN[..], &["-q"]].concat());
    assert_eq!(terminal.ended(), Some(0));
    terminal.until(&[NOBODY]);
    let message = ["sessions", "message", "-q", "asks", "again"];
    let mut terminal = Terminal::start(&stage, (80, 24), &message);
    assert_eq!(terminal.ended(), Some(0));
    terminal.until(&[NOBODY]);
}

#[test]
fn a_terminal_that_only_takes_lines_is_not_painted_and_asks_nobody() {
    let stage = Stage::new(ASKS);
    let mut command = stage.command(RUN);
    let mut terminal = Terminal::run(command.env("TERM", "dumb"), (80, 24));
    assert_eq!(terminal.ended(), Some(0));
    terminal.until(&[NOBODY]);
    let mut command = stage.command(["chat"]);
    let mut terminal = Terminal::run(command.env("TERM", "dumb"), (80, 24));
    assert_eq!(terminal.ended(), Some(2));
    terminal.until(&["TERM is dumb"]);
}
