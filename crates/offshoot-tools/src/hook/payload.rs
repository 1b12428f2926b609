//! What a command is told: one JSON object, with the names of Claude Code's fields.
//!
//! Ours beside them: `parent_agent_id`, `depth`, `run` and, of an end, `status` and
//! `is_over`. There is no transcript in a file, so the fields that name one are null.

use offshoot_types::hook::{Ending, Occasion, Use, What, Who};
use serde_json::{Map, Value, json};

/// Returns what a command is told of an occasion.
pub(super) fn of(occasion: &Occasion) -> String {
    let Occasion { who, what } = occasion;
    let mut told = common(who);
    told.insert("hook_event_name".to_owned(), occasion.point().name().into());
    let own = match what {
        What::PreToolUse(used) | What::PermissionRequest(used) => tool(used),
        What::PostToolUse { used, response } => {
            let mut own = tool(used);
            own["tool_response"] = value(response);
            own
        }
        What::PostToolUseFailure {
            used,
            error,
            interrupted,
        } => {
            let mut own = tool(used);
            own["error"] = error.as_str().into();
            own["is_interrupt"] = (*interrupted).into();
            own
        }
        What::UserPromptSubmit { prompt } => json!({ "prompt": prompt }),
        What::SessionStart { .. } => json!({ "source": occasion.subject() }),
        What::SessionEnd => json!({ "reason": occasion.subject() }),
        What::Stop(ending) | What::SubagentStop(ending) => end(ending),
        What::SubagentStart => json!({}),
        What::PreCompact { .. } => {
            json!({ "trigger": occasion.subject(), "custom_instructions": "" })
        }
        What::Notification { message } => {
            json!({ "message": message, "notification_type": occasion.subject() })
        }
    };
    if let Value::Object(own) = own {
        told.extend(own);
    }
    Value::Object(told).to_string()
}

fn common(who: &Who) -> Map<String, Value> {
    let mut told = Map::new();
    let mut put = |name: &str, value: Value| told.insert(name.to_owned(), value);
    put("session_id", json!(who.session));
    put("transcript_path", Value::Null);
    put("cwd", who.workspace.as_str().into());
    put("permission_mode", "default".into());
    put("agent_type", who.definition.as_str().into());
    put("depth", who.depth.into());
    if let Some(run) = who.run {
        put("run", run.get().into());
    }
    if let Some(parent) = &who.parent {
        put("agent_id", json!(who.agent));
        put("parent_agent_id", json!(parent));
    }
    told
}

fn tool(used: &Use) -> Value {
    json!({
        "tool_name": used.tool,
        "tool_input": value(&used.input),
        "tool_use_id": used.call,
    })
}

fn end(ending: &Ending) -> Value {
    json!({
        "stop_hook_active": ending.kept,
        "last_assistant_message": ending.said,
        "agent_transcript_path": null,
        "status": ending.status,
        "is_over": ending.over,
    })
}

fn value(json: &offshoot_types::json::RawJson) -> Value {
    json.read().unwrap_or(Value::Null)
}
