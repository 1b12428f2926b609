//! The engine's own calls: whether they may run; and what an answer decides of any call.
//!
//! An engine call needs nothing, so it is allowed unless a rule names it or asks
//! about everything, or a hook wants a person to be asked. A call that asks has done
//! nothing yet: whether there is room for a child is decided when it starts.

use offshoot_types::command::Receipt;
use offshoot_types::json::RawJson;
use offshoot_types::message::Call;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Need};

use super::call::{self, PlannedCall};
use super::outcomes::Outcomes;
use crate::agent::{Agent, nothing};
use crate::ask::{self, Answered, Asking, Judged, Withheld};
use crate::context::{EngineCall, Prefix};
use crate::hooks::calls::Rulings;
use crate::log::Batch;
use crate::sabotage::{Bug, planted};
use crate::{question, task, todo};

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
        let names = agent.kit.registry.names_of(&need.target);
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
            EngineCall::Question => question::read(arguments).map(|_| String::new()),
            EngineCall::Steer(steering) => {
                let errand = steering.parse(agent, arguments)?;
                let target = errand.targets().first().filter(|_| errand.has_effect());
                let state = agent.board.state();
                let target = target.and_then(|id| state.tree.agent(id));
                Ok(target.map_or_else(String::new, |target| target.definition().to_owned()))
            }
        }
    }

    /// Judges it for its message; returns the outcome of a call that does not run.
    pub(super) fn admit(
        &self,
        rulings: &Rulings,
        batch: &mut Batch,
    ) -> Result<PlannedCall, Outcome> {
        let judged = self.judge()?;
        let asks = judged.as_ref().is_some_and(Judged::is_asked);
        if asks && rulings.allows(&self.call.id) {
            let ask = call::answer_by_host(self.call, vec![self.need()?], rulings, batch)?;
            let planned = PlannedCall::own(self, Some(ask));
            return Ok(planned.allowed(self.agent, &ask::allowed_by_host()));
        }
        rulings.check_shown(&self.call.id, judged.as_ref())?;
        let judged = match self.kind {
            EngineCall::Question => judged,
            EngineCall::Task | EngineCall::Todo | EngineCall::Steer(_) => {
                rulings.narrow_own(judged, self.agent, &self.call.id, self.need()?)
            }
        };
        let ask = match judged {
            None => None,
            Some(Judged::Decided(decision)) => {
                call::note(self.call, decision, batch)?;
                None
            }
            Some(Judged::Asks(ask, decision)) => {
                batch.own(call::asked(self.call, &ask, decision));
                Some(ask)
            }
        };
        Ok(PlannedCall::own(self, ask))
    }
}

/// Weighs the answer to what a call asks, with the entries that follow from it. Returns whether the
/// call may read every file that it asked about, or the outcome of a call that may not run.
pub(super) fn decide(
    agent: &Agent,
    call: &PlannedCall,
    answered: Answered,
    outcomes: &mut Outcomes,
) -> Result<bool, Outcome> {
    let ask = call.ask.clone().unwrap_or_default();
    let asks = call.asking(&ask);
    let Asking { call: id, tool, .. } = asks;
    let withheld = asks.withheld(agent);
    // A hook's question is not about what may be read, nor is an answer to another call.
    let sees_all = matches!(answered, Answered::By(..)) && asks.is_open(agent);
    let refused = match (answered, withheld) {
        (Answered::Cancelled, _) => {
            let text = format!("{tool} was cancelled before anybody allowed it");
            return Err(Outcome::error(ErrorKind::Cancelled, text));
        }
        (Answered::By(order, verdict), Some(Withheld { by, told })) if verdict.is_yes() => {
            let why = nothing(match &by {
                Some(_) => "rules deny it by now",
                None => "it needs something else by now, and is to be made again",
            });
            outcomes.apply(*order, why);
            outcomes.batch().extend(by.map(|by| ask::covered(id, by)));
            Some(told)
        }
        (Answered::Granted(_), Some(Withheld { by, told })) => {
            outcomes.batch().extend(by.map(|by| ask::covered(id, by)));
            Some(told)
        }
        (Answered::Granted(decision), None) => {
            outcomes.batch().own(ask::covered(id, decision));
            None
        }
        (Answered::TooLate, _) => {
            let (event, outcome) = ask::unanswered(id, tool);
            outcomes.batch().own(event);
            Some(outcome)
        }
        (Answered::By(order, verdict), _) => {
            let (event, refused) = ask::decided(agent, asks, &verdict);
            outcomes.batch().own(event);
            outcomes.apply(*order, Receipt::Answered);
            refused
        }
    };
    match refused.filter(|_| !planted(Bug::DeniedAndRun)) {
        Some(refused) => Err(refused),
        None => Ok(sees_all),
    }
}
