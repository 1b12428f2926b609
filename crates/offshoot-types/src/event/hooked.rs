//! What a hook did, as the log keeps it.

use serde::{Deserialize, Serialize};

use crate::hook::Point;
use crate::id::CallId;
use crate::json::RawJson;

/// What a hook did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooked {
    /// What people call it.
    pub hook: String,
    /// Where it was called.
    pub point: Point,
    /// About which call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What came of it.
    pub did: Did,
    /// What it had to tell people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What it tells the agent once the calls of the message are over: the process that takes them up
    /// after a crash does. Otherwise it stands in the message that told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The arguments that the host had the call run with; what the model said stays in its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Whether it is the hook of the program that hosts the session, the only one that rewrites.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_host: bool,
}

/// What came of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It let it happen.
    Passed,
    /// It told the agent something, which stands in a message of its own or behind the person's.
    Told,
    /// It wanted a person to be asked.
    Asked {
        /// Why.
        reason: String,
    },
    /// It refused; of the end of a run, it kept the agent at work.
    Refused {
        /// Why.
        reason: String,
    },
    /// It stopped the agent.
    Stopped {
        /// Why.
        reason: String,
    },
    /// It failed.
    Failed {
        /// What happened.
        why: String,
    },
}

impl Hooked {
    /// Returns the call that runs with other arguments than the model's, and those.
    pub fn rewritten(&self) -> Option<(&CallId, &RawJson)> {
        self.call.as_ref().zip(self.arguments.as_ref())
    }

    /// Tells whether it kept a run from ending.
    pub fn kept_at_work(&self) -> bool {
        self.point.is_end_of_run() && matches!(self.did, Did::Refused { .. })
    }
}
