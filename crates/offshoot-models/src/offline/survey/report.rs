//! The root's report: what it knows itself, then what each child answered.
//!
//! At most `MOST_LINES` long: what children say is cut to fit, and their lines
//! come with the most telling first. What was not found is said to be so.

use super::super::conversation::{Child, Conversation};
use super::super::markdown::{self, code, codes, counted, prose};
use super::super::outcomes::Count;
use super::super::page::Page;
use super::super::wanted::{TASK, TODO};
use super::areas::Area;
use super::build::{self, Sources};
use super::documents;
use super::facts::Facts;
use super::files::{Listed, is_foreign, is_test};
use super::languages;
use super::plan;
use super::reading;

/// Most lines of a report.
const MOST_LINES: usize = 120;
/// Fewest and most lines that an area gets of it, its heading not counted.
const FEWEST_FACTS: usize = 2;
const MOST_FACTS: usize = 7;
const LONGEST_FACT: usize = 320;
/// Longest line of several facts.
const LONGEST_LINE: usize = 560;
const MOST_STARTS: usize = 8;
const MOST_FAILURES: usize = 6;
/// Why nothing more was looked at.
const LIMIT: &str = "no more calls are allowed, which is so when a limit is reached";

/// Writes the report.
pub(super) fn write(talk: &Conversation<'_>, facts: &Facts<'_>, areas: &[Area]) -> String {
    let mut head = Page::titled("Survey of this repository");
    what(&mut head, facts);
    size(&mut head, facts);
    how(&mut head, facts);
    let mut tail = Page::default();
    starts(&mut tail, facts);
    tests(&mut tail, facts);
    documents::write(&mut tail, facts);
    reading_list(&mut tail, facts, areas);
    failures(&mut tail, talk);

    // A gap, the heading, a note and two more gaps stand around the areas.
    let room = MOST_LINES.saturating_sub(head.length() + tail.length() + 6);
    let each = (room / areas.len().max(1)).saturating_sub(1);
    told_areas(
        &mut head,
        talk,
        facts,
        areas,
        each.clamp(FEWEST_FACTS, MOST_FACTS),
    );
    head.append(tail);
    head.render()
}

fn what(page: &mut Page, facts: &Facts<'_>) {
    page.heading("What it is");
    let mut known = false;
    if let Some((path, readme)) = &facts.readme {
        if let Some(about) = &readme.about {
            page.quote(about);
            known = true;
        }
        if let Some(title) = &readme.title {
            page.item(format!("{} is titled \"{title}\"", code(path)));
        }
    }
    for manifest in &facts.manifests {
        let name = manifest
            .name
            .as_ref()
            .map(|name| format!("package {}", code(name)));
        let about = manifest.description.as_ref();
        let about = about.map(|text| format!("\"{}\"", prose(text, 200)));
        let members = match manifest.members.len() {
            0 => None,
            _ => Some(format!(
                "a workspace of {}",
                codes(manifest.members.iter().take(8).map(String::as_str))
            )),
        };
        let told: Vec<String> = name.into_iter().chain(about).chain(members).collect();
        if !told.is_empty() {
            page.item(format!("{}: {}", code(&manifest.path), told.join(", ")));
            known = true;
        }
    }
    if !known {
        let readme = match &facts.readme {
            Some((path, _)) => format!("no prose to quote in {}", code(path)),
            None => "no README".to_owned(),
        };
        let found = format!("Not found: {readme}, and no manifest with a description");
        page.item(absent(facts, &found));
    }
}

/// Says that something was not found, or that it could not be looked for everywhere, and why.
pub(super) fn absent(facts: &Facts<'_>, found: &str) -> String {
    match (&facts.files.listed, facts.is_cut_short) {
        (Listed::Not, true) => format!("Not looked at: {LIMIT}"),
        (Listed::Whole | Listed::Partly | Listed::Failed(_), true) => {
            format!("{found}, as far as it was looked for: {LIMIT}")
        }
        (Listed::Not | Listed::Failed(_), false) => {
            format!("{found}, as far as it could be looked for: the files could not be listed")
        }
        (Listed::Partly, false) => format!("{found} in what could be listed"),
        (Listed::Whole, false) => found.to_owned(),
    }
}

fn size(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Size and languages");
    let files = &facts.files;
    match files.listed {
        Listed::Failed(why) => {
            page.paragraph(&format!(
                "The files could not be listed: {}",
                prose(why, 200)
            ));
            return;
        }
        Listed::Not if facts.is_cut_short => {
            page.paragraph(&format!("The files were not listed: {LIMIT}."));
            return;
        }
        Listed::Not => {
            page.paragraph("The files could not be listed: `glob` cannot be called here.");
            return;
        }
        Listed::Whole if files.paths.is_empty() => {
            page.paragraph("The folder is empty, or all of it is ignored: no files were found.");
            return;
        }
        Listed::Partly if files.paths.is_empty() => {
            page.paragraph("No files were found in what could be listed.");
            gaps(page, facts);
            return;
        }
        Listed::Whole | Listed::Partly => {}
    }
    let bytes = files.size.map(|size| format!(", {}", prose(size, 20)));
    let count = files.total.of("file");
    page.paragraph(&format!("{count}{}.", bytes.unwrap_or_default()));
    if files.listed == Listed::Partly {
        let known = counted(files.paths.len(), "file");
        page.paragraph(&format!(
            "Only {known} could be listed, so areas and languages may be missing below."
        ));
        gaps(page, facts);
    }
    if facts.languages.is_empty() {
        page.paragraph("No file has an ending of a language that the rules know.");
        return;
    }
    page.gap();
    page.row(&["Language", "Files", "Size"].map(str::to_owned));
    page.rule(3);
    for measured in facts.languages.iter().take(plan::MOST_LANGUAGES) {
        page.row(&[
            measured.share.language.name.to_owned(),
            measured.files.to_string(),
            measured
                .size
                .map_or("not measured".to_owned(), |size| prose(size, 20)),
        ]);
    }
    let more = facts.languages.iter().skip(plan::MOST_LANGUAGES);
    let rest: usize = more.clone().map(|measured| measured.files.number).sum();
    if rest > 0 {
        let names = counted(more.count(), "other language");
        let rest = files.counted(rest).to_string();
        page.row(&[names, rest, "not measured".to_owned()]);
    }
}

/// Tells what the list of files leaves out.
fn gaps(page: &mut Page, facts: &Facts<'_>) {
    let gaps: Vec<String> = facts.files.gaps.iter().map(|gap| prose(gap, 120)).collect();
    if !gaps.is_empty() {
        page.paragraph(&format!("The list is not whole: {}.", gaps.join("; ")));
    }
}

fn how(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Build and test");
    let top: Vec<&str> = facts.files.top().collect();
    let readme = facts.readme.as_ref().map(|(path, readme)| (*path, readme));
    let lines = build::lines(&Sources {
        manifests: &facts.manifests,
        readme,
        ci: &facts.ci,
        top: &top,
    });
    if lines.is_empty() {
        let found = "Not found: no manifest, script or command that the rules know";
        page.item(absent(facts, found));
    }
    for line in &lines {
        page.item(line);
    }
    if facts.ci.is_empty() && !facts.files.paths.is_empty() {
        page.item("CI: no configuration found");
    }
}

fn told_areas(
    page: &mut Page,
    talk: &Conversation<'_>,
    facts: &Facts<'_>,
    areas: &[Area],
    each: usize,
) {
    page.heading("Areas");
    if areas.is_empty() {
        let found = "None: there are no folders that are worth an agent of their own";
        page.item(absent(facts, found));
        return;
    }
    if !talk.offers(TASK) {
        page.paragraph("No agents were asked: `task` is not among the tools offered here.");
        page.gap();
    } else if facts.is_cut_short {
        page.paragraph(&format!("Not every agent was asked: {LIMIT}."));
        page.gap();
    }
    for area in areas {
        let count = facts.files.counted(area.files);
        page.subheading(&format!("{} ({})", area.shown(), count.of("file")));
        match talk.child(&plan::child(talk, facts, area)) {
            Child::Answered(answer) => {
                for fact in facts_of(&answer, each) {
                    page.item(fact);
                }
            }
            Child::Failed(why) => {
                page.item(format!("Not explored: {}", prose(&why, LONGEST_FACT)));
                page.item(languages_of(facts, area));
            }
            Child::Running => {
                page.item("Still explored in the background; the answer comes later");
                page.item(languages_of(facts, area));
            }
            Child::NotAsked => page.item(languages_of(facts, area)),
        }
    }
}

/// Returns the lines of a child's answer that are shown.
fn facts_of(answer: &str, most: usize) -> Vec<String> {
    let clean = |line: &str| markdown::line(line, LONGEST_FACT);
    let items = answer
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let mut facts: Vec<String> = items.take(MOST_FACTS).map(clean).collect();
    if facts.is_empty() {
        // Another model's answer need not be a list.
        let lines = answer.lines().map(clean).filter(|line| !line.is_empty());
        facts = lines.take(MOST_FACTS).collect();
    }
    fit(&mut facts, most);
    if facts.is_empty() {
        facts.push("The agent gave no answer".to_owned());
    }
    facts
}

/// Puts short lines together until no more are left than fit; the first stays as it is.
fn fit(facts: &mut Vec<String>, most: usize) {
    while facts.len() > most {
        let length = |at: usize| -> usize {
            let pair = facts.iter().skip(at).take(2);
            pair.map(|fact| fact.chars().count()).sum()
        };
        let shortest = (1..facts.len() - 1).min_by_key(|at| length(*at));
        let Some(at) = shortest.filter(|at| length(*at) <= LONGEST_LINE) else {
            facts.truncate(most);
            return;
        };
        let next = facts.remove(at + 1);
        if let Some(fact) = facts.get_mut(at) {
            let end = if fact.ends_with(['.', '!', '?', '…']) {
                ""
            } else {
                "."
            };
            *fact = format!("{fact}{end} {next}");
        }
    }
}

/// Tells what the root itself knows of an area.
fn languages_of(facts: &Facts<'_>, area: &Area) -> String {
    let brief = super::brief::Brief {
        area: String::new(),
        paths: area.paths.clone(),
        skip: area.skip.clone(),
        packages: Vec::new(),
    };
    let paths = facts.files.paths.iter().copied();
    let shares = languages::shares(paths.filter(|path| brief.holds(path)));
    let shown: Vec<String> = shares
        .iter()
        .take(4)
        .map(|share| format!("{} {}", share.files, share.language.name))
        .collect();
    let list = match facts.files.listed {
        Listed::Partly => "From the part of the list that could be read",
        Listed::Whole | Listed::Failed(_) | Listed::Not => "From the list of files",
    };
    if shown.is_empty() {
        return format!("{list}: no known language");
    }
    format!("{list}: {}", shown.join(", "))
}

fn starts(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Entry points");
    if facts.starts.is_empty() {
        page.item(absent(facts, "Not found"));
    }
    for start in facts.starts.iter().take(MOST_STARTS) {
        page.item(start.shown());
    }
    let more = facts.starts.len().saturating_sub(MOST_STARTS);
    if more > 0 || !facts.starts.is_empty() && !facts.all_starts {
        let more = Count {
            number: more,
            exact: facts.all_starts,
        };
        page.item(format!("and {more} more"));
    }
}

fn tests(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Tests");
    let named: Vec<&str> = facts
        .files
        .paths
        .iter()
        .copied()
        .filter(|path| is_test(path) && !is_foreign(path))
        .collect();
    let none = facts.tests.iter().all(|tested| tested.tests.number == 0);
    if named.is_empty() && none {
        page.item(absent(facts, "Not found"));
        not_searched(page, facts);
        return;
    }
    let mut folders: Vec<&str> = named.iter().map(|path| test_folder(path)).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.retain(|folder| !folder.is_empty());
    let shown = codes(folders.iter().take(5).copied());
    let more = folders.len().saturating_sub(5);
    let place = match (folders.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(", in {shown}"),
        (false, more) => format!(", in {shown} and {}", counted(more, "more folder")),
    };
    if !named.is_empty() {
        let files = facts.files.counted(named.len()).of("file");
        let paths = facts.files.paths.iter();
        let copied = paths.filter(|path| is_test(path) && is_foreign(path));
        let copied = match copied.count() {
            0 => String::new(),
            more => format!(
                "; {} more in folders named like copies of others' code",
                facts.files.counted(more)
            ),
        };
        page.item(format!("{files} named like tests{place}{copied}"));
    }
    for tested in facts.tests.iter().filter(|tested| tested.tests.number > 0) {
        let (tests, files) = (tested.tests.of("test function"), tested.files.of("file"));
        let language = tested.language;
        page.item(format!("{language}: {tests} in {files}, by their look"));
    }
    not_searched(page, facts);
}

/// Tells in which languages no tests were looked for.
fn not_searched(page: &mut Page, facts: &Facts<'_>) {
    const MOST_NAMED: usize = 6;
    let searched = |name: &str| facts.tests.iter().any(|tested| tested.language == name);
    let code = facts.languages.iter().map(|measured| measured.share);
    let names: Vec<&str> = code
        .filter(|share| share.language.kind == languages::Kind::Code)
        .map(|share| share.language.name)
        .filter(|name| !searched(name))
        .collect();
    if names.is_empty() {
        return;
    }
    let more = match names.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names: Vec<&str> = names.into_iter().take(MOST_NAMED).collect();
    let names = names.join(", ");
    page.item(format!(
        "Test functions were not looked for in {names}{more}"
    ));
}

/// Returns the folder of tests that a file is in.
fn test_folder(path: &str) -> &str {
    let names = ["tests/", "test/", "__tests__/", "spec/", "specs/"];
    let found = names.iter().find_map(|name| {
        let at = path.find(name)?;
        let whole = at == 0 || path.get(..at)?.ends_with('/');
        path.get(..at + name.len() - 1).filter(|_| whole)
    });
    found.unwrap_or_else(|| super::files::folder_of(path))
}

fn reading_list(page: &mut Page, facts: &Facts<'_>, areas: &[Area]) {
    page.heading("Where to start reading");
    let list = reading::list(facts, areas);
    if list.is_empty() {
        page.item(absent(facts, "Nothing found to start with"));
    }
    for (index, (path, why)) in list.iter().enumerate() {
        page.numbered(index + 1, &format!("{}: {why}", code(path)));
    }
}

/// Tells which calls failed, if any did.
pub(super) fn failures(page: &mut Page, talk: &Conversation<'_>) {
    let failed: Vec<_> = talk.failures().collect();
    if failed.is_empty() {
        return;
    }
    page.heading("What did not work");
    for (made, why) in failed.iter().take(MOST_FAILURES) {
        let about = match made.tool {
            TASK | TODO => String::new(),
            _ => format!(
                " {}",
                code(&markdown::capped(&made.arguments.to_string(), 80))
            ),
        };
        page.item(format!("{}{about}: {}", code(made.tool), prose(why, 160)));
    }
    let more = failed.len().saturating_sub(MOST_FAILURES);
    if more > 0 {
        page.item(format!("and {}", counted(more, "more call")));
    }
}
