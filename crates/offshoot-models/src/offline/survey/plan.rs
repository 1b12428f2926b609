//! What the root asks tools and children for, stage by stage.
//!
//! Each function returns all calls of its stage from what the stages before it
//! gave, in a fixed order; who asks leaves out what was asked already.

use super::super::conversation::Conversation;
use super::super::outcomes::Listing;
use super::super::syntax;
use super::super::wanted::{self, GLOB, Progress, TASK, TODO, Wanted};
use super::areas::Area;
use super::brief::Brief;
use super::facts::Facts;
use super::files::{Files, Listed, folder_of, is_foreign, is_readable};
use super::languages::{self, Kind, Share};
use super::manifests;

pub(super) const INTRODUCTION: &str = "I am `offline`, rule-based and no language model. I survey \
     this repository: first its files, then one agent for each area.";

/// How many lines of a long list are read at a time: well below what one call may return.
const CHUNK: usize = 2000;
const MOST_CHUNKS: usize = 10;

/// Languages whose size is asked for.
pub(super) const MOST_LANGUAGES: usize = 8;
/// Languages whose tests and starts are searched for.
const MOST_SEARCHED: usize = 5;

/// Languages that are looked for where not all files are known.
const COMMON: &[&str] = &[
    "C",
    "C++",
    "Go",
    "HTML",
    "Java",
    "JavaScript",
    "JSON",
    "Markdown",
    "Python",
    "Rust",
    "Shell",
    "TypeScript",
    "YAML",
];

const CI: &str = "**/{.github/workflows/*,.gitlab-ci.yml,.travis.yml,.circleci/config.yml,azure-pipelines.yml,Jenkinsfile,.ci/*}";

/// Files that are worth trying when nothing can be listed.
pub(super) const WELL_KNOWN: &[&str] = &[
    "README.md",
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "Makefile",
];

/// How far the survey has come, with how many areas were handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Looking,
    Exploring(usize),
    Done(usize),
}

pub(super) fn all_files() -> Wanted {
    wanted::glob("**/*")
}

pub(super) fn manifest_files() -> Wanted {
    wanted::glob(&manifests::pattern())
}

pub(super) fn ci_files() -> Wanted {
    wanted::glob(CI)
}

/// The first look: what there is.
pub(super) fn look(talk: &Conversation<'_>) -> Vec<Wanted> {
    let mut calls = list(talk, Stage::Looking);
    if talk.offers(GLOB) {
        calls.extend([all_files(), manifest_files(), ci_files()]);
    } else {
        calls.extend(WELL_KNOWN.iter().map(|path| wanted::read(path)));
    }
    calls
}

/// The rest of a list that was too long to show.
pub(super) fn rest(talk: &Conversation<'_>) -> Vec<Wanted> {
    let listing = talk.said(&all_files()).map(Listing::read);
    let Some((listing, path)) = listing.and_then(|l| l.whole.map(|path| (l.clone(), path))) else {
        return Vec::new();
    };
    let first = listing.paths.len() + 1;
    (0..MOST_CHUNKS)
        .map(|chunk| first + chunk * CHUNK)
        .take_while(|offset| *offset <= listing.total)
        .map(|offset| wanted::read_lines(path, offset, CHUNK))
        .collect()
}

/// The closer look: what is read, searched and measured.
pub(super) fn details(files: &Files<'_>) -> Vec<Wanted> {
    let mut calls = Vec::new();
    calls.extend(readme(files).map(wanted::read));
    calls.extend(manifests_to_read(files).into_iter().map(wanted::read));
    calls.extend(scripts(files).into_iter().map(wanted::read));
    calls.extend(licences(files).into_iter().map(licence));
    let nested = files
        .paths
        .iter()
        .any(|path| manifests::is_package(path) && path.contains('/'));
    if nested {
        calls.push(names());
    }
    for share in measured(files) {
        calls.push(wanted::glob(&share.language.glob()));
    }
    for share in searched(files) {
        calls.extend(tests(share));
        calls.extend(starts(share));
    }
    calls
}

pub(super) fn readme<'a>(files: &Files<'a>) -> Option<&'a str> {
    files
        .top_named("README.md")
        .or_else(|| files.top_named("README"))
}

/// Returns the manifests at the top, or the highest where there is none.
pub(super) fn manifests_to_read<'a>(files: &Files<'a>) -> Vec<&'a str> {
    let own = |path: &&str| manifests::is_known(path) && !is_foreign(path) && is_readable(path);
    let mut found: Vec<&str> = files.paths.iter().copied().filter(own).collect();
    found.sort_by_key(|path| (path.matches('/').count(), manifests::rank(path)));
    let highest = found.first().map_or(0, |path| path.matches('/').count());
    // A script that lies deeper says nothing of the whole.
    found.retain(|path| {
        path.matches('/').count() == highest && (highest == 0 || manifests::is_package(path))
    });
    found.truncate(4);
    found
}

/// Returns the files that tell how CI works.
pub(super) fn scripts<'a>(files: &Files<'a>) -> Vec<&'a str> {
    const PLACES: &[&str] = &[".github/workflows", ".ci", ".circleci"];
    const NAMES: &[&str] = &[".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml"];
    let is_ci = |path: &&str| PLACES.contains(&folder_of(path)) || NAMES.contains(path);
    let mut found: Vec<&str> = files.paths.iter().copied().filter(is_ci).collect();
    // What is called so is more likely to build and test than to publish.
    let tests = |path: &str| {
        ["ci", "test", "build"]
            .iter()
            .any(|word| path.contains(word))
    };
    found.sort_by_key(|path| !tests(path.rsplit('/').next().unwrap_or(path)));
    found.retain(|path| is_readable(path));
    found.truncate(2);
    found
}

pub(super) fn licences<'a>(files: &Files<'a>) -> Vec<&'a str> {
    let named = |path: &&str| {
        let name = path.to_ascii_lowercase();
        ["license", "licence", "copying", "unlicense"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    files
        .top()
        .filter(named)
        .filter(|path| is_readable(path))
        .take(3)
        .collect()
}

pub(super) fn licence(path: &str) -> Wanted {
    wanted::read_lines(path, 1, 20)
}

/// Finds what packages are called, one line for each.
pub(super) fn names() -> Wanted {
    wanted::grep(
        r#"^name\s*=|^\s*"name"\s*:|^module "#,
        "**/{Cargo.toml,pyproject.toml,package.json,go.mod}",
    )
}

pub(super) fn shares(files: &Files<'_>) -> Vec<Share> {
    let own = files.paths.iter().copied().filter(|path| !is_foreign(path));
    languages::shares(own)
}

/// Returns the languages whose size is asked for: those that most files are in, and where the list
/// was cut, those too that many repositories have.
fn measured(files: &Files<'_>) -> Vec<Share> {
    let mut measured = possible(files);
    let first = measured.iter().take(MOST_LANGUAGES).count();
    let mut rest = measured.split_off(first);
    rest.retain(|share| share.files == 0);
    measured.extend(rest);
    measured
}

/// Returns the languages of the listed files, and behind them common ones that may lie in what was
/// not listed.
pub(super) fn possible(files: &Files<'_>) -> Vec<Share> {
    let mut shares = shares(files);
    if files.listed == Listed::Partly {
        let common = COMMON.iter().filter_map(|name| languages::named(name));
        for language in common {
            if !shares.iter().any(|share| share.language == language) {
                shares.push(Share { language, files: 0 });
            }
        }
    }
    shares
}

/// Returns the languages whose files are searched.
pub(super) fn searched(files: &Files<'_>) -> Vec<Share> {
    let mut code = shares(files);
    code.retain(|share| share.language.kind == Kind::Code && syntax::of(share.language).is_some());
    code.truncate(MOST_SEARCHED);
    code
}

pub(super) fn tests(share: Share) -> Option<Wanted> {
    let pattern = syntax::of(share.language)?.test?;
    Some(wanted::grep(pattern, &share.language.glob()))
}

pub(super) fn starts(share: Share) -> Option<Wanted> {
    let pattern = syntax::of(share.language)?.main?;
    Some(wanted::grep(pattern, &share.language.glob()))
}

/// The call that asks a child about an area.
pub(super) fn child(talk: &Conversation<'_>, facts: &Facts<'_>, area: &Area) -> Wanted {
    let brief = Brief {
        area: area.name.clone(),
        paths: area.paths.clone(),
        skip: area.skip.clone(),
        packages: facts.packages.clone(),
    };
    wanted::task(
        &explorer(talk),
        &brief.prompt(facts.files.counted(area.files)),
    )
}

/// Returns the agent to ask: `explore`, or the first that `task` names where there is none.
fn explorer(talk: &Conversation<'_>) -> String {
    const EXPLORE: &str = "explore";
    let description = talk.description(TASK).unwrap_or_default();
    let names: Vec<&str> = description
        .split('[')
        .skip(1)
        .filter_map(|part| part.split([':', ']']).next())
        .collect();
    match names.first() {
        Some(first) if !names.contains(&EXPLORE) => (*first).to_owned(),
        Some(_) | None => EXPLORE.to_owned(),
    }
}

/// The list that shows how far the survey is; none where that did not work before.
pub(super) fn list(talk: &Conversation<'_>, stage: Stage) -> Vec<Wanted> {
    if talk.depth > 0 || talk.failures().any(|(made, _)| made.tool == TODO) {
        return Vec::new();
    }
    let (looked, explored, areas) = match stage {
        Stage::Looking => (Progress::Begun, Progress::Pending, 0),
        Stage::Exploring(areas) => (Progress::Done, Progress::Begun, areas),
        Stage::Done(areas) => (Progress::Done, Progress::Done, areas),
    };
    let asked = match areas {
        1 => "Ask one agent about the one area".to_owned(),
        many => format!("Ask one agent about each of {many} areas"),
    };
    let items = [
        ("List the files, read manifests and the README", looked),
        (asked.as_str(), explored),
    ];
    let shown = if areas > 0 { 2 } else { 1 };
    vec![wanted::todo(items.into_iter().take(shown))]
}
