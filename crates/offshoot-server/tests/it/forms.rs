//! Which form a client gets.

use offshoot_server::acp::{Form, Transcripts};
use offshoot_types::json::RawJson;

fn check(capabilities: &str, form: Form) {
    let capabilities = RawJson::parse(capabilities.to_owned()).unwrap();
    assert_eq!(Form::of(&capabilities), form, "{capabilities:?}");
}

#[test]
fn only_a_client_that_says_it_understands_child_sessions_gets_them() {
    check(r#"{"subagents":{}}"#, Form::Sessions);
    check(r#"{"subagents":{"_meta":{"x":1}},"fs":{}}"#, Form::Sessions);
    let flat = Form::Flat(Transcripts::Hidden);
    for said in [
        "{}",
        "null",
        r#"{"subagents":null}"#,
        r#"{"subagents":true}"#,
        r#"{"fs":{"readTextFile":true}}"#,
        r#"{"_meta":{"subagent-transcript":false}}"#,
        r#"{"_meta":7}"#,
    ] {
        check(said, flat);
    }
    let wants_words = r#"{"_meta":{"subagent-transcript":true}}"#;
    check(wants_words, Form::Flat(Transcripts::Shown));
}
