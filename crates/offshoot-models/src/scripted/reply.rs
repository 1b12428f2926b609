//! A reply: first a plan, then its playing.
//!
//! The plan is plain data made at once from the rule and the request; playing
//! only waits and hands out. So a stream owns all it needs, and cancelling can
//! come between any two acts and during any wait.

use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::stream;
use offshoot_types::cancel::Cancel;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantPart, StopReason, Usage};
use offshoot_types::model::{
    Chunk, GivenFile, ModelError, ModelErrorKind, Request, RequestMessage,
};

use super::file::{AttachRule, CallRule, Fault, Rule, Stop};
use super::situation::Situation;
use super::template::Values;

/// One act of a reply.
#[derive(Debug)]
pub(super) enum Act {
    Wait(Duration),
    Give(Chunk),
    Fail(ModelError),
    /// Nothing more until the request is cancelled.
    Hang,
}

/// Works out what a rule answers to a request.
pub(super) fn plan(
    rule: &Rule,
    situation: &Situation<'_>,
    request: &Request,
    source_name: &str,
) -> Vec<Act> {
    let mut acts = Vec::new();
    if rule.delay_ms > 0 {
        acts.push(Act::Wait(Duration::from_millis(rule.delay_ms)));
    }
    let fail = |kind, what: &str| {
        Act::Fail(ModelError::new(
            kind,
            format!("ask script {source_name}: {what}"),
        ))
    };
    match rule.fault {
        Some(Fault::RateLimited { retry_after_ms }) => {
            let retry_after = retry_after_ms.map(Duration::from_millis);
            let kind = ModelErrorKind::RateLimited { retry_after };
            acts.push(fail(kind, "429 too many requests"));
            return acts;
        }
        Some(Fault::ServerError) => {
            acts.push(fail(ModelErrorKind::Unavailable, "500 server error"));
            return acts;
        }
        Some(Fault::TooLong) => {
            let what = "400 the conversation is longer than the context";
            acts.push(fail(ModelErrorKind::TooLong, what));
            return acts;
        }
        Some(Fault::Cut | Fault::Malformed | Fault::Hang) | None => {}
    }

    let chunks = content(rule, situation);
    let end = Chunk::End {
        stop: stop(rule, &chunks),
        usage: match rule.usage {
            Some(usage) => usage.into(),
            None => estimate(request, &chunks),
        },
    };
    acts.push(Act::Give(Chunk::Started {
        model: request.model.clone(),
    }));
    let calls = chunks.iter().any(is_call);
    for (index, chunk) in chunks.into_iter().enumerate() {
        if index > 0 && rule.chunk_delay_ms > 0 {
            acts.push(Act::Wait(Duration::from_millis(rule.chunk_delay_ms)));
        }
        acts.push(Act::Give(chunk));
    }
    acts.push(match rule.fault {
        Some(Fault::Cut) => fail(ModelErrorKind::Unavailable, "the stream was cut"),
        Some(Fault::Malformed) if !calls => {
            fail(ModelErrorKind::Invalid, "the reply cannot be read")
        }
        Some(Fault::Hang) => Act::Hang,
        // Those that fail at once have returned above.
        Some(
            Fault::Malformed | Fault::RateLimited { .. } | Fault::ServerError | Fault::TooLong,
        )
        | None => Act::Give(end),
    });
    acts
}

/// Plays a plan. Ends at once when `cancel` fires.
pub(super) fn play(
    acts: Vec<Act>,
    cancel: Cancel,
) -> BoxStream<'static, Result<Chunk, ModelError>> {
    stream::unfold((acts.into_iter(), cancel), |(mut acts, cancel)| async {
        loop {
            if cancel.is_cancelled() {
                return None;
            }
            match acts.next()? {
                Act::Wait(duration) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => return None,
                    () = tokio::time::sleep(duration) => {}
                },
                Act::Give(chunk) => return Some((Ok(chunk), (acts, cancel))),
                Act::Fail(error) => return Some((Err(error), (acts, cancel))),
                Act::Hang => cancel.cancelled().await,
            }
        }
    })
    .boxed()
}

/// Returns thinking, text, files and calls, filled in.
fn content(rule: &Rule, situation: &Situation<'_>) -> Vec<Chunk> {
    let values = Values::of(situation);
    let think = rule.think.iter();
    let say = rule.say.iter();
    let mut chunks: Vec<Chunk> = think
        .map(|text| Chunk::Reasoning(values.fill(text)))
        .chain(say.map(|text| Chunk::Text(values.fill(text))))
        .collect();
    chunks.extend(rule.attach.iter().map(|file| given(file, &values)));
    // A provider enforces that a step without a choice has no calls; so do we.
    if situation.may_call {
        let entries = rule
            .call
            .iter()
            .flat_map(|call| (1..=call.count.get()).map(move |i| (call, i)));
        for (index, (call, i)) in entries.enumerate() {
            let default_id = format!("call_{}_{}", situation.from.step, index + 1);
            chunks.push(made(call, &values.with_i(i), default_id, rule.fault));
        }
    }
    chunks
}

/// A picture of one pixel.
const PIXEL: &[u8] = b"\
    \x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\
    \x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0b\x49\x44\x41\x54\x78\x9c\x63\
    \xf8\x0f\x04\x00\x09\xfb\x03\xfd\xfb\x5e\x6b\x2b\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\
    \x60\x82";

fn given(file: &AttachRule, values: &Values<'_>) -> Chunk {
    let (media_type, bytes) = match &file.text {
        Some(text) => ("text/plain", values.fill(text).into_bytes()),
        None => ("image/png", PIXEL.to_vec()),
    };
    Chunk::File(GivenFile {
        name: Some(values.fill(&file.name)),
        media_type: media_type.to_owned(),
        bytes,
    })
}

fn made(call: &CallRule, values: &Values<'_>, default_id: String, fault: Option<Fault>) -> Chunk {
    let json = values.fill_json(&call.arguments);
    let arguments = if let Some(Fault::Malformed) = fault {
        let mut text = json.to_string();
        // Cut off alone, a number could still be JSON; with a brace in front nothing is.
        text.pop();
        Arguments::Malformed(format!("{{{text}"))
    } else {
        Arguments::Json(RawJson::of(&json))
    };
    Chunk::Call {
        id: match &call.id {
            Some(id) => values.fill(id),
            None => default_id,
        },
        tool: call.tool.clone(),
        arguments,
    }
}

fn stop(rule: &Rule, chunks: &[Chunk]) -> StopReason {
    match rule.stop {
        Some(Stop::Length) => StopReason::Length,
        Some(Stop::Refusal) => StopReason::Refusal,
        None if chunks.iter().any(is_call) => StopReason::Calls,
        None => StopReason::End,
    }
}

fn is_call(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::Call { .. })
}

/// Counts four bytes as a token, rounded up, so that sums can be tested.
fn estimate(request: &Request, chunks: &[Chunk]) -> Usage {
    let mut said = 0;
    let mut thought = 0;
    for chunk in chunks {
        match chunk {
            Chunk::Text(text) => said += text.len(),
            Chunk::Reasoning(text) => thought += text.len(),
            Chunk::Call {
                tool, arguments, ..
            } => said += tool.len() + arguments_len(arguments),
            Chunk::Queued
            | Chunk::Started { .. }
            | Chunk::ReasoningBlock(_)
            | Chunk::Gathering { .. }
            | Chunk::File(_)
            | Chunk::Raw(_)
            | Chunk::End { .. } => {}
        }
    }
    Usage {
        input: tokens(request_len(request)),
        output: tokens(said),
        reasoning: tokens(thought),
        ..Usage::default()
    }
}

fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

fn request_len(request: &Request) -> usize {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.id.len() + tool.description.len() + tool.parameters.as_str().len());
    let messages = request.messages.iter().map(message_len);
    request.system.len() + tools.chain(messages).sum::<usize>()
}

fn message_len(message: &RequestMessage) -> usize {
    match message {
        RequestMessage::User(text) => text.len(),
        RequestMessage::Assistant(parts) => parts.iter().map(part_len).sum(),
        RequestMessage::Outcomes(outcomes) => {
            outcomes.iter().map(|outcome| outcome.text.len()).sum()
        }
    }
}

fn part_len(part: &AssistantPart) -> usize {
    match part {
        AssistantPart::Text(text) => text.len(),
        AssistantPart::Reasoning(reasoning) => reasoning.text.len(),
        AssistantPart::Call(call) => call.tool.len() + arguments_len(&call.arguments),
        AssistantPart::Attached(part) => part.note().len(),
        AssistantPart::Raw(raw) => raw.as_str().len(),
    }
}

fn arguments_len(arguments: &Arguments) -> usize {
    match arguments {
        Arguments::Json(json) => json.as_str().len(),
        Arguments::Malformed(text) => text.len(),
    }
}
