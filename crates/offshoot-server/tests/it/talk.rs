//! Sessions, prompts and cancels over a whole connection.

use serde_json::{Value, json};

use crate::connection::{Ground, prompt};

pub(crate) const SCRIPT: &str = r#"
agents:
  - {name: lead, mode: primary, description: Leads., prompt: Lead., tools: [task, read, write, message, question]}
  - {name: other, mode: primary, description: Another., prompt: Be another.}
  - {name: worker, mode: subagent, description: Works., prompt: Work., tools: [read, write, task]}
replies:
  - {agent: lead, after_tools: false, prompt: delegate, call: [{tool: task, arguments: {subagent_type: worker, prompt: do it}}]}
  - {agent: lead, after_tools: false, prompt: spread, call: [{tool: task, arguments: {subagent_type: worker, prompt: do it, background: true}}]}
  - {agent: lead, prompt: "<task_completion", say: heard}
  - {agent: lead, after_tools: false, prompt: leave, call: [{tool: task, arguments: {subagent_type: worker, prompt: hang, background: true}}]}
  - {agent: lead, after_tools: false, prompt: two, call: [{tool: task, arguments: {subagent_type: worker, prompt: hang}}, {tool: task, arguments: {subagent_type: worker, prompt: do it}}]}
  - {agent: lead, after_tools: false, prompt: deep, call: [{tool: task, arguments: {subagent_type: worker, prompt: nest}}]}
  - {agent: lead, after_tools: false, prompt: broken, call: [{tool: task, arguments: {subagent_type: worker, prompt: break}}]}
  - {agent: lead, after_tools: false, prompt: hang, call: [{tool: task, arguments: {subagent_type: worker, prompt: hang}}]}
  - {agent: lead, after_tools: false, prompt: write, call: [{tool: write, arguments: {path: a.txt, content: hello}}]}
  - {agent: lead, after_tools: false, prompt: guarded, call: [{tool: task, arguments: {subagent_type: worker, prompt: write it}}]}
  - {agent: lead, after_tools: false, prompt: fail, fault: malformed}
  - {agent: lead, after_tools: false, prompt: ask, call: [{tool: question, arguments: {questions: [{question: Which one?, options: [{label: A}, {label: B}]}]}}]}
  - {agent: other, say: other here}
  - {agent: lead, after_tools: true, say: done}
  - {agent: lead, say: [Hel, lo]}
  - {agent: worker, after_tools: false, prompt: write it, call: [{tool: write, arguments: {path: b.txt, content: x}}]}
  - {agent: worker, after_tools: false, prompt: nest, call: [{tool: task, arguments: {subagent_type: worker, prompt: hang}}]}
  - {agent: worker, after_tools: true, prompt: nest, say: nested}
  - {agent: worker, prompt: break, fault: malformed}
  - {agent: worker, prompt: hang, delay_ms: 600000, say: never}
  - {agent: worker, say: did it}
"#;

pub(crate) fn flat() -> Value {
    json!({})
}

pub(crate) fn sessions() -> Value {
    json!({ "subagents": {} })
}

pub(crate) fn stop(result: &Value) -> &str {
    result["stopReason"].as_str().unwrap()
}

#[tokio::test]
async fn a_prompt_is_answered_behind_its_text() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let answer = client.prompt(&id, "hi").await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    assert_eq!(client.words(&id), "Hello");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_1_a_child_is_announced_by_its_parent_before_anything_names_it() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let answer = client.prompt(&id, "delegate").await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    let announced = client.updates_of("subagent_update");
    let (on, first) = announced[0];
    assert_eq!(on, id);
    let child = first["sessionId"].as_str().unwrap().to_owned();
    let position = |wanted: &dyn Fn(&(&str, &Value)) -> bool| {
        client.updates().iter().position(wanted).unwrap()
    };
    let announced_at = position(&|(_, update)| update["sessionUpdate"] == "subagent_update");
    let named_at = position(&|(on, update)| {
        *on == child
            || (update["sessionUpdate"] != "subagent_update" && update.to_string().contains(&child))
    });
    assert!(announced_at < named_at);
    let states: Vec<&str> = client
        .updates_of("subagent_update")
        .into_iter()
        .filter_map(|(_, update)| update["state"]["state"].as_str())
        .collect();
    assert_eq!(states, ["running", "idle"]);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_background_child_holds_its_prompt_open_until_the_tree_is_quiet() {
    for capabilities in [flat(), sessions()] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(capabilities).await;
        let answer = client.prompt(&id, "spread").await.unwrap();
        assert_eq!(stop(&answer), "end_turn");
        assert_eq!(client.words(&id), "doneheard");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_cancel_answers_the_open_prompt_and_all_that_are_queued() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let open = client.send("session/prompt", prompt(&id, "hang")).await;
    let queued = client.send("session/prompt", prompt(&id, "hi")).await;
    client
        .until(|message| message["params"]["update"]["state"]["state"] == "running")
        .await;
    client
        .notify("session/cancel", json!({ "sessionId": id }))
        .await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
    assert_eq!(stop(&client.answer(queued).await.unwrap()), "cancelled");
    // What was queued is forgotten, and the session goes on.
    let answer = client.prompt(&id, "hi").await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    assert_eq!(client.words(&id), "Hello");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_cancel_that_is_sent_right_behind_a_prompt_finds_it() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let open = client.send("session/prompt", prompt(&id, "hang")).await;
    client
        .notify("session/cancel", json!({ "sessionId": id }))
        .await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_14_a_cancelled_child_takes_neither_its_parent_nor_the_turn_with_it() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let open = client.send("session/prompt", prompt(&id, "hang")).await;
    let running = client
        .until(|message| message["params"]["update"]["state"]["state"] == "running")
        .await;
    let child = running["params"]["update"]["sessionId"].clone();
    client
        .notify("session/cancel", json!({ "sessionId": child }))
        .await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
    let updates = client.updates_of("subagent_update");
    let (_, last) = updates.last().unwrap();
    assert_eq!(last["state"]["stopReason"], "cancelled");
    assert_eq!(client.words(&id), "done");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_4_a_childs_permission_is_asked_on_its_own_session_or_in_the_flat_form_on_the_roots() {
    for (capabilities, on_root) in [(flat(), true), (sessions(), false)] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(capabilities).await;
        let answer = client.prompt(&id, "guarded").await.unwrap();
        assert_eq!(stop(&answer), "end_turn");
        let is_ask = |it: &&Value| it["method"] == "session/request_permission";
        let asked: Vec<&Value> = client.seen.iter().filter(is_ask).collect();
        assert_eq!(asked.len(), 1);
        let params = &asked[0]["params"];
        assert_eq!(params["sessionId"] == id.as_str(), on_root);
        assert_eq!(params["toolCall"]["title"], "worker: write b.txt");
        assert!(
            std::path::Path::new(&ground.workspace())
                .join("b.txt")
                .exists()
        );
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_denied_permission_is_a_failed_call() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.allows = Some("deny");
    client.prompt(&id, "write").await.unwrap();
    let statuses: Vec<&str> = client
        .updates_of("tool_call_update")
        .into_iter()
        .filter_map(|(_, update)| update["status"].as_str())
        .collect();
    assert_eq!(statuses, ["failed"]);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_permission_that_is_open_holds_up_no_other_request() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.allows = None;
    let open = client.send("session/prompt", prompt(&id, "write")).await;
    let asked = client
        .until(|message| message["method"] == "session/request_permission")
        .await;
    let listed = client.call("session/list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "once" } });
    client.respond(&asked, outcome).await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn r16_a_permission_that_was_open_when_the_client_vanished_is_asked_again() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.allows = None;
    client.send("session/prompt", prompt(&id, "write")).await;
    client
        .until(|message| message["method"] == "session/request_permission")
        .await;
    client.hang_up().await.unwrap();
    let mut client = ground.initialized(flat()).await;
    client.allows = None;
    let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
    client.call("session/load", request).await.unwrap();
    let before = client.seen.len();
    let asked = client
        .until(|message| message["method"] == "session/request_permission")
        .await;
    assert!(client.seen.len() > before, "rule 19: behind the response");
    assert_eq!(asked["params"]["sessionId"], id.as_str());
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_fails_is_an_error_of_its_prompt() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let error = client.prompt(&id, "fail").await.unwrap_err();
    assert_eq!(error["code"], -32603);
    let answer = client.prompt(&id, "hi").await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_question_is_a_form_or_a_choice_among_options() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground
        .session(json!({ "elicitation": { "form": {} } }))
        .await;
    let open = client.send("session/prompt", prompt(&id, "ask")).await;
    let asked = client
        .until(|message| message["method"] == "elicitation/create")
        .await;
    let schema = &asked["params"]["requestedSchema"]["properties"]["question_1"];
    assert_eq!(schema["oneOf"][1]["const"], "B");
    let accept = json!({ "action": "accept", "content": { "question_1": "B" } });
    client.respond(&asked, accept).await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
    client.hang_up().await.unwrap();

    let (mut client, id) = ground.session(flat()).await;
    client.allows = Some("1");
    client.prompt(&id, "ask").await.unwrap();
    let asked = client
        .seen
        .iter()
        .find(|it| it["method"] == "session/request_permission")
        .unwrap();
    assert_eq!(asked["params"]["options"][1]["name"], "B");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_12_and_13_a_child_is_listed_nowhere_and_takes_no_request_but_cancel() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    client.prompt(&id, "delegate").await.unwrap();
    let child = client.updates_of("subagent_update")[0].1["sessionId"].clone();
    let cwd = ground.workspace();
    for (method, params) in [
        ("session/prompt", prompt(child.as_str().unwrap(), "hi")),
        (
            "session/load",
            json!({ "sessionId": child, "cwd": cwd, "mcpServers": [] }),
        ),
        ("session/resume", json!({ "sessionId": child, "cwd": cwd })),
        ("session/fork", json!({ "sessionId": child, "cwd": cwd })),
        ("session/close", json!({ "sessionId": child })),
        ("session/delete", json!({ "sessionId": child })),
    ] {
        let error = client.call(method, params).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{method}");
    }
    let listed = client.call("session/list", json!({})).await.unwrap();
    let listed: Vec<&Value> = listed["sessions"].as_array().unwrap().iter().collect();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["sessionId"], id.as_str());
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_19_a_loaded_session_shows_the_same_tree() {
    for capabilities in [flat(), sessions()] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(capabilities.clone()).await;
        client.prompt(&id, "delegate").await.unwrap();
        let before: Vec<Value> = shape(&client.updates());
        client.hang_up().await.unwrap();

        let mut client = ground.initialized(capabilities).await;
        let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
        let load = client.send("session/load", request).await;
        client.answer(load).await.unwrap();
        let after = shape(&client.updates());
        assert_eq!(after, before);
        let answer = client.prompt(&id, "hi").await.unwrap();
        assert_eq!(stop(&answer), "end_turn");
        client.hang_up().await.unwrap();
    }
}

/// What updates say, without how text was cut.
fn shape(updates: &[(&str, &Value)]) -> Vec<Value> {
    let is_plain = |update: &Value| {
        let kind = update["sessionUpdate"].as_str().unwrap();
        !matches!(
            kind,
            "agent_message_chunk" | "usage_update" | "available_commands_update"
        )
    };
    let updates = updates.iter().filter(|(_, update)| is_plain(update));
    updates
        .map(|(on, update)| json!({ "on": on, "update": update }))
        .collect()
}

#[tokio::test]
async fn a_resumed_session_shows_nothing_from_before() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "hi").await.unwrap();
    client.hang_up().await.unwrap();
    let mut client = ground.initialized(flat()).await;
    let request = json!({ "sessionId": id, "cwd": ground.workspace() });
    client.call("session/resume", request).await.unwrap();
    assert_eq!(client.words(&id), "");
    client.prompt(&id, "hi").await.unwrap();
    assert_eq!(client.words(&id), "Hello");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_fork_is_a_session_of_its_own() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "hi").await.unwrap();
    let request = json!({ "sessionId": id, "cwd": ground.workspace() });
    let forked = client.call("session/fork", request).await.unwrap();
    let copy = forked["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(copy, id);
    client.prompt(&copy, "hi").await.unwrap();
    assert_eq!(client.words(&copy), "Hello");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn bad_lines_are_answered_and_the_connection_goes_on() {
    let ground = Ground::new(SCRIPT);
    let mut client = ground.connect();
    for line in [b"{".as_slice(), b"\xff\xfe", &vec![b'x'; 65 * 1024 * 1024]] {
        client.line(line).await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], -32700);
        assert_eq!(answer["id"], Value::Null);
    }
    let early = client
        .call("session/new", json!({ "cwd": "/", "mcpServers": [] }))
        .await;
    assert_eq!(early.unwrap_err()["code"], -32600);
    let request = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    client.call("initialize", request).await.unwrap();
    for (method, params, code) in [
        ("session/prompt", prompt("nowhere", "hi"), -32002),
        ("session/prompt", json!({ "sessionId": 7 }), -32602),
        (
            "session/new",
            json!({ "cwd": "not/absolute", "mcpServers": [] }),
            -32602,
        ),
        (
            "session/new",
            json!({ "cwd": "/no/such/folder", "mcpServers": [] }),
            -32602,
        ),
        (
            "session/load",
            json!({ "sessionId": "x", "cwd": "/", "mcpServers": [] }),
            -32002,
        ),
        ("session/nothing", json!({}), -32601),
    ] {
        let error = client.call(method, params).await.unwrap_err();
        assert_eq!(error["code"], code, "{method}: {error}");
    }
    client
        .notify("session/cancel", json!({ "sessionId": "nowhere" }))
        .await;
    let listed = client.call("session/list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"], json!([]));
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_session_goes_on_with_the_agent_and_the_model_that_its_client_chooses() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let chosen = json!({ "sessionId": id, "modeId": "other" });
    client.call("session/set_mode", chosen).await.unwrap();
    client.prompt(&id, "hi").await.unwrap();
    assert_eq!(client.words(&id), "other here");
    let modes = client.updates_of("current_mode_update");
    assert_eq!(modes.last().unwrap().1["currentModeId"], "other");
    let option = json!({ "sessionId": id, "configId": "agent", "value": "lead" });
    let options = client
        .call("session/set_config_option", option)
        .await
        .unwrap();
    assert_eq!(options["configOptions"][0]["currentValue"], "lead");
    assert_eq!(options["configOptions"][1]["id"], "model");
    for (option, value) in [
        ("agent", "nobody"),
        ("agent", "worker"),
        ("model", "x/y"),
        ("z", "z"),
    ] {
        let wrong = json!({ "sessionId": id, "configId": option, "value": value });
        let error = client
            .call("session/set_config_option", wrong)
            .await
            .unwrap_err();
        assert_eq!(error["code"], -32602, "{option} {value}");
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_deleting_it_again_succeeds() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "hi").await.unwrap();
    for _ in 0..2 {
        let deleted = json!({ "sessionId": id });
        client.call("session/delete", deleted).await.unwrap();
    }
    let listed = client.call("session/list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"], json!([]));
    let error = client.prompt(&id, "hi").await.unwrap_err();
    assert_eq!(error["code"], -32002);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_closed_session_can_be_loaded_again() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let open = client.send("session/prompt", prompt(&id, "hang")).await;
    let close = client
        .send("session/close", json!({ "sessionId": id }))
        .await;
    client.answer(close).await.unwrap();
    assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
    assert_eq!(client.prompt(&id, "hi").await.unwrap_err()["code"], -32002);
    let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
    client.call("session/load", request).await.unwrap();
    assert_eq!(stop(&client.prompt(&id, "hi").await.unwrap()), "end_turn");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn images_and_files_of_a_prompt_are_stored_and_what_is_no_image_is_refused() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let with = |block: Value| json!({ "sessionId": id, "prompt": [{ "type": "text", "text": "hi" }, block] });
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" });
    let answer = client.call("session/prompt", with(image)).await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    let resource = json!({ "uri": "file:///a.rs", "text": "fn main() {}" });
    let file = json!({ "type": "resource", "resource": resource });
    let answer = client.call("session/prompt", with(file)).await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    for wrong in [
        json!({ "type": "image", "mimeType": "image/png", "data": "aGVsbG8=" }),
        json!({ "type": "image", "mimeType": "image/png", "data": "not base64" }),
        json!({ "type": "audio", "mimeType": "audio/wav", "data": "aGVsbG8=" }),
    ] {
        let error = client
            .call("session/prompt", with(wrong))
            .await
            .unwrap_err();
        assert_eq!(error["code"], -32602, "{error}");
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn an_mcp_server_of_the_client_is_announced_as_not_started() {
    let ground = Ground::new(SCRIPT);
    for (capabilities, kind) in [
        (json!({ "session": { "notices": {} } }), "notice"),
        (flat(), "agent_message_chunk"),
    ] {
        let mut client = ground.initialized(capabilities).await;
        let server = json!({ "name": "files", "command": "/bin/false", "args": [], "env": [] });
        let request = json!({ "cwd": ground.workspace(), "mcpServers": [server] });
        client.call("session/new", request).await.unwrap();
        let told = client
            .until(|it| it["params"]["update"]["sessionUpdate"] == kind)
            .await;
        assert!(told.to_string().contains("files"));
        client.hang_up().await.unwrap();
    }
}
