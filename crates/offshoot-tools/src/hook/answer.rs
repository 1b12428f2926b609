//! What a command says: how it ended, and what it printed.
//!
//! Code 2 objects, with what it complained of as the reason. Code 0 with an object
//! says more; `allow` in it is worth nothing, because a hook cannot allow. Any
//! other code says that the hook failed. What cannot be understood, or was cut, is
//! no answer: nobody knows what it would have said. Nor is a decision that stands
//! behind other words, in a list or in another encoding: nobody picks it out, so
//! that it is either heard as it was meant or known not to have been.

use offshoot_types::hook::{Point, Say, Switch, Trouble, Word};
use serde::Deserialize;
use serde_json::Value;

use crate::shell::once::Printed;

/// The code that objects.
const OBJECTS: i32 = 2;

/// The codes by which a shell says that there is no such program, or that it cannot be run.
const NOT_RUN: [i32; 2] = [126, 127];

/// From here on a shell's code says that a signal ended its last program.
const KILLED: i32 = 128;

/// Most characters of a complaint that are passed on with a failure.
const MOST_OF_COMPLAINT: usize = 500;

/// Reads what a command printed.
pub(super) fn read(point: Point, printed: Printed) -> Result<Say, Trouble> {
    let Printed {
        code,
        stdout,
        stderr,
        cut,
        open,
    } = printed;
    let complaint = |what: String| match stderr.trim() {
        "" => what,
        text => {
            let text: String = text.chars().take(MOST_OF_COMPLAINT).collect();
            format!("{what}: {text}")
        }
    };
    match code {
        None => Err(Trouble::BrokeDown(complaint(
            "a signal ended it".to_owned(),
        ))),
        Some(OBJECTS) => Ok(Say::word(Word::Deny {
            reason: stderr.trim().to_owned(),
        })),
        Some(code) if NOT_RUN.contains(&code) => Err(Trouble::BrokeDown(complaint(
            "it could not be run".to_owned(),
        ))),
        Some(code) if code > KILLED => Err(Trouble::BrokeDown(complaint(format!(
            "a signal ended its last program (exit code {code})"
        )))),
        Some(0) if cut => Err(Trouble::BrokeDown("it printed too much".to_owned())),
        Some(0) if open && point.guards() => Err(Trouble::BrokeDown(
            "it ended before everything that could print its answer".to_owned(),
        )),
        // Some programs put a byte order mark in front of what they print.
        Some(0) => said(point, stdout.trim_start_matches('\u{feff}').trim()),
        Some(code) => Err(Trouble::Failed(complaint(format!("exit code {code}")))),
    }
}

fn said(point: Point, text: &str) -> Result<Say, Trouble> {
    if text.starts_with('{') {
        let object: Object = serde_json::from_str(text).map_err(|error| {
            Trouble::BrokeDown(format!("it printed what is no answer: {error}"))
        })?;
        return object.say().map_err(Trouble::BrokeDown);
    }
    if point.guards() && is_no_text(text) {
        return Err(Trouble::BrokeDown("it printed what is no text".to_owned()));
    }
    // Plain words are context at some points, and may be about anything.
    let is_for_the_agent = matches!(point, Point::UserPromptSubmit | Point::SessionStart);
    if !is_for_the_agent && looks_like_a_decision(text) {
        return Err(Trouble::BrokeDown(
            "it printed a decision that was not read: what it prints has to begin with {"
                .to_owned(),
        ));
    }
    // Plain words are for the agent where it is about to be told something, and else for nobody.
    match point {
        Point::UserPromptSubmit | Point::SessionStart => Ok(Say::context(text)),
        Point::PreToolUse
        | Point::PostToolUse
        | Point::PostToolUseFailure
        | Point::PermissionRequest
        | Point::SessionEnd
        | Point::Stop
        | Point::SubagentStart
        | Point::SubagentStop
        | Point::PreCompact
        | Point::Notification => Ok(Say::nothing()),
    }
}

/// Tells whether bytes were printed that nobody can read.
fn is_no_text(text: &str) -> bool {
    let unreadable = |letter: char| letter == '\0' || letter == char::REPLACEMENT_CHARACTER;
    text.contains(unreadable)
}

/// Tells whether there is a decision in what is not an object: whoever prints that means it.
fn looks_like_a_decision(text: &str) -> bool {
    const NAMES: [&str; 2] = ["permissionDecision", "hookSpecificOutput"];
    const FIELDS: [&str; 3] = ["decision", "behavior", "continue"];
    // Of two bytes for each letter one is nothing.
    let text = text.replace(['\0', '\u{fffd}'], "");
    let is_field = |field: &&str| {
        ['"', '\'']
            .iter()
            .any(|quote| text.contains(&format!("{quote}{field}{quote}")))
    };
    NAMES.iter().any(|name| text.contains(name)) || FIELDS.iter().any(is_field)
}

/// The object that a command may print. What is not known is ignored.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Object {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    system_message: Option<String>,
    additional_context: Option<String>,
    hook_specific_output: Option<Specific>,
    agent: Option<String>,
    model: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    additional_context: Option<String>,
    updated_input: Option<Value>,
    decision: Option<Behaviour>,
    agent: Option<String>,
    model: Option<String>,
}

/// How a request for a permission is answered.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Behaviour {
    behavior: Option<String>,
    message: Option<String>,
    updated_input: Option<Value>,
}

impl Object {
    fn say(self) -> Result<Say, String> {
        let specific = self.hook_specific_output.unwrap_or_default();
        let behaviour = specific.decision.unwrap_or_default();
        let mut strictest = word(self.decision.as_deref(), self.reason)?;
        let decision = specific.permission_decision.as_deref();
        let said = word(decision, specific.permission_decision_reason)?;
        strictest = stricter(strictest, said);
        let said = word(behaviour.behavior.as_deref(), behaviour.message)?;
        strictest = stricter(strictest, said);
        // Other arguments would run without having been judged. Whoever calls can call again.
        if let Some(input) = specific.updated_input.or(behaviour.updated_input) {
            let reason = format!("call it again with these arguments instead: {input}");
            strictest = stricter(strictest, Word::Deny { reason });
        }
        if self.goes_on == Some(false) {
            let reason = self.stop_reason.unwrap_or_default();
            strictest = Word::Stop { reason };
        }
        let switch = Switch {
            agent: specific.agent.or(self.agent),
            model: specific.model.or(self.model),
        };
        Ok(Say {
            switch: (switch != Switch::default()).then_some(switch),
            word: strictest,
            context: specific.additional_context.or(self.additional_context),
            note: self.system_message,
        })
    }
}

/// Returns the stricter of two words; of two alike the first that has a reason.
fn stricter(one: Word, other: Word) -> Word {
    let unexplained = match &one {
        Word::Nothing => false,
        Word::Ask { reason } | Word::Deny { reason } | Word::Stop { reason } => reason.is_empty(),
    };
    let is_alike = !other.is_stricter_than(&one) && !one.is_stricter_than(&other);
    if other.is_stricter_than(&one) || (is_alike && unexplained) {
        other
    } else {
        one
    }
}

fn word(decision: Option<&str>, reason: Option<String>) -> Result<Word, String> {
    let reason = reason.unwrap_or_default();
    match decision {
        // A hook cannot allow: what was decided before stays.
        None | Some("allow" | "approve" | "defer") => Ok(Word::Nothing),
        Some("ask") => Ok(Word::Ask { reason }),
        Some("deny" | "block") => Ok(Word::Deny { reason }),
        Some(other) => Err(format!("it printed an unknown decision `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(code: i32, stdout: &str, stderr: &str) -> Printed {
        Printed {
            code: Some(code),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            cut: false,
            open: false,
        }
    }

    #[track_caller]
    fn check(stdout: &str, expected: Word) {
        let say = read(Point::PreToolUse, printed(0, stdout, "")).unwrap();
        assert_eq!(say.word, expected, "{stdout}");
    }

    fn deny(reason: &str) -> Word {
        Word::Deny {
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn tls_18_an_allow_is_worth_nothing() {
        check("", Word::Nothing);
        check("fine by me", Word::Nothing);
        check(r#"{"decision":"approve","reason":"ok"}"#, Word::Nothing);
        check(
            r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#,
            Word::Nothing,
        );
        check(
            r#"{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}"#,
            Word::Nothing,
        );
    }

    #[test]
    fn every_way_to_object_is_heard_and_the_strictest_counts() {
        check(r#"{"decision":"block","reason":"no"}"#, deny("no"));
        check(
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
            deny("no"),
        );
        check(
            r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"}}}"#,
            deny("no"),
        );
        check(
            r#"{"decision":"approve","hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}"#,
            Word::Ask {
                reason: "sure?".to_owned(),
            },
        );
        check(
            r#"{"continue":false,"stopReason":"enough","decision":"block"}"#,
            Word::Stop {
                reason: "enough".to_owned(),
            },
        );
    }

    #[test]
    fn tls_18_a_decision_is_heard_or_known_not_to_have_been() {
        let decision = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
        check(&format!("\u{feff}{decision}"), deny("no"));
        let wide: Vec<u8> =
            r#"{"decision":"block"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [&[0xff, 0xfe], &wide[..]].concat();
        for unheard in [
            format!("debug: on\n{decision}"),
            format!("[{decision}]"),
            "\u{1}{\"decision\":\"block\"}".to_owned(),
            "ok {'decision': 'block'}".to_owned(),
            r#"debug: on {"hook":{"behavior":"deny"}}"#.to_owned(),
            "on\n{\"continue\": false}".to_owned(),
            format!("x{}", String::from_utf8_lossy(&wide)),
            String::from_utf8_lossy(&marked).into_owned(),
        ] {
            for point in [Point::PreToolUse, Point::PermissionRequest, Point::Stop] {
                let trouble = read(point, printed(0, &unheard, "")).unwrap_err();
                assert!(matches!(trouble, Trouble::BrokeDown(_)), "{unheard}");
            }
        }
        let garbage = String::from_utf8_lossy(b"\xc3\x28\xff\x00").into_owned();
        let trouble = read(Point::PreToolUse, printed(0, &garbage, "")).unwrap_err();
        assert!(matches!(trouble, Trouble::BrokeDown(_)));
        for plain in ["a decision was made", "I continue", "[1, 2]"] {
            let said = read(Point::PreToolUse, printed(0, plain, ""));
            assert_eq!(said, Ok(Say::nothing()), "{plain}");
        }
    }

    #[test]
    fn other_arguments_are_not_taken_over_but_told() {
        check(
            r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"path":"b"}}}"#,
            deny(r#"call it again with these arguments instead: {"path":"b"}"#),
        );
    }

    #[test]
    fn what_cannot_be_understood_is_no_answer() {
        for rubbish in [
            "{",
            r#"{"decision":7}"#,
            r#"{"decision":"perhaps"}"#,
            r#"{"continue":"no"}"#,
        ] {
            let trouble = read(Point::PreToolUse, printed(0, rubbish, "")).unwrap_err();
            assert!(matches!(trouble, Trouble::BrokeDown(_)), "{rubbish}");
        }
    }

    #[test]
    fn codes_say_who_objects_who_failed_and_who_never_ran() {
        let object = read(Point::Stop, printed(2, "{", "not yet\n")).unwrap();
        assert_eq!(object.word, deny("not yet"));
        let failed = read(Point::Stop, printed(1, "", "no jq")).unwrap_err();
        assert_eq!(failed, Trouble::Failed("exit code 1: no jq".to_owned()));
        let missing = read(Point::Stop, printed(127, "", "")).unwrap_err();
        assert!(matches!(missing, Trouble::BrokeDown(_)));
    }

    #[test]
    fn a_guard_whose_last_program_was_killed_has_not_answered() {
        for code in [129, 137, 143, 255] {
            let killed = read(Point::PreToolUse, printed(code, "", "")).unwrap_err();
            assert!(matches!(killed, Trouble::BrokeDown(_)), "{code}");
        }
        let failed = read(Point::PreToolUse, printed(128, "", "")).unwrap_err();
        assert!(matches!(failed, Trouble::Failed(_)));
    }

    #[test]
    fn a_guard_that_could_have_said_more_has_not_answered() {
        let open = |code| Printed {
            open: true,
            ..printed(code, "", "no")
        };
        for point in [Point::PreToolUse, Point::PermissionRequest] {
            let late = read(point, open(0)).unwrap_err();
            assert!(matches!(late, Trouble::BrokeDown(_)), "{point}");
            assert_eq!(read(point, open(2)).unwrap().word, deny("no"));
        }
        assert_eq!(read(Point::Stop, open(0)), Ok(Say::nothing()));
    }

    #[test]
    fn plain_words_are_context_where_there_is_something_to_add_to() {
        let say = |point| read(point, printed(0, "it is friday\n", "")).unwrap();
        let told = Some("it is friday".to_owned());
        assert_eq!(say(Point::UserPromptSubmit).context, told);
        assert_eq!(say(Point::SessionStart).context, told);
        assert_eq!(say(Point::PostToolUse).context, None);
    }
}
