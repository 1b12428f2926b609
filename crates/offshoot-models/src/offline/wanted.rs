//! Calls that the rules ask for.
//!
//! A call is told apart by its tool and arguments alone: asking for an equal one
//! finds the outcome of the first, so nothing is called twice for one prompt.

use serde_json::{Value, json};

pub(super) const BASH: &str = "bash";
pub(super) const GLOB: &str = "glob";
pub(super) const GREP: &str = "grep";
pub(super) const READ: &str = "read";
pub(super) const TASK: &str = "task";
pub(super) const TODO: &str = "todo";
pub(super) const WRITE: &str = "write";

/// A call that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// Lists files of the workspace.
pub(super) fn glob(pattern: &str) -> Wanted {
    call(GLOB, json!({ "pattern": pattern }))
}

/// Lists files below a folder.
pub(super) fn glob_in(folder: &str, pattern: &str) -> Wanted {
    call(GLOB, json!({ "pattern": pattern, "path": folder }))
}

/// Searches all files.
pub(super) fn grep_all(pattern: &str) -> Wanted {
    call(GREP, json!({ "pattern": pattern }))
}

/// Searches the files below a folder that a glob matches.
pub(super) fn grep_in(folder: &str, pattern: &str, files: &str) -> Wanted {
    call(
        GREP,
        json!({ "pattern": pattern, "path": folder, "glob": files }),
    )
}

/// Searches all files below a folder.
pub(super) fn grep_all_in(folder: &str, pattern: &str) -> Wanted {
    call(GREP, json!({ "pattern": pattern, "path": folder }))
}

/// Reads a file.
pub(super) fn read(path: &str) -> Wanted {
    call(READ, json!({ "path": path }))
}

/// Reads some lines of a file; the first is 1.
pub(super) fn read_lines(path: &str, offset: usize, limit: usize) -> Wanted {
    call(
        READ,
        json!({ "path": path, "offset": offset, "limit": limit }),
    )
}

/// Asks another agent and waits for it.
pub(super) fn task(agent: &str, prompt: &str) -> Wanted {
    call(TASK, json!({ "subagent_type": agent, "prompt": prompt }))
}

/// Writes a file.
pub(super) fn write(path: &str, content: &str) -> Wanted {
    call(WRITE, json!({ "path": path, "content": content }))
}

/// Runs a command.
pub(super) fn bash(command: &str) -> Wanted {
    call(BASH, json!({ "command": command }))
}

fn call(tool: &'static str, arguments: Value) -> Wanted {
    Wanted { tool, arguments }
}

/// Writes a text so that a search finds exactly it.
pub(super) fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation() {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
