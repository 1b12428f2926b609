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
fn a_chat_in_which_nothing_was_said_leaves_no_session_behind() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let new = ["chat", "--model", "scripted/script.yaml", "--agent", "lead"];
    let mut terminal = Terminal::start(&stage, (100, 24), &new);
    terminal.until(&["> "]);
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.events().len(), 1);
    let more = ["run", "--continue", "and now?"];
    let done = stage.offshoot(more).succeeded();
    assert_eq!(done.stdout, "I am lead and heard and now?\n");
    let shown = stage.offshoot(["sessions", "show", "first"]).succeeded();
    assert!(shown.stdout.contains("and now?"), "{shown:#?}");
}

#[test]
fn words_before_a_call_stay_on_the_screen_and_are_said_once() {
    let stage = Stage::new(
        r#"
replies:
  - {prompt: first, after_tools: false, say: "Let me look.", call: [{tool: glob, arguments: {pattern: "*"}}]}
  - {prompt: first, say: "There it is."}
  - {after_tools: false, say: "Looking again.", call: [{tool: glob, arguments: {pattern: "*"}}]}
  - {say: ""}
"#,
    );
    let model = ["--model", "scripted/script.yaml"];
    let mut terminal = Terminal::start(&stage, (100, 24), &[&["chat"][..], &model[..]].concat());
    terminal.until(&["> "]);
    terminal.enter("first");
    terminal.until(&["Let me look.\n\n● glob", "\n\nThere it is.\n"]);
    terminal.enter("second");
    terminal.until(&["Looking again.\n"]);
    // Leaving while an agent works has another code.
    terminal.wait_for("the end of both turns", |text| {
        text.matches("tokens, with all agents").count() == 2
    });
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(0));
    let screen = terminal.text();
    assert_eq!(screen.matches("Let me look.").count(), 1, "{screen}");
    assert_eq!(screen.matches("Looking again.").count(), 1, "{screen}");
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
    terminal.until(&["\nhelper> good day\n", "I am helper and heard good day"]);
    // It goes on with what comes, and nobody has to be named again.
    terminal.enter("and now?");
    terminal.until(&["I am helper and heard and now?", "\nhelper> "]);
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
    terminal.until(&[
        "session first with helper goes on: 'hello', 4 messages",
        "\nhelper> ",
    ]);
    let tree = stage.offshoot(["sessions", "tree", "first"]).succeeded();
    assert!(
        tree.stdout.starts_with("lead, now helper  first  "),
        "{tree:#?}"
    );
    let tree = stage
        .offshoot(["sessions", "tree", "--json", "first"])
        .succeeded();
    let root = &tree.events()[0];
    assert_eq!(
        (&root["agent"], &root["agentNow"]),
        (&"lead".into(), &"helper".into())
    );
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let listed = &listed.events()[0];
    assert_eq!(
        (&listed["agent"], &listed["agentNow"]),
        (&"lead".into(), &"helper".into())
    );
    let listed = stage.offshoot(["sessions", "list"]).succeeded();
    assert!(listed.stdout.contains(" lead, now helper "), "{listed:#?}");
}

#[test]
fn the_flag_has_another_agent_go_on_with_a_session_as_well() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let ask = |more: &[&str], prompt: &str| {
        let args = [&["run", "--session", "first"], more, &[prompt]].concat();
        let done = stage.offshoot(args).succeeded();
        (done.stdout.clone(), done.remarks())
    };
    let who = "agent helper answers; the session began with lead\n".to_owned();
    assert_eq!(
        ask(&["--agent", "helper"], "now you"),
        ("I am helper and heard now you\n".to_owned(), who.clone())
    );
    assert_eq!(
        ask(&[], "again"),
        ("I am helper and heard again\n".to_owned(), who)
    );
    let args = ["chat", "--continue", "--agent", "lead"];
    let mut terminal = Terminal::start(&stage, (100, 24), &args);
    terminal.until(&["session first with helper goes on", "\nlead> "]);
    terminal.enter("and you");
    terminal.until(&["I am lead and heard and you", "\nlead> "]);
}

/// A summary that never comes.
const NEVER_SUMMED_UP: &str = r#"
replies:
  - {agent: summary, say: it begins, fault: hang}
  - {say: "heard {prompt}"}
"#;

#[test]
fn a_summary_that_takes_too_long_is_stopped_and_messages_wait_until_then() {
    let stage = Stage::new(NEVER_SUMMED_UP);
    let args = ["chat", "--model", "scripted/script.yaml"];
    let mut terminal = Terminal::start(&stage, (100, 24), &args);
    terminal.until(&["> "]);
    terminal.enter("one");
    terminal.until(&["heard one"]);
    terminal.enter("/summary");
    terminal.until(&["summing up what happened; messages wait, /cancel stops it"]);
    terminal.enter("two");
    terminal.until(&["this waits until the summary is written; /cancel stops that"]);
    terminal.enter("/cancel");
    terminal.until(&["heard two"]);
    // Once more, with the key; and nobody has left by that.
    terminal.enter("/summary");
    terminal.until(&["summing up what happened"]);
    terminal.press("\x03");
    terminal.until(&["stopped"]);
    terminal.enter("three");
    terminal.until(&["heard three"]);
    // Who leaves does not wait for one either.
    terminal.enter("/summary");
    terminal.until(&["summing up what happened"]);
    terminal.press("\x04");
    assert_eq!(terminal.ended(), Some(130));
}

#[test]
fn ctrl_c_clears_what_was_typed_before_it_means_to_leave() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    terminal.press("half a thou");
    terminal.until(&["> half a thou"]);
    terminal.press("\x03");
    terminal.wait_for("an empty line", |text| {
        text.contains("the line is cleared") && !text.contains("half a thou")
    });
    terminal.press("\x03");
    terminal.until(&["Ctrl-C again leaves"]);
    terminal.press("\x03");
    assert_eq!(terminal.ended(), Some(0));
}

#[test]
fn cancelling_where_nothing_runs_says_so_and_never_leaves() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    for _ in 0..3 {
        terminal.enter("/cancel");
        terminal.until(&["nothing runs; /quit leaves"]);
        terminal.press("x\x15");
        terminal.wait_for("no hint", |text| !text.contains("nothing runs"));
    }
    terminal.enter("still here");
    terminal.until(&["I am lead and heard still here"]);
}

#[test]
fn a_narrow_window_is_greeted_in_whole_words() {
    let stage = Stage::new(PAIR);
    let args = ["chat", "--model", "scripted/script.yaml"];
    let terminal = Terminal::start(&stage, (20, 24), &args);
    terminal.until(&["type a message;\n/help says what\nelse; Ctrl-D leaves\n"]);
}

#[test]
fn a_session_with_a_name_goes_on_under_it() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let rename = ["sessions", "rename", "first", "A good name"];
    stage.offshoot(rename).succeeded();
    let terminal = chat(&stage, stage.path());
    terminal.until(&["session first with lead goes on: 'A good name', 1 message"]);
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

#[test]
fn a_rewind_from_elsewhere_gives_the_word_back_to_who_had_it() {
    let stage = Stage::new(PAIR);
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    terminal.enter("/agent helper");
    terminal.until(&["\nhelper> "]);
    terminal.enter("good day");
    terminal.until(&["I am helper and heard good day", "\nhelper> "]);
    stage.offshoot(["sessions", "rewind", "first"]).succeeded();
    let last = |text: &str| text.lines().last().map(|line| line.trim().to_owned());
    terminal.wait_for("a line of nobody else's", |text| {
        last(text) == Some(">".to_owned())
    });
    terminal.enter("who?");
    terminal.until(&["I am lead and heard who?"]);
}

#[test]
fn an_ask_names_the_agent_that_has_taken_over() {
    let script = r#"
agents:
  - {name: lead, mode: primary, prompt: Lead.}
  - {name: helper, mode: all, prompt: Help.}
replies:
  - {agent: helper, after_tools: false, call: [{tool: bash, arguments: {command: touch made}}]}
  - {say: "I am {agent} and heard {prompt}"}
"#;
    let stage = Stage::new(script);
    stage.offshoot(RUN).succeeded();
    let mut terminal = chat(&stage, stage.path());
    terminal.enter("/agent helper");
    terminal.until(&["\nhelper> "]);
    terminal.enter("work");
    terminal.until(&["helper asks", "bash touch made"]);
}

#[test]
fn a_second_ctrl_c_leaves_although_something_else_was_answered_in_between() {
    let stage = Stage::new("replies: [{say: thinking, fault: hang}]");
    let mut run = stage.start("first", "hang");
    run.until("assistant.message_delta");
    let mut terminal = chat(&stage, stage.path());
    let elsewhere = "\nsession first is run by another process; following it there\n";
    terminal.until(&[elsewhere]);
    // What is painted below it begins at the left, and nothing of an earlier paint is left.
    terminal.wait_for("one line for the agent", |text| {
        text.contains("\n● build") && text.matches("● build").count() == 1
    });
    // Whoever runs it hears nothing from here on, so that it never stops.
    run.signal("STOP");
    terminal.press("\x03");
    terminal.until(&["another process runs this session; it is told"]);
    terminal.enter("/summary");
    terminal.until(&["summing up what happened"]);
    terminal.until(&["another process runs this session; it is told"]);
    terminal.press("\x03");
    assert_eq!(terminal.ended(), Some(130));
    run.kill();
}
