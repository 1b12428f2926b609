//! Events about the agents that agents start.

use offshoot_types::caps::Money;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::manifest::Effort;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    pub tool_call_id: CallId,
    pub agent_name: String,
    pub agent_display_name: String,
    pub agent_description: String,
    pub model: String,
    pub agent_type: String,
    pub execution_mode: ExecutionMode,
    /// The agent that spawned it, unless that is the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<AgentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    Sync,
    Background,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selected {
    pub agent_name: String,
    pub agent_display_name: String,
    /// `null` is all.
    pub tools: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Configured {
    pub model: String,
    /// Whether it can be asked again when it has answered.
    pub multi_turn: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<Effort>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    pub tool_call_id: CallId,
    pub agent_name: String,
    pub agent_display_name: String,
    pub model: String,
    /// Its own and those of the agents below it.
    pub total_tool_calls: u64,
    /// Its own and those of the agents below it; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Ours: the word for how it ended.
    pub status: &'static str,
    /// Ours: what is behind that word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Ours: US dollars, those of the agents below it included; absent where no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_cost_usd: Option<Money>,
}
