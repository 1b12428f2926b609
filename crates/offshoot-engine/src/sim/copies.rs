//! Copies of the session of a history: made, used and removed at any moment.
//!
//! Each is a tree of its own and judged as one. What becomes of it is nobody
//! else's business: removing one leaves nothing of it, and everything else.

use std::time::Duration;

use offshoot_types::command::{Command, Deletion, Fork, Order, Scope};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, MessageId, Pos, TreeId};
use offshoot_types::transcript::{Item, Transcript};

use super::oracle;
use super::world::{PATIENCE, World};
use crate::runtime::CommandError;

/// Tells whether a copy was refused because of the state of what it is of.
pub(super) fn is_no_time_to_copy(command: &Command, error: &CommandError) -> bool {
    let refused = match error {
        CommandError::Invalid(why) => !why.contains("exists already"),
        _ => false,
    };
    matches!(command.order, Order::Fork(_)) && refused
}

impl World {
    /// Returns the copies that are there.
    pub(super) fn copies(&self) -> Vec<TreeId> {
        let sessions = self.disk.read(|backend| backend.sessions());
        let mut trees: Vec<TreeId> = sessions.into_iter().map(|session| session.tree).collect();
        trees.retain(|tree| *tree != self.tree);
        trees.sort();
        trees
    }

    /// Returns how often something was taken back in the session, how many children with it, and how
    /// often something was summed up.
    pub(super) fn cuts(&self) -> (u64, u64, u64) {
        let (mut rewinds, mut dropped, mut summaries) = (0, 0, 0);
        for entry in self.log(&self.tree) {
            if let Event::Rewound { drops, .. } = &entry.event {
                rewinds += 1;
                dropped += drops.len() as u64;
            }
            summaries += u64::from(matches!(entry.event, Event::Compacted(_)));
        }
        (rewinds, dropped, summaries)
    }

    /// Returns the tree that a command for an agent is about.
    pub(super) fn home(&self, agent: &AgentId, order: &Order) -> TreeId {
        if matches!(order, Order::Fork(_)) {
            return TreeId::of(agent.clone());
        }
        let home = self.disk.read(|backend| backend.tree_of(agent));
        home.unwrap_or_else(|| self.tree.clone())
    }

    /// Returns what is visible of an agent's conversation.
    pub(super) fn said_by(&self, agent: &AgentId) -> Vec<MessageId> {
        let log = self.disk.read(|backend| backend.agent_log(agent));
        let transcript = Transcript::fold(log.iter().map(|entry| &entry.event));
        let items = transcript.map(Transcript::into_items).unwrap_or_default();
        items.iter().map(Item::id).cloned().collect()
    }

    /// Returns a copy of the session, or of a copy of it.
    pub(super) fn some_copy(&mut self) -> (AgentId, Order) {
        self.commands += 1;
        let copies = self.copies();
        let of = match copies.get(self.chance.below(2 + copies.len())) {
            Some(copy) => copy.root().clone(),
            None => self.tree.root().clone(),
        };
        let said = self.said_by(&of);
        let at = if self.chance.one_in(2) {
            None
        } else {
            said.get(self.chance.below(said.len())).cloned()
        };
        let fork = Fork {
            of,
            at,
            metadata: None,
        };
        let id = AgentId::new(format!("copy-{}", self.commands));
        if !self.attached.is_empty() {
            let copy = TreeId::of(id.clone());
            for index in 0..self.processes.len() {
                let runtime = &self.processes[index].runtime;
                let attached = self.attach(runtime, std::slice::from_ref(&copy));
                self.processes[index].attachments.extend(attached);
            }
            self.attached.push(copy);
        }
        (id, Order::Fork(fork))
    }

    /// Returns something that a person might want of a copy.
    pub(super) fn some_use_of_a_copy(&mut self) -> (AgentId, Order) {
        let copies = self.copies();
        let Some(copy) = copies.get(self.chance.below(copies.len())) else {
            return self.some_copy();
        };
        let root = copy.root().clone();
        match self.chance.below(3) {
            0 => {
                let said = self.said_by(&root);
                let to = said.get(self.chance.below(said.len())).cloned();
                let rewind = offshoot_types::command::Rewind { to };
                (root, Order::Rewind(rewind))
            }
            _ => (root, self.prompt("go")),
        }
    }

    /// Removes a copy, unless another process runs it. The process may die of it.
    pub(super) async fn remove_a_copy(&mut self) -> Result<(), String> {
        let copies = self.copies();
        let Some(copy) = copies.get(self.chance.below(copies.len())) else {
            return Ok(());
        };
        let before = self.log(&self.tree);
        let order = Order::Delete(Deletion::Always);
        let command = self.make_command(copy.root().clone(), order);
        let index = self.chance.below(self.processes.len());
        let process = &self.processes[index];
        let remove = process.runtime.command(command);
        let removed = tokio::select! {
            biased;
            () = process.power.died.notified() => None,
            removed = remove => Some(removed),
        };
        let is_gone = self.log(copy).is_empty();
        if is_gone {
            self.witness.removed.lock().unwrap().insert(copy.clone());
        }
        match removed {
            Some(Ok(_)) if !is_gone => return Err(format!("{copy} was removed and is there")),
            Some(Ok(_) | Err(_)) | None => {}
        }
        let of_copy = self.disk.read(|backend| backend.tree_of(copy.root()));
        let rows = self.disk.read(|backend| backend.chat_rows(copy));
        if is_gone && (of_copy.is_some() || !rows.sessions.is_empty() || !rows.messages.is_empty())
        {
            return Err(format!("something of {copy} is left"));
        }
        if !self.log(&self.tree).starts_with(&before) {
            return Err(format!("removing {copy} changed another session"));
        }
        Ok(())
    }

    fn log(&self, tree: &TreeId) -> Vec<Entry> {
        self.disk
            .read(|backend| backend.entries(tree, Pos::ZERO, usize::MAX))
    }

    /// Stops the copies and waits until they have come to rest.
    pub(super) async fn stop_copies(&mut self) -> Result<(), String> {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let trees = self
                .copies()
                .into_iter()
                .map(|copy| (self.log(&copy), copy));
            let restless = trees.filter(|(log, _)| {
                let tree = offshoot_types::tree::Tree::fold(log);
                tree.is_ok_and(|tree| !oracle::is_quiet(&tree))
            });
            let restless: Vec<TreeId> = restless.map(|(_, copy)| copy).collect();
            if restless.is_empty() {
                return Ok(());
            }
            if tokio::time::Instant::now() > until {
                return Err(format!("{restless:?} do not come to rest"));
            }
            // What waits for a turn is not stopped by a stop: it has to have one.
            for order in [Order::Cancel(Scope::Run), Order::Resume] {
                let to_root = |copy: &TreeId| (copy.root().clone(), order.clone());
                self.send(restless.iter().map(to_root).collect()).await?;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
