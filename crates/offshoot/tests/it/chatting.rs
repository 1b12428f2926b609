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
fn another_agent_takes_over_with_a_message_and_the_conversation_goes_on() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut terminal = chat(&stage, elsewhere.path());
    // A name that is wrong is told at once, and nothing is left.
    let choices = "build, general, helper, lead, plan";
    terminal.enter("/agent nobody");
    terminal.until(&[&format!("there is no agent nobody; there are: {choices}")]);
    terminal.enter("/agent hidden");
    let hint = format!("agent hidden is started by other agents only; choose one of: {choices}");
    terminal.until(&[&hint]);
    terminal.enter("still there");
    terminal.until(&["I am lead and heard still there"]);
    terminal.enter("/agent helper");
    terminal.until(&["helper takes your next message", "\nhelper> "]);
    terminal.enter("good day");
    terminal.until(&["I am helper and heard good day"]);
    // It goes on with what comes, and nobody has to be named again.
    terminal.enter("and now?");
    terminal.until(&["I am helper and heard and now?"]);
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    let sessions = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(sessions.events().len(), 1);
    let shown = stage.offshoot(["sessions", "show", "first"]).succeeded();
    assert_eq!(
        shown.stdout.matches("became     helper").count(),
        1,
        "{}",
        shown.stdout
    );
    let terminal = Terminal::start(&stage, (100, 24), &["chat", "--session", "first"]);
    terminal.until(&["session first with helper goes on: 'hello', 4 messages"]);
}

#[test]
fn a_session_is_named_summed_up_and_shortened_from_a_conversation() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    terminal.enter("/help");
    terminal.until(&["/title TEXT, /summary, /compact", "anything else is a"]);
    terminal.enter("/title");
    terminal.until(&["/title TEXT names this session"]);
    terminal.enter("/title The first one");
    terminal.until(&["the session has that name now"]);
    terminal.enter("/summary");
    terminal.until(&["I am summary and heard", "asked", "hello"]);
    terminal.enter("/compact");
    terminal.until(&["compacted: ", "tokens stands for what was said"]);
    terminal.enter("/compact");
    terminal.until(&["there is nothing to shorten"]);
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    let sessions = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(sessions.events()[0]["title"], "The first one");
}

#[test]
fn who_leaves_a_conversation_finds_it_summed_up() {
    let stage = Stage::new(PAIR);
    let mut terminal = Terminal::start(&stage, (100, 24), &["chat", "--model", "offline"]);
    terminal.until(&["> "]);
    terminal.enter("Please sing a song.");
    terminal.until(&["I cannot do what you asked"]);
    terminal.press("\x04");
    terminal.until(&["is kept; go on with"]);
    assert_eq!(terminal.ended(), Some(0));
    let sessions = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let id = sessions.events()[0]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let kept = stage
        .offshoot(["sessions", "summary", "--json", &id])
        .succeeded();
    let kept = &kept.events()[0];
    assert_eq!(kept["made"], false, "{kept}");
    let summary = kept["summary"].as_str().unwrap();
    assert!(
        summary.contains("## What was asked\n- Please sing a song.\n"),
        "{summary}"
    );
    // Whoever only looks in leaves it as it is.
    let mut terminal = Terminal::start(&stage, (100, 24), &["chat", "--session", &id]);
    terminal.until(&["goes on", "> "]);
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    let shown = stage.offshoot(["sessions", "show", &id]).succeeded();
    assert_eq!(
        shown.stdout.matches(" summary ").count(),
        1,
        "{}",
        shown.stdout
    );
}

#[test]
fn what_is_wrong_with_agent_files_is_told_once_in_a_conversation() {
    let stage = Stage::new(PAIR);
    stage.write(".offshoot/agents/broken.md", "---\nmood: all\n---\n");
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    terminal.until(&["warning: "]);
    terminal.enter("/agent helper");
    terminal.enter("good day");
    terminal.until(&["I am helper and heard good day"]);
    assert_eq!(terminal.text().matches("warning: ").count(), 1);
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
