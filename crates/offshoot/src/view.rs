//! What a person, or a program, sees of a tree that is followed.
//!
//! Either the answers on stdout with a line on stderr for each agent that starts
//! or ends, or every event on stdout as JSON. Entries from before the view began
//! are folded and not shown. Each turn of the agent that was asked has its answer:
//! what it said before a background child came back is not lost.

use std::io;

use offshoot_engine::{Activity, Delta, Output};
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event, Origin, TurnEnd};
use offshoot_types::id::{AgentId, MessageId, Pos};
use offshoot_types::settlement::{Settlement, Status};
use offshoot_types::tree::Tree;

use crate::env::System;
use crate::json_events::{Fold, WireEvent};
use crate::output::{self, Stdout};
use crate::{clock, render};

/// How a followed tree is shown.
pub(crate) struct View {
    form: Form,
    /// Entries up to here are old news.
    start: Pos,
    /// Whether anything was done since, other than burying the dead.
    stirred: bool,
    stdout: Stdout,
}

enum Form {
    Answers(Answers),
    Events(Box<Fold>),
}

/// What the agent that was asked says, turn by turn.
struct Answers {
    agent: AgentId,
    /// Turns before the one that takes this prompt answer somebody else.
    after: Option<MessageId>,
    /// The last text of the turn that runs, or of one that was cut short.
    text: Option<String>,
    printed: bool,
}

impl View {
    /// Shows the answers of an agent, and progress on stderr.
    pub(crate) fn answers(agent: AgentId) -> Self {
        Self::of(Form::Answers(Answers {
            agent,
            after: None,
            text: None,
            printed: false,
        }))
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
            stdout: Stdout::default(),
        }
    }

    /// Takes what happened before.
    pub(crate) fn before(&mut self, log: &[Entry]) {
        for entry in log {
            match &mut self.form {
                Form::Answers(answers) => answers.skip(entry),
                Form::Events(fold) => drop(fold.entry(entry)),
            }
            self.start = entry.pos;
        }
    }

    /// Leaves out answers to what was asked before this prompt.
    pub(crate) fn answers_to(&mut self, prompt: &MessageId) {
        if let Form::Answers(answers) = &mut self.form {
            answers.after = Some(prompt.clone());
        }
    }

    /// Shows an entry; `tree` is as it was before it.
    pub(crate) fn entry(&mut self, tree: &Tree, entry: &Entry) -> io::Result<()> {
        let new = entry.pos > self.start;
        self.stirred |= new && is_work(&entry.event);
        match &mut self.form {
            Form::Answers(answers) => {
                if new {
                    progress(tree, entry);
                }
                if let Some(text) = answers.take(entry).filter(|_| new) {
                    answers.print(&mut self.stdout, &text)?;
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
    pub(crate) fn activity(&self, tree: &Tree, agent: &AgentId, activity: &Activity) {
        let (Form::Answers(_), Activity::Retrying { attempt, message }) = (&self.form, activity)
        else {
            return;
        };
        if let Some(spawned) = tree.agent(agent).map(|agent| &agent.spawned) {
            let indent = "  ".repeat(spawned.depth as usize);
            let who = match spawned.depth {
                0 => spawned.definition.clone(),
                _ => format!("{} {}", spawned.definition, render::short(agent)),
            };
            let why = render::harmless(message);
            output::note(&format!(
                "{indent}{who}: {why}; trying again (attempt {attempt})"
            ));
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
            Form::Events(fold) => match fold.delta(delta, System.now()) {
                Some(event) => print(&mut self.stdout, &event),
                None => Ok(()),
            },
        }
    }

    /// Shows what a call says while it runs.
    pub(crate) fn output(&mut self, output: &Output) -> io::Result<()> {
        match &mut self.form {
            Form::Answers(_) => Ok(()),
            Form::Events(fold) => {
                let event = fold.output(output, System.now());
                print(&mut self.stdout, &event)
            }
        }
    }

    /// Shows that the tree is quiet, and how the run of the agent that was asked ended.
    pub(crate) fn quiet(&mut self, settlement: Option<&Settlement>) -> io::Result<()> {
        let answers = match &mut self.form {
            Form::Events(fold) => {
                let event = fold.idle(System.now());
                return print(&mut self.stdout, &event);
            }
            Form::Answers(answers) => answers,
        };
        let Some(settlement) = settlement else {
            return Ok(());
        };
        // Of a turn that was cut short there is what it said so far.
        if let Some(text) = answers.text.take() {
            answers.print(&mut self.stdout, &text)?;
        }
        if settlement.status != Status::Completed {
            output::complain(&render::status(&settlement.status));
        }
        Ok(())
    }
}

impl Answers {
    /// Takes an entry; returns the answer of a turn that it ends.
    fn take(&mut self, entry: &Entry) -> Option<String> {
        if entry.agent != self.agent {
            return None;
        }
        match &entry.event {
            Event::TurnStarted { prompt, .. } => {
                self.text = None;
                if prompt == &self.after {
                    self.after = None;
                }
                None
            }
            Event::Replied(message) => {
                self.text = message.text().or(self.text.take());
                None
            }
            Event::TurnEnded { end, .. } => match end {
                TurnEnd::Finished | TurnEnd::HandedBack(_) => {
                    self.text.take().filter(|_| self.after.is_none())
                }
                TurnEnd::Aborted(_) | TurnEnd::Failed { .. } | TurnEnd::Lost => None,
            },
            Event::Spawned(_)
            | Event::Prompted(_)
            | Event::Completion { .. }
            | Event::Asked { .. }
            | Event::Decided { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::Settled { .. } => None,
        }
    }

    /// Takes an entry that is old news; of a turn that still runs, its text is not.
    fn skip(&mut self, entry: &Entry) {
        drop(self.take(entry));
        if entry.agent == self.agent && matches!(entry.event, Event::TurnEnded { .. }) {
            self.text = None;
        }
    }

    /// Prints an answer, a blank line after the one before.
    fn print(&mut self, stdout: &mut Stdout, text: &str) -> io::Result<()> {
        if self.printed {
            stdout.line("")?;
        }
        self.printed = true;
        stdout.line(text)
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

/// Says on stderr that an agent started or ended.
fn progress(tree: &Tree, entry: &Entry) {
    let id = render::short(&entry.agent);
    match &entry.event {
        Event::Spawned(spawned) => {
            let Origin::Task(parent) = &spawned.origin else {
                return;
            };
            let indent = "  ".repeat(spawned.depth as usize);
            let how = if parent.background {
                " in the background"
            } else {
                ""
            };
            output::note(&format!("{indent}{} {id} started{how}", spawned.definition));
        }
        Event::Settled { settlement, .. } => {
            let Some((definition, depth)) = below(tree, &entry.agent) else {
                return;
            };
            let indent = "  ".repeat(depth as usize);
            let how = render::status(&settlement.status);
            let took = clock::span(settlement.duration_ms);
            let tokens = settlement.usage.total();
            output::note(&format!(
                "{indent}{definition} {id} {how} ({took}, {tokens} tokens)"
            ));
        }
        Event::Prompted(_)
        | Event::Completion { .. }
        | Event::TurnStarted { .. }
        | Event::Replied(_)
        | Event::Asked { .. }
        | Event::Decided { .. }
        | Event::CallStarted { .. }
        | Event::CallFinished { .. }
        | Event::TurnEnded { .. } => {}
    }
}

/// Returns the definition and the depth of a child; `None` for the root.
fn below<'a>(tree: &'a Tree, id: &AgentId) -> Option<(&'a str, u32)> {
    let spawned = &tree.agent(id)?.spawned;
    (spawned.depth > 0).then_some((spawned.definition.as_str(), spawned.depth))
}
