//! Golden logs against the notifications a client gets, line by line, in both forms.
//!
//! Rules are those of the RFD on subagent sessions as our notes number them. The
//! expected lines were read by a person; a change of one is a change for clients.

use offshoot_server::acp::{Form, Transcripts};

use crate::stage::{entries, fold};

macro_rules! story {
    ($form:literal, $name:literal) => {
        (
            crate::stage::log!($name),
            include_str!(concat!("../golden/", $form, "/", $name, ".jsonl")),
        )
    };
}

fn check((log, golden): (&str, &str), form: Form) {
    let mut fold = fold(form);
    let mut expected = golden.lines();
    for entry in entries(log) {
        for told in fold.entry(&entry) {
            let line = serde_json::to_string(&told).unwrap();
            assert_eq!(Some(line.as_str()), expected.next());
        }
    }
    assert_eq!(expected.next(), None);
}

const FLAT: Form = Form::Flat(Transcripts::Hidden);

#[test]
fn rules_1_6_9_11_a_blocking_child_is_a_session_of_its_own() {
    check(story!("sessions", "blocking"), Form::Sessions);
}

#[test]
fn rule_7_background_children_go_on_after_their_parents_turn() {
    check(story!("sessions", "background"), Form::Sessions);
}

#[test]
fn rule_2_a_nested_child_is_announced_by_its_own_parent() {
    check(story!("sessions", "nested"), Form::Sessions);
}

#[test]
fn rule_9_a_child_that_failed_is_idle_with_an_error() {
    check(story!("sessions", "failed"), Form::Sessions);
}

#[test]
fn rules_14_15_a_child_that_was_stopped_with_its_parent_is_idle_and_cancelled() {
    check(story!("sessions", "abort"), Form::Sessions);
}

#[test]
fn rule_3_a_child_that_is_asked_again_keeps_its_session() {
    check(story!("sessions", "again"), Form::Sessions);
}

#[test]
fn a_client_without_child_sessions_sees_a_blocking_child_as_its_call() {
    check(story!("flat", "blocking"), FLAT);
}

#[test]
fn a_client_without_child_sessions_sees_background_children_work_on() {
    check(story!("flat", "background"), FLAT);
}

#[test]
fn a_client_without_child_sessions_sees_who_is_below_whom() {
    check(story!("flat", "nested"), FLAT);
}

#[test]
fn a_client_without_child_sessions_sees_a_failed_child_as_a_failed_call() {
    check(story!("flat", "failed"), FLAT);
}

#[test]
fn a_client_without_child_sessions_sees_a_stopped_child_as_a_failed_call() {
    check(story!("flat", "abort"), FLAT);
}

#[test]
fn a_client_without_child_sessions_sees_a_later_run_as_a_call_of_its_own() {
    check(story!("flat", "again"), FLAT);
}
