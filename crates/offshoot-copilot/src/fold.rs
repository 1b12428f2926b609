//! The log as wire events: a pure fold.
//!
//! The same entries give the same events with the same ids, whoever folds them
//! and when; what an entry gives depends on nothing but it and those before it.
//! Deltas are shown and never stored, so they are no link of the `parentId`
//! chain. A turn of the wire is a step of ours: it ends when the calls of one
//! message have their outcomes. `docs/events.md` has the whole vocabulary.

mod agent;
mod birth;
mod call;
mod ending;
mod hook;
mod live;
mod permission;
mod question;
#[cfg(test)]
mod tests;
mod tool_call_ids;

use std::collections::{HashMap, HashSet};

use offshoot_types::date::iso;
use offshoot_types::event::{Compaction, Entry, Event, Parent, Spawned, TurnEnd};
use offshoot_types::id::{AgentId, Pos, RunId, RunNo, Timestamp, TreeId};
use offshoot_types::live::{Delta, Output};
use offshoot_types::settlement::{Settlement, Status};
use offshoot_types::tree::Unfinished;
use uuid::Uuid;

use crate::wire::{Body, WireEvent, session};
use agent::{Agent, Birth};
use live::Live;
use tool_call_ids::ToolCallIds;

/// Where the ids of our events come from.
const NAMESPACE: Uuid = Uuid::from_u128(0x9d0b_6c1e_54b1_5f6a_8a3e_0c7f_5e0d_4f21);

/// Folds the log of one tree into wire events.
pub struct Fold {
    tree: TreeId,
    /// The last event that is stored.
    last: Option<Uuid>,
    pos: Pos,
    /// Events since `pos` that are not stored.
    shown: u64,
    agents: HashMap<AgentId, Agent>,
    live: Live,
    calls: ToolCallIds,
    /// Runs that will start a turn of the root and have not yet.
    mail: HashSet<RunId>,
    /// Children of what was taken back: what they still do wakes nobody.
    dropped: HashSet<AgentId>,
    /// How the root's last run ended.
    ended: Option<Status>,
}

impl Fold {
    /// A fold of a log from its beginning.
    pub fn new(tree: TreeId) -> Self {
        Self {
            tree,
            last: None,
            pos: Pos::ZERO,
            shown: 0,
            agents: HashMap::new(),
            live: Live::default(),
            calls: ToolCallIds::default(),
            mail: HashSet::new(),
            dropped: HashSet::new(),
            ended: None,
        }
    }

    /// Takes the next entry and returns its events.
    pub fn entry(&mut self, entry: &Entry) -> Vec<WireEvent> {
        self.pos = entry.pos;
        self.shown = 0;
        let bodies = self.bodies(entry);
        let mut events = Vec::with_capacity(bodies.len());
        // What a helper does is done by whom it works for.
        let agent = helped(entry).unwrap_or(&entry.agent);
        for (index, body) in bodies.into_iter().enumerate() {
            let name = format!("{}/{}/{index}", self.tree, entry.pos);
            events.push(self.envelope(&name, entry.at, agent, body));
        }
        events
    }

    /// Returns the events of a piece of a message; none if it was given before.
    pub fn delta(&mut self, delta: &Delta, at: Timestamp) -> Vec<WireEvent> {
        let parent_call = self.agents.get(&delta.agent).and_then(Agent::parent_call);
        let bodies = self.live.delta(delta, parent_call);
        let events = bodies.into_iter();
        events
            .map(|body| self.unstored(at, &delta.agent, body))
            .collect()
    }

    /// Returns the event for what a call says while it runs; none if it was given before.
    pub fn output(&mut self, output: &Output, at: Timestamp) -> Option<WireEvent> {
        let call = self.calls.of(&output.agent, &output.call);
        let body = self.live.output(output, call)?;
        Some(self.unstored(at, &output.agent, body))
    }

    /// Returns the event for what an agent's run came across that is not in the log.
    pub fn notice(&mut self, agent: &AgentId, text: &str, at: Timestamp) -> WireEvent {
        let body = Body::Notice(session::Warning {
            warning_type: "context",
            message: text.to_owned(),
        });
        self.unstored(at, agent, body)
    }

    /// Returns the event for what a hook did that is not in the log.
    pub fn hook_notice(&mut self, agent: &AgentId, text: &str, at: Timestamp) -> WireEvent {
        let body = Body::Notice(session::Warning {
            warning_type: "hook",
            message: text.to_owned(),
        });
        self.unstored(at, agent, body)
    }

    /// Returns the event that says the tree is quiet.
    pub fn idle(&mut self, at: Timestamp, unfinished: &Unfinished) -> WireEvent {
        let root = self.tree.root().clone();
        let body = Body::SessionIdle(ending::idle(self.ended.as_ref(), unfinished));
        self.unstored(at, &root, body)
    }

    fn unstored(&mut self, at: Timestamp, agent: &AgentId, body: Body) -> WireEvent {
        self.shown += 1;
        let name = format!("{}/{}/shown/{}", self.tree, self.pos, self.shown);
        self.envelope(&name, at, agent, body)
    }

    fn envelope(&mut self, name: &str, at: Timestamp, agent: &AgentId, body: Body) -> WireEvent {
        let id = Uuid::new_v5(&NAMESPACE, name.as_bytes());
        let ephemeral = body.is_ephemeral();
        let parent_id = self.last;
        if !ephemeral {
            self.last = Some(id);
        }
        let of_root = agent == self.tree.root() || body.is_of_session();
        WireEvent {
            id,
            timestamp: iso(at),
            parent_id,
            session_id: self.tree.root().clone(),
            agent_id: (!of_root).then(|| agent.clone()),
            ephemeral: ephemeral.then_some(true),
            body,
        }
    }

    fn bodies(&mut self, entry: &Entry) -> Vec<Body> {
        let event = self.calls.rewrite(&entry.agent, &entry.event);
        if let Event::Spawned(spawned) = event.as_ref() {
            return self.born(entry, spawned);
        }
        for run in event.delivers() {
            self.mail.remove(run);
        }
        // A log without an agent's birth is refused before it gets here.
        let Some(agent) = self.agents.get_mut(&entry.agent) else {
            return Vec::new();
        };
        match event.as_ref() {
            Event::Spawned(_) => Vec::new(),
            Event::Prompted(message) => agent.prompted(message),
            Event::Completion {
                run,
                definition,
                call,
                settlement,
                ..
            } => {
                let told = self.agents.get(&run.agent);
                let about = told.map_or("", |agent| agent.description());
                let kind = ending::kind(run, definition, about, &settlement.status);
                vec![Body::Notification(session::Notification {
                    content: ending::content(run, definition, settlement),
                    kind,
                    tool_call_id: call.clone(),
                    subagent: settlement.metadata(&run.agent, definition),
                })]
            }
            Event::TurnStarted { prompt, .. } => agent.turn_started(prompt.as_ref()),
            Event::Steered { prompt } => agent.taken_up(prompt),
            Event::Became(_) => Vec::new(),
            Event::Titled { title, .. } => vec![Body::TitleChanged {
                title: title.clone(),
            }],
            Event::Summarised { summary } => vec![Body::Info(session::Info {
                info_type: "summary",
                message: summary.clone(),
            })],
            Event::Hooked(hooked) => {
                agent.rewritten(hooked);
                hook::bodies(&format!("{}-{}", self.pos, self.tree), hooked)
            }
            Event::Compacted(compaction) => compacted(compaction),
            Event::Rewound { hides, drops, .. } => {
                self.dropped.extend(drops.iter().cloned());
                let mut bodies = agent.rewound(hides);
                bodies.push(Body::Info(session::Info {
                    info_type: "rewind",
                    message: format!("{} messages are hidden", hides.len()),
                }));
                bodies
            }
            Event::Replied(message) => {
                self.live.said(&entry.agent);
                agent.replied(message)
            }
            Event::ClientTools { .. } | Event::RoleChosen(_) => Vec::new(),
            Event::Asked {
                call,
                waits_for_client: true,
                ..
            } => agent.waits_for_client(call),
            Event::Asked {
                call, questions, ..
            } if !questions.is_empty() => agent.wonders(call, questions),
            Event::Asked { call, needs, .. } => agent.asked(call, needs),
            Event::Decided {
                call,
                decision,
                grant,
                reason,
            } => agent.decided(call, decision, grant.is_some(), reason.as_deref()),
            Event::CallStarted { call, .. } => agent.call_started(call),
            Event::CallFinished { call, outcome, .. } => {
                self.live.finished(&entry.agent, call);
                agent.call_finished(call, outcome)
            }
            Event::TurnEnded { end, .. } => self.turn_ended(&entry.agent, end),
            Event::Settled {
                run, settlement, ..
            } => self.settled(&entry.agent, *run, settlement),
        }
    }

    fn born(&mut self, entry: &Entry, spawned: &Spawned) -> Vec<Body> {
        if spawned.helper().is_some() {
            return birth::bodies(&self.tree, entry, spawned);
        }
        let agent = Agent::born(Birth {
            tree: &self.tree,
            id: &entry.agent,
            spawned,
        });
        self.agents.insert(entry.agent.clone(), agent);
        birth::bodies(&self.tree, entry, spawned)
    }

    fn turn_ended(&mut self, id: &AgentId, end: &TurnEnd) -> Vec<Body> {
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        let mut bodies = agent.turn_ended(end);
        // Mail does not wake who was stopped.
        let aborted = matches!(end, TurnEnd::Aborted(_));
        let rests = !agent.has_queue() && (aborted || self.mail.is_empty());
        if id == self.tree.root() && rests {
            bodies.push(ending::assistant_idle(aborted));
        }
        bodies
    }

    fn settled(&mut self, id: &AgentId, run: RunNo, settlement: &Settlement) -> Vec<Body> {
        if id == self.tree.root() {
            self.ended = Some(settlement.status.clone());
        }
        let Some(agent) = self.agents.get_mut(id) else {
            return Vec::new();
        };
        let totals = agent.settled(settlement);
        let Some(made) = agent.parent().cloned() else {
            return Vec::new();
        };
        let Parent {
            agent: parent,
            call,
            ..
        } = made.clone();
        let ended = ending::subagent(&agent.spawned, call, totals, settlement);
        let tells = parent == *self.tree.root() && !self.dropped.contains(id);
        // What the host waits for starts no turn of the root.
        if tells && settlement.status.wakes() && !made.is_awaited_by_host() {
            let agent = id.clone();
            self.mail.insert(RunId { agent, run });
        }
        if let Some(parent) = self.agents.get_mut(&parent) {
            parent.has_spent(totals);
        }
        vec![ended, Body::TasksChanged {}]
    }
}

/// Returns whom an agent helps that is born with an entry.
fn helped(entry: &Entry) -> Option<&AgentId> {
    let Event::Spawned(spawned) = &entry.event else {
        return None;
    };
    Some(&spawned.helper()?.of)
}

fn compacted(compaction: &Compaction) -> Vec<Body> {
    let warning = compaction.warning.clone().map(|message| {
        Body::Warning(session::Warning {
            warning_type: "compaction",
            message,
        })
    });
    let done = Body::CompactionComplete(session::Compacted {
        success: true,
        summary_content: compaction.summary.clone(),
        tail_start_id: compaction.tail_start.clone(),
        auto: compaction.auto,
        summary_tokens: compaction.summary_tokens,
    });
    warning.into_iter().chain([done]).collect()
}
