//! What a prompt asks for, by rules over its words.
//!
//! A rule matches a whole prompt, not words in it: a sentence that asks for more than one thing
//! is `Unknown`, and is answered by saying so. A wrong guess would be worse than none. A command is
//! only what stands between backquotes or behind a dollar sign.

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
    /// Find a text in files, and files by name.
    Find(String),
    /// Show a file.
    Read(String),
    /// List the files of a folder, or all.
    List(Option<String>),
    /// Write a file.
    Write { path: String, text: String },
    /// Run a command.
    Run(String),
    /// Have another agent do one of these.
    Ask { agent: String, prompt: String },
    /// Nothing that the rules know.
    Unknown,
}

const POLITE: &str = "please can could would will you me just now hey hi hello i want to need let's lets \
    offshoot";
const SURVEY: &str = "survey overview explain describe summarise summarize explore analyse analyze \
    understand";
/// Words that a survey of everything may have beside its verb.
const WHOLE: &str = "repo repository project codebase code workspace structure architecture everything \
    this the whole entire my our its it of a an give me here";
/// What asks for a survey without a verb of it.
const QUESTIONS: &[&str] = &[
    "what is this",
    "what is this project",
    "what is this repository",
    "what does this project do",
    "what does this repository do",
    "what's this",
];
const FIND: &str = "find search locate grep where";
/// Words around what is searched for.
const AROUND: &str = "for is are the a an all in function type defined used declared this repo repository \
    project code codebase usages uses of references occurrences";
const READ: &str = "read show open cat view print";

/// Returns what a prompt asks for.
pub(super) fn of(prompt: &str) -> Intent {
    if let Some(brief) = Brief::read(prompt) {
        return Intent::Area(brief);
    }
    let prompt = prompt.trim();
    if let Some(command) = command(prompt) {
        return Intent::Run(command.to_owned());
    }
    if let Some(intent) = with_text(prompt) {
        return intent;
    }
    // What goes on for lines is more than a rule knows.
    if prompt.contains('\n') {
        return Intent::Unknown;
    }
    let rest = without_politeness(prompt).trim_end_matches(['.', '!', '?', ' ']);
    let (verb, object) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let verb = plain(verb);
    let is = |known: &str| has(known, &verb);
    if QUESTIONS.contains(&rest.to_lowercase().as_str()) {
        return Intent::Survey;
    }
    let known = if is(READ) {
        one_word(object, "the file me")
            .filter(|path| is_file(path))
            .map(Intent::Read)
    } else if is(FIND) {
        term(object).map(Intent::Find)
    } else if matches!(verb.as_str(), "list" | "ls") {
        list(object)
    } else if is(SURVEY) || is(WHOLE) {
        survey(rest)
    } else {
        None
    };
    known.unwrap_or(Intent::Unknown)
}

/// Returns the command that a prompt asks to run: all of it is `$ COMMAND`, or `run` and one command
/// between backquotes.
fn command(prompt: &str) -> Option<&str> {
    if let Some(command) = prompt.strip_prefix("$ ") {
        let command = command.trim();
        return (!command.is_empty() && !command.contains('\n')).then_some(command);
    }
    let rest = without_politeness(prompt);
    let (verb, rest) = rest.split_once(char::is_whitespace)?;
    if !matches!(plain(verb).as_str(), "run" | "execute") {
        return None;
    }
    let rest = rest.trim().trim_end_matches(['.', '!']);
    let command = rest.strip_prefix('`')?.strip_suffix('`')?.trim();
    (!command.is_empty() && !command.contains(['`', '\n'])).then_some(command)
}

/// Reads `write PATH: TEXT` and `ask AGENT: PROMPT`.
fn with_text(prompt: &str) -> Option<Intent> {
    let (head, text) = without_politeness(prompt).split_once(':')?;
    let mut words = head.split_whitespace();
    let (verb, name) = (words.next()?, unquoted(words.next()?));
    if words.next().is_some() || text.trim().is_empty() {
        return None;
    }
    match plain(verb).as_str() {
        "write" if is_file(name) => Some(Intent::Write {
            path: name.to_owned(),
            text: format!("{}\n", text.trim()),
        }),
        "ask" => Some(Intent::Ask {
            agent: name.to_owned(),
            prompt: text.trim().to_owned(),
        }),
        _ => None,
    }
}

/// Returns what is searched for: what stands in quotes, or the one word that is left.
fn term(object: &str) -> Option<String> {
    for (open, close) in [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”')] {
        if let Some((before, rest)) = object.split_once(open)
            && let Some((term, behind)) = rest.split_once(close)
            && !term.trim().is_empty()
        {
            let mut around = before.split_whitespace().chain(behind.split_whitespace());
            let is_all = around.all(|word| has(AROUND, &plain(word)));
            return is_all.then(|| term.to_owned());
        }
    }
    one_word(object, AROUND)
}

fn list(object: &str) -> Option<Intent> {
    const NOISE: &str = "the all files folder directory in of this";
    let mut words = object.split_whitespace();
    if words.all(|word| has(NOISE, &plain(word))) {
        return Some(Intent::List(None));
    }
    one_word(object, NOISE).map(|folder| Intent::List(Some(folder)))
}

/// Reads a survey: of everything, or of the one folder that is left of its words.
fn survey(rest: &str) -> Option<Intent> {
    let has_verb = rest
        .split_whitespace()
        .any(|word| has(SURVEY, &plain(word)));
    let noise = &format!("{SURVEY} {WHOLE}");
    let mut left = rest
        .split_whitespace()
        .filter(|word| !has(noise, &plain(word)));
    match (has_verb, left.next(), left.next()) {
        (true, None, _) => Some(Intent::Survey),
        (true, Some(_), None) => {
            let folder = one_word(rest, noise)?;
            let folder = folder.trim_start_matches("./").trim_end_matches('/');
            is_path(folder).then(|| Intent::Folder(folder.to_owned()))
        }
        _ => None,
    }
}

/// Returns the one word that is left without those that say nothing; `None` if there are several.
fn one_word(text: &str, noise: &str) -> Option<String> {
    let words = text.split_whitespace();
    let mut left = words.filter(|word| !has(noise, &plain(word)));
    match (left.next(), left.next()) {
        (Some(word), None) => {
            let word = unquoted(word.trim_end_matches([',', '?', '!', ':', ';']));
            (!word.is_empty()).then(|| word.to_owned())
        }
        _ => None,
    }
}

fn is_path(word: &str) -> bool {
    !word.is_empty() && !word.contains("..") && !word.contains("://")
}

/// Tells whether a word looks like a file: it has an ending, a folder, or a well-known name.
fn is_file(word: &str) -> bool {
    const KNOWN: &str = "readme license licence makefile dockerfile changelog";
    let has_ending = word
        .rsplit_once('.')
        .is_some_and(|(_, ending)| !ending.is_empty());
    is_path(word) && (has_ending || word.contains('/') || has(KNOWN, &word.to_lowercase()))
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['`', '"', '\'', '“', '”'])
}

fn without_politeness(prompt: &str) -> &str {
    let mut rest = prompt.trim();
    while let Some((first, behind)) = rest.split_once(char::is_whitespace) {
        if !has(POLITE, &plain(first)) {
            break;
        }
        rest = behind.trim_start();
    }
    rest
}

/// Tells whether a list of words has a word.
fn has(known: &str, word: &str) -> bool {
    known.split_whitespace().any(|known| known == word)
}

/// Returns a word without what stands around it, in small letters.
fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_never_becomes_a_command() {
        for prompt in [
            "run the linter and fix all errors",
            "run cargo test",
            "execute rm -rf build",
            "run `cargo fmt` and fix what it says",
            "test",
            "run `a` and `b`",
            "$",
            "run `a\nb`",
            "$ a\nb",
        ] {
            assert_eq!(of(prompt), Intent::Unknown, "{prompt}");
        }
        for prompt in [
            "$ cargo test",
            "run `cargo test`",
            "Please execute `cargo test`.",
        ] {
            assert_eq!(of(prompt), Intent::Run("cargo test".to_owned()), "{prompt}");
        }
    }

    #[test]
    fn a_prompt_that_asks_for_more_than_a_rule_knows_is_not_half_done() {
        for prompt in [
            "",
            "fix the tests",
            "explain this project and fix the tests",
            "read README.md and translate it",
            "find the bug and fix it",
            "find `unwrap` and remove it",
            "survey src and tests",
            "list everything that is wrong",
            "write a poem",
            "write a: b c\nfor me",
            "Survey this repository.\nThen delete it.",
        ] {
            assert_eq!(of(prompt), Intent::Unknown, "{prompt}");
        }
    }

    #[test]
    fn prompts_that_rules_know() {
        let text = str::to_owned;
        for (prompt, expected) in [
            ("Survey this repository", Intent::Survey),
            ("Explain this project!", Intent::Survey),
            ("give me an overview", Intent::Survey),
            ("what does this project do?", Intent::Survey),
            ("survey crates/store", Intent::Folder(text("crates/store"))),
            ("survey ./src/", Intent::Folder(text("src"))),
            ("find Scheduler", Intent::Find(text("Scheduler"))),
            (
                "where is \"task call\" used?",
                Intent::Find(text("task call")),
            ),
            ("read README.md", Intent::Read(text("README.md"))),
            (
                "show me the file `src/lib.rs`.",
                Intent::Read(text("src/lib.rs")),
            ),
            ("list files", Intent::List(None)),
            ("list the files in src", Intent::List(Some(text("src")))),
            (
                "write notes.txt: a: b",
                Intent::Write {
                    path: text("notes.txt"),
                    text: text("a: b\n"),
                },
            ),
            (
                "ask explore: find Scheduler",
                Intent::Ask {
                    agent: text("explore"),
                    prompt: text("find Scheduler"),
                },
            ),
        ] {
            assert_eq!(of(prompt), expected, "{prompt}");
        }
    }
}
