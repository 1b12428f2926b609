//! Cancelling over a whole connection: what it reaches, what it leaves alone, and when it is answered.

use serde_json::{Value, json};

use crate::connection::{Connection, Ground, prompt};
use crate::talk::{SCRIPT, flat, sessions, stop};

async fn cancel(client: &mut Connection, session: &str) {
    let params = json!({ "sessionId": session });
    client.notify("session/cancel", params).await;
}

/// Waits until a child works, and returns its id.
async fn child_runs(client: &mut Connection) -> String {
    let is_it = |it: &Value| it["params"]["update"]["state"]["state"] == "running";
    let running = client.until(is_it).await;
    let id = running["params"]["update"]["sessionId"].as_str();
    id.unwrap().to_owned()
}

/// Asserts that the response to a request is the last message, and stays so.
async fn nothing_follows(client: &mut Connection, id: u64) {
    client.call("session/list", json!({})).await.unwrap();
    let is_response = |it: &Value| it["id"] == json!(id) && it.get("method").is_none();
    let at = client.seen.iter().position(is_response).unwrap();
    let later = &client.seen[at + 1..];
    let updates: Vec<_> = later
        .iter()
        .filter(|it| it["method"] == "session/update")
        .collect();
    assert!(updates.is_empty(), "{updates:?}");
}

/// Returns what was told of a child's state.
fn states(client: &Connection, child: &str) -> Vec<String> {
    let updates = client.updates_of("subagent_update").into_iter();
    let of_it = updates.filter(|(_, update)| update["sessionId"] == child);
    let states = of_it.filter_map(|(_, update)| update.get("state"));
    states
        .map(|state| match state["stopReason"].as_str() {
            Some(reason) => reason.to_owned(),
            None => state["state"].as_str().unwrap().to_owned(),
        })
        .collect()
}

#[tokio::test]
async fn a_prompt_that_waits_survives_a_change_of_the_mode() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let first = client.send("session/prompt", prompt(&id, "hang")).await;
    let child = child_runs(&mut client).await;
    let second = client.send("session/prompt", prompt(&id, "hi")).await;
    let chosen = json!({ "sessionId": id, "modeId": "other" });
    client.call("session/set_mode", chosen).await.unwrap();
    cancel(&mut client, &child).await;
    assert_eq!(stop(&client.answer(first).await.unwrap()), "end_turn");
    assert_eq!(stop(&client.answer(second).await.unwrap()), "end_turn");
    assert!(client.words(&id).ends_with("other here"));
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_15_a_cancel_behind_the_turn_stops_background_children_and_is_answered_cancelled() {
    for capabilities in [flat(), sessions()] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(capabilities).await;
        let open = client.send("session/prompt", prompt(&id, "leave")).await;
        client
            .until(|it| it["params"]["update"]["content"]["text"] == "done")
            .await;
        cancel(&mut client, &id).await;
        assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
        nothing_follows(&mut client, open).await;
        assert_eq!(stop(&client.prompt(&id, "hi").await.unwrap()), "end_turn");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_cancelled_prompt_is_answered_behind_the_last_update_of_its_turn() {
    for text in ["hang", "deep", "two"] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(sessions()).await;
        let open = client.send("session/prompt", prompt(&id, text)).await;
        let child = child_runs(&mut client).await;
        cancel(&mut client, &id).await;
        assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
        nothing_follows(&mut client, open).await;
        assert_eq!(states(&client, &child).last().unwrap(), "cancelled");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn rule_16_a_close_stops_everything_and_is_answered_behind_the_last_update() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let open = client.send("session/prompt", prompt(&id, "deep")).await;
    let child = child_runs(&mut client).await;
    let grandchild = child_runs(&mut client).await;
    let waits = client.send("session/prompt", prompt(&id, "hi")).await;
    let close = json!({ "sessionId": id });
    let close = client.send("session/close", close).await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
    assert_eq!(stop(&client.answer(waits).await.unwrap()), "cancelled");
    client.answer(close).await.unwrap();
    nothing_follows(&mut client, close).await;
    assert_eq!(states(&client, &child), ["running", "cancelled"]);
    assert_eq!(states(&client, &grandchild), ["running", "cancelled"]);
    // The history stays.
    let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
    client.call("session/load", request).await.unwrap();
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_running_prompt_of_a_deleted_session_is_answered_cancelled() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let open = client.send("session/prompt", prompt(&id, "hang")).await;
    child_runs(&mut client).await;
    let waits = client.send("session/prompt", prompt(&id, "hi")).await;
    let deleted = json!({ "sessionId": id });
    client.call("session/delete", deleted).await.unwrap();
    assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
    assert_eq!(stop(&client.answer(waits).await.unwrap()), "cancelled");
    assert_eq!(client.prompt(&id, "hi").await.unwrap_err()["code"], -32002);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_session_that_cannot_be_deleted_stays_attached() {
    let ground = Ground::new(SCRIPT);
    let (mut owner, id) = ground.session(sessions()).await;
    let open = owner.send("session/prompt", prompt(&id, "hang")).await;
    child_runs(&mut owner).await;
    // Another process: it may look, and not delete.
    let mut other = ground.initialized(sessions()).await;
    let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
    other.call("session/load", request).await.unwrap();
    let deleted = json!({ "sessionId": id });
    let error = other.call("session/delete", deleted).await.unwrap_err();
    assert_eq!(error["code"], -32603, "{error}");
    let chosen = json!({ "sessionId": id, "configId": "agent", "value": "other" });
    other
        .call("session/set_config_option", chosen)
        .await
        .unwrap();
    cancel(&mut owner, &id).await;
    assert_eq!(stop(&owner.answer(open).await.unwrap()), "cancelled");
    other.hang_up().await.unwrap();
    owner.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_cancel_is_taken_while_text_streams_without_a_pause() {
    let pieces = vec!["s"; 60_000].join(", ");
    let script = format!(
        "agents:\n  - {{name: lead, mode: primary, description: Leads., prompt: Lead.}}\n\
         replies:\n  - {{agent: lead, chunk_delay_ms: 1, say: [{pieces}]}}\n"
    );
    let ground = Ground::new(&script);
    let (mut client, id) = ground.session(flat()).await;
    let open = client.send("session/prompt", prompt(&id, "go")).await;
    client
        .until(|it| it["params"]["update"]["sessionUpdate"] == "agent_message_chunk")
        .await;
    cancel(&mut client, &id).await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_cancel_or_a_close_stops_the_shortening_of_a_conversation() {
    let script =
        crate::conversations::SHORTENED.replace("say: \"Goal", "delay_ms: 600000, say: \"Goal");
    for method in ["session/cancel", "session/close"] {
        let ground = Ground::new(&script);
        let (mut client, id) = ground.session(flat()).await;
        for _ in 0..3 {
            let long = crate::conversations::long();
            client.prompt(&id, &long).await.unwrap();
        }
        let open = client.send("session/prompt", prompt(&id, "/compact")).await;
        let params = json!({ "sessionId": id });
        if method == "session/close" {
            client.call(method, params).await.unwrap();
        } else {
            client.notify(method, params).await;
        }
        assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_conversation_with_nothing_to_shorten_is_a_notice_and_no_error() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground
        .session(json!({ "session": { "notices": {} } }))
        .await;
    let answer = client.prompt(&id, "/compact").await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    assert_eq!(client.updates_of("notice").len(), 1);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_17_an_answer_behind_a_cancel_neither_denies_nor_allows_anything() {
    for option in [None, Some("once")] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(flat()).await;
        client.allows = None;
        let open = client.send("session/prompt", prompt(&id, "write")).await;
        let asked = client
            .until(|it| it["method"] == "session/request_permission")
            .await;
        cancel(&mut client, &id).await;
        let outcome = match option {
            None => json!({ "outcome": { "outcome": "cancelled" } }),
            Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option } }),
        };
        client.respond(&asked, outcome.clone()).await;
        assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
        // A second answer is no answer to anything.
        client.respond(&asked, outcome).await;
        assert_eq!(client.words(&id), "", "the agent did not run on");
        let file = std::path::Path::new(&ground.workspace()).join("a.txt");
        assert!(!file.exists());
        assert_eq!(stop(&client.prompt(&id, "hi").await.unwrap()), "end_turn");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn rule_18_a_cancelled_childs_permission_is_answered_cancelled_and_it_never_runs_on() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    client.allows = None;
    let open = client.send("session/prompt", prompt(&id, "guarded")).await;
    let asked = client
        .until(|it| it["method"] == "session/request_permission")
        .await;
    let child = asked["params"]["sessionId"].as_str().unwrap().to_owned();
    cancel(&mut client, &child).await;
    let outcome = json!({ "outcome": { "outcome": "cancelled" } });
    client.respond(&asked, outcome).await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
    assert_eq!(client.words(&child), "", "the child did not run on");
    let told = states(&client, &child);
    assert_eq!(told, ["running", "requires_action", "cancelled"]);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_14_a_cancelled_child_leaves_its_sibling_alone() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let open = client.send("session/prompt", prompt(&id, "two")).await;
    let hangs = client
        .until(|it| it["params"]["update"]["content"][0]["text"] == "hang")
        .await;
    let hangs = hangs["params"]["update"]["recipientSessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let done = client
        .until(|it| it["params"]["update"]["state"]["stopReason"] == "end_turn")
        .await;
    let sibling = done["params"]["update"]["sessionId"].as_str().unwrap();
    cancel(&mut client, &hangs).await;
    // A race with finished work does not rewrite its outcome.
    cancel(&mut client, sibling).await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
    assert_eq!(states(&client, &hangs), ["running", "cancelled"]);
    assert_eq!(states(&client, sibling), ["running", "end_turn"]);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_14_a_cancelled_child_takes_its_grandchild_with_it() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let open = client.send("session/prompt", prompt(&id, "deep")).await;
    let child = child_runs(&mut client).await;
    let grandchild = child_runs(&mut client).await;
    cancel(&mut client, &child).await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
    assert_eq!(states(&client, &child), ["running", "cancelled"]);
    assert_eq!(states(&client, &grandchild), ["running", "cancelled"]);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_withdrawn_prompt_is_cancelled_and_a_prompt_that_waits_goes_on() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let runs = client.send("session/prompt", prompt(&id, "hang")).await;
    child_runs(&mut client).await;
    let waits = client.send("session/prompt", prompt(&id, "hi")).await;
    let taken_back = client.send("session/prompt", prompt(&id, "hang")).await;
    let withdraw = json!({ "requestId": taken_back });
    client.notify("$/cancel_request", withdraw).await;
    assert_eq!(stop(&client.answer(taken_back).await.unwrap()), "cancelled");
    let withdraw = json!({ "requestId": runs });
    client.notify("$/cancel_request", withdraw).await;
    assert_eq!(stop(&client.answer(runs).await.unwrap()), "cancelled");
    assert_eq!(stop(&client.answer(waits).await.unwrap()), "end_turn");
    assert_eq!(client.words(&id), "Hello");
    client.hang_up().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r16_what_was_asked_of_a_client_that_vanished_is_never_answered_by_its_absence() {
    for _ in 0..10 {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(flat()).await;
        client.allows = None;
        client.send("session/prompt", prompt(&id, "write")).await;
        client
            .until(|it| it["method"] == "session/request_permission")
            .await;
        client.hang_up().await.unwrap();
        let mut client = ground.initialized(flat()).await;
        let request = json!({ "sessionId": id, "cwd": ground.workspace(), "mcpServers": [] });
        client.call("session/load", request).await.unwrap();
        client
            .until(|it| it["method"] == "session/request_permission")
            .await;
        client.hang_up().await.unwrap();
    }
}
