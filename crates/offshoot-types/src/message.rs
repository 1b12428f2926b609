//! Messages and their parts.
//!
//! A user message is content with its origin. An assistant message is what one
//! step of a model gave, in the order the model gave it. Blocks we do not know
//! are kept raw and sent back unchanged. Outcomes of calls are not messages:
//! they live beside their call in the transcript.

use serde::{Deserialize, Serialize};

use crate::caps::Money;
use crate::content::{Content, Part};
use crate::id::{CallId, MessageId};
use crate::json::RawJson;

/// Longest prompt that is accepted, in bytes, from a person or from `task`.
pub const MAX_PROMPT_BYTES: usize = 1024 * 1024;

/// Longest `metadata` that is accepted, in bytes.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;

/// Longest `output_schema` of a message that is accepted, in bytes.
pub const MAX_OUTPUT_SCHEMA_BYTES: usize = 64 * 1024;

/// What somebody asked of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Its id, also the id of the stored message.
    pub id: MessageId,
    /// The words, and what goes with them.
    pub text: Content,
    /// Who wrote it.
    pub from: Author,
    /// Which agent is to take it up, and go on from there; without it the one that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model is to answer from here on, by `PROVIDER/NAME`; without it the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the host attached; never read by the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// The JSON Schema that the answer has to fit; without it the manifest's, if that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Whether another agent does the work; without it the model decides that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Delegation>,
    /// Whether a busy root takes it up at its next step, and not in a turn of its own (R17).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub immediate: bool,
}

/// Whether other agents do the work of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delegation {
    /// The turn opens with one `task` call of the runtime's own, or ends without asking the model.
    Require {
        /// The name of the agent that the call starts.
        agent: String,
        /// Whether the call returns at once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    },
    /// The model is told which agent to prefer, and may do otherwise.
    Prefer {
        /// The name of the agent; there may be none of that name.
        agent: String,
        /// Whether the agent is to work in the background; without it the model chooses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<bool>,
    },
    /// No agent of the tree starts another or continues a settled one before the run ends or the next
    /// prompt is taken up.
    Disable,
}

impl UserMessage {
    /// Tells whether it may be taken into a turn that runs: it asks for no other agent and says nothing
    /// about delegation, which both are decided when a turn begins.
    pub fn fits_running_turn(&self) -> bool {
        self.agent.is_none() && self.delegation.is_none()
    }

    /// Returns what a session that begins with it is called: its first line, cut to what a list
    /// can show.
    pub fn title(&self) -> String {
        match self.text.attachments().next() {
            Some(part) if self.text.as_str().trim().is_empty() => title(&part.note()),
            Some(_) | None => title(&self.text),
        }
    }
}

/// Most characters of a session's name.
pub const MAX_TITLE_CHARS: usize = 80;

/// Returns the name that a text gives: its first line, as far as a list has room for it.
pub fn title(text: &str) -> String {
    let first = text.trim_start().lines().next().unwrap_or_default();
    first.trim_end().chars().take(MAX_TITLE_CHARS).collect()
}

/// Who wrote a user message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A person, or a program in a person's place.
    #[default]
    Human,
    /// An agent above, through `task` or `message`.
    Parent,
    /// The runtime itself.
    Host,
}

impl Author {
    /// Tells whether the runtime itself speaks.
    pub fn is_host(&self) -> bool {
        *self == Self::Host
    }

    /// Tells whether it is a person.
    pub fn is_human(&self) -> bool {
        *self == Self::Human
    }
}

/// What a model gave in one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Its id, also the id of the stored message and of its deltas.
    pub id: MessageId,
    /// Text, reasoning, calls and raw blocks in the model's order.
    pub parts: Vec<AssistantPart>,
    /// Which model it came from, as the provider named it.
    pub model: String,
    /// Tokens of this step.
    #[serde(default)]
    pub usage: Usage,
    /// Whether that is a guess, because the provider did not say: it broke off, or never does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What they cost, where the price was known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// How long it took, where somebody looked at a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// What the request was made of that the log does not say; none in logs that are older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<SentRequest>>,
    /// Whether the runtime wrote it and no model: the `task` call that opens a turn whose prompt
    /// requires it (`Delegation::Require`). It is no step; `model` is the one that the agent has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_runtime: bool,
}

/// The parts of a sent request that cannot be folded from the log, so that a request that is rebuilt
/// later can be compared with the one that was sent.
///
/// The digests detect changes; they are not cryptographic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequest {
    /// `PROVIDER/NAME` of the model that was asked.
    pub model: String,
    /// Digest of the system prompt (PER-05), in hexadecimal.
    pub system_prompt_digest: String,
    /// Digest of everything but the messages and the cap of the output: system prompt, tools,
    /// temperature and effort.
    pub digest: String,
    /// Whether it was the last step, in which tools are shown but cannot be called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hands_back: bool,
    /// Cap of the output that was sent, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

/// How long a step of a model took, from the moment it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Until the first piece came; none did if it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// Until it was over.
    pub total_ms: u64,
}

impl AssistantMessage {
    /// Returns the calls in the model's order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            AssistantPart::Text(_)
            | AssistantPart::Reasoning(_)
            | AssistantPart::Attached(_)
            | AssistantPart::Raw(_) => None,
        })
    }

    /// Has a call run with other arguments than the model's.
    pub fn rewrite_call(&mut self, id: &CallId, arguments: &RawJson) {
        for part in &mut self.parts {
            if let AssistantPart::Call(call) = part
                && call.id == *id
            {
                call.arguments = Arguments::Json(arguments.clone());
            }
        }
    }

    /// Returns its text blocks joined by newlines and trimmed; `None` when nothing is left.
    pub fn text(&self) -> Option<String> {
        let blocks: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                AssistantPart::Text(text) => Some(text.as_str()),
                AssistantPart::Call(_)
                | AssistantPart::Reasoning(_)
                | AssistantPart::Attached(_)
                | AssistantPart::Raw(_) => None,
            })
            .collect();
        let joined = blocks.join("\n");
        let trimmed = joined.trim();
        (!trimmed.is_empty()).then(|| trimmed.to_owned())
    }

    /// Tells whether it holds anything at all.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

/// One block of an assistant message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssistantPart {
    /// Words for the reader.
    Text(String),
    /// The model's thinking.
    Reasoning(Reasoning),
    /// A call of a tool.
    Call(Call),
    /// An image, a file or a link that the model gave.
    Attached(Part),
    /// A block this version does not know, kept as it came.
    Raw(RawJson),
}

/// Thinking of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// What may be shown; empty when the provider hides it.
    pub text: String,
    /// The provider's block (signatures, encrypted content), sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawJson>,
}

/// A call of a tool, as the model made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Unique within the agent; the engine renames repeated or empty ids of providers.
    pub id: CallId,
    /// The tool's id.
    pub tool: String,
    /// What it was called with.
    pub arguments: Arguments,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// A JSON value.
    Json(RawJson),
    /// Text that is not JSON, kept so that the model can be told what it sent.
    Malformed(String),
}

/// Tokens, by what they were spent on. `input` excludes what the cache served or took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read fresh.
    pub input: u64,
    /// Written, thinking included where the provider does not tell it apart.
    pub output: u64,
    /// Spent on thinking.
    pub reasoning: u64,
    /// Served from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
}

impl Usage {
    /// Returns the sum of all kinds. It stops at the largest number, like every sum here: providers
    /// may report anything, and nothing ends because of what they report.
    pub fn total(&self) -> u64 {
        let Self {
            input,
            output,
            reasoning,
            cache_read,
            cache_write,
        } = *self;
        let kinds = [output, reasoning, cache_read, cache_write];
        kinds.into_iter().fold(input, u64::saturating_add)
    }

    /// Returns the same with no kind above `most`.
    #[must_use]
    pub fn at_most(self, most: u64) -> Self {
        Self {
            input: self.input.min(most),
            output: self.output.min(most),
            reasoning: self.reasoning.min(most),
            cache_read: self.cache_read.min(most),
            cache_write: self.cache_write.min(most),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said all.
    End,
    /// It wants its calls answered.
    Calls,
    /// It reached the limit of its output.
    Length,
    /// It refused.
    Refusal,
    /// The stream was aborted or cut: the message is partial.
    Cut,
}
