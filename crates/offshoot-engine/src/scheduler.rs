//! The calls of one message: judged, started, waited for.
//!
//! Every call gets exactly one outcome, also when the turn is cancelled:
//! cooperative first, then firm, and that sequence exists only here. Outcomes
//! are appended as they come, whatever has come meanwhile in one append.
//! Tools share one slot of the agent and run side by side, writes one after
//! another; waiting for a child holds no slot (R27).

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use offshoot_types::cancel::Cancel;
use offshoot_types::command::Receipt;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId, RunId, RunNo};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantMessage, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision};
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::StoreError;
use offshoot_types::tool::{Effect, Place, Tool};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::board::{Activity, Ordered};
use crate::log::Batch;
use crate::reply::Token;
use crate::sabotage::{Bug, planted};
use crate::settle;
use crate::slots::Rank;
use crate::task::{self, TASK};

/// Calls that have been let through and are to run.
#[derive(Default)]
pub(crate) struct Plan {
    reads: Vec<ToolRun>,
    writes: Vec<ToolRun>,
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
        reply: &AssistantMessage,
        processed: &MessageId,
        batch: &mut Batch,
    ) -> Self {
        let mut plan = Self::default();
        for call in reply.calls() {
            if let Err(outcome) = plan.admit(agent, call, processed, batch) {
                batch.own(Event::CallFinished {
                    call: call.id.clone(),
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
        if !agent.offers(&call.tool) {
            return Err(unknown_tool(agent, &call.tool));
        }
        if call.tool == TASK {
            let child = task::plan(agent, call, arguments, processed, batch)?;
            if !child.background {
                self.children.push((call.id.clone(), child.id));
            }
            return Ok(());
        }
        let tool = agent
            .parts
            .tool(&call.tool)
            .ok_or_else(|| unknown_tool(agent, &call.tool))?;
        let decision = permit(agent, tool, arguments)?;
        let denied = denial(&call.tool, &decision);
        batch.own(Event::Decided {
            call: call.id.clone(),
            decision,
        });
        if let Some(outcome) = denied {
            return Err(outcome);
        }
        let run = ToolRun {
            call: call.id.clone(),
            tool: tool.clone(),
            arguments: arguments.clone(),
        };
        match tool.spec().effect {
            Effect::Read => self.reads.push(run),
            Effect::Write => {
                batch.own(Event::CallStarted {
                    call: call.id.clone(),
                    child: None,
                });
                self.writes.push(run);
            }
        }
        Ok(())
    }

    /// Runs what was let through and appends each outcome; returns the agent's entries.
    pub(crate) async fn run(
        self,
        agent: &Agent,
        cancel: &CancellationToken,
    ) -> Result<Vec<Arc<Entry>>, StoreError> {
        let children: Vec<AgentId> = self
            .children
            .iter()
            .map(|(_, child)| child.clone())
            .collect();
        agent.set_activity(self.activity(&children));
        let mut calls: FuturesUnordered<BoxFuture<'_, Vec<Finished>>> = FuturesUnordered::new();
        for (call, child) in self.children {
            calls.push(Box::pin(wait_for_child(agent, call, child)));
        }
        if !self.reads.is_empty() || !self.writes.is_empty() {
            calls.push(Box::pin(run_tools(agent, self.reads, self.writes, cancel)));
        }
        let mut entries = Vec::new();
        let mut finished: Vec<Finished> = Vec::new();
        let mut stopped = false;
        loop {
            if planted(Bug::DanglingCalls) && cancel.is_cancelled() {
                return Ok(entries);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !stopped => {
                    stopped = true;
                    for child in &children {
                        agent.board.cancel(child, CancelledBy::Ancestor);
                    }
                }
                some = calls.next() => match some {
                    Some(more) => finished.extend(more),
                    None => return Ok(entries),
                },
            }
            // Whatever else has ended by now shares the commit.
            while let Some(Some(more)) = futures_util::FutureExt::now_or_never(calls.next()) {
                finished.extend(more);
            }
            if !finished.is_empty() {
                entries.extend(append(agent, std::mem::take(&mut finished)).await?);
            }
        }
    }

    fn activity(&self, children: &[AgentId]) -> Activity {
        let tools = self.reads.iter().chain(&self.writes);
        let tools: Vec<String> = tools.map(|run| run.tool.spec().id.clone()).collect();
        if tools.is_empty() {
            Activity::Children(children.to_vec())
        } else {
            Activity::Tools(tools)
        }
    }
}

async fn append(agent: &Agent, finished: Vec<Finished>) -> Result<Vec<Arc<Entry>>, StoreError> {
    let mut batch = Batch::default();
    let mut promoted = Vec::new();
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
    Ok(entries)
}

fn unknown_tool(agent: &Agent, name: &str) -> Outcome {
    let offered = agent.tool_ids().join(", ");
    Outcome::error(
        ErrorKind::UnknownTool,
        format!("there is no tool {name}; there are: {offered}"),
    )
}

/// Asks the chain about everything a call needs and returns the strictest word.
fn permit(agent: &Agent, tool: &Arc<dyn Tool>, arguments: &RawJson) -> Result<Decision, Outcome> {
    let place = agent.place();
    let needs = tool
        .needs(arguments, &place)
        .map_err(|text| Outcome::error(ErrorKind::InvalidInput, text))?;
    let id = &tool.spec().id;
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

/// Waits until a child's run has settled, or its call is to return early. The child does the rest.
async fn wait_for_child(agent: &Agent, call: CallId, child: AgentId) -> Vec<Finished> {
    let run = RunId {
        agent: child.clone(),
        run: RunNo::new(1),
    };
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
            (Some(finished), _) => return vec![finished],
            (None, Some(returned)) => returned.notified().await,
            // The child was committed before this was called, so it has a node.
            (None, None) => std::future::pending().await,
        }
    }
}

/// Runs the tools of a message under one slot: reads side by side, writes in order.
async fn run_tools(
    agent: &Agent,
    reads: Vec<ToolRun>,
    writes: Vec<ToolRun>,
    cancel: &CancellationToken,
) -> Vec<Finished> {
    let slot = tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        slot = agent.board.slots.take(Rank::Resuming, agent.depth) => Some(slot),
    };
    let reads = futures_util::future::join_all(
        reads
            .into_iter()
            .map(|read| run_tool(agent, read, StartStored::No, cancel)),
    );
    let writes = async {
        let mut finished = Vec::with_capacity(writes.len());
        for write in writes {
            finished.push(run_tool(agent, write, StartStored::Yes, cancel).await);
        }
        finished
    };
    let (mut finished, written) = futures_util::future::join(reads, writes).await;
    drop(slot);
    finished.extend(written);
    finished
}

#[derive(PartialEq, Eq)]
enum StartStored {
    Yes,
    No,
}

/// Runs one tool: asked to stop when the turn is, dropped when it does not.
async fn run_tool(
    agent: &Agent,
    run: ToolRun,
    start: StartStored,
    cancel: &CancellationToken,
) -> Finished {
    let ToolRun {
        call,
        tool,
        arguments,
    } = run;
    let began = agent.parts.env.now();
    let cancelled = || {
        Outcome::error(
            ErrorKind::Cancelled,
            format!("{} was cancelled", tool.spec().id),
        )
    };
    let outcome = if cancel.is_cancelled() {
        cancelled()
    } else {
        let mut work = tool.run(arguments, agent.place(), Cancel::new(Token(cancel.clone())));
        tokio::select! {
            biased;
            outcome = &mut work => outcome,
            () = cancel.cancelled() => {
                let grace = tokio::time::timeout(agent.board.limits.grace, &mut work).await;
                grace.unwrap_or_else(|_| cancelled())
            }
        }
    };
    let took = agent.parts.env.now().get().saturating_sub(began.get());
    Finished {
        call,
        starts: start == StartStored::No,
        outcome: outcome.took(took),
        delivers: Vec::new(),
        promoted: None,
    }
}

/// Where a call of this agent works.
impl Agent {
    fn place(&self) -> Place {
        Place {
            workspace: self.workspace.clone(),
        }
    }
}
