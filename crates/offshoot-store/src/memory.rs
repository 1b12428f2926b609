//! A store that forgets when it is dropped.
//!
//! For tests, for the simulation and for embedders that want no file. Like the SQL
//! store it keeps the rules of the log by folding it (`Tree`); the contract suite
//! and the simulation hold both to the same.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::{AgentId, CommandId, Epoch, Pos, Timestamp, TreeId};
use offshoot_types::journal::{Recorded, Writer};
use offshoot_types::listing::{Among, SessionQuery, is_part};
use offshoot_types::store::{
    Append, ChatExport, OpenAsk, SessionSummary, StoreError, StoreErrorKind,
};
use offshoot_types::tree::Tree;

use crate::backend::{Backend, Pruning, Write, Written, kind_of};
use crate::chat;

/// All trees, in memory.
#[derive(Debug, Default)]
pub struct Memory {
    trees: BTreeMap<TreeId, Kept>,
    homes: HashMap<AgentId, TreeId>,
    commands: HashMap<CommandId, Row>,
    arrivals: u64,
    receipts: Pruning,
    /// In the order they were recorded.
    changes: Vec<(TreeId, Recorded)>,
}

#[derive(Debug, Default)]
struct Kept {
    epoch: Epoch,
    owned: bool,
    entries: Vec<Arc<Entry>>,
    tree: Tree,
}

/// A command that waits, or the receipt of one that is done.
#[derive(Debug)]
struct Row {
    tree: TreeId,
    arrival: u64,
    at: Timestamp,
    state: State,
}

#[derive(Debug)]
enum State {
    Pending(Command),
    Done(Receipt),
}

impl Row {
    fn pending(&self) -> Option<&Command> {
        match &self.state {
            State::Pending(command) => Some(command),
            State::Done(_) => None,
        }
    }

    fn receipt(&self) -> Option<&Receipt> {
        match &self.state {
            State::Pending(_) => None,
            State::Done(receipt) => Some(receipt),
        }
    }
}

impl Memory {
    fn write(&mut self, write: Write) -> Result<Written, StoreError> {
        match write {
            Write::Claim(tree) => Ok(Written::Claimed(self.claim(tree))),
            Write::Create(tree, append) => self.create(tree, append),
            Write::Release(tree, epoch) => {
                let pending = self.is_pending(&tree);
                let kept = self.owned(&tree, epoch)?;
                kept.owned = pending;
                Ok(Written::Released(!pending))
            }
            Write::Delete(tree, epoch) => self.delete(&tree, epoch),
            Write::Append(tree, epoch, append) => {
                let appended = self.append(&tree, epoch, append);
                appended.map(Written::Appended)
            }
            Write::Journal(tree, epoch, recorded) => self.journal(tree, epoch, recorded),
            Write::Submit(command, at) => self.submit(command, at),
        }
    }

    fn owned(&mut self, tree: &TreeId, epoch: Epoch) -> Result<&mut Kept, StoreError> {
        match self.trees.get_mut(tree) {
            Some(kept) if kept.owned && kept.epoch == epoch => Ok(kept),
            Some(_) | None => Err(StoreError::new(
                StoreErrorKind::Fenced,
                format!("write to session {tree}: another process has taken it over"),
            )),
        }
    }

    fn claim(&mut self, tree: TreeId) -> Epoch {
        let kept = self.trees.entry(tree).or_default();
        kept.epoch = kept.epoch.next();
        kept.owned = true;
        kept.epoch
    }

    fn create(&mut self, id: TreeId, append: Append) -> Result<Written, StoreError> {
        let known = self.trees.get(&id);
        if known.is_some_and(|kept| !kept.entries.is_empty()) {
            return Ok(Written::Exists);
        }
        let before = known.map_or((Epoch::default(), false), |kept| (kept.epoch, kept.owned));
        let epoch = self.claim(id.clone());
        let appended = self.append(&id, epoch, append);
        if appended.is_err()
            && let Some(kept) = self.trees.get_mut(&id)
        {
            (kept.epoch, kept.owned) = before;
        }
        Ok(Written::Created(epoch, appended?))
    }

    fn delete(&mut self, id: &TreeId, epoch: Epoch) -> Result<Written, StoreError> {
        let kept = self.owned(id, epoch)?;
        // The epoch stays, so that a former owner is still fenced when the id comes back.
        *kept = Kept {
            epoch,
            ..Kept::default()
        };
        self.homes.retain(|_, tree| tree != id);
        self.commands.retain(|_, row| row.tree != *id);
        self.changes.retain(|(tree, _)| tree != id);
        Ok(Written::Deleted)
    }

    fn journal(
        &mut self,
        id: TreeId,
        epoch: Epoch,
        recorded: Recorded,
    ) -> Result<Written, StoreError> {
        let kept = self.owned(&id, epoch)?;
        let agent = &recorded.writer.agent;
        if kept.tree.agent(agent).is_none() {
            let message =
                format!("record a change in session {id}: there is no agent {agent} in it");
            return Err(conflict(message));
        }
        self.changes.push((id, recorded));
        Ok(Written::Journaled)
    }

    fn append(
        &mut self,
        id: &TreeId,
        epoch: Epoch,
        append: Append,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        self.owned(id, epoch)?;
        for (command, _) in &append.applied {
            let known = self.commands.get(&command.id);
            if known.is_some_and(|row| row.receipt().is_some()) {
                return Err(conflict(format!("command {} was done before", command.id)));
            }
        }
        let kept = self.owned(id, epoch)?;
        let before = kept.entries.len();
        for new in append.entries {
            let entry = Arc::new(Entry {
                tree: id.clone(),
                pos: kept.tree.pos().next(),
                agent: new.agent,
                seq: new.seq,
                at: append.at,
                event: new.event,
            });
            if let Err(violation) = kept.tree.apply(&entry) {
                kept.entries.truncate(before);
                kept.refold()?;
                return Err(StoreError::new(
                    kind_of(violation.what),
                    format!("append to session {id}: {violation}"),
                ));
            }
            kept.entries.push(entry);
        }
        let appended = kept.entries[before..].to_vec();
        for entry in &appended {
            if matches!(entry.event, Event::Spawned(_)) {
                self.homes.insert(entry.agent.clone(), id.clone());
            }
        }
        if !append.applied.is_empty()
            && let Some(before) = self.receipts.due(append.at)
        {
            let is_old = |row: &Row| row.receipt().is_some() && row.at < before;
            self.commands.retain(|_, row| !is_old(row));
        }
        for (command, receipt) in append.applied {
            let row = self.row(command, append.at);
            row.at = append.at;
            row.state = State::Done(receipt);
        }
        Ok(appended)
    }

    /// Returns the row of a command, which waits if it is new.
    fn row(&mut self, command: Command, at: Timestamp) -> &mut Row {
        self.arrivals += 1;
        let arrival = self.arrivals;
        self.commands.entry(command.id.clone()).or_insert(Row {
            tree: command.tree.clone(),
            arrival,
            at,
            state: State::Pending(command),
        })
    }

    fn submit(&mut self, command: Command, at: Timestamp) -> Result<Written, StoreError> {
        if self
            .trees
            .get(&command.tree)
            .is_none_or(|kept| kept.entries.is_empty())
        {
            return Err(StoreError::new(
                StoreErrorKind::Unknown,
                format!(
                    "send a command to session {}: there is no such session",
                    command.tree
                ),
            ));
        }
        self.row(command, at);
        Ok(Written::Submitted)
    }

    fn is_pending(&self, tree: &TreeId) -> bool {
        self.commands
            .values()
            .any(|row| row.pending().is_some() && row.tree == *tree)
    }
}

impl Kept {
    /// Folds the log again after a failed append left the fold half way.
    fn refold(&mut self) -> Result<(), StoreError> {
        self.tree = Tree::fold(self.entries.iter().map(AsRef::as_ref))
            .map_err(|violation| conflict(violation.to_string()))?;
        Ok(())
    }

    /// Describes an agent and what is below it.
    fn summary(&self, id: &TreeId, agent: &AgentId) -> Option<SessionSummary> {
        let found = self.tree.agent(agent)?;
        let root = self.tree.agent(self.tree.root()?)?;
        let workspace = match &root.spawned.origin {
            Origin::Session { workspace, .. } => workspace.clone(),
            Origin::Task(_) | Origin::Helper(_) => String::new(),
        };
        let (parent, own) = match &found.spawned.origin {
            Origin::Session { .. } => (None, None),
            Origin::Task(parent) => (Some(parent.agent.clone()), Some(agent)),
            Origin::Helper(helper) => (Some(helper.of.clone()), Some(agent)),
        };
        let log = || self.entries.iter().filter(|entry| entry.agent == *agent);
        let given = found.title.as_ref().map(|(title, _)| title.clone());
        let title = given.or_else(|| {
            log().find_map(|entry| {
                if let Event::Prompted(message) = &entry.event {
                    return Some(message.title());
                }
                None
            })
        });
        // A root has changed when anybody in its tree has, a child when it has itself.
        let mut latest = self.entries.iter().rev();
        let last = latest.find(|entry| own.is_none_or(|own| entry.agent == *own));
        let at = |entry: Option<&Arc<Entry>>| entry.map_or(Timestamp::ZERO, |entry| entry.at);
        let below = self.tree.below(agent);
        let helpers = match own {
            None => self.tree.open_helpers().count(),
            Some(_) => 0,
        };
        let open = below.iter().filter(|id| {
            let agent = self.tree.agent(id);
            agent.is_some_and(|agent| agent.open_run().is_some())
        });
        Some(SessionSummary {
            tree: id.clone(),
            agent: agent.clone(),
            parent,
            definition: found.spawned.definition.clone(),
            now: found.definition().to_owned(),
            workspace,
            title: title.unwrap_or_default(),
            created_at: at(log().next()),
            updated_at: at(last),
            agents: below.len() as u64,
            // A helper that died is to be recovered like anybody else.
            open_runs: (open.count() + helpers) as u64,
            owned: self.owned,
            abandoned: false,
            status: found
                .settlement()
                .map(|settlement| settlement.status.word().to_owned()),
            archived_at: self.archived_at(agent),
        })
    }

    /// Returns when an agent, or one above it, was dropped.
    fn archived_at(&self, agent: &AgentId) -> Option<Timestamp> {
        let path = self.tree.path(agent);
        self.entries.iter().find_map(|entry| match &entry.event {
            Event::Rewound { drops, .. } => {
                let is_dropped = path.iter().any(|above| drops.contains(above));
                is_dropped.then_some(entry.at)
            }
            _ => None,
        })
    }

    /// Returns what somebody has to answer.
    fn asks(&self) -> Vec<OpenAsk> {
        let open = |entry: &Entry| {
            let agent = self.tree.agent(&entry.agent)?;
            let Event::Asked { call, .. } = &entry.event else {
                return None;
            };
            let asks = agent.asks(call)?;
            let mut path = self.tree.path(&entry.agent);
            path.reverse();
            let named = |id: &AgentId| {
                let definition = self.tree.agent(id)?.definition().to_owned();
                Some((id.clone(), definition))
            };
            let path = path.into_iter().filter_map(named).collect();
            // A call may have asked something before that was decided.
            OpenAsk::of(entry, path, self.owned).filter(|open| open.ask == *asks)
        };
        let entries = self.entries.iter();
        entries.filter_map(|entry| open(entry)).collect()
    }

    /// Returns the inspectable children.
    fn children(&self) -> impl Iterator<Item = &AgentId> {
        let all = self.tree.walk().into_iter().skip(1);
        all.filter(|id| {
            let agent = self.tree.agent(id);
            agent.is_some_and(|agent| agent.spawned.inspectable)
        })
    }
}

fn conflict(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, message)
}

impl Backend for Memory {
    fn commit(&mut self, group: Vec<Write>) -> Vec<Result<Written, StoreError>> {
        group.into_iter().map(|write| self.write(write)).collect()
    }

    fn entries(
        &mut self,
        tree: &TreeId,
        after: Pos,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let Some(kept) = self.trees.get(tree) else {
            return Ok(Vec::new());
        };
        let after = usize::try_from(after.get()).unwrap_or(usize::MAX);
        Ok(kept
            .entries
            .iter()
            .skip(after)
            .take(limit)
            .map(|entry| entry.as_ref().clone())
            .collect())
    }

    fn agent_log(&mut self, agent: &AgentId) -> Result<Vec<Entry>, StoreError> {
        let Some(kept) = self.homes.get(agent).and_then(|tree| self.trees.get(tree)) else {
            return Ok(Vec::new());
        };
        let own = kept.entries.iter().filter(|entry| entry.agent == *agent);
        Ok(own.map(|entry| entry.as_ref().clone()).collect())
    }

    fn tree_of(&mut self, agent: &AgentId) -> Result<Option<TreeId>, StoreError> {
        Ok(self.homes.get(agent).cloned())
    }

    fn pending(&mut self, tree: &TreeId) -> Result<Vec<Command>, StoreError> {
        let mut rows: Vec<&Row> = self
            .commands
            .values()
            .filter(|row| row.tree == *tree)
            .collect();
        rows.sort_by_key(|row| row.arrival);
        Ok(rows.into_iter().filter_map(Row::pending).cloned().collect())
    }

    fn receipt(&mut self, command: &CommandId) -> Result<Option<Receipt>, StoreError> {
        Ok(self
            .commands
            .get(command)
            .and_then(|row| row.receipt().cloned()))
    }

    fn list(&mut self, query: &SessionQuery) -> Result<Vec<SessionSummary>, StoreError> {
        let all = self.trees.iter().flat_map(|(id, kept)| {
            let agents = [id.root()].into_iter().chain(kept.children());
            agents.filter_map(move |agent| kept.summary(id, agent))
        });
        let mut sessions: Vec<_> = all.filter(|session| query.takes(session)).collect();
        sessions.sort_by(|a, b| (b.updated_at, &a.agent).cmp(&(a.updated_at, &b.agent)));
        sessions.truncate(query.limit.unwrap_or(usize::MAX));
        Ok(sessions)
    }

    fn find(&mut self, part: &str, among: Among, limit: usize) -> Result<Vec<AgentId>, StoreError> {
        if part.is_empty() {
            return Ok(Vec::new());
        }
        let agents = self.trees.values().flat_map(|kept| {
            let agents = kept.tree.walk().into_iter();
            agents.take(if among == Among::Sessions {
                1
            } else {
                usize::MAX
            })
        });
        let mut found: Vec<AgentId> = agents.filter(|id| is_part(part, id)).cloned().collect();
        found.sort();
        found.truncate(limit);
        Ok(found)
    }

    fn asks(&mut self) -> Result<Vec<OpenAsk>, StoreError> {
        let mut asks: Vec<OpenAsk> = self.trees.values().flat_map(Kept::asks).collect();
        asks.sort_by(|a, b| {
            let order = |ask: &OpenAsk| (ask.asked_at, ask.agent.clone(), ask.call.clone());
            order(a).cmp(&order(b))
        });
        Ok(asks)
    }

    fn changes(&mut self, tree: &TreeId) -> Result<Vec<Recorded>, StoreError> {
        let own = self.changes.iter().filter(|(of, _)| of == tree);
        Ok(own.map(|(_, recorded)| recorded.clone()).collect())
    }

    fn last_writer(&mut self, path: &str) -> Result<Option<Writer>, StoreError> {
        let mut latest = self.changes.iter().rev();
        let last = latest.find(|(_, recorded)| recorded.change.path == path);
        Ok(last.map(|(_, recorded)| recorded.writer.clone()))
    }

    fn chat(&mut self, session: &AgentId) -> Result<Option<ChatExport>, StoreError> {
        let Some(kept) = self
            .homes
            .get(session)
            .and_then(|tree| self.trees.get(tree))
        else {
            return Ok(None);
        };
        let entries = || kept.entries.iter().map(AsRef::as_ref);
        let rows = chat::fold(entries());
        let is_kept = |original: &AgentId| Ok(self.homes.contains_key(original));
        let exported = chat::export(rows, session, is_kept, || {
            let own = entries().filter(|entry: &&Entry| entry.agent == *session);
            chat::fold_agent(own, &mut chat::Logs::of(entries()))
        });
        match exported {
            Ok(exported) => Ok(exported),
            Err(never) => match never {},
        }
    }
}
