//! `offshoot sessions`: looks at sessions, and talks to them.
//!
//! Looking never claims a session and never starts a turn. Talking goes to
//! whoever runs the session; if nobody does, it is run here.

mod attach;
mod chores;
mod export;
mod files;
mod list;
mod order;
pub(crate) mod remove;
mod request;
mod rewind;
mod wait;

pub(crate) use order::send_as;

use std::collections::HashSet;
use std::ffi::OsString;

use offshoot_copilot::Fold;
use offshoot_engine::query;
use offshoot_types::command::Scope;
use offshoot_types::id::AgentId;
use offshoot_types::tree::Tree;

use crate::assemble::{self, Answered as _, Host, Models};
use crate::cli::{Sessions, SessionsCommand};
use crate::config::Settings;
use crate::drive::{self, Elsewhere, Inquiry, Talk};
use crate::exit::{Code, Stop};
use crate::face::Face;
use crate::lookup::{self, Found, Session};
use crate::output::Stdout;
use crate::render::Length;
use crate::signals::Signals;
use crate::{clock, definitions, hooks, prompt, render, terminal, tree_view};

/// Carries out `offshoot sessions …`.
pub(crate) async fn sessions(args: Sessions, settings: &Settings) -> Result<Code, Stop> {
    match args.command {
        SessionsCommand::List(list) => {
            let json = list.json;
            list::list(settings, list.query(), json).await?;
        }
        SessionsCommand::Show {
            id,
            full,
            request,
            json,
        } => {
            let length = if full { Length::Full } else { Length::Cut };
            match request {
                Some(wanted) => request::request(settings, &id, &wanted, json).await?,
                None => show(settings, &id, length, json).await?,
            }
        }
        SessionsCommand::Tree { id, json } => tree(settings, &id, json).await?,
        SessionsCommand::Attach {
            id,
            from_start,
            json,
        } => {
            let from = if from_start {
                attach::From::Start
            } else {
                attach::From::Now
            };
            return attach::attach(settings, &id, from, json).await;
        }
        SessionsCommand::Message {
            id,
            text,
            consent,
            waiting,
            trusting: _,
            json,
        } => {
            let host = |host: Host, can_ask| host.asking(consent, can_ask).waiting(waiting);
            return message(settings, &id, text, host, json).await;
        }
        SessionsCommand::Cancel { id, turn, json } => {
            let scope = if turn { Scope::Turn } else { Scope::Run };
            order::cancel(settings, &id, scope, json).await?;
        }
        SessionsCommand::Export { id, format } => export::export(settings, &id, format).await?,
        SessionsCommand::Diff { id } => files::diff(settings, &id).await?,
        SessionsCommand::Revert { id, dry_run } => {
            return files::revert(settings, &id, dry_run).await;
        }
        SessionsCommand::Rewind {
            id,
            to,
            prompts,
            json,
        } => {
            let back = match to {
                Some(to) => rewind::Back::To(to),
                None => rewind::Back::Prompts(prompts as usize),
            };
            rewind::rewind(settings, &id, back, json).await?;
        }
        SessionsCommand::Fork { id, at, json } => rewind::fork(settings, &id, at, json).await?,
        SessionsCommand::Rm { ids, consent } => {
            return remove::remove(settings, &ids, consent).await;
        }
        SessionsCommand::Wait {
            ids,
            any,
            timeout,
            json,
        } => {
            let until = if any {
                wait::Until::Any
            } else {
                wait::Until::All
            };
            return wait::wait(settings, &ids, until, timeout, json).await;
        }
        SessionsCommand::Rename { id, title } => return chores::rename(settings, &id, title).await,
        SessionsCommand::Summary { id, fresh, json } => {
            let fresh = if fresh {
                chores::Fresh::Always
            } else {
                chores::Fresh::IfStale
            };
            return chores::summary(settings, &id, fresh, json).await;
        }
        SessionsCommand::Close { id, json } => return chores::close(settings, &id, json).await,
        SessionsCommand::Compact { id, json } => return chores::compact(settings, &id, json).await,
        SessionsCommand::Promote { id, json } => order::promote(settings, &id, json).await?,
    }
    Ok(Code::Completed)
}

async fn show(settings: &Settings, id: &str, length: Length, json: bool) -> Result<(), Stop> {
    let folder = assemble::kept_data_folder(settings)?;
    let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
    let mut shown: HashSet<&AgentId> = session.tree.below(&agent).into_iter().collect();
    // What is done for an agent belongs to it. A program is told that in few events, a person in as
    // many lines as there are entries.
    if json || length == Length::Full {
        let helpers = session.tree.helpers().iter();
        let theirs = helpers.filter(|id| is_for(&session.tree, id, &shown));
        shown.extend(theirs.collect::<Vec<_>>());
    }
    let hidden = session.hidden();
    let mut stdout = Stdout::default();
    let mut fold = Fold::new(session.id.clone());
    let mut day = String::new();
    for entry in &session.log {
        let lines = if json {
            let events = fold.entry(entry).into_iter();
            let stored = events.filter(|event| event.ephemeral.is_none());
            let lines: Result<Vec<String>, _> =
                stored.map(|event| serde_json::to_string(&event)).collect();
            lines.map_err(std::io::Error::from)?
        } else {
            let mut lines = render::lines(entry, length);
            if let (Some(first), true) = (lines.first_mut(), hidden.has(entry)) {
                first.push_str(" [taken back]");
            }
            lines
        };
        if shown.contains(&entry.agent) {
            let date = clock::date(entry.at);
            if !json && date != day {
                stdout.line(&format!("{date} UTC"))?;
                day = date;
            }
            for line in lines {
                stdout.line(&line)?;
            }
        }
        if stdout.is_closed() {
            break;
        }
    }
    if json {
        return Ok(());
    }
    export::note_cut_rows(&folder.runtime, &session, &shown).await
}

async fn tree(settings: &Settings, id: &str, json: bool) -> Result<(), Stop> {
    let folder = assemble::kept_data_folder(settings)?;
    let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
    let is_owned = query::IsOwned(session.id.clone());
    let owned = folder.runtime.query(is_owned).await?;
    let mut stdout = Stdout::default();
    let lines = tree_view::lines(&session, &agent, (owned, next(settings, &session)));
    if json {
        for line in lines {
            stdout.line(&line.json().to_string())?;
        }
        return Ok(());
    }
    let width = terminal::width(&std::io::stdout());
    let sums = [tree_view::helped(&lines), tree_view::total(&lines)];
    let sums = sums.into_iter().flatten().map(|text| match width {
        Some(width) => terminal::cut(&text, width),
        None => text,
    });
    for text in tree_view::texts(&lines, width).into_iter().chain(sums) {
        stdout.line(&text)?;
    }
    Ok(())
}

/// Returns what agents of a session wait for that have a turn and no call.
fn next(settings: &Settings, session: &Session) -> tree_view::Next {
    let workspace = session.workspace().unwrap_or_default();
    if hooks::used(settings, workspace).is_empty() {
        tree_view::Next::Model
    } else {
        tree_view::Next::ModelOrHooks
    }
}

async fn message(
    settings: &Settings,
    id: &str,
    text: OsString,
    asking: impl FnOnce(Host, bool) -> Host,
    json: bool,
) -> Result<Code, Stop> {
    // Before signals are listened to: who types a prompt and presses Ctrl-C means to leave.
    let text = prompt::read(text)?;
    let mut signals = Signals::listen()?;
    let folder = assemble::data_folder(settings)?;
    let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
    let face = Face::of(json, settings);
    let host = asking(Host::of(settings), face.can_ask());
    let mut models = match session.model() {
        Some(model) => Models::load(model, settings)?.with_choices(settings, &host)?,
        None => Models::default(),
    };
    let agents = definitions::load(settings, session.workspace(), &mut models);
    definitions::warn(&agents);
    let workspace = session.workspace().unwrap_or_default();
    hooks::warn(settings, workspace, &agents);
    let ends = hooks::at_end(settings, workspace);
    let host = host.working_in(settings, workspace);
    folder.use_projects(assemble::project(&models, agents.registry(), host));
    let view = face.open(settings, &session.id, &agent)?;
    let inquiry = Inquiry {
        last: None,
        session,
        agent,
        prompt: Some(text),
        attachments: Vec::new(),
        swap: None,
        elsewhere: Elsewhere::Leave,
        talk: Talk::Once,
        waits_for_clients: face.can_ask(),
        ends,
    };
    drive::drive(folder.runtime, inquiry, view, &mut signals).await
}

/// Tells whether a helper works for one of these agents.
fn is_for(tree: &Tree, helper: &AgentId, agents: &HashSet<&AgentId>) -> bool {
    let helper = tree.agent(helper).and_then(|agent| agent.spawned.helper());
    helper.is_some_and(|helper| agents.contains(&helper.of))
}
