//! Asking a server that speaks Chat Completions: what comes back, and when it stops.

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use offshoot_models::{Http, OpenAiChat, OpenAiChatSettings, Secret};
use offshoot_types::cancel::Cancel;
use offshoot_types::caps::Price;
use offshoot_types::message::Usage;
use offshoot_types::model::{Chunk, Model, ModelError, Models, Request};
use tokio::task::JoinSet;

use crate::server::{Reply, Server};
use crate::stage::{ask, cancel, render};

pub(crate) const KEY: &str = "sk-test-0123456789";

pub(crate) fn settings(base_url: String) -> OpenAiChatSettings {
    OpenAiChatSettings {
        base_url,
        api_key: Some(Secret::new(KEY)),
        ..OpenAiChatSettings::default()
    }
}

pub(crate) fn model(settings: OpenAiChatSettings) -> Arc<dyn Model> {
    let provider = OpenAiChat::new(settings, Arc::new(Http::new()));
    provider.find("m").unwrap()
}

pub(crate) async fn chunks(
    model: &Arc<dyn Model>,
    request: Request,
) -> Vec<Result<Chunk, ModelError>> {
    model.stream(request, Cancel::never()).collect().await
}

/// Returns the reply as one line.
pub(crate) async fn reply(model: &Arc<dyn Model>) -> String {
    let chunks = chunks(model, ask("x")).await;
    let pieces: Vec<String> = chunks.iter().filter_map(render).collect();
    pieces.join(" | ")
}

async fn check(answer: Reply, expected: &str) {
    let server = Server::start([answer]).await;
    assert_eq!(reply(&model(settings(server.base_url()))).await, expected);
}

/// A short answer.
pub(crate) fn hello() -> Reply {
    Reply::events(&[
        r#"{"model":"m-1","choices":[{"index":0,"delta":{"content":"hello"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ])
}

/// Two calls, in turns and in pieces.
const PARALLEL: &[&str] = &[
    r#"{"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"grün"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"read","arguments":"{\"path\":"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":".md\"}"}},{"index":1,"function":{"arguments":"\"b\"}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "[DONE]",
];

#[tokio::test]
async fn text_is_streamed() {
    check(hello(), "hello | End").await;
}

#[tokio::test]
async fn the_server_names_its_model() {
    let server = Server::start([hello()]).await;
    let chunks = chunks(&model(settings(server.base_url())), ask("x")).await;
    let expected = Chunk::Started {
        model: "m-1".into(),
    };
    assert_eq!(chunks[0], Ok(expected));
}

#[tokio::test]
async fn parallel_calls_come_in_pieces_of_any_size() {
    let expected = r#"read#a {"path":"grün.md"} | read#b {"path":"b"} | Calls"#;
    for size in [1, 7, 100, 1_000_000] {
        check(Reply::events(PARALLEL).in_pieces_of(size), expected).await;
    }
}

#[tokio::test]
async fn a_call_may_come_whole_and_end_with_stop() {
    let event = r#"{"model":"q","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":"stop"}]}"#;
    check(
        Reply::events(&[event, "[DONE]"]),
        r#"read#call_1 {"path":"a"} | Calls"#,
    )
    .await;
}

#[tokio::test]
async fn usage_comes_after_the_reason() {
    let server = Server::start([Reply::events(&[
        r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
        "[DONE]",
    ])])
    .await;
    let chunks = chunks(&model(settings(server.base_url())), ask("x")).await;
    let Some(Ok(Chunk::End { usage, .. })) = chunks.last() else {
        panic!("no end");
    };
    let expected = Usage {
        input: 6,
        output: 2,
        reasoning: 5,
        cache_read: 4,
        cache_write: 0,
    };
    assert_eq!(*usage, expected);
}

#[tokio::test]
async fn the_last_event_may_be_missing() {
    let reason = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    check(Reply::events(&[reason]), "a | End").await;
    check(Reply::events(&[reason]).then_cut(), "a | End").await;
}

#[tokio::test]
async fn a_whole_answer_is_taken_in_place_of_a_stream() {
    let body = r#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}"#;
    let head = "content-type: application/json; charset=utf-8\r\n";
    check(Reply::new("200 OK", head, body).in_pieces_of(10), "a | End").await;
}

#[tokio::test]
async fn comments_that_keep_the_connection_alive_are_passed_over() {
    let stream = ": OPENROUTER PROCESSING\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata:[DONE]\r\n\r\n";
    check(Reply::stream(stream), "a | End").await;
}

#[tokio::test]
async fn a_megabyte_of_small_deltas_arrives_whole() {
    let delta = r#"{"id":"x","model":"m","choices":[{"index":0,"delta":{"content":"ab "}}]}"#;
    let mut events = vec![delta; 15_000];
    events.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#);
    events.push("[DONE]");
    let server = Server::start([Reply::events(&events).in_pieces_of(1000)]).await;
    let chunks = chunks(&model(settings(server.base_url())), ask("x")).await;
    let text: String = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            Ok(Chunk::Text(text)) => Some(text.as_str()),
            Ok(_) | Err(_) => None,
        })
        .collect();
    assert_eq!(text, "ab ".repeat(15_000));
    assert!(matches!(chunks.last(), Some(Ok(Chunk::End { .. }))));
}

#[tokio::test]
async fn dropping_the_stream_before_the_first_byte_closes_the_connection() {
    let server = Server::start([Reply::silence()]).await;
    let model = model(settings(server.base_url()));
    let mut stream = model.stream(ask("x"), Cancel::never());
    tokio::select! {
        chunk = stream.next() => panic!("{chunk:?}"),
        () = server.until(|counts| counts.asked == 1) => {}
    }
    drop(stream);
    server.until(|counts| counts.gone == 1).await;
}

#[tokio::test]
async fn cancelling_in_the_middle_ends_the_stream_and_closes_the_connection() {
    let event = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    let server = Server::start([Reply::events(&[event]).then_hang()]).await;
    let model = model(settings(server.base_url()));
    let (fire, signal) = cancel();
    let mut stream = model.stream(ask("x"), signal);
    assert_eq!(stream.next().await, Some(Ok(Chunk::Text("a".into()))));
    assert!(stream.next().now_or_never().is_none());
    fire.send(true).unwrap();
    assert_eq!(stream.next().await, None);
    server.until(|counts| counts.gone == 1).await;
}

#[tokio::test]
async fn nothing_is_sent_once_it_is_cancelled() {
    let server = Server::start([hello()]).await;
    let (fire, signal) = cancel();
    fire.send(true).unwrap();
    let model = model(settings(server.base_url()));
    assert_eq!(model.stream(ask("x"), signal).next().await, None);
    assert_eq!(server.counts().connections, 0);
}

#[tokio::test]
async fn fifty_requests_run_side_by_side() {
    let server = Server::start_shut([hello()]).await;
    let model = model(settings(server.base_url()));
    let mut asking = JoinSet::new();
    for _ in 0..50 {
        let model = model.clone();
        asking.spawn(async move { reply(&model).await });
    }
    server.until(|counts| counts.open == 50).await;
    server.open();
    assert_eq!(asking.join_all().await, vec!["hello | End"; 50]);
}

#[tokio::test]
async fn requests_beyond_the_slots_wait_for_their_turn() {
    let server = Server::start_shut([hello()]).await;
    let settings = OpenAiChatSettings {
        slots: 2,
        ..settings(server.base_url())
    };
    let model = model(settings);
    let mut asking = JoinSet::new();
    for _ in 0..2 {
        let model = model.clone();
        asking.spawn(async move { reply(&model).await });
    }
    server.until(|counts| counts.open == 2).await;
    for _ in 0..4 {
        let model = model.clone();
        asking.spawn(async move { reply(&model).await });
    }
    // The ones that wait have had their chance to send.
    tokio::task::yield_now().await;
    assert_eq!(server.counts().open, 2);
    server.open();
    assert_eq!(asking.join_all().await, vec!["hello | End"; 6]);
    assert_eq!(server.counts().most_open, 2);
}

#[tokio::test]
async fn a_dropped_stream_gives_its_slot_back() {
    let server = Server::start([Reply::silence(), hello()]).await;
    let settings = OpenAiChatSettings {
        slots: 1,
        ..settings(server.base_url())
    };
    let model = model(settings);
    let mut hanging = model.stream(ask("x"), Cancel::never());
    tokio::select! {
        chunk = hanging.next() => panic!("{chunk:?}"),
        () = server.until(|counts| counts.asked == 1) => {}
    }
    let mut waiting = model.stream(ask("x"), Cancel::never());
    assert!(waiting.next().now_or_never().is_none());
    drop(hanging);
    let rest: Vec<_> = waiting.collect().await;
    assert!(matches!(rest.last(), Some(Ok(Chunk::End { .. }))));
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start([hello()]).await;
    let model = model(settings(server.base_url()));
    for _ in 0..5 {
        assert_eq!(reply(&model).await, "hello | End");
    }
    assert_eq!(server.counts().connections, 1);
}

#[test]
fn a_price_is_that_of_the_model_of_its_name_and_of_no_other() {
    let price = Price {
        input: 1.25,
        output: 10.0,
        ..Price::default()
    };
    let settings = OpenAiChatSettings {
        prices: [("m/1".to_owned(), price)].into(),
        ..settings("http://localhost".to_owned())
    };
    let provider = OpenAiChat::new(settings, Arc::new(Http::new()));
    assert_eq!(provider.find("m/1").unwrap().price(), Some(price));
    assert_eq!(provider.find("m").unwrap().price(), None);
}

#[test]
fn r28_an_account_is_a_server_and_its_credentials() {
    let account = |place: &str, key: &str| {
        let settings = OpenAiChatSettings {
            api_key: Some(Secret::new(key)),
            ..settings(place.to_owned())
        };
        model(settings).account()
    };
    let one = account("http://127.0.0.1:1/v1", KEY);
    assert_eq!(account("http://127.0.0.1:1/v1", KEY), one);
    assert_ne!(account("http://127.0.0.1:2/v1", KEY), one);
    assert_ne!(account("http://127.0.0.1:1/v1", "sk-test-9876543210"), one);
}
