//! Rules as people write them: what is wrong with one, and what its variables stand for.
//!
//! A rule that cannot mean what its author thinks is a fault, and not a rule that
//! fits nothing: an unknown capability, an unknown variable, a pattern that no
//! target could fit. `check` finds faults where a file is read, `expand` puts
//! folders in where an agent begins to work, `oddities` finds rules that are not
//! what they seem. What is expanded fails closed: a
//! variable without a value is an empty scope.

mod oddities;

use std::borrow::Cow;
use std::fmt;

use super::argv;
use super::capability::Capability;
use super::host::HostPattern;
use super::pattern::{Pattern, glob_escape, wildcards};
use super::{Action, Rule};
use crate::suggest;

pub use self::oddities::{Overshadowed, contradictions, idle_allows, overshadowed};

/// Longest pattern, in bytes. Nobody writes one; a path has at most 4096.
const MOST_PATTERN: usize = 4096;

/// Most stars and question marks of a pattern. Each costs a look at every letter of a target.
const MOST_WILDCARDS: usize = 32;

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which part of it.
    pub part: Part,
    /// Where in that part, in bytes.
    pub at: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub way: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Some(way) => write!(f, "{}; {way}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// A part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What it is about.
    Permission,
    /// Where it holds.
    Pattern,
}

/// What variables stand for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Variables<'a> {
    /// `{workspace}`: the folder of the session.
    pub workspace: &'a str,
    /// `{scratch}`: the agent's folder for what is not the user's.
    pub scratch: Option<&'a str>,
    /// `{home}`: the user's folder.
    pub home: Option<&'a str>,
}

/// The tool that needs commands and files both.
pub(super) const SHELL: &str = "bash";

/// The tools that need files and nothing else: what is said of them is said of paths.
const FILE_TOOLS: [&str; 5] = ["read", "write", "edit", "glob", "grep"];

/// Calls of the engine's own that are about no agent, so that a name fits none of them.
pub const ABOUT_NO_AGENT: [&str; 4] = ["todo", "question", "wait", "children"];

const VARIABLES: [&str; 3] = ["workspace", "scratch", "home"];

/// Finds what is wrong with a rule; `tools` are those there are.
pub fn check(rule: &Rule, tools: &[&str]) -> Result<(), Fault> {
    check_permission(&rule.permission, tools)?;
    check_pattern(rule)
}

/// Returns rules with folders in the place of variables; relative paths lie in the workspace.
///
/// A rule about a scratch folder where there is none is about nothing, and is left out. One about a home
/// that nobody knows, or that could not be read, which `check` would have found, allows nothing and
/// forbids, or asks about, all that its permission is about.
pub fn expand(rules: &[Rule], variables: &Variables<'_>) -> Vec<Rule> {
    let mut expanded = Vec::with_capacity(rules.len());
    for rule in rules {
        let mut patterns = Vec::new();
        for reading in readings(rule) {
            patterns.extend(match fill(rule, *reading, variables) {
                Filled::Pattern(pattern) => Some(pattern),
                Filled::Nothing => None,
                Filled::Unknown if rule.action == Action::Allow => None,
                // Nobody knows what it would have forbidden.
                Filled::Unknown => Some("*".to_owned()),
            });
        }
        patterns.dedup();
        let filled = |pattern| Rule::new(rule.permission.clone(), pattern, rule.action);
        expanded.extend(patterns.into_iter().map(filled));
    }
    expanded
}

/// What a pattern is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reading {
    /// Words, a host, or other text.
    Text,
    /// A path, which may be relative.
    Path,
}

/// Returns what the pattern of a rule is taken for. That of a tool's name or of `*` meets targets of
/// every kind, so it is taken for both: a `deny` of `docs/**` means the files of that folder.
///
/// An `allow` of commands is none of files that are called like them: who allows `bash` to run
/// `scripts/*` has not allowed it to write them.
fn readings(rule: &Rule) -> &'static [Reading] {
    if is_files(&rule.permission) {
        return &[Reading::Path];
    }
    match Capability::of(&rule.permission) {
        Some(_) => &[Reading::Text],
        None if allows_commands(rule) => &[Reading::Text],
        None => &[Reading::Text, Reading::Path],
    }
}

/// Tells whether a rule allows what `bash` needs, commands among it.
pub(super) fn allows_commands(rule: &Rule) -> bool {
    rule.action == Action::Allow && is_mixed(&rule.permission)
}

/// Tells whether a permission is about commands and files both.
fn is_mixed(permission: &str) -> bool {
    permission == "*" || permission == SHELL
}

/// Tells whether a permission is about files and nothing else.
fn is_files(permission: &str) -> bool {
    let tool = FILE_TOOLS.contains(&permission);
    tool || Capability::of(permission).is_some_and(Capability::is_files)
}

fn check_permission(name: &str, tools: &[&str]) -> Result<(), Fault> {
    let fault = |what: String, way: Option<String>| {
        Err(Fault {
            part: Part::Permission,
            at: 0,
            what,
            way,
        })
    };
    let shown = name.escape_debug();
    if name == "*" || Capability::of(name).is_some() || tools.contains(&name) {
        return Ok(());
    }
    if let Some(rest) = name.strip_prefix("mcp:") {
        let mut parts = rest.split(':');
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.contains(|letter: char| letter == '*' || letter.is_whitespace())
        };
        return match (parts.next(), parts.next(), parts.next()) {
            (Some(server), Some(tool), None)
                if is_name(server) && (tool == "*" || is_name(tool)) =>
            {
                Ok(())
            }
            _ => fault(
                format!("`{shown}` is no tool of a server"),
                Some("write `mcp:SERVER:TOOL`, or `mcp:SERVER:*` for all its tools".to_owned()),
            ),
        };
    }
    let capabilities = Capability::ALL.map(Capability::name);
    let known = capabilities.iter().chain(tools).copied();
    let way = match suggest::nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "there are: {}, tools by their names, and *",
            capabilities.join(", ")
        ),
    };
    let kind = if name.contains('.') {
        "capability"
    } else {
        "capability or tool"
    };
    fault(format!("unknown {kind} `{shown}`"), Some(way))
}

fn check_pattern(rule: &Rule) -> Result<(), Fault> {
    let (permission, pattern) = (rule.permission.as_str(), rule.pattern.as_str());
    let fault = |at: usize, what: &str, way: Option<String>| {
        Err(Fault {
            part: Part::Pattern,
            at,
            what: what.to_owned(),
            way,
        })
    };
    if pattern.trim().is_empty() {
        let way = "leave it out to mean all";
        return fault(0, "the pattern is empty", Some(way.to_owned()));
    }
    if pattern.len() > MOST_PATTERN {
        let what = format!("the pattern is longer than {MOST_PATTERN} bytes");
        return fault(0, &what, None);
    }
    if wildcards(pattern) > MOST_WILDCARDS {
        let what = format!("the pattern has more than {MOST_WILDCARDS} stars and question marks");
        return fault(0, &what, Some("write several rules".to_owned()));
    }
    if let Some(at) = pattern.find(char::is_control) {
        return fault(at, "the pattern has a control character", None);
    }
    let slashes = pattern.len() - pattern.trim_end_matches('\\').len();
    if slashes % 2 == 1 {
        let way = "write `\\\\` to mean a backslash".to_owned();
        return fault(
            pattern.len() - 1,
            "nothing follows the last `\\`",
            Some(way),
        );
    }
    for piece in pieces(permission, pattern) {
        if let Piece::Unknown(at, name) = piece {
            let what = if name.is_empty() {
                "braces stand for a variable, and here for none".to_owned()
            } else {
                format!("unknown variable `{{{}}}`", name.escape_debug())
            };
            let way = match suggest::nearest(name, VARIABLES) {
                Some(near) => format!("did you mean `{{{near}}}`?"),
                None => "there are {workspace}, {scratch} and {home}; `\\{` is a brace".to_owned(),
            };
            return fault(at, &what, Some(way));
        }
    }
    let is_words = pattern.contains(char::is_whitespace);
    let wrong = if is_files(permission) {
        wrong_path(pattern)
    } else if may_be_path(rule) {
        wrong_steps(pattern)
    } else if is_mixed(permission) && is_words {
        wrong_home(pattern).map(|(at, what, way)| (at, what, Some(way)))
    } else {
        None
    };
    if let Some((at, what, way)) = wrong {
        return fault(at, what, way);
    }
    match Capability::of(permission) {
        Some(Capability::ShellRun) => match wrong_command(pattern) {
            Some((at, what, way)) => fault(at, what, Some(way)),
            None => Ok(()),
        },
        Some(Capability::NetFetch) => match HostPattern::of(pattern) {
            Err(what) => fault(0, what, None),
            Ok(_) => Ok(()),
        },
        None if ABOUT_NO_AGENT.contains(&permission) && !Pattern::of(pattern).fits("") => {
            let what = format!("`{permission}` is about no agent, so only `*` fits");
            fault(0, &what, Some("leave the pattern out".to_owned()))
        }
        Some(_) | None => Ok(()),
    }
}

/// Tells whether the author of a rule about commands and files may have meant a path: one word with a
/// slash in it, which is no address. What an `allow` of those does not mean does no harm.
fn may_be_path(rule: &Rule) -> bool {
    let pattern = rule.pattern.as_str();
    let is_word = !pattern.contains(char::is_whitespace) && !pattern.contains("://");
    let forbids = rule.action != Action::Allow && is_mixed(&rule.permission);
    forbids && is_word && (pattern.contains('/') || pattern.starts_with('~'))
}

/// Tells whether a pattern begins with a star or `?` that stands for no `/`, as every path does.
fn begins_in_a_part(pattern: &str) -> bool {
    let star = pattern.starts_with('*') && !pattern.starts_with("**");
    pattern != "*" && (star || pattern.starts_with('?'))
}

type Wrong = (usize, &'static str, Option<String>);

fn wrong_path(pattern: &str) -> Option<Wrong> {
    if begins_in_a_part(pattern) {
        let what = "paths begin with `/`, which this star does not stand for";
        return Some((0, what, Some(format!("write `**/{pattern}`"))));
    }
    wrong_steps(pattern)
}

/// Finds what no path has, wherever it begins.
fn wrong_steps(pattern: &str) -> Option<Wrong> {
    if pattern.starts_with('~') && pattern != "~" && !pattern.starts_with("~/") {
        let what = "only your own home folder is `~`, with a `/` or nothing behind it";
        let way = format!("write the folder out, or `./{pattern}` for a name in the workspace");
        return Some((0, what, Some(way)));
    }
    if let Some(at) = pattern.find("//") {
        let mut one = pattern.to_owned();
        while one.contains("//") {
            one = one.replace("//", "/");
        }
        let what = "no path that is asked for has `//` in it, so this fits none";
        return Some((at, what, Some(format!("write `{one}`"))));
    }
    for name in VARIABLES {
        let found = pattern.find(&format!("{{{name}}}")).unwrap_or_default();
        if found > 0 && !pattern[..found].ends_with(['*', '\\']) {
            let what = "a variable is a whole path, so nothing stands before it";
            return Some((found, what, Some(format!("begin with `{{{name}}}`"))));
        }
    }
    let is_step = |part: &str| part == ".." || part == ".";
    let own = pattern.strip_prefix("./").unwrap_or(pattern);
    if let Some(step) = own.split('/').find(|part| is_step(part)) {
        let at = pattern.rfind(step).unwrap_or_default();
        let what = "no path that is asked for has `.` or `..` in it, so this fits none";
        return Some((at, what, None));
    }
    if pattern.len() > 1 && pattern.ends_with('/') {
        let way = format!("write `{pattern}**` for what is in it");
        return Some((pattern.len() - 1, "a path ends in `/`", Some(way)));
    }
    None
}

fn wrong_command(pattern: &str) -> Option<(usize, &'static str, String)> {
    if argv::is_unclosed(pattern) {
        let at = pattern.rfind('\'').unwrap_or_default();
        let way = "close it, or write `\\'`".to_owned();
        return Some((at, "a quote is not closed", way));
    }
    if let Some(wrong) = wrong_home(pattern) {
        return Some(wrong);
    }
    let first = pattern.split_whitespace().next().unwrap_or_default();
    let sets = first.split_once('=').map(|(name, _)| name);
    let is_name = |name: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(letter)
    };
    if sets.is_some_and(is_name) {
        let what = "what is set before a command is no word of it, so this fits none";
        let way = "begin with the program".to_owned();
        return Some((pattern.find(first).unwrap_or_default(), what, way));
    }
    wrong_letter(pattern)
}

/// Finds a `~` that begins a word: the shell makes a folder of it before anybody looks.
fn wrong_home(pattern: &str) -> Option<(usize, &'static str, String)> {
    let (mut quoted, mut begins) = (false, true);
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '~' if begins && !quoted => {
                let what = if pattern[..at].trim().is_empty() {
                    "no command is called by `~`, which the shell makes a folder of"
                } else {
                    "no word of a command begins with `~`, which the shell makes a folder of"
                };
                let word = pattern[at..].split_whitespace().next().unwrap_or_default();
                let way = if word == "~" || word.starts_with("~/") {
                    format!("write `{}{{home}}{}`", &pattern[..at], &pattern[at + 1..])
                } else {
                    "write the folder out, or `\\~` for that letter".to_owned()
                };
                return Some((at, what, way));
            }
            '\'' => quoted = !quoted,
            '\\' if !quoted => drop(chars.next()),
            _ => {}
        }
        begins = !quoted && c.is_whitespace();
    }
    None
}

/// Finds a letter that the shell would not leave in a word, unless it is quoted.
fn wrong_letter(pattern: &str) -> Option<(usize, &'static str, String)> {
    let mut quoted = false;
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '\\' => drop(chars.next()),
            '"' => {
                let what = "a double quote is a letter here, and no word of a command has it";
                let way = "write single quotes, or none; `\\\"` is that letter".to_owned();
                return Some((at, what, way));
            }
            '|' | '&' | ';' | '<' | '>' => {
                let what = "a rule is about one simple command, and this is more";
                let apart = |c: Option<char>| c.is_none_or(char::is_whitespace);
                let before = pattern[..at].chars().next_back();
                let behind = pattern[at..].trim_start_matches(['|', '&', ';', '<', '>']);
                let way = if apart(before) && apart(behind.chars().next()) {
                    "write one rule for each"
                } else {
                    "write one rule for each, or single quotes around what is text"
                };
                return Some((at, what, way.to_owned()));
            }
            _ => {}
        }
    }
    None
}

/// A piece of a pattern with variables in it.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
    /// Braces around something else, and where.
    Unknown(usize, &'a str),
}

/// Takes a pattern apart at its variables. Elsewhere than in paths, braces around anything that does
/// not look like a name are text.
fn pieces<'a>(permission: &str, pattern: &'a str) -> Vec<Piece<'a>> {
    let is_path = is_files(permission);
    let quotes = permission == Capability::ShellRun.name();
    let is_name = |name: &str| {
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '-';
        !name.is_empty() && name.chars().all(letter)
    };
    let mut pieces = Vec::new();
    let (mut from, mut at, mut quoted) = (0, 0, false);
    while let Some(c) = pattern[at..].chars().next() {
        let width = match c {
            '\'' if quotes => {
                quoted = !quoted;
                1
            }
            '\\' if !quoted => 1 + pattern[at + 1..].chars().next().map_or(0, char::len_utf8),
            '{' if !quoted => {
                let end = pattern[at..].find('}').map(|end| at + end);
                let name = end.map_or("", |end| &pattern[at + 1..end]);
                let width = end.map_or(1, |end| end + 1 - at);
                if is_path || is_name(name) {
                    pieces.push(Piece::Text(&pattern[from..at]));
                    from = at + width;
                    pieces.push(if VARIABLES.contains(&name) {
                        Piece::Variable(name)
                    } else {
                        Piece::Unknown(at, name)
                    });
                    width
                } else {
                    1
                }
            }
            c => c.len_utf8(),
        };
        at += width;
    }
    pieces.push(Piece::Text(&pattern[from..]));
    pieces
}

/// What a pattern has become.
enum Filled {
    Pattern(String),
    /// It is about a folder that is not there.
    Nothing,
    /// It has a variable that nobody knows.
    Unknown,
}

fn fill(rule: &Rule, reading: Reading, variables: &Variables<'_>) -> Filled {
    let pattern = match reading {
        Reading::Text => Cow::Borrowed(rule.pattern.as_str()),
        // Who forbids `*.env` means that name in whatever folder.
        Reading::Path if rule.action != Action::Allow && begins_in_a_part(&rule.pattern) => {
            Cow::Owned(format!("**/{}", rule.pattern))
        }
        Reading::Path => rooted(&rule.pattern),
    };
    let mut filled = String::with_capacity(pattern.len());
    for piece in pieces(&rule.permission, &pattern) {
        let folder = match piece {
            Piece::Text(text) => {
                // A folder that is `/` already ends in what follows it.
                let text = match filled.as_str() {
                    "/" => text.strip_prefix('/').unwrap_or(text),
                    _ => text,
                };
                filled.push_str(text);
                continue;
            }
            Piece::Variable("workspace") => Some(variables.workspace),
            Piece::Variable("scratch") => variables.scratch,
            // There is one, and somebody meant what is in it.
            Piece::Variable(_) if variables.home.is_none_or(str::is_empty) => {
                return Filled::Unknown;
            }
            Piece::Variable(_) => variables.home,
            Piece::Unknown(..) => return Filled::Unknown,
        };
        let Some(folder) = folder.filter(|folder| !folder.is_empty()) else {
            return Filled::Nothing;
        };
        let folder = super::pattern::bare(folder);
        filled.push_str(&match reading {
            Reading::Path => glob_escape(folder),
            Reading::Text => argv::escape(folder),
        });
    }
    Filled::Pattern(filled)
}

/// Returns a pattern of paths that begins at the root, with variables.
fn rooted(pattern: &str) -> Cow<'_, str> {
    if pattern.starts_with(['/', '*', '?', '{']) {
        return Cow::Borrowed(pattern);
    }
    Cow::Owned(match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{{home}}{rest}"),
        Some(_) | None => {
            let rest = pattern.strip_prefix("./").unwrap_or(pattern);
            format!("{{workspace}}/{rest}")
        }
    })
}

#[cfg(test)]
mod tests;
