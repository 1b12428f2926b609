//! A data folder that cannot be used: one line, exit code 1, and nothing is touched.

use crate::stage::Stage;

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
