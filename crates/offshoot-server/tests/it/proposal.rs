//! Proposal #855 over a whole connection: its table, line by line.

use serde_json::{Value, json};

use crate::connection::{Ground, prompt};
use crate::talk::{SCRIPT, flat, stop};

/// A client of proposal #855.
fn delegating() -> Value {
    json!({ "_meta": { "offshoot": { "subagents": {} } } })
}

fn delegated(session: &str, delegation: Value) -> Value {
    let mut prompt = prompt(session, "do it");
    prompt["_meta"] = json!({ "offshoot": { "delegation": delegation } });
    prompt
}

#[tokio::test]
async fn proposal_855_require_opens_the_turn_with_one_task_call_and_never_falls_back() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(delegating()).await;
    let require = json!({ "policy": "require", "subagentId": "worker" });
    let answer = client
        .call("session/prompt", delegated(&id, require))
        .await
        .unwrap();
    assert_eq!(stop(&answer), "end_turn");
    let calls = client.updates_of("tool_call");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].1["name"], "task");
    let about = client
        .updates_of("tool_call_update")
        .into_iter()
        .find_map(|(_, update)| update["_meta"]["offshoot"]["subagent"]["childSessionId"].as_str());
    assert!(about.is_some());
    assert_eq!(
        client.words(&id),
        "done",
        "the model was asked once, behind the child"
    );
    let unknown = json!({ "policy": "require", "subagentId": "nobody" });
    let error = client
        .call("session/prompt", delegated(&id, unknown))
        .await
        .unwrap_err();
    assert_eq!(error["code"], -32602);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn proposal_855_a_delegation_against_the_table_is_invalid_params() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(delegating()).await;
    for wrong in [
        json!("require"),
        json!({}),
        json!({ "policy": "always" }),
        json!({ "policy": "require" }),
        json!({ "policy": "prefer" }),
        json!({ "policy": "auto", "subagentId": "worker" }),
        json!({ "policy": "disable", "subagentId": "worker" }),
        json!({ "policy": "auto", "runMode": "background" }),
        json!({ "policy": "disable", "runMode": "foreground" }),
        json!({ "policy": "require", "subagentId": "worker", "runMode": "later" }),
        json!({ "policy": "require", "subagentId": 7 }),
    ] {
        let sent = delegated(&id, wrong.clone());
        let error = client.call("session/prompt", sent).await.unwrap_err();
        assert_eq!(error["code"], -32602, "{wrong}");
    }
    for right in [
        json!({ "policy": "auto" }),
        json!({ "policy": "disable" }),
        json!({ "policy": "prefer", "subagentId": "nobody" }),
        json!({ "policy": "require", "subagentId": "worker", "runMode": "background" }),
    ] {
        let sent = delegated(&id, right.clone());
        let answer = client.call("session/prompt", sent).await.unwrap();
        assert_eq!(stop(&answer), "end_turn", "{right}");
    }
    client.hang_up().await.unwrap();
    // A client without the flag does not know what it asks for.
    let (mut client, id) = ground.session(flat()).await;
    let sent = delegated(&id, json!({ "policy": "auto" }));
    assert_eq!(
        client.call("session/prompt", sent).await.unwrap_err()["code"],
        -32602
    );
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn every_client_starts_a_subagent_by_a_slash_command() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    let answer = client.prompt(&id, "/worker do it").await.unwrap();
    assert_eq!(stop(&answer), "end_turn");
    assert_eq!(
        client.updates_of("tool_call")[0].1["title"],
        "worker: do it"
    );
    let commands = client.updates_of("available_commands_update");
    assert_eq!(commands[0].1["availableCommands"][0]["name"], "worker");
    let error = client.prompt(&id, "/worker").await.unwrap_err();
    assert_eq!(error["code"], -32602);
    // What names no command is a prompt.
    assert_eq!(
        stop(&client.prompt(&id, "/etc is full").await.unwrap()),
        "end_turn"
    );
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn proposal_855_a_slash_command_against_its_delegation_is_invalid_params() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(delegating()).await;
    let slash = |delegation: Value| {
        let mut sent = delegated(&id, delegation);
        sent["prompt"][0]["text"] = json!("/worker do it");
        sent
    };
    for against in [
        json!({ "policy": "disable" }),
        json!({ "policy": "prefer", "subagentId": "worker" }),
        json!({ "policy": "require", "subagentId": "nobody" }),
    ] {
        let error = client.call("session/prompt", slash(against)).await;
        assert_eq!(error.unwrap_err()["code"], -32602);
    }
    assert!(client.updates_of("tool_call").is_empty());
    for with in [
        json!({ "policy": "auto" }),
        json!({ "policy": "require", "subagentId": "worker" }),
    ] {
        let answer = client.call("session/prompt", slash(with)).await.unwrap();
        assert_eq!(stop(&answer), "end_turn");
    }
    assert_eq!(client.updates_of("tool_call").len(), 2);
    client.hang_up().await.unwrap();
}
