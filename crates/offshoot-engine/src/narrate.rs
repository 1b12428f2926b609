//! A conversation as a text, for whoever reads it and was not in it.
//!
//! For people and files, and for agents that name, sum up or shorten what others
//! said. A request is never built from this: `context` does that.

use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::transcript::{Item, Step};

use crate::sabotage::{Bug, planted};
use crate::task::TASK;
use crate::todo::TODO;

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
        Item::User(message) => push(text, "asked", &message.text),
        Item::Completion(_) if planted(Bug::SummaryWithoutMail) => {}
        Item::Completion(completion) => {
            let said = completion.settlement.output.as_deref().unwrap_or_default();
            let who = format!("{} {}", completion.definition, completion.run.agent);
            push(text, &format!("told by {who}"), said);
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
            AssistantPart::Reasoning(_) | AssistantPart::Raw(_) => {}
        }
    }
    for (call, outcome) in step.outcomes() {
        let head = format!("outcome of {}", call.tool);
        let body = outcome.for_model();
        let is_state = call.tool == TASK || call.tool == TODO;
        match detail {
            Detail::WithoutOutputs if !is_state => {
                push(text, &head, &format!("[{} bytes left out]", body.len()));
            }
            Detail::All | Detail::WithoutOutputs => push(text, &head, &body),
        }
    }
}

/// Adds a paragraph under a heading.
pub(crate) fn push(text: &mut String, head: &str, body: &str) {
    text.push_str("## ");
    text.push_str(head);
    text.push('\n');
    text.push_str(body.trim_end());
    text.push_str("\n\n");
}
