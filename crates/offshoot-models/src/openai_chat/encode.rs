//! A request in bytes.
//!
//! A pure function: equal requests give equal bytes. Whatever stays the same
//! from step to step comes first and whatever changes comes behind `messages`,
//! so a longer conversation only extends what was sent before and a provider's
//! cache can serve it. Thinking and unknown blocks are not sent back: this
//! dialect has no field for them that all servers take. What a strict server would
//! refuse is put so that it does not, because it would refuse every later step too.
//! An outcome is text only, so its images follow in a user message.

use std::borrow::Cow;

use offshoot_types::base64;
use offshoot_types::content::{Content, Part};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::Effort;
use offshoot_types::message::{Arguments, AssistantPart};
use offshoot_types::model::{CallOutcome, Images, Request, RequestMessage, ToolChoice};
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
        content: UserContent<'a>,
    },
    Assistant {
        /// `null` beside calls only.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

/// Text alone is a string, which all servers take.
#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
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
            RequestMessage::User(content) => {
                push_user(&mut messages, user_content(content, &request.images));
            }
            RequestMessage::Assistant(parts) => messages.extend(assistant(parts)),
            RequestMessage::Outcomes(outcomes) => {
                messages.extend(outcomes.iter().map(outcome));
                let images = outcomes.iter().flat_map(|outcome| {
                    let blobs = outcome.text.attachments();
                    let blocks = blobs.filter_map(|part| image(part, &request.images));
                    let name = format!("Images of call {}:", outcome.call);
                    let text = Block::Text { text: name.into() };
                    let mut blocks: Vec<Block<'_>> = blocks.collect();
                    if !blocks.is_empty() {
                        blocks.insert(0, text);
                    }
                    blocks
                });
                let images: Vec<Block<'_>> = images.collect();
                if !images.is_empty() {
                    push_user(&mut messages, UserContent::Blocks(images));
                }
            }
        }
    }
    messages
}

/// Adds to what the user's side said last: many chat templates want the sides to alternate.
fn push_user<'a>(messages: &mut Vec<Message<'a>>, more: UserContent<'a>) {
    match (messages.last_mut(), more) {
        (
            Some(Message::User {
                content: UserContent::Text(text),
            }),
            UserContent::Text(more),
        ) => {
            let text = text.to_mut();
            text.push_str("\n\n");
            text.push_str(&more);
        }
        (Some(Message::User { content }), more) => {
            let before = std::mem::replace(content, UserContent::Blocks(Vec::new()));
            let mut blocks = before.into_blocks();
            blocks.extend(more.into_blocks());
            *content = UserContent::Blocks(blocks);
        }
        (Some(_) | None, content) => messages.push(Message::User { content }),
    }
}

impl<'a> UserContent<'a> {
    fn into_blocks(self) -> Vec<Block<'a>> {
        match self {
            Self::Text(text) => vec![Block::Text { text }],
            Self::Blocks(blocks) => blocks,
        }
    }
}

/// Returns content as blocks if it has images that are sent, and as a text otherwise.
fn user_content<'a>(content: &'a Content, images: &Images) -> UserContent<'a> {
    if !content.blobs().any(|blob| images.get(blob).is_some()) {
        return UserContent::Text(content.described());
    }
    let mut blocks = Vec::new();
    for part in content.parts().into_owned() {
        blocks.push(image(&part, images).unwrap_or_else(|| Block::Text {
            text: part.note().into(),
        }));
    }
    UserContent::Blocks(blocks)
}

/// Returns an image as a data URL; `None` if the part is none, or is not sent.
fn image<'a>(part: &Part, images: &Images) -> Option<Block<'a>> {
    let Part::Image(image) = part else {
        return None;
    };
    let bytes = images.get(image)?;
    let mut url = format!("data:{};base64,", image.media_type);
    base64::push(&mut url, bytes);
    let image_url = ImageUrl { url };
    Some(Block::ImageUrl { image_url })
}

/// Returns what the model said; `None` when nothing of it can be said in this dialect.
fn assistant(parts: &[AssistantPart]) -> Option<Message<'_>> {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut tool_calls = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text(text) => texts.push(Cow::Borrowed(text)),
            AssistantPart::Call(call) => tool_calls.push(Call {
                id: call.id.as_str(),
                kind: "function",
                function: Called {
                    name: name(&call.tool),
                    arguments: arguments(&call.arguments),
                },
            }),
            AssistantPart::Attached(part) => texts.push(Cow::Owned(part.note())),
            AssistantPart::Reasoning(_) | AssistantPart::Raw(_) => {}
        }
    }
    let content = match texts.as_slice() {
        [] if tool_calls.is_empty() => return None,
        [] => None,
        [text] => Some(text.clone()),
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
        content: outcome.text.described(),
    }
}
