//! The calls of a message that had not started when their process died (R16).
//!
//! Those that ask go on asking, for the same thing and no longer than before. Those
//! that were allowed stay so, and the rest is judged as if it were new. Nothing that
//! had started is run again. All are judged again, because rules may have changed
//! meanwhile: a deny holds, whatever was answered. So does the word of a hook. A read
//! that ran counts as one that had not started: the log says so, and it has no effect.

use std::collections::BTreeMap;

use offshoot_types::command::Verdict;
use offshoot_types::event::Event;
use offshoot_types::hook::Point;
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantMessage, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Grant, Need};
use offshoot_types::tree::{Allowed, Ask, OpenCall};

use super::call::{PlannedCall, grouped, not_run, note};
use super::own::OwnCall;
use super::{JudgedWhen, Plan, TurnScope, admit, finished, unknown_tool};
use crate::agent::Agent;
use crate::ask::{self, Judged, Weighed};
use crate::context::{Callable, EngineCall, Prefix};
use crate::hooks::calls::Rulings;
use crate::log::Batch;
use crate::{client_tool, question};

/// What was said to calls while nobody worked.
pub(crate) type Kept = BTreeMap<CallId, Verdict>;

/// What becomes of a call that asks or has asked.
enum Fate {
    /// Somebody is to say, or has said, or nobody has in time.
    Waits(Ask),
    /// It was allowed before its process died, and is still.
    Allowed(Allowed),
    /// It is decided by now: by rules, or by a host that says yes.
    Decided(Decision),
    /// Nobody is here who could say.
    Unanswerable(Ask, Decision),
}

/// What was said to a call so far.
enum Said {
    /// Nothing.
    Nothing,
    /// An answer, which has not been heard.
    Answer,
    /// That it may run.
    Yes(Decision),
}

/// A call that asks or has asked.
struct Waiting<'a> {
    call: &'a Call,
    what: What<'a>,
    fate: Fate,
}

/// What is to be done for such a call.
enum What<'a> {
    Tool(&'a Callable, &'a RawJson),
    Own(OwnCall<'a>),
    /// It waits for a client, as before.
    Client(&'a RawJson),
}

impl Plan {
    /// Takes up the calls of a message that had not started, in their groups.
    pub(crate) fn resume<'a>(
        scope: TurnScope<'a>,
        message: &AssistantMessage,
        open: Vec<&'a Call>,
        rulings: &mut Rulings,
        batch: &mut Batch,
    ) -> Self {
        let TurnScope { agent, prefix, .. } = scope;
        let mut plan = Self::default();
        rulings.record(batch);
        // Before anything else: what a refused call was answered covers no other.
        let kept = agent.kept();
        let (asked, new): (Vec<&Call>, Vec<&Call>) = open
            .into_iter()
            .partition(|call| agent.asked(&call.id).is_some());
        let mut waiting = Vec::new();
        for call in asked {
            match rulings.check_again(agent, call, kept.get(&call.id), batch) {
                Ok(()) => waiting.push(call),
                Err(outcome) => batch.own(finished(call, outcome)),
            }
        }
        let mut fates: BTreeMap<&CallId, Result<Waiting<'_>, Outcome>> =
            fates(agent, prefix, waiting, &kept)
                .into_iter()
                .map(|(call, waiting)| (&call.id, waiting))
                .collect();
        for (group, call) in grouped(prefix, message) {
            let planned = match fates.remove(&call.id) {
                Some(waiting) => waiting.and_then(|waiting| {
                    let denied = matches!(&waiting.fate, Fate::Decided(decision) if decision.action == Action::Deny);
                    let refused = matches!(kept.get(&call.id), Some(Verdict::Deny { .. }));
                    let waits_for_client = matches!(waiting.what, What::Client(_));
                    if !denied && !refused && !waits_for_client {
                        rulings.check_shown(&call.id, None)?;
                    }
                    waiting.plan(agent, batch)
                }),
                None if new.iter().any(|new| new.id == call.id) => {
                    admit(scope, call, rulings, batch)
                }
                None => continue,
            };
            plan.add(group, call, planned, batch);
        }
        plan.start_groups(scope, JudgedWhen::JustNow, batch);
        plan
    }

    /// Answers the calls of a turn that was cancelled while it slept.
    pub(crate) fn withdraw<'a>(
        agent: &Agent,
        calls: impl IntoIterator<Item = &'a Call>,
        batch: &mut Batch,
    ) -> Self {
        batch.extend(withdrawn(agent, calls));
        Self::default()
    }
}

impl Waiting<'_> {
    /// Has it wait on, or does as was decided by now.
    fn plan(self, agent: &Agent, batch: &mut Batch) -> Result<PlannedCall, Outcome> {
        let Self { call, what, fate } = self;
        let fate = match (&what, fate) {
            (What::Client(arguments), Fate::Waits(ask) | Fate::Unanswerable(ask, _)) => {
                return Ok(PlannedCall::waits_for_client(call, arguments, ask));
            }
            (_, fate) => fate,
        };
        let (ask, decision) = match fate {
            Fate::Waits(ask) => (Some(ask), None),
            Fate::Allowed(Allowed { ask, by }) => {
                return Ok(what.planned(call, Some(ask)).allowed(agent, &by));
            }
            Fate::Decided(decision) | Fate::Unanswerable(_, decision) => (None, Some(decision)),
        };
        if let What::Own(own) = &what
            && own.kind == EngineCall::Question
        {
            return match ask {
                Some(ask) => Ok(PlannedCall::asked_question(own, ask)),
                None => Err(question::nobody(&call.id, batch)),
            };
        }
        if let Some(decision) = decision {
            note(call, decision, batch)?;
        }
        Ok(what.planned(call, ask))
    }
}

impl What<'_> {
    fn planned(self, call: &Call, ask: Option<Ask>) -> PlannedCall {
        match self {
            What::Tool(callable, arguments) => {
                PlannedCall::new(call, callable.clone(), arguments, ask)
            }
            What::Client(arguments) => {
                PlannedCall::waits_for_client(call, arguments, ask.unwrap_or_default())
            }
            What::Own(own) => PlannedCall::own(&own, ask),
        }
    }
}

/// Returns the outcomes of calls that had not started, and whose turn was cancelled while it slept.
pub(crate) fn withdrawn<'a>(
    agent: &Agent,
    calls: impl IntoIterator<Item = &'a Call>,
) -> Vec<Event> {
    let withdrawn = |call: &Call| {
        let open = agent.open_call(&call.id);
        if open.is_none_or(|open| open.asks.is_none()) {
            return finished(call, not_run(call));
        }
        let text = format!("{} was cancelled before anybody allowed it", call.tool);
        finished(call, Outcome::error(ErrorKind::Cancelled, text))
    };
    calls.into_iter().map(withdrawn).collect()
}

/// Tells whether rules deny a call by now, whatever was answered.
pub(crate) fn is_denied(agent: &Agent, prefix: &Prefix, call: &Call) -> bool {
    match take_up(agent, prefix, call, &Kept::new()) {
        Ok(Waiting {
            fate: Fate::Decided(decision),
            ..
        }) => decision.action == Action::Deny,
        Ok(_) => false,
        Err(_) => true,
    }
}

/// Tells whether one of the calls waits for an answer that nobody is here to give, and that none of
/// those covers which were kept. A hook may refuse the call that an answer was given to, and then that
/// covers no other.
pub(crate) fn is_anything_unanswerable<'a>(
    agent: &'a Agent,
    prefix: &'a Prefix,
    calls: impl IntoIterator<Item = &'a Call>,
    kept: &Kept,
) -> bool {
    let alone = agent.is_watched(Point::PreToolUse);
    let calls: Vec<&Call> = calls.into_iter().collect();
    let waiting: Vec<Result<Waiting<'_>, Outcome>> = if alone {
        let each = calls.iter();
        each.map(|call| take_up(agent, prefix, call, kept))
            .collect()
    } else {
        let fates = fates(agent, prefix, calls, kept).into_iter();
        fates.map(|(_, waiting)| waiting).collect()
    };
    let mut fates = waiting.into_iter().flatten().map(|waiting| waiting.fate);
    fates.any(|fate| matches!(fate, Fate::Unanswerable(..)))
}

/// Says what becomes of calls that wait; of one that cannot go on, what it is told.
fn fates<'a>(
    agent: &'a Agent,
    prefix: &'a Prefix,
    calls: impl IntoIterator<Item = &'a Call>,
    kept: &Kept,
) -> Vec<(&'a Call, Result<Waiting<'a>, Outcome>)> {
    let calls = calls.into_iter();
    let mut fates: Vec<_> = calls
        .map(|call| (call, take_up(agent, prefix, call, kept)))
        .collect();
    let granting = |(call, waiting): &(&Call, Result<Waiting<'_>, Outcome>)| match waiting {
        Ok(Waiting {
            fate: Fate::Waits(ask),
            ..
        }) => ask::granting(agent, &call.tool, &ask.needs, kept.get(&call.id)?),
        Ok(_) | Err(_) => None,
    };
    let grants: Vec<Grant> = fates.iter().filter_map(granting).collect();
    for (call, waiting) in &mut fates {
        let Ok(waiting) = waiting else {
            continue;
        };
        let ask = match &waiting.fate {
            Fate::Waits(ask) if !kept.contains_key(&call.id) => ask,
            Fate::Unanswerable(ask, _) => ask,
            Fate::Waits(_) | Fate::Allowed(_) | Fate::Decided(_) => continue,
        };
        if is_covered(agent, &call.tool, &ask.needs, &grants) {
            // The answer to another call of the message is as good as there, and was given in time.
            waiting.fate = Fate::Waits(Ask {
                deadline: None,
                ..ask.clone()
            });
        }
    }
    fates
}

/// Tells whether answers allow all that is needed. No need is covered by nothing: a question has none.
fn is_covered(agent: &Agent, tool: &str, needs: &[Need], grants: &[Grant]) -> bool {
    let allowed = |need: &Need| {
        let reach = agent.reach(tool, need);
        let mut grants = grants.iter();
        grants.any(|grant| grant.allows("", need, reach).is_some())
    };
    !needs.is_empty() && needs.iter().all(allowed)
}

/// Says what becomes of one call, by what was said to it alone.
fn take_up<'a>(
    agent: &'a Agent,
    prefix: &'a Prefix,
    call: &'a Call,
    kept: &Kept,
) -> Result<Waiting<'a>, Outcome> {
    let Some(OpenCall { asks, allowed, .. }) = agent.open_call(&call.id) else {
        return Err(interrupted());
    };
    let (ask, said) = match (asks, allowed) {
        (Some(ask), _) if kept.contains_key(&call.id) => (ask, Said::Answer),
        (Some(ask), _) => (ask, Said::Nothing),
        (None, Some(Allowed { ask, by })) => (ask, Said::Yes(by)),
        (None, None) => return Err(interrupted()),
    };
    if ask.waits_for_client
        && let Arguments::Json(arguments) = &call.arguments
    {
        // It was allowed when it began to wait, and a client may be at work on it: it is not judged
        // again, also if the tool was taken from the session since.
        let fate = if matches!(said, Said::Answer) || agent.may_wait(&ask) {
            Fate::Waits(ask)
        } else {
            Fate::Unanswerable(ask, client_tool::decision())
        };
        let what = What::Client(arguments);
        return Ok(Waiting { call, what, fate });
    }
    let Some((_, offer)) = prefix.find(&call.tool) else {
        return Err(unknown_tool(prefix, &call.tool));
    };
    match (&offer.callable, &call.arguments) {
        (Callable::Tool(tool) | Callable::Client(tool), Arguments::Json(arguments)) => {
            let judged = match ask::weigh(agent, tool, arguments)? {
                Weighed::Decided(decision) => Judged::Decided(decision),
                Weighed::Open(needs, decision) => {
                    ask::was_asked(agent, &ask, &needs)?;
                    ask::put(agent, needs, decision)
                }
            };
            let fate = fate(agent, ask, said, judged);
            let what = What::Tool(&offer.callable, arguments);
            Ok(Waiting { call, what, fate })
        }
        (Callable::Engine(kind), Arguments::Json(arguments)) => {
            let own = OwnCall {
                agent,
                prefix,
                call,
                kind: *kind,
                arguments,
            };
            if *kind == EngineCall::Question {
                let fate = if matches!(said, Said::Answer) || agent.may_wait(&ask) {
                    Fate::Waits(ask)
                } else {
                    Fate::Unanswerable(ask, question::decision())
                };
                let what = What::Own(own);
                return Ok(Waiting { call, what, fate });
            }
            let needs_nothing = || Judged::Decided(Decision::needs_nothing());
            let judged = own.judge()?.unwrap_or_else(needs_nothing);
            let fate = fate(agent, ask, said, judged);
            let what = What::Own(own);
            Ok(Waiting { call, what, fate })
        }
        // Nobody was asked about these.
        (
            Callable::Engine(_) | Callable::Tool(_) | Callable::Client(_),
            Arguments::Malformed(_),
        ) => Err(interrupted()),
    }
}

/// Says what becomes of a call that asks or has asked, by how it is judged now.
fn fate(agent: &Agent, ask: Ask, said: Said, judged: Judged) -> Fate {
    let decision = match (judged, said) {
        (Judged::Decided(decision), Said::Answer | Said::Yes(_))
            if decision.action == Action::Deny =>
        {
            decision
        }
        // What was said counts, whatever would be allowed without it by now.
        (_, Said::Yes(by)) => return Fate::Allowed(Allowed { ask, by }),
        (Judged::Asks(..), _) | (_, Said::Answer) => return Fate::Waits(ask),
        (Judged::Decided(decision), Said::Nothing) => still(&ask, agent, decision),
    };
    match decision.action == Action::Ask {
        true if agent.may_wait(&ask) => Fate::Waits(ask),
        true => Fate::Unanswerable(ask, decision),
        false => Fate::Decided(decision),
    }
}

/// What is decided of a call that a hook wanted somebody to be asked for: what the chain allows by
/// itself has to be asked for still, unless the host says yes to everything.
fn still(ask: &Ask, agent: &Agent, decision: Decision) -> Decision {
    let by_hook = ask.needs.iter().find(|need| need.is_of_hook());
    match by_hook {
        Some(_) if decision.action == Action::Allow && agent.kit.asks.yes => {
            ask::host_says_yes(&ask.needs)
        }
        Some(need) if decision.action == Action::Allow => Decision {
            action: Action::Ask,
            layer: need.target.clone(),
            rule: None,
        },
        Some(_) | None => decision,
    }
}

/// What a call is told that cannot go on where its process died.
pub(crate) fn interrupted() -> Outcome {
    let text = "interrupted: the process ended before this ran";
    Outcome::error(ErrorKind::Interrupted, text)
}
