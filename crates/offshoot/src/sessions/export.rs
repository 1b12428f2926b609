//! `sessions export`: a session in the canonical form (DBG-01).
//!
//! One JSON object a line (`session`, then each `message` with its `part`s), or
//! the whole as one object. What it holds is decided by the store, which nests the
//! transcripts of opaque children whole (SA-37).

use crate::assemble;
use crate::cli::Format;
use crate::config::Settings;
use crate::exit::Stop;
use crate::lookup::{self, Found};
use crate::output::{self, Stdout};

/// Prints a session.
pub(super) async fn export(settings: &Settings, id: &str, format: Format) -> Result<(), Stop> {
    let store = assemble::kept_store(&settings.data_dir.value)?;
    let Found { agent, session } = lookup::find(store.as_ref(), id).await?;
    let Some(chat) = store.chat(&agent).await? else {
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
