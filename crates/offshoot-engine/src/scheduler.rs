//! The calls of one message: judged at once, run in groups, in their order (R10).
//!
//! Adjacent reads run side by side, adjacent `task` calls do, and any other call
//! runs alone. A group starts when every call of the group before it has its
//! outcome; a call that waits for an answer holds up the groups behind it. Every
//! call gets exactly one outcome: a call whose group has not started when the turn
//! is stopped gets an outcome that says it did not run.
//!
//! Only `Plan::run` writes: outcomes as they come, and the start of the next group
//! in the same append. The first group starts in the append of the message (R15),
//! so calls of one kind cost no commit more. Where hooks hear of calls that are over,
//! they hear of a group before the next one starts, and its outcomes are committed
//! by then. Arguments are checked before anything is decided (TLS-02). Waiting for a
//! child or an answer holds no slot (R27).

mod call;
mod outcomes;
pub(crate) mod own;
pub(crate) mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use offshoot_types::content::Part;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantMessage, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::StoreError;
use offshoot_types::tool::Tool;
use offshoot_types::tree::Ask;
use tokio_util::sync::CancellationToken;

use self::call::{CallState, PlannedCall, WaitsFor, Work};
use self::outcomes::Outcomes;
pub(crate) use self::outcomes::{Finished, Ran};
use crate::agent::Agent;
use crate::ask::{self, Answered, Asking, Judged, Weighed};
use crate::context::{Callable, Prefix};
use crate::desk::Desk;
use crate::hooks::calls::{GroupHooks, Rulings};
use crate::log::Batch;
use crate::sabotage::{Bug, planted};
use crate::scheduler::own::OwnCall;
use crate::update::Activity;

/// The calls of a message that have no outcome yet.
#[derive(Default)]
pub(crate) struct Plan {
    /// The group that runs.
    current: Vec<PlannedCall>,
    /// Work of the current group that begins once its start is committed.
    started: Vec<(CallId, Work)>,
    /// The groups behind it, by number.
    later: BTreeMap<usize, Vec<PlannedCall>>,
}

/// The turn that calls belong to.
#[derive(Clone, Copy)]
pub(crate) struct TurnScope<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) prefix: &'a Prefix,
    /// What a call of the runtime's own gives to its child beside the text.
    pub(crate) attached: &'a [Part],
    /// Stops the calls.
    pub(crate) cancel: &'a CancellationToken,
}

/// What has happened to a call.
enum Progress {
    Answered(CallId, Answered),
    /// The files that it gives to its child are stored, or cannot be.
    Loaded(CallId, Result<Vec<Part>, Outcome>),
    Finished(Box<Finished>),
}

/// When the calls of a group were judged: other calls may have run since.
#[derive(Clone, Copy)]
enum JudgedWhen {
    JustNow,
    Earlier,
}

impl Plan {
    /// Judges every call of a message, with the arguments it runs with, and starts the first group. The
    /// batch has the message, and gets what is decided at once and that start.
    pub(crate) fn judge(
        scope: TurnScope<'_>,
        reply: &AssistantMessage,
        rulings: &mut Rulings,
        batch: &mut Batch,
    ) -> Self {
        let mut plan = Self::default();
        rulings.record(batch);
        for (group, call) in call::grouped(scope.prefix, reply) {
            let planned = admit(scope, call, rulings, batch);
            plan.add(group, call, planned, batch);
        }
        plan.start_groups(scope, JudgedWhen::JustNow, batch);
        plan
    }

    /// Adds a call to its group, or its outcome to the batch.
    fn add(
        &mut self,
        group: usize,
        call: &Call,
        planned: Result<PlannedCall, Outcome>,
        batch: &mut Batch,
    ) {
        match planned {
            Ok(planned) => self.later.entry(group).or_default().push(planned),
            Err(outcome) => batch.own(finished(call, outcome)),
        }
    }

    /// Starts the next group once the current one is over, and goes on while the calls of a group are
    /// over at once: a background `task` is, with its receipt. Hooks that want to hear of those are told
    /// first.
    fn start_groups(&mut self, scope: TurnScope<'_>, judged: JudgedWhen, batch: &mut Batch) {
        while self.current.is_empty() || planted(Bug::GroupsAtOnce) {
            if self.is_left_open(scope) {
                return;
            }
            let Some((_, group)) = self.later.pop_first() else {
                return;
            };
            for call in group {
                if call.is_asking() {
                    self.current.push(call);
                    continue;
                }
                let withheld = match judged {
                    JudgedWhen::JustNow => None,
                    JudgedWhen::Earlier => call.withheld(scope),
                };
                match withheld {
                    Some(withheld) => {
                        batch.extend(withheld.by.map(|by| ask::covered(call.id(), by)));
                        batch.own(finished(&call.call, withheld.told));
                    }
                    None => self.start(scope, call, batch),
                }
            }
            if scope.agent.is_watched_after() {
                return;
            }
        }
    }

    /// Tells whether a group is over and the next one has not started.
    fn is_between_groups(&self) -> bool {
        self.current.is_empty() && !self.later.is_empty()
    }

    /// Starts a call of the current group.
    fn start(&mut self, scope: TurnScope<'_>, mut call: PlannedCall, batch: &mut Batch) {
        match call.start(scope, batch) {
            Ok(work) => {
                call.state = CallState::Running(work.waits_for());
                self.started.push((call.id().clone(), work));
                self.current.push(call);
            }
            Err(outcome) => batch.own(finished(&call.call, outcome)),
        }
    }

    /// Runs the calls and appends their outcomes, but for the last ones: the caller decides whether to
    /// wait for those to be written. Hooks hear of every group but the last in between.
    pub(crate) async fn run(
        mut self,
        scope: TurnScope<'_>,
        mut hooks: Option<GroupHooks<'_>>,
    ) -> Result<Ran, StoreError> {
        let TurnScope { agent, cancel, .. } = scope;
        let desk = Desk::new(agent, cancel);
        let mut running: FuturesUnordered<BoxFuture<'_, Result<Progress, StoreError>>> =
            FuturesUnordered::new();
        // What is asked is heard at any time, whichever group runs.
        for call in self.open().filter(|call| call.is_asking()) {
            running.push(Box::pin(wait_for_answer(scope, call).map(Ok)));
        }
        let mut entries = Vec::new();
        let mut stopped = false;
        loop {
            for (call, work) in self.started.drain(..) {
                let used = self.current.iter().find(|started| *started.id() == call);
                let used = used.map(PlannedCall::used);
                let work = work.run(call, &desk);
                running.push(Box::pin(async move {
                    let mut progress = work.await?;
                    if let (Progress::Finished(finished), Some(used)) = (&mut progress, used) {
                        finished.show_host(agent, used, cancel).await;
                    }
                    Ok(progress)
                }));
            }
            let mut outcomes = Outcomes::default();
            if self.is_left_open(scope) && !self.current.iter().any(PlannedCall::is_working) {
                let last = outcomes;
                return Ok(Ran { entries, last });
            }
            if !self.is_between_groups() {
                let is_dangling = planted(Bug::DanglingCalls) && cancel.is_cancelled();
                if running.is_empty() || is_dangling {
                    let last = outcomes;
                    return Ok(Ran { entries, last });
                }
                agent.set_activity(self.activity(&desk));
                tokio::select! {
                    biased;
                    () = cancel.cancelled(), if !stopped => {
                        stopped = true;
                        self.stop(scope, &mut outcomes);
                    }
                    () = desk.changed.notified() => {}
                    Some(some) = running.next() => self.take(scope, some?, &mut outcomes),
                }
                // Whatever else has happened by now shares the commit.
                while let Some(Some(more)) = running.next().now_or_never() {
                    self.take(scope, more?, &mut outcomes);
                }
            }
            if self.is_between_groups() && !self.is_left_open(scope) {
                if let Some(hooks) = &mut hooks {
                    entries.extend(std::mem::take(&mut outcomes).send(agent).await?);
                    let (events, stop) = hooks.tell(agent, &entries, cancel).await;
                    if !events.is_empty() {
                        outcomes.batch().extend(events);
                    }
                    if let Some(reason) = stop {
                        self.refuse_later(&reason, &mut outcomes);
                    }
                }
                self.start_groups(scope, JudgedWhen::Earlier, outcomes.batch());
            }
            if outcomes.is_empty() {
                continue;
            }
            if self.current.is_empty() && self.later.is_empty() {
                let last = outcomes;
                return Ok(Ran { entries, last });
            }
            entries.extend(outcomes.send(agent).await?);
        }
    }

    /// Notes what has happened to a call, and starts a call of the current group that is allowed now.
    fn take(&mut self, scope: TurnScope<'_>, progress: Progress, outcomes: &mut Outcomes) {
        let (id, answered) = match progress {
            Progress::Finished(finished) => {
                self.remove(&finished.call);
                return outcomes.finish(*finished);
            }
            Progress::Loaded(id, loaded) => return self.take_files(scope, &id, loaded, outcomes),
            Progress::Answered(id, answered) => (id, answered),
        };
        let Some(call) = self.open().find(|call| *call.id() == id) else {
            return;
        };
        let sees_all = match own::decide(scope.agent, call, answered, outcomes) {
            Ok(sees_all) => sees_all,
            Err(outcome) => {
                self.remove(&id);
                return outcomes.finish(Finished::of(id, outcome));
            }
        };
        let state = CallState::Ready { sees_all };
        let mut later = self.later.values_mut().flatten();
        if let Some(call) = later.find(|call| *call.id() == id) {
            call.state = state;
        } else if let Some(mut call) = self.remove(&id) {
            call.state = state;
            self.start_or_leave(scope, call, outcomes);
        }
    }

    /// Starts a `task` call whose files are stored, or ends one whose files cannot be.
    fn take_files(
        &mut self,
        scope: TurnScope<'_>,
        id: &CallId,
        loaded: Result<Vec<Part>, Outcome>,
        outcomes: &mut Outcomes,
    ) {
        let Some(mut call) = self.remove(id) else {
            return;
        };
        match loaded {
            Ok(parts) => {
                call.attached = Some(parts);
                call.state = CallState::Ready { sees_all: false };
                self.start_or_leave(scope, call, outcomes);
            }
            Err(outcome) => outcomes.finish(Finished::of(id.clone(), outcome)),
        }
    }

    /// Starts a call of the current group, unless the process ends and leaves the turn open.
    fn start_or_leave(&mut self, scope: TurnScope<'_>, call: PlannedCall, outcomes: &mut Outcomes) {
        if self.is_left_open(scope) {
            self.later.entry(0).or_default().push(call);
        } else {
            self.start(scope, call, outcomes.batch());
        }
    }

    /// Tells whether the process ends and the turn stays open: a call waits for an answer.
    fn is_left_open(&self, scope: TurnScope<'_>) -> bool {
        let ends = scope.cancel.is_cancelled() && scope.agent.leaves_asks_open();
        ends && self.open().any(PlannedCall::is_waiting)
    }

    /// Stops the children of the current group. Calls of later groups do not run any more; those that
    /// still ask are told so when their wait for the answer ends. If the process ends and a call asks,
    /// all calls that have not started stay as they are.
    fn stop(&mut self, scope: TurnScope<'_>, outcomes: &mut Outcomes) {
        for call in &self.current {
            if let CallState::Running(WaitsFor::Child(child)) = &call.state {
                scope.agent.board.cancel(child, CancelledBy::Ancestor);
            }
        }
        if self.is_left_open(scope) {
            return;
        }
        for group in self.later.values_mut() {
            for call in group.extract_if(.., |call| !call.is_asking()) {
                let outcome = call::not_run(&call.call);
                outcomes.finish(Finished::of(call.call.id, outcome));
            }
        }
    }

    /// Ends the calls of later groups: a hook that heard of a call stops the agent.
    fn refuse_later(&mut self, reason: &str, outcomes: &mut Outcomes) {
        let later = std::mem::take(&mut self.later);
        for call in later.into_values().flatten() {
            let text = format!("{} did not run: {reason}", call.call.tool);
            let outcome = Outcome::error(ErrorKind::Denied, text);
            outcomes.finish(Finished::of(call.call.id, outcome));
        }
    }

    /// Returns the calls that have no outcome, group by group.
    fn open(&self) -> impl Iterator<Item = &PlannedCall> {
        self.current.iter().chain(self.later.values().flatten())
    }

    fn remove(&mut self, id: &CallId) -> Option<PlannedCall> {
        let groups = std::iter::once(&mut self.current).chain(self.later.values_mut());
        for group in groups {
            if let Some(at) = group.iter().position(|call| call.id() == id) {
                return Some(group.remove(at));
            }
        }
        None
    }

    /// Returns what the agent waits for now (R29); of a crowd, the first few. A person comes first.
    fn activity(&self, desk: &Desk<'_>) -> Activity {
        let name = |call: &PlannedCall| call.call.tool.clone();
        let asking = self.open().filter(|call| call.is_asking());
        let asking: Vec<String> = asking.map(name).take(Activity::SHOWN).collect();
        if !asking.is_empty() {
            return Activity::Permission(asking);
        }
        let (mut tools, mut clients) = (Vec::new(), Vec::new());
        for call in &self.current {
            match &call.state {
                CallState::Running(WaitsFor::Answer) => return Activity::Question,
                CallState::Running(WaitsFor::Client) => clients.push(name(call)),
                CallState::Running(WaitsFor::Tool) => tools.push(name(call)),
                CallState::Running(WaitsFor::Child(_) | WaitsFor::Agents(_) | WaitsFor::Files)
                | CallState::Asking
                | CallState::Ready { .. } => {}
            }
        }
        if tools.is_empty() && !clients.is_empty() {
            clients.truncate(Activity::SHOWN);
            return Activity::ClientTools(clients);
        }
        if tools.is_empty() {
            return Activity::children(self.current.iter().flat_map(PlannedCall::awaited));
        }
        if desk.held().is_none() {
            return Activity::Slot;
        }
        tools.truncate(Activity::SHOWN);
        Activity::Tools(tools)
    }
}

impl PlannedCall {
    /// Tells whether a person or a client has to say something before it goes on.
    fn is_waiting(&self) -> bool {
        self.is_asking()
            || matches!(
                self.state,
                CallState::Running(WaitsFor::Answer | WaitsFor::Client)
            )
    }

    /// Tells whether something runs for it that has to be stopped.
    fn is_working(&self) -> bool {
        matches!(self.state, CallState::Running(_)) && !self.is_waiting()
    }

    /// Returns the agents that it waits for.
    fn awaited(&self) -> &[AgentId] {
        match &self.state {
            CallState::Running(WaitsFor::Child(child)) => std::slice::from_ref(child),
            CallState::Running(WaitsFor::Agents(agents)) => agents,
            CallState::Running(
                WaitsFor::Tool | WaitsFor::Answer | WaitsFor::Client | WaitsFor::Files,
            )
            | CallState::Asking
            | CallState::Ready { .. } => &[],
        }
    }
}

/// Waits until a call that asks is answered.
fn wait_for_answer<'a>(
    scope: TurnScope<'a>,
    call: &PlannedCall,
) -> impl Future<Output = Progress> + use<'a> {
    let (id, tool) = (call.id().clone(), call.call.tool.clone());
    let ask = call.ask.clone().unwrap_or_default();
    async move {
        let asking = Asking {
            call: &id,
            tool: &tool,
            ask: &ask,
            runs: None,
        };
        let answered = ask::answer(scope.agent, asking, scope.cancel).await;
        Progress::Answered(id, answered)
    }
}

/// Judges a call; returns the outcome of a call that does not run.
fn admit(
    scope: TurnScope<'_>,
    call: &Call,
    rulings: &Rulings,
    batch: &mut Batch,
) -> Result<PlannedCall, Outcome> {
    let TurnScope { agent, prefix, .. } = scope;
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
            own.admit(rulings, batch)
        }
        Callable::Tool(tool) | Callable::Client(tool) => {
            offer.schema.check(spec, arguments)?;
            let callable = offer.callable.clone();
            if rulings.allows(&call.id)
                && let Weighed::Open(needs, _) = ask::weigh(agent, tool, arguments)?
            {
                let ask = call::answer_by_host(call, needs, rulings, batch)?;
                let planned = PlannedCall::new(call, callable, arguments, Some(ask));
                return Ok(planned.allowed(agent, &ask::allowed_by_host()));
            }
            let ask = admit_tool(agent, call, tool, arguments, rulings, batch)?;
            Ok(PlannedCall::new(call, callable, arguments, ask))
        }
    }
}

/// Judges a call of a tool; returns what a person is asked about it, or its outcome if it does not run.
fn admit_tool(
    agent: &Agent,
    call: &Call,
    tool: &Arc<dyn Tool>,
    arguments: &RawJson,
    rulings: &Rulings,
    batch: &mut Batch,
) -> Result<Option<Ask>, Outcome> {
    let judged = ask::judge(agent, tool, arguments)?;
    rulings.check_shown(&call.id, Some(&judged))?;
    Ok(
        match rulings.narrow(judged, agent, &call.id, tool, arguments) {
            Judged::Asks(ask, decision) => {
                batch.own(call::asked(call, &ask, decision));
                Some(ask)
            }
            Judged::Decided(decision) => {
                call::note(call, decision, batch)?;
                None
            }
        },
    )
}

fn finished(call: &Call, outcome: Outcome) -> Event {
    Event::CallFinished {
        call: call.id.clone(),
        outcome,
        delivers: Vec::new(),
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
