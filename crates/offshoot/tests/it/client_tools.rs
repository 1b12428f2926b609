//! Tools that a client of a session carries out.

use offshoot::types::client_tool::{ClientTool, ToolResult};
use offshoot::types::command::Verdict;
use offshoot::types::model::RequestMessage;
use offshoot::{Event, RawJson, Reply, Request, Session, Update};
use serde_json::json;

use crate::stage;

fn lookup() -> ClientTool {
    ClientTool {
        name: "lookup".to_owned(),
        description: "Looks a ticket up.".to_owned(),
        parameters: RawJson::of(&json!({ "type": "object" })),
        read_only: true,
        skip_permission: true,
    }
}

/// Calls `lookup`, then says what the client returned.
fn looks(request: &Request) -> Reply {
    match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) => Reply::text(&outcomes[0].text),
        _ => Reply::call("lookup", &json!({ "id": 7 })),
    }
}

/// Waits for the call of `lookup` and returns a result for it twice; the second is refused.
async fn serve(session: &Session, result: &str) {
    let mut updates = session.subscribe().await.unwrap();
    loop {
        if let Update::Entry(entry) = updates.next().await.unwrap()
            && let Event::Asked { call, tool, .. } = &entry.event
        {
            assert_eq!(tool, "lookup");
            let result = Verdict::Returned(ToolResult::Text(result.to_owned()));
            session.root().answer(call, result.clone()).await.unwrap();
            let again = session.root().answer(call, result).await;
            assert_eq!(again.unwrap_err().code(), "invalid");
            return;
        }
    }
}

#[tokio::test]
async fn ruling_2_a_call_of_a_client_tool_waits_until_this_program_returns_its_result() {
    let runtime = stage(looks).build().unwrap();
    let session = runtime.new_session().client_tools(vec![lookup()]);
    let session = session.open("worker").await.unwrap();
    let (settlement, ()) = tokio::join!(session.prompt("go"), serve(&session, "open"));
    assert_eq!(settlement.unwrap().output.as_deref(), Some("open"));
}

#[tokio::test]
async fn ruling_1_client_tools_of_one_name_in_two_sessions_never_meet() {
    let runtime = stage(looks).build().unwrap();
    let open = async || {
        let session = runtime.new_session().client_tools(vec![lookup()]);
        session.open("worker").await.unwrap()
    };
    let (one, two) = (open().await, open().await);
    let (first, second, (), ()) = tokio::join!(
        one.prompt("go"),
        two.prompt("go"),
        serve(&one, "of the first"),
        serve(&two, "of the second"),
    );
    assert_eq!(first.unwrap().output.as_deref(), Some("of the first"));
    assert_eq!(second.unwrap().output.as_deref(), Some("of the second"));
}
