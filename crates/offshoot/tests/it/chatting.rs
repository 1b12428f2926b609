//! A conversation at a terminal: what the person types that is no message, or too much of one.

use std::path::Path;

use crate::stage::Stage;
use crate::terminal::Terminal;

/// Two agents of a script that say who they are.
const PAIR: &str = r#"
agents:
  - {name: lead, mode: primary, prompt: Lead.}
  - {name: helper, mode: all, prompt: Help.}
  - {name: hidden, mode: subagent, prompt: Hide.}
replies: [{say: "I am {agent} and heard {prompt}"}]
"#;

const RUN: [&str; 8] = [
    "run",
    "--model",
    "scripted/script.yaml",
    "--agent",
    "lead",
    "--session",
    "first",
    "hello",
];

/// Goes on with the session from another folder.
fn chat(stage: &Stage, folder: &Path) -> Terminal {
    let mut command = stage.command(["chat", "--session", "first"]);
    let terminal = Terminal::run(command.current_dir(folder).env("TERM", "xterm"), (100, 24));
    terminal.until(&["> "]);
    terminal
}

#[test]
fn a_conversation_says_what_it_goes_on_with_and_how_to_come_back() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let mut terminal = Terminal::start(&stage, (100, 24), &["chat", "--continue"]);
    terminal.until(&[
        "session first with lead goes on: 'hello', 1 message, the last change",
        "> ",
    ]);
    terminal.press("\x04");
    terminal.until(&["session first is kept; go on with: offshoot chat --session first"]);
    assert_eq!(terminal.ended(), Some(0));
}

#[test]
fn another_agent_is_looked_for_before_this_one_is_left() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut terminal = chat(&stage, elsewhere.path());
    for name in ["nobody", "hidden"] {
        terminal.enter(&format!("/agent {name}"));
        let hint =
            format!("there is no agent {name}; there are: build, general, helper, lead, plan");
        terminal.until(&[&hint]);
    }
    terminal.enter("still there");
    terminal.until(&["I am lead and heard still there"]);
    terminal.enter("/agent helper");
    terminal.wait_for("a new conversation", |text| {
        let (_, new) = text
            .split_once("in a session of its own")
            .unwrap_or_default();
        new.contains("\n> ")
    });
    terminal.enter("good day");
    terminal.until(&["I am helper and heard good day"]);
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    // With the model and in the folder of the one that was left.
    let sessions = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let sessions = sessions.events();
    assert_eq!(sessions[0]["agent"], "helper");
    assert_eq!(sessions[0]["cwd"], sessions[1]["cwd"]);
}

#[test]
fn what_is_wrong_with_agent_files_is_told_once_in_a_conversation() {
    let stage = Stage::new(PAIR);
    stage.write(".offshoot/agents/broken.md", "---\nmood: all\n---\n");
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    terminal.until(&["warning: "]);
    terminal.enter("/agent helper");
    terminal.wait_for("a new conversation", |text| {
        let (before, new) = text
            .split_once("in a session of its own")
            .unwrap_or_default();
        before.contains("warning: ") && !new.contains("warning: ") && new.contains("\n> ")
    });
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_conversation_goes_on() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    let long = "x".repeat(1024 * 1024 + 1);
    terminal.press(&format!("\x1b[200~{long}\x1b[201~\r"));
    terminal.until(&["the message has 1048577 bytes, and at most 1048576 are taken"]);
    assert_eq!(terminal.scrolled(), 0);
    terminal.enter("shorter");
    terminal.until(&["I am lead and heard shorter"]);
}
