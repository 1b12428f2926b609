//! What a person, or a program, sees of a tree that is followed.
//!
//! Either the answers on stdout with lines on stderr for each call and each agent that starts
//! or ends, or every event on stdout as JSON, or a console for who sits at a
//! terminal. Entries from before the view began are folded and not shown.

mod progress;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

use offshoot_copilot::Fold;
use offshoot_copilot::wire::WireEvent;
use offshoot_engine::{Activity, Delta, Output};
use offshoot_types::caps::Caps;
use offshoot_types::env::Env;
use offshoot_types::event::{Did, Entry, Event, Hooked, TurnEnd};
use offshoot_types::id::{AgentId, CallId, MessageId, Pos};
use offshoot_types::settlement::{Settlement, Status};
use offshoot_types::tier::Tier;
use offshoot_types::tree::{Spent, Tree, Unfinished};

use self::progress::{ADVICE, Advice, closing, progress};
use crate::answers::Answers;
use crate::calls::Calls;
use crate::console::{Console, Input, Style, Taken};
use crate::env::System;
use crate::lookup::Exchange;
use crate::output::{self, Stdout};
use crate::{clock, render};

/// Most lines of an answer from before that are shown on stderr, and most characters of one.
const MOST_OF_ANSWER: usize = 6;
const MOST_OF_LINE: usize = 200;

/// How a followed tree is shown.
pub(crate) struct View {
    form: Form,
    /// Entries up to here are old news.
    start: Pos,
    /// Whether anything was done since, other than burying the dead.
    stirred: bool,
    /// Whether an answer was printed already.
    printed: bool,
    advice: Advice,
    /// The agents below that have ended, by what they are, and the session.
    ended: BTreeMap<AgentId, (String, AgentId)>,
    /// What is left of a tree that was painted.
    closing: Option<String>,
    stdout: Stdout,
    /// The agents whose tiers have no model, until that is said.
    unmapped: BTreeMap<String, Tier>,
}

enum Form {
    Answers(Box<Plain>),
    Events(Box<Fold>),
    Console(Box<Console>, Calls),
}

/// Answers on stdout, and how it goes on stderr.
struct Plain {
    answers: Answers,
    calls: Calls,
    style: Style,
}

impl View {
    /// Shows the answers of an agent, and progress on stderr.
    pub(crate) fn answers(agent: AgentId, style: Style) -> Self {
        Self::of(Form::Answers(Box::new(Plain {
            calls: Calls::of(agent.clone()),
            answers: Answers::of(agent),
            style,
        })))
    }

    /// Takes a terminal with a person in front of it.
    pub(crate) fn console(mut console: Console) -> Self {
        let calls = Calls::of(console.answers().agent().clone());
        Self::of(Form::Console(Box::new(console), calls))
    }

    /// Shows every event.
    pub(crate) fn events(fold: Fold) -> Self {
        Self::of(Form::Events(Box::new(fold)))
    }

    fn of(form: Form) -> Self {
        Self {
            form,
            start: Pos::ZERO,
            stirred: false,
            printed: false,
            advice: Advice::NotNeeded,
            ended: BTreeMap::new(),
            closing: None,
            stdout: Stdout::default(),
            unmapped: BTreeMap::new(),
        }
    }

    /// Has it said once that an agent is used whose tier has no model.
    pub(crate) fn telling_of_tiers(self, unmapped: BTreeMap<String, Tier>) -> Self {
        Self { unmapped, ..self }
    }

    /// Says that an agent begins with another model than one of its tier; the first time only.
    fn tier_fallback(&mut self, event: &Event) -> Option<String> {
        let (definition, model) = match event {
            Event::Spawned(spawned) if spawned.helper().is_none() => {
                (&spawned.definition, &spawned.model)
            }
            Event::Became(role) => (&role.definition, &role.model),
            _ => return None,
        };
        let tier = self.unmapped.get(definition)?;
        let (name, model) = (render::harmless(definition), render::model(model));
        let text = format!(
            "agent {name} names the tier {tier}, which has no model, and uses {model}; to change that, \
             set tiers.{tier} in your own offshoot.toml"
        );
        self.unmapped.clear();
        Some(text)
    }

    /// Takes what happened before.
    pub(crate) fn before(&mut self, log: &[Entry]) {
        let mut tree = Tree::default();
        for entry in log {
            match &mut self.form {
                Form::Answers(plain) => {
                    plain.answers.skip(entry);
                    drop(plain.calls.take(&tree, entry));
                }
                Form::Events(fold) => drop(fold.entry(entry)),
                Form::Console(console, calls) => {
                    console.before(&tree, entry);
                    drop(calls.take(&tree, entry));
                }
            }
            // A log that breaks a rule is refused before it gets here.
            drop(tree.apply(entry));
            self.start = entry.pos;
        }
    }

    /// Leaves out answers to what was asked before this prompt.
    pub(crate) fn answers_to(&mut self, prompt: &MessageId) {
        match &mut self.form {
            Form::Answers(plain) => plain.answers.after(prompt),
            Form::Console(console, _) => console.answers().after(prompt),
            Form::Events(_) => {}
        }
    }

    /// Shows an entry; `tree` is as it was before it.
    pub(crate) fn entry(&mut self, tree: &Tree, entry: &Entry) -> io::Result<()> {
        let new = entry.pos > self.start;
        if new && let Some(text) = self.tier_fallback(&entry.event) {
            self.aside(&text)?;
        }
        self.stirred |= new && is_work(&entry.event);
        match &mut self.form {
            Form::Answers(plain) => {
                let reports = plain.calls.take(tree, entry);
                if new {
                    progress(tree, entry);
                    let reports = reports.iter().filter(|report| !report.is_start());
                    for line in reports.flat_map(|report| report.plain(plain.style)) {
                        output::note(&line);
                    }
                    if self.advice.take(&entry.event) {
                        output::note(ADVICE);
                    }
                }
                if let Event::Hooked(hooked) = &entry.event
                    && new
                    && is_news(hooked)
                {
                    output::note(&hook_line(tree, &entry.agent, hooked));
                }
                if let Some(text) = plain.answers.take(entry).filter(|_| new) {
                    self.answer(&text)?;
                }
            }
            Form::Console(console, calls) => {
                console.entry(tree, entry)?;
                for report in calls.take(tree, entry).iter().filter(|_| new) {
                    console.report(report)?;
                }
                if new
                    && matches!(entry.event, Event::Settled { .. })
                    && let Some((definition, _)) = below(tree, &entry.agent)
                {
                    let ended = (definition.to_owned(), entry.tree.root().clone());
                    self.ended.insert(entry.agent.clone(), ended);
                }
                if new && self.advice.take(&entry.event) {
                    console.aside(&format!("something was denied; {ADVICE}"))?;
                }
                if let Event::Hooked(hooked) = &entry.event
                    && new
                    && is_news(hooked)
                {
                    console.aside(&hook_line(tree, &entry.agent, hooked))?;
                }
            }
            Form::Events(fold) => {
                let events = fold.entry(entry);
                if new {
                    for event in &events {
                        print(&mut self.stdout, event)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Shows what an agent does, where that is news to a person.
    pub(crate) fn activity(&mut self, tree: &Tree, agent: &AgentId, activity: &Activity) {
        if let Form::Console(console, _) = &mut self.form {
            console.activity(agent, activity);
        }
        let Activity::Retrying {
            attempt,
            message,
            after,
        } = activity
        else {
            return;
        };
        if !matches!(self.form, Form::Answers(_)) {
            return;
        }
        if let Some(spawned) = tree.agent(agent).map(|agent| &agent.spawned) {
            let indent = "  ".repeat(spawned.depth as usize);
            let who = match spawned.depth {
                0 => spawned.definition.clone(),
                _ => format!("{} {}", spawned.definition, render::short(agent)),
            };
            let (why, after) = (
                render::harmless(message),
                clock::span(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            );
            output::note(&format!(
                "{indent}{who}: {why}; trying again after {after} (attempt {attempt})"
            ));
        }
    }

    /// Tells whether it shows agents at work, and not only what comes of it.
    pub(crate) fn watches(&self) -> bool {
        match &self.form {
            Form::Answers(_) => false,
            Form::Events(_) | Form::Console(..) => true,
        }
    }

    /// Tells whether anything was done since the view began, other than burying the dead.
    pub(crate) fn is_stirred(&self) -> bool {
        self.stirred
    }

    /// Tells whether whoever read it has gone.
    pub(crate) fn is_unread(&self) -> bool {
        self.stdout.is_closed()
    }

    /// Shows a piece of a message that is not committed yet.
    pub(crate) fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        match &mut self.form {
            Form::Answers(_) => Ok(()),
            Form::Console(console, _) => {
                console.delta(delta);
                Ok(())
            }
            Form::Events(fold) => {
                for event in fold.delta(delta, System.now()) {
                    print(&mut self.stdout, &event)?;
                }
                Ok(())
            }
        }
    }

    /// Shows what a call says while it runs.
    pub(crate) fn output(&mut self, output: &Output) -> io::Result<()> {
        match &mut self.form {
            Form::Answers(_) => Ok(()),
            Form::Console(console, _) => {
                console.output(output);
                Ok(())
            }
            Form::Events(fold) => match fold.output(output, System.now()) {
                Some(event) => print(&mut self.stdout, &event),
                None => Ok(()),
            },
        }
    }

    /// Shows that the tree is quiet, and how the run of the agent that was asked ended under its caps.
    pub(crate) fn quiet(
        &mut self,
        ended: Option<(&Settlement, &Caps)>,
        unfinished: &Unfinished,
    ) -> io::Result<()> {
        let answers = match &mut self.form {
            Form::Events(fold) => {
                let event = fold.idle(System.now(), unfinished);
                return print(&mut self.stdout, &event);
            }
            Form::Console(console, _) => {
                let Some((settlement, caps)) = ended else {
                    return Ok(());
                };
                if console.is_for_once() {
                    self.closing = closing(&self.ended, settlement.duration_ms);
                }
                return console.quiet(settlement, caps);
            }
            Form::Answers(plain) => &mut plain.answers,
        };
        let Some((settlement, caps)) = ended else {
            return Ok(());
        };
        // Of a turn that was cut short there is what it said so far.
        if let Some(text) = answers.unfinished() {
            self.answer(&text)?;
        }
        if settlement.status != Status::Completed {
            output::complain(&render::ending(settlement, caps));
        }
        Ok(())
    }

    /// Shows what a run has used with all below it.
    pub(crate) fn spent(&mut self, spent: Spent) -> io::Result<()> {
        let Spent { tokens, cost } = spent;
        if tokens == 0 {
            return Ok(());
        }
        let cost = render::cost(Some(cost));
        let text = format!("{tokens} tokens{cost}, with all agents");
        match &mut self.form {
            Form::Answers(_) => output::note(&text),
            Form::Console(console, _) => console.aside(&text)?,
            Form::Events(_) => {}
        }
        Ok(())
    }

    /// Prints an answer, a blank line after the one before.
    fn answer(&mut self, text: &str) -> io::Result<()> {
        if self.printed {
            self.stdout.line("")?;
        }
        self.printed = true;
        // Who reads it sees spaces; what goes to a program stays as it is.
        if io::stdout().is_terminal() {
            return self.stdout.line(&render::plain_spaces(text));
        }
        self.stdout.line(text)
    }

    /// Shows how a conversation ended that goes on now.
    pub(crate) fn recall(&mut self, last: &Exchange) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => console.recall(last),
            Form::Answers(_) => {
                for line in last.prompt.lines() {
                    output::note(&format!("> {line}"));
                }
                let lines: Vec<&str> = last.answer.lines().collect();
                let hidden = lines.len().saturating_sub(MOST_OF_ANSWER);
                if hidden > 0 {
                    output::note(&format!("| [{hidden} lines above]"));
                }
                for line in &lines[hidden..] {
                    output::note(&format!("| {}", render::first_words(line, MOST_OF_LINE)));
                }
                if let Some(how) = &last.ending {
                    output::note(how);
                }
                Ok(())
            }
            Form::Events(_) => Ok(()),
        }
    }

    /// Says something to the person about what they did.
    pub(crate) fn remark(&mut self, text: &str) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => {
                console.hint(text);
                Ok(())
            }
            Form::Answers(_) | Form::Events(_) => {
                output::note(text);
                Ok(())
            }
        }
    }

    /// Says something beside the conversation, which stays where it is said.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => console.aside(text),
            Form::Answers(_) | Form::Events(_) => {
                output::note(text);
                Ok(())
            }
        }
    }

    /// Shows what an agent's run came across that is not in the log.
    pub(crate) fn notice(&mut self, tree: &Tree, agent: &AgentId, text: &str) -> io::Result<()> {
        if let Form::Events(fold) = &mut self.form {
            let event = fold.notice(agent, text, System.now());
            return print(&mut self.stdout, &event);
        }
        let who = tree.agent(agent).map_or("", |agent| agent.definition());
        self.remark(&format!("{who}: {text}"))
    }

    /// Shows what a hook did that is not in the log.
    pub(crate) fn hooked(
        &mut self,
        tree: &Tree,
        agent: &AgentId,
        hooked: &Hooked,
    ) -> io::Result<()> {
        match &mut self.form {
            Form::Events(fold) => {
                let text = format!("hook {}", render::hooked(hooked));
                let event = fold.hook_notice(agent, &text, System.now());
                print(&mut self.stdout, &event)
            }
            Form::Console(console, _) => console.aside(&hook_line(tree, agent, hooked)),
            Form::Answers(_) => {
                output::note(&hook_line(tree, agent, hooked));
                Ok(())
            }
        }
    }

    /// Tells a person what they asked to be told.
    pub(crate) fn told(&mut self, text: &str) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => console.told(text),
            Form::Answers(_) | Form::Events(_) => {
                output::note(text);
                Ok(())
            }
        }
    }

    /// Shows what a person said, as part of the conversation.
    pub(crate) fn heard(&mut self, text: &str) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => console.heard(text),
            Form::Answers(_) | Form::Events(_) => Ok(()),
        }
    }

    /// Shows what a person said and no turn has taken yet.
    pub(crate) fn queued(&mut self, message: MessageId, text: &str) {
        if let Form::Console(console, _) = &mut self.form {
            console.queued(message, text);
        }
    }

    /// Shows what a person said as part of the conversation, although no turn takes it.
    pub(crate) fn refused(&mut self, message: &MessageId) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => console.taken(message),
            Form::Answers(_) | Form::Events(_) => Ok(()),
        }
    }

    /// Takes what became of a person's answer; tells whether it was said how else it was answered.
    pub(crate) fn answered(
        &mut self,
        (agent, call): (&AgentId, &CallId),
        taken: Taken,
    ) -> io::Result<bool> {
        match &mut self.form {
            Form::Console(console, _) => console.answer(agent, call, taken),
            Form::Answers(_) | Form::Events(_) => Ok(false),
        }
    }

    /// Waits for the person, or for a while; for ever where nobody sits there.
    pub(crate) async fn input(&mut self) -> Input {
        match &mut self.form {
            Form::Console(console, _) => console.input().await,
            Form::Answers(_) | Form::Events(_) => std::future::pending().await,
        }
    }

    /// Paints what has changed.
    pub(crate) fn paint(&mut self, tree: &Tree) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => console.paint(tree),
            Form::Answers(_) | Form::Events(_) => Ok(()),
        }
    }

    /// Gives a terminal back for a while.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => console.suspend(),
            Form::Answers(_) | Form::Events(_) => Ok(()),
        }
    }

    /// Gives a terminal back.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        match &mut self.form {
            Form::Console(console, _) => {
                console.close()?;
                // The tree is gone with the terminal, and nothing else says that there was one.
                if let Some(text) = self.closing.take() {
                    output::note(&text);
                }
                Ok(())
            }
            Form::Answers(_) | Form::Events(_) => Ok(()),
        }
    }
}

/// Tells whether a person wants to know what a hook did: not that a call was refused, which is told
/// with the call, unless the hook has something to say to people.
fn is_news(hooked: &Hooked) -> bool {
    match &hooked.did {
        Did::Failed { .. } => true,
        Did::Refused { .. } | Did::Stopped { .. } => hooked.call.is_none() || hooked.note.is_some(),
        Did::Passed | Did::Told | Did::Asked { .. } => hooked.note.is_some(),
    }
}

/// Says what a hook did, and to whom where that is an agent below the root: calls of siblings have
/// the same names.
fn hook_line(tree: &Tree, agent: &AgentId, hooked: &Hooked) -> String {
    let text = format!("hook {}", render::hooked(hooked));
    match below(tree, agent) {
        Some((definition, depth)) => {
            let indent = "  ".repeat(depth as usize);
            let definition = render::harmless(definition);
            format!("{indent}{definition} {}: {text}", render::short(agent))
        }
        None => text,
    }
}

/// Tells whether an entry says that something was done, and not only that it was lost.
fn is_work(event: &Event) -> bool {
    match event {
        Event::TurnStarted { .. } | Event::Replied(_) => true,
        Event::TurnEnded { end, .. } => *end != TurnEnd::Lost,
        Event::Settled { settlement, .. } => !matches!(settlement.status, Status::Lost { .. }),
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
        | Event::CallFinished { .. } => false,
    }
}

fn print(stdout: &mut Stdout, event: &WireEvent) -> io::Result<()> {
    stdout.line(&serde_json::to_string(event)?)
}

/// Returns the definition and the depth of a child; `None` for the root and for helpers.
fn below<'a>(tree: &'a Tree, id: &AgentId) -> Option<(&'a str, u32)> {
    let spawned = &tree.agent(id)?.spawned;
    // Nobody waits for what is done for an agent.
    (spawned.depth > 0 && spawned.helper().is_none())
        .then_some((spawned.definition.as_str(), spawned.depth))
}
