//! `sessions show ID --request`: what a server was sent is what is printed.

use serde_json::{Value, json};

use crate::provider::Provider;
use crate::stage::Stage;

fn calls(id: &str, tool: &str, arguments: &Value) -> Value {
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    json!({ "tool_calls": [{ "index": 0, "id": id, "type": "function", "function": function }] })
}

fn says(text: &str) -> Value {
    json!({ "content": text })
}

/// Prints a request as JSON, without a server and without a key.
#[track_caller]
fn request(stage: &Stage, id: &str, wanted: &[&str]) -> Value {
    let mut args = vec!["sessions", "show", id, "--request"];
    args.extend(wanted);
    args.push("--json");
    let done = stage.offshoot(args).succeeded();
    serde_json::from_str(&done.stdout).unwrap()
}

/// Returns the texts of a body that a server was sent, each with its role.
fn of_body(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = body["messages"].as_array().unwrap().iter();
    let told = messages.map(|message| {
        let call = &message["tool_calls"][0]["function"];
        let said = text(&message["content"]) + &text(&call["name"]) + &text(&call["arguments"]);
        (text(&message["role"]), said)
    });
    told.collect()
}

/// Returns the texts of a printed request in the same way.
fn of_printed(document: &Value) -> Vec<(String, String)> {
    let request = &document["request"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut told = vec![("system".to_owned(), text(&request["system"]))];
    for message in request["messages"].as_array().unwrap() {
        let role = text(&message["role"]);
        match role.as_str() {
            "user" => told.push((role, text(&message["text"]))),
            "assistant" => {
                let parts = message["parts"].as_array().unwrap().iter();
                let said = parts.map(|part| {
                    let call = &part["call"];
                    let arguments = &call["arguments"]["json"];
                    let arguments = if arguments.is_null() {
                        String::new()
                    } else {
                        arguments.to_string()
                    };
                    text(&part["text"]) + &text(&call["tool"]) + &arguments
                });
                told.push((role, said.collect()));
            }
            _ => {
                for outcome in message["outcomes"].as_array().unwrap() {
                    told.push((role.clone(), text(&outcome["text"])));
                }
            }
        }
    }
    told
}

#[track_caller]
fn check(body: &Value, document: &Value) {
    assert_eq!(of_body(body), of_printed(document));
    let tools = body["tools"].as_array().unwrap().iter();
    let sent: Vec<Value> = tools.map(|tool| tool["function"].clone()).collect();
    let tools = document["request"]["tools"].as_array().unwrap().iter();
    let printed: Vec<Value> = tools
        .map(|tool| {
            json!({ "name": tool["id"], "description": tool["description"],
                "parameters": tool["parameters"] })
        })
        .collect();
    assert_eq!(sent, printed);
    assert_eq!(document["remarks"][0]["kind"], "as_sent", "{document:#}");
}

#[test]
fn the_request_that_is_printed_is_the_one_that_the_server_was_sent() {
    let stage = Stage::new("replies: [{say: x}]");
    stage.write("a.txt", "what stands there\n");
    let server = Provider::answering(vec![
        calls("c1", "read", &json!({ "path": "a.txt" })),
        calls(
            "c2",
            "task",
            &json!({ "subagent_type": "explore", "prompt": "look" }),
        ),
        says("3 files"),
        says("done"),
        says("again"),
    ]);
    let run = [
        "run",
        "--yes",
        "--model",
        "openai-chat/large",
        "--session",
        "a-long-talk",
        "go",
    ];
    server.offshoot(&stage, &run).succeeded();
    let tree = stage
        .offshoot(["sessions", "tree", "a-long-talk", "--json"])
        .succeeded()
        .events();
    let child = tree[1]["agentId"]
        .as_str()
        .unwrap_or_else(|| panic!("{tree:#?}"));
    let sent = server.sent();
    check(&sent[0], &request(&stage, "a-long-talk", &["1"]));
    check(
        &sent[1],
        &request(&stage, "a-long-talk", &["a-long-talk", "2"]),
    );
    check(&sent[2], &request(&stage, "a-long-talk", &[child, "1"]));
    check(&sent[2], &request(&stage, child, &["1"]));
    check(&sent[3], &request(&stage, "a-long-talk", &["3"]));

    let next = request(&stage, "a-long-talk", &[]);
    assert_eq!(next["step"], 4);
    let kinds: Vec<&Value> = next["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|remark| &remark["kind"])
        .collect();
    assert_eq!(kinds, ["next", "no_prompt"]);
    server
        .offshoot(
            &stage,
            &["run", "--yes", "--session", "a-long-talk", "more"],
        )
        .succeeded();
    let sent = server.sent();
    check(&sent[4], &request(&stage, "a-long-talk", &["4"]));
    let mut expected = of_printed(&next);
    expected.push(("assistant".to_owned(), "done".to_owned()));
    expected.truncate(of_body(&sent[4]).len() - 1);
    assert_eq!(of_body(&sent[4])[..expected.len()], expected[..]);

    let shown = stage
        .offshoot(["sessions", "show", "a-long-talk", "--request", "2"])
        .succeeded();
    for part in [
        "=== system",
        "=== tools",
        "--- task",
        "=== messages (3)",
        "[call read c1]",
        "what stands there",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown:#?}");
    }
    stage
        .offshoot(["sessions", "show", "a-long-talk", "--request", "9"])
        .exited(2);
    stage
        .offshoot(["sessions", "show", "a-long-talk", "--request", "0"])
        .exited(2);
}

#[test]
fn a_definition_that_has_changed_since_is_said() {
    let script = "agents: [{name: lead, prompt: One., mode: primary}]\nreplies: [{say: hello}]";
    let stage = Stage::new(script);
    let run = [
        "run",
        "--agent",
        "lead",
        "--model",
        "scripted/script.yaml",
        "--session",
        "a-long-talk",
        "go",
    ];
    stage.offshoot(run).succeeded();
    assert_eq!(
        request(&stage, "a-long-talk", &["1"])["remarks"][0]["kind"],
        "as_sent"
    );
    stage.write("script.yaml", &script.replace("One.", "Two."));
    let changed = request(&stage, "a-long-talk", &["1"]);
    assert_eq!(changed["remarks"][0]["kind"], "system_differs");
}
