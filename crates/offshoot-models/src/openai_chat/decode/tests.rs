//! What answers mean, in the forms that servers give them.
//!
//! Events are written as data lines; a reply is rendered as one line.

mod odd;

use std::collections::VecDeque;

use offshoot_types::message::{Arguments, Usage};
use offshoot_types::model::Chunk;
use proptest::prelude::*;

use super::Decoder;
use crate::exchange::{Broken, Decode, Flow};
use crate::sse::Event;

fn read(events: &[&str]) -> (Vec<Chunk>, Result<(), Broken>) {
    let mut decoder = Decoder::default();
    let mut out = VecDeque::new();
    let mut ended = Ok(Flow::More);
    for data in events {
        let event = Event {
            kind: String::new(),
            data: (*data).to_owned(),
        };
        ended = decoder.event(&event, &mut out);
        if ended != Ok(Flow::More) {
            break;
        }
    }
    let ended = ended.and_then(|_| decoder.end(&mut out));
    (out.into(), ended)
}

fn render(chunk: &Chunk) -> String {
    match chunk {
        Chunk::Started { model } => format!("<{model}>"),
        Chunk::Text(text) => text.clone(),
        Chunk::Reasoning(text) => format!("({text})"),
        Chunk::Call {
            id,
            tool,
            arguments,
        } => match arguments {
            Arguments::Json(json) => format!("{tool}#{id} {}", json.as_str()),
            Arguments::Malformed(text) => format!("{tool}#{id} malformed {text}"),
        },
        Chunk::End { stop, .. } => format!("{stop:?}"),
        Chunk::Queued
        | Chunk::Gathering { .. }
        | Chunk::ReasoningBlock(_)
        | Chunk::File(_)
        | Chunk::Raw(_) => {
            format!("{chunk:?}")
        }
    }
}

/// Tells a chunk of the answer from one that only says that something came.
fn is_said(chunk: &&Chunk) -> bool {
    !matches!(chunk, Chunk::Gathering { .. })
}

fn reply(events: &[&str]) -> String {
    let (chunks, ended) = read(events);
    let mut pieces: Vec<String> = chunks.iter().filter(is_said).map(render).collect();
    if let Err(broken) = ended {
        pieces.push(format!("{broken:?}"));
    }
    pieces.join(" | ")
}

#[track_caller]
fn check(events: &[&str], expected: &str) {
    assert_eq!(reply(events), expected);
}

/// One event with a delta.
fn delta(json: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{json}}}]}}"#)
}

/// One event with pieces of calls.
fn calls(json: &str) -> String {
    delta(&format!(r#"{{"tool_calls":[{json}]}}"#))
}

/// An event that ends the answer.
fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// The reply to deltas of calls that end with `tool_calls`.
#[track_caller]
fn check_calls(pieces: &[&str], expected: &str) {
    let mut events: Vec<String> = pieces.iter().map(|piece| calls(piece)).collect();
    events.push(finish("tool_calls"));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    check(&events, expected);
}

#[test]
fn text_comes_as_it_is_streamed() {
    check(
        &[
            r#"{"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"model":"m-1","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
            &delta(r#"{"content":"lo","x_new":{"a":[1]}}"#),
            "",
            &finish("stop"),
            "[DONE]",
            &delta(r#"{"content":"never"}"#),
        ],
        "<m-1> | Hel | lo | End",
    );
}

#[test]
fn text_in_parts_is_read_as_well() {
    check(
        &[
            &delta(r#"{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}"#),
            &finish("stop"),
        ],
        "ab | End",
    );
}

#[test]
fn thinking_has_two_names_and_is_given_once() {
    check(
        &[
            &delta(r#"{"reasoning_content":"a","content":null}"#),
            &delta(r#"{"reasoning":"b"}"#),
            &delta(r#"{"reasoning_content":"c","reasoning":"c","content":"d"}"#),
            &finish("stop"),
        ],
        "(a) | (b) | (c) | d | End",
    );
}

#[test]
fn a_refusal_is_text_and_a_reason() {
    check(
        &[&delta(r#"{"refusal":"I will not"}"#), &finish("stop")],
        "I will not | Refusal",
    );
    check(&[&finish("content_filter")], "Refusal");
}

#[test]
fn parallel_calls_are_put_together_by_their_number() {
    check_calls(
        &[
            r#"{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"pa"}}"#,
            r#"{"index":1,"id":"b","function":{"name":"task","arguments":"{"}}"#,
            r#"{"index":0,"function":{"arguments":"th\":1}"}},{"index":1,"function":{"arguments":"}"}}"#,
        ],
        r#"read#a {"path":1} | task#b {} | Calls"#,
    );
}

#[test]
fn whole_calls_are_read_with_and_without_numbers() {
    // One event, no numbers, no ids.
    check_calls(
        &[
            r#"{"function":{"name":"a","arguments":"{\"x\":1}"}},{"function":{"name":"a","arguments":"{\"x\":2}"}}"#,
        ],
        r#"a# {"x":1} | a# {"x":2} | Calls"#,
    );
    // The same number for every call, with ids and without.
    check_calls(
        &[
            r#"{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}"#,
            r#"{"index":0,"id":"2","function":{"name":"a","arguments":"{}"}}"#,
        ],
        "a#1 {} | a#2 {} | Calls",
    );
    check_calls(
        &[
            r#"{"index":0,"id":"","function":{"name":"a","arguments":"{\"x\":1}"}}"#,
            r#"{"index":0,"id":"","function":{"name":"b","arguments":"{\"x\":2}"}}"#,
        ],
        r#"a# {"x":1} | b# {"x":2} | Calls"#,
    );
    // Without numbers but with ids, in pieces.
    check_calls(
        &[
            r#"{"id":"1","function":{"name":"a","arguments":"{\"x\""}}"#,
            r#"{"id":"2","function":{"name":"b","arguments":"{"}}"#,
            r#"{"id":"1","function":{"name":"a","arguments":":1}"}}"#,
            r#"{"id":"2","function":{"arguments":"}"}}"#,
        ],
        r#"a#1 {"x":1} | b#2 {} | Calls"#,
    );
}

#[test]
fn a_name_that_is_repeated_begins_no_other_call() {
    check_calls(
        &[
            r#"{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\""}}"#,
            r#"{"index":0,"id":"1","function":{"name":"a","arguments":":1"}}"#,
            r#"{"index":0,"function":{"name":"a","arguments":"}"}}"#,
        ],
        r#"a#1 {"x":1} | Calls"#,
    );
}

#[test]
fn arguments_may_be_an_object_nothing_or_broken() {
    check_calls(
        &[r#"{"index":0,"id":"1","function":{"name":"a","arguments":{"x": [1]}}}"#],
        r#"a#1 {"x": [1]} | Calls"#,
    );
    for nothing in [r#""""#, r#""  ""#, "null", r#""null""#, "{}"] {
        check_calls(
            &[&format!(
                r#"{{"index":0,"id":"1","function":{{"name":"a","arguments":{nothing}}}}}"#
            )],
            "a#1 {} | Calls",
        );
    }
    check_calls(
        &[r#"{"index":0,"id":"1","function":{"name":"a"}}"#],
        "a#1 {} | Calls",
    );
    check_calls(
        &[r#"{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\": "}}"#],
        r#"a#1 malformed {"x":  | Calls"#,
    );
}

#[test]
fn a_call_that_hit_the_limit_has_no_arguments_made_up_for_it() {
    let call = calls(r#"{"index":0,"id":"1","function":{"name":"a","arguments":""}}"#);
    check(&[&call, &finish("length")], "a#1 malformed  | Length");
}

#[test]
fn reasons_are_understood_by_what_they_mean() {
    let call = calls(r#"{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}"#);
    check(&[&call, &finish("stop")], "a#1 {} | Calls");
    check(&[&call, &finish("length")], "a#1 {} | Length");
    check(&[&call, &finish("function_call")], "a#1 {} | Calls");
    check(&[&finish("tool_calls")], "End");
    check(&[&finish("max_tokens")], "Length");
    check(&[&finish("eos")], "End");
}

#[test]
fn the_end_may_be_said_in_either_way() {
    let text = delta(r#"{"content":"a"}"#);
    check(&[&text, &finish("stop")], "a | End");
    check(&[&text, "[DONE]"], "a | End");
    check(&[&text], "a | Early");
    check(&[&text, &finish("")], "a | Early");
    check(&["[DONE]"], "Early");
    check(&[], "Early");
}

#[test]
fn a_failure_in_the_middle_is_told() {
    let text = delta(r#"{"content":"a"}"#);
    for failure in [
        r#"{"error":{"message":"overloaded","code":500}}"#,
        r#"{"error":"overloaded"}"#,
        r#"{"object":"error","message":"overloaded"}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
    ] {
        let said = reply(&[&text, failure]);
        assert!(said.starts_with("a | Told("), "{said}");
    }
}

#[test]
fn other_answers_than_the_first_are_passed_over() {
    check(
        &[
            r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}"#,
            r#"{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":null}"#,
            r#"{"choices":null}"#,
            &finish("stop"),
        ],
        "a | End",
    );
}

#[track_caller]
fn check_usage(usage: &str, expected: Usage) {
    let last = format!(r#"{{"choices":[],"usage":{usage}}}"#);
    let (chunks, _) = read(&[&finish("stop"), &last, "[DONE]"]);
    let Some(Chunk::End { usage, .. }) = chunks.last() else {
        panic!("no end");
    };
    assert_eq!(*usage, expected);
}

#[test]
fn ses_03_no_kind_of_tokens_is_counted_twice() {
    let expected = Usage {
        input: 40,
        output: 20,
        reasoning: 30,
        cache_read: 60,
        cache_write: 0,
    };
    // Thinking within the completion, and on top of it.
    check_usage(
        r#"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
            "prompt_tokens_details":{"cached_tokens":60,"audio_tokens":0},
            "completion_tokens_details":{"reasoning_tokens":30}}"#,
        expected,
    );
    check_usage(
        r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":150,
            "prompt_tokens_details":{"cached_tokens":60},
            "completion_tokens_details":{"reasoning_tokens":30}}"#,
        expected,
    );
}

#[test]
fn a_whole_answer_is_read_like_a_stream() {
    let mut decoder = Decoder::default();
    let mut out = VecDeque::new();
    let body = r#"{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":
        {"role":"assistant","content":"a","tool_calls":[{"id":"1","type":"function",
        "function":{"name":"read","arguments":"{}"}}]}}],"usage":{"prompt_tokens":3}}"#;
    decoder.whole(body, &mut out).unwrap();
    decoder.end(&mut out).unwrap();
    let pieces: Vec<String> = out.iter().filter(is_said).map(render).collect();
    assert_eq!(pieces.join(" | "), "<m> | a | read#1 {} | Calls");
}

proptest! {
    #[test]
    fn arguments_survive_any_split(
        text in "[^\r\n]{0,30}",
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..5),
    ) {
        let whole = serde_json::json!({ "text": text }).to_string();
        let boundaries: Vec<usize> = (0..=whole.len()).filter(|at| whole.is_char_boundary(*at)).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&boundaries)).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let mut events: Vec<String> = cuts
            .windows(2)
            .enumerate()
            .map(|(at, cut)| {
                let mut piece = serde_json::json!({
                    "index": 0, "function": { "arguments": &whole[cut[0]..cut[1]] }
                });
                if at == 0 {
                    piece["id"] = "1".into();
                    piece["function"]["name"] = "a".into();
                }
                calls(&piece.to_string())
            })
            .collect();
        events.push(finish("tool_calls"));
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        prop_assert_eq!(reply(&events), format!("a#1 {whole} | Calls"));
    }

    #[test]
    fn any_data_is_read_to_an_end_or_an_error(events in proptest::collection::vec(".{0,40}", 0..4)) {
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let (chunks, ended) = read(&events);
        let has_end = matches!(chunks.last(), Some(Chunk::End { .. }));
        prop_assert_eq!(has_end, ended.is_ok());
    }
}

#[test]
fn a_call_in_the_old_form_is_a_call() {
    check(
        &[
            &delta(r#"{"function_call":{"name":"ls","arguments":"{\"a\":"}}"#),
            &delta(r#"{"function_call":{"arguments":"1}"}}"#),
            &finish("function_call"),
        ],
        r#"ls# {"a":1} | Calls"#,
    );
}

#[test]
fn pieces_of_calls_say_that_something_came() {
    let piece = |arguments: &str| {
        calls(&format!(
            r#"{{"index":0,"function":{{"name":"w","arguments":"{arguments}"}}}}"#
        ))
    };
    let (chunks, _) = read(&[&piece("abcd"), &piece("efgh"), &finish("stop")]);
    assert_eq!(chunks.first(), Some(&Chunk::Gathering { bytes: 8 }));
}

#[test]
fn what_is_gathered_is_bounded() {
    let many: Vec<String> = (0..1001)
        .map(|index| format!(r#"{{"index":{index}}}"#))
        .collect();
    check(
        &[&calls(&many.join(","))],
        r#"Unreadable("it has more than 1000 calls")"#,
    );
    let long = delta(&format!(
        r#"{{"content":"{}"}}"#,
        "x".repeat(5 * 1024 * 1024)
    ));
    let (_, ended) = read(&[&long, &long]);
    let what = "it has more than 8388608 bytes".to_owned();
    assert_eq!(ended, Err(Broken::Unreadable(what)));
}

#[test]
fn only_the_choice_that_was_asked_for_is_kept() {
    let choices = r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"delta":{"content":"a"}},{"index":0,"delta":{"content":"c"}}]}"#;
    check(&[choices, &finish("stop")], "a | End");
}
