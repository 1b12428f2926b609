//! `find X`: where a text stands, and which files are named so.

use std::collections::BTreeMap;

use super::conversation::{Conversation, Outcome};
use super::markdown::{self, code, counted};
use super::outcomes::{Count, Listing, Match, Matches, by_file};
use super::page::Page;
use super::reply::Reply;
use super::survey::{is_test, languages};
use super::syntax;
use super::wanted::{self, Wanted};

const MOST_DEFINITIONS: usize = 10;
const MOST_FILES: usize = 15;

/// What is searched for.
struct Search {
    contents: Wanted,
    /// Lines that may define it; none for what no definition is called.
    definitions: Option<Wanted>,
    names: Option<Wanted>,
}

/// Searches contents and names at once, then tells what was found.
pub(super) fn answer(talk: &Conversation<'_>, term: &str) -> Reply {
    let search = Search {
        contents: wanted::grep_all(&format!("(?i){}", wanted::literal(term))),
        definitions: syntax::definition(term).map(|pattern| wanted::grep_all(&pattern)),
        names: file_glob(term).map(|pattern| wanted::glob(&pattern)),
    };
    let calls = std::iter::once(search.contents.clone())
        .chain(search.definitions.clone())
        .chain(search.names.clone());
    let text = format!("I look for {}.", code(term));
    if let Some(reply) = talk.ask(calls.collect(), &text) {
        return reply;
    }
    let mut page = Page::titled(&format!("Where {} is", code(term)));
    tell_matches(&mut page, talk, &search, term);
    if let Some(names) = &search.names {
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

fn tell_matches(page: &mut Page, talk: &Conversation<'_>, search: &Search, term: &str) {
    page.heading("In files");
    let text = match talk.outcome(&search.contents) {
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
        page.item(if found.complete {
            "Not found (letter case was ignored)."
        } else {
            "Not found in what could be searched (letter case was ignored)."
        });
        return;
    }
    let (lines, files) = (found.count(), found.file_count());
    page.item(format!(
        "{} in {} (letter case was ignored)",
        lines.of("matching line"),
        files.of("file")
    ));
    let definitions = search.definitions.as_ref();
    let likely = definitions.and_then(|call| talk.said(call));
    let likely = likely.map_or_else(|| found.clone(), Matches::read);
    tell_definitions(page, &likely, term);
    tell_files(page, &found);
}

fn tell_definitions(page: &mut Page, likely: &Matches<'_>, term: &str) {
    let found = definitions(&likely.lines, term);
    for found in found.iter().take(MOST_DEFINITIONS) {
        let place = code(&format!("{}:{}", found.path, found.line));
        let text = code(&markdown::capped(found.text.trim(), 100));
        page.item(format!("Looks like a definition: {place} {text}"));
    }
    let more = found.len().saturating_sub(MOST_DEFINITIONS);
    if more > 0 {
        page.item(format!("and {} that look so", counted(more, "more line")));
    }
    if !likely.complete {
        page.item(format!(
            "Definitions were looked for in the first {} of {} only",
            likely.lines.len(),
            likely.count().of("likely line")
        ));
    }
}

/// Tells in which files lines were found, as far as lines were shown.
fn tell_files(page: &mut Page, found: &Matches<'_>) {
    if !found.complete {
        page.item(format!(
            "By file, of the first {} only:",
            counted(found.lines.len(), "line")
        ));
    }
    let mut files: Vec<(&str, usize)> = by_file(&found.lines).into_iter().collect();
    files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let first: BTreeMap<&str, usize> = first_lines(&found.lines);
    for (path, count) in files.iter().take(MOST_FILES) {
        let line = first.get(path).copied().unwrap_or(1);
        let place = code(&format!("{path}:{line}"));
        page.item(format!("{place} ({})", counted(*count, "line")));
    }
    let all = found.file_count();
    let more = Count {
        number: all.number.saturating_sub(files.len().min(MOST_FILES)),
        exact: all.exact,
    };
    if more.number > 0 {
        page.item(format!("and {}", more.of("more file")));
    }
}

fn tell_names(page: &mut Page, talk: &Conversation<'_>, call: &Wanted) {
    page.heading("In names of files");
    match talk.outcome(call) {
        Outcome::Said(text) => {
            let listing = Listing::read(text);
            if listing.paths.is_empty() {
                page.item(if listing.complete {
                    "Not found."
                } else {
                    "Not found in what could be listed."
                });
            }
            for path in listing.paths.iter().take(MOST_FILES) {
                page.item(code(path));
            }
            let all = listing.count();
            let more = Count {
                number: all
                    .number
                    .saturating_sub(listing.paths.len().min(MOST_FILES)),
                exact: all.exact,
            };
            if more.number > 0 {
                page.item(format!("and {more} more"));
            }
        }
        Outcome::Failed(why) => {
            page.item(format!("The search failed: {}", markdown::prose(why, 300)));
        }
        Outcome::Open => page.item("Not searched: `glob` cannot be called here."),
    }
}

/// Returns the lines that declare the term itself: as it is written first, and tests last.
fn definitions<'a>(lines: &[Match<'a>], term: &str) -> Vec<Match<'a>> {
    let declared = |found: &Match<'a>| {
        let syntax = languages::of(found.path).and_then(syntax::of);
        syntax.and_then(|syntax| syntax.declared(found.text))
    };
    let declares =
        |found: &&Match<'a>| declared(found).is_some_and(|name| name.eq_ignore_ascii_case(term));
    let mut found: Vec<Match<'a>> = lines.iter().filter(declares).copied().collect();
    found.sort_by_key(|found| (declared(found) != Some(term), is_test(found.path)));
    found
}

fn first_lines<'a>(lines: &[Match<'a>]) -> BTreeMap<&'a str, usize> {
    let mut first = BTreeMap::new();
    for found in lines {
        first.entry(found.path).or_insert(found.line);
    }
    first
}
