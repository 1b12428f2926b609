//! How long is waited: for the end of an answer whose server does not say it, and for a slot.
//!
//! The transport is played and time is paused: the waiting is what is tested.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use offshoot_models::{
    HttpRequest, HttpResponse, OpenAiChat, OpenAiChatSettings, Transport, TransportError,
};
use offshoot_types::cancel::Cancel;
use offshoot_types::model::{Chunk, Models};
use tokio::time::Instant;

use crate::chat::{chunks, settings};
use crate::stage::{ask, render};

const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7}}"#;

/// Sends events, each so many milliseconds after the one before, and never closes the connection.
#[derive(Clone, Copy)]
struct Open {
    events: &'static [(u64, &'static str)],
    after: After,
}

/// What a server does when it has sent all of them.
#[derive(Clone, Copy)]
enum After {
    Nothing,
    /// A comment every second.
    Comments,
}

impl Transport for Open {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let piece = |(wait, text): (u64, String)| async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            Ok(Bytes::from(text))
        };
        let events = self.events.iter();
        let events = events.map(|(wait, data)| (*wait, format!("data: {data}\n\n")));
        let events = stream::iter(events.collect::<Vec<_>>()).then(piece);
        let rest = match self.after {
            After::Nothing => stream::pending().boxed(),
            After::Comments => stream::repeat((1000, ": alive\n\n".to_owned()))
                .then(piece)
                .boxed(),
        };
        let response = HttpResponse {
            status: 200,
            headers: Vec::new(),
            body: events.chain(rest).boxed(),
        };
        async { Ok(response) }.boxed()
    }
}

/// Checks what is said, what was spent, and how long it took.
async fn check(
    events: &'static [(u64, &'static str)],
    after: After,
    (said, input, milliseconds): (&str, u64, u64),
) {
    let transport = Open { events, after };
    let provider = OpenAiChat::new(settings("http://h".to_owned()), Arc::new(transport));
    let begun = Instant::now();
    let chunks = chunks(&provider.find("m").unwrap(), ask("x")).await;
    let took = begun.elapsed();
    let pieces: Vec<String> = chunks.iter().filter_map(render).collect();
    assert_eq!(pieces.join(" | "), said);
    let Some(Ok(Chunk::End { usage, .. })) = chunks.last() else {
        panic!("no end");
    };
    assert_eq!(usage.input, input);
    // The clock counts whole milliseconds and rounds up.
    let expected = Duration::from_millis(milliseconds);
    assert!(
        (expected..expected + Duration::from_millis(2)).contains(&took),
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_complete_answer_ends_though_its_connection_stays_open() {
    let events = &[(0, TEXT), (0, STOP)];
    check(events, After::Nothing, ("a | End", 0, 3000)).await;
    check(events, After::Comments, ("a | End", 0, 3000)).await;
    check(
        &[(0, TEXT), (0, "[DONE]")],
        After::Nothing,
        ("a | End", 0, 200),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn usage_that_comes_soon_after_the_reason_is_counted() {
    let events = &[(0, TEXT), (0, STOP), (2000, USAGE)];
    check(events, After::Nothing, ("a | End", 10, 3000)).await;
    let events = &[(0, TEXT), (0, STOP), (2000, USAGE), (0, "[DONE]")];
    check(events, After::Nothing, ("a | End", 10, 2200)).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_complete_is_waited_for() {
    let events = &[(0, TEXT), (600_000, STOP)];
    check(events, After::Nothing, ("a | End", 0, 603_000)).await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_slot_says_so_and_says_nothing_of_an_answer() {
    let transport = Open {
        events: &[(0, TEXT)],
        after: After::Nothing,
    };
    let settings = OpenAiChatSettings {
        slots: 1,
        ..settings("http://h".to_owned())
    };
    let provider = OpenAiChat::new(settings, Arc::new(transport));
    let model = provider.find("m").unwrap();
    let mut first = model.stream(ask("x"), Cancel::never());
    let text = Some(Ok(Chunk::Text("a".to_owned())));
    assert_eq!(first.next().await, text);
    let mut second = model.stream(ask("x"), Cancel::never());
    for _ in 0..3 {
        assert_eq!(second.next().await, Some(Ok(Chunk::Queued)));
    }
    drop(first);
    assert_eq!(second.next().await, text);
}
