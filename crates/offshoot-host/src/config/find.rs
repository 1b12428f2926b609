//! Where config files and the user's agents are.
//!
//! The user's are in the config folder. The project's is looked for from the
//! folder to work in upwards, as far as the repository goes or the home folder
//! does; outside of both only in the folder itself, so that nobody who shares
//! `/tmp` has a say. Looks, and reads nothing.

use std::path::{Path, PathBuf};

use crate::error::HostError;
use crate::surroundings::Surroundings;

pub(super) const NAME: &str = "offshoot.toml";

/// Where a project may keep its file.
const IN_PROJECT: [&str; 2] = [NAME, ".offshoot/offshoot.toml"];

/// Returns where the user's file is, whether it is there or not; `None` without a home.
pub(super) fn user(surroundings: &Surroundings) -> Option<PathBuf> {
    Some(config_folder(surroundings)?.join(NAME))
}

/// Returns where the user's agents are, whether there are any or not; `None` without a home.
pub(super) fn user_agents(surroundings: &Surroundings) -> Option<PathBuf> {
    Some(config_folder(surroundings)?.join("agents"))
}

/// Returns the user's config folder, by the XDG rules.
fn config_folder(surroundings: &Surroundings) -> Option<PathBuf> {
    let folder = match surroundings.xdg("XDG_CONFIG_HOME") {
        Some(folder) => folder.to_owned(),
        None => surroundings.home()?.join(".config"),
    };
    Some(folder.join("offshoot"))
}

/// Returns the file of the project that a folder belongs to; `None` if it has none.
pub(super) fn project(
    folder: &Path,
    user: Option<&Path>,
    home: Option<&Path>,
) -> Result<Option<PathBuf>, HostError> {
    for folder in reach(folder, home) {
        let mut found = IN_PROJECT.map(|name| folder.join(name));
        // Whoever works in the config folder itself has one file there, not two.
        let is_there = |path: &Path| path.symlink_metadata().is_ok() && !is_same(path, user);
        match found.each_ref().map(|path| is_there(path)) {
            [true, true] => {
                let [first, second] = found.map(|path| path.display().to_string());
                let text = format!("there is both {first} and {second}; keep one of them");
                return Err(HostError::invalid(text));
            }
            [true, false] => return Ok(Some(std::mem::take(&mut found[0]))),
            [false, true] => return Ok(Some(std::mem::take(&mut found[1]))),
            [false, false] => {}
        }
    }
    Ok(None)
}

/// Returns the paths at which the file of the folder's project would be found, the nearest first.
pub(super) fn places(folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = reach(folder, home).into_iter();
    let places = folders.flat_map(|folder| IN_PROJECT.map(|name| folder.join(name)));
    places.collect()
}

/// Returns the folder of a project's file, and where the file is in it: a project has two places.
pub(super) fn place(path: &Path) -> Option<(&Path, &Path)> {
    let parent = path.parent()?;
    let folder = if parent.ends_with(".offshoot") {
        parent.parent()?
    } else {
        parent
    };
    Some((folder, path.strip_prefix(folder).ok()?))
}

/// Returns the folders that may hold the project's file, the nearest first.
fn reach<'a>(folder: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let mut folders = Vec::new();
    for folder in folder.ancestors() {
        folders.push(folder);
        if folder.join(".git").symlink_metadata().is_ok() || Some(folder) == home {
            return folders;
        }
    }
    folders.truncate(1);
    folders
}

fn is_same(path: &Path, other: Option<&Path>) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    other.is_some_and(|other| real(path).is_some_and(|path| real(other) == Some(path)))
}
