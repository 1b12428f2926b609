//! The tool envelope (TLS-13).

use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Extra, Outcome};
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

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
        r#"{"type":"output","data":1,"error_kind":"failed","metadata":{"duration_ms":0}}"#,
        r#"{"type":"output","data":1,"metadata":{"duration_ms":0},"cost":2}"#,
        r#"{"type":"output","data":1,"metadata":{"duration_ms":0,"duration_ms":1}}"#,
        r#"{"type":"output","data":1,"metadata":{"duration_ms":0,"cost":1,"cost":2}}"#,
        r#"{"type":"output","data":1,"metadata":{"cost":1}}"#,
    ] {
        assert!(serde_json::from_str::<Outcome>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_a_tool_adds_neither_hides_nor_repeats_a_key_of_ours() {
    let mut outcome = Outcome::output(RawJson::null()).took(3);
    outcome.metadata.output_path = Some("/x".to_owned());
    let extra = &mut outcome.metadata.extra;
    extra.insert("duration_ms", &"long");
    extra.insert("_duration_ms", &"longer");
    extra.insert("truncated", &"yes");
    extra.insert("exit_code", &1);
    check(
        &outcome,
        r#"{"type":"output","data":null,"metadata":{"duration_ms":3,"output_path":"/x","__duration_ms":"longer","_duration_ms":"long","_truncated":"yes","exit_code":1}}"#,
    );
    let got = |key| outcome.metadata.extra.get(key).map(RawJson::as_str);
    assert_eq!(got("duration_ms"), Some(r#""long""#));
    assert_eq!(got("_duration_ms"), Some(r#""longer""#));
    assert_eq!(got("output_path"), None);
}

/// Keys and values that readers of JSON trip over, among others.
fn any_fact() -> impl Strategy<Value = (String, serde_json::Value)> {
    let key = prop_oneof![
        "_{0,2}(duration_ms|truncated|output_path)",
        "_{0,2}(type|data|metadata|cost)",
        Just("$serde_json::private::RawValue".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    let nested = (key.clone(), leaf.clone(), 0..200_u32).prop_map(|(key, leaf, depth)| {
        (0..depth).fold(leaf, |inner, _| serde_json::json!({ key.clone(): inner }))
    });
    (key, prop_oneof![leaf, nested])
}

proptest! {
    #[test]
    fn whatever_a_tool_adds_can_be_read_again(
        facts in proptest::collection::vec(any_fact(), 0..6),
        duration_ms in any::<u64>(),
        truncated in any::<Option<bool>>(),
        output_path in any::<Option<String>>(),
    ) {
        let mut outcome = Outcome::output(RawJson::null()).took(duration_ms);
        outcome.metadata.truncated = truncated;
        outcome.metadata.output_path = output_path;
        let mut extra = Extra::default();
        for (key, value) in &facts {
            extra.insert(key, value);
        }
        for (at, (key, value)) in facts.iter().enumerate() {
            if facts[at + 1..].iter().all(|(later, _)| later != key) {
                prop_assert_eq!(extra.get(key), Some(&RawJson::of(value)));
            }
        }
        outcome.metadata.extra = extra;
        let stored = serde_json::to_string(&outcome).unwrap();
        let read: Outcome = serde_json::from_str(&stored).map_err(|error| {
            proptest::test_runner::TestCaseError::fail(format!("{error}: {stored}"))
        })?;
        prop_assert_eq!(read, outcome);
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
