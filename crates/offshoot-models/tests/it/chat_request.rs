//! What a server is sent, byte for byte.

use std::sync::Arc;

use offshoot_models::{CapField, OpenAiChatSettings};
use offshoot_types::content::{Attached, Content, Digest, Part};
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantPart, Call, Reasoning};
use offshoot_types::model::{CallOutcome, Request, RequestMessage, ToolChoice};
use offshoot_types::tool::{Effect, ToolSpec};

use crate::chat::{KEY, chunks, hello, model, settings};
use crate::server::{Seen, Server};
use crate::stage::ask;

async fn sent_with(
    request: Request,
    change: impl FnOnce(OpenAiChatSettings) -> OpenAiChatSettings,
) -> Seen {
    let server = Server::start([hello()]).await;
    let settings = change(settings(server.base_url()));
    chunks(&model(settings), request).await;
    server.seen().remove(0)
}

async fn sent(request: Request) -> String {
    sent_with(request, |settings| settings).await.body
}

fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

fn call(id: &str, tool: &str, arguments: Arguments) -> AssistantPart {
    AssistantPart::Call(Call {
        id: CallId::new(id),
        tool: tool.to_owned(),
        arguments,
    })
}

fn outcome(id: &str, text: &str) -> CallOutcome {
    CallOutcome {
        call: CallId::new(id),
        tool: "read".into(),
        text: text.into(),
        failed: false,
    }
}

/// A conversation with all there can be in it.
fn conversation() -> Request {
    Request {
        model: "openai-chat/m".into(),
        system: Arc::from("You are \"brief\"."),
        tools: Arc::from([ToolSpec {
            id: "read".into(),
            description: "Reads a file.".into(),
            parameters: json(r#"{"type":"object", "properties":{"path":{"type":"string"}}}"#),
            effect: Effect::Read,
        }]),
        messages: vec![
            RequestMessage::User("look\nat it 🌱".into()),
            RequestMessage::Assistant(vec![
                AssistantPart::Reasoning(Reasoning {
                    text: "hm".into(),
                    raw: Some(json(r#"{"signature":"s"}"#)),
                }),
                AssistantPart::Text("I will.".into()),
                call("a", "read", Arguments::Json(json(r#"{"path": "x"}"#))),
                AssistantPart::Raw(json(r#"{"type":"new"}"#)),
                AssistantPart::Text("Both.".into()),
                call("b", "read", Arguments::Malformed("{\"path".into())),
            ]),
            RequestMessage::Outcomes(vec![outcome("a", "text of x"), outcome("b", "not JSON")]),
            RequestMessage::Assistant(vec![call("c", "read", Arguments::Json(json("[1]")))]),
            RequestMessage::Outcomes(vec![outcome("c", "")]),
        ],
        temperature: Some(0.2),
        effort: Some(offshoot_types::manifest::Effort::High),
        max_output_tokens: Some(500),
        ..ask("")
    }
}

const CONVERSATION: &str = concat!(
    r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0.2,"reasoning_effort":"high","max_tokens":500,"#,
    r#""tools":[{"type":"function","function":{"name":"read","description":"Reads a file.","#,
    r#""parameters":{"type":"object", "properties":{"path":{"type":"string"}}}}}],"#,
    r#""messages":[{"role":"system","content":"You are \"brief\"."},"#,
    r#"{"role":"user","content":"look\nat it 🌱"},"#,
    r#"{"role":"assistant","content":"I will.\nBoth.","tool_calls":["#,
    r#"{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\": \"x\"}"}},"#,
    r#"{"id":"b","type":"function","function":{"name":"read","arguments":"{\"not_an_object\":\"{\\\"path\"}"}}]},"#,
    r#"{"role":"tool","tool_call_id":"a","content":"text of x"},"#,
    r#"{"role":"tool","tool_call_id":"b","content":"not JSON"},"#,
    r#"{"role":"assistant","content":null,"tool_calls":["#,
    r#"{"id":"c","type":"function","function":{"name":"read","arguments":"{\"not_an_object\":\"[1]\"}"}}]},"#,
    r#"{"role":"tool","tool_call_id":"c","content":""}]}"#,
);

#[tokio::test]
async fn a_conversation_is_written_like_this() {
    assert_eq!(sent(conversation()).await, CONVERSATION);
}

#[tokio::test]
async fn the_least_request_is_written_like_this() {
    assert_eq!(
        sent(ask("hi")).await,
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}"#
    );
}

#[tokio::test]
async fn cst_01_a_longer_conversation_only_extends_what_was_sent() {
    let whole = conversation();
    let mut before = sent(Request {
        messages: Vec::new(),
        ..whole.clone()
    })
    .await;
    for length in 1..=whole.messages.len() {
        let longer = sent(Request {
            messages: whole.messages[..length].to_vec(),
            ..whole.clone()
        })
        .await;
        let prefix = before.strip_suffix("]}").unwrap();
        assert!(longer.starts_with(prefix), "{before}\n{longer}");
        before = longer;
    }
    // The last step, in which nothing may be called, still extends it.
    let last = sent(Request {
        choice: ToolChoice::None,
        ..whole
    })
    .await;
    let prefix = before.strip_suffix('}').unwrap();
    assert_eq!(last, format!(r#"{prefix},"tool_choice":"none"}}"#));
}

#[tokio::test]
async fn a_choice_is_left_out_where_there_are_no_tools() {
    let mut request = ask("hi");
    request.choice = ToolChoice::None;
    assert_eq!(sent(request).await, sent(ask("hi")).await);
}

#[tokio::test]
async fn a_message_of_which_nothing_can_be_sent_is_left_out() {
    let mut request = ask("hi");
    request
        .messages
        .push(RequestMessage::Assistant(vec![AssistantPart::Reasoning(
            Reasoning {
                text: "hm".into(),
                raw: None,
            },
        )]));
    assert_eq!(sent(request).await, sent(ask("hi")).await);
}

#[tokio::test]
async fn the_cap_has_the_name_that_was_set() {
    let mut request = ask("hi");
    request.max_output_tokens = Some(7);
    let seen = sent_with(request, |settings| OpenAiChatSettings {
        cap_field: Some(CapField::MaxCompletionTokens),
        ..settings
    })
    .await;
    assert!(seen.body.contains(r#","max_completion_tokens":7,"#));
    assert!(!seen.body.contains(r#""max_tokens""#));
}

#[tokio::test]
async fn the_head_names_us_the_key_and_what_we_take() {
    let seen = sent_with(ask("hi"), |settings| settings).await;
    assert!(
        seen.head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    let head = seen.head.to_lowercase();
    for line in [
        format!("authorization: bearer {KEY}"),
        "content-type: application/json".into(),
        "accept: text/event-stream".into(),
        format!("user-agent: offshoot/{}", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}\n{head}");
    }

    let seen = sent_with(ask("hi"), |settings| OpenAiChatSettings {
        api_key: None,
        ..settings
    })
    .await;
    assert!(!seen.head.to_lowercase().contains("authorization"));
}

#[tokio::test]
async fn two_messages_of_the_users_side_in_a_row_are_one() {
    let user = |text: &str| RequestMessage::User(text.into());
    let thinking = AssistantPart::Reasoning(Reasoning {
        text: "hm".into(),
        raw: None,
    });
    let request = Request {
        messages: vec![
            user("a"),
            user("b"),
            // Nothing of it can be said in this dialect.
            RequestMessage::Assistant(vec![thinking]),
            user("c"),
        ],
        ..ask("x")
    };
    let body = sent(request).await;
    let joined = r#""messages":[{"role":"user","content":"a\n\nb\n\nc"}]"#;
    assert!(body.contains(joined), "{body}");
}

#[tokio::test]
async fn a_name_that_no_tool_could_have_is_not_sent_back() {
    let odd = ["", "bash<|channel|>json", "two words"];
    let parts = odd.map(|tool| call("1", tool, Arguments::Json(json("{}"))));
    let request = Request {
        messages: vec![RequestMessage::Assistant(parts.to_vec())],
        ..ask("x")
    };
    let body = sent(request).await;
    assert_eq!(
        body.matches(r#""name":"invalid_tool""#).count(),
        3,
        "{body}"
    );
}

fn image(digit: &str) -> Attached {
    Attached {
        digest: Digest::new(digit.repeat(64)).unwrap(),
        media_type: "image/png".to_owned(),
        bytes: 3,
        name: Some("a.png".to_owned()),
        uri: None,
    }
}

#[tokio::test]
async fn images_are_data_urls_in_user_messages_and_those_of_outcomes_follow_them() {
    let (one, two, unsent) = (image("1"), image("2"), image("3"));
    let text = |text: &str| Part::Text(text.to_owned());
    let mut request = Request {
        messages: vec![
            RequestMessage::User(Content::new([
                text("see"),
                Part::Image(one.clone()),
                Part::Image(unsent),
                text("now"),
            ])),
            RequestMessage::Assistant(vec![call("c1", "read", Arguments::Json(json("{}")))]),
            RequestMessage::Outcomes(vec![CallOutcome {
                text: Content::new([text("an image"), Part::Image(two.clone())]),
                ..outcome("c1", "")
            }]),
            RequestMessage::User("and?".into()),
        ],
        ..conversation()
    };
    request.images.insert(one.digest, Arc::from(*b"foo"));
    request.images.insert(two.digest, Arc::from(*b"ba"));
    let body: serde_json::Value = serde_json::from_str(&sent(request).await).unwrap();
    let url = |data: &str| {
        let url = format!("data:image/png;base64,{data}");
        serde_json::json!({ "type": "image_url", "image_url": { "url": url } })
    };
    let text = |text: &str| serde_json::json!({ "type": "text", "text": text });
    let messages = &body["messages"];
    let first = [
        text("see"),
        url("Zm9v"),
        text("[image: a.png, image/png, 3 bytes]"),
        text("now"),
    ];
    assert_eq!(messages[1]["content"], serde_json::json!(first));
    assert_eq!(
        messages[3]["content"],
        "an image\n[image: a.png, image/png, 3 bytes]"
    );
    let last = [text("Images of call c1:"), url("YmE="), text("and?")];
    assert_eq!(messages[4]["content"], serde_json::json!(last));
    assert_eq!(messages.as_array().unwrap().len(), 5);
}
