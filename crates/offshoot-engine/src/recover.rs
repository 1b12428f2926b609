//! Recovery of a tree whose owner died (R16).
//!
//! For each agent, children first: mail goes into the calls that wait for it,
//! other open calls are answered as interrupted (nothing is rerun), mail that
//! wakes no agent is written down, the run settles as lost. The turn of a root that
//! asks a person something stays open, with every call of it that has not started:
//! it sleeps until the session is opened.
//! One append an agent, derived from the log alone, so that dying half way and
//! starting again is the same as not dying. Recovery starts no turn.

use offshoot_types::env::Env;
use offshoot_types::event::{Event, TurnEnd};
use offshoot_types::hook::Hooks;
use offshoot_types::id::{AgentId, MessageId, RunId};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::settlement::Status;
use offshoot_types::tree::{Agent, Ask, Mail, OpenCall, Tree};

use crate::hooks::announce;
use crate::sabotage::{Bug, planted};
use crate::{settle, unread};

/// What a lost run's settlement says.
const WHY: &str = "its process ended before it was done";

/// Returns the agents of a tree in the order they are recovered: by depth, the deepest together first.
pub(crate) fn levels(tree: &Tree) -> Vec<Vec<AgentId>> {
    let mut levels: Vec<Vec<AgentId>> = Vec::new();
    for id in tree.walk().into_iter().chain(tree.helpers()) {
        let depth = tree
            .agent(id)
            .map_or(0, |agent| agent.spawned.depth as usize);
        if levels.len() <= depth {
            levels.resize(depth + 1, Vec::new());
        }
        levels[depth].push(id.clone());
    }
    if !planted(Bug::RecoverParentsFirst) {
        levels.reverse();
    }
    levels
}

/// Returns what has to be written for one agent; empty when it needs nothing.
pub(crate) fn events(tree: &Tree, id: &AgentId, env: &dyn Env, hooks: &Hooks) -> Vec<Event> {
    let Some(agent) = tree.agent(id) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    let survives = survives(agent) && !planted(Bug::AskLost);
    for open in agent.open_calls() {
        let stays = !open.started && (open.asks.is_some() || !planted(Bug::UnstartedClosed));
        if !(survives && stays) {
            events.push(close(tree, open));
        }
    }
    if survives {
        return events;
    }
    if let Some(running) = &agent.turn {
        events.push(Event::TurnEnded {
            turn: running.turn,
            end: TurnEnd::Lost,
        });
    }
    tell(tree, agent, env, &mut events);
    if let Some(run) = agent.open_run() {
        let status = Status::Lost {
            why: WHY.to_owned(),
        };
        let mut settlement = settle::settlement(&agent.tally, status, env.now());
        let mut tally = agent.tally.clone();
        events.iter().for_each(|event| tally.take(event));
        settlement.unread = unread::below(tree, id, &tally);
        events.push(Event::Settled {
            run,
            settlement,
            untold: announce::is_due(hooks, agent, &agent.tally) && !planted(Bug::LostWithoutStop),
        });
    }
    events
}

/// Tells whether a turn outlives its process: that of a root which has asked somebody something.
/// A child's does not, for its parent waits no longer.
pub(crate) fn survives(agent: &Agent) -> bool {
    let asks = |open: &&OpenCall| {
        let is_lost = |ask: &Ask| ask.waits_for_client && planted(Bug::ClientCallLost);
        open.asks.as_ref().is_some_and(|ask| !is_lost(ask))
    };
    agent.spawned.is_root() && agent.turn.is_some() && agent.open_calls().iter().any(asks)
}

/// Answers an open call: by the child it waits for, or as interrupted.
pub(crate) fn close(tree: &Tree, open: &OpenCall) -> Event {
    let call = open.call.clone();
    let told = open.child.as_ref().and_then(|child| {
        let run = RunId::first(child.clone());
        let (_, settlement) = tree.run(&run)?.settled.as_ref()?;
        let outcome = settle::outcome(child, tree.agent(child)?, settlement);
        Some((outcome, vec![run]))
    });
    let (outcome, delivers) = told.unwrap_or_else(|| {
        let text = if open.started {
            "interrupted: the process ended while this ran, and whether it had an effect is unknown"
        } else {
            "interrupted: the process ended before this ran"
        };
        (Outcome::error(ErrorKind::Interrupted, text), Vec::new())
    });
    Event::CallFinished {
        call,
        outcome,
        delivers,
    }
}

/// Writes down mail that wakes nobody. Other mail waits for the next turn.
fn tell(tree: &Tree, agent: &Agent, env: &dyn Env, events: &mut Vec<Event>) {
    for Mail { run, .. } in agent.mail.values().filter(|mail| !mail.wakes) {
        let settled = tree.run(run).and_then(|run| run.settled.as_ref());
        let told_in_call = tree.waiting_call(run).is_some();
        if let (Some((_, settlement)), Some(child), false) =
            (settled, tree.agent(&run.agent), told_in_call)
        {
            let message = MessageId::new(env.new_id());
            let told = settle::completion(message, run, child, settlement);
            if planted(Bug::AwaitedToldTwice)
                && matches!(told, Event::Completion { quiet: true, .. })
            {
                events.push(told.clone());
            }
            events.push(told);
        }
    }
}
