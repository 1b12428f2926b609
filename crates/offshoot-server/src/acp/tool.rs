//! Calls, as the protocol shows them.
//!
//! What sort of tool a call is of follows from the names of our own tools; what
//! others bring is `other`, which every client draws.

use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, Call};
use offshoot_types::outcome::{Body, Outcome};
use serde::Deserialize;

use super::wire::{
    Content, Location, Meta, PlanEntry, ToolCall, ToolCallUpdate, ToolContent, ToolKind,
    ToolStatus, Update,
};

/// The call that makes a child.
pub(super) const TASK: &str = "task";

/// The call that notes a list.
const TODO: &str = "todo";

/// What we look at of the arguments of our own tools.
#[derive(Default, Deserialize)]
struct Known {
    path: Option<String>,
    pattern: Option<String>,
    command: Option<String>,
    content: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    subagent_type: Option<String>,
    prompt: Option<String>,
}

/// Returns the arguments of a call, whatever the model sent.
pub(super) fn arguments(call: &Call) -> RawJson {
    match &call.arguments {
        Arguments::Json(arguments) => arguments.clone(),
        Arguments::Malformed(text) => RawJson::of(text),
    }
}

/// Returns a call that has just been made.
pub(super) fn made(id: String, call: &Call, workspace: &str, meta: Option<Meta>) -> ToolCall {
    shown(id, &call.tool, arguments(call), workspace, meta)
}

/// Returns a call of a tool with these arguments.
pub(super) fn shown(
    id: String,
    tool: &str,
    raw_input: RawJson,
    workspace: &str,
    meta: Option<Meta>,
) -> ToolCall {
    let known: Known = raw_input.read().unwrap_or_default();
    let path = known.path.as_deref().map(|path| absolute(workspace, path));
    ToolCall {
        tool_call_id: id,
        title: title(tool, &known),
        name: tool.to_owned(),
        kind: kind(tool),
        status: ToolStatus::Pending,
        content: change(path.as_deref(), &known).into_iter().collect(),
        locations: path.into_iter().map(|path| Location { path }).collect(),
        raw_input,
        meta,
    }
}

/// Returns what people call a call.
pub(super) fn title_of(call: &Call) -> String {
    let known: Known = arguments(call).read().unwrap_or_default();
    title(&call.tool, &known)
}

/// Returns the call of a child that never was: it is shown with its outcome.
pub(super) fn failed_task(id: String, arguments: &RawJson) -> ToolCall {
    let known: Known = arguments.read().unwrap_or_default();
    ToolCall {
        tool_call_id: id,
        title: title(TASK, &known),
        name: TASK.to_owned(),
        kind: kind(TASK),
        status: ToolStatus::Pending,
        content: Vec::new(),
        locations: Vec::new(),
        raw_input: arguments.clone(),
        meta: None,
    }
}

/// Returns the first line of what a child is made for.
pub(super) fn task(arguments: &RawJson) -> Option<String> {
    let known: Known = arguments.read().ok()?;
    Some(known.prompt?.lines().next().unwrap_or_default().to_owned())
}

/// Returns how far a call is.
pub(super) fn is_now(id: String, status: ToolStatus, meta: Option<Meta>) -> Update {
    Update::ToolCallUpdate(ToolCallUpdate {
        tool_call_id: id,
        status: Some(status),
        content: None,
        raw_output: None,
        meta,
    })
}

/// Returns what a call came to.
pub(super) fn finished(id: String, tool: &str, outcome: &Outcome, meta: Option<Meta>) -> Update {
    let (status, text, raw_output) = match &outcome.body {
        Body::Output(data) => (
            ToolStatus::Completed,
            outcome.for_model(),
            Some(data.clone()),
        ),
        Body::Error { text, .. } => (ToolStatus::Failed, text.clone(), None),
    };
    // Of a change that was made the change itself stays to be seen.
    let stays = kind(tool) == ToolKind::Edit && status == ToolStatus::Completed;
    Update::ToolCallUpdate(ToolCallUpdate {
        tool_call_id: id,
        status: Some(status),
        content: (!stays).then(|| vec![words(text)]),
        raw_output,
        meta,
    })
}

/// Returns words that a call shows.
pub(super) fn words(text: impl Into<String>) -> ToolContent {
    ToolContent::Content {
        content: Content::text(text),
    }
}

/// Returns the list that a call noted; `None` if it is not such a call, or failed.
pub(super) fn plan(tool: &str, arguments: &RawJson, outcome: &Outcome) -> Option<Update> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        content: String,
        status: String,
    }
    if tool != TODO || outcome.is_error() {
        return None;
    }
    let list: List = arguments.read().ok()?;
    let entry = |item: Item| PlanEntry {
        content: item.content,
        priority: "medium",
        status: item.status,
    };
    let entries = list.items.into_iter().map(entry).collect();
    Some(Update::Plan { entries })
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read" => ToolKind::Read,
        "write" | "edit" => ToolKind::Edit,
        "glob" | "grep" => ToolKind::Search,
        "bash" => ToolKind::Execute,
        TASK | TODO => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn title(tool: &str, known: &Known) -> String {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    if let Some(command) = &known.command {
        return first_line(command);
    }
    if let (Some(agent), Some(prompt)) = (&known.subagent_type, &known.prompt) {
        return format!("{agent}: {}", first_line(prompt));
    }
    match known.path.as_ref().or(known.pattern.as_ref()) {
        Some(what) => format!("{tool} {what}"),
        None => tool.to_owned(),
    }
}

fn change(path: Option<&str>, known: &Known) -> Option<ToolContent> {
    let (old_text, new_text) = match (&known.old_string, &known.new_string, &known.content) {
        (Some(old), Some(new), _) => (Some(old.clone()), new.clone()),
        (_, _, Some(content)) => (None, content.clone()),
        (_, _, None) => return None,
    };
    Some(ToolContent::Diff {
        path: path?.to_owned(),
        old_text,
        new_text,
    })
}

fn absolute(workspace: &str, path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", workspace.trim_end_matches('/'))
    }
}
