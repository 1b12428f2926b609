//! An answer, from events to chunks.
//!
//! Pure: data comes in, chunks come out, nothing waits. Text and thinking are
//! given as they come, calls at the end, because their pieces may be mixed; until
//! then it is only said that more of them came. An answer is complete when a
//! reason for its end or `[DONE]` has come; usage may come after that, and some
//! servers send only one of the two. What is gathered is bounded.

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

/// Most bytes of text, thinking and arguments that one answer may have.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// What has been read of an answer.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    named: bool,
    /// Bytes of text, thinking and arguments so far.
    bytes: usize,
    /// The first event that was no JSON; some servers send such things to keep a connection open.
    odd: Option<String>,
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
            data if !data.starts_with('{') => {
                self.odd.get_or_insert_with(|| data.to_owned());
                Ok(Flow::More)
            }
            data => {
                self.answer(data, out)?;
                Ok(Flow::More)
            }
        }
    }

    fn whole(&mut self, body: &str, out: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        // No answer is a list, but some put one around their errors.
        if body.trim_start().starts_with('[') {
            return Err(Broken::Told(told(body)));
        }
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
            return Err(match self.odd.take() {
                Some(words) if !said_something => Broken::Told(told(&words)),
                Some(_) | None => Broken::Early,
            });
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
        if answer.is_failure() {
            return Err(Broken::Told(told(data)));
        }
        if let Some(model) = answer.model()
            && !self.named
        {
            self.named = true;
            let model = model.to_owned();
            out.push_back(Chunk::Started { model });
        }
        // Where usage comes with every piece, the last one has the sum.
        if let Some(usage) = answer.usage.filter(Value::is_object) {
            self.usage = wire::usage(&usage);
        }
        answer
            .choices
            .map_or(Ok(()), |choice| self.choice(choice, out))
    }

    fn choice(&mut self, choice: Choice, out: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        let finish = choice.finish_reason().map(str::to_owned);
        if let Some(said) = choice.said() {
            self.said(said, out)?;
        }
        match finish.as_deref() {
            None => {}
            Some("error") => {
                let told = Told::new("it ended the answer with an error");
                return Err(Broken::Told(told));
            }
            Some(_) => self.finish = finish,
        }
        Ok(())
    }

    fn said(&mut self, mut said: Said, out: &mut VecDeque<Chunk>) -> Result<(), Broken> {
        if let Some(thinking) = said.reasoning() {
            self.count(thinking.len())?;
            self.spoke = true;
            out.push_back(Chunk::Reasoning(thinking));
        }
        if let Some(text) = said.text() {
            self.count(text.len())?;
            self.spoke = true;
            out.push_back(Chunk::Text(text));
        }
        if let Some(refusal) = said.refusal() {
            self.count(refusal.len())?;
            self.spoke = true;
            self.refused = true;
            out.push_back(Chunk::Text(refusal));
        }
        let mut gathered = None;
        for piece in said.calls() {
            let taken = self.calls.take(&piece);
            let bytes = taken.map_err(|error| Broken::Unreadable(error.to_string()))?;
            self.count(bytes)?;
            *gathered.get_or_insert(0) += bytes;
        }
        if let Some(bytes) = gathered {
            // One for all that came together: it only says that something did.
            if let Some(Chunk::Gathering { bytes: before }) = out.back_mut() {
                *before += bytes;
            } else {
                out.push_back(Chunk::Gathering { bytes });
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), Broken> {
        self.bytes += bytes;
        if self.bytes > MOST_BYTES {
            let what = format!("it has more than {MOST_BYTES} bytes");
            return Err(Broken::Unreadable(what));
        }
        Ok(())
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
