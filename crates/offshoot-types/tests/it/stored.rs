//! The stored form of every event: goldens, read and written back byte for byte (R5).
//!
//! `golden/events.jsonl` has a line for whatever an event can say, old forms and
//! new. A line that is there is never changed: somebody's log has it. Whoever adds
//! a variant adds its lines there, and nothing here.

use std::collections::BTreeSet;

use offshoot_types::event::{Event, Profile};
use offshoot_types::stored::{FORM, read, write};

const EVENTS: &str = include_str!("../golden/events.jsonl");

#[track_caller]
fn check(line: &str) -> Event {
    let event = read(FORM, line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(write(&event).unwrap(), line);
    event
}

/// Returns the names that serde knows the variants by.
fn variants() -> BTreeSet<String> {
    let error = serde_json::from_str::<Event>(r#"{"?":0}"#).unwrap_err();
    let error = error.to_string();
    let (_, known) = error.split_once("expected one of ").unwrap();
    let quoted = known.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

#[test]
fn r5_every_golden_is_read_and_written_back_byte_for_byte() {
    for line in EVENTS.lines() {
        check(line);
    }
}

#[test]
fn r5_every_variant_has_a_golden() {
    let name = |line: &str| line.split('"').nth(1).unwrap().to_owned();
    let told: BTreeSet<String> = EVENTS.lines().map(name).collect();
    assert_eq!(told, variants());
    assert!(told.len() < 25, "R5: under 25 variants");
}

#[test]
fn a_line_of_form_1_without_the_newer_fields_reads_as_it_always_did() {
    // What was written before these fields were there. What was not there is not made up either.
    let old = |line: &str| {
        let event = read(1, line).unwrap();
        assert_eq!(write(&event).unwrap(), line);
        event
    };
    let Event::Spawned(spawned) = old(
        r#"{"spawned":{"definition":"worker","origin":{"task":{"agent":"root","call":"a","message":"p1","background":true}},"depth":1,"model":"scripted/x","layer":{"name":"agent worker","rules":[],"closed":false,"standing":"narrows"},"inspectable":false}}"#,
    ) else {
        panic!("not a birth")
    };
    assert_eq!(spawned.profile, Profile::default());
    let Event::Replied(message) = old(
        r#"{"replied":{"id":"m","parts":[{"text":" said "}],"model":"x","usage":{"input":3,"output":1,"reasoning":0,"cache_read":0,"cache_write":0},"stop":"calls"}}"#,
    ) else {
        panic!("not a message")
    };
    assert_eq!(message.timing, None);
    let Event::Decided { reason, .. } =
        old(r#"{"decided":{"call":"a","decision":{"action":"deny","layer":"the user"}}}"#)
    else {
        panic!("not a decision")
    };
    assert_eq!(reason, None);
}

#[test]
fn a_field_that_a_later_version_adds_does_no_harm() {
    let later = r#"{"call_started":{"call":"a","because":"of something new"}}"#;
    let event = read(FORM, later).unwrap();
    assert_eq!(write(&event).unwrap(), r#"{"call_started":{"call":"a"}}"#);
}
