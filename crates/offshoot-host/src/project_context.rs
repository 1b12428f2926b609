//! Reads the project context of a new session: instruction files and the state of git.
//!
//! Both are read once, before the session starts, and stored with it; the engine
//! reads no files. The files belong to a repository that a stranger may have
//! written: links out of it, pipes and folders are not followed, and a file that
//! cannot be used costs a notice and not the session. The notices are returned: the
//! caller shows them.

mod git;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use offshoot_types::project::{InstructionFile, MAX_INSTRUCTION_BYTES, ProjectContext};

use crate::folder::read_beneath;
use git::Counting;

/// The names of an instruction file; the first that a folder has is used.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Most bytes that are read of a file: more than the cap, also without a mark at its beginning and a
/// character at its end.
const MOST_READ: usize = MAX_INSTRUCTION_BYTES + 8;

/// What was read so far; git may still be counting.
pub struct Reading {
    context: ProjectContext,
    counting: Option<Counting>,
    notices: Vec<String>,
}

impl Reading {
    /// Reads the instruction files and where git stands, and has git count changes meanwhile.
    pub fn start(workspace: &str) -> Self {
        let workspace = Path::new(workspace);
        let mut notices = Vec::new();
        let Some(root) = repository(workspace) else {
            let instructions = in_folder(workspace, Path::new(""), &mut notices);
            return Self {
                context: ProjectContext {
                    instructions: instructions.into_iter().collect(),
                    git: Some("not a git repository".to_owned()),
                },
                counting: None,
                notices,
            };
        };
        // First, so that git works while files are read.
        let (git, counting) = git::look(root);
        let below = workspace.strip_prefix(root).unwrap_or(Path::new(""));
        let mut folders: Vec<&Path> = below.ancestors().collect();
        folders.reverse();
        let files = folders.into_iter();
        let files = files.filter_map(|folder| in_folder(root, folder, &mut notices));
        let instructions = files.collect();
        Self {
            context: ProjectContext {
                instructions,
                git: Some(git),
            },
            counting,
            notices,
        }
    }

    /// Returns what was read, cut to its caps, and a notice for each file that could not be used or
    /// was cut.
    pub async fn finish(self) -> (ProjectContext, Vec<String>) {
        let Self {
            mut context,
            counting,
            mut notices,
        } = self;
        if let (Some(git), Some(counting)) = (&mut context.git, counting)
            && let Some(counts) = counting.finish().await
        {
            git.push_str(&format!(", {counts}"));
        }
        for path in context.fit() {
            let most = MAX_INSTRUCTION_BYTES / 1024;
            notices.push(format!(
                "{path}: too long, cut; agents are shown at most {most} KiB of project \
                 instructions in all"
            ));
        }
        (context, notices)
    }
}

/// Returns the root of the repository that a folder belongs to.
///
/// Its owner has to be the folder's: in a shared folder such as `/tmp` anyone could put a `.git`.
fn repository(workspace: &Path) -> Option<&Path> {
    let mut folders = workspace.ancestors();
    let root = folders.find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let owner = |folder: &Path| folder.metadata().map(|metadata| metadata.uid()).ok();
    (owner(root) == owner(workspace)).then_some(root)
}

/// Reads the instruction file of a folder below a root, out of which no link may lead.
fn in_folder(root: &Path, folder: &Path, notices: &mut Vec<String>) -> Option<InstructionFile> {
    for name in NAMES {
        let path = root.join(folder).join(name).display().to_string();
        let bytes = match read_beneath(root, &folder.join(name), MOST_READ) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            Err(why) => {
                notices.push(format!("{path}: not used as project instructions: {why}"));
                continue;
            }
        };
        match text(&bytes) {
            Some("") => return None,
            Some(text) => {
                let text = text.to_owned();
                return Some(InstructionFile { path, text });
            }
            None => notices.push(format!(
                "{path}: not used as project instructions: it is not UTF-8 text"
            )),
        }
    }
    None
}

/// Returns the text of a file of which at most `MOST_READ` and one byte were read. Of a file that is too
/// long, more than the cap is returned: that is how it is known to be cut.
fn text(bytes: &[u8]) -> Option<&str> {
    let is_cut = bytes.len() > MOST_READ;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // Reading stopped in the middle of a character.
        Err(error) if error.error_len().is_none() && is_cut => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    Some(if is_cut { text } else { text.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pd_18_text_is_read_to_the_last_whole_character_and_only_if_it_is_text() {
        assert_eq!(text(b"\xef\xbb\xbf Use tabs.\n"), Some("Use tabs."));
        assert_eq!(text(b"caf\xe9"), None);
        assert_eq!(text("caf\u{e9}".as_bytes().split_last().unwrap().1), None);
        let mut long = vec![b'\n'; MOST_READ];
        long.push("\u{e9}".as_bytes()[0]);
        assert_eq!(text(&long).map(str::len), Some(MOST_READ));
    }
}
