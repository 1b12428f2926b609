//! Hooks about calls: before one runs, before anybody is asked, and after it.
//!
//! They are asked after the arguments have been checked and the chain has spoken
//! (TLS-18), about calls that it does not deny. What they say is kept until the
//! message is judged for good, where it makes the chain's word stricter and never
//! anything else. Arguments cannot be changed here: what was judged is what runs. Only
//! the host rewrites them (`host`), before all this.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use offshoot_types::command::Verdict;
use offshoot_types::event::{Did, Entry, Event, Hooked, TurnEnd};
use offshoot_types::hook::{Point, Use, What, Word};
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, AssistantMessage, Call};
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Need};
use offshoot_types::store::StoreError;
use offshoot_types::tool::Tool;
use offshoot_types::transcript::Transcript;
use tokio_util::sync::CancellationToken;

use super::{Heard, marked, notices};
use crate::agent::Agent;
use crate::ask::{self, Judged};
use crate::context::{Callable, Prefix};
use crate::log::Batch;
use crate::question::QUESTION;
use crate::sabotage::{Bug, planted};
use crate::scheduler::own::OwnCall;
use crate::scheduler::resume;

/// What hooks have said of the calls of one message.
#[derive(Default)]
pub(crate) struct Rulings {
    by_call: BTreeMap<CallId, Ruling>,
    events: Vec<Event>,
    contexts: Vec<String>,
    /// The calls that hooks were shown, if there are any hooks to show them to.
    shown: Option<BTreeSet<CallId>>,
    /// Why the agent is to stop once the calls are over.
    stop: Option<String>,
    /// The calls that are over and of which hooks have heard that.
    told: BTreeSet<CallId>,
    /// The calls that the host allows where the chain asks.
    allowed: BTreeSet<CallId>,
}

/// What hooks that hear of calls after each group are told of, and where what they say is kept.
pub(crate) struct GroupHooks<'a> {
    pub(crate) rulings: &'a mut Rulings,
    pub(crate) message: &'a AssistantMessage,
    /// Entries about the calls from before any of them ran.
    pub(crate) before: &'a [Arc<Entry>],
}

impl GroupHooks<'_> {
    /// Tells hooks of the calls that are over since. Returns what they did, and why the agent is to stop,
    /// if one says so.
    pub(crate) async fn tell(
        &mut self,
        agent: &Agent,
        since: &[Arc<Entry>],
        cancel: &CancellationToken,
    ) -> (Vec<Event>, Option<String>) {
        let finished = self.before.iter().chain(since);
        let over = self.rulings.untold(self.message, finished);
        if cancel.is_cancelled() {
            return (Vec::new(), None);
        }
        let (heard, stop) = self.rulings.tell(agent, over, cancel).await;
        let events = heard.into_iter().flat_map(Heard::events_between_groups);
        (events.collect(), stop)
    }
}

/// What hooks have against a call.
enum Ruling {
    /// A person is to be asked, by each of these and for its reason.
    Ask(Vec<(String, String)>),
    Deny {
        layer: String,
        reason: String,
    },
    Cancelled,
}

impl Rulings {
    /// What hooks said of the calls of the last message before the process died, as far as it is still
    /// to be done: what the agent is to be told, and that it is to stop. And which calls that are over
    /// they have heard of. What they said of calls that
    /// they are asked about again does not count any more.
    fn remembered(log: &[Entry], again: &[&Call]) -> Self {
        let is_said_again = |hooked: &Hooked, call: &CallId| {
            let again = again.iter().any(|again| again.id == *call);
            again && hooked.point == Point::PreToolUse
        };
        let mut rulings = Self::default();
        for entry in log {
            match &entry.event {
                Event::Replied(_) => rulings = Self::default(),
                Event::Decided { call, decision, .. } if ask::is_allowed_by_host(decision) => {
                    rulings.allow_by_host(call);
                }
                _ => {}
            }
            // What was said of a prompt or of an end is not about these calls.
            if let Event::Hooked(hooked) = &entry.event
                && (hooked.point.guards() || hooked.point.is_after_call())
                && !hooked.by_host
                && let Some(call) = &hooked.call
                && !is_said_again(hooked, call)
            {
                rulings.recall(hooked);
                if hooked.point.is_after_call() {
                    rulings.told.insert(call.clone());
                }
            }
        }
        rulings
    }

    fn recall(&mut self, hooked: &Hooked) {
        let told = hooked.context.as_ref();
        let told = told.map(|text| marked(&hooked.hook, hooked.point, text));
        // Whoever was asked twice, because a process died between, is heard once.
        if let Some(told) = told.filter(|told| !self.contexts.contains(told)) {
            self.contexts.push(told);
        }
        if let (true, Did::Refused { reason }) = (hooked.point.is_after_call(), &hooked.did) {
            let objection = marked(&hooked.hook, hooked.point, reason);
            self.contexts.push(objection);
        }
        if let Did::Stopped { reason } = &hooked.did {
            let stop = said(&format!("hook {}", hooked.hook), reason);
            self.stop.get_or_insert(stop);
        }
    }

    /// Tells whether something is left to say or to do when the calls are over.
    pub(crate) fn has_more(&self) -> bool {
        !self.contexts.is_empty() || self.stop.is_some()
    }

    /// Notes what the host's hook did.
    pub(super) fn note(&mut self, hooked: Hooked) {
        self.events.push(Event::Hooked(Box::new(hooked)));
    }

    /// Notes that the agent was stopped before the host had answered.
    pub(super) fn cancel(&mut self, call: &CallId) {
        self.by_call.insert(call.clone(), Ruling::Cancelled);
    }

    pub(super) fn deny_by_host(&mut self, call: &CallId, reason: String) {
        let layer = ask::HOST.to_owned();
        let deny = Ruling::Deny { layer, reason };
        self.by_call.insert(call.clone(), deny);
    }

    pub(super) fn allow_by_host(&mut self, call: &CallId) {
        self.allowed.insert(call.clone());
    }

    /// Tells whether the host answers what the chain asks of a call, and no hook wants a person to be
    /// asked: the host has not heard of that.
    pub(crate) fn allows(&self, call: &CallId) -> bool {
        self.allowed.contains(call) && self.questions(call).is_empty()
    }

    /// Adds what the hooks did to the entries of the message.
    pub(crate) fn record(&mut self, batch: &mut Batch) {
        batch.extend(self.events.drain(..));
    }

    /// Refuses a call that a hook refused; what it is told is written down.
    pub(crate) fn check(&self, call: &Call, batch: &mut Batch) -> Result<(), Outcome> {
        let (layer, reason) = match self.by_call.get(&call.id) {
            None | Some(Ruling::Ask(_)) => return Ok(()),
            Some(Ruling::Cancelled) => {
                let text = format!("{} was cancelled before its hooks had answered", call.tool);
                return Err(Outcome::error(ErrorKind::Cancelled, text));
            }
            Some(Ruling::Deny { layer, reason }) => (layer, reason),
        };
        batch.own(decided(call, Action::Deny, layer, reason));
        if planted(Bug::ObjectedAndRun) {
            return Ok(());
        }
        Err(Outcome::error(
            ErrorKind::Denied,
            told(&call.tool, layer, reason),
        ))
    }

    /// Refuses a call that may run by now and that hooks were not shown, because rules denied it when they
    /// were asked: whoever is above the agent may have become another meanwhile.
    pub(crate) fn check_shown(
        &self,
        call: &CallId,
        judged: Option<&Judged>,
    ) -> Result<(), Outcome> {
        let shown = |shown: &BTreeSet<CallId>| shown.contains(call);
        match judged {
            Some(Judged::Decided(decision)) if decision.action != Action::Allow => Ok(()),
            _ if self.shown.as_ref().is_none_or(shown) => Ok(()),
            _ => Err(ask::has_changed()),
        }
    }

    /// Refuses a call that was taken up again if a hook refuses it by now, or wants to have asked what
    /// nobody was. A question asks somebody anyway, and who has said no needs not be asked.
    pub(crate) fn check_again(
        &self,
        agent: &Agent,
        call: &Call,
        answer: Option<&Verdict>,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let ask = agent.asked(&call.id).unwrap_or_default();
        if ask.waits_for_client {
            return Ok(());
        }
        self.check(call, batch)?;
        if !ask.questions.is_empty() || matches!(answer, Some(Verdict::Deny { .. })) {
            return Ok(());
        }
        let asking = match self.by_call.get(&call.id) {
            Some(Ruling::Ask(asking)) => asking.as_slice(),
            Some(Ruling::Deny { .. } | Ruling::Cancelled) | None => &[],
        };
        // Whoever was asked knows that these hooks want it, in whatever words they say so now.
        let knows = |(layer, _): &(String, String)| {
            let is_of = |need: &Need| {
                let rest = need.target.strip_prefix(layer.as_str());
                let rest = rest.filter(|_| need.is_of_hook());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
            };
            ask.needs.iter().any(is_of)
        };
        if agent.kit.asks.yes || asking.iter().all(knows) {
            return Ok(());
        }
        Err(ask::has_changed())
    }

    /// Makes what was said of a call of the engine's own stricter where a hook wants a person to be
    /// asked, about `need`: the call itself.
    pub(crate) fn narrow_own(
        &self,
        judged: Option<Judged>,
        agent: &Agent,
        call: &CallId,
        need: Need,
    ) -> Option<Judged> {
        match self.questions(call) {
            [] => judged,
            asking => Some(also_ask(judged, asking, agent, || vec![need])),
        }
    }

    /// Makes what the chain said of a call stricter where a hook wants a person to be asked.
    pub(crate) fn narrow(
        &self,
        judged: Judged,
        agent: &Agent,
        call: &CallId,
        tool: &Arc<dyn Tool>,
        arguments: &RawJson,
    ) -> Judged {
        let needs = || match ask::needs(agent, tool, arguments) {
            Ok((_, Some(whole))) => vec![whole],
            Ok((needs, None)) => needs,
            Err(_) => Vec::new(),
        };
        match self.questions(call) {
            [] => judged,
            asking => also_ask(Some(judged), asking, agent, needs),
        }
    }

    /// Returns which hooks want a person to be asked about a call, and why.
    fn questions(&self, call: &CallId) -> &[(String, String)] {
        match self.by_call.get(call) {
            Some(Ruling::Ask(asking)) => asking,
            Some(Ruling::Deny { .. } | Ruling::Cancelled) | None => &[],
        }
    }

    /// Returns the calls that are over and of which hooks have not heard that.
    fn untold<'a>(
        &self,
        message: &AssistantMessage,
        finished: impl Iterator<Item = &'a Arc<Entry>>,
    ) -> Vec<(CallId, What)> {
        let over = finished.filter_map(|entry| after(message, &entry.event));
        over.filter(|(call, _)| !self.told.contains(call)).collect()
    }

    /// Tells hooks of calls that are over, and keeps what they say to the agent. Returns what was heard,
    /// and why the agent is to stop, if a hook says so.
    async fn tell(
        &mut self,
        agent: &Agent,
        over: Vec<(CallId, What)>,
        cancel: &CancellationToken,
    ) -> (Vec<Heard>, Option<String>) {
        self.told.extend(over.iter().map(|(call, _)| call.clone()));
        let told = over.into_iter().map(|(_, what)| async {
            let point = what.point();
            (point, agent.call_hooks(what, cancel).await)
        });
        let (mut all, mut stop) = (Vec::new(), None);
        for (point, mut heard) in join_all(told).await {
            self.contexts.append(&mut heard.contexts);
            match &heard.word {
                Word::Nothing | Word::Ask { .. } => {}
                // The call has run; the agent learns that the hook objects.
                Word::Deny { reason } => self.contexts.push(marked(&heard.by, point, reason)),
                Word::Stop { .. } => drop(stop.get_or_insert_with(|| heard.reason())),
            }
            all.push(heard);
        }
        self.stop = self.stop.take().or_else(|| stop.clone());
        (all, stop)
    }

    fn take(&mut self, call: CallId, mut heard: Heard) {
        self.events.extend(heard.events());
        self.contexts.append(&mut heard.contexts);
        let layer = format!("hook {}", heard.by);
        let ruling = match heard.word {
            _ if heard.cancelled => Ruling::Cancelled,
            Word::Nothing => return,
            Word::Ask { .. } => {
                let named = |(hook, reason)| (format!("hook {hook}"), reason);
                Ruling::Ask(heard.asks.into_iter().map(named).collect())
            }
            Word::Deny { reason } => Ruling::Deny { layer, reason },
            Word::Stop { reason } => {
                self.stop.get_or_insert_with(|| said(&layer, &reason));
                Ruling::Deny { layer, reason }
            }
        };
        self.by_call.insert(call, ruling);
    }
}

/// Has a person asked what hooks want asked, with what is asked already or else with all that the call
/// needs: an answer that was given before was not to these questions.
fn also_ask(
    judged: Option<Judged>,
    asking: &[(String, String)],
    agent: &Agent,
    needs: impl FnOnce() -> Vec<Need>,
) -> Judged {
    let mut whys = asking.iter().map(|(layer, reason)| said(layer, reason));
    let questions = whys.clone().map(|why| Need::new(Need::HOOK_ASKS, why));
    match judged {
        Some(Judged::Decided(decision)) if decision.action != Action::Allow => {
            Judged::Decided(decision)
        }
        Some(Judged::Asks(mut ask, decision)) => {
            ask.needs.extend(questions);
            Judged::Asks(ask, decision)
        }
        None | Some(Judged::Decided(_)) => {
            let decision = Decision {
                action: Action::Ask,
                layer: whys.next().unwrap_or_default(),
                rule: None,
            };
            let mut needs = needs();
            needs.extend(questions);
            ask::put(agent, needs, decision)
        }
    }
}

fn decided(call: &Call, action: Action, layer: &str, reason: &str) -> Event {
    let decision = Decision {
        action,
        layer: layer.to_owned(),
        rule: None,
    };
    Event::Decided {
        call: call.id.clone(),
        decision,
        grant: None,
        reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
    }
}

fn told(tool: &str, layer: &str, reason: &str) -> String {
    format!("{tool} was denied by {}", said(layer, reason))
}

/// Returns who said something and why, if there is a why.
fn said(layer: &str, reason: &str) -> String {
    match reason.trim() {
        "" => layer.to_owned(),
        reason => format!("{layer}: {reason}"),
    }
}

impl Agent {
    /// Tells whether hooks want to hear of calls that are over.
    pub(crate) fn is_watched_after(&self) -> bool {
        self.is_watched(Point::PostToolUse) || self.is_watched(Point::PostToolUseFailure)
    }

    /// Asks hooks about the calls of a message that neither the host nor the chain denies; `rulings` has
    /// what the host said.
    pub(crate) async fn before_calls(
        &self,
        prefix: &Prefix,
        message: &AssistantMessage,
        mut rulings: Rulings,
        cancel: &CancellationToken,
    ) -> Rulings {
        let calls = message.calls();
        let admissible = |call| Some((call, self.admissible(prefix, call, &rulings)?));
        let worth_asking = calls.filter_map(admissible);
        let asked = worth_asking.map(|(call, judged)| self.before_call(call, judged, cancel));
        let asked = join_all(asked).await;
        rulings.shown = Some(BTreeSet::new());
        for (call, heard) in asked {
            rulings.shown.get_or_insert_default().insert(call.clone());
            rulings.take(call, heard);
        }
        rulings
    }

    /// Asks hooks about one call, and about a question to a person that it would cause.
    async fn before_call(
        &self,
        call: &Call,
        judged: Option<Judged>,
        cancel: &CancellationToken,
    ) -> (CallId, Heard) {
        let mut heard = self.call_hooks(What::PreToolUse(used(call)), cancel).await;
        if self.would_ask(call, judged, &heard) {
            let what = What::PermissionRequest(used(call));
            heard.add(self.call_hooks(what, cancel).await);
        }
        (call.id.clone(), heard)
    }

    /// Returns what hooks say of the calls of the last message that had not started when their process
    /// died. Those are asked about again, because hooks may have been added or changed meanwhile as
    /// rules may; but not about those that are denied by now. Where a person was asked, hooks were told
    /// of that before.
    pub(crate) async fn before_calls_again(
        &self,
        prefix: &Prefix,
        log: &[Entry],
        open: &[&Call],
        cancel: &CancellationToken,
    ) -> Rulings {
        let is_guarded = self.is_watched(Point::PreToolUse);
        if !is_guarded && !self.is_watched(Point::PermissionRequest) {
            return Rulings::remembered(log, &[]);
        }
        let kept = self.kept();
        let is_denied = |call: &Call| {
            let by_person = matches!(kept.get(&call.id), Some(Verdict::Deny { .. }));
            by_person || resume::is_denied(self, prefix, call)
        };
        let remembered = Rulings::remembered(log, &[]);
        let mut again = Vec::new();
        for &call in open {
            let asked = self.asked(&call.id);
            if asked.as_ref().is_some_and(|ask| ask.waits_for_client) {
                // It was allowed and a client may be at work on it.
                continue;
            }
            if asked.is_none() {
                let judged = self.admissible(prefix, call, &remembered);
                again.extend(judged.map(|judged| (call, judged)));
            } else if !is_denied(call) {
                again.push((call, None));
            }
        }
        let shown = again.iter().map(|(call, _)| *call);
        let repeated: Vec<&Call> = shown.clone().filter(|_| is_guarded).collect();
        let mut rulings = Rulings::remembered(log, &repeated);
        rulings.shown = Some(shown.map(|call| call.id.clone()).collect());
        let asked = again.into_iter();
        let asked = asked.map(|(call, judged)| self.before_call(call, judged, cancel));
        for (call, heard) in join_all(asked).await {
            rulings.take(call, heard);
        }
        rulings
    }

    /// Returns what is said of a call that may come to run; `Some(None)` if nothing is.
    fn admissible(
        &self,
        prefix: &Prefix,
        call: &Call,
        rulings: &Rulings,
    ) -> Option<Option<Judged>> {
        if rulings.by_call.contains_key(&call.id) {
            return None;
        }
        let Arguments::Json(arguments) = &call.arguments else {
            return None;
        };
        let (spec, offer) = prefix.find(&call.tool)?;
        if prefix.withheld.contains(&call.tool) {
            return None;
        }
        let judged = match &offer.callable {
            Callable::Tool(tool) | Callable::Client(tool) => {
                offer.schema.check(spec, arguments).ok()?;
                Some(ask::judge(self, tool, arguments).ok()?)
            }
            Callable::Engine(kind) => {
                let own = OwnCall {
                    agent: self,
                    prefix,
                    call,
                    kind: *kind,
                    arguments,
                };
                own.judge().ok()?
            }
        };
        match judged {
            Some(judged) if rulings.allows(&call.id) && judged.is_asked() => Some(None),
            Some(Judged::Decided(decision)) if decision.action != Action::Allow => None,
            None | Some(Judged::Decided(_) | Judged::Asks(..)) => Some(judged),
        }
    }

    /// Tells whether a person would be asked about a call, after what hooks have said so far.
    fn would_ask(&self, call: &Call, judged: Option<Judged>, heard: &Heard) -> bool {
        if self.asked(&call.id).is_some() {
            return false;
        }
        // A question asks somebody anyway, and for no permission.
        if heard.cancelled || !self.is_watched(Point::PermissionRequest) || call.tool == QUESTION {
            return false;
        }
        match &heard.word {
            Word::Deny { .. } | Word::Stop { .. } => false,
            Word::Ask { .. } => !self.kit.asks.yes && self.kit.asks.is_somebody_there(),
            Word::Nothing => matches!(judged, Some(Judged::Asks(..))),
        }
    }

    /// Tells hooks of the calls of a message that are over and that they have not heard of, and the agent
    /// what hooks say to it. Returns how the turn ends if one of them stops it.
    pub(crate) async fn after_calls(
        &self,
        mut rulings: Rulings,
        message: &AssistantMessage,
        finished: &[Arc<Entry>],
        transcript: &mut Transcript,
        cancel: &CancellationToken,
    ) -> Result<Option<TurnEnd>, StoreError> {
        let over = rulings.untold(message, finished.iter());
        if cancel.is_cancelled() {
            // Nobody waits for what they say, and the agent reads nothing any more.
            notices::send(self, over.into_iter().map(|(_, what)| what).collect());
            return Ok(None);
        }
        let (mut heard, _) = rulings.tell(self, over, cancel).await;
        let events = heard.iter_mut().flat_map(Heard::events).collect();
        let Rulings { contexts, stop, .. } = rulings;
        self.pass_on(events, &contexts, transcript).await?;
        Ok(stop.map(|reason| TurnEnd::Denied { reason }))
    }
}

pub(super) fn used(call: &Call) -> Use {
    let input = match &call.arguments {
        Arguments::Json(arguments) => arguments.clone(),
        Arguments::Malformed(text) => RawJson::of(text),
    };
    Use {
        call: call.id.clone(),
        tool: call.tool.clone(),
        input,
    }
}

/// Returns what hooks are told of a call that is over; nothing of one that was refused.
fn after(message: &AssistantMessage, event: &Event) -> Option<(CallId, What)> {
    let Event::CallFinished { call, outcome, .. } = event else {
        return None;
    };
    let used = used(message.calls().find(|made| made.id == *call)?);
    let what = match &outcome.body {
        Body::Error {
            kind: ErrorKind::Denied,
            ..
        } => return None,
        Body::Error { kind, text } => What::PostToolUseFailure {
            used,
            error: text.clone(),
            interrupted: matches!(
                kind,
                ErrorKind::Cancelled | ErrorKind::Interrupted | ErrorKind::AbortedByParent
            ),
        },
        Body::Output(response) => What::PostToolUse {
            used,
            response: response.clone(),
        },
    };
    Some((call.clone(), what))
}
