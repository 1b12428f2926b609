//! What a process was started with: variables and a folder, handed in by the program.
//!
//! Nothing in this crate reads the environment; the command line copies it once, at the start, and tests
//! make their own. The copy holds keys, so its debug form shows none of it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The variables and the folder a process was started with. Holds keys: it is not to be printed.
#[derive(Clone, Default)]
pub struct Surroundings {
    variables: BTreeMap<OsString, OsString>,
    /// The current folder; `None` if it is gone.
    folder: Option<PathBuf>,
}

impl Surroundings {
    /// Returns surroundings of these variables and this current folder.
    pub fn new<Name: Into<OsString>, Text: Into<OsString>>(
        folder: Option<PathBuf>,
        variables: impl IntoIterator<Item = (Name, Text)>,
    ) -> Self {
        let variables = variables.into_iter();
        Self {
            variables: variables
                .map(|(name, text)| (name.into(), text.into()))
                .collect(),
            folder,
        }
    }

    /// Returns a variable; `None` if it is not set.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    /// Returns a variable that, as most programs have it, means nothing when it is empty.
    pub fn filled(&self, name: &str) -> Option<&OsStr> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// Returns the current folder; `None` if it is gone.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the home folder; `None` if there is none to speak of.
    pub fn home(&self) -> Option<&Path> {
        let home = self.filled("HOME").map(Path::new);
        home.filter(|home| home.is_absolute())
    }

    /// Returns a base folder of the XDG rules, by which a relative path there is to be ignored.
    pub fn xdg(&self, name: &str) -> Option<&Path> {
        let folder = self.filled(name).map(Path::new);
        folder.filter(|folder| folder.is_absolute())
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surroundings(..)")
    }
}
