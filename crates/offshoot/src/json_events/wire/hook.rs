//! `hook.*`: what hooks did.

use offshoot_types::id::CallId;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    pub(crate) hook_invocation_id: String,
    pub(crate) hook_type: &'static str,
    /// Ours: which hook.
    pub(crate) hook: String,
    /// Ours: about which call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<CallId>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    pub(crate) hook_invocation_id: String,
    pub(crate) hook_type: &'static str,
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Output>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Error>,
}

/// Ours: what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    pub(crate) did: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Error {
    pub(crate) message: String,
}
