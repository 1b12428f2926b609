//! A data folder inside the folder that agents work in: theirs is only the scratch folder.

use std::fs;
use std::os::unix::fs::symlink;

use crate::stage::{Stage, of_type};

/// A root that keeps a plan in its scratch folder, and a child that looks for it in every way.
const SPY: &str = r#"
replies:
  - depth: 0
    step: 1
    call: [{tool: write, arguments: {path: "DATA/scratch/s/plan", content: "the plan"}}]
  - depth: 0
    step: 2
    call: [{tool: task, arguments: {subagent_type: general, prompt: x}}]
  - depth: 1
    after_tools: false
    call:
      - {tool: read, arguments: {path: "DATA/scratch/s/plan"}}
      - {tool: read, arguments: {path: data/scratch/s/plan}}
      - {tool: write, arguments: {path: data/scratch/s/plan, content: mine}}
      - {tool: read, arguments: {path: "DATA/offshoot.db"}}
      - {tool: grep, arguments: {pattern: "the plan", path: data}}
      - {tool: grep, arguments: {pattern: "^the plan$"}}
      - {tool: glob, arguments: {pattern: "**/plan"}}
  - {say: done}
"#;

/// Runs the script and returns the texts of the child's outcomes.
fn spied(data_dir: impl Fn(&Stage) -> std::path::PathBuf) -> Vec<String> {
    let stage = Stage::new("");
    let real = fs::canonicalize(stage.path()).unwrap().join("data");
    stage.write("spy.yaml", &SPY.replace("DATA", real.to_str().unwrap()));
    let mut command = stage.command([
        "run",
        "--model",
        "scripted/spy.yaml",
        "--session",
        "s",
        "--yes",
        "go",
    ]);
    command.env("OFFSHOOT_DATA_DIR", data_dir(&stage));
    crate::stage::wait(command.spawn().unwrap()).succeeded();
    let plan = fs::read_to_string(real.join("scratch/s/plan")).unwrap();
    assert_eq!(plan, "the plan");
    let events = stage.show("s");
    let ended = of_type(&events, "tool.execution_complete");
    let of_child = ended.iter().filter(|event| event["agentId"].is_string());
    of_child.map(|event| event["data"].to_string()).collect()
}

fn check(outcomes: &[String]) {
    let said = |text: &str| outcomes.iter().filter(|one| one.contains(text)).count();
    let seen = [
        said("which is off limits"),
        said("[no matches]"),
        said("[no files match]"),
    ];
    assert_eq!(seen, [5, 1, 1], "{outcomes:#?}");
}

#[test]
fn scr_02_a_child_finds_no_way_to_its_parents_scratch_folder() {
    check(&spied(Stage::data));
}

#[test]
fn scr_02_nor_where_the_data_folder_is_named_through_a_link() {
    check(&spied(|stage| {
        symlink(stage.path(), stage.path().join("home")).unwrap();
        stage.path().join("home/data")
    }));
}
