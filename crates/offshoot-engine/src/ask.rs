//! Whether a call may run: the chain, what was granted, and whoever answers.
//!
//! The chain decides (R21). Only where it says ask do answers count (R22): those
//! given before as grants, then the host's standing word, then a person, who may
//! take any time. A call that waits holds no slot, and asks once: the first
//! answer counts. Nothing that an agent says is an answer; only orders are (R24).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use offshoot_types::command::{Order, Verdict};
use offshoot_types::event::Event;
use offshoot_types::id::CallId;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Grant, Need, Rule};
use offshoot_types::tool::{Effect, Tool};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::desk::panicked;
use crate::node::Ordered;

/// Who answers when the chain says ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    /// Nobody: it is a deny that says so.
    #[default]
    Nobody,
    /// The host, with yes, whatever it is.
    Yes,
    /// Somebody who follows the tree.
    Somebody,
}

/// What the chain says of a call.
pub(crate) enum Judged {
    /// It may run, or not.
    Decided(Decision),
    /// Somebody has to say.
    Asks(Vec<Need>, Decision),
}

/// Asks the chain about everything a call needs.
pub(crate) fn judge(
    agent: &Agent,
    tool: &Arc<dyn Tool>,
    arguments: &RawJson,
) -> Result<Judged, Outcome> {
    let place = agent.place();
    let id = &tool.spec().id;
    let needs = std::panic::catch_unwind(AssertUnwindSafe(|| tool.needs(arguments, &place)))
        .map_err(|_| panicked(id))?
        .map_err(|text| Outcome::error(ErrorKind::InvalidInput, text))?;
    if needs.is_empty() && agent.read_only && tool.spec().effect == Effect::Write {
        // It changes something and does not say what: nobody could hold it to reading.
        return Ok(Judged::Decided(Decision {
            action: Action::Deny,
            layer: "an agent that is read-only".to_owned(),
            rule: None,
        }));
    }
    let mut strictest = Decision {
        action: Action::Allow,
        layer: "needs nothing".to_owned(),
        rule: None,
    };
    let mut open = Vec::new();
    let whole = tool.asks(arguments);
    for (index, need) in needs.into_iter().enumerate() {
        let is_part = |whole: &Need| whole.capability == need.capability;
        let decision = match whole.as_ref().is_some_and(is_part) {
            true => agent.permissions.decide(id, &need),
            false => agent.decide(id, &need),
        };
        if decision.action == Action::Ask {
            open.push(need);
        }
        if index == 0 || decision.action < strictest.action {
            strictest = decision;
        }
    }
    if strictest.action != Action::Ask {
        return Ok(Judged::Decided(strictest));
    }
    if let Some(whole) = whole {
        if let Some(rule) = agent.granted(id, &whole) {
            return Ok(Judged::Decided(by_grant(rule)));
        }
        open = vec![whole];
    }
    Ok(match agent.parts.asks {
        Asks::Nobody => Judged::Decided(strictest),
        Asks::Yes => Judged::Decided(Decision {
            action: Action::Allow,
            layer: "the host, which says yes to everything".to_owned(),
            rule: None,
        }),
        Asks::Somebody => Judged::Asks(open, strictest),
    })
}

/// Returns what a call is told that may not run; `None` when it may.
pub(crate) fn denial(tool: &str, decision: &Decision) -> Option<Outcome> {
    let text = match decision.action {
        Action::Allow => return None,
        Action::Deny => format!("{tool} was denied by {}", decision.layer),
        Action::Ask => format!("{tool} needs permission and nobody is here to give it"),
    };
    Some(Outcome::error(ErrorKind::Denied, text))
}

/// How waiting for an answer ended.
pub(crate) enum Answered {
    /// Somebody answered.
    By(Ordered, Verdict),
    /// An answer to something else covers it.
    Granted(Rule),
    /// The turn was stopped.
    Cancelled,
}

/// Waits until somebody answers what a call asks.
pub(crate) async fn answer(
    agent: &Agent,
    call: &CallId,
    tool: &str,
    needs: &[Need],
    cancel: &CancellationToken,
) -> Answered {
    loop {
        let mut heard = std::pin::pin!(agent.board.answered.notified());
        heard.as_mut().enable();
        if let Some(answered) = look(agent, call, tool, needs) {
            return answered;
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Answered::Cancelled,
            () = heard => {}
        }
    }
}

fn look(agent: &Agent, call: &CallId, tool: &str, needs: &[Need]) -> Option<Answered> {
    let mut state = agent.board.state();
    let order = state
        .node_mut(&agent.id)
        .and_then(|node| node.answers.remove(call));
    if let Some(order) = order
        && let Order::Answer(answer) = &order.command.order
    {
        let verdict = answer.verdict.clone();
        return Some(Answered::By(order, verdict));
    }
    let granted = |need| state.tree.granted(&agent.id, tool, need);
    let rules: Option<Vec<&Rule>> = needs.iter().map(granted).collect();
    let first = rules?.first().map(|rule| (*rule).clone())?;
    Some(Answered::Granted(first))
}

/// Returns the entry that an answer becomes, and what the call is told if that is no.
pub(crate) fn decided(
    agent: &Agent,
    call: &CallId,
    tool: &str,
    needs: &[Need],
    verdict: &Verdict,
) -> (Event, Option<Outcome>) {
    let (action, layer, grant, outcome) = match verdict {
        Verdict::Once => (Action::Allow, ONCE, None, None),
        Verdict::Session => {
            let root = agent.board.tree.root().clone();
            let grant = Grant::like(root, needs, &agent.workspace);
            (Action::Allow, SESSION, Some(grant), None)
        }
        Verdict::Deny { reason } => (Action::Deny, ONCE, None, Some(refused(tool, reason))),
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

/// Returns the entry for a call that an earlier answer covers.
pub(crate) fn covered(call: &CallId, rule: Rule) -> Event {
    Event::Decided {
        call: call.clone(),
        decision: by_grant(rule),
        grant: None,
        reason: None,
    }
}

const ONCE: &str = "the user";
const SESSION: &str = "the user, for this session";

fn by_grant(rule: Rule) -> Decision {
    Decision {
        action: Action::Allow,
        layer: SESSION.to_owned(),
        rule: Some(rule),
    }
}

fn refused(tool: &str, reason: &str) -> Outcome {
    let text = match reason.trim() {
        "" => format!("{tool} was denied by the user"),
        reason => format!("{tool} was denied by the user: {reason}"),
    };
    Outcome::error(ErrorKind::Denied, text)
}

impl Agent {
    /// Decides one need: the chain, and where it says ask, what was granted before.
    fn decide(&self, tool: &str, need: &Need) -> Decision {
        let decision = self.permissions.decide(tool, need);
        decision.or_granted(|| self.granted(tool, need), SESSION)
    }

    /// Returns the rule of an earlier answer that allows a need.
    fn granted(&self, tool: &str, need: &Need) -> Option<Rule> {
        let state = self.board.state();
        state.tree.granted(&self.id, tool, need).cloned()
    }
}
