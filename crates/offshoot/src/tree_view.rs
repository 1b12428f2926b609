//! The agents of a session, as a tree.
//!
//! What the log tells and nothing more: an agent that runs in another process
//! shows what it waits for as far as that was written down (R29).

use std::collections::HashMap;

use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::tree::{Agent, Tree};
use serde_json::{Value, json};

use crate::lookup::Session;
use crate::render;

/// One agent of a tree.
pub(crate) struct Line {
    id: AgentId,
    parent: Option<AgentId>,
    definition: String,
    /// Below the agent that was asked for.
    indent: u32,
    state: String,
    tokens: u64,
    runs: u32,
    waits_for: Vec<String>,
}

/// Returns an agent and everything below it, every parent before its children.
pub(crate) fn lines(session: &Session, top: &AgentId, owned: bool) -> Vec<Line> {
    let tree = &session.tree;
    let tools = tools(session);
    let base = tree.agent(top).map_or(0, |agent| agent.spawned.depth);
    let ids = tree.below(top).into_iter();
    let known = ids.filter_map(|id| Some((id, tree.agent(id)?)));
    known
        .map(|(id, agent)| Line {
            id: id.clone(),
            parent: agent.parent().map(|parent| parent.agent.clone()),
            definition: agent.spawned.definition.clone(),
            indent: agent.spawned.depth.saturating_sub(base),
            state: state(agent, owned),
            tokens: tokens(agent),
            runs: agent.last_run().get(),
            waits_for: waits_for(tree, id, agent, &tools),
        })
        .collect()
}

impl Line {
    /// Renders it for people.
    pub(crate) fn text(&self) -> String {
        let indent = "  ".repeat(self.indent as usize);
        let Self {
            id,
            definition,
            state,
            tokens,
            ..
        } = self;
        let mut text = format!("{indent}{definition}  {id}  {state}  {tokens} tokens");
        if !self.waits_for.is_empty() {
            text.push_str("  waits for ");
            text.push_str(&self.waits_for.join(", "));
        }
        render::harmless(&text)
    }

    /// Renders it for programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "agentId": self.id,
            "parentAgentId": self.parent,
            "agent": self.definition,
            "status": self.state,
            "totalTokens": self.tokens,
            "runs": self.runs,
            "waitsFor": self.waits_for,
        })
    }
}

fn state(agent: &Agent, owned: bool) -> String {
    match (agent.open_run(), agent.settlement()) {
        (Some(_), _) if owned => "running".to_owned(),
        (Some(_), _) => "interrupted".to_owned(),
        (None, Some(settlement)) => settlement.status.word().to_owned(),
        (None, None) => "new".to_owned(),
    }
}

fn tokens(agent: &Agent) -> u64 {
    let settled = agent.runs.iter().filter_map(|run| run.settled.as_ref());
    let settled: u64 = settled.map(|(_, end)| end.usage.total()).sum();
    let open = agent.open_run().map_or(0, |_| agent.tally.usage.total());
    settled + open
}

type Tools<'a> = HashMap<(&'a AgentId, &'a CallId), &'a str>;

/// Returns the tool of every call.
fn tools(session: &Session) -> Tools<'_> {
    let mut tools = HashMap::new();
    for entry in &session.log {
        if let Event::Replied(message) = &entry.event {
            for call in message.calls() {
                tools.insert((&entry.agent, &call.id), call.tool.as_str());
            }
        }
    }
    tools
}

fn waits_for(tree: &Tree, id: &AgentId, agent: &Agent, tools: &Tools<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    let open = |child: &&AgentId| {
        let child = tree.agent(child);
        child.is_some_and(|child| child.open_run().is_some())
    };
    let calls = agent.open_calls();
    for call in &calls {
        match &call.child {
            Some(child) => reasons.push(format!("agent {}", render::short(child))),
            None => reasons.push(match tools.get(&(id, &call.call)) {
                Some(tool) => format!("tool {tool}"),
                None => format!("call {}", call.call),
            }),
        }
    }
    if agent.turn.is_some() && calls.is_empty() {
        reasons.push("the model".to_owned());
    }
    if agent.turn.is_none() && agent.open_run().is_some() {
        let children = agent.children.iter().filter(open);
        reasons.extend(children.map(|child| format!("agent {}", render::short(child))));
    }
    match agent.queue.len() {
        0 => {}
        1 => reasons.push("a turn for 1 prompt".to_owned()),
        many => reasons.push(format!("a turn for {many} prompts")),
    }
    reasons
}
