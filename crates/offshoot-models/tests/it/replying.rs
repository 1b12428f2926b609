//! What a rule answers: text, thinking, calls, placeholders, tokens, time.

use std::time::Duration;

use futures_util::StreamExt;
use offshoot_types::cancel::Cancel;
use offshoot_types::message::{StopReason, Usage};
use offshoot_types::model::{Chunk, Model, Request, ToolChoice};
use tokio::time::Instant;

use crate::stage::{after, ask, cancel, chunks, from, render, reply, script};

/// Checks what a script of one rule answers.
async fn check(rule: &str, request: Request, expected: &str) {
    let model = script(&format!("replies:\n  - {rule}"));
    assert_eq!(reply(&model, request).await, expected, "{rule}");
}

#[tokio::test]
async fn thinking_comes_before_text_and_text_before_calls() {
    check(
        "{call: [{tool: read, arguments: {path: a}}], say: [one, ' two'], think: hm}",
        ask("x"),
        r#"(hm) | one |  two | read#call_1_1 {"path":"a"} | Calls"#,
    )
    .await;
}

#[tokio::test]
async fn files_come_between_text_and_calls_and_one_without_text_is_an_image() {
    let rule = "{attach: [{name: 'a-{step}.txt', text: 'of {prompt}'}, {name: b.png}], say: here}";
    let model = script(&format!("replies:\n  - {rule}"));
    let chunks = chunks(&model, ask("x")).await;
    let [
        _,
        Ok(Chunk::Text(_)),
        Ok(Chunk::File(text)),
        Ok(Chunk::File(image)),
        Ok(Chunk::End { .. }),
    ] = &chunks[..]
    else {
        panic!("{chunks:?}")
    };
    assert_eq!(text.name.as_deref(), Some("a-1.txt"));
    assert_eq!(
        (text.media_type.as_str(), &text.bytes[..]),
        ("text/plain", &b"of x"[..])
    );
    assert_eq!(
        offshoot_types::content::image_type(&image.bytes),
        Some("image/png")
    );
}

#[tokio::test]
async fn a_stream_begins_with_the_models_name() {
    let chunks = chunks(&script("replies: [{say: hi}]"), ask("x")).await;
    let started = Chunk::Started {
        model: "test.yaml".into(),
    };
    assert_eq!(chunks[0], Ok(started));
}

#[tokio::test]
async fn a_counted_call_is_made_that_often() {
    check(
        "call: [{tool: task, count: 3, arguments: {prompt: 'part {i} of {prompt}', n: [1, '{i}']}}]",
        ask("x"),
        "task#call_1_1 {\"n\":[1,\"1\"],\"prompt\":\"part 1 of x\"} | \
         task#call_1_2 {\"n\":[1,\"2\"],\"prompt\":\"part 2 of x\"} | \
         task#call_1_3 {\"n\":[1,\"3\"],\"prompt\":\"part 3 of x\"} | Calls",
    )
    .await;
}

#[tokio::test]
async fn ids_are_given_or_made_from_step_and_place() {
    check(
        "call: [{tool: a, id: 'own-{i}', count: 2}, {tool: b}, {tool: b, id: ''}]",
        after("x", &[]),
        "a#own-1 {} | a#own-2 {} | b#call_2_3 {} | b# {} | Calls",
    )
    .await;
}

#[tokio::test]
async fn placeholders_are_filled_once() {
    check(
        "say: '{agent} {depth} {step} {prompt} {i} {unknown} {\"json\": {step}} {'",
        from(ask("{step}"), "a2", "reader", 3),
        "reader 3 1 {step} {i} {unknown} {\"json\": 1} { | End",
    )
    .await;
}

#[tokio::test]
async fn results_are_joined_by_newlines() {
    let outcomes = [
        ("task", r#"{"output": "one"}"#, false),
        ("task", r#"{"session_id": "a2"}"#, false),
        ("read", r#"{"output": "kept"}"#, false),
        ("task", "error: no", true),
    ];
    let request = || after("x", &outcomes);
    let all = "{\"output\": \"one\"}\n{\"session_id\": \"a2\"}\n{\"output\": \"kept\"}\nerror: no";
    check("say: '{results}'", request(), &format!("{all} | End")).await;
    check("say: '{result}'", request(), &format!("{all} | End")).await;
    let words = "one\n{\"output\": \"kept\"}\nerror: no | End";
    check("say: '{output}'", request(), words).await;
    check("say: '[{results}]'", ask("x"), "[] | End").await;
}

#[tokio::test]
async fn a_step_without_a_choice_leaves_out_the_calls() {
    let mut request = ask("x");
    request.choice = ToolChoice::None;
    check("{say: words, call: [{tool: read}]}", request, "words | End").await;
}

#[tokio::test]
async fn a_stop_may_be_told() {
    check("{say: half, stop: length}", ask("x"), "half | Length").await;
    check("stop: refusal", ask("x"), "Refusal").await;
    check("say: ''", ask("x"), " | End").await;
}

async fn usage(rule: &str, request: Request) -> Usage {
    let model = script(&format!("replies:\n  - {rule}"));
    match chunks(&model, request).await.pop() {
        Some(Ok(Chunk::End { usage, .. })) => usage,
        other => panic!("no end: {other:?}"),
    }
}

#[tokio::test]
async fn tokens_are_bytes_by_four_rounded_up() {
    let mut request = ask("12345678");
    request.system = "1234".into();
    let expected = Usage {
        input: 3,
        output: 2,
        reasoning: 1,
        ..Usage::default()
    };
    assert_eq!(usage("{think: a, say: abcde}", request).await, expected);
    // `read` and `{}`: six bytes.
    assert_eq!(usage("call: [{tool: read}]", ask("")).await.output, 2);
}

#[tokio::test]
async fn tokens_may_be_told() {
    let expected = Usage {
        input: 10,
        cache_read: 7,
        ..Usage::default()
    };
    let rule = "{say: hi, usage: {input: 10, cache_read: 7}}";
    assert_eq!(usage(rule, ask("x")).await, expected);
}

#[tokio::test(start_paused = true)]
async fn delays_come_before_the_first_piece_and_between_pieces() {
    let model = script("replies: [{say: [a, b, c], delay_ms: 100, chunk_delay_ms: 10}]");
    let started = Instant::now();
    let mut stream = model.stream(ask("x"), Cancel::never());
    let mut times = Vec::new();
    while let Some(chunk) = stream.next().await {
        times.extend(render(&chunk).map(|text| (text, started.elapsed().as_millis())));
    }
    let expected = [("a", 100), ("b", 110), ("c", 120), ("End", 120)];
    assert_eq!(times, expected.map(|(text, at)| (text.to_owned(), at)));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_delay() {
    let model = script("replies: [{say: late, delay_ms: 60000}]");
    let started = Instant::now();
    let (fire, cancel) = cancel();
    let mut stream = model.stream(ask("x"), cancel);
    let cancelled = async {
        tokio::time::advance(Duration::from_secs(1)).await;
        fire.send(true).unwrap();
    };
    let (next, ()) = futures_util::future::join(stream.next(), cancelled).await;
    assert_eq!(next, None);
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn a_cancelled_request_says_nothing() {
    let (fire, cancel) = cancel();
    fire.send(true).unwrap();
    let stream = script("replies: [{say: hi}]").stream(ask("x"), cancel);
    assert_eq!(stream.collect::<Vec<_>>().await, []);
}

#[tokio::test]
async fn equal_requests_in_equal_order_get_equal_answers() {
    let text = "replies: [{times: 1, say: '{prompt}'}, {call: [{tool: task, count: 20, arguments: \
                {b: '{i}', a: {z: 1, y: 2}}}]}]";
    let (one, two) = (script(text), script(text));
    for request in [ask("a"), ask("b"), after("a", &[("t", "r", false)])] {
        let first = chunks(&one, request.clone()).await;
        assert_eq!(first, chunks(&two, request).await);
        assert!(matches!(
            first.last(),
            Some(Ok(Chunk::End {
                stop: StopReason::End | StopReason::Calls,
                ..
            }))
        ));
    }
}
