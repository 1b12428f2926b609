//! The events of a call, from what was asked for it to its outcome.
//!
//! A call is told to start before anything else is told of it, also one that is
//! refused: clients hang what follows on its start.

use offshoot_types::event::Hooked;
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, Call};
use offshoot_types::outcome::{Body as Answer, ErrorKind, Metadata, Outcome};
use offshoot_types::permission::{Action, Decision, Need};
use offshoot_types::question::Question;
use uuid::Uuid;

use super::agent::Agent;
use crate::wire::Body;
use crate::wire::assistant::ToolRequest;
use crate::wire::external_tool;
use crate::wire::tool::{Complete, ShellExecution, Start, ToolError, ToolResult};

use super::{permission, question};

/// The tool whose outcome holds a child's words.
const TASK: &str = "task";

/// A call that has no outcome yet.
pub(super) struct OpenCall {
    pub(super) tool: String,
    pub(super) arguments: RawJson,
    model: String,
    turn_id: String,
    started: bool,
    /// What somebody has to allow, while nobody has answered.
    asked: Option<Vec<Need>>,
    /// What its agent wants to know.
    questions: Vec<Question>,
    /// Whether a client carries it out.
    waits_for_client: bool,
    /// Whether a person said no.
    refused: bool,
    /// What was decided of it last.
    decision: Option<Decision>,
}

impl OpenCall {
    pub(super) fn of(call: &Call, model: &str, turn_id: &str) -> Self {
        let arguments = match &call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed(text) => RawJson::of(text),
        };
        Self {
            tool: call.tool.clone(),
            arguments,
            model: model.to_owned(),
            turn_id: turn_id.to_owned(),
            started: false,
            asked: None,
            questions: Vec::new(),
            waits_for_client: false,
            refused: false,
            decision: None,
        }
    }

    pub(super) fn request(&self, id: &CallId) -> ToolRequest {
        ToolRequest {
            tool_call_id: id.clone(),
            name: self.tool.clone(),
            arguments: self.arguments.clone(),
            kind: "function",
            intention_summary: self.intention(),
        }
    }

    /// Returns what the model said the call is for.
    pub(super) fn intention(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Described {
            description: Option<String>,
            question: Option<String>,
        }
        let described: Described = self.arguments.read().ok()?;
        described.description.or(described.question)
    }

    fn answer(&self, outcome: &Outcome) -> (Option<ToolResult>, Option<ToolError>) {
        match &outcome.body {
            Answer::Output(data) => (Some(result(&self.tool, data, outcome)), None),
            Answer::Error { kind, text } => {
                let error = ToolError {
                    message: text.clone(),
                    code: code(*kind, self.refused),
                    kind: *kind,
                };
                (None, Some(error))
            }
        }
    }
}

impl Agent {
    /// Notes the arguments that the host has a call run with: its start and its requests show those.
    pub(super) fn rewritten(&mut self, hooked: &Hooked) {
        if let Some((call, arguments)) = hooked.rewritten()
            && let Some(open) = self.open.get_mut(call)
        {
            open.arguments = arguments.clone();
        }
    }

    pub(super) fn call_started(&mut self, call: &CallId) -> Vec<Body> {
        let parent_tool_call_id = self.parent_call();
        let Some(open) = self.open.get_mut(call).filter(|open| !open.started) else {
            return Vec::new();
        };
        open.started = true;
        vec![Body::ToolStart(Start {
            tool_call_id: call.clone(),
            tool_name: open.tool.clone(),
            arguments: open.arguments.clone(),
            turn_id: open.turn_id.clone(),
            model: open.model.clone(),
            parent_tool_call_id,
        })]
    }

    /// Tells what an agent wants to know.
    pub(super) fn wonders(&mut self, call: &CallId, questions: &[Question]) -> Vec<Body> {
        let mut bodies = self.call_started(call);
        for (at, one) in questions.iter().enumerate() {
            let request = self.question_id(call, at);
            let requested = question::requested(request, call, one);
            bodies.push(Body::InputRequested(requested));
        }
        if let Some(open) = self.open.get_mut(call) {
            open.questions = questions.to_vec();
        }
        bodies
    }

    /// Tells that a call waits for a client.
    pub(super) fn waits_for_client(&mut self, call: &CallId) -> Vec<Body> {
        let mut bodies = self.call_started(call);
        let request_id = self.external_tool_id(call);
        let session_id = self.tree.root().clone();
        if let Some(open) = self.open.get_mut(call) {
            open.waits_for_client = true;
            bodies.push(Body::ExternalToolRequested(external_tool::Requested {
                request_id,
                session_id,
                tool_call_id: call.clone(),
                tool_name: open.tool.clone(),
                arguments: open.arguments.clone(),
            }));
        }
        bodies
    }

    fn external_tool_id(&self, call: &CallId) -> Uuid {
        self.derived("external_tool", call.as_str())
    }

    fn question_id(&self, call: &CallId, at: usize) -> Uuid {
        self.derived("question", &format!("{call}/{at}"))
    }

    pub(super) fn asked(&mut self, call: &CallId, needs: &[Need]) -> Vec<Body> {
        let mut bodies = self.call_started(call);
        let request = self.derived("permission", call.as_str());
        let owner = self.id.clone();
        if let Some(open) = self.open.get_mut(call) {
            open.asked = Some(needs.to_vec());
            let requested = permission::requested(request, owner, call, open, needs);
            bodies.push(Body::PermissionRequested(Box::new(requested)));
        }
        bodies
    }

    pub(super) fn decided(
        &mut self,
        call: &CallId,
        decision: &Decision,
        for_session: bool,
        reason: Option<&str>,
    ) -> Vec<Body> {
        let request = self.derived("permission", call.as_str());
        let Some(open) = self.open.get_mut(call) else {
            return Vec::new();
        };
        if open.tool == question::TOOL && decision.action == Action::Ask {
            // That nobody answers it is told with its end: it is no permission.
            return Vec::new();
        }
        open.decision = Some(decision.clone());
        let verdict = match open.asked.take() {
            Some(needs) => {
                let verdict =
                    permission::answered(decision, &open.tool, &needs, for_session, reason);
                open.refused = permission::is_no(&verdict);
                Some(verdict)
            }
            None => permission::unasked(decision),
        };
        let Some(verdict) = verdict else {
            return Vec::new();
        };
        let mut bodies = self.call_started(call);
        let completed = permission::completed(request, call, verdict);
        bodies.push(Body::PermissionCompleted(completed));
        bodies
    }

    pub(super) fn call_finished(&mut self, call: &CallId, outcome: &Outcome) -> Vec<Body> {
        let mut bodies = self.call_started(call);
        let request = self.derived("permission", call.as_str());
        let Some(open) = self.open.remove(call) else {
            return bodies;
        };
        if open.asked.is_some() {
            let completed = permission::completed(request, call, permission::withdrawn());
            bodies.push(Body::PermissionCompleted(completed));
        }
        for (at, one) in open.questions.iter().enumerate() {
            let request = self.question_id(call, at);
            let completed = question::completed(request, one, at, outcome);
            bodies.push(Body::InputCompleted(completed));
        }
        if open.waits_for_client {
            let request_id = self.external_tool_id(call);
            let completed = external_tool::Completed { request_id };
            bodies.push(Body::ExternalToolCompleted(completed));
        }
        let (result, error) = open.answer(outcome);
        self.turn.stopping |= error
            .as_ref()
            .is_some_and(|error| ends_the_turn(error.kind));
        bodies.push(Body::ToolComplete(Complete {
            tool_call_id: call.clone(),
            success: error.is_none(),
            result,
            error,
            shell_execution: shell_execution(outcome),
            model: open.model,
            interaction_id: self.interaction(),
            turn_id: open.turn_id,
            duration_ms: outcome.metadata.duration_ms,
            permission: open.decision,
            truncated: outcome.metadata.truncated,
            output_path: outcome.metadata.output_path.clone(),
            subagent: subagent(&open.tool, outcome),
            parent_tool_call_id: self.parent_call(),
        }));
        if self.open.is_empty() && !self.turn.stopping {
            bodies.extend(self.next_step());
        }
        bodies
    }
}

/// Returns what the agent of a `task` that waited used and did. A receipt has nothing to tell yet.
fn subagent(tool: &str, outcome: &Outcome) -> Option<Metadata> {
    let metadata = &outcome.metadata;
    let waited = tool == TASK && metadata.extra.get("subagent_id").is_some();
    waited.then(|| Metadata {
        duration_ms: metadata.duration_ms,
        extra: metadata.extra.clone(),
        ..Metadata::default()
    })
}

/// Tells whether a call that ended so ended because its turn is being stopped.
fn ends_the_turn(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Cancelled | ErrorKind::Interrupted | ErrorKind::AbortedByParent => true,
        ErrorKind::InvalidInput
        | ErrorKind::UnknownTool
        | ErrorKind::Denied
        | ErrorKind::Failed
        | ErrorKind::TooLarge
        | ErrorKind::Conflict
        | ErrorKind::UnknownAgent
        | ErrorKind::WrongMode
        | ErrorKind::Depth
        | ErrorKind::Caps
        | ErrorKind::ChildFailed => false,
    }
}

/// Returns the word that clients of the wire know for a failure.
fn code(kind: ErrorKind, refused: bool) -> &'static str {
    match kind {
        ErrorKind::Denied if refused => "rejected",
        ErrorKind::Denied => "denied",
        ErrorKind::InvalidInput
        | ErrorKind::UnknownTool
        | ErrorKind::Failed
        | ErrorKind::TooLarge
        | ErrorKind::Conflict
        | ErrorKind::Cancelled
        | ErrorKind::Interrupted
        | ErrorKind::UnknownAgent
        | ErrorKind::WrongMode
        | ErrorKind::Depth
        | ErrorKind::Caps
        | ErrorKind::AbortedByParent
        | ErrorKind::ChildFailed => "failure",
    }
}

/// Returns what a reader wants of an answer: of a child its words, else what the model reads.
fn result(tool: &str, data: &RawJson, outcome: &Outcome) -> ToolResult {
    #[derive(serde::Deserialize)]
    struct Child {
        output: String,
    }
    let content = match data.read::<Child>() {
        Ok(child) if tool == TASK => child.output,
        Ok(_) | Err(_) => outcome.for_model(),
    };
    ToolResult { content }
}

fn shell_execution(outcome: &Outcome) -> Option<ShellExecution> {
    let exit_code = outcome.metadata.extra.get("exit_code")?.read().ok()?;
    Some(ShellExecution { exit_code })
}
