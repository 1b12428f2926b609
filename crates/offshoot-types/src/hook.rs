//! Points where a host may have a say: `message.user` and `model.resolve`.
//!
//! For roots and children alike. A hook answers at once and must not block; it
//! may narrow, redirect or refuse, and what it changes is in the log as if it had
//! been said so. It grants nothing: permissions are decided elsewhere.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::id::AgentId;
use crate::message::UserMessage;

/// Whom a hook is asked about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The root of its tree.
    pub session: &'a AgentId,
    /// The agent.
    pub agent: &'a AgentId,
    /// What it is now.
    pub definition: &'a str,
    /// How far below the root.
    pub depth: u32,
}

/// What a host may have a say in.
pub trait Hook: Send + Sync {
    /// `message.user`: sees a message before it lands; may change it, name another agent for it, or
    /// refuse it with a reason.
    fn user_message(&self, _about: About<'_>, _message: &mut UserMessage) -> Result<(), String> {
        Ok(())
    }

    /// `model.resolve`: says which model the next turn uses; `None` leaves it as it is.
    fn resolve_model(&self, _about: About<'_>, _model: &str) -> Option<String> {
        None
    }
}

/// The hooks of a host, in order.
#[derive(Clone, Default)]
pub struct Hooks(Vec<Arc<dyn Hook>>);

impl Hooks {
    /// Adds a hook behind those that are there.
    pub fn add(&mut self, hook: Arc<dyn Hook>) {
        self.0.push(hook);
    }

    /// Shows all of them a message; the first refusal counts.
    pub fn user_message(&self, about: About<'_>, message: &mut UserMessage) -> Result<(), String> {
        for hook in &self.0 {
            let say = AssertUnwindSafe(|| hook.user_message(about, message));
            // One that panics harms nobody else; whether it would have refused, nobody knows.
            catch_unwind(say).unwrap_or_else(|_| Err("a hook broke down".to_owned()))?;
        }
        Ok(())
    }

    /// Returns the model that the last of them wants.
    pub fn resolve_model(&self, about: About<'_>, model: &str) -> Option<String> {
        let mut wanted = None;
        for hook in &self.0 {
            let so_far = wanted.as_deref().unwrap_or(model);
            let say = AssertUnwindSafe(|| hook.resolve_model(about, so_far));
            wanted = catch_unwind(say).unwrap_or_default().or(wanted);
        }
        wanted
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooks({})", self.0.len())
    }
}
