//! What hooks have to do with a session as a whole: with what people say to it, and with its end.
//!
//! Hooks are asked before a message is anybody's, beside everything else the
//! session does, one message at a time. Nothing here is in the log before the
//! actor writes it.

use std::sync::Arc;
use std::time::Duration;

use offshoot_types::command::Order;
use offshoot_types::hook::{Occasion, Point, What, Who};
use offshoot_types::id::AgentId;
use offshoot_types::store::StoreError;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::Session;
use crate::board::Board;
use crate::hooks::prompts::{self, Start};
use crate::hooks::{self, notices};
use crate::kit::Kit;
use crate::node::Ordered;

impl Session {
    /// Takes what a person says: hooks are asked first, where there are any.
    pub(super) async fn receive(&mut self, order: Ordered) -> Result<(), StoreError> {
        // It comes back from an actor that was just ending, and hooks have been asked.
        if order.heard.is_some() {
            return self.hand_to_actor(order).await;
        }
        let start = self.start_with(&order.command.agent);
        let is_first = self.waiting.is_empty() && self.receiving.is_empty();
        let is_all_said = self.board.state().unsaid.is_empty();
        if is_first && is_all_said && !prompts::is_watched(&self.board.kit(), start) {
            return self.hand_to_actor(order).await;
        }
        self.waiting.push_back((order, start));
        self.receive_next();
        Ok(())
    }

    /// Has hooks asked about what a person said next, unless they are still being asked.
    fn receive_next(&mut self) {
        if self.receiving.is_empty()
            && let Some((order, start)) = self.waiting.pop_front()
        {
            let stop = CancellationToken::new();
            let agent = order.command.agent.clone();
            let mut unsaid = Vec::new();
            if agent == *self.board.tree.root() {
                unsaid = std::mem::take(&mut self.board.state().unsaid);
            }
            self.stop_receiving = Some((agent, start, stop.clone()));
            let board = self.board.clone();
            self.receiving
                .spawn(received(board, order, start, unsaid, stop));
        }
    }

    /// Takes back what hooks are being asked about if it is for an agent that is stopped and rests: there
    /// is nothing else to stop. What is said to one at work is for its next run, like all that waits.
    pub(super) fn stop_receiving(&self, stopped: &AgentId) {
        let rests = {
            let state = self.board.state();
            let agent = state.tree.agent(stopped);
            agent.is_some_and(|agent| agent.open_run().is_none())
        };
        if let Some((agent, _, stop)) = &self.stop_receiving
            && agent == stopped
            && rests
        {
            stop.cancel();
        }
    }

    /// Hands on what hooks have been asked about.
    pub(super) async fn received(
        &mut self,
        order: Result<Ordered, JoinError>,
    ) -> Result<(), StoreError> {
        let mut order = order.map_err(|error| self.failed("a message's hooks", &error))?;
        if let Some((_, start, stop)) = self.stop_receiving.take()
            && stop.is_cancelled()
            && let Some(heard) = &mut order.heard
        {
            // Also if hooks had answered by then: whoever stopped it was told that nothing runs.
            heard.refused = Some(prompts::STOPPED.to_owned());
            if start != Start::Under {
                // They are asked again with the next message, and may not have been heard out.
                self.greeted = false;
                heard.unsaid.clear();
            }
        }
        if let Some(heard) = &mut order.heard
            && heard.refused.is_some()
        {
            self.board.state().unsaid.append(&mut heard.unsaid);
        }
        self.receive_next();
        self.hand_to_actor(order).await
    }

    /// Tells whether this process takes the session up with what is said to an agent now.
    fn start_with(&mut self, agent: &AgentId) -> Start {
        let is_root = agent == self.board.tree.root();
        self.begun |= is_root;
        if !is_root || std::mem::replace(&mut self.greeted, true) {
            Start::Under
        } else if self.has_run() {
            Start::Again
        } else {
            Start::New
        }
    }

    fn has_run(&self) -> bool {
        let state = self.board.state();
        let root = state.tree.agent(self.board.tree.root());
        root.is_some_and(|root| !root.runs.is_empty())
    }

    /// Tells hooks that the session is taken up, if it is without anybody saying anything: nobody waits
    /// for them, and nothing follows from what they say.
    pub(super) fn taken_up(&mut self) {
        if !self.has_run() || std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.greeted = true;
        let mut state = self.board.state();
        if self.board.kit().hooks.is_watched(Point::SessionStart)
            && let Some(who) = hooks::who(&state, self.board.tree.root())
        {
            let what = What::SessionStart { resumes: true };
            state.add_notices([Occasion { who, what }]);
        }
    }

    /// Returns what hooks have not been told yet, and that this was all.
    pub(super) fn farewell(&mut self) -> Farewell {
        let kit = self.board.kit();
        let mut state = self.board.state();
        let ends = self.begun && kit.hooks.is_watched(Point::SessionEnd);
        let who = hooks::who(&state, self.board.tree.root()).filter(|_| ends);
        let what = What::SessionEnd;
        Farewell {
            grace: self.board.limits.grace,
            told: std::mem::take(&mut self.notices),
            noted: state.take_notices(),
            last: who.map(|who| Occasion { who, what }),
            kit,
        }
    }
}

/// What hooks hear when their session is gone.
pub(super) struct Farewell {
    kit: Arc<Kit>,
    grace: Duration,
    /// What they are being told.
    told: JoinSet<()>,
    /// What they have not been told yet.
    noted: Vec<Occasion>,
    /// That this was all.
    last: Option<Occasion>,
}

impl Farewell {
    /// Tells them, one after the other.
    pub(super) async fn say(self) {
        let Self {
            kit,
            grace,
            mut told,
            noted,
            last,
        } = self;
        while told.join_next().await.is_some() {}
        for occasions in [noted, last.into_iter().collect()] {
            notices::tell_without_a_board(&kit.hooks, grace, occasions).await;
        }
    }
}

/// Has hooks asked about what a person says to an agent.
async fn received(
    board: Arc<Board>,
    mut order: Ordered,
    start: Start,
    unsaid: Vec<String>,
    stop: CancellationToken,
) -> Ordered {
    let who = {
        let state = board.state();
        let agent = state.tree.agent(&order.command.agent);
        let run = agent.map(|agent| agent.open_run().unwrap_or(agent.last_run().next()));
        // Told of the run that the message is for, which may not have begun.
        hooks::who(&state, &order.command.agent).map(|who| Who { run, ..who })
    };
    if let (Some(who), Order::Prompt(prompt)) = (who, &mut order.command.order) {
        let text = &mut prompt.text;
        let kit = board.kit();
        let caller = board.caller(&kit.hooks);
        let received = prompts::receive((&kit, caller), who, start, unsaid, text, &stop);
        order.heard = Some(received.await);
    }
    order
}
