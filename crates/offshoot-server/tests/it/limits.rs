//! Bad input and too much of it over a whole connection.

use serde_json::{Value, json};

use crate::connection::{Ground, prompt};
use crate::talk::{SCRIPT, flat, sessions, stop};

#[tokio::test]
async fn two_hundred_and_fifty_six_prompts_may_wait_and_the_next_is_an_error() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    let mut open = vec![client.send("session/prompt", prompt(&id, "hang")).await];
    client
        .until(|it| it["params"]["update"]["state"]["state"] == "running")
        .await;
    for _ in 0..256 {
        open.push(client.send("session/prompt", prompt(&id, "hi")).await);
    }
    let error = client.prompt(&id, "hi").await.unwrap_err();
    assert_eq!(error["code"], -32603);
    // A cancel needs no room.
    client
        .notify("session/cancel", json!({ "sessionId": id }))
        .await;
    for id in open {
        assert_eq!(stop(&client.answer(id).await.unwrap()), "cancelled");
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn two_prompts_at_once_are_answered_in_their_order() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let first = client.send("session/prompt", prompt(&id, "hi")).await;
    let second = client.send("session/prompt", prompt(&id, "hi")).await;
    assert_eq!(stop(&client.answer(second).await.unwrap()), "end_turn");
    assert_eq!(stop(&client.answer(first).await.unwrap()), "end_turn");
    let responses: Vec<&Value> = client
        .seen
        .iter()
        .filter(|it| it["result"]["stopReason"].is_string())
        .collect();
    assert_eq!(responses[0]["id"], json!(first));
    assert_eq!(client.words(&id), "HelloHello");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_second_initialize_is_refused_and_changes_nothing() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let request = json!({ "protocolVersion": 1, "clientCapabilities": { "subagents": {} } });
    let error = client.call("initialize", request).await.unwrap_err();
    assert_eq!(error["code"], -32600);
    client.prompt(&id, "delegate").await.unwrap();
    assert!(client.updates_of("subagent_update").is_empty());
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_request_pipelined_behind_initialize_is_refused_or_answered_and_the_connection_goes_on() {
    let ground = Ground::new(SCRIPT);
    let mut client = ground.connect();
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    let hello = client.send("initialize", hello).await;
    let list = client.send("session/list", json!({})).await;
    client.answer(hello).await.unwrap();
    if let Err(error) = client.answer(list).await {
        assert_eq!(error["code"], -32600);
    }
    client.call("session/list", json!({})).await.unwrap();
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn jetbrains_air_is_shown_children_as_calls_whatever_else_it_says() {
    for air in [
        json!({ "jetbrains.air": { "capabilities": ["nativeSubagentSessions"] } }),
        json!({ "jetbrains": { "air": {} } }),
    ] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground
            .session(json!({ "subagents": {}, "_meta": air }))
            .await;
        client.prompt(&id, "delegate").await.unwrap();
        assert!(client.updates_of("subagent_update").is_empty());
        assert_eq!(client.updates_of("tool_call").len(), 1);
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_malformed_meta_value_does_not_hide_that_the_client_knows_child_sessions() {
    for meta in [json!(7), json!({ "subagent-transcript": "yes" })] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground
            .session(json!({ "subagents": {}, "_meta": meta }))
            .await;
        client.prompt(&id, "delegate").await.unwrap();
        assert!(!client.updates_of("subagent_update").is_empty());
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_ends_its_input_still_reads_what_was_queued() {
    let ground = Ground::new(SCRIPT);
    let mut client = ground.initialized(flat()).await;
    let mut sent = Vec::new();
    for _ in 0..20 {
        sent.push(client.send("session/nothing", json!({})).await);
    }
    client.end_input().await;
    for id in sent {
        assert_eq!(client.answer(id).await.unwrap_err()["code"], -32601);
    }
}
