//! What has to hold of a folder that has come to rest: from its database, and from
//! every request that the model was sent.
//!
//! The log has to fold, everything in it has to be settled, answered and told, and
//! what a process acknowledged has to be there. Each answer of a child stands
//! exactly once in its parent's last request, or its delivery was taken back. The
//! checks are plain code over the log; they ask nothing of the engine.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_store::{Backend, Sqlite, chat};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, RunId, TreeId};
use offshoot_types::settlement::Status;
use offshoot_types::transcript::Transcript;
use offshoot_types::tree::Tree;

use crate::model::Sent;
use crate::plan;
use crate::world::World;

/// Checks every session of a round; `sessions` are those that `sessions list` has. Returns how many
/// answers of children were found in the requests of their parents.
pub(crate) fn check(world: &World<'_>, sessions: &[String]) -> Result<usize, String> {
    let sent = world.server.end(&world.round);
    let mut store = Sqlite::open(&world.database()).map_err(|error| error.to_string())?;
    let mut stored: Vec<String> = read(store.sessions())?
        .iter()
        .map(|session| session.agent.to_string())
        .collect();
    stored.sort();
    if stored != sessions {
        return Err(format!("{sessions:?} are listed and {stored:?} are stored"));
    }
    let asks = read(store.asks())?;
    if !asks.is_empty() {
        return Err(format!("the inbox is not empty: {asks:?}"));
    }
    // The text of every prompt in the folder, by its session and its agent's name.
    let mut prompts = BTreeSet::new();
    let mut told = 0;
    for session in &stored {
        let tree = TreeId::of(AgentId::new(session.as_str()));
        let entries = read(store.entries(&tree, Pos::ZERO, usize::MAX))?;
        let place = |broken: String| format!("session {session}: {broken}");
        let pending = read(store.pending(&tree))?;
        if !pending.is_empty() {
            return Err(place(format!("commands are pending: {pending:?}")));
        }
        if read(store.chat_rows(&tree))? != chat::fold(&entries) {
            return Err(place("the chat rows do not follow from the log".to_owned()));
        }
        told += check_tree(&entries, &sent, &mut prompts).map_err(place)?;
    }
    for removed in &world.removed {
        let tree = TreeId::of(AgentId::new(removed.as_str()));
        let is_empty = read(store.entries(&tree, Pos::ZERO, 1))?.is_empty()
            && read(store.changes(&tree))?.is_empty()
            && read(store.chat_rows(&tree))? == chat::fold(&[]);
        if !is_empty {
            return Err(format!("{removed} was removed and left rows"));
        }
    }
    for (agent, key) in &world.acknowledged {
        let is_of = |session: &String| agent.starts_with(session.as_str());
        let removed = world.removed.iter().chain(&world.removing);
        let may_be_gone = removed
            .filter(|session| !stored.contains(session))
            .any(is_of);
        if !prompts.contains(key) && !may_be_gone {
            return Err(format!("prompt {key} was acknowledged and is not stored"));
        }
    }
    Ok(told)
}

fn read<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Checks a tree that has come to rest, and adds the keys of its prompts.
fn check_tree(
    entries: &[Entry],
    sent: &[Sent],
    prompts: &mut BTreeSet<String>,
) -> Result<usize, String> {
    let tree = Tree::fold(entries).map_err(|violation| violation.to_string())?;
    let hidden = Hidden::read(entries)?;
    let mut names: BTreeMap<&AgentId, String> = BTreeMap::new();
    let mut own_prompts = BTreeSet::new();
    for entry in entries {
        let Event::Prompted(message) = &entry.event else {
            continue;
        };
        if let Some(key) = plan::key_of_line(&message.text) {
            names
                .entry(&entry.agent)
                .or_insert_with(|| plan::agent_of(key).to_owned());
            if !own_prompts.insert((&entry.agent, key.to_owned())) {
                return Err(format!(
                    "prompt {key} is in the log of {} twice",
                    entry.agent
                ));
            }
            prompts.insert(key.to_owned());
        }
    }
    if let Some(root) = tree.root() {
        names.insert(root, root.to_string());
    }
    if tree.open_helpers().next().is_some() {
        return Err("a helper has an open run".to_owned());
    }
    let mut told = 0;
    for id in tree.walk() {
        at_rest(&tree, id).map_err(|what| format!("agent {id} {what}"))?;
        let own = entries.iter().filter(|entry| entry.agent == *id);
        let transcript = Transcript::fold(own.map(|entry| &entry.event));
        transcript.map_err(|broken| format!("the transcript of {id}: {broken}"))?;
        if let Some(name) = names.get(id) {
            told += told_once(&tree, entries, &hidden, id, name, sent)?;
        }
    }
    Ok(told)
}

/// Checks that nothing of an agent is open, and that it was told of its children.
fn at_rest(tree: &Tree, id: &AgentId) -> Result<(), String> {
    let agent = tree.agent(id).ok_or("is not in its tree")?;
    if !agent.open_calls().is_empty() || agent.turn.is_some() {
        return Err("has an open call or turn".to_owned());
    }
    if agent.runs.iter().any(|run| run.settled.is_none()) {
        return Err("has an open run".to_owned());
    }
    if !agent.queue.is_empty() {
        return Err(format!(
            "has prompts that no turn took up: {:?}",
            agent.queue
        ));
    }
    // The mail of a child that was cancelled or lost waits for its next run, if it has one.
    let waits = agent.settlement().is_some_and(|end| !end.status.wakes());
    if !agent.mail.is_empty() && (agent.parent().is_none() || !waits) {
        return Err(format!("was not told of {:?}", agent.mail));
    }
    Ok(())
}

/// Checks that an agent's model was sent each answer of its children exactly once.
fn told_once(
    tree: &Tree,
    entries: &[Entry],
    hidden: &Hidden<'_>,
    id: &AgentId,
    name: &str,
    sent: &[Sent],
) -> Result<usize, String> {
    let agent = tree.agent(id).ok_or("is not in its tree")?;
    let of_agent = || sent.iter().filter(|sent| sent.agent == name);
    // Only a child's own answers: a lost child's settlement may quote those of its children.
    let mut expected: BTreeMap<&str, Vec<RunId>> = BTreeMap::new();
    for child in &agent.children {
        let runs = tree.agent(child).map_or(&[][..], |child| &child.runs[..]);
        for (index, run) in (1..).zip(runs) {
            let output = run
                .settled
                .as_ref()
                .and_then(|(_, settlement)| settlement.output.as_deref());
            if let Some(answer) = output.and_then(|output| plan::answers(output).last()) {
                let run = RunId {
                    agent: child.clone(),
                    run: offshoot_types::id::RunNo::new(index),
                };
                expected.entry(answer).or_default().push(run);
            }
        }
    }
    for (answer, runs) in &expected {
        let is_doubled = |sent: &Sent| {
            sent.answers
                .get(*answer)
                .is_some_and(|count| *count > runs.len())
        };
        if of_agent().any(is_doubled) {
            return Err(format!(
                "{id} was sent {answer} of {runs:?} more than once in one request"
            ));
        }
    }
    let Some(last) = of_agent().rfind(|sent| !sent.by_helper) else {
        return Ok(0);
    };
    let mut told = 0;
    let mut heard: BTreeSet<&str> = last.answers.keys().map(String::as_str).collect();
    let is_summary =
        |entry: &Entry| entry.agent == *id && matches!(entry.event, Event::Compacted(_));
    // A summary stands for what its agent, or the helper that wrote it, was sent before.
    if entries.iter().any(is_summary) {
        heard.extend(of_agent().flat_map(|sent| sent.answers.keys().map(String::as_str)));
    }
    let until = last_answered_turn(entries, id);
    let is_told = |entry: &&Entry| {
        let is_new = entry.pos > tree.copied_until();
        entry.agent == *id && entry.pos < until && is_new && hidden.is_told(entry)
    };
    for entry in entries.iter().filter(is_told) {
        for run in entry.event.delivers() {
            let settled = tree.run(run).and_then(|run| run.settled.as_ref());
            let (_, settlement) =
                settled.ok_or(format!("{run} was delivered and has not settled"))?;
            // The result of a child that was stopped with its parent has no text.
            let has_words = !matches!(settlement.status, Status::Cancelled(_));
            let answer = expected
                .iter()
                .find(|(_, runs)| runs.contains(run))
                .map(|(answer, _)| *answer);
            let Some(answer) = answer.filter(|_| has_words) else {
                continue;
            };
            if !heard.contains(answer) {
                return Err(format!("{id} was never sent {answer} of {run}"));
            }
            told += 1;
        }
    }
    Ok(told)
}

/// Returns where the last turn of an agent began that the model has answered.
fn last_answered_turn(entries: &[Entry], agent: &AgentId) -> Pos {
    let (mut began, mut answered) = (Pos::ZERO, Pos::ZERO);
    for entry in entries.iter().filter(|entry| entry.agent == *agent) {
        match &entry.event {
            Event::TurnStarted { .. } => began = entry.pos,
            Event::Replied(_) => answered = began,
            _ => {}
        }
    }
    answered
}

/// What rewinds have taken back.
#[derive(Default)]
struct Hidden<'a> {
    messages: BTreeSet<(&'a AgentId, &'a MessageId)>,
    calls: BTreeSet<(&'a AgentId, &'a CallId)>,
}

impl<'a> Hidden<'a> {
    /// Reads a log; fails where a rewind consumes the mail of a child that it keeps.
    fn read(entries: &'a [Entry]) -> Result<Self, String> {
        let mut hidden = Self::default();
        for entry in entries {
            if let Event::Rewound {
                hides,
                drops,
                consumes,
                ..
            } = &entry.event
            {
                hidden
                    .messages
                    .extend(hides.iter().map(|message| (&entry.agent, message)));
                if let Some(run) = consumes.iter().find(|run| !drops.contains(&run.agent)) {
                    return Err(format!("a rewind consumed {run} and kept its agent"));
                }
            }
        }
        for entry in entries {
            if let Event::Replied(message) = &entry.event
                && hidden.messages.contains(&(&entry.agent, &message.id))
            {
                hidden
                    .calls
                    .extend(message.calls().map(|call| (&entry.agent, &call.id)));
            }
        }
        Ok(hidden)
    }

    /// Tells whether what an entry tells of children is still part of the conversation.
    fn is_told(&self, entry: &Entry) -> bool {
        match &entry.event {
            Event::Completion { message, .. } => !self.messages.contains(&(&entry.agent, message)),
            Event::CallFinished { call, .. } => !self.calls.contains(&(&entry.agent, call)),
            _ => false,
        }
    }
}
