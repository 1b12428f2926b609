//! The port to the program that hosts a session: it may rewrite (ruling 3).
//!
//! Only that program has this port; hooks of projects and users cannot rewrite. It is
//! asked before anything else is: about a person's prompt before it is queued, about the
//! arguments of a call before their schema is checked and the chain judges, about an
//! outcome before it is stored. What it rewrites is judged as if it had been said so. It
//! may answer what the chain asks, as a person does; no answer overrules a deny.

use std::time::Duration;

use futures_core::future::BoxFuture;

use super::{USUAL_LIMIT, Use, Who};
use crate::cancel::Cancel;
use crate::json::RawJson;
use crate::outcome::Outcome;

/// The hooks of the program that hosts a session.
///
/// Every method may be called for several agents and calls at once, and may be dropped at any await.
/// It watches the signal and ends soon after it fires. An `Err` says why it failed; a panic and an
/// overrun of [`limit`](Self::limit) count as failures too.
pub trait HostHooks: Send + Sync {
    /// Returns how long one answer may take.
    fn limit(&self) -> Duration {
        USUAL_LIMIT
    }

    /// Says what becomes of a person's prompt before it is queued. On failure the prompt is refused.
    fn on_prompt(
        &self,
        _who: Who,
        _text: String,
        _cancel: Cancel,
    ) -> BoxFuture<'static, Result<PromptReply, String>> {
        Box::pin(std::future::ready(Ok(PromptReply::Keep)))
    }

    /// Says what becomes of a call before its arguments are checked and judged. On failure the call is
    /// denied. Not asked again about a call that a later process takes up.
    fn on_call(
        &self,
        _who: Who,
        _used: Use,
        _cancel: Cancel,
    ) -> BoxFuture<'static, Result<CallReply, String>> {
        Box::pin(std::future::ready(Ok(CallReply::default())))
    }

    /// Returns the outcome to store in the place of this one, or nothing to keep it; a child's answer is
    /// the outcome of its `task` call. On failure, and when the turn is cancelled first, the outcome
    /// stays as it is. Asked only about calls that ran.
    fn on_outcome(
        &self,
        _who: Who,
        _used: Use,
        _outcome: Outcome,
        _cancel: Cancel,
    ) -> BoxFuture<'static, Result<Option<Outcome>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// What becomes of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PromptReply {
    /// It stays as it is.
    #[default]
    Keep,
    /// This text is queued in its place.
    Rewrite(String),
    /// It is not queued, and stored nowhere.
    Refuse {
        /// Why; the sender reads it.
        reason: String,
    },
}

/// What becomes of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallReply {
    /// The arguments it runs with, in the place of the model's; checked and judged as those would be.
    pub arguments: Option<RawJson>,
    /// Whether the host answers for a person.
    pub permission: CallPermission,
}

/// Whether the host answers for a person what is asked about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallPermission {
    /// It does not: rules decide, and a person where they ask.
    #[default]
    Unanswered,
    /// Yes, where rules ask. It never overrules a deny, nor a hook that wants a person to be asked.
    Allow,
    /// No, whatever rules say.
    Deny {
        /// Why; the model reads it.
        reason: String,
    },
}

impl CallReply {
    /// Runs the call with other arguments, if it may run with them.
    pub fn rewrite(arguments: RawJson) -> Self {
        Self {
            arguments: Some(arguments),
            ..Self::default()
        }
    }

    /// Answers yes where rules ask.
    pub fn allow() -> Self {
        Self {
            permission: CallPermission::Allow,
            ..Self::default()
        }
    }

    /// Refuses the call.
    pub fn deny(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            permission: CallPermission::Deny { reason },
            ..Self::default()
        }
    }
}
