//! What goes wrong when the script says so.

use futures_util::{FutureExt, StreamExt};
use offshoot_types::cancel::Cancel;
use offshoot_types::model::Model;

use crate::stage::{ask, cancel, render, reply, script};

async fn check(rule: &str, expected: &str) {
    let model = script(&format!("replies:\n  - {rule}"));
    assert_eq!(reply(&model, ask("x")).await, expected, "{rule}");
}

#[tokio::test]
async fn a_cut_comes_after_what_was_said() {
    check(
        "{say: [half a, ' sen'], fault: cut}",
        "half a |  sen | Unavailable: ask script test.yaml: the stream was cut",
    )
    .await;
    check(
        "{call: [{tool: read}], fault: cut}",
        "read#call_1_1 {} | Unavailable: ask script test.yaml: the stream was cut",
    )
    .await;
}

#[tokio::test]
async fn a_rate_limit_may_say_how_long() {
    check(
        "fault: rate_limited",
        "RateLimited { retry_after: None }: ask script test.yaml: 429 too many requests",
    )
    .await;
    check(
        "fault: {rate_limited: {retry_after_ms: 250}}",
        "RateLimited { retry_after: Some(250ms) }: ask script test.yaml: 429 too many requests",
    )
    .await;
    check(
        "fault: {rate_limited: {}}",
        "RateLimited { retry_after: None }: ask script test.yaml: 429 too many requests",
    )
    .await;
}

#[tokio::test]
async fn a_server_error_says_nothing_else() {
    check(
        "fault: server_error",
        "Unavailable: ask script test.yaml: 500 server error",
    )
    .await;
}

#[tokio::test]
async fn malformed_calls_are_not_json() {
    check(
        "{say: so, call: [{tool: read, arguments: {path: a}}, {tool: n, arguments: 12}], fault: malformed}",
        r#"so | read#call_1_1 malformed {{"path":"a" | n#call_1_2 malformed {1 | Calls"#,
    )
    .await;
}

#[tokio::test]
async fn a_malformed_reply_without_calls_cannot_be_read() {
    check(
        "{say: so, fault: malformed}",
        "so | Invalid: ask script test.yaml: the reply cannot be read",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_hanging_reply_ends_when_it_is_cancelled() {
    let model = script("replies: [{say: so far, fault: hang}]");
    let (fire, cancel) = cancel();
    let mut stream = model.stream(ask("x"), cancel);
    let mut said = Vec::new();
    while let Some(Some(chunk)) = stream.next().now_or_never() {
        said.extend(render(&chunk));
    }
    assert_eq!(said, ["so far"]);
    fire.send(true).unwrap();
    assert_eq!(stream.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_reply_never_ends_by_itself() {
    let model = script("replies: [{fault: hang}]");
    let all = model.stream(ask("x"), Cancel::never()).count();
    let hour = std::time::Duration::from_secs(3600);
    assert!(tokio::time::timeout(hour, all).await.is_err());
}

#[tokio::test]
async fn a_fault_with_times_gives_way_to_the_next_rule() {
    let model = script("replies: [{times: 1, fault: server_error}, {say: fine}]");
    let first = reply(&model, ask("x")).await;
    assert_eq!(first, "Unavailable: ask script test.yaml: 500 server error");
    assert_eq!(reply(&model, ask("x")).await, "fine | End");
}
