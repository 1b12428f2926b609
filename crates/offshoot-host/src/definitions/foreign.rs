//! Folders in which other programs keep agent files. Offshoot does not read them yet.
//!
//! Only their files are counted, so that a user who has such files learns why the
//! agents are missing and where to put them. Nothing in them is opened.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::folder::{Folder, is_agent};

use super::IN_PROJECT;
use crate::config::Settings;

/// The folders, as seen from a project or from the home folder.
const FOLDERS: [&str; 13] = [
    ".claude/agents",
    ".codex/agents",
    ".config/opencode/agent",
    ".config/opencode/agents",
    ".copilot/agents",
    ".cursor/agents",
    ".factory/droids",
    ".gemini/agents",
    ".github/agents",
    ".kiro/agents",
    ".opencode/agent",
    ".opencode/agents",
    ".qwen/agents",
];

/// A folder of another program that has agent files.
pub struct ForeignFolder {
    pub path: PathBuf,
    pub files: usize,
    /// Where Offshoot would read them.
    pub instead: PathBuf,
}

impl ForeignFolder {
    /// Says in a line what is not read, and where to put it.
    pub fn line(&self) -> String {
        let files = match self.files {
            1 => "1 agent file".to_owned(),
            many => format!("{many} agent files"),
        };
        format!(
            "{}: {files}, not read yet; put agent files into {}",
            self.path.display(),
            self.instead.display()
        )
    }
}

/// Returns the folders with agent files of other programs, in a workspace and in the home folder.
pub fn foreign_folders(settings: &Settings, workspace: Option<&str>) -> Vec<ForeignFolder> {
    let workspace = workspace.map(Path::new);
    let home = settings.search.home().map(Path::new);
    let home = home.filter(|home| {
        let real = home.canonicalize();
        workspace.is_none_or(|workspace| real.is_ok_and(|real| real != workspace))
    });
    let of_project = workspace.map(|base| (base, base.join(IN_PROJECT)));
    let of_user = home.zip(settings.agents_dir.clone());
    let mut found = Vec::new();
    for (base, instead) in of_project.into_iter().chain(of_user) {
        for name in FOLDERS {
            // A folder that cannot be opened holds nothing to mention.
            let Ok(Some(folder)) = Folder::beneath(base, name) else {
                continue;
            };
            let files = folder.count(is_definition);
            if files > 0 {
                found.push(ForeignFolder {
                    path: base.join(name),
                    files,
                    instead: instead.clone(),
                });
            }
        }
    }
    found
}

/// Tells whether a file is called like an agent of any of these programs.
fn is_definition(name: &Path) -> bool {
    let endings = ["mdc", "toml", "json", "yaml", "yml"].map(OsStr::new);
    let by_ending = name.extension().is_some_and(|own| endings.contains(&own));
    by_ending || is_agent(name)
}
