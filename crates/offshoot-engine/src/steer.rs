//! Looking after children: see how they are, wait for them, talk to them, stop them.
//!
//! Only those below the caller can be reached. What `wait` or `cancel` returns of
//! a child's run is its delivery (R14): no completion repeats it, and of two
//! calls that see the same end one tells it. What is said to a child is a
//! message like any other: it carries no approval (R24), enters its conversation
//! at its next step, and opens a new run of one that has settled. Orders go
//! through the session; no agent waits to be let into another's mailbox (R11).

mod arguments;

use offshoot_types::command::{Command, Order, Prompt, Receipt};
use offshoot_types::id::{AgentId, CallId, CommandId, MessageId, RunId};
use offshoot_types::json::RawJson;
use offshoot_types::message::Author;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::settlement::CancelledBy;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::board::State;
use crate::limits::Limits;
use crate::node::Ordered;
use crate::scheduler::Finished;
use crate::settle;
pub(crate) use arguments::{Errand, Steering, WaitMode, Whom};

/// Most children that are listed at once.
const MOST_LISTED: usize = 200;

/// Most agents that one `wait` names as running.
const MOST_RUNNING: usize = 50;

/// Most bytes of answers that one `wait` returns; the rest waits for the next.
const MOST_TOLD: usize = 150 * 1024;

impl Errand {
    /// Tells whether it does something, so that its start has to be stored first.
    pub(crate) fn has_effect(&self) -> bool {
        match self {
            Self::Message { .. } | Self::Cancel { .. } => true,
            Self::Children | Self::Wait { .. } => false,
        }
    }

    /// Returns whom it is about.
    pub(crate) fn targets(&self) -> &[AgentId] {
        match self {
            Self::Children => &[],
            Self::Wait {
                whom: Whom::Named(ids) | Whom::Anybody(ids),
                ..
            } => ids,
            Self::Message { target, .. } | Self::Cancel { target } => target,
        }
    }

    /// Runs it to its outcome.
    pub(crate) async fn run(
        self,
        agent: &Agent,
        call: CallId,
        cancel: &CancellationToken,
    ) -> Finished {
        let starts = !self.has_effect();
        let (outcome, delivers) = match self {
            Self::Children => (agent.list_children(), Vec::new()),
            Self::Wait {
                whom,
                mode,
                timeout,
            } => {
                let deadline = timeout.map(|timeout| Instant::now() + timeout);
                let runs = agent.board.state().runs_of(&agent.id, whom);
                agent.wait_for(runs, mode, deadline, cancel).await
            }
            Self::Message {
                target: [target],
                text,
            } => (agent.say_to(target, text, cancel).await, Vec::new()),
            Self::Cancel { target: [target] } => agent.stop(target, cancel).await,
        };
        Finished::telling(call, starts, outcome, delivers)
    }
}

/// Resolves when a deadline has passed, if there is one.
async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn cancelled() -> (Outcome, Vec<RunId>) {
    let text = "cancelled before it was over";
    (Outcome::error(ErrorKind::Cancelled, text), Vec::new())
}

impl Agent {
    fn list_children(&self) -> Outcome {
        let state = self.board.state();
        let Some(own) = state.tree.agent(&self.id) else {
            return Outcome::output(RawJson::of(&json!({ "children": [] })));
        };
        let listed: Vec<Value> = own
            .children
            .iter()
            .filter(|id| !state.is_hidden(id))
            .rev()
            .take(MOST_LISTED)
            .filter_map(|id| state.brief(id))
            .collect();
        let mut data = json!({ "children": listed });
        let seen = own.children.iter().filter(|id| !state.is_hidden(id));
        let seen = seen.count();
        if seen > MOST_LISTED {
            data["more"] = (seen - MOST_LISTED).into();
        }
        Outcome::output(RawJson::of(&data))
    }

    async fn wait_for(
        &self,
        runs: Vec<RunId>,
        mode: WaitMode,
        deadline: Option<Instant>,
        cancel: &CancellationToken,
    ) -> (Outcome, Vec<RunId>) {
        // Runs before this one have settled: each is looked at once.
        let mut first_open = 0;
        loop {
            let mut settled = std::pin::pin!(self.board.settled.notified());
            settled.as_mut().enable();
            let over = {
                let state = self.board.state();
                let is_settled =
                    |run: &RunId| state.tree.run(run).is_some_and(|run| run.settled.is_some());
                match mode {
                    WaitMode::All => {
                        while runs.get(first_open).is_some_and(is_settled) {
                            first_open += 1;
                        }
                        first_open == runs.len()
                    }
                    WaitMode::Any => runs.is_empty() || runs.iter().any(is_settled),
                }
            };
            if over {
                return self.tell_runs(&runs, false);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return cancelled(),
                () = settled => {}
                () = passed(deadline) => return self.tell_runs(&runs, true),
            }
        }
    }

    /// Returns what became of runs, and which of them this tells.
    fn tell_runs(&self, runs: &[RunId], timed_out: bool) -> (Outcome, Vec<RunId>) {
        let mut state = self.board.state();
        let (mut settled, mut running, mut more) = (Vec::new(), Vec::new(), Vec::new());
        let mut unnamed = 0;
        let (mut delivers, mut bytes) = (Vec::new(), 0);
        for run in runs {
            let Some(settlement) = state.settlement(run) else {
                if running.len() < MOST_RUNNING {
                    running.extend(state.brief(&run.agent));
                } else {
                    unnamed += 1;
                }
                continue;
            };
            let told = settle::capsule(run, &state.tree, &settlement);
            bytes += told.to_string().len();
            // The first is told however long it is.
            if bytes > MOST_TOLD && !settled.is_empty() {
                more.push(run.agent.clone());
            } else if state.claim(&self.id, run) {
                delivers.push(run.clone());
                settled.push(told);
            } else {
                settled.extend(state.brief(&run.agent));
            }
        }
        // What is delivered comes first: whatever is cut off a context that is full, it is not that.
        let mut text = format!("{{\"settled\":{}", Value::from(settled));
        let mut push = |key: &str, value: Value| text.push_str(&format!(",\"{key}\":{value}"));
        if timed_out {
            push("timed_out", true.into());
        }
        if !more.is_empty() {
            let shown: Vec<_> = more.iter().take(MOST_RUNNING).collect();
            push("settled_too_and_told_by_the_next_wait", json!(shown));
        }
        if !running.is_empty() {
            push("running", running.into());
        }
        if unnamed > 0 {
            push("more_running", unnamed.into());
        }
        text.push('}');
        let data = RawJson::parse(text).unwrap_or_else(|_| RawJson::null());
        (Outcome::output(data), delivers)
    }

    async fn say_to(&self, target: AgentId, text: String, cancel: &CancellationToken) -> Outcome {
        let limits = &self.board.limits;
        if !self.board.state().wake(&target, limits) {
            let text =
                format!("cannot wake {target}: as many agents live as may; wait for some to end");
            return Outcome::error(ErrorKind::Caps, text);
        }
        let prompt = Prompt {
            message: MessageId::new(self.parts.env.new_id()),
            text: text.into(),
            from: Author::Parent,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        };
        match self.send(target.clone(), prompt, cancel).await {
            Ok(()) => {
                let data = json!({ "session_id": target, "delivered": true });
                Outcome::output(RawJson::of(&data))
            }
            // Where it is refused its place is given back; one that we only stopped waiting for arrives
            // all the same.
            Err(outcome) => outcome,
        }
    }

    /// Has the session put a message into an agent's queue; returns when it is there.
    pub(crate) async fn send(
        &self,
        target: AgentId,
        prompt: Prompt,
        cancel: &CancellationToken,
    ) -> Result<(), Outcome> {
        let (reply, receipt) = oneshot::channel();
        let command = Command {
            id: CommandId::new(self.parts.env.new_id()),
            tree: self.board.tree.clone(),
            agent: target.clone(),
            order: Order::Prompt(prompt),
        };
        self.board.errand(Ordered {
            command,
            reply: Some(reply),
            heard: None,
            waits: false,
        });
        let receipt = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled().0),
            receipt = receipt => receipt,
        };
        match receipt {
            Ok(Receipt::Prompted) => Ok(()),
            Ok(Receipt::Refused { kind, why }) => Err(Outcome::error(kind, why)),
            Ok(Receipt::NoEffect { why }) => {
                let text = format!("{target} did not take it: {why}");
                Err(Outcome::error(ErrorKind::Failed, text))
            }
            // Any other receipt means that the session is closing.
            Ok(_) | Err(_) => {
                let text = "the session is being closed";
                Err(Outcome::error(ErrorKind::Interrupted, text))
            }
        }
    }

    async fn stop(&self, target: AgentId, cancel: &CancellationToken) -> (Outcome, Vec<RunId>) {
        let found = {
            let state = self.board.state();
            let agent = state.tree.agent(&target);
            agent.map(|agent| (agent.last_run(), agent.open_run().is_some()))
        };
        let Some((run, is_open)) = found else {
            return cancelled();
        };
        let run = RunId { agent: target, run };
        if is_open {
            self.board.cancel(&run.agent, CancelledBy::Parent);
        } else {
            // The run is over, but runs opened below it since may not be.
            let below: Vec<AgentId> = {
                let state = self.board.state();
                let open = |id: &&AgentId| {
                    let agent = state.tree.agent(id);
                    agent.is_some_and(|agent| agent.open_run().is_some())
                };
                let below = state.tree.below(&run.agent).into_iter();
                below.filter(open).cloned().collect()
            };
            for id in below {
                self.board.cancel(&id, CancelledBy::Parent);
            }
        }
        self.wait_for(vec![run], WaitMode::All, None, cancel).await
    }
}

impl State {
    /// Tells whether an agent works already, or there is room for one more that does, and takes it.
    fn wake(&mut self, id: &AgentId, limits: &Limits) -> bool {
        let Some(agent) = self.tree.agent(id) else {
            return true;
        };
        if agent.open_run().is_some() {
            // Should it end before the message comes, its place is kept.
            self.plan_to_wake(id);
            return true;
        }
        if self.is_waking(id) {
            self.plan_to_wake(id);
            return true;
        }
        let above = agent.spawned.above();
        let full = above.is_some_and(|above| self.is_full(above, limits).is_some());
        let may = !full && self.live() < limits.descendants;
        if may {
            self.plan_to_wake(id);
        }
        may
    }

    /// Gives back the place of an agent that has failed: what is queued behind that wakes nobody, and whoever
    /// speaks next takes a place anew.
    pub(crate) fn let_sleep_if_paused(&mut self, id: &AgentId) {
        let agent = self.tree.agent(id);
        if agent.is_some_and(|agent| agent.paused && !agent.queue.is_empty()) {
            self.let_sleep(id);
        }
    }

    /// Tells whether an agent is above another.
    fn is_above(&self, agent: &AgentId, target: &AgentId) -> bool {
        let mut above = self.tree.path(target).into_iter().skip(1);
        above.any(|id| id == agent)
    }

    /// Tells whether a rewind has hidden the call that made an agent.
    fn is_hidden(&self, id: &AgentId) -> bool {
        self.tree.agent(id).is_some_and(|agent| agent.hidden)
    }

    /// Returns the runs that a call waits for: of each agent the last, or the one that is about to open.
    fn runs_of(&self, caller: &AgentId, whom: Whom) -> Vec<RunId> {
        let ids = match whom {
            Whom::Named(ids) => ids,
            Whom::Anybody(_) => self.awaitable(caller),
        };
        let of = |agent: AgentId| {
            let run = self.tree.agent(&agent)?.last_run();
            let run = if self.is_about_to_run(&agent) {
                run.next()
            } else {
                run
            };
            Some(RunId { agent, run })
        };
        ids.into_iter().filter_map(of).collect()
    }

    /// Returns the children whose last run is open, about to open, or settled and not told.
    fn awaitable(&self, id: &AgentId) -> Vec<AgentId> {
        let Some(own) = self.tree.agent(id) else {
            return Vec::new();
        };
        let untold = own.mail.values().map(|mail| &mail.run.agent);
        let woken = own.children.iter().filter(|id| self.is_about_to_run(id));
        let open = own.open_children.iter().chain(woken);
        let mut ids: Vec<AgentId> = open.chain(untold).cloned().collect();
        ids.sort();
        ids.dedup();
        ids.retain(|id| !self.is_hidden(id));
        // One that a call waits for is told by that call.
        ids.retain(|id| {
            let run = self.tree.agent(id).map(|agent| RunId {
                agent: id.clone(),
                run: agent.last_run(),
            });
            run.is_some_and(|run| self.tree.waiting_call(&run).is_none())
        });
        ids
    }

    /// Claims a settled run for a call of its parent; `false` if somebody else tells it.
    fn claim(&mut self, parent: &AgentId, run: &RunId) -> bool {
        let is_child = self
            .tree
            .agent(&run.agent)
            .and_then(|agent| agent.parent())
            .is_some_and(|above| above.agent == *parent);
        let untold = self
            .tree
            .run(run)
            .is_some_and(|run| run.settled.is_some() && !run.delivered);
        if !is_child || !untold || self.tree.waiting_call(run).is_some() {
            return false;
        }
        match self.node_mut(&run.agent) {
            Some(node) if node.claimed != Some(run.run) => {
                node.claimed = Some(run.run);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Returns how an agent is, without what it said.
    fn brief(&self, id: &AgentId) -> Option<Value> {
        let agent = self.tree.agent(id)?;
        let mut brief = json!({ "session_id": id, "agent": agent.spawned.definition });
        match (agent.open_run(), agent.settlement()) {
            (Some(_), _) => {
                let doing = self.node(id).map(|node| node.activity.words());
                brief["state"] = "running".into();
                brief["doing"] = doing.into();
                brief["turns"] = agent.tally.steps.into();
            }
            (None, Some(settlement)) => {
                brief["state"] = settlement.status.word().into();
                brief["turns"] = settlement.steps.into();
            }
            (None, None) => brief["state"] = "not started".into(),
        }
        brief["tokens"] = agent.spent.tokens.into();
        Some(brief)
    }
}
