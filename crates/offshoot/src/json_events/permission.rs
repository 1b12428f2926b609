//! Asks and their answers, as Copilot's permission events.
//!
//! The kind of a request follows from the capability that is needed; what no
//! kind fits is a custom tool. The request's id is the call's.

use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::permission::{Action, Decision, Need};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Requested {
    request_id: CallId,
    permission_request: Request,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
enum Request {
    Shell {
        tool_call_id: CallId,
        full_command_text: String,
        intention: String,
        can_offer_session_approval: bool,
    },
    Write {
        tool_call_id: CallId,
        intention: String,
        file_name: String,
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
        args: RawJson,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Completed {
    request_id: CallId,
    tool_call_id: CallId,
    result: Verdict,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Verdict {
    kind: &'static str,
}

/// Returns what is asked for a call.
pub(crate) fn requested(call: &CallId, tool: &str, args: &RawJson, needs: &[Need]) -> Requested {
    let intention = format!("run {tool}");
    let (tool_call_id, can_offer_session_approval) = (call.clone(), true);
    let need = |capability: &str| needs.iter().find(|need| need.capability == capability);
    let request = if let Some(need) = need("shell.run") {
        Request::Shell {
            tool_call_id,
            full_command_text: need.target.clone(),
            intention,
            can_offer_session_approval,
        }
    } else if let Some(need) = need("fs.write") {
        Request::Write {
            tool_call_id,
            intention,
            file_name: need.target.clone(),
            can_offer_session_approval,
        }
    } else if let Some(need) = need("fs.read") {
        Request::Read {
            tool_call_id,
            intention,
            path: need.target.clone(),
        }
    } else {
        Request::CustomTool {
            tool_call_id,
            tool_name: tool.to_owned(),
            args: args.clone(),
        }
    };
    Requested {
        request_id: call.clone(),
        permission_request: request,
    }
}

/// Returns how an ask was answered.
pub(crate) fn completed(call: &CallId, decision: &Decision, for_session: bool) -> Completed {
    let kind = match (decision.action, for_session) {
        (Action::Allow, true) => "approved-for-session",
        (Action::Allow, false) => "approved",
        (Action::Deny | Action::Ask, _) => "denied-interactively-by-user",
    };
    Completed {
        request_id: call.clone(),
        tool_call_id: call.clone(),
        result: Verdict { kind },
    }
}
