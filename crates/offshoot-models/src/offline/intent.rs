//! What a prompt asks for, by rules over its words.
//!
//! The rules are few and literal. What they do not know is `Unknown`, which is
//! answered by saying so: a wrong guess would be worse than none.

use super::survey::brief::Brief;

/// What a prompt asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Survey one area, as a root's rules ask a child to.
    Area(Brief),
    /// Survey the repository.
    Survey,
    /// Survey one folder of it.
    Folder(String),
    /// Find a text in files, or files by name.
    Find(String),
    /// Outline a file.
    Outline(String),
    /// Run a command.
    Run(String),
    /// Run the project's tests.
    Test,
    /// Keep a list of what is to be done.
    Todo(Vec<String>),
    /// Nothing that the rules know.
    Unknown,
}

const POLITE: &[&str] = &[
    "please", "can", "could", "would", "will", "you", "me", "just", "now", "hey", "hi", "hello",
    "offshoot", "i", "want", "to", "need", "let's", "lets",
];
const SURVEY: &[&str] = &["survey", "overview", "tour", "onboard", "orient"];
const ABOUT: &[&str] = &[
    "explain",
    "describe",
    "summarise",
    "summarize",
    "understand",
    "analyse",
    "analyze",
    "explore",
    "introduce",
    "map",
    "show",
    "how",
    "what",
    "what's",
    "whats",
    "tell",
];
const WHOLE: &[&str] = &[
    "repo",
    "repository",
    "project",
    "codebase",
    "code",
    "workspace",
    "folder",
    "directory",
    "this",
    "architecture",
    "structure",
    "here",
];
const FIND: &[&str] = &[
    "find", "search", "locate", "grep", "where", "where's", "look",
];
const READ: &[&str] = &[
    "read",
    "show",
    "open",
    "cat",
    "view",
    "outline",
    "summarise",
    "summarize",
    "explain",
    "describe",
];
const RUN: &[&str] = &["run", "execute"];
/// Words around what is searched for.
const AROUND: &[&str] = &[
    "for",
    "is",
    "are",
    "the",
    "a",
    "an",
    "of",
    "all",
    "any",
    "in",
    "file",
    "files",
    "function",
    "defined",
    "used",
    "declared",
    "this",
    "repo",
    "repository",
    "project",
    "code",
    "codebase",
    "uses",
    "usages",
    "references",
    "occurrences",
    "up",
    "at",
    "do",
    "does",
    "we",
    "call",
    "called",
];
/// Files that are asked for without their ending.
const KNOWN_FILES: &[&str] = &[
    "readme",
    "license",
    "licence",
    "makefile",
    "dockerfile",
    "changelog",
    "contributing",
    "justfile",
];

/// Returns what a prompt asks for.
pub(super) fn of(prompt: &str) -> Intent {
    if let Some(brief) = Brief::read(prompt) {
        return Intent::Area(brief);
    }
    let prompt = prompt.trim();
    let rest = without_politeness(prompt);
    let (verb, object) = rest
        .split_once(|c: char| c.is_whitespace() || c == ':')
        .unwrap_or((rest, ""));
    let verb = word(verb);
    let object = object.trim();
    if verb == "todo" || verb == "todos" {
        return todo(object);
    }
    if is_test(&verb, object) {
        return Intent::Test;
    }
    if RUN.contains(&verb.as_str()) && !object.is_empty() {
        return Intent::Run(unquoted(object).to_owned());
    }
    if READ.contains(&verb.as_str())
        && let Some(path) = named_file(object)
    {
        return Intent::Outline(path.to_owned());
    }
    if FIND.contains(&verb.as_str())
        && let Some(term) = term(object)
    {
        return Intent::Find(term);
    }
    if let Some(folder) = named_folder(prompt) {
        return Intent::Folder(folder);
    }
    if is_survey(prompt) {
        return Intent::Survey;
    }
    Intent::Unknown
}

fn without_politeness(prompt: &str) -> &str {
    let mut rest = prompt;
    while let Some((first, behind)) = rest.split_once(char::is_whitespace) {
        if !POLITE.contains(&word(first).as_str()) {
            break;
        }
        rest = behind.trim_start();
    }
    rest
}

fn word(text: &str) -> String {
    text.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(word).collect()
}

fn is_test(verb: &str, object: &str) -> bool {
    let rest = words(object);
    let about_tests = |word: &str| {
        WHOLE.contains(&word)
            || matches!(
                word,
                "" | "the" | "all" | "its" | "test" | "tests" | "suite" | "unit"
            )
    };
    let names_tests = |rest: &[String]| rest.iter().any(|w| w == "test" || w == "tests");
    let all_known = rest.iter().all(|word| about_tests(word));
    match verb {
        "test" | "tests" => all_known,
        "run" | "execute" => all_known && names_tests(&rest),
        _ => false,
    }
}

fn is_survey(prompt: &str) -> bool {
    let words = words(prompt);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    // A long text that happens to have such words asks for something else.
    words.len() <= 40 && (has(SURVEY) || has(ABOUT) && has(WHOLE))
}

/// Returns the folder that a survey is asked of: the one word that is about nothing else.
fn named_folder(prompt: &str) -> Option<String> {
    const VERBS: &[&str] = &[
        "explain",
        "describe",
        "summarise",
        "summarize",
        "analyse",
        "analyze",
        "explore",
    ];
    const ALL: &[&str] = &["", "everything", "it", "my", "our", "whole", "entire"];
    let parts: Vec<&str> = prompt
        .split_whitespace()
        .map(|part| part.trim_end_matches([',', '?', '!', ':', ';']))
        .map(|part| part.trim_matches(['`', '"', '\'', '“', '”']))
        .collect();
    let verb = |part: &&str| {
        let word = word(part);
        SURVEY.contains(&word.as_str()) || VERBS.contains(&word.as_str())
    };
    let at = parts.iter().position(verb)?;
    let (is_survey, behind) = match parts.get(at..)? {
        [verb, behind @ ..] => (SURVEY.contains(&word(verb).as_str()), behind),
        [] => return None,
    };
    let mut left = behind.iter().filter(|part| {
        let word = word(part);
        let around = [AROUND, POLITE, WHOLE, ALL].into_iter();
        !around.flatten().any(|known| *known == word)
    });
    let only = match (left.next(), left.next()) {
        (Some(only), None) => only.strip_prefix("./").unwrap_or(only),
        (_, _) => return None,
    };
    let of_all = behind.iter().any(|part| {
        let word = word(part);
        WHOLE.contains(&word.as_str()) && !matches!(word.as_str(), "folder" | "directory")
    });
    let is_path = only.contains('/') && !only.contains("..") && !only.contains("://");
    let is_name = is_survey && !of_all && !only.contains('/') && !only.starts_with('.');
    let folder = only.trim_end_matches('/');
    ((is_path || is_name) && !folder.is_empty()).then(|| folder.to_owned())
}

/// Returns the file that an object names, if it looks like one.
fn named_file(object: &str) -> Option<&str> {
    object
        .split_whitespace()
        .map(|part| part.trim_end_matches([',', '?', '!', ':']))
        // One word: its quotes may open before it or close behind it.
        .map(|part| part.trim_matches(['`', '"', '\'', '“', '”']))
        .map(|part| part.strip_suffix('.').unwrap_or(part))
        .find(|part| {
            let name = part.rsplit('/').next().unwrap_or(part);
            let has_ending = name
                .rsplit_once('.')
                .is_some_and(|(_, end)| !end.is_empty() && end.len() <= 10);
            let plain = !part.is_empty() && !part.contains("..") && !part.contains("://");
            plain && (has_ending || KNOWN_FILES.contains(&part.to_lowercase().as_str()))
        })
}

/// Returns what is searched for: what stands in quotes, or what is left without the words around.
fn term(object: &str) -> Option<String> {
    for quote in ['`', '"', '\'', '“'] {
        let close = if quote == '“' { '”' } else { quote };
        if let Some((_, rest)) = object.split_once(quote)
            && let Some((term, _)) = rest.split_once(close)
            && !term.trim().is_empty()
        {
            return Some(term.to_owned());
        }
    }
    let left: Vec<&str> = object
        .split_whitespace()
        .map(|part| part.trim_end_matches(['?', '!', ',', ';', '.']))
        .filter(|part| !part.is_empty() && !AROUND.contains(&part.to_lowercase().as_str()))
        .collect();
    (!left.is_empty()).then(|| left.join(" "))
}

/// Returns what stands between quotes if one pair is around the whole, and else all of it: other
/// quotes are the command's own.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    for (open, close) in [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”')] {
        if let Some(rest) = text.strip_prefix(open)
            && let Some(inner) = rest.strip_suffix(close)
            && !inner.contains([open, close])
            && !inner.trim().is_empty()
        {
            return inner.trim();
        }
    }
    text
}

fn todo(object: &str) -> Intent {
    let items: Vec<String> = object
        .split(['\n', ';', ','])
        .map(|item| item.trim().trim_start_matches(['-', '*', ' ']).to_owned())
        .filter(|item| !item.is_empty())
        .collect();
    if items.is_empty() {
        Intent::Unknown
    } else {
        Intent::Todo(items)
    }
}

#[cfg(test)]
mod tests;
