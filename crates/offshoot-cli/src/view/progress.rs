//! Who works for a tree that is followed, in lines on stderr.
//!
//! An agent that starts or asks has a line; at the end of a painted run one line
//! has them all. Lines about their calls and ends are made in `calls`.

use std::collections::BTreeMap;

use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::AgentId;
use offshoot_types::outcome::{Body, ErrorKind};
use offshoot_types::permission::{Action, Decision, Need};
use offshoot_types::tree::{Agent, Tree};

use crate::{clock, output, render};

/// How many characters of a prompt tell siblings apart.
const MOST_OF_PROMPT: usize = 48;

/// Said once where agents ask and nobody is there to answer.
pub(super) const ADVICE: &str = "nobody can be asked here: --yes allows what agents ask for, \
                      --wait-for-answers has them wait for \"offshoot inbox answer\"";

/// Whether somebody has to be told how agents are answered here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// Nothing was asked that nobody could answer.
    NotNeeded,
    /// Something was, and will be denied.
    Due,
    /// They were told, or it would be wrong.
    Given,
}

impl Advice {
    /// Takes what happened; tells whether it is time to say it, which it is once.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        // Somebody can be asked, and was; that nobody answered in time is another matter.
        if matches!(event, Event::Asked { .. }) {
            *self = Self::Given;
        }
        if *self == Self::NotNeeded
            && let Event::Decided { decision, .. } = event
            && decision.action == Action::Ask
            && decision.layer != Decision::TOO_LATE
        {
            *self = Self::Due;
        }
        if *self == Self::Due
            && let Event::CallFinished { outcome, .. } = event
            && let Body::Error { kind, .. } = &outcome.body
            && *kind == ErrorKind::Denied
        {
            *self = Self::Given;
            return true;
        }
        false
    }
}

/// Says on stderr that an agent started or asks something.
pub(super) fn progress(tree: &Tree, entry: &Entry) {
    let id = render::short(&entry.agent);
    match &entry.event {
        // Its birth goes before: only its first prompt tells it from its siblings.
        Event::Prompted(message) => {
            let Some(agent) = tree.agent(&entry.agent).filter(|agent| is_new(agent)) else {
                return;
            };
            let Origin::Task(parent) = &agent.spawned.origin else {
                return;
            };
            let indent = "  ".repeat(agent.spawned.depth as usize);
            let how = if parent.background {
                " in the background"
            } else {
                ""
            };
            let words = render::first_words(&message.text, MOST_OF_PROMPT);
            let definition = &agent.spawned.definition;
            output::note(&format!(
                "{indent}{definition} {id} started{how}: '{words}'"
            ));
        }
        Event::Asked {
            tool,
            waits_for_client: true,
            ..
        } => output::note(&format!("waits for a client of the session to run {tool}")),
        // Nobody sits here who could answer; somebody else may.
        Event::Asked {
            needs,
            tool,
            questions,
            ..
        } => {
            let Some(agent) = tree.agent(&entry.agent) else {
                return;
            };
            let indent = "  ".repeat(agent.spawned.depth as usize);
            let definition = agent.definition();
            // Why a hook has somebody asked is told behind what it is about.
            let hook = needs.iter().find_map(Need::asked_by_hook);
            let because = hook.map_or_else(String::new, |hook| {
                format!(", because {}", render::first_words(&hook, MOST_OF_PROMPT))
            });
            let need = needs.iter().find(|need| !need.is_of_hook());
            let what = match (need, questions.first()) {
                (_, Some(question)) => render::first_words(&question.question, MOST_OF_PROMPT),
                (Some(need), None) => {
                    let target = render::first_words(&need.target, MOST_OF_PROMPT);
                    // What needs nothing else is asked about itself.
                    let needs = if need.capability == *tool {
                        tool.clone()
                    } else {
                        format!("{tool} needs {}", need.capability)
                    };
                    format!("{needs} {target}").trim_end().to_owned()
                }
                (None, None) => tool.clone(),
            };
            output::note(&format!(
                "{indent}{definition} {id} asks: {what}{because}; see \"offshoot inbox list\""
            ));
        }
        _ => {}
    }
}

/// Tells whether nobody has asked an agent anything yet.
fn is_new(agent: &Agent) -> bool {
    agent.runs.is_empty() && agent.queue.is_empty()
}

/// Says who worked below, and where that can be read; `None` if nobody did.
pub(super) fn closing(ended: &BTreeMap<AgentId, (String, AgentId)>, took: u64) -> Option<String> {
    let (_, session) = ended.values().next()?;
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (definition, _) in ended.values() {
        *kinds.entry(definition).or_default() += 1;
    }
    let kinds = kinds.into_iter().map(|(kind, many)| match many {
        1 => format!("1 {kind} agent"),
        many => format!("{many} {kind} agents"),
    });
    let kinds: Vec<String> = kinds.collect();
    let (took, session) = (clock::span(took), render::short(session));
    let text = format!(
        "{}, {took}; see offshoot sessions tree {session}",
        kinds.join(", ")
    );
    Some(render::harmless(&text))
}

#[cfg(test)]
mod tests {
    use offshoot_types::id::CallId;
    use offshoot_types::outcome::Outcome;

    use super::*;

    /// Whether somebody is told how to answer after a call was refused by this.
    fn is_advised(layer: &str) -> bool {
        let call = CallId::new("c");
        let mut advice = Advice::NotNeeded;
        advice.take(&Event::Decided {
            call: call.clone(),
            decision: Decision {
                action: Action::Ask,
                layer: layer.to_owned(),
                rule: None,
            },
            grant: None,
            reason: None,
        });
        advice.take(&Event::CallFinished {
            call,
            outcome: Outcome::error(ErrorKind::Denied, "no"),
            delivers: Vec::new(),
        })
    }

    #[test]
    fn who_waited_for_answers_is_not_told_to_wait_for_them() {
        assert!(is_advised(Decision::DEFAULT));
        assert!(!is_advised(Decision::TOO_LATE));
    }
}
