//! `inbox list`: who asks, what, why, and until when.

use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, Timestamp};
use offshoot_types::permission::Decision;
use offshoot_types::store::OpenAsk;
use serde_json::json;

use super::words;
use crate::config::Settings;
use crate::env::System;
use crate::exit::Stop;
use crate::output::{self, Stdout};
use crate::{clock, render};

/// Lists what waits for an answer.
pub(super) async fn list(settings: &Settings, json: bool) -> Result<(), Stop> {
    let store = super::store(settings)?;
    let asks = super::open(store.as_ref()).await?;
    let mut stdout = Stdout::default();
    for ask in &asks {
        if json {
            stdout.line(&object(ask).to_string())?;
            continue;
        }
        for line in lines(ask, &name(ask, &asks), System.now()) {
            stdout.line(&render::harmless(&line))?;
        }
    }
    if asks.is_empty() && !json {
        output::note("nobody asks anything");
    }
    Ok(())
}

/// Returns what an ask is called: its agent, and its call where the agent asks several things.
fn name(ask: &OpenAsk, all: &[OpenAsk]) -> String {
    let agent = render::short(&ask.agent);
    let alone = all.iter().filter(|other| other.agent == ask.agent).count() == 1;
    match alone {
        true => agent,
        false => format!("{agent}:{}", ask.call),
    }
}

fn lines(ask: &OpenAsk, name: &str, now: Timestamp) -> Vec<String> {
    let path: Vec<&str> = ask.path.iter().map(|(_, name)| name.as_str()).collect();
    let age = clock::age(ask.asked_at, now);
    let mut head = format!("{name}  {} asks, {age} ago", path.join(" > "));
    if let Some(deadline) = ask.ask.deadline {
        let left = deadline.get().saturating_sub(now.get());
        head.push_str(&format!("; too late in {}", clock::span(left)));
    }
    if !ask.owned {
        let session = render::short(ask.tree.root());
        head.push_str(&format!(
            "; nobody runs the session: \"offshoot run --session {session}\" goes on with it"
        ));
    }
    let mut lines = vec![head];
    for need in &ask.ask.needs {
        let tool = &ask.tool;
        let mut target = need.target.lines();
        let first = target.next().unwrap_or_default();
        lines.push(format!("  {tool} needs {}: {first}", need.capability));
        lines.extend(target.map(|line| format!("  | {line}")));
    }
    for question in &ask.ask.questions {
        lines.extend(
            words::lines(question)
                .into_iter()
                .map(|line| format!("  {line}")),
        );
    }
    if ask.ask.questions.is_empty() {
        lines.push(format!("  because {}", why(&ask.decision)));
    }
    lines
}

/// Says why somebody has to say.
fn why(decision: &Decision) -> String {
    match &decision.rule {
        Some(rule) => format!(
            "{} says ask of {} {}",
            decision.layer, rule.permission, rule.pattern
        ),
        None if decision.layer == "default" => "no rule allows it".to_owned(),
        None => format!("of {}", decision.layer),
    }
}

fn object(ask: &OpenAsk) -> serde_json::Value {
    let step =
        |(agent, definition): &(AgentId, String)| json!({ "agentId": agent, "agent": definition });
    let path: Vec<serde_json::Value> = ask.path.iter().map(step).collect();
    let kind = match ask.ask.questions.is_empty() {
        true => "permission",
        false => "question",
    };
    json!({
        "sessionId": ask.tree.root(),
        "agentId": ask.agent,
        "toolCallId": ask.call,
        "kind": kind,
        "path": path,
        "tool": ask.tool,
        "needs": ask.ask.needs,
        "questions": ask.ask.questions,
        "because": ask.decision,
        "askedAt": clock::iso(ask.asked_at),
        "deadline": ask.ask.deadline.map(clock::iso),
        "running": ask.owned,
    })
}
