//! Hooks about what has happened already: told after the commit, by the session.
//!
//! Nobody waits for a notice but whoever lets the session go, and nothing follows
//! from what a hook says to one; what goes wrong is published and not stored,
//! because the agent's log has another writer. Where nobody follows the session,
//! the host is told. A notice is lost with its process; the end of a run is none
//! (`announce`).

use std::sync::Arc;
use std::time::Duration;

use offshoot_types::event::{Did, Entry, Event, Hooked};
use offshoot_types::hook::{Hooks, Occasion, Point, What};
use offshoot_types::permission::Need;
use offshoot_types::question::Question;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{AT_A_TIME, Caller, call, who};
use crate::agent::Agent;
use crate::board::{Board, State};
use crate::update::Update;

/// Returns what hooks are told of an entry that was committed.
pub(crate) fn of(hooks: &Hooks, state: &State, entry: &Entry) -> Option<Occasion> {
    let Event::Asked {
        needs,
        questions,
        // A client is waited for, and no person.
        waits_for_client: false,
        ..
    } = &entry.event
    else {
        return None;
    };
    if !hooks.is_watched(Point::Notification) {
        return None;
    }
    let agent = state.tree.agent(&entry.agent)?;
    let message = wanted(agent.definition(), needs, questions);
    Some(Occasion {
        who: who(state, &entry.agent)?,
        what: What::Notification { message },
    })
}

/// Says what an agent wants to be allowed or told.
fn wanted(agent: &str, needs: &[Need], questions: &[Question]) -> String {
    if !questions.is_empty() {
        let asked = questions.iter().map(|question| question.question.trim());
        let asked: Vec<&str> = asked.collect();
        return format!("{agent} asks you: {}", asked.join(" "));
    }
    let needed = needs.iter().map(|need| {
        let needed = format!("{} {}", need.capability, need.target);
        needed.trim_end().to_owned()
    });
    let needed: Vec<String> = needed.collect();
    format!("{agent} needs your permission: {}", needed.join(", "))
}

/// Has the session tell hooks of something of an agent.
pub(crate) fn send(agent: &Agent, what: Vec<What>) {
    let mut state = agent.board.state();
    let Some(who) = who(&state, &agent.id) else {
        return;
    };
    let occasion = |what| Occasion {
        who: who.clone(),
        what,
    };
    state.add_notices(what.into_iter().map(occasion));
    drop(state);
    agent.board.stirred.notify_one();
}

/// Returns how hooks are told of something. It does not hold the board, and the lease with it: whoever
/// wants the tree waits for nobody's hooks.
pub(crate) fn tell(board: &Arc<Board>, occasion: Occasion) -> impl Future<Output = ()> + use<> {
    let (kit, grace) = (board.kit(), board.limits.grace);
    let telling = board.telling.clone();
    let board = Arc::downgrade(board);
    async move {
        let caller = Caller {
            hooks: &kit.hooks,
            gate: Some(&telling),
            grace,
        };
        for hooked in told(caller, &occasion).await {
            let agent = occasion.who.agent.clone();
            let board = board.upgrade().filter(|board| board.listeners() > 0);
            match board {
                Some(board) => board.publish(Update::Hooked(agent, Box::new(hooked))),
                None => kit.hooks.unheard(&agent, &hooked),
            }
        }
    }
}

/// Tells hooks what was noted on a board that is not there any more; nobody follows it either.
pub(crate) async fn tell_without_a_board(hooks: &Hooks, grace: Duration, noted: Vec<Occasion>) {
    let gate = Semaphore::new(AT_A_TIME);
    let caller = Caller {
        hooks,
        gate: Some(&gate),
        grace,
    };
    let each = noted.iter().map(|occasion| async move {
        for hooked in told(caller, occasion).await {
            hooks.unheard(&occasion.who.agent, &hooked);
        }
    });
    futures_util::future::join_all(each).await;
}

/// Calls hooks about something; returns what they did that is worth knowing.
async fn told(caller: Caller<'_>, occasion: &Occasion) -> Vec<Hooked> {
    // Whoever lets go of this ends them.
    let never = CancellationToken::new();
    let mut heard = call(caller, occasion, &never).await;
    heard
        .hooked
        .retain(|hooked| hooked.did != Did::Passed || hooked.note.is_some());
    heard.hooked
}
