//! What a model is sent: the only constructor of a request.
//!
//! Five sections in a fixed order (manifest prompt, project instructions, skill
//! index, environment, tool catalogue), rendered once for all agents of one
//! definition and model in a tree, then the conversation, item by item. Equal
//! transcripts give equal bytes, and a longer transcript only adds messages.
//! Everything that enters has a hard cap.

use std::sync::Arc;

use offshoot_types::manifest::{CALLER_LINE, Caller, Manifest};
use offshoot_types::message::AssistantPart;
use offshoot_types::model::{Asker, CallOutcome, Model, Request, RequestMessage, ToolChoice};
use offshoot_types::tool::ToolSpec;
use offshoot_types::transcript::{Item, Ready, Step};

use crate::sabotage::{Bug, planted};
use crate::settle;

/// Most bytes of one outcome or completion that a model is shown.
const MAX_ITEM_BYTES: usize = 200 * 1024;

/// What all agents of one definition and model share in a tree.
pub(crate) struct Prefix {
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) model_name: String,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSpec]>,
}

/// Where an agent works, for section 4.
pub(crate) struct Surroundings<'a> {
    pub(crate) workspace: &'a str,
    pub(crate) date: &'a str,
    pub(crate) model: &'a str,
}

/// Renders the five sections.
pub(crate) fn system(manifest: &Manifest, place: &Surroundings<'_>, tools: &[ToolSpec]) -> String {
    let mut text = manifest.prompt.trim_end().to_owned();
    if manifest.caller == Caller::Agent {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(CALLER_LINE);
    }
    // Sections 2 and 3 (project instructions, skills) have no source yet and render to nothing.
    let Surroundings {
        workspace,
        date,
        model,
    } = place;
    let platform = std::env::consts::OS;
    push_section(
        &mut text,
        "Environment",
        &format!("platform: {platform}\nworkspace: {workspace}\ndate: {date}\nmodel: {model}"),
    );
    let mut catalogue = String::new();
    for tool in tools {
        catalogue.push_str(&format!("- {}: {}\n", tool.id, tool.description));
    }
    if !catalogue.is_empty() {
        push_section(&mut text, "Tools", catalogue.trim_end());
    }
    text
}

fn push_section(text: &mut String, title: &str, body: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str("# ");
    text.push_str(title);
    text.push('\n');
    text.push_str(body);
}

/// Builds the request for one step.
pub(crate) fn request(
    prefix: &Prefix,
    transcript: Ready<'_>,
    from: Asker,
    choice: ToolChoice,
) -> Request {
    let mut messages = Vec::with_capacity(transcript.items().len() + 4);
    for item in transcript.items() {
        push_item(&mut messages, item);
    }
    Request {
        from,
        model: prefix.model_name.clone(),
        system: prefix.system.clone(),
        tools: prefix.tools.clone(),
        choice,
        messages,
        temperature: prefix.manifest.temperature,
        max_output_tokens: prefix.manifest.max_output_tokens,
    }
}

fn push_item(messages: &mut Vec<RequestMessage>, item: &Item) {
    match item {
        Item::User(message) => messages.push(RequestMessage::User(message.text.clone())),
        Item::Completion(_) if planted(Bug::MarkedButNotTold) => {}
        Item::Completion(completion) => {
            let text = settle::completion_text(
                &completion.run.agent,
                &completion.definition,
                &completion.settlement,
            );
            messages.push(RequestMessage::User(capped(text)));
        }
        Item::Assistant(step) => push_step(messages, step),
    }
}

fn push_step(messages: &mut Vec<RequestMessage>, step: &Step) {
    let parts: Vec<AssistantPart> = step.message().parts.clone();
    if parts.is_empty() {
        return;
    }
    messages.push(RequestMessage::Assistant(parts));
    let outcomes: Vec<CallOutcome> = step
        .outcomes()
        .map(|(call, outcome)| CallOutcome {
            call: call.id.clone(),
            tool: call.tool.clone(),
            text: capped(outcome.for_model()),
            failed: outcome.is_error(),
        })
        .collect();
    if !outcomes.is_empty() {
        messages.push(RequestMessage::Outcomes(outcomes));
    }
}

/// Cuts a text that is too long for a context, and says so in it.
fn capped(mut text: String) -> String {
    if text.len() <= MAX_ITEM_BYTES {
        return text;
    }
    let whole = text.len();
    text.truncate(text.floor_char_boundary(MAX_ITEM_BYTES));
    let shown = text.len();
    text.push_str(&format!("\n[truncated: {shown} of {whole} bytes shown]"));
    text
}
