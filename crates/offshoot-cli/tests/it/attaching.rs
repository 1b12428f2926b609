//! `run --attach`: files that go with a prompt, and those that are refused.

use serde_json::{Value, json};

use crate::stage::{Done, Stage, of_type};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// One byte more than an attachment may have.
const OVER_CAP: u64 = 10 * 1024 * 1024 + 1;

fn run(stage: &Stage, file: &str) -> Done {
    let args = [
        "run",
        "--json",
        "--model",
        "scripted/script.yaml",
        "--attach",
        file,
        "look",
    ];
    stage.offshoot(args)
}

/// Returns `attachments` of the prompt in the events of a run.
fn attachments(done: &Done) -> Value {
    let events = done.events();
    let prompt = of_type(&events, "user.message").remove(0);
    prompt["data"]["attachments"].clone()
}

#[test]
fn a_file_goes_with_the_prompt_as_what_its_bytes_are() {
    let stage = Stage::new("replies: [{say: seen}]");
    std::fs::write(stage.path().join("shot.png"), PNG).unwrap();
    std::fs::write(stage.path().join("fake.png"), "no picture").unwrap();
    let done = run(&stage, "shot.png").succeeded();
    let shown = attachments(&done);
    assert_eq!(shown[0]["type"], "blob");
    assert_eq!(shown[0]["mimeType"], "image/png");
    assert_eq!(shown[0]["byteLength"], json!(PNG.len()));
    assert_eq!(shown[0]["displayName"], "shot.png");
    let done = run(&stage, "fake.png").succeeded();
    assert_eq!(attachments(&done)[0]["mimeType"], "text/plain");
}

#[test]
fn a_file_that_cannot_be_attached_is_refused_and_opens_no_session() {
    let stage = Stage::new("replies: [{say: seen}]");
    let large = std::fs::File::create(stage.path().join("large.bin")).unwrap();
    large.set_len(OVER_CAP).unwrap();
    for (file, told) in [("large.bin", "limit"), ("missing.png", "No such file")] {
        let done = run(&stage, file).exited(2);
        let error = &done.stderr;
        assert!(error.contains(file) && error.contains(told), "{error}");
        assert!(done.stdout.is_empty(), "{}", done.stdout);
    }
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert!(!listed.stdout.contains("look"), "{}", listed.stdout);
}
