//! The port to hooks that may take their time: programs, services, people's scripts.
//!
//! They are told what is about to happen, or has, and may have something against
//! it. They only ever narrow: there is no word for "allow", because whether a call
//! may run is decided before they are asked. One that fails is not a word either;
//! whoever calls it says what follows, and tells people.

use std::time::Duration;

use futures_core::future::BoxFuture;

use super::{Occasion, Point};
use crate::cancel::Cancel;

/// How long a hook may take if it does not say.
pub const USUAL_LIMIT: Duration = Duration::from_secs(60);

/// A hook that may take its time.
pub trait Watch: Send + Sync {
    /// Returns what people call it. It stands in the log beside what it did. Always the same.
    fn name(&self) -> &str;

    /// Tells whether it wants to be called at a point at all. Always the same.
    fn is_at(&self, point: Point) -> bool;

    /// Tells whether it wants to be called about a subject there: see [`Occasion::subject`].
    fn wants(&self, _point: Point, _subject: &str) -> bool {
        true
    }

    /// Returns how long one call of it may take.
    fn limit(&self) -> Duration {
        USUAL_LIMIT
    }

    /// Tells whether it may choose who answers. A hook that a repository brings may not.
    fn may_switch(&self) -> bool {
        true
    }

    /// Asks it. Watches the signal and ends soon after it fires; may be dropped at any await.
    fn call(&self, occasion: Occasion, cancel: Cancel) -> BoxFuture<'static, Result<Say, Trouble>>;
}

/// What a hook says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Say {
    /// What it has against it.
    pub word: Word,
    /// What the agent is to know; it is told where it comes from.
    pub context: Option<String>,
    /// What people are to know.
    pub note: Option<String>,
    /// Who is to answer; heard where a person says something (SA-49).
    pub switch: Option<Switch>,
}

/// Which agent is to answer from here on, and with which model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// The name of an agent that people may start; without it the one that is there.
    pub agent: Option<String>,
    /// `PROVIDER/NAME` or a tier; without it the agent's own.
    pub model: Option<String>,
}

impl Say {
    /// Has nothing against it.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Says a word, and nothing else.
    pub fn word(word: Word) -> Self {
        Self {
            word,
            ..Self::default()
        }
    }

    /// Has something to tell the agent.
    pub fn context(text: impl Into<String>) -> Self {
        Self {
            context: Some(text.into()),
            ..Self::default()
        }
    }
}

/// What a hook has against what is about to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Word {
    /// Nothing.
    #[default]
    Nothing,
    /// A person is to be asked first.
    Ask {
        /// Why.
        reason: String,
    },
    /// It is not to happen. Of the end of a run: the agent is to go on.
    Deny {
        /// Why; the agent reads it.
        reason: String,
    },
    /// The agent is to stop altogether.
    Stop {
        /// Why.
        reason: String,
    },
}

impl Word {
    /// Tells whether it is of a stricter kind; reasons do not count.
    pub fn is_stricter_than(&self, other: &Self) -> bool {
        self.rank() > other.rank()
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Ask { .. } => 1,
            Self::Deny { .. } => 2,
            Self::Stop { .. } => 3,
        }
    }
}

/// Why a hook did not say anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It says itself that it failed, and has nothing against anything.
    Failed(String),
    /// It broke down: nobody knows what it would have said.
    BrokeDown(String),
}

impl Trouble {
    /// Returns what happened, for people.
    pub fn why(&self) -> &str {
        match self {
            Self::Failed(why) | Self::BrokeDown(why) => why,
        }
    }
}
