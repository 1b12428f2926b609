//! What the root knows before it asks children, gathered from outcomes.

use super::super::conversation::Conversation;
use super::super::outcomes::{Count, Listing, Matches};
use super::super::wanted;
use super::entries::{self, Start};
use super::files::{Files, folder_of, is_foreign, is_sample};
use super::languages::Share;
use super::manifests::{self, Manifest};
use super::plan;
use super::readme::Readme;

/// What is known of the repository.
pub(super) struct Facts<'a> {
    /// Whether no more calls are allowed, so that there may be more than is known.
    pub(super) is_cut_short: bool,
    pub(super) files: Files<'a>,
    pub(super) readme: Option<(&'a str, Readme)>,
    /// Those at the top.
    pub(super) manifests: Vec<Manifest>,
    /// CI files with their text.
    pub(super) ci: Vec<(&'a str, &'a str)>,
    /// Files of rights with the beginning of their text.
    pub(super) licences: Vec<(&'a str, &'a str)>,
    /// Names of packages with their folders.
    pub(super) packages: Vec<(String, String)>,
    pub(super) languages: Vec<Measured<'a>>,
    pub(super) tests: Vec<Tested>,
    pub(super) starts: Vec<Start>,
    /// Whether searches showed all starts that they found.
    pub(super) all_starts: bool,
}

/// A language with how much there is of it.
pub(super) struct Measured<'a> {
    pub(super) share: Share,
    pub(super) files: Count,
    /// As the tool wrote it, where it was asked.
    pub(super) size: Option<&'a str>,
}

/// How many tests were found in a language.
pub(super) struct Tested {
    pub(super) language: &'static str,
    pub(super) tests: Count,
    pub(super) files: Count,
}

impl<'a> Facts<'a> {
    pub(super) fn of(talk: &Conversation<'a>, files: Files<'a>) -> Self {
        let text = |path: &'a str| Some((path, talk.said(&wanted::read(path))?));
        let readme = plan::readme(&files).or(Some("README.md")).and_then(text);
        let manifests: Vec<Manifest> = manifest_paths(&files)
            .into_iter()
            .filter_map(text)
            .map(|(path, text)| manifests::read(path, text))
            .collect();
        let licences = plan::licences(&files).into_iter();
        let mains: Vec<Matches<'a>> = plan::searched(&files)
            .into_iter()
            .filter_map(|share| Some(Matches::read(talk.said(&plan::starts(share)?)?)))
            .collect();
        Self {
            is_cut_short: !talk.may_call(),
            readme: readme.map(|(path, text)| (path, Readme::read(text))),
            ci: plan::scripts(&files).into_iter().filter_map(text).collect(),
            licences: licences
                .filter_map(|path| Some((path, talk.said(&plan::licence(path))?)))
                .collect(),
            packages: packages(talk),
            languages: languages(talk, &files),
            tests: tests(talk, &files),
            starts: entries::of(&files, &manifests, &mains),
            all_starts: mains.iter().all(|mains| mains.complete),
            manifests,
            files,
        }
    }

    /// Returns the folders that are packages, those of others and of samples left out.
    pub(super) fn package_folders(&self) -> Vec<&'a str> {
        let mut folders: Vec<&str> = self
            .files
            .paths
            .iter()
            .filter(|path| manifests::is_package(path) && !is_foreign(path) && !is_sample(path))
            .map(|path| folder_of(path))
            .filter(|folder| !folder.is_empty())
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }
}

/// Returns the manifests to look at; without a list, those that were tried.
fn manifest_paths<'a>(files: &Files<'a>) -> Vec<&'a str> {
    if files.paths.is_empty() {
        plan::WELL_KNOWN.to_vec()
    } else {
        plan::manifests_to_read(files)
    }
}

/// Returns names and folders of packages, from the first name in each manifest.
pub(super) fn packages(talk: &Conversation<'_>) -> Vec<(String, String)> {
    let found = talk
        .said(&plan::names())
        .map(Matches::read)
        .unwrap_or_default();
    let mut packages: Vec<(String, String)> = Vec::new();
    let mut before = "";
    for line in &found.lines {
        let own = !is_foreign(line.path) && !is_sample(line.path);
        if line.path == before || !own {
            continue;
        }
        before = line.path;
        if let Some(name) = package_name(line.text) {
            packages.push((name.to_owned(), folder_of(line.path).to_owned()));
        }
    }
    packages
}

/// Reads `name = "x"`, `"name": "x"` or `module x`.
fn package_name(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(module) = line.strip_prefix("module ") {
        return Some(module.trim());
    }
    let (_, value) = line.split_once(['=', ':'])?;
    let value = value.trim().trim_end_matches(',');
    let name = value.trim_matches(['"', '\'']);
    (!name.is_empty()).then_some(name)
}

fn languages<'a>(talk: &Conversation<'a>, files: &Files<'_>) -> Vec<Measured<'a>> {
    let measure = |share: Share| {
        let listing = talk
            .said(&wanted::glob(&share.language.glob()))
            .map(Listing::read)
            // Some are known by their names and not by their endings.
            .filter(|listing| listing.total >= share.files);
        let count = listing.as_ref().map(Listing::count);
        Measured {
            share,
            files: count.unwrap_or(files.counted(share.files)),
            size: listing.and_then(|listing| listing.size),
        }
    };
    let mut measured: Vec<Measured<'a>> = plan::possible(files).into_iter().map(measure).collect();
    measured.retain(|measured| measured.files.number > 0);
    measured.sort_by_key(|measured| std::cmp::Reverse(measured.files.number));
    measured
}

fn tests(talk: &Conversation<'_>, files: &Files<'_>) -> Vec<Tested> {
    plan::searched(files)
        .into_iter()
        .filter_map(|share| {
            let matches = Matches::read(talk.said(&plan::tests(share)?)?);
            Some(Tested {
                language: share.language.name,
                tests: matches.count(),
                files: matches.file_count(),
            })
        })
        .collect()
}
