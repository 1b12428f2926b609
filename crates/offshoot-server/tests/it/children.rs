//! Children over a whole connection: the rules of §1.5 that concern what they are shown as.

use offshoot_engine::query;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, TreeId};
use serde_json::{Value, json};

use crate::connection::{Connection, Ground, prompt};
use crate::talk::{SCRIPT, flat, sessions, stop};

fn load(ground: &Ground, session: &str) -> Value {
    json!({ "sessionId": session, "cwd": ground.workspace(), "mcpServers": [] })
}

/// Returns the child that the calls of a flat client name.
fn child_of_call(client: &Connection) -> String {
    let updates = client.updates_of("tool_call_update").into_iter();
    let mut infos = updates.map(|(_, update)| &update["_meta"]["subagent_session_info"]);
    let info = infos.find(|info| info.is_object()).unwrap();
    info["session_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn rule_5_a_child_is_asked_about_what_its_parent_is_asked_about() {
    // The same call of the root and of its child: both are asked, and a denied child writes nothing.
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    client.allows = Some("deny");
    client.prompt(&id, "write").await.unwrap();
    client.prompt(&id, "guarded").await.unwrap();
    let is_ask = |it: &&Value| it["method"] == "session/request_permission";
    let asked: Vec<&Value> = client.seen.iter().filter(is_ask).collect();
    assert_eq!(asked.len(), 2);
    let options: Vec<&Value> = asked.iter().map(|it| &it["params"]["options"]).collect();
    assert_eq!(options[0], options[1]);
    assert!(
        !std::path::Path::new(&ground.workspace())
            .join("b.txt")
            .exists()
    );
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_10_a_child_that_failed_is_idle_and_its_parent_did_not_fail() {
    for capabilities in [flat(), sessions()] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(capabilities.clone()).await;
        let answer = client.prompt(&id, "broken").await.unwrap();
        assert_eq!(stop(&answer), "end_turn");
        if capabilities == sessions() {
            let (_, last) = *client.updates_of("subagent_update").last().unwrap();
            assert_eq!(last["state"]["state"], "idle");
            assert_eq!(last["state"]["stopReason"], "error");
            assert_eq!(last["state"]["error"]["code"], -32603);
        } else {
            let updates = client.updates_of("tool_call_update");
            assert_eq!(updates.last().unwrap().1["status"], "failed");
        }
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn rule_2_a_nested_child_is_announced_by_its_own_parent_and_never_by_the_root() {
    let script = SCRIPT.replace("delay_ms: 600000, say: never", "say: quick");
    let ground = Ground::new(&script);
    let (mut client, id) = ground.session(sessions()).await;
    assert_eq!(stop(&client.prompt(&id, "deep").await.unwrap()), "end_turn");
    let announced: Vec<(&str, &Value)> = client
        .updates_of("subagent_update")
        .into_iter()
        .filter(|(_, update)| update.get("title").is_some())
        .collect();
    assert_eq!(announced.len(), 2);
    assert_eq!(announced[0].0, id);
    assert_eq!(
        announced[1].0,
        announced[0].1["sessionId"].as_str().unwrap()
    );
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_flat_client_sees_a_nested_child_below_the_call_of_its_parent() {
    let script = SCRIPT.replace("delay_ms: 600000, say: never", "say: quick");
    let ground = Ground::new(&script);
    let (mut client, id) = ground.session(flat()).await;
    assert_eq!(stop(&client.prompt(&id, "deep").await.unwrap()), "end_turn");
    let calls = client.updates_of("tool_call");
    assert_eq!(calls.len(), 2);
    let nesting = &calls[1].1["_meta"]["claudeCode"];
    assert_eq!(nesting["parentToolUseId"], calls[0].1["toolCallId"]);
    assert!(calls.iter().all(|(on, _)| *on == id));
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_flat_client_loads_a_child_and_is_shown_its_own_transcript() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "guarded").await.unwrap();
    let child = child_of_call(&client);
    for method in ["session/load", "session/resume"] {
        client.seen.clear();
        let loaded = client.call(method, load(&ground, &child)).await.unwrap();
        assert_eq!(loaded.get("modes"), None);
        assert!(client.updates().iter().all(|(on, _)| *on == child));
        let is_load = method == "session/load";
        assert_eq!(
            client.updates_of("user_message_chunk").len(),
            usize::from(is_load)
        );
        assert_eq!(client.updates_of("tool_call").len(), usize::from(is_load));
        assert_eq!(client.words(&child), if is_load { "did it" } else { "" });
    }
    // It takes no prompt and no choice, and a client that stops looking stops nothing.
    assert_eq!(
        client.prompt(&child, "hi").await.unwrap_err()["code"],
        -32602
    );
    let chosen = json!({ "sessionId": child, "modeId": "other" });
    let error = client.call("session/set_mode", chosen).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    let close = json!({ "sessionId": child });
    client.call("session/close", close).await.unwrap();
    assert_eq!(stop(&client.prompt(&id, "hi").await.unwrap()), "end_turn");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_flat_client_that_looks_at_a_running_child_sees_it_stop() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let open = client.send("session/prompt", prompt(&id, "deep")).await;
    client
        .until(|it| {
            it["params"]["update"]["toolCallId"]
                .as_str()
                .is_some_and(|id| id.contains('/'))
        })
        .await;
    let child = child_of_call(&client);
    let request = load(&ground, &child);
    client.call("session/load", request).await.unwrap();
    client
        .notify("session/cancel", json!({ "sessionId": child }))
        .await;
    client
        .until(|it| {
            it["params"]["sessionId"] == child.as_str()
                && it["params"]["update"]["status"] == "failed"
        })
        .await;
    assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn the_trace_context_of_a_prompt_is_kept_with_it() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let mut sent = prompt(&id, "hi");
    sent["_meta"] = json!({ "traceparent": "00-a-b-01", "tracestate": "x=y", "other": 1 });
    client.call("session/prompt", sent).await.unwrap();
    let log = query::Log::of(TreeId::of(AgentId::new(id)));
    let log = client.runtime.query(log).await.unwrap();
    let metadata = log.iter().find_map(|entry| match &entry.event {
        Event::Prompted(message) => message.metadata.clone(),
        _ => None,
    });
    let metadata: Value = metadata.unwrap().read().unwrap();
    let expected = json!({ "traceparent": "00-a-b-01", "tracestate": "x=y" });
    assert_eq!(metadata, expected);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_model_without_a_key_is_auth_required() {
    let ground = Ground::new(SCRIPT);
    let mut client = ground.without_key().initialized(flat()).await;
    let request = json!({ "cwd": ground.workspace(), "mcpServers": [] });
    let error = client.call("session/new", request).await.unwrap_err();
    assert_eq!(error["code"], -32000);
    client.hang_up().await.unwrap();
}
