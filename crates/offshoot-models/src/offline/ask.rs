//! `ask AGENT: PROMPT`: hands a prompt to another agent and passes its answer on.

use super::conversation::{Child, Conversation};
use super::markdown::{self, code};
use super::page::Page;
use super::reply::Reply;
use super::wanted;

/// Most lines of an answer that are shown.
const MOST_LINES: usize = 80;

/// Asks the agent, then says what it said.
pub(super) fn answer(talk: &Conversation<'_>, agent: &str, prompt: &str) -> Reply {
    let call = wanted::task(agent, prompt);
    if let Some(reply) = talk.ask(vec![call.clone()], &format!("I ask {}.", code(agent))) {
        return reply;
    }
    let mut page = Page::titled(&format!("Answer of {}", code(agent)));
    match talk.child(&call) {
        Child::Answered(text) => {
            let lines = text
                .lines()
                .take(MOST_LINES)
                .map(|line| markdown::capped(line, 300));
            page.block(&lines.collect::<Vec<_>>().join("\n"));
            if is_incomplete(&text) {
                page.paragraph("It did not do all of what it was asked.");
                return Reply::unable(page.render());
            }
            Reply::answer(page.render())
        }
        Child::Running => {
            page.paragraph("It works in the background.");
            Reply::answer(page.render())
        }
        Child::Failed(why) => {
            page.paragraph(&format!("It failed: {}", markdown::prose(&why, 300)));
            Reply::unable(page.render())
        }
        Child::NotAsked => {
            page.paragraph("It was not asked: `task` cannot be called here.");
            Reply::unable(page.render())
        }
    }
}

/// Tells whether an agent's answer says that something is missing from it.
pub(super) fn is_incomplete(answer: &str) -> bool {
    answer.starts_with("[partial:")
}
