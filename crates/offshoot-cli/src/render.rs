//! The log as text: a line an entry, and below it what else there is to say.
//!
//! A pure function of the entry. Lines are for people and for tests: text is
//! quoted, cut unless all is wanted, and cannot move a terminal's cursor. Nothing is parsed back.

mod receipt;
#[cfg(test)]
mod tests;

use offshoot_types::caps::{Caps, Money};
use offshoot_types::event::{
    Compaction, Did, Entry, Event, Hooked, Origin, RoleChoice, Spawned, TurnEnd,
};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::message::{Arguments, AssistantMessage, AssistantPart, Author, Call};
use offshoot_types::outcome::{Body, Outcome};
use offshoot_types::permission::{Action, Decision, Need};
use offshoot_types::settlement::{CancelledBy, Cap, PartialReason, Settlement, Status};
use offshoot_types::tree::{Agent, Unfinished};

use crate::{clock, rules};
pub(crate) use offshoot_host::harmless::{
    counted_spaces, first_words, harmless, harmless_lines, plain_spaces,
};

/// How many characters of a text are shown.
const MOST: usize = 240;

/// How many characters of a call's arguments are shown.
const MOST_OF_CALL: usize = 80;

/// How many calls of a message are shown.
const MOST_CALLS: usize = 4;

/// How far details are indented: to below what happened.
const DETAIL: usize = 23;

/// How much of a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// As much as a person wants to see of many.
    Cut,
    /// All of it.
    Full,
}

impl Length {
    fn cut(self, text: &str, most: usize) -> String {
        let end = text.char_indices().nth(most).map(|(end, _)| end);
        match (self, end) {
            (Self::Cut, Some(end)) => format!("{}…", &text[..end]),
            (Self::Cut, None) | (Self::Full, _) => text.to_owned(),
        }
    }
}

/// Renders an entry: its place, its time of day, its agent, what happened, and the details.
pub(crate) fn lines(entry: &Entry, length: Length) -> Vec<String> {
    let (kind, what) = event(&entry.event, length);
    let (pos, time, agent) = (entry.pos, clock::time(entry.at), short(&entry.agent));
    let line = format!("{pos:>4} {time} {agent:<8} {kind:<10} {what}");
    let mut lines = vec![harmless(line.trim_end())];
    for (name, text) in receipt::details(&entry.event, length) {
        lines.push(format!("{:DETAIL$}{name:<10} {text}", ""));
    }
    lines
}

/// Returns the end of an id, which is what tells the agents of a tree apart.
///
/// Ids of one moment begin alike, because they begin with the time.
pub(crate) fn short(id: &AgentId) -> String {
    let id = id.as_str();
    let skip = id.chars().count().saturating_sub(8);
    id.chars()
        .skip(skip)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

/// Quotes a text on one line.
fn quote(text: &str, length: Length) -> String {
    format!("'{}'", harmless(&length.cut(text.trim(), MOST)))
}

/// Renders what was decided of a call, by whom and by which rule.
pub(crate) fn decided(call: &CallId, decision: &Decision) -> String {
    let rule = decision.rule.as_ref().map(|rule| {
        let rule = Length::Cut.cut(&rules::shown(rule), MOST_OF_CALL);
        format!(": {rule}")
    });
    let rule = rule.unwrap_or_default();
    let layer = decision.layer.as_str();
    match decision.action {
        Action::Allow => format!("{call} allowed by {layer}{rule}"),
        Action::Deny => format!("{call} denied by {layer}{rule}"),
        // That is written where it came to no answer, so the call was refused.
        Action::Ask if layer == Decision::TOO_LATE => format!("{call} refused: {layer}"),
        Action::Ask if layer == Decision::DEFAULT => {
            format!("{call} refused: no rule allows it, and nobody was there to ask")
        }
        Action::Ask => format!("{call} refused: {layer} ask, and nobody was there{rule}"),
    }
}

/// Renders how a run ended, with the reason: `failed: 500 server error`, `cancelled by the user`,
/// `stopped at the step limit`.
pub(crate) fn status(status: &Status) -> String {
    status_under(status, &Caps::default())
}

/// Renders how a run ended; of the cap that stopped it, how much that was.
pub(crate) fn status_under(status: &Status, caps: &Caps) -> String {
    if let Some(cap) = limit_of(status) {
        return format!("stopped at {}", limit(cap, caps));
    }
    let word = status.word();
    let Some(reason) = status.reason() else {
        return word.to_owned();
    };
    harmless(&match status {
        // Their reasons say it in the same words.
        Status::Cancelled(CancelledBy::User | CancelledBy::Parent | CancelledBy::Shutdown) => {
            reason
        }
        Status::Completed
        | Status::Partial(_)
        | Status::BudgetExhausted(_)
        | Status::Failed { .. }
        | Status::Cancelled(CancelledBy::Ancestor)
        | Status::Denied { .. }
        | Status::Lost { .. } => format!("{word}: {reason}"),
    })
}

/// Returns the caps that are an agent's own if they stop it. Of a child, tokens, dollars and time may be
/// those of an agent above it, and the settlement does not say whose they were.
pub(crate) fn own_limits(agent: &Agent) -> Caps {
    let caps = agent.terms().caps;
    if agent.spawned.is_root() {
        return caps;
    }
    Caps {
        steps: caps.steps,
        stall: caps.stall,
        ..Caps::default()
    }
}

/// Returns the cap that stopped a run, if one did.
fn limit_of(status: &Status) -> Option<Cap> {
    match status {
        Status::Partial(PartialReason::Budget(cap)) | Status::BudgetExhausted(cap) => Some(*cap),
        _ => None,
    }
}

/// Renders a cap: `the step limit (40 steps)`.
fn limit(cap: Cap, caps: &Caps) -> String {
    let (name, most) = match cap {
        Cap::Steps => ("step", caps.steps.map(|most| many(most.into(), "step"))),
        Cap::Tokens => ("token", caps.tokens.map(|most| many(most, "token"))),
        Cap::Cost => ("cost", caps.cost.map(|most| most.to_string())),
        Cap::Time => ("time", caps.time.map(|most| most.to_string())),
        Cap::Stall => (
            "stall",
            caps.stall.map(|most| format!("{most} without progress")),
        ),
    };
    let most = most.map_or_else(String::new, |most| format!(" ({most})"));
    format!("the {name} limit{most}")
}

fn many(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// Renders how a run ended; of the cap that stopped it, a sentence.
pub(crate) fn ending(settlement: &Settlement, caps: &Caps) -> String {
    let Some(cap) = limit_of(&settlement.status) else {
        return status(&settlement.status);
    };
    let limit = limit(cap, caps);
    match (&settlement.status, settlement.steps) {
        (Status::Partial(_), _) => format!("Stopped at {limit}; the answer is incomplete."),
        (_, 0) => format!("Stopped at {limit}; one request would need more than is left of it."),
        _ => format!("Stopped at {limit}; there is no answer."),
    }
}

/// Renders what a tree left undone: how many agents were stopped by limits, how many requests were
/// denied because no one could answer, and how many results the agent has not read.
pub(crate) fn unfinished(unfinished: &Unfinished) -> String {
    let mut parts = Vec::new();
    let stopped = unfinished.stopped.len();
    if stopped > 0 {
        let by_limit = unfinished.by_limit().into_iter();
        let limits = by_limit.map(|(limit, agents)| format!("{agents} by {}", limit.word()));
        let limits = limits.collect::<Vec<_>>().join(", ");
        let agents = if stopped == 1 {
            "agent was"
        } else {
            "agents were"
        };
        parts.push(format!("{stopped} {agents} stopped by limits ({limits})"));
    }
    match unfinished.unanswered {
        0 => {}
        1 => parts.push("1 request was denied because no one could answer it".to_owned()),
        many => parts.push(format!(
            "{many} requests were denied because no one could answer them"
        )),
    }
    match unfinished.unread {
        0 => {}
        1 => parts.push("the agent ended before it read 1 result of another agent".to_owned()),
        many => parts.push(format!(
            "the agent ended before it read {many} results of other agents"
        )),
    }
    parts.join("; ")
}

fn event(event: &Event, length: Length) -> (&'static str, String) {
    match event {
        Event::Spawned(spawned) => ("spawned", birth(spawned)),
        Event::Prompted(message) => {
            let from = match message.from {
                Author::Human => "",
                Author::Parent => "from its parent ",
                Author::Host => "from offshoot ",
            };
            (
                "prompt",
                format!("{from}{}", quote(&message.text.described(), length)),
            )
        }
        Event::Completion {
            run,
            definition,
            settlement,
            ..
        } => {
            let agent = short(&run.agent);
            let end = end(settlement, length);
            ("told", format!("{definition} {agent} {end}"))
        }
        Event::TurnStarted { run, turn, prompt } => {
            let by = if prompt.is_some() { "prompt" } else { "mail" };
            ("turn", format!("{turn} of run {run}, by {by}"))
        }
        Event::Became(role) => {
            let model = model(&role.model);
            ("became", format!("{} on {model}", role.definition))
        }
        Event::Steered { .. } => ("steered", "takes a message into its turn".to_owned()),
        Event::Replied(message) => ("said", reply(message, length)),
        Event::ClientTools { tools } => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            ("client tools", names.join(", "))
        }
        Event::RoleChosen(RoleChoice { agent, model }) => {
            let names = [agent.as_deref(), model.as_deref()];
            let names: Vec<&str> = names.into_iter().flatten().collect();
            ("next turn", names.join(" on "))
        }
        Event::Asked {
            call,
            tool,
            waits_for_client: true,
            ..
        } => ("waits", format!("{call} for a client to run {tool}")),
        Event::Asked {
            call, questions, ..
        } if !questions.is_empty() => {
            let questions: Vec<&str> = questions.iter().map(|one| one.question.as_str()).collect();
            ("asked", format!("{call}: {}", questions.join(" / ")))
        }
        Event::Asked { call, needs, .. } => ("asked", format!("{call}{}", asked(needs))),
        Event::Decided { call, decision, .. } => ("decided", decided(call, decision)),
        Event::CallStarted { call, child } => {
            let child = child
                .as_ref()
                .map(|child| format!(", agent {}", short(child)));
            ("started", format!("{call}{}", child.unwrap_or_default()))
        }
        Event::CallFinished { call, outcome, .. } => {
            ("finished", format!("{call} {}", result(outcome, length)))
        }
        Event::TurnEnded { turn, end } => ("turn end", format!("{turn} {}", turn_end(end, length))),
        Event::Settled {
            run, settlement, ..
        } => {
            let end = end(settlement, length);
            ("settled", format!("run {run} {end}"))
        }
        Event::Titled { title, .. } => ("titled", quote(title, length)),
        Event::Summarised { summary } => ("summary", quote(summary, length)),
        Event::Hooked(done) => ("hook", hooked(done)),
        Event::Compacted(compaction) => ("compacted", compacted(compaction, length)),
        Event::Rewound { to, hides, .. } => {
            let count = hides.len();
            let messages = if count == 1 { "message" } else { "messages" };
            let to = match to {
                Some(to) => format!("to {to}"),
                None => "to the beginning".to_owned(),
            };
            ("rewound", format!("{to}, {count} {messages} hidden"))
        }
    }
}

fn compacted(compaction: &Compaction, length: Length) -> String {
    let by = if compaction.auto {
        "of itself"
    } else {
        "on request"
    };
    let kept = match &compaction.tail_start {
        Some(id) => format!("what came from {id} on is kept"),
        None => "nothing else is kept".to_owned(),
    };
    let tokens = compaction.summary_tokens;
    let summary = quote(&compaction.summary, length);
    let mut text = format!("{by} to {summary}, a summary of {tokens} tokens; {kept}");
    if let Some(warning) = &compaction.warning {
        text.push_str(&format!("; {}", harmless(warning)));
    }
    text
}

/// Renders what somebody is asked for, and which hook wants that: ` for task explore, because hook …`.
fn asked(needs: &[Need]) -> String {
    let plain = needs.iter().filter(|need| !need.is_of_hook());
    let plain: Vec<String> = plain.map(need).collect();
    let mut text = if plain.is_empty() {
        String::new()
    } else {
        format!(" for {}", plain.join(", "))
    };
    for hook in needs.iter().filter_map(Need::asked_by_hook) {
        text.push_str(&format!(
            ", because {}",
            Length::Cut.cut(&hook, MOST_OF_CALL)
        ));
    }
    text
}

/// Renders what a call needs: `fs.write /w/a`.
fn need(need: &Need) -> String {
    let Need { capability, target } = need;
    let needed = format!("{capability} {}", Length::Cut.cut(target, MOST_OF_CALL));
    needed.trim_end().to_owned()
}

fn birth(spawned: &Spawned) -> String {
    let Spawned {
        definition, model, ..
    } = spawned;
    match &spawned.origin {
        Origin::Session { workspace, .. } => {
            format!(
                "{definition} on {} in {}",
                self::model(model),
                harmless(workspace)
            )
        }
        Origin::Task(parent) => {
            let how = if parent.background {
                " in the background"
            } else {
                ""
            };
            let above = short(&parent.agent);
            match parent.made_by() {
                Some(call) => format!("{definition} for {call} of {above}{how}"),
                None => format!("{definition} for the host below {above}{how}"),
            }
        }
        Origin::Helper(helper) => format!("{definition} for {}", short(&helper.of)),
    }
}

/// Renders the name of a model; the log has scripts by their whole path.
pub(crate) fn model(name: &str) -> String {
    harmless(&match name.strip_prefix("scripted//") {
        Some(path) => format!("script /{path}"),
        None => name.to_owned(),
    })
}

fn reply(message: &AssistantMessage, length: Length) -> String {
    let mut parts = Vec::new();
    let mut calls = 0;
    for part in &message.parts {
        match part {
            AssistantPart::Text(text) if text.trim().is_empty() => {}
            AssistantPart::Text(text) => parts.push(quote(text, length)),
            AssistantPart::Reasoning(reasoning) => {
                parts.push(format!("thinking {}", quote(&reasoning.text, length)));
            }
            AssistantPart::Call(made) => {
                calls += 1;
                if calls <= MOST_CALLS || length == Length::Full {
                    parts.push(call(made, length));
                }
            }
            AssistantPart::Attached(part) => parts.push(harmless(&part.note())),
            AssistantPart::Raw(_) => parts.push("a block of the provider".to_owned()),
        }
    }
    if calls > MOST_CALLS && length == Length::Cut {
        parts.push(format!("and {} calls more", calls - MOST_CALLS));
    }
    if parts.is_empty() {
        parts.push("(nothing)".to_owned());
    }
    parts.join(" ")
}

fn call(call: &Call, length: Length) -> String {
    let arguments = match &call.arguments {
        Arguments::Json(arguments) => arguments.as_str(),
        Arguments::Malformed(text) => text,
    };
    let [tool, id] =
        [call.tool.as_str(), call.id.as_str()].map(|name| length.cut(name, MOST_OF_CALL));
    let arguments = length.cut(arguments, MOST_OF_CALL);
    harmless(&format!("{tool}#{id}({arguments})"))
}

fn result(outcome: &Outcome, length: Length) -> String {
    match &outcome.body {
        Body::Output(_) => format!("ok {}", quote(&outcome.for_model(), length)),
        Body::Error { text, .. } => format!("error {}", quote(text, length)),
    }
}

fn turn_end(end: &TurnEnd, length: Length) -> String {
    match end {
        TurnEnd::Finished => "finished".to_owned(),
        TurnEnd::HandedBack(cap) => format!("handed back at {}", limit(*cap, &Caps::default())),
        TurnEnd::Exhausted(cap) => format!("stopped at {}", limit(*cap, &Caps::default())),
        TurnEnd::Aborted(CancelledBy::User) => "aborted by the user".to_owned(),
        TurnEnd::Aborted(CancelledBy::Ancestor | CancelledBy::Parent) => {
            "aborted by its parent".to_owned()
        }
        TurnEnd::Aborted(CancelledBy::Shutdown) => "aborted: shutting down".to_owned(),
        TurnEnd::Failed { message, .. } => format!("failed: {}", quote(message, length)),
        TurnEnd::Denied { reason } => format!("denied: {}", quote(reason, length)),
        TurnEnd::Lost => "lost".to_owned(),
    }
}

/// Most characters of what a hook says that are shown.
const MOST_OF_HOOK: usize = 300;

/// Renders what a hook did.
pub(crate) fn hooked(hooked: &Hooked) -> String {
    let Hooked {
        hook,
        point,
        call,
        did,
        note,
        context: _,
        arguments: _,
        by_host: _,
    } = hooked;
    let (word, why) = match did {
        Did::Passed => ("passed", None),
        Did::Told => ("told the agent something", None),
        Did::Asked { reason } => ("wants a person to be asked", Some(reason)),
        Did::Refused { reason } => ("refused", Some(reason)),
        // A prompt that is refused reaches no agent, so none is stopped by it.
        Did::Stopped { reason } if point.is_before_prompt() => ("refused", Some(reason)),
        Did::Stopped { reason } => ("stopped the agent", Some(reason)),
        Did::Failed { why } => ("failed", Some(why)),
    };
    let about = call.as_ref().map(|call| format!(" about {call}"));
    let mut text = format!("{hook} at {point}{}: {word}", about.unwrap_or_default());
    let cut = |more: &String| more.chars().take(MOST_OF_HOOK).collect::<String>();
    if let Some(why) = why.filter(|why| !why.is_empty()) {
        text.push_str(&format!(": {}", cut(why)));
    }
    if let Some(note) = note.as_ref().filter(|note| !note.is_empty()) {
        text.push_str(&format!("; it says: {}", cut(note)));
    }
    harmless(&text)
}

/// Renders what something cost, after its tokens; nothing where nobody knows, or it was free.
pub(crate) fn cost(cost: Option<Money>) -> String {
    let cost = cost.filter(|cost| *cost != Money::default());
    cost.map_or_else(String::new, |cost| format!(", {cost}"))
}

/// Renders how a run ended: its answer, and what it took.
pub(crate) fn end(settlement: &Settlement, length: Length) -> String {
    let mut text = match (limit_of(&settlement.status), settlement.status.reason()) {
        (Some(_), _) => status(&settlement.status),
        (None, Some(reason)) => format!("{} ({})", settlement.status.word(), harmless(&reason)),
        (None, None) => settlement.status.word().to_owned(),
    };
    if let Some(output) = &settlement.output {
        text.push_str(&format!(" {}", quote(output, length)));
    }
    let tokens = settlement.usage.total();
    let took = clock::span(settlement.duration_ms);
    let cost = cost(settlement.cost);
    text.push_str(&format!(", {tokens} tokens{cost}, {took}"));
    text
}
