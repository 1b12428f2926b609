//! What a root's rules tell a child about its area.
//!
//! The prompt is written for any reader, people and other models included; its last line carries
//! the same facts in a form that the child's rules read back. A child knows nothing else.

use serde::{Deserialize, Serialize};

use crate::offline::markdown::{code, codes, counted};

const MARK: &str = "Brief: ";

/// One area of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::offline) struct Brief {
    /// What the area is called.
    pub(super) area: String,
    /// Its folders.
    pub(super) paths: Vec<String>,
    /// Folders below them that are areas of their own.
    #[serde(default)]
    pub(super) skip: Vec<String>,
}

impl Brief {
    /// Writes the prompt.
    pub(super) fn prompt(&self, files: usize) -> String {
        // Texts and lists of texts always have a JSON form.
        let json = serde_json::to_string(self).unwrap_or_default();
        let folders = codes(self.paths.iter().map(String::as_str));
        let without = match self.skip.len() {
            0 => String::new(),
            _ => {
                let skip = codes(self.skip.iter().map(String::as_str));
                format!(" Leave out {skip}, which others survey.")
            }
        };
        format!(
            "Survey the area {} of this repository: {folders} ({}).{without}\n\n\
             Say what it is, its languages and size, its main files, what it offers to others, \
             its tests and what is notable. State only what the files show. Answer as a short \
             Markdown list, one fact a line.\n\n\
             {MARK}{json}",
            code(&self.area),
            counted(files, "file")
        )
    }

    /// Reads a prompt back; `None` for one that is not of this form.
    pub(in crate::offline) fn read(prompt: &str) -> Option<Self> {
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

/// Tells whether a path lies in a folder.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}
