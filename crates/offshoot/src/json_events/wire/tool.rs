//! Events about calls.

use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Metadata};
use offshoot_types::permission::Decision;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    pub(crate) tool_call_id: CallId,
    pub(crate) tool_name: String,
    pub(crate) arguments: RawJson,
    pub(crate) turn_id: String,
    pub(crate) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    pub(crate) tool_call_id: CallId,
    pub(crate) partial_output: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Complete {
    pub(crate) tool_call_id: CallId,
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<ToolResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ToolError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shell_execution: Option<ShellExecution>,
    pub(crate) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interaction_id: Option<Uuid>,
    pub(crate) turn_id: String,
    /// Ours.
    pub(crate) duration_ms: u64,
    /// Ours: what was decided of it, and by whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) permission: Option<Decision>,
    /// Ours: whether the result is only a part of what there was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) truncated: Option<bool>,
    /// Ours: where all of it lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_path: Option<String>,
    /// Ours: what the agent of a `task` that waited used and did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subagent: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolResult {
    pub(crate) content: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolError {
    pub(crate) message: String,
    /// What clients know: `rejected`, `denied`, `failure`.
    pub(crate) code: &'static str,
    /// Ours, which is finer.
    pub(crate) kind: ErrorKind,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShellExecution {
    pub(crate) exit_code: i64,
}
