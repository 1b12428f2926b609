//! What rewinds have taken back, by the log alone and without asking the engine.
//!
//! A rewind takes the children of hidden calls with it: nobody is told of them
//! afterwards. What a model is sent is cut where a rewind says so, and nowhere
//! else.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos};
use offshoot_types::transcript::Transcript;
use offshoot_types::tree::Tree;

use super::disk::Disk;
use crate::context;
use crate::recover;

/// What an agent of a log has taken back, and what went with it.
#[derive(Default)]
pub(super) struct Hidden<'a> {
    messages: BTreeSet<(&'a AgentId, &'a MessageId)>,
    calls: BTreeSet<(&'a AgentId, &'a CallId)>,
    children: BTreeSet<&'a AgentId>,
    /// What was said in them.
    texts: BTreeMap<&'a AgentId, Vec<String>>,
    /// How often something was taken back or summed up.
    cuts: BTreeMap<&'a AgentId, usize>,
}

impl<'a> Hidden<'a> {
    /// Reads a log; fails where a rewind leaves somebody behind, or somebody is told all the same.
    pub(super) fn read(entries: &'a [Entry]) -> Result<Self, String> {
        let mut hidden = Self::default();
        let mut calls: BTreeMap<(&AgentId, &MessageId), Vec<&CallId>> = BTreeMap::new();
        let mut texts: BTreeMap<(&AgentId, &MessageId), String> = BTreeMap::new();
        let mut made: BTreeMap<(&AgentId, &CallId), &AgentId> = BTreeMap::new();
        // What the host started, by the message behind which it did.
        let mut behind: BTreeMap<(&AgentId, &MessageId), Vec<&AgentId>> = BTreeMap::new();
        for entry in entries {
            let agent = &entry.agent;
            if let Event::Replied(message) = &entry.event {
                let own = message.calls().map(|call| &call.id).collect();
                calls.insert((agent, &message.id), own);
                texts.extend(message.text().map(|text| ((agent, &message.id), text)));
            }
            if let Event::Spawned(spawned) = &entry.event
                && let Origin::Task(parent) = &spawned.origin
            {
                made.insert((&parent.agent, &parent.call), agent);
                if parent.host {
                    let behind = behind.entry((&parent.agent, &parent.message));
                    behind.or_default().push(agent);
                }
            }
            let mut told = entry.event.delivers().iter();
            if let Some(run) = told.find(|run| hidden.children.contains(&run.agent)) {
                return Err(format!(
                    "{agent} was told of {run}, which it had taken back"
                ));
            }
            if is_cut(&entry.event) {
                *hidden.cuts.entry(agent).or_default() += 1;
            }
            let Event::Rewound { hides, drops, .. } = &entry.event else {
                continue;
            };
            for message in hides {
                let text = texts.remove(&(agent, message));
                hidden.texts.entry(agent).or_default().extend(text);
                if !hidden.messages.insert((agent, message)) {
                    return Err(format!("{message} of {agent} was taken back twice"));
                }
                for &child in behind.get(&(agent, message)).into_iter().flatten() {
                    if !drops.contains(child) {
                        return Err(format!("{agent} took back {message} and kept {child}"));
                    }
                    hidden.children.insert(child);
                }
                for &call in calls.get(&(agent, message)).into_iter().flatten() {
                    hidden.calls.insert((agent, call));
                    let child = made.get(&(agent, call));
                    if let Some(child) = child.filter(|child| !drops.contains(child)) {
                        return Err(format!("{agent} took back {call} and kept {child}"));
                    }
                    hidden.children.extend(child);
                }
            }
        }
        Ok(hidden)
    }

    /// Returns what an agent has said and taken back, if a request that was sent after so many
    /// cuts may have none of it.
    pub(super) fn texts(&self, agent: &AgentId, cuts: usize) -> &[String] {
        let all = self.cuts.get(agent).copied().unwrap_or_default();
        match self.texts.get(agent) {
            Some(texts) if cuts == all => texts,
            Some(_) | None => &[],
        }
    }

    /// Tells whether what an entry tells of children is still part of the conversation.
    pub(super) fn is_told(&self, entry: &Entry) -> bool {
        let agent = &entry.agent;
        match &entry.event {
            Event::Completion { message, .. } => !self.messages.contains(&(agent, message)),
            Event::CallFinished { call, .. } => !self.calls.contains(&(agent, call)),
            Event::Rewound { .. }
            | Event::Spawned(_)
            | Event::Prompted(_)
            | Event::TurnStarted { .. }
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Replied(_)
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::TurnEnded { .. }
            | Event::Settled { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_) => false,
        }
    }
}

/// Tells whether a model is sent something else from here on than more of the same.
fn is_cut(event: &Event) -> bool {
    matches!(event, Event::Rewound { .. } | Event::Compacted(_))
}

/// Adds what children have settled with and nobody was handed yet: a model may be asked while that is
/// being written, because the log can tell it again (R15).
fn hand_over(transcript: &mut Transcript, log: &[Entry], disk: &Disk) {
    let entries = disk.read(|backend| backend.entries(&log[0].tree, Pos::ZERO, usize::MAX));
    let tree = Tree::fold(&entries).expect("the disk has a log that folds");
    let agent = tree.agent(&log[0].agent).expect("whoever asks is there");
    for open in agent.open_calls() {
        let told = recover::close(&tree, open);
        if !told.delivers().is_empty() {
            transcript.apply(&told).expect("an open call is closed");
        }
    }
}

/// How often something of an agent was taken back or summed up so far, and what of its conversation
/// is left for a model to be sent.
pub(super) fn so_far(disk: &Disk, agent: &AgentId) -> (usize, Vec<String>) {
    let log = disk.read(|backend| backend.agent_log(agent));
    let cuts = log.iter().filter(|entry| is_cut(&entry.event)).count();
    if cuts == 0 {
        return (0, Vec::new());
    }
    let transcript = Transcript::fold(log.iter().map(|entry| &entry.event));
    let mut transcript = transcript.expect("a log on the disk is a conversation");
    if transcript.ready().is_none() {
        hand_over(&mut transcript, &log, disk);
    }
    let ready = transcript
        .ready()
        .map(|ready| context::messages(ready, None));
    let messages = ready.unwrap_or_default();
    (cuts, messages.iter().map(super::oracle::line).collect())
}
