//! `run CMD` and `test`: one command, through the permissions like any other call.
//!
//! Runs what was asked and nothing else. Without `bash` nothing is run, and the
//! answer says so.

use super::conversation::{Conversation, Outcome};
use super::markdown;
use super::outcomes::Listing;
use super::page::Page;
use super::reply::Reply;
use super::survey::build;
use super::survey::manifests;
use super::wanted::{self, BASH};

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
            page.paragraph("It was run. The end of what it said:");
            page.block(&tail(output));
        }
        Outcome::Failed(why) => {
            page.paragraph("It did not succeed, or was not allowed:");
            page.block(&tail(why));
        }
        Outcome::Open if talk.offers(BASH) => page.paragraph("It was not run."),
        Outcome::Open => {
            page.paragraph("It was not run: `bash` is not among the tools offered to this agent.");
        }
    }
    Reply::answer(page.render())
}

/// Runs the tests by the convention of the manifest at the top.
pub(super) fn test(talk: &Conversation<'_>) -> Reply {
    let looks = [
        wanted::glob(&manifests::pattern()),
        wanted::glob(build::TELLING),
    ];
    if let Some(reply) = talk.ask(looks.to_vec(), "I look for how this is tested.") {
        return reply;
    }
    let said = looks.iter().filter_map(|look| talk.said(look));
    let paths: Vec<&str> = said.flat_map(|text| Listing::read(text).paths).collect();
    match build::test_command(&paths) {
        Some(command) => run(talk, &command),
        None => {
            let mut page = Page::titled("Tests");
            page.paragraph("No manifest that tells how to test was found at the top level.");
            page.paragraph("Say `run CMD` with the command that you want.");
            Reply::answer(page.render())
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
