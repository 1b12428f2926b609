//! How a session lets its tree go: when it is quiet and nobody needs it, or when the process leaves.
//!
//! What calls have left running is ended before somebody else may work there. Once the tree is given
//! back nobody finds the session any more, and hooks hear of its end after that: nobody waits for
//! them.

use offshoot_types::command::{Deletion, Receipt};
use offshoot_types::event::Purpose;
use offshoot_types::id::AgentId;
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::StoreError;
use offshoot_types::tree::Tree;

use super::Session;
use crate::agent::nothing;
use crate::desk;
use crate::node::Ordered;
use crate::runtime::claims::is_unprompted;

impl Session {
    /// Lets nobody find the session any more: what is sent to it from here on has to open it again,
    /// and does not wait for hooks that hear of its end.
    pub(super) fn turn_away(&mut self) {
        self.board.give_back();
        self.inputs.close();
        while self.inputs.try_recv().is_ok() {}
    }

    /// Ends what calls of any agent have left running: it dies with the session at the latest.
    pub(super) async fn end_leftovers(&self) {
        let agents: Vec<AgentId> = {
            let state = self.board.state();
            state.tree.walk().into_iter().cloned().collect()
        };
        let (kit, grace) = (self.board.kit(), self.board.limits.grace);
        for agent in agents {
            desk::end_all(&kit, &agent, grace).await;
        }
    }

    /// Stops everything, waits until it has settled and lets go. A root whose turn waits for an answer
    /// is left asleep, as a crash would leave it: only the calls that run are stopped (R20). Takes nothing
    /// up any more: what is sent from here on stays for the process that has the tree next.
    pub(super) async fn leave(&mut self) -> Result<(), StoreError> {
        self.stop_and_settle().await?;
        self.keep_unheard_answers().await?;
        self.release().await.map(drop)
    }

    /// Notes that the session is to be deleted, unless something was said that keeps it.
    pub(super) async fn order_deletion(
        &mut self,
        order: Ordered,
        which: Deletion,
    ) -> Result<(), StoreError> {
        let is_spoken_to = !self.waiting.is_empty() || !self.receiving.is_empty();
        if which == Deletion::IfUnprompted
            && (is_spoken_to || !is_unprompted(&self.parts, &self.board.tree).await?)
        {
            return self
                .note(order, nothing("something was said in the session"))
                .await;
        }
        self.deletion = Some(order);
        Ok(())
    }

    /// Stops everything, waits until it has settled and its processes have ended, and deletes the log.
    pub(super) async fn delete(&mut self, order: Ordered) -> Result<(), StoreError> {
        self.stop_and_settle().await?;
        self.end_leftovers().await;
        self.parts.store.delete(self.board.lease.clone()).await?;
        order.answer(Receipt::Deleted { is_wiped: false });
        Ok(())
    }

    /// Takes nothing up any more, stops every run and waits until all have settled.
    async fn stop_and_settle(&mut self) -> Result<(), StoreError> {
        self.inputs.close();
        // A prompt that was just taken waits for whoever opens the session next.
        self.openers.clear();
        self.newborns.clear();
        self.wanted = false;
        if !self.sleeps() {
            self.stop_all();
        }
        // Who has something to announce may not have been looked at yet.
        self.look().await?;
        while !self.actors.is_empty() || self.has_runs_to_end() {
            tokio::select! {
                biased;
                Some(ended) = self.actors.join_next() => self.ended(ended).await?,
                () = self.board.stirred.notified() => self.look().await?,
            }
        }
        Ok(())
    }

    /// Tells whether a run is open that ends before the process does: any but that of a root that
    /// sleeps.
    fn has_runs_to_end(&self) -> bool {
        let state = self.board.state();
        let asleep = usize::from(state.sleeps(self.board.tree.root()));
        state.tree.open_runs() > asleep || state.tree.open_helpers().next().is_some()
    }

    /// Stores the answers that came while the root was being stopped, for the process that opens the
    /// session next.
    async fn keep_unheard_answers(&mut self) -> Result<(), StoreError> {
        let root = self.board.tree.root().clone();
        let answers = {
            let mut state = self.board.state();
            let node = state.node_mut(&root);
            node.map(|node| std::mem::take(&mut node.answers))
        };
        for order in answers
            .into_iter()
            .flat_map(std::collections::BTreeMap::into_values)
        {
            self.answer(order).await?;
        }
        Ok(())
    }

    /// Stops every run, for the process is leaving.
    pub(super) fn stop_all(&mut self) {
        self.working = false;
        let open = {
            let mut state = self.board.state();
            state.leave();
            open_runs(&state.tree, state.tree.walk())
        };
        for id in open {
            self.board.cancel(&id, CancelledBy::Shutdown);
        }
        self.stop_helpers(|_| true);
    }

    /// Stops what the runtime has done for itself: nobody waits at the door for what nobody ordered
    /// (R19).
    pub(super) fn stop_helpers(&self, which: fn(Purpose) -> bool) {
        let open: Vec<AgentId> = {
            let state = self.board.state();
            let open = state.tree.open_helpers().filter(|id| {
                let helper = state
                    .tree
                    .agent(id)
                    .and_then(|agent| agent.spawned.helper());
                let node = state.node(id);
                helper.is_some_and(|helper| which(helper.purpose))
                    && node.is_some_and(|node| node.stopped().is_none())
            });
            open.cloned().collect()
        };
        for id in open {
            self.board.cancel(&id, CancelledBy::Shutdown);
        }
    }

    /// Stops what is open below an agent that has no open run itself.
    pub(super) fn stop_below(&self, agent: &AgentId) {
        let open = {
            let state = self.board.state();
            let below = state.tree.below(agent);
            open_runs(&state.tree, below)
        };
        for id in open {
            self.board.cancel(&id, CancelledBy::Ancestor);
        }
    }

    pub(super) fn is_unneeded(&self) -> bool {
        let (idle, calm) = {
            let state = self.board.state();
            (state.is_idle(), state.is_calm())
        };
        (idle || !self.working)
            && calm
            && self.actors.is_empty()
            && self.receiving.is_empty()
            && self.notices.is_empty()
            && self.inputs.is_empty()
            && self.board.listeners() == 0
    }

    /// Gives the tree back; not if a command has come meanwhile.
    ///
    /// An answer to what sleeps stays for whoever opens the session. The tree is dropped then, as a
    /// crash would.
    pub(super) async fn release(&mut self) -> Result<bool, StoreError> {
        let pending = self.parts.store.pending(&self.board.tree).await?;
        let goes = pending.is_empty() || self.departure.now.is_cancelled();
        if goes || self.is_all_kept().await? {
            // Before somebody else may work there.
            self.end_leftovers().await;
        }
        if self.board.owes_a_stop() {
            return Ok(goes || self.is_all_kept().await?);
        }
        let back = self.parts.store.release(self.board.lease.clone()).await?;
        match back {
            None => Ok(true),
            Some(_) => self.is_all_kept().await,
        }
    }
}

/// Returns those of the agents that have an open run.
fn open_runs(tree: &Tree, agents: Vec<&AgentId>) -> Vec<AgentId> {
    let is_open = |id: &&AgentId| {
        tree.agent(id)
            .is_some_and(|agent| agent.open_run().is_some())
    };
    agents.into_iter().filter(is_open).cloned().collect()
}
