//! How calls are shown.

use offshoot_server::acp::{Form, Transcripts};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantPart, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use serde_json::{Value, json};

use crate::stage::{entries, fold, log};

/// What is told of a call of an agent, from its making to its end.
fn told(agent: &str, form: Form, tool: &str, arguments: &str, outcome: Outcome) -> Vec<Value> {
    let mut fold = fold(form);
    let mut told = Vec::new();
    for mut entry in entries(log!("denied")) {
        let Event::Replied(message) = &mut entry.event else {
            fold.entry(&entry);
            continue;
        };
        if entry.agent.as_str() != agent {
            fold.entry(&entry);
            continue;
        }
        message.parts = vec![AssistantPart::Call(Call {
            id: CallId::new("c"),
            tool: tool.to_owned(),
            arguments: Arguments::Json(RawJson::parse(arguments.to_owned()).unwrap()),
        })];
        let finished = Entry {
            event: Event::CallFinished {
                call: CallId::new("c"),
                outcome,
                delivers: Vec::new(),
            },
            ..entry.clone()
        };
        for entry in [&entry, &finished] {
            let updates = fold.entry(entry).into_iter();
            told.extend(updates.map(|one| serde_json::to_value(one).unwrap()["update"].clone()));
        }
        return told;
    }
    panic!("{agent} never speaks")
}

fn of_kid(tool: &str, arguments: &str, outcome: Outcome) -> Vec<Value> {
    told("kid", Form::Sessions, tool, arguments, outcome)
}

fn works() -> Outcome {
    Outcome::output(RawJson::of(&"done"))
}

#[test]
fn a_call_has_a_kind_a_title_and_the_file_it_is_about() {
    let check = |tool: &str, arguments: &str, kind: &str, title: &str, path: Option<&str>| {
        let made = &of_kid(tool, arguments, works())[0];
        assert_eq!(
            (&made["kind"], &made["title"]),
            (&json!(kind), &json!(title))
        );
        assert_eq!(made["name"], tool);
        let paths = path.map(|path| json!([{ "path": path }]));
        assert_eq!(made.get("locations"), paths.as_ref());
    };
    check(
        "read",
        r#"{"path":"a.txt"}"#,
        "read",
        "read a.txt",
        Some("/book/a.txt"),
    );
    check(
        "write",
        r#"{"path":"/t/b","content":""}"#,
        "edit",
        "write /t/b",
        Some("/t/b"),
    );
    check("grep", r#"{"pattern":"fn"}"#, "search", "grep fn", None);
    check(
        "bash",
        r#"{"command":"make\nmake test"}"#,
        "execute",
        "make",
        None,
    );
    check("todo", r#"{"items":[]}"#, "think", "todo", None);
    check("mcp_thing", r#"{"path":7}"#, "other", "mcp_thing", None);
}

#[test]
fn a_change_is_shown_from_the_start_and_stays_when_it_was_made() {
    let edit = r#"{"path":"a","old_string":"1","new_string":"2"}"#;
    let made = of_kid("edit", edit, works());
    let diff = json!([{ "type": "diff", "path": "/book/a", "oldText": "1", "newText": "2" }]);
    assert_eq!(made[0]["content"], diff);
    assert_eq!(made[1].get("content"), None, "unchanged");
    let failed = of_kid(
        "edit",
        edit,
        Outcome::error(ErrorKind::Conflict, "not there"),
    );
    assert_eq!(failed[1]["status"], "failed");
    assert_eq!(failed[1]["content"][0]["content"]["text"], "not there");
    let written = of_kid("write", r#"{"path":"a","content":"all"}"#, works());
    let diff = json!([{ "type": "diff", "path": "/book/a", "newText": "all" }]);
    assert_eq!(written[0]["content"], diff);
}

#[test]
fn a_list_of_things_to_do_is_the_plan_of_its_session() {
    let list = r#"{"items":[{"content":"look","status":"in_progress"}]}"#;
    let plan = json!({
        "sessionUpdate": "plan",
        "entries": [{ "content": "look", "priority": "medium", "status": "in_progress" }],
    });
    assert_eq!(of_kid("todo", list, works()).last(), Some(&plan));
    let failed = of_kid("todo", list, Outcome::error(ErrorKind::InvalidInput, "no"));
    assert_ne!(failed.last(), Some(&plan));
    // On one session a child's list would take the place of the root's.
    let flat = Form::Flat(Transcripts::Shown);
    assert_eq!(
        told("root", flat, "todo", list, works()).last(),
        Some(&plan)
    );
    assert_ne!(told("kid", flat, "todo", list, works()).last(), Some(&plan));
}
