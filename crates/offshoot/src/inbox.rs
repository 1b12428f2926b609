//! `offshoot inbox`: what agents of all sessions wait to be told, and answers.
//!
//! Listing looks only. An answer is an order like any other: it goes to whoever
//! runs the session, and waits in the session where nobody does. What died with its
//! process is not listed, because nobody waits for an answer any more.

mod answer;
mod list;
pub(crate) mod words;

use offshoot_types::store::{OpenAsk, Store};
use offshoot_types::tree::Ask;

use crate::assemble;
use crate::cli::{Inbox, InboxCommand};
use crate::config::Settings;
use crate::exit::{Code, Stop};

/// Carries out `offshoot inbox …`.
pub(crate) async fn inbox(args: Inbox, settings: &Settings) -> Result<Code, Stop> {
    match args.command {
        InboxCommand::List { json } => {
            list::list(settings, json).await?;
            Ok(Code::Completed)
        }
        InboxCommand::Answer { ask, words, json } => {
            answer::answer(settings, &ask, words, json).await
        }
    }
}

/// Returns what waits for an answer.
async fn open(store: &dyn Store) -> Result<Vec<OpenAsk>, Stop> {
    let mut asks = store.asks().await?;
    asks.retain(|ask| ask.owned || ask.path.len() == 1);
    Ok(asks)
}

/// Returns the command that answers something, as it can be typed.
pub(crate) fn command(name: &str, ask: &Ask) -> String {
    let words = match ask.questions.len() {
        0 => "--once".to_owned(),
        many => vec!["--say ANSWER"; many].join(" "),
    };
    format!("offshoot inbox answer {name} {words}")
}

/// Opens the store that has them.
fn store(settings: &Settings) -> Result<std::sync::Arc<dyn Store>, Stop> {
    assemble::store(&settings.data_dir.value)
}
