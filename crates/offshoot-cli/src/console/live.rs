//! The live tree: each agent, what it does now or waits for, tokens, elapsed.
//!
//! A fold of updates and a pure picture of it. Shows the agents of what runs now:
//! those with an open run, and those that ended since it began. However many
//! there are, the picture fits: first those go that are done.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_engine::{Activity, Output};
use offshoot_types::caps::Money;
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, CallId, Timestamp};
use offshoot_types::settlement::Status;
use offshoot_types::tree::{Agent, Tree};

use super::about::About;
use super::line::{Line, Style, Tone};
use crate::{clock, render};

/// Most rows of a picture.
const MOST_ROWS: usize = 24;

/// Most characters of a prompt: enough to tell siblings apart.
const MOST_OF_PROMPT: usize = 20;

/// Most characters of a call that a row is made of; what fits is fewer.
const MOST_OF_CALL: usize = 200;

/// A narrower window has no row for what all agents have used.
const FEWEST_COLUMNS_OF_TOTAL: usize = 48;

/// What is known of the agents beyond the tree.
#[derive(Default)]
pub(crate) struct Live {
    agents: BTreeMap<AgentId, Seen>,
    /// Those that ended since what runs now began.
    ended: BTreeSet<AgentId>,
}

/// What is known of one agent.
#[derive(Default)]
struct Seen {
    activity: Option<Activity>,
    /// Open calls, in the order of the model: which, and what it is about.
    calls: Vec<(CallId, About)>,
    /// What it was asked first, in a few words.
    prompt: String,
    /// The last line that a running call has said.
    heard: String,
    tokens: u64,
    cost: Option<Money>,
    began: Timestamp,
    took: Option<u64>,
}

impl Live {
    /// Takes an entry; `tree` is as it was before it.
    pub(crate) fn entry(&mut self, tree: &Tree, entry: &Entry) {
        let seen = self.agents.entry(entry.agent.clone()).or_default();
        match &entry.event {
            Event::TurnStarted { .. } => {
                let open = tree.agent(&entry.agent).and_then(|agent| agent.open_run());
                if open.is_none() {
                    (seen.began, seen.tokens, seen.took) = (entry.at, 0, None);
                    seen.cost = None;
                }
                self.ended.remove(&entry.agent);
                if tree.open_runs() == 0 {
                    self.ended.clear();
                }
            }
            Event::Replied(message) => {
                seen.tokens = seen.tokens.saturating_add(message.usage.total());
                if let Some(cost) = message.cost {
                    seen.cost = Some(seen.cost.unwrap_or_default().plus(cost));
                }
                let calls = message.calls();
                seen.calls = calls
                    .map(|call| (call.id.clone(), About::of(call)))
                    .collect();
            }
            Event::Prompted(message) if seen.prompt.is_empty() => {
                seen.prompt = render::first_words(&message.text, MOST_OF_PROMPT);
            }
            Event::CallFinished { call, .. } => {
                seen.calls.retain(|(open, _)| open != call);
                seen.heard.clear();
            }
            Event::Settled { settlement, .. } => {
                seen.took = Some(settlement.duration_ms);
                seen.activity = None;
                seen.calls.clear();
                self.ended.insert(entry.agent.clone());
            }
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Titled { .. }
            | Event::Summarised { .. }
            | Event::ClientTools { .. }
            | Event::RoleChosen(_)
            | Event::Hooked(_)
            | Event::Compacted(_)
            | Event::Rewound { .. }
            | Event::Became(_)
            | Event::Steered { .. }
            | Event::Completion { .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::TurnEnded { .. } => {}
        }
    }

    /// Takes what an agent does now.
    pub(crate) fn activity(&mut self, agent: &AgentId, activity: &Activity) {
        self.agents.entry(agent.clone()).or_default().activity = Some(activity.clone());
    }

    /// Takes what a call says while it runs.
    pub(crate) fn output(&mut self, output: &Output) {
        let seen = self.agents.entry(output.agent.clone()).or_default();
        let said = output
            .text
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty());
        if let Some(said) = said {
            seen.heard = said.trim().chars().take(200).collect();
        }
    }

    /// Returns what a call is about, if it is open.
    pub(crate) fn call(&self, agent: &AgentId, call: &CallId) -> Option<&About> {
        let seen = self.agents.get(agent)?;
        let open = seen.calls.iter().find(|(open, _)| open == call)?;
        Some(&open.1)
    }

    /// Returns the picture: at most `rows` lines of at most `width` columns.
    pub(crate) fn lines(
        &self,
        tree: &Tree,
        now: Timestamp,
        (width, rows): (usize, usize),
        style: Style,
    ) -> Vec<Line> {
        if tree.open_runs() == 0 {
            return Vec::new();
        }
        let is_open = |id: &AgentId| {
            tree.agent(id)
                .is_some_and(|agent| agent.open_run().is_some())
        };
        let shown = tree.walk().into_iter();
        let mut shown: Vec<&AgentId> = shown
            .filter(|id| is_open(id) || self.ended.contains(*id))
            .collect();
        let total = self.total(&shown);
        let rows = rows.clamp(1, MOST_ROWS);
        let (mut done, mut running) = (0, 0);
        if shown.len() > rows {
            let room = rows - 1;
            let mut extra = shown.len() - room;
            shown.retain(|id| {
                let goes = extra > 0 && !is_open(id);
                extra -= usize::from(goes);
                done += usize::from(goes);
                !goes
            });
            running = shown.len().saturating_sub(room);
            shown.truncate(room);
        }
        let row = |id: &&AgentId| self.row(tree, id, now, width, style);
        let mut lines: Vec<Line> = shown.iter().map(row).collect();
        if done + running > 0 {
            let text = match (running, done) {
                (running, 0) => format!("  and {running} more that run"),
                (0, done) => format!("  and {done} more that are done"),
                (running, done) => format!("  and {running} more that run, {done} that are done"),
            };
            lines.push(Line::of(Tone::Dim, &text).right(Tone::Dim, &total, width, style));
        } else if lines.len() > 1 && lines.len() < rows && width >= FEWEST_COLUMNS_OF_TOTAL {
            lines.push(Line::default().right(Tone::Dim, &total, width, style));
        }
        lines
    }

    /// Says what these agents have used together.
    fn total(&self, agents: &[&AgentId]) -> String {
        let seen = agents.iter().filter_map(|id| self.agents.get(*id));
        let (mut used, mut cost) = (0_u64, None::<Money>);
        for seen in seen {
            used = used.saturating_add(seen.tokens);
            cost = [cost, seen.cost].into_iter().flatten().reduce(Money::plus);
        }
        let many = agents.len();
        format!("{many} agents, {}{}", tokens(used), render::cost(cost))
    }

    fn row(&self, tree: &Tree, id: &AgentId, now: Timestamp, width: usize, style: Style) -> Line {
        let nobody = Seen::default();
        let seen = self.agents.get(id).unwrap_or(&nobody);
        let Some(agent) = tree.agent(id) else {
            return Line::default();
        };
        let depth = agent.spawned.depth as usize;
        let (sign, tone, doing) = match agent.settlement() {
            Some(settlement) => ended(&settlement.status, style),
            None => doing(tree, agent, seen, style),
        };
        // In a narrow window the words matter more than the place in the tree.
        let indent = (2 * depth).min(width / 4);
        let mut line = Line::of(Tone::Plain, &" ".repeat(indent));
        line.push(tone, sign);
        line.push(Tone::Plain, " ");
        line.push(Tone::Name, agent.definition());
        if depth > 0 && width >= 48 {
            line.push(Tone::Dim, &format!(" {}", render::short(id)));
        }
        if depth > 0 && width >= 72 && !seen.prompt.is_empty() {
            line.push(Tone::Dim, &format!(" '{}'", seen.prompt));
        }
        line.push(Tone::Plain, &format!("  {doing}"));
        let took = match seen.took {
            Some(took) => clock::span(took / 100 * 100),
            None => elapsed(now.get().saturating_sub(seen.began.get())),
        };
        let (tokens, cost) = (tokens(seen.tokens), render::cost(seen.cost));
        let cost = format!("{tokens}{cost} {took:>6}");
        line.right(Tone::Dim, &cost, width, style)
    }
}

/// Returns what an agent does now, in words.
fn doing(tree: &Tree, agent: &Agent, seen: &Seen, style: Style) -> (&'static str, Tone, String) {
    let (works, waits, asks) = if style.unicode {
        ("●", "◌", "?")
    } else {
        ("*", ".", "?")
    };
    let about = || {
        let calls = seen.calls.iter();
        let about: Vec<String> = calls
            .map(|(_, about)| about.brief.chars().take(MOST_OF_CALL).collect())
            .collect();
        about.join(", ")
    };
    match &seen.activity {
        None | Some(Activity::Resting) => match logged(tree, agent) {
            Logged::Starts => (works, Tone::Name, "starts".to_owned()),
            Logged::Asks => (asks, Tone::Ask, format!("asks: {}", about())),
            Logged::Calls => (works, Tone::Name, about()),
            Logged::Model => (works, Tone::Name, "waits for the model".to_owned()),
            Logged::Children(many) => (waits, Tone::Dim, waits_for(many)),
        },
        Some(Activity::Slot) => (waits, Tone::Dim, "waits for a free slot".to_owned()),
        Some(Activity::RateLimit) => (
            waits,
            Tone::Dim,
            "waits for the rate limit of its model".to_owned(),
        ),
        Some(Activity::Budget) => (waits, Tone::Dim, "waits for room in its budget".to_owned()),
        Some(Activity::FirstByte) => (works, Tone::Name, "waits for the model".to_owned()),
        Some(Activity::Streaming) => (works, Tone::Name, "writes".to_owned()),
        Some(Activity::Retrying {
            attempt,
            message,
            after,
        }) => {
            let after = clock::span(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
            let text = format!("tries again after {after} (attempt {attempt}): {message}");
            (waits, Tone::Ask, text)
        }
        Some(Activity::ClientTools(tools)) => {
            let text = format!("waits for a client to run {}", tools.join(", "));
            (waits, Tone::Ask, text)
        }
        Some(Activity::Permission(_) | Activity::Question) => {
            (asks, Tone::Ask, format!("asks: {}", about()))
        }
        Some(Activity::Tools(tools)) => {
            let about = about();
            let mut text = if about.is_empty() {
                tools.join(", ")
            } else {
                about
            };
            if !seen.heard.is_empty() {
                text.push_str(&format!(" | {}", seen.heard));
            }
            (works, Tone::Name, text)
        }
        Some(Activity::Hooks(point)) => (works, Tone::Name, format!("waits for hooks ({point})")),
        Some(Activity::Compacting) => {
            let text = "sums up its conversation, which is long".to_owned();
            (works, Tone::Name, text)
        }
        Some(Activity::Children { all, .. }) => (waits, Tone::Dim, waits_for(*all)),
    }
}

fn waits_for(agents: usize) -> String {
    let many = if agents == 1 { "agent" } else { "agents" };
    format!("waits for {agents} {many}")
}

/// What the log knows of what an agent does: all there is where another process runs it (R29).
enum Logged {
    Starts,
    Asks,
    Calls,
    Model,
    Children(usize),
}

fn logged(tree: &Tree, agent: &Agent) -> Logged {
    let calls = agent.open_calls();
    if calls.iter().any(|call| call.asks.is_some()) {
        return Logged::Asks;
    }
    let children = calls.iter().filter(|call| call.child.is_some()).count();
    if children > 0 && children == calls.len() {
        return Logged::Children(children);
    }
    if !calls.is_empty() {
        return Logged::Calls;
    }
    if agent.turn.is_some() {
        return Logged::Model;
    }
    let children = agent.children.iter().filter_map(|id| tree.agent(id));
    match children.filter(|child| child.open_run().is_some()).count() {
        0 => Logged::Starts,
        many => Logged::Children(many),
    }
}

fn ended(status: &Status, style: Style) -> (&'static str, Tone, String) {
    let (good, bad) = if style.unicode {
        ("✓", "✗")
    } else {
        ("+", "x")
    };
    let (sign, tone) = match status {
        Status::Completed => (good, Tone::Good),
        Status::Partial(_) | Status::Cancelled(_) => (bad, Tone::Ask),
        Status::Failed { .. }
        | Status::BudgetExhausted(_)
        | Status::Denied { .. }
        | Status::Lost { .. } => (bad, Tone::Bad),
    };
    (sign, tone, render::status(status))
}

/// Renders how long something has been going on, in whole seconds: what is painted changes with it.
fn elapsed(milliseconds: u64) -> String {
    match milliseconds / 1000 {
        seconds @ 0..60 => format!("{seconds}s"),
        _ => clock::span(milliseconds),
    }
}

/// Renders a number of tokens: `812 tok`, `1.2k tok`.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} tok"),
        1_000..1_000_000 => format!("{}.{}k tok", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M tok", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
