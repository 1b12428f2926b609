//! The disk of a simulated machine, and one process's way to it.
//!
//! Commits groups whose bounds are drawn from the seed, on the thread of the
//! history. A process that died writes nothing any more, also from `Drop`, and
//! whoever waited in it waits for ever. Flaws of a store can be planted.

mod port;
mod real;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use futures_core::future::BoxFuture;
use offshoot_store::{Backend, Write, Written};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, Epoch, Pos, RunNo, Timestamp, TreeId};
use offshoot_types::store::{Append, Committed, Nudged, StoreError, StoreErrorKind};
use offshoot_types::tree::Tree;
use tokio::sync::{Notify, oneshot};

use super::chance::Chance;
use super::oracle::Verdict;
use super::owners::{Noted, Owners};
pub(crate) use real::RealStore;

/// Commits after which a history is called a runaway.
const TOO_MANY: usize = 4_000;

/// How long an append may be on its way, in milliseconds.
const ON_ITS_WAY: u64 = 100;

/// A mistake in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Subscribers hear of entries before they are durable.
    PublishBeforeCommit,
    /// Appenders are answered before their entries are durable.
    AnswerBeforeCommit,
    /// A former owner may still append.
    EpochIgnored,
    /// A call's outcome is committed, and that it tells of a child's run is marked in a commit of
    /// its own behind it (R14).
    MarkedApart,
    /// Appenders are answered before subscribers hear of their entries (R4).
    AnswerBeforePublish,
}

impl Flaw {
    pub(crate) const ALL: &[Self] = &[
        Self::PublishBeforeCommit,
        Self::AnswerBeforeCommit,
        Self::EpochIgnored,
        Self::MarkedApart,
        Self::AnswerBeforePublish,
    ];
}

/// What survives.
pub(crate) struct Disk {
    backend: Mutex<Box<dyn Backend>>,
    locks: Mutex<BTreeMap<TreeId, u32>>,
    nudges: Mutex<BTreeMap<u32, Nudged>>,
    owners: Owners,
    pub(crate) verdict: Verdict,
    pub(crate) chance: Chance,
    commits: AtomicUsize,
    flaw: Option<Flaw>,
}

/// When a process dies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    pub(crate) at_commit: usize,
    pub(crate) moment: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    BeforeCommit,
    BeforeAnswer,
}

/// A process's power supply.
#[derive(Default)]
pub(crate) struct Power {
    dead: AtomicBool,
    pub(crate) died: Notify,
    commits: AtomicUsize,
    death: Mutex<Option<Death>>,
    /// How many of the next commits find the disk full.
    pub(crate) full: AtomicUsize,
    /// Whether a commit has found it full.
    pub(crate) was_full: AtomicBool,
}

impl Power {
    pub(crate) fn dying(death: Option<Death>) -> Self {
        Self {
            death: Mutex::new(death),
            ..Self::default()
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    pub(crate) fn spare(&self) {
        *self.death.lock().unwrap() = None;
        self.full.store(0, Ordering::Relaxed);
    }

    /// Tells whether the process dies at this moment of its commit of that number.
    fn dies(&self, number: usize, moment: Moment) -> bool {
        let death = *self.death.lock().unwrap();
        death.is_some_and(|death| death.at_commit == number && death.moment == moment)
    }

    fn cut(&self) {
        self.dead.store(true, Ordering::Relaxed);
        self.died.notify_one();
    }
}

/// One process's way to the disk.
pub(crate) struct SimStore {
    pub(crate) disk: Arc<Disk>,
    pub(crate) process: u32,
    pub(crate) power: Arc<Power>,
    queue: Mutex<Vec<Queued>>,
    more: Notify,
    sinks: OnceLock<Committed>,
}

struct Queued {
    write: Write,
    reply: Reply,
}

/// How a write is answered.
struct Reply {
    answer: oneshot::Sender<Result<Written, StoreError>>,
    /// The lock that a claim is made under: it is held until the claim is committed, also where its
    /// sender has gone, as the writer of a real handle holds it.
    _lock: Option<Arc<port::Lock>>,
}

impl Reply {
    fn send(self, result: Result<Written, StoreError>) {
        // The sender may have gone.
        drop(self.answer.send(result));
    }
}

impl Disk {
    pub(crate) fn new(
        backend: Box<dyn Backend>,
        verdict: Verdict,
        chance: Chance,
        flaw: Option<Flaw>,
    ) -> Self {
        Self {
            backend: Mutex::new(backend),
            locks: Mutex::default(),
            nudges: Mutex::default(),
            owners: Owners::default(),
            verdict,
            chance,
            commits: AtomicUsize::new(0),
            flaw,
        }
    }

    /// Reads the disk directly, as the oracle may.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut dyn Backend) -> Result<T, StoreError>,
    ) -> T {
        read(self.backend.lock().unwrap().as_mut()).expect("the oracle reads the disk")
    }

    /// Returns how many groups have been committed.
    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::Relaxed)
    }

    /// Counts a commit if it writes something; fails the history when there are too many.
    fn count(&self, writes: bool) -> bool {
        let before = self
            .commits
            .fetch_add(usize::from(writes), Ordering::Relaxed);
        let is_runaway = before > TOO_MANY;
        if is_runaway {
            self.verdict.fail("runaway: the tree does not come to rest");
        }
        is_runaway
    }

    /// Drops the locks of a process, as a crash does.
    pub(crate) fn forget(&self, process: u32) {
        self.locks
            .lock()
            .unwrap()
            .retain(|_, owner| *owner != process);
        self.nudges.lock().unwrap().remove(&process);
    }

    /// Drops the lock of a tree if it is that process's.
    fn unlock(&self, tree: &TreeId, process: u32) {
        let mut locks = self.locks.lock().unwrap();
        if locks.get(tree) == Some(&process) {
            locks.remove(tree);
        }
    }

    /// Breaks a lock behind its owner's back, so that somebody else can take the tree over.
    pub(crate) fn steal(&self, tree: &TreeId) {
        self.locks.lock().unwrap().remove(tree);
        self.owners.disturbed(tree);
    }

    /// Fails the history if a process has given a tree up and nothing had happened to it.
    pub(crate) fn parked(&self, tree: &TreeId, process: u32, error: &StoreError) {
        if !self.owners.may_park(tree, process) {
            self.verdict
                .fail(&format!("{tree} was given up without a cause: {error}"));
        }
    }
}

impl SimStore {
    pub(crate) fn new(disk: Arc<Disk>, process: u32, power: Arc<Power>) -> Arc<Self> {
        Arc::new(Self {
            disk,
            process,
            power,
            queue: Mutex::default(),
            more: Notify::new(),
            sinks: OnceLock::new(),
        })
    }

    /// The writer of this process: commits groups until the process dies.
    pub(crate) async fn write(self: Arc<Self>) {
        loop {
            while self.queue.lock().unwrap().is_empty() {
                self.more.notified().await;
            }
            self.disk.chance.pause().await;
            if self.power.is_dead() || !self.commit_group().await {
                return;
            }
        }
    }

    /// Commits some of what waits; false when the process died of it.
    async fn commit_group(&self) -> bool {
        let chance = &self.disk.chance;
        let group: Vec<Queued> = {
            let mut queue = self.queue.lock().unwrap();
            let some = 1 + chance.below(queue.len());
            queue.drain(..some).collect()
        };
        let number = self.power.commits.fetch_add(1, Ordering::Relaxed) + 1;
        let idle = group.iter().all(|queued| is_a_look(&queued.write));
        if self.disk.count(!idle) {
            self.die();
            return false;
        }
        let dies = |moment| self.power.dies(number, moment);
        let (writes, replies): (Vec<Write>, Vec<_>) = group
            .into_iter()
            .map(|queued| (self.flawed(queued.write), queued.reply))
            .unzip();
        let mut replies: Vec<Option<_>> = replies.into_iter().map(Some).collect();
        let premature = self.premature(&writes);
        if let Some(entries) = &premature {
            entries.iter().for_each(|group| self.publish(group));
            if self.disk.flaw == Some(Flaw::AnswerBeforeCommit) && entries.len() == replies.len() {
                for (reply, entries) in replies.iter_mut().zip(entries) {
                    let answer = Ok(Written::Appended(entries.clone()));
                    reply
                        .take()
                        .into_iter()
                        .for_each(|reply| reply.send(answer.clone()));
                }
            }
            for _ in 0..4 {
                chance.pause().await;
            }
        }
        if dies(Moment::BeforeCommit) {
            self.die();
            return false;
        }
        if self.power.full.load(Ordering::Relaxed) > 0 {
            for write in &writes {
                self.disk.owners.refused(&Noted::of(write));
            }
            self.refuse(replies.into_iter().flatten());
            return true;
        }
        let noted: Vec<Noted> = writes.iter().map(Noted::of).collect();
        let settling = settling(&writes);
        let dropping: Vec<_> = writes.iter().map(dropping).collect();
        let writes = match self.disk.flaw {
            Some(Flaw::MarkedApart) if dies(Moment::BeforeAnswer) => unmarked(writes),
            Some(_) | None => writes,
        };
        let results = self.disk.backend.lock().unwrap().commit(writes);
        for (noted, result) in noted.iter().zip(&results) {
            if let Err(broken) = self.disk.owners.committed(self.process, noted, result) {
                self.disk.verdict.fail(&broken);
            }
        }
        if dies(Moment::BeforeAnswer) {
            self.die();
            return false;
        }
        if self.disk.flaw == Some(Flaw::AnswerBeforePublish) {
            for (reply, result) in replies.iter_mut().zip(&results) {
                let reply = reply.take().into_iter();
                reply.for_each(|reply| reply.send(result.clone()));
            }
            for _ in 0..4 {
                chance.pause().await;
            }
        }
        for ((result, settling), dropping) in results.iter().zip(settling).zip(dropping) {
            match result {
                Ok(Written::Appended(entries) | Written::Created(_, entries))
                    if premature.is_none() =>
                {
                    self.publish(entries);
                }
                Ok(_) => {}
                Err(error) => self.failed(error, settling, dropping),
            }
        }
        for (reply, result) in replies.into_iter().zip(results) {
            if let Some(reply) = reply {
                chance.pause().await;
                reply.send(result);
            }
        }
        true
    }

    /// Fails the history if a write had no reason to fail.
    fn failed(
        &self,
        error: &StoreError,
        settling: Option<(TreeId, AgentId)>,
        dropping: Option<Dropping>,
    ) {
        let was_full = self.power.was_full.load(Ordering::Relaxed);
        // Behind an append that failed, the next one of the same agent has a gap before it.
        if error.kind == StoreErrorKind::Conflict && !was_full {
            let verdict = &self.disk.verdict;
            verdict.fail(&format!("the log refused an entry: {error}"));
        }
        if error.kind == StoreErrorKind::Refused {
            self.refused(settling);
            self.refused_rewind(dropping);
        }
    }

    /// Answers a group that found the disk full.
    fn refuse(&self, replies: impl Iterator<Item = Reply>) {
        self.power.full.fetch_sub(1, Ordering::Relaxed);
        self.power.was_full.store(true, Ordering::Relaxed);
        // One refusal in three is of a kind that only a bug explains; it has to be survived too.
        let kind = if self.disk.chance.one_in(3) {
            StoreErrorKind::Conflict
        } else {
            StoreErrorKind::Full
        };
        let full = StoreError::new(kind, "append: refused");
        for reply in replies {
            reply.send(Err(full.clone()));
        }
    }

    /// A settlement may be refused when a client messaged a settled child or started one meanwhile,
    /// and for no other reason: an agent knows of the children it spawned itself.
    fn refused(&self, settling: Option<(TreeId, AgentId)>) {
        let Some((tree, agent)) = settling else {
            return;
        };
        let entries = self
            .disk
            .read(|backend| backend.entries(&tree, Pos::ZERO, usize::MAX));
        let tree = Tree::fold(&entries).expect("the disk has a log that folds");
        let own = |child: &AgentId| {
            let child = tree.agent(child).expect("a child is in its tree");
            let of_host = child.parent().is_some_and(|parent| parent.host);
            child.open_run() == Some(RunNo::new(1)) && !of_host
        };
        if tree
            .agent(&agent)
            .is_some_and(|agent| agent.children.iter().any(own))
        {
            self.disk
                .verdict
                .fail("a run tried to settle before its children");
        }
    }

    /// A rewind may be refused when a run was opened below a child that it drops while it was on
    /// its way. Of a run that was open before it is to know.
    fn refused_rewind(&self, dropping: Option<Dropping>) {
        let Some(Dropping { tree, drops, at }) = dropping else {
            return;
        };
        let entries = self
            .disk
            .read(|backend| backend.entries(&tree, Pos::ZERO, usize::MAX));
        let tree = Tree::fold(&entries).expect("the disk has a log that folds");
        let mut below = drops.iter().flat_map(|id| tree.below(id));
        let is_old = |id: &AgentId| {
            let open = tree.agent(id).and_then(|agent| agent.open_run());
            let opens = |entry: &Entry| {
                entry.agent == *id
                    && entry.at.get() + ON_ITS_WAY < at.get()
                    && matches!(entry.event, Event::TurnStarted { run, .. } if Some(run) == open)
            };
            entries.iter().any(opens)
        };
        if below.any(is_old) {
            self.disk
                .verdict
                .fail("a rewind did not stop a run below a child that it drops");
        }
    }

    fn die(&self) {
        self.disk.owners.died(self.process);
        self.power.cut();
    }

    fn publish(&self, entries: &[Arc<Entry>]) {
        if let (Some(committed), false) = (self.sinks.get(), entries.is_empty()) {
            committed(entries);
        }
    }

    /// A planted flaw: appends are let through whatever their epoch.
    fn flawed(&self, write: Write) -> Write {
        match write {
            Write::Append(tree, epoch, append) if self.disk.flaw == Some(Flaw::EpochIgnored) => {
                let now = (epoch.get()..epoch.get() + 64)
                    .map(Epoch::new)
                    .find(|&epoch| {
                        let probe = Write::Append(tree.clone(), epoch, Append::default());
                        self.disk.backend.lock().unwrap().commit(vec![probe])[0].is_ok()
                    });
                Write::Append(tree, now.unwrap_or(epoch), append)
            }
            write @ (Write::Append(..)
            | Write::Claim(_)
            | Write::Create(..)
            | Write::Release(..)
            | Write::Delete(..)
            | Write::Journal(..)
            | Write::Submit(..)) => write,
        }
    }

    /// A planted flaw: what is about to be committed, as if it were.
    fn premature(&self, writes: &[Write]) -> Option<Vec<Vec<Arc<Entry>>>> {
        match self.disk.flaw {
            Some(Flaw::PublishBeforeCommit | Flaw::AnswerBeforeCommit) => {}
            Some(Flaw::EpochIgnored | Flaw::MarkedApart | Flaw::AnswerBeforePublish) | None => {
                return None;
            }
        }
        let [Write::Append(tree, _, append)] = writes else {
            return None;
        };
        let mut pos = self
            .disk
            .read(|backend| backend.entries(tree, Pos::ZERO, usize::MAX))
            .len() as u64;
        let entries = append.entries.iter().map(|new| {
            pos += 1;
            Arc::new(Entry {
                tree: tree.clone(),
                pos: Pos::new(pos),
                agent: new.agent.clone(),
                seq: new.seq,
                at: append.at,
                event: new.event.clone(),
            })
        });
        Some(vec![entries.collect()])
    }

    /// Sends a write now; the future waits for its answer, for ever if the process dies.
    fn send(&self, write: Write) -> BoxFuture<'static, Result<Written, StoreError>> {
        self.send_under(write, None)
    }

    /// Sends a write that is made under a lock.
    fn send_under(
        &self,
        write: Write,
        lock: Option<Arc<port::Lock>>,
    ) -> BoxFuture<'static, Result<Written, StoreError>> {
        if self.power.is_dead() {
            let error = StoreError::new(StoreErrorKind::Fenced, "write: this process is dead");
            return Box::pin(async move { Err(error) });
        }
        let (sender, answer) = oneshot::channel();
        let reply = Reply {
            answer: sender,
            _lock: lock,
        };
        self.queue.lock().unwrap().push(Queued { write, reply });
        self.more.notify_one();
        let (chance, power) = (self.disk.chance.clone(), self.power.clone());
        Box::pin(async move {
            let answer = answer.await;
            chance.pause().await;
            match answer {
                Ok(answer) if !power.is_dead() => answer,
                Ok(_) | Err(_) => std::future::pending().await,
            }
        })
    }

    fn look<'a, T: Send + 'a>(
        &'a self,
        look: impl FnOnce(&mut dyn Backend) -> Result<T, StoreError> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            self.disk.chance.pause().await;
            if self.power.is_dead() {
                std::future::pending::<()>().await;
            }
            look(self.disk.backend.lock().unwrap().as_mut())
        })
    }
}

/// Tells whether a write only looks whether the tree is still owned.
fn is_a_look(write: &Write) -> bool {
    match write {
        Write::Append(_, _, append) => append.entries.is_empty(),
        Write::Claim(_)
        | Write::Create(..)
        | Write::Release(..)
        | Write::Delete(..)
        | Write::Journal(..)
        | Write::Submit(..) => false,
    }
}

/// A planted flaw: the first of two commits, of which the second would have brought the marks.
///
/// Nothing else runs between the two, so they differ from one commit only for a process that dies
/// there. A completion cannot be written like this: its mark is the run that it names.
fn unmarked(mut writes: Vec<Write>) -> Vec<Write> {
    for write in &mut writes {
        let Write::Append(_, _, append) = write else {
            continue;
        };
        for new in &mut append.entries {
            if let Event::CallFinished { delivers, .. } = &mut new.event {
                delivers.clear();
            }
        }
    }
    writes
}

/// The children that a rewind drops, and when it was sent.
struct Dropping {
    tree: TreeId,
    drops: Vec<AgentId>,
    at: Timestamp,
}

/// Returns what a write drops.
fn dropping(write: &Write) -> Option<Dropping> {
    let Write::Append(tree, _, append) = write else {
        return None;
    };
    append.entries.iter().find_map(|new| {
        let Event::Rewound { drops, .. } = &new.event else {
            return None;
        };
        Some(Dropping {
            tree: tree.clone(),
            drops: drops.clone(),
            at: append.at,
        })
    })
}

/// Returns, for each write, the agent whose run it settles.
fn settling(writes: &[Write]) -> Vec<Option<(TreeId, AgentId)>> {
    let settled = |write: &Write| {
        let Write::Append(tree, _, append) = write else {
            return None;
        };
        let entry = append
            .entries
            .iter()
            .find(|new| matches!(new.event, Event::Settled { .. }))?;
        Some((tree.clone(), entry.agent.clone()))
    };
    writes.iter().map(settled).collect()
}
