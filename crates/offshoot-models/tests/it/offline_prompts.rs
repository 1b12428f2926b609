//! Prompts to the offline model that are no surveys.

use offshoot_models::ModelSet;
use offshoot_types::id::AgentId;
use offshoot_types::model::{Asker, Models, Request, ToolChoice};

use crate::offline_world::{Run, World, step};

fn world() -> World {
    World::of(&[
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
        (
            "docs/guide.md",
            "# Guide\n\nHow the heron stands.\n\n## Legs\n\n```\n# no heading\n```\n",
        ),
        (
            "src/heron.rs",
            "//! A heron.\n\npub struct Heron {\n    legs: u8,\n}\n\nimpl Heron {\n    pub fn stand(&self) {}\n}\n",
        ),
        ("src/main.rs", "mod heron;\nfn main() { heron::Heron; }\n"),
    ])
}

#[track_caller]
fn says(run: &Run, facts: &[&str]) {
    for fact in facts {
        assert!(run.text.contains(fact), "not said: {fact}\n\n{}", run.text);
    }
    assert!(run.text.contains("no language model"), "{}", run.text);
}

#[test]
fn finding_tells_definitions_places_and_files() {
    let run = world().ask("Where is Heron defined?");
    assert_eq!(run.steps, 2);
    says(
        &run,
        &[
            "6 matching lines in 3 files",
            "Looks like a definition: `src/heron.rs:3` `pub struct Heron {`",
            "`docs/guide.md:3` (1 line)",
            "In names of files\n\n- `src/heron.rs`",
        ],
    );
    let run = world().ask("find \"no such thing (\"");
    says(&run, &["Not found (letter case was ignored)."]);
    let run = world()
        .denying(&["grep"])
        .offering(&["grep"])
        .ask("find heron");
    says(
        &run,
        &[
            "The search failed: error: grep is denied",
            "`glob` cannot be called here",
        ],
    );
}

#[test]
fn a_definition_behind_what_is_shown_is_found_and_counts_say_what_they_are_of() {
    let mut world = World::of(&[
        ("zz/store.rs", "fn store() {}\npub trait Store: Send {}\n"),
        ("zz/store.c", "int store(int x)\n"),
        ("zz/store.go", "func (s *S) Store() {}\n"),
    ]);
    for index in 10..40 {
        world = world.file(&format!("a/f{index}.md"), &"the store is open\n".repeat(10));
    }
    let run = world.ask("find Store");
    says(
        &run,
        &[
            "304 matching lines in 33 files",
            "- Looks like a definition: `zz/store.go:1` `func (s *S) Store() {}`\n\
             - Looks like a definition: `zz/store.rs:2` `pub trait Store: Send {}`\n\
             - Looks like a definition: `zz/store.c:1` `int store(int x)`\n\
             - Looks like a definition: `zz/store.rs:1` `fn store() {}`\n\
             - By file, of the first 200 lines only:\n- `a/f10.md:1` (10 lines)\n",
            "and 18 more files\n",
        ],
    );
}

#[test]
fn reading_outlines_a_document_or_a_source() {
    let run = world().ask("read docs/guide.md");
    says(
        &run,
        &[
            "9 lines",
            "> How the heron stands.",
            "- line 1: Guide\n- line 5: Legs\n",
        ],
    );
    let run = world().ask("summarise src/heron.rs please");
    says(
        &run,
        &[
            "> A heron.",
            "- line 3: `pub struct Heron {`",
            "- line 8: `pub fn stand",
        ],
    );
}

#[test]
fn a_file_that_lies_elsewhere_is_found() {
    let run = world().ask("show guide.md");
    assert_eq!(run.steps, 3);
    says(&run, &["Outline of `docs/guide.md`"]);
    let run = world().ask("show nothing.md");
    says(
        &run,
        &["It was not read: error: read nothing.md: no such file"],
    );
}

#[test]
fn commands_are_run_only_where_bash_is_offered() {
    let run = world().ask("run `cargo fmt`");
    assert!(run.calls.is_empty());
    says(
        &run,
        &["Asked for: `cargo fmt`", "`bash` is not among the tools"],
    );
    let with_bash = world().offering(&["bash", "glob"]);
    let run = with_bash.ask("run `cargo fmt`");
    assert_eq!(run.calls, [[r#"bash {"command":"cargo fmt"}"#]]);
    says(&run, &["It was run and ended with exit code 0"]);
    says(&run, &["````text\nrunning 3 tests\n```\n[32mok[0m\n````"]);
    let run = with_bash.ask("run the tests");
    assert_eq!(run.calls[1], [r#"bash {"command":"cargo test"}"#]);
    let run = with_bash.denying(&["bash"]).ask("run cargo fmt");
    says(
        &run,
        &[
            "It was not run: a rule or a hook denies it",
            "bash is denied",
        ],
    );
}

#[test]
fn tests_are_run_by_the_package_manager_that_a_survey_names() {
    let world = World::of(&[
        ("package.json", r#"{"scripts": {"test": "vitest"}}"#),
        ("pnpm-lock.yaml", ""),
    ]);
    let run = world.offering(&["bash", "glob"]).ask("test");
    assert_eq!(run.calls[1], [r#"bash {"command":"pnpm test"}"#]);
}

#[test]
fn without_a_known_manifest_nothing_is_tested() {
    let run = World::of(&[("a.txt", "")])
        .offering(&["bash", "glob"])
        .ask("test");
    says(&run, &["No manifest that tells how to test was found"]);
    assert_eq!(run.calls.len(), 1);
}

#[test]
fn a_list_is_kept() {
    let run = world().ask("todo: buy milk; feed the heron");
    assert_eq!(run.calls.len(), 1);
    says(
        &run,
        &["The list has 2 items, none begun:", "- feed the heron"],
    );
    says(
        &world().offering(&[]).ask("todo a"),
        &["`todo` cannot be called here"],
    );
    says(
        &world().denying(&["todo"]).ask("todo a"),
        &["The list was not set: error: todo is"],
    );
}

#[test]
fn anything_else_is_answered_with_what_it_can_do() {
    for prompt in [
        "Write me a parser for CSV.",
        "hello",
        "",
        "What is the capital of France?",
    ] {
        let run = world().ask(prompt);
        assert!(run.calls.is_empty(), "{prompt}");
        says(
            &run,
            &[
                "rule-based",
                "--model openai-chat/NAME",
                "OPENAI_API_KEY",
                "docs/models.md",
            ],
        );
    }
}

#[test]
fn every_prompt_of_the_document_is_understood() {
    let document = include_str!("../../../../docs/offline.md");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `"));
    let prompts: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
    assert!(prompts.len() >= 8, "{prompts:?}");
    for prompt in prompts {
        let run = world().ask(prompt);
        assert!(!run.text.contains("I cannot do what you asked"), "{prompt}");
    }
}

#[test]
fn the_last_prompt_is_answered_from_its_own_calls() {
    let first = world().ask("find heron");
    let again = world().go_on(first.messages, "find heron");
    assert_eq!(again.calls.len(), 1, "earlier outcomes may be old");
    let other = world().go_on(again.messages, "todo a");
    says(&other, &["The list has 1 item"]);
}

#[test]
fn a_step_that_may_not_call_hands_back_what_there_is() {
    let mut run = world().ask("Survey this repository");
    run.messages.truncate(3);
    let request = Request {
        from: Asker {
            agent: AgentId::new("a1"),
            definition: "build".into(),
            depth: 0,
            step: 2,
        },
        model: "offline".into(),
        system: "".into(),
        tools: std::sync::Arc::from([]),
        choice: ToolChoice::None,
        messages: run.messages,
        temperature: None,
        effort: None,
        max_output_tokens: None,
    };
    let (parts, calls) = step(request);
    assert_eq!(calls, []);
    let text = format!("{parts:?}");
    assert!(
        text.contains("4 files, ") && text.contains("no language model"),
        "{text}"
    );
}

#[test]
fn a_cancelled_request_says_nothing() {
    use futures_util::{FutureExt, StreamExt};
    use offshoot_types::model::Model;

    let (fire, cancel) = crate::stage::cancel();
    fire.send(true).unwrap();
    let stream = offshoot_models::Offline.stream(crate::stage::ask("survey"), cancel);
    let chunks = stream.collect::<Vec<_>>().now_or_never().unwrap();
    assert_eq!(chunks, []);
}

#[test]
fn the_set_finds_it_under_both_names() {
    let set = ModelSet::default().with_offline();
    assert!(set.find("offline").is_ok());
    assert!(set.find("offline/survey").is_ok());
    assert!(set.find("offline/other").is_err());
}

#[test]
fn a_prompt_of_a_child_is_known_by_its_form() {
    let prompt = "Survey the area `src`.\n\nBrief: {\"area\":\"src\",\"paths\":[\"src\"]}";
    let run = world().ask(prompt);
    says(&run, &["# Area `src`", "Size: 2 files (2 Rust)"]);
    let broken = world().ask(&prompt.replace("[\"src\"]", "[]"));
    says(&broken, &["# Survey of this repository"]);
}

#[test]
fn a_folder_is_surveyed_alone() {
    let run = world().ask("survey src/");
    says(
        &run,
        &[
            "# Survey of `src`",
            "Size: 2 files (2 Rust)",
            "`pub` items): 2 in 1 file",
        ],
    );
    assert!(!run.text.contains("docs/guide.md"), "{}", run.text);
    let run = world().ask("Survey nowhere");
    says(&run, &["# Survey of `nowhere`", "There is no such folder."]);
    let run = world().denying(&["glob"]).ask("survey docs");
    says(&run, &["Its files could not be listed", "glob is denied"]);
}
