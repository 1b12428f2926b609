//! Sessions that are attached again, listed, copied and closed over a whole connection.

use offshoot_types::command::{Command, Order, Receipt, Rewind};
use offshoot_types::id::{AgentId, CommandId, TreeId};
use serde_json::{Value, json};

use crate::connection::{Connection, Ground, prompt};
use crate::talk::{SCRIPT, flat, sessions, stop};

fn load(ground: &Ground, session: &str) -> Value {
    json!({ "sessionId": session, "cwd": ground.workspace(), "mcpServers": [] })
}

/// Returns how often a child's stop was told.
fn stops(client: &Connection) -> usize {
    let updates = client.updates_of("subagent_update").into_iter();
    let stopped = updates.filter(|(_, update)| update["state"]["stopReason"] == "cancelled");
    stopped.count()
}

#[tokio::test]
async fn a_session_that_is_attached_again_writes_no_update_twice() {
    for method in ["session/load", "session/resume"] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(sessions()).await;
        let open = client.send("session/prompt", prompt(&id, "hang")).await;
        client
            .until(|it| it["params"]["update"]["state"]["state"] == "running")
            .await;
        let waits = client.send("session/prompt", prompt(&id, "hi")).await;
        let again = client.send(method, load(&ground, &id)).await;
        assert_eq!(stop(&client.answer(open).await.unwrap()), "cancelled");
        assert_eq!(stop(&client.answer(waits).await.unwrap()), "cancelled");
        client.answer(again).await.unwrap();
        client
            .notify("session/cancel", json!({ "sessionId": id }))
            .await;
        client
            .until(|it| it["params"]["update"]["state"]["stopReason"] == "cancelled")
            .await;
        assert_eq!(stop(&client.prompt(&id, "hi").await.unwrap()), "end_turn");
        assert_eq!(stops(&client), 1, "{method}");
        assert_eq!(client.words(&id), "Hello", "{method}");
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn a_session_that_is_resumed_while_it_is_attached_shows_nothing_again() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "hi").await.unwrap();
    for _ in 0..3 {
        let resume = json!({ "sessionId": id, "cwd": ground.workspace() });
        client.call("session/resume", resume).await.unwrap();
    }
    client.prompt(&id, "hi").await.unwrap();
    assert_eq!(client.words(&id), "HelloHello");
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_list_says_when_sessions_changed_and_finds_a_folder_by_any_of_its_names() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "delegate").await.unwrap();
    let link = std::path::Path::new(&ground.workspace()).join("link");
    std::os::unix::fs::symlink(ground.workspace(), &link).unwrap();
    for (cwd, expected) in [
        (ground.workspace(), 1),
        (link.to_str().unwrap().to_owned(), 1),
        ("/".to_owned(), 0),
    ] {
        let listed = client.call("session/list", json!({ "cwd": cwd })).await;
        let listed = listed.unwrap()["sessions"].clone();
        assert_eq!(listed.as_array().unwrap().len(), expected, "{cwd}");
    }
    let listed = client.call("session/list", json!({})).await.unwrap();
    let session = &listed["sessions"][0];
    assert_eq!(session["updatedAt"], "2023-11-14T22:13:20.000Z");
    assert_eq!(session.get("_meta"), None);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_list_has_pages() {
    let ground = Ground::new(SCRIPT);
    let (mut client, _) = ground.session(flat()).await;
    for _ in 0..50 {
        let request = json!({ "cwd": ground.workspace(), "mcpServers": [] });
        client.call("session/new", request).await.unwrap();
    }
    let first = client.call("session/list", json!({})).await.unwrap();
    assert_eq!(first["sessions"].as_array().unwrap().len(), 50);
    let next = json!({ "cursor": first["nextCursor"] });
    let second = client.call("session/list", next).await.unwrap();
    assert_eq!(second["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(second.get("nextCursor"), None);
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn a_session_goes_on_in_its_own_folder_and_says_so_if_cwd_is_another() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground
        .session(json!({ "session": { "notices": {} } }))
        .await;
    client.prompt(&id, "hi").await.unwrap();
    let elsewhere = std::path::Path::new(&ground.workspace()).join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    for method in ["session/load", "session/resume", "session/fork"] {
        let request = json!({ "sessionId": id, "cwd": elsewhere, "mcpServers": [] });
        client.call(method, request).await.unwrap();
        let notice = client
            .until(|it| it["params"]["update"]["sessionUpdate"] == "notice")
            .await;
        let text = notice["params"]["update"]["title"].as_str().unwrap();
        assert!(text.contains(&ground.workspace()), "{method}: {text}");
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn additional_directories_are_announced_as_not_used() {
    let ground = Ground::new(SCRIPT);
    let mut client = ground
        .initialized(json!({ "session": { "notices": {} } }))
        .await;
    let request = json!({
        "cwd": ground.workspace(), "mcpServers": [], "additionalDirectories": ["/srv/more"],
    });
    client.call("session/new", request).await.unwrap();
    let notice = client
        .until(|it| it["params"]["update"]["sessionUpdate"] == "notice")
        .await;
    assert!(notice.to_string().contains("/srv/more"));
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn ses_06_a_loaded_session_shows_nothing_that_was_taken_back() {
    for capabilities in [flat(), sessions()] {
        let ground = Ground::new(SCRIPT);
        let (mut client, id) = ground.session(capabilities).await;
        client.prompt(&id, "hi").await.unwrap();
        client.prompt(&id, "delegate").await.unwrap();
        let root = AgentId::new(id.clone());
        let rewound = client.runtime.command(Command {
            id: CommandId::new("rewind"),
            tree: TreeId::of(root.clone()),
            agent: root,
            order: Order::Rewind(Rewind { to: None }),
        });
        assert!(matches!(rewound.await, Ok(Receipt::Rewound { .. })));
        client.prompt(&id, "hi").await.unwrap();
        client.hang_up().await.unwrap();

        let mut client = ground.initialized(sessions()).await;
        client
            .call("session/load", load(&ground, &id))
            .await
            .unwrap();
        client.prompt(&id, "hi").await.unwrap();
        assert_eq!(client.words(&id), "HelloHello");
        assert!(client.updates_of("tool_call").is_empty());
        assert!(client.updates_of("subagent_update").is_empty());
        assert_eq!(client.updates_of("user_message_chunk").len(), 2);
        client.hang_up().await.unwrap();
    }
}

#[tokio::test]
async fn rule_20_states_behind_the_load_response_are_how_things_are_parents_first() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    client.send("session/prompt", prompt(&id, "deep")).await;
    for _ in 0..2 {
        client
            .until(|it| it["params"]["update"]["state"]["state"] == "running")
            .await;
    }
    let again = client.send("session/load", load(&ground, &id)).await;
    client.answer(again).await.unwrap();
    let before = client.seen.len();
    for _ in 0..2 {
        client
            .until(|it| it["params"]["update"]["sessionUpdate"] == "subagent_update")
            .await;
    }
    let now: Vec<&Value> = client.seen[before..]
        .iter()
        .filter(|it| it["params"]["update"]["sessionUpdate"] == "subagent_update")
        .map(|it| &it["params"])
        .collect();
    assert_eq!(now[0]["sessionId"], id.as_str());
    assert_eq!(now[1]["sessionId"], now[0]["update"]["sessionId"]);
    for one in now {
        assert_eq!(one["update"]["state"]["state"], "running");
        assert_eq!(one["update"]["capabilities"], json!({ "cancel": {} }));
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_21_a_child_whose_process_is_gone_did_not_fail() {
    let ground = Ground::new(SCRIPT);
    let (mut owner, id) = ground.session(sessions()).await;
    owner.send("session/prompt", prompt(&id, "hang")).await;
    owner
        .until(|it| it["params"]["update"]["state"]["state"] == "running")
        .await;
    // Another process looks on: it does not run the child, and cannot know what it does.
    let mut other = ground.initialized(sessions()).await;
    let loaded = other.send("session/load", load(&ground, &id)).await;
    other.answer(loaded).await.unwrap();
    let now = other
        .until(|it| it["params"]["update"]["sessionUpdate"] == "subagent_update")
        .await;
    assert_eq!(now["params"]["update"]["state"]["state"], "unknown");
    other.hang_up().await.unwrap();
    owner.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_22_a_copy_has_children_of_its_own() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(sessions()).await;
    client.prompt(&id, "delegate").await.unwrap();
    let child = client.updates_of("subagent_update")[0].1["sessionId"].clone();
    let request = json!({ "sessionId": id, "cwd": ground.workspace() });
    let forked = client.call("session/fork", request).await.unwrap();
    let copy = forked["sessionId"].as_str().unwrap().to_owned();
    client.seen.clear();
    client
        .call("session/load", load(&ground, &copy))
        .await
        .unwrap();
    let announced = client.updates_of("subagent_update");
    assert_eq!(announced[0].0, copy);
    let fresh = announced[0].1["sessionId"].clone();
    assert_ne!(fresh, child);
    // Participants are those of the copy, on both sides.
    let messages = client.updates_of("session_message");
    assert!(!messages.is_empty());
    for (_, update) in messages {
        let mut both = [&update["senderSessionId"], &update["recipientSessionId"]];
        both.sort_by_key(|it| it.as_str() != Some(&copy));
        assert_eq!(both, [&json!(copy), &fresh]);
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn rule_23_a_cost_is_that_of_the_whole_tree_on_the_root_and_no_child_has_a_share() {
    let script = SCRIPT.replace(
        "say: did it}",
        "say: did it, usage: {input: 100, output: 10}}",
    );
    let script = script.replace(
        "after_tools: true, say: done}",
        "after_tools: true, say: done, usage: {input: 300, output: 20}}",
    );
    let ground = Ground::new(&script);
    let (mut client, id) = ground.session(sessions()).await;
    client.prompt(&id, "delegate").await.unwrap();
    let usage = client.updates_of("usage_update");
    assert!(!usage.is_empty());
    for (on, update) in usage {
        assert_eq!(on, id);
        assert_eq!(
            update["size"], 1000,
            "the window of the session's own model"
        );
    }
    client.hang_up().await.unwrap();
}

#[tokio::test]
async fn an_error_about_a_session_that_is_gone_names_it() {
    let ground = Ground::new(SCRIPT);
    let (mut client, id) = ground.session(flat()).await;
    client.prompt(&id, "hi").await.unwrap();
    let mut other = ground.initialized(flat()).await;
    other
        .call("session/load", load(&ground, &id))
        .await
        .unwrap();
    client
        .call("session/delete", json!({ "sessionId": id }))
        .await
        .unwrap();
    let error = other.prompt(&id, "hi").await.unwrap_err();
    assert_eq!(error["code"], -32002, "{error}");
    assert_eq!(error["data"]["sessionId"], id.as_str());
    client.hang_up().await.unwrap();
    other.hang_up().await.unwrap();
}
