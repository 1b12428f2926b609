//! A data folder that cannot be used, or not any more: said plainly, exit code 1, nothing spoilt.

use std::process::{Command, Stdio};

use crate::stage::{Done, Stage, wait};

const PLAIN: &str = "replies: [{say: '{prompt}'}]";

#[track_caller]
fn check(stage: &Stage, about: &str) {
    let database = stage.data().join("offshoot.db");
    let before = std::fs::read(&database).unwrap();
    let model = ["run", "--model", "scripted/script.yaml", "x"];
    for args in [
        &model[..],
        &["sessions", "list"],
        &["sessions", "message", "x", "y"],
    ] {
        stage.offshoot(args).complained(1, about);
    }
    // Not assert_eq, which would print both.
    assert!(
        std::fs::read(&database).unwrap() == before,
        "it was changed"
    );
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let stage = Stage::new(PLAIN);
    std::fs::create_dir(stage.data()).unwrap();
    let noise: Vec<u8> = (0..40_000_u32).map(|byte| (byte % 251) as u8).collect();
    std::fs::write(stage.data().join("offshoot.db"), noise).unwrap();
    check(&stage, "offshoot.db");
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let stage = Stage::new(PLAIN);
    stage.run("x").succeeded();
    let path = stage.data().join("offshoot.db");
    let mut database = std::fs::read(&path).unwrap();
    // Where SQLite keeps `user_version`.
    database[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    std::fs::write(&path, database).unwrap();
    check(&stage, "was written by a newer offshoot (schema 9999");
}

/// A database too large to be looked through, whose journal of files is damaged. Session `old` has
/// written to it.
fn large_and_damaged() -> Stage {
    let stage = Stage::new(
        "
        replies:
          - after_tools: false
            call: [{tool: write, arguments: {path: notes, content: new}}]
          - {say: done}
        ",
    );
    let needle = "what stood there before";
    stage.write("notes", &format!("{needle}{}", "x".repeat(3_000_000)));
    write_notes(&stage, "old").succeeded();
    let path = stage.data().join("offshoot.db");
    let mut database = std::fs::read(&path).unwrap();
    let mut places = database.windows(needle.len());
    let at = places.position(|bytes| bytes == needle.as_bytes()).unwrap();
    // The head of a page says what kind of page it is.
    database[at / 4096 * 4096..][..64].fill(0xee);
    // Without a trace of when: a file that somebody changed is looked through.
    let closed = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, database).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(closed).unwrap();
    stage
}

/// Has the script write to its file, in a session of this id.
fn write_notes(stage: &Stage, session: &str) -> Done {
    let args = ["run", "--quiet", "--yes", "--session", session];
    stage.offshoot([&args[..], &["--model", "scripted/script.yaml", "go"]].concat())
}

#[test]
fn damage_that_is_met_in_the_middle_of_a_run_is_told_in_one_line_and_the_file_stays_as_it_is() {
    let stage = large_and_damaged();
    let read = |name| std::fs::read(stage.data().join(name)).unwrap();
    let before = read("offshoot.db");
    stage.write("notes", "mine");
    let says = "offshoot.db is damaged: database disk image is malformed; nothing more is written";
    write_notes(&stage, "new").complained(1, says);
    assert_eq!(std::fs::read(stage.path().join("notes")).unwrap(), b"mine");
    // What was committed before is in the log beside it, and stays there.
    assert!(read("offshoot.db") == before, "it was changed");
    let log = read("offshoot.db-wal");
    assert!(!log.is_empty());
    // Whoever comes next finds that nobody has closed it, and looks before writing.
    write_notes(&stage, "next").complained(1, "offshoot.db is damaged: ");
    assert!(read("offshoot.db") == before, "it was changed");
    assert!(read("offshoot.db-wal") == log, "its log was changed");
}

#[test]
fn a_large_file_that_somebody_has_damaged_since_is_refused_and_left_untouched() {
    let stage = large_and_damaged();
    let path = stage.data().join("offshoot.db");
    let before = std::fs::read(&path).unwrap();
    std::fs::write(&path, &before).unwrap();
    write_notes(&stage, "new").complained(1, "offshoot.db is damaged: ");
    assert!(std::fs::read(&path).unwrap() == before, "it was changed");
}

#[test]
fn damage_that_is_met_in_reading_is_told_in_one_line() {
    let stage = large_and_damaged();
    let says = "offshoot.db is damaged: database disk image is malformed";
    let diff = ["sessions", "diff", "old"];
    stage.offshoot(diff).complained(1, says);
}

#[test]
fn a_log_that_cannot_be_written_any_more_parks_the_session() {
    let stage = Stage::new(
        "
        replies:
          - {prompt: hello, say: fine}
          - depth: 0
            after_tools: false
            call: [{tool: task, count: 20, arguments: {subagent_type: general, prompt: LONG}}]
          - {say: never}
        "
        .replace("LONG", &"a".repeat(200_000))
        .as_str(),
    );
    // A limit on the size of files is the full disk that needs no other disk.
    let limited = "trap '' XFSZ; ulimit -f 3000; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", limited, env!("CARGO_BIN_EXE_offshoot")])
        .args([
            "run",
            "--model",
            "scripted/script.yaml",
            "--session",
            "full",
            "go",
        ])
        .current_dir(stage.path())
        .env("OFFSHOOT_DATA_DIR", stage.data())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let done = wait(command.spawn().unwrap()).exited(1);
    let hint = "go on with: offshoot run --session full PROMPT";
    assert!(done.stderr.contains(hint), "{done:#?}");
    assert_eq!(stage.status("full"), "interrupted");
    let more = stage
        .offshoot(["run", "--session", "full", "hello"])
        .succeeded();
    assert_eq!(more.stdout, "fine\n");
}
