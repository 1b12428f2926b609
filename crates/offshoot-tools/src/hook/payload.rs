//! What a command is told: one JSON object, with the names of Claude Code's fields.
//!
//! Ours beside them: `parent_agent_id`, `depth`, `run`, `tool_id` and, of an end,
//! `status` and `is_over`. There is no transcript in a file, so the fields that name
//! one are null. A guard that was written for Claude Code has to find what it looks
//! for: it would not object to what it does not see.

use offshoot_types::hook::{Ending, Occasion, Use, What, Who};
use serde_json::{Map, Value, json};

/// What Claude Code calls the tools that it has too.
const ITS_NAMES: [(&str, &str); 7] = [
    ("bash", "Bash"),
    ("read", "Read"),
    ("write", "Write"),
    ("edit", "Edit"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("task", "Task"),
];

/// Tools for one file, whose input has its whole path beside what the agent wrote.
const FILE_TOOLS: [&str; 3] = ["read", "write", "edit"];

/// Returns what a command is told of an occasion.
pub(super) fn of(occasion: &Occasion) -> String {
    let Occasion { who, what } = occasion;
    let mut told = common(who);
    told.insert("hook_event_name".to_owned(), occasion.point().name().into());
    let own = match what {
        What::PreToolUse(used) | What::PermissionRequest(used) => tool(who, used),
        What::PostToolUse { used, response } => {
            let mut own = tool(who, used);
            own["tool_response"] = value(response);
            own
        }
        What::PostToolUseFailure {
            used,
            error,
            interrupted,
        } => {
            let mut own = tool(who, used);
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

fn tool(who: &Who, used: &Use) -> Value {
    let id = used.tool.as_str();
    let mut input = value(&used.input);
    // What an agent writes there itself is written over.
    if FILE_TOOLS.contains(&id)
        && let Some(path) = input["path"].as_str()
    {
        input["file_path"] = absolute(&who.workspace, path).into();
    }
    if id == "bash"
        && let Some(milliseconds) = input.get("timeout_ms").cloned()
    {
        input["timeout"] = milliseconds;
    }
    let its_name = ITS_NAMES.iter().find(|(ours, _)| *ours == id);
    json!({
        "tool_name": its_name.map_or(id, |(_, its)| *its),
        "tool_id": id,
        "tool_input": input,
        "tool_use_id": used.call,
    })
}

/// Returns a path as it is from the root, by its text.
fn absolute(workspace: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{workspace}/{path}")
    };
    let parts = whole.split('/').filter(|part| !matches!(*part, "" | "."));
    format!("/{}", parts.collect::<Vec<_>>().join("/"))
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

#[cfg(test)]
mod tests {
    use offshoot_types::id::{AgentId, CallId};
    use offshoot_types::json::RawJson;

    use super::*;

    fn told(tool: &str, input: &Value) -> Value {
        let session = AgentId::new("root");
        let who = Who {
            agent: session.clone(),
            session,
            definition: "build".to_owned(),
            parent: None,
            depth: 0,
            run: None,
            workspace: "/w".to_owned(),
        };
        let what = What::PreToolUse(Use {
            call: CallId::new("c"),
            tool: tool.to_owned(),
            input: RawJson::of(input),
        });
        serde_json::from_str(&of(&Occasion { who, what })).unwrap()
    }

    #[track_caller]
    fn check(tool: &str, input: Value, expected: Value) {
        let told = told(tool, &input);
        assert_eq!(told["tool_input"]["file_path"], expected, "{tool} {input}");
        assert_eq!(told["tool_input"]["path"], input["path"]);
    }

    #[test]
    fn a_guard_of_claude_codes_finds_the_names_and_fields_that_it_asks_for() {
        for (tool, name, input, added) in [
            (
                "bash",
                "Bash",
                json!({ "command": "ls", "timeout_ms": 5 }),
                json!({ "timeout": 5 }),
            ),
            ("bash", "Bash", json!({ "command": "ls" }), json!({})),
            (
                "write",
                "Write",
                json!({ "path": "a", "content": "x" }),
                json!({ "file_path": "/w/a" }),
            ),
            (
                "edit",
                "Edit",
                json!({ "path": "a", "old_string": "x", "new_string": "y", "replace_all": true }),
                json!({ "file_path": "/w/a" }),
            ),
            (
                "read",
                "Read",
                json!({ "path": "a", "offset": 1, "limit": 2 }),
                json!({ "file_path": "/w/a" }),
            ),
            (
                "glob",
                "Glob",
                json!({ "pattern": "*", "path": "a" }),
                json!({}),
            ),
            (
                "grep",
                "Grep",
                json!({ "pattern": "x", "path": "a" }),
                json!({}),
            ),
            (
                "task",
                "Task",
                json!({ "subagent_type": "explore", "prompt": "look" }),
                json!({}),
            ),
            ("wait", "wait", json!({}), json!({})),
            ("mcp_x", "mcp_x", json!({}), json!({})),
        ] {
            let told = told(tool, &input);
            assert_eq!(told["tool_name"], name);
            assert_eq!(told["tool_id"], tool);
            let mut expected = input.clone();
            let fields = expected.as_object_mut().unwrap();
            fields.extend(added.as_object().unwrap().clone());
            assert_eq!(told["tool_input"], expected, "{tool}");
        }
    }

    #[test]
    fn a_guard_of_claude_codes_finds_the_file_where_it_looks_for_it() {
        for tool in ["read", "write", "edit"] {
            check(tool, json!({ "path": ".env" }), json!("/w/.env"));
            check(tool, json!({ "path": ".//x/./.env" }), json!("/w/x/.env"));
            check(tool, json!({ "path": "/etc/hosts" }), json!("/etc/hosts"));
            // An agent does not say what stands there.
            let both = json!({ "path": ".env", "file_path": "/w/harmless" });
            check(tool, both, json!("/w/.env"));
        }
        check("bash", json!({ "command": "ls" }), Value::Null);
        check("grep", json!({ "path": "src" }), Value::Null);
    }
}
