//! A program that has a say in what its agents do.

use std::pin::Pin;

use offshoot::Reply;
use offshoot::types::cancel::Cancel;
use offshoot::types::hook::{Occasion, Point, Say, Trouble, Watch, What, Word};
use offshoot::types::model::RequestMessage;
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
