//! `hook.*`: what hooks did.

use offshoot_types::id::CallId;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    pub hook_invocation_id: String,
    pub hook_type: &'static str,
    /// Ours: which hook.
    pub hook: String,
    /// Ours: about which call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    pub hook_invocation_id: String,
    pub hook_type: &'static str,
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

/// Ours: what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub did: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Error {
    pub message: String,
}
