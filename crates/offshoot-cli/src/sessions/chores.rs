//! `sessions rename`, `summary`, `close` and `compact`: a name, what happened, a shorter conversation.
//!
//! Each is an order to whoever runs the session; if nobody does, it is carried
//! out here. Having nothing to do is no error, having failed is one.

use offshoot_engine::{NOTHING_TO_SHORTEN, query};
use offshoot_types::command::{Order, Receipt, Rename};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::AgentId;
use offshoot_types::message::Author;
use offshoot_types::tier::Tier;
use serde_json::json;

use super::order;
use crate::assemble::{self, DataFolder, Host, Models};
use crate::config::Settings;
use crate::definitions;
use crate::exit::{Code, Stop};
use crate::lookup::{self, Found, Session};
use crate::output::{self, Stdout};

/// Whether a summary that is there will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fresh {
    /// If nothing has happened since.
    IfStale,
    /// It will not.
    Always,
}

/// Gives a session a name.
pub(super) async fn rename(settings: &Settings, id: &str, title: String) -> Result<Code, Stop> {
    let folder = assemble::data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    if found.agent != *found.session.id.root() {
        let (agent, session) = (found.agent, found.session.id);
        let text = format!("{agent} is an agent of session {session}; only sessions have names");
        return Err(Stop::usage(text));
    }
    let rename = Rename {
        title,
        by: Author::Human,
    };
    let receipt = order::send(settings, &folder, found, Order::Rename(rename)).await?;
    told(&receipt, false)
}

/// Prints what happened in a session, or to an agent.
pub(super) async fn summary(
    settings: &Settings,
    id: &str,
    fresh: Fresh,
    json: bool,
) -> Result<Code, Stop> {
    let folder = assemble::data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    let agent = found.agent.clone();
    let print = |summary: &str, made: bool| {
        let mut stdout = Stdout::default();
        if json {
            let line = json!({ "agentId": agent, "summary": summary, "made": made });
            stdout.line(&line.to_string())
        } else {
            stdout.line(summary.trim_end())
        }
    };
    let known = found.session.tree.agent(&found.agent);
    let known = known.and_then(|agent| agent.summary.clone());
    let is_summary = |event: &Event| matches!(event, Event::Summarised { .. });
    let stale = has_news(&found.session, &found.agent, is_summary);
    if let Some(known) = known.filter(|_| !stale && fresh == Fresh::IfStale) {
        print(&known, false)?;
        return Ok(Code::Completed);
    }
    ready(settings, &folder, &found, "summary").await?;
    match order::send(settings, &folder, found, Order::Summarise).await? {
        Receipt::Summarised { summary } => {
            print(&summary, true)?;
            Ok(Code::Completed)
        }
        Receipt::NoEffect { why } => {
            output::complain(&format!("there is no summary: {why}"));
            Ok(Code::Failed)
        }
        receipt @ (Receipt::Opened
        | Receipt::Spawned { .. }
        | Receipt::Refused { .. }
        | Receipt::Prompted
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Promoted
        | Receipt::Answered
        | Receipt::Rewound { .. }
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
        | Receipt::Compacted { .. }
        | Receipt::Queued) => told(&receipt, json),
    }
}

/// Closes a session: a summary is written if there is news and a model for it.
pub(super) async fn close(settings: &Settings, id: &str, json: bool) -> Result<Code, Stop> {
    let folder = assemble::data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    if found.agent != *found.session.id.root() {
        let (agent, session) = (found.agent, found.session.id);
        let text = format!("{agent} is an agent of session {session}; only sessions are closed");
        return Err(Stop::usage(text));
    }
    let receipt = order::send(settings, &folder, found, Order::Close).await?;
    let text = match &receipt {
        Receipt::Summarised { .. } => "closed; its summary is written".to_owned(),
        Receipt::NoEffect { why } => format!("closed without a new summary: {why}"),
        _ => return told(&receipt, json),
    };
    let mut stdout = Stdout::default();
    if json {
        let line = json!({ "status": "closed", "receipt": receipt });
        stdout.line(&line.to_string())?;
    } else {
        stdout.line(&text)?;
    }
    Ok(Code::Completed)
}

/// Puts a summary in the place of what was said.
pub(super) async fn compact(settings: &Settings, id: &str, json: bool) -> Result<Code, Stop> {
    let folder = assemble::data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    let is_compaction = |event: &Event| matches!(event, Event::Compacted(_));
    let news = has_news(&found.session, &found.agent, is_compaction);
    ready(settings, &folder, &found, "compaction").await?;
    let receipt = order::send(settings, &folder, found, Order::Compact).await?;
    let (text, code) = match &receipt {
        Receipt::Compacted { summary_tokens } => {
            let text = format!("compacted: the summary has {summary_tokens} tokens");
            (text, Code::Completed)
        }
        // Nothing to shorten is not a failure.
        Receipt::NoEffect { why } if !news || why == NOTHING_TO_SHORTEN => {
            (format!("not compacted: {why}"), Code::Completed)
        }
        Receipt::NoEffect { why } => (format!("not compacted: {why}"), Code::Failed),
        Receipt::Opened
        | Receipt::Spawned { .. }
        | Receipt::Refused { .. }
        | Receipt::Prompted
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Promoted
        | Receipt::Answered
        | Receipt::Rewound { .. }
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
        | Receipt::Summarised { .. }
        | Receipt::Queued => return told(&receipt, json),
    };
    let mut stdout = Stdout::default();
    if json {
        let line = json!({ "status": text, "receipt": receipt });
        stdout.line(&line.to_string())?;
    } else if code == Code::Failed {
        output::complain(&text);
    } else {
        stdout.line(&text)?;
    }
    Ok(code)
}

/// Says what became of an order that has no words of its own.
fn told(receipt: &Receipt, json: bool) -> Result<Code, Stop> {
    let mut stdout = Stdout::default();
    let queued = if json {
        json!({ "status": "queued", "receipt": receipt }).to_string()
    } else {
        "queued".to_owned()
    };
    match receipt {
        Receipt::Renamed => stdout.line("renamed")?,
        Receipt::Queued => stdout.line(&queued)?,
        Receipt::NoEffect { why } => {
            output::complain(why);
            return Ok(Code::Failed);
        }
        Receipt::Opened
        | Receipt::Spawned { .. }
        | Receipt::Refused { .. }
        | Receipt::Prompted
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Promoted
        | Receipt::Answered
        | Receipt::Rewound { .. }
        | Receipt::Resumed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
        | Receipt::Summarised { .. }
        | Receipt::Compacted { .. } => {}
    }
    Ok(Code::Completed)
}

/// Fails if the helper or the models cannot be asked that would be, where it is this process that
/// asks them.
async fn ready(
    settings: &Settings,
    folder: &DataFolder,
    found: &Found,
    helper: &str,
) -> Result<(), Stop> {
    let is_owned = query::IsOwned(found.session.id.clone());
    if folder.runtime.query(is_owned).await? {
        return Ok(());
    }
    let host = Host::of(settings);
    let Some(model) = found.session.model() else {
        return Ok(());
    };
    let mut models = Models::load(model, settings)?.with_choices(settings, &host)?;
    let agents = definitions::load(settings, found.session.workspace(), &mut models);
    definitions::refuse(&agents, helper)?;
    definitions::warn(&agents);
    if models.choices().tier(Tier::Small).is_none() {
        assemble::check(model, &host)?;
    }
    Ok(())
}

/// Tells whether an agent, or one below it, has done or heard anything since the last mark.
fn has_news(session: &Session, agent: &AgentId, is_mark: impl Fn(&Event) -> bool) -> bool {
    let below = session.tree.below(agent);
    let theirs = |entry: &&Entry| below.contains(&&entry.agent);
    let log = session.log.iter().rev().filter(theirs);
    let mut since = log.take_while(|entry| entry.agent != *agent || !is_mark(&entry.event));
    since.any(|entry| match &entry.event {
        Event::Spawned(_)
        | Event::Titled { .. }
        | Event::Summarised { .. }
        | Event::ClientTools { .. }
        | Event::RoleChosen(_)
        | Event::Hooked(_)
        | Event::Compacted(_) => false,
        Event::Prompted(_)
        | Event::Completion { .. }
        | Event::TurnStarted { .. }
        | Event::Became(_)
        | Event::Steered { .. }
        | Event::Replied(_)
        | Event::Asked { .. }
        | Event::Decided { .. }
        | Event::CallStarted { .. }
        | Event::CallFinished { .. }
        | Event::TurnEnded { .. }
        | Event::Settled { .. }
        | Event::Rewound { .. } => true,
    })
}
