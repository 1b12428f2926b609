//! What an agent should do now (R17).
//!
//! A pure function of the log, apart from whether the run was told to stop.
//! There is no flag that could be forgotten, so after any crash, and after any
//! race between a settlement and a wake, asking again gives the right answer.

use offshoot_types::id::{AgentId, MessageId, RunId};
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::tree::{Agent, Tree};

use crate::limits::Limits;
use crate::sabotage::{Bug, planted};
use crate::settle;

/// What an agent should do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A turn has begun: run it.
    Run,
    /// Begin a turn, with all mail in front of it.
    Start {
        /// The prompt it consumes; none when mail wakes the agent.
        prompt: Option<MessageId>,
    },
    /// Write mail down without a turn.
    Tell(Vec<RunId>),
    /// Settle the open run.
    Settle(Status),
    /// Wait for children.
    Wait,
    /// Nothing.
    Rest,
}

/// Tells whether nothing of a tree runs and nothing wants to (R19).
///
/// Judged where a commit ends: between two entries of one commit a tree may look quiet.
pub fn is_quiet(tree: &Tree, limits: &Limits) -> bool {
    let rests = |id: &AgentId| match next(tree, id, limits, None) {
        Next::Rest | Next::Tell(_) => true,
        Next::Run | Next::Start { .. } | Next::Settle(_) | Next::Wait => false,
    };
    tree.open_runs() == 0 && tree.walk().into_iter().all(rests)
}

/// Returns what an agent should do now; `stopped` says whether its run was told to stop, and by whom.
pub(crate) fn next(
    tree: &Tree,
    id: &AgentId,
    limits: &Limits,
    stopped: Option<CancelledBy>,
) -> Next {
    let Some(agent) = tree.agent(id) else {
        return Next::Rest;
    };
    if agent.turn.is_some() {
        return Next::Run;
    }
    let held = is_held(agent);
    if !is_stopping(agent, stopped)
        && !held
        && let Some(prompt) = agent.queue.front().filter(|_| !agent.paused)
    {
        return Next::Start {
            prompt: Some(prompt.clone()),
        };
    }
    if agent.waking_mail > 0 && may_wake(agent, stopped) && !held {
        if agent.wakes < limits.wakes {
            return Next::Start { prompt: None };
        }
        return Next::Tell(all_mail(agent));
    }
    if planted(Bug::AwaitedChildWakes) && agent.mail.len() > agent.waking_mail && !held {
        return Next::Start { prompt: None };
    }
    if agent.mail.len() > agent.waking_mail {
        return Next::Tell(quiet_mail(agent));
    }
    if agent.open_run().is_none() {
        return Next::Rest;
    }
    if !agent.open_children.is_empty() && !planted(Bug::SettleBeforeChildren) {
        return Next::Wait;
    }
    Next::Settle(settle::status(&agent.tally, stopped))
}

/// Tells whether the host waits for a child of the agent: no turn begins before that child has ended.
pub(crate) fn is_held(agent: &Agent) -> bool {
    agent.held_by > 0 && !planted(Bug::TurnBesideAwaitedChild)
}

/// Tells whether the open run was told to stop. What comes next is for the next run.
fn is_stopping(agent: &Agent, stopped: Option<CancelledBy>) -> bool {
    agent.open_run().is_some() && stopped.is_some()
}

/// Tells whether mail may start a turn: not of a run that is stopping, nor of an agent that was
/// cancelled or lost. Their mail waits for their next run (R18).
fn may_wake(agent: &Agent, stopped: Option<CancelledBy>) -> bool {
    match agent.settlement() {
        Some(settlement) => settlement.status.wakes(),
        None => !is_stopping(agent, stopped),
    }
}

/// Returns mail that is only written down.
fn quiet_mail(agent: &Agent) -> Vec<RunId> {
    let quiet = agent.mail.values().filter(|mail| !mail.wakes);
    quiet.map(|mail| mail.run.clone()).collect()
}

/// Returns all mail, in the order it settled.
pub(crate) fn all_mail(agent: &Agent) -> Vec<RunId> {
    agent.mail.values().map(|mail| mail.run.clone()).collect()
}
