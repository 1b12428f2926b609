//! What those who follow a tree see of it.
//!
//! Entries are stored; everything else here is said once and forgotten (R4). No
//! wire format: faces convert.

use std::sync::Arc;
use std::time::Duration;

use offshoot_types::event::{Entry, Hooked};
use offshoot_types::hook::Point;
use offshoot_types::id::AgentId;
use offshoot_types::store::StoreError;

pub use offshoot_types::live::{Delta, DeltaKind, Output};

/// What a subscriber sees.
#[derive(Clone, Debug)]
pub enum Update {
    /// A committed entry.
    Entry(Arc<Entry>),
    /// A piece of a message that is not committed yet.
    Delta(Delta),
    /// A piece of what a call says while it runs.
    Output(Output),
    /// Something of an agent did not go as it should have, and it goes on.
    Notice(AgentId, String),
    /// A hook did something after the fact, or should have; the log does not have it.
    Hooked(AgentId, Box<Hooked>),
    /// An agent does something else now, or waits for something else (R29).
    Activity(AgentId, Activity),
    /// Nothing runs, nothing is queued, nothing waits to be told (R19).
    Idle,
    /// No living process owns the tree, and everything in its log was given before this. Once for each
    /// owner that is gone; for a subscriber that comes later, once. Entries that follow say that a
    /// process owned it in between.
    Orphaned,
    /// The log cannot be written; the tree has been let go and will be recovered later (R6), unless
    /// the file is damaged.
    Parked(StoreError),
}

impl Update {
    /// Tells whether it is for everybody, and not only for who watches agents at work.
    pub(crate) fn is_news(&self) -> bool {
        match self {
            Self::Delta(_) | Self::Output(_) => false,
            Self::Activity(_, activity) => activity.is_news(),
            Self::Entry(_)
            | Self::Notice(..)
            | Self::Hooked(..)
            | Self::Idle
            | Self::Orphaned
            | Self::Parked(_) => true,
        }
    }
}

/// What an agent does now, or waits for (R29).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing.
    Resting,
    /// Waits for a slot of its tree.
    Slot,
    /// Waits until a step of another agent gives back room in a cap that both are under.
    Budget,
    /// Waits because the provider of its model wants everybody to.
    RateLimit,
    /// Waits for the first byte of the model's answer.
    FirstByte,
    /// The model is answering.
    Streaming,
    /// Waits for a person to answer what it wants to know.
    Question,
    /// Waits until a client returns the results of these tools; of many, the first few.
    ClientTools(Vec<String>),
    /// Waits before it tries the model again.
    Retrying {
        /// Which try comes next.
        attempt: u32,
        /// What came back last time.
        message: String,
        /// How long it waits before.
        after: Duration,
    },
    /// Waits until somebody allows calls of these tools; of many, the first few.
    Permission(Vec<String>),
    /// Runs tools; of many, the first few.
    Tools(Vec<String>),
    /// Waits for children.
    Children {
        /// Who they are; of many, the first few.
        first: Vec<AgentId>,
        /// How many they are.
        all: usize,
    },
    /// Waits until its conversation is shortened.
    Compacting,
    /// Waits for hooks that were called at this point.
    Hooks(Point),
}

impl Activity {
    /// Returns what it is, in a few words, for whoever waits for the agent.
    pub fn words(&self) -> String {
        match self {
            Self::Resting => "nothing".to_owned(),
            Self::Slot => "waits for a slot".to_owned(),
            Self::Budget => "waits for room in a budget".to_owned(),
            Self::RateLimit => "waits for the rate limit of its model".to_owned(),
            Self::FirstByte => "waits for the model".to_owned(),
            Self::Streaming => "the model is answering".to_owned(),
            Self::Retrying {
                attempt, message, ..
            } => format!("tries again ({attempt}): {message}"),
            Self::Permission(tools) => format!("waits for permission: {}", tools.join(", ")),
            Self::Question => "waits for an answer".to_owned(),
            Self::ClientTools(tools) => format!("waits for a client to run {}", tools.join(", ")),
            Self::Tools(tools) => format!("runs {}", tools.join(", ")),
            Self::Children { first, all } => {
                let ids: Vec<&str> = first.iter().map(AgentId::as_str).collect();
                let more = match all.saturating_sub(first.len()) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("waits for {}{more}", ids.join(", "))
            }
            Self::Compacting => "waits for a summary of its conversation".to_owned(),
            Self::Hooks(point) => format!("waits for hooks ({point})"),
        }
    }

    /// Waits for these children.
    pub(crate) fn children<'a>(awaited: impl Iterator<Item = &'a AgentId> + Clone) -> Self {
        Self::Children {
            first: awaited.clone().take(Self::SHOWN).cloned().collect(),
            all: awaited.count(),
        }
    }

    /// How many of a crowd of tools or children are named.
    pub const SHOWN: usize = 16;

    /// Tells whether also those want to hear of it who do not watch agents at work.
    pub(crate) fn is_news(&self) -> bool {
        matches!(self, Self::Retrying { .. })
    }
}

/// The state of a session, for people: the six of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// Nothing to do.
    Idle,
    /// Works.
    Busy,
    /// Waits before it tries the model again.
    Retrying,
    /// Waits for a permission.
    WaitingOnApproval,
    /// Waits for an answer to a question.
    WaitingOnUserInput,
    /// The last turn failed and nobody has asked anything since.
    Error,
}
