//! The tool envelope (TLS-13).

use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};

#[track_caller]
fn check(outcome: &Outcome, stored: &str) {
    assert_eq!(serde_json::to_string(outcome).unwrap(), stored);
    assert_eq!(serde_json::from_str::<Outcome>(stored).unwrap(), *outcome);
}

#[test]
fn tls_13_the_envelope_has_its_shape() {
    let raw = |text: &str| RawJson::parse(text.to_owned()).unwrap();
    check(
        &Outcome::output(raw(r#"{ "b":1,"a": [2] }"#)).took(7),
        r#"{"type":"output","data":{ "b":1,"a": [2] },"metadata":{"duration_ms":7}}"#,
    );
    check(
        &Outcome::output(RawJson::null()),
        r#"{"type":"output","data":null,"metadata":{"duration_ms":0}}"#,
    );
    check(
        &Outcome::error(ErrorKind::Depth, "too deep"),
        r#"{"type":"error","error_text":"too deep","error_kind":"depth","metadata":{"duration_ms":0}}"#,
    );
    check(
        &Outcome::error(ErrorKind::TooLarge, "11 MB"),
        r#"{"type":"error","error_text":"11 MB","error_kind":"too_large","metadata":{"duration_ms":0}}"#,
    );
    check(
        &Outcome::error(ErrorKind::Conflict, "no match"),
        r#"{"type":"error","error_text":"no match","error_kind":"conflict","metadata":{"duration_ms":0}}"#,
    );
}

#[test]
fn nothing_on_an_envelope_is_dropped() {
    let foreign = r#"{"type":"output","data":1,"metadata":{"duration_ms":1,"truncated":true,"output_path":"/x","cost":{"usd":2}}}"#;
    let outcome: Outcome = serde_json::from_str(foreign).unwrap();
    assert_eq!(serde_json::to_string(&outcome).unwrap(), foreign);
}

#[test]
fn an_envelope_that_says_two_things_is_refused() {
    for wrong in [
        r#"{"type":"output","data":1,"error_text":"x","metadata":{"duration_ms":0}}"#,
        r#"{"type":"error","data":1,"error_text":"x","metadata":{"duration_ms":0}}"#,
        r#"{"type":"error","metadata":{"duration_ms":0}}"#,
    ] {
        assert!(serde_json::from_str::<Outcome>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_model_reads_text_as_text_and_the_rest_as_json() {
    let text = Outcome::output(RawJson::of(&"plain\nwords"));
    assert_eq!(text.for_model(), "plain\nwords");
    let data = Outcome::output(RawJson::of(&[1, 2]));
    assert_eq!(data.for_model(), "[1,2]");
    assert_eq!(
        Outcome::error(ErrorKind::Failed, "no").for_model(),
        "error: no"
    );
}
