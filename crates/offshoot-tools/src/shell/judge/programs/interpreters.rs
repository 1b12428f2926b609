//! Interpreters: a file that they run is a program like any other, and code is opaque.

use offshoot_types::permission::argv::Word;

use super::builders;
use super::names;
use super::options::{is, is_operand, listed};

/// Modules of Python that are tools of their own: they do what their project says, and no code that
/// they are handed.
const TOOLS: &str =
    "black compileall flake8 isort json.tool mypy pip pylint pytest ruff unittest venv";

/// Look for a file also by adding one of these.
const BY_NODE: &str = "bun bunx node nodejs ts-node tsx";

/// What such a one adds.
const ENDINGS: [&str; 7] = [".js", ".cjs", ".mjs", ".json", ".ts", ".tsx", "/index.js"];

/// Tells whether an interpreter is given a file or a tool, and neither code nor its input to run.
pub(super) fn is_plain(name: &str, arguments: &[Word]) -> bool {
    let debugs = |word: &Word| is(word, "inspect") || is(word, "debug");
    let runs_file = |word: &Word| is_script(word) && !(is_node(name) && debugs(word));
    let does = match &arguments[flags(name, arguments)..] {
        // All that it is given is run, options among it.
        scripts if name == "gnuplot" => !scripts.is_empty() && scripts.iter().all(is_script),
        // The tests of the project.
        [test, files @ ..] if is_node(name) && is(test, "--test") => files.iter().all(is_script),
        [first, ..] => runs_file(first),
        [] => false,
    };
    let is_tool = |(tool, rest): (&str, &[Word])| match tool {
        // A second file is written.
        "json.tool" => rest.iter().filter(|word| !is_flag(word)).count() < 2,
        tool => super::is_plain(tool, rest),
    };
    does || tool(name, arguments).is_some_and(is_tool) || only_tells(name, arguments)
}

/// Tells whether a word is known to be an option.
fn is_flag(word: &Word) -> bool {
    matches!(word, Word::Fixed(word) if word.starts_with('-'))
}

/// Counts the options before a script that change how much is said, or when it ends.
fn flags(name: &str, arguments: &[Word]) -> usize {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    let flags = match name.trim_end_matches(version) {
        "ash" | "bash" | "dash" | "ksh" | "sh" | "zsh" => "-e -u -x -v -eu -ex -ux -eux",
        "python" => "-B -O -E -s -u",
        "perl" | "ruby" => "-w",
        _ => "",
    };
    let is_flag = |word: &&Word| matches!(word, Word::Fixed(word) if listed(flags, word));
    arguments.iter().take_while(is_flag).count()
}

fn is_node(name: &str) -> bool {
    let version = |c: char| c.is_ascii_digit() || ".-".contains(c);
    listed(BY_NODE, name.trim_end_matches(version))
}

/// Returns the tool that an interpreter is told to run by its name, and what it is handed.
pub(super) fn tool<'a>(name: &str, arguments: &'a [Word]) -> Option<(&'a str, &'a [Word])> {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    let is_python = name.trim_end_matches(version) == "python";
    match arguments {
        [option, Word::Fixed(tool), rest @ ..] if is_python && is(option, "-m") => {
            listed(TOOLS, tool).then_some((tool, rest))
        }
        _ => None,
    }
}

/// Returns the files that a command may run by its path, also one that an interpreter is given, and
/// what they are handed.
pub(super) fn files(words: &[Word]) -> Option<(Vec<String>, &[Word])> {
    let [Word::Fixed(program), arguments @ ..] = words else {
        return None;
    };
    let name = names::called(program);
    let given = match name {
        "deno" => builders::script_of_deno(arguments),
        "bun" => builders::script_of_bun(arguments),
        _ if names::is_interpreter(name) => &arguments[flags(name, arguments)..],
        _ => &[],
    };
    let [Word::Fixed(script), rest @ ..] = given else {
        return program
            .contains('/')
            .then(|| (vec![program.clone()], arguments));
    };
    let path = if script.contains('/') {
        script.clone()
    } else {
        format!("./{script}")
    };
    let mut paths = vec![path.clone()];
    if is_node(name) {
        paths.extend(ENDINGS.map(|ending| format!("{path}{ending}")));
    }
    Some((paths, rest))
}

/// Tells whether an interpreter is given a file, and neither code nor its input to run.
fn is_script(word: &Word) -> bool {
    let Word::Fixed(path) = word else {
        return false;
    };
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let is_device = |part: &str| part == "dev" || part == "proc";
    let device = if path.starts_with('/') && !path.contains("..") {
        parts.next().is_some_and(is_device)
    } else {
        path.contains("..") && parts.any(is_device)
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    let handed = last == "stdin" || last.chars().all(|c| c.is_ascii_digit());
    is_operand(word) && !path.starts_with('+') && !device && !handed
}

/// Tells whether an interpreter says its version, or looks whether a file is well written.
fn only_tells(name: &str, arguments: &[Word]) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (versions, checks) = match name {
        "bash" => ("--version", "-n"),
        "node" | "nodejs" => ("--version -v", "--check -c"),
        "perl" => ("--version -v", ""),
        "php" => ("--version -v", "-l"),
        "python" => ("--version -V", ""),
        "ruby" => ("--version", ""),
        _ => return false,
    };
    match arguments {
        [Word::Fixed(flag)] => listed(versions, flag),
        [Word::Fixed(flag), script] => listed(checks, flag) && is_script(script),
        _ => false,
    }
}
