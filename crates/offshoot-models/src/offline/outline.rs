//! `read FILE`: the outline of a file, its headings or what it declares.

use super::conversation::{Conversation, Outcome};
use super::markdown::{self, code};
use super::outcomes::{Listing, line_count};
use super::page::Page;
use super::reply::Reply;
use super::survey::{header, languages, readme};
use super::syntax;
use super::wanted::{self, Wanted};

const MOST_ENTRIES: usize = 60;

/// Deepest indentation of what is listed, in bytes.
const DEEPEST: usize = 4;

/// Reads a file, elsewhere if it is not where it was said to be, and outlines it.
pub(super) fn answer(talk: &Conversation<'_>, path: &str) -> Reply {
    let read = wanted::read(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let search = wanted::glob(&format!("**/{name}*"));
    let text = format!("I read {}.", code(path));
    if let Some(reply) = talk.ask(vec![search.clone(), read.clone()], &text) {
        return reply;
    }
    if let Some(text) = talk.said(&read) {
        return Reply::answer(outline(path, text));
    }
    let listing = talk.said(&search).map(Listing::read).unwrap_or_default();
    let Some(found) = nearest(&listing, path) else {
        return Reply::answer(not_read(talk, path, &read));
    };
    let elsewhere = wanted::read(found);
    let text = format!("It is not there, but {} is.", code(found));
    if let Some(reply) = talk.ask(vec![elsewhere.clone()], &text) {
        return reply;
    }
    match talk.said(&elsewhere) {
        Some(text) => Reply::answer(outline(found, text)),
        None => Reply::answer(not_read(talk, path, &elsewhere)),
    }
}

/// Returns the file that was most likely meant: the one highest up, then the shortest name.
fn nearest<'a>(listing: &Listing<'a>, path: &str) -> Option<&'a str> {
    let other = listing.paths.iter().filter(|found| **found != path);
    other
        .min_by_key(|found| (found.matches('/').count(), found.len()))
        .copied()
}

fn not_read(talk: &Conversation<'_>, path: &str, read: &Wanted) -> String {
    let mut page = Page::titled(&format!("Outline of {}", code(path)));
    page.paragraph(&match talk.outcome(read) {
        Outcome::Failed(why) => format!("It was not read: {}", markdown::prose(why, 300)),
        Outcome::Said(_) | Outcome::Open => {
            "It was not read: `read` cannot be called here.".to_owned()
        }
    });
    page.render()
}

fn outline(path: &str, text: &str) -> String {
    let mut page = Page::titled(&format!("Outline of {}", code(path)));
    let language = languages::of(path);
    let kind = language.map_or("no language that the rules know", |language| language.name);
    page.paragraph(&format!("{}, {kind}.", line_count(text).of("line")));
    let about = match header::of(path, text) {
        Some(header) => Some(header),
        None if kind == "Markdown" => readme::Readme::read(text).about,
        None => None,
    };
    if let Some(about) = about {
        page.quote(&about);
    }
    page.heading("Contents");
    let entries = entries(path, text);
    if entries.is_empty() {
        page.item("Nothing found that looks like a heading or a declaration.");
    }
    for (line, entry) in entries.iter().take(MOST_ENTRIES) {
        page.item(format!("line {line}: {entry}"));
    }
    let more = entries.len().saturating_sub(MOST_ENTRIES);
    if more > 0 {
        page.item(format!("and {more} more"));
    }
    page.render()
}

/// Returns headings or declarations, with their lines.
fn entries(path: &str, text: &str) -> Vec<(usize, String)> {
    let language = languages::of(path);
    if language.is_some_and(|language| language.name == "Markdown") {
        return readme::headings(text);
    }
    let Some(syntax) = language.and_then(syntax::of) else {
        return Vec::new();
    };
    text.lines()
        .zip(1_usize..)
        // What stands deeper is most often local.
        .filter(|(line, _)| line.len() - line.trim_start().len() <= DEEPEST)
        .filter(|(line, _)| syntax.declared(line).is_some())
        .map(|(line, number)| (number, code(&markdown::capped(line.trim(), 120))))
        .collect()
}
