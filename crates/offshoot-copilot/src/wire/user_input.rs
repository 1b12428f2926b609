//! Events about what an agent wants to know.

use offshoot_types::id::CallId;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requested {
    pub request_id: Uuid,
    pub question: String,
    pub choices: Vec<String>,
    pub allow_freeform: bool,
    pub tool_call_id: CallId,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    pub request_id: Uuid,
    /// What was said; of several things, with commas between. Nothing if nobody answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was_freeform: Option<bool>,
}
