//! Events about calls.

use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Metadata};
use offshoot_types::permission::Decision;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    pub tool_call_id: CallId,
    pub tool_name: String,
    pub arguments: RawJson,
    pub turn_id: String,
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub tool_call_id: CallId,
    pub partial_output: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Complete {
    pub tool_call_id: CallId,
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell_execution: Option<ShellExecution>,
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<Uuid>,
    pub turn_id: String,
    /// Ours.
    pub duration_ms: u64,
    /// Ours: what was decided of it, and by whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<Decision>,
    /// Ours: whether the result is only a part of what there was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Ours: where all of it lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// Ours: what the agent of a `task` that waited used and did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolResult {
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolError {
    pub message: String,
    /// What clients know: `rejected`, `denied`, `failure`.
    pub code: &'static str,
    /// Ours, which is finer.
    pub kind: ErrorKind,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellExecution {
    pub exit_code: i64,
}
