//! The JSON in the chat tables: parts in the shape of the AI SDK, and metadata.
//!
//! Pure functions from our types to text. Blocks of providers and arguments of
//! calls go through byte for byte. Transcripts of opaque children stand beside
//! a call's output, so that the output stays exactly what the model was told.

use std::collections::BTreeMap;

use offshoot_types::caps::Money;
use offshoot_types::content::{Attached, Part};
use offshoot_types::event::Compaction;
use offshoot_types::id::{AgentId, CallId, MessageId, RunId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    Arguments, AssistantMessage, AssistantPart, Call, Reasoning, StopReason, Usage, UserMessage,
};
use offshoot_types::outcome::Metadata;
use offshoot_types::permission::{Action, Rule};
use offshoot_types::settlement::{Settlement, Status};
use serde::{Deserialize, Serialize};

use super::row::{Finish, PartState, ToolCall};

/// The metadata key that says a prompt waits.
const QUEUED_AT: &str = "queued_at";

/// How metadata begins that has this key first, and mostly no other.
const QUEUED_ALONE: &str = "{\"queued_at\":";

/// A part without its place.
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) data_json: String,
    pub(super) tool: Option<ToolCall>,
}

/// Renders a value of ours, which JSON can hold.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// Returns the part of an assistant message.
pub(super) fn block(part: &AssistantPart) -> Block {
    match part {
        AssistantPart::Text(text) => self::text(text),
        AssistantPart::Reasoning(reasoning) => self::reasoning(reasoning),
        AssistantPart::Call(call) => tool(call),
        AssistantPart::Attached(part) => content(part),
        AssistantPart::Raw(raw) => data("data-provider", raw),
    }
}

/// Returns the part of a user message.
pub(super) fn content(part: &Part) -> Block {
    match part {
        Part::Text(text) => self::text(text),
        Part::Image(attached) | Part::File(attached) => plain("file", json(&file(attached))),
        Part::FileReference(file) => data("data-file-reference", file),
        Part::ResourceLink(link) => data("data-resource-link", link),
    }
}

/// Returns what goes with the outcome of a call.
pub(super) fn attachment(part: &Part) -> RawJson {
    match part.blob() {
        Some(attached) => RawJson::of(&file(attached)),
        None => RawJson::of(part),
    }
}

/// A file in the shape of the AI SDK. The address names the blob by its digest: the bytes are in the
/// session's folder, not in the table.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FilePart<'a> {
    r#type: &'static str,
    media_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    url: String,
    bytes: u64,
}

fn file(attached: &Attached) -> FilePart<'_> {
    FilePart {
        r#type: "file",
        media_type: &attached.media_type,
        filename: attached.name.as_deref(),
        url: format!("sha256:{}", attached.digest),
        bytes: attached.bytes,
    }
}

/// Returns a part of words.
pub(super) fn text(text: &str) -> Block {
    #[derive(Serialize)]
    struct Text<'a> {
        r#type: &'static str,
        text: &'a str,
    }
    plain(
        "text",
        json(&Text {
            r#type: "text",
            text,
        }),
    )
}

fn reasoning(reasoning: &Reasoning) -> Block {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Thinking<'a> {
        r#type: &'static str,
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<Provider<'a>>,
    }
    #[derive(Serialize)]
    struct Provider<'a> {
        raw: &'a RawJson,
    }
    plain(
        "reasoning",
        json(&Thinking {
            r#type: "reasoning",
            text: &reasoning.text,
            provider_metadata: reasoning.raw.as_ref().map(|raw| Provider { raw }),
        }),
    )
}

/// Returns a part of data.
pub(super) fn data(kind: &'static str, data: &impl Serialize) -> Block {
    #[derive(Serialize)]
    struct Data<'a, T> {
        r#type: &'static str,
        data: &'a T,
    }
    plain(kind, json(&Data { r#type: kind, data }))
}

fn plain(kind: &str, data_json: String) -> Block {
    Block {
        kind: kind.to_owned(),
        data_json,
        tool: None,
    }
}

/// A call, in the shape of the AI SDK.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolPart {
    r#type: String,
    tool_call_id: CallId,
    state: PartState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw_input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    transcripts: Vec<RawJson>,
}

fn tool(call: &Call) -> Block {
    let kind = format!("tool-{}", call.tool);
    let state = PartState::InputAvailable;
    let (input, raw_input) = match &call.arguments {
        Arguments::Json(input) => (Some(input.clone()), None),
        Arguments::Malformed(text) => (None, Some(text.clone())),
    };
    let data_json = json(&ToolPart {
        r#type: kind.clone(),
        tool_call_id: call.id.clone(),
        state,
        input,
        raw_input,
        output: None,
        error_text: None,
        attachments: Vec::new(),
        metadata: None,
        transcripts: Vec::new(),
    });
    Block {
        kind,
        data_json,
        tool: Some(ToolCall {
            call: call.id.clone(),
            state,
        }),
    }
}

/// Returns the JSON of a call that was open and now has its outcome.
pub(crate) fn finished(data_json: &str, finish: &Finish) -> Result<String, serde_json::Error> {
    let mut part: ToolPart = serde_json::from_str(data_json)?;
    part.state = finish.state;
    part.output.clone_from(&finish.output);
    part.error_text.clone_from(&finish.error_text);
    part.attachments.clone_from(&finish.attachments);
    part.metadata = Some(finish.metadata.clone());
    part.transcripts.clone_from(&finish.transcripts);
    Ok(json(&part))
}

/// Returns the part that tells of a run outside any call.
pub(super) fn completion(
    run: &RunId,
    definition: &str,
    call: Option<&CallId>,
    settlement: &Settlement,
    transcript: Option<RawJson>,
) -> Block {
    #[derive(Serialize)]
    struct Completion<'a> {
        session_id: &'a str,
        run: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        call_id: Option<&'a CallId>,
        agent: &'a str,
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_text: Option<String>,
        metadata: Metadata,
        #[serde(skip_serializing_if = "Option::is_none")]
        transcript: Option<RawJson>,
    }
    let (status, output, error_text) = told(settlement);
    data(
        "data-task-completion",
        &Completion {
            session_id: run.agent.as_str(),
            run: run.run.get(),
            call_id: call,
            agent: definition,
            status,
            output,
            error_text,
            metadata: settlement.metadata(&run.agent, definition),
            transcript,
        },
    )
}

/// Returns the guide's word for an end, with the output or the error.
fn told(settlement: &Settlement) -> (&'static str, Option<String>, Option<String>) {
    let reason = settlement.status.reason().unwrap_or_default();
    let text = settlement.output.as_deref().unwrap_or_default();
    match &settlement.status {
        Status::Completed => ("completed", Some(text.to_owned()), None),
        Status::Partial(_) => {
            let marked = format!("[partial: {reason}] {text}");
            ("completed", Some(marked.trim_end().to_owned()), None)
        }
        Status::Cancelled(_) => ("aborted", None, Some(reason)),
        Status::Failed { .. }
        | Status::BudgetExhausted(_)
        | Status::Denied { .. }
        | Status::Lost { .. } => ("failed", None, Some(reason)),
    }
}

/// Returns the metadata of a prompt that waits: the host's keys, and since when.
pub(super) fn queued(message: &UserMessage, at: Timestamp) -> String {
    if message.metadata.is_none() && message.agent.is_none() {
        return format!("{QUEUED_ALONE}{}}}", at.get());
    }
    let host = message.metadata.as_ref().map_or("{}", RawJson::as_str);
    let mut keys = keys(host);
    keys.insert(QUEUED_AT.to_owned(), RawJson::of(&at));
    if let Some(agent) = &message.agent {
        keys.insert("agent".to_owned(), RawJson::of(agent));
    }
    json(&keys)
}

/// Returns the metadata of a prompt whose turn has begun.
pub(crate) fn fired(metadata_json: &str) -> String {
    // Most have no other key, and need not be read.
    let since = metadata_json.strip_prefix(QUEUED_ALONE);
    if since.is_some_and(|since| {
        since
            .trim_end_matches('}')
            .bytes()
            .all(|b| b.is_ascii_digit())
    }) {
        return "{}".to_owned();
    }
    let mut keys = keys(metadata_json);
    keys.remove(QUEUED_AT);
    json(&keys)
}

/// Returns the metadata of a message that a rewind hides.
pub(crate) fn hidden(metadata_json: &str, at: Timestamp) -> String {
    let mut keys = keys(metadata_json);
    keys.insert("hidden_at".to_owned(), RawJson::of(&at));
    json(&keys)
}

/// Returns the part of a summary that stands for what was said before it (SES-12).
pub(super) fn compaction(compaction: &Compaction) -> Block {
    #[derive(Serialize)]
    struct Marker<'a> {
        summary: &'a str,
        tail_start_id: Option<&'a MessageId>,
        auto: bool,
        summary_tokens: u64,
    }
    data(
        "data-compaction",
        &Marker {
            summary: &compaction.summary,
            tail_start_id: compaction.tail_start.as_ref(),
            auto: compaction.auto,
            summary_tokens: compaction.summary_tokens,
        },
    )
}

/// Tells whether this is the metadata of a prompt that waits.
pub(super) fn is_queued(metadata_json: &str) -> bool {
    // Most are not: what does not have the word in it has no such key.
    metadata_json.contains(QUEUED_AT) && keys(metadata_json).contains_key(QUEUED_AT)
}

/// Reads an object; whatever else a host attached has no keys to keep.
fn keys(object: &str) -> BTreeMap<String, RawJson> {
    serde_json::from_str(object).unwrap_or_default()
}

/// Returns what a host attached to a child, and the agent that spawned it where that has no row.
pub(super) fn below_opaque(metadata_json: &str, parent: &AgentId) -> String {
    match serde_json::from_str::<BTreeMap<String, RawJson>>(metadata_json) {
        Ok(mut keys) => {
            keys.insert("opaque_parent_id".to_owned(), RawJson::of(parent));
            json(&keys)
        }
        // What is no object has no room for a key, and stays what the host attached.
        Err(_) => metadata_json.to_owned(),
    }
}

/// Returns the rules of a session with more of them (PER-08); what is there is not added again.
pub(crate) fn permitted(permissions_json: &str, rules: &[Rule], at: Timestamp) -> String {
    #[derive(Serialize, Deserialize)]
    struct SessionRule {
        permission: String,
        pattern: String,
        action: Action,
        source: String,
        added_at: Timestamp,
    }
    let mut all: Vec<SessionRule> = serde_json::from_str(permissions_json).unwrap_or_default();
    for rule in rules {
        let is_there = all.iter().any(|known| {
            known.permission == rule.permission
                && known.pattern == rule.pattern
                && known.action == rule.action
        });
        if !is_there {
            all.push(SessionRule {
                permission: rule.permission.clone(),
                pattern: rule.pattern.clone(),
                action: rule.action,
                source: "session".to_owned(),
                added_at: at,
            });
        }
    }
    json(&all)
}

/// Returns the metadata of an assistant message.
pub(super) fn spoken(message: &AssistantMessage) -> String {
    #[derive(Serialize)]
    struct Spoken<'a> {
        model: Model<'a>,
        stop: StopReason,
        usage: Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_usd: Option<Money>,
        #[serde(skip_serializing_if = "Option::is_none")]
        system_prompt_digest: Option<&'a str>,
    }
    #[derive(Serialize)]
    struct Model<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_id: Option<&'a str>,
        model_id: &'a str,
        /// The name that the provider gave the model, where that is another.
        #[serde(skip_serializing_if = "Option::is_none")]
        reported_id: Option<&'a str>,
    }
    let request = message.request.as_deref();
    let model = match request.map(|request| provider(&request.model)) {
        Some((provider_id, model_id)) => Model {
            provider_id: Some(provider_id),
            model_id,
            reported_id: Some(message.model.as_str()).filter(|name| {
                *name != model_id && Some(*name) != request.map(|it| it.model.as_str())
            }),
        },
        // A log that is older than what is known of requests: only the provider's name is there.
        None => Model {
            provider_id: None,
            model_id: &message.model,
            reported_id: None,
        },
    };
    json(&Spoken {
        model,
        stop: message.stop,
        usage: message.usage,
        cost_usd: message.cost,
        system_prompt_digest: request.map(|request| request.system_prompt_digest.as_str()),
    })
}

/// Splits the name of a model into its provider and its name there; a name alone is both.
fn provider(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, name))
}

/// Returns the JSON of a model named `PROVIDER/NAME`.
pub(super) fn model(name: &str) -> String {
    #[derive(Serialize)]
    struct Model<'a> {
        provider_id: &'a str,
        model_id: &'a str,
    }
    let (provider_id, model_id) = provider(name);
    json(&Model {
        provider_id,
        model_id,
    })
}
