//! Children as sessions: announcements, states, and what sessions say to each other.
//!
//! A child is announced by its immediate parent before anything else names it
//! (rules 1 and 2), and keeps its id for life (rule 3). The call that made it is
//! not shown: the words that went with it are a message, and so is the answer
//! (rule 11). What is told of its state is told once.

use offshoot_types::event::TurnEnd;
use offshoot_types::id::{AgentId, MessageId, RunId};
use offshoot_types::message::UserMessage;
use offshoot_types::settlement::{PartialReason, Settlement, Status};

use super::agent::Agent;
use super::wire::{
    Content, Empty, Error, Meta, Notification, SessionMessage, State, StopReason,
    SubagentCapabilities, SubagentUpdate, Update,
};

/// JSON-RPC's number for what has no other.
const INTERNAL_ERROR: i32 = -32603;

/// Returns all that is to be said of a child, on its parent's session; `None` for the root.
pub(super) fn announced(child: &Agent, state: Option<State>) -> Option<Notification> {
    let parent = child.parent()?;
    let description = &child.spawned.profile.description;
    let update = SubagentUpdate {
        title: Some(child.title()),
        description: (!description.is_empty()).then(|| description.clone()),
        capabilities: Some(SubagentCapabilities {
            cancel: Some(Empty {}),
        }),
        state,
        meta: Some(Meta {
            offshoot: child.run(parent.call.to_string()),
            ..Meta::default()
        }),
        ..nothing_of(&child.id)
    };
    Some(on(&parent.agent, Update::SubagentUpdate(update)))
}

/// Returns what a child does now, on its parent's session; `None` for the root, or if it was told.
pub(super) fn is_now(child: &mut Agent, state: State) -> Option<Notification> {
    let parent = child.parent()?.agent.clone();
    if child.state.as_ref() == Some(&state) {
        return None;
    }
    child.state = Some(state.clone());
    let update = SubagentUpdate {
        state: Some(state),
        ..nothing_of(&child.id)
    };
    Some(on(&parent, Update::SubagentUpdate(update)))
}

fn nothing_of(child: &AgentId) -> SubagentUpdate {
    SubagentUpdate {
        session_id: child.clone(),
        title: None,
        description: None,
        capabilities: None,
        state: None,
        meta: None,
    }
}

/// Returns a task on its way, in the transcript of who gave it.
pub(super) fn task_sent(child: &Agent, task: &UserMessage) -> Option<Notification> {
    let parent = &child.parent()?.agent;
    let message = SessionMessage {
        recipient_message_id: Some(task.id.clone()),
        ..message(
            &task.id,
            parent,
            &child.id,
            task.text.described().into_owned(),
        )
    };
    Some(on(parent, Update::SessionMessage(message)))
}

/// Returns a task that has come, in the transcript of who is to do it.
pub(super) fn task_received(child: &Agent, task: &UserMessage) -> Option<Notification> {
    let parent = &child.parent()?.agent;
    let message = SessionMessage {
        sender_message_id: Some(task.id.clone()),
        ..message(
            &task.id,
            parent,
            &child.id,
            task.text.described().into_owned(),
        )
    };
    Some(on(&child.id, Update::SessionMessage(message)))
}

/// Returns an answer on its way, in the transcript of who gave it; `None` if nothing was said.
pub(super) fn answer_sent(
    child: &Agent,
    run: &RunId,
    settlement: &Settlement,
) -> Option<Notification> {
    settlement.output.as_ref()?;
    let parent = &child.parent()?.agent;
    let id = answer_id(run);
    let message = SessionMessage {
        recipient_message_id: Some(id.clone()),
        ..message(&id, &child.id, parent, answer(settlement))
    };
    Some(on(&child.id, Update::SessionMessage(message)))
}

/// Returns an answer that has come, in the transcript of who waited for it; `None` if nothing was
/// said. What went wrong is told as a state.
pub(super) fn answer_received(
    parent: &AgentId,
    run: &RunId,
    settlement: &Settlement,
) -> Option<Notification> {
    settlement.output.as_ref()?;
    let id = answer_id(run);
    let message = SessionMessage {
        sender_message_id: Some(id.clone()),
        ..message(&id, &run.agent, parent, answer(settlement))
    };
    Some(on(parent, Update::SessionMessage(message)))
}

/// Ids are of one transcript; the same on both sides, so that each view can name the other.
fn answer_id(run: &RunId) -> MessageId {
    MessageId::new(format!("{}#{}", run.agent, run.run))
}

fn message(id: &MessageId, from: &AgentId, to: &AgentId, text: String) -> SessionMessage {
    SessionMessage {
        message_id: id.clone(),
        sender_session_id: from.clone(),
        recipient_session_id: to.clone(),
        sender_message_id: None,
        recipient_message_id: None,
        content: vec![Content::text(text)],
    }
}

/// Returns the words of an answer, with what is missing from them in front.
pub(super) fn answer(settlement: &Settlement) -> String {
    let words = settlement.output.as_deref().unwrap_or_default();
    let status = settlement.status.word();
    match settlement.status.reason() {
        None => words.to_owned(),
        Some(reason) => format!("[{status}: {reason}]\n{words}")
            .trim_end()
            .to_owned(),
    }
}

/// Returns how a child rests after a turn.
pub(super) fn after_turn(agent: &Agent, end: &TurnEnd) -> State {
    use offshoot_types::message::StopReason as Said;
    match end {
        TurnEnd::Finished => idle(match agent.stop {
            Some(Said::Length | Said::Cut) => StopReason::MaxTokens,
            Some(Said::Refusal) => StopReason::Refusal,
            Some(Said::End | Said::Calls) | None => StopReason::EndTurn,
        }),
        TurnEnd::HandedBack(_) | TurnEnd::Exhausted(_) => idle(StopReason::MaxTurnRequests),
        TurnEnd::Aborted(_) => idle(StopReason::Cancelled),
        TurnEnd::Failed { message, .. } => failed(message.clone()),
        TurnEnd::Denied { reason } => failed(reason.clone()),
        TurnEnd::Lost => failed("its process died".to_owned()),
    }
}

/// Returns how a child rests after a run.
pub(super) fn after_run(status: &Status) -> State {
    match status {
        Status::Completed
        | Status::Partial(PartialReason::NoAnswer | PartialReason::Wakes | PartialReason::Schema) => {
            idle(StopReason::EndTurn)
        }
        Status::Partial(PartialReason::Length) => idle(StopReason::MaxTokens),
        Status::Partial(PartialReason::Refusal) => idle(StopReason::Refusal),
        Status::Partial(PartialReason::Budget(_)) | Status::BudgetExhausted(_) => {
            idle(StopReason::MaxTurnRequests)
        }
        Status::Cancelled(_) => idle(StopReason::Cancelled),
        Status::Failed { .. } | Status::Denied { .. } | Status::Lost { .. } => {
            failed(status.reason().unwrap_or_default())
        }
    }
}

fn idle(stop_reason: StopReason) -> State {
    State::Idle {
        stop_reason,
        error: None,
    }
}

fn failed(message: String) -> State {
    State::Idle {
        stop_reason: StopReason::Error,
        error: Some(Error {
            code: INTERNAL_ERROR,
            message,
        }),
    }
}

fn on(session: &AgentId, update: Update) -> Notification {
    Notification {
        session_id: session.clone(),
        update,
    }
}
