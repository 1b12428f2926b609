//! What somebody has to allow, and what becomes of it.

use offshoot_types::content::{Attached, Digest, FileReference, Part};
use offshoot_types::event::{Did, Event, Hooked};
use offshoot_types::hook::Point;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantPart, Author};
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Decision, Grant, Need, Reach, Rule};
use serde_json::{Value, json};

use super::log::{Log, fails, finishes, message, turn};

fn need(capability: &str, target: &str) -> Need {
    Need {
        capability: capability.to_owned(),
        target: target.to_owned(),
    }
}

/// A root that calls a tool which asks.
fn asks(tool: &str, arguments: &str, need: &Need) -> Log {
    let mut log = calls(tool, arguments);
    log.add(
        "root",
        Event::Asked {
            call: CallId::new("c1"),
            needs: vec![need.clone()],
            decision: decision(Action::Ask),
            tool: String::new(),
            questions: Vec::new(),
            deadline: None,
            waits_for_client: false,
        },
    );
    log
}

fn calls(tool: &str, arguments: &str) -> Log {
    let mut log = Log::asked();
    let mut said = message("m1", &[], &[("c1", tool)]);
    if let AssistantPart::Call(call) = &mut said.parts[0] {
        call.arguments = Arguments::Json(RawJson::parse(arguments.to_owned()).unwrap());
    }
    log.add("root", Event::Replied(said));
    log
}

fn decision(action: Action) -> Decision {
    Decision {
        action,
        layer: "somebody".to_owned(),
        rule: None,
    }
}

fn decides(decision: Decision, grant: Option<Grant>, reason: Option<&str>) -> Event {
    Event::Decided {
        call: CallId::new("c1"),
        decision,
        grant,
        reason: reason.map(str::to_owned),
    }
}

#[test]
fn a_command_is_asked_for_with_every_field_that_strict_clients_require() {
    let arguments = r#"{"command":"make > log","description":"build it"}"#;
    let log = asks("bash", arguments, &need("shell.run", "make > log"));
    assert_eq!(
        log.tail(2),
        ["tool.execution_start", "permission.requested"]
    );
    let asked = &log.data("permission.requested")[0];
    assert_eq!(
        asked["permissionRequest"],
        json!({
            "kind": "shell", "toolCallId": "c1", "fullCommandText": "make > log",
            "intention": "build it", "possiblePaths": [], "possibleUrls": [],
            "commands": [{ "identifier": "make > log", "readOnly": false }],
            "hasWriteFileRedirection": true, "canOfferSessionApproval": true,
        })
    );
    assert_eq!(
        asked["promptRequest"],
        json!({
            "kind": "commands", "toolCallId": "c1", "fullCommandText": "make > log",
            "intention": "build it", "commandIdentifiers": ["make > log"],
            "canOfferSessionApproval": true,
        })
    );
    assert_eq!(asked["ownerSessionId"], "root");
    assert!(uuid::Uuid::parse_str(asked["requestId"].as_str().unwrap()).is_ok());
}

#[test]
fn a_change_is_asked_for_with_what_the_call_says_of_it() {
    let check = |tool: &str, arguments: &str, diff: &str| {
        let log = asks(tool, arguments, &need("fs.write", "/book/a.txt"));
        let asked = &log.data("permission.requested")[0];
        let expected = json!({
            "kind": "write", "toolCallId": "c1", "fileName": "/book/a.txt",
            "intention": format!("run {tool}"), "diff": diff, "canOfferSessionApproval": true,
        });
        assert_eq!(asked["permissionRequest"], expected);
        assert_eq!(asked["promptRequest"], expected);
    };
    let head = "--- /book/a.txt\n+++ /book/a.txt\n";
    let edit = r#"{"path":"a.txt","old_string":"one\ntwo","new_string":"1"}"#;
    check("edit", edit, &format!("{head}-one\n-two\n+1\n"));
    let write = r#"{"path":"a.txt","content":"all\nof it\n"}"#;
    check("write", write, &format!("{head}+all\n+of it\n"));
    check("patch", r#"{"path":"a.txt"}"#, "");
}

#[test]
fn what_no_kind_fits_is_a_custom_tool() {
    let log = asks("lookup", r#"{"key":"k"}"#, &need("mcp.call", "lookup"));
    let asked = &log.data("permission.requested")[0];
    let expected = json!({
        "kind": "custom-tool", "toolCallId": "c1", "toolName": "lookup",
        "toolDescription": "", "args": { "key": "k" },
    });
    assert_eq!(asked["permissionRequest"], expected);
    assert_eq!(asked["promptRequest"], expected);
    let log = asks("read", "{}", &need("fs.read", "/etc/hosts"));
    let asked = &log.data("permission.requested")[0]["permissionRequest"];
    assert_eq!(
        (&asked["kind"], &asked["path"]),
        (&json!("read"), &json!("/etc/hosts"))
    );
}

#[test]
fn an_answer_is_told_with_what_it_allows_or_why_it_is_no() {
    let answered = |event: Event| {
        let shell = need("shell.run", "make");
        let mut log = asks("bash", r#"{"command":"make"}"#, &shell);
        log.add("root", event);
        let asked = &log.data("permission.requested")[0];
        let told = log.data("permission.completed")[0].clone();
        assert_eq!(told["requestId"], asked["requestId"]);
        assert_eq!(told["toolCallId"], "c1");
        told["result"].clone()
    };
    let yes = || decision(Action::Allow);
    assert_eq!(
        answered(decides(yes(), None, None)),
        json!({ "kind": "approved" })
    );
    let reach = |_: &Need| Reach::Exact;
    let needs = [need("shell.run", "make")];
    let grant = Grant::like(AgentId::new("root"), &needs, "/book", reach);
    assert_eq!(
        answered(decides(yes(), Some(grant), None)),
        json!({
            "kind": "approved-for-session",
            "approval": { "kind": "commands", "commandIdentifiers": ["make"] },
        })
    );
    assert_eq!(
        answered(decides(decision(Action::Deny), None, Some("use npm"))),
        json!({ "kind": "denied-interactively-by-user", "feedback": "use npm" })
    );
}

#[test]
fn r23_what_is_refused_without_asking_is_told_and_asks_nobody() {
    let refused = |decision: Decision| {
        let mut log = calls("bash", r#"{"command":"make"}"#);
        log.add("root", decides(decision, None, None));
        assert_eq!(
            log.tail(2),
            ["tool.execution_start", "permission.completed"]
        );
        assert!(log.data("permission.requested").is_empty());
        log.data("permission.completed")[0]["result"].clone()
    };
    let rule = Some(Rule::new("shell.run", "*", Action::Deny));
    let by_rule = Decision {
        rule,
        ..decision(Action::Deny)
    };
    assert_eq!(
        refused(by_rule),
        json!({ "kind": "denied-by-rules", "rules": [{ "kind": "shell.run", "argument": "*" }] })
    );
    assert_eq!(
        refused(decision(Action::Ask)),
        json!({ "kind": "denied-no-approval-rule-and-could-not-request-from-user" })
    );
    let mut log = calls("bash", "{}");
    let before = log.names();
    log.add("root", decides(decision(Action::Allow), None, None));
    assert_eq!(
        log.names(),
        before,
        "of a yes that nobody gave there is no event"
    );
}

#[test]
fn a_question_that_nobody_answers_any_more_is_taken_back() {
    let mut log = asks("bash", "{}", &need("shell.run", "make"));
    log.add("root", fails("c1", ErrorKind::Cancelled, "cancelled"));
    assert_eq!(
        log.tail(2),
        ["permission.completed", "tool.execution_complete"]
    );
    let told = &log.data("permission.completed")[0];
    assert_eq!(told["result"], json!({ "kind": "cancelled" }));
}

#[test]
fn a_refusal_says_whether_a_person_or_a_rule_refused() {
    let code = |mut log: Log, event: Event| {
        log.add("root", event);
        log.add("root", fails("c1", ErrorKind::Denied, "no"));
        log.data("tool.execution_complete")[0]["error"]["code"].clone()
    };
    let no = || decides(decision(Action::Deny), None, None);
    let asked = asks("bash", "{}", &need("shell.run", "make"));
    assert_eq!(code(asked, no()), Value::from("rejected"));
    assert_eq!(code(calls("bash", "{}"), no()), Value::from("denied"));
}

#[test]
fn a_question_that_nobody_was_there_to_answer_is_no_permission_that_was_refused() {
    let mut log = calls("question", "{}");
    log.add("root", decides(decision(Action::Ask), None, None));
    log.add("root", fails("c1", ErrorKind::Denied, "nobody is here"));
    assert_eq!(
        log.tail(4),
        [
            "tool.execution_start",
            "tool.execution_complete",
            "assistant.turn_end",
            "assistant.turn_start"
        ]
    );
    assert!(log.data("permission.completed").is_empty());
}

#[test]
fn a_call_of_the_engine_that_asks_is_asked_for_as_a_tool_of_its_own_kind() {
    let arguments = r#"{"subagent_type":"explore","prompt":"look"}"#;
    let log = asks("task", arguments, &need("task", "explore"));
    let asked = &log.data("permission.requested")[0]["permissionRequest"];
    assert_eq!(asked["kind"], "custom-tool");
    assert_eq!(asked["toolName"], "task");
    assert_eq!(asked["args"]["subagent_type"], "explore");
}

#[test]
fn a_call_that_is_over_says_who_allowed_it_and_by_which_rule() {
    let mut log = asks("bash", r#"{"command":"make"}"#, &need("shell.run", "make"));
    let by_rule = Decision {
        action: Action::Allow,
        layer: "the user's rules".to_owned(),
        rule: Some(Rule::new("shell.run", "make *", Action::Allow)),
    };
    log.add("root", decides(by_rule, None, None));
    log.add("root", finishes("c1", json!("made")));
    let over = &log.data("tool.execution_complete")[0];
    assert_eq!(
        over["permission"],
        json!({
            "action": "allow",
            "layer": "the user's rules",
            "rule": {"permission": "shell.run", "pattern": "make *", "action": "allow"},
        })
    );
}

#[test]
fn ruling_3_a_call_that_the_host_rewrote_starts_with_what_runs_and_was_requested_as_the_model_said()
{
    let mut log = calls("write", r#"{"path":"a"}"#);
    log.add(
        "root",
        Event::Hooked(Box::new(Hooked {
            hook: "host".to_owned(),
            point: Point::PreToolUse,
            call: Some(CallId::new("c1")),
            did: Did::Passed,
            note: None,
            context: None,
            arguments: Some(RawJson::of(&json!({ "path": "b" }))),
            by_host: true,
        })),
    );
    log.add(
        "root",
        Event::CallStarted {
            call: CallId::new("c1"),
            child: None,
        },
    );
    let requested = &log.data("assistant.message")[0]["toolRequests"][0];
    assert_eq!(requested["arguments"], json!({ "path": "a" }));
    let started = &log.data("tool.execution_start")[0];
    assert_eq!(started["arguments"], json!({ "path": "b" }));
}

#[test]
fn a_call_that_waits_for_a_client_is_requested_once_and_completed() {
    let mut log = calls("lookup", r#"{"key":"k"}"#);
    log.add(
        "root",
        Event::Asked {
            call: CallId::new("c1"),
            needs: Vec::new(),
            decision: decision(Action::Ask),
            tool: "lookup".to_owned(),
            questions: Vec::new(),
            deadline: None,
            waits_for_client: true,
        },
    );
    assert_eq!(
        log.tail(2),
        ["tool.execution_start", "external_tool.requested"]
    );
    let requested = log.data("external_tool.requested").remove(0);
    let request = requested["requestId"].clone();
    assert!(uuid::Uuid::parse_str(request.as_str().unwrap()).is_ok());
    assert_eq!(
        requested,
        json!({
            "requestId": request, "sessionId": "root", "toolCallId": "c1",
            "toolName": "lookup", "arguments": { "key": "k" },
        })
    );
    log.add("root", finishes("c1", json!("v")));
    let names = log.names();
    let completed = names
        .iter()
        .position(|name| name == "external_tool.completed");
    assert_eq!(
        names[completed.unwrap() + 1],
        "tool.execution_complete",
        "{names:?}"
    );
    let completed = log.data("external_tool.completed");
    assert_eq!(completed, [json!({ "requestId": request })]);
    assert_eq!(log.data("external_tool.requested").len(), 1);
}

#[test]
fn a_call_that_needs_no_client_completes_no_request() {
    let mut log = calls("lookup", "{}");
    log.add("root", finishes("c1", json!("v")));
    assert!(log.data("external_tool.completed").is_empty());
}

#[test]
fn attachments_of_a_message_are_named_without_their_bytes() {
    let digest = Digest::new("ab".repeat(32)).unwrap();
    let image = Attached {
        digest,
        media_type: "image/png".to_owned(),
        bytes: 12,
        name: Some("a.png".to_owned()),
        uri: None,
    };
    let reference = FileReference {
        path: "src/a.rs".to_owned(),
        media_type: None,
    };
    let mut log = Log::asked();
    let id = log.queues("root", "look", Author::Human);
    if let Some(Event::Prompted(message)) = log.entries.last_mut().map(|entry| &mut entry.event) {
        message.text.push(Part::Image(image));
        message.text.push(Part::FileReference(reference));
    }
    log.add("root", turn(Some(id)));
    let messages = log.data("user.message");
    assert_eq!(messages[0].get("attachments"), None);
    assert_eq!(messages[1]["content"], "look");
    assert_eq!(
        messages[1]["attachments"],
        json!([
            {
                "type": "blob", "assetId": format!("sha256:{}", "ab".repeat(32)),
                "mimeType": "image/png", "byteLength": 12, "displayName": "a.png",
            },
            { "type": "file", "path": "src/a.rs", "displayName": "src/a.rs" },
        ])
    );
}
