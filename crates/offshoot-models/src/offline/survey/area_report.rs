//! What a child answers: one fact a line, the most telling first.
//!
//! The root shows as many of the lines as fit, from the top, and puts short ones
//! together before it leaves out others.

use std::collections::BTreeMap;

use super::super::conversation::{Conversation, Outcome};
use super::super::markdown::{self, code, codes, prose};
use super::super::outcomes::{by_file, line_count};
use super::super::page::Page;
use super::super::wanted;
use super::area::{self, AreaFiles, Telling};
use super::brief::Brief;
use super::files::{is_foreign, is_test};
use super::manifests::{self, Manifest};
use super::readme::Readme;
use super::report::failures;
use super::{header, languages};

const MOST_NAMES: usize = 8;
const MOST_LANGUAGES: usize = 4;

/// Writes the answer about an area.
pub(super) fn write(
    talk: &Conversation<'_>,
    brief: &Brief,
    files: &AreaFiles<'_>,
    title: &str,
) -> String {
    let mut page = Page::titled(title);
    page.gap();
    if files.paths.is_empty() {
        page.item(nothing(talk, brief));
    } else {
        let telling = area::telling(files);
        let manifest = telling
            .manifest
            .and_then(|path| Some(manifests::read(path, talk.said(&wanted::read(path))?)));
        page.item(what(talk, &telling, manifest.as_ref()));
        let tests = tests(talk, brief, files);
        page.item(format!("{}; {tests}", size(files)));
        if let Some(uses) = uses(talk, brief, &telling, manifest.as_ref()) {
            page.item(uses);
        }
        page.item(notes(talk, brief, files));
        page.item(main_files(talk, &telling));
        page.item(surface(talk, brief, files));
    }
    failures(&mut page, talk);
    page.render()
}

/// How the tools say that there is nothing of that name.
const NOT_THERE: &str = "there is no such file or folder";

fn nothing(talk: &Conversation<'_>, brief: &Brief) -> String {
    let calls = area::look(brief);
    let mut outcomes = calls.iter().map(|call| talk.outcome(call));
    if outcomes
        .clone()
        .any(|outcome| matches!(outcome, Outcome::Said(_)))
    {
        "No file was found in it.".to_owned()
    } else if outcomes
        .any(|outcome| matches!(outcome, Outcome::Failed(why) if why.contains(NOT_THERE)))
    {
        "There is no such folder.".to_owned()
    } else {
        "Its files could not be listed, so nothing is known of it.".to_owned()
    }
}

fn what(talk: &Conversation<'_>, telling: &Telling<'_>, manifest: Option<&Manifest>) -> String {
    let from_manifest = manifest.and_then(|manifest| {
        let text = prose(manifest.description.as_deref()?, 240);
        Some((text, manifest.path.as_str()))
    });
    let from_readme = || {
        let path = telling.readme?;
        let about = Readme::read(talk.said(&wanted::read(path))?).about?;
        Some((about, path))
    };
    let from_source = || {
        telling.sources.iter().find_map(|path| {
            let text = talk.said(&wanted::read(path))?;
            let about = header::of(path, text).or_else(|| title(path, text))?;
            Some((about, *path))
        })
    };
    let found = from_manifest.or_else(from_readme).or_else(from_source);
    match found {
        Some((text, path)) => {
            format!(
                "What: \"{}\" ({})",
                markdown::capped(&text, 240),
                code(path)
            )
        }
        None => "What: not found (no description, README or header comment)".to_owned(),
    }
}

fn title(path: &str, text: &str) -> Option<String> {
    let is_text = languages::of(path)?.kind == languages::Kind::Text;
    let title = Readme::read(text).title;
    title.filter(|_| is_text)
}

fn size(files: &AreaFiles<'_>) -> String {
    let shares = languages::shares(files.paths.iter().copied());
    let shown: Vec<String> = shares
        .iter()
        .take(MOST_LANGUAGES)
        .map(|share| format!("{} {}", share.files, share.language.name))
        .collect();
    let languages = if shown.is_empty() {
        "no known language".to_owned()
    } else {
        shown.join(", ")
    };
    let bytes = match files.size {
        Some(size) => format!(", {}", prose(size, 20)),
        None => String::new(),
    };
    let known = files.paths.len();
    let languages = if files.count.number > known {
        format!("of the first {known}: {languages}")
    } else {
        languages
    };
    let odd = match files.odd {
        0 => String::new(),
        odd => format!(" with {odd} more whose names are not plain text"),
    };
    format!("Size: {} ({languages}){bytes}{odd}", files.count.of("file"))
}

fn main_files(talk: &Conversation<'_>, telling: &Telling<'_>) -> String {
    let shown: Vec<String> = telling
        .sources
        .iter()
        .map(|path| match talk.said(&wanted::read(path)) {
            Some(text) => {
                let lines = line_count(text).of("line");
                format!("{} ({lines})", code(path))
            }
            None => code(path),
        })
        .collect();
    if shown.is_empty() {
        return "Main files: not found".to_owned();
    }
    format!("Main files: {}", shown.join(", "))
}

fn surface(talk: &Conversation<'_>, brief: &Brief, files: &AreaFiles<'_>) -> String {
    let Some(main) = area::main_language(files) else {
        return "Public surface: no language in it that the rules can search".to_owned();
    };
    let calls = area::search(brief, main.syntax.public, Some(main.share));
    let Some(found) = area::found(talk, brief, &calls) else {
        return "Public surface: not searched".to_owned();
    };
    let language = main.share.language.name;
    let kind = main.syntax.public_name;
    if found.lines.is_empty() {
        return format!("Public surface ({kind}): none found in its {language}");
    }
    let own: Vec<_> = found
        .lines
        .iter()
        .filter(|line| !is_test(line.path))
        .copied()
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for line in &own {
        let name = main.syntax.declared(line.text);
        names.extend(name.filter(|name| !names.contains(name)));
    }
    // A capital or a short way down marks what was meant to be met first.
    names.sort_by_key(|name| !name.starts_with(char::is_uppercase));
    names.truncate(MOST_NAMES);
    let fullest = by_file(&own).into_iter().max_by_key(|(_, count)| *count);
    let most = match fullest {
        Some((path, count)) if count > 1 => format!("; most in {} ({count})", code(path)),
        Some(_) | None => String::new(),
    };
    let most = if found.count.exact && found.count.number == found.lines.len() {
        most
    } else {
        // Of those that were not shown nothing is known.
        String::new()
    };
    let such = if names.is_empty() {
        String::new()
    } else {
        format!(", such as {}", codes(names))
    };
    let (count, files) = (found.count, found.files.of("file"));
    format!("Public surface ({kind}): {count} in {files}{such}{most}")
}

fn tests(talk: &Conversation<'_>, brief: &Brief, files: &AreaFiles<'_>) -> String {
    let by_name = files.paths.iter().filter(|path| is_test(path)).count();
    let named = files.counted(by_name).of("file");
    let functions = area::main_language(files).and_then(|main| {
        let calls = area::search(brief, main.syntax.test?, Some(main.share));
        area::found(talk, brief, &calls)
    });
    match (functions, by_name) {
        (Some(found), _) if found.count.number > 0 => {
            let (tests, files) = (found.count.of("test function"), found.files.of("file"));
            let also = if by_name > 0 {
                format!(", {named} named like tests")
            } else {
                String::new()
            };
            format!("{tests} in {files}{also}")
        }
        (_, 0) if files.counted(0).exact => "no tests found".to_owned(),
        (_, 0) => "no tests found in what could be listed".to_owned(),
        (Some(_) | None, _) => format!("{named} named like tests"),
    }
}

fn uses(
    talk: &Conversation<'_>,
    brief: &Brief,
    telling: &Telling<'_>,
    manifest: Option<&Manifest>,
) -> Option<String> {
    area::others(brief).next()?;
    let used: Vec<&str> = match (manifest, area::imports(brief, telling)) {
        (Some(manifest), _) => area::others(brief)
            .map(|(name, _)| name)
            .filter(|name| manifest.dependencies.iter().any(|known| known == name))
            .collect(),
        (None, Some(pattern)) => {
            let calls = area::search(brief, &pattern, None);
            let Some(found) = area::found(talk, brief, &calls) else {
                return Some("Uses: not searched".to_owned());
            };
            let named = |name: &&str| found.lines.iter().any(|line| line.text.contains(name));
            area::others(brief)
                .map(|(name, _)| name)
                .filter(named)
                .collect()
        }
        // There is nothing else that it could use.
        (None, None) => return None,
    };
    if used.is_empty() {
        return Some("Uses: no other package of this repository is named in it".to_owned());
    }
    let more = used.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let shown = codes(used.into_iter().take(MOST_NAMES));
    Some(format!("Uses from this repository: {shown}{more}"))
}

fn notes(talk: &Conversation<'_>, brief: &Brief, files: &AreaFiles<'_>) -> String {
    let mut notes = Vec::new();
    match area::found(talk, brief, &area::search(brief, &area::marks(), None)) {
        Some(found) => {
            let mut words: BTreeMap<&str, usize> = BTreeMap::new();
            for line in &found.lines {
                for word in area::MARKS {
                    *words.entry(word).or_default() += usize::from(line.text.contains(word));
                }
            }
            let kinds: Vec<&str> = words.into_iter().filter(|w| w.1 > 0).map(|w| w.0).collect();
            notes.push(match kinds.as_slice() {
                [] => "no marks like TODO".to_owned(),
                kinds => format!("{} with {}", found.count.of("line"), kinds.join(", ")),
            });
        }
        None => notes.push("marks like TODO were not searched".to_owned()),
    }
    let generated = area::found(talk, brief, &area::search(brief, area::GENERATED, None));
    if let Some(found) = generated.filter(|found| found.count.number > 0) {
        notes.push(format!(
            "marks of generated code in {}",
            found.files.of("file")
        ));
    }
    let foreign = files.paths.iter().filter(|path| is_foreign(path)).count();
    if foreign > 0 {
        let files = files.counted(foreign).of("file");
        notes.push(format!(
            "{files} in folders named like copies of others' code"
        ));
    }
    format!("Notes: {}", notes.join("; "))
}
