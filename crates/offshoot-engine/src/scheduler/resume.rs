//! The calls of a message that waited for an answer when their process died (R16).
//!
//! They go on waiting, for the same thing and no longer than before; nothing that
//! had begun is run again. They are judged anew, because rules may have changed
//! meanwhile: a deny holds, whatever was answered.

use offshoot_types::event::Event;
use offshoot_types::message::{Arguments, Call};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Need};
use offshoot_types::tree::Ask;

use super::own::OwnCall;
use super::{Plan, unknown_tool};
use crate::agent::Agent;
use crate::ask::{self, Judged};
use crate::context::{Callable, EngineCall, Prefix};
use crate::desk::ToolRun;
use crate::log::Batch;
use crate::question;

impl Plan {
    /// Takes up calls that wait for an answer.
    pub(crate) fn resume<'a>(
        agent: &Agent,
        prefix: &Prefix,
        calls: impl IntoIterator<Item = &'a Call>,
        batch: &mut Batch,
    ) -> Self {
        let mut plan = Self::default();
        for call in calls {
            if let Err(outcome) = plan.readmit(agent, prefix, call, batch) {
                batch.own(Event::CallFinished {
                    call: call.id.clone(),
                    outcome,
                    delivers: Vec::new(),
                });
            }
        }
        plan
    }

    fn readmit(
        &mut self,
        agent: &Agent,
        prefix: &Prefix,
        call: &Call,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let Some((ask, answered)) = agent.asked(&call.id) else {
            return Err(interrupted());
        };
        let Some((_, offer)) = prefix.find(&call.tool) else {
            return Err(unknown_tool(prefix, &call.tool));
        };
        match (&offer.callable, &call.arguments) {
            (Callable::Engine(EngineCall::Question), _) => {
                if !answered && !agent.parts.asks.is_somebody_there() {
                    return Err(question::nobody(&call.id, batch));
                }
                self.questions.push((call.id.clone(), ask));
                Ok(())
            }
            (Callable::Tool(tool), Arguments::Json(arguments)) => {
                let asks = match ask::judge(agent, tool, arguments)? {
                    Judged::Asks(..) => Some(ask),
                    // What a person has said counts, whatever would be allowed without them by now.
                    Judged::Decided(decision) if answered && decision.action != Action::Deny => {
                        Some(ask)
                    }
                    Judged::Decided(decision) => {
                        let decision = still(&ask, agent, decision);
                        let here = agent.parts.asks.is_somebody_there();
                        match decision.action == Action::Ask && here {
                            true => Some(ask),
                            false => {
                                Self::note_decision(call, tool, decision, batch)?;
                                None
                            }
                        }
                    }
                };
                self.tools.push(ToolRun {
                    call: call.id.clone(),
                    tool: tool.clone(),
                    arguments: arguments.clone(),
                    asks,
                });
                Ok(())
            }
            (Callable::Engine(kind), Arguments::Json(arguments)) => {
                let own = OwnCall {
                    agent,
                    prefix,
                    call,
                    kind: *kind,
                    arguments,
                };
                self.readmit_own(&own, ask, answered, batch)
            }
            // Nobody was asked about these.
            (Callable::Engine(_) | Callable::Tool(_), Arguments::Malformed(_)) => {
                Err(interrupted())
            }
        }
    }
}

/// What is decided of a call that a hook wanted somebody to be asked for: what the chain allows by
/// itself has to be asked for still, unless the host says yes to everything.
pub(super) fn still(ask: &Ask, agent: &Agent, decision: Decision) -> Decision {
    let by_hook = ask
        .needs
        .iter()
        .find(|need| need.capability == Need::HOOK_ASKS);
    match by_hook {
        Some(need) if decision.action == Action::Allow && !agent.parts.asks.yes => Decision {
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
