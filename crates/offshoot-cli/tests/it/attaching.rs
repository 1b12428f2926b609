//! `run --attach`: files that go with a prompt, and those that are refused.

use serde_json::{Value, json};

use crate::provider::Provider;
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

#[test]
fn a_word_of_a_prompt_that_names_a_file_attaches_it() {
    let stage = Stage::new("replies: [{say: seen}]");
    std::fs::write(stage.path().join("shot.png"), PNG).unwrap();
    let prompt = "look at @shot.png, not at @missing.png or a@b";
    let run = ["run", "--json", "--model", "scripted/script.yaml", prompt];
    let done = stage.offshoot(run).succeeded();
    let shown = attachments(&done);
    assert_eq!(shown.as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(shown[0]["displayName"], "shot.png");
    assert_eq!(shown[0]["mimeType"], "image/png");
    let large = std::fs::File::create(stage.path().join("large.bin")).unwrap();
    large.set_len(OVER_CAP).unwrap();
    let run = [
        "run",
        "--model",
        "scripted/script.yaml",
        "look at @large.bin",
    ];
    let done = stage.offshoot(run).exited(2);
    assert!(done.stderr.contains("large.bin"), "{done:#?}");
}

#[test]
fn a_picture_is_sent_to_a_model_that_takes_images_and_its_name_to_any_other() {
    for (images, expected) in [("true", "image_url"), ("false", "text")] {
        let stage = Stage::new("replies: []");
        std::fs::write(stage.path().join("shot.png"), PNG).unwrap();
        let server = Provider::answering(vec![json!({ "content": "seen" })]);
        let config = format!(
            "[providers.eyes]\nkind = 'openai-chat'\nbase_url = '{}'\n\
             models.m.images = {images}\n",
            server.address
        );
        stage.write(".config/offshoot/offshoot.toml", &config);
        let run = ["run", "--model", "eyes/m", "--attach", "shot.png", "look"];
        let done = stage.offshoot(run).succeeded();
        let sent = server.sent().remove(0);
        let messages = sent["messages"].as_array().unwrap();
        let prompt = &messages.last().unwrap()["content"];
        let parts = prompt.as_array();
        let last = parts.and_then(|parts| parts.last());
        let kind = last.map_or("text", |part| part["type"].as_str().unwrap());
        assert_eq!(kind, expected, "{prompt}");
        let told = done.stderr.matches("takes no images").count();
        assert_eq!(told, usize::from(images == "false"), "{done:#?}");
        if images == "false" {
            assert!(prompt.to_string().contains("shot.png"), "{prompt}");
        }
    }
}
