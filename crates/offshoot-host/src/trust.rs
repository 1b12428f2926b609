//! What a repository brings that acts, and whether a person has accepted it.
//!
//! Whatever comes with a folder to work in may be somebody else's. It is shown with
//! what it may do, and used only once it is accepted: as it is now, in this very
//! folder. What was accepted is kept in the data folder, which no tool can reach, by
//! the real path of the folder and a digest of the content; so a link changes
//! nothing, and what has changed has to be accepted again. `--yes` has no say here,
//! and what cannot be read is not accepted. What a thing is made of and where it is
//! found is not known here: whoever finds one hands it in (`definitions.rs`, `hooks.rs`,
//! `servers.rs`).

mod key;
mod may;
mod record;

use std::path::{Path, PathBuf};

use offshoot_agents::Doubt;

use crate::config::{Settings, Source};
use crate::error::HostError;
use record::{Accepted, Record};

pub use key::Key;
pub use may::agent as what_an_agent_may;
pub use may::hook as what_a_hook_may;
pub use may::server as what_a_server_may;

/// What kinds of things act.
///
/// A new kind needs its word, which is stored; what it may do, in a line; and whoever finds
/// them to leave out those that are not [`Standing::Accepted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An agent file.
    Agent,
    /// A command that is run when something happens.
    Hook,
    /// An MCP server.
    Server,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Agent, Self::Hook, Self::Server];

    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Hook => "hook",
            Self::Server => "server",
        }
    }
}

/// What stands for a content: its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
        let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
        Self(hex.collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether something is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is, by this word.
    Accepted(By),
    /// It is not.
    Doubted(Doubt),
}

/// By whose word something is used; each is the person's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// It was looked at and accepted.
    Record,
    /// The folder is listed in their config file.
    List(Source),
    /// `--trust-project`, for this call.
    Flag,
}

/// Something that a folder brings and that acts.
#[derive(Clone, Debug)]
pub struct Thing {
    pub kind: Kind,
    pub name: String,
    /// As seen from the folder to work in.
    pub path: String,
    /// Under what it is kept that it was accepted.
    pub key: Key,
    pub digest: Digest,
    /// What it may do, in a line.
    pub may: String,
    /// What the digest is of.
    pub text: String,
    pub standing: Standing,
}

impl Thing {
    pub fn is_accepted(&self) -> bool {
        matches!(self.standing, Standing::Accepted(_))
    }
}

/// What is accepted in one folder.
pub struct Trust {
    whole: Option<By>,
    accepted: Accepted,
    problem: Option<String>,
}

impl Trust {
    /// Finds out what is accepted in a folder, which is named by its real path.
    pub fn of(settings: &Settings, workspace: &str) -> Self {
        let whole = if settings.trust_project {
            Some(By::Flag)
        } else {
            listed(settings, workspace).map(By::List)
        };
        let (accepted, problem) = match Record::of(settings).accepted(workspace) {
            Ok(accepted) => (accepted, None),
            Err(why) => (Accepted::default(), Some(why)),
        };
        Self {
            whole,
            accepted,
            problem,
        }
    }

    /// Returns why nothing is known of what was accepted, if that is so and matters.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref().filter(|_| self.whole.is_none())
    }

    /// Tells whether something of a kind was accepted that is none of what is there now.
    pub fn has_lost(&self, kind: Kind, there: &[Digest]) -> bool {
        self.accepted.has_other(kind, there)
    }

    /// Tells whether something is used as it is now; `beside` is what stands in the same file.
    pub fn standing(&self, kind: Kind, key: &Key, digest: &Digest, beside: &[Digest]) -> Standing {
        if let Some(by) = &self.whole {
            return Standing::Accepted(by.clone());
        }
        if self.accepted.has(kind, key, digest) {
            return Standing::Accepted(By::Record);
        }
        Standing::Doubted(if self.accepted.had(kind, key, beside) {
            Doubt::Changed
        } else {
            Doubt::New
        })
    }
}

/// Returns the file that says what was accepted, whether it is there or not.
pub(crate) fn file(settings: &Settings) -> PathBuf {
    Record::of(settings).path()
}

/// Accepts things of those that a folder brings as they were when they were read, whatever has
/// become of them since.
pub fn accept<'a>(
    settings: &Settings,
    workspace: &str,
    brought: &[Thing],
    chosen: impl IntoIterator<Item = &'a Thing>,
) -> Result<(), HostError> {
    let there: Vec<Digest> = brought.iter().map(|thing| thing.digest.clone()).collect();
    Record::of(settings).change(workspace, |accepted| {
        for thing in chosen {
            accepted.put(thing.kind, &thing.key, &thing.digest, &there);
        }
    })
}

/// Accepts nothing of a folder any more; returns how much was.
pub fn revoke(settings: &Settings, workspace: &str) -> Result<usize, HostError> {
    let mut count = 0;
    Record::of(settings).change(workspace, |accepted| {
        count = accepted.len();
        *accepted = Accepted::default();
    })?;
    Ok(count)
}

/// Returns where the config file lists a folder: itself, and not one above it, which may hold what
/// others have written.
pub fn listed(settings: &Settings, workspace: &str) -> Option<Source> {
    let mut projects = settings.trusted_projects.iter();
    let listed = projects.find(|project| {
        let real = project.value.canonicalize();
        real.is_ok_and(|real| real == Path::new(workspace))
    })?;
    Some(listed.source.clone())
}
