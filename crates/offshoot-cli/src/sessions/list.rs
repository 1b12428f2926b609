//! `sessions list`: a line for each session, as wide as the screen.
//!
//! On a narrow screen folders go, then ids are shown by their last characters, by which they are
//! found as well; whoever pipes the list gets everything.

use std::collections::HashSet;
use std::io;

use offshoot_engine::{Runtime, query};
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, Timestamp};
use offshoot_types::listing::SessionQuery;
use offshoot_types::store::SessionSummary;
use serde_json::json;

use crate::config::Settings;
use crate::env::System;
use crate::exit::Stop;
use crate::output::Stdout;
use crate::{assemble, clock, output, render, table, terminal};

const HEAD: [&str; 6] = ["ID", "AGENT", "STATUS", "AGE", "FOLDER", "TITLE"];

/// What is left where folders do not fit.
const NARROW: [&str; 5] = ["ID", "AGENT", "STATUS", "AGE", "TITLE"];

/// The least that is worth showing of a title, before ids are cut.
const LEAST_TITLE: usize = 16;

/// Lists sessions, the one that changed last first.
pub(super) async fn list(
    settings: &Settings,
    wanted: SessionQuery,
    json: bool,
) -> Result<(), Stop> {
    if let Some(nothing) = assemble::nothing_in(&settings.data_dir.value) {
        output::note(&nothing);
        return Ok(());
    }
    let runtime = assemble::data_folder(settings)?.runtime;
    let is_searched = wanted.search.is_some();
    let page = runtime.query(query::Sessions(wanted)).await?;
    let sessions = page.sessions;
    let asleep = asleep(&runtime).await?;
    let mut stdout = Stdout::default();
    if json {
        for session in &sessions {
            stdout.line(&session_json(session, &asleep).to_string())?;
        }
    } else if sessions.is_empty() {
        output::note(if is_searched {
            "no session has this text in its title"
        } else {
            "there are no sessions yet"
        });
    } else {
        let width = terminal::width(&io::stdout());
        for line in lines(&sessions, &asleep, System.now(), width) {
            stdout.line(&line)?;
        }
    }
    if page.next.is_some() {
        output::note("there are more sessions; list them with a larger --limit");
    }
    Ok(())
}

/// Returns the sessions that wait for an answer and that nobody runs. What a child asked died with
/// its process; what a root asked waits (R16).
async fn asleep(runtime: &Runtime) -> Result<HashSet<AgentId>, Stop> {
    let asks = runtime.query(query::Inbox).await?.into_iter();
    let asleep = asks.filter(|ask| !ask.owned && ask.path.len() == 1);
    Ok(asleep.map(|ask| ask.agent).collect())
}

fn lines(
    sessions: &[SessionSummary],
    asleep: &HashSet<AgentId>,
    now: Timestamp,
    width: Option<usize>,
) -> Vec<String> {
    let rows = sessions.iter().map(|session| row(session, asleep, now));
    let rows: Vec<[String; 6]> = rows.collect();
    let Some(width) = width else {
        return table::lines(HEAD, &rows, None);
    };
    if table::fits(HEAD, &rows, LEAST_TITLE, width) {
        return table::lines(HEAD, &rows, Some(width));
    }
    let cut = |[id, agent, status, age, _, title]: [String; 6]| [id, agent, status, age, title];
    let mut rows: Vec<[String; 5]> = rows.into_iter().map(cut).collect();
    if !table::fits(NARROW, &rows, LEAST_TITLE, width) {
        for (row, session) in rows.iter_mut().zip(sessions) {
            row[0] = render::short(&session.agent);
        }
    }
    table::lines(NARROW, &rows, Some(width))
}

fn row(session: &SessionSummary, asleep: &HashSet<AgentId>, now: Timestamp) -> [String; 6] {
    [
        session.agent.to_string(),
        agent(session),
        status(session, asleep).to_owned(),
        clock::age(session.updated_at, now),
        session.workspace.clone(),
        session.title.clone(),
    ]
    .map(|cell| render::harmless(&cell))
}

/// Returns the agent of a session, and which one has the word where that is another.
fn agent(session: &SessionSummary) -> String {
    let SessionSummary {
        definition, now, ..
    } = session;
    if definition == now {
        definition.clone()
    } else {
        format!("{definition}, now {now}")
    }
}

fn session_json(session: &SessionSummary, asleep: &HashSet<AgentId>) -> serde_json::Value {
    json!({
        "sessionId": session.agent,
        "parentId": session.parent,
        "agent": session.definition,
        "agentNow": session.now,
        "status": status(session, asleep),
        "title": session.title,
        "cwd": session.workspace,
        "agents": session.agents,
        "openRuns": session.open_runs,
        "owned": session.owned,
        "archivedTime": session.archived_at.map(clock::iso),
        "startTime": clock::iso(session.created_at),
        "modifiedTime": clock::iso(session.updated_at),
    })
}

/// Returns the word for what a session is doing.
fn status<'a>(session: &'a SessionSummary, asleep: &HashSet<AgentId>) -> &'a str {
    match (session.open_runs, session.owned) {
        _ if session.archived_at.is_some() => "archived",
        (0, _) => session.status.as_deref().unwrap_or("new"),
        (_, true) => "running",
        (_, false) if asleep.contains(&session.agent) => "waits",
        (_, false) => "interrupted",
    }
}
