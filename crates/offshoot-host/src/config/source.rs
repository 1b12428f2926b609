//! Where a setting comes from.
//!
//! Every value is carried with its source, so that whoever finds fault with it
//! can say where it stands.

use std::fmt;
use std::path::{Path, PathBuf};

/// A value, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: Source,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line: the flag, with its dashes.
    Flag(&'static str),
    /// The environment: the variable.
    Variable(String),
    /// A line of a file, counted from 1.
    File(PathBuf, usize),
    /// Nobody said anything.
    Default,
}

impl<T> Sourced<T> {
    pub fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    /// What holds when nobody says anything.
    pub fn default(value: T) -> Self {
        Self::new(value, Source::Default)
    }
}

impl Source {
    /// Returns the folder from which relative paths of this source are seen; `None` for the current
    /// one.
    pub fn base(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => path.parent(),
            Self::Flag(_) | Self::Variable(_) | Self::Default => None,
        }
    }
}

impl Source {
    /// Says where a value comes from, after the value and a comma.
    pub fn phrase(&self) -> String {
        match self {
            Self::Flag(_) | Self::Variable(_) | Self::File(..) => format!("from {self}"),
            Self::Default => self.to_string(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::File(path, line) => write!(f, "{} line {line}", path.display()),
            Self::Default => f.write_str("the default"),
        }
    }
}
