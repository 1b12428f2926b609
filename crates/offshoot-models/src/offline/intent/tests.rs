//! Prompts and what they are taken for.

use super::{Intent, of};

#[track_caller]
fn check(prompt: &str, expected: Intent) {
    assert_eq!(of(prompt), expected, "{prompt}");
}

#[test]
fn surveys() {
    for prompt in [
        "Survey this repository",
        "give me an overview",
        "Explain this repo",
        "What is this?",
        "what does this project do",
        "summarise the codebase, please",
        "Can you explain the architecture to me?",
        "how is this code organised?",
    ] {
        check(prompt, Intent::Survey);
    }
}

#[test]
fn surveys_of_a_folder() {
    let folder = |path: &str| Intent::Folder(path.to_owned());
    check(
        "survey crates/offshoot-store",
        folder("crates/offshoot-store"),
    );
    check("Survey docs", folder("docs"));
    check("survey the `docs` folder, please", folder("docs"));
    check("give me an overview of ./src/", folder("src"));
    check("explain crates/a-b", folder("crates/a-b"));
    check("survey .", Intent::Survey);
    check("survey everything", Intent::Survey);
    check("Survey this repository and/or explain it", Intent::Survey);
    check("Survey this repository quickly", Intent::Survey);
    check("survey how tests work", Intent::Survey);
    check("survey ../other", Intent::Survey);
    check(
        "explain the client/server architecture of this project to a beginner",
        Intent::Survey,
    );
    check("explain closures", Intent::Unknown);
}

#[test]
fn searches() {
    let find = |term: &str| Intent::Find(term.to_owned());
    check("find Scheduler", find("Scheduler"));
    check("Where is the `task call` handled?", find("task call"));
    check(
        "where is spawn_blocking used in this project?",
        find("spawn_blocking"),
    );
    check("please search for \"no such\"", find("no such"));
    check("grep TODO", find("TODO"));
}

#[test]
fn files() {
    let outline = |path: &str| Intent::Outline(path.to_owned());
    check("read src/lib.rs", outline("src/lib.rs"));
    check("show me the README", outline("README"));
    check("summarise `docs/a b.md`", outline("b.md"));
    check("Explain Cargo.toml.", outline("Cargo.toml"));
    check("read https://example.org/x.html", Intent::Unknown);
    check("read ../secret.txt", Intent::Unknown);
}

#[test]
fn commands() {
    let run = |command: &str| Intent::Run(command.to_owned());
    check("run cargo test -p x", run("cargo test -p x"));
    check("execute `ls -l`", run("ls -l"));
    check("run “cargo build”", run("cargo build"));
    check("run the tests", Intent::Test);
    check("test", Intent::Test);
    check("please test this project", Intent::Test);
    check("test drive the car", Intent::Unknown);
}

#[test]
fn a_command_keeps_the_quotes_that_are_its_own() {
    for command in [
        r#"git commit -m "msg""#,
        r#""my tool" --name "x""#,
        "echo 'a",
        "'a' 'b'",
        "echo `date`",
        r#""echo `"#,
        r#""""#,
    ] {
        check(&format!("run {command}"), Intent::Run(command.to_owned()));
    }
}

#[test]
fn lists() {
    let items = |items: &[&str]| Intent::Todo(items.iter().map(|i| (*i).to_owned()).collect());
    check("todo buy milk; sleep", items(&["buy milk", "sleep"]));
    check("TODO:\n- a\n- b", items(&["a", "b"]));
    check("todo", Intent::Unknown);
}

#[test]
fn everything_else_is_unknown() {
    for prompt in [
        "",
        "   ",
        "hello",
        "write a parser",
        "what is the capital of France?",
        "run",
        "find",
        "fix the bug in the scheduler",
    ] {
        check(prompt, Intent::Unknown);
    }
}
