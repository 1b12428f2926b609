//! Answers as types of the program's: the schema is made of the type and goes with the prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offshoot::types::settlement::PartialReason;
use offshoot::{Error, FnModel, Reply, Runtime, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{said, stage, worker};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Verdict {
    /// Whether it may go in.
    approve: bool,
    remarks: Vec<String>,
}

#[tokio::test]
async fn a_type_is_asked_of_an_agent_without_a_schema_and_the_next_prompt_is_free_text() {
    let runtime = stage(|request| {
        // Doc comments are a part of the schema.
        if said(request).contains("Whether it may go in.") {
            Reply::value(&json!({ "approve": true, "remarks": ["short"] }))
        } else {
            Reply::text("it is short")
        }
    });
    let session = runtime.build().unwrap().open("worker").await.unwrap();
    let verdict: Verdict = session.ask("Review it.").await.unwrap();
    let remarks = vec!["short".to_owned()];
    let approve = true;
    assert_eq!(verdict, Verdict { approve, remarks });
    let settlement = session.prompt("Why?").await.unwrap();
    assert_eq!(settlement.output.as_deref(), Some("it is short"));
    assert_eq!((settlement.value, settlement.steps), (None, 1));
    let error = session.root().result::<Verdict>().await.unwrap_err();
    assert_eq!(error.code(), "untyped");
}

#[tokio::test]
async fn a_model_that_answers_wrongly_is_asked_once_more() {
    for (wrong, expected) in [(1, Ok(7)), (2, Err(2))] {
        let asked = Arc::new(AtomicU32::new(0));
        let model = FnModel::new(move |_| {
            let is_wrong = asked.fetch_add(1, Ordering::Relaxed) < wrong;
            async move { Ok(Reply::text(if is_wrong { "seven" } else { "7" })) }
        });
        let runtime = Runtime::builder().model("demo/m", model).agent(worker());
        let session = runtime.build().unwrap().open("worker").await.unwrap();
        let number = session.ask::<u8>("How many?").await.map_err(|error| {
            assert_eq!(error.code(), "unfinished");
            let Error::Unfinished(settlement) = error else {
                panic!("{error}")
            };
            assert_eq!(settlement.status, Status::Partial(PartialReason::Schema));
            settlement.steps
        });
        assert_eq!(number, expected);
    }
}

#[tokio::test]
async fn a_child_of_the_program_is_asked_for_a_type() {
    let runtime = stage(|request| match said(request) {
        text if text.starts_with("Review") => {
            Reply::value(&json!({ "approve": false, "remarks": [] }))
        }
        _ => Reply::text("done"),
    });
    let host = runtime.build().unwrap().host().await.unwrap();
    let child = host.session().root().spawn("worker").prompt("Review it.");
    let verdict: Verdict = child.ask().await.unwrap();
    assert!(!verdict.approve);
    let child = host.session().root().spawn("worker").prompt("Go.");
    let error = child.result::<Verdict>().await.unwrap_err();
    assert_eq!(error.code(), "untyped");
}
