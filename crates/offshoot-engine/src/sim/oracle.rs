//! What may be seen after a history, and what was seen during it.
//!
//! The log has to fold (settled once, told once, no dangling call, no gap, no
//! run before its children), everybody has to have been told, what was
//! acknowledged has to be there, what was published has to be the log, and every
//! text of a child has to have reached its parent's model exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::event::{Did, Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos, RunId, RunNo, TreeId};
use offshoot_types::message::{AssistantMessage, Call};
use offshoot_types::model::{Request, RequestMessage};
use offshoot_types::outcome::{Body, ErrorKind};
use offshoot_types::permission::Action;
use offshoot_types::settlement::Status;
use offshoot_types::tree::Tree;
use tokio::sync::watch;

use super::clients;
use super::disk::Disk;
use super::hidden::{self, Hidden};
use super::prompts::{self, is_taken_up};
use super::spawns;
use crate::hooks::prompts::STOPPED;
use crate::limits::Limits;
use crate::next;
use crate::update::{Delta, DeltaKind};

/// What is wrong, if anything; the first word counts.
#[derive(Clone, Default)]
pub(crate) struct Verdict(Arc<Mutex<Option<String>>>);

impl Verdict {
    pub(crate) fn fail(&self, what: &str) {
        self.0
            .lock()
            .unwrap()
            .get_or_insert_with(|| what.to_owned());
    }

    pub(crate) fn get(&self) -> Option<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Tells whether hooks have been told of everything that they were to be told of.
pub(crate) fn all_announced(tree: &Tree) -> bool {
    let announced = |id: &AgentId| tree.agent(id).is_none_or(|it| it.untold().is_none());
    tree.walk().into_iter().all(announced)
}

/// What was seen while it went on.
pub(crate) struct Witness {
    pub(crate) verdict: Verdict,
    /// Whether the log may grow between a request and a look at the log.
    has_threads: bool,
    pub(crate) began: tokio::time::Instant,
    pub(crate) ids: AtomicU64,
    words: AtomicU64,
    spawnable: AtomicUsize,
    calm: AtomicBool,
    let_go: watch::Sender<bool>,
    /// The last one of each agent from each process.
    requests: Mutex<BTreeMap<AgentId, BTreeMap<u32, Asked>>>,
    /// Whether a process has lost a tree without knowing: until it writes it may ask on.
    pub(crate) stolen: AtomicBool,
    cut: Mutex<BTreeSet<(AgentId, usize, usize)>>,
    /// Every word that an agent's model, or a helper's for it, was ever sent.
    heard: Mutex<BTreeMap<AgentId, BTreeSet<String>>>,
    acknowledged: Mutex<Vec<(Command, Receipt)>>,
    /// Trees that somebody removed, and all that was acknowledged there with them.
    pub(crate) removed: Mutex<BTreeSet<TreeId>>,
    pub(crate) published: Mutex<Vec<Arc<Entry>>>,
    /// How often a hook was told of the end of a run, before it was over and after.
    stopped: Mutex<BTreeMap<RunId, (usize, usize)>>,
}

/// A request as it was sent, and how often something had been taken back or summed up by then.
struct Asked {
    cuts: usize,
    /// Grows with every request of its agent, whichever process sends it.
    order: usize,
    lines: Vec<String>,
}

impl Witness {
    pub(crate) fn new(verdict: Verdict, has_threads: bool) -> Self {
        Self {
            verdict,
            has_threads,
            began: tokio::time::Instant::now(),
            ids: AtomicU64::new(0),
            words: AtomicU64::new(0),
            spawnable: AtomicUsize::new(14),
            calm: AtomicBool::new(false),
            let_go: watch::Sender::new(false),
            requests: Mutex::default(),
            stolen: AtomicBool::new(false),
            cut: Mutex::default(),
            heard: Mutex::default(),
            acknowledged: Mutex::default(),
            removed: Mutex::default(),
            published: Mutex::default(),
            stopped: Mutex::default(),
        }
    }

    /// From here on nothing fails any more.
    pub(crate) fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Ends whatever hangs.
    pub(crate) fn let_go(&self) {
        self.let_go.send_replace(true);
    }

    /// Hangs until it is let go.
    pub(crate) fn hang(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut let_go = self.let_go.subscribe();
        async move { drop(let_go.wait_for(|go| *go).await) }
    }

    /// Notes that a hook is told of the end of a run, which may be over.
    pub(crate) fn stopped(&self, run: RunId, over: bool) {
        let mut stopped = self.stopped.lock().unwrap();
        let (before, after) = stopped.entry(run).or_default();
        *(if over { after } else { before }) += 1;
    }

    /// Finds a run of a child whose end no hook was told of, whatever its process died of, or was told of
    /// again although none has died or was interrupted: `chances` says how often that may have been.
    pub(crate) fn judge_stops(&self, tree: &Tree, chances: usize) -> Result<(), String> {
        let stopped = self.stopped.lock().unwrap();
        for id in tree.walk() {
            let agent = tree.agent(id).expect("it is in the tree");
            for number in (1..=agent.last_run().get()).filter(|_| agent.parent().is_some()) {
                let run = RunId {
                    agent: id.clone(),
                    run: RunNo::new(number),
                };
                let (before, after) = stopped.get(&run).copied().unwrap_or_default();
                if before + after == 0 {
                    return Err(format!("no hook was told that run {run} is over"));
                }
                if after > 1 + chances {
                    return Err(format!(
                        "a hook was told {after} times that run {run} is over"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns a text that nobody has said before.
    pub(crate) fn word(&self) -> String {
        format!("word{}.", self.words.fetch_add(1, Ordering::Relaxed))
    }

    /// Tells whether the history may have one agent more.
    pub(crate) fn may_spawn(&self) -> bool {
        let spend = |left: usize| left.checked_sub(1);
        self.spawnable
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend)
            .is_ok()
    }

    /// Holds a request against the ones before of its agent: only ever extended, unless something
    /// was taken back or summed up since. Then it is what is left, and what came after.
    ///
    /// A process whose lock was stolen may repeat itself until it finds out; from then on each
    /// process is held against itself.
    pub(crate) fn asked(&self, request: &Request, process: u32, disk: &Disk) {
        let lines = lines(request);
        let agent = &request.from.agent;
        let (cuts, left) = hidden::so_far(disk, agent);
        self.hear(agent, &lines, disk);
        let mut requests = self.requests.lock().unwrap();
        let before = requests.entry(agent.clone()).or_default();
        let stolen = self.stolen.load(Ordering::Relaxed);
        for (_, old) in before.iter().filter(|(by, _)| !stolen || **by == process) {
            if old.cuts == cuts && !lines.starts_with(&old.lines) {
                let at = lines
                    .iter()
                    .zip(&old.lines)
                    .position(|(new, old)| new != old);
                self.verdict.fail(&format!(
                    "the request of {agent} does not extend the one before (item {at:?})"
                ));
            }
        }
        if cuts > 0 && !stolen && !self.has_threads && lines[1..] != left {
            self.verdict.fail(&format!(
                "{agent} is not sent what rewinds and summaries have left"
            ));
        }
        let key = (agent.clone(), cuts, lines.len());
        if self.cut.lock().unwrap().contains(&key) && !stolen {
            self.verdict
                .fail("a step was tried again after some of it was shown");
        }
        let order = 1 + before.values().map(|old| old.order).max().unwrap_or(0);
        let asked = Asked { cuts, order, lines };
        before.insert(process, asked);
    }

    /// Notes the words of a request, for its agent and for whom it works.
    fn hear(&self, agent: &AgentId, lines: &[String], disk: &Disk) {
        let log = disk.read(|backend| backend.agent_log(agent));
        let of = log.first().and_then(|entry| {
            let Event::Spawned(spawned) = &entry.event else {
                return None;
            };
            Some(spawned.helper()?.of.clone())
        });
        let text = lines.join("\n");
        let mut heard = self.heard.lock().unwrap();
        let own = heard
            .entry(of.unwrap_or_else(|| agent.clone()))
            .or_default();
        own.extend(words(&text).map(str::to_owned));
    }

    /// Notes that this request will be answered in part and then fail.
    pub(crate) fn will_cut(&self, request: &Request, disk: &Disk) {
        let agent = request.from.agent.clone();
        let (cuts, _) = hidden::so_far(disk, &agent);
        let key = (agent, cuts, lines(request).len());
        self.cut.lock().unwrap().insert(key);
    }

    pub(crate) fn acknowledged(&self, command: Command, receipt: Receipt) {
        self.acknowledged.lock().unwrap().push((command, receipt));
    }

    /// Takes an entry that a subscriber got; it has to be the next, and on the disk.
    pub(crate) fn published(&self, entry: Arc<Entry>, disk: &Disk) {
        let mut published = self.published.lock().unwrap();
        let expected = published.len() as u64 + 1;
        if entry.pos.get() != expected {
            self.verdict.fail(&format!(
                "a subscriber got entry {} for {expected}",
                entry.pos
            ));
        }
        let stored = disk.read(|backend| {
            backend.entries(&entry.tree, offshoot_types::id::Pos::new(expected - 1), 1)
        });
        if stored.first() != Some(entry.as_ref()) {
            self.verdict.fail(&format!(
                "entry {expected} was published and is not on the disk"
            ));
        }
        published.push(entry);
    }

    /// A subscriber was told that the tree is quiet: by what it was given, it has to be.
    pub(crate) fn idle(&self, limits: &Limits) {
        let published = self.published.lock().unwrap();
        let tree = Tree::fold(published.iter().map(AsRef::as_ref));
        if tree.is_ok_and(|tree| !next::is_quiet(&tree, limits)) {
            self.verdict
                .fail("a subscriber was told too early that the tree is quiet");
        }
    }
}

/// A request, one line an item.
fn lines(request: &Request) -> Vec<String> {
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.id.as_str()).collect();
    let mut lines = vec![format!("{} {tools:?}", request.system)];
    lines.extend(request.messages.iter().map(line));
    lines
}

/// An item of a request.
pub(super) fn line(message: &RequestMessage) -> String {
    match message {
        RequestMessage::User(text) => format!("user {text}"),
        RequestMessage::Assistant(parts) => format!("assistant {parts:?}"),
        RequestMessage::Outcomes(outcomes) => format!("outcomes {outcomes:?}"),
    }
}

/// Tells whether nothing is left to do, by the log alone and without asking the engine.
pub(crate) fn is_quiet(tree: &Tree) -> bool {
    let rests = |id: &&AgentId| {
        let agent = tree.agent(id).unwrap();
        let stopped = agent
            .settlement()
            .is_some_and(|settlement| !settlement.status.wakes());
        let told = agent.mail.values().all(|mail| mail.wakes && stopped);
        told && (agent.queue.is_empty() || agent.paused)
    };
    tree.open_runs() == 0 && tree.walk().iter().all(rests)
}

/// What a subscriber has read of messages that are being streamed.
#[derive(Default)]
pub(crate) struct Texts(BTreeMap<(MessageId, bool), usize>);

impl Texts {
    /// Takes a piece; it has to join the one before, or begin anew after a lag.
    pub(crate) fn take(&mut self, delta: &Delta, verdict: &Verdict) {
        let key = (delta.message.clone(), delta.kind == DeltaKind::Text);
        let so_far = self.0.entry(key).or_default();
        if delta.offset != 0 && delta.offset != *so_far {
            verdict.fail(&format!(
                "a piece at {} follows {so_far} bytes",
                delta.offset
            ));
        }
        *so_far = delta.offset + delta.text.len();
    }
}

/// Judges a history that has come to rest: its tree, the copies of it, and what was seen.
pub(crate) fn judge(disk: &Disk, witness: &Witness, id: &TreeId) -> Result<Tree, String> {
    if let Some(broken) = witness.verdict.get() {
        return Err(broken);
    }
    let tree = judge_tree(disk, witness, id)?;
    if witness.published.lock().unwrap().len() as u64 != tree.pos().get() {
        return Err("a subscriber did not see the whole log".to_owned());
    }
    let mut trees = BTreeMap::from([(id.clone(), tree.clone())]);
    for session in disk.read(|backend| backend.sessions()) {
        let of = session.tree;
        if of != *id {
            let judged = judge_tree(disk, witness, &of);
            let tree = judged.map_err(|broken| format!("session {of}: {broken}"))?;
            trees.insert(of, tree);
        }
    }
    survived(disk, witness, &trees)?;
    Ok(tree)
}

/// Judges a tree that has come to rest.
fn judge_tree(disk: &Disk, witness: &Witness, id: &TreeId) -> Result<Tree, String> {
    let entries =
        disk.read(|backend| backend.entries(id, offshoot_types::id::Pos::ZERO, usize::MAX));
    let tree = fold(&entries)?;
    if !is_quiet(&tree) {
        return Err("the tree is not quiet".to_owned());
    }
    let rows = disk.read(|backend| backend.chat_rows(id));
    if rows != offshoot_store::chat::fold(&entries) {
        return Err("the chat rows are not what the log adds up to".to_owned());
    }
    let asks = disk.read(|backend| backend.asks());
    if asks.iter().any(|ask| ask.tree == *id) {
        return Err("nobody asks anything any more and the inbox is not empty".to_owned());
    }
    woken_by_mail(&entries)?;
    spawns::no_turn_beside_an_awaited_child(&entries)?;
    allowed_first(&entries)?;
    in_order(&entries)?;
    asked_once(&entries)?;
    asks_survive(&entries)?;
    prompts::own_calls_open_turns(&entries, tree.copied_until())?;
    prompts::immediate_at_next_step(&entries)?;
    let hidden = Hidden::read(&entries)?;
    read_once(witness, &tree, &entries, &hidden)?;
    Ok(tree)
}

/// A turn that nobody asked for has mail in front of it (R17).
fn woken_by_mail(entries: &[Entry]) -> Result<(), String> {
    let mut told: BTreeSet<&AgentId> = BTreeSet::new();
    for entry in entries {
        let agent = &entry.agent;
        if matches!(entry.event, Event::Completion { quiet: false, .. }) {
            told.insert(agent);
        }
        let Event::TurnStarted { prompt, .. } = &entry.event else {
            continue;
        };
        if !told.remove(agent) && prompt.is_none() {
            return Err(format!("{agent} was woken and told nothing"));
        }
    }
    Ok(())
}

/// The calls of a message start in groups: none before every call of the groups before it has its
/// outcome (R10).
///
/// The start of a read is written with its end, so a read that ran too early is seen if it also ended
/// too early.
fn in_order(entries: &[Entry]) -> Result<(), String> {
    // The group of each open call of an agent.
    let mut open: BTreeMap<&AgentId, BTreeMap<&CallId, usize>> = BTreeMap::new();
    for entry in entries {
        let agent = &entry.agent;
        let starts = match &entry.event {
            Event::Replied(message) => {
                open.insert(agent, groups(message));
                continue;
            }
            Event::CallFinished { call, .. } => {
                open.entry(agent).or_default().remove(call);
                continue;
            }
            Event::CallStarted { call, .. } => call,
            // A question starts when it is put.
            Event::Asked {
                call, questions, ..
            } if !questions.is_empty() => call,
            // So does a call of a client tool when it begins to wait.
            Event::Asked {
                call,
                waits_for_client: true,
                ..
            } => call,
            _ => continue,
        };
        let open = open.entry(agent).or_default();
        let first = open.values().min();
        if first.is_some_and(|first| open.get(starts).is_some_and(|group| group > first)) {
            return Err(format!("{starts} of {agent} started before its turn"));
        }
    }
    Ok(())
}

/// Returns the group of each call of a message: adjacent reads share one, and adjacent `task` calls.
/// Nothing else has a group with others.
fn groups(message: &AssistantMessage) -> BTreeMap<&CallId, usize> {
    let mut groups: Vec<Vec<&Call>> = Vec::new();
    for call in message.calls() {
        let kind = |call: &Call| match call.tool.as_str() {
            "read" | "lookup" | clients::ATTACHED => Some("read"),
            "task" => Some("task"),
            _ => None,
        };
        match groups.last_mut() {
            Some(group) if kind(call).is_some() && kind(group[0]) == kind(call) => group.push(call),
            Some(_) | None => groups.push(vec![call]),
        }
    }
    let groups = groups.into_iter().enumerate();
    groups
        .flat_map(|(number, group)| group.into_iter().map(move |call| (&call.id, number)))
        .collect()
}

/// What was asked has run only after somebody said yes, and what was denied not at all.
fn allowed_first(entries: &[Entry]) -> Result<(), String> {
    let mut asked: BTreeMap<(&AgentId, &CallId), bool> = BTreeMap::new();
    for entry in entries {
        let agent = &entry.agent;
        match &entry.event {
            // Nothing runs by an answer to a question.
            Event::Asked { questions, .. } if !questions.is_empty() => {}
            Event::Asked {
                call,
                waits_for_client: true,
                ..
            } => {
                if asked.get(&(agent, call)) == Some(&false) {
                    let text =
                        format!("{call} of {agent} waits for a client before it was allowed");
                    return Err(text);
                }
            }
            Event::Asked { call, .. } => drop(asked.insert((agent, call), false)),
            Event::Decided { call, decision, .. } => {
                asked.insert((agent, call), decision.action == Action::Allow);
            }
            Event::CallFinished { call, outcome, .. } => {
                let refused = asked.remove(&(agent, call)) == Some(false);
                let not_run = matches!(
                    outcome.body,
                    Body::Error {
                        kind: ErrorKind::Denied | ErrorKind::Cancelled | ErrorKind::Interrupted,
                        ..
                    }
                );
                if refused && !not_run {
                    return Err(format!("{call} of {agent} ran and nobody had allowed it"));
                }
            }
            Event::CallStarted { call, .. } if asked.get(&(agent, call)) == Some(&false) => {
                return Err(format!("{call} of {agent} began before it was allowed"));
            }
            Event::CallStarted { .. }
            | Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Completion { .. }
            | Event::TurnStarted { .. }
            | Event::Replied(_)
            | Event::TurnEnded { .. }
            | Event::Settled { .. }
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. } => {}
        }
    }
    Ok(())
}

/// No death withdraws what a root has asked, and none closes a call beside it that had not started
/// (R16).
fn asks_survive(entries: &[Entry]) -> Result<(), String> {
    // What is asked, and what was: whether for a permission.
    let mut open: BTreeMap<&CallId, bool> = BTreeMap::new();
    let mut asked: BTreeMap<&CallId, bool> = BTreeMap::new();
    // Calls that had started, and calls that have to be made again: a hook wants more to be asked than
    // a person was. A question asks a person anyway.
    let mut excused: BTreeSet<&CallId> = BTreeSet::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.agent == *entry.tree.root())
    {
        match &entry.event {
            Event::Asked {
                call,
                questions,
                waits_for_client,
                ..
            } => {
                let is_permission = questions.is_empty() && !waits_for_client;
                open.insert(call, is_permission);
                asked.insert(call, is_permission);
            }
            Event::Decided { call, .. } => drop(open.remove(call)),
            Event::CallStarted { call, .. } => drop(excused.insert(call)),
            Event::Hooked(hooked) => {
                let wants_more = matches!(hooked.did, Did::Asked { .. } | Did::Failed { .. });
                let call = hooked.call.as_ref().filter(|_| wants_more);
                if let Some(call) = call.filter(|call| asked.get(call) == Some(&true)) {
                    open.remove(call);
                    excused.insert(call);
                }
            }
            Event::CallFinished { call, outcome, .. } => {
                let lost = matches!(
                    outcome.body,
                    Body::Error {
                        kind: ErrorKind::Interrupted,
                        ..
                    }
                );
                if lost && !open.is_empty() && !excused.contains(call) {
                    return Err(format!(
                        "{call} of the root had not started and died with its process"
                    ));
                }
                open.remove(call);
            }
            _ => {}
        }
    }
    Ok(())
}

/// What somebody asked is there once.
fn asked_once(entries: &[Entry]) -> Result<(), String> {
    let mut prompts = BTreeSet::new();
    for entry in entries {
        if let Event::Prompted(message) = &entry.event
            && !prompts.insert(&message.id)
        {
            return Err(format!("prompt {} is in the log twice", message.id));
        }
    }
    Ok(())
}

/// What was acknowledged is there, unless its whole tree was removed, and prompts were taken up.
fn survived(disk: &Disk, witness: &Witness, trees: &BTreeMap<TreeId, Tree>) -> Result<(), String> {
    let removed = witness.removed.lock().unwrap();
    let acknowledged = witness.acknowledged.lock().unwrap();
    let there = |(command, _): &&(Command, Receipt)| !removed.contains(&command.tree);
    for (id, tree) in trees {
        let log = disk.read(|backend| backend.entries(id, Pos::ZERO, usize::MAX));
        let own = acknowledged
            .iter()
            .filter(|(command, _)| command.tree == *id);
        let stored = own.filter_map(|(command, _)| {
            let receipt = disk.read(|backend| backend.receipt(&command.id))?;
            Some((command, receipt))
        });
        clients::one_result_each(tree, &log, stored)?;
    }
    for (command, receipt) in acknowledged.iter().filter(there) {
        let stored = disk.read(|backend| backend.receipt(&command.id));
        if stored.is_none() || (stored.as_ref() != Some(receipt) && *receipt != Receipt::Queued) {
            return Err(format!(
                "{command:?} was answered {receipt:?} and the disk has {stored:?}"
            ));
        }
        if let Some(Receipt::Spawned { agent }) = &stored {
            let log = disk.read(|backend| backend.entries(&command.tree, Pos::ZERO, usize::MAX));
            spawns::ended_and_told(trees.get(&command.tree), &log, agent)?;
        }
        let Order::Prompt(prompt) = &command.order else {
            continue;
        };
        let log = disk.read(|backend| backend.agent_log(&command.agent));
        let is_it = |entry: &Entry| matches!(&entry.event, Event::Prompted(message) if message.id == prompt.message);
        // Taken back while hooks were asked about it.
        let stopped = matches!(&stored, Some(Receipt::NoEffect { why }) if why == STOPPED);
        if log.iter().any(is_it) == stopped {
            let became = if stopped { "stopped" } else { "acknowledged" };
            let text = format!(
                "prompt {} was {became}, and the log says otherwise",
                prompt.message
            );
            return Err(text);
        }
        let own = trees
            .get(&command.tree)
            .and_then(|tree| tree.agent(&command.agent));
        if !stopped && !is_taken_up(own, &log, &prompt.message) {
            let text = format!("prompt {} was acknowledged and left", prompt.message);
            return Err(text);
        }
    }
    Ok(())
}

/// Folds a log, in which every run that ends by itself has read all its mail before.
fn fold(entries: &[Entry]) -> Result<Tree, String> {
    let mut tree = Tree::default();
    for entry in entries {
        let agent = &entry.agent;
        if let Event::Settled {
            run, settlement, ..
        } = &entry.event
            && !matches!(
                settlement.status,
                Status::Cancelled(_) | Status::Lost { .. }
            )
            && entry.pos > tree.copied_until()
            && tree.agent(agent).is_some_and(|it| !it.mail.is_empty())
        {
            return Err(format!("run {run} of {agent} settled with unread mail"));
        }
        let applied = tree.apply(entry);
        applied.map_err(|violation| violation.to_string())?;
    }
    Ok(tree)
}

/// Every model has read each answer of its children exactly once: those that were there when its
/// agent last began a turn that came to a message, and were not taken back.
fn read_once(
    witness: &Witness,
    tree: &Tree,
    entries: &[Entry],
    hidden: &Hidden<'_>,
) -> Result<(), String> {
    let requests = witness.requests.lock().unwrap();
    let heard = witness.heard.lock().unwrap();
    let own = |(agent, _): &(&AgentId, _)| tree.agent(agent).is_some();
    for (agent, by_process) in requests.iter().filter(own) {
        for asked in by_process.values() {
            let text = asked.lines.join("\n");
            let mut seen = BTreeSet::new();
            if let Some(word) = words(&text).find(|word| !seen.insert(*word)) {
                return Err(format!("{agent} was sent {word} twice"));
            }
        }
        let last = by_process.values();
        // A process whose lock was stolen may send a longer request of what has been taken back since.
        let last = last.max_by_key(|asked| (asked.cuts, asked.order));
        let text = last.map_or_else(String::new, |asked| {
            asked.lines.join(
                "
",
            )
        });
        let mut sent: BTreeSet<&str> = words(&text).collect();
        let cuts = last.map_or(0, |asked| asked.cuts);
        let hidden_texts = hidden.texts(agent, cuts).iter();
        if let Some(word) = hidden_texts
            .flat_map(|text| words(text))
            .find(|word| sent.contains(word))
        {
            return Err(format!("{agent} was sent {word}, which it had taken back"));
        }
        // What a summary stands for was read before, or by whoever wrote the summary.
        let summed_up =
            |entry: &Entry| entry.agent == *agent && matches!(entry.event, Event::Compacted(_));
        if entries.iter().any(summed_up) {
            sent.extend(heard.get(agent).into_iter().flatten().map(String::as_str));
        }
        let until = last_asked(entries, agent);
        // What is copied was told in another tree.
        let told_here = |entry: &&Entry| {
            let new = entry.pos > tree.copied_until();
            entry.agent == *agent && entry.pos < until && new && hidden.is_told(entry)
        };
        for entry in entries.iter().filter(told_here) {
            for run in entry.event.delivers() {
                told(tree, run, &sent)?;
            }
        }
    }
    Ok(())
}

/// Returns where an agent's last turn began that the model has answered.
fn last_asked(entries: &[Entry], agent: &AgentId) -> Pos {
    let (mut began, mut asked) = (Pos::ZERO, Pos::ZERO);
    for entry in entries.iter().filter(|entry| entry.agent == *agent) {
        if matches!(entry.event, Event::TurnStarted { .. }) {
            began = entry.pos;
        }
        if matches!(entry.event, Event::Replied(_)) {
            asked = began;
        }
    }
    asked
}

/// The last word of a run that was delivered is among those that were sent.
fn told(tree: &Tree, run: &RunId, sent: &BTreeSet<&str>) -> Result<(), String> {
    let Some((_, settlement)) = tree.run(run).and_then(|run| run.settled.as_ref()) else {
        return Err(format!("{run} was delivered and has not settled"));
    };
    // What was stopped with its parent is told without its words.
    if matches!(settlement.status, Status::Cancelled(_)) {
        return Ok(());
    }
    let said = settlement.output.as_deref().unwrap_or_default();
    match words(said).last() {
        Some(word) if !sent.contains(word) => Err(format!("nobody was sent {word} of {run}")),
        Some(_) | None => Ok(()),
    }
}

/// Returns the unique words of a text, but for those that a notice of an unread result only names:
/// that is no delivery.
fn words(text: &str) -> impl Iterator<Item = &str> {
    const NAMED: &str = "[unread result:";
    text.match_indices("word").filter_map(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let is_named = before
            .rfind(NAMED)
            .is_some_and(|from| !before[from..].contains(']'));
        if is_named {
            return None;
        }
        let end = rest.find('.')?;
        rest[4..end]
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| &rest[..=end])
    })
}
