//! Ends of runs that hooks are told of after the fact: nobody could have kept these runs.
//!
//! They were stopped, failed, ran out of something or were lost. The settlement
//! itself says that hooks have still to be told, and `Hooked` that they were. So a
//! process that is killed in between loses no stop: whoever has the tree next tells
//! them, and but for such a death they are told once. Nothing follows from what they
//! say; the parent has long been told. No run of an agent begins before its last one
//! was announced, so a hook hears starts and stops in their order.

use std::sync::Arc;

use offshoot_types::event::{Did, Event, Hooked};
use offshoot_types::hook::{Ending, Hooks, Occasion, Point, What};
use offshoot_types::id::AgentId;
use offshoot_types::store::StoreError;
use offshoot_types::tree::{self, Tally};
use tokio_util::sync::CancellationToken;

use super::{call, who};
use crate::board::{Board, State};
use crate::log::{AgentLog, Batch};
use crate::runtime::Parts;

/// Tells whether hooks have to be told of the end of an agent's run after it has settled: a child's, if
/// any want to hear of it and have not been asked.
pub(crate) fn is_due(hooks: &Hooks, agent: &tree::Agent, tally: &Tally) -> bool {
    agent.parent().is_some() && !tally.told && has_hearers(hooks, agent)
}

fn has_hearers(hooks: &Hooks, agent: &tree::Agent) -> bool {
    hooks.is_watched(Point::SubagentStop)
        && !hooks
            .watching(Point::SubagentStop, agent.definition())
            .is_empty()
}

impl Board {
    /// Tells whether hooks have still to be told that the last run of an agent is over, and there are
    /// any. Where there are none, they stay to be told by a process that knows some.
    pub(crate) fn has_to_announce(&self, id: &AgentId) -> bool {
        let kit = self.kit();
        let state = self.state();
        let agent = state.tree.agent(id);
        agent.is_some_and(|agent| agent.untold().is_some() && has_hearers(&kit.hooks, agent))
    }

    /// Tells whether hooks have still to be told of an end, whether or not there are any. Then the tree
    /// is dropped and not given back, so that whoever works in its folder looks at it again.
    pub(crate) fn owes_a_stop(&self) -> bool {
        let state = self.state();
        let owes = |id: &&AgentId| {
            let agent = state.tree.agent(id);
            agent.is_some_and(|agent| agent.untold().is_some())
        };
        let agents = state.tree.walk();
        agents.iter().any(owes)
    }
}

/// Tells hooks that the last run of an agent is over; returns what is to be written then.
pub(crate) async fn tell(board: &Board, id: &AgentId) -> Vec<Event> {
    let Some(occasion) = occasion(&board.state(), id) else {
        return Vec::new();
    };
    // Whoever lets go of this ends them, and they are told again.
    let never = CancellationToken::new();
    let kit = board.kit();
    let mut heard = call(board.announcer(&kit.hooks), &occasion, &never).await;
    for hooked in &mut heard.hooked {
        hooked.did = too_late(std::mem::replace(&mut hooked.did, Did::Passed));
        if board.listeners() == 0 && is_news(hooked) {
            kit.hooks.unheard(id, hooked);
        }
    }
    heard.events()
}

/// Tells hooks of all ends of a tree that they have still to be told of, where no agent is at work.
pub(crate) async fn tell_all(parts: &Parts, board: &Arc<Board>) -> Result<(), StoreError> {
    let all: Vec<AgentId> = {
        let state = board.state();
        state.tree.walk().into_iter().cloned().collect()
    };
    let untold = all.into_iter().filter(|id| board.has_to_announce(id));
    let each = untold.map(|id| async move {
        let events = tell(board, &id).await;
        let last = board.state().tree.agent(&id).map(|agent| agent.seq);
        let Some(last) = last.filter(|_| !events.is_empty()) else {
            return Ok(());
        };
        let log = AgentLog::new(parts, &board.lease, id, last);
        log.append(Batch::from(events)).await.map(drop)
    });
    futures_util::future::try_join_all(each).await.map(drop)
}

fn occasion(state: &State, id: &AgentId) -> Option<Occasion> {
    let agent = state.tree.agent(id)?;
    let settlement = agent.untold()?;
    let ending = Ending {
        status: settlement.status.word(),
        kept: agent.tally.kept > 0,
        over: true,
        said: settlement.output.clone(),
    };
    Some(Occasion {
        who: who(state, id)?,
        what: What::SubagentStop(ending),
    })
}

/// Returns what a hook did that could not do anything any more.
fn too_late(did: Did) -> Did {
    match did {
        Did::Refused { reason } => {
            let reason = Some(reason.trim()).filter(|reason| !reason.is_empty());
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            Did::Failed {
                why: format!("it wanted a run to go on that was over{reason}"),
            }
        }
        Did::Told | Did::Asked { .. } | Did::Stopped { .. } | Did::Passed => Did::Passed,
        Did::Failed { why } => Did::Failed { why },
    }
}

fn is_news(hooked: &Hooked) -> bool {
    hooked.did != Did::Passed || hooked.note.is_some()
}
