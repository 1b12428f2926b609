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

#[tokio::test]
async fn proposal_855_the_catalogue_comes_by_update_only_and_only_with_the_flag() {
    for (capabilities, is_told) in [(delegating(), true), (flat(), false)] {
        let ground = Ground::new(SCRIPT);
        let mut client = ground.initialized(capabilities).await;
        let request = json!({ "cwd": ground.workspace(), "mcpServers": [] });
        let opened = client.call("session/new", request).await.unwrap();
        assert_eq!(opened.get("_meta"), None);
        let update = client
            .until(|it| it["params"]["update"]["sessionUpdate"] == "available_commands_update")
            .await;
        let catalogue = &update["params"]["update"]["_meta"]["offshoot"]["availableSubagents"];
        let expected = json!([{ "id": "worker", "title": "worker", "description": "Works." }]);
        assert_eq!(*catalogue == expected, is_told);
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn proposal_855_capabilities_are_objects() {
    let ground = Ground::new(SCRIPT);
    let mut client = ground.connect();
    let request = json!({ "protocolVersion": 1, "clientCapabilities": delegating() });
    let said = client.call("initialize", request).await.unwrap();
    let sessions = &said["agentCapabilities"]["sessionCapabilities"];
    let expected = json!({ "promptDelegation": {}, "background": {} });
    assert_eq!(sessions["_meta"]["offshoot"]["subagents"], expected);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn proposal_855_disable_starts_no_subagent_in_that_turn_and_the_next_one_may() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(delegating()).await;
    for (policy, expected) in [("disable", 0), ("auto", 1)] {
        client.seen.clear();
        let mut sent = delegated(&id, json!({ "policy": policy }));
        sent["prompt"][0]["text"] = json!("delegate");
        client.call("session/prompt", sent).await.unwrap();
        let updates = client.updates_of("tool_call_update").into_iter();
        let subagents = updates
            .filter_map(|(_, it)| it["_meta"]["offshoot"]["subagent"]["childSessionId"].as_str());
        let children: std::collections::BTreeSet<&str> = subagents.collect();
        assert_eq!(children.len(), expected, "{policy}");
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn proposal_855_the_call_names_the_child_before_anything_of_the_child_is_shown() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(delegating()).await;
    client.prompt(&id, "guarded").await.unwrap();
    let updates = client.updates();
    let about = |update: &Value| update["_meta"]["offshoot"]["subagent"].clone();
    let named_at = updates.iter().position(|(_, it)| about(it).is_object());
    let of_child = |id: &str| id.contains('/');
    let shown_at = updates
        .iter()
        .position(|(_, it)| it["toolCallId"].as_str().is_some_and(of_child));
    assert!(named_at.unwrap() < shown_at.unwrap());
    let about = about(updates[named_at.unwrap()].1);
    assert_eq!(about["subagentId"], "worker");
    assert_eq!(about["runMode"], "foreground");
    assert_eq!(about["displayName"], "worker: write it");
    let mut sent = delegated(
        &id,
        json!({ "policy": "require", "subagentId": "worker", "runMode": "background" }),
    );
    sent["prompt"][0]["text"] = json!("do it");
    client.seen.clear();
    client.call("session/prompt", sent).await.unwrap();
    let modes = client.updates_of("tool_call_update").into_iter();
    let modes: Vec<&Value> = modes
        .map(|(_, it)| &it["_meta"]["offshoot"]["subagent"]["runMode"])
        .filter(|mode| mode.is_string())
        .collect();
    assert!(modes.iter().all(|mode| **mode == "background"), "{modes:?}");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn proposal_855_children_are_listed_sessions_with_parent_fields_that_can_be_loaded_and_closed()
 {
    for also in [json!({}), json!({ "subagents": {} })] {
        let mut capabilities = delegating();
        if also.get("subagents").is_some() {
            capabilities["subagents"] = json!({});
        }
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(capabilities).await;
        let open = client.send("session/prompt", prompt(&id, "hang")).await;
        client
            .until(|it| it.to_string().contains("childSessionId"))
            .await;
        let listed = client.call("session/list", json!({})).await.unwrap();
        let listed = listed["sessions"].as_array().unwrap();
        let child = listed.iter().find(|it| it["sessionId"] != id.as_str());
        let child = child.unwrap();
        let parent = &child["_meta"]["offshoot"];
        assert_eq!(parent["parentSessionId"], id.as_str());
        assert_eq!(parent["subagentId"], "worker");
        assert!(parent["parentToolCallId"].is_string());
        let child = child["sessionId"].as_str().unwrap();
        let request = json!({ "sessionId": child, "cwd": ground.workspace(), "mcpServers": [] });
        client.call("session/load", request).await.unwrap();
        let close = json!({ "sessionId": child });
        client.call("session/close", close).await.unwrap();
        // The child is stopped, and the turn of its parent goes on.
        assert_eq!(stop(&client.answer(open).await.unwrap()), "end_turn");
        client.hang_up().await.unwrap();
    }
}
