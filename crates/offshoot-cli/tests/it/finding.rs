//! One session among many: found by a part of an id or by its folder, and listed in parts.

use std::path::Path;

use offshoot_store::Handle;
use offshoot_store::contract::scene::Scene;
use offshoot_types::store::Store;

use crate::stage::{Stage, of_type};

const FAMILY: &str = r#"
agents: [{name: reader, mode: subagent, inspectable: true}]
replies:
  - {depth: 0, after_tools: false, prompt: go, call: [{tool: task, arguments: {subagent_type: reader, prompt: look}}]}
  - {depth: 0, prompt: "<task_completion", say: done}
  - {say: "you said {prompt}"}
"#;

/// A folder with a session `family-session` of two agents, and this many sessions of another folder.
fn among(others: usize) -> Stage {
    let stage = Stage::new(FAMILY);
    let args = ["run", "--model", "scripted/script.yaml"];
    let args = args
        .into_iter()
        .chain(["--session", "family-session", "go"]);
    stage.offshoot(args).succeeded();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(write_others(&stage.data(), others));
    stage
}

async fn write_others(data: &Path, others: usize) {
    let store = Handle::open(data).unwrap();
    for number in 0..others {
        let id = format!("{number:04}-each-night");
        let mut scene = Scene::opened_in(&id, "/elsewhere", &format!("count to {number}"));
        let first = scene.take();
        let created = store.create(scene.tree(), first).await.unwrap();
        let (lease, _) = created.unwrap();
        store.release(lease).await.unwrap();
    }
}

/// Makes the logs of the other sessions unreadable: no event of theirs that has a prompt is JSON any more.
fn damage_others(stage: &Stage) {
    let path = stage.data().join("offshoot.db");
    let mut database = std::fs::read(&path).unwrap();
    let prompt = br#""text":"count to "#;
    let places = database.windows(prompt.len()).enumerate();
    let places = places.filter(|(_, bytes)| *bytes == prompt);
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    assert!(!places.is_empty());
    for place in places {
        database[place] = b'!';
    }
    std::fs::write(&path, database).unwrap();
}

#[test]
fn an_agent_is_found_by_a_part_of_its_id_though_no_log_of_another_session_can_be_read() {
    let stage = among(300);
    damage_others(&stage);
    let events = stage.show("family-session");
    let started = of_type(&events, "subagent.started");
    let child = started[0]["agentId"].as_str().unwrap();
    let part = &child[child.len() - 8..];
    let tree = stage.offshoot(["sessions", "tree", "--json", part]);
    assert_eq!(tree.succeeded().events()[0]["agentId"], child);
    let unreadable = ["sessions", "tree", "0007-each-night"];
    stage.offshoot(unreadable).exited(1);
    let many =
        "could be any of more than 5 sessions or agents; give more of the id: 0000-each-night, ";
    stage
        .offshoot(["sessions", "tree", "each-night"])
        .complained(2, many);
    let last = ["run", "--continue", "--quiet", "hello"];
    let said = stage.offshoot(last).succeeded();
    assert_eq!(said.stdout, "you said hello\n");
}

#[test]
fn a_list_is_searched_and_cut_to_a_number() {
    let stage = among(20);
    let listed = |args: &[&str]| {
        let all = [&["sessions", "list", "--json"][..], args].concat();
        let rows = stage.offshoot(all).succeeded().events();
        let ids = rows.iter().map(|row| row["sessionId"].as_str().unwrap());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]).len(), 21);
    assert_eq!(
        listed(&["--limit", "3"]),
        ["family-session", "0000-each-night", "0001-each-night"]
    );
    assert_eq!(
        listed(&["--search", "Count to 1"]).len(),
        11,
        "1 and 10 to 19"
    );
    assert_eq!(
        listed(&["--search", "count TO 1", "--limit", "1"]),
        ["0001-each-night"]
    );
    assert!(listed(&["--search", "nothing like it"]).is_empty());
    let cut = stage.offshoot(["sessions", "list", "--limit", "20"]);
    let cut = cut.succeeded();
    assert_eq!(cut.stdout.lines().count(), 21, "with the head");
    assert!(cut.stderr.contains("--limit"), "{}", cut.stderr);
    let whole = stage.offshoot(["sessions", "list", "--limit", "21"]);
    assert_eq!(whole.succeeded().stderr, "");
    stage
        .offshoot(["sessions", "list", "--limit", "0"])
        .exited(2);
}
