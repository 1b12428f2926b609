//! What a call is about, for a person who watches it or has to allow it.
//!
//! In short for the tree: the tool, and the argument that tells it apart. In full
//! for who is asked: what would be written to a file stands there line by line,
//! because nobody can allow what they have not seen. Not a diff against the file:
//! what is there may change before the answer comes.

use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, Call};
use serde_json::Value;

/// What a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// The tool, and the argument that tells it apart.
    pub(crate) brief: String,
    /// What it would put into a file, and in the place of what.
    pub(crate) change: Vec<Changed>,
}

/// A line of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// It would be gone.
    Gone(String),
    /// It would be there.
    New(String),
}

impl About {
    pub(crate) fn of(call: &Call) -> Self {
        let value: Option<Value> = match &call.arguments {
            Arguments::Json(arguments) => RawJson::read(arguments).ok(),
            Arguments::Malformed(_) => None,
        };
        let text = |key: &str| value.as_ref()?.get(key)?.as_str();
        let about = ["subagent_type", "command", "pattern", "path"]
            .into_iter()
            .find_map(text);
        let brief = match about {
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
                gone.chain(lines("new_string").map(Changed::New)).collect()
            }
            _ => Vec::new(),
        };
        Self { brief, change }
    }
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
        let write = about("write", &json!({ "path": "a", "content": "x\n\ny\n" }));
        assert_eq!(write.change, [new("x"), new(""), new("y")]);
    }

    #[test]
    fn a_command_and_a_call_that_is_no_object_are_told_in_short() {
        let bash = about("bash", &json!({ "command": " ls -l " }));
        assert_eq!((bash.brief.as_str(), bash.change), ("bash ls -l", vec![]));
        assert_eq!(about("read", &json!(1)).brief, "read");
    }
}
