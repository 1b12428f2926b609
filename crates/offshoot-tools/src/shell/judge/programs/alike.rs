//! Other ways to write the same command.
//!
//! Who forbids `make deploy` means `make -s deploy` and `make all deploy` too, and who
//! forbids `npm install` means `npm i`. What is found here is held against what is
//! forbidden and allows nothing, so a word too many does no harm.

use offshoot_types::permission::argv::Word;

use super::builders::is_own;
use super::interpreters;
use super::names;
use super::options::{is, is_operand, listed};

/// Names of one command, by program.
const NAMES: &[(&str, &[&str])] = &[
    (
        "cargo",
        &[
            "build b",
            "check c",
            "doc d",
            "run r",
            "test t",
            "remove rm",
        ],
    ),
    (
        "npm pnpm",
        &[
            "install i in ins inst insta instal isnt isnta isntal isntall add",
            "uninstall un unlink remove rm r",
            "test t tst",
            "run run-script rum urn",
            "ci clean-install ic install-clean",
            "update up upgrade udpate",
        ],
    ),
];

/// Do what each of their operands says, one after the other.
const TARGETS: &str = "gmake gradle gradlew just make mvn mvnw ninja rake";

/// How many of those are looked at one by one.
const MOST_TARGETS: usize = 64;

/// Take options before the word that says what they do.
const COMMANDS: &str = "ansible apt apt-get aws az brew cargo composer conda dnf docker docker-compose flyctl gcloud gh helm heroku \
     journalctl kubectl netlify npm pip pip3 pnpm podman poetry pulumi rails snap systemctl terraform tofu uv vercel \
     yarn yum zypper";

/// Words behind which another says what is done.
const BEFORE: &[(&str, &str)] = &[
    (
        "docker podman",
        "compose container image network volume system",
    ),
    ("npm pnpm yarn bun", "run run-script"),
];

/// Returns the same command by another program: a part of git or cargo that is called by its own name,
/// a tool that an interpreter is told to run, what a program is called elsewhere.
pub(super) fn other_programs(words: &[Word]) -> Vec<Vec<Word>> {
    let [Word::Fixed(program), arguments @ ..] = words else {
        return Vec::new();
    };
    let name = names::called(program);
    if let Some((tool, arguments)) = interpreters::tool(name, arguments) {
        return vec![with(&[tool], arguments)];
    }
    let versioned = |c: char| c.is_ascii_digit() || c == '.';
    match arguments {
        [first, rest @ ..] if name == "docker" && is(first, "compose") => {
            vec![with(&["docker-compose"], rest)]
        }
        _ if name == "docker-compose" => vec![with(&["docker", "compose"], arguments)],
        _ if name != "pip" && name.trim_end_matches(versioned) == "pip" => {
            vec![with(&["pip"], arguments)]
        }
        _ if program.rsplit('/').next() != Some(name) => vec![with(&[name], arguments)],
        _ => parts(name, arguments),
    }
}

/// Returns the same command of a program by the other names that it has, and without the options that
/// stand before it.
pub(super) fn other_names(words: &[Word]) -> Vec<Vec<Word>> {
    let [Word::Fixed(program), arguments @ ..] = words else {
        return Vec::new();
    };
    let name = names::called(program);
    let mut found = Vec::new();
    if listed(TARGETS, name) {
        let targets = arguments.iter().filter(|word| is_target(word));
        let one = |target| with(&[program], std::slice::from_ref(target));
        found.extend(targets.clone().take(MOST_TARGETS).map(one));
        if targets.count() > MOST_TARGETS {
            found.push(one(&Word::Open("\"$@\"".to_owned())));
        }
    }
    let bare = behind_options(program, name, arguments);
    found.extend(renamed(name, words));
    found.extend(bare.iter().flat_map(|words| renamed(name, words)));
    found.extend(bare);
    found.retain(|other| other != words);
    found
}

fn with(words: &[&str], arguments: &[Word]) -> Vec<Word> {
    let words = words.iter().map(|word| Word::Fixed((*word).to_owned()));
    words.chain(arguments.iter().cloned()).collect()
}

/// Returns a part of git or cargo as the command that it is.
fn parts(name: &str, arguments: &[Word]) -> Vec<Vec<Word>> {
    for of in ["git", "cargo"] {
        let part = name
            .strip_prefix(of)
            .and_then(|rest| rest.strip_prefix('-'));
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            // Cargo hands the name on, as the first of the arguments.
            return match arguments {
                [first, rest @ ..] if is(first, part) => {
                    vec![with(&[of, part], arguments), with(&[of, part], rest)]
                }
                _ => vec![with(&[of, part], arguments)],
            };
        }
    }
    Vec::new()
}

fn is_target(word: &Word) -> bool {
    matches!(word, Word::Fixed(text) if is_operand(word) && !text.contains('='))
}

/// Returns a command without the options before the word that says what it does. Which of them take a
/// value is not known, so the second word may be that one as well as the first.
fn behind_options(program: &str, name: &str, arguments: &[Word]) -> Vec<Vec<Word>> {
    if !listed(COMMANDS, name) {
        return Vec::new();
    }
    let goes_on = |word: &Word| {
        let known = BEFORE.iter().filter(|(names, _)| listed(names, name));
        let mut known = known.map(|(_, words)| *words);
        matches!(word, Word::Fixed(word) if known.any(|words| listed(words, word)))
    };
    let mut found = Vec::new();
    let before = usize::from(arguments.first().is_some_and(goes_on));
    for first in [0, before] {
        let (kept, rest) = arguments.split_at(first);
        if !rest.first().is_some_and(is_option) {
            continue;
        }
        let operands = rest.iter().enumerate().filter(|(_, word)| !is_option(word));
        for (at, _) in operands.take(2) {
            let mut words = with(&[program], kept);
            words.extend_from_slice(&rest[at..]);
            found.push(words);
        }
    }
    found
}

fn is_option(word: &Word) -> bool {
    matches!(word, Word::Fixed(word) if word.starts_with('-'))
}

/// Returns a command by the other names that it has.
fn renamed(name: &str, words: &[Word]) -> Vec<Vec<Word>> {
    let [Word::Fixed(program), Word::Fixed(command), rest @ ..] = words else {
        return Vec::new();
    };
    let known = NAMES.iter().filter(|(names, _)| listed(names, name));
    let groups = known.flat_map(|(_, groups)| groups.iter());
    let same = groups.filter(|group| listed(group, command));
    let others = same.flat_map(|group| group.split(' '));
    let mut found: Vec<_> = others.map(|other| with(&[program, other], rest)).collect();
    match (name, command.as_str(), rest) {
        ("docker" | "podman", "container" | "image", rest) => found.push(with(&[program], rest)),
        // A script of these may be called by its name alone.
        ("yarn" | "pnpm" | "bun", "run", [script, ..]) if is_operand(script) => {
            found.push(with(&[program], rest));
        }
        ("npm", "run" | "run-script" | "rum" | "urn", [Word::Fixed(script), ..])
            if listed("restart start stop test", script) =>
        {
            found.push(with(&[program], rest));
        }
        ("yarn" | "pnpm" | "bun", ..) if is_operand(&words[1]) => {
            found.push(with(&[program, "run"], &words[1..]));
        }
        ("npm", "restart" | "start" | "stop" | "t" | "test" | "tst", _) => {
            let script = if command.starts_with('t') {
                "test"
            } else {
                command
            };
            found.push(with(&[program, "run", script], rest));
        }
        _ => {}
    }
    found
}

/// Returns the folder of the project that a program is told to work in, and how many words say so.
pub(super) fn folder(words: &[Word]) -> Option<(&str, usize)> {
    let [Word::Fixed(program), arguments @ ..] = words else {
        return None;
    };
    match (names::called(program), arguments) {
        ("git" | "make" | "ninja", [flag, Word::Fixed(folder), ..]) if is(flag, "-C") => {
            let is_there = !folder.is_empty() && is_own(folder) && !folder.starts_with('-');
            is_there.then_some((folder.as_str(), 2))
        }
        _ => None,
    }
}
