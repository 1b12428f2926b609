//! One call of a message: from the permission to run to its start.
//!
//! A call asks, is ready, then runs. It starts with its group: the entries of its
//! start, and the first entries of a child, join the batch that the scheduler
//! appends, and its work begins once that is committed (R15). A call that starts
//! after other calls have run is judged once more, by the chain and the files as
//! they are then.

use futures_core::future::BoxFuture;
use futures_util::future::{FutureExt, TryFutureExt};
use offshoot_types::command::Receipt;
use offshoot_types::content::Part;
use offshoot_types::event::Event;
use offshoot_types::hook::Use;
use offshoot_types::id::{AgentId, CallId, RunId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{AssistantMessage, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Decision, Need};
use offshoot_types::store::StoreError;
use offshoot_types::tool::Effect;
use offshoot_types::tree::Ask;

use super::outcomes::Finished;
use super::own::OwnCall;
use super::{Progress, TurnScope};
use crate::agent::{Agent, nothing};
use crate::ask::{self, Asking, Judged, Withheld};
use crate::context::{Callable, EngineCall, Prefix};
use crate::desk::{Desk, ToolRun};
use crate::hooks::calls::Rulings;
use crate::log::Batch;
use crate::sabotage::{Bug, planted};
use crate::steer::Errand;
use crate::{attachments, client_tool, question, settle, task, todo};

/// A call of a message that is to run.
pub(super) struct PlannedCall {
    pub(super) call: Call,
    pub(super) callable: Callable,
    pub(super) arguments: RawJson,
    /// The files that it gives to a child, once they are stored.
    pub(super) attached: Option<Vec<Part>>,
    /// What it asks a person or has asked, if anything.
    pub(super) ask: Option<Ask>,
    pub(super) state: CallState,
}

pub(super) enum CallState {
    /// Waits until a person allows it.
    Asking,
    /// May run once its group starts. `sees_all`: a person allowed this search to read every file.
    Ready { sees_all: bool },
    /// Runs.
    Running(WaitsFor),
}

/// What a running call waits for.
pub(super) enum WaitsFor {
    Tool,
    /// The files that it gives to a child.
    Files,
    /// The answer to its question.
    Answer,
    /// What a client's tool comes to.
    Client,
    /// The child that it made.
    Child(AgentId),
    /// Agents below it that it looks after.
    Agents(Vec<AgentId>),
}

/// What is done for a call once its start is committed.
pub(super) enum Work {
    Tool(ToolRun),
    Question(Ask),
    /// A tool that a client carries out, by its name.
    Client(String, Ask),
    /// Stores the files that a `task` call gives to its child; the child is planned afterwards.
    Files(Vec<String>),
    Child(AgentId),
    Errand(Errand),
}

/// Which calls share a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    /// Reads run side by side.
    Reads,
    /// Children run side by side.
    Tasks,
    /// Any other call runs alone.
    Single,
}

/// Returns the calls of a message, each with the number of its group (R10). It depends on the tools
/// alone, and not on what is decided of the calls.
pub(super) fn grouped<'a>(
    prefix: &Prefix,
    message: &'a AssistantMessage,
) -> impl Iterator<Item = (usize, &'a Call)> {
    let mut number = 0;
    let mut last = None;
    message.calls().map(move |call| {
        let kind = group_kind(prefix, call);
        if last.is_some_and(|last| last != kind) || kind == GroupKind::Single {
            number += 1;
        }
        last = Some(kind);
        (number, call)
    })
}

fn group_kind(prefix: &Prefix, call: &Call) -> GroupKind {
    let Some((spec, offer)) = prefix.find(&call.tool) else {
        return GroupKind::Single;
    };
    match &offer.callable {
        Callable::Engine(EngineCall::Task) => GroupKind::Tasks,
        Callable::Tool(_) | Callable::Client(_) | Callable::Engine(EngineCall::Todo)
            if spec.effect == Effect::Read =>
        {
            GroupKind::Reads
        }
        Callable::Tool(_) | Callable::Client(_) | Callable::Engine(_) => GroupKind::Single,
    }
}

impl PlannedCall {
    pub(super) fn own(own: &OwnCall<'_>, ask: Option<Ask>) -> Self {
        Self::new(own.call, Callable::Engine(own.kind), own.arguments, ask)
    }

    /// A question that was put before its process died, and is not put again.
    pub(super) fn asked_question(own: &OwnCall<'_>, ask: Ask) -> Self {
        Self {
            ask: Some(ask),
            ..Self::own(own, None)
        }
    }

    /// A call that waits for a client since before its process ended, and goes on waiting.
    pub(super) fn waits_for_client(call: &Call, arguments: &RawJson, ask: Ask) -> Self {
        let callable = Callable::Client(client_tool::named(&call.tool));
        Self {
            ask: Some(ask),
            ..Self::new(call, callable, arguments, None)
        }
    }

    /// A call that was allowed before its process died, or that the host allows: what it has asked is not
    /// asked again.
    pub(super) fn allowed(mut self, agent: &Agent, by: &Decision) -> Self {
        let ask = self.ask.clone().unwrap_or_default();
        // Only an answer to this very call, a person's or the host's, was about all that it may read.
        let is_to_call = by.layer == ask::ONCE || ask::is_allowed_by_host(by);
        let sees_all = is_to_call && self.asking(&ask).is_open(agent);
        self.state = CallState::Ready { sees_all };
        self
    }

    pub(super) fn new(
        call: &Call,
        callable: Callable,
        arguments: &RawJson,
        ask: Option<Ask>,
    ) -> Self {
        let state = match &ask {
            Some(_) => CallState::Asking,
            None => CallState::Ready { sees_all: false },
        };
        Self {
            call: call.clone(),
            callable,
            arguments: arguments.clone(),
            attached: None,
            ask,
            state,
        }
    }

    pub(super) fn id(&self) -> &CallId {
        &self.call.id
    }

    /// Returns what it runs with, for hooks.
    pub(super) fn used(&self) -> Use {
        Use {
            call: self.id().clone(),
            tool: self.call.tool.clone(),
            input: self.arguments.clone(),
        }
    }

    /// Returns what it waits for, if it waited for a client before its process ended.
    fn awaits_client(&self) -> Option<&Ask> {
        self.ask.as_ref().filter(|ask| ask.waits_for_client)
    }

    pub(super) fn is_asking(&self) -> bool {
        matches!(self.state, CallState::Asking)
    }

    /// Returns what it asks, to weigh an answer.
    pub(super) fn asking<'a>(&'a self, ask: &'a Ask) -> Asking<'a> {
        let runs = self.callable.tool().map(|tool| (tool, &self.arguments));
        Asking {
            call: self.id(),
            tool: &self.call.tool,
            ask,
            runs,
        }
    }

    /// Judges it again, because calls have run since it was judged; returns why it may not run by now.
    pub(super) fn withheld(&self, scope: TurnScope<'_>) -> Option<Withheld> {
        let TurnScope { agent, prefix, .. } = scope;
        if self.awaits_client().is_some() {
            // A client may be at work on it.
            return None;
        }
        let kind = match (&self.callable, &self.ask) {
            (Callable::Engine(kind), None) => *kind,
            (Callable::Tool(_) | Callable::Client(_) | Callable::Engine(_), ask) => {
                let ask = ask.clone().unwrap_or_default();
                return self.asking(&ask).withheld(agent);
            }
        };
        let own = OwnCall {
            agent,
            prefix,
            call: &self.call,
            kind,
            arguments: &self.arguments,
        };
        let by = match own.judge() {
            Ok(None) => return None,
            Ok(Some(Judged::Decided(decision))) => decision,
            Ok(Some(Judged::Asks(..))) => {
                let told = ask::has_changed();
                return Some(Withheld { by: None, told });
            }
            Err(told) => return Some(Withheld { by: None, told }),
        };
        let told = ask::denial(&self.call.tool, &by)?;
        let by = Some(by);
        Some(Withheld { by, told })
    }

    /// Adds the entries that start it and returns what to do once they are committed; the outcome of a
    /// call that is over with that, or that cannot start.
    pub(super) fn start(&self, scope: TurnScope<'_>, batch: &mut Batch) -> Result<Work, Outcome> {
        let TurnScope {
            agent,
            prefix,
            attached: given,
            cancel,
        } = scope;
        let (call, arguments) = (&self.call, &self.arguments);
        if cancel.is_cancelled() {
            return Err(not_run(call));
        }
        match &self.callable {
            Callable::Tool(tool) => {
                if tool.spec().effect == Effect::Write {
                    batch.own(started(&call.id));
                }
                Ok(Work::Tool(ToolRun {
                    call: call.id.clone(),
                    tool: tool.clone(),
                    arguments: arguments.clone(),
                    sees_all: matches!(self.state, CallState::Ready { sees_all: true }),
                }))
            }
            Callable::Client(_) => {
                let name = call.tool.clone();
                if let Some(ask) = self.awaits_client() {
                    return Ok(Work::Client(name, ask.clone()));
                }
                let ask = client_tool::wait_of_call();
                batch.own(asked(call, &ask, client_tool::decision()));
                Ok(Work::Client(name, ask))
            }
            Callable::Engine(EngineCall::Task) => {
                let attached = match &self.attached {
                    Some(attached) => attached.as_slice(),
                    None => {
                        let paths = task::attachments(arguments)?;
                        if !paths.is_empty() {
                            return Ok(Work::Files(paths));
                        }
                        given
                    }
                };
                let child = task::plan(agent, prefix, call, arguments, attached, batch)?;
                if child.background {
                    return Err(settle::handle(&child.id));
                }
                Ok(Work::Child(child.id))
            }
            Callable::Engine(EngineCall::Todo) => Err(todo::take(arguments)),
            Callable::Engine(EngineCall::Question) => {
                if let Some(ask) = &self.ask {
                    return Ok(Work::Question(ask.clone()));
                }
                let ask = question::put(agent, &call.id, arguments, batch)?;
                batch.own(asked(call, &ask, question::decision()));
                Ok(Work::Question(ask))
            }
            Callable::Engine(EngineCall::Steer(steering)) => {
                let errand = steering.parse(agent, arguments)?;
                if errand.has_effect() {
                    batch.own(started(&call.id));
                }
                Ok(Work::Errand(errand))
            }
        }
    }
}

impl Work {
    pub(super) fn waits_for(&self) -> WaitsFor {
        match self {
            Self::Tool(_) => WaitsFor::Tool,
            Self::Files(_) => WaitsFor::Files,
            Self::Question(_) => WaitsFor::Answer,
            Self::Client(..) => WaitsFor::Client,
            Self::Child(child) => WaitsFor::Child(child.clone()),
            Self::Errand(errand) => WaitsFor::Agents(errand.targets().to_vec()),
        }
    }

    /// Does it, to the outcome of its call or to the files of its child.
    pub(super) fn run<'a>(
        self,
        call: CallId,
        desk: &'a Desk<'a>,
    ) -> BoxFuture<'a, Result<Progress, StoreError>> {
        let (agent, cancel) = (desk.agent, desk.cancel);
        let finished: BoxFuture<'a, Result<Finished, StoreError>> = match self {
            Self::Files(paths) => {
                return Box::pin(async move {
                    let loaded = attachments::load_files(agent, &paths).await;
                    Ok(Progress::Loaded(call, loaded))
                });
            }
            Self::Tool(run) => Box::pin(desk.run(run).map(Ok)),
            Self::Question(ask) => Box::pin(question::wait(agent, call, ask, cancel)),
            Self::Client(name, ask) => Box::pin(client_tool::wait(agent, call, name, ask, cancel)),
            Self::Child(child) => Box::pin(wait_for_child(agent, call, child).map(Ok)),
            Self::Errand(errand) => Box::pin(errand.run(agent, call, cancel).map(Ok)),
        };
        Box::pin(finished.map_ok(|finished| Progress::Finished(Box::new(finished))))
    }
}

/// Returns the outcome of a call whose group had not started when the turn was stopped.
pub(super) fn not_run(call: &Call) -> Outcome {
    let text = format!("{} was cancelled before it ran", call.tool);
    Outcome::error(ErrorKind::Cancelled, text)
}

/// Returns the entry that says what a call waits to be told.
pub(super) fn asked(call: &Call, ask: &Ask, decision: Decision) -> Event {
    Event::Asked {
        call: call.id.clone(),
        needs: ask.needs.clone(),
        decision,
        tool: call.tool.clone(),
        questions: ask.questions.clone(),
        deadline: ask.deadline,
        waits_for_client: ask.waits_for_client,
    }
}

/// Notes that the host allows what the chain asks of a call; returns what that is.
pub(super) fn answer_by_host(
    call: &Call,
    needs: Vec<Need>,
    rulings: &Rulings,
    batch: &mut Batch,
) -> Result<Ask, Outcome> {
    rulings.check_shown(&call.id, None)?;
    batch.own(ask::covered(&call.id, ask::allowed_by_host()));
    Ok(Ask {
        needs,
        ..Ask::default()
    })
}

/// Notes what was decided of a call; returns the outcome of one that may not run.
pub(super) fn note(call: &Call, decision: Decision, batch: &mut Batch) -> Result<(), Outcome> {
    let denied = ask::denial(&call.tool, &decision);
    batch.own(ask::covered(&call.id, decision));
    let denied = denied.filter(|_| !planted(Bug::BarredAndRun));
    denied.map_or(Ok(()), Err)
}

fn started(call: &CallId) -> Event {
    Event::CallStarted {
        call: call.clone(),
        child: None,
    }
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
                (Some(settlement), promoted) => state.tree.agent(&child).map(|of| {
                    let outcome = settle::outcome(&child, of, &settlement);
                    let delivers = if planted(Bug::ToldButNotMarked) {
                        vec![]
                    } else {
                        vec![run.clone()]
                    };
                    let order =
                        promoted.map(|order| (order, nothing("the agent had already ended")));
                    Finished::settled(call.clone(), outcome, delivers, order)
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
