//! How turns and runs end, and how those who wait for them are told.

use offshoot_types::event::{Spawned, TurnEnd};
use offshoot_types::id::{CallId, MessageId, RunId};
use offshoot_types::settlement::{FailureKind, PartialReason, Settlement, Status};
use offshoot_types::tree::Unfinished;

use super::agent::Totals;
use crate::wire::Body;
use crate::wire::assistant;
use crate::wire::session::{Abort, Error, Idle, NotificationKind, Warning};
use crate::wire::subagent::Ended;

/// Returns the event that says why a turn ended; none if the model had no more calls.
pub(super) fn why(end: &TurnEnd, prompt: Option<&MessageId>) -> Option<Body> {
    let error = |error_type, message: String| {
        Body::Error(Error {
            error_type,
            message,
            originating_message_id: prompt.cloned(),
        })
    };
    match end {
        TurnEnd::Finished => None,
        TurnEnd::HandedBack(cap) | TurnEnd::Exhausted(cap) => {
            let reason = Status::Partial(PartialReason::Budget(*cap)).reason();
            Some(Body::Warning(Warning {
                warning_type: "limit",
                message: reason.unwrap_or_default(),
            }))
        }
        TurnEnd::Aborted(by) => Some(Body::Abort(Abort {
            reason: "user_initiated",
            by: *by,
        })),
        TurnEnd::Failed { kind, message } => Some(error(error_type(*kind), message.clone())),
        TurnEnd::Denied { reason } => Some(error("hook", reason.clone())),
        TurnEnd::Lost => {
            let message = "the process that ran this turn died".to_owned();
            Some(error("lost", message))
        }
    }
}

/// Returns the wire's word where it has one.
fn error_type(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Model => "query",
        FailureKind::RateLimited => "rate_limit",
        FailureKind::TooLong => "context_length",
        FailureKind::Config => "config",
        FailureKind::Internal => "internal",
    }
}

/// Returns the event that says that the root has nothing to do, whatever its children do.
pub(super) fn assistant_idle(aborted: bool) -> Body {
    let aborted = aborted.then_some(true);
    Body::AssistantIdle(assistant::Idle { aborted })
}

/// Returns what is said when nothing of a tree has anything to do.
pub(super) fn idle(ended: Option<&Status>, unfinished: &Unfinished) -> Idle {
    let aborted = matches!(ended, Some(Status::Cancelled(_)));
    let limits = unfinished.by_limit().into_iter();
    Idle {
        aborted: aborted.then_some(true),
        status: ended.map(Status::word),
        reason: ended.and_then(Status::reason),
        stopped_by_limits: limits
            .map(|(limit, agents)| (limit.word(), agents))
            .collect(),
        unanswered_requests: unfinished.unanswered,
        unread_results: unfinished.unread,
    }
}

/// Returns the event of a child whose run is over.
pub(super) fn subagent(
    spawned: &Spawned,
    tool_call_id: CallId,
    totals: Totals,
    settlement: &Settlement,
) -> Body {
    let status = &settlement.status;
    let error = if answered(status) || matches!(status, Status::Cancelled(_)) {
        None
    } else {
        Some(status.reason().unwrap_or_default())
    };
    let failed = error.is_some();
    let ended = Ended {
        tool_call_id,
        agent_name: spawned.definition.clone(),
        agent_display_name: spawned.definition.clone(),
        model: spawned.model.clone(),
        total_tool_calls: totals.calls,
        total_tokens: (totals.tokens > 0).then_some(totals.tokens),
        duration_ms: settlement.duration_ms,
        cancelled: matches!(status, Status::Cancelled(_)).then_some(true),
        error,
        status: status.word(),
        reason: status.reason(),
        total_cost_usd: totals.cost,
    };
    if failed {
        Body::SubagentFailed(ended)
    } else {
        Body::SubagentCompleted(ended)
    }
}

/// Returns the words that tell a parent of a run that it did not wait for.
pub(super) fn content(run: &RunId, definition: &str, settlement: &Settlement) -> String {
    let outcome = settlement.status.word();
    let mut content = format!("Agent {definition} ({}) ended: {outcome}", run.agent);
    if let Some(reason) = settlement.status.reason() {
        content.push_str(&format!(" ({reason})"));
    }
    if let Some(output) = &settlement.output {
        content.push('\n');
        content.push_str(output);
    }
    content
}

/// Returns which notification a parent gets of a run that it did not wait for.
pub(super) fn kind(
    run: &RunId,
    definition: &str,
    description: &str,
    status: &Status,
) -> NotificationKind {
    let outcome = status.word();
    let (agent_id, agent_type) = (run.agent.clone(), definition.to_owned());
    let description = description.to_owned();
    if answered(status) {
        NotificationKind::AgentIdle {
            agent_id,
            agent_type,
            description,
            outcome,
        }
    } else {
        NotificationKind::AgentCompleted {
            agent_id,
            agent_type,
            description,
            status: "failed",
            outcome,
        }
    }
}

/// Tells whether a run that ended so has an answer, all of it or a part.
fn answered(status: &Status) -> bool {
    match status {
        Status::Completed | Status::Partial(_) => true,
        Status::Failed { .. }
        | Status::Cancelled(_)
        | Status::BudgetExhausted(_)
        | Status::Denied { .. }
        | Status::Lost { .. } => false,
    }
}
