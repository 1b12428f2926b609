//! `find X`: where a text stands, and which files are named so.

use std::collections::BTreeMap;

use super::conversation::{Conversation, Outcome};
use super::markdown::{self, code, counted};
use super::outcomes::{Listing, Match, Matches, by_file};
use super::page::Page;
use super::reply::Reply;
use super::survey::languages;
use super::syntax;
use super::wanted::{self, Wanted};

const MOST_DEFINITIONS: usize = 10;
const MOST_FILES: usize = 15;

/// Searches contents and names at once, then tells what was found.
pub(super) fn answer(talk: &Conversation<'_>, term: &str) -> Reply {
    let contents = wanted::grep_all(&format!("(?i){}", wanted::literal(term)));
    let names = file_glob(term).map(|pattern| wanted::glob(&pattern));
    let calls = std::iter::once(contents.clone()).chain(names.clone());
    let text = format!("I look for {}.", code(term));
    if let Some(reply) = talk.ask(calls.collect(), &text) {
        return reply;
    }
    let mut page = Page::titled(&format!("Where {} is", code(term)));
    tell_matches(&mut page, talk, &contents, term);
    if let Some(names) = &names {
        tell_names(&mut page, talk, names);
    }
    Reply::answer(page.render())
}

/// Returns what finds files by a part of their name; `None` for what no name is likely to have.
fn file_glob(term: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let name = term.rsplit('/').next()?;
    let small = name.to_lowercase();
    if name.is_empty() || !name.chars().all(plain) {
        None
    } else if small == name {
        Some(format!("**/*{name}*"))
    } else {
        Some(format!("**/*{{{name},{small}}}*"))
    }
}

fn tell_matches(page: &mut Page, talk: &Conversation<'_>, call: &Wanted, term: &str) {
    page.heading("In files");
    let text = match talk.outcome(call) {
        Outcome::Said(text) => text,
        Outcome::Failed(why) => {
            page.item(format!("The search failed: {}", markdown::prose(why, 300)));
            return;
        }
        Outcome::Open => {
            page.item("Not searched: `grep` cannot be called here.");
            return;
        }
    };
    let found = Matches::read(text);
    if found.lines.is_empty() {
        page.item("Not found (letter case was ignored).");
        return;
    }
    let (lines, files) = (found.count(), found.file_count());
    page.item(format!(
        "{lines} matching lines in {files} files (letter case was ignored)"
    ));
    for found in definitions(&found.lines, term) {
        let place = code(&format!("{}:{}", found.path, found.line));
        let text = code(&markdown::capped(found.text.trim(), 100));
        page.item(format!("Looks like a definition: {place} {text}"));
    }
    let mut files: Vec<(&str, usize)> = by_file(&found.lines).into_iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let first: BTreeMap<&str, usize> = first_lines(&found.lines);
    for (path, count) in files.iter().take(MOST_FILES) {
        let line = first.get(path).copied().unwrap_or(1);
        let place = code(&format!("{path}:{line}"));
        page.item(format!("{place} ({})", counted(*count, "line")));
    }
    if let Some(more) = files.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
        page.item(format!("and {}", counted(more, "more file")));
    }
}

fn tell_names(page: &mut Page, talk: &Conversation<'_>, call: &Wanted) {
    page.heading("In names of files");
    match talk.outcome(call) {
        Outcome::Said(text) => {
            let listing = Listing::read(text);
            if listing.paths.is_empty() {
                page.item("Not found.");
            }
            for path in listing.paths.iter().take(MOST_FILES) {
                page.item(code(path));
            }
            let more = listing.total.saturating_sub(MOST_FILES);
            if more > 0 {
                page.item(format!("and {more} more"));
            }
        }
        Outcome::Failed(why) => {
            page.item(format!("The search failed: {}", markdown::prose(why, 300)));
        }
        Outcome::Open => page.item("Not searched: `glob` cannot be called here."),
    }
}

/// Returns the lines that declare the term itself.
fn definitions<'a>(lines: &[Match<'a>], term: &str) -> Vec<Match<'a>> {
    let declares = |found: &&Match<'a>| {
        languages::of(found.path)
            .and_then(syntax::of)
            .and_then(|syntax| syntax.declared(found.text))
            .is_some_and(|name| name.eq_ignore_ascii_case(term))
    };
    let found = lines.iter().filter(declares);
    found.take(MOST_DEFINITIONS).copied().collect()
}

fn first_lines<'a>(lines: &[Match<'a>]) -> BTreeMap<&'a str, usize> {
    let mut first = BTreeMap::new();
    for found in lines {
        first.entry(found.path).or_insert(found.line);
    }
    first
}
