//! Files that are put back: more than once, with links on the way, and with their folders.

use std::fs;
use std::os::unix::fs::symlink;

use crate::stage::{Done, Stage};

/// Two edits of one file and one that is new in folders that are new; then, asked again, another edit.
const EDITS: &str = r#"
replies:
  - prompt: go
    after_tools: false
    call:
      - {tool: edit, arguments: {path: f.txt, old_string: one, new_string: two}}
  - prompt: go
    step: 2
    call:
      - {tool: edit, arguments: {path: f.txt, old_string: two, new_string: three}}
      - {tool: write, arguments: {path: new/deep/g.txt, content: ""}}
  - prompt: more
    after_tools: false
    call:
      - {tool: edit, arguments: {path: f.txt, old_string: one, new_string: four}}
  - {say: done}
"#;

fn stage() -> Stage {
    let stage = Stage::new(EDITS);
    stage.write("f.txt", "one\n");
    let run = "run --yes --model scripted/script.yaml --session edits go";
    stage.offshoot(run.split(' ')).succeeded();
    stage
}

fn sessions(stage: &Stage, command: &str) -> Done {
    stage.offshoot(["sessions", command, "edits"])
}

#[test]
fn what_was_put_back_is_no_change_of_somebody_else() {
    let stage = stage();
    let diff = sessions(&stage, "diff").succeeded();
    let expected = "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-one\n+three\n\
                    --- /dev/null\n+++ b/new/deep/g.txt\n";
    assert_eq!(diff.stdout, expected);
    let back = sessions(&stage, "revert").succeeded();
    assert_eq!(back.stdout, "reverted f.txt\nremoved new/deep/g.txt\n");
    assert_eq!(sessions(&stage, "revert").succeeded().stdout, "");
    assert_eq!(sessions(&stage, "diff").succeeded().stdout, "");

    let more = ["sessions", "message", "--yes", "edits", "more"];
    stage.offshoot(more).succeeded();
    let diff = sessions(&stage, "diff").succeeded();
    assert_eq!(
        diff.stdout,
        "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-one\n+four\n"
    );
    let back = sessions(&stage, "revert").succeeded();
    assert_eq!(back.stdout, "reverted f.txt\n");
    let text = fs::read_to_string(stage.path().join("f.txt")).unwrap();
    assert_eq!(text, "one\n");
}

#[test]
fn folders_that_were_made_for_a_file_go_with_it() {
    let stage = stage();
    sessions(&stage, "revert").succeeded();
    // A file system that does not tell when a folder was made keeps it.
    let tells = fs::metadata(stage.path()).unwrap().created().is_ok();
    assert_eq!(stage.path().join("new").exists(), !tells);
    assert!(!stage.path().join("new/deep/g.txt").exists());
}

#[test]
fn nothing_is_put_back_through_a_link() {
    let stage = stage();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("g.txt"), "").unwrap();
    let folder = stage.path().join("new/deep");
    fs::remove_dir_all(&folder).unwrap();
    symlink(outside.path(), &folder).unwrap();
    let back = sessions(&stage, "revert").exited(3);
    let expected = "reverted f.txt\nkept new/deep/g.txt: a link stands on the way now\n";
    assert_eq!(back.stdout, expected);
    assert!(outside.path().join("g.txt").exists());
}
