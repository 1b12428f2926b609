//! `sessions rewind` and `fork`: taking back what was said, and going on from it elsewhere.

use serde_json::Value;

use crate::stage::{Stage, of_type};

const TALK: &str = r#"
agents: [{name: reader, mode: subagent, inspectable: true}]
replies:
  - depth: 0
    after_tools: false
    prompt: delegate
    call: [{tool: task, arguments: {subagent_type: reader, prompt: look}}]
  - {depth: 0, after_tools: true, say: "so: {output}"}
  - {say: "you said {prompt}"}
"#;

/// A session in which these things were asked.
fn talk(prompts: &[&str]) -> Stage {
    let stage = Stage::new(TALK);
    for (number, prompt) in prompts.iter().enumerate() {
        let model = ["--model", "scripted/script.yaml"];
        let args = ["run", "--session", "a-long-talk", prompt];
        let args = args
            .into_iter()
            .chain(model.into_iter().filter(|_| number == 0));
        stage.offshoot(args).succeeded();
    }
    stage
}

/// Returns the ids of the messages of a kind, as `show --full` names them.
fn messages(stage: &Stage, id: &str, kind: &str) -> Vec<String> {
    let shown = stage
        .offshoot(["sessions", "show", "--full", id])
        .succeeded();
    let mut ids = Vec::new();
    let mut is_of_kind = false;
    for line in shown.stdout.lines() {
        let detail = line.starts_with("          ");
        if let (true, Some(id)) = (is_of_kind && detail, line.trim().strip_prefix("message ")) {
            ids.push(id.trim().to_owned());
        }
        if !detail {
            is_of_kind = line.split_whitespace().nth(3) == Some(kind);
        }
    }
    ids
}

fn export(stage: &Stage, id: &str) -> Value {
    let args = ["sessions", "export", "--format", "json", id];
    let exported = stage.offshoot(args).succeeded();
    serde_json::from_str(&exported.stdout).unwrap()
}

/// Returns which messages of an export are hidden.
fn hidden(export: &Value) -> Vec<bool> {
    let messages = export["messages"].as_array().unwrap().iter();
    let metadata = messages.map(|message| message["message"]["metadata_json"].to_string());
    metadata.map(|text| text.contains("hidden_at")).collect()
}

#[test]
fn ses_06_the_last_prompt_is_taken_back_and_printed() {
    let stage = talk(&["first", "second\nin two lines"]);
    let back = stage
        .offshoot(["sessions", "rewind", "a-long-talk"])
        .succeeded();
    assert_eq!(back.stdout, "2 messages hidden\nsecond\nin two lines\n");
    assert_eq!(
        hidden(&export(&stage, "a-long-talk")),
        [false, false, true, true]
    );
    let shown = stage
        .offshoot(["sessions", "show", "a-long-talk"])
        .succeeded();
    let marked = shown
        .stdout
        .lines()
        .filter(|line| line.ends_with("[taken back]"));
    assert_eq!(marked.count(), 2, "{}", shown.stdout);
    assert!(shown.stdout.contains("rewound    to "), "{}", shown.stdout);

    let args = ["run", "--session", "a-long-talk", "third"];
    let answer = stage.offshoot(args).succeeded();
    assert_eq!(answer.stdout, "you said third\n");
}

#[test]
fn ses_06_several_prompts_or_all_after_a_message_are_taken_back() {
    let stage = talk(&["first", "second", "third"]);
    let prompts = messages(&stage, "a-long-talk", "prompt");
    assert_eq!(prompts.len(), 3);
    let part = &prompts[1][prompts[1].len() - 12..];
    let args = ["sessions", "rewind", "--json", "a-long-talk", "--to", part];
    let back = stage.offshoot(args).succeeded().events();
    assert_eq!(back[0]["status"], "rewound");
    assert_eq!(back[0]["receipt"]["rewound"]["hidden"], 3);
    assert_eq!(back[0]["prompt"], "third");

    let args = ["sessions", "rewind", "a-long-talk", "--prompts", "3"];
    let many = stage.offshoot(args);
    assert_eq!(many.code, Some(2), "{many:?}");
    assert!(many.stderr.contains("only 2 prompts"), "{}", many.stderr);
    let args = ["sessions", "rewind", "a-long-talk", "--prompts", "2"];
    let back = stage.offshoot(args).succeeded();
    assert_eq!(back.stdout, "3 messages hidden\nfirst\n");
    let nothing = stage.offshoot(["sessions", "rewind", "a-long-talk"]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    // What it began with is not what it is about any more.
    let args = ["run", "--session", "a-long-talk", "afresh"];
    stage.offshoot(args).succeeded();
    let tree = stage
        .offshoot(["sessions", "tree", "a-long-talk"])
        .succeeded();
    assert!(tree.stdout.contains("afresh"), "{}", tree.stdout);
}

#[test]
fn ses_06_a_message_that_is_not_there_is_refused_and_nothing_is_hidden() {
    let stage = talk(&["first"]);
    for to in ["nobody's message", "short"] {
        let args = ["sessions", "rewind", "a-long-talk", "--to", to];
        let refused = stage.offshoot(args);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.stderr.contains("there is no message"),
            "{}",
            refused.stderr
        );
    }
    let last = messages(&stage, "a-long-talk", "said").pop().unwrap();
    let args = ["sessions", "rewind", "a-long-talk", "--to", &last];
    let refused = stage.offshoot(args);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("nothing was said after it"),
        "{}",
        refused.stderr
    );
    assert_eq!(hidden(&export(&stage, "a-long-talk")), [false, false]);
}

#[test]
fn ses_08_a_copy_goes_on_where_it_was_made_and_leaves_the_other_alone() {
    let stage = talk(&["first", "delegate", "third"]);
    let before = export(&stage, "a-long-talk");
    let at = messages(&stage, "a-long-talk", "prompt");
    // The prompt of the child is among them.
    assert_eq!(at.len(), 4);
    let made = stage
        .offshoot(["sessions", "fork", "a-long-talk"])
        .succeeded();
    let copy = made.stdout.trim_end();
    assert_eq!(made.stdout.lines().count(), 1, "{}", made.stdout);
    let copied = export(&stage, copy);
    assert_eq!(copied["session"]["kind"], "fork");
    assert_eq!(copied["session"]["parent_id"], "a-long-talk");
    let texts = |export: &Value| {
        let messages = export["messages"].as_array().unwrap().iter();
        let parts = messages.map(|message| message["parts"].as_array().unwrap().clone());
        let texts = parts.flatten().map(|part| part["data_json"].to_string());
        texts
            .filter(|text| text.contains("said"))
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&copied).len(), texts(&before).len());
    let events = stage.show(copy);
    // The child that it was told of came with it (PD-49).
    assert_eq!(of_type(&events, "user.message").len(), 4);
    assert_eq!(of_type(&events, "subagent.started").len(), 1);

    let answer = stage
        .offshoot(["run", "--session", copy, "fourth"])
        .succeeded();
    assert_eq!(answer.stdout, "you said fourth\n");
    assert_eq!(export(&stage, "a-long-talk"), before);
    let args = ["sessions", "fork", "--json", "a-long-talk", "--at", &at[0]];
    let made = stage.offshoot(args).succeeded().events();
    assert_eq!(made[0]["copyOf"], "a-long-talk");
    let copy = made[0]["sessionId"].as_str().unwrap();
    assert_eq!(hidden(&export(&stage, copy)).len(), 1);
    stage
        .offshoot(["sessions", "rm", "--yes", copy])
        .succeeded();
    assert_eq!(export(&stage, "a-long-talk"), before);
}

#[test]
fn ses_08_what_cannot_be_copied_is_refused() {
    let stage = talk(&["delegate"]);
    let events = stage.show("a-long-talk");
    let child = of_type(&events, "subagent.started")[0]["agentId"].clone();
    let refused = stage.offshoot(["sessions", "fork", child.as_str().unwrap()]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("only whole sessions"),
        "{}",
        refused.stderr
    );
    stage
        .offshoot(["sessions", "rewind", "a-long-talk"])
        .succeeded();
    let refused = stage.offshoot(["sessions", "fork", "a-long-talk"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("no message"), "{}", refused.stderr);
}

#[test]
fn a_rewind_that_is_left_with_another_process_says_that_it_is_queued() {
    let stage = Stage::new("replies: [{say: thinking, fault: hang}]");
    let mut run = stage.start("a-long-talk", "hang");
    run.until("assistant.message_delta");
    // Whoever is stopped answers nobody, and holds what it has.
    run.signal("STOP");
    let back = stage
        .offshoot(["sessions", "rewind", "a-long-talk"])
        .succeeded();
    let json = ["sessions", "rewind", "--json", "a-long-talk"];
    let json = stage.offshoot(json).succeeded().events();
    run.signal("CONT");
    run.signal("INT");
    run.wait();
    assert_eq!(back.stdout, "queued\n");
    assert!(
        back.stderr.contains("another process runs the session"),
        "{back:?}"
    );
    assert_eq!(
        (&json[0]["status"], &json[0]["prompt"]),
        (&"queued".into(), &Value::Null)
    );
}

#[test]
fn a_copy_says_what_it_is_of_ends_as_that_did_and_has_used_nothing_yet() {
    let stage = Stage::new(
        "replies: [{prompt: hang, say: thinking, fault: hang, usage: {input: 9}}, {say: hi, usage: {input: 7}}]",
    );
    let mut run = stage.start("first", "hang");
    run.until("assistant.message_delta");
    run.signal("INT");
    run.wait();
    let rename = ["sessions", "rename", "first", "Talk"];
    stage.offshoot(rename).succeeded();
    let fork = |id: &str| {
        let made = stage.offshoot(["sessions", "fork", id]).succeeded();
        made.stdout.trim_end().to_owned()
    };
    let copy = fork("first");
    let tree = stage
        .offshoot(["sessions", "tree", &copy])
        .succeeded()
        .stdout;
    let expected =
        format!("build  {copy}  cancelled by the user  0 tokens  copied from first  'hang'\n");
    assert_eq!(tree, expected);
    assert_eq!(stage.status(&copy), "cancelled");
    let shown = stage
        .offshoot(["sessions", "show", &copy])
        .succeeded()
        .stdout;
    assert!(shown.contains(" copied     from first, up to "), "{shown}");
    stage
        .offshoot(["run", "--session", &copy, "go on"])
        .succeeded();
    let tree = ["sessions", "tree", "--json", &copy];
    let tree = stage.offshoot(tree).succeeded().events();
    assert_eq!(tree[0]["copyOf"], "first");
    assert_eq!(tree[0]["runs"], 1);
    assert_eq!(tree[0]["status"], "completed");
    let again = fork(&copy);
    let listed = stage
        .offshoot(["sessions", "list", "--json"])
        .succeeded()
        .events();
    let title = |id: &str| {
        let mut listed = listed.iter();
        listed.find(|session| session["sessionId"] == *id).unwrap()["title"].clone()
    };
    assert_eq!(title(&copy), "Talk (copy)");
    assert_eq!(title(&again), "Talk (copy 2)");
}
