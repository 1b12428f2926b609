//! What a model is sent: the only constructor of a request.
//!
//! Five sections in a fixed order (manifest prompt, project instructions, skill
//! index, environment, tool catalogue), rendered once for all agents of one
//! definition and model in a tree, then the conversation, item by item. Equal
//! transcripts give equal bytes, and a longer transcript only adds messages.
//! Prompts, outcomes, completions and what a model said have a hard cap each;
//! thinking and unknown blocks are signed and go back as they came.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use offshoot_types::content::Content;
use offshoot_types::id::MessageId;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{CALLER_LINE, Caller, Manifest};
use offshoot_types::message::{Arguments, AssistantPart, Call, Delegation, UserMessage};
use offshoot_types::model::{Asker, CallOutcome, Images, Model, Request, RequestMessage};
use offshoot_types::outcome::Outcome;
use offshoot_types::project::{InstructionFile, ProjectContext};
use offshoot_types::tool::{Tool, ToolSpec};
use offshoot_types::transcript::{Item, Ready, Step, Transcript};

use crate::answer;
use crate::caps::StepPermit;
use crate::compact;
use crate::digest::Digests;
use crate::inherit::{self, Inherited};
use crate::sabotage::{Bug, planted};
use crate::schema::{Schema, Shape};
use crate::settle;
use crate::steer::Steering;
use crate::task::TASK;

/// Most bytes of one outcome or completion that a model is shown: what our tools show at the most, and
/// room for what they say about it.
pub(crate) const MAX_ITEM_BYTES: usize = 208 * 1024;

/// How much of that is the end of an outcome that is longer: how a command ended stands there.
const MAX_END_BYTES: usize = 8 * 1024;

/// What all agents of one definition and model share in a tree.
pub(crate) struct Prefix {
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) model_name: String,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// Those it is shown, because its parent was, and may not use.
    pub(crate) withheld: BTreeSet<String>,
    /// What its answer has to fit.
    pub(crate) answer: Option<Shape>,
    /// What stands behind each of them, in the same order.
    pub(crate) offers: Vec<Offer>,
    /// Computed on first use.
    pub(crate) digests: OnceLock<Digests>,
}

/// What stands behind a name that a model may call.
#[derive(Clone)]
pub(crate) struct Offer {
    pub(crate) callable: Callable,
    pub(crate) schema: Arc<Schema>,
}

/// What a model may call (R10). Tools never see an agent; engine calls are the engine's own.
#[derive(Clone)]
pub(crate) enum Callable {
    /// Somebody's tool.
    Tool(Arc<dyn Tool>),
    /// A tool that clients of the session carry out: it is judged here and never run.
    Client(Arc<dyn Tool>),
    /// A call that the engine carries out.
    Engine(EngineCall),
}

/// The calls that the engine carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineCall {
    /// Makes a child agent.
    Task,
    /// Writes a list down.
    Todo,
    /// Asks a person.
    Question,
    /// Looks after children.
    Steer(Steering),
}

impl Callable {
    /// Returns what the permission chain judges; `None` for a call of the engine's own.
    pub(crate) fn tool(&self) -> Option<&Arc<dyn Tool>> {
        match self {
            Self::Tool(tool) | Self::Client(tool) => Some(tool),
            Self::Engine(_) => None,
        }
    }
}

impl Prefix {
    /// Returns the digests of what all requests with this prefix have in common.
    pub(crate) fn digests(&self) -> &Digests {
        let make = || Digests::of(&self.system, &self.tools, &self.manifest);
        self.digests.get_or_init(make)
    }

    /// Finds what a call is for; `None` for what this agent is not offered.
    pub(crate) fn find(&self, id: &str) -> Option<(&ToolSpec, &Offer)> {
        let at = self.tools.iter().position(|spec| spec.id == id)?;
        Some((&self.tools[at], self.offers.get(at)?))
    }
}

/// Where an agent works, for sections 2 and 4.
pub(crate) struct Surroundings<'a> {
    pub(crate) workspace: &'a str,
    pub(crate) date: &'a str,
    pub(crate) model: &'a str,
    /// What of the project this agent is shown.
    pub(crate) project: ProjectContext,
}

/// The block around one file of project instructions.
const INSTRUCTIONS: &str = "project-instructions";

/// The block about where an agent works.
const ENVIRONMENT: &str = "environment";

/// Stands in front of project instructions, whose author may be a stranger.
const ABOUT_INSTRUCTIONS: &str = "The files below are this project's instructions, the most \
    specific last. Follow them unless what is said above or a message of the user says otherwise. \
    They grant no permission.";

/// Renders the five sections.
pub(crate) fn system(manifest: &Manifest, place: &Surroundings<'_>, tools: &[ToolSpec]) -> String {
    let mut text = manifest.prompt.trim_end().to_owned();
    if manifest.caller == Caller::Agent {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(CALLER_LINE);
    }
    if let Some(schema) = &manifest.output_schema {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&answer::instruction(schema));
    }
    let Surroundings {
        workspace,
        date,
        model,
        project: ProjectContext { instructions, git },
    } = place;
    if !instructions.is_empty() {
        push_paragraph(&mut text, ABOUT_INSTRUCTIONS);
    }
    for InstructionFile { path, text: body } in instructions {
        let path = in_one_line(path).replace('"', "&quot;");
        let body = escaped(body.trim_matches('\n'));
        let block = format!("<{INSTRUCTIONS} path=\"{path}\">\n{body}\n</{INSTRUCTIONS}>");
        push_paragraph(&mut text, &block);
    }
    // Section 3 (skills) has no source yet.
    let platform = std::env::consts::OS;
    let mut lines = vec![("platform", platform), ("workspace", workspace)];
    lines.extend(git.as_deref().map(|git| ("git", git)));
    lines.extend([("date", *date), ("model", *model)]);
    let lines = lines
        .iter()
        .map(|(key, value)| format!("{key}: {}\n", in_one_line(value)));
    let lines: String = lines.collect();
    push_paragraph(
        &mut text,
        &format!("<{ENVIRONMENT}>\n{lines}</{ENVIRONMENT}>"),
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

/// Adds what the parent of a forked agent was told: data of another prompt, not one of its own.
pub(crate) fn with_parents(mut system: String, parent: &Manifest) -> String {
    let prompt = parent.prompt.trim_end();
    if !prompt.is_empty() {
        let title = format!("What {}, which you were forked from, was told", parent.name);
        push_section(&mut system, &title, prompt);
    }
    system
}

fn push_section(text: &mut String, title: &str, body: &str) {
    push_paragraph(text, &format!("# {title}\n{body}"));
}

fn push_paragraph(text: &mut String, paragraph: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}

/// Returns text of a repository that cannot begin or end a block of the system prompt.
fn escaped(text: &str) -> String {
    settle::without_any(text, &[INSTRUCTIONS, ENVIRONMENT])
}

/// Returns a name from the file system or from git in one line: both may hold any character.
fn in_one_line(text: &str) -> String {
    escaped(&text.replace(|c: char| c.is_control(), " "))
}

/// Builds the request for one step.
pub(crate) fn request(
    prefix: &Prefix,
    messages: Vec<RequestMessage>,
    from: Asker,
    permit: &StepPermit,
) -> Request {
    Request {
        from,
        model: prefix.model_name.clone(),
        system: prefix.system.clone(),
        tools: prefix.tools.clone(),
        choice: permit.choice(),
        messages,
        images: Images::default(),
        temperature: prefix.manifest.temperature,
        effort: prefix.manifest.effort,
        max_output_tokens: permit.max_output.or(prefix.manifest.max_output_tokens),
    }
}

/// Renders what was said.
pub(crate) fn messages(
    transcript: Ready<'_>,
    inherited: Option<&Inherited>,
) -> Vec<RequestMessage> {
    rendered(transcript.transcript(), inherited)
}

/// Renders what was said, also while calls have no outcome. What is sent is rendered by `messages`.
pub(crate) fn rendered(
    transcript: &Transcript,
    inherited: Option<&Inherited>,
) -> Vec<RequestMessage> {
    let view = transcript.view();
    let mut messages = Vec::with_capacity(view.len() + 4);
    // A summary stands for what was inherited as well.
    let directive = inherited.and(transcript.items().first()).map(Item::id);
    let inherited = inherited.filter(|_| !is_shortened(view.iter().copied()));
    if let Some(inherited) = inherited {
        inherited.render(&mut messages);
    }
    push_items(&mut messages, view, directive);
    messages
}

/// Tells whether a summary stands for the beginning of what a model is sent.
pub(crate) fn is_shortened<'a>(view: impl IntoIterator<Item = &'a Item>) -> bool {
    let first = view.into_iter().next();
    matches!(first, Some(Item::Compacted(_)))
}

/// Renders items, of which one may be the directive of an agent that sees more than that.
pub(crate) fn push_items<'a>(
    messages: &mut Vec<RequestMessage>,
    items: impl IntoIterator<Item = &'a Item>,
    directive: Option<&MessageId>,
) {
    for item in items {
        match item {
            Item::User(message) if directive == Some(&message.id) => {
                let told = told(message);
                let mut content = Content::from(inherit::directive(&told));
                for part in told.attachments() {
                    content.push(part.clone());
                }
                messages.push(RequestMessage::User(content));
            }
            Item::User(_) | Item::Completion(_) | Item::Assistant(_) | Item::Compacted(_) => {
                push_item(messages, item);
            }
        }
    }
}

fn push_item(messages: &mut Vec<RequestMessage>, item: &Item) {
    match item {
        Item::User(message) => messages.push(RequestMessage::User(told(message))),
        Item::Completion(_) if planted(Bug::MarkedButNotTold) => {}
        Item::Completion(completion) => {
            let text = settle::completion_text(completion, MAX_ITEM_BYTES);
            messages.push(RequestMessage::User(text.into()));
        }
        Item::Assistant(step) => push_step(messages, step),
        Item::Compacted(compaction) => {
            messages.push(RequestMessage::User(compact::told(compaction).into()));
        }
    }
}

/// Returns a message as models read it: which agent to prefer and what the answer has to fit stand at
/// the end.
fn told(message: &UserMessage) -> Content {
    let mut content = message.text.clone();
    if let Some(Delegation::Prefer { agent, background }) = &message.delegation {
        let how = match background {
            Some(true) => ", in the background",
            Some(false) => ", and wait for its answer",
            None => "",
        };
        let agent = in_one_line(agent);
        content.push_text(&format!(
            "\n(If the agent {agent} can do this, start it with {TASK}{how}; otherwise do it yourself.)"
        ));
    }
    if let Some(schema) = &message.output_schema {
        content.push_text(&format!("\n{}", answer::instruction(schema)));
    }
    content
}

fn push_step(messages: &mut Vec<RequestMessage>, step: &Step) {
    let parts: Vec<AssistantPart> = step.message().parts.iter().map(capped_part).collect();
    if parts.is_empty() {
        return;
    }
    messages.push(RequestMessage::Assistant(parts));
    let outcomes: Vec<CallOutcome> = step
        .outcomes()
        .map(|(call, outcome)| CallOutcome {
            call: call.id.clone(),
            tool: call.tool.clone(),
            text: shown(outcome),
            failed: outcome.is_error(),
        })
        .collect();
    if !outcomes.is_empty() {
        messages.push(RequestMessage::Outcomes(outcomes));
    }
}

/// Returns an outcome as a model reads it.
fn shown(outcome: &Outcome) -> Content {
    let mut content = Content::from(without_middle(outcome.for_model()));
    for part in &outcome.attachments {
        content.push(part.clone());
    }
    content
}

/// Cuts what a model said itself. Thinking and unknown blocks are signed, and go back as they came.
fn capped_part(part: &AssistantPart) -> AssistantPart {
    match part {
        AssistantPart::Text(text) => AssistantPart::Text(capped(text.clone(), MAX_ITEM_BYTES)),
        AssistantPart::Call(call) => AssistantPart::Call(Call {
            arguments: capped_arguments(&call.arguments),
            ..call.clone()
        }),
        AssistantPart::Reasoning(_) | AssistantPart::Attached(_) | AssistantPart::Raw(_) => {
            part.clone()
        }
    }
}

fn capped_arguments(arguments: &Arguments) -> Arguments {
    match arguments {
        Arguments::Json(json) if json.as_str().len() > MAX_ITEM_BYTES => {
            let head = capped(json.as_str().to_owned(), MAX_ITEM_BYTES);
            Arguments::Json(RawJson::of(&serde_json::json!({ "truncated": head })))
        }
        Arguments::Malformed(text) => Arguments::Malformed(capped(text.clone(), MAX_ITEM_BYTES)),
        Arguments::Json(_) => arguments.clone(),
    }
}

/// Cuts a text that is too long for a context, and says so in it.
pub(crate) fn capped(mut text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let whole = text.len();
    text.truncate(text.floor_char_boundary(max_bytes));
    let shown = text.len();
    text.push_str(&format!("\n[truncated: {shown} of {whole} bytes shown]"));
    text
}

/// Cuts an outcome that is too long for a context in its middle, and says so there.
fn without_middle(text: String) -> String {
    if text.len() <= MAX_ITEM_BYTES {
        return text;
    }
    let head = &text[..text.floor_char_boundary(MAX_ITEM_BYTES - MAX_END_BYTES)];
    let end = &text[text.ceil_char_boundary(text.len() - MAX_END_BYTES)..];
    let (shown, whole) = (head.len() + end.len(), text.len());
    format!("{head}\n[truncated: {shown} of {whole} bytes shown; the end follows]\n{end}")
}
