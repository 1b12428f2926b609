//! Reading what was written.

use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CommandId, Pos, Seq, Timestamp, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::store::{OpenAsk, SessionSummary};
use offshoot_types::tree::Ask;
use serde_json::Value;

use super::scene::{Child, Scene};
use super::{Handle, append, write};

/// No position.
const NONE: [u64; 0] = [];

/// Writes a root with two children, one of which has answered.
async fn family(store: &Handle) -> Scene {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "one", Child::Opaque);
    scene.spawn("s", "d", "two", Child::Inspectable);
    scene.answer("one", "3 files").settle("one");
    scene.finish("s", "c", &[("one", 1)]);
    scene.turn("two", Some("two-ask"));
    let lease = write(store, &mut scene).await;
    store.release(lease).await.expect("it is ours");
    scene
}

async fn page(store: &Handle, tree: &TreeId, after: u64, limit: usize) -> Vec<u64> {
    let entries = store.entries(tree, Pos::new(after), limit).await;
    let entries = entries.expect("it can be read");
    entries.iter().map(|entry| entry.pos.get()).collect()
}

async fn agent_log(store: &Handle, agent: &str) -> Vec<Entry> {
    let log = store.agent_log(&AgentId::new(agent)).await;
    log.expect("it can be read")
}

pub(super) async fn the_unknown_is_empty(a: Handle, _: Handle) {
    let nobody = AgentId::new("nobody");
    let tree = TreeId::of(nobody.clone());
    assert_eq!(page(&a, &tree, 0, 10).await, NONE);
    assert_eq!(agent_log(&a, "nobody").await, []);
    assert_eq!(a.tree_of(&nobody).await.expect("it can be read"), None);
    assert_eq!(a.pending(&tree).await.expect("it can be read"), []);
    let command = CommandId::new("c");
    assert_eq!(a.receipt(&command).await.expect("it can be read"), None);
    let _lease = a.claim(&tree).await.expect("nobody has it");
    assert_eq!(page(&a, &tree, 0, 10).await, NONE);
    assert_eq!(a.sessions().await.expect("it can be read"), []);
}

pub(super) async fn entries_are_read_in_pages(a: Handle, b: Handle) {
    let scene = family(&a).await;
    let all = page(&b, scene.tree(), 0, usize::MAX).await;
    let expected: Vec<u64> = (1..=all.len() as u64).collect();
    assert_eq!(all, expected);
    assert_eq!(page(&b, scene.tree(), 0, 2).await, [1, 2]);
    assert_eq!(page(&b, scene.tree(), 2, 3).await, [3, 4, 5]);
    assert_eq!(page(&b, scene.tree(), 2, 0).await, NONE);
    assert_eq!(page(&b, scene.tree(), all.len() as u64, 5).await, NONE);
    assert_eq!(page(&b, scene.tree(), 1_000_000, 5).await, NONE);
}

pub(super) async fn an_agent_has_its_own_log(a: Handle, b: Handle) {
    let scene = family(&a).await;
    for agent in ["s", "one", "two"] {
        let log = agent_log(&b, agent).await;
        assert!(matches!(log[0].event, Event::Spawned(_)), "{agent}");
        for (index, entry) in log.iter().enumerate() {
            assert_eq!(entry.agent.as_str(), agent);
            assert_eq!(entry.tree, *scene.tree());
            assert_eq!(entry.seq, Seq::new(index as u64 + 1));
        }
    }
    let told = agent_log(&b, "one").await;
    assert!(matches!(told[5].event, Event::Settled { .. }));
    assert_eq!(told.len(), 6);
}

pub(super) async fn an_agent_is_found_in_its_tree(a: Handle, b: Handle) {
    let scene = family(&a).await;
    for agent in ["s", "one", "two"] {
        let tree = b.tree_of(&AgentId::new(agent)).await;
        assert_eq!(tree.expect("it can be read"), Some(scene.tree().clone()));
    }
}

pub(super) async fn lists_tell_of_roots(a: Handle, b: Handle) {
    let mut scene = family(&a).await;
    let expected = SessionSummary {
        tree: scene.tree().clone(),
        agent: scene.tree().root().clone(),
        parent: None,
        definition: "build".to_owned(),
        now: "build".to_owned(),
        workspace: "/home/me/project".to_owned(),
        title: "go".to_owned(),
        created_at: Timestamp::new(1_001),
        updated_at: Timestamp::new(1_001),
        agents: 3,
        open_runs: 2,
        owned: false,
        abandoned: false,
        status: None,
        archived_at: None,
    };
    let listed = b.sessions().await.expect("it can be read");
    assert_eq!(listed, std::slice::from_ref(&expected));
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    scene
        .say("two", "two-says", "none")
        .end("two")
        .settle("two");
    scene.finish("s", "d", &[("two", 1)]).end("s");
    scene
        .prompt("s", "ask2", "another title\nof two lines")
        .settle("s");
    scene.becomes("s", "plan");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let listed = b.sessions().await.expect("it can be read");
    let settled = SessionSummary {
        updated_at: Timestamp::new(1_002),
        open_runs: 0,
        owned: true,
        status: Some("completed".to_owned()),
        now: "plan".to_owned(),
        ..expected
    };
    assert_eq!(listed, [settled]);
}

pub(super) async fn the_last_changed_comes_first(a: Handle, _: Handle) {
    for (tree, changes) in [("x", 2), ("y", 3), ("z", 1)] {
        let mut scene = Scene::opened(tree);
        let lease = write(&a, &mut scene).await;
        for change in 1..changes {
            scene.prompt(tree, &format!("m{change}"), "more");
            assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
        }
    }
    let listed = a.sessions().await.expect("it can be read");
    let order: Vec<_> = listed.iter().map(|session| session.tree.as_str()).collect();
    assert_eq!(order, ["y", "x", "z"]);
}

pub(super) async fn lists_tell_of_inspectable_children(a: Handle, b: Handle) {
    let mut scene = family(&a).await;
    let expected = SessionSummary {
        tree: scene.tree().clone(),
        agent: AgentId::new("two"),
        parent: Some(AgentId::new("s")),
        definition: "explore".to_owned(),
        now: "explore".to_owned(),
        workspace: "/home/me/project".to_owned(),
        title: "look".to_owned(),
        created_at: Timestamp::new(1_001),
        updated_at: Timestamp::new(1_001),
        agents: 1,
        open_runs: 1,
        owned: false,
        abandoned: false,
        status: None,
        archived_at: None,
    };
    let listed = b.children().await.expect("it can be read");
    assert_eq!(
        listed,
        std::slice::from_ref(&expected),
        "not the opaque one"
    );
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    scene.call("two", "m2", "task", &["e", "f"]);
    scene.spawn("two", "e", "three", Child::Opaque);
    scene.turn("three", Some("three-ask"));
    scene.spawn("two", "f", "four", Child::Inspectable);
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    // Only the root, and so nobody in the list, changes here.
    scene.prompt("s", "ask2", "more");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let listed = b.children().await.expect("it can be read");
    let two = SessionSummary {
        updated_at: Timestamp::new(1_002),
        agents: 3,
        open_runs: 2,
        owned: true,
        ..expected
    };
    let four = SessionSummary {
        agent: AgentId::new("four"),
        parent: Some(AgentId::new("two")),
        created_at: Timestamp::new(1_002),
        agents: 1,
        open_runs: 0,
        ..two.clone()
    };
    assert_eq!(listed, [four, two]);
    scene
        .say("three", "m3", "none")
        .end("three")
        .settle("three");
    scene
        .finish("two", "e", &[("three", 1)])
        .finish("two", "f", &[]);
    scene.end("two").settle("two");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let listed = b.children().await.expect("it can be read");
    assert_eq!(listed[0].agent.as_str(), "two", "it changed last");
    assert_eq!(listed[0].status.as_deref(), Some("completed"));
    assert_eq!(listed[0].open_runs, 0);
}

/// DBG-01.
pub(super) async fn a_session_is_exported_as_its_rows(a: Handle, b: Handle) {
    let mut scene = family(&a).await;
    let lease = a.claim(scene.tree()).await.expect("nobody has it");
    // Sorts before the others by its id, and was written after them.
    scene.prompt("s", "a-late-one", "more");
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let export = b.chat(&AgentId::new("s")).await.expect("it can be read");
    let export = export.expect("a root has rows");
    let row = |json: &RawJson| json.read::<Value>().expect("a row is an object");
    let session = row(&export.session);
    assert_eq!(session["id"], "s");
    assert_eq!(session["kind"], "session");
    assert_eq!(session["title"], "go");
    assert_eq!(session["prompt_tokens"], 100);
    assert_eq!(session["permissions_json"], "[]");
    assert_eq!(session["archived_at"], Value::Null);
    assert_eq!(session.as_object().map(serde_json::Map::len), Some(20));
    let ids: Vec<Value> = (export.messages.iter())
        .map(|message| row(&message.message)["id"].clone())
        .collect();
    assert_eq!(ids, ["ask", "m", "a-late-one"], "as they were written");
    let parts: Vec<Value> = export.messages[1].parts.iter().map(row).collect();
    let places: Vec<(&Value, &Value)> = (parts.iter())
        .map(|part| (&part["index"], &part["type"]))
        .collect();
    let expected = [(0, "text"), (1, "tool-task"), (2, "tool-task")]
        .map(|(index, kind)| (Value::from(index), Value::from(kind)));
    let expected: Vec<(&Value, &Value)> = expected.iter().map(|(a, b)| (a, b)).collect();
    assert_eq!(places, expected);
    assert_eq!(parts[1]["tool_state"], "output-available");
    assert_eq!(parts[2]["tool_call_id"], "d");
    assert_eq!(parts[2]["message_id"], "m");
}

pub(super) async fn every_agent_is_exported_and_the_export_says_who_has_rows(a: Handle, b: Handle) {
    family(&a).await;
    for (agent, has_rows) in [
        ("s", Some(true)),
        ("one", Some(false)),
        ("two", Some(true)),
        ("nobody", None),
    ] {
        let export = b.chat(&AgentId::new(agent)).await.expect("it can be read");
        let found = export.as_ref().map(|export| export.has_rows);
        assert_eq!(found, has_rows, "{agent}");
        if let Some(export) = export {
            let session: Value = export.session.read().expect("a row is an object");
            assert_eq!(session["id"], agent);
            assert_eq!(session["workspace_root"], "/home/me/project");
        }
    }
}

/// The transcript of an opaque child is in the export of its parent, whole, where the row has only a
/// reference, which says how large the log is and how it is read.
pub(super) async fn sa_37_an_export_has_a_transcript_at_any_size(a: Handle, b: Handle) {
    let long = "long ".repeat(100_000);
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "d"]);
    for (call, child, text) in [("c", "short", "3 files"), ("d", "child", long.as_str())] {
        scene.spawn("s", call, child, Child::Opaque);
        scene.turn(child, Some(&format!("{child}-ask")));
        scene.call(child, "deeper", "task", &["e"]);
        scene.spawn(child, "e", &format!("below-{child}"), Child::Opaque);
        let below = format!("below-{child}");
        scene.answer(&below, text).settle(&below);
        scene.finish(child, "e", &[(&below, 1)]);
        scene.say(child, "said", text).end(child).settle(child);
        scene.finish("s", call, &[(child, 1)]);
    }
    write(&a, &mut scene).await;
    let read = |json: &RawJson| json.read::<Value>().expect("it is JSON");
    let of = |agent: &'static str| {
        let b = b.clone();
        async move {
            let export = b.chat(&AgentId::new(agent)).await.expect("it can be read");
            export.expect("it is there")
        }
    };
    let export = of("s").await;
    let nested = |part: usize| {
        let row = read(&export.messages[1].parts[part]);
        let data = row["data_json"].as_str().expect("it is text").to_owned();
        let data: Value = serde_json::from_str(&data).expect("it is JSON");
        (row, data["transcripts"][0].clone())
    };
    let (row, short) = nested(1);
    assert_eq!(row.get("row_is_cut"), None);
    assert_eq!(short["messages"][2]["parts"][0]["text"], "3 files");
    let (row, whole) = nested(2);
    assert_eq!(row["row_is_cut"], true);
    assert_eq!(whole["session"]["id"], "child");
    assert_eq!(whole["messages"][2]["parts"][0]["text"], long.as_str());
    let below = &whole["messages"][1]["parts"][1]["transcripts"][0];
    assert_eq!(below["messages"][1]["parts"][0]["text"], long.as_str());
    // And by itself.
    let own = of("below-child").await;
    assert!(!own.has_rows);
    let said = read(&own.messages[1].parts[0]);
    assert!(
        said["data_json"]
            .as_str()
            .is_some_and(|data| data.contains(&long))
    );
}

/// PER-02, PER-05, PER-08, SES-04, SES-20.
pub(super) async fn rows_tell_what_it_cost_which_model_and_what_was_allowed(a: Handle, b: Handle) {
    let mut scene = Scene::opened("s");
    let lease = write(&a, &mut scene).await;
    scene.call("s", "m", "task", &["c", "d"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    scene.call("child", "calls", "write", &["w", "x", "y"]);
    // What an opaque child is allowed for the session is allowed for the session.
    scene.asks("child", "w").grants("child", "w", None);
    scene.asks("child", "x").grants("child", "x", None);
    scene
        .asks("child", "y")
        .grants("child", "y", Some("explore"));
    for call in ["w", "x", "y"] {
        scene.fail("child", call);
    }
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    scene.pays("child", "dear", "elsewhere/large", 7_000_000);
    scene.end("child").settle("child");
    scene.finish("s", "c", &[("child", 1)]).fail("s", "d");
    scene.pays("s", "m2", "openai-chat/vendor/small", 100_000);
    scene.pays("s", "m3", "openai-chat/vendor/small", 200_000);
    assert_eq!(append(&a, &lease, &mut scene).await, Ok(()));
    let export = b.chat(&AgentId::new("s")).await.expect("it can be read");
    let export = export.expect("it has rows");
    let session: Value = export.session.read().expect("a row is an object");
    assert_eq!(session["cost_usd"], 0.3, "its own, and exactly");
    let text = |row: &Value, key: &str| -> Value {
        let text = row[key].as_str().expect("it is text");
        serde_json::from_str(text).expect("it is JSON")
    };
    let model = serde_json::json!({ "provider_id": "openai-chat", "model_id": "vendor/small" });
    assert_eq!(
        text(&session, "model_json"),
        model,
        "that of the latest message"
    );
    let rule = serde_json::json!([{ "permission": "fs.write", "pattern": "/home/me/project/a",
        "action": "allow", "source": "session", "added_at": 1_002 }]);
    assert_eq!(text(&session, "permissions_json"), rule);
    let last = export.messages.last().expect("there is one");
    let last: Value = last.message.read().expect("a row is an object");
    let metadata = text(&last, "metadata_json");
    assert_eq!(metadata["cost_usd"], 0.2);
    assert_eq!(metadata["system_prompt_digest"], "5a");
    let model = serde_json::json!({ "provider_id": "openai-chat", "model_id": "vendor/small",
        "reported_id": "echo-1" });
    assert_eq!(metadata["model"], model);
}

/// Returns what somebody has to answer, in short.
async fn asked(store: &Handle) -> Vec<(String, String)> {
    let asks = store.asks().await.expect("it can be read");
    let short = |ask: &OpenAsk| (ask.agent.to_string(), ask.call.to_string());
    asks.iter().map(short).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(agent, call): &(&str, &str)| ((*agent).to_owned(), (*call).to_owned());
    pairs.iter().map(own).collect()
}

pub(super) async fn what_is_asked_is_listed_until_it_is_decided_or_its_call_ends(
    a: Handle,
    b: Handle,
) {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c", "w"]);
    scene.spawn("s", "c", "one", Child::Opaque).asks("s", "w");
    let lease = write(&a, &mut scene).await;
    scene.turn("one", Some("one-ask"));
    scene.call("one", "n", "write", &["x", "y"]);
    scene.asks("one", "x").asks("one", "y");
    append(&a, &lease, &mut scene).await.expect("a good log");
    let all = pairs(&[("s", "w"), ("one", "x"), ("one", "y")]);
    assert_eq!(asked(&b).await, all);

    let asks = b.asks().await.expect("it can be read");
    let path = [("s", "build"), ("one", "explore")];
    let path = path.map(|(id, name)| (AgentId::new(id), name.to_owned()));
    assert_eq!(asks[1].path, path);
    assert_eq!(asks[1].tool, "write");
    assert_eq!(asks[1].ask.deadline, Some(Timestamp::new(9_000)));
    assert_eq!(asks[1].ask.needs[0].target, "/home/me/project/a");
    assert!(asks[1].owned);

    scene.allows("one", "x").finish("one", "y", &[]);
    append(&a, &lease, &mut scene).await.expect("a good log");
    assert_eq!(asked(&b).await, pairs(&[("s", "w")]));
    // A call that was allowed may wait for a client, in a row of its own.
    scene.waits("one", "x");
    append(&a, &lease, &mut scene).await.expect("a good log");
    assert_eq!(asked(&b).await, pairs(&[("s", "w"), ("one", "x")]));
    let asks = b.asks().await.expect("it can be read");
    assert_eq!(asks[1].tool, "lookup");
    let wait = Ask {
        waits_for_client: true,
        ..Ask::default()
    };
    assert_eq!(asks[1].ask, wait);
    // The outcome of what was decided removes nothing else.
    scene.finish("one", "x", &[]).end("one").settle("one");
    append(&a, &lease, &mut scene).await.expect("a good log");
    assert_eq!(asked(&b).await, pairs(&[("s", "w")]));

    drop(lease);
    let asks = b.asks().await.expect("it can be read");
    assert!(!asks[0].owned, "its owner has died");
    let lease = b.claim(scene.tree()).await.expect("nobody has it");
    b.delete(lease).await.expect("it is ours");
    assert_eq!(asked(&a).await, []);
}
