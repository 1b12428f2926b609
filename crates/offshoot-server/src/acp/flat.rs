//! Children as tool calls on the root's session, for clients that know no others.
//!
//! One call a run: the `task` call that made the child, or one of its own for a
//! later run. It is over when the run is, also where the parent did not wait. The
//! calls of a child stand on the root's session under ids of their own and name the
//! call they are below, in every update, because some clients read only the latest.

use offshoot_types::id::{AgentId, CallId, RunNo};
use offshoot_types::json::RawJson;
use offshoot_types::message::{AssistantMessage, AssistantPart, UserMessage};
use offshoot_types::settlement::{Settlement, Status};
use serde_json::json;

use super::agent::Agent;
use super::sessions::answer;
use super::tool::{self, TASK};
use super::wire::{
    ChildTranscript, Meta, Nesting, Run, ToolCall, ToolCallUpdate, ToolKind, ToolStatus, Update,
};

/// What clients take for the call of a child.
const AGENT: &str = "Agent";

/// What Zed takes for a call whose child it can load.
const SPAWN_AGENT: &str = "spawn_agent";

/// Returns the id of a call on the root's session.
pub(super) fn id(root: &AgentId, agent: &AgentId, call: &CallId) -> String {
    if agent == root {
        call.to_string()
    } else {
        format!("{agent}/{call}")
    }
}

/// Returns what stands beside whatever a child does; `None` for the root.
pub(super) fn below(agent: &Agent) -> Option<Meta> {
    let nesting = Nesting {
        tool_name: None,
        parent_tool_use_id: Some(agent.run_call.clone()?),
    };
    Some(Meta {
        claude_code: Some(nesting),
        ..Meta::default()
    })
}

/// Returns what stands beside a call that makes a child.
pub(super) fn makes_child(caller: &Agent, made: Option<(Run, ChildTranscript)>) -> Meta {
    let (run, transcript) = made.unzip();
    Meta {
        tool_name: transcript.is_some().then_some(SPAWN_AGENT),
        subagent_session_info: transcript,
        claude_code: Some(Nesting {
            tool_name: Some(AGENT),
            parent_tool_use_id: caller.run_call.clone(),
        }),
        offshoot: run,
    }
}

/// Returns what the call that made a child says once there is one.
pub(super) fn born(id: String, meta: Meta) -> Update {
    tool::is_now(id, ToolStatus::InProgress, Some(meta))
}

/// Opens the call that stands for a later run of a child: no call made that.
pub(super) fn again(child: &mut Agent, run: RunNo, prompt: Option<&UserMessage>) -> Update {
    let id = format!("{}#{run}", child.id);
    let definition = &child.spawned.definition;
    let title = match prompt.map(UserMessage::title) {
        Some(line) => format!("{definition}: {line}"),
        None => definition.clone(),
    };
    let text = prompt.map(|prompt| prompt.text.as_str());
    let call = ToolCall {
        tool_call_id: id.clone(),
        title,
        name: TASK.to_owned(),
        kind: ToolKind::Think,
        status: ToolStatus::InProgress,
        content: Vec::new(),
        locations: Vec::new(),
        raw_input: RawJson::of(&json!({ "subagent_type": definition, "prompt": text })),
        meta: Some(makes_child(child, child.made(id.clone()))),
    };
    child.run_call = Some(id);
    Update::ToolCall(call)
}

/// How many steps of a child its call shows, and how much of each.
const STEPS: usize = 6;
const STEP_CHARS: usize = 160;

/// Returns what a message of a child says and does, a line each.
pub(super) fn steps(message: &AssistantMessage) -> Vec<String> {
    let line = |part: &AssistantPart| match part {
        AssistantPart::Text(text) => text.trim().lines().next_back().map(str::to_owned),
        AssistantPart::Call(call) => Some(tool::title_of(call)),
        _ => None,
    };
    let cut = |line: String| match line.char_indices().nth(STEP_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    };
    let lines = message.parts.iter().filter_map(line).map(cut);
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns what the call of a run shows while the run goes on, and forgets the steps before that.
pub(super) fn works(id: String, steps: &mut Vec<String>) -> ToolCallUpdate {
    steps.drain(..steps.len().saturating_sub(STEPS));
    ToolCallUpdate {
        tool_call_id: id,
        status: Some(ToolStatus::InProgress),
        content: Some(vec![tool::words(steps.join("\n"))]),
        raw_output: None,
        meta: None,
    }
}

/// Returns what a call says whose child goes on without it.
pub(super) fn left_alone(id: String, child: &Agent, meta: Meta) -> Update {
    let words = format!("{} works in the background", child.spawned.definition);
    Update::ToolCallUpdate(ToolCallUpdate {
        tool_call_id: id,
        status: Some(ToolStatus::InProgress),
        content: Some(vec![tool::words(words)]),
        raw_output: None,
        meta: Some(meta),
    })
}

/// Returns what the call of a run came to.
pub(super) fn settled(id: String, settlement: &Settlement, meta: Meta) -> Update {
    let status = match settlement.status {
        Status::Completed | Status::Partial(_) => ToolStatus::Completed,
        Status::Failed { .. }
        | Status::Cancelled(_)
        | Status::BudgetExhausted(_)
        | Status::Denied { .. }
        | Status::Lost { .. } => ToolStatus::Failed,
    };
    Update::ToolCallUpdate(ToolCallUpdate {
        tool_call_id: id,
        status: Some(status),
        content: Some(vec![tool::words(answer(settlement))]),
        raw_output: None,
        meta: Some(meta),
    })
}
