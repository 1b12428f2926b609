//! Ids and counters, each its own type.
//!
//! An id is opaque text: uuid v7 where we mint it, whatever a client or a
//! provider chose where they did. Nothing here generates ids; that is `Env`'s.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest agent id that is accepted from a client, in bytes.
pub const MAX_ID_BYTES: usize = 128;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as the id.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

text_id! {
    /// One agent: a running or resumable conversation. The root's agent id is the session id.
    AgentId
}
text_id! {
    /// One message of an agent.
    MessageId
}
text_id! {
    /// One call of a tool, unique within its agent.
    CallId
}
text_id! {
    /// One command of a client; sending it twice has one effect.
    CommandId
}

/// A root agent and all its descendants, named by the root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(AgentId);

impl TreeId {
    /// Names the tree that `root` is the root of.
    pub fn of(root: AgentId) -> Self {
        Self(root)
    }

    /// Returns the root agent, whose id is the session id.
    pub fn root(&self) -> &AgentId {
        &self.0
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl AgentId {
    /// Checks an id that a client chose: not empty, at most 128 bytes, no control characters.
    pub fn from_client(text: &str) -> Result<Self, BadId> {
        if text.is_empty() || text.len() > MAX_ID_BYTES || text.chars().any(char::is_control) {
            return Err(BadId);
        }
        Ok(Self::new(text))
    }
}

/// Why an id from a client was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session id has 1 to 128 bytes and no control characters")]
pub struct BadId;

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name($inner);

        impl $name {
            /// The value before the first.
            pub const ZERO: Self = Self(0);

            /// Wraps a number.
            pub const fn new(number: $inner) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn get(self) -> $inner {
                self.0
            }

            /// Returns the one after this.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

counter! {
    /// Position of an entry in its agent's log. The first is 1; never reused.
    Seq, u64
}
counter! {
    /// Position of an entry in its tree: the gap-free commit order and the only cursor.
    Pos, u64
}
counter! {
    /// Number of a run of an agent. The first is 1.
    RunNo, u32
}
counter! {
    /// Number of a turn of an agent, over all its runs. The first is 1.
    TurnNo, u32
}
counter! {
    /// How often a tree changed owner. Every append names it, so that a former owner is fenced off.
    Epoch, u64
}
counter! {
    /// Milliseconds since 1970 by the wall clock of the process that wrote it.
    Timestamp, u64
}

/// One stretch of work of an agent: messaging a settled agent opens the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunId {
    /// Whose run it is.
    pub agent: AgentId,
    /// Which of its runs.
    pub run: RunNo,
}

impl RunId {
    /// Names the first run of an agent: the one that the call which made it waits for.
    pub fn first(agent: AgentId) -> Self {
        Self {
            agent,
            run: RunNo::new(1),
        }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.agent, self.run)
    }
}
