//! Rows and exports of a real run: whole transcripts, true columns, and copies that keep their children.

use serde_json::Value;

use crate::stage::Stage;

const SCRIPT: &str = r#"
price: {input: 100, output: 400}
agents:
  - {name: lead, mode: primary, tools: [task]}
  - {name: middle, mode: subagent, tools: [task]}
  - {name: open, mode: subagent, inspectable: true}
replies:
  - agent: lead
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: middle, prompt: look}}]
  - {agent: lead, say: done}
  - agent: middle
    after_tools: false
    call: [{tool: task, arguments: {subagent_type: open, prompt: deeper}}]
  - {agent: middle, say: LONG}
  - {agent: open, say: found it}
"#;

fn long() -> String {
    "long ".repeat(80_000).trim_end().to_owned()
}

/// A session with an opaque child that said much, and an inspectable one below that.
fn talk() -> Stage {
    let stage = Stage::new(&SCRIPT.replace("LONG", &long()));
    let run = ["run", "--agent", "lead", "--model", "scripted/script.yaml"];
    stage
        .offshoot(run.into_iter().chain(["--session", "a-long-talk", "go"]))
        .succeeded();
    stage
}

#[track_caller]
fn export(stage: &Stage, id: &str) -> Value {
    let done = stage.offshoot(["sessions", "export", id, "--format", "json"]);
    serde_json::from_str(&done.succeeded().stdout).unwrap()
}

#[track_caller]
fn json(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// Returns the part of the `task` call of an export.
fn task_part(export: &Value) -> &Value {
    let messages = export["messages"].as_array().unwrap().iter();
    let mut parts = messages.flat_map(|message| message["parts"].as_array().unwrap());
    parts.find(|part| part["type"] == "tool-task").unwrap()
}

fn children(stage: &Stage, more: &[&str]) -> Vec<Value> {
    let args = ["sessions", "list", "--json", "--children"];
    let done = stage.offshoot(args.iter().chain(more)).succeeded();
    let all = done.events().into_iter();
    all.filter(|session| !session["parentId"].is_null())
        .collect()
}

#[test]
fn sa_37_an_opaque_transcript_of_any_size_is_exported_whole_and_its_row_says_that_it_is_cut() {
    let stage = talk();
    let whole = export(&stage, "a-long-talk");
    let part = task_part(&whole);
    assert_eq!(part["row_is_cut"], true);
    let nested = json(&part["data_json"])["transcripts"][0].clone();
    let last = nested["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["parts"][0]["text"], long().as_str());
    // The child by itself, although it has no rows.
    let middle = nested["session"]["id"].as_str().unwrap();
    let own = export(&stage, middle);
    assert_eq!(own["session"]["agent"], "middle");
    assert_eq!(own["messages"].as_array().unwrap().len(), 3);
    let shown = stage
        .offshoot(["sessions", "show", "--full", "a-long-talk"])
        .succeeded();
    assert!(shown.stdout.contains(&long()), "all of it is shown");
    assert!(
        shown.stderr.contains(part["id"].as_str().unwrap()),
        "{}",
        shown.stderr
    );
}

#[test]
fn sa_13_per_02_columns_of_a_real_run_are_true() {
    let stage = talk();
    let root = export(&stage, "a-long-talk");
    let session = &root["session"];
    assert!(session["cost_usd"].as_f64().unwrap() > 0.0, "{session}");
    let paid: f64 = (root["messages"].as_array().unwrap().iter())
        .filter_map(|message| json(&message["message"]["metadata_json"])["cost_usd"].as_f64())
        .sum();
    assert!((session["cost_usd"].as_f64().unwrap() - paid).abs() < 1e-9);
    assert_eq!(json(&session["model_json"])["provider_id"], "scripted");
    let [child] = children(&stage, &[]).try_into().unwrap();
    let open = export(&stage, child["sessionId"].as_str().unwrap());
    let row = &open["session"];
    assert_eq!(
        (&row["kind"], &row["parent_id"]),
        (&"subagent".into(), &"a-long-talk".into())
    );
    let messages = root["messages"].as_array().unwrap().iter();
    let mut ids = messages.map(|message| &message["message"]["id"]);
    assert!(ids.any(|id| *id == row["parent_message_id"]));
    assert_eq!(
        json(&row["metadata_json"])["opaque_parent_id"],
        child["parentId"]
    );
    assert_eq!(row["archived_at"], Value::Null);
}

#[test]
fn pd_49_a_copy_keeps_transcripts_when_the_original_is_removed_and_a_rewind_archives_them() {
    let stage = talk();
    let copy = stage
        .offshoot(["sessions", "fork", "a-long-talk"])
        .succeeded();
    let copy = copy.stdout.trim().to_owned();
    stage
        .offshoot(["sessions", "rm", "--yes", "a-long-talk"])
        .succeeded();
    let whole = export(&stage, &copy);
    let nested = json(&task_part(&whole)["data_json"])["transcripts"][0].clone();
    let last = nested["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["parts"][0]["text"], long().as_str());
    let shown = stage.offshoot(["sessions", "show", &copy]).succeeded();
    assert!(shown.stdout.contains("found it"), "{}", shown.stdout);
    let [child] = children(&stage, &[]).try_into().unwrap();
    let open = export(&stage, child["sessionId"].as_str().unwrap());
    assert_eq!(open["session"]["parent_id"], copy.as_str());
    // PER-03: what is taken back is archived, and hidden from lists.
    stage.offshoot(["sessions", "rewind", &copy]).succeeded();
    assert_eq!(children(&stage, &[]), Vec::<Value>::new());
    let [child] = children(&stage, &["--archived"]).try_into().unwrap();
    assert!(child["archivedTime"].is_string(), "{child}");
    let open = export(&stage, child["sessionId"].as_str().unwrap());
    assert!(open["session"]["archived_at"].is_u64());
}
