//! Events about what an agent wants to know.

use offshoot_types::id::CallId;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Requested {
    pub(crate) request_id: Uuid,
    pub(crate) question: String,
    pub(crate) choices: Vec<String>,
    pub(crate) allow_freeform: bool,
    pub(crate) tool_call_id: CallId,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Completed {
    pub(crate) request_id: Uuid,
    /// What was said; of several things, with commas between. Nothing if nobody answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) was_freeform: Option<bool>,
}
