//! What agents ask, answered from another process, before and after a death.

use serde_json::Value;

use crate::stage::{Live, Stage, of_type};
use crate::terminal::Terminal;

/// A root whose child wants to run a command, and a root that wants to know something.
const ASKS: &str = r#"
replies:
  - {depth: 0, after_tools: false, prompt: delegate, call: [{tool: task, arguments: {subagent_type: general, prompt: work}}]}
  - {depth: 1, after_tools: false, call: [{tool: bash, arguments: {command: "echo ran"}}]}
  - {depth: 0, after_tools: false, prompt: run, call: [{tool: bash, arguments: {command: "echo ran"}}]}
  - depth: 0
    after_tools: false
    prompt: wonder
    call:
      - tool: question
        arguments:
          questions:
            - {question: "Which colour?", header: Colour, options: [{label: red}, {label: blue, description: like the sea}]}
            - {question: "What else?", multi_select: true}
  - {say: "it said {output}"}
"#;

const MODEL: &str = "scripted/script.yaml";

/// Starts a run that waits for answers.
fn start(stage: &Stage, session: &str, prompt: &str, waiting: &str) -> Live {
    stage.live(&[
        "run",
        "--model",
        MODEL,
        "--json",
        "--session",
        session,
        waiting,
        prompt,
    ])
}

/// A session that asked for permission, and whose process was killed.
pub(crate) fn killed(session: &str, prompt: &str) -> Stage {
    let stage = Stage::new(ASKS);
    let mut run = start(&stage, session, prompt, "--wait-for-answers");
    run.until("permission.requested");
    run.kill();
    stage
}

/// What `inbox list` has.
pub(crate) fn asked(stage: &Stage) -> Vec<Value> {
    stage
        .offshoot(["inbox", "list", "--json"])
        .succeeded()
        .events()
}

/// What `inbox list` calls the first thing that is asked.
pub(crate) fn name(stage: &Stage) -> String {
    let ask = asked(stage).remove(0);
    let [agent, call] = ["agentId", "toolCallId"].map(|key| ask[key].as_str().unwrap());
    format!("{agent}:{call}")
}

fn last_answer(events: &[Value]) -> String {
    let answers = of_type(events, "assistant.message");
    answers.last().unwrap()["data"]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn an_ask_of_a_child_is_listed_with_its_path_and_answered_from_another_process() {
    let stage = Stage::new(ASKS);
    let mut run = start(&stage, "parent", "delegate", "--wait-for-answers");
    run.until("permission.requested");
    let asks = asked(&stage);
    assert_eq!(asks.len(), 1, "{asks:?}");
    let ask = &asks[0];
    assert_eq!(ask["sessionId"], "parent");
    assert_eq!(ask["kind"], "permission");
    let folder = stage.path().canonicalize().unwrap();
    assert_eq!(ask["cwd"], folder.to_str().unwrap());
    assert_eq!(ask["title"], "delegate");
    assert_eq!(ask["tool"], "bash");
    assert_eq!(ask["path"][0]["agent"], "build");
    assert_eq!(ask["path"][1]["agent"], "general");
    assert_eq!(ask["needs"][0]["target"], "echo ran");
    assert_eq!(ask["arguments"]["command"], "echo ran");
    let tree = stage.offshoot(["sessions", "tree", "parent"]).succeeded();
    assert!(tree.stdout.contains("an answer about bash"), "{tree:?}");
    // Its run does not last for ever.
    assert!(ask["deadline"].is_string(), "{ask}");
    assert_eq!(ask["running"], true);
    let shown = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    assert!(shown.contains("build > general asks"), "{shown}");
    assert!(shown.contains("bash needs shell.run: echo ran"), "{shown}");
    assert!(shown.contains("because no rule allows it"), "{shown}");

    let agent = ask["agentId"].as_str().unwrap();
    let name = name(&stage);
    // A yes names the call: the agent may ask for something else by then.
    let vague = stage.offshoot(["inbox", "answer", agent, "--once"]);
    vague.complained(2, "say which call");
    let said = stage
        .offshoot(["inbox", "answer", &name, "--once"])
        .succeeded();
    assert_eq!(said.stdout, "answered\n");
    let again = stage
        .offshoot(["inbox", "answer", &name, "--once"])
        .exited(1);
    assert_eq!(again.stdout, "not answered\n");
    let told = [
        "allowed by the user",
        // While the process that asked has not written it down.
        "it has been answered",
    ];
    assert!(
        told.iter().any(|told| again.stderr.contains(told)),
        "{again:?}"
    );
    let nobody = stage.offshoot(["inbox", "answer", "nobody-at-all", "--once"]);
    nobody.complained(2, "nobody asks");
    let (done, events) = run.wait();
    done.succeeded();
    assert!(last_answer(&events).contains("ran"), "{events:?}");
    let empty = stage.offshoot(["inbox", "list"]).succeeded();
    assert_eq!(empty.stdout, "");
    assert_eq!(empty.stderr, "The inbox is empty.\n");
}

#[test]
fn a_no_from_another_process_reaches_the_agent_with_its_reason() {
    let stage = Stage::new(ASKS);
    let mut run = start(&stage, "root", "run", "--wait-for-answers=1h");
    run.until("permission.requested");
    assert!(asked(&stage)[0]["deadline"].is_string());
    let said = ["inbox", "answer", "root", "--deny", "not today"];
    stage.offshoot(said).succeeded();
    let (done, events) = run.wait();
    done.succeeded();
    assert!(last_answer(&events).contains("denied by the user: not today"));
}

#[test]
fn tls_17_what_nobody_answers_in_time_is_denied_and_said_so() {
    let stage = Stage::new(ASKS);
    let run = start(&stage, "root", "run", "--wait-for-answers=1s");
    let (done, events) = run.wait();
    done.exited(3);
    let answer = last_answer(&events);
    assert!(answer.contains("nobody answered in time"), "{answer}");
}

#[test]
fn tls_10_a_question_is_answered_by_the_number_of_a_choice_or_by_words() {
    let stage = Stage::new(ASKS);
    let mut run = start(&stage, "root", "wonder", "--wait-for-answers");
    run.until("user_input.requested");
    let shown = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    for line in [
        "  | Colour: Which colour?",
        "  |   2. blue - like the sea",
        "  | What else? (several)",
    ] {
        assert!(
            shown.lines().any(|found| found == line),
            "{line:?} in {shown}"
        );
    }
    let name = name(&stage);
    let way = format!(
        "  answer: offshoot inbox answer {name} --say ANSWER --say ANSWER  (or --deny REASON)\n"
    );
    assert!(shown.ends_with(&way), "{way} in {shown}");
    let none = stage.offshoot(["inbox", "answer", &name, "--say", "7", "--say", "x"]);
    none.complained(2, "there is no choice 7");
    let none = stage.offshoot(["inbox", "answer", &name, "--say", "-1"]);
    none.complained(2, "2 questions");
    let once = stage.offshoot(["inbox", "answer", &name, "--once"]);
    once.complained(2, "--say");
    let one = stage.offshoot(["inbox", "answer", &name, "--say", "2"]);
    one.complained(2, "2 questions");
    let said = [
        "inbox",
        "answer",
        &name,
        "--say",
        "2",
        "--say",
        "this, that",
    ];
    stage.offshoot(said).succeeded();
    let (done, events) = run.wait();
    done.succeeded();
    let completed = of_type(&events, "user_input.completed");
    assert_eq!(completed[0]["data"]["answer"], "blue");
    assert_eq!(completed[0]["data"]["wasFreeform"], false);
    assert_eq!(completed[1]["data"]["answer"], "this, that");
    assert!(last_answer(&events).contains("blue"), "{events:?}");
}

#[test]
fn tls_10_a_question_at_a_terminal_is_answered_there() {
    let stage = Stage::new(ASKS);
    let run = ["run", "--model", MODEL, "--session", "root", "wonder"];
    let mut terminal = Terminal::start(&stage, (80, 24), &run);
    terminal.until(&[
        "build asks, question 1 of 2",
        "Colour: Which colour?",
        "1. red",
        "answer:",
    ]);
    terminal.press("reddish");
    terminal.until(&["answer: reddish"]);
    terminal.press("\x03");
    terminal.wait_for("an empty line", |text| {
        text.contains("the line is cleared") && !text.contains("reddish")
    });
    terminal.enter("2");
    terminal.until(&["question 2 of 2", "What else?", "answer:"]);
    terminal.enter("nothing");
    assert_eq!(terminal.ended(), Some(0));
    terminal.until(&["blue", "nothing"]);
}

#[test]
fn tls_10_a_question_is_answered_with_a_path_and_only_known_words_are_commands() {
    let stage = Stage::new(ASKS);
    let chat = ["chat", "--model", MODEL, "--session", "root"];
    let mut terminal = Terminal::start(&stage, (100, 24), &chat);
    terminal.until(&["> "]);
    terminal.enter("wonder");
    // Its words carry a mark, so that they cannot pass for the console's.
    terminal.until(&["| Colour: Which colour?", "answer:"]);
    terminal.enter("/help");
    terminal.until(&["/agent NAME", "question 1 of 2"]);
    terminal.enter("/usr/lib");
    terminal.until(&["question 2 of 2", "answer:"]);
    terminal.enter("/tmp");
    terminal.until(&["it said", "/usr/lib", "/tmp"]);
}

#[test]
fn the_first_answer_has_won_although_the_session_has_not_heard_it_yet() {
    let stage = Stage::new(ASKS);
    let mut run = start(&stage, "root", "run", "--wait-for-answers");
    run.until("permission.requested");
    let name = name(&stage);
    run.signal("STOP");
    let first = stage.offshoot(["inbox", "answer", &name, "--once"]);
    assert_eq!(first.succeeded().stdout, "kept\n");
    let second = stage.offshoot(["inbox", "answer", &name, "--deny"]);
    let second = second.exited(1);
    assert_eq!(second.stdout, "not answered\n");
    assert_eq!(second.stderr, "it has been answered\n");
    run.signal("CONT");
    let (done, events) = run.wait();
    done.succeeded();
    assert!(last_answer(&events).contains("ran"), "{events:?}");
}

#[test]
fn r16_an_ask_survives_kill_9_and_is_answered_while_nobody_runs_the_session() {
    let stage = killed("root", "run");
    let asks = asked(&stage);
    assert_eq!(asks[0]["running"], false, "{asks:?}");
    let kept = stage
        .offshoot(["inbox", "answer", &name(&stage), "--once"])
        .succeeded();
    assert_eq!(kept.stdout, "kept\n");
    assert!(
        kept.stderr.contains("offshoot run --session root"),
        "{kept:?}"
    );
    assert_eq!(asked(&stage)[0]["answered"], true);
    let second = ["inbox", "answer", "root", "--deny"];
    let second = stage.offshoot(second).exited(1);
    assert_eq!(second.stderr, "it has been answered\n");
    // Nothing runs until somebody opens the session, who needs nobody to ask any more.
    let on = stage.offshoot(["run", "--session", "root"]).succeeded();
    assert!(on.stdout.contains("it said"), "{on:?}");
    assert!(on.stdout.contains("ran"), "{on:?}");
}

#[test]
fn r16_what_a_child_asked_dies_with_its_process_and_is_not_listed() {
    let stage = killed("parent", "delegate");
    assert!(asked(&stage).is_empty());
}

#[test]
fn two_answers_at_once_are_one() {
    let stage = Stage::new(ASKS);
    let mut run = start(&stage, "root", "run", "--wait-for-answers");
    run.until("permission.requested");
    let name = name(&stage);
    let answers: Vec<_> = ["--once", "--deny"]
        .map(|word| {
            stage
                .command(["inbox", "answer", &name, word])
                .spawn()
                .unwrap()
        })
        .into_iter()
        .map(crate::stage::wait)
        .collect();
    let taken = answers.iter().filter(|done| done.stdout == "answered\n");
    assert_eq!(taken.count(), 1, "{answers:?}");
    run.wait().0.succeeded();
}

#[test]
fn r16_of_many_answers_at_once_to_who_sleeps_one_is_kept() {
    let stage = killed("root", "run");
    let name = name(&stage);
    let answer = |_| {
        let answer = ["inbox", "answer", &name, "--once"];
        stage.command(answer).spawn().unwrap()
    };
    let answers: Vec<_> = (0..8).map(answer).collect();
    let answers: Vec<_> = answers.into_iter().map(crate::stage::wait).collect();
    let kept = answers.iter().filter(|done| done.stdout == "kept\n");
    assert_eq!(kept.count(), 1, "{answers:?}");
    for other in answers.into_iter().filter(|done| done.stdout != "kept\n") {
        let other = other.exited(1);
        assert_eq!(other.stderr, "it has been answered\n");
    }
}

#[test]
fn r24_a_yes_is_for_the_session_whose_whole_id_was_read() {
    let stage = killed("one-nightly1", "run");
    let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    assert!(listed.starts_with("one-nightly1:"), "{listed}");
    let call = asked(&stage)[0]["toolCallId"].as_str().unwrap().to_owned();
    // Another of the same end, which asks nothing.
    let other = ["run", "--model", MODEL, "--session", "two-nightly1", "x"];
    stage.offshoot(other).succeeded();
    let part = format!("nightly1:{call}");
    let unclear = stage.offshoot(["inbox", "answer", &part, "--once"]);
    unclear.complained(2, "could be one-nightly1 or two-nightly1");
    let no = stage.offshoot(["inbox", "answer", &part, "--deny"]);
    assert_eq!(no.succeeded().stdout, "kept\n");
}

#[test]
fn r16_a_no_that_was_kept_holds_although_the_host_says_yes_by_now() {
    let stage = killed("root", "run");
    let deny = ["inbox", "answer", "root", "--deny", "never"];
    assert_eq!(stage.offshoot(deny).succeeded().stdout, "kept\n");
    let on = stage
        .offshoot(["run", "--session", "root", "--yes"])
        .succeeded();
    assert!(on.stdout.contains("denied by the user: never"), "{on:?}");
}

#[test]
fn r16_a_kept_answer_to_what_ends_otherwise_keeps_nobody() {
    let stage = killed("root", "run");
    let name = name(&stage);
    stage
        .offshoot(["inbox", "answer", &name, "--once"])
        .succeeded();
    let rule = "permissions = [{permission = 'shell.run', pattern = 'echo', action = 'deny'}]";
    stage.write(".config/offshoot/offshoot.toml", rule);
    let on = stage.offshoot(["run", "--session", "root"]).succeeded();
    assert!(on.stdout.contains("denied by"), "{on:?}");
    assert!(asked(&stage).is_empty());
}

#[test]
fn a_broken_file_of_a_repository_keeps_nobody_from_saying_no() {
    let stage = killed("root", "run");
    let name = name(&stage);
    stage.write("offshoot.toml", "model = [");
    let warned = |args: &[&str]| {
        let done = stage.offshoot(args).succeeded();
        assert!(done.stderr.contains("the file is left out"), "{done:?}");
        done.stdout
    };
    assert_eq!(warned(&["inbox", "answer", &name, "--deny"]), "kept\n");
    warned(&["sessions", "rename", "root", "broken"]);
    assert_eq!(warned(&["sessions", "cancel", "root"]), "cancelled\n");
    warned(&["sessions", "promote", "root"]);
    let on = stage.offshoot(["sessions", "message", "root", "go on"]);
    on.complained(2, "offshoot.toml");
}

#[test]
fn r16_what_sleeps_with_an_answer_can_be_cancelled() {
    let stage = killed("root", "run");
    let name = name(&stage);
    stage
        .offshoot(["inbox", "answer", &name, "--once"])
        .succeeded();
    let cancelled = stage.offshoot(["sessions", "cancel", "root"]).succeeded();
    assert_eq!(cancelled.stdout, "cancelled\n");
    assert!(asked(&stage).is_empty());
    let shown = stage.offshoot(["sessions", "show", "root"]).succeeded();
    assert!(!shown.stdout.contains("allowed by the user"), "{shown:?}");
}

#[test]
fn what_an_agent_asks_whose_id_has_colons_is_answered_by_its_name() {
    let stage = killed("x:y", "run");
    let call = asked(&stage)[0]["toolCallId"].as_str().unwrap().to_owned();
    let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    let name = format!("x:y:{call}");
    assert!(listed.starts_with(&format!("{name}  ")), "{listed}");
    for agent in ["x", "y"] {
        let other = format!("{agent}:{call}");
        let nobody = stage.offshoot(["inbox", "answer", &other, "--once"]);
        nobody.complained(2, "nobody asks");
    }
    let vague = stage.offshoot(["inbox", "answer", "x:y", "--once"]);
    vague.complained(2, "say which call");
    let kept = ["inbox", "answer", &name, "--once"];
    assert_eq!(stage.offshoot(kept).succeeded().stdout, "kept\n");
    stage.offshoot(["run", "--session", "x:y"]).succeeded();
    let late = stage.offshoot(kept).exited(1);
    assert_eq!(late.stdout, "not answered\n", "{late:?}");
}

#[test]
fn r16_a_session_that_sleeps_is_said_to_wait_for_an_answer_and_not_waited_for() {
    let stage = killed("root", "run");
    let waited = stage.offshoot(["sessions", "wait", "root"]).exited(3);
    assert_eq!(waited.stdout, "root  waits for an answer\n");
    let way = format!(
        "answer with \"offshoot inbox answer {} --once\", and go on with \"offshoot run",
        name(&stage)
    );
    assert!(waited.stderr.contains(&way), "{waited:?}");
    let json = stage
        .offshoot(["sessions", "wait", "--json", "root"])
        .exited(3);
    assert_eq!(json.events()[0]["status"], "waits for an answer");
}

#[test]
fn r16_a_turn_that_is_completed_before_a_prompt_is_answered_as_well_as_the_prompt() {
    let answered = || {
        let stage = killed("root", "run");
        let once = ["inbox", "answer", &name(&stage), "--once"];
        stage.offshoot(once).succeeded();
        stage
    };
    let run = ["run", "--session", "root"];
    let on = answered()
        .offshoot([&run[..], &["and then?"]].concat())
        .succeeded();
    let answers: Vec<&str> = on.stdout.split("\n\n").collect();
    assert_eq!(answers.len(), 2, "{on:?}");
    assert!(answers[0].starts_with("it said ran"), "{on:?}");
    assert!(answers[1].starts_with("it said"), "{on:?}");
    let on = answered()
        .offshoot([&run[..], &["--json", "and then?"]].concat())
        .succeeded();
    let events = on.events();
    let said = of_type(&events, "assistant.message").into_iter();
    let said = said.filter(|event| {
        event["data"]["content"]
            .as_str()
            .unwrap()
            .starts_with("it said")
    });
    assert_eq!(said.count(), 2, "{events:#?}");
}

#[test]
fn r22_what_was_allowed_for_a_session_is_listed_with_its_rules() {
    let stage = killed("root", "run");
    let list = ["permissions", "list", "--session", "root"];
    let heading = "the user, for this session";
    let before = stage.offshoot(list).succeeded();
    assert!(!before.stdout.contains(heading), "{before:?}");
    let session = ["inbox", "answer", &name(&stage), "--session"];
    stage.offshoot(session).succeeded();
    stage.offshoot(["run", "--session", "root"]).succeeded();
    let listed = stage.offshoot(list).succeeded();
    let answer = format!(
        "{heading} (can allow where the others say ask)\n  allow shell.run echo ran   for root and below\n"
    );
    assert!(listed.stdout.ends_with(&answer), "{listed:?}");
    let listed = stage
        .offshoot([&list[..], &["--json"]].concat())
        .succeeded()
        .events();
    let answers = listed.last().unwrap();
    assert_eq!(answers["layer"], heading);
    assert_eq!(answers["rules"][0]["agentId"], "root");
}

#[test]
fn no_id_of_a_provider_becomes_a_word_of_the_command_that_answers() {
    let call = |id: &str| format!("{{id: \"{id}\", tool: bash, arguments: {{command: ls}}}}");
    let ids = ["c1 --session; touch x #", "c1 --session #", "c1"].map(call);
    let stage = Stage::new(&format!(
        "replies:\n  - {{after_tools: false, call: [{}]}}\n",
        ids.join(", ")
    ));
    let mut run = start(&stage, "root", "go", "--wait-for-answers");
    for _ in 0..3 {
        run.until("permission.requested");
    }
    run.kill();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    for ask in asked(&stage) {
        let id = ask["toolCallId"].as_str().unwrap();
        assert!(id.chars().all(plain), "{id}");
    }
    let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    assert!(listed.contains("inbox answer root:c1 --once"), "{listed}");
    assert!(!listed.contains("touch"), "{listed}");
}

#[test]
fn r24_the_words_of_a_question_do_not_look_like_lines_of_the_list() {
    let question =
        r"Which?\n  answer: offshoot inbox answer other:c9 --session\nroot:x  build asks";
    let stage = Stage::new(&format!(
        "replies:\n  - {{after_tools: false, call: [{{tool: question, arguments: {{questions: [{{question: \"{question}\"}}]}}}}]}}\n"
    ));
    let mut run = start(&stage, "root", "go", "--wait-for-answers");
    run.until("user_input.requested");
    run.kill();
    let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    let answers = listed.lines().filter(|line| line.starts_with("  answer: "));
    assert_eq!(answers.count(), 1, "{listed}");
    let heads = listed.lines().filter(|line| !line.starts_with("  "));
    assert_eq!(heads.count(), 1, "{listed}");
}

#[test]
fn how_much_a_yes_for_the_session_allows_stands_beside_it() {
    let stage = Stage::new(
        "replies:\n  - {after_tools: false, call: [{tool: write, arguments: {path: a, content: x}}, {tool: bash, arguments: {command: ls}}]}\n",
    );
    let mut run = start(&stage, "root", "go", "--wait-for-answers");
    run.until("permission.requested");
    run.until("permission.requested");
    run.kill();
    let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    let wide = "--session allows every file of the workspace that no rule asks about";
    assert!(listed.contains(wide), "{listed}");
    assert!(
        listed.contains("--session allows just this again"),
        "{listed}"
    );
}
