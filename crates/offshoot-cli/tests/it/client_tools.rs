//! Calls of client tools where no client is attached to the session (ruling 2).

use offshoot_store::{Backend, Sqlite, Write, Written};
use offshoot_types::client_tool::ClientTool;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, Seq, Timestamp, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::store::{Append, NewEntry};
use serde_json::json;

use crate::inbox::{asked, name};
use crate::stage::{Done, Stage};

/// A root, or a child of it, that calls the client tool `lookup`.
const CALLS: &str = r#"
replies:
  - {depth: 0, after_tools: false, prompt: hello, say: hello}
  - {depth: 0, after_tools: false, prompt: delegate, call: [{tool: task, arguments: {subagent_type: general, prompt: work}}]}
  - {depth: 1, after_tools: false, call: [{tool: lookup, arguments: {id: 7}}]}
  - {depth: 0, after_tools: false, prompt: look, call: [{tool: lookup, arguments: {id: 7}}]}
  - {say: "it said {output}"}
"#;

/// A session that a client has given the tool `lookup`, and no client is attached.
fn stage() -> Stage {
    let stage = Stage::new(CALLS);
    let hello = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "root",
        "hello",
    ];
    stage.offshoot(hello).succeeded();
    let root = AgentId::new("root");
    let tree = TreeId::of(root.clone());
    let mut database = Sqlite::open(&stage.data().join("offshoot.db")).unwrap();
    let claimed = database.commit(vec![Write::Claim(tree.clone())]).remove(0);
    let Ok(Written::Claimed(epoch)) = claimed else {
        panic!("the claim was answered {claimed:?}");
    };
    let tool = ClientTool {
        name: "lookup".to_owned(),
        description: "Looks a ticket up.".to_owned(),
        parameters: RawJson::of(&json!({ "type": "object" })),
        read_only: false,
        skip_permission: true,
    };
    let log = database.agent_log(&root).unwrap();
    let set = Append {
        at: Timestamp::new(0),
        entries: vec![NewEntry {
            agent: root,
            seq: Seq::new(log.len() as u64 + 1),
            event: Event::ClientTools { tools: vec![tool] },
        }],
        applied: Vec::new(),
    };
    let written = database.commit(vec![Write::Append(tree, epoch, set)]);
    assert!(written[0].is_ok(), "{written:?}");
    stage
}

fn run(stage: &Stage, prompt: &str) -> Done {
    stage.offshoot(["run", "--session", "root", prompt])
}

#[test]
fn ruling_2_a_run_without_a_client_leaves_the_session_asleep_and_the_inbox_answers() {
    for (word, expected) in [
        ("--result", "it said open\n"),
        ("--error", "it said error: open\n"),
    ] {
        let stage = stage();
        let left = run(&stage, "look").exited(3);
        assert_eq!(left.stdout, "");
        let name = name(&stage);
        let advice = format!("offshoot inbox answer {name} --result TEXT");
        assert!(left.stderr.contains(&advice), "{left:?}");
        assert_eq!(stage.status("root"), "waits");
        let asks = asked(&stage);
        assert_eq!(asks.len(), 1, "{asks:?}");
        assert_eq!(asks[0]["kind"], "client_tool");
        assert_eq!(asks[0]["tool"], "lookup");
        assert_eq!(asks[0]["arguments"], json!({ "id": 7 }));
        let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
        assert!(listed.contains(&advice), "{listed}");
        // A second run that cannot wait leaves it as it is.
        stage.offshoot(["run", "--session", "root"]).exited(3);

        let yes = stage.offshoot(["inbox", "answer", &name, "--once"]);
        yes.complained(2, "--result or --error");
        let answer = ["inbox", "answer", &name, word, "open"];
        assert_eq!(stage.offshoot(answer).succeeded().stdout, "kept\n");
        let again = ["inbox", "answer", &name, word, "closed"];
        assert_eq!(stage.offshoot(again).exited(1).stdout, "not answered\n");
        let on = stage.offshoot(["run", "--session", "root"]).succeeded();
        assert_eq!(on.stdout, expected);
        let late = ["inbox", "answer", &name, word, "closed"];
        assert_eq!(stage.offshoot(late).exited(1).stdout, "not answered\n");
    }
}

#[test]
fn ruling_2_a_child_reads_that_no_client_is_here_and_its_parent_goes_on() {
    let stage = stage();
    let done = run(&stage, "delegate").succeeded();
    assert!(
        done.stdout.contains("no client of the session is here"),
        "{done:?}"
    );
    assert!(asked(&stage).is_empty());
}

#[test]
fn ruling_2_with_wait_for_answers_a_run_waits_for_the_result() {
    let stage = stage();
    let args = [
        "run",
        "--session",
        "root",
        "--json",
        "--wait-for-answers",
        "look",
    ];
    let mut live = stage.live(&args);
    live.until("assistant.message");
    // The wait is stored right behind the message that makes the call.
    while asked(&stage).is_empty() {}
    let name = name(&stage);
    let answer = ["inbox", "answer", &name, "--result", "open"];
    assert_eq!(stage.offshoot(answer).succeeded().stdout, "answered\n");
    let (done, _) = live.wait();
    done.succeeded();
    let shown = stage
        .offshoot(["sessions", "show", "root"])
        .succeeded()
        .stdout;
    assert!(shown.contains("it said open"), "{shown}");
}

#[test]
fn ruling_2_a_call_whose_process_was_killed_is_answered_by_another_process() {
    let stage = stage();
    let waiting = ["run", "--session", "root", "--json", "--wait-for-answers"];
    let mut live = stage.live(&[&waiting[..], &["look"]].concat());
    live.until("assistant.message");
    // The wait is stored right behind the message that makes the call.
    while asked(&stage).is_empty() {}
    let name = name(&stage);
    live.kill();
    assert_eq!(asked(&stage).len(), 1, "a crash withdraws nothing");
    let answer = ["inbox", "answer", &name, "--result", "open"];
    assert_eq!(stage.offshoot(answer).succeeded().stdout, "kept\n");
    let on = stage.offshoot(["run", "--session", "root"]).succeeded();
    assert_eq!(on.stdout, "it said open\n");
    assert!(asked(&stage).is_empty());
}
