//! The calls of one message: judged, started, waited for.
//!
//! Every call gets exactly one outcome, also when the turn is cancelled:
//! cooperative first, then firm, and that sequence exists only here. Outcomes
//! are appended as they come, whatever has come meanwhile in one append.
//! Tools share one slot of the agent and run side by side, writes one after
//! another; waiting for a child holds no slot (R27). A tool that panics has
//! failed, and nothing else has.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_core::future::BoxFuture;
use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use offshoot_types::cancel::Cancel;
use offshoot_types::command::Receipt;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId, RunId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantMessage, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision};
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::StoreError;
use offshoot_types::tool::{Effect, Place, Tool, Work};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::context::{Callable, EngineCall, Prefix};
use crate::log::Batch;
use crate::node::Ordered;
use crate::reply::Token;
use crate::sabotage::{Bug, planted};
use crate::settle;
use crate::slots::{Rank, Slot};
use crate::task;
use crate::update::Activity;

/// Calls that have been let through and are to run.
#[derive(Default)]
pub(crate) struct Plan {
    tools: Vec<ToolRun>,
    children: Vec<(CallId, AgentId)>,
}

/// A tool call that is to run.
struct ToolRun {
    call: CallId,
    tool: Arc<dyn Tool>,
    arguments: RawJson,
}

/// A call that is over, with what has to be appended for it.
struct Finished {
    call: CallId,
    /// Whether its start is still to be stored: that of a read rides with its end.
    starts: bool,
    outcome: Outcome,
    delivers: Vec<RunId>,
    promoted: Option<Ordered>,
}

impl Plan {
    /// Judges every call of a message. What is decided at once goes into the batch with the message.
    pub(crate) fn judge(
        agent: &Agent,
        prefix: &Prefix,
        reply: &AssistantMessage,
        processed: &MessageId,
        batch: &mut Batch,
    ) -> Self {
        let mut plan = Self::default();
        for call in reply.calls() {
            if let Err(outcome) = plan.admit(agent, prefix, call, processed, batch) {
                let call = call.id.clone();
                batch.own(Event::CallFinished {
                    call,
                    outcome,
                    delivers: Vec::new(),
                });
            }
        }
        plan
    }

    fn admit(
        &mut self,
        agent: &Agent,
        prefix: &Prefix,
        call: &Call,
        processed: &MessageId,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let arguments = match &call.arguments {
            Arguments::Json(arguments) => arguments,
            Arguments::Malformed(text) => {
                let head: String = text.chars().take(200).collect();
                let text = format!("the arguments of {} are not JSON: {head}", call.tool);
                return Err(Outcome::error(ErrorKind::InvalidInput, text));
            }
        };
        match prefix.find(&call.tool) {
            None => Err(unknown_tool(prefix, &call.tool)),
            Some(Callable::Engine(EngineCall::Task)) => {
                let child = task::plan(agent, call, arguments, processed, batch)?;
                if !child.background {
                    self.children.push((call.id.clone(), child.id));
                }
                Ok(())
            }
            Some(Callable::Tool(tool)) => self.admit_tool(agent, call, tool, arguments, batch),
        }
    }

    fn admit_tool(
        &mut self,
        agent: &Agent,
        call: &Call,
        tool: &Arc<dyn Tool>,
        arguments: &RawJson,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let decision = permit(agent, tool, arguments)?;
        let denied = denial(&call.tool, &decision);
        batch.own(Event::Decided {
            call: call.id.clone(),
            decision,
        });
        if let Some(outcome) = denied {
            return Err(outcome);
        }
        if tool.spec().effect == Effect::Write {
            batch.own(Event::CallStarted {
                call: call.id.clone(),
                child: None,
            });
        }
        let (tool, arguments) = (tool.clone(), arguments.clone());
        self.tools.push(ToolRun {
            call: call.id.clone(),
            tool,
            arguments,
        });
        Ok(())
    }

    /// Runs what was let through and appends each outcome; returns the agent's entries.
    pub(crate) async fn run(
        self,
        agent: &Agent,
        cancel: &CancellationToken,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let mut open = Open::of(&self);
        let desk = Desk::new(agent, cancel);
        let mut calls: FuturesUnordered<BoxFuture<'_, Finished>> = FuturesUnordered::new();
        for (call, child) in self.children {
            calls.push(Box::pin(wait_for_child(agent, call, child)));
        }
        for run in self.tools {
            calls.push(Box::pin(desk.run(run)));
        }
        let mut entries = Vec::new();
        let mut finished: Vec<Finished> = Vec::new();
        let mut stopped = false;
        loop {
            if planted(Bug::DanglingCalls) && cancel.is_cancelled() {
                return Ok(entries);
            }
            agent.set_activity(open.activity(&desk));
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !stopped => {
                    stopped = true;
                    for child in open.children.values() {
                        agent.board.cancel(child, CancelledBy::Ancestor);
                    }
                }
                some = calls.next() => match some {
                    Some(one) => finished.push(one),
                    None => return Ok(entries),
                },
            }
            // Whatever else has ended by now shares the commit.
            while let Some(Some(more)) = calls.next().now_or_never() {
                finished.push(more);
            }
            if !finished.is_empty() {
                open.close(&finished);
                entries.extend(append(agent, std::mem::take(&mut finished)).await?);
            }
        }
    }
}

/// The calls of a message that are not over.
struct Open {
    tools: BTreeMap<CallId, String>,
    children: BTreeMap<CallId, AgentId>,
}

impl Open {
    fn of(plan: &Plan) -> Self {
        let tool = |run: &ToolRun| (run.call.clone(), run.tool.spec().id.clone());
        Self {
            tools: plan.tools.iter().map(tool).collect(),
            children: plan.children.iter().cloned().collect(),
        }
    }

    fn close(&mut self, finished: &[Finished]) {
        for Finished { call, .. } in finished {
            self.tools.remove(call);
            self.children.remove(call);
        }
    }

    /// Returns what the agent waits for now (R29); of a crowd, the first few.
    fn activity(&self, desk: &Desk<'_>) -> Activity {
        if self.tools.is_empty() {
            return Activity::Children(
                self.children
                    .values()
                    .take(Activity::SHOWN)
                    .cloned()
                    .collect(),
            );
        }
        if desk.held().is_none() {
            return Activity::Slot;
        }
        Activity::Tools(self.tools.values().take(Activity::SHOWN).cloned().collect())
    }
}

async fn append(agent: &Agent, finished: Vec<Finished>) -> Result<Vec<Arc<Entry>>, StoreError> {
    let mut batch = Batch::default();
    let mut promoted = Vec::new();
    let mut calls = Vec::new();
    for Finished {
        call,
        starts,
        outcome,
        delivers,
        promoted: order,
    } in finished
    {
        if starts {
            batch.own(Event::CallStarted {
                call: call.clone(),
                child: None,
            });
        }
        let receipt = if delivers.is_empty() {
            Receipt::Promoted
        } else {
            Receipt::NoEffect {
                why: "the agent had already ended".to_owned(),
            }
        };
        calls.push(call.clone());
        batch.own(Event::CallFinished {
            call,
            outcome,
            delivers,
        });
        if let Some(order) = order {
            batch.applied(order.command.clone(), receipt.clone());
            promoted.push((order, receipt));
        }
    }
    let entries = agent.log.append(batch).await?;
    for (order, receipt) in promoted {
        order.answer(receipt);
    }
    agent.board.refuse_late_promotions(&agent.id, &calls);
    Ok(entries)
}

fn unknown_tool(prefix: &Prefix, name: &str) -> Outcome {
    let offered: Vec<&str> = prefix.tools.iter().map(|tool| tool.id.as_str()).collect();
    let offered = offered.join(", ");
    Outcome::error(
        ErrorKind::UnknownTool,
        format!("there is no tool {name}; there are: {offered}"),
    )
}

/// Asks the chain about everything a call needs and returns the strictest word.
fn permit(agent: &Agent, tool: &Arc<dyn Tool>, arguments: &RawJson) -> Result<Decision, Outcome> {
    let place = agent.place();
    let id = &tool.spec().id;
    let needs = std::panic::catch_unwind(AssertUnwindSafe(|| tool.needs(arguments, &place)))
        .map_err(|_| panicked(id))?
        .map_err(|text| Outcome::error(ErrorKind::InvalidInput, text))?;
    let decisions = needs.iter().map(|need| agent.permissions.decide(id, need));
    let free = || Decision {
        action: Action::Allow,
        layer: "needs nothing".to_owned(),
        rule: None,
    };
    Ok(decisions
        .min_by_key(|decision| decision.action)
        .unwrap_or_else(free))
}

/// Returns what a call is told that may not run; `None` when it may.
fn denial(tool: &str, decision: &Decision) -> Option<Outcome> {
    let text = match decision.action {
        Action::Allow => return None,
        Action::Deny => format!("{tool} was denied by {}", decision.layer),
        Action::Ask => format!("{tool} needs permission and nobody is here to give it"),
    };
    Some(Outcome::error(ErrorKind::Denied, text))
}

fn panicked(tool: &str) -> Outcome {
    Outcome::error(
        ErrorKind::Failed,
        format!("{tool} broke down; this is a bug of the tool"),
    )
}

/// Waits until a child's run has settled, or its call is to return early. The child does the rest.
async fn wait_for_child(agent: &Agent, call: CallId, child: AgentId) -> Finished {
    let run = RunId::first(child.clone());
    let returned = agent
        .board
        .state()
        .node(&child)
        .map(|node| node.returned.clone());
    loop {
        let found = {
            let mut state = agent.board.state();
            let promoted = state.node_mut(&child).and_then(|node| node.promote.take());
            match (state.settlement(&run), promoted) {
                (Some(settlement), promoted) => state.tree.agent(&child).map(|of| Finished {
                    call: call.clone(),
                    starts: false,
                    outcome: settle::outcome(&child, of, &settlement),
                    delivers: if planted(Bug::ToldButNotMarked) {
                        vec![]
                    } else {
                        vec![run.clone()]
                    },
                    promoted,
                }),
                (None, Some(order)) => Some(Finished {
                    call: call.clone(),
                    starts: false,
                    outcome: settle::handle(&child),
                    delivers: Vec::new(),
                    promoted: Some(order),
                }),
                (None, None) => None,
            }
        };
        match (found, &returned) {
            (Some(finished), _) => return finished,
            (None, Some(returned)) => returned.notified().await,
            // The child was committed before this was called, so it has a node.
            (None, None) => std::future::pending().await,
        }
    }
}

/// What the tools of one message share: a slot, and an order among those that write.
struct Desk<'a> {
    agent: &'a Agent,
    cancel: &'a CancellationToken,
    /// The slot, as long as one of them runs: it goes with the last, and not with the message.
    slot: Mutex<Weak<Slot>>,
    queueing: tokio::sync::Mutex<()>,
    writing: tokio::sync::Mutex<()>,
}

impl<'a> Desk<'a> {
    fn new(agent: &'a Agent, cancel: &'a CancellationToken) -> Self {
        Self {
            agent,
            cancel,
            slot: Mutex::default(),
            queueing: tokio::sync::Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// Runs one tool: under the slot, and a write after the writes before it.
    async fn run(&self, run: ToolRun) -> Finished {
        let ToolRun {
            call,
            tool,
            arguments,
        } = run;
        let effect = tool.spec().effect;
        let slot = self.share_slot().await;
        // Fair: the lock is taken in the order of the calls.
        let turn = match effect {
            Effect::Write => Some(self.writing.lock().await),
            Effect::Read => None,
        };
        let began = self.agent.parts.env.now();
        let outcome = self.carry_out(&tool, arguments).await;
        let took = self.agent.parts.env.now().get().saturating_sub(began.get());
        drop((turn, slot));
        Finished {
            call,
            starts: effect == Effect::Read,
            outcome: outcome.took(took),
            delivers: Vec::new(),
            promoted: None,
        }
    }

    /// Returns the slot that the tools share; none once the turn is cancelled, for then nothing runs.
    async fn share_slot(&self) -> Option<Arc<Slot>> {
        let _queue = self.queueing.lock().await;
        if let Some(slot) = self.held() {
            return Some(slot);
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            slot = self.agent.board.slots.take(Rank::Resuming, self.agent.depth) => {
                let slot = Arc::new(slot);
                *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&slot);
                Some(slot)
            }
        }
    }

    fn held(&self) -> Option<Arc<Slot>> {
        self.slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .upgrade()
    }

    /// Runs a tool to its end: asked to stop when the turn is, dropped when it does not.
    async fn carry_out(&self, tool: &Arc<dyn Tool>, arguments: RawJson) -> Outcome {
        let id = &tool.spec().id;
        if self.cancel.is_cancelled() {
            return Outcome::error(
                ErrorKind::Cancelled,
                format!("{id} was cancelled before it ran"),
            );
        }
        let cancel = Cancel::new(Token(self.cancel.clone()));
        let call = Work {
            cancel,
            ..Work::new(arguments, self.agent.place())
        };
        let work = async { tool.run(call).await };
        let work = AssertUnwindSafe(work).catch_unwind();
        let mut work = std::pin::pin!(work);
        let ended = tokio::select! {
            biased;
            ended = &mut work => ended,
            () = self.cancel.cancelled() => {
                match tokio::time::timeout(self.agent.board.limits.grace, work).await {
                    Ok(ended) => ended,
                    Err(_) => return dropped(tool),
                }
            }
        };
        ended.unwrap_or_else(|_| panicked(id))
    }
}

/// Returns the outcome of a tool that did not stop when it was asked to.
fn dropped(tool: &Arc<dyn Tool>) -> Outcome {
    let id = &tool.spec().id;
    match tool.spec().effect {
        Effect::Read => Outcome::error(ErrorKind::Cancelled, format!("{id} was cancelled")),
        Effect::Write => Outcome::error(
            ErrorKind::Interrupted,
            format!("{id} was cancelled and did not stop; whether it had an effect is unknown"),
        ),
    }
}

impl Agent {
    /// Returns where a call of this agent works.
    fn place(&self) -> Place {
        Place::new(self.workspace.clone())
    }
}
