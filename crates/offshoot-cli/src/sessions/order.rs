//! `sessions cancel` and `promote`: one order to one agent, and what became of it.
//!
//! An order goes to whoever runs the session. Having nothing to do is no error:
//! what was wanted is the case.

use std::sync::Arc;

use offshoot_engine::{Ending, query};
use offshoot_types::command::{Command, Order, Receipt, Scope};
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, CommandId};
use offshoot_types::settlement::Settlement;
use offshoot_types::tree::Tree;
use serde_json::json;

use crate::assemble::{self, DataFolder, Host, Models};
use crate::config::Settings;
use crate::env::System;
use crate::exit::Stop;
use crate::lookup::{self, Found};
use crate::output::{self, Stdout};
use crate::signals::Signals;
use crate::{definitions, drive, logging};

/// Stops a session or an agent.
pub(super) async fn cancel(
    settings: &Settings,
    id: &str,
    scope: Scope,
    json: bool,
) -> Result<(), Stop> {
    let folder = assemble::data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    let ended = ended(&found.session.tree, &found.agent);
    let receipt = send(settings, &folder, found, Order::Cancel(scope)).await?;
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
            output::note(why);
        }
        (
            Receipt::Settled(_)
            | Receipt::TurnCancelled
            | Receipt::Queued
            | Receipt::Opened
            | Receipt::Spawned { .. }
            | Receipt::Refused { .. }
            | Receipt::Prompted
            | Receipt::Promoted
            | Receipt::Answered
            | Receipt::Rewound { .. }
            | Receipt::Resumed
            | Receipt::Renamed
            | Receipt::ClientToolsSet
            | Receipt::RoleSet
            | Receipt::Deleted { .. }
            | Receipt::Summarised { .. }
            | Receipt::Compacted { .. },
            _,
        ) => stdout.line(word(&receipt))?,
    }
    Ok(())
}

/// Sends an agent that is waited for to the background.
pub(super) async fn promote(settings: &Settings, id: &str, json: bool) -> Result<(), Stop> {
    let folder = assemble::data_folder(settings)?;
    let found = lookup::find(&folder.runtime, id).await?;
    // Where nobody runs, nobody waits; taking the session over would only bury what was left.
    let is_owned = query::IsOwned(found.session.id.clone());
    let receipt = if folder.runtime.query(is_owned).await? {
        send(settings, &folder, found, Order::Promote).await?
    } else {
        Receipt::NoEffect {
            why: format!("nobody runs session {}", found.session.id),
        }
    };
    let (word, why) = match &receipt {
        Receipt::Promoted => ("promoted", None),
        Receipt::Queued => ("queued", None),
        Receipt::NoEffect { why } => ("nothing to promote", Some(why)),
        Receipt::Opened
        | Receipt::Spawned { .. }
        | Receipt::Refused { .. }
        | Receipt::Prompted
        | Receipt::Settled(_)
        | Receipt::TurnCancelled
        | Receipt::Answered
        | Receipt::Rewound { .. }
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
        | Receipt::Summarised { .. }
        | Receipt::Compacted { .. } => ("nothing to promote", None),
    };
    let mut stdout = Stdout::default();
    if json {
        stdout.line(&json!({ "status": word, "receipt": receipt }).to_string())?;
        return Ok(());
    }
    stdout.line(word)?;
    if let Some(why) = why {
        output::note(why);
    }
    Ok(())
}

/// Sends an order, and leaves when what it started is done.
pub(super) async fn send(
    settings: &Settings,
    folder: &DataFolder,
    found: Found,
    order: Order,
) -> Result<Receipt, Stop> {
    let id = CommandId::new(System.new_id());
    send_as(settings, folder, found, (id, order)).await
}

/// Sends an order under an id that the sender knows.
pub(crate) async fn send_as(
    settings: &Settings,
    folder: &DataFolder,
    found: Found,
    (id, order): (CommandId, Order),
) -> Result<Receipt, Stop> {
    let mut signals = Signals::listen()?;
    let Found { agent, session } = found;
    let host = Host::of(settings);
    // An order needs no model. One that is there is used by what else may be waiting in the session.
    let models = session.model().map(|model| Models::load(model, settings));
    let models = models.map(|models| models?.with_choices(settings, &host));
    let mut models = models.and_then(Result::ok).unwrap_or_default();
    let agents = definitions::load(settings, session.workspace(), &mut models);
    let host = host.working_in(settings, session.workspace().unwrap_or_default());
    folder.use_projects(assemble::project(&models, agents.registry(), host));
    let runtime = &folder.runtime;
    let command = Command {
        id,
        tree: session.id,
        agent,
        order,
    };
    logging::sent(&command);
    let receipt = tokio::select! {
        biased;
        receipt = runtime.command(command) => Some(receipt),
        _ = signals.next() => None,
    };
    let Some(receipt) = receipt else {
        drive::leave(runtime.shutdown(Ending::Now), &mut signals).await;
        return Err(Stop::Interrupted);
    };
    drive::leave(runtime.shutdown(Ending::WhenQuiet), &mut signals).await;
    Ok(receipt?)
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
        | Receipt::Spawned { .. }
        | Receipt::Refused { .. }
        | Receipt::Prompted
        | Receipt::Promoted
        | Receipt::Answered
        | Receipt::Rewound { .. }
        | Receipt::Resumed
        | Receipt::Renamed
        | Receipt::ClientToolsSet
        | Receipt::RoleSet
        | Receipt::Deleted { .. }
        | Receipt::Summarised { .. }
        | Receipt::Compacted { .. } => "nothing to cancel",
    }
}
