//! What goes wrong with a server, and what the error says of it.
//!
//! `PLACE` stands for the server's address.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use offshoot_models::{Header, HeaderText, Http, OpenAiChat, OpenAiChatSettings, Secret};
use offshoot_types::cancel::Cancel;
use offshoot_types::model::{ModelErrorKind, Models};
use serde_json::json;

use crate::chat::{KEY, hello, model, reply, settings};
use crate::server::{Reply, Server, nobody};
use crate::stage::ask;

const JSON: &str = "content-type: application/json\r\n";

async fn check(answer: Reply, expected: &str) {
    let server = Server::start([answer]).await;
    let place = server.base_url();
    let said = reply(&model(settings(place.clone()))).await;
    assert_eq!(said.replace(&place, "PLACE"), expected);
}

/// The kind of error that a status gives, with these headers.
async fn kind(status: &str, headers: &str) -> ModelErrorKind {
    let server = Server::start([Reply::new(status, headers, "")]).await;
    let model = model(settings(server.base_url()));
    let mut stream = model.stream(ask("x"), Cancel::never());
    stream.next().await.unwrap().unwrap_err().kind
}

#[tokio::test]
async fn too_many_requests_says_how_long_to_wait() {
    let body = r#"{"error":{"message":"Rate limit reached.","type":"tokens","code":"rate_limit_exceeded"}}"#;
    check(
        Reply::new("429 Too Many Requests", "retry-after: 2\r\n", body),
        "RateLimited { retry_after: Some(2s) }: ask m at PLACE: status 429: Rate limit reached",
    )
    .await;
    for (headers, expected) in [
        ("", None),
        ("retry-after: 0.5\r\n", Some(500)),
        ("retry-after-ms: 20\r\nretry-after: 7\r\n", Some(20)),
        ("retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", None),
        (
            "date: Wed, 21 Oct 2026 07:27:57 GMT\r\nretry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n",
            Some(3000),
        ),
        ("retry-after: -1\r\n", None),
        ("retry-after: inf\r\n", None),
    ] {
        let expected = expected.map(Duration::from_millis);
        assert_eq!(
            kind("429 Too Many Requests", headers).await,
            ModelErrorKind::RateLimited {
                retry_after: expected
            },
            "{headers}"
        );
    }
}

#[tokio::test]
async fn r28_a_server_that_says_when_it_will_be_there_is_believed() {
    for status in ["503 Service Unavailable", "529 Overloaded"] {
        let waits = ModelErrorKind::RateLimited {
            retry_after: Some(Duration::from_secs(5)),
        };
        assert_eq!(kind(status, "retry-after: 5\r\n").await, waits, "{status}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_known_by_the_servers_words() {
    for message in [
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "the request exceeds the available context size, try increasing it",
        "Input is too long for requested model",
    ] {
        let body = json!({"error": {"message": message, "code": 400}}).to_string();
        let server = Server::start([Reply::new("400 Bad Request", "", &body)]).await;
        let said = reply(&model(settings(server.base_url()))).await;
        assert!(said.starts_with("TooLong: "), "{said}");
    }
}

#[tokio::test]
async fn who_has_no_money_left_is_not_told_to_wait() {
    let body = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    check(
        Reply::new("429 Too Many Requests", "", body),
        "Config: ask m at PLACE: status 429: You exceeded your current quota",
    )
    .await;
}

#[tokio::test]
async fn statuses_say_what_can_be_done() {
    use ModelErrorKind::{Config, Invalid, TooLong, Unavailable};
    for (status, expected) in [
        ("400 Bad Request", Invalid),
        ("401 Unauthorized", Config),
        ("402 Payment Required", Config),
        ("403 Forbidden", Config),
        ("404 Not Found", Config),
        ("308 Permanent Redirect", Config),
        ("408 Request Timeout", Unavailable),
        ("409 Conflict", Unavailable),
        ("413 Payload Too Large", TooLong),
        ("422 Unprocessable Content", Invalid),
        ("500 Internal Server Error", Unavailable),
        ("503 Service Unavailable", Unavailable),
        ("529 Overloaded", Unavailable),
    ] {
        assert_eq!(kind(status, "").await, expected, "{status}");
    }
    assert_eq!(
        kind("500 Internal Server Error", "x-should-retry: false\r\n").await,
        Invalid
    );
}

#[tokio::test]
async fn the_providers_own_words_are_told_in_all_their_forms() {
    for (body, expected) in [
        (r#"{"error":{"message":"it broke"}}"#, ": it broke"),
        (r#"{"error":"it broke"}"#, ": it broke"),
        (r#"[{"error":{"message":"it broke"}}]"#, ": it broke"),
        (r#"{"object":"error","message":"it broke"}"#, ": it broke"),
        (r#"{"detail":"it broke"}"#, ": it broke"),
        (r#"{"detail":[{"msg":"a"}]}"#, r#": [{"msg":"a"}]"#),
        (
            r#"{"object":"error","message":{"detail":["a"]}}"#,
            r#": {"detail":["a"]}"#,
        ),
        (
            r#"{"error":{"message":"Provider failed","metadata":{"raw":"it broke"}}}"#,
            ": Provider failed: it broke",
        ),
        ("it broke", ": it broke"),
        ("<html><body>502</body></html>", ""),
        ("<html><head><Title>Bad Gateway</title>", ": Bad Gateway"),
        ("", ""),
        (r#"{"error":null}"#, ""),
    ] {
        let expected = format!("Unavailable: ask m at PLACE: status 500{expected}");
        check(
            Reply::new("500 Internal Server Error", JSON, body),
            &expected,
        )
        .await;
    }
}

#[tokio::test]
async fn words_of_others_are_cut_and_made_harmless() {
    let body = "a\u{1b}[31mb\r\n\u{202e}c";
    let expected = "Unavailable: ask m at PLACE: status 500: a[31mb c";
    check(Reply::new("500 X", "", body), expected).await;
    let long = "ü".repeat(600);
    let cut = "ü".repeat(500);
    let expected = format!("Config: ask m at PLACE: status 401: {cut}…; check OPENAI_API_KEY");
    check(Reply::new("401 X", "", &long), &expected).await;
}

#[tokio::test]
async fn a_wrong_key_a_missing_key_and_a_missing_model_name_a_way_on() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}"#);
    check(
        Reply::new("401 Unauthorized", JSON, &body),
        "Config: ask m at PLACE: status 401: Incorrect API key provided: ***; \
         check OPENAI_API_KEY",
    )
    .await;
    let body = r#"{"error":{"message":"model \"m\" not found, try pulling it first"}}"#;
    check(
        Reply::new("404 Not Found", JSON, body),
        "Config: ask m at PLACE: status 404: model \"m\" not found, try pulling it first; \
         check the model's name and the base URL",
    )
    .await;

    let server = Server::start([Reply::new("401 Unauthorized", "", "")]).await;
    let place = server.base_url();
    let without_key = OpenAiChatSettings {
        api_key: None,
        key_variable: Some("MY_KEY".to_owned()),
        ..settings(place.clone())
    };
    assert_eq!(
        reply(&model(without_key)).await,
        format!("Config: ask m at {place}: status 401; set MY_KEY")
    );
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    for location in [
        "https://example.org/v1",
        "https://me:pass@example.org/v1/?key=1",
    ] {
        check(
            Reply::new("308 X", &format!("location: {location}\r\n"), ""),
            "Config: ask m at PLACE: status 308: it has moved to https://example.org/v1; \
             check the model's name and the base URL",
        )
        .await;
    }
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    check(
        Reply::new("200 OK", "content-type: text/html\r\n", "<html>Welcome"),
        "Config: ask m at PLACE: a web page came back; check the base URL",
    )
    .await;
}

#[tokio::test]
async fn nobody_listens() {
    let place = nobody().await;
    assert_eq!(
        reply(&model(settings(place.clone()))).await,
        format!("Unavailable: ask m at {place}: connection refused; is the server running?")
    );
}

#[tokio::test]
async fn a_stream_that_is_cut_gives_what_it_had_and_an_error() {
    let whole = r#"data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}"#;
    let half = &whole[..30];
    let stream = format!("{whole}\n\n{half}");
    // Closed in the middle of an event, and ended there as if all were well.
    let server = Server::start([
        Reply::stream(&stream).in_pieces_of(20).then_cut(),
        Reply::stream(&stream).in_pieces_of(20),
    ])
    .await;
    let place = server.base_url();
    let model = model(settings(place.clone()));
    let said = reply(&model).await;
    let start = format!("hello | Unavailable: ask m at {place}: the stream ended early: ");
    assert!(said.starts_with(&start), "{said}");
    assert_eq!(
        reply(&model).await,
        format!("hello | Unavailable: ask m at {place}: the stream ended early")
    );
}

#[tokio::test]
async fn a_head_that_never_comes_is_unavailable() {
    let cut = Reply::silence().then_cut();
    let server = Server::start([cut]).await;
    let said = reply(&model(settings(server.base_url()))).await;
    assert!(said.starts_with("Unavailable: ask m at "), "{said}");
}

#[tokio::test]
async fn an_error_in_the_middle_comes_after_what_was_said() {
    let text = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    for (failure, expected) in [
        (
            r#"{"error":{"code":500,"message":"out of memory","type":"server_error"}}"#,
            "Unavailable: ask m at PLACE: the provider failed: out of memory",
        ),
        (
            r#"{"error":{"code":429,"message":"slow down"}}"#,
            "RateLimited { retry_after: None }: ask m at PLACE: the provider failed: slow down",
        ),
        (
            r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
            "TooLong: ask m at PLACE: the provider failed: too long",
        ),
        (
            r#"{"error":{}}"#,
            "Unavailable: ask m at PLACE: the provider failed: it gives no reason",
        ),
    ] {
        let expected = format!("a | {expected}");
        check(Reply::events(&[text, failure, "[DONE]"]), &expected).await;
    }
    check(
        Reply::stream("event: error\ndata: it broke\n\n"),
        "Unavailable: ask m at PLACE: the provider failed: it broke",
    )
    .await;
}

#[tokio::test]
async fn r28_a_limit_on_tokens_is_waited_for_and_shortens_no_conversation() {
    let wait = "Too many tokens, please wait before trying again.";
    let long = "This model's maximum context length is 8192 tokens";
    for (error, expected) in [
        (
            json!({"message": wait, "code": 429, "type": "rate_limit_error"}),
            "RateLimited",
        ),
        (json!({"message": wait, "code": 429}), "RateLimited"),
        (json!({"message": wait, "code": "429"}), "RateLimited"),
        (
            json!({"message": wait, "type": "rate_limit_error"}),
            "RateLimited",
        ),
        // What has a name or a number is not read by its words, whatever they mention.
        (json!({"message": long, "code": 429}), "RateLimited"),
        (
            json!({"message": long, "code": "insufficient_quota"}),
            "Config",
        ),
        (json!({"message": wait}), "Unavailable"),
        (json!({"message": long}), "TooLong"),
        (
            json!({"message": "too many tokens", "code": 400}),
            "TooLong",
        ),
        (
            json!({"message": long, "type": "invalid_request_error", "code": 400}),
            "TooLong",
        ),
    ] {
        let failure = json!({ "error": error }).to_string();
        let server = Server::start([Reply::events(&[&failure])]).await;
        let said = reply(&model(settings(server.base_url()))).await;
        assert!(said.starts_with(expected), "{error}: {said}");
    }
}

#[tokio::test]
async fn r28_an_error_in_a_list_is_retried_by_its_code() {
    check(
        Reply::new(
            "200 OK",
            JSON,
            r#"[{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}]"#,
        ),
        "RateLimited { retry_after: None }: ask m at PLACE: the provider failed: Quota exceeded",
    )
    .await;
}

#[tokio::test]
async fn what_is_no_json_is_invalid() {
    let server = Server::start([Reply::events(&["{\"choices\": oops"])]).await;
    let said = reply(&model(settings(server.base_url()))).await;
    assert!(said.starts_with("Invalid: "), "{said}");
    assert!(said.contains("the answer cannot be read: "), "{said}");
}

#[tokio::test]
async fn an_event_without_end_is_not_gathered_for_ever() {
    let endless = format!("data: {}", "x".repeat(9 * 1024 * 1024));
    check(
        Reply::stream(&endless).in_pieces_of(1024 * 1024),
        "Invalid: ask m at PLACE: the answer cannot be read: an event has more than \
         8388608 bytes",
    )
    .await;
}

#[tokio::test]
async fn after_an_error_there_is_nothing_and_the_next_request_is_fresh() {
    let server = Server::start([Reply::new("500 X", "", ""), hello()]).await;
    let model = model(settings(server.base_url()));
    let mut stream = model.stream(ask("x"), Cancel::never());
    assert!(stream.next().await.unwrap().is_err());
    assert!(stream.next().await.is_none());
    assert_eq!(reply(&model).await, "hello | End");
}

#[tokio::test]
async fn neither_the_key_nor_a_password_is_told() {
    let address = nobody().await;
    let with_query = format!("{address}?key=in-query");
    let with_password = with_query.replace("http://", "http://me:pass-word@");
    let mut shown = String::new();
    for settings in [with_query, with_password].map(settings) {
        let provider = OpenAiChat::new(settings.clone(), Arc::new(Http::new()));
        let said = match provider.find("m") {
            Ok(model) => reply(&model).await,
            Err(error) => error.to_string(),
        };
        shown.push_str(&format!("{settings:?} {provider:?} {said} "));
    }
    for secret in [KEY, "pass-word", "in-query"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains(&format!("ask m at {address}")), "{shown}");
}

#[tokio::test]
async fn whatever_a_server_calls_its_answer_it_is_read_by_how_it_begins() {
    let whole = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    for (kind, body) in [
        ("text/plain", whole.to_owned()),
        ("text/event-stream", format!("\u{feff}\n {whole}")),
        (
            "application/json",
            format!("data: {whole}\n\ndata: [DONE]\n\n"),
        ),
        ("text/html", format!(": hello\n\ndata: {whole}\n\n")),
        // Who forgets the last newline has still said it.
        ("text/event-stream", format!("data: {whole}")),
    ] {
        let headers = format!("content-type: {kind}\r\n");
        check(Reply::new("200 OK", &headers, &body), "hi | End").await;
    }
}

#[tokio::test]
async fn a_whole_answer_without_end_is_not_gathered_for_ever() {
    let endless = format!("{{\"a\": \"{}", "x".repeat(9 * 1024 * 1024));
    check(
        Reply::new("200 OK", JSON, &endless).in_pieces_of(1024 * 1024),
        "Invalid: ask m at PLACE: the answer cannot be read: it has more than 8388608 bytes",
    )
    .await;
}

#[tokio::test]
async fn the_key_of_a_secret_header_is_hidden_where_a_server_repeats_it() {
    let body = r#"{"error": {"message": "Incorrect API key provided: sk-live-0123456789"}}"#;
    let server = Server::start([Reply::new("401 Unauthorized", JSON, body)]).await;
    let place = server.base_url();
    let header = Header {
        name: "authorization".to_owned(),
        text: HeaderText::Secret(Secret::new("Bearer sk-live-0123456789")),
        source: "GATEWAY_KEY".to_owned(),
    };
    let with_header = OpenAiChatSettings {
        api_key: None,
        key_variable: None,
        headers: vec![header],
        ..settings(place.clone())
    };
    let said = reply(&model(with_header)).await;
    assert!(said.contains("provided: ***"), "{said}");
    assert!(!said.contains("sk-live"), "{said}");
}
