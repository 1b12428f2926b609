//! Where others have a say: hooks.
//!
//! For roots and children alike. There are three kinds. A `Hook` of the host answers
//! at once, at `message.user` and `model.resolve`: it may narrow, redirect or
//! refuse, and what it changes is in the log as if it had been said so. A `Watch`
//! may take its time, at the points of Claude Code's hooks. Neither grants
//! anything: permissions are decided elsewhere. `HostHooks` are those of the program
//! that hosts one session, and the only ones that rewrite.

mod host;
mod occasion;
mod point;
mod watch;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::event::Hooked;
use crate::id::AgentId;
use crate::message::UserMessage;

pub use self::host::{CallPermission, CallReply, HostHooks, PromptReply};
pub use self::occasion::{Ending, Occasion, Use, What, Who};
pub use self::point::Point;
pub use self::watch::{Say, Switch, Trouble, USUAL_LIMIT, Watch, Word};

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
pub struct Hooks {
    at_once: Vec<Arc<dyn Hook>>,
    watching: Vec<Arc<dyn Watch>>,
    unheard: Option<Arc<Unheard>>,
}

/// Takes what a hook did where nobody follows the session.
type Unheard = dyn Fn(&AgentId, &Hooked) + Send + Sync;

impl Hooks {
    /// Adds a hook behind those that are there.
    pub fn add(&mut self, hook: Arc<dyn Hook>) {
        self.at_once.push(hook);
    }

    /// Adds one that may take its time, behind those that are there.
    pub fn watch(&mut self, watch: Arc<dyn Watch>) {
        self.watching.push(watch);
    }

    /// Adds all hooks of another list behind those that are there.
    pub fn extend(&mut self, others: &Self) {
        self.at_once.extend(others.at_once.iter().cloned());
        self.watching.extend(others.watching.iter().cloned());
        self.unheard = self.unheard.take().or_else(|| others.unheard.clone());
    }

    /// Has `told` take what hooks did that were only told of something, where nobody follows the
    /// session who could hear of it: at its end for one. It must not block.
    pub fn on_unheard(&mut self, told: impl Fn(&AgentId, &Hooked) + Send + Sync + 'static) {
        self.unheard = Some(Arc::new(told));
    }

    /// Hands on what a hook did, which nobody else hears of.
    pub fn unheard(&self, agent: &AgentId, hooked: &Hooked) {
        if let Some(told) = &self.unheard {
            told(agent, hooked);
        }
    }

    /// Tells whether anybody wants to be called at a point: if not, nothing is done for it.
    pub fn is_watched(&self, point: Point) -> bool {
        self.watching.iter().any(|watch| watch.is_at(point))
    }

    /// Returns those that want to be called about a subject at a point, in order.
    pub fn watching(&self, point: Point, subject: &str) -> Vec<Arc<dyn Watch>> {
        let wants = |watch: &&Arc<dyn Watch>| watch.is_at(point) && watch.wants(point, subject);
        self.watching.iter().filter(wants).cloned().collect()
    }

    /// Shows all of them a message; the first refusal counts.
    pub fn user_message(&self, about: About<'_>, message: &mut UserMessage) -> Result<(), String> {
        for hook in &self.at_once {
            let say = AssertUnwindSafe(|| hook.user_message(about, message));
            // One that panics harms nobody else; whether it would have refused, nobody knows.
            catch_unwind(say).unwrap_or_else(|_| Err("a hook broke down".to_owned()))?;
        }
        Ok(())
    }

    /// Returns the model that the last of them wants.
    pub fn resolve_model(&self, about: About<'_>, model: &str) -> Option<String> {
        let mut wanted = None;
        for hook in &self.at_once {
            let so_far = wanted.as_deref().unwrap_or(model);
            let say = AssertUnwindSafe(|| hook.resolve_model(about, so_far));
            wanted = catch_unwind(say).unwrap_or_default().or(wanted);
        }
        wanted
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooks({} + {})", self.at_once.len(), self.watching.len())
    }
}
