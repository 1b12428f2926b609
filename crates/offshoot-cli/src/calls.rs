//! What calls came to, and agents below that ended: a few lines each.
//!
//! A fold of the log and a pure picture of it, the same for a console and for stderr.
//! A call has one line with its outcome; an edit has a short diff below it, a command
//! its last lines. An agent below has a line for each call too, and one for its end
//! with the beginning of its result. Where many work at once their calls would drown
//! everything else: then only those that failed have a line, and the line of the end
//! counts them all.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, Call};
use offshoot_types::outcome::{Body, ErrorKind, Metadata, Outcome};
use offshoot_types::settlement::{CancelledBy, Settlement, Status};
use offshoot_types::tree::Tree;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::console::about::About;
use crate::console::line::{Line, Style, Tone};
use crate::{clock, render};

/// Most agents below that work at once and whose calls that went well are shown.
const MOST_AGENTS: usize = 4;

/// Most characters of what a call is about.
const MOST_OF_CALL: usize = 120;

/// Most characters of why a call failed.
const MOST_OF_ERROR: usize = 500;

/// Most characters of what another tool answers.
const MOST_OF_ANSWER: usize = 80;

/// Most characters of the result of an agent below.
const MOST_OF_RESULT: usize = 160;

/// Most characters of a prompt: enough to tell siblings apart.
const MOST_OF_PROMPT: usize = 30;

/// Most lines of a diff.
const MOST_OF_DIFF: usize = 8;

/// Most lines of a file that was written.
const MOST_OF_FILE: usize = 3;

/// Most last lines of a command that went well, and of one that failed.
const MOST_OF_OUTPUT: (usize, usize) = (2, 6);

/// Most lines of what an agent below did, where that failed.
const MOST_BELOW: usize = 2;

/// Most rows of a line of what failed.
const MOST_ROWS_OF_LINE: usize = 3;

/// Most files that are named.
const MOST_FILES: usize = 3;

/// Columns of a line where there is no window.
const COLUMNS: usize = 600;

/// Most agents that are cancelled together and have a line each; more are counted.
const MOST_CANCELLED: usize = 5;

/// A call that took less is not said to have taken time.
const SHORT_MS: u64 = 1000;

/// How long it may take to find out what differs.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a call or an agent below came to, for people.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// How far below the agent is.
    depth: usize,
    sign: Sign,
    head: Line,
    details: Vec<Line>,
}

/// How it went, at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Started,
    Call,
    Completed,
    Stopped,
    Failed,
}

/// The calls that are open, and what is known of the agents that made them.
pub(crate) struct Calls {
    /// The agent whose calls are shown in full.
    front: AgentId,
    agents: BTreeMap<AgentId, AgentCalls>,
    /// Agents that were cancelled with one above them and are not shown yet, by definition.
    cancelled: Vec<(String, Report)>,
}

#[derive(Default)]
struct AgentCalls {
    open: Vec<OpenCall>,
    /// What it was asked first, in a few words.
    prompt: String,
    finished: usize,
    failed: usize,
}

struct OpenCall {
    call: Call,
    /// The agent that it started.
    child: Option<AgentId>,
}

impl Calls {
    /// The calls of an agent and of those below it.
    pub(crate) fn of(front: AgentId) -> Self {
        Self {
            front,
            agents: BTreeMap::new(),
            cancelled: Vec::new(),
        }
    }

    /// Takes an entry; `tree` is as it was before it. Returns what it says of calls and of agents' ends.
    ///
    /// Agents that are cancelled together are shown together, when the last of them has ended.
    pub(crate) fn take(&mut self, tree: &Tree, entry: &Entry) -> Vec<Report> {
        let mut reports = Vec::from_iter(self.look(tree, entry));
        let mut is_last = tree.open_runs() <= 1;
        if let Event::Settled { settlement, .. } = &entry.event {
            is_last |= entry.agent == self.front;
            if is_cancelled_from_above(&settlement.status) {
                let agent = tree.agent(&entry.agent);
                let definition = agent.map_or("", |agent| agent.definition());
                let held = reports.drain(..);
                self.cancelled
                    .extend(held.map(|report| (definition.to_owned(), report)));
            }
        }
        if is_last || !reports.is_empty() {
            reports.splice(0..0, self.take_cancelled());
        }
        reports
    }

    /// Returns the agents that were cancelled together: each, or how many they are.
    fn take_cancelled(&mut self) -> Vec<Report> {
        let cancelled = std::mem::take(&mut self.cancelled);
        if cancelled.len() <= MOST_CANCELLED {
            return cancelled.into_iter().map(|(_, report)| report).collect();
        }
        let mut definitions: BTreeMap<&str, usize> = BTreeMap::new();
        for (definition, _) in &cancelled {
            *definitions.entry(definition).or_default() += 1;
        }
        let definitions = definitions.into_iter();
        let counts = definitions.map(|(definition, many)| format!("{many} {definition}"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let head = Line::of(Tone::Name, &counted(cancelled.len(), "agent"));
        vec![Report {
            depth: 1,
            sign: Sign::Stopped,
            head: head
                .and(Tone::Ask, " cancelled")
                .and(Tone::Dim, &format!(" ({counts})")),
            details: Vec::new(),
        }]
    }

    /// Takes an entry; returns what it says of a call or an agent's end.
    fn look(&mut self, tree: &Tree, entry: &Entry) -> Option<Report> {
        let spawned = tree.agent(&entry.agent).map(|agent| &agent.spawned);
        // Calls of helpers are not shown.
        if spawned.is_some_and(|spawned| spawned.helper().is_some()) {
            return None;
        }
        let is_front = entry.agent == self.front;
        let seen = self.agents.entry(entry.agent.clone()).or_default();
        match &entry.event {
            Event::Prompted(message) if seen.prompt.is_empty() => {
                seen.prompt = render::first_words(&message.text, MOST_OF_PROMPT);
                None
            }
            Event::Replied(message) => {
                let open = |call: &Call| OpenCall {
                    call: call.clone(),
                    child: None,
                };
                seen.open = message.calls().map(open).collect();
                None
            }
            Event::CallStarted {
                call,
                child: Some(child),
            } => {
                let open = seen.open.iter_mut().find(|open| open.call.id == *call);
                if let Some(open) = open {
                    open.child = Some(child.clone());
                }
                None
            }
            Event::CallFinished { call, outcome, .. } => {
                let OpenCall { call, child } = seen.close(call)?;
                if let Some(child) = child {
                    return self.handed_on(tree, &child, outcome);
                }
                seen.finished += 1;
                let is_bad = is_bad(outcome);
                seen.failed += usize::from(is_bad);
                if is_front {
                    return Some(Report::of_call(&call, outcome));
                }
                // The line of the end says that it was stopped.
                if was_stopped(outcome) || (!is_bad && is_crowd(tree)) {
                    return None;
                }
                let definition = tree.agent(&entry.agent)?.definition();
                let name = format!("{definition} {}: ", render::short(&entry.agent));
                let depth = spawned?.depth as usize;
                Some(Report::of_call(&call, outcome).below(&name, depth))
            }
            Event::Settled { settlement, .. } => {
                let seen = std::mem::take(seen);
                self.agents.remove(&entry.agent);
                let spawned = spawned.filter(|spawned| !is_front && spawned.depth > 0)?;
                let name = format!("{} {}", spawned.definition, render::short(&entry.agent));
                let depth = spawned.depth as usize;
                let caps = render::own_limits(tree.agent(&entry.agent)?);
                let how = render::status_under(&settlement.status, &caps);
                let end = (settlement, how.as_str());
                Some(Report::of_end(&name, depth, &seen, end, workspace(tree)))
            }
            _ => None,
        }
    }
}

impl Calls {
    /// Says that an agent was started and goes on in the background. How any other ended has a line of
    /// its own.
    fn handed_on(&self, tree: &Tree, child: &AgentId, outcome: &Outcome) -> Option<Report> {
        let spawned = &tree.agent(child)?.spawned;
        let is_background = spawned.parent().is_some_and(|parent| parent.background);
        if outcome.is_error() || !is_background || is_crowd(tree) {
            return None;
        }
        let name = format!("{} {}", spawned.definition, render::short(child));
        let mut head = Line::of(Tone::Name, &name);
        if let Some(seen) = self.agents.get(child) {
            head.push(Tone::Dim, &format!(" '{}'", seen.prompt));
        }
        head.push(Tone::Plain, " works in the background");
        Some(Report {
            depth: spawned.depth as usize,
            sign: Sign::Started,
            head,
            details: Vec::new(),
        })
    }
}

impl AgentCalls {
    fn close(&mut self, call: &CallId) -> Option<OpenCall> {
        let at = self.open.iter().position(|open| open.call.id == *call)?;
        Some(self.open.remove(at))
    }
}

/// Tells whether so many work that their calls would drown everything else.
fn is_crowd(tree: &Tree) -> bool {
    tree.open_runs() > MOST_AGENTS + 1
}

fn workspace(tree: &Tree) -> &str {
    let root = tree.root().and_then(|root| tree.agent(root));
    match root.map(|root| &root.spawned.origin) {
        Some(Origin::Session { workspace, .. }) => workspace,
        Some(Origin::Task(_) | Origin::Helper(_)) | None => "",
    }
}

/// Tells whether a call failed, or its command did.
fn is_bad(outcome: &Outcome) -> bool {
    let extra = &outcome.metadata.extra;
    let code = extra.get("exit_code").and_then(|code| code.read().ok());
    outcome.is_error() || code.is_some_and(|code: i64| code != 0) || extra.get("signal").is_some()
}

/// Tells whether a run was stopped together with others: with the agent above it, or with all.
fn is_cancelled_from_above(status: &Status) -> bool {
    use CancelledBy::{Ancestor, Shutdown};
    matches!(status, Status::Cancelled(Ancestor | Shutdown))
}

fn was_stopped(outcome: &Outcome) -> bool {
    let stopped = [ErrorKind::Cancelled, ErrorKind::Interrupted];
    matches!(&outcome.body, Body::Error { kind, .. } if stopped.contains(kind))
}

impl Report {
    /// Tells whether something went wrong.
    pub(crate) fn is_bad(&self) -> bool {
        matches!(self.sign, Sign::Failed | Sign::Stopped)
    }

    /// Tells whether it only says that an agent was started.
    pub(crate) fn is_start(&self) -> bool {
        self.sign == Sign::Started
    }

    /// Returns it as lines of a window.
    pub(crate) fn lines(&self, width: usize, style: Style) -> Vec<Line> {
        // In a narrow window the words matter more than the place in the tree.
        let indent = " ".repeat((2 * self.depth).min(width / 4));
        let (tone, sign) = self.sign.shown(style);
        let mut head = Line::of(Tone::Plain, &indent);
        head.push(tone, sign);
        head.push(Tone::Plain, " ");
        head.extend(self.head.clone());
        let mut lines = head.wrap(width, &format!("{indent}    "));
        for detail in &self.details {
            let mut line = Line::of(Tone::Plain, &format!("{indent}  "));
            line.extend(detail.clone());
            // Why something failed may stand at the end of a long line.
            if self.is_bad() {
                let rows = line.wrap(width, &format!("{indent}  |   "));
                lines.extend(rows.into_iter().take(MOST_ROWS_OF_LINE));
            } else {
                lines.push(line.cut(width, style));
            }
        }
        lines
    }

    /// Returns it as plain lines, for where there is no window.
    pub(crate) fn plain(&self, style: Style) -> Vec<String> {
        let style = Style {
            colour: false,
            ..style
        };
        let lines = self.lines(COLUMNS, style).into_iter();
        lines.map(|line| line.render(style)).collect()
    }

    /// What a call came to.
    fn of_call(call: &Call, outcome: &Outcome) -> Self {
        let about = About::of(call);
        let mut lines = about.brief.lines();
        let mut brief = render::first_words(lines.next().unwrap_or_default(), MOST_OF_CALL);
        match lines.count() {
            0 => {}
            more => brief.push_str(&format!(" [{} more]", counted(more, "line"))),
        }
        let sign = if is_bad(outcome) {
            Sign::Failed
        } else {
            Sign::Call
        };
        let tone = if sign == Sign::Failed {
            Tone::Bad
        } else {
            Tone::Dim
        };
        let Told { facts, details } = told(call, &about, outcome);
        let mut head = Line::of(Tone::Plain, &brief);
        if !facts.is_empty() {
            head.push(tone, &format!("  {facts}"));
        }
        let took = outcome.metadata.duration_ms;
        if took >= SHORT_MS {
            head.push(Tone::Dim, &format!("  {}", clock::span(took)));
        }
        Self {
            depth: 0,
            sign,
            head,
            details,
        }
    }

    /// The same call, made by an agent below.
    fn below(self, name: &str, depth: usize) -> Self {
        let mut head = Line::of(Tone::Name, name);
        head.extend(self.head);
        let most = if self.sign == Sign::Failed {
            MOST_BELOW
        } else {
            0
        };
        let skip = self.details.len().saturating_sub(most);
        Self {
            depth,
            head,
            details: self.details.into_iter().skip(skip).collect(),
            ..self
        }
    }

    /// How an agent below ended.
    fn of_end(
        name: &str,
        depth: usize,
        seen: &AgentCalls,
        (settlement, how): (&Settlement, &str),
        workspace: &str,
    ) -> Self {
        let (sign, tone) = match &settlement.status {
            Status::Completed => (Sign::Completed, Tone::Plain),
            Status::Partial(_) | Status::Cancelled(_) => (Sign::Stopped, Tone::Ask),
            Status::Failed { .. }
            | Status::BudgetExhausted(_)
            | Status::Denied { .. }
            | Status::Lost { .. } => (Sign::Failed, Tone::Bad),
        };
        let mut head = Line::of(Tone::Name, name);
        if !seen.prompt.is_empty() {
            head.push(Tone::Dim, &format!(" '{}'", seen.prompt));
        }
        head.push(tone, &format!(" {how}"));
        let mut used = vec![clock::span(settlement.duration_ms)];
        let (tokens, cost) = (settlement.usage.total(), render::cost(settlement.cost));
        used.push(format!("{tokens} tokens{cost}"));
        match (seen.finished, seen.failed) {
            (0, _) => {}
            (calls, 0) => used.push(counted(calls, "call")),
            (calls, failed) => used.push(format!("{}, {failed} failed", counted(calls, "call"))),
        }
        head.push(Tone::Dim, &format!(" ({})", used.join(", ")));
        if let Some(files) = files(&settlement.files, workspace) {
            head.push(Tone::Plain, &format!(" changed {files}"));
        }
        let result = settlement.output.as_deref().unwrap_or_default();
        let result = render::first_words(result, MOST_OF_RESULT);
        let details = if result.is_empty() {
            Vec::new()
        } else {
            vec![Line::of(Tone::Dim, "| ").and(Tone::Dim, &result)]
        };
        Self {
            depth,
            sign,
            head,
            details,
        }
    }
}

impl Sign {
    fn shown(self, style: Style) -> (Tone, &'static str) {
        match (self, style.unicode) {
            (Self::Started, true) => (Tone::Dim, "◌"),
            (Self::Started, false) => (Tone::Dim, "."),
            (Self::Call, true) => (Tone::Good, "●"),
            (Self::Call, false) => (Tone::Good, "*"),
            (Self::Completed, true) => (Tone::Good, "✓"),
            (Self::Completed, false) => (Tone::Good, "+"),
            (Self::Stopped, true) => (Tone::Ask, "✗"),
            (Self::Stopped, false) => (Tone::Ask, "x"),
            (Self::Failed, true) => (Tone::Bad, "✗"),
            (Self::Failed, false) => (Tone::Bad, "x"),
        }
    }
}

/// Names the files that an agent changed; `None` if there are none.
fn files(files: &[String], workspace: &str) -> Option<String> {
    let short = |path: &String| {
        let below = path.strip_prefix(workspace);
        let below = below.and_then(|path| path.strip_prefix('/'));
        below.unwrap_or(path).to_owned()
    };
    let named: Vec<String> = files.iter().take(MOST_FILES).map(short).collect();
    match files.len().saturating_sub(MOST_FILES) {
        _ if files.is_empty() => None,
        0 => Some(named.join(", ")),
        more => Some(format!("{} and {more} more", named.join(", "))),
    }
}

/// What is said of an outcome, behind the call and below it.
#[derive(Default)]
struct Told {
    facts: String,
    details: Vec<Line>,
}

fn told(call: &Call, about: &About, outcome: &Outcome) -> Told {
    let data = match &outcome.body {
        Body::Error { kind, text } => return failed(*kind, text, about),
        Body::Output(_) => outcome.for_model(),
    };
    match call.tool.as_str() {
        "bash" => ran(&data, &outcome.metadata),
        "edit" => edited(call, &data),
        "write" => written(call, &data),
        "read" => read(&data, &outcome.metadata),
        // Their last line counts what was found.
        "grep" | "glob" => {
            let summary = data.lines().last().unwrap_or_default();
            plainly(summary.trim_start_matches('[').trim_end_matches(']'))
        }
        "question" => plainly(&answered(&data).unwrap_or(data)),
        _ => plainly(&data),
    }
}

/// Returns the answers to questions in one line.
fn answered(data: &str) -> Option<String> {
    let data: Value = serde_json::from_str(data).ok()?;
    let answers = data.get("answers")?.as_array()?.iter();
    let answers = answers.filter_map(Value::as_array).flatten();
    let answers: Vec<&str> = answers.filter_map(Value::as_str).collect();
    Some(format!("answered: {}", answers.join(", ")))
}

fn plainly(text: &str) -> Told {
    Told {
        facts: render::first_words(text, MOST_OF_ANSWER),
        details: Vec::new(),
    }
}

/// Says why a call failed. Of a command that was stopped, what it had said stands below.
fn failed(kind: ErrorKind, text: &str, about: &About) -> Told {
    let word = match kind {
        ErrorKind::Denied => "denied",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::Interrupted => "interrupted",
        _ => "failed",
    };
    // The line begins with what the call is about.
    let again = about.brief.split_once(' ');
    let again = again.map(|(tool, target)| format!("{tool} `{target}`: "));
    let text = again
        .and_then(|again| text.strip_prefix(&again))
        .unwrap_or(text);
    let (why, output) = text.split_once("output so far:\n").unwrap_or((text, ""));
    let why = render::first_words(why.trim_end_matches([' ', ';']), MOST_OF_ERROR);
    Told {
        facts: format!("{word}: {why}"),
        details: last_lines(output, MOST_OF_OUTPUT.1),
    }
}

/// A command that has ended: how, and its last lines.
fn ran(output: &str, metadata: &Metadata) -> Told {
    let number = |key: &str| metadata.extra.get(key)?.read::<i64>().ok();
    let (facts, most) = match (number("exit_code"), number("signal")) {
        (Some(0), _) => ("exit 0".to_owned(), MOST_OF_OUTPUT.0),
        (Some(code), _) => (format!("exit {code}"), MOST_OF_OUTPUT.1),
        (None, Some(signal)) => (format!("killed by signal {signal}"), MOST_OF_OUTPUT.1),
        (None, None) => (String::new(), MOST_OF_OUTPUT.1),
    };
    // The model reads this as a line of its own; people read it behind the call.
    let is_ending = |line: &&str| {
        line.starts_with("[exit code ")
            || line.starts_with("[killed by signal ")
            || *line == "[no output]"
    };
    let said: Vec<&str> = output.lines().filter(|line| !is_ending(line)).collect();
    Told {
        facts,
        details: last_lines(&said.join("\n"), most),
    }
}

fn last_lines(output: &str, most: usize) -> Vec<Line> {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let hidden = lines.len().saturating_sub(most);
    let mut shown = Vec::new();
    if hidden > 0 {
        shown.push(Line::of(
            Tone::Dim,
            &format!("[{} above]", counted(hidden, "line")),
        ));
    }
    for line in &lines[hidden..] {
        let line: String = line.chars().take(COLUMNS).collect();
        shown.push(Line::of(Tone::Dim, &format!("| {line}")));
    }
    shown
}

fn counted(many: usize, thing: &str) -> String {
    match many {
        1 => format!("1 {thing}"),
        many => format!("{many} {thing}s"),
    }
}

fn argument(call: &Call, key: &str) -> Option<String> {
    let Arguments::Json(arguments) = &call.arguments else {
        return None;
    };
    let value: Value = RawJson::read(arguments).ok()?;
    Some(value.get(key)?.as_str()?.to_owned())
}

/// An edit: how many lines it put in and took out, and which.
fn edited(call: &Call, data: &str) -> Told {
    let (Some(old), Some(new)) = (argument(call, "old_string"), argument(call, "new_string"))
    else {
        return plainly(data);
    };
    // `edited PATH, 3 replacements from line 7 on`
    let times = data.split(", ").find_map(|part| {
        let (count, rest) = part.split_once(' ')?;
        let count = count.parse::<usize>().ok()?;
        rest.starts_with("replacement").then_some(count)
    });
    let times = times.unwrap_or(1);
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(&old, &new);
    let (mut added, mut removed, mut changed) = (0, 0, Vec::new());
    for change in diff.iter_all_changes() {
        let (mark, tone, count) = match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Delete => ("- ", Tone::Bad, &mut removed),
            ChangeTag::Insert => ("+ ", Tone::Good, &mut added),
        };
        *count += times;
        changed.push((
            mark,
            tone,
            change.value().trim_end_matches(['\n', '\r']).to_owned(),
        ));
    }
    let mut facts = format!("+{added} -{removed}");
    if times > 1 {
        facts.push_str(&format!(" in {times} places"));
    }
    facts.push_str(&written_before(data));
    Told {
        facts,
        details: first_lines(changed, MOST_OF_DIFF),
    }
}

/// A file that was written: whether it is new, and how it begins.
fn written(call: &Call, data: &str) -> Told {
    let Some(content) = argument(call, "content") else {
        return plainly(data);
    };
    let did = data.split(' ').next().unwrap_or_default();
    let lines = counted(content.lines().count(), "line");
    let begins = content.lines().take(MOST_OF_FILE + 1);
    let mut details = first_lines(
        begins
            .map(|line| ("+ ", Tone::Good, line.to_owned()))
            .collect(),
        MOST_OF_FILE,
    );
    if let Some(more) = content.lines().count().checked_sub(MOST_OF_FILE + 1) {
        details.pop();
        details.push(Line::of(
            Tone::Dim,
            &format!("[{} more]", counted(more + 1, "line")),
        ));
    }
    Told {
        facts: format!("{did}, {lines}{}", written_before(data)),
        details,
    }
}

/// Returns what a tool says of another agent that wrote the same file before.
fn written_before(data: &str) -> String {
    let mark = "; it was last written by ";
    data.find(mark)
        .map_or_else(String::new, |at| data[at..].to_owned())
}

fn first_lines(lines: Vec<(&str, Tone, String)>, most: usize) -> Vec<Line> {
    let hidden = lines.len().saturating_sub(most);
    let shown = lines.into_iter().take(most);
    let mut shown: Vec<Line> = shown
        .map(|(mark, tone, text)| {
            let text: String = text.chars().take(COLUMNS).collect();
            Line::of(tone, mark).and(tone, &text)
        })
        .collect();
    if hidden > 0 {
        shown.push(Line::of(
            Tone::Dim,
            &format!("[{} more]", counted(hidden, "line")),
        ));
    }
    shown
}

fn read(data: &str, metadata: &Metadata) -> Told {
    let is_cut = metadata.truncated == Some(true);
    let lines = data.lines().count().saturating_sub(usize::from(is_cut));
    let cut = if is_cut { ", cut" } else { "" };
    plainly(&format!("{}{cut}", counted(lines, "line")))
}
