//! What tells whether the files of a workspace have changed since they were read.
//!
//! Covers every file that a project is made of, also those that are not there: the user's config file, the
//! places of the project's, the trust record, and all agent files of the user and the project by name. A few
//! calls of the system, and no file is opened.

use std::path::{Path, PathBuf};

use crate::config::Settings;
use crate::definitions::IN_PROJECT;
use crate::folder::{Folder, Stamp};
use crate::trust;

/// The state of all files that a project is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamps {
    single: Vec<(PathBuf, [Option<Stamp>; 2])>,
    /// What the folders of agents lead to, and the agent files in them.
    agents: Vec<(PathBuf, Option<Stamp>)>,
}

impl Stamps {
    /// Takes the stamps of a workspace.
    pub(super) fn take(settings: &Settings, workspace: &Path) -> Self {
        let mut single = settings.search.places(workspace);
        single.push(trust::file(settings));
        let mut agents = Vec::new();
        let user = settings.agents_dir.as_deref();
        if let Some(user) = user {
            single.push(user.to_owned());
            agents.extend(in_folder(Folder::open(user)));
        }
        single.push(workspace.join(IN_PROJECT));
        agents.extend(in_folder(Folder::beneath(workspace, IN_PROJECT)));
        let stamped = single.into_iter().map(|path| {
            let stamp = Stamp::at(&path);
            (path, stamp)
        });
        Self {
            single: stamped.collect(),
            agents,
        }
    }
}

/// Stamps the agent files of a folder; one that cannot be opened has none.
fn in_folder<Problem>(folder: Result<Option<Folder>, Problem>) -> Vec<(PathBuf, Option<Stamp>)> {
    let folder = folder.ok().flatten();
    folder.map_or_else(Vec::new, |folder| folder.stamps())
}
