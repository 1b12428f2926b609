//! Events about the agents that agents start.

use offshoot_types::caps::Money;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::manifest::Effort;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Started {
    pub(crate) tool_call_id: CallId,
    pub(crate) agent_name: String,
    pub(crate) agent_display_name: String,
    pub(crate) agent_description: String,
    pub(crate) model: String,
    pub(crate) agent_type: String,
    pub(crate) execution_mode: ExecutionMode,
    /// The agent that spawned it, unless that is the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<AgentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExecutionMode {
    Sync,
    Background,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Selected {
    pub(crate) agent_name: String,
    pub(crate) agent_display_name: String,
    /// `null` is all.
    pub(crate) tools: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Configured {
    pub(crate) model: String,
    /// Whether it can be asked again when it has answered.
    pub(crate) multi_turn: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_effort: Option<Effort>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ended {
    pub(crate) tool_call_id: CallId,
    pub(crate) agent_name: String,
    pub(crate) agent_display_name: String,
    pub(crate) model: String,
    /// Its own and those of the agents below it.
    pub(crate) total_tool_calls: u64,
    /// Its own and those of the agents below it; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_tokens: Option<u64>,
    pub(crate) duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cancelled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Ours: the word for how it ended.
    pub(crate) status: &'static str,
    /// Ours: what is behind that word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Ours: US dollars, those of the agents below it included; absent where no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_cost_usd: Option<Money>,
}
