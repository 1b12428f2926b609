//! The survey: what a repository is, told by a root and one child for each area.
//!
//! The root lists the files, reads what tells most, asks a child about every area at once, and puts
//! the answers together; a child looks at its area only. Both ask for what is not known yet, and
//! report when nothing is left to ask.

mod area;
mod areas;
pub(super) mod brief;

use super::about;
use super::ask::is_incomplete;
use super::conversation::{Child, Conversation, Outcome};
use super::language;
use super::markdown::{self, code, codes, counted};
use super::outcomes::{Count, Listing};
use super::page::Page;
use super::reply::Reply;
use super::wanted::{self, TASK, Wanted};

use areas::MANIFESTS;
use brief::Brief;

const INTRODUCTION: &str = "I am `offline`, rule-based and no language model. I survey this \
     repository: first its files, then one agent for each area.";

/// Most lines of a child's answer that are shown.
const MOST_LINES: usize = 8;

/// How many names of a long list are read at a time, and how often.
const CHUNK: usize = 2000;
const MOST_CHUNKS: usize = 10;

/// Surveys the repository.
pub(super) fn repository(talk: &Conversation<'_>) -> Reply {
    let list = wanted::glob("**/*");
    if let Some(reply) = talk.ask(vec![list.clone()], INTRODUCTION) {
        return reply;
    }
    let listing = match talk.outcome(&list) {
        Outcome::Said(text) => Listing::read(text),
        Outcome::Failed(why) => return unlisted(&markdown::prose(why, 300)),
        Outcome::Open => return unlisted("`glob` cannot be called here"),
    };
    let rest = rest(&listing);
    if let Some(reply) = talk.ask(rest.clone(), "There are more files than one list shows.") {
        return reply;
    }
    let mut paths = listing.paths.clone();
    paths.extend(
        rest.iter()
            .filter_map(|call| talk.said(call))
            .flat_map(str::lines),
    );
    let reads = reads(&paths);
    let areas = areas::of(&paths);
    let mut calls: Vec<Wanted> = reads.iter().map(|(_, call)| call.clone()).collect();
    let delegates = talk.depth == 0 && talk.offers(TASK);
    if delegates {
        calls.extend(areas.iter().map(child));
    }
    let text = match areas.len() {
        0 => "I read what tells most.".to_owned(),
        many => format!("I ask one agent about each of {}.", counted(many, "area")),
    };
    if let Some(reply) = talk.ask(calls, &text) {
        return reply;
    }
    let survey = Survey {
        talk,
        listing,
        paths,
        reads,
        areas,
    };
    survey.report()
}

/// Surveys one folder, as a child would its area.
pub(super) fn folder(talk: &Conversation<'_>, path: &str) -> Reply {
    let brief = Brief {
        area: path.to_owned(),
        paths: vec![path.to_owned()],
        skip: Vec::new(),
    };
    area::answer(talk, &brief, &format!("Survey of {}", code(path)))
}

/// Surveys one area.
pub(super) fn area(talk: &Conversation<'_>, brief: &Brief) -> Reply {
    area::answer(talk, brief, &format!("Area {}", code(&brief.area)))
}

fn unlisted(why: &str) -> Reply {
    let mut page = Page::titled("Survey of this repository");
    page.paragraph(&format!("Not done: the files could not be listed: {why}"));
    Reply::unable(page.render())
}

/// Returns the calls that read the rest of a list of which only the head was shown.
fn rest(listing: &Listing<'_>) -> Vec<Wanted> {
    let Some(whole) = listing.whole else {
        return Vec::new();
    };
    let starts = (listing.paths.len() + 1..=listing.total).step_by(CHUNK);
    starts
        .take(MOST_CHUNKS)
        .map(|start| wanted::read_lines(whole, start, CHUNK.min(listing.total + 1 - start)))
        .collect()
}

/// Returns the files at the top that tell most, with the calls that read them.
fn reads<'a>(paths: &[&'a str]) -> Vec<(&'a str, Wanted)> {
    let is_telling = |path: &&str| {
        let is_manifest = MANIFESTS.iter().any(|(manifest, _)| manifest == path);
        is_manifest || path.to_lowercase().starts_with("readme")
    };
    let top = paths.iter().copied().filter(|path| !path.contains('/'));
    let mut found: Vec<&str> = top.filter(is_telling).take(5).collect();
    found.sort_by_key(|path| !path.to_lowercase().starts_with("readme"));
    found
        .into_iter()
        .map(|path| (path, wanted::read_lines(path, 1, 80)))
        .collect()
}

/// The call that asks a child about an area.
fn child((area, files): &(Brief, usize)) -> Wanted {
    wanted::task("explore", &area.prompt(*files))
}

/// A survey whose calls are all made.
struct Survey<'a, 'b> {
    talk: &'b Conversation<'a>,
    listing: Listing<'a>,
    paths: Vec<&'a str>,
    reads: Vec<(&'a str, Wanted)>,
    areas: Vec<(Brief, usize)>,
}

impl Survey<'_, '_> {
    fn report(&self) -> Reply {
        let mut page = Page::titled("Survey of this repository");
        let missing = self.missing();
        if !missing.is_empty() {
            page.paragraph(&format!(
                "{} of {} could not be surveyed completely: {}. The reasons are below.",
                missing.len(),
                counted(self.areas.len(), "area"),
                codes(missing.iter().map(String::as_str))
            ));
        }
        self.tell_what(&mut page);
        self.tell_size(&mut page);
        self.tell_build(&mut page);
        self.tell_areas(&mut page);
        self.tell_start(&mut page);
        // Areas are most of a survey: without any of them it is not what was asked for.
        if !self.areas.is_empty() && missing.len() == self.areas.len() {
            return Reply::unable(page.render());
        }
        Reply::answer(page.render())
    }

    /// Returns the areas of which something is missing.
    fn missing(&self) -> Vec<String> {
        let is_missing = |area: &&(Brief, usize)| match self.talk.child(&child(area)) {
            Child::Answered(text) => is_incomplete(&text),
            Child::Failed(_) | Child::NotAsked => true,
            Child::Running => false,
        };
        let missing = self.areas.iter().filter(is_missing);
        missing.map(|(area, _)| area.area.clone()).collect()
    }

    fn tell_what(&self, page: &mut Page) {
        page.heading("What it is");
        let said = |(path, call): &(&str, Wanted)| about::of(path, self.talk.said(call)?);
        match self.reads.iter().find_map(said) {
            Some(said) => page.quote(&said),
            None if self
                .reads
                .iter()
                .all(|(_, call)| self.talk.said(call).is_some()) =>
            {
                page.paragraph("Neither a README nor a manifest at the top says.");
            }
            None => page.paragraph("Not all files at the top that could say were read."),
        }
        for (path, call) in &self.reads {
            let title = self.talk.said(call).and_then(about::title);
            if let Some(title) = title.filter(|_| path.to_lowercase().starts_with("readme")) {
                page.item(format!("{} is titled \"{title}\"", code(path)));
            }
        }
    }

    fn tell_size(&self, page: &mut Page) {
        page.heading("Size and languages");
        let size = self
            .listing
            .size
            .map_or(String::new(), |size| format!(", {size}"));
        page.paragraph(&format!("{}{size}.", self.listing.count().of("file")));
        let listed = Count::exactly(self.paths.len());
        if listed.number < self.listing.total {
            page.paragraph(&format!("Of them, {} were looked at.", listed.of("file")));
        }
        for gap in &self.listing.gaps {
            page.item(format!("Not seen: {}", markdown::prose(gap, 200)));
        }
        page.gap();
        let shares = language::shares(self.paths.iter().copied());
        if !shares.is_empty() {
            page.row(&["Language".to_owned(), "Files".to_owned()]);
            page.rule(2);
        }
        for (language, files) in shares.iter().take(8) {
            page.row(&[language.name.to_owned(), files.to_string()]);
        }
    }

    fn tell_build(&self, page: &mut Page) {
        page.heading("Build and test");
        let top = |name: &str| self.paths.contains(&name);
        let mut found = MANIFESTS
            .iter()
            .filter(|(manifest, _)| top(manifest))
            .peekable();
        if found.peek().is_none() {
            page.item("No manifest that the rules know stands at the top.");
        }
        for (manifest, commands) in found {
            page.item(format!(
                "{}: {commands} by convention; nothing was run",
                code(manifest)
            ));
        }
    }

    fn tell_areas(&self, page: &mut Page) {
        page.heading("Areas");
        if self.areas.is_empty() {
            page.item("All files lie at the top.");
        }
        for area in &self.areas {
            let (brief, files) = area;
            page.subheading(&format!(
                "{} ({})",
                code(&brief.area),
                counted(*files, "file")
            ));
            match self.talk.child(&child(area)) {
                Child::Answered(text) => tell_answer(page, &text),
                Child::Failed(why) => page.item(format!(
                    "The agent that was asked failed: {}",
                    markdown::prose(&why, 300)
                )),
                Child::Running => page.item("The agent that was asked still works."),
                Child::NotAsked => page.item("Not surveyed: no agent could be asked."),
            }
        }
    }

    fn tell_start(&self, page: &mut Page) {
        const FIRST: &[&str] = &["readme", "architecture", "contributing", "docs/"];
        page.heading("Where to start reading");
        let mut number = 0;
        for start in FIRST {
            let found = self
                .paths
                .iter()
                .find(|path| path.to_lowercase().starts_with(start));
            if let Some(path) = found {
                number += 1;
                page.numbered(number, &code(path));
            }
        }
        let largest = self.areas.iter().max_by_key(|(_, files)| *files);
        if let Some((area, files)) = largest {
            let files = counted(*files, "file");
            page.numbered(
                number + 1,
                &format!("{}: the largest area ({files})", code(&area.area)),
            );
        }
        let licences = self.paths.iter().copied().filter(|path| {
            let name = path.to_lowercase();
            ["license", "licence", "copying"]
                .iter()
                .any(|start| name.starts_with(start))
        });
        let licences: Vec<&str> = licences.collect();
        if !licences.is_empty() {
            page.paragraph(&format!("Licence: {}.", codes(licences)));
        }
    }
}

/// Shows what a child said, without its title and what it says of itself.
fn tell_answer(page: &mut Page, text: &str) {
    if is_incomplete(text) {
        let why = text.split([':', ']']).nth(1).unwrap_or_default();
        page.item(format!(
            "The agent did not finish: {}",
            markdown::prose(why, 200)
        ));
    }
    let facts = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let facts: Vec<&str> = facts.take(MOST_LINES).collect();
    // Another model than this one answers as it likes.
    if facts.is_empty() {
        page.item(markdown::prose(text, 400));
    }
    for fact in facts {
        page.item(markdown::line(fact, 240));
    }
}
