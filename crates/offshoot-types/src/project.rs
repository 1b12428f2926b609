//! What a session knows of its project: instruction files and the state of git.
//!
//! The host reads both once, when the session starts. They are stored in the birth
//! of the root, so every request of the session shows the same bytes. The text is
//! data from a repository: it is capped here and escaped where it is rendered, and
//! no permission comes from it.

use serde::{Deserialize, Serialize};

/// Most bytes of all instruction files of a session: about 8,000 tokens (SKL-01).
pub const MAX_INSTRUCTION_BYTES: usize = 32 * 1024;

/// Most instruction files of a session; the nearest to the workspace are kept.
pub const MAX_INSTRUCTION_FILES: usize = 32;

/// Most bytes of the line about git.
const MAX_GIT_BYTES: usize = 512;

/// Stands where a file was cut.
pub const CUT: &str = "\n[cut: the rest of this file is not shown]";

/// What a session knows of its project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectContext {
    /// The instruction files, from the repository's root down to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<InstructionFile>,
    /// The state of git in one line; none if the host did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
}

/// One instruction file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionFile {
    /// Where it lies, absolute.
    pub path: String,
    /// What it says.
    pub text: String,
}

impl ProjectContext {
    /// Cuts what is over the caps and returns the paths of the files that lost text.
    ///
    /// Every file gets an equal share of the bytes; what a short file leaves unused goes to the
    /// longer ones. Fitting twice changes nothing.
    pub fn fit(&mut self) -> Vec<String> {
        if let Some(git) = &mut self.git {
            git.truncate(git.floor_char_boundary(MAX_GIT_BYTES));
        }
        let files = &mut self.instructions;
        let over = files.len().saturating_sub(MAX_INSTRUCTION_FILES);
        let mut cut: Vec<String> = files.drain(..over).map(|file| file.path).collect();
        let mut by_length: Vec<&mut InstructionFile> = files.iter_mut().collect();
        by_length.sort_by_key(|file| file.text.len());
        let mut left = MAX_INSTRUCTION_BYTES;
        let mut sharers = by_length.len();
        for InstructionFile { path, text } in by_length {
            let share = left / sharers;
            if text.len() > share {
                text.truncate(text.floor_char_boundary(share.saturating_sub(CUT.len())));
                text.push_str(CUT);
                cut.push(path.clone());
            }
            left = left.saturating_sub(text.len());
            sharers -= 1;
        }
        cut
    }
}
