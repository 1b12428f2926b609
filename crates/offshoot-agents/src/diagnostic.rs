//! What is wrong with a definition, for the person who wrote it.
//!
//! One sentence each, with the file, the line and maybe the column. Nobody branches on the words;
//! the severity says whether the agent is there all the same.

use std::fmt;

/// Longest sentence of a diagnostic, in characters; more of what a file holds is not repeated.
const MOST_CHARS: usize = 400;

/// One thing that is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the agent is there all the same.
    pub severity: Severity,
    /// The file or the folder, as it was named.
    pub path: String,
    /// The line in the file, counted from 1; `None` where it is about all of it.
    pub line: Option<usize>,
    /// The column in that line, counted from 1, where it is known.
    pub column: Option<usize>,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// There is no agent of this file.
    Error,
    /// The agent is there, and not quite what its author wrote.
    Warning,
}

impl Diagnostic {
    /// What keeps an agent from being there.
    pub fn error(path: &str, line: Option<usize>, message: &str) -> Self {
        Self::new(Severity::Error, path, line, message)
    }

    /// What an agent is there in spite of.
    pub fn warning(path: &str, line: Option<usize>, message: &str) -> Self {
        Self::new(Severity::Warning, path, line, message)
    }

    /// Says in which column it is.
    #[must_use]
    pub fn in_column(self, column: Option<usize>) -> Self {
        Self { column, ..self }
    }

    fn new(severity: Severity, path: &str, line: Option<usize>, message: &str) -> Self {
        let end = message.char_indices().nth(MOST_CHARS);
        Self {
            severity,
            path: path.to_owned(),
            line,
            column: None,
            message: match end {
                Some((end, _)) => format!("{}…", &message[..end]),
                None => message.to_owned(),
            },
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, message, .. } = self;
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "{path}:{line}:{column}: {message}"),
            (Some(line), None) => write!(f, "{path}:{line}: {message}"),
            (None, _) => write!(f, "{path}: {message}"),
        }
    }
}
