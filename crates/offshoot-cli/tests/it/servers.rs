//! The MCP servers that a repository names: listed with what they may do, and accepted like agents.

use serde_json::{Value, json};

use crate::stage::Stage;

const SCRIPT: &str = "replies: [{say: hello}]";

const FILE: &str = ".mcp.json";

const SERVERS: &str = r#"{"mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@acme/files", "a b"], "env": {"TOKEN": "${GH_TOKEN}"}},
    "wiki": {"type": "http", "url": "https://wiki.test/mcp?k=${env:WIKI_KEY}",
             "headers": {"Authorization": "Bearer ${WIKI_KEY:-none}"}}
}}"#;

fn bringing(file: &str) -> Stage {
    let stage = Stage::new(SCRIPT);
    stage.write(FILE, file);
    stage
}

fn listed(stage: &Stage) -> Vec<Value> {
    let list = stage.offshoot(["trust", "--list", "--json"]);
    list.succeeded().events()
}

/// Name and status of each.
fn standing(stage: &Stage) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let things = listed(stage);
    let each = things.iter();
    each.map(|thing| (text(&thing["name"]), text(&thing["status"])))
        .collect()
}

fn pairs(expected: [(&str, &str); 2]) -> Vec<(String, String)> {
    expected
        .map(|(name, status)| (name.to_owned(), status.to_owned()))
        .to_vec()
}

#[test]
fn servers_are_listed_with_what_they_may_do_and_accepted_as_they_are() {
    let stage = bringing(SERVERS);
    let things = listed(&stage);
    assert_eq!(things.len(), 2);
    let [files, wiki] = [&things[0], &things[1]];
    assert_eq!(
        (&files["kind"], &files["path"]),
        (&json!("server"), &json!(".mcp.json#files"))
    );
    assert_eq!(
        files["may"],
        "starts a program as you, which no rule holds: npx -y @acme/files \"a b\"; sets TOKEN; is \
         given your GH_TOKEN; this version does not start it yet"
    );
    assert_eq!(
        wiki["may"],
        "sends what agents ask of its tools to https://wiki.test/mcp?k=${env:WIKI_KEY}; sends the \
         headers Authorization; is given your WIKI_KEY; this version does not start it yet"
    );
    stage.offshoot(["trust", "--all"]).succeeded();
    assert_eq!(
        standing(&stage),
        pairs([("files", "accepted"), ("wiki", "accepted")])
    );
    // The order in which things are written says nothing; what is written does.
    let other = r#"{"mcpServers": {
        "wiki": {"url": "https://wiki.test/mcp?k=${env:WIKI_KEY}", "type": "http",
                 "headers": {"Authorization": "Bearer ${WIKI_KEY:-none}"}},
        "files": {"command": "npx", "args": ["-y", "@evil/files"]}}}"#;
    stage.write(FILE, other);
    assert_eq!(
        standing(&stage),
        pairs([("files", "changed"), ("wiki", "accepted")])
    );
    stage.offshoot(["trust", "--revoke"]).succeeded();
    assert_eq!(standing(&stage), pairs([("files", "new"), ("wiki", "new")]));
}

#[test]
fn what_one_server_was_accepted_as_another_is_not() {
    let stage = bringing(r#"{"one": {"command": "true"}, "two": {"command": "false"}}"#);
    stage.offshoot(["trust", "--all"]).succeeded();
    // Rules name servers: what was accepted under one name is not accepted under another.
    stage.write(
        FILE,
        r#"{"one": {"command": "false"}, "two": {"command": "true"}}"#,
    );
    assert_eq!(
        standing(&stage),
        pairs([("one", "changed"), ("two", "changed")])
    );
}

#[test]
fn doctor_names_servers_and_a_run_starts_none() {
    let stage = bringing(r#"{"mcpServers": {"mark": {"command": "touch", "args": ["started"]}}}"#);
    let doctor = stage.offshoot(["doctor"]).succeeded();
    let text = "MCP servers of the project, not trusted; see \"offshoot trust\": mark";
    assert!(doctor.stdout.contains(text), "{doctor:#?}");
    for args in [["trust", "--list"], ["trust", "--all"]] {
        let done = stage.offshoot(args).succeeded();
        let text = "MCP servers are not started yet";
        assert_eq!(done.stderr.matches(text).count(), 1, "{done:#?}");
    }
    let doctor = stage.offshoot(["doctor"]).succeeded();
    let text = "MCP servers of the project, which this version does not start yet: mark";
    assert!(doctor.stdout.contains(text), "{doctor:#?}");
    let run = ["run", "--yes", "--model", "scripted/script.yaml", "x"];
    let done = stage.offshoot(run).succeeded();
    let text =
        "1 MCP server of this folder (.mcp.json) is not used: MCP servers are not started yet";
    let lines = done.stderr.lines().filter(|line| *line == text);
    assert_eq!(lines.count(), 1, "{done:#?}");
    assert!(!stage.path().join("started").exists());
}

/// Has a file that is wrong looked at; it is told, and the rest of the folder is there.
#[track_caller]
fn check(file: &str, told: &str) {
    let stage = bringing(file);
    stage.write(".offshoot/agents/critic.md", "---\nmode: all\n---\nx");
    let done = stage.offshoot(["trust", "--list"]).succeeded();
    assert!(done.stdout.contains("agent \"critic\""), "{done:#?}");
    assert!(done.stderr.contains(told), "{file}: {done:#?}");
    stage.offshoot(["doctor"]).succeeded();
}

#[test]
fn a_file_that_is_wrong_is_told_with_its_place_and_what_would_be_right() {
    check(
        "{\n  \"mcpServers\": [,]}",
        ".mcp.json:2: it is not JSON: expected value",
    );
    check("[1]", ".mcp.json: it has no object `mcpServers`");
    check("{}", ".mcp.json: it has no object `mcpServers`");
    check(r#"{"mcpServers": 1}"#, "it has no object `mcpServers`");
    check(r#"{"mcpServers": {"a": 1}}"#, "server \"a\" is no object");
    let server = |server: &str, told: &str| {
        check(
            &format!(r#"{{"mcpServers": {{"a": {server}}}}}"#),
            &format!("server \"a\": {told}"),
        );
    };
    server("{}", "it has neither `command` nor `url`");
    server(r#"{"command": "x", "url": "y"}"#, "it has both");
    server(
        r#"{"command": "x", "type": "htpp"}"#,
        "there is no type \"htpp\"; did you mean http?",
    );
    server(
        r#"{"command": "x", "type": "http"}"#,
        "type http needs `url`",
    );
    server(
        r#"{"url": "x", "type": "stdio"}"#,
        "type stdio needs `command`",
    );
    server(r#"{"command": ["x"]}"#, "`command` is no text");
    server(
        r#"{"command": "x", "args": "y"}"#,
        "`args` is no list of texts",
    );
    server(
        r#"{"command": "x", "env": {"A": 1}}"#,
        "`env` is no object of texts",
    );
    let deep = format!(r#"{{"a": {}{}}}"#, "[".repeat(1000), "]".repeat(1000));
    check(&deep, "recursion limit");
    check(&"x".repeat(300 * 1024), "it is too large");
    let long = "n".repeat(65);
    check(
        &format!(r#"{{"{long}": {{"command": "x"}}}}"#),
        "a name has 1 to 64 letters",
    );
    let many: Vec<String> = (0..100)
        .map(|at| format!(r#""s{at:03}": {{"command": "x"}}"#))
        .collect();
    check(
        &format!("{{{}}}", many.join(",")),
        "it names more than 64 servers",
    );
}

#[test]
fn a_link_that_leads_out_and_what_is_no_file_are_not_read() {
    let stage = Stage::new(SCRIPT);
    std::os::unix::fs::symlink("/etc/hostname", stage.path().join(FILE)).unwrap();
    let done = stage.offshoot(["trust", "--list"]).exited(1);
    assert!(
        done.stderr.contains("it leads out of its folder"),
        "{done:#?}"
    );
    std::fs::remove_file(stage.path().join(FILE)).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(stage.path().join(FILE))
        .status();
    assert!(made.unwrap().success());
    let done = stage.offshoot(["trust", "--list"]).exited(1);
    assert!(done.stderr.contains("it is not a file"), "{done:#?}");
}

#[test]
fn names_and_commands_do_nothing_to_a_terminal() {
    let stage = bringing(
        r#"{"a\u001b[2J": {"command": "x"}, "b\u202e": {"command": "\u001b]0;x", "env": {"\u001b[1m": ""}}}"#,
    );
    for args in [&["trust", "--list"][..], &["doctor"], &["trust", "--all"]] {
        let done = stage.offshoot(args).succeeded();
        for text in [&done.stdout, &done.stderr] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{args:?}: {text:?}");
        }
    }
}
