//! The survey: what a repository is, told by a root and one child for each area.
//!
//! The root looks, asks a child about every area at once, and puts the answers
//! together; a child looks at its area only. Both are the same kind of rules:
//! ask for what is not known yet, and when nothing is left to ask, report.

mod area;
mod area_report;
mod areas;
pub(super) mod brief;
pub(super) mod build;
mod documents;
mod entries;
mod facts;
mod files;
pub(super) mod header;
pub(super) mod languages;
pub(super) mod manifests;
mod plan;
mod reading;
pub(super) mod readme;
mod report;
mod toml;

use super::conversation::{Child, Conversation};
use super::markdown::code;
use super::reply::Reply;
use super::wanted::TASK;

use areas::Area;
use brief::Brief;
use facts::Facts;
use files::Files;
pub(super) use files::is_test;
use plan::Stage;

/// Surveys the repository.
pub(super) fn repository(talk: &Conversation<'_>) -> Reply {
    let look = plan::look(talk);
    if let Some(reply) = talk.ask(look, plan::INTRODUCTION) {
        return reply;
    }
    if let Some(reply) = talk.ask(
        plan::rest(talk),
        "There are more files than one list shows.",
    ) {
        return reply;
    }
    let files = Files::of(talk);
    let details = plan::details(&files);
    if let Some(reply) = talk.ask(details, "I read what tells most and count the rest.") {
        return reply;
    }
    let facts = Facts::of(talk, files);
    let areas = areas::of(&facts.files, &facts.package_folders());
    if let Some(reply) = delegate(talk, &facts, &areas) {
        return reply;
    }
    let done = plan::list(talk, Stage::Done(asked(talk, &facts, &areas)));
    if let Some(reply) = talk.ask(done, "All answers are in.") {
        return reply;
    }
    Reply::answer(report::write(talk, &facts, &areas))
}

/// Surveys one folder, as a child would its area.
pub(super) fn folder(talk: &Conversation<'_>, path: &str) -> Reply {
    let mut brief = Brief {
        area: path.to_owned(),
        paths: vec![path.to_owned()],
        skip: Vec::new(),
        packages: Vec::new(),
    };
    let mut look = area::look(&brief);
    look.push(plan::names());
    if let Some(reply) = talk.ask(look, "I list the files of this folder.") {
        return reply;
    }
    brief.packages = facts::packages(talk);
    let title = format!("Survey of {}", code(path));
    described(talk, &brief, &title)
}

/// Surveys one area.
pub(super) fn area(talk: &Conversation<'_>, brief: &Brief) -> Reply {
    let look = area::look(brief);
    if let Some(reply) = talk.ask(look, "I list the files of this area.") {
        return reply;
    }
    described(talk, brief, &format!("Area {}", code(&brief.area)))
}

/// Reads and searches an area that was listed, and tells of it.
fn described(talk: &Conversation<'_>, brief: &Brief, title: &str) -> Reply {
    let files = area::files(talk, brief);
    let details = area::details(brief, &files);
    if let Some(reply) = talk.ask(details, "I read its main files and count what is in it.") {
        return reply;
    }
    Reply::answer(area_report::write(talk, brief, &files, title))
}

/// Asks a child about each area, all at once. Only a root does: children do their area themselves.
fn delegate(talk: &Conversation<'_>, facts: &Facts<'_>, areas: &[Area]) -> Option<Reply> {
    if talk.depth > 0 || areas.is_empty() || !talk.offers(TASK) {
        return None;
    }
    let mut calls = plan::list(talk, Stage::Exploring(areas.len()));
    calls.extend(areas.iter().map(|area| plan::child(talk, facts, area)));
    let names: Vec<String> = areas.iter().map(Area::shown).collect();
    let names = names.join(", ");
    let text = match areas.len() {
        1 => format!("I ask one agent about the one area: {names}."),
        many => format!("I ask one agent for each of {many} areas: {names}."),
    };
    talk.ask(calls, &text)
}

/// Returns how many areas a child was asked about.
fn asked(talk: &Conversation<'_>, facts: &Facts<'_>, areas: &[Area]) -> usize {
    let was_asked = |area: &&Area| talk.child(&plan::child(talk, facts, area)) != Child::NotAsked;
    areas.iter().filter(was_asked).count()
}
