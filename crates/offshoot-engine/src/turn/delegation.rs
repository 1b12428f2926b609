//! A turn that opens with a `task` call of the runtime's own (`Delegation::Require`).
//!
//! The runtime writes one message with one call, in the place of the first step. From there on the call
//! is like any other: its arguments are checked, rules and hooks are asked, caps hold, and it survives a
//! crash as a model's call does. The model is asked once the child has ended or works in the background.
//! A call that starts no child ends the turn, because the prompt allows no other way.

use offshoot_types::content::Part;
use offshoot_types::event::TurnEnd;
use offshoot_types::id::{CallId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{
    Arguments, AssistantMessage, AssistantPart, Call, Delegation, StopReason, Usage, UserMessage,
};
use offshoot_types::transcript::{Item, Transcript};
use serde_json::json;

use crate::agent::Agent;
use crate::context::Prefix;
use crate::sabotage::{Bug, planted};
use crate::task::TASK;

/// Returns the message that starts the required agent; `None` if the turn opens with a step of the model.
pub(super) fn own_message(
    agent: &Agent,
    prefix: &Prefix,
    transcript: &Transcript,
) -> Option<AssistantMessage> {
    if planted(Bug::OwnCallSkipped) {
        return None;
    }
    let prompt = if planted(Bug::OwnCallTwice) {
        last_prompt(transcript)?
    } else {
        opening_prompt(agent, transcript)?
    };
    let Some(Delegation::Require {
        agent: name,
        background,
    }) = &prompt.delegation
    else {
        return None;
    };
    let mut arguments = json!({ "subagent_type": name, "prompt": prompt.text.as_str() });
    if *background {
        arguments["background"] = true.into();
    }
    let call = Call {
        id: CallId::new(agent.parts.env.new_id()),
        tool: TASK.to_owned(),
        arguments: Arguments::Json(RawJson::of(&arguments)),
    };
    Some(AssistantMessage {
        id: MessageId::new(agent.parts.env.new_id()),
        parts: vec![AssistantPart::Call(call)],
        model: prefix.model_name.clone(),
        usage: Usage::default(),
        estimated: false,
        cost: None,
        stop: StopReason::Calls,
        timing: None,
        request: None,
        by_runtime: true,
    })
}

/// Returns the prompt that the turn begins with, before anything else is said in it.
fn opening_prompt<'a>(agent: &Agent, transcript: &'a Transcript) -> Option<&'a UserMessage> {
    match transcript.items().last()? {
        Item::User(message) if message.id == agent.processed() => Some(message),
        Item::User(_) | Item::Completion(_) | Item::Assistant(_) | Item::Compacted(_) => None,
    }
}

fn last_prompt(transcript: &Transcript) -> Option<&UserMessage> {
    let mut items = transcript.items().iter().rev();
    items.find_map(|item| match item {
        Item::User(message) => Some(message),
        Item::Completion(_) | Item::Assistant(_) | Item::Compacted(_) => None,
    })
}

/// Returns what a message of the runtime's own gives to the child beside the text: what is attached to
/// the prompt that requires the child. A message of the model gives nothing.
pub(super) fn attached(transcript: &Transcript, message: &AssistantMessage) -> Vec<Part> {
    if !message.by_runtime {
        return Vec::new();
    }
    let mut items = transcript.items().iter().rev();
    let prompt = items.find_map(|item| match item {
        Item::User(prompt) if matches!(prompt.delegation, Some(Delegation::Require { .. })) => {
            Some(prompt)
        }
        Item::User(_) | Item::Completion(_) | Item::Assistant(_) | Item::Compacted(_) => None,
    });
    let parts = prompt
        .into_iter()
        .flat_map(|prompt| prompt.text.attachments());
    parts.cloned().collect()
}

/// Returns how the turn ends if the runtime's own call has started no child.
pub(super) fn refused(agent: &Agent, transcript: &Transcript) -> Option<TurnEnd> {
    let Some(Item::Assistant(step)) = transcript.items().last() else {
        return None;
    };
    let (call, outcome) = step
        .outcomes()
        .next()
        .filter(|_| step.message().by_runtime)?;
    let state = agent.board.state();
    let made = |id| {
        let child = state.tree.agent(id).and_then(|child| child.parent());
        child.is_some_and(|parent| parent.made_by() == Some(&call.id))
    };
    let mut children = state.tree.agent(&agent.id)?.children.iter();
    if children.any(made) {
        return None;
    }
    let reason = format!("the prompt requires another agent: {}", outcome.for_model());
    Some(TurnEnd::Denied { reason })
}
