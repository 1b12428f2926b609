//! A request in bytes.
//!
//! A pure function: equal requests give equal bytes. Whatever stays the same
//! from step to step comes first and whatever changes comes behind `messages`,
//! so a longer conversation only extends what was sent before and a provider's
//! cache can serve it. Thinking and unknown blocks are not sent back: this
//! dialect has no field for them that all servers take. What a strict server would
//! refuse is put so that it does not, because it would refuse every later step too.

use std::borrow::Cow;

use offshoot_types::json::RawJson;
use offshoot_types::manifest::Effort;
use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::model::{CallOutcome, Request, RequestMessage, ToolChoice};
use offshoot_types::tool::ToolSpec;
use serde::Serialize;

use super::CapField;

/// Renders a request for the model that the server knows as `model`.
pub(super) fn body(
    request: &Request,
    model: &str,
    cap_field: CapField,
) -> Result<Vec<u8>, serde_json::Error> {
    let cap = |field| request.max_output_tokens.filter(|_| cap_field == field);
    let tools: Vec<Tool<'_>> = request.tools.iter().map(tool).collect();
    let tool_choice = match request.choice {
        // Servers refuse a choice where there is nothing to choose from.
        ToolChoice::None if !tools.is_empty() => Some("none"),
        ToolChoice::None | ToolChoice::Auto => None,
    };
    let body = Body {
        model,
        stream: true,
        stream_options: StreamOptions {
            include_usage: true,
        },
        temperature: request.temperature,
        reasoning_effort: request.effort,
        max_tokens: cap(CapField::MaxTokens),
        max_completion_tokens: cap(CapField::MaxCompletionTokens),
        tools,
        messages: messages(request),
        tool_choice,
    };
    serde_json::to_vec(&body)
}

/// Keys are written in this order.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { function: Function<'a> },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawJson,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        /// `null` beside calls only.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    /// JSON within a text.
    arguments: Cow<'a, str>,
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool::Function {
        function: Function {
            name: &spec.id,
            description: &spec.description,
            parameters: &spec.parameters,
        },
    }
}

fn messages(request: &Request) -> Vec<Message<'_>> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let content = &request.system;
        messages.push(Message::System { content });
    }
    for message in &request.messages {
        match message {
            RequestMessage::User(text) => match messages.last_mut() {
                // Many chat templates want the sides to alternate.
                Some(Message::User { content }) => {
                    let content = content.to_mut();
                    content.push_str("\n\n");
                    content.push_str(text);
                }
                Some(_) | None => messages.push(Message::User {
                    content: Cow::Borrowed(text),
                }),
            },
            RequestMessage::Assistant(parts) => messages.extend(assistant(parts)),
            RequestMessage::Outcomes(outcomes) => messages.extend(outcomes.iter().map(outcome)),
        }
    }
    messages
}

/// Returns what the model said; `None` when nothing of it can be said in this dialect.
fn assistant(parts: &[AssistantPart]) -> Option<Message<'_>> {
    let mut texts: Vec<&str> = Vec::new();
    let mut tool_calls = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text(text) => texts.push(text),
            AssistantPart::Call(call) => tool_calls.push(Call {
                id: call.id.as_str(),
                kind: "function",
                function: Called {
                    name: name(&call.tool),
                    arguments: arguments(&call.arguments),
                },
            }),
            AssistantPart::Reasoning(_) | AssistantPart::Raw(_) => {}
        }
    }
    let content = match texts.as_slice() {
        [] if tool_calls.is_empty() => return None,
        [] => None,
        [text] => Some(Cow::Borrowed(*text)),
        texts => Some(Cow::Owned(texts.join("\n"))),
    };
    Some(Message::Assistant {
        content,
        tool_calls,
    })
}

/// Returns a tool's name, or what stands for one that no tool could have: servers that check names
/// would refuse the whole conversation. Which it was stands in the call's outcome.
fn name(tool: &str) -> &str {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if tool.bytes().all(fits) && (1..=64).contains(&tool.len()) {
        tool
    } else {
        "invalid_tool"
    }
}

/// Returns arguments as an object, whatever the model sent.
///
/// Many servers read them when they lay out the prompt, and refuse the whole conversation for
/// one call that is no object. What was wrong stands in the call's outcome.
fn arguments(arguments: &Arguments) -> Cow<'_, str> {
    let text = match arguments {
        Arguments::Json(json) if json.as_str().trim_start().starts_with('{') => {
            return Cow::Borrowed(json.as_str());
        }
        Arguments::Json(json) => json.as_str(),
        Arguments::Malformed(text) => text,
    };
    Cow::Owned(serde_json::json!({ "not_an_object": text }).to_string())
}

fn outcome(outcome: &CallOutcome) -> Message<'_> {
    Message::Tool {
        tool_call_id: outcome.call.as_str(),
        content: &outcome.text,
    }
}
