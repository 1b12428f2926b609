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
            page.paragraph(&format!("{}. The end of what it said:", ended(output)));
            page.block(&tail(output));
        }
        Outcome::Failed(why) => {
            match refusal(why) {
                Some(refusal) => page.paragraph(refusal),
                None => page.paragraph("It did not end well, or could not be run:"),
            }
            page.block(&tail(why));
        }
        Outcome::Open if talk.offers(BASH) => page.paragraph("It was not run."),
        Outcome::Open => {
            page.paragraph("It was not run: `bash` is not among the tools offered to this agent.");
        }
    }
    Reply::answer(page.render())
}

/// Says how a command ended, by the notes that `bash` puts below its output. A command may print such a
/// note itself, so that is said; that one failed without a note does not happen.
fn ended(output: &str) -> String {
    let notes = output.lines().rev().map_while(|line| {
        let note = line.strip_prefix('[')?;
        note.strip_suffix(']')
    });
    let told = ["exit code ", "killed by signal ", "it cannot be killed"];
    let mut notes = notes.filter(|note| told.iter().any(|start| note.starts_with(start)));
    match notes.next() {
        Some(note) if note.starts_with("exit code ") => {
            format!(
                "It was run and failed, by the last lines of its output: {}",
                markdown::prose(note, 40)
            )
        }
        Some(note) if note.starts_with("killed ") => {
            format!(
                "It was run and ended, by the last lines of its output: {}",
                markdown::prose(note, 40)
            )
        }
        Some(_) => "It was run, was to be ended, and cannot be killed".to_owned(),
        None => "It was run and ended with exit code 0".to_owned(),
    }
}

/// How the engine says that a person said no; of rules it names where they stand (`the user's rules`).
const BY_A_PERSON: &str = "denied by the user";

/// Says what to do about a command that was not allowed; `None` for one that failed otherwise.
fn refusal(why: &str) -> Option<&'static str> {
    let first = why.lines().next().unwrap_or_default();
    if first.contains("needs permission") {
        Some(
            "It was not run: it needs permission, and nobody gave it. With `offshoot run --yes` \
             every permission that is asked for is given; a rule in `offshoot.toml` can allow this \
             command alone.",
        )
    } else if first.ends_with(BY_A_PERSON) || first.contains(&format!("{BY_A_PERSON}: ")) {
        Some("It was not run: it was asked about and denied.")
    } else if first.contains("denied by") {
        Some(
            "It was not run: a rule or a hook denies it, which `--yes` does not change. \
             `offshoot permissions list` shows the rules.",
        )
    } else {
        None
    }
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

#[cfg(test)]
mod tests;
