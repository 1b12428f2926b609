//! What a root's rules tell a child about its area.
//!
//! The prompt is written for any reader, people and other models included; its
//! last line carries the same facts in a form that the child's rules read back.
//! A child knows nothing else.

use serde::{Deserialize, Serialize};

use super::super::markdown::{code, codes};
use super::super::outcomes::Count;

const MARK: &str = "Brief: ";

/// Most packages of the repository that a child is told of.
const MOST_PACKAGES: usize = 150;

/// One area, and what is known around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Brief {
    /// What the area is called.
    pub(in super::super) area: String,
    /// Its folders.
    pub(in super::super) paths: Vec<String>,
    /// Folders below them that are areas of their own.
    #[serde(default)]
    pub(in super::super) skip: Vec<String>,
    /// The repository's packages: name and folder.
    #[serde(default)]
    pub(in super::super) packages: Vec<(String, String)>,
}

impl Brief {
    /// Writes the prompt.
    pub(super) fn prompt(&self, files: Count) -> String {
        let mut brief = self.clone();
        brief.packages.truncate(MOST_PACKAGES);
        // Texts and lists of texts always have a JSON form.
        let json = serde_json::to_string(&brief).unwrap_or_default();
        let folders = codes(self.paths.iter().take(20).map(String::as_str));
        let without = match self.skip.len() {
            0 => String::new(),
            _ => format!(
                " Leave out {}, which others survey.",
                codes(self.skip.iter().take(20).map(String::as_str))
            ),
        };
        format!(
            "Survey the area {} of this repository: {folders} ({}).{without}\n\n\
             Say what it is, its languages and size, its main files, what it offers to others, \
             its tests, what else of this repository it uses, and what is notable. State only \
             what the files show. Answer as a short Markdown list, one fact a line.\n\n\
             {MARK}{json}",
            code(&self.area),
            files.of("file")
        )
    }

    /// Reads a prompt back; `None` for one that is not of this form.
    pub(in super::super) fn read(prompt: &str) -> Option<Self> {
        let line = prompt.lines().rfind(|line| line.starts_with(MARK))?;
        let brief: Self = serde_json::from_str(line.strip_prefix(MARK)?).ok()?;
        (!brief.paths.is_empty()).then_some(brief)
    }

    /// Tells whether a file belongs to the area.
    pub(super) fn holds(&self, path: &str) -> bool {
        let inside = |folder: &String| is_below(path, folder);
        self.paths.iter().any(inside) && !self.skip.iter().any(inside)
    }
}

/// Tells whether a path lies in a folder; every path lies in the empty one.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
