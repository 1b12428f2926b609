//! A conversation as a text, for whoever reads it and was not in it.
//!
//! For people and files, and for agents that name, sum up or shorten what others
//! said. A request is never built from this: `context` does that.

use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::transcript::{Completion, Item, Step};

use crate::sabotage::{Bug, planted};
use crate::settle;
use crate::task::TASK;
use crate::todo::TODO;

/// Most bytes of what a child came to.
const MOST_TOLD: usize = 100 * 1024;

/// The calls whose outcomes are the state of tasks and lists: told once, and nowhere else (SES-15).
const STATE: [&str; 4] = [TASK, TODO, "wait", "cancel"];

/// What of it is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Nothing.
    All,
    /// What tools gave back, but for the state of tasks and lists (SES-15).
    WithoutOutputs,
}

/// Adds what was said in one place of a conversation.
pub(crate) fn push_item(text: &mut String, item: &Item, detail: Detail) {
    match item {
        Item::User(message) => push(text, "asked", &message.text.described()),
        Item::Completion(_) if planted(Bug::SummaryWithoutMail) => {}
        Item::Completion(completion) => {
            let Completion {
                run, definition, ..
            } = completion;
            let said = settle::completion_text(completion, MOST_TOLD);
            push(text, &format!("told by {definition} {}", run.agent), &said);
        }
        Item::Assistant(step) => push_step(text, step, detail),
        Item::Compacted(compaction) => push(text, "in short", &compaction.summary),
    }
}

fn push_step(text: &mut String, step: &Step, detail: Detail) {
    for part in &step.message().parts {
        match part {
            AssistantPart::Text(said) => push(text, "said", said),
            AssistantPart::Call(call) => {
                let arguments = match &call.arguments {
                    Arguments::Json(json) => json.as_str(),
                    Arguments::Malformed(text) => text,
                };
                push(text, &format!("called {}", call.tool), arguments);
            }
            AssistantPart::Attached(part) => push(text, "said", &part.note()),
            AssistantPart::Reasoning(_) | AssistantPart::Raw(_) => {}
        }
    }
    for (call, outcome) in step.outcomes() {
        let head = format!("outcome of {}", call.tool);
        let content = outcome.content();
        let body = content.described();
        let is_state = STATE.contains(&call.tool.as_str());
        match detail {
            Detail::WithoutOutputs if !is_state => {
                push(text, &head, &format!("[{} bytes left out]", body.len()));
            }
            Detail::All | Detail::WithoutOutputs => push(text, &head, &body),
        }
    }
}

/// Adds a paragraph under a heading. What somebody said has no headings of its own: nobody speaks in
/// another's name (R24).
pub(crate) fn push(text: &mut String, head: &str, body: &str) {
    text.push_str("## ");
    text.push_str(head);
    text.push('\n');
    for line in body.trim_end().lines() {
        if line.trim_start().starts_with('#') {
            text.push_str("| ");
        }
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
}
