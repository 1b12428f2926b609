//! `sessions rewind` and `fork`: taking back what was said, and going on from it elsewhere.
//!
//! A rewind is an order to whoever runs the session. A fork only reads it: the
//! copy is a session of this process until it is let go, which is at once.

use offshoot_engine::Ending;
use offshoot_types::command::{Command, Fork, Order, Receipt, Rewind};
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, CommandId, MessageId, TreeId};
use offshoot_types::message::{Author, UserMessage};
use offshoot_types::transcript::{Item, Transcript};
use serde_json::json;

use super::order;
use crate::assemble::{self, Host, Models};
use crate::config::Settings;
use crate::env::System;
use crate::exit::Stop;
use crate::lookup::{self, Found};
use crate::output::{self, Stdout};
use crate::signals::Signals;
use crate::{definitions, drive, logging, render};

/// How far to go back.
pub(super) enum Back {
    /// To this message, which stays.
    To(String),
    /// Before the prompt that is so many from the last.
    Prompts(usize),
}

/// Takes back what was said last in a session, or by one of its agents.
pub(super) async fn rewind(
    settings: &Settings,
    id: &str,
    back: Back,
    json: bool,
) -> Result<(), Stop> {
    let folder = assemble::data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    let Found { agent, session } = &found;
    let talk = session.conversation(agent)?;
    let to = match back {
        Back::To(part) => Some(lookup::message(&talk, &part)?),
        Back::Prompts(count) => before_prompt(session.waiting(agent), &talk, count)?,
    };
    let prompt = first_prompt(session.waiting(agent), &talk, to.as_ref());
    let prompt = prompt.map(|prompt| prompt.text.clone());
    let agent = agent.clone();
    let order = Order::Rewind(Rewind { to });
    let receipt = order::send(settings, &folder, found, order).await?;
    let hidden = match &receipt {
        Receipt::Rewound { hidden } => Some(*hidden),
        Receipt::NoEffect { why } => {
            let text = format!("nothing of {agent} was taken back: {why}");
            return Err(Stop::usage(text));
        }
        Receipt::Queued
        | Receipt::Opened
        | Receipt::Spawned { .. }
        | Receipt::Refused { .. }
        | Receipt::Prompted
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Promoted
        | Receipt::Answered
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
        | Receipt::Summarised { .. }
        | Receipt::Compacted { .. } => None,
    };
    let mut stdout = Stdout::default();
    if json {
        let status = if hidden.is_some() {
            "rewound"
        } else {
            "queued"
        };
        // What will be taken back is up to whoever runs it: more may have been said by then.
        let prompt = prompt.filter(|_| hidden.is_some());
        let line = json!({ "status": status, "receipt": receipt, "prompt": prompt });
        return Ok(stdout.line(&line.to_string())?);
    }
    match hidden {
        None => {
            stdout.line("queued")?;
            output::note("another process runs the session; it takes back what it can when it can");
            return Ok(());
        }
        Some(1) => stdout.line("1 message hidden")?,
        Some(many) => stdout.line(&format!("{many} messages hidden"))?,
    }
    if let Some(prompt) = prompt {
        stdout.line(&render::harmless_lines(prompt.trim_end()))?;
    }
    Ok(())
}

/// Copies a session and prints the id of the copy.
pub(super) async fn fork(
    settings: &Settings,
    id: &str,
    at: Option<String>,
    json: bool,
) -> Result<(), Stop> {
    let mut signals = Signals::listen()?;
    let folder = assemble::data_folder(settings)?;
    let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
    let at = match at {
        Some(part) => Some(lookup::message(&session.conversation(&agent)?, &part)?),
        None => None,
    };
    let models = session.model().map(|model| Models::load(model, settings));
    let mut models = models.and_then(Result::ok).unwrap_or_default();
    let agents = definitions::load(settings, session.workspace(), &mut models);
    let workspace = session.workspace().unwrap_or_default();
    let host = Host::of(settings).working_in(settings, workspace);
    folder.use_projects(assemble::project(&models, agents.registry(), host));
    let copy = AgentId::new(System.new_id());
    let command = Command {
        id: CommandId::new(System.new_id()),
        tree: TreeId::of(copy.clone()),
        agent: copy.clone(),
        order: Order::Fork(Fork {
            of: agent.clone(),
            at,
            metadata: None,
        }),
    };
    logging::sent(&command);
    let receipt = folder.runtime.command(command).await;
    drive::leave(folder.runtime.shutdown(Ending::WhenQuiet), &mut signals).await;
    receipt?;
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&json!({ "sessionId": copy, "copyOf": agent }).to_string())?;
    } else {
        stdout.line(copy.as_str())?;
        output::note(&format!(
            "a copy of {agent}; go on with: offshoot run --session {copy} PROMPT"
        ));
    }
    Ok(())
}

/// Returns what stays if so many prompts are taken back; `None` if nothing does.
fn before_prompt(
    waiting: Vec<&UserMessage>,
    talk: &Transcript,
    count: usize,
) -> Result<Option<MessageId>, Stop> {
    let items = talk.items();
    let is_prompt = |item: &&Item| matches!(item, Item::User(message) if is_asked(message));
    let asked = items.iter().filter(is_prompt).count();
    let all = asked + waiting.len();
    if count > all {
        let text = match all {
            0 => "nothing was asked yet that could be taken back".to_owned(),
            1 => "only 1 prompt can be taken back".to_owned(),
            all => format!("only {all} prompts can be taken back"),
        };
        return Err(Stop::usage(text));
    }
    // Those that wait came last.
    let Some(left) = count.checked_sub(waiting.len()).filter(|left| *left > 0) else {
        return Ok(items.last().map(|item| item.id().clone()));
    };
    let places = items.iter().enumerate().rev();
    let mut prompts = places.filter(|(_, item)| is_prompt(item));
    let first = prompts.nth(left - 1).map_or(0, |(place, _)| place);
    Ok(first.checked_sub(1).map(|last| items[last].id().clone()))
}

/// Returns the first prompt after a message.
fn first_prompt<'a>(
    waiting: Vec<&'a UserMessage>,
    talk: &'a Transcript,
    to: Option<&MessageId>,
) -> Option<&'a UserMessage> {
    let items = talk.items();
    let last = to.and_then(|to| items.iter().position(|item| item.id() == to));
    let after = items.iter().skip(last.map_or(0, |last| last + 1));
    let mut said = after.filter_map(|item| match item {
        Item::User(message) => Some(message).filter(|message| is_asked(message)),
        Item::Completion(_) | Item::Assistant(_) | Item::Compacted(_) => None,
    });
    said.next().or_else(|| waiting.into_iter().next())
}

/// Tells whether somebody asked it, and not the runtime itself.
fn is_asked(message: &UserMessage) -> bool {
    match message.from {
        Author::Human | Author::Parent => true,
        Author::Host => false,
    }
}
