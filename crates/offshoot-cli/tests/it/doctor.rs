//! `doctor`: looks at everything and changes nothing.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use crate::stage::{Done, Stage, wait};

const HANGS: &str = "replies: [{prompt: hang, say: thinking, fault: hang}, {say: '{prompt}'}]";

const DOCTOR: [&str; 3] = ["doctor", "--model", "scripted/script.yaml"];

/// The line for one thing, as `ok detail`.
#[track_caller]
fn line(done: &Done, what: &str) -> String {
    let found = done.stdout.lines().find_map(|line| {
        let (verdict, rest) = line.split_once(' ')?;
        let (name, detail) = rest.trim_start().split_once("  ")?;
        (name == what).then(|| format!("{verdict} {}", detail.trim_start()))
    });
    found.unwrap_or_else(|| panic!("nothing about {what}: {done:#?}"))
}

/// Everything in a folder: name, size and when it changed. The index of a log is rebuilt by whoever
/// reads it, so of that only the name counts.
fn contents(folder: &Path) -> BTreeMap<String, Option<(u64, SystemTime)>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        if about.is_dir() {
            found.extend(contents(&path));
        }
        let name = path.to_str().unwrap().to_owned();
        let state = (about.len(), about.modified().unwrap());
        found.insert(name.clone(), (!name.ends_with("-shm")).then_some(state));
    }
    found
}

#[test]
fn nothing_is_made_where_nothing_is() {
    let stage = Stage::new(HANGS);
    let before = contents(stage.path());
    let log = ["--log-file", "a.log", "--log-level", "trace"];
    let done = stage.offshoot([&DOCTOR[..], &log].concat()).succeeded();
    assert_eq!(contents(stage.path()), before);
    assert!(line(&done, "data folder").ends_with("is made by the first session"));
    assert!(line(&done, "data folder").contains("from the variable OFFSHOOT_DATA_DIR"));
    assert_eq!(
        line(&done, "version"),
        format!("ok {}", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(
        line(&done, "model"),
        "ok scripted/script.yaml, from --model"
    );
    assert!(
        line(&done, "config file").contains("yours would be "),
        "{done:#?}"
    );
    for what in [
        "free space",
        "file system",
        "kernel",
        "openat2",
        "bash",
        "open files",
    ] {
        line(&done, what);
    }
    assert_eq!(done.stderr, "");
}

#[test]
fn sessions_are_counted_and_none_is_touched() {
    let stage = Stage::new(HANGS);
    stage.run("one").succeeded();
    let before = contents(&stage.data());
    let done = stage.offshoot(DOCTOR).succeeded();
    assert_eq!(line(&done, "database"), "ok opens, schema 5");
    assert_eq!(line(&done, "sessions"), "ok 1, 0 running, 0 interrupted");
    assert_eq!(contents(&stage.data()), before);
    // While one runs, and after it was killed.
    let mut alive = stage.start("alive", "hang");
    alive.until("assistant.message_delta");
    let done = stage.offshoot(DOCTOR).succeeded();
    assert_eq!(line(&done, "sessions"), "ok 2, 1 running, 0 interrupted");
    alive.kill();
    let before = contents(&stage.data());
    let done = stage.offshoot(DOCTOR).succeeded();
    assert_eq!(line(&done, "sessions"), "ok 2, 0 running, 1 interrupted");
    assert_eq!(contents(&stage.data()), before);
    assert_eq!(stage.status("alive"), "interrupted");
}

#[test]
fn a_start_that_was_killed_is_a_warning_until_the_next_one_repairs_it() {
    let stage = Stage::new(HANGS);
    stage.write("data/offshoot.db", "");
    // What SQLite leaves beside the file if it is killed before its first transaction ends.
    let journal = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    std::fs::write(stage.data().join("offshoot.db-journal"), journal).unwrap();
    let before = contents(&stage.data());
    let done = stage.offshoot(DOCTOR).succeeded();
    assert_eq!(
        line(&done, "database"),
        "warn the last start was interrupted; the next command that opens it repairs it"
    );
    assert_eq!(contents(&stage.data()), before);
    stage.run("one").succeeded();
    let done = stage.offshoot(DOCTOR).succeeded();
    assert_eq!(line(&done, "sessions"), "ok 1, 0 running, 0 interrupted");
}

#[test]
fn settings_are_listed_with_where_they_come_from() {
    let stage = Stage::new(HANGS);
    stage.write("offshoot.toml", "agent = 'general'\n[limits]\ndepth = 2");
    let mut command = stage.command(DOCTOR);
    let done = wait(command.env("NO_COLOR", "1").spawn().unwrap()).succeeded();
    let file = stage.path().join("offshoot.toml");
    let file = file.canonicalize().unwrap();
    let settings: Vec<&str> = done
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("ok    setting          "))
        .collect();
    let from = |name: &str, line: u8| format!("{name}, from {} line {line}", file.display());
    assert!(
        settings.contains(&from("agent = general", 1).as_str()),
        "{settings:#?}"
    );
    assert!(
        settings.contains(&from("limits.depth = 2", 3).as_str()),
        "{settings:#?}"
    );
    assert!(
        settings.contains(&"color = never, from the variable NO_COLOR"),
        "{settings:#?}"
    );
    assert!(
        settings.contains(&"model = scripted/script.yaml, from --model"),
        "{settings:#?}"
    );
}

#[test]
fn what_is_wrong_fails_and_the_rest_is_looked_at() {
    let stage = Stage::new(HANGS);
    stage.write("offshoot.toml", "modle = 'x'");
    stage.write("data/offshoot.db", &"no database ".repeat(400));
    let done = stage.offshoot(DOCTOR).exited(1);
    assert!(
        line(&done, "config").starts_with("fail unknown key `modle`"),
        "{done:#?}"
    );
    assert!(line(&done, "database").starts_with("fail "), "{done:#?}");
    assert!(line(&done, "model").starts_with("ok "), "{done:#?}");
    let done = stage
        .offshoot(["doctor", "--model", "acme/large"])
        .exited(1);
    assert!(
        line(&done, "model").starts_with("fail there is no model acme/large"),
        "{done:#?}"
    );
    // A variable that is wrong leaves nothing to look at but the system.
    let mut command = stage.command(DOCTOR);
    let done = wait(command.env("OFFSHOOT_LOG", "loud").spawn().unwrap()).exited(1);
    line(&done, "kernel");
}

#[test]
fn a_data_folder_that_cannot_be_one_fails() {
    let stage = Stage::new(HANGS);
    stage.write("data", "a file");
    let done = stage.offshoot(DOCTOR).exited(1);
    assert!(
        line(&done, "data folder").ends_with("is not a folder"),
        "{done:#?}"
    );
}

#[test]
fn a_server_is_called_and_its_key_is_not_shown() {
    let stage = Stage::new(HANGS);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ask = |base_url: &str, key: &str| {
        let mut command = stage.command(["doctor", "--model", "openai-chat/large"]);
        command
            .env("OPENAI_BASE_URL", base_url)
            .env("OPENAI_API_KEY", key);
        wait(command.spawn().unwrap())
    };
    let address = format!("http://127.0.0.1:{port}/v1");
    let done = ask(&address, "sk-very-secret");
    assert!(line(&done, "model server").starts_with("ok "), "{done:#?}");
    assert!(
        line(&done, "model server").ends_with("answers"),
        "{done:#?}"
    );
    assert_eq!(line(&done, "model key"), "ok OPENAI_API_KEY is set");
    assert!(!done.stdout.contains("very-secret"), "{done:#?}");
    let done = ask(&address, "");
    assert!(line(&done, "model key").starts_with("warn OPENAI_API_KEY is not set"));
    let done = ask(&address, "sk-with a space");
    assert!(line(&done, "model key").starts_with("fail "), "{done:#?}");
    drop(listener);
    let done = ask(&address, "sk").exited(1);
    assert!(
        line(&done, "model server").starts_with("fail "),
        "{done:#?}"
    );
    let done = ask("localhost:80", "sk").exited(1);
    assert!(
        line(&done, "model server").contains("http:// or https://"),
        "{done:#?}"
    );
}

#[test]
fn no_password_of_an_address_is_shown_or_logged() {
    let stage = Stage::new(HANGS);
    for address in [
        "http://me:hunter2@127.0.0.1:9/v1?api-key=hunter2",
        "http://127.0.0.1:9/v1?api-key=hunter2",
        "me:hunter2@127.0.0.1",
    ] {
        let with = |args: &[&str]| {
            let mut command = stage.command(args);
            wait(command.env("OPENAI_BASE_URL", address).spawn().unwrap())
        };
        for more in [&[][..], &["--json"]] {
            let args = [&["doctor", "--model", "openai-chat/x"], more].concat();
            let done = with(&args).exited(1);
            assert!(!done.stdout.contains("hunter2"), "{done:#?}");
            assert!(done.stdout.contains("127.0.0.1"), "{done:#?}");
        }
        let log = ["--log-file", "a.log", "--log-level", "trace"];
        let run = ["run", "--model", "openai-chat/x", "x"];
        let done = with(&[&run[..], &log].concat());
        assert!(!done.stderr.contains("hunter2"), "{done:#?}");
    }
    let log = std::fs::read_to_string(stage.path().join("a.log")).unwrap();
    assert!(log.contains("providers.openai-chat.base_url"), "{log}");
    assert!(!log.contains("hunter2"), "{log}");
}

#[test]
fn a_program_gets_one_object_a_line() {
    let stage = Stage::new(HANGS);
    let json = [&DOCTOR[..], &["--json"]].concat();
    let findings = stage.offshoot(json).succeeded().events();
    assert!(findings.len() > 10);
    for finding in &findings {
        assert!(
            ["ok", "warn"].contains(&finding["status"].as_str().unwrap()),
            "{finding}"
        );
        assert!(
            finding["what"].is_string() && finding["detail"].is_string(),
            "{finding}"
        );
    }
    assert_eq!(
        findings[0]["detail"],
        Value::from(env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn colours_are_for_terminals_and_for_who_asks() {
    let stage = Stage::new(HANGS);
    let colored = |done: &str| done.contains("\u{1b}[32mok");
    let with = |more: &[&'static str]| [&DOCTOR[..], more].concat();
    assert!(!colored(&stage.offshoot(DOCTOR).succeeded().stdout));
    let always = with(&["--color", "always"]);
    assert!(colored(&stage.offshoot(&always).succeeded().stdout));
    assert!(colored(&stage.on_terminal(80, &DOCTOR)));
    let never = with(&["--color", "never"]);
    assert!(!stage.on_terminal(80, &never).contains('\u{1b}'));
}
