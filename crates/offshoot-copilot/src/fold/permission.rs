//! Asks and their answers, in the wire's words.
//!
//! The kind of a request follows from the capability that is needed; what no
//! kind fits is a custom tool. What is refused without asking is told as well, as
//! an answer without a request: a request would make clients ask a person.

use offshoot_types::id::{AgentId, CallId};
use offshoot_types::permission::{Action, Decision, Need};
use uuid::Uuid;

use super::call::OpenCall;
use crate::wire::permission::{
    Approval, Command, Completed, Prompt, Request, Requested, Rule, Verdict,
};

/// What a call needs, as far as the wire has a kind for it.
enum Kind<'a> {
    Shell(&'a str),
    Write(&'a str),
    Read(&'a str),
    Other,
}

impl<'a> Kind<'a> {
    fn of(needs: &'a [Need]) -> Self {
        let target = |capability: &str| {
            let need = needs.iter().find(|need| need.capability == capability);
            need.map(|need| need.target.as_str())
        };
        let shell = target(Need::SHELL_RUN).map(Self::Shell);
        let write = || target(Need::FS_WRITE).map(Self::Write);
        let read = || target(Need::FS_READ).map(Self::Read);
        shell.or_else(write).or_else(read).unwrap_or(Self::Other)
    }
}

/// Returns what is asked for a call.
pub(super) fn requested(
    request_id: Uuid,
    owner_session_id: AgentId,
    call: &CallId,
    open: &OpenCall,
    needs: &[Need],
) -> Requested {
    let kind = Kind::of(needs);
    Requested {
        request_id,
        permission_request: request(&kind, call, open),
        prompt_request: prompt(&kind, call, open),
        owner_session_id,
    }
}

fn request(kind: &Kind<'_>, call: &CallId, open: &OpenCall) -> Request {
    let tool_call_id = call.clone();
    let intention = intention(open);
    match *kind {
        Kind::Shell(command) => Request::Shell {
            tool_call_id,
            full_command_text: command.to_owned(),
            intention,
            // One command, whatever a shell makes of it: we allow a text, not what it does.
            commands: vec![Command {
                identifier: command.to_owned(),
                read_only: false,
            }],
            possible_paths: Vec::new(),
            possible_urls: Vec::new(),
            has_write_file_redirection: command.contains('>'),
            can_offer_session_approval: true,
        },
        Kind::Write(path) => Request::Write {
            tool_call_id,
            intention,
            file_name: path.to_owned(),
            diff: diff(open, path),
            can_offer_session_approval: true,
        },
        Kind::Read(path) => Request::Read {
            tool_call_id,
            intention,
            path: path.to_owned(),
        },
        Kind::Other => Request::CustomTool {
            tool_call_id,
            tool_name: open.tool.clone(),
            // The log knows what a tool was called with, not what it says of itself.
            tool_description: String::new(),
            args: open.arguments.clone(),
        },
    }
}

fn prompt(kind: &Kind<'_>, call: &CallId, open: &OpenCall) -> Prompt {
    let tool_call_id = call.clone();
    let intention = intention(open);
    match *kind {
        Kind::Shell(command) => Prompt::Commands {
            tool_call_id,
            full_command_text: command.to_owned(),
            intention,
            command_identifiers: vec![command.to_owned()],
            can_offer_session_approval: true,
        },
        Kind::Write(path) => Prompt::Write {
            tool_call_id,
            intention,
            file_name: path.to_owned(),
            diff: diff(open, path),
            can_offer_session_approval: true,
        },
        Kind::Read(path) => Prompt::Read {
            tool_call_id,
            intention,
            path: path.to_owned(),
        },
        Kind::Other => Prompt::CustomTool {
            tool_call_id,
            tool_name: open.tool.clone(),
            tool_description: String::new(),
            args: open.arguments.clone(),
        },
    }
}

fn intention(open: &OpenCall) -> String {
    let said = open.intention();
    said.unwrap_or_else(|| format!("run {}", open.tool))
}

/// Returns what a call would change, as far as the call itself says: what the file has is not known.
fn diff(open: &OpenCall, path: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Change {
        #[serde(default)]
        old_string: String,
        #[serde(alias = "content")]
        new_string: String,
    }
    let Ok(change) = open.arguments.read::<Change>() else {
        return String::new();
    };
    let mut diff = format!("--- {path}\n+++ {path}\n");
    let old = change.old_string.lines().map(|line| ('-', line));
    let new = change.new_string.lines().map(|line| ('+', line));
    for (sign, line) in old.chain(new) {
        diff.push(sign);
        diff.push_str(line);
        diff.push('\n');
    }
    diff
}

/// Returns how an ask was answered.
pub(super) fn answered(
    decision: &Decision,
    tool: &str,
    needs: &[Need],
    for_session: bool,
    reason: Option<&str>,
) -> Verdict {
    match decision.action {
        Action::Allow if for_session => Verdict::ApprovedForSession {
            approval: approval(tool, needs),
        },
        Action::Allow => Verdict::Approved,
        Action::Deny => Verdict::DeniedInteractivelyByUser {
            feedback: reason.map(str::to_owned),
        },
        Action::Ask => Verdict::DeniedNoApprovalRuleAndCouldNotRequestFromUser,
    }
}

fn approval(tool: &str, needs: &[Need]) -> Approval {
    match Kind::of(needs) {
        Kind::Shell(command) => Approval::Commands {
            command_identifiers: vec![command.to_owned()],
        },
        Kind::Write(_) => Approval::Write,
        Kind::Read(_) => Approval::Read,
        Kind::Other => Approval::CustomTool {
            tool_name: tool.to_owned(),
        },
    }
}

/// Returns what is said of a decision that nobody was asked for: nothing, if it is a yes.
pub(super) fn unasked(decision: &Decision) -> Option<Verdict> {
    match decision.action {
        Action::Allow => None,
        Action::Deny => {
            let rules = decision.rule.iter().map(|rule| Rule {
                kind: rule.permission.clone(),
                argument: rule.pattern.clone(),
            });
            Some(Verdict::DeniedByRules {
                rules: rules.collect(),
            })
        }
        Action::Ask => Some(Verdict::DeniedNoApprovalRuleAndCouldNotRequestFromUser),
    }
}

/// Returns what is said of an ask whose call ended before anybody answered.
pub(super) fn withdrawn() -> Verdict {
    Verdict::Cancelled
}

/// Tells whether a person said no.
pub(super) fn is_no(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::DeniedInteractivelyByUser { .. })
}

/// Returns the event's data.
pub(super) fn completed(request_id: Uuid, call: &CallId, result: Verdict) -> Completed {
    Completed {
        request_id,
        tool_call_id: call.clone(),
        result,
    }
}
