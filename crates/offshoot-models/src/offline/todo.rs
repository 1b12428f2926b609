//! `todo A; B`: puts a list where the person sees it.

use super::conversation::{Conversation, Outcome};
use super::markdown;
use super::page::STATEMENT;
use super::reply::Reply;
use super::wanted::{self, Progress};

/// Sets the list, then says what came of it.
pub(super) fn answer(talk: &Conversation<'_>, items: &[String]) -> Reply {
    let all = items.iter().map(|item| (item.as_str(), Progress::Pending));
    let list = wanted::todo(all);
    if let Some(reply) = talk.ask(vec![list.clone()], "I put this on the list.") {
        return reply;
    }
    let shown: Vec<String> = items
        .iter()
        .map(|item| format!("- {}", markdown::prose(item, 200)))
        .collect();
    let shown = shown.join("\n");
    let what = match talk.outcome(&list) {
        Outcome::Said(_) => {
            let number = markdown::counted(items.len(), "item");
            format!("The list has {number}, none begun:\n\n{shown}")
        }
        Outcome::Failed(why) => {
            let why = markdown::prose(why, 300);
            format!("The list was not set: {why}\n\nIt would have been:\n\n{shown}")
        }
        Outcome::Open => format!("`todo` cannot be called here. This was asked:\n\n{shown}"),
    };
    Reply::answer(format!("{what}\n\n{STATEMENT}\n"))
}
