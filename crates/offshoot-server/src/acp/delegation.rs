//! Proposal #855: which agent does the work of a prompt, under the `_meta` key `offshoot`.
//!
//! A client that understands it says `clientCapabilities._meta.offshoot.subagents: {}`. It then finds the
//! catalogue in `_meta.offshoot.availableSubagents` of `available_commands_update`, and may put
//! `_meta.offshoot.delegation` on a prompt. What is wrong with a delegation is an error, and no prompt is
//! sent then.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::Meta;
use offshoot_types::event::{Parent, Spawned};
use offshoot_types::json::RawJson;
use offshoot_types::message::Delegation;
use serde_json::{Value, json};

use super::error::invalid;
use super::setup::{AgentSummary, SessionStart};

/// The one key of `_meta` that is ours.
pub const NAMESPACE: &str = "offshoot";

/// Tells whether the capabilities of a client have the flag.
pub(super) fn is_understood(meta: Option<&Meta>) -> bool {
    ours(meta)
        .and_then(|ours| ours.get("subagents"))
        .is_some_and(Value::is_object)
}

/// Returns what the agent says of itself in `sessionCapabilities`.
pub(super) fn capabilities() -> Meta {
    let ours = json!({ "subagents": { "promptDelegation": {}, "background": {} } });
    Meta::from_iter([(NAMESPACE.to_owned(), ours)])
}

/// Returns the catalogue of the agents that a session can start.
pub(super) fn catalogue(start: &SessionStart) -> RawJson {
    let agent = |agent: &AgentSummary| json!({ "id": agent.name, "title": agent.name, "description": agent.description });
    let agents: Vec<Value> = start.subagents.iter().map(agent).collect();
    RawJson::of(&json!({ NAMESPACE: { "availableSubagents": agents } }))
}

/// Returns the parent fields of a child in a list. Only a child that an agent has called has a call.
pub(super) fn parent_of(child: &Spawned, parent: &Parent) -> Meta {
    let mut ours = json!({ "parentSessionId": parent.agent, "subagentId": child.definition });
    if !parent.host {
        ours["parentToolCallId"] = json!(parent.call);
    }
    Meta::from_iter([(NAMESPACE.to_owned(), ours)])
}

/// Returns the delegation of a prompt; `None` where the model decides.
///
/// `understood` says whether the client has the flag: without it a delegation is refused, because a client
/// that does not know what it sends does not know what it gets.
pub(super) fn of_prompt(
    meta: Option<&Meta>,
    understood: bool,
) -> Result<Option<Delegation>, Error> {
    let Some(said) = ours(meta).and_then(|ours| ours.get("delegation")) else {
        return Ok(None);
    };
    if !understood {
        return Err(invalid(
            "delegation needs clientCapabilities._meta.offshoot.subagents",
        ));
    }
    let Some(said) = said.as_object() else {
        return Err(invalid("delegation has to be an object"));
    };
    let text = |key: &str| match said.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(invalid(format!("delegation.{key} has to be a text"))),
    };
    let (policy, agent, mode) = (text("policy")?, text("subagentId")?, text("runMode")?);
    let background = match mode.as_deref() {
        None => None,
        Some("foreground") => Some(false),
        Some("background") => Some(true),
        Some(other) => return Err(invalid(format!("delegation.runMode cannot be {other}"))),
    };
    match (policy.as_deref(), agent) {
        (Some("auto" | "disable"), Some(_)) => {
            Err(invalid("delegation.subagentId is for prefer and require"))
        }
        (Some("auto" | "disable"), None) if background.is_some() => {
            Err(invalid("delegation.runMode is for prefer and require"))
        }
        (Some("auto"), None) => Ok(None),
        (Some("disable"), None) => Ok(Some(Delegation::Disable)),
        (Some("prefer" | "require"), None) => {
            Err(invalid("delegation.subagentId has to name an agent"))
        }
        (Some("prefer"), Some(agent)) => Ok(Some(Delegation::Prefer { agent, background })),
        (Some("require"), Some(agent)) => Ok(Some(Delegation::Require {
            agent,
            background: background.unwrap_or_default(),
        })),
        (Some(other), _) => Err(invalid(format!("delegation.policy cannot be {other}"))),
        (None, _) => Err(invalid("delegation.policy is missing")),
    }
}

fn ours(meta: Option<&Meta>) -> Option<&serde_json::Map<String, Value>> {
    meta?.get(NAMESPACE)?.as_object()
}
