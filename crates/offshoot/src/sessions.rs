//! `offshoot sessions`: looks at sessions, and talks to them.
//!
//! Looking never claims a session and never starts a turn. Talking goes to
//! whoever runs the session; if nobody does, it is run here.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use offshoot_types::command::{Command, Order, Receipt, Scope};
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, CommandId, Timestamp};
use offshoot_types::settlement::Settlement;
use offshoot_types::store::SessionSummary;
use offshoot_types::tree::Tree;
use serde_json::json;

use crate::assemble::{self, Models};
use crate::cli::{Sessions, SessionsCommand};
use crate::drive::{self, Elsewhere, Errand};
use crate::env::System;
use crate::exit::{Code, Stop};
use crate::json_events::Fold;
use crate::lookup::{self, Found};
use crate::output::Stdout;
use crate::render::Length;
use crate::signals::Signals;
use crate::{clock, output, prompt, render, run, tree_view};

/// Carries out `offshoot sessions …`.
pub(crate) async fn sessions(args: Sessions, data_dir: &Path) -> Result<Code, Stop> {
    match args.command {
        SessionsCommand::List { json } => list(data_dir, json).await?,
        SessionsCommand::Show { id, full, json } => {
            let length = if full { Length::Full } else { Length::Cut };
            show(data_dir, &id, length, json).await?;
        }
        SessionsCommand::Tree { id, json } => tree(data_dir, &id, json).await?,
        SessionsCommand::Message { id, text, json } => {
            return message(data_dir, &id, text, json).await;
        }
        SessionsCommand::Cancel { id, turn, json } => {
            let scope = if turn { Scope::Turn } else { Scope::Run };
            cancel(data_dir, &id, scope, json).await?;
        }
    }
    Ok(Code::Completed)
}

async fn list(data_dir: &Path, json: bool) -> Result<(), Stop> {
    let sessions = assemble::store(data_dir)?.sessions().await?;
    let mut stdout = Stdout::default();
    if json {
        for session in &sessions {
            stdout.line(&session_json(session).to_string())?;
        }
        return Ok(());
    }
    if sessions.is_empty() {
        output::note("there are no sessions yet");
        return Ok(());
    }
    let now = System.now();
    let rows: Vec<[String; 5]> = sessions.iter().map(|session| row(session, now)).collect();
    for line in table(["ID", "AGENT", "STATUS", "AGE", "TITLE"], &rows) {
        stdout.line(&line)?;
    }
    Ok(())
}

fn row(session: &SessionSummary, now: Timestamp) -> [String; 5] {
    [
        session.tree.to_string(),
        session.definition.clone(),
        status(session).to_owned(),
        clock::age(session.updated_at, now),
        session.title.clone(),
    ]
    .map(|cell| render::harmless(&cell))
}

fn session_json(session: &SessionSummary) -> serde_json::Value {
    json!({
        "sessionId": session.tree,
        "agent": session.definition,
        "status": status(session),
        "title": session.title,
        "cwd": session.workspace,
        "agents": session.agents,
        "openRuns": session.open_runs,
        "owned": session.owned,
        "startTime": clock::iso(session.created_at),
        "modifiedTime": clock::iso(session.updated_at),
    })
}

/// Returns the word for what a session is doing.
fn status(session: &SessionSummary) -> &str {
    match (session.open_runs, session.owned) {
        (0, _) => session.status.as_deref().unwrap_or("new"),
        (_, true) => "running",
        (_, false) => "interrupted",
    }
}

/// Aligns cells in columns; the last may be as long as it likes.
fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let head = head.map(str::to_owned);
    let all = || std::iter::once(&head).chain(rows);
    let mut widths = [0; N];
    for row in all() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let padded: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    all().map(line).collect()
}

async fn show(data_dir: &Path, id: &str, length: Length, json: bool) -> Result<(), Stop> {
    let store = assemble::store(data_dir)?;
    let Found { agent, session } = lookup::find(store.as_ref(), id).await?;
    let shown: HashSet<&AgentId> = session.tree.below(&agent).into_iter().collect();
    let mut stdout = Stdout::default();
    let mut fold = Fold::new(session.id.clone());
    for entry in &session.log {
        let lines = if json {
            let events = fold.entry(entry).into_iter();
            let stored = events.filter(|event| event.ephemeral.is_none());
            let lines: Result<Vec<String>, _> =
                stored.map(|event| serde_json::to_string(&event)).collect();
            lines.map_err(std::io::Error::from)?
        } else {
            vec![render::line(entry, length)]
        };
        if shown.contains(&entry.agent) {
            for line in lines {
                stdout.line(&line)?;
            }
        }
    }
    Ok(())
}

async fn tree(data_dir: &Path, id: &str, json: bool) -> Result<(), Stop> {
    let store = assemble::store(data_dir)?;
    let Found { agent, session } = lookup::find(store.as_ref(), id).await?;
    let summaries = store.sessions().await?;
    let mut summaries = summaries.iter();
    let owned = summaries.any(|summary| summary.tree == session.id && summary.owned);
    let mut stdout = Stdout::default();
    for line in tree_view::lines(&session, &agent, owned) {
        if json {
            stdout.line(&line.json().to_string())?;
        } else {
            stdout.line(&line.text())?;
        }
    }
    Ok(())
}

async fn message(data_dir: &Path, id: &str, text: OsString, json: bool) -> Result<Code, Stop> {
    let signals = Signals::listen()?;
    let text = prompt::read(text)?;
    let store = assemble::store(data_dir)?;
    let Found { agent, session } = lookup::find(store.as_ref(), id).await?;
    let models = match session.model() {
        Some(model) => Models::load(model)?,
        None => Models::default(),
    };
    let runtime = assemble::runtime(store, models);
    let errand = Errand {
        view: run::view(json, &session.id, &agent),
        session,
        agent,
        prompt: Some(text),
        elsewhere: Elsewhere::Leave,
    };
    drive::drive(runtime, errand, signals).await
}

async fn cancel(data_dir: &Path, id: &str, scope: Scope, json: bool) -> Result<(), Stop> {
    let mut signals = Signals::listen()?;
    let store = assemble::store(data_dir)?;
    let Found { agent, session } = lookup::find(store.as_ref(), id).await?;
    // Stopping needs no model. One that is there is used by what else may be waiting in the session.
    let models = session.model().map(Models::load);
    let models = models.and_then(Result::ok).unwrap_or_default();
    let runtime = assemble::runtime(store, models);
    let ended = ended(&session.tree, &agent);
    let command = Command {
        id: CommandId::new(System.new_id()),
        tree: session.id,
        agent,
        order: Order::Cancel(scope),
    };
    let receipt = runtime.command(command).await;
    drive::leave(runtime, offshoot_engine::Ending::WhenQuiet, &mut signals).await;
    let receipt = receipt?;
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&json!({ "status": word(&receipt), "receipt": receipt }).to_string())?;
        return Ok(());
    }
    match (&receipt, ended) {
        (Receipt::Settled(settlement), Some(before)) if *settlement == *before => {
            stdout.line(&too_late(settlement))?;
        }
        (Receipt::NoEffect { .. }, Some(before)) => stdout.line(&too_late(&before))?,
        (Receipt::NoEffect { why }, None) => {
            stdout.line(word(&receipt))?;
            output::complain(why);
        }
        (
            Receipt::Settled(_)
            | Receipt::TurnCancelled
            | Receipt::Queued
            | Receipt::Opened
            | Receipt::Prompted
            | Receipt::Promoted
            | Receipt::Answered
            | Receipt::Resumed,
            _,
        ) => stdout.line(word(&receipt))?,
    }
    Ok(())
}

/// Returns how an agent ended; `None` while it or anything below it runs, or before its first run.
fn ended(tree: &Tree, id: &AgentId) -> Option<Arc<Settlement>> {
    let below = tree.below(id).into_iter();
    let mut agents = below.filter_map(|id| tree.agent(id));
    if agents.any(|agent| agent.open_run().is_some()) {
        return None;
    }
    tree.agent(id)?.settlement().cloned()
}

fn too_late(settlement: &Settlement) -> String {
    let word = settlement.status.word();
    format!("nothing to cancel: it had ended ({word})")
}

/// Returns the word for what became of a cancel.
fn word(receipt: &Receipt) -> &'static str {
    match receipt {
        Receipt::Settled(settlement) => settlement.status.word(),
        Receipt::TurnCancelled => "turn cancelled",
        Receipt::Queued => "queued",
        Receipt::NoEffect { .. }
        | Receipt::Opened
        | Receipt::Prompted
        | Receipt::Promoted
        | Receipt::Answered
        | Receipt::Resumed => "nothing to cancel",
    }
}
