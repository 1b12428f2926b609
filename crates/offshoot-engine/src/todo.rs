//! The todo call: an agent's list of what it is about to do.
//!
//! A list that is given is the whole list. It is kept nowhere but in the call
//! itself: who wants to see it takes the last one from the log.

use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::{Effect, ToolSpec};
use serde::Deserialize;

/// The tool's id. Locked.
pub(crate) const TODO: &str = "todo";

/// Most items of a list.
const MOST: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    items: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    content: String,
    status: Status,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

/// Returns what models are told of `todo`.
pub(crate) fn spec() -> ToolSpec {
    let parameters = serde_json::json!({
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "maxItems": MOST,
                "description": "the whole list, in order; replaces the one before",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": { "type": "string", "minLength": 1, "description": "what is to be done" },
                        "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                    },
                    "required": ["content", "status"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["items"],
        "additionalProperties": false,
    });
    ToolSpec::new(
        TODO,
        "Writes down your list of things to do, so that people see how far you are. \
             Give the whole list each time. Use it for work of several parts; not for one step. It \
             does nothing by itself.",
        &parameters,
        Effect::Read,
    )
}

/// Takes a list.
pub(crate) fn take(arguments: &RawJson) -> Outcome {
    let list: Arguments = match arguments.read() {
        Ok(list) => list,
        Err(error) => {
            let text = format!("todo takes {{items: [{{content, status}}]}}: {error}");
            return Outcome::error(ErrorKind::InvalidInput, text);
        }
    };
    if list.items.len() > MOST || list.items.iter().any(|item| item.content.is_empty()) {
        let text = format!("a list has at most {MOST} items, and none is empty");
        return Outcome::error(ErrorKind::InvalidInput, text);
    }
    let count = |status| {
        list.items
            .iter()
            .filter(|item| item.status == status)
            .count()
    };
    let text = format!(
        "noted: {} completed, {} in progress, {} pending",
        count(Status::Completed),
        count(Status::InProgress),
        count(Status::Pending)
    );
    Outcome::output(RawJson::of(&text))
}
