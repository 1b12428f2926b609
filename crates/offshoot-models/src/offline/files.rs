//! `read PATH`, `list FOLDER` and `write PATH: TEXT`: one file, or a list of files.

use super::conversation::{Conversation, Outcome};
use super::markdown::{self, code};
use super::outcomes::{Listing, line_count};
use super::page::Page;
use super::reply::Reply;
use super::wanted::{self, Wanted};

/// Most lines of a file, and most names of a list, that are shown.
const MOST_LINES: usize = 120;

/// Shows a file.
pub(super) fn read(talk: &Conversation<'_>, path: &str) -> Reply {
    let call = wanted::read(path);
    if let Some(reply) = talk.ask(vec![call.clone()], &format!("I read {}.", code(path))) {
        return reply;
    }
    let mut page = Page::titled(&code(path));
    let Some(text) = talk.said(&call) else {
        return not_done(page, talk, &call);
    };
    let lines: Vec<String> = text
        .lines()
        .take(MOST_LINES)
        .map(|line| markdown::capped(line, 300))
        .collect();
    let count = line_count(text);
    page.paragraph(&if count.number > MOST_LINES {
        format!("The first {MOST_LINES} of {}:", count.of("line"))
    } else {
        format!("{}:", count.of("line"))
    });
    page.block(&lines.join("\n"));
    Reply::answer(page.render())
}

/// Lists files.
pub(super) fn list(talk: &Conversation<'_>, folder: Option<&str>) -> Reply {
    let call = match folder {
        Some(folder) => wanted::glob_in(folder, "**/*"),
        None => wanted::glob("**/*"),
    };
    if let Some(reply) = talk.ask(vec![call.clone()], "I list the files.") {
        return reply;
    }
    let mut page = Page::titled(&folder.map_or("Files".to_owned(), code));
    let Some(text) = talk.said(&call) else {
        return not_done(page, talk, &call);
    };
    let listing = Listing::read(text);
    page.paragraph(&format!("{}:", listing.count().of("file")));
    for path in listing.paths.iter().take(MOST_LINES) {
        page.item(code(path));
    }
    let more = listing
        .total
        .saturating_sub(listing.paths.len().min(MOST_LINES));
    if more > 0 {
        page.item(format!("and {more} more"));
    }
    Reply::answer(page.render())
}

/// Writes a file.
pub(super) fn write(talk: &Conversation<'_>, path: &str, text: &str) -> Reply {
    let call = wanted::write(path, text);
    if let Some(reply) = talk.ask(vec![call.clone()], &format!("I write {}.", code(path))) {
        return reply;
    }
    let mut page = Page::titled(&code(path));
    if talk.said(&call).is_none() {
        return not_done(page, talk, &call);
    }
    page.paragraph(&format!("Written: {}.", line_count(text).of("line")));
    Reply::answer(page.render())
}

fn not_done(mut page: Page, talk: &Conversation<'_>, call: &Wanted) -> Reply {
    page.paragraph(&match talk.outcome(call) {
        Outcome::Failed(why) => format!("Not done: {}", markdown::prose(why, 300)),
        Outcome::Said(_) | Outcome::Open => {
            format!("Not done: {} cannot be called here.", code(call.tool))
        }
    });
    Reply::unable(page.render())
}
