//! What the process was given: variables and a folder.
//!
//! The only place that reads the environment, once, at the start; everything else is handed the copy,
//! so that tests can make their own. Clock and ids are in `offshoot-host`, which the library uses as well.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub(crate) use offshoot_host::System;

/// The variables and the folder a process was started with. Holds keys: it is not to be printed.
#[derive(Clone, Default)]
pub(crate) struct Surroundings {
    variables: BTreeMap<OsString, OsString>,
    /// The current folder; `None` if it is gone.
    folder: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            folder: std::env::current_dir().ok(),
        }
    }

    /// Returns a variable; `None` if it is not set.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// Returns a variable that, as most programs have it, means nothing when it is empty.
    pub(crate) fn filled(&self, name: &str) -> Option<&OsStr> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// Returns the current folder; `None` if it is gone.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the home folder; `None` if there is none to speak of.
    pub(crate) fn home(&self) -> Option<&Path> {
        let home = self.filled("HOME").map(Path::new);
        home.filter(|home| home.is_absolute())
    }

    /// Returns a base folder of the XDG rules, by which a relative path there is to be ignored.
    pub(crate) fn xdg(&self, name: &str) -> Option<&Path> {
        let folder = self.filled(name).map(Path::new);
        folder.filter(|folder| folder.is_absolute())
    }
}

#[cfg(test)]
impl Surroundings {
    /// Those of a process that never was.
    pub(crate) fn made(folder: &Path, variables: &[(&str, &str)]) -> Self {
        let pair = |(name, value): &(&str, &str)| (name.into(), value.into());
        Self {
            variables: variables.iter().map(pair).collect(),
            folder: Some(folder.to_owned()),
        }
    }
}
