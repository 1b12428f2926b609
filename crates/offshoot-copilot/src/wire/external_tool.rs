//! Events about calls that a client carries out.
//!
//! A request stands until its completion, also over the end of the process that wrote
//! it, and both have the same `requestId`.

use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requested {
    pub request_id: Uuid,
    /// The session, whichever of its agents made the call.
    pub session_id: AgentId,
    pub tool_call_id: CallId,
    pub tool_name: String,
    pub arguments: RawJson,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    pub request_id: Uuid,
}
