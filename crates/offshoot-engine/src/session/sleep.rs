//! A session that sleeps: its root has asked somebody something, and its process is gone (R16).
//!
//! Whoever opens it wakes it, if what it asked can be answered: by somebody who
//! is here, by an answer that was kept meanwhile, or by rules that have changed.
//! Otherwise it sleeps on, for a deny that nobody said would take the question
//! from the person it was for. What is said to it then waits in its queue.

use std::collections::BTreeMap;

use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::id::AgentId;
use offshoot_types::store::StoreError;
use offshoot_types::transcript::Transcript;

use super::Session;
use crate::agent::nothing;
use crate::ask;
use crate::hooks::host;
use crate::node::Ordered;
use crate::scheduler::resume::{self, Kept};
use crate::turn;

/// Why nobody here can open a session that sleeps.
const NOBODY: &str = "it waits for an answer, and nobody here can give one";

/// What an answer is told whose deadline is over.
pub(super) const TOO_LATE: &str = "it is too late to answer that";

impl Session {
    /// Tells whether all that is left of the tree is a turn that waits for an answer, and nobody has
    /// opened the session.
    pub(super) fn sleeps(&self) -> bool {
        !self.working && self.board.state().sleeps(self.board.tree.root())
    }

    /// Lets agents start turns from here on. What was answered while nobody worked is heard first.
    pub(super) async fn work(&mut self) -> Result<(), StoreError> {
        self.work_with(None).await
    }

    /// Does so; one of the orders that were left has somebody who waits for what becomes of it.
    async fn work_with(&mut self, mut waited_for: Option<Ordered>) -> Result<(), StoreError> {
        if self.working {
            return Ok(());
        }
        self.taken_up();
        if self.sleeps() {
            self.board.state().end_sleep(self.parts.env.now());
        }
        self.working = true;
        self.openers.clear();
        self.newborns.clear();
        self.board.state().stir_all();
        self.board.stirred.notify_one();
        let pending = self.parts.store.pending(&self.board.tree).await?;
        let is_answer = |command: &Command| matches!(command.order, Order::Answer(_));
        // Whatever else is there may have the turn taken up.
        let (answers, rest): (Vec<_>, Vec<_>) = pending.into_iter().partition(is_answer);
        for command in answers.into_iter().chain(rest) {
            let waited = waited_for.take_if(|order| order.command.id == command.id);
            let order = waited.unwrap_or_else(|| Ordered::unheard(command));
            Box::pin(self.take(order)).await?;
        }
        self.make_title_again().await
    }

    /// Carries out `Order::Resume`, which opens the session and asks for nothing else.
    pub(super) async fn resume(&mut self, order: Ordered) -> Result<(), StoreError> {
        if self.sleeps() && order.reply.is_none() {
            // Left by another process, which may have somebody to ask. This one may be here for something
            // else, so the command stays for that process.
            self.kept.insert(order.command.id);
            return Ok(());
        }
        if let Some(why) = self.must_sleep().await? {
            self.wanted = true;
            return self.note(order, nothing(&why)).await;
        }
        self.work().await?;
        if self.is_held_back(&order.command.agent) {
            return self.hand_to_actor(order).await;
        }
        self.note(order, Receipt::Resumed).await
    }

    /// Takes a prompt. It opens the session only once the agent has taken it: a prompt that is refused
    /// wakes nobody.
    pub(super) async fn prompted(&mut self, mut order: Ordered) -> Result<(), StoreError> {
        let Order::Prompt(prompt) = &order.command.order else {
            return Ok(());
        };
        let (id, message) = (order.command.agent.clone(), prompt.message.clone());
        let is_human = prompt.from.is_human();
        if !self.working {
            // A command left by a process that is gone is queued, but does not wake a sleeping session.
            let is_left = order.reply.is_none() && self.sleeps();
            order.waits = is_left || self.must_sleep().await?.is_some();
            self.wanted |= order.waits && !is_left;
            let is_new = {
                let state = self.board.state();
                let agent = state.tree.agent(&id);
                agent.is_some_and(|agent| !agent.knows_prompt(&message))
            };
            if is_new && !order.waits {
                self.openers.push((id, message));
            }
        }
        if is_human {
            self.receive(order).await
        } else {
            self.hand_to_actor(order).await
        }
    }

    /// Opens the session if a prompt that is to open it has been taken, or a child of the host is born.
    pub(super) async fn open_if_prompted(&mut self) -> Result<(), StoreError> {
        let taken = {
            let state = self.board.state();
            let is_born = |id: &AgentId| state.tree.agent(id).is_some();
            let mut openers = self.openers.iter();
            self.newborns.iter().any(is_born)
                || openers.any(|(id, message)| {
                    let agent = state.tree.agent(id);
                    agent.is_some_and(|agent| agent.knows_prompt(message))
                })
        };
        if taken { self.work().await } else { Ok(()) }
    }

    /// Opens the session again for an order that was carried out before.
    pub(super) async fn reopen(&mut self, receipt: &Receipt) -> Result<(), StoreError> {
        let refused = matches!(receipt, Receipt::NoEffect { .. } | Receipt::Refused { .. });
        if refused || self.must_sleep().await?.is_some() {
            Ok(())
        } else {
            self.work().await
        }
    }

    /// Says why the session sleeps and has to go on sleeping, if so: it could not go on here at all, or
    /// something is asked that nobody is here to answer, and nobody has answered meanwhile.
    async fn must_sleep(&self) -> Result<Option<String>, StoreError> {
        if !self.sleeps() {
            return Ok(None);
        }
        self.board.refresh_kit().await;
        let root = self.board.tree.root().clone();
        let log = self.parts.store.agent_log(&root).await?;
        let entries: Vec<_> = log.into_iter().map(std::sync::Arc::new).collect();
        let Some(agent) = super::agent(&self.board, &self.parts, &root, &entries, None) else {
            return Ok(Some(NOBODY.to_owned()));
        };
        let agent = std::sync::Arc::new(agent).as_it_is_now();
        let prefix = match agent.prefix() {
            Ok(prefix) => prefix,
            Err(error) => return Ok(Some(error.message)),
        };
        if agent.kit.asks.is_somebody_there() {
            return Ok(None);
        }
        let mut transcript = Transcript::default();
        turn::follow(&mut transcript, entries.clone())?;
        let kept = self.kept().await?;
        let events = entries.iter().map(|entry| &entry.event);
        let message = host::last_reply_as_run(&transcript, events);
        let calls = message.iter();
        let calls = calls.flat_map(|message| host::open_calls(&transcript, message));
        let stuck = resume::is_anything_unanswerable(&agent, &prefix, calls, &kept);
        Ok(stuck.then(|| NOBODY.to_owned()))
    }

    /// Returns what was answered while nobody worked.
    async fn kept(&self) -> Result<Kept, StoreError> {
        let mut kept = BTreeMap::new();
        for command in self.parts.store.pending(&self.board.tree).await? {
            if let Order::Answer(answer) = &command.order
                && command.agent == *self.board.tree.root()
                && self.objection(&command).is_none()
            {
                // The first one counts.
                kept.entry(answer.call.clone())
                    .or_insert_with(|| answer.verdict.clone());
            }
        }
        Ok(kept)
    }

    /// Says why an answer cannot be taken, if so.
    pub(super) fn objection(&self, command: &Command) -> Option<String> {
        let Order::Answer(answer) = &command.order else {
            return None;
        };
        // An answer that was kept counts as of when it was given, not of when the session is opened.
        let given = answer.given.unwrap_or(self.parts.env.now());
        let state = self.board.state();
        let agent = state.tree.agent(&command.agent);
        let asks = agent.and_then(|agent| agent.asks(&answer.call));
        let node = state.node(&command.agent);
        let said = node.is_some_and(|node| node.answers.contains_key(&answer.call));
        match asks {
            None => Some("nobody asks that".to_owned()),
            Some(_) if said => Some("it has been answered".to_owned()),
            Some(ask) if ask.deadline.is_some_and(|deadline| deadline < given) => {
                Some(TOO_LATE.to_owned())
            }
            Some(ask) => ask::misfit(ask, &answer.verdict),
        }
    }

    /// Tells whether an order was left for whoever opens the session, and nobody has: its row stays as
    /// it is, however often it is seen.
    pub(super) fn is_kept(&mut self, order: &Ordered) -> bool {
        let id = &order.command.id;
        let comes = order.reply.is_some() && matches!(order.command.order, Order::Resume);
        if comes && self.kept.remove(id) {
            // Whoever left it is here by now, and opens it themselves.
            self.taken.remove(id);
        }
        if !self.kept.is_empty() && !self.sleeps() {
            for id in std::mem::take(&mut self.kept) {
                self.taken.remove(&id);
            }
        }
        self.kept.contains(id)
    }

    /// Keeps an answer for whoever opens the session: the agent that asked does not run.
    pub(super) async fn keep_answer(&mut self, order: Ordered) -> Result<(), StoreError> {
        let pending = self.parts.store.pending(&self.board.tree).await?;
        let answers = |kept: &&Command| {
            kept.answers() == order.command.answers() && self.objection(kept).is_none()
        };
        // The first one counts here as well, of those that are answers.
        if let Some(first) = pending.iter().find(answers)
            && first.id != order.command.id
        {
            return self.note(order, nothing("it has been answered")).await;
        }
        if !pending.iter().any(|kept| kept.id == order.command.id) {
            let (store, now) = (&self.parts.store, self.parts.env.now());
            store.submit(order.command.clone(), now).await?;
        }
        // Somebody tried to open it before and could not, perhaps for want of just this answer.
        if self.wanted && self.must_sleep().await?.is_none() {
            self.taken.remove(&order.command.id);
            return Box::pin(self.work_with(Some(order))).await;
        }
        self.kept.insert(order.command.id.clone());
        order.answer(Receipt::Queued);
        Ok(())
    }

    /// Tells whether all that is pending is for whoever opens the session.
    pub(super) async fn is_all_kept(&self) -> Result<bool, StoreError> {
        let pending = self.parts.store.pending(&self.board.tree).await?;
        let kept = |command: &Command| matches!(command.order, Order::Answer(_) | Order::Resume);
        Ok(self.sleeps() && pending.iter().all(kept))
    }
}
