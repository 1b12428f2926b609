//! Tools that a client of a session carries out.

use offshoot::types::client_tool::{ClientTool, ToolResult};
use offshoot::types::command::Verdict;
use offshoot::types::model::RequestMessage;
use offshoot::{Event, RawJson, Reply, Request, Update};
use serde_json::json;

use crate::stage;

#[tokio::test]
async fn ruling_2_a_call_of_a_client_tool_waits_until_this_program_returns_its_result() {
    let answer = |request: &Request| match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(&outcomes[0].text),
        _ => Reply::call("lookup", &json!({ "id": 7 })),
    };
    let runtime = stage(answer).build().unwrap();
    let lookup = ClientTool {
        name: "lookup".to_owned(),
        description: "Looks a ticket up.".to_owned(),
        parameters: RawJson::of(&json!({ "type": "object" })),
        read_only: true,
        skip_permission: true,
    };
    let session = runtime.new_session().client_tools(vec![lookup]);
    let session = session.open("worker").await.unwrap();
    let serve = async {
        let mut updates = session.subscribe().await.unwrap();
        loop {
            if let Update::Entry(entry) = updates.next().await.unwrap()
                && let Event::Asked { call, tool, .. } = &entry.event
            {
                assert_eq!(tool, "lookup");
                let result = Verdict::Returned(ToolResult::Text("open".to_owned()));
                session.root().answer(call, result.clone()).await.unwrap();
                // The first answer counts, and the second is refused.
                return session.root().answer(call, result).await.is_err();
            }
        }
    };
    let (settlement, refused) = tokio::join!(session.prompt("go"), serve);
    assert_eq!(settlement.unwrap().output.as_deref(), Some("open"));
    assert!(refused);
}
