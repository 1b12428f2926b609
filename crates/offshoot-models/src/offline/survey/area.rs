//! One area of a repository: the questions about it, and the report.

use super::areas::MANIFESTS;
use super::brief::Brief;
use crate::offline::about;
use crate::offline::conversation::Conversation;
use crate::offline::language::{self, Language};
use crate::offline::markdown::{self, code, codes, counted};
use crate::offline::outcomes::{Count, Listing, Matches, by_file, line_count};
use crate::offline::page::Page;
use crate::offline::reply::Reply;
use crate::offline::wanted::{self, Wanted};

/// Most folders of an area that are listed and searched.
const MOST_FOLDERS: usize = 8;

/// How many lines of a main file are read.
const HEAD: usize = 40;

const WORK_MARKS: &str = r"\b(TODO|FIX[M]E|HACK|XXX)\b";

/// Files that say most of their folder, the best first.
const MAIN: &[&str] = &[
    "lib.rs",
    "main.rs",
    "mod.rs",
    "__init__.py",
    "main.py",
    "index.ts",
    "index.js",
    "main.ts",
    "main.go",
    "app.py",
];

/// The files of an area, as far as they were listed.
struct Files<'a> {
    paths: Vec<&'a str>,
    count: Count,
    /// What could not be listed, in the tool's words.
    gaps: Vec<String>,
}

/// Surveys an area that a root's rules describe, or a folder.
pub(super) fn answer(talk: &Conversation<'_>, brief: &Brief, title: &str) -> Reply {
    let folders: Vec<&String> = brief.paths.iter().take(MOST_FOLDERS).collect();
    let lists: Vec<Wanted> = folders
        .iter()
        .map(|folder| wanted::glob_in(folder, "**/*"))
        .collect();
    if let Some(reply) = talk.ask(lists.clone(), "I list the files.") {
        return reply;
    }
    let files = files(talk, brief, &lists);
    let reads = reads(&files.paths);
    let language = language::shares(files.paths.iter().copied());
    let language = language.first().map(|(language, _)| *language);
    let searches = Searches::of(&folders, language);
    let calls = reads
        .iter()
        .map(|(_, call)| call.clone())
        .chain(searches.all());
    if let Some(reply) = talk.ask(calls.collect(), "I read its main files and count the rest.") {
        return reply;
    }
    let mut page = Page::titled(title);
    if files.paths.is_empty() {
        page.item("No files were found in it.");
        gaps(&mut page, &files);
        return Reply::unable(page.render());
    }
    let said = reads
        .iter()
        .find_map(|(path, call)| Some((path, about::of(path, talk.said(call)?)?)));
    page.item(match said {
        Some((path, said)) => format!("What: \"{said}\" ({})", code(path)),
        None if reads.iter().any(|(_, call)| talk.said(call).is_some()) => {
            "What: its main files do not say".to_owned()
        }
        None => "What: its main files were not read".to_owned(),
    });
    page.item(size(&files));
    let main = reads.iter().filter_map(|(path, call)| {
        let lines = line_count(talk.said(call)?);
        let more = if lines.number >= HEAD { " or more" } else { "" };
        Some(format!(
            "{} ({}{more})",
            code(path),
            counted(lines.number, "line")
        ))
    });
    let main: Vec<String> = main.collect();
    if !main.is_empty() {
        page.item(format!("Main files: {}", main.join(", ")));
    }
    searches.tell(&mut page, talk, brief);
    gaps(&mut page, &files);
    Reply::answer(page.render())
}

fn files<'a>(talk: &Conversation<'a>, brief: &Brief, lists: &[Wanted]) -> Files<'a> {
    let mut files = Files {
        paths: Vec::new(),
        count: Count::exactly(0),
        gaps: Vec::new(),
    };
    for list in lists {
        let Some(text) = talk.said(list) else {
            files.gaps.push("a folder could not be listed".to_owned());
            continue;
        };
        let listing = Listing::read(text);
        files.count.exact &= listing.complete;
        files
            .gaps
            .extend(listing.gaps.iter().map(|gap| markdown::prose(gap, 200)));
        files
            .paths
            .extend(listing.paths.into_iter().filter(|path| brief.holds(path)));
    }
    if brief.paths.len() > MOST_FOLDERS {
        let more = brief.paths.len() - MOST_FOLDERS;
        files
            .gaps
            .push(format!("{} not looked at", counted(more, "more folder")));
    }
    files.count.number = files.paths.len();
    files
}

/// Returns the files that say most of the area, with the calls that read their heads.
fn reads<'a>(paths: &[&'a str]) -> Vec<(&'a str, Wanted)> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let shallowest = |is: &dyn Fn(&str) -> bool| {
        let found = paths
            .iter()
            .filter(|path| is(&name(path)) && !is_test(path));
        found.min_by_key(|path| path.matches('/').count()).copied()
    };
    let manifest = |name: &str| {
        MANIFESTS
            .iter()
            .take(3)
            .any(|(manifest, _)| *manifest == name)
    };
    let readme = |name: &str| name.to_lowercase().starts_with("readme");
    let main = |wanted: &'static str| move |name: &str| name == wanted;
    let mut found = vec![shallowest(&manifest), shallowest(&readme)];
    found.extend(MAIN.iter().map(|wanted| shallowest(&main(wanted))));
    let document = |name: &str| name.ends_with(".md");
    let mut found: Vec<&str> = found.into_iter().flatten().collect();
    if found.is_empty() {
        found.extend(shallowest(&document).or(paths.first().copied()));
    }
    found.truncate(4);
    found
        .into_iter()
        .map(|path| (path, wanted::read_lines(path, 1, HEAD)))
        .collect()
}

/// Tells whether a file lies in a folder of tests: it says nothing of what they test.
fn is_test(path: &str) -> bool {
    path.split('/')
        .any(|part| matches!(part, "test" | "tests" | "benches"))
}

fn size(files: &Files<'_>) -> String {
    let shares = language::shares(files.paths.iter().copied());
    let shares: Vec<String> = shares
        .iter()
        .take(5)
        .map(|(language, files)| format!("{files} {}", language.name))
        .collect();
    let by_language = if shares.is_empty() {
        String::new()
    } else {
        format!(" ({})", shares.join(", "))
    };
    format!("Size: {}{by_language}", files.count.of("file"))
}

/// What is counted in the files of an area.
struct Searches {
    public: Vec<Wanted>,
    tests: Vec<Wanted>,
    todos: Vec<Wanted>,
    language: Option<&'static Language>,
}

impl Searches {
    fn of(folders: &[&String], language: Option<&'static Language>) -> Self {
        let each = |pattern: Option<&str>| {
            let (Some(pattern), Some(language)) = (pattern, language) else {
                return Vec::new();
            };
            let glob = language.glob();
            folders
                .iter()
                .map(|folder| wanted::grep_in(folder, pattern, &glob))
                .collect()
        };
        Self {
            public: each(language.and_then(|language| language.public)),
            tests: each(language.and_then(|language| language.test)),
            todos: folders
                .iter()
                .map(|folder| wanted::grep_all_in(folder, WORK_MARKS))
                .collect(),
            language,
        }
    }

    fn all(&self) -> impl Iterator<Item = Wanted> {
        [&self.public, &self.tests, &self.todos]
            .into_iter()
            .flatten()
            .cloned()
    }

    fn tell(&self, page: &mut Page, talk: &Conversation<'_>, brief: &Brief) {
        let counts = |searches| counts(talk, brief, searches);
        let language = self.language.map_or("", |language| language.name);
        if let Some((lines, files, most)) = counts(&self.public) {
            let most: Vec<&str> = most.into_iter().take(2).collect();
            let most = match most.as_slice() {
                [] => String::new(),
                most => format!(", most in {}", codes(most.iter().copied())),
            };
            page.item(match lines.number {
                0 => format!("Public surface: none found in its {language}"),
                _ => format!(
                    "Public surface: {} in {}, by their look in {language}{most}",
                    lines.of("declaration"),
                    files.of("file")
                ),
            });
        }
        if let Some((lines, files, _)) = counts(&self.tests) {
            page.item(match lines.number {
                0 => "Tests: none found".to_owned(),
                _ => format!("Tests: {} in {}", lines.of("test"), files.of("file")),
            });
        }
        if let Some((lines, files, _)) = counts(&self.todos)
            && lines.number > 0
        {
            page.item(format!(
                "Notes: {} with TODO or the like in {}",
                lines.of("line"),
                files.of("file")
            ));
        }
    }
}

/// Adds searches up: lines, files, and the files with most of them first; `None` if none was made.
fn counts<'a>(
    talk: &Conversation<'a>,
    brief: &Brief,
    searches: &[Wanted],
) -> Option<(Count, Count, Vec<&'a str>)> {
    let said: Vec<&str> = searches
        .iter()
        .filter_map(|search| talk.said(search))
        .collect();
    if said.is_empty() {
        return None;
    }
    let exact = said.len() == searches.len();
    let mut sums = (Count { number: 0, exact }, Count { number: 0, exact });
    let mut most: Vec<(&str, usize)> = Vec::new();
    for text in said {
        let found = Matches::read(text);
        let lines = found.lines.iter().copied();
        let lines: Vec<_> = lines.filter(|line| brief.holds(line.path)).collect();
        let by_file = by_file(&lines);
        // A sum of the tool counts the folders that others survey.
        let (shown, exact) = (lines.len(), found.complete);
        let seen = |number| Count { number, exact };
        let (more, files) = if brief.skip.is_empty() {
            (found.count(), found.file_count())
        } else {
            (seen(shown), seen(by_file.len()))
        };
        for (sum, more) in [(&mut sums.0, more), (&mut sums.1, files)] {
            sum.number += more.number;
            sum.exact &= more.exact;
        }
        most.extend(by_file);
    }
    most.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    Some((
        sums.0,
        sums.1,
        most.into_iter().map(|(path, _)| path).collect(),
    ))
}

fn gaps(page: &mut Page, files: &Files<'_>) {
    for gap in &files.gaps {
        page.item(format!("Not seen: {gap}"));
    }
}
