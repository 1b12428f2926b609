//! The chat tables: what SQL holds is what the log says.

use offshoot_store::chat::{self, Kind, PartState, Role, Rows};
use offshoot_store::contract::scene::{Child, Scene};
use offshoot_store::{Backend, Sqlite, Write, Written};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, Epoch, MessageId, Pos, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    Arguments, AssistantMessage, AssistantPart, Author, Call, Reasoning, StopReason, Usage,
    UserMessage,
};
use serde_json::{Value, json};

/// Writes a scene, one append for each of its steps, and returns the rows of both.
fn check(mut scene: Scene, steps: &[fn(&mut Scene)]) -> Rows {
    let mut sqlite = Sqlite::in_memory().unwrap();
    sqlite.commit(vec![Write::Claim(scene.tree().clone())]);
    let mut write = |scene: &mut Scene| {
        let append = Write::Append(scene.tree().clone(), Epoch::new(1), scene.take());
        let results = sqlite.commit(vec![append]);
        assert!(
            matches!(results[..], [Ok(Written::Appended(_))]),
            "{results:?}"
        );
        let log: Vec<Entry> = sqlite.entries(scene.tree(), Pos::ZERO, usize::MAX).unwrap();
        let rows = sqlite.chat_rows(scene.tree()).unwrap();
        assert_eq!(rows, chat::fold(&log));
        rows
    };
    let mut rows = write(&mut scene);
    for step in steps {
        step(&mut scene);
        rows = write(&mut scene);
    }
    rows
}

fn part(rows: &Rows, session: &str, message: &str, index: u32) -> Value {
    let key = (AgentId::new(session), MessageId::new(message), index);
    serde_json::from_str(&rows.parts[&key].data_json).unwrap()
}

fn metadata(rows: &Rows, session: &str, message: &str) -> Value {
    let key = (AgentId::new(session), MessageId::new(message));
    serde_json::from_str(&rows.messages[&key].metadata_json).unwrap()
}

fn sessions(rows: &Rows) -> Vec<&str> {
    rows.sessions.keys().map(AgentId::as_str).collect()
}

#[test]
fn a_prompt_waits_and_is_stamped_again_when_its_turn_begins() {
    let mut scene = Scene::new("s");
    scene.root().prompt("s", "ask", "go\nand come back");
    let rows = check(scene.clone(), &[]);
    assert_eq!(metadata(&rows, "s", "ask"), json!({ "queued_at": 1001 }));
    let rows = check(
        scene,
        &[|scene| {
            scene.turn("s", Some("ask"));
        }],
    );
    assert_eq!(metadata(&rows, "s", "ask"), json!({}));
    let row = &rows.messages[&(AgentId::new("s"), MessageId::new("ask"))];
    assert_eq!(row.created_at, Timestamp::new(1_002));
    assert_eq!(row.role, Role::User);
    assert_eq!(
        part(&rows, "s", "ask", 0),
        json!({ "type": "text", "text": "go\nand come back" })
    );
    let session = &rows.sessions[&AgentId::new("s")];
    assert_eq!(session.title.as_deref(), Some("go"));
    assert_eq!(session.kind, Kind::Session);
    assert_eq!(
        session.model_json,
        r#"{"provider_id":"offline","model_id":"echo"}"#
    );
    assert_eq!(session.updated_at, Timestamp::new(1_002));
}

#[test]
fn keys_of_the_host_stay_on_a_prompt() {
    let mut scene = Scene::new("s");
    scene.root();
    let message = UserMessage {
        id: MessageId::new("ask"),
        text: "go".into(),
        from: Author::Human,
        agent: None,
        model: None,
        metadata: Some(RawJson::of(
            &json!({ "agent": "plan", "queued_at": "never" }),
        )),
        output_schema: None,
        delegation: None,
        immediate: false,
    };
    scene.event("s", Event::Prompted(message));
    let rows = check(scene.clone(), &[]);
    let waiting = json!({ "agent": "plan", "queued_at": 1001 });
    assert_eq!(metadata(&rows, "s", "ask"), waiting);
    let rows = check(
        scene,
        &[|scene| {
            scene.turn("s", Some("ask"));
        }],
    );
    assert_eq!(metadata(&rows, "s", "ask"), json!({ "agent": "plan" }));
}

#[test]
fn a_reply_has_a_part_for_every_block() {
    let call = |id: &str, arguments| {
        AssistantPart::Call(Call {
            id: offshoot_types::id::CallId::new(id),
            tool: "read".to_owned(),
            arguments,
        })
    };
    let path = RawJson::parse(r#"{"path": "a",  "n": 1.50}"#.to_owned()).unwrap();
    let message = AssistantMessage {
        id: MessageId::new("m"),
        parts: vec![
            AssistantPart::Reasoning(Reasoning {
                text: "hm".to_owned(),
                raw: Some(RawJson::of(&json!({ "signature": "x" }))),
            }),
            AssistantPart::Text("looking".to_owned()),
            AssistantPart::Raw(RawJson::of(&json!({ "type": "new" }))),
            call("good", Arguments::Json(path)),
            call("bad", Arguments::Malformed("{path".to_owned())),
        ],
        model: "echo-1".to_owned(),
        usage: Usage {
            input: 5,
            output: 2,
            ..Usage::default()
        },
        estimated: false,
        cost: None,
        stop: StopReason::Calls,
        timing: None,
        request: None,
        by_runtime: false,
    };
    let mut scene = Scene::opened("s");
    scene.event("s", Event::Replied(message));
    let rows = check(scene.clone(), &[]);
    let found: Vec<_> = (0..5).map(|index| part(&rows, "s", "m", index)).collect();
    assert_eq!(
        found,
        [
            json!({ "type": "reasoning", "text": "hm",
                "providerMetadata": { "raw": { "signature": "x" } } }),
            json!({ "type": "text", "text": "looking" }),
            json!({ "type": "data-provider", "data": { "type": "new" } }),
            json!({ "type": "tool-read", "toolCallId": "good", "state": "input-available",
                "input": { "path": "a", "n": 1.5 } }),
            json!({ "type": "tool-read", "toolCallId": "bad", "state": "input-available",
                "rawInput": "{path" }),
        ]
    );
    let usage = json!({ "input": 5, "output": 2, "reasoning": 0, "cache_read": 0,
        "cache_write": 0 });
    let expected = json!({ "model": { "model_id": "echo-1" }, "stop": "calls", "usage": usage });
    assert_eq!(metadata(&rows, "s", "m"), expected);
    assert_eq!(rows.sessions[&AgentId::new("s")].usage.input, 5);
    let rows = check(
        scene,
        &[|scene| {
            scene.finish("s", "good", &[]).fail("s", "bad");
        }],
    );
    let good = part(&rows, "s", "m", 3);
    assert_eq!(good["state"], "output-available");
    assert_eq!(good["output"], json!({ "output": "3 files" }));
    assert_eq!(good["input"], json!({ "path": "a", "n": 1.5 }));
    let bad = part(&rows, "s", "m", 4);
    assert_eq!(bad["state"], "output-error");
    assert_eq!(bad["errorText"], "it is not there");
    let key = (AgentId::new("s"), MessageId::new("m"), 4);
    let tool = rows.parts[&key].tool.clone().unwrap();
    assert_eq!(tool.state, PartState::OutputError);
}

#[test]
fn a_session_that_spent_more_than_can_be_counted_goes_on() {
    let spent = |message: &str| {
        Event::Replied(AssistantMessage {
            id: MessageId::new(message),
            parts: Vec::new(),
            model: "echo-1".to_owned(),
            usage: Usage {
                input: u64::MAX,
                output: i64::MAX.unsigned_abs() - 1,
                reasoning: 3,
                ..Usage::default()
            },
            estimated: false,
            cost: None,
            stop: StopReason::End,
            timing: None,
            request: None,
            by_runtime: false,
        })
    };
    let mut scene = Scene::opened("s");
    for message in ["m1", "m2", "m3"] {
        scene.event("s", spent(message));
    }
    let rows = check(scene, &[]);
    let most = i64::MAX.unsigned_abs();
    let expected = Usage {
        input: most,
        output: most,
        reasoning: 9,
        ..Usage::default()
    };
    assert_eq!(rows.sessions[&AgentId::new("s")].usage, expected);
}

#[test]
fn sa_37_x_03_an_opaque_child_is_nested_in_the_call_that_waited_for_it() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    let rows = check(
        scene,
        &[
            |scene| {
                scene.answer("child", "3 files").settle("child");
            },
            |scene| {
                scene.finish("s", "c", &[("child", 1)]);
            },
        ],
    );
    assert_eq!(sessions(&rows), ["s"]);
    let nested = part(&rows, "s", "m", 1)["transcripts"][0].clone();
    assert_eq!(nested["session"]["id"], "child");
    assert_eq!(nested["session"]["parent_id"], "s");
    assert_eq!(nested["session"]["parent_message_id"], "ask");
    assert_eq!(nested["session"]["workspace_root"], "/home/me/project");
    assert_eq!(nested["session"]["usage"]["input"], 100);
    assert_eq!(nested["run"], 1);
    assert_eq!(nested["messages"][0]["role"], "user");
    assert_eq!(nested["messages"][1]["parts"][0]["text"], "3 files");
    assert_eq!(nested["messages"].as_array().unwrap().len(), 2);
    assert_eq!(
        rows.sessions[&AgentId::new("s")].usage.input,
        100,
        "its own only"
    );
}

#[test]
fn an_opaque_grandchild_is_nested_twice() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    scene.call("child", "child-calls", "task", &["c"]);
    scene.spawn("child", "c", "grandchild", Child::Opaque);
    scene.answer("grandchild", "deep").settle("grandchild");
    scene.finish("child", "c", &[("grandchild", 1)]);
    scene
        .say("child", "child-says", "done")
        .end("child")
        .settle("child");
    scene.finish("s", "c", &[("child", 1)]);
    let rows = check(scene, &[]);
    let child = part(&rows, "s", "m", 1)["transcripts"][0].clone();
    let grandchild = child["messages"][1]["parts"][1]["transcripts"][0].clone();
    assert_eq!(grandchild["session"]["parent_id"], "child");
    assert_eq!(grandchild["messages"][1]["parts"][0]["text"], "deep");
}

#[test]
fn sa_37_a_row_that_is_cut_says_so_and_how_the_rest_is_read() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene
        .answer("child", &"long ".repeat(60_000))
        .settle("child");
    scene.finish("s", "c", &[("child", 1)]);
    let rows = check(scene, &[]);
    let mut nested = part(&rows, "s", "m", 1)["transcripts"][0].clone();
    let bytes = nested["log_bytes"].take().as_u64().unwrap();
    assert!((300_000..302_000).contains(&bytes), "{bytes}");
    let marker = json!({ "session_id": "child", "run": 1, "truncated": true, "log_bytes": null,
        "read_with": "offshoot sessions export child" });
    assert_eq!(nested, marker);
}

#[test]
fn many_long_grandchildren_are_not_all_folded_for_a_row() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    let long = "long ".repeat(50_000);
    for n in 0..30 {
        let (message, call, below) = (format!("m{n}"), format!("c{n}"), format!("below{n}"));
        scene.call("child", &message, "task", &[&call]);
        scene.spawn("child", &call, &below, Child::Opaque);
        scene.answer(&below, &long).settle(&below);
        scene.finish("child", &call, &[(&below, 1)]);
    }
    scene
        .say("child", "said", "done")
        .end("child")
        .settle("child");
    scene.finish("s", "c", &[("child", 1)]);
    let rows = check(scene, &[]);
    let nested = part(&rows, "s", "m", 1)["transcripts"][0].clone();
    assert_eq!(
        (&nested["session_id"], &nested["truncated"]),
        (&json!("child"), &json!(true))
    );
}

#[test]
fn sa_13_sa_38_an_inspectable_child_has_rows_of_its_own() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Inspectable);
    scene.answer("child", "3 files").settle("child");
    scene.finish("s", "c", &[("child", 1)]);
    let rows = check(scene, &[]);
    assert_eq!(sessions(&rows), ["child", "s"]);
    let child = &rows.sessions[&AgentId::new("child")];
    assert_eq!(child.kind, Kind::Subagent);
    assert_eq!(child.parent_id, Some(AgentId::new("s")));
    assert_eq!(child.parent_message_id, Some(MessageId::new("ask")));
    assert_eq!(child.workspace_root.as_deref(), Some("/home/me/project"));
    assert_eq!(part(&rows, "child", "child-says", 0)["text"], "3 files");
    assert_eq!(part(&rows, "s", "m", 1).get("transcripts"), None);
}

#[test]
fn sa_13_an_inspectable_child_below_opaque_ones_points_at_rows_that_exist() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.turn("child", Some("child-ask"));
    scene.call("child", "child-calls", "task", &["c"]);
    scene.spawn("child", "c", "deeper", Child::Opaque);
    scene.turn("deeper", Some("deeper-ask"));
    scene.call("deeper", "deeper-calls", "task", &["c"]);
    scene.spawn("deeper", "c", "deepest", Child::Inspectable);
    let rows = check(scene, &[]);
    assert_eq!(sessions(&rows), ["deepest", "s"]);
    let row = &rows.sessions[&AgentId::new("deepest")];
    let (Some(parent), Some(message)) = (&row.parent_id, &row.parent_message_id) else {
        panic!("it has no parent: {row:?}")
    };
    assert!(rows.sessions.contains_key(parent));
    assert!(
        rows.messages
            .contains_key(&(parent.clone(), message.clone()))
    );
    assert_eq!(row.metadata_json, r#"{"opaque_parent_id":"deeper"}"#);
}

#[test]
fn sa_18_x_02_x_05_a_completion_is_a_message_with_the_transcript_in_it() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.finish("s", "c", &[]).end("s");
    scene.answer("child", "3 files").settle("child");
    let rows = check(
        scene,
        &[|scene| {
            scene.complete("s", "told", ("child", 1));
        }],
    );
    let told = part(&rows, "s", "told", 0);
    assert_eq!(told["type"], "data-task-completion");
    let data = &told["data"];
    assert_eq!(data["session_id"], "child");
    assert_eq!(
        (&data["run"], &data["agent"]),
        (&json!(1), &json!("explore"))
    );
    assert_eq!(
        (&data["status"], &data["output"]),
        (&json!("completed"), &json!("3 files"))
    );
    assert_eq!(data["metadata"]["settlement"], "completed");
    assert_eq!(
        data["transcript"]["messages"][1]["parts"][0]["text"],
        "3 files"
    );
    let row = &rows.messages[&(AgentId::new("s"), MessageId::new("told"))];
    assert_eq!(row.role, Role::Assistant);
    assert_eq!(
        part(&rows, "s", "m", 1).get("transcripts"),
        None,
        "the call was closed"
    );
}

#[test]
fn a_second_run_is_nested_without_the_first() {
    let mut scene = Scene::opened("s");
    scene.call("s", "m", "task", &["c"]);
    scene.spawn("s", "c", "child", Child::Opaque);
    scene.answer("child", "3 files");
    scene.prompt("child", "early", "and then");
    scene
        .settle("child")
        .finish("s", "c", &[("child", 1)])
        .end("s");
    scene.turn("child", Some("early"));
    scene
        .say("child", "again", "4 files")
        .end("child")
        .settle("child");
    scene.complete("s", "told", ("child", 2));
    let rows = check(scene, &[]);
    let ids = |transcript: &Value| -> Vec<Value> {
        let messages = transcript["messages"].as_array().unwrap();
        messages
            .iter()
            .map(|message| message["id"].clone())
            .collect()
    };
    let first = part(&rows, "s", "m", 1)["transcripts"][0].clone();
    assert_eq!(ids(&first), ["child-ask", "child-says"]);
    let second = part(&rows, "s", "told", 0)["data"]["transcript"].clone();
    assert_eq!(ids(&second), ["early", "again"]);
}

#[test]
fn two_sessions_may_use_the_same_message_id() {
    let mut sqlite = Sqlite::in_memory().unwrap();
    for tree in ["one", "two"] {
        let mut scene = Scene::opened(tree);
        sqlite.commit(vec![Write::Claim(scene.tree().clone())]);
        let append = Write::Append(scene.tree().clone(), Epoch::new(1), scene.take());
        assert!(sqlite.commit(vec![append])[0].is_ok());
        assert_eq!(sqlite.chat_rows(scene.tree()).unwrap().messages.len(), 1);
    }
}
