//! An answer, from events to chunks.
//!
//! Pure: data comes in, chunks come out, nothing waits. Text and thinking are
//! given as they come, calls at the end, because their pieces may be mixed. An
//! answer is complete when a reason for its end or `[DONE]` has come; usage may
//! come after that, and some servers send only one of the two.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use offshoot_types::message::{StopReason, Usage};
use offshoot_types::model::Chunk;
use serde_json::Value;

use crate::exchange::{Broken, Decode, Flow};
use crate::failure::Told;
use crate::sse::Event;

use super::calls::{Calls, Cutoff};
use super::wire::{self, Answer, Choice, Said};

/// What has been read of an answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    named: bool,
    /// Text or thinking was given.
    spoke: bool,
    refused: bool,
    calls: Calls,
    finish: Option<String>,
    /// `[DONE]` came, or all came in one piece.
    done: bool,
    usage: Usage,
}

impl Decode for Decoder {
    fn event(&mut self, event: &Event, out: &mut VecDeque<Chunk>) -> Result<Flow, Broken> {
        match event.data.trim() {
            "" => Ok(Flow::More),
            "[DONE]" => {
                self.done = true;
                Ok(Flow::Over)
            }
            data if event.kind == "error" => Err(Broken::Told(told(data))),
            data => {
                self.answer(data, out)?;
                Ok(Flow::More)
            }
        }
    }

    fn whole(&mut self, body: &str, out: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        self.answer(body, out)?;
        self.done = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some() || self.done
    }

    fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        let said_something = self.spoke || !self.calls.is_empty();
        if self.finish.is_none() && !(self.done && said_something) {
            return Err(Broken::Early);
        }
        let stop = self.stop();
        let cutoff = match stop {
            StopReason::Length => Cutoff::AtLimit,
            StopReason::End | StopReason::Calls | StopReason::Refusal | StopReason::Cut => {
                Cutoff::None
            }
        };
        out.extend(self.calls.finish(cutoff));
        let usage = self.usage;
        out.push_back(Chunk::End { stop, usage });
        Ok(())
    }
}

impl Decoder {
    fn answer(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        let answer: Answer =
            serde_json::from_str(data).map_err(|error| Broken::Unreadable(error.to_string()))?;
        if answer.error.is_some() || answer.object.as_deref() == Some("error") {
            return Err(Broken::Told(told(data)));
        }
        if let Some(model) = answer.model.filter(|model| !model.is_empty())
            && !self.named
        {
            self.named = true;
            out.push_back(Chunk::Started { model });
        }
        // Where usage comes with every piece, the last one has the sum.
        if let Some(usage) = answer.usage.filter(Value::is_object) {
            self.usage = wire::usage(&usage);
        }
        // Only one answer was asked for.
        let choices = answer.choices.unwrap_or_default();
        let first = choices
            .into_iter()
            .find(|choice| choice.index.unwrap_or(0) == 0);
        match first {
            Some(choice) => self.choice(choice, out),
            None => Ok(()),
        }
    }

    fn choice(&mut self, choice: Choice, out: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        if let Some(said) = choice.delta.or(choice.message) {
            self.said(said, out);
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("error") => {
                let told = Told::new("it ended the answer with an error");
                return Err(Broken::Told(told));
            }
            Some(_) => self.finish = choice.finish_reason,
        }
        Ok(())
    }

    fn said(&mut self, mut said: Said, out: &mut VecDeque<Chunk>) {
        if let Some(thinking) = said.reasoning() {
            self.spoke = true;
            out.push_back(Chunk::Reasoning(thinking));
        }
        if let Some(text) = said.text() {
            self.spoke = true;
            out.push_back(Chunk::Text(text));
        }
        if let Some(refusal) = said.refusal() {
            self.spoke = true;
            self.refused = true;
            out.push_back(Chunk::Text(refusal));
        }
        for piece in said.tool_calls.unwrap_or_default() {
            self.calls.take(&piece);
        }
    }

    /// Says why the model stopped. Calls are believed before a reason that knows nothing of them.
    fn stop(&self) -> StopReason {
        match self.finish.as_deref().unwrap_or_default() {
            "length" | "max_tokens" => StopReason::Length,
            "content_filter" => StopReason::Refusal,
            _ if self.refused => StopReason::Refusal,
            _ if !self.calls.is_empty() => StopReason::Calls,
            _ => StopReason::End,
        }
    }
}

/// Reads a failure; one that is not JSON is taken as its own words.
fn told(data: &str) -> Told {
    match serde_json::from_str(data) {
        Ok(value) => Told::read(&value),
        Err(_) => Told::new(data),
    }
}
