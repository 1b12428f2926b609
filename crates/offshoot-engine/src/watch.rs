//! Time: when a run has to come to its end, and when nothing moves any more (R26).
//!
//! A run's deadline is its own or, if that is earlier, the moment its parent has
//! to begin handing back: a child is done before whoever waits for it. Both keep
//! a part of their time for that. A stall is time without a sign of progress
//! while the agent itself works; waiting for a slot, a person, a rate limit or a
//! child is not one. Nothing is stopped here: whoever asks is told which cap it was.

use std::time::Duration;

use offshoot_types::caps::Span;
use offshoot_types::id::{AgentId, RunNo, Timestamp};
use offshoot_types::settlement::Cap;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::board::State;
use crate::limits::Limits;
use crate::update::Activity;

/// How long the step that hands back may take after a stall.
const HAND_BACK: Span = Span::secs(30);

/// When a run has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// From here on it hands back.
    pub(crate) soft: Timestamp,
    /// From here on it does nothing.
    pub(crate) hard: Timestamp,
}

/// The time in which nobody had the session, while a run of its root waited for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slept {
    run: RunNo,
    millis: u64,
}

impl State {
    /// Notes that the turn of the root is taken up that slept until now. It did nothing since somebody
    /// last worked: what was said to it meanwhile is no work.
    pub(crate) fn end_sleep(&mut self, now: Timestamp) {
        let root = self.tree.root().and_then(|root| self.tree.agent(root));
        let millis = now.get().saturating_sub(self.tree.worked().get());
        self.slept = root.and_then(|root| {
            let run = root.open_run()?;
            Some(Slept { run, millis })
        });
    }

    /// Returns how long the open run of an agent slept, in milliseconds. Nobody could use that time.
    fn slept(&self, agent: &offshoot_types::tree::Agent) -> u64 {
        let slept = self.slept.filter(|_| agent.spawned.is_root());
        match slept {
            Some(Slept { run, millis }) if agent.open_run() == Some(run) => millis,
            Some(_) | None => 0,
        }
    }

    /// Returns when the open run of an agent has to end; `None` when nothing says.
    pub(crate) fn deadline(&self, id: &AgentId, limits: &Limits) -> Option<Deadline> {
        let mut deadline: Option<Deadline> = None;
        // From the root down: what is above bounds what is below.
        for id in self.tree.path(id).into_iter().rev() {
            let agent = self.tree.agent(id)?;
            // One above that has settled gives no more time, and takes none.
            if agent.open_run().is_none() {
                continue;
            }
            let span = self.caps_of(id, limits).time;
            let own = span.map(|span| {
                let began = agent.tally.started.get() + self.slept(agent);
                (began.saturating_add(span.as_millis()), span)
            });
            let above = deadline.map(|above| {
                let hard = above.soft.get();
                let left = hard.saturating_sub(agent.tally.started.get());
                (hard, Span::millis(left))
            });
            let (hard, span) = match (own, above) {
                (Some(own), Some(above)) => own.min(above),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => continue,
            };
            deadline = Some(Deadline {
                soft: Timestamp::new(hard.saturating_sub(span.hand_back().as_millis())),
                hard: Timestamp::new(hard),
            });
        }
        deadline
    }
}

impl Agent {
    /// Tells whether the time of the run is up, but for handing back.
    pub(crate) fn is_late(&self, state: &State) -> bool {
        let deadline = state.deadline(&self.id, &self.board.limits);
        deadline.is_some_and(|deadline| self.parts.env.now() >= deadline.soft)
    }

    /// Tells whether the run has no time left at all.
    pub(crate) fn is_too_late(&self, state: &State) -> bool {
        let deadline = state.deadline(&self.id, &self.board.limits);
        deadline.is_some_and(|deadline| self.parts.env.now() >= deadline.hard)
    }

    /// Waits until a deadline says something new: that it is time to hand back, or too late for it.
    pub(crate) async fn time_to_look(&self, deadline: Option<Deadline>) {
        let now = self.parts.env.now();
        let next = deadline.and_then(|Deadline { soft, hard }| {
            let ahead = [soft, hard].into_iter().find(|at| *at > now)?;
            Some(Duration::from_millis(ahead.get().saturating_sub(now.get())))
        });
        match next {
            Some(left) => tokio::time::sleep(left).await,
            None => std::future::pending().await,
        }
    }

    /// Runs a part of a step, and stops it when a cap on time is reached; returns which one. `last`
    /// is set for the step that hands back.
    pub(crate) async fn within<T>(
        &self,
        last: Option<Cap>,
        work: &CancellationToken,
        part: impl Future<Output = T>,
    ) -> (T, Option<Cap>) {
        let mut part = std::pin::pin!(part);
        tokio::select! {
            biased;
            done = &mut part => (done, None),
            cap = self.overrun(last) => {
                work.cancel();
                (part.await, Some(cap))
            }
        }
    }

    /// Waits until a cap on time is reached.
    async fn overrun(&self, last: Option<Cap>) -> Cap {
        let began = Instant::now();
        loop {
            let (deadline, stall) = self.next_check(last, began);
            let now = Instant::now();
            if deadline.is_some_and(|at| at <= now) {
                return Cap::Time;
            }
            if stall.is_some_and(|at| at <= now) {
                return Cap::Stall;
            }
            match deadline.into_iter().chain(stall).min() {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Returns when to look again: for the deadline, and for a stall.
    fn next_check(&self, last: Option<Cap>, began: Instant) -> (Option<Instant>, Option<Instant>) {
        let state = self.board.state();
        let limits = &self.board.limits;
        let now = Instant::now();
        let deadline = state.deadline(&self.id, limits).map(|deadline| {
            let at = match last {
                None => deadline.soft,
                Some(_) => deadline.hard,
            };
            let left = at.get().saturating_sub(self.parts.env.now().get());
            now + Duration::from_millis(left)
        });
        // A model that stalled is not given as long again.
        let deadline = match last {
            Some(Cap::Stall) => {
                let at = began + Duration::from(HAND_BACK);
                Some(deadline.map_or(at, |deadline| deadline.min(at)))
            }
            Some(Cap::Steps | Cap::Tokens | Cap::Cost | Cap::Time) | None => deadline,
        };
        let stall = state.caps_of(&self.id, limits).stall.and_then(|span| {
            let node = state.node(&self.id)?;
            let since = match node.activity {
                Activity::FirstByte | Activity::Streaming | Activity::Tools(_) => node.progress,
                Activity::Resting
                | Activity::Slot
                | Activity::RateLimit
                | Activity::Budget
                | Activity::Retrying { .. }
                | Activity::Permission(_)
                | Activity::Question
                | Activity::ClientTools(_)
                | Activity::Children { .. }
                | Activity::Compacting
                // They have limits of their own.
                | Activity::Hooks(_) => now,
            };
            Some(since + Duration::from(span))
        });
        (deadline, stall)
    }
}
