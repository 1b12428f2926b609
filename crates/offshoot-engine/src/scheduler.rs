//! The calls of one message: judged, started, waited for.
//!
//! Every call gets exactly one outcome, also when the turn is cancelled.
//! Outcomes are appended as they come, whatever has come meanwhile in one
//! append. Arguments are checked before anything is decided (TLS-02). Whether a
//! tool may run is said in `ask`, and it runs at the desk; waiting for a child
//! or an answer holds no slot (R27).

pub(crate) mod own;
pub(crate) mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use offshoot_types::command::Receipt;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, MessageId, RunId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantMessage, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Decision;
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::StoreError;
use offshoot_types::tool::{Effect, Tool};
use offshoot_types::tree::Ask;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, nothing};
use crate::ask::{self, Judged};
use crate::context::{Callable, Prefix};
use crate::desk::{Desk, ToolRun};
use crate::hooks::calls::Rulings;
use crate::log::Batch;
use crate::node::Ordered;
use crate::question::{self, QUESTION};
use crate::sabotage::{Bug, planted};
use crate::scheduler::own::{Held, OwnCall};
use crate::settle;
use crate::steer::Errand;
use crate::update::Activity;

/// Calls that have been let through and are to run.
#[derive(Default)]
pub(crate) struct Plan {
    tools: Vec<ToolRun>,
    children: Vec<(CallId, AgentId)>,
    errands: Vec<(CallId, Errand)>,
    questions: Vec<(CallId, Ask)>,
    /// Calls of the engine's own that somebody has to allow first.
    held: Vec<Held>,
    /// Errands among these, by their calls: the tool, and what it asks.
    held_errands: BTreeMap<CallId, (String, Ask)>,
}

/// What became of calls: what is in the log, and the last of them, which are not yet.
pub(crate) struct Ran {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) last: Outcomes,
}

/// A call that is over, with what has to be appended for it.
pub(crate) struct Finished {
    call: CallId,
    /// Whether its start is still to be stored: that of a read rides with its end.
    starts: bool,
    outcome: Outcome,
    delivers: Vec<RunId>,
    /// The order that ended it, with its receipt.
    order: Option<(Ordered, Receipt)>,
    /// Whether the log can tell it again: a child's settlement is there, and recovery hands it over in
    /// the same words.
    can_be_told_again: bool,
}

impl Finished {
    /// A call that tells of no child.
    pub(crate) fn of(call: CallId, outcome: Outcome) -> Self {
        Self {
            call,
            starts: false,
            outcome,
            delivers: Vec::new(),
            order: None,
            can_be_told_again: false,
        }
    }

    /// A call that tells of children's runs.
    pub(crate) fn telling(
        call: CallId,
        starts: bool,
        outcome: Outcome,
        delivers: Vec<RunId>,
    ) -> Self {
        Self {
            starts,
            delivers,
            ..Self::of(call, outcome)
        }
    }

    /// A call that an order answered.
    pub(crate) fn answered(call: CallId, outcome: Outcome, order: (Ordered, Receipt)) -> Self {
        Self {
            order: Some(order),
            ..Self::of(call, outcome)
        }
    }

    /// A call of a tool that ran.
    pub(crate) fn ran(call: CallId, effect: Effect, outcome: Outcome) -> Self {
        Self {
            starts: effect == Effect::Read,
            ..Self::of(call, outcome)
        }
    }
}

impl Plan {
    /// Judges every call of a message. What is decided at once goes into the batch, behind the message.
    pub(crate) fn judge(
        agent: &Agent,
        prefix: &Prefix,
        reply: &AssistantMessage,
        processed: &MessageId,
        rulings: &mut Rulings,
        batch: &mut Batch,
    ) -> Self {
        let mut plan = Self::default();
        batch.own(Event::Replied(reply.clone()));
        rulings.record(batch);
        for call in reply.calls() {
            if let Err(outcome) = plan.admit(agent, prefix, call, processed, rulings, batch) {
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
        rulings: &Rulings,
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
        let Some((spec, offer)) = prefix.find(&call.tool) else {
            return Err(unknown_tool(prefix, &call.tool));
        };
        if prefix.withheld.contains(&call.tool) {
            let text = format!("{} is not for agent {}", call.tool, prefix.manifest.name);
            return Err(Outcome::error(ErrorKind::Denied, text));
        }
        rulings.check(call, batch)?;
        match &offer.callable {
            // Those of the engine read their arguments strictly themselves.
            Callable::Engine(kind) => {
                let own = OwnCall {
                    agent,
                    prefix,
                    call,
                    kind: *kind,
                    arguments,
                };
                self.admit_own(&own, processed, rulings, batch)
            }
            Callable::Tool(tool) => {
                offer.schema.check(spec, arguments)?;
                self.admit_tool(agent, call, tool, arguments, rulings, batch)
            }
        }
    }

    fn admit_tool(
        &mut self,
        agent: &Agent,
        call: &Call,
        tool: &Arc<dyn Tool>,
        arguments: &RawJson,
        rulings: &Rulings,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let id = call.id.clone();
        let judged = ask::judge(agent, tool, arguments)?;
        rulings.check_shown(&id, Some(&judged))?;
        let asks = match rulings.narrow(judged, agent, &id, tool, arguments) {
            Judged::Asks(ask, decision) => {
                batch.own(asked(call, &ask, decision));
                Some(ask)
            }
            Judged::Decided(decision) => {
                Self::note_decision(call, tool, decision, batch)?;
                None
            }
        };
        self.tools.push(ToolRun {
            call: id,
            tool: tool.clone(),
            arguments: arguments.clone(),
            asks,
        });
        Ok(())
    }

    /// Writes down what was decided of a call, and that it starts where that has to be known first;
    /// returns the outcome of one that may not run.
    fn note_decision(
        call: &Call,
        tool: &Arc<dyn Tool>,
        decision: Decision,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let denied = ask::denial(&call.tool, &decision);
        let call = call.id.clone();
        batch.own(Event::Decided {
            call: call.clone(),
            decision,
            grant: None,
            reason: None,
        });
        if let Some(outcome) = denied.filter(|_| !planted(Bug::BarredAndRun)) {
            return Err(outcome);
        }
        if tool.spec().effect == Effect::Write {
            batch.own(Event::CallStarted { call, child: None });
        }
        Ok(())
    }

    /// Runs what was let through and appends the outcomes, but for those that come last: whoever goes
    /// on with them decides whether to wait.
    pub(crate) async fn run(
        self,
        agent: &Agent,
        cancel: &CancellationToken,
    ) -> Result<Ran, StoreError> {
        let mut open = Open::of(&self);
        let mut held_errands = self.held_errands;
        let desk = Desk::new(agent, cancel);
        let gates = Gates::of(&self.errands);
        let mut calls: FuturesUnordered<BoxFuture<'_, Result<Finished, StoreError>>> =
            FuturesUnordered::new();
        for (call, child) in self.children {
            calls.push(Box::pin(wait_for_child(agent, call, child).map(Ok)));
        }
        for run in self.tools {
            calls.push(Box::pin(desk.run(run)));
        }
        for (call, ask) in self.questions {
            calls.push(Box::pin(question::wait(agent, call, ask, cancel)));
        }
        for (at, (call, errand)) in self.errands.into_iter().enumerate() {
            let (gates, changed) = (&gates, &desk.changed);
            let asks = held_errands.remove(&call);
            calls.push(Box::pin(async move {
                let may = own::permit_errand(agent, &call, &errand, asks, cancel).await?;
                changed.notify_one();
                let finished = match may {
                    Ok(()) => errand.run(agent, call, gates.wait(at), cancel).await,
                    Err(refused) => Finished::of(call, refused),
                };
                gates.open(at);
                Ok(finished)
            }));
        }
        for held in self.held {
            calls.push(Box::pin(held.run(agent, cancel, &desk.changed)));
        }
        let mut entries = Vec::new();
        let mut finished: Vec<Finished> = Vec::new();
        let mut stopped = false;
        loop {
            if planted(Bug::DanglingCalls) && cancel.is_cancelled() {
                let last = Outcomes::default();
                return Ok(Ran { entries, last });
            }
            agent.set_activity(open.activity(agent, &desk));
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !stopped => {
                    stopped = true;
                    for child in open.children.values().chain(&open.allowed_children(agent, usize::MAX)) {
                        agent.board.cancel(child, CancelledBy::Ancestor);
                    }
                }
                () = desk.changed.notified() => {}
                some = calls.next() => match some {
                    Some(one) => finished.push(one?),
                    None => {
                        let last = Outcomes::default();
                        return Ok(Ran { entries, last });
                    }
                },
            }
            // Whatever else has ended by now shares the commit.
            while let Some(Some(more)) = calls.next().now_or_never() {
                finished.push(more?);
            }
            if finished.is_empty() {
                continue;
            }
            open.close(&finished);
            let outcomes = Outcomes::of(std::mem::take(&mut finished));
            if calls.is_empty() {
                let last = outcomes;
                return Ok(Ran { entries, last });
            }
            entries.extend(outcomes.send(agent).await?);
        }
    }
}

/// The order among the errands of one message. What is done to one agent is done in the order of the
/// calls; whoever waits or looks does so after all that is said.
struct Gates {
    /// For each errand, those that come first.
    after: Vec<Vec<usize>>,
    done: Vec<watch::Sender<bool>>,
}

impl Gates {
    fn of(errands: &[(CallId, Errand)]) -> Self {
        let before = |(at, (_, errand)): (usize, &(CallId, Errand))| {
            let others = errands.iter().enumerate();
            let comes_first = |(other, (_, it)): (usize, &(CallId, Errand))| {
                let first = if errand.has_effect() {
                    it.has_effect() && other < at && it.targets() == errand.targets()
                } else {
                    it.speaks()
                };
                first.then_some(other)
            };
            others.filter_map(comes_first).collect()
        };
        Self {
            after: errands.iter().enumerate().map(before).collect(),
            done: errands.iter().map(|_| watch::Sender::new(false)).collect(),
        }
    }

    async fn wait(&self, at: usize) {
        for first in &self.after[at] {
            let mut done = self.done[*first].subscribe();
            // It cannot be closed: we hold the sender.
            drop(done.wait_for(|done| *done).await);
        }
    }

    fn open(&self, at: usize) {
        self.done[at].send_replace(true);
    }
}

/// The calls of a message that are not over.
struct Open {
    tools: BTreeMap<CallId, String>,
    children: BTreeMap<CallId, AgentId>,
    /// Whom errands wait for.
    awaited: BTreeMap<CallId, Vec<AgentId>>,
    /// The engine's own that ask, or did.
    held: BTreeMap<CallId, String>,
}

impl Open {
    fn of(plan: &Plan) -> Self {
        let tool = |run: &ToolRun| (run.call.clone(), run.tool.spec().id.clone());
        let question = |(call, _): &(CallId, Ask)| (call.clone(), QUESTION.to_owned());
        let questions = plan.questions.iter().map(question);
        Self {
            tools: plan.tools.iter().map(tool).chain(questions).collect(),
            children: plan.children.iter().cloned().collect(),
            awaited: plan
                .errands
                .iter()
                .map(|(call, errand)| (call.clone(), errand.targets().to_vec()))
                .collect(),
            held: {
                let held = plan.held.iter().map(|held| &held.call);
                let held = held.map(|call| (call.id.clone(), call.tool.clone()));
                let errands = plan.held_errands.iter();
                let errands = errands.map(|(call, (tool, _))| (call.clone(), tool.clone()));
                held.chain(errands).collect()
            },
        }
    }

    /// Returns the children of calls that have been allowed since; of many, so many.
    fn allowed_children(&self, agent: &Agent, most: usize) -> Vec<AgentId> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let state = agent.board.state();
        let Some(own) = state.tree.agent(&agent.id) else {
            return Vec::new();
        };
        let open = self.held.keys().filter_map(|call| own.open_call(call));
        let children = open.filter_map(|open| open.child.clone());
        children.take(most).collect()
    }

    fn close(&mut self, finished: &[Finished]) {
        for Finished { call, .. } in finished {
            self.tools.remove(call);
            self.children.remove(call);
            self.awaited.remove(call);
            self.held.remove(call);
        }
    }

    /// Returns what the agent waits for now (R29); of a crowd, the first few. What waits for a person
    /// comes first.
    fn activity(&self, agent: &Agent, desk: &Desk<'_>) -> Activity {
        let (question, asking): (Option<&String>, Vec<&String>) = {
            let state = agent.board.state();
            let own = state.tree.agent(&agent.id);
            let asks = |call: &CallId| own.is_some_and(|own| own.asks(call).is_some());
            let asking = self.tools.iter().chain(&self.held);
            let mut asking = asking.filter(|(call, _)| asks(call)).map(|(_, tool)| tool);
            let question = asking.clone().find(|tool| *tool == QUESTION);
            let others = asking.by_ref().filter(|tool| *tool != QUESTION);
            (question, others.take(Activity::SHOWN).collect())
        };
        if !asking.is_empty() {
            return Activity::Permission(asking.into_iter().cloned().collect());
        }
        if question.is_some() {
            return Activity::Question;
        }
        if self.tools.is_empty() {
            let allowed = self.allowed_children(agent, Activity::SHOWN);
            let awaited = self
                .children
                .values()
                .chain(&allowed)
                .chain(self.awaited.values().flatten());
            return Activity::children(awaited);
        }
        if desk.held().is_none() {
            return Activity::Slot;
        }
        Activity::Tools(self.tools.values().take(Activity::SHOWN).cloned().collect())
    }
}

/// Outcomes of calls, as they are written, and who is told once they are.
#[derive(Default)]
pub(crate) struct Outcomes {
    batch: Batch,
    orders: Vec<(Ordered, Receipt)>,
    can_be_told_again: bool,
}

impl Outcomes {
    fn of(finished: Vec<Finished>) -> Self {
        let mut outcomes = Self {
            can_be_told_again: finished.iter().all(|one| one.can_be_told_again),
            ..Self::default()
        };
        for Finished {
            call,
            starts,
            outcome,
            delivers,
            order,
            can_be_told_again: _,
        } in finished
        {
            if starts {
                outcomes.batch.own(Event::CallStarted {
                    call: call.clone(),
                    child: None,
                });
            }
            outcomes.batch.own(Event::CallFinished {
                call,
                outcome,
                delivers,
            });
            if let Some((order, receipt)) = order {
                let command = order.command.clone();
                outcomes.batch.applied(command, receipt.clone());
                outcomes.orders.push((order, receipt));
            }
        }
        outcomes
    }

    /// Tells whether the log has all of it already, but for the entries that hand it over.
    pub(crate) fn can_be_told_again(&self) -> bool {
        self.can_be_told_again || planted(Bug::AskedBeforeWritten)
    }

    /// Returns what will be written.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.batch.own_events()
    }

    /// Sends them at once; the future tells when they are committed, and then whoever is concerned.
    pub(crate) fn send(
        self,
        agent: &Agent,
    ) -> BoxFuture<'static, Result<Vec<Arc<Entry>>, StoreError>> {
        let Self {
            batch,
            orders,
            can_be_told_again: _,
        } = self;
        if batch.is_empty() {
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        let sent = agent.log.append(batch);
        Box::pin(async move {
            let entries = sent.await?;
            for (order, receipt) in orders {
                order.answer(receipt);
            }
            Ok(entries)
        })
    }
}

/// Returns the entry that says what a call waits to be told.
fn asked(call: &Call, ask: &Ask, decision: Decision) -> Event {
    Event::Asked {
        call: call.id.clone(),
        needs: ask.needs.clone(),
        decision,
        tool: call.tool.clone(),
        questions: ask.questions.clone(),
        deadline: ask.deadline,
    }
}

fn unknown_tool(prefix: &Prefix, name: &str) -> Outcome {
    let offered: Vec<&str> = prefix.tools.iter().map(|tool| tool.id.as_str()).collect();
    let offered = offered.join(", ");
    Outcome::error(
        ErrorKind::UnknownTool,
        format!("there is no tool {name}; there are: {offered}"),
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
                    can_be_told_again: promoted.is_none(),
                    order: promoted.map(|order| (order, nothing("the agent had already ended"))),
                }),
                (None, Some(order)) => {
                    let outcome = settle::handle(&child);
                    let order = (order, Receipt::Promoted);
                    Some(Finished::answered(call.clone(), outcome, order))
                }
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
