//! What a person, or a program, sees of a tree that is followed.
//!
//! Either the answer on stdout with a line on stderr for each agent that starts
//! or ends, or every event on stdout as JSON. Entries from before the view began
//! are folded and not shown.

use std::io;

use offshoot_engine::Delta;
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::{AgentId, Pos};
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
    stdout: Stdout,
}

enum Form {
    Answer,
    Events(Box<Fold>),
}

impl View {
    /// Shows the answer, and progress on stderr.
    pub(crate) fn answer() -> Self {
        Self::of(Form::Answer)
    }

    /// Shows every event.
    pub(crate) fn events(fold: Fold) -> Self {
        Self::of(Form::Events(Box::new(fold)))
    }

    fn of(form: Form) -> Self {
        Self {
            form,
            start: Pos::ZERO,
            stdout: Stdout::default(),
        }
    }

    /// Takes what happened before.
    pub(crate) fn before(&mut self, log: &[Entry]) {
        for entry in log {
            if let Form::Events(fold) = &mut self.form {
                fold.entry(entry);
            }
            self.start = entry.pos;
        }
    }

    /// Shows an entry; `tree` is as it was before it.
    pub(crate) fn entry(&mut self, tree: &Tree, entry: &Entry) -> io::Result<()> {
        match &mut self.form {
            Form::Answer if entry.pos > self.start => progress(tree, entry),
            Form::Answer => {}
            Form::Events(fold) => {
                let events = fold.entry(entry);
                if entry.pos > self.start {
                    for event in &events {
                        print(&mut self.stdout, event)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Shows a piece of a message that is not committed yet.
    pub(crate) fn delta(&mut self, delta: &Delta) -> io::Result<()> {
        match &mut self.form {
            Form::Answer => Ok(()),
            Form::Events(fold) => match fold.delta(delta, System.now()) {
                Some(event) => print(&mut self.stdout, &event),
                None => Ok(()),
            },
        }
    }

    /// Shows that the tree is quiet, and how the run of the agent that was asked ended.
    pub(crate) fn quiet(&mut self, settlement: Option<&Settlement>) -> io::Result<()> {
        if let Form::Events(fold) = &mut self.form {
            let event = fold.idle(System.now());
            return print(&mut self.stdout, &event);
        }
        let Some(settlement) = settlement else {
            return Ok(());
        };
        if let Some(output) = &settlement.output {
            self.stdout.line(output)?;
        }
        if let Some(reason) = settlement.status.reason() {
            let word = settlement.status.word();
            let word = match settlement.status {
                Status::Cancelled(_) => String::new(),
                Status::Completed
                | Status::Partial(_)
                | Status::Failed { .. }
                | Status::BudgetExhausted(_)
                | Status::Denied { .. }
                | Status::Lost { .. } => format!("{word}: "),
            };
            output::complain(&format!("{word}{}", render::harmless(&reason)));
        }
        Ok(())
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
            let word = settlement.status.word();
            let took = clock::span(settlement.duration_ms);
            let tokens = settlement.usage.total();
            output::note(&format!(
                "{indent}{definition} {id} {word} ({took}, {tokens} tokens)"
            ));
        }
        Event::Prompted(_)
        | Event::Completion { .. }
        | Event::TurnStarted { .. }
        | Event::Replied(_)
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
