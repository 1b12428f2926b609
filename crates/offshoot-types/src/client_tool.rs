//! Tools that clients of a session carry out (ruling 2).
//!
//! The log keeps what models are told of them, and no code: a call of one waits until a
//! client answers with what it came to. So any process can offer them and any client
//! that is attached to the session can answer, also after the client that brought them
//! is gone.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::json::RawJson;
use crate::outcome::{ErrorKind, Outcome};
use crate::tool::{Effect, ToolSpec};

/// Most client tools of a session.
pub const MOST_CLIENT_TOOLS: usize = 128;

/// Most bytes of a name.
pub const MAX_NAME_BYTES: usize = 64;

/// Most bytes of a description.
pub const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;

/// Most bytes of a schema.
pub const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// Most bytes of all names, descriptions and schemas of a session.
pub const MAX_SET_BYTES: usize = 512 * 1024;

/// Most bytes of what a call came to.
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// A tool that clients of a session carry out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTool {
    /// What models call it by.
    pub name: String,
    /// What it does, for models.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: RawJson,
    /// Whether it only reads: adjacent calls then wait side by side.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Whether calls need no permission.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_permission: bool,
}

impl ClientTool {
    /// Returns what models are told of it.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            id: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            effect: if self.read_only {
                Effect::Read
            } else {
                Effect::Write
            },
        }
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.parameters.as_str().len()
    }
}

/// Says what is wrong with a set of client tools: their number, sizes and names. Whether a schema is
/// one is judged by the code that compiles schemas.
pub fn check(tools: &[ClientTool]) -> Result<(), String> {
    if tools.len() > MOST_CLIENT_TOOLS {
        let many = tools.len();
        return Err(format!(
            "{many} client tools are too many; a session has at most {MOST_CLIENT_TOOLS}"
        ));
    }
    for (index, tool) in tools.iter().enumerate() {
        check_one(tool)?;
        if tools[..index].iter().any(|other| other.name == tool.name) {
            return Err(format!("two client tools have the name {}", tool.name));
        }
    }
    let bytes: usize = tools.iter().map(ClientTool::bytes).sum();
    if bytes > MAX_SET_BYTES {
        return Err(format!(
            "the client tools have {bytes} bytes; together they may have {MAX_SET_BYTES}"
        ));
    }
    Ok(())
}

fn check_one(tool: &ClientTool) -> Result<(), String> {
    let name = &tool.name;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_allowed) {
        let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
        return Err(format!(
            "{shown:?} is no name of a client tool: use 1 to {MAX_NAME_BYTES} letters, digits, _ and -"
        ));
    }
    let sizes = [
        ("description", tool.description.len(), MAX_DESCRIPTION_BYTES),
        ("schema", tool.parameters.as_str().len(), MAX_SCHEMA_BYTES),
    ];
    for (what, bytes, most) in sizes {
        if bytes > most {
            return Err(format!(
                "the {what} of client tool {name} has {bytes} bytes; it may have {most}"
            ));
        }
    }
    Ok(())
}

/// What a call of a client tool came to, as the client says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResult {
    /// It worked, and this is its text.
    Text(String),
    /// It worked, and this is its data.
    Data(RawJson),
    /// It worked, and this is its text with images, files and links. Blobs it names are stored before it
    /// is sent.
    Content(Content),
    /// It failed, and this tells the model why.
    Error(String),
}

impl ToolResult {
    /// Returns how large it is.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Error(text) => text.len(),
            Self::Data(data) => data.as_str().len(),
            Self::Content(content) => content.weight(),
        }
    }

    /// Returns its parts, if it may have others than text.
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::Content(content) => Some(content),
            Self::Text(_) | Self::Data(_) | Self::Error(_) => None,
        }
    }
}

impl From<ToolResult> for Outcome {
    fn from(result: ToolResult) -> Self {
        match result {
            ToolResult::Text(text) => Self::output(RawJson::of(&text)),
            ToolResult::Data(data) => Self::output(data),
            ToolResult::Content(content) => Self {
                attachments: content.attachments().cloned().collect(),
                ..Self::output(RawJson::of(&content.as_str()))
            },
            ToolResult::Error(text) => Self::error(ErrorKind::Failed, text),
        }
    }
}
