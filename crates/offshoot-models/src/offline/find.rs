//! `find X`: where a text stands, and which files are named so.

use super::conversation::{Conversation, Outcome};
use super::markdown::{self, code, counted};
use super::outcomes::{Listing, Matches, by_file};
use super::page::Page;
use super::reply::Reply;
use super::wanted::{self, Wanted};

/// Most files that are shown, and most lines of each.
const MOST_FILES: usize = 20;
const MOST_LINES: usize = 3;

/// Searches contents and names at once, then tells what was found.
pub(super) fn answer(talk: &Conversation<'_>, term: &str) -> Reply {
    let contents = wanted::grep_all(&format!("(?i){}", wanted::literal(term)));
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let names = term
        .chars()
        .all(is_name)
        .then(|| wanted::glob(&format!("**/*{term}*")));
    let calls = std::iter::once(contents.clone()).chain(names.clone());
    if let Some(reply) = talk.ask(calls.collect(), &format!("I look for {}.", code(term))) {
        return reply;
    }
    let mut page = Page::titled(&format!("Where {} is", code(term)));
    page.heading("In files, letter case ignored");
    let searched = match talk.outcome(&contents) {
        Outcome::Said(text) => {
            tell_matches(&mut page, &Matches::read(text));
            true
        }
        Outcome::Failed(why) => {
            page.item(format!("The search failed: {}", markdown::prose(why, 300)));
            false
        }
        Outcome::Open => {
            page.item("Not searched: `grep` cannot be called here.");
            false
        }
    };
    if let Some(names) = &names {
        page.heading("In names of files");
        tell_names(&mut page, talk, names);
    }
    if searched {
        Reply::answer(page.render())
    } else {
        Reply::unable(page.render())
    }
}

fn tell_matches(page: &mut Page, found: &Matches<'_>) {
    let (lines, files) = (found.count(), found.file_count());
    page.item(match lines.number {
        0 if lines.exact => "Not found.".to_owned(),
        0 => "Not found in what could be searched.".to_owned(),
        _ => format!("{} in {}", lines.of("matching line"), files.of("file")),
    });
    if !found.complete && lines.number > 0 {
        let shown = counted(found.lines.len(), "line");
        page.item(format!("By file, of the first {shown} only:"));
    }
    let mut by_file: Vec<(&str, usize)> = by_file(&found.lines).into_iter().collect();
    by_file.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    for (path, count) in by_file.iter().take(MOST_FILES) {
        page.item(format!("{} ({})", code(path), counted(*count, "line")));
        let lines = found.lines.iter().filter(|line| line.path == *path);
        for line in lines.take(MOST_LINES) {
            let text = code(&markdown::capped(line.text.trim(), 100));
            page.item(format!("line {}: {text}", line.line));
        }
    }
    let more = by_file.len().saturating_sub(MOST_FILES);
    if more > 0 {
        page.item(format!("and {}", counted(more, "more file")));
    }
}

fn tell_names(page: &mut Page, talk: &Conversation<'_>, names: &Wanted) {
    let Some(text) = talk.said(names) else {
        page.item("Not searched: `glob` failed or cannot be called here.");
        return;
    };
    let listing = Listing::read(text);
    if listing.paths.is_empty() {
        page.item("Not found.");
    }
    for path in listing.paths.iter().take(MOST_FILES) {
        page.item(code(path));
    }
    let more = listing
        .total
        .saturating_sub(listing.paths.len().min(MOST_FILES));
    if more > 0 {
        page.item(format!("and {more} more"));
    }
}
