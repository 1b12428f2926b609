//! Whether a call may run: the chain, what was granted, and whoever answers.
//!
//! The chain decides (R21). Only where it says ask do answers count (R22): those
//! given before as grants, then the host's standing word, then a person, who may
//! take any time. A call that waits holds no slot, and asks once: the first
//! answer counts. Nothing that an agent says is an answer; only orders are (R24).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use offshoot_types::command::{Order, Verdict};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CallId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Grant, Need, Permissions, Reach, Rule};
use offshoot_types::question;
use offshoot_types::tool::{Effect, Tool};
use offshoot_types::tree::{Ask, OpenCall};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::client_tool;
use crate::context;
use crate::desk::panicked;
use crate::node::Ordered;
use crate::scheduler::resume::Kept;

/// How often whoever waits for an answer looks at the clock.
const LOOK: Duration = Duration::from_secs(10);

/// How long before a child's run has to hand back nobody waits for an answer any more, in milliseconds.
const BEFORE_HANDING_BACK: u64 = 1000;

/// Most bytes of a rule that an agent is told.
const MOST_OF_RULE: usize = 300;

/// Who answers what agents ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// Whether the host says yes to whatever the chain asks. It answers no question.
    pub yes: bool,
    /// Who is there besides.
    pub who: Who,
}

/// Who is there to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Who {
    /// Nobody: what needs an answer is a deny that says so.
    #[default]
    Nobody,
    /// Somebody who follows the tree or looks into the inbox.
    Somebody {
        /// How long an answer may take; for ever if nobody says.
        within: Option<Duration>,
    },
}

impl Asks {
    /// Nobody answers.
    pub const NOBODY: Self = Self {
        yes: false,
        who: Who::Nobody,
    };

    /// The host says yes, and nobody is there.
    pub const YES: Self = Self {
        yes: true,
        who: Who::Nobody,
    };

    /// Somebody is there, and may take any time.
    pub const SOMEBODY: Self = Self {
        yes: false,
        who: Who::Somebody { within: None },
    };

    /// Tells whether a question could be answered.
    pub(crate) fn is_somebody_there(self) -> bool {
        match self.who {
            Who::Nobody => false,
            Who::Somebody { .. } => true,
        }
    }
}

/// What the chain says of a call.
pub(crate) enum Judged {
    /// It may run, or not.
    Decided(Decision),
    /// Somebody has to say.
    Asks(Ask, Decision),
}

impl Judged {
    /// Tells whether the chain asks, also if there is no person to answer.
    pub(crate) fn is_asked(&self) -> bool {
        match self {
            Self::Decided(decision) => decision.action == Action::Ask,
            Self::Asks(..) => true,
        }
    }
}

/// What the chain says of a call, and what was granted, before anybody is asked.
pub(crate) enum Weighed {
    /// It may run, or not.
    Decided(Decision),
    /// Somebody has to say, of these needs.
    Open(Vec<Need>, Decision),
}

/// Asks the chain about everything a call needs.
pub(crate) fn judge(
    agent: &Agent,
    tool: &Arc<dyn Tool>,
    arguments: &RawJson,
) -> Result<Judged, Outcome> {
    Ok(match weigh(agent, tool, arguments)? {
        Weighed::Decided(decision) => Judged::Decided(decision),
        Weighed::Open(needs, decision) => put(agent, needs, decision),
    })
}

/// Returns what a tool says that a call needs, and what somebody is asked about it as a whole, if so.
pub(crate) fn needs(
    agent: &Agent,
    tool: &Arc<dyn Tool>,
    arguments: &RawJson,
) -> Result<(Vec<Need>, Option<Need>), Outcome> {
    agent.check_plan_exit(&tool.spec().id)?;
    let place = agent.place();
    let say = || Ok::<_, String>((tool.needs(arguments, &place)?, tool.asks(arguments)));
    std::panic::catch_unwind(AssertUnwindSafe(say))
        .map_err(|_| panicked(&tool.spec().id))?
        .map_err(|text| Outcome::error(ErrorKind::InvalidInput, text))
}

/// Does so without asking anybody else.
pub(crate) fn weigh(
    agent: &Agent,
    tool: &Arc<dyn Tool>,
    arguments: &RawJson,
) -> Result<Weighed, Outcome> {
    let id = &tool.spec().id;
    let (needs, whole) = needs(agent, tool, arguments)?;
    let (chain, read_only) = agent.chain();
    if needs.is_empty() && read_only && tool.spec().effect == Effect::Write {
        // It writes, but does not say what it needs, so no rule could hold it to reading.
        return Ok(Weighed::Decided(Decision {
            action: Action::Deny,
            layer: "an agent that is read-only".to_owned(),
            rule: None,
        }));
    }
    let mut strictest = Decision::needs_nothing();
    let mut open = Vec::new();
    for (index, need) in needs.into_iter().enumerate() {
        let is_part = |whole: &Need| whole.capability == need.capability;
        let mut decision = chain.decide(id, &need);
        if !whole.as_ref().is_some_and(is_part) {
            decision = agent.or_granted(decision, id, &need);
        }
        if decision.action == Action::Ask {
            open.push(need);
        }
        if index == 0 || decision.action < strictest.action {
            strictest = decision;
        }
    }
    if strictest.action != Action::Ask {
        return Ok(Weighed::Decided(strictest));
    }
    if let Some(whole) = whole {
        if let Some(granted) = agent.granted(id, &whole, strictest.reach()) {
            return Ok(Weighed::Decided(granted));
        }
        open = vec![whole];
    }
    Ok(Weighed::Open(open, strictest))
}

/// Puts what nobody has decided before the host, or before whoever is there.
pub(crate) fn put(agent: &Agent, needs: Vec<Need>, decision: Decision) -> Judged {
    let Asks { yes, who } = agent.kit.asks;
    if yes {
        return Judged::Decided(host_says_yes(&needs));
    }
    match who {
        Who::Nobody => Judged::Decided(decision),
        Who::Somebody { .. } => {
            let ask = Ask {
                needs,
                deadline: agent.ask_deadline(),
                ..Ask::default()
            };
            Judged::Asks(ask, decision)
        }
    }
}

/// What the host's standing yes decides; where that answers a hook, it says which.
pub(crate) fn host_says_yes(needs: &[Need]) -> Decision {
    let hook = needs.iter().find_map(Need::asked_by_hook);
    let hook = hook.map_or_else(String::new, |hook| format!(" ({hook})"));
    Decision {
        action: Action::Allow,
        layer: format!("the host, which says yes to everything{hook}"),
        rule: None,
    }
}

/// Returns what a call is told that may not run; `None` when it may.
pub(crate) fn denial(tool: &str, decision: &Decision) -> Option<Outcome> {
    let text = match decision.action {
        Action::Allow => return None,
        Action::Deny => match &decision.rule {
            Some(Rule {
                permission,
                pattern,
                ..
            }) => {
                let rule = context::capped(format!("{permission} {pattern}"), MOST_OF_RULE);
                format!("{tool} was denied by {}: {rule}", decision.layer)
            }
            None => format!("{tool} was denied by {}", decision.layer),
        },
        Action::Ask => match decision.asked_by_hook() {
            Some(hook) => {
                format!("{tool} needs permission, because {hook}; and nobody is here to give it")
            }
            None => format!("{tool} needs permission and nobody is here to give it"),
        },
    };
    Some(Outcome::error(ErrorKind::Denied, text))
}

/// A call that waits for somebody to allow it.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) call: &'a CallId,
    pub(crate) tool: &'a str,
    pub(crate) ask: &'a Ask,
    /// What it would run with what; `None` for a call of the engine's own.
    pub(crate) runs: Option<(&'a Arc<dyn Tool>, &'a RawJson)>,
}

/// Why a call may not run although somebody has said yes.
pub(crate) struct Withheld {
    /// Who denies it, if somebody does.
    pub(crate) by: Option<Decision>,
    /// What it is told.
    pub(crate) told: Outcome,
}

impl Asking<'_> {
    /// Tells whether the chain still asks about what it would run, and no earlier answer allows that.
    pub(crate) fn is_open(&self, agent: &Agent) -> bool {
        let weighed = self
            .runs
            .map(|(tool, arguments)| weigh(agent, tool, arguments));
        matches!(weighed, Some(Ok(Weighed::Open(..))))
    }

    /// Says why a yes does not count by now: somebody denies what was asked about, or it needs what
    /// nobody was asked about.
    pub(crate) fn withheld(&self, agent: &Agent) -> Option<Withheld> {
        let decision = match (self.runs, self.ask.needs.first()) {
            (Some((tool, arguments)), _) => match weigh(agent, tool, arguments) {
                Ok(Weighed::Decided(decision)) => decision,
                Ok(Weighed::Open(needs, _)) => {
                    let told = was_asked(agent, self.ask, &needs).err()?;
                    return Some(Withheld { by: None, told });
                }
                Err(told) => return Some(Withheld { by: None, told }),
            },
            (None, Some(need)) => {
                let names = agent.kit.registry.names_of(&need.target);
                agent.chain().0.decide_call(self.tool, &names)?
            }
            (None, None) => return None,
        };
        if decision.action != Action::Deny {
            return None;
        }
        let told = denial(self.tool, &decision)?;
        let by = Some(decision);
        Some(Withheld { by, told })
    }
}

/// Refuses a call that needs more to be allowed by now than somebody was asked about: an answer to that
/// is none to this.
pub(crate) fn was_asked(agent: &Agent, ask: &Ask, needs: &[Need]) -> Result<(), Outcome> {
    let knows = |need: &Need| ask.needs.contains(need);
    if agent.kit.asks.yes || needs.iter().all(knows) {
        return Ok(());
    }
    Err(has_changed())
}

/// How waiting for an answer ended.
pub(crate) enum Answered {
    /// Somebody answered.
    By(Box<Ordered>, Verdict),
    /// An answer to something else covers it.
    Granted(Decision),
    /// Nobody answered in time.
    TooLate,
    /// The turn was stopped.
    Cancelled,
}

/// Waits until somebody answers what a call asks.
pub(crate) async fn answer(
    agent: &Agent,
    Asking {
        call, tool, ask, ..
    }: Asking<'_>,
    cancel: &CancellationToken,
) -> Answered {
    let mut late = std::pin::pin!(too_late(agent, ask.deadline));
    let mut looked = false;
    loop {
        let mut heard = std::pin::pin!(agent.board.answered.notified());
        heard.as_mut().enable();
        // What stops a child whose time is up does not change that nobody has answered.
        if cancel.is_cancelled() && !looked {
            return withdrawn(agent).await;
        }
        if let Some(answered) = look(agent, call, tool, &ask.needs) {
            return answered;
        }
        // Time may have gone by while the machine was suspended, and the timer with it.
        if agent.is_over(ask) {
            if std::mem::replace(&mut looked, true) {
                return Answered::TooLate;
            }
            // Another process may have been told in time, and its nudge lost.
            tokio::select! {
                biased;
                () = cancel.cancelled() => continue,
                () = agent.board.take_pending() => continue,
            }
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return withdrawn(agent).await,
            () = heard => {}
            () = &mut late => late.set(too_late(agent, ask.deadline)),
        }
    }
}

/// Ends the wait of a turn that was stopped. Never resolves if the process ends and leaves the call
/// waiting for the next process: the scheduler drops the wait.
async fn withdrawn(agent: &Agent) -> Answered {
    if agent.leaves_asks_open() {
        return std::future::pending().await;
    }
    Answered::Cancelled
}

/// Resolves when it is too late to answer.
///
/// Looks at the clock now and then: a timer stands still while the machine is suspended.
async fn too_late(agent: &Agent, deadline: Option<Timestamp>) {
    let Some(deadline) = deadline else {
        return std::future::pending().await;
    };
    loop {
        let left = deadline.get().saturating_sub(agent.parts.env.now().get());
        if left == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(left).min(LOOK)).await;
    }
}

/// Says why an answer does not fit what is asked, if so.
pub(crate) fn misfit(ask: &Ask, verdict: &Verdict) -> Option<String> {
    match (verdict, ask.waits_for_client) {
        (Verdict::Returned(result), true) => return client_tool::check_result(result).err(),
        (Verdict::Returned(_), false) => {
            return Some("it is no client tool that waits for a result".to_owned());
        }
        (_, true) => {
            return Some(
                "it waits for the result of a client tool: say what it came to".to_owned(),
            );
        }
        (_, false) => {}
    }
    match (verdict, ask.questions.is_empty()) {
        (Verdict::Deny { .. }, _) | (Verdict::Once | Verdict::Session | Verdict::Agent, true) => {
            None
        }
        (Verdict::Once | Verdict::Session | Verdict::Agent, false) => {
            Some("it is a question: say what the answer is".to_owned())
        }
        (Verdict::Said { .. }, true) => Some("it asks whether it may: say yes or no".to_owned()),
        (Verdict::Said { answers }, false) => question::fit(&ask.questions, answers).err(),
        // Weighed above.
        (Verdict::Returned(_), _) => None,
    }
}

fn look(agent: &Agent, call: &CallId, tool: &str, needs: &[Need]) -> Option<Answered> {
    let order = {
        let mut state = agent.board.state();
        let node = state.node_mut(&agent.id);
        node.and_then(|node| node.answers.remove(call))
    };
    if let Some(order) = order
        && let Order::Answer(answer) = &order.command.order
    {
        let verdict = answer.verdict.clone();
        return Some(Answered::By(Box::new(order), verdict));
    }
    let granted = |need| agent.granted(tool, need, agent.reach(tool, need));
    // A question has no needs, and no grant covers it.
    let granted: Option<Vec<Decision>> = needs.iter().map(granted).collect();
    let first = granted?.into_iter().next()?;
    Some(Answered::Granted(first))
}

/// Returns the entry that an answer becomes, and what the call is told if that is no.
pub(crate) fn decided(
    agent: &Agent,
    Asking {
        call, tool, ask, ..
    }: Asking<'_>,
    verdict: &Verdict,
) -> (Event, Option<Outcome>) {
    let grant = granting(agent, tool, &ask.needs, verdict);
    let (action, layer, outcome) = match verdict {
        Verdict::Session if grant.is_some() => (Action::Allow, Grant::SESSION, None),
        Verdict::Agent if grant.is_some() => (Action::Allow, Grant::AGENT, None),
        Verdict::Once | Verdict::Session | Verdict::Agent => (Action::Allow, ONCE, None),
        Verdict::Deny { reason } => (Action::Deny, ONCE, Some(refused(tool, reason))),
        // `misfit` refuses these before they come here: neither words nor results are a permission.
        Verdict::Said { .. } | Verdict::Returned(_) => {
            (Action::Deny, ONCE, Some(refused(tool, "")))
        }
    };
    let decision = Decision {
        action,
        layer: layer.to_owned(),
        rule: None,
    };
    let call = call.clone();
    let event = Event::Decided {
        call,
        decision,
        grant,
        reason: verdict.reason(),
    };
    (event, outcome)
}

/// Returns what an answer allows from then on, if it does.
///
/// Never where a hook wanted somebody to be asked: its question is about this call, so a yes is for
/// this call only, even if it was given for the agent or the session.
pub(crate) fn granting(
    agent: &Agent,
    tool: &str,
    needs: &[Need],
    verdict: &Verdict,
) -> Option<Grant> {
    if needs.iter().any(Need::is_of_hook) {
        return None;
    }
    let like = |whom: &AgentId| {
        let reach = |need: &Need| agent.reach(tool, need);
        Grant::like(whom.clone(), needs, &agent.workspace, reach)
    };
    match verdict {
        Verdict::Session => Some(like(agent.board.tree.root())),
        Verdict::Agent => Some(like(&agent.id).while_it_is(&agent.definition)),
        Verdict::Once | Verdict::Deny { .. } | Verdict::Said { .. } | Verdict::Returned(_) => None,
    }
}

/// Returns the entry for a call that nobody answered in time, and what it is told.
pub(crate) fn unanswered(call: &CallId, tool: &str) -> (Event, Outcome) {
    let event = Event::Decided {
        call: call.clone(),
        decision: Decision {
            action: Action::Ask,
            layer: Decision::TOO_LATE.to_owned(),
            rule: None,
        },
        grant: None,
        reason: None,
    };
    let text = format!("{tool} needs permission and nobody answered in time");
    (event, Outcome::error(ErrorKind::Denied, text))
}

/// Returns the entry for a call that an earlier answer covers.
pub(crate) fn covered(call: &CallId, decision: Decision) -> Event {
    Event::Decided {
        call: call.clone(),
        decision,
        grant: None,
        reason: None,
    }
}

/// The layer of a decision that a person made about one call.
pub(crate) const ONCE: &str = "the user";

/// The layer of what the program that hosts the session says of one call.
pub(crate) const HOST: &str = "the program that hosts the session";

/// Returns the answer of the host to what the chain asks of one call.
pub(crate) fn allowed_by_host() -> Decision {
    Decision {
        action: Action::Allow,
        layer: HOST.to_owned(),
        rule: None,
    }
}

/// Tells whether a decision is that answer.
pub(crate) fn is_allowed_by_host(decision: &Decision) -> bool {
    *decision == allowed_by_host()
}

/// What a call that was taken up again is told if it needs more than somebody was asked about.
pub(crate) fn has_changed() -> Outcome {
    let text = "what it needs has changed; call it again";
    Outcome::error(ErrorKind::Interrupted, text)
}

fn refused(tool: &str, reason: &str) -> Outcome {
    let text = match reason.trim() {
        "" => format!("{tool} was denied by the user"),
        reason => format!("{tool} was denied by the user: {reason}"),
    };
    Outcome::error(ErrorKind::Denied, text)
}

impl Agent {
    /// Returns a call that is open.
    pub(crate) fn open_call(&self, call: &CallId) -> Option<OpenCall> {
        let state = self.board.state();
        state.tree.agent(&self.id)?.open_call(call).cloned()
    }

    /// Returns what a call asks, or has asked and was allowed.
    pub(crate) fn asked(&self, call: &CallId) -> Option<Ask> {
        self.open_call(call)?.asked().cloned()
    }

    /// Returns what was said to its calls, and has not been taken.
    pub(crate) fn kept(&self) -> Kept {
        let state = self.board.state();
        let answers = state.node(&self.id).map(|node| node.answers.values());
        let verdict = |order: &Ordered| {
            let Order::Answer(answer) = &order.command.order else {
                return None;
            };
            Some((answer.call.clone(), answer.verdict.clone()))
        };
        answers.into_iter().flatten().filter_map(verdict).collect()
    }

    /// Tells whether a call that asks this may go on waiting: somebody is there, or its deadline is
    /// over, so that the wait ends at once.
    pub(crate) fn may_wait(&self, ask: &Ask) -> bool {
        self.kit.asks.is_somebody_there() || self.is_over(ask)
    }

    /// Tells whether it is too late to answer what is asked.
    fn is_over(&self, ask: &Ask) -> bool {
        let now = self.parts.env.now();
        ask.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Returns when it is too late to answer what is asked now.
    ///
    /// That of a child is over before its run has to hand back: who answers later answers nobody, and
    /// both it and its parent are told. A root may be asleep for longer than its run lasts.
    pub(crate) fn ask_deadline(&self) -> Option<Timestamp> {
        let within = match self.kit.asks.who {
            Who::Nobody => return None,
            Who::Somebody { within } => within,
        };
        let wanted = within.map(|within| {
            let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
            self.parts.env.now().get().saturating_add(within)
        });
        let state = self.board.state();
        let run = state.deadline(&self.id, &self.board.limits);
        let run = run.filter(|_| !self.is_root());
        let run = run.map(|deadline| deadline.soft.get().saturating_sub(BEFORE_HANDING_BACK));
        wanted.into_iter().chain(run).min().map(Timestamp::new)
    }

    /// Returns its chain as it is now, and whether it is held to reading: whoever is above it may have
    /// become somebody else since its turn began.
    pub(crate) fn chain(&self) -> (Permissions, bool) {
        let state = self.board.state();
        match state.node(&self.id) {
            Some(node) => (node.permissions.clone(), node.read_only),
            None => (self.permissions.clone(), self.read_only),
        }
    }

    /// Returns what holds of a need after what was granted before.
    pub(crate) fn or_granted(&self, decision: Decision, tool: &str, need: &Need) -> Decision {
        decision.or_granted(|reach| self.granted(tool, need, reach))
    }

    /// Returns what an earlier answer decides of a need.
    fn granted(&self, tool: &str, need: &Need, reach: Reach) -> Option<Decision> {
        let state = self.board.state();
        state.tree.granted(&self.id, tool, need, reach)
    }

    /// Returns which answers count for a need that is asked about.
    pub(crate) fn reach(&self, tool: &str, need: &Need) -> Reach {
        self.chain().0.decide(tool, need).reach()
    }
}
