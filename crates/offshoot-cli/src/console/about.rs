//! What a call is about, for a person who watches it or has to allow it.
//!
//! In short for the tree: the tool, and the argument that tells it apart. In full
//! for who is asked: what would be written to a file, a plan and every other text
//! stand there line by line, because nobody can allow what they have not seen. Not a diff against the file:
//! what is there may change before the answer comes.

use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, Call};
use serde_json::Value;

use crate::render;

/// What a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// The tool, and the argument that tells it apart.
    pub(crate) brief: String,
    /// What it would put into a file and in the place of what, or what else it says.
    pub(crate) change: Vec<Changed>,
}

/// A line of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// It would be gone.
    Gone(String),
    /// It would be there.
    New(String),
    /// It is told to the tool, whatever that does with it.
    Said(String),
}

/// Most characters of an argument that is no text.
const MOST_OF_VALUE: usize = 1000;

/// The argument that tells a call apart: the first of these that there is.
const TELLING: [&str; 4] = ["subagent_type", "command", "pattern", "path"];

impl About {
    pub(crate) fn of(call: &Call) -> Self {
        let value: Option<Value> = match &call.arguments {
            Arguments::Json(arguments) => RawJson::read(arguments).ok(),
            Arguments::Malformed(_) => None,
        };
        let text = |key: &str| value.as_ref()?.get(key)?.as_str();
        let told = TELLING.into_iter().find(|key| text(key).is_some());
        let brief = match told.and_then(text) {
            Some(about) => format!("{} {}", call.tool, about.trim()),
            None => call.tool.clone(),
        };
        let lines = |key: &str| {
            text(key)
                .into_iter()
                .flat_map(str::lines)
                .map(str::to_owned)
        };
        let change = match call.tool.as_str() {
            "write" => lines("content").map(Changed::New).collect(),
            "edit" => {
                let gone = lines("old_string").map(Changed::Gone);
                let all = value.as_ref().and_then(|value| value.get("replace_all"));
                let all = all.filter(|all| **all != Value::Bool(false));
                let all = all.map(|_| Changed::Said("all occurrences".to_owned()));
                let lines = gone.chain(lines("new_string").map(Changed::New));
                // First, because the end of what is long may not be shown.
                all.into_iter().chain(lines).collect()
            }
            _ => said(value.as_ref(), told),
        };
        Self { brief, change }
    }
}

/// Returns every argument but the one that is told already.
fn said(arguments: Option<&Value>, told: Option<&str>) -> Vec<Changed> {
    let arguments = arguments.and_then(Value::as_object).into_iter().flatten();
    let mut said = Vec::new();
    for (key, value) in arguments.filter(|(key, _)| told != Some(key.as_str())) {
        let Some(text) = value.as_str() else {
            let text = render::first_words(&value.to_string(), MOST_OF_VALUE);
            said.push(Changed::Said(format!("{key}: {text}")));
            continue;
        };
        if text.trim_end().contains('\n') {
            said.push(Changed::Said(format!("{key}:")));
            said.extend(text.lines().map(|line| Changed::Said(line.to_owned())));
        } else {
            said.push(Changed::Said(format!("{key}: {}", text.trim_end())))
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use offshoot_types::id::CallId;
    use serde_json::json;

    use super::*;

    fn about(tool: &str, arguments: &Value) -> About {
        About::of(&Call {
            id: CallId::new("c"),
            tool: tool.to_owned(),
            arguments: Arguments::Json(RawJson::of(arguments)),
        })
    }

    #[test]
    fn who_is_asked_sees_what_would_be_written() {
        let edit = json!({ "path": "a", "old_string": "1\n2", "new_string": "3" });
        let edit = about("edit", &edit);
        assert_eq!(edit.brief, "edit a");
        let gone = |text: &str| Changed::Gone(text.to_owned());
        let new = |text: &str| Changed::New(text.to_owned());
        assert_eq!(edit.change, [gone("1"), gone("2"), new("3")]);
        let edit = |all: bool| {
            let edit =
                json!({ "path": "a", "old_string": "1", "new_string": "3", "replace_all": all });
            about("edit", &edit).change
        };
        assert_eq!(edit(false), [gone("1"), new("3")]);
        let all = Changed::Said("all occurrences".to_owned());
        assert_eq!(edit(true), [all, gone("1"), new("3")]);
        let write = about("write", &json!({ "path": "a", "content": "x\n\ny\n" }));
        assert_eq!(write.change, [new("x"), new(""), new("y")]);
    }

    #[test]
    fn who_is_asked_sees_every_argument_of_a_call_once() {
        let said = |text: &str| Changed::Said(text.to_owned());
        let plan = about("plan_exit", &json!({ "plan": "1. paint\n2. dry\n" }));
        assert_eq!(plan.brief, "plan_exit");
        assert_eq!(
            plan.change,
            [said("plan:"), said("1. paint"), said("2. dry")]
        );
        let mine = json!({ "command": "send", "to": "all", "times": 3 });
        let mine = about("mine", &mine);
        assert_eq!(mine.brief, "mine send");
        assert_eq!(mine.change, [said("to: all"), said("times: 3")]);
        let many = vec!["x"; 10_000];
        let mine = about(
            "mine",
            &json!({ "what": {"deep": [true, null]}, "zs": many }),
        );
        assert_eq!(mine.change[0], said(r#"what: {"deep":[true,null]}"#));
        let Changed::Said(long) = &mine.change[1] else {
            panic!("{:?}", mine.change);
        };
        assert!(long.chars().count() <= MOST_OF_VALUE + 10, "{long}");
    }

    #[test]
    fn a_command_and_a_call_that_is_no_object_are_told_in_short() {
        let bash = about("bash", &json!({ "command": " ls -l " }));
        assert_eq!((bash.brief.as_str(), bash.change), ("bash ls -l", vec![]));
        assert_eq!(about("read", &json!(1)).brief, "read");
    }
}
