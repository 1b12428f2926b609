//! How a process is cut off: when it is killed, or which of its system calls fail.
//!
//! Injection is strace's: `when` counts the calls of each thread separately, so the
//! first thread that comes so far is meant. An injected kill happens before the
//! call does anything. The textual form is what `--only` takes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The calls that a kill is injected at: they create, name, write, flush, remove, lock and send.
pub(crate) const CALLS: [&str; 16] = [
    "openat",
    "unlink",
    "unlinkat",
    "rename",
    "renameat2",
    "write",
    "pwrite64",
    "fdatasync",
    "fsync",
    "ftruncate",
    "mkdir",
    "mkdirat",
    "fcntl",
    "flock",
    "sendto",
    "sendmsg",
];

/// What is injected as a failing call, and whether it fails from then on.
///
/// Calls that only files get: a `write` may be to an event descriptor, which can never be full.
pub(crate) const ERRORS: [(&str, &str, bool); 5] = [
    ("fdatasync", "EIO", false),
    ("fsync", "EIO", false),
    ("pwrite64", "EIO", false),
    ("pwrite64", "ENOSPC", true),
    ("ftruncate", "EIO", false),
];

/// How a process is cut off.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cut {
    /// Not at all.
    None,
    /// Killed after a while.
    After(Duration),
    /// Killed before some call.
    Kill { call: String, when: u64 },
    /// A call fails, once or from then on.
    Error {
        call: String,
        error: String,
        when: u64,
        lasting: bool,
    },
    /// The data folder has so much room, in KiB, until the operation is over.
    Full(u64),
    /// Its calls are counted.
    Counted,
}

impl Cut {
    pub(crate) fn kill(call: &str, when: u64) -> Self {
        let call = call.to_owned();
        Self::Kill { call, when }
    }

    pub(crate) fn error(call: &str, error: &str, when: u64, lasting: bool) -> Self {
        Self::Error {
            call: call.to_owned(),
            error: error.to_owned(),
            when,
            lasting,
        }
    }

    /// Returns the arguments of strace; none if it is not needed.
    pub(crate) fn injection(&self) -> Option<Vec<String>> {
        let (trace, inject) = match self {
            Self::None | Self::After(_) | Self::Full(_) => return None,
            Self::Counted => {
                return Some(vec!["-e".to_owned(), format!("trace={}", CALLS.join(","))]);
            }
            Self::Kill { call, when } => (call, format!("{call}:signal=KILL:when={when}")),
            Self::Error {
                call,
                error,
                when,
                lasting,
            } => {
                let more = if *lasting { "+" } else { "" };
                (call, format!("{call}:error={error}:when={when}{more}"))
            }
        };
        let arguments = [
            "-e",
            &format!("trace={trace}"),
            "-e",
            &format!("inject={inject}"),
        ];
        Some(arguments.map(str::to_owned).to_vec())
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "none"),
            Self::After(delay) => write!(f, "after:{}", delay.as_micros()),
            Self::Kill { call, when } => write!(f, "kill:{call}:{when}"),
            Self::Error {
                call,
                error,
                when,
                lasting,
            } => {
                let more = if *lasting { "+" } else { "" };
                write!(f, "error:{call}:{error}:{when}{more}")
            }
            Self::Full(room) => write!(f, "full:{room}"),
            Self::Counted => write!(f, "counted"),
        }
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let digits = text.trim_end_matches('+');
            digits
                .parse::<u64>()
                .map_err(|error| format!("{text}: {error}"))
        };
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            ["none"] => Ok(Self::None),
            ["counted"] => Ok(Self::Counted),
            ["after", delay] => Ok(Self::After(Duration::from_micros(number(delay)?))),
            ["full", room] => Ok(Self::Full(number(room)?)),
            ["kill", call, when] => Ok(Self::kill(call, number(when)?)),
            ["error", call, error, when] => {
                let lasting = when.ends_with('+');
                Ok(Self::error(call, error, number(when)?, lasting))
            }
            _ => Err(format!("{text} is no way to cut a process off")),
        }
    }
}
