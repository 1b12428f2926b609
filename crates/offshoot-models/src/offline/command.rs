//! ``run `COMMAND` ``: one command, through the permissions like any other call.
//!
//! Runs what was asked and nothing else. A command that was not run is not done, and the answer
//! says so.

use super::conversation::{Conversation, Outcome};
use super::markdown;
use super::page::Page;
use super::reply::Reply;
use super::wanted;

/// Most lines of output that are shown; the end of it matters most.
const MOST_LINES: usize = 40;

/// Runs a command and shows what came of it.
pub(super) fn run(talk: &Conversation<'_>, command: &str) -> Reply {
    let call = wanted::bash(command);
    let text = format!("I run {}.", markdown::code(command));
    if let Some(reply) = talk.ask(vec![call.clone()], &text) {
        return reply;
    }
    let mut page = Page::titled("Command");
    page.paragraph(&format!("Asked for: {}", markdown::code(command)));
    match talk.outcome(&call) {
        Outcome::Said(output) => {
            page.paragraph("It was run. The end of what it printed:");
            page.block(&tail(output));
            Reply::answer(page.render())
        }
        Outcome::Failed(why) => {
            page.paragraph("It was not run, or did not end:");
            page.block(&tail(why));
            if why.contains("needs permission") {
                page.paragraph(
                    "`offshoot run --yes` gives every permission that is asked for; a rule in \
                     `offshoot.toml` can allow this command alone.",
                );
            }
            Reply::unable(page.render())
        }
        Outcome::Open => {
            page.paragraph("It was not run: `bash` cannot be called here.");
            Reply::unable(page.render())
        }
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.len().saturating_sub(MOST_LINES);
    let shown = lines.get(start..).unwrap_or_default().iter();
    shown
        .map(|line| markdown::capped(line, 200))
        .collect::<Vec<_>>()
        .join("\n")
}
