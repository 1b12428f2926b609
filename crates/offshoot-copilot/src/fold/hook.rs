//! What a hook did, as the two events that bracket its call.

use offshoot_types::event::{Did, Hooked};
use offshoot_types::hook::Point;

use crate::wire::Body;
use crate::wire::hook::{End, Error, Output, Start};

/// Returns the events of what a hook did; `id` is its place in the log.
pub(super) fn bodies(id: &str, hooked: &Hooked) -> Vec<Body> {
    let Hooked {
        hook,
        point,
        call,
        did,
        note,
        context: _,
        arguments: _,
        by_host: _,
    } = hooked;
    let (hook_invocation_id, hook_type) = (id.to_owned(), hook_type(*point));
    let start = Start {
        hook_invocation_id: hook_invocation_id.clone(),
        hook_type,
        hook: hook.clone(),
        tool_call_id: call.clone(),
    };
    let (did, reason, error) = match did {
        Did::Passed => ("passed", None, None),
        Did::Told => ("told", None, None),
        Did::Asked { reason } => ("asked", Some(reason), None),
        Did::Refused { reason } => ("refused", Some(reason), None),
        Did::Stopped { reason } => ("stopped", Some(reason), None),
        Did::Failed { why } => ("failed", None, Some(why)),
    };
    let output = Output {
        did,
        reason: reason.cloned(),
        note: note.clone(),
    };
    let end = End {
        hook_invocation_id,
        hook_type,
        success: error.is_none(),
        output: error.is_none().then_some(output),
        error: error.map(|why| Error {
            message: why.clone(),
        }),
    };
    vec![Body::HookStart(start), Body::HookEnd(end)]
}

/// Returns the wire's word for a point.
fn hook_type(point: Point) -> &'static str {
    match point {
        Point::PreToolUse => "preToolUse",
        Point::PostToolUse => "postToolUse",
        Point::PostToolUseFailure => "postToolUseFailure",
        Point::PermissionRequest => "permissionRequest",
        Point::UserPromptSubmit => "userPromptSubmitted",
        Point::SessionStart => "sessionStart",
        Point::SessionEnd => "sessionEnd",
        Point::Stop => "agentStop",
        Point::SubagentStart => "subagentStart",
        Point::SubagentStop => "subagentStop",
        Point::PreCompact => "preCompact",
        Point::Notification => "notification",
    }
}
