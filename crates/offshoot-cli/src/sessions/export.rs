//! `sessions export`: a session in the canonical form (DBG-01).
//!
//! One JSON object a line (`session`, then each `message` with its `part`s), or
//! the whole as one object. What it holds is decided by the store, which nests the
//! transcripts of opaque children whole (SA-37).

use std::collections::HashSet;

use offshoot_engine::{Runtime, query};
use offshoot_types::id::AgentId;
use offshoot_types::stored;
use serde::Deserialize;

use crate::assemble;
use crate::cli::Format;
use crate::config::Settings;
use crate::exit::Stop;
use crate::lookup::{self, Found, Session};
use crate::output::{self, Stdout};

/// A log that is shorter than this folds to a transcript that a row holds whole, in bytes.
const LONG_LOG: usize = 128 * 1024;

/// Says on stderr which rows of shown agents are cut: what is printed is whole (SA-37).
pub(super) async fn note_cut_rows(
    runtime: &Runtime,
    session: &Session,
    shown: &HashSet<&AgentId>,
) -> Result<(), Stop> {
    let is_opaque = |id: &AgentId| {
        let agent = session.tree.agent(id);
        agent.is_some_and(|agent| !agent.spawned.inspectable && !agent.spawned.is_root())
    };
    let of_opaque = session.log.iter().filter(|entry| is_opaque(&entry.agent));
    let bytes = of_opaque.filter_map(|entry| stored::write(&entry.event).ok());
    if bytes.map(|line| line.len()).sum::<usize>() < LONG_LOG {
        return Ok(());
    }
    let with_rows = session.tree.walk().into_iter();
    for agent in with_rows.filter(|id| shown.contains(id) && !is_opaque(id)) {
        let chat = runtime.query(query::Chat(agent.clone())).await?;
        let parts = chat.iter().flat_map(|chat| &chat.messages);
        for part in parts.flat_map(|message| &message.parts) {
            let Ok(CutPart {
                id,
                row_is_cut: true,
            }) = part.read()
            else {
                continue;
            };
            output::note(&format!(
                "the row of part {id} of {agent} is cut: it refers to a transcript that is too long \
                 for it; what is shown here and what `sessions export` prints is whole"
            ));
        }
    }
    Ok(())
}

/// What is read of a part that may be cut.
#[derive(Deserialize)]
struct CutPart {
    id: String,
    #[serde(default)]
    row_is_cut: bool,
}

/// Prints a session.
pub(super) async fn export(settings: &Settings, id: &str, format: Format) -> Result<(), Stop> {
    let folder = assemble::kept_data_folder(settings)?;
    let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
    let Some(chat) = folder.runtime.query(query::Chat(agent.clone())).await? else {
        return Err(Stop::usage(format!("there is no agent {agent}")));
    };
    if !chat.has_rows {
        output::note(&format!(
            "{agent} has no rows of its own; this is folded from the log of session {}",
            session.id
        ));
    }
    let mut stdout = Stdout::default();
    match format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&chat).map_err(std::io::Error::from)?;
            stdout.line(&text)?;
        }
        Format::Jsonl => {
            let line = |kind: &str, row: &str| format!(r#"{{"type":"{kind}","data":{row}}}"#);
            stdout.line(&line("session", chat.session.as_str()))?;
            for message in &chat.messages {
                stdout.line(&line("message", message.message.as_str()))?;
                for part in &message.parts {
                    stdout.line(&line("part", part.as_str()))?;
                }
            }
        }
    }
    Ok(())
}
