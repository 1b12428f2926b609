//! `offshoot inbox`: what agents of all sessions wait to be told, and answers.
//!
//! Listing looks only. An answer is an order like any other: it goes to whoever
//! runs the session, and waits in the session where nobody does. What died with its
//! process is not listed, because nobody waits for an answer any more.

mod answer;
mod list;
pub(crate) mod words;

use offshoot_engine::{Runtime, query};
use offshoot_types::command::Command;
use offshoot_types::id::{AgentId, CallId, CommandId};
use offshoot_types::permission::argv::{self, Word};
use offshoot_types::store::OpenAsk;
use offshoot_types::tree::Ask;
use uuid::Uuid;

use crate::cli::{Inbox, InboxCommand};
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::render;

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
async fn open(runtime: &Runtime) -> Result<Vec<OpenAsk>, Stop> {
    let mut asks = runtime.query(query::Inbox).await?;
    asks.retain(|ask| ask.owned || ask.path.len() == 1);
    Ok(asks)
}

/// Returns the first answer to an ask that whoever runs the session has not heard yet: the one that
/// counts.
async fn first_answer(runtime: &Runtime, ask: &OpenAsk) -> Result<Option<CommandId>, Stop> {
    let pending = runtime.query(query::Pending(ask.tree.clone())).await?;
    let is_answer = |command: &Command| command.answers() == Some((&ask.agent, &ask.call));
    let mut pending = pending.into_iter();
    Ok(pending.find(is_answer).map(|command| command.id))
}

/// Returns what an ask is called: its agent and its call, for the agent may ask something else soon.
///
/// As a shell takes it for one word: logs may have ids of any letters.
pub(crate) fn name(agent: &AgentId, call: &CallId) -> String {
    let name = format!("{}:{call}", handle(agent));
    argv::render(&[Word::Fixed(name)])
}

/// Returns by what an agent is found: the end of an id of ours, and the whole of any other, whose end
/// others may have as well.
pub(crate) fn handle(agent: &AgentId) -> String {
    if Uuid::try_parse(agent.as_str()).is_ok() {
        render::short(agent)
    } else {
        agent.to_string()
    }
}

/// Returns the command that answers what is called so, as it can be typed.
pub(crate) fn command(name: &str, ask: &Ask) -> String {
    let words = match ask.questions.len() {
        _ if ask.waits_for_client => "--result TEXT".to_owned(),
        0 => "--once".to_owned(),
        many => vec!["--say ANSWER"; many].join(" "),
    };
    // Else it would be taken for a flag.
    if name.trim_start_matches('\'').starts_with('-') {
        return format!("offshoot inbox answer {words} -- {name}");
    }
    format!("offshoot inbox answer {name} {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_any_letters_is_one_word_of_a_command() {
        let name = |call: &str| name(&AgentId::new("root"), &CallId::new(call));
        assert_eq!(name("c1"), "root:c1");
        assert_eq!(name("c1 --session; x #"), "'root:c1 --session; x #'");
        assert_eq!(name("it's"), r"'root:it'\''s'");
    }

    #[test]
    fn an_id_that_somebody_chose_is_named_in_full() {
        let call = CallId::new("c");
        let name = |agent: &str| name(&AgentId::new(agent), &call);
        assert_eq!(name("one-nightly1"), "one-nightly1:c");
        assert_eq!(
            name("019a9231-0000-7000-8000-0123456789ab"),
            "456789ab:c",
            "ours is told by its end"
        );
        let ask = Ask {
            needs: Vec::new(),
            questions: Vec::new(),
            deadline: None,
            waits_for_client: false,
        };
        assert_eq!(
            command("root:c", &ask),
            "offshoot inbox answer root:c --once"
        );
        let flag = "offshoot inbox answer --once -- -x:c";
        assert_eq!(command("-x:c", &ask), flag);
        let waits = Ask {
            waits_for_client: true,
            ..ask
        };
        let result = "offshoot inbox answer root:c --result TEXT";
        assert_eq!(command("root:c", &waits), result);
    }
}
