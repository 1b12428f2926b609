//! The engine's own calls: whether they may be carried out, and those that wait for it.
//!
//! They need nothing, so they are allowed unless a rule names them or asks about
//! everything, or a hook wants somebody to be asked. One that waits for an answer
//! has done nothing yet: whether there is room for a child is looked at when
//! somebody has said yes, and then the decision, the start and the child's first
//! entries are one append (R15).

use offshoot_types::command::Receipt;
use offshoot_types::event::Event;
use offshoot_types::id::{CallId, MessageId};
use offshoot_types::json::RawJson;
use offshoot_types::message::Call;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Need};
use offshoot_types::settlement::CancelledBy;
use offshoot_types::store::StoreError;
use offshoot_types::tree::Ask;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Finished, Plan, asked, wait_for_child};
use crate::agent::{Agent, nothing};
use crate::ask::{self, Answered, Asking, Judged, Withheld};
use crate::context::{EngineCall, Prefix};
use crate::hooks::calls::Rulings;
use crate::log::Batch;
use crate::sabotage::{Bug, planted};
use crate::steer::Errand;
use crate::{question, settle, task, todo};

/// A call of the engine's own.
#[derive(Clone, Copy)]
pub(crate) struct OwnCall<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) prefix: &'a Prefix,
    pub(crate) call: &'a Call,
    pub(crate) kind: EngineCall,
    pub(crate) arguments: &'a RawJson,
}

impl OwnCall<'_> {
    /// Says whether it may be carried out; `None` if nobody has anything to say of it.
    pub(crate) fn judge(&self) -> Result<Option<Judged>, Outcome> {
        let Self { agent, call, .. } = self;
        let need = self.need()?;
        let names = agent.parts.registry.names_of(&need.target);
        let decided = agent.chain().0.decide_call(&call.tool, &names);
        let decided = decided.map(|decision| agent.or_granted(decision, &call.tool, &need));
        Ok(match (decided, self.kind) {
            (None, _) => None,
            // It asks somebody as it is.
            (Some(decision), EngineCall::Question) if decision.action == Action::Ask => None,
            (Some(decision), _) if decision.action == Action::Ask => {
                Some(ask::put(agent, vec![need], decision))
            }
            (Some(decision), _) => Some(Judged::Decided(decision)),
        })
    }

    /// Returns what somebody is asked about who has to allow it: the call itself.
    fn need(&self) -> Result<Need, Outcome> {
        Ok(Need::new(self.call.tool.clone(), self.about()?))
    }

    /// Returns what patterns of rules are held against: the name of the agent that it is about, if it is
    /// about one. Says what is wrong with its arguments first (TLS-02).
    fn about(&self) -> Result<String, Outcome> {
        let Self {
            agent,
            prefix,
            arguments,
            ..
        } = self;
        match self.kind {
            EngineCall::Task => task::named(agent, prefix, arguments),
            EngineCall::Todo => match todo::take(arguments) {
                wrong if wrong.is_error() => Err(wrong),
                _noted => Ok(String::new()),
            },
            EngineCall::Question => Ok(String::new()),
            EngineCall::Steer(steering) => {
                let errand = steering.parse(agent, arguments)?;
                let target = errand.targets().first().filter(|_| errand.has_effect());
                let state = agent.board.state();
                let target = target.and_then(|id| state.tree.agent(id));
                Ok(target.map_or_else(String::new, |target| target.definition().to_owned()))
            }
        }
    }
}

/// Whose yes lets a call run that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Yes {
    /// Somebody said it to this call.
    ToIt,
    /// It was said to something else, and covers this.
    ToAnother,
}

/// A call that makes a child or notes something, once somebody allows it.
pub(super) struct Held {
    pub(super) call: Call,
    ask: Ask,
    then: Then,
}

enum Then {
    /// Makes a child, as these arguments say.
    Spawn(RawJson),
    /// Returns this.
    Return(Outcome),
}

impl Plan {
    /// Judges a call of the engine's own, and begins with it or asks.
    pub(super) fn admit_own(
        &mut self,
        own: &OwnCall<'_>,
        message: &MessageId,
        rulings: &Rulings,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let judged = own.judge()?;
        rulings.check_shown(&own.call.id, judged.as_ref())?;
        let judged = match own.kind {
            EngineCall::Question => judged,
            EngineCall::Task | EngineCall::Todo | EngineCall::Steer(_) => {
                rulings.narrow_own(judged, own.agent, &own.call.id, own.need()?)
            }
        };
        let asks = match judged {
            None => None,
            Some(Judged::Decided(decision)) => {
                note(own.call, decision, batch)?;
                None
            }
            Some(Judged::Asks(ask, decision)) => {
                batch.own(asked(own.call, &ask, decision));
                Some(ask)
            }
        };
        self.begin(own, message, asks, batch)
    }

    /// Takes up a call of the engine's own that waited when its process died: to wait on, or as was
    /// decided by now.
    pub(super) fn readmit_own(
        &mut self,
        own: &OwnCall<'_>,
        asks: Option<Ask>,
        decision: Option<Decision>,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        if let Some(decision) = decision {
            note(own.call, decision, batch)?;
        }
        self.begin(own, &own.agent.processed(), asks, batch)
    }

    /// Begins with a call of the engine's own, or has it wait for an answer first.
    fn begin(
        &mut self,
        own: &OwnCall<'_>,
        message: &MessageId,
        asks: Option<Ask>,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let OwnCall {
            agent,
            prefix,
            call,
            arguments,
            ..
        } = *own;
        let held = |ask, then| Held {
            call: call.clone(),
            ask,
            then,
        };
        match (own.kind, asks) {
            (EngineCall::Todo, None) => return Err(todo::take(arguments)),
            (EngineCall::Todo, Some(ask)) => {
                let noted = Then::Return(todo::take(arguments));
                self.held.push(held(ask, noted));
            }
            (EngineCall::Task, None) => {
                let child = task::plan(agent, prefix, call, arguments, message, batch)?;
                if child.background {
                    batch.own(Event::CallFinished {
                        call: call.id.clone(),
                        outcome: settle::handle(&child.id),
                        delivers: Vec::new(),
                    });
                } else {
                    self.children.push((call.id.clone(), child.id));
                }
            }
            (EngineCall::Task, Some(ask)) => {
                self.held.push(held(ask, Then::Spawn(arguments.clone())));
            }
            (EngineCall::Question, _) => {
                let ask = question::parse(agent, &call.id, arguments, batch)?;
                batch.own(asked(call, &ask, question::decision()));
                self.questions.push((call.id.clone(), ask));
            }
            (EngineCall::Steer(steering), asks) => {
                let errand = steering.parse(agent, arguments)?;
                match asks {
                    Some(ask) => {
                        let asks = (call.tool.clone(), ask);
                        self.held_errands.insert(call.id.clone(), asks);
                    }
                    None if errand.has_effect() => batch.own(started(&call.id)),
                    None => {}
                }
                self.errands.push((call.id.clone(), errand));
            }
        }
        Ok(())
    }
}

impl Held {
    /// Waits for the answer, and does it if that is yes. `changed` is told when it waits for something
    /// else.
    pub(super) async fn run(
        self,
        agent: &Agent,
        cancel: &CancellationToken,
        changed: &Notify,
    ) -> Result<Finished, StoreError> {
        let Self { call, ask, then } = self;
        let asks = Asking {
            call: &call.id,
            tool: &call.tool,
            ask: &ask,
            runs: None,
        };
        let arguments = match then {
            Then::Spawn(arguments) => arguments,
            Then::Return(outcome) => {
                let permitted = permit(agent, asks, cancel, |_, _| Ok(())).await?;
                let outcome = permitted.err().unwrap_or(outcome);
                return Ok(Finished::of(call.id, outcome));
            }
        };
        let spawn = |batch: &mut Batch, _| {
            let prefix = agent.prefix().map_err(|error| {
                let text = format!("cannot spawn: {}", error.message);
                Outcome::error(ErrorKind::Failed, text)
            })?;
            let message = agent.processed();
            task::plan(agent, &prefix, &call, &arguments, &message, batch)
        };
        let child = match permit(agent, asks, cancel, spawn).await? {
            Ok(child) => child,
            Err(outcome) => return Ok(Finished::of(call.id, outcome)),
        };
        changed.notify_one();
        if child.background {
            return Ok(Finished::of(call.id, settle::handle(&child.id)));
        }
        if cancel.is_cancelled() {
            // Whoever stopped the turn meanwhile did not see it.
            agent.board.cancel(&child.id, CancelledBy::Ancestor);
        }
        Ok(wait_for_child(agent, call.id, child.id).await)
    }
}

/// Waits until an errand may be done, where somebody has to allow it first; says what its call is told
/// that may not.
pub(super) async fn permit_errand(
    agent: &Agent,
    call: &CallId,
    errand: &Errand,
    asks: Option<(String, Ask)>,
    cancel: &CancellationToken,
) -> Result<Result<(), Outcome>, StoreError> {
    let Some((tool, ask)) = asks else {
        return Ok(Ok(()));
    };
    let starts = errand.has_effect();
    let asks = Asking {
        call,
        tool: &tool,
        ask: &ask,
        runs: None,
    };
    permit(agent, asks, cancel, |batch, _| {
        if starts {
            batch.own(started(call));
        }
        Ok(())
    })
    .await
}

/// Waits for an answer to what a call asks and writes down what was decided, with what follows from a
/// yes in the same append; says what a call is told that may not run.
pub(crate) async fn permit<T>(
    agent: &Agent,
    asks: Asking<'_>,
    cancel: &CancellationToken,
    follows: impl FnOnce(&mut Batch, Yes) -> Result<T, Outcome>,
) -> Result<Result<T, Outcome>, StoreError> {
    let Asking { call, tool, .. } = asks;
    let mut batch = Batch::default();
    let answered = ask::answer(agent, asks, cancel).await;
    let withheld = asks.withheld(agent);
    let yes = match answered {
        Answered::Granted(_) => Yes::ToAnother,
        Answered::By(..) | Answered::TooLate | Answered::Cancelled => Yes::ToIt,
    };
    let (order, refused) = match (answered, withheld) {
        (Answered::Cancelled, _) => {
            let text = format!("{tool} was cancelled before anybody allowed it");
            return Ok(Err(Outcome::error(ErrorKind::Cancelled, text)));
        }
        (Answered::By(order, verdict), Some(Withheld { by, told })) if verdict.is_yes() => {
            let why = nothing(match &by {
                Some(_) => "rules deny it by now",
                None => "it needs something else by now, and is to be made again",
            });
            batch.applied(order.command.clone(), why.clone());
            batch.extend(by.map(|by| ask::covered(call, by)));
            (Some((order, why)), Some(told))
        }
        (Answered::Granted(_), Some(Withheld { by, told })) => {
            batch.extend(by.map(|by| ask::covered(call, by)));
            (None, Some(told))
        }
        (Answered::Granted(decision), None) => {
            batch.own(ask::covered(call, decision));
            (None, None)
        }
        (Answered::TooLate, _) => {
            let (event, outcome) = ask::unanswered(call, tool);
            batch.own(event);
            (None, Some(outcome))
        }
        (Answered::By(order, verdict), _) => {
            let (event, refused) = ask::decided(agent, asks, &verdict);
            batch.own(event);
            batch.applied(order.command.clone(), Receipt::Answered);
            (Some((order, Receipt::Answered)), refused)
        }
    };
    let done = match refused.filter(|_| !planted(Bug::DeniedAndRun)) {
        Some(refused) => Err(refused),
        None => follows(&mut batch, yes),
    };
    agent.log.append(batch).await?;
    if let Some((order, receipt)) = order {
        order.answer(receipt);
    }
    Ok(done)
}

/// Writes down what was decided of a call; returns the outcome of one that may not be carried out.
fn note(call: &Call, decision: Decision, batch: &mut Batch) -> Result<(), Outcome> {
    let denied = ask::denial(&call.tool, &decision);
    batch.own(Event::Decided {
        call: call.id.clone(),
        decision,
        grant: None,
        reason: None,
    });
    denied.map_or(Ok(()), Err)
}

fn started(call: &CallId) -> Event {
    Event::CallStarted {
        call: call.clone(),
        child: None,
    }
}
