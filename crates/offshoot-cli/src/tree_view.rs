//! The agents of a session, as a tree.
//!
//! What the log tells and nothing more: an agent that runs in another process
//! shows what it waits for as far as that was written down (R29).

use std::collections::HashMap;

use offshoot_types::caps::{Caps, Money};
use offshoot_types::event::{Event, Origin};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::settlement::Status;
use offshoot_types::tree::{Agent, Run, Tree};
use serde_json::{Value, json};

use crate::lookup::Session;
use crate::render;
use crate::terminal::{columns, cut};

/// How many characters of a prompt tell siblings apart.
const MOST_OF_PROMPT: usize = 48;

/// How many agents that somebody waits for are named.
const MOST_AGENTS: usize = 3;

/// How many agents that run are named to who begins to watch.
const MOST_RUNNING: usize = 20;

/// What stands before the id of an agent that is waited for.
const AGENT: &str = "agent ";

/// One agent of a tree.
pub(crate) struct Line {
    id: AgentId,
    parent: Option<AgentId>,
    definition: String,
    /// What it goes by now, where that is something else.
    now: Option<String>,
    /// Below the agent that was asked for.
    indent: u32,
    state: State,
    /// What its runs may use.
    caps: Caps,
    tokens: u64,
    cost: Option<Money>,
    /// What was used by those that work for it: tokens, and dollars where a price is known.
    helpers: (u64, Option<Money>),
    /// The session it is a copy of.
    copy_of: Option<AgentId>,
    runs: u32,
    waits_for: Vec<String>,
    /// What it was asked first, in a few words.
    prompt: String,
}

/// What an agent does, or how it ended.
enum State {
    New,
    Running,
    /// It was running when its process died.
    Interrupted,
    Ended(Status),
}

/// What an agent waits for that has a turn and no call. The log does not know when hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There are no hooks.
    Model,
    /// There are.
    ModelOrHooks,
}

impl Next {
    fn words(self) -> &'static str {
        match self {
            Self::Model => "the model",
            Self::ModelOrHooks => "the model or a hook",
        }
    }
}

/// Returns an agent and everything below it, every parent before its children.
pub(crate) fn lines(session: &Session, top: &AgentId, (owned, next): (bool, Next)) -> Vec<Line> {
    let tree = &session.tree;
    let tools = tools(session);
    let prompts = prompts(session);
    let base = tree.agent(top).map_or(0, |agent| agent.spawned.depth);
    let ids = tree.below(top).into_iter();
    let known = ids.filter_map(|id| Some((id, tree.agent(id)?)));
    known
        .map(|(id, agent)| Line {
            id: id.clone(),
            parent: agent.parent().map(|parent| parent.agent.clone()),
            definition: agent.spawned.definition.clone(),
            now: Some(agent.definition().to_owned()).filter(|now| *now != agent.spawned.definition),
            indent: agent.spawned.depth.saturating_sub(base),
            state: state(agent, owned),
            caps: render::own_limits(agent),
            tokens: tokens(tree, agent),
            cost: cost(tree, agent),
            helpers: helpers(tree, id),
            copy_of: copy_of(agent).cloned(),
            runs: u32::try_from(own(tree, agent).count()).unwrap_or(u32::MAX),
            waits_for: waits_for(tree, (id, agent), &tools, next),
            prompt: prompts.get(id).map_or_else(String::new, |text| {
                render::first_words(text, MOST_OF_PROMPT)
            }),
        })
        .collect()
}

/// Says what helpers have used for these agents; `None` if nothing.
pub(crate) fn helped(lines: &[Line]) -> Option<String> {
    let (tokens, cost) = sum(lines.iter().map(|line| line.helpers));
    let cost = render::cost(cost);
    (tokens > 0).then(|| format!("helpers: {tokens} tokens{cost}"))
}

/// Says what these agents and their helpers have used together; `None` where a single line says it.
pub(crate) fn total(lines: &[Line]) -> Option<String> {
    let agents = lines.iter().map(|line| (line.tokens, line.cost));
    let helpers = lines.iter().map(|line| line.helpers);
    let (tokens, cost) = sum(agents.chain(helpers));
    let cost = render::cost(cost);
    let is_plain = lines.len() == 1 && lines[0].helpers.0 == 0;
    (!is_plain).then(|| format!("all: {tokens} tokens{cost}"))
}

/// Renders agents for people, in lines of so many columns where there is a window.
pub(crate) fn texts(lines: &[Line], width: Option<usize>) -> Vec<String> {
    let fits = |line: &Line| width.is_none_or(|most| columns(&line.head(Ids::Whole)) <= most);
    // How an agent ended counts for more than an id whose end stands for it.
    let ids = if lines.iter().all(fits) {
        Ids::Whole
    } else {
        Ids::Short
    };
    let texts = lines.iter().map(|line| line.text(ids));
    let texts = texts.map(|text| match width {
        Some(width) => cut(&text, width),
        None => text,
    });
    texts.collect()
}

/// Says who runs among these agents and what they wait for; of many, the first few.
pub(crate) fn running(lines: &[Line], width: Option<usize>) -> Vec<String> {
    let runs = |line: &&Line| matches!(line.state, State::Running);
    let texts = texts(lines, width);
    let all = lines.iter().zip(texts).filter(|(line, _)| runs(line));
    let mut running: Vec<String> = all.map(|(_, text)| text).collect();
    let more = running.len().saturating_sub(MOST_RUNNING);
    if more > 0 {
        running.truncate(MOST_RUNNING);
        running.push(format!("and {more} more that run"));
    }
    running
}

/// How much of an id is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ids {
    Whole,
    /// Its end, as in the list of sessions.
    Short,
}

impl Line {
    /// Renders who it is and how it is.
    fn head(&self, ids: Ids) -> String {
        let indent = "  ".repeat(self.indent as usize);
        let Self { id, definition, .. } = self;
        let id = match ids {
            Ids::Whole => id.to_string(),
            Ids::Short => render::short(id),
        };
        let state = match &self.state {
            State::Ended(status) => render::status_under(status, &self.caps),
            State::New | State::Running | State::Interrupted => self.state.word().to_owned(),
        };
        let now = self.now.as_ref();
        let now = now.map_or_else(String::new, |now| format!(", now {now}"));
        format!("{indent}{definition}{now}  {id}  {state}")
    }

    /// Renders it for people.
    fn text(&self, ids: Ids) -> String {
        let (head, tokens) = (self.head(ids), self.tokens);
        let cost = render::cost(self.cost);
        let mut text = format!("{head}  {tokens} tokens{cost}");
        if let Some(copied) = &self.copy_of {
            text.push_str(&format!("  copied from {copied}"));
        }
        if !self.waits_for.is_empty() {
            text.push_str(match self.state {
                State::Interrupted => "  was waiting for ",
                State::New | State::Running | State::Ended(_) => "  waits for ",
            });
            text.push_str(&shortened(&self.waits_for));
        }
        let mut text = render::harmless(&text);
        if !self.prompt.is_empty() {
            text.push_str(&format!("  '{}'", self.prompt));
        }
        text
    }

    /// Renders it for programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "agentId": self.id,
            "parentAgentId": self.parent,
            "agent": self.definition,
            "agentNow": self.now.as_ref().unwrap_or(&self.definition),
            "status": self.state.word(),
            "reason": self.state.reason(),
            "totalTokens": self.tokens,
            "costUsd": self.cost,
            "helperTokens": self.helpers.0,
            "helperCostUsd": self.helpers.1,
            "copyOf": self.copy_of,
            "runs": self.runs,
            "waitsFor": self.waits_for,
            "prompt": self.prompt,
        })
    }
}

impl State {
    fn word(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Ended(status) => status.word(),
        }
    }

    fn reason(&self) -> Option<String> {
        match self {
            Self::New | Self::Running | Self::Interrupted => None,
            Self::Ended(status) => status.reason(),
        }
    }
}

fn state(agent: &Agent, owned: bool) -> State {
    match (agent.open_run(), agent.settlement()) {
        (Some(_), _) if owned => State::Running,
        (Some(_), _) => State::Interrupted,
        (None, Some(settlement)) => State::Ended(settlement.status.clone()),
        (None, None) => State::New,
    }
}

/// Returns the session that an agent is the copy of.
fn copy_of(agent: &Agent) -> Option<&AgentId> {
    match &agent.spawned.origin {
        Origin::Session { copy, .. } => copy.as_ref().map(|copied| &copied.session),
        Origin::Task(_) | Origin::Helper(_) => None,
    }
}

/// Returns the runs of an agent that are its own: a copy begins with some that another has paid for.
fn own<'a>(tree: &Tree, agent: &'a Agent) -> impl Iterator<Item = &'a Run> {
    let copied = tree.copied_until();
    let is_own = move |run: &&Run| {
        let settled = run.settled.as_ref();
        settled.is_none_or(|(pos, _)| *pos > copied)
    };
    agent.runs.iter().filter(is_own)
}

/// Returns what those have used that the runtime had work for an agent.
fn helpers(tree: &Tree, id: &AgentId) -> (u64, Option<Money>) {
    let helpers = tree.helpers().iter().filter_map(|id| tree.agent(id));
    let theirs = helpers.filter(|helper| helper.spawned.above() == Some(id));
    sum(theirs.map(|helper| (tokens(tree, helper), cost(tree, helper))))
}

fn sum(all: impl Iterator<Item = (u64, Option<Money>)>) -> (u64, Option<Money>) {
    all.fold((0, None), |(tokens, cost), (more, paid)| {
        let costs = [cost, paid].into_iter().flatten();
        (tokens.saturating_add(more), costs.reduce(Money::plus))
    })
}

fn tokens(tree: &Tree, agent: &Agent) -> u64 {
    let settled = own(tree, agent).filter_map(|run| run.settled.as_ref());
    let open = agent.open_run().map(|_| agent.tally.usage);
    let all = settled.map(|(_, end)| end.usage).chain(open);
    all.map(|usage| usage.total()).fold(0, u64::saturating_add)
}

/// Returns what an agent's own steps cost, as far as that is known.
fn cost(tree: &Tree, agent: &Agent) -> Option<Money> {
    let settled = own(tree, agent).filter_map(|run| run.settled.as_ref());
    let open = agent.open_run().and(agent.tally.cost);
    let all = settled.filter_map(|(_, end)| end.cost).chain(open);
    all.reduce(Money::plus)
}

/// Returns what each agent was asked first.
fn prompts(session: &Session) -> HashMap<&AgentId, &str> {
    let mut prompts = HashMap::new();
    let hidden = session.hidden();
    for entry in session.log.iter().filter(|entry| !hidden.has(entry)) {
        if let Event::Prompted(message) = &entry.event {
            prompts.entry(&entry.agent).or_insert(message.text.as_str());
        }
    }
    prompts
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

/// Names what is waited for; of more than a few agents only how many they are.
fn shortened(reasons: &[String]) -> String {
    let is_agent = |reason: &&String| reason.starts_with(AGENT);
    let agents = reasons.iter().filter(is_agent).count();
    if agents <= MOST_AGENTS {
        return reasons.join(", ");
    }
    let others = reasons.iter().filter(|reason| !is_agent(reason)).cloned();
    let all: Vec<String> = std::iter::once(format!("{agents} agents"))
        .chain(others)
        .collect();
    all.join(", ")
}

fn waits_for(
    tree: &Tree,
    (id, agent): (&AgentId, &Agent),
    tools: &Tools<'_>,
    next: Next,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let open = |child: &&AgentId| {
        let child = tree.agent(child);
        child.is_some_and(|child| child.open_run().is_some())
    };
    let calls = agent.open_calls();
    for call in &calls {
        match &call.child {
            Some(child) => reasons.push(format!("{AGENT}{}", render::short(child))),
            None => reasons.push(match tools.get(&(id, &call.call)) {
                Some(tool) if call.asks.is_some() => format!("an answer about {tool}"),
                Some(tool) => format!("tool {tool}"),
                None => format!("call {}", call.call),
            }),
        }
    }
    if agent.turn.is_some() && calls.is_empty() {
        reasons.push(next.words().to_owned());
    }
    if agent.turn.is_none() && agent.open_run().is_some() {
        let children = agent.children.iter().filter(open);
        reasons.extend(children.map(|child| format!("{AGENT}{}", render::short(child))));
    }
    match agent.queue.len() {
        0 => {}
        1 => reasons.push("a turn for 1 prompt".to_owned()),
        many => reasons.push(format!("a turn for {many} prompts")),
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_agents_that_are_waited_for_are_counted() {
        let agents =
            |many: usize| -> Vec<String> { (1..=many).map(|id| format!("{AGENT}{id}")).collect() };
        assert_eq!(shortened(&agents(3)), "agent 1, agent 2, agent 3");
        let mut reasons = agents(16);
        reasons.push("tool read".to_owned());
        assert_eq!(shortened(&reasons), "16 agents, tool read");
    }
}
