//! How runs of an agent end: stopped, settled, and announced to hooks that could not keep them.
//!
//! Whoever wants a run to stop is answered when it has settled, for whatever reason.
//! A settlement may be refused, because a child run was opened meanwhile (R18): then
//! nothing has happened, and the next look says wait.

use std::pin::Pin;

use futures_util::StreamExt;
use offshoot_types::command::{Receipt, Scope};
use offshoot_types::event::Event;
use offshoot_types::settlement::{CancelledBy, Status};
use offshoot_types::store::{StoreError, StoreErrorKind};

use super::{Actor, nothing};
use crate::hooks::announce;
use crate::hooks::ends::may_be_kept;
use crate::log::Batch;
use crate::node::Ordered;
use crate::scheduler::resume;
use crate::{settle, turn, unread};

impl Actor {
    /// Waits for something, and drives the mailbox beside it. In a box, or every agent that lives would
    /// have room for it.
    async fn beside<T>(
        &mut self,
        mut other: Pin<Box<impl Future<Output = T>>>,
    ) -> Result<T, StoreError> {
        loop {
            tokio::select! {
                biased;
                Some(order) = self.inputs.recv() => self.take(order),
                Some(entries) = self.appends.next() => {
                    turn::follow(&mut self.transcript, entries?)?;
                }
                done = &mut other => return Ok(done),
            }
        }
    }

    /// Stops the run, which is answered when it has settled, or the turn or chore at hand.
    pub(super) fn take_cancel(&mut self, order: Ordered, scope: Scope) {
        let receipt = match scope {
            Scope::Run => {
                if let Some(stop) = &self.stop_chore {
                    stop.cancel();
                }
                for waiting in std::mem::take(&mut self.chores) {
                    self.record(waiting, Batch::default(), nothing("it was stopped"));
                }
                if self.agent.sleeps() && !self.is_turn_running() {
                    return self.dropping.push((order, scope));
                }
                self.agent.board.cancel(&self.agent.id, CancelledBy::User);
                if let Some(run) = self.agent.open_run().or(self.opening) {
                    return self.cancels.push((run, order));
                }
                self.agent.how_it_ended(None)
            }
            Scope::Turn if self.agent.sleeps() && !self.is_turn_running() => {
                return self.dropping.push((order, scope));
            }
            Scope::Turn => match self.stop_turn.as_ref().or(self.stop_chore.as_ref()) {
                Some(stop) => {
                    stop.cancel();
                    Receipt::TurnCancelled
                }
                None => nothing("no turn is running"),
            },
        };
        self.record(order, Batch::default(), receipt);
    }

    /// Tells whether a turn runs that an order can stop. A turn that stops because the process ends
    /// may stay open, so an order to stop it waits for what becomes of it.
    fn is_turn_running(&self) -> bool {
        self.stop_turn.is_some() && !self.agent.leaves_asks_open()
    }

    /// Ends the turn that sleeps, and its run, together with the orders that want that: should the
    /// process die now, they have not been told what did not happen.
    pub(super) async fn drop_turn(&mut self) -> Result<(), StoreError> {
        let orders = std::mem::take(&mut self.dropping);
        let run = self.agent.open_run();
        if self.agent.leaves_asks_open() {
            // A person stops what the end of the process would have left open.
            let mut state = self.agent.board.state();
            let node = state.node_mut(&self.agent.id);
            node.into_iter()
                .for_each(|node| node.cancelled_by = Some(CancelledBy::User));
        }
        let Some(turn) = self.agent.turn() else {
            for (order, scope) in orders {
                self.take_cancel(order, scope);
            }
            return Ok(());
        };
        let mut events = resume::withdrawn(&self.agent, self.transcript.open_calls());
        let end = self.agent.aborted();
        events.push(Event::TurnEnded { turn, end });
        let mut settled = events.clone();
        let mut settles = self.agent.settled_by(&events);
        settles = settles.filter(|_| self.agent.has_no_open_child());
        if let Some((run, settlement)) = &mut settles {
            self.agent.finish(settlement, &self.transcript).await;
            let event = self.agent.settled(*run, settlement.clone(), &events);
            settled.push(event);
        }
        let ended = settles.map(|(_, settlement)| Receipt::Settled(settlement));
        // Whoever wants the run to end is answered when it has.
        let receipt = |scope: Scope, ended: &Option<Receipt>| match scope {
            Scope::Turn => Some(Receipt::TurnCancelled),
            Scope::Run => ended.clone(),
        };
        let batch = |events: Vec<Event>, ended: &Option<Receipt>| {
            let mut batch = Batch::from(events);
            for (order, scope) in &orders {
                if let Some(receipt) = receipt(*scope, ended) {
                    batch.applied(order.command.clone(), receipt);
                }
            }
            batch
        };
        let mut told = ended;
        match self.append(batch(settled, &told)).await {
            // A child run was opened meanwhile (R18): the turn ends, the run goes on.
            Err(error) if error.kind == StoreErrorKind::Refused => {
                told = None;
                self.append(batch(events, &told)).await?;
            }
            other => other?,
        }
        for (order, scope) in orders {
            match (receipt(scope, &told), run) {
                (Some(receipt), _) => order.answer(receipt),
                (None, Some(run)) => {
                    self.agent.board.cancel(&self.agent.id, CancelledBy::User);
                    self.cancels.push((run, order));
                }
                // A turn has a run.
                (None, None) => self.take_cancel(order, scope),
            }
        }
        Ok(())
    }

    /// Settles the run.
    pub(super) async fn settle(&mut self, status: Status) -> Result<(), StoreError> {
        if may_be_kept(&status) && self.agent.is_asked_to_end() {
            return self.ask_to_settle().await;
        }
        let (run, mut settlement) = {
            let state = self.agent.board.state();
            let agent = state.tree.agent(&self.agent.id).ok_or_else(unborn)?;
            let Some(run) = agent.open_run() else {
                return Ok(());
            };
            let now = self.agent.parts.env.now();
            let mut settlement = settle::settlement(&agent.tally, status, now);
            settlement.unread = unread::below(&state.tree, &self.agent.id, &agent.tally);
            (run, settlement)
        };
        self.agent.finish(&mut settlement, &self.transcript).await;
        let event = self.agent.settled(run, settlement, &[]);
        match self.append(Batch::from(vec![event])).await {
            // A child run was opened meanwhile (R18); the next look says wait.
            Err(error) if error.kind == StoreErrorKind::Refused => Ok(()),
            other => other,
        }
    }

    /// Has hooks asked whether a run may end that has no turn any more. What they say is written down;
    /// then it is looked again what comes next.
    async fn ask_to_settle(&mut self) -> Result<(), StoreError> {
        let cancel = self.agent.token().child_token();
        self.stop_chore = Some(cancel.clone());
        let agent = self.agent.clone();
        let said = self.beside(Box::pin(agent.may_settle(&cancel))).await?;
        self.stop_chore = None;
        match said {
            Some(batch) => self.append(batch).await,
            None => Ok(()),
        }
    }

    /// Tells whoever asked for a run to stop how it ended, once it has, for whatever reason.
    pub(super) async fn answer_cancels(&mut self) -> Result<(), StoreError> {
        let open = self.agent.open_run();
        let (waiting, settled): (Vec<_>, Vec<_>) = self
            .cancels
            .drain(..)
            .partition(|(run, _)| open == Some(*run));
        self.cancels = waiting;
        if settled.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::default();
        let mut answers = Vec::new();
        for (run, order) in settled {
            let receipt = self.agent.how_it_ended(Some(run));
            batch.applied(order.command.clone(), receipt.clone());
            answers.push((order, receipt));
        }
        self.append(batch).await?;
        for (order, receipt) in answers {
            order.answer(receipt);
        }
        Ok(())
    }

    /// Tells whether hooks have still to be told that the last run is over. The next one waits for it.
    pub(super) fn has_to_announce(&self) -> bool {
        self.agent.board.has_to_announce(&self.agent.id)
    }

    /// Tells hooks that the last run is over, and drives the mailbox beside them.
    pub(super) async fn announce(&mut self) -> Result<(), StoreError> {
        let board = self.agent.board.clone();
        let id = self.agent.id.clone();
        let told = self.beside(Box::pin(announce::tell(&board, &id))).await?;
        self.append(Batch::from(told)).await?;
        for order in std::mem::take(&mut self.resumes) {
            self.take(order);
        }
        Ok(())
    }
}

fn unborn() -> StoreError {
    StoreError::new(
        StoreErrorKind::Conflict,
        "run an agent: its tree does not have it",
    )
}
