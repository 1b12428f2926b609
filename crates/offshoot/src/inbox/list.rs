//! `inbox list`: who asks, what, why, and until when.
//!
//! With what the call would do, because nobody can allow what they have not seen.

use offshoot_types::env::Env;
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, Timestamp};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, Call};
use offshoot_types::permission::{Decision, Need, Reach};
use offshoot_types::store::{OpenAsk, Store};
use offshoot_types::tree::Ask;
use serde_json::json;

use super::words;
use crate::config::Settings;
use crate::console::about::{About, Changed};
use crate::env::System;
use crate::exit::Stop;
use crate::output::{self, Stdout};
use crate::{assemble, clock, render};

/// Most lines of what a call would do.
const MOST_LINES: usize = 20;

/// Something that is asked, with the call that it is about.
struct Asked {
    ask: OpenAsk,
    call: Option<Call>,
    /// Whether there is an answer that waits for the session to be opened.
    answered: bool,
}

/// Lists what waits for an answer.
pub(super) async fn list(settings: &Settings, json: bool) -> Result<(), Stop> {
    if let Some(nothing) = assemble::nothing_in(&settings.data_dir.value) {
        output::note(&nothing);
        return Ok(());
    }
    let store = super::store(settings)?;
    let asks = super::open(store.as_ref()).await?;
    let mut stdout = Stdout::default();
    for ask in &asks {
        let name = super::name(&ask.agent, &ask.call);
        let asked = asked(store.as_ref(), ask.clone()).await?;
        if json {
            stdout.line(&object(&asked).to_string())?;
            continue;
        }
        for line in lines(&asked, &name, System.now()) {
            stdout.line(&render::harmless(&line))?;
        }
    }
    if asks.is_empty() && !json {
        output::note("nobody asks anything");
    }
    Ok(())
}

/// Finds what an ask is about, and whether an answer to it waits.
async fn asked(store: &dyn Store, ask: OpenAsk) -> Result<Asked, Stop> {
    let log = store.agent_log(&ask.agent).await?;
    let call = log.iter().rev().find_map(|entry| {
        let Event::Replied(message) = &entry.event else {
            return None;
        };
        message.calls().find(|call| call.id == ask.call).cloned()
    });
    let answered = super::is_answered(store, &ask).await?;
    Ok(Asked {
        ask,
        call,
        answered,
    })
}

fn lines(asked: &Asked, name: &str, now: Timestamp) -> Vec<String> {
    let Asked {
        ask,
        call,
        answered,
    } = asked;
    let path: Vec<&str> = ask.path.iter().map(|(_, name)| name.as_str()).collect();
    let age = clock::age(ask.asked_at, now);
    let mut head = format!("{name}  {} asks, {age} ago", path.join(" > "));
    let left = ask.ask.deadline;
    let left = left.map(|deadline| deadline.get().saturating_sub(now.get()));
    match left {
        None => {}
        Some(0) => head.push_str("; it is too late by now"),
        Some(left) => head.push_str(&format!("; too late in {}", clock::span(left))),
    }
    if *answered {
        head.push_str("; it is answered");
    }
    if !ask.owned {
        let session = render::short(ask.tree.root());
        head.push_str(&format!(
            "; nobody runs the session: \"offshoot run --session {session} --wait-for-answers\" \
             goes on with it"
        ));
    }
    let mut lines = vec![head];
    // Why a hook has somebody asked stands below.
    let needs = ask.ask.needs.iter();
    let tool = &ask.tool;
    let mut needs = needs.filter(|need| !need.is_of_hook()).peekable();
    if needs.peek().is_none() && ask.ask.questions.is_empty() {
        lines.push(format!("  {tool}"));
    }
    for need in needs {
        let mut target = need.target.lines();
        let first = target.next().unwrap_or_default();
        // An engine call's only need is the call itself.
        lines.push(if need.capability == *tool {
            format!("  {tool} {first}").trim_end().to_owned()
        } else {
            format!("  {tool} needs {}: {first}", need.capability)
        });
        lines.extend(target.map(|line| format!("  | {line}")));
    }
    for question in &ask.ask.questions {
        // Marked, as commands are: an agent's words could imitate the lines around them.
        let question = words::lines(question).into_iter();
        lines.extend(question.map(|line| format!("  | {line}")));
    }
    if ask.ask.questions.is_empty() {
        lines.extend(call.as_ref().map(change).unwrap_or_default());
        let hooks = ask.ask.needs.iter().filter_map(Need::asked_by_hook);
        let mut reasons = vec![why(&ask.decision)];
        reasons.extend(hooks);
        // Where nobody else asks, the hook is who decided.
        reasons.dedup();
        lines.extend(reasons.iter().map(|why| format!("  because {why}")));
    }
    if !answered && left != Some(0) {
        lines.extend(width(ask));
        let command = super::command(name, &ask.ask);
        lines.push(format!("  answer: {command}{}", otherwise(&ask.ask)));
    }
    lines
}

/// Says how much is allowed by an answer that is for more than this call.
fn width(ask: &OpenAsk) -> Option<String> {
    let needs = &ask.ask.needs;
    if !ask.ask.questions.is_empty() || needs.iter().any(Need::is_of_hook) {
        return None;
    }
    let is_file = |need: &Need| need.capability.starts_with("fs.");
    let by_default = ask.decision.reach() == Reach::Like;
    let what = if !needs.is_empty() && needs.iter().all(is_file) && by_default {
        "every file of the workspace that no rule asks about"
    } else {
        "just this again"
    };
    Some(format!(
        "  --session allows {what}, to all agents of the session; --agent to this one and those below it"
    ))
}

/// Says what else may be answered.
fn otherwise(ask: &Ask) -> &'static str {
    // No answer to what a hook asks is one to the next call.
    let is_of_hook = ask.needs.iter().any(Need::is_of_hook);
    if ask.questions.is_empty() && !is_of_hook {
        "  (or --agent, --session, --deny REASON)"
    } else {
        "  (or --deny REASON)"
    }
}

/// Returns what a call would put into a file, or says to its tool.
fn change(call: &Call) -> Vec<String> {
    let change = About::of(call).change;
    let hidden = change.len().saturating_sub(MOST_LINES);
    let line = |changed: &Changed| match changed {
        Changed::Gone(text) => format!("  - {text}"),
        Changed::New(text) => format!("  + {text}"),
        Changed::Said(text) => format!("  | {text}"),
    };
    let mut lines: Vec<String> = change.iter().take(MOST_LINES).map(line).collect();
    if hidden > 0 {
        lines.push(format!("  [{hidden} lines more; --json has all of it]"));
    }
    lines
}

/// Says why somebody has to say.
fn why(decision: &Decision) -> String {
    if let Some(hook) = decision.asked_by_hook() {
        return hook;
    }
    match &decision.rule {
        Some(rule) => format!(
            "{} says ask of {} {}",
            decision.layer, rule.permission, rule.pattern
        ),
        None if decision.layer == Decision::DEFAULT => "no rule allows it".to_owned(),
        None => format!("of {}", decision.layer),
    }
}

fn object(asked: &Asked) -> serde_json::Value {
    let Asked {
        ask,
        call,
        answered,
    } = asked;
    let step =
        |(agent, definition): &(AgentId, String)| json!({ "agentId": agent, "agent": definition });
    let path: Vec<serde_json::Value> = ask.path.iter().map(step).collect();
    let kind = if ask.ask.questions.is_empty() {
        "permission"
    } else {
        "question"
    };
    json!({
        "sessionId": ask.tree.root(),
        "agentId": ask.agent,
        "toolCallId": ask.call,
        "kind": kind,
        "path": path,
        "tool": ask.tool,
        "arguments": call.as_ref().map(arguments),
        "needs": ask.ask.needs,
        "questions": ask.ask.questions,
        "because": ask.decision,
        "askedAt": clock::iso(ask.asked_at),
        "deadline": ask.ask.deadline.map(clock::iso),
        "running": ask.owned,
        "answered": answered,
    })
}

fn arguments(call: &Call) -> RawJson {
    match &call.arguments {
        Arguments::Json(arguments) => arguments.clone(),
        Arguments::Malformed(text) => RawJson::of(text),
    }
}

#[cfg(test)]
mod tests {
    use offshoot_types::id::{CallId, TreeId};
    use offshoot_types::permission::Action;

    use super::*;

    #[test]
    fn what_it_is_too_late_for_is_not_offered_to_be_answered() {
        let agent = AgentId::new("root");
        let asked = Asked {
            ask: OpenAsk {
                tree: TreeId::of(agent.clone()),
                agent: agent.clone(),
                call: CallId::new("c"),
                path: vec![(agent, "build".to_owned())],
                tool: "bash".to_owned(),
                ask: Ask {
                    needs: Vec::new(),
                    questions: Vec::new(),
                    deadline: Some(Timestamp::new(1000)),
                },
                decision: Decision {
                    action: Action::Ask,
                    layer: Decision::DEFAULT.to_owned(),
                    rule: None,
                },
                asked_at: Timestamp::new(0),
                owned: true,
            },
            call: None,
            answered: false,
        };
        let shown = |now: u64| lines(&asked, "root:c", Timestamp::new(now)).join("\n");
        assert!(shown(999).contains("  answer: offshoot inbox answer root:c"));
        let late = shown(1000);
        assert!(late.contains("it is too late by now"), "{late}");
        assert!(!late.contains("answer: "), "{late}");
        assert!(!late.contains("--session"), "{late}");
    }
}
