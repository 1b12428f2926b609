//! What a program adds to its agents: files that describe agents, and a shell.

use std::fs;
use std::path::Path;

use offshoot::types::model::RequestMessage;
use offshoot::{Asks, Error, Keeper, Manifest, Mode, Reply, Request, Runtime};
use serde_json::json;

use super::stage;

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

/// A runtime whose agents say what they were told.
fn with_files(folder: &Path) -> Result<Runtime, Error> {
    let told = |request: &Request| Reply::text(&*request.system);
    let own = Manifest::new("own", Mode::All, "Be the program's.");
    stage(told).agent_files(folder).agent(own).build()
}

async fn told(runtime: &Runtime, agent: &str) -> String {
    let session = runtime.open(agent).await.unwrap();
    session.prompt("go").await.unwrap().output.unwrap()
}

#[tokio::test]
async fn agents_of_a_folder_are_there_and_the_programs_own_replace_them() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "reader.md", "---\nmode: all\n---\nRead.");
    write(folder.path(), "own.md", "---\nmode: all\n---\nBe a file.");
    let runtime = with_files(folder.path()).unwrap();
    assert!(told(&runtime, "reader").await.starts_with("Read."));
    assert!(told(&runtime, "own").await.starts_with("Be the program's."));
}

#[test]
fn a_file_with_a_mistake_fails_the_build_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let missing = with_files(&path.join("nowhere")).unwrap_err();
    assert_eq!(missing.code(), "invalid");
    write(path, "good.md", "---\nmode: all\n---\nRead.");
    for header in [
        "mode: sideways",
        "tools: [raed]",
        "output_schema: { type: nothing }",
    ] {
        write(path, "bad.md", &format!("---\n{header}\n---\nRead."));
        let Err(Error::Invalid(why)) = with_files(path) else {
            panic!("{header} was taken")
        };
        assert!(why.contains("bad.md:2"), "{why}");
    }
}

/// `keeper` ends a process whose first argument is `offshoot_keeper`. Given to a test binary, that
/// argument selects this test, so the binary is a program that calls `keeper` first.
#[test]
fn a_program_with_the_argument_offshoot_keeper_is_a_keeper_and_any_other_gets_one() {
    let Keeper { program, arguments } = offshoot::keeper();
    assert_eq!(program, Path::new("/proc/self/exe"));
    assert_eq!(arguments, ["offshoot_keeper"]);
}

#[tokio::test]
async fn commands_run_in_the_folder_that_is_named_and_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let answer = |request: &Request| match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(&outcomes[0].text),
        _ => Reply::call(
            "bash",
            &json!({ "command": "touch made && echo 6 x 7 = $((6 * 7))" }),
        ),
    };
    for (asks, runs) in [(Asks::NOBODY, false), (Asks::YES, true)] {
        let builder = stage(answer).shell(offshoot::keeper()).asks(asks);
        let runtime = builder.workspace(folder.path()).build().unwrap();
        let session = runtime.open("worker").await.unwrap();
        let said = session.prompt("go").await.unwrap().output.unwrap();
        assert_eq!(said.contains("6 x 7 = 42"), runs, "{said}");
        assert_eq!(made.exists(), runs, "{said}");
    }
}
