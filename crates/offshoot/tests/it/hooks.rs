//! A program that has a say in what its agents do.

use std::pin::Pin;

use offshoot::types::cancel::Cancel;
use offshoot::types::hook::{
    CallReply, HostHooks, Occasion, Point, Say, Trouble, Use, Watch, What, Who, Word,
};
use offshoot::types::model::RequestMessage;
use offshoot::types::permission::{Action, Rule};
use offshoot::{RawJson, Reply};
use serde_json::json;

use super::stage;

/// Wants no child to be told of Oslo.
struct NoOslo;

impl Watch for NoOslo {
    fn name(&self) -> &str {
        "no-oslo"
    }

    fn is_at(&self, point: Point) -> bool {
        point == Point::PreToolUse
    }

    fn call(
        &self,
        occasion: Occasion,
        _: Cancel,
    ) -> Pin<Box<dyn Future<Output = Result<Say, Trouble>> + Send>> {
        Box::pin(async move {
            let What::PreToolUse(used) = &occasion.what else {
                return Ok(Say::nothing());
            };
            let word = if used.input.as_str().contains("Oslo") {
                Word::Deny {
                    reason: "not Oslo".to_owned(),
                }
            } else {
                Word::Nothing
            };
            Ok(Say::word(word))
        })
    }
}

#[tokio::test]
async fn a_programs_own_hook_refuses_a_child() {
    let runtime = stage(|request| match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(outcomes[0].text.as_str()),
        _ => Reply::call(
            "task",
            &json!({ "subagent_type": "worker", "prompt": "Oslo" }),
        ),
    });
    let runtime = runtime.watch(NoOslo).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let settlement = session.prompt("go").await.unwrap();
    let told = "error: task was denied by hook no-oslo: not Oslo";
    assert_eq!(settlement.output.as_deref(), Some(told));
}

/// Has every call made with other arguments.
struct Rewrites(serde_json::Value);

impl HostHooks for Rewrites {
    fn on_call(
        &self,
        _: Who,
        _: Use,
        _: Cancel,
    ) -> Pin<Box<dyn Future<Output = Result<CallReply, String>> + Send>> {
        let reply = CallReply {
            arguments: Some(RawJson::of(&self.0)),
            ..CallReply::default()
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

#[tokio::test]
async fn what_the_programs_hook_rewrites_is_judged_after_the_rewrite() {
    let runtime = stage(|request| match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(outcomes[0].text.as_str()),
        _ => Reply::call(
            "task",
            &json!({ "subagent_type": "none of this name", "prompt": "go" }),
        ),
    });
    let deny = Rule::new("task", "worker", Action::Deny);
    let runtime = runtime.permissions([deny]).build().unwrap();
    let session = runtime.open("worker").await.unwrap();
    let rewritten = json!({ "subagent_type": "worker", "prompt": "Oslo" });
    let attached = session.host_hooks(Rewrites(rewritten.clone())).unwrap();
    let second = session.host_hooks(Rewrites(rewritten));
    assert_eq!(second.map(drop).unwrap_err().code(), "attach");
    let settlement = session.prompt("go").await.unwrap();
    let told = settlement.output.unwrap_or_default();
    assert!(told.contains("denied"), "{told}");
    drop(attached);
    let settlement = session.prompt("again").await.unwrap();
    let told = settlement.output.unwrap_or_default();
    assert!(told.contains("there is no agent"), "{told}");
}
