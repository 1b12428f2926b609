//! What servers send, as leniently as it can be read.
//!
//! Every field may be missing, null or odd, and fields that are not named here
//! are passed over. Where servers differ in type (text or a list of texts,
//! arguments as text or as an object, counts as any number) all of them are read.
//! Only the one choice that was asked for is kept, however many come.

mod lenient;

use std::fmt;

use offshoot_types::message::Usage;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use self::lenient::{List, Object, Text, Word};

/// A piece of a streamed answer, or a whole one.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    model: Word,
    #[serde(default, deserialize_with = "first")]
    pub(super) choices: Option<Choice>,
    pub(super) usage: Option<Value>,
    error: Option<Value>,
    #[serde(default)]
    object: Word,
}

#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    index: Word,
    #[serde(default)]
    delta: Object<Said>,
    /// In place of `delta` in a whole answer.
    #[serde(default)]
    message: Object<Said>,
    #[serde(default)]
    finish_reason: Word,
}

#[derive(Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    content: Text,
    #[serde(default)]
    reasoning_content: Text,
    #[serde(default)]
    reasoning: Text,
    #[serde(default)]
    refusal: Text,
    #[serde(default)]
    tool_calls: List<CallPiece>,
    /// What calls were before there could be several.
    #[serde(default)]
    function_call: Object<FunctionPiece>,
}

/// A call or a piece of one.
#[derive(Default, Deserialize)]
pub(super) struct CallPiece {
    #[serde(default)]
    index: Word,
    #[serde(default)]
    id: Word,
    #[serde(default)]
    function: Object<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    #[serde(default)]
    name: Word,
    arguments: Option<Box<RawValue>>,
}

impl Answer {
    /// Returns how the provider names its model.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.filled()
    }

    /// Tells whether it says that the provider failed. Some say of every piece that it did not.
    pub(super) fn is_failure(&self) -> bool {
        let error = match &self.error {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(words)) => !words.is_empty(),
            Some(Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => true,
        };
        // Without an envelope the whole of it is the failure.
        error || self.object.filled() == Some("error")
    }
}

impl Choice {
    /// Returns why it ended, once that is said.
    pub(super) fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.filled()
    }

    /// Returns what is said.
    pub(super) fn said(self) -> Option<Said> {
        self.delta.0.or(self.message.0)
    }
}

impl Said {
    pub(super) fn text(&mut self) -> Option<String> {
        std::mem::take(&mut self.content).filled()
    }

    /// Returns the thinking; servers that send it under both names send it twice.
    pub(super) fn reasoning(&mut self) -> Option<String> {
        let one = std::mem::take(&mut self.reasoning_content).filled();
        one.or_else(|| std::mem::take(&mut self.reasoning).filled())
    }

    pub(super) fn refusal(&mut self) -> Option<String> {
        std::mem::take(&mut self.refusal).filled()
    }

    /// Returns the pieces of calls; servers that send a call in the old form as well send it twice.
    pub(super) fn calls(&mut self) -> Vec<CallPiece> {
        let old = self.function_call.0.take().map(|function| CallPiece {
            function: Object(Some(function)),
            ..CallPiece::default()
        });
        let calls = std::mem::take(&mut self.tool_calls.0);
        if calls.is_empty() {
            old.into_iter().collect()
        } else {
            calls
        }
    }
}

impl CallPiece {
    /// Returns the number of the call, where this piece tells it.
    pub(super) fn index(&self) -> Option<u32> {
        self.index.number()
    }

    /// Returns the id of the call; empty where this piece does not tell it.
    pub(super) fn id(&self) -> &str {
        self.id.filled().unwrap_or_default()
    }

    /// Returns the tool's name, where this piece tells it.
    pub(super) fn name(&self) -> Option<&str> {
        self.function.0.as_ref()?.name.filled()
    }

    /// Returns a piece of the arguments' text.
    pub(super) fn arguments(&self) -> Option<String> {
        let raw = self.function.0.as_ref()?.arguments.as_ref()?.get();
        // Text is a piece of JSON; anything else is the JSON itself.
        Some(serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()))
    }
}

/// Reads the first choice of number 0 and passes over all others: only one answer was asked for.
fn first<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Choice>, D::Error> {
    struct First;

    impl<'de> Visitor<'de> for First {
        type Value = Option<Choice>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of choices")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<Self::Value, A::Error> {
            let mut first = None;
            while let Some(Object(choice)) = choices.next_element::<Object<Choice>>()? {
                let is_ours = |choice: &Choice| choice.index.number().unwrap_or(0) == 0;
                if let Some(choice) = choice.filter(is_ours) {
                    first.get_or_insert(choice);
                }
            }
            Ok(first)
        }
    }

    deserializer.deserialize_any(First)
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
