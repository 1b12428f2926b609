//! What becomes of prompts: each one that was acknowledged is taken up, or taken back by a rewind
//! that was ordered after it. A prompt that requires another agent opens its turn with one call of the
//! runtime's own, and an immediate prompt enters a turn of the root at its next step.
//!
//! The log cannot tell which of a prompt and a rewind was ordered first, so one act of the person
//! orders a rewind that waits for children and prompts the same agent through the same process
//! while it waits.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offshoot_types::command::{Command, Order, Prompt, Receipt, Rewind};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId, Pos};
use offshoot_types::message::Delegation;
use offshoot_types::tree::Agent;

use super::world::{PATIENCE, World};

/// How long after the rewind the prompt is sent: a rewind that is sent to the owner is in the
/// session's queue by then.
const BEHIND: Duration = Duration::from_millis(300);

impl World {
    /// Returns a prompt that is immediate, or says something about delegation, or both.
    pub(super) fn some_special_prompt(&mut self) -> Order {
        let names = ["worker", "watched", "thrifty"];
        let name = names[self.chance.below(names.len())].to_owned();
        let delegation = match self.chance.below(8) {
            0..=2 => Some(Delegation::Require {
                agent: name,
                background: self.chance.one_in(2),
            }),
            3 => Some(Delegation::Disable),
            4 => Some(Delegation::Prefer {
                agent: name,
                background: None,
            }),
            _ => None,
        };
        Order::Prompt(Prompt {
            immediate: delegation.is_none() || self.chance.one_in(4),
            delegation,
            ..self.words("go")
        })
    }

    /// Orders a rewind and prompts its agent while the rewind waits for children to end.
    pub(super) async fn prompt_behind_a_rewind(&mut self) -> Result<(), String> {
        let mut processes = self.processes.iter();
        let owner = processes.position(|process| process.runtime.is_run_here(&self.tree));
        let Some(index) = owner else {
            return Ok(());
        };
        let pending = self.disk.read(|backend| backend.pending(&self.tree));
        let is_rewind = |command: &Command| matches!(command.order, Order::Rewind(_));
        let mut is_certain = !pending.iter().any(is_rewind);
        let agent = self.some_agent_between_turns();
        let said = self.said_by(&agent);
        let to = said.get(self.chance.below(said.len().min(2))).cloned();
        let rewind = self.make_command(agent.clone(), Order::Rewind(Rewind { to }));
        let words = self.words("go");
        let message = words.message.clone();
        let prompt = self.make_command(agent.clone(), Order::Prompt(words));
        let process = &self.processes[index];
        let both = async {
            let late = async {
                tokio::time::sleep(BEHIND).await;
                process.runtime.command(prompt.clone()).await
            };
            tokio::join!(process.runtime.command(rewind.clone()), late)
        };
        is_certain &= tokio::select! {
            biased;
            () = process.power.died.notified() => false,
            (rewound, prompted) = Box::pin(both) => {
                let is_queued = |receipt: &Receipt| *receipt == Receipt::Queued;
                rewound.is_ok_and(|receipt| !is_queued(&receipt)) && prompted.is_ok()
            }
            () = tokio::time::sleep(PATIENCE) => false,
        };
        is_certain &= !self.witness.stolen.load(Ordering::Relaxed);
        // Sent again, they are answered with the receipts they have.
        self.send_all(vec![rewind, prompt]).await?;
        let log = self.disk.read(|backend| backend.agent_log(&agent));
        if is_certain && log.iter().any(|entry| hides(&entry.event, &message)) {
            return Err(format!(
                "{message} of {agent} was hidden by a rewind that was ordered before it"
            ));
        }
        Ok(())
    }

    /// Prompts a settled child while its parent is in a turn: the run that this opens may have its
    /// parent's settlement refused (R18).
    pub(super) async fn prompt_a_settled_child(&mut self) -> Result<(), String> {
        for _ in 0..20 {
            if let Some(child) = self.settled_below_a_turn() {
                let late = Duration::from_micros(self.chance.draw() % 20_000);
                tokio::time::sleep(late).await;
                let wish = (child, self.prompt("more"));
                return self.send(vec![wish]).await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Prompts a settled grandchild and takes back the call that made its parent: the rewind has to
    /// stop the run that the prompt has opened.
    pub(super) async fn rewind_above_a_late_run(&mut self) -> Result<(), String> {
        let Some((top, grandchild)) = self.settled_grandchild() else {
            return Ok(());
        };
        let prompt = self.prompt("more");
        self.send(vec![(grandchild, prompt)]).await?;
        let to = self.said_by(&top).first().cloned();
        let rewind = Order::Rewind(Rewind { to });
        self.send(vec![(top, rewind)]).await
    }

    /// Returns an agent between turns, and a settled child of a settled child of it.
    fn settled_grandchild(&self) -> Option<(AgentId, AgentId)> {
        let tree = self.tree_on_disk();
        let settled = |id: &AgentId| tree.agent(id).is_some_and(|it| it.settlement().is_some());
        let parent = |id: &AgentId| Some(tree.agent(id)?.parent()?.agent.clone());
        let pair = |id: &AgentId| {
            let child = parent(id).filter(|child| settled(id) && settled(child))?;
            let top = parent(&child)?;
            let rests = tree.agent(&top)?.turn.is_none();
            rests.then(|| (top, id.clone()))
        };
        let pairs: Vec<_> = tree.walk().into_iter().filter_map(pair).collect();
        pairs.get(self.chance.below(pairs.len())).cloned()
    }

    fn settled_below_a_turn(&self) -> Option<AgentId> {
        let tree = self.tree_on_disk();
        let works = |id: &AgentId| tree.agent(id).is_some_and(|agent| agent.turn.is_some());
        let is_settled = |id: &&&AgentId| {
            let agent = tree.agent(id);
            agent.is_some_and(|agent| {
                let parent = agent.parent();
                agent.settlement().is_some() && parent.is_some_and(|it| works(&it.agent))
            })
        };
        let agents = tree.walk();
        let settled: Vec<&&AgentId> = agents.iter().filter(is_settled).collect();
        let some = settled.get(self.chance.below(settled.len()))?;
        Some((**some).clone())
    }
}

fn hides(event: &Event, message: &MessageId) -> bool {
    matches!(event, Event::Rewound { hides, .. } if hides.contains(message))
}

/// A prompt that is in the log of an agent was consumed by a turn, or steered one, or was taken back;
/// or it waits because the turn before it failed (QUE-05).
pub(super) fn is_taken_up(agent: Option<&Agent>, log: &[Entry], prompt: &MessageId) -> bool {
    let takes = |entry: &Entry| match &entry.event {
        Event::TurnStarted {
            prompt: Some(taken),
            ..
        }
        | Event::Steered { prompt: taken } => taken == prompt,
        event => hides(event, prompt),
    };
    let waits = agent.is_some_and(|agent| agent.paused && agent.queue.contains(prompt));
    waits || log.iter().any(takes)
}

/// A turn whose prompt requires another agent begins with one message of the runtime's own, with one
/// `task` call. There is no such message anywhere else. What was copied has turns of its own making.
pub(super) fn own_calls_open_turns(entries: &[Entry], copied: Pos) -> Result<(), String> {
    let mut required: BTreeSet<&MessageId> = BTreeSet::new();
    let mut opening: BTreeSet<&AgentId> = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.pos > copied) {
        let agent = &entry.agent;
        match &entry.event {
            Event::Prompted(message) => {
                if let Some(Delegation::Require { .. }) = message.delegation {
                    required.insert(&message.id);
                }
            }
            Event::TurnStarted {
                prompt: Some(prompt),
                ..
            } if required.contains(prompt) => {
                opening.insert(agent);
            }
            Event::TurnEnded { .. } => {
                opening.remove(agent);
            }
            Event::Replied(message) => {
                let tools: Vec<&str> = message.calls().map(|call| call.tool.as_str()).collect();
                let is_own = message.by_runtime && tools == ["task"];
                if opening.remove(agent) != is_own || message.by_runtime != is_own {
                    let id = &message.id;
                    return Err(format!(
                        "{id} of {agent} is not what its turn has to open with"
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// How long the disk may take to tell the actor of a prompt that is in the log, in milliseconds: two
/// pauses.
const ANSWERED_WITHIN: u64 = 10;

/// An immediate prompt that its actor knew of when a step began is in the turn by then. Of two replies
/// that follow the prompt in one turn, the step of the second began behind it.
pub(super) fn immediate_at_next_step(entries: &[Entry]) -> Result<(), String> {
    let own = entries
        .iter()
        .filter(|entry| entry.tree.root() == &entry.agent);
    // Immediate prompts that wait: whether a running turn may take them, when the actor knows of them at
    // the latest, and replies since.
    let mut waiting: Vec<(&MessageId, bool, u64, usize)> = Vec::new();
    for entry in own {
        match &entry.event {
            Event::Prompted(message) if message.immediate => {
                let known = entry.at.get() + ANSWERED_WITHIN;
                waiting.push((&message.id, message.fits_running_turn(), known, 0));
            }
            Event::TurnStarted { prompt, .. } => {
                waiting.retain(|(id, ..)| prompt.as_ref() != Some(id));
                waiting.iter_mut().for_each(|(.., replies)| *replies = 0);
            }
            Event::Steered { prompt } => waiting.retain(|(id, ..)| *id != prompt),
            Event::Rewound { hides, .. } => waiting.retain(|(id, ..)| !hides.contains(id)),
            Event::Replied(_) => {
                // The rest waits behind one that waits for a turn of its own.
                for (id, fits, known, replies) in &mut waiting {
                    if !*fits {
                        break;
                    }
                    *replies += usize::from(entry.at.get() > *known);
                    if *replies > 1 {
                        return Err(format!("{id} was passed by a step that began after it"));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}
