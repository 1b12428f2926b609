//! The world as it is: the system's clock, ids that sort by the time they were made, and what the
//! process was given.
//!
//! The only place that reads the wall clock, a random source or the environment. The environment is
//! read once, at the start; everything else is handed the copy, so that tests can make their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use offshoot_types::env::Env;
use offshoot_types::id::Timestamp;
use uuid::Uuid;

/// The world as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct System;

impl Env for System {
    #[expect(clippy::disallowed_methods, reason = "this is the clock behind Env")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::new(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Counts up within a process, also when the clock stands still or goes back.
    fn new_id(&self) -> String {
        Uuid::now_v7().to_string()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_process_sort_by_the_order_they_were_made_in() {
        let ids: Vec<String> = (0..10_000).map(|_| System.new_id()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
