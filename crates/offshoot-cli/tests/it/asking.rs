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
    assert_eq!(terminal.ended(), Some(3));
    terminal.until(&[NOBODY]);
    let message = ["sessions", "message", "-q", "asks", "again"];
    let mut terminal = Terminal::start(&stage, (80, 24), &message);
    assert_eq!(terminal.ended(), Some(3));
    terminal.until(&[NOBODY]);
}

#[test]
fn a_terminal_that_only_takes_lines_is_not_painted_and_asks_nobody() {
    let stage = Stage::new(ASKS);
    let mut command = stage.command(RUN);
    let mut terminal = Terminal::run(command.env("TERM", "dumb"), (80, 24));
    assert_eq!(terminal.ended(), Some(3));
    terminal.until(&[NOBODY]);
    let mut command = stage.command(["chat"]);
    let mut terminal = Terminal::run(command.env("TERM", "dumb"), (80, 24));
    assert_eq!(terminal.ended(), Some(2));
    terminal.until(&["TERM is dumb"]);
}

#[test]
fn calls_that_still_ask_when_a_run_is_cancelled_have_their_lines() {
    let calls =
        ["one", "two"].map(|word| format!("{{tool: bash, arguments: {{command: 'echo {word}'}}}}"));
    let script = format!(
        "replies: [{{after_tools: false, call: [{}]}}]",
        calls.join(", ")
    );
    let stage = Stage::new(&script);
    let mut terminal = Terminal::start(&stage, (80, 24), &RUN);
    terminal.until(&["build asks (1 of 2)", "allow?"]);
    terminal.press("\x03");
    assert_eq!(terminal.ended(), Some(130));
    terminal.until(&["✗ bash echo one  cancelled", "✗ bash echo two  cancelled"]);
}

/// A command that is longer than any window, and does nothing.
fn long() -> String {
    let words: Vec<String> = (1..=900).map(|word| format!("word-{word:04}")).collect();
    format!(": {}", words.join(" "))
}

#[test]
fn a_long_command_fits_the_window_and_can_be_seen_whole() {
    let stage = Stage::new(&ASKS.replace("echo ran", &long()));
    let mut terminal = Terminal::start(&stage, (80, 20), &RUN);
    terminal.until(&[
        "build asks",
        "word-0001",
        "lines hidden]",
        "word-0900",
        "allow?",
    ]);
    let scrolled = terminal.scrolled();
    // Every key paints anew.
    terminal.press("once more and again");
    terminal.until(&["build asks", "allow? once more and again"]);
    assert_eq!(terminal.scrolled(), scrolled);
    terminal.press("\x15");
    terminal.enter("v");
    // All of it is above now, and who asks is still in sight.
    let lines = long().len() / 80;
    terminal.wait_for("the whole", |text| {
        terminal.scrolled() > scrolled + lines && text.contains("allow?")
    });
    terminal.until(&["build asks", "lines hidden]"]);
    terminal.enter("n not that");
    assert_eq!(terminal.ended(), Some(0));
    terminal.until(&["not that"]);
}

/// A planner with a plan of so many steps.
fn plans(steps: usize) -> String {
    let steps: Vec<String> = (1..=steps)
        .map(|step| format!("{step}. step-{step}"))
        .collect();
    let plan = steps.join("\\n");
    format!(
        "
replies:
  - {{agent: plan, after_tools: false, call: [{{tool: plan_exit, arguments: {{plan: \"{plan}\"}}}}]}}
  - {{say: 'I am {{agent}}'}}
"
    )
}

#[test]
fn a_plan_is_seen_before_it_is_allowed_and_whole_on_request() {
    let plan = [&RUN[..], &["--agent", "plan"]].concat();
    let stage = Stage::new(&plans(2));
    let mut terminal = Terminal::start(&stage, (80, 24), &plan);
    terminal.until(&[
        "plan asks",
        "| 1. step-1",
        "| 2. step-2",
        "needs agent.switch",
    ]);
    terminal.until(&["allow?"]);
    terminal.enter("y");
    assert_eq!(terminal.ended(), Some(0));
    terminal.until(&["I am build"]);
    let stage = Stage::new(&plans(60));
    let mut terminal = Terminal::start(&stage, (80, 24), &plan);
    terminal.until(&["| 1. step-1", "lines hidden]", "allow?"]);
    let scrolled = terminal.scrolled();
    terminal.enter("v");
    terminal.wait_for("all of it", |text| {
        terminal.scrolled() > scrolled + 40 && text.contains("allow?")
    });
}

/// A conversation with the root.
const CHAT: [&str; 5] = [
    "chat",
    "--model",
    "scripted/script.yaml",
    "--session",
    "asks",
];

#[test]
fn an_ask_does_not_take_the_line_that_is_being_typed() {
    let stage = Stage::new(&ASKS.replace("echo ran", "touch ran"));
    let mut terminal = Terminal::start(&stage, (80, 24), &CHAT);
    terminal.until(&["> "]);
    terminal.press("go\rplease sa");
    terminal.until(&["build asks", "Tab to answer"]);
    terminal.enter("y");
    terminal.until(&["\nqueued> please say\n", "allow?"]);
    assert!(!stage.path().join("ran").exists());
    terminal.enter("n");
    terminal.until(&["it said error"]);
    assert!(!stage.path().join("ran").exists());
}

#[test]
fn ctrl_c_clears_a_reply_that_is_begun_and_neither_stops_nor_leaves() {
    let stage = Stage::new(ASKS);
    let mut terminal = Terminal::start(&stage, (80, 24), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["build asks", "allow?"]);
    for _ in 0..3 {
        terminal.press("n not th");
        terminal.until(&["allow? n not th"]);
        terminal.press("\x03");
        terminal.wait_for("an empty line", |text| {
            text.contains("the line is cleared") && !text.contains("n not th")
        });
    }
    terminal.enter("y");
    terminal.until(&["it said ran"]);
}

/// Two children that want to run a command each.
const TWO: &str = r#"
replies:
  - depth: 0
    after_tools: false
    call:
      - {tool: task, arguments: {subagent_type: general, prompt: x}}
      - {tool: task, arguments: {subagent_type: general, prompt: x}}
  - {depth: 1, after_tools: false, call: [{tool: bash, arguments: {command: "touch ran"}}]}
  - {say: "it said {output}"}
"#;

#[test]
fn what_is_typed_for_one_ask_does_not_answer_the_next() {
    let stage = Stage::new(TWO);
    let mut terminal = Terminal::start(&stage, (80, 24), &RUN);
    terminal.until(&["asks (1 of 2)", "allow?"]);
    terminal.press("y");
    terminal.until(&["allow? y"]);
    let text = terminal.text();
    let (before, _) = text.split_once(" asks (1 of 2)").unwrap();
    let first = before.rsplit(' ').next().unwrap();
    stage.offshoot(["sessions", "cancel", first]).succeeded();
    // The other is in front now, and nobody has said anything to it.
    terminal.until(&[" asks\n"]);
    terminal.press("\r");
    terminal.wait_for("an empty line", |text| text.trim_end().ends_with("allow?"));
    assert!(!stage.path().join("ran").exists());
    terminal.enter("n");
    assert_eq!(terminal.ended(), Some(0));
    assert!(!stage.path().join("ran").exists());
}

#[test]
fn a_message_that_is_half_typed_is_kept_while_an_ask_is_answered() {
    let stage = Stage::new(ASKS);
    let mut terminal = Terminal::start(&stage, (80, 24), &CHAT);
    terminal.until(&["> "]);
    terminal.press("go\rhalf a thou");
    terminal.until(&["build asks", "Tab to answer", "> half a thou"]);
    terminal.press("\t");
    terminal.until(&["allow?"]);
    terminal.enter("y");
    terminal.until(&["it said ran", "\n> half a thou"]);
    terminal.enter("ght");
    terminal.until(&["\n> half a thought\n"]);
}

/// Three children that want to run a command each.
const THREE: &str = r#"
replies:
  - depth: 0
    after_tools: false
    call: [{tool: task, count: 3, arguments: {subagent_type: general, prompt: "x{i}"}}]
  - {depth: 1, after_tools: false, call: [{tool: bash, arguments: {command: "touch {prompt}"}}]}
  - {say: "it said {output}"}
"#;

#[test]
fn keys_for_three_asks_answer_one_and_are_never_a_message() {
    let stage = Stage::new(THREE);
    let mut terminal = Terminal::start(&stage, (80, 30), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["asks (1 of 3)", "allow?"]);
    terminal.press("y\ry\ry\r");
    terminal.until(&["keys typed now are dropped"]);
    terminal.until(&["asks (1 of 2)", "allow?"]);
    // One by one, each may be answered, and so may be the last.
    terminal.press("y\ry\r");
    terminal.until(&["keys typed now are dropped"]);
    terminal.wait_for("one ask", |text| {
        text.contains(" asks\n") && text.contains("allow?")
    });
    terminal.press("y\ry\ry\r");
    terminal.until(&["it said", "tokens, with all agents"]);
    terminal.until_prompt();
    let ran = |name: &str| usize::from(stage.path().join(name).exists());
    assert_eq!(ran("x1") + ran("x2") + ran("x3"), 3);
    let events = stage.show("asks");
    let prompts = crate::stage::of_type(&events, "user.message");
    let mut said: Vec<&str> = prompts
        .iter()
        .filter_map(|event| event["data"]["content"].as_str())
        .collect();
    said.sort_unstable();
    assert_eq!(said, ["go", "x1", "x2", "x3"]);
}

#[test]
fn the_rest_of_an_answer_whose_ask_is_gone_is_sent_to_nobody() {
    let stage = Stage::new(ASKS);
    let mut terminal = Terminal::start(&stage, (100, 24), &CHAT);
    terminal.until(&["> "]);
    terminal.enter("go");
    terminal.until(&["build asks", "allow?"]);
    terminal.press("n my password is hunt");
    terminal.until(&["allow? n my password is hunt"]);
    let name = crate::inbox::name(&stage);
    let deny = ["inbox", "answer", &name, "--deny", "no"];
    stage.offshoot(deny).succeeded();
    terminal.until(&[
        "answered elsewhere: denied by the user: bash echo ran",
        "what you were answering is over: what you type up to Enter",
    ]);
    terminal.enter("er2 stop");
    terminal.until(&["what you typed was not sent", "it said error"]);
    // What comes after that is a message again.
    terminal.until_prompt();
    terminal.enter("once more");
    terminal.until(&["\n> once more\n", "allow?"]);
    let shown = stage.offshoot(["sessions", "show", "asks", "--full"]);
    let shown = shown.succeeded().stdout;
    assert!(shown.contains("once more"), "{shown}");
    assert!(!shown.contains("er2"), "{shown}");
}

#[test]
fn r29_who_follows_another_process_sees_what_its_agents_wait_for() {
    let stage = Stage::new(TWO);
    let waits = [&RUN[..5], &["--json", "--wait-for-answers", "go"]].concat();
    let mut run = stage.live(&waits);
    run.until("permission.requested")
        .until("permission.requested");
    let terminal = Terminal::start(&stage, (100, 24), &["chat", "--session", "asks"]);
    terminal.until(&["following it there", "build  waits for 2 agents"]);
    terminal.wait_for("two that ask", |text| {
        text.matches("asks: bash touch ran").count() == 2 && !text.contains("starts")
    });
    // The run would wait for ever, and keep the descriptors that it inherited.
    run.kill();
}

#[test]
fn who_waited_for_answers_in_vain_is_not_told_to_wait_for_answers() {
    let stage = Stage::new(ASKS);
    let waits = [&RUN[..5], &["--wait-for-answers=1s", "go"]].concat();
    let done = stage.offshoot(waits).exited(3);
    assert!(done.stderr.contains("nobody answered in time"), "{done:#?}");
    assert!(
        !done.stderr.contains("nobody can be asked here"),
        "{done:#?}"
    );
}

#[test]
fn who_cannot_be_asked_is_told_once_what_to_do_about_it() {
    let stage = Stage::new(
        "replies:
          - {after_tools: false, call: [{tool: bash, count: 2, arguments: {command: ls}}]}
          - {say: done}",
    );
    let done = stage.run("go").exited(3);
    assert_eq!(done.stderr.matches("nobody is here to give it").count(), 2);
    assert_eq!(done.stderr.matches("--yes").count(), 1, "{done:#?}");
    assert_eq!(
        done.stderr.matches("--wait-for-answers").count(),
        1,
        "{done:#?}"
    );
}
