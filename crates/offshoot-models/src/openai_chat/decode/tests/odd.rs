//! Answers that are not as they should be, and are read all the same, or said to be wrong.

use super::*;

#[test]
fn fields_of_another_form_do_not_cost_an_answer() {
    let text = delta(r#"{"content":"a"}"#);
    for odd in [
        delta(r#"{"tool_calls":{}}"#),
        delta(r#"{"tool_calls":"none"}"#),
        delta(r#"{"tool_calls":[null,7,"x",[]]}"#),
        delta(r#"{"function_call":""}"#),
        delta(r#"{"function_call":["a"]}"#),
        delta(r#""text""#),
        delta("[1]"),
        delta("7"),
        r#"{"choices":[null,"x",{"message":"text"}]}"#.to_owned(),
    ] {
        check(&[&text, &odd, &finish("stop")], "a | End");
    }
    check_calls(
        &[
            r#"{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}"#,
            r#"{"index":0,"id":"1","function":"x"}"#,
        ],
        "a#1 {} | Calls",
    );
}

#[test]
fn a_list_in_place_of_an_answer_is_what_the_provider_says_of_its_failure() {
    let whole = |body: &str| Decoder::default().whole(body, &mut VecDeque::new());
    let body = r#" [{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]"#;
    let Err(Broken::Told(told)) = whole(body) else {
        panic!("it was read");
    };
    let told = format!("{told:?}");
    assert!(told.contains("slow down") && told.contains("429"), "{told}");
    assert!(matches!(whole("[]"), Err(Broken::Told(_))));
}

#[test]
fn one_odd_field_does_not_cost_an_answer() {
    check_calls(
        &[
            r#"{"index":"0","id":7,"function":{"name":"a","arguments":"{}"}}"#,
            r#"{"index":1.0,"id":null,"function":{"name":"b","arguments":"{}"}}"#,
            r#"{"index":-1,"id":[],"function":{"name":"c","arguments":"{}"}}"#,
        ],
        "a#7 {} | b# {} | c# {} | Calls",
    );
    let ends =
        r#"{"error":"","object":null,"choices":[{"delta":{"content":5},"finish_reason":1}]}"#;
    check(
        &[&delta(r#"{"content":"a"}"#), "ping", "null", ends],
        "a | End",
    );
    check(&[r#"{"error":false,"choices":[]}"#, &finish("stop")], "End");
}

#[test]
fn words_that_are_no_events_are_told_where_nothing_else_came() {
    check(
        &["upstream is down"],
        r#"Told(Told { message: Some("upstream is down"), status: None, names: [] })"#,
    );
}

#[test]
fn what_is_no_answer_is_unreadable() {
    let said = reply(&[r#"{"choices":5}"#]);
    assert!(said.starts_with("Unreadable("), "{said}");
}

#[test]
fn usage_is_read_however_odd() {
    let of = |input, output| Usage {
        input,
        output,
        ..Usage::default()
    };
    check_usage(
        r#"{"prompt_tokens":3.0,"completion_tokens":2,"prompt_tokens_details":null}"#,
        of(3, 2),
    );
    check_usage(r#"{"prompt_tokens":-3,"completion_tokens":"2"}"#, of(0, 0));
    let most = u64::from(u32::MAX);
    check_usage(
        r#"{"prompt_tokens":1e30,"completion_tokens":18446744073709551615}"#,
        of(most, most),
    );
    check_usage("{}", of(0, 0));
}

#[test]
fn another_name_under_the_same_number_is_another_call() {
    check_calls(
        &[
            r#"{"index":0,"function":{"name":"read","arguments":"{\"p\":"}}"#,
            r#"{"index":0,"function":{"name":"read","arguments":"1}"}}"#,
            r#"{"index":0,"function":{"name":"list","arguments":"{\"q\":"}}"#,
            r#"{"index":0,"function":{"arguments":"2}"}}"#,
        ],
        r#"read# {"p":1} | list# {"q":2} | Calls"#,
    );
    // A name may come in pieces too, or grow, before there are arguments.
    for pieces in [["re", "ad"], ["re", "read"], ["read", "read"]] {
        let name = |name: &str| {
            format!(r#"{{"index":0,"id":"","function":{{"name":"{name}","arguments":""}}}}"#)
        };
        let arguments = r#"{"index":0,"function":{"arguments":"{}"}}"#;
        let pieces = [&name(pieces[0]), &name(pieces[1]), arguments];
        check_calls(&pieces, "read# {} | Calls");
    }
}

#[test]
fn a_new_id_with_every_piece_of_a_call_makes_no_new_call() {
    check_calls(
        &[
            r#"{"index":0,"id":"x1","function":{"name":"bash"}}"#,
            r#"{"index":0,"id":"x2","function":{"arguments":"{\"a\""}}"#,
            r#"{"index":0,"id":"x3","function":{"arguments":":1}"}}"#,
        ],
        r#"bash#x1 {"a":1} | Calls"#,
    );
}
