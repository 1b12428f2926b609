//! How turns and runs end on the wire.

use offshoot_types::event::TurnEnd;
use offshoot_types::id::Timestamp;
use offshoot_types::settlement::{CancelledBy, Cap, FailureKind, PartialReason, Status};
use offshoot_types::tree::Unfinished;
use serde_json::{Value, json};

use super::log::{Log, blocking, ends, finishes, says, settles, starts, tells};

fn failed() -> Status {
    Status::Failed {
        kind: FailureKind::Model,
        message: "no answer".to_owned(),
    }
}

fn lost() -> Status {
    Status::Lost {
        why: "gone".to_owned(),
    }
}

#[test]
fn how_a_child_ended_decides_between_completed_and_failed() {
    let check = |status, kind: &str, cancelled: Value, error: Value, word: &str| {
        let mut log = Log::with_task(false);
        log.add("kid", settles(status));
        let ended = log.data(kind);
        let ended = ended.last().unwrap();
        assert_eq!(ended["cancelled"], cancelled);
        assert_eq!(ended["error"], error);
        assert_eq!(ended["status"], word);
    };
    let (completed, failure) = ("subagent.completed", "subagent.failed");
    let none = || Value::Null;
    check(Status::Completed, completed, none(), none(), "completed");
    let partial = Status::Partial(PartialReason::Length);
    check(partial, completed, none(), none(), "partial");
    let cancelled = Status::Cancelled(CancelledBy::Ancestor);
    check(cancelled, completed, json!(true), none(), "cancelled");
    check(failed(), failure, none(), json!("no answer"), "failed");
    check(lost(), failure, none(), json!("gone"), "lost");
}

#[test]
fn x_17_a_childs_totals_are_those_of_its_tree_and_only_of_its_run() {
    let mut log = Log::with_task(false);
    log.add("kid", says("m2", &[], &[("c2", "task"), ("c3", "read")]));
    log.add("kid", starts("c2", Some("grandkid")));
    log.born("grandkid", "kid", "c2", false);
    log.add("grandkid", says("m3", &[], &[("c4", "read")]));
    log.add("grandkid", settles(Status::Completed));
    log.add("kid", settles(Status::Completed));
    // Somebody asks the grandchild something when its parent has no run: that is nobody's.
    log.add("grandkid", settles(Status::Completed));
    let totals: Vec<(Value, Value)> = (log.data("subagent.completed").iter())
        .map(|data| (data["totalToolCalls"].clone(), data["totalTokens"].clone()))
        .collect();
    let pair = |calls: u64, tokens: u64| (json!(calls), json!(tokens));
    assert_eq!(totals, [pair(1, 15), pair(3, 30), pair(0, 15)]);
}

#[test]
fn a_notification_knows_two_words_and_ours_beside_them() {
    let kind = |status| {
        let mut log = Log::with_task(true);
        log.add("root", tells("kid", status));
        log.data("system.notification")[0]["kind"].clone()
    };
    let partial = kind(Status::Partial(PartialReason::Length));
    assert_eq!(
        (&partial["type"], &partial["outcome"]),
        (&json!("agent_idle"), &json!("partial"))
    );
    for status in [failed(), lost(), Status::Cancelled(CancelledBy::User)] {
        let word = status.word();
        let kind = kind(status);
        assert_eq!(kind["type"], "agent_completed");
        assert_eq!(kind["status"], "failed", "clients know no other");
        assert_eq!(kind["outcome"], word);
    }
}

#[test]
fn a_turn_that_went_wrong_says_so_before_it_ends() {
    let check = |end, kind: &str, data: Value| {
        let mut log = Log::with_task(false);
        log.add("kid", ends(end));
        assert_eq!(
            log.tail(2),
            [format!("{kind}(kid)"), "assistant.turn_end(kid)".to_owned()]
        );
        assert_eq!(log.data(kind), [data]);
    };
    for (by, word) in [
        (CancelledBy::User, "user"),
        (CancelledBy::Ancestor, "ancestor"),
        (CancelledBy::Shutdown, "shutdown"),
    ] {
        // Clients know three reasons and break at a fourth.
        let data = json!({ "reason": "user_initiated", "by": word });
        check(TurnEnd::Aborted(by), "abort", data);
    }
    for (kind, word) in [
        (FailureKind::Model, "query"),
        (FailureKind::RateLimited, "rate_limit"),
        (FailureKind::Config, "config"),
        (FailureKind::Internal, "internal"),
    ] {
        let message = "500".to_owned();
        let data = json!({
            "errorType": word, "message": "500", "originatingMessageId": "p-kid-count",
        });
        check(TurnEnd::Failed { kind, message }, "session.error", data);
    }
    let data = json!({ "warningType": "limit", "message": "budget: steps" });
    check(TurnEnd::HandedBack(Cap::Steps), "session.warning", data);
}

#[test]
fn the_last_event_says_how_the_root_ended() {
    let idle = |log: &Log| {
        let event = log.fold().0.idle(Timestamp::new(0), &Unfinished::default());
        serde_json::to_value(event).unwrap()["data"].clone()
    };
    assert_eq!(idle(&Log::asked()), json!({}));
    assert_eq!(idle(&blocking()), json!({ "status": "completed" }));
    let mut log = Log::asked();
    log.add("root", settles(Status::Cancelled(CancelledBy::User)));
    assert_eq!(
        idle(&log),
        json!({ "aborted": true, "status": "cancelled", "reason": "cancelled by the user" })
    );
}

#[test]
fn what_is_read_of_a_background_call_is_its_handle() {
    let mut log = Log::with_task(true);
    log.add("root", finishes("nobody", json!("is not told")));
    let done = log.data("tool.execution_complete");
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["result"]["content"], r#"{"session_id":"kid"}"#);
}
