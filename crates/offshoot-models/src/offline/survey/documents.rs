//! The part of the report about documents and rights.

use super::super::markdown::{code, codes, prose};
use super::super::page::Page;
use super::facts::Facts;
use super::files::{is_foreign, is_test, name_of};
use super::languages::{self, Kind};
use super::report::absent;

/// Writes the part.
pub(super) fn write(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Documentation and licence");
    let files = &facts.files;
    let is_text = |path: &&str| languages::of(path).is_some_and(|l| l.kind == Kind::Text);
    // What tests compare with and what others wrote are no documents of the project.
    let is_own = |path: &&str| !is_test(path) && !is_foreign(path) && !is_list(path);
    let own = files.paths.iter().copied().filter(is_own);
    let texts = own.filter(is_text).count();
    let top: Vec<&str> = files
        .top()
        .filter(is_own)
        .filter(is_text)
        .take(10)
        .collect();
    let docs = files
        .paths
        .iter()
        .filter(|p| p.starts_with("docs/") || p.starts_with("doc/"));
    let docs = docs.count();
    if texts == 0 {
        page.item(absent(facts, "Documentation: not found"));
    } else {
        let top = if top.is_empty() {
            String::new()
        } else {
            format!("; at the top {}", codes(top))
        };
        let folder = if docs > 0 {
            format!(
                "; {} in the documentation folder",
                files.counted(docs).of("file")
            )
        } else {
            String::new()
        };
        page.item(format!(
            "{}{top}{folder}",
            files.counted(texts).of("document")
        ));
    }
    let mut told: Vec<String> = facts
        .licences
        .iter()
        .map(|(path, text)| format!("{} ({})", code(path), licence_name(text)))
        .collect();
    for manifest in &facts.manifests {
        let licence = manifest.licence.as_ref();
        told.extend(licence.map(|l| format!("\"{}\" in {}", prose(l, 60), code(&manifest.path))));
    }
    if told.is_empty() {
        page.item(absent(facts, "Licence: not found"));
    } else {
        page.item(format!("Licence: {}", told.join(", ")));
    }
}

/// Tells a list of what Python is to install from a document.
fn is_list(path: &str) -> bool {
    let name = name_of(path);
    name.starts_with("requirements") && name.ends_with(".txt")
}

/// Returns what a text of rights is called: by known words, else by its first line.
fn licence_name(text: &str) -> String {
    const KNOWN: &[(&str, &str)] = &[
        ("GNU AFFERO GENERAL PUBLIC LICENSE", "GNU AGPL"),
        ("GNU LESSER GENERAL PUBLIC LICENSE", "GNU LGPL"),
        ("GNU GENERAL PUBLIC LICENSE", "GNU GPL"),
        ("MOZILLA PUBLIC LICENSE", "Mozilla Public License"),
        ("APACHE LICENSE", "Apache License"),
        ("BOOST SOFTWARE LICENSE", "Boost Software License"),
        ("MIT LICENSE", "MIT License"),
        ("ISC LICENSE", "ISC License"),
        ("BSD 3-CLAUSE", "BSD 3-Clause"),
        ("BSD 2-CLAUSE", "BSD 2-Clause"),
        ("THIS IS FREE AND UNENCUMBERED SOFTWARE", "Unlicense"),
    ];
    let shouted = text.to_uppercase();
    if let Some((_, name)) = KNOWN.iter().find(|(words, _)| shouted.contains(words)) {
        return (*name).to_owned();
    }
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.map_or("empty".to_owned(), |line| {
        format!("begins \"{}\"", prose(line, 60))
    })
}

#[cfg(test)]
mod tests;
