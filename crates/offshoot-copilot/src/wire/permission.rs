//! Events about what somebody has to allow.
//!
//! Every field that the schema of these events requires is here, also where there
//! is nothing to say: strict clients drop a whole event for a missing one.

use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use serde::Serialize;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requested {
    pub request_id: Uuid,
    pub permission_request: Request,
    pub prompt_request: Prompt,
    /// The agent that asks.
    pub owner_session_id: AgentId,
}

/// What is asked for, as a program sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Request {
    Shell {
        tool_call_id: CallId,
        full_command_text: String,
        intention: String,
        commands: Vec<Command>,
        possible_paths: Vec<String>,
        possible_urls: Vec<String>,
        has_write_file_redirection: bool,
        can_offer_session_approval: bool,
    },
    Write {
        tool_call_id: CallId,
        intention: String,
        file_name: String,
        diff: String,
        can_offer_session_approval: bool,
    },
    Read {
        tool_call_id: CallId,
        intention: String,
        path: String,
    },
    CustomTool {
        tool_call_id: CallId,
        tool_name: String,
        tool_description: String,
        args: RawJson,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    pub identifier: String,
    pub read_only: bool,
}

/// What is asked for, as a person is shown it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Prompt {
    Commands {
        tool_call_id: CallId,
        full_command_text: String,
        intention: String,
        command_identifiers: Vec<String>,
        can_offer_session_approval: bool,
    },
    Write {
        tool_call_id: CallId,
        intention: String,
        file_name: String,
        diff: String,
        can_offer_session_approval: bool,
    },
    Read {
        tool_call_id: CallId,
        intention: String,
        path: String,
    },
    CustomTool {
        tool_call_id: CallId,
        tool_name: String,
        tool_description: String,
        args: RawJson,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    pub request_id: Uuid,
    pub tool_call_id: CallId,
    pub result: Verdict,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    Approved,
    ApprovedForSession {
        approval: Approval,
    },
    DeniedInteractivelyByUser {
        #[serde(skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    DeniedByRules {
        rules: Vec<Rule>,
    },
    DeniedNoApprovalRuleAndCouldNotRequestFromUser,
    Cancelled,
}

/// What is allowed from here on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Approval {
    Commands { command_identifiers: Vec<String> },
    Write,
    Read,
    CustomTool { tool_name: String },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    pub kind: String,
    pub argument: String,
}
