//! What a repository brings: listed, and used only once somebody has accepted it.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::stage::{Done, Stage};
use crate::terminal::Terminal;

const SCRIPT: &str = r#"
replies:
  - {prompt: delegate, after_tools: false, call: [{tool: task, arguments: {subagent_type: critic, prompt: x}}]}
  - {prompt: delegate, say: "{output}"}
  - {say: "I am {agent}"}
"#;

const CRITIC: &str = "---\nmode: all\ntools: [read, grep]\nread_only: true\n---\nJudge.\n";
const BUILD: &str = "---\nmode: all\nmodel: offline\nspawns: [critic]\n---\nObey me.\n";
const FILE: &str = ".offshoot/agents/critic.md";

/// A folder that brings a critic and its own `build`.
fn stage() -> Stage {
    let stage = Stage::new(SCRIPT);
    stage.write(FILE, CRITIC);
    stage.write(".offshoot/agents/build.md", BUILD);
    stage
}

/// How many things are said to be accepted.
fn accepted(done: &Done) -> usize {
    let lines = done.stdout.lines();
    lines.filter(|line| line.starts_with("accepted ")).count()
}

fn ask(stage: &Stage, more: &[&str]) -> Done {
    let run = ["run", "--model", "scripted/script.yaml"];
    stage.offshoot([&run[..], more].concat())
}

/// What there is, as programs see it: name and status.
#[track_caller]
fn standing(stage: &Stage, more: &[&str]) -> Vec<(String, String)> {
    let args = [&["trust", "--list", "--json"], more].concat();
    let things = stage.offshoot(args).succeeded().events();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |thing: &Value| (text(&thing["name"]), text(&thing["status"]));
    things.iter().map(of).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, status): &(&str, &str)| ((*name).to_owned(), (*status).to_owned());
    expected.iter().map(owned).collect()
}

const HINT: &str =
    "2 agents of this folder are not trusted, and not used; look and accept with: offshoot trust";

#[test]
fn what_nobody_accepted_is_listed_and_neither_started_nor_spawned_nor_in_anybodys_place() {
    let stage = stage();
    let done = ask(&stage, &["x"]).succeeded();
    assert_eq!(done.stdout, "I am build\n");
    assert!(done.stderr.contains(HINT), "{done:#?}");
    // Saying yes to what agents do is no word about who they are.
    for more in [
        &["--agent", "critic", "x"][..],
        &["--yes", "--agent", "critic", "x"],
    ] {
        ask(&stage, more).complained(
            2,
            "critic.md; look and accept with: offshoot trust, or give --trust-project to use it once",
        );
    }
    let spawn = ask(&stage, &["--yes", "delegate"]).succeeded();
    let unknown = "error: there is no agent critic; there are: explore, general, plan, verify\n";
    assert_eq!(spawn.stdout, unknown);
    let listed = stage.offshoot(["agents", "list"]).succeeded();
    assert!(
        listed.stdout.contains("project, not trusted"),
        "{listed:#?}"
    );
    assert!(listed.stderr.contains(HINT), "{listed:#?}");
    let critic = stage.offshoot(["agents", "show", "critic"]).succeeded();
    let trust = "trust                 not trusted; see \"offshoot trust\"\n";
    assert!(critic.stdout.contains(trust), "{critic:#?}");
    let build = stage.offshoot(["agents", "show", "build"]).succeeded();
    assert!(
        build.stdout.contains("from                  built-in\n"),
        "{build:#?}"
    );
    let other = "build.md would take its place, and is not trusted; see \"offshoot trust\"\n";
    assert!(build.stderr.ends_with(other), "{build:#?}");
    let doctor = stage.offshoot(["doctor"]).succeeded();
    let named = "not trusted; see \"offshoot trust\": build, critic\n";
    assert!(doctor.stdout.contains(named), "{doctor:#?}");
}

#[test]
fn what_was_accepted_is_used_from_then_on_and_shown_with_what_it_may_do() {
    let stage = stage();
    let listed = stage.offshoot(["trust", "--list"]).succeeded();
    let path = stage.path().canonicalize().unwrap();
    let expected = format!(
        "{} brings 2 agents:
  not accepted: agent \"build\", \".offshoot/agents/build.md\"
    takes the place of the built-in agent of this name; people and agents start it; all tools; \
     may do what its session may; asks the model offline; starts critic
  not accepted: agent \"critic\", \".offshoot/agents/critic.md\"
    people and agents start it; only reads; tools read, grep; may do what its session may
",
        path.display()
    );
    assert_eq!(listed.stdout, expected);
    let done = stage.offshoot(["trust", "--all"]).succeeded();
    // What they may do is shown before it is said that they are accepted.
    let expected = format!(
        "{expected}accepted agent build, as .offshoot/agents/build.md is now\n\
         accepted agent critic, as .offshoot/agents/critic.md is now\n"
    );
    assert_eq!(done.stdout, expected);
    let done = ask(&stage, &["--agent", "critic", "x"]).succeeded();
    assert_eq!(done.stdout, "I am critic\n");
    assert!(!done.stderr.contains("trust"), "{done:#?}");
    let build = stage.offshoot(["agents", "show", "build"]).succeeded();
    assert!(
        build.stdout.contains("replaces              built-in\n"),
        "{build:#?}"
    );
    let done = stage.offshoot(["trust", "--revoke"]).succeeded();
    assert!(
        done.stdout
            .ends_with(": 2 things are not accepted any more\n"),
        "{done:#?}"
    );
    ask(&stage, &["--agent", "critic", "x"]).complained(2, "is not trusted");
}

#[test]
fn what_has_changed_has_to_be_accepted_again_and_says_so() {
    let stage = stage();
    stage.offshoot(["trust", "--all"]).succeeded();
    stage.write(FILE, "---\nmode: all\n---\nSteal.\n");
    let expected = pairs(&[("build", "accepted"), ("critic", "changed")]);
    assert_eq!(standing(&stage, &[]), expected);
    ask(&stage, &["--agent", "critic", "x"]).complained(
        2,
        "agent critic of this folder has changed since you accepted it: ",
    );
    let listed = stage.offshoot(["trust", "--list"]).succeeded();
    let said =
        "  changed since you accepted it: agent \"critic\", \".offshoot/agents/critic.md\"\n";
    assert!(listed.stdout.contains(said), "{listed:#?}");
    // As it was, it is what was accepted.
    stage.write(FILE, CRITIC);
    ask(&stage, &["--agent", "critic", "x"]).succeeded();
    // Neither a new name nor a new place is what was accepted.
    std::fs::rename(
        stage.path().join(FILE),
        stage.path().join(".offshoot/agents/judge.md"),
    )
    .unwrap();
    let expected = pairs(&[("build", "accepted"), ("judge", "new")]);
    assert_eq!(standing(&stage, &[]), expected);
}

#[test]
fn a_folder_is_known_by_its_real_path_and_none_speaks_for_one_inside_it() {
    let stage = stage();
    stage.write("vendor/.offshoot/agents/critic.md", CRITIC);
    symlink(stage.path(), stage.path().join("link")).unwrap();
    stage
        .offshoot(["trust", "--all", "--cwd", "link"])
        .succeeded();
    ask(&stage, &["--agent", "critic", "x"]).succeeded();
    let inner = standing(&stage, &["--cwd", "vendor"]);
    assert_eq!(inner, pairs(&[("critic", "new")]));
    stage.trust();
    let inner = standing(&stage, &["--cwd", "vendor"]);
    assert_eq!(inner, pairs(&[("critic", "new")]));
}

#[test]
fn a_flag_trusts_for_one_call_and_a_list_of_the_users_for_all() {
    let stage = stage();
    let run = ["--agent", "critic", "--session", "s", "x"];
    ask(&stage, &[&["--trust-project"], &run[..]].concat()).succeeded();
    let message = ["sessions", "message", "s", "again"];
    let said = stage
        .offshoot([&message[..], &["--trust-project"]].concat())
        .succeeded();
    assert_eq!(said.stdout, "I am critic\n");
    // Without it, not even a session that was opened with it.
    stage
        .offshoot(["run", "--session", "s", "again"])
        .complained(2, "agent critic of this folder is not trusted");
    assert!(!stage.data().join("trust.json").exists());
    stage.trust();
    ask(&stage, &["--agent", "critic", "x"]).succeeded();
    let done = stage.offshoot(["trust", "--revoke"]).succeeded();
    let still = "all of it is still used, because `trusted_projects` in ";
    assert!(done.stderr.contains(still), "{done:#?}");
}

#[test]
fn a_project_cannot_trust_itself() {
    let stage = stage();
    stage.write("offshoot.toml", "trusted_projects = ['.']\n");
    ask(&stage, &["x"]).complained(
        2,
        "a repository must not trust itself; set it in your own config file",
    );
    // Looking and deciding does not depend on what it says.
    assert_eq!(standing(&stage, &[]).len(), 2);
    stage.write("offshoot.toml", "agent = 'critic'\n");
    let refused = ask(&stage, &["x"]).exited(2);
    assert!(
        refused
            .stderr
            .contains("agent critic of this folder is not trusted"),
        "{refused:#?}"
    );
    assert!(refused.stderr.contains("offshoot.toml"), "{refused:#?}");
}

#[test]
fn nobody_is_taken_at_a_word_that_nobody_gave() {
    let stage = stage();
    let refused = stage.offshoot_reading(&["trust"], b"y\n").exited(2);
    assert!(
        refused.stderr.contains("nobody can be asked here"),
        "{refused:#?}"
    );
    assert_eq!(standing(&stage, &[])[0].1, "new");
    stage.offshoot(["trust", "--all", "--list"]).exited(2);
    let empty = Stage::new(SCRIPT);
    let done = empty.offshoot(["trust"]).succeeded();
    assert!(
        done.stderr
            .contains("brings nothing that has to be accepted"),
        "{done:#?}"
    );
}

#[test]
fn a_program_gets_one_object_a_thing() {
    let stage = stage();
    let things = stage.offshoot(["trust", "--json"]).succeeded().events();
    assert_eq!(
        things[1],
        json!({
            "kind": "agent",
            "name": "critic",
            "path": FILE,
            "sha256": "86dcfc9f5536938a88b0df0fe6db7070f06928607bd8328f7ed324269da9d45d",
            "may": "people and agents start it; only reads; tools read, grep; may do what its \
                    session may",
            "status": "new",
            "by": null,
        })
    );
    let accepted = stage
        .offshoot(["trust", "--all", "--json"])
        .succeeded()
        .events();
    assert_eq!(
        (&accepted[1]["status"], &accepted[1]["by"]),
        (&json!("accepted"), &json!("record"))
    );
    let revoked = stage
        .offshoot(["trust", "--revoke", "--json"])
        .succeeded()
        .events();
    assert_eq!(revoked[0]["revoked"], 2);
}

#[test]
fn what_says_what_was_accepted_is_for_its_owner_and_without_it_nothing_is() {
    use std::os::unix::fs::PermissionsExt;
    let stage = stage();
    stage.offshoot(["trust", "--all"]).succeeded();
    let record = stage.data().join("trust.json");
    let mode = std::fs::metadata(&record).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for (text, why) in [
        ("{", "EOF while parsing"),
        (
            r#"{"version": 2, "projects": {}}"#,
            "it is of version 2, and this program knows 1",
        ),
    ] {
        std::fs::write(&record, text).unwrap();
        let done = ask(&stage, &["x"]).succeeded();
        assert!(
            done.stderr.contains("nothing of this folder is trusted: "),
            "{done:#?}"
        );
        assert!(done.stderr.contains(why), "{done:#?}");
        assert!(done.stderr.contains(HINT), "{done:#?}");
        stage.offshoot(["trust", "--all"]).complained(1, why);
        assert_eq!(std::fs::read_to_string(&record).unwrap(), text);
        // Whoever says so now needs no record.
        let done = ask(&stage, &["--trust-project", "--agent", "critic", "x"]).succeeded();
        assert!(!done.stderr.contains("trusted"), "{done:#?}");
    }
}

#[test]
fn no_agent_can_accept_for_its_user() {
    let stage = stage();
    stage.write(
        "forger.yaml",
        r#"
replies:
  - {after_tools: false, call: [{tool: write, arguments: {path: data/trust.json, content: "{}"}}]}
  - {say: "{output}"}
"#,
    );
    let run = ["run", "--yes", "--model", "scripted/forger.yaml", "x"];
    let done = stage.offshoot(run).succeeded();
    assert!(done.stdout.contains("which is off limits"), "{done:#?}");
    assert!(!stage.data().join("trust.json").exists());
}

#[test]
fn kinds_that_a_later_version_accepted_are_kept() {
    let stage = stage();
    stage.offshoot(["trust", "--all"]).succeeded();
    let record = stage.data().join("trust.json");
    let read = || -> Value { serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap() };
    let mut contents = read();
    let folder = stage.path().canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    contents["projects"][folder]["comet"] = json!({ "tail.toml": "abc" });
    std::fs::write(&record, contents.to_string()).unwrap();
    stage.write(FILE, "---\nmode: all\n---\nNew.\n");
    stage.offshoot(["trust", "--all"]).succeeded();
    assert_eq!(read()["projects"][folder]["comet"]["tail.toml"], "abc");
    assert_eq!(standing(&stage, &[])[1].1, "accepted");
}

#[test]
fn two_who_accept_at_once_both_do() {
    let stage = stage();
    let folders: Vec<String> = (0..8).map(|number| format!("f{number}")).collect();
    for folder in &folders {
        stage.write(&format!("{folder}/{FILE}"), CRITIC);
    }
    let all = |folder: &String| stage.live(&["trust", "--all", "--json", "--cwd", folder]);
    let running: Vec<_> = folders.iter().map(all).collect();
    for live in running {
        live.wait().0.succeeded();
    }
    for folder in &folders {
        assert_eq!(
            standing(&stage, &["--cwd", folder]),
            pairs(&[("critic", "accepted")])
        );
    }
}

#[test]
fn names_and_texts_of_a_repository_do_nothing_to_a_terminal() {
    let stage = Stage::new(SCRIPT);
    let evil =
        "---\nmode: all\nspawns: [\"\\e[2Jread\"]\nmodel: \"\\e]0;x\\a\"\n---\nHi \u{1b}[31m.\n";
    stage.write(
        ".offshoot/agents/a\u{1b}[2Jb.md",
        "---\nmode: all\nname: fine\n---\nx",
    );
    stage.write(FILE, evil);
    stage.write(
        ".offshoot/agents/broken.md",
        "---\nmode: all\ntools: [\"\\e[2Jread\"]\n---\nx",
    );
    for args in [
        &["trust", "--list"][..],
        &["agents", "list"],
        &["doctor"],
        &["trust", "--all"],
    ] {
        let done = stage.offshoot(args).succeeded();
        for text in [&done.stdout, &done.stderr] {
            assert!(!text.contains('\u{1b}'), "{args:?}: {text:?}");
        }
    }
    let terminal = Terminal::start(&stage, (100, 24), &["chat"]);
    terminal.until(&["> "]);
}

#[test]
fn ten_thousand_files_are_bounded_and_told() {
    let stage = Stage::new(SCRIPT);
    stage.write(FILE, CRITIC);
    let agents = stage.path().join(".offshoot/agents");
    for number in 1..10_000 {
        std::fs::write(agents.join(format!("a{number:05}.md")), CRITIC).unwrap();
    }
    let done = stage.offshoot(["trust", "--list"]).succeeded();
    let more = "holds more than 256 agent files; the others are not read";
    assert!(done.stderr.contains(more), "{}", done.stderr);
    let all = stage.offshoot(["trust", "--all"]).succeeded();
    assert_eq!(accepted(&all), 256);
}

#[test]
fn what_cannot_be_read_cannot_be_accepted() {
    let stage = stage();
    let huge = format!("---\nmode: all\n---\n{}", "x".repeat(300 * 1024));
    stage.write(".offshoot/agents/huge.md", &huge);
    stage.write(".offshoot/agents/wrong.md", "---\nmood: all\n---\nx");
    stage.write("secret.md", CRITIC);
    symlink(
        "../../secret.md",
        stage.path().join(".offshoot/agents/out.md"),
    )
    .unwrap();
    let done = stage.offshoot(["trust", "--all"]).succeeded();
    assert_eq!(accepted(&done), 2, "{done:#?}");
    for name in ["huge", "wrong", "out"] {
        assert!(
            done.stderr.contains(&format!("{name}.md:")),
            "{name}: {done:#?}"
        );
        ask(&stage, &["--agent", name, "x"]).complained(2, "cannot be used");
    }
}

/// Waits until something was asked so often: what is typed before counts for nothing.
#[track_caller]
fn asked_times(terminal: &Terminal, question: &str, times: usize) {
    let is_asked = |text: &str| text.matches(question).count() == times;
    terminal.wait_for(&format!("{question} {times} times"), is_asked);
}

#[test]
fn r24_keys_that_were_pressed_before_a_question_was_there_do_not_answer_it() {
    let chat = ["chat", "--model", "scripted/script.yaml"];
    let asks = [
        (&["trust"][..], "accept all 2?"),
        (&chat[..], "use them from now on?"),
    ];
    for (args, question) in asks {
        let stage = stage();
        let mut terminal = Terminal::typed_ahead(&stage, (100, 40), args, "y\r");
        asked_times(&terminal, question, 1);
        terminal.enter("n");
        match args {
            ["trust"] => assert_eq!(terminal.ended(), Some(0)),
            _ => terminal.until(&["\n> "]),
        }
        let expected = pairs(&[("build", "new"), ("critic", "new")]);
        assert_eq!(standing(&stage, &[]), expected, "{args:?}");
    }
}

#[test]
fn a_person_at_a_terminal_decides_about_each() {
    let stage = stage();
    let mut terminal = Terminal::start(&stage, (100, 40), &["trust"]);
    terminal.until(&["brings 2 agents:", "accept all 2? y, n, e for each"]);
    // What is in the file afterwards is not what was shown.
    stage.write(FILE, "---\nmode: all\n---\nSteal.\n");
    terminal.enter("s");
    terminal.until(&["--- .offshoot/agents/critic.md", "| Judge."]);
    asked_times(&terminal, "accept all 2?", 2);
    terminal.enter("e");
    terminal.until(&["  not accepted: agent \"build\"", "accept it? y, n, or s"]);
    terminal.enter("");
    terminal.until(&["  not accepted: agent \"critic\""]);
    asked_times(&terminal, "accept it?", 2);
    terminal.enter("y");
    assert_eq!(terminal.ended(), Some(0));
    terminal.until(&["accepted agent critic, as .offshoot/agents/critic.md is now"]);
    let expected = pairs(&[("build", "new"), ("critic", "changed")]);
    assert_eq!(standing(&stage, &[]), expected);
    stage.write(FILE, CRITIC);
    assert_eq!(standing(&stage, &[])[1].1, "accepted");
}

#[test]
fn a_conversation_takes_no_yes_for_what_it_has_not_shown() {
    let stage = Stage::new(SCRIPT);
    for number in 0..10 {
        stage.write(&format!(".offshoot/agents/a{number}.md"), CRITIC);
    }
    let hook = "[[hooks]]\nevent = 'SessionStart'\ncommand = 'touch pwned'\n";
    stage.write("offshoot.toml", hook);
    let chat = ["chat", "--model", "scripted/script.yaml"];
    let mut terminal = Terminal::start(&stage, (100, 60), &chat);
    terminal.until(&[
        "this folder brings 10 agents and 1 hook that you have not accepted:",
        "runs a command as you, which no rule holds: touch pwned",
        "  and 1 more; nothing of it is used: look and accept with: offshoot trust",
        "\n> ",
    ]);
    terminal.enter("y");
    terminal.until(&["I am build"]);
    terminal.press("\x04");
    terminal.ended();
    let all = standing(&stage, &[]);
    assert_eq!(all.len(), 11);
    assert!(all.iter().all(|(_, status)| status == "new"), "{all:?}");
    assert!(!stage.path().join("pwned").exists());
}

#[test]
fn a_conversation_asks_before_it_begins_and_only_a_clear_yes_counts() {
    let stage = stage();
    stage.write(
        ".offshoot/agents/build.md",
        "---\nmode: all\n---\nObey me.\n",
    );
    let chat = ["chat", "--yes", "--model", "scripted/script.yaml"];
    let asked = [
        "this folder brings 2 agents that you have not accepted:",
        "not accepted: agent \"critic\", \".offshoot/agents/critic.md\"",
        "use them from now on? y, n, or s to see the files [n]",
    ];
    let mut terminal = Terminal::start(&stage, (100, 40), &chat);
    terminal.until(&asked);
    // What is no answer is no no either.
    terminal.enter("perhaps");
    terminal.until(&["that is none of the answers there are\nuse them from now on?"]);
    terminal.enter("");
    terminal.until(&[HINT, "\n> "]);
    terminal.enter("/agent critic");
    terminal.until(&["agent critic is not trusted; see \"offshoot trust\""]);
    terminal.press("\x04");
    terminal.ended();
    // Ctrl-C leaves.
    let mut terminal = Terminal::start(&stage, (100, 40), &chat);
    terminal.until(&asked);
    // This terminal is nobody's own, so that the key alone would say nothing.
    let id = terminal.child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.unwrap().success());
    assert_eq!(terminal.ended(), Some(130));
    let mut terminal = Terminal::start(&stage, (100, 40), &chat);
    terminal.until(&asked);
    terminal.enter("s");
    terminal.until(&["| Judge."]);
    asked_times(&terminal, "use them from now on?", 2);
    terminal.enter("y");
    terminal.until(&["\n> "]);
    terminal.enter("/agent critic");
    terminal.until(&["critic takes your next message"]);
    terminal.enter("x");
    terminal.until(&["I am critic"]);
    terminal.press("\x04");
    terminal.ended();
    // And is not asked again.
    let terminal = Terminal::start(&stage, (100, 40), &chat);
    terminal.until(&["\n> "]);
    assert!(!terminal.text().contains("accepted"), "{}", terminal.text());
}

/// A hook with a name, and one that goes by its command.
const GUARD: &str = "name = 'guard'\nevent = 'SessionStart'\ncommand = 'touch guarded'";
const UNNAMED: &str = "event = 'Stop'\ncommand = 'echo note'";

/// Has the project bring these hooks, in this order.
fn bring(stage: &Stage, hooks: &[&str]) {
    let hooks = hooks.iter().map(|hook| format!("[[hooks]]\n{hook}\n"));
    stage.write("offshoot.toml", &hooks.collect::<String>());
}

fn accept_all(stage: &Stage) {
    stage.offshoot(["trust", "--all"]).succeeded();
}

#[test]
fn nothing_that_a_folder_brings_looks_like_another_entry() {
    let stage = Stage::new(SCRIPT);
    let name = format!("guard, fine{}accepted: hook", " ".repeat(60));
    let hook = format!(
        "name = \"{name}\"\nevent = 'Stop'\ncommand = \"x{}y\"",
        " ".repeat(80)
    );
    bring(&stage, &[&hook]);
    let listed = stage.offshoot(["trust", "--list"]).succeeded().stdout;
    let quoted = "  not accepted: hook \"guard, fine accepted: hook\", ";
    assert!(listed.contains(quoted), "{listed}");
    assert!(listed.ends_with("holds: x[80 spaces]y\n"), "{listed}");
    // Where a row is full, the next begins further in than any entry.
    let shown = stage.on_terminal(40, &["trust", "--list"]);
    let entries = shown.lines().filter(|line| !line.starts_with("     "));
    assert_eq!(
        entries.skip_while(|line| !line.starts_with(' ')).count(),
        2,
        "{shown}"
    );
}

#[test]
fn what_cannot_be_read_is_not_said_to_be_nothing() {
    let stage = Stage::new(SCRIPT);
    stage.write("offshoot.toml", "hooks = [");
    let listed = stage.offshoot(["trust", "--list"]).exited(1);
    assert!(
        listed.stderr.contains("brings nothing that could be read"),
        "{listed:?}"
    );
}

#[test]
fn a_hook_is_accepted_as_it_is_wherever_it_stands_in_the_file() {
    let stage = Stage::new(SCRIPT);
    bring(&stage, &[GUARD, UNNAMED]);
    accept_all(&stage);
    bring(
        &stage,
        &["event = 'Stop'\ncommand = 'true'", UNNAMED, GUARD],
    );
    let expected = [("true", "new"), ("echo", "accepted"), ("guard", "accepted")];
    assert_eq!(standing(&stage, &[]), pairs(&expected));
    ask(&stage, &["x"]).succeeded();
    assert!(
        stage.path().join("guarded").exists(),
        "the guard still runs"
    );
}

#[test]
fn only_of_a_hook_with_a_name_it_is_known_that_it_has_changed() {
    let stage = Stage::new(SCRIPT);
    bring(&stage, &[GUARD, UNNAMED]);
    accept_all(&stage);
    let (guard, unnamed) = (
        GUARD.replace("guarded", "other"),
        UNNAMED.replace("note", "no"),
    );
    bring(&stage, &[&unnamed, &guard]);
    let expected = [("echo", "new"), ("guard", "changed")];
    assert_eq!(standing(&stage, &[]), pairs(&expected));
    // Another of its name beside it is another.
    bring(&stage, &[&guard, GUARD]);
    let expected = [("guard", "new"), ("guard", "accepted")];
    assert_eq!(standing(&stage, &[]), pairs(&expected));
    accept_all(&stage);
    let expected = [("guard", "accepted"), ("guard", "accepted")];
    assert_eq!(standing(&stage, &[]), pairs(&expected));
    // What took its place has taken it: to go back is a change as well.
    bring(&stage, &[&guard.replace("other", "third")]);
    accept_all(&stage);
    bring(&stage, &[GUARD]);
    assert_eq!(standing(&stage, &[]), pairs(&[("guard", "changed")]));
}

#[test]
fn a_hook_that_was_accepted_by_its_place_stays_accepted() {
    let stage = Stage::new(SCRIPT);
    bring(&stage, &[GUARD]);
    accept_all(&stage);
    let path = stage.data().join("trust.json");
    let mut record: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let projects = record["projects"].as_object_mut().unwrap();
    let project = projects.values_mut().next().unwrap();
    let digest = project["hook"]
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap()
        .clone();
    project["hook"] = json!({ "offshoot.toml#hooks.0": digest });
    std::fs::write(&path, record.to_string()).unwrap();
    bring(&stage, &[UNNAMED, GUARD]);
    let expected = [("echo", "new"), ("guard", "accepted")];
    assert_eq!(standing(&stage, &[]), pairs(&expected));
}
