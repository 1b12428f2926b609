//! Where to start reading: a ranked list, each with its reason.

use super::super::markdown::{capped, prose};
use super::super::outcomes::Count;
use super::area::{self, AreaFiles};
use super::areas::Area;
use super::entries;
use super::facts::Facts;
use super::files::{Listed, folder_of, is_foreign, is_readable, is_test};
use super::languages::{self, Kind};

const MOST: usize = 7;

/// Documents that are named for telling how things are put together.
const MAPS: &[&str] = &["architecture", "design", "overview", "hacking", "internals"];

/// Files that head a package which is the whole repository.
const HEADS: &[&str] = &[
    "src/lib.rs",
    "lib.rs",
    "src/index.ts",
    "src/index.js",
    "index.ts",
    "index.js",
    "lib/index.js",
];

/// Returns paths with reasons, best first.
pub(super) fn list(facts: &Facts<'_>, areas: &[Area]) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    let mut push = |path: &str, why: String| {
        if list.len() < MOST && !list.iter().any(|(known, _)| known == path) {
            list.push((path.to_owned(), why));
        }
    };
    if let Some((path, readme)) = &facts.readme {
        let why = match &readme.about {
            Some(_) => "says what the project is for",
            None => "is the README, though without prose to quote",
        };
        push(path, why.to_owned());
    }
    for path in maps(facts).take(2) {
        push(path, "is named like a map of the whole".to_owned());
    }
    let top = facts.manifests.iter().find(|m| !m.path.contains('/'));
    if let Some(manifest) = top {
        push(
            &manifest.path,
            "names the parts and what they need".to_owned(),
        );
    }
    let starts = facts
        .starts
        .iter()
        .filter(|start| !entries::is_aside(&start.path));
    for start in starts.take(2) {
        let why = prose(&capped(&start.why, 80), 80);
        push(&start.path, format!("a program starts there ({why})"));
    }
    for path in HEADS.iter().filter(|head| facts.files.paths.contains(head)) {
        push(path, "heads the package at the top".to_owned());
    }
    let mut largest: Vec<&Area> = areas.iter().filter(|area| area.paths.len() == 1).collect();
    largest.sort_by_key(|area| std::cmp::Reverse(area.files));
    for area in largest.into_iter().take(3) {
        if let Some(path) = head_of(facts, area).filter(|path| !is_test(path)) {
            let files = facts.files.counted(area.files).of("file");
            push(path, format!("heads the area {} ({files})", area.shown()));
        }
    }
    let contributing = facts.files.top_named("CONTRIBUTING");
    if let Some(path) = contributing {
        push(path, "says how changes are made".to_owned());
    }
    if list.is_empty() {
        list = by_ending(facts);
    }
    list
}

/// Returns what is left to go by where nothing is named for it: endings, the highest files first.
fn by_ending(facts: &Facts<'_>) -> Vec<(String, String)> {
    const MOST_OF_THESE: usize = 3;
    if let ([only], Listed::Whole) = (facts.files.paths.as_slice(), facts.files.listed) {
        return vec![((*only).to_owned(), "is the only file".to_owned())];
    }
    let reason = |path: &str| match languages::of(path)?.kind {
        Kind::Text => Some((0, "is a document, by its ending")),
        Kind::Code => Some((1, "is a source, by its ending")),
        Kind::Data => None,
    };
    let own = facts.files.paths.iter().copied();
    let mut found: Vec<(usize, (usize, &str), &str)> = own
        .filter(|path| is_readable(path) && !is_foreign(path) && !is_test(path))
        .filter_map(|path| Some((path.matches('/').count(), reason(path)?, path)))
        .collect();
    found.sort_unstable();
    let first = found.into_iter().take(MOST_OF_THESE);
    first
        .map(|(_, (_, why), path)| (path.to_owned(), why.to_owned()))
        .collect()
}

fn maps<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a str> {
    let is_map = |path: &&str| {
        let lower = path.to_lowercase();
        let near = matches!(folder_of(&lower), "" | "docs" | "doc");
        let name = super::files::name_of(&lower);
        let text = name.ends_with(".md") || name.ends_with(".rst") || name.ends_with(".txt");
        near && text && MAPS.iter().any(|map| name.contains(map))
    };
    facts.files.paths.iter().copied().filter(is_map)
}

/// Returns the file that an area is best read from.
fn head_of<'a>(facts: &Facts<'a>, area: &Area) -> Option<&'a str> {
    let brief = super::brief::Brief {
        area: String::new(),
        paths: area.paths.clone(),
        skip: area.skip.clone(),
        packages: Vec::new(),
    };
    let paths: Vec<&str> = facts
        .files
        .paths
        .iter()
        .copied()
        .filter(|p| brief.holds(p))
        .collect();
    let files = AreaFiles {
        count: Count::exactly(paths.len()),
        paths,
        size: None,
        odd: 0,
    };
    area::telling(&files).sources.first().copied()
}
