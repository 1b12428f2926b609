//! The stored form of every event: a golden each (R5).

use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::id::{AgentId, CallId, TurnNo};
use offshoot_types::json::RawJson;
use offshoot_types::message::{AssistantMessage, AssistantPart, Reasoning, StopReason, Usage};
use offshoot_types::permission::{Action, Decision, Grant, Need, Rule};
use offshoot_types::settlement::{
    CancelledBy, Cap, FailureKind, PartialReason, Settlement, Status,
};

use crate::write::{
    call_started, child, completion, ended, finished, prompted, replied, root, settled, started,
};

#[track_caller]
fn check(event: &Event, golden: &str) {
    let stored = serde_json::to_string(event).unwrap();
    assert_eq!(stored, golden);
    assert_eq!(serde_json::from_str::<Event>(golden).unwrap(), *event);
}

#[test]
fn every_event_has_its_stored_form() {
    check(
        &root(),
        r#"{"spawned":{"definition":"worker","origin":{"session":{"workspace":"/w","date":"2026-11-15"}},"depth":0,"model":"scripted/x","layer":{"name":"agent worker","rules":[],"closed":false,"standing":"narrows"},"inspectable":false}}"#,
    );
    check(
        &child("a", true),
        r#"{"spawned":{"definition":"worker","origin":{"task":{"agent":"root","call":"a","message":"p1","background":true}},"depth":1,"model":"scripted/x","layer":{"name":"agent worker","rules":[],"closed":false,"standing":"narrows"},"inspectable":false}}"#,
    );
    check(
        &prompted("p"),
        r#"{"prompted":{"id":"p","text":"text of p","from":"human"}}"#,
    );
    check(
        &completion("kid", 2),
        r#"{"completion":{"message":"c","run":{"agent":"kid","run":2},"definition":"worker","settlement":{"status":"completed","output":"said","usage":{"input":0,"output":0,"reasoning":0,"cache_read":0,"cache_write":0},"steps":1,"duration_ms":2}}}"#,
    );
    check(
        &started(1, 2, Some("p")),
        r#"{"turn_started":{"run":1,"turn":2,"prompt":"p"}}"#,
    );
    check(
        &started(1, 2, None),
        r#"{"turn_started":{"run":1,"turn":2}}"#,
    );
    check(
        &replied(&["a"]),
        r#"{"replied":{"id":"m","parts":[{"text":" said "},{"call":{"id":"a","tool":"task","arguments":{"json":{}}}}],"model":"x","usage":{"input":3,"output":1,"reasoning":0,"cache_read":0,"cache_write":0},"stop":"calls"}}"#,
    );
    let rule = Some(Rule::new("fs.read", "*", Action::Allow));
    check(
        &Event::Decided {
            call: CallId::new("a"),
            decision: Decision {
                action: Action::Allow,
                layer: "root grant".to_owned(),
                rule: rule.clone(),
            },
            grant: None,
            reason: None,
        },
        r#"{"decided":{"call":"a","decision":{"action":"allow","layer":"root grant","rule":{"permission":"fs.read","pattern":"*","action":"allow"}}}}"#,
    );
    let need = Need {
        capability: "shell.run".to_owned(),
        target: "make".to_owned(),
    };
    let unsaid = Decision {
        action: Action::Ask,
        layer: "default".to_owned(),
        rule: None,
    };
    check(
        &Event::Asked {
            call: CallId::new("a"),
            needs: vec![need.clone()],
            decision: unsaid,
        },
        r#"{"asked":{"call":"a","needs":[{"capability":"shell.run","target":"make"}],"decision":{"action":"ask","layer":"default"}}}"#,
    );
    check(
        &Event::Decided {
            call: CallId::new("a"),
            decision: Decision {
                action: Action::Allow,
                layer: "the user".to_owned(),
                rule: None,
            },
            grant: Some(Grant::like(AgentId::new("root"), &[need], "/w")),
            reason: None,
        },
        r#"{"decided":{"call":"a","decision":{"action":"allow","layer":"the user"},"grant":{"agent":"root","rules":[{"permission":"shell.run","pattern":"make","action":"allow"}]}}}"#,
    );
    check(
        &call_started("a", Some("kid")),
        r#"{"call_started":{"call":"a","child":"kid"}}"#,
    );
    check(&call_started("a", None), r#"{"call_started":{"call":"a"}}"#);
    check(
        &finished("a", &["kid"]),
        r#"{"call_finished":{"call":"a","outcome":{"type":"output","data":null,"metadata":{"duration_ms":0}},"delivers":[{"agent":"kid","run":1}]}}"#,
    );
    check(&ended(3), r#"{"turn_ended":{"turn":3,"end":"finished"}}"#);
    check(
        &settled(1, Status::Completed),
        r#"{"settled":{"run":1,"settlement":{"status":"completed","output":"said","usage":{"input":0,"output":0,"reasoning":0,"cache_read":0,"cache_write":0},"steps":1,"duration_ms":2}}}"#,
    );
}

#[test]
fn blocks_of_providers_come_back_byte_for_byte() {
    let raw = r#"{"type" : "redacted","data":"\u0041","n":1.0}"#;
    let block = || RawJson::parse(raw.to_owned()).unwrap();
    let message = Event::Replied(AssistantMessage {
        id: offshoot_types::id::MessageId::new("m"),
        parts: vec![
            AssistantPart::Raw(block()),
            AssistantPart::Reasoning(Reasoning {
                text: String::new(),
                raw: Some(block()),
            }),
        ],
        model: "x".to_owned(),
        usage: Usage::default(),
        stop: StopReason::End,
        timing: None,
    });
    let stored = serde_json::to_string(&message).unwrap();
    assert_eq!(stored.matches(raw).count(), 2);
    assert_eq!(serde_json::from_str::<Event>(&stored).unwrap(), message);
}

#[test]
fn every_end_of_a_turn_and_of_a_run_has_its_stored_form() {
    let ends = [
        (TurnEnd::Finished, r#""finished""#),
        (
            TurnEnd::HandedBack(Cap::Steps),
            r#"{"handed_back":"steps"}"#,
        ),
        (TurnEnd::Aborted(CancelledBy::User), r#"{"aborted":"user"}"#),
        (
            TurnEnd::Failed {
                kind: FailureKind::Model,
                message: "x".to_owned(),
            },
            r#"{"failed":{"kind":"model","message":"x"}}"#,
        ),
        (TurnEnd::Lost, r#""lost""#),
    ];
    for (end, golden) in ends {
        let golden = format!(r#"{{"turn_ended":{{"turn":1,"end":{golden}}}}}"#);
        check(
            &Event::TurnEnded {
                turn: TurnNo::new(1),
                end,
            },
            &golden,
        );
    }
    let statuses = [
        (Status::Completed, r#""completed""#),
        (
            Status::Partial(PartialReason::NoAnswer),
            r#"{"partial":"no_answer"}"#,
        ),
        (
            Status::Partial(PartialReason::Budget(Cap::Steps)),
            r#"{"partial":{"budget":"steps"}}"#,
        ),
        (
            Status::Failed {
                kind: FailureKind::Config,
                message: "x".to_owned(),
            },
            r#"{"failed":{"kind":"config","message":"x"}}"#,
        ),
        (
            Status::Cancelled(CancelledBy::Ancestor),
            r#"{"cancelled":"ancestor"}"#,
        ),
        (
            Status::BudgetExhausted(Cap::Steps),
            r#"{"budget_exhausted":"steps"}"#,
        ),
        (
            Status::Denied {
                reason: "x".to_owned(),
            },
            r#"{"denied":{"reason":"x"}}"#,
        ),
        (
            Status::Lost {
                why: "x".to_owned(),
            },
            r#"{"lost":{"why":"x"}}"#,
        ),
    ];
    for (status, golden) in statuses {
        assert_eq!(serde_json::to_string(&status).unwrap(), golden);
        let record = Settlement {
            status,
            output: None,
            output_path: Some("/s/root/kid/outputs/1-task.txt".to_owned()),
            usage: Usage::default(),
            steps: 0,
            duration_ms: 0,
        };
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Settlement>(&text).unwrap(), record);
    }
}
