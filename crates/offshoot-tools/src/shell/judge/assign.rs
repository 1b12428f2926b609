//! Assignments: which names change nothing but the command's own variables.
//!
//! Whatever is in a program's environment may change what it runs: `PATH`,
//! `LD_PRELOAD`, `GIT_PAGER`, `RUSTC_WRAPPER`, and the next one that somebody
//! invents. So names are listed that are known not to, and all others are opaque.
//! A name in lower case is the command's own, unless it is set for one program.

use tree_sitter::Node;

use super::{Judge, children};

/// What is known to change how things look, and not what runs.
const HARMLESS: [&str; 22] = [
    "CARGO_INCREMENTAL",
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "TERM",
    "TZ",
];

/// Tells whether a variable may be set for a program without changing what runs.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Tells whether a variable may be set for the shell itself: in some languages it takes the last byte
/// of one letter and a `\\` for one letter, and quotes end elsewhere than they seem to.
fn may_stand_alone(name: &str) -> bool {
    let is_locale = name.starts_with("LC_") || name.starts_with("LANG");
    is_own(name) || (is_harmless(name) && !is_locale)
}

/// Tells whether a variable is the command's own.
pub(super) fn is_own(name: &str) -> bool {
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let special = name == "_" || name == "histchars" || name == "auto_resume";
    // Settings of programs, which are handed on if they were there before.
    let setting = ["npm_", "pnpm_", "yarn_"];
    let is_setting =
        setting.iter().any(|begins| name.starts_with(begins)) || name.ends_with("_proxy");
    is_name(name) && name.chars().all(lower) && !special && !is_setting
}

pub(super) fn is_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

impl Judge<'_> {
    /// Judges assignments that stand alone.
    pub(super) fn assignments(&mut self, node: Node<'_>) {
        match node.kind() {
            "variable_assignment" => {
                self.assignment(node, may_stand_alone);
            }
            _ => children(node)
                .into_iter()
                .for_each(|child| self.assignments(child)),
        }
        self.folders.ran();
    }

    /// Judges an assignment: its value always, its name by what may be set there.
    pub(super) fn assignment(&mut self, node: Node<'_>, may: impl Fn(&str) -> bool) {
        let children = children(node);
        let (name, value) = match children.as_slice() {
            [name, equals] if equals.kind() == "=" => (*name, None),
            [name, equals, value] if equals.kind() == "=" => (*name, Some(*value)),
            _ => {
                self.opaque(node);
                return self.inside(node);
            }
        };
        if name.kind() != "variable_name" || !may(self.text_of(name)) {
            self.opaque(node);
        }
        if let Some(value) = value
            && (value.start_byte() != name.end_byte() + 1 || self.word(value).is_err())
        {
            self.opaque(node);
            self.inside(value);
        }
    }
}
