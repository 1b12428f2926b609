//! What servers send, as leniently as it can be read.
//!
//! Every field may be missing or null, and fields that are not named here are
//! passed over. Where servers differ in type (text or a list of texts, arguments
//! as text or as an object, counts as any number) all of them are read.

use offshoot_types::message::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A piece of a streamed answer, or a whole one.
#[derive(Deserialize)]
pub(super) struct Answer {
    pub(super) model: Option<String>,
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<Value>,
    pub(super) error: Option<Value>,
    /// `error` where the failure is not in an envelope.
    pub(super) object: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    pub(super) index: Option<u32>,
    pub(super) delta: Option<Said>,
    /// In place of `delta` in a whole answer.
    pub(super) message: Option<Said>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Said {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    refusal: Option<Value>,
    pub(super) tool_calls: Option<Vec<CallPiece>>,
}

/// A call or a piece of one.
#[derive(Deserialize)]
pub(super) struct CallPiece {
    pub(super) index: Option<u32>,
    pub(super) id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

impl Said {
    pub(super) fn text(&mut self) -> Option<String> {
        text(self.content.take())
    }

    /// Returns the thinking; servers that send it under both names send it twice.
    pub(super) fn reasoning(&mut self) -> Option<String> {
        text(self.reasoning_content.take()).or_else(|| text(self.reasoning.take()))
    }

    pub(super) fn refusal(&mut self) -> Option<String> {
        text(self.refusal.take())
    }
}

impl CallPiece {
    /// Returns the tool's name, where this piece tells it.
    pub(super) fn name(&self) -> Option<&str> {
        let name = self.function.as_ref()?.name.as_deref()?;
        (!name.is_empty()).then_some(name)
    }

    /// Returns a piece of the arguments' text.
    pub(super) fn arguments(&self) -> Option<String> {
        let raw = self.function.as_ref()?.arguments.as_ref()?.get();
        // Text is a piece of JSON; anything else is the JSON itself.
        Some(serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()))
    }
}

/// Returns a text that is there and not empty; of a list, the texts in it.
fn text(value: Option<Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text,
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Reads what was spent. No kind of tokens is counted twice (SES-03).
pub(super) fn usage(value: &Value) -> Usage {
    let count = |path: &str| value.pointer(path).map_or(0, number);
    let prompt = count("/prompt_tokens");
    let completion = count("/completion_tokens");
    let cache_read = count("/prompt_tokens_details/cached_tokens").min(prompt);
    let reasoning = count("/completion_tokens_details/reasoning_tokens");
    // Most count thinking within the completion; for some it comes on top, as their sum shows.
    let comes_on_top = count("/total_tokens") >= prompt + completion + reasoning;
    let output = if comes_on_top {
        completion
    } else {
        completion.saturating_sub(reasoning)
    };
    Usage {
        input: prompt - cache_read,
        output,
        reasoning,
        cache_read,
        cache_write: 0,
    }
}

/// Reads a count. Some write 12.0; an absurd one is cut, so that sums do not overflow.
fn number(value: &Value) -> u64 {
    let float = || value.as_f64().map(|float| float as u64);
    let count = value.as_u64().or_else(float).unwrap_or(0);
    count.min(u64::from(u32::MAX))
}
