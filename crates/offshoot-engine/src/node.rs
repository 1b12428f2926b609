//! What a process knows of an agent beyond its log.
//!
//! How to stop it, how to wake it, what it does now. All of it can be lost: a
//! process that takes the tree over makes new ones from the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use offshoot_types::command::{Command, Receipt};
use offshoot_types::event::Entry;
use offshoot_types::id::{CallId, RunNo};
use offshoot_types::permission::Permissions;
use offshoot_types::settlement::CancelledBy;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::hooks::prompts::Reception;
use crate::scratch::Scratch;
use crate::update::Activity;

/// What the process knows of an agent beyond its log.
pub(crate) struct Node {
    pub(crate) permissions: Permissions,
    /// The chain without its own layer, for when it becomes another agent.
    pub(crate) above: Permissions,
    pub(crate) above_read_only: bool,
    /// Its part of the host's data folder, if there is one.
    pub(crate) scratch: Option<Scratch>,
    /// Fires for the run and everything below it.
    pub(crate) token: CancellationToken,
    /// Who stopped the run, if it was stopped at this agent.
    pub(crate) cancelled_by: Option<CancelledBy>,
    /// Fires when mail or a prompt arrived, or the run was stopped.
    pub(crate) wake: Arc<Notify>,
    /// Fires when a run of this agent settled, or its call is to return early.
    pub(crate) returned: Arc<Notify>,
    /// A command that wants the parent's call to return now.
    pub(crate) promote: Option<Ordered>,
    /// The run that a call of its parent is about to tell: nobody else may.
    pub(crate) claimed: Option<RunNo>,
    /// Answers to what its calls ask, until they are taken.
    pub(crate) answers: BTreeMap<CallId, Ordered>,
    pub(crate) activity: Activity,
    /// When it last gave a sign of progress.
    pub(crate) progress: Instant,
    /// A newborn's own entries, until its actor takes them; saves reading them back.
    pub(crate) infancy: Option<Vec<Arc<Entry>>>,
    /// Files that its run has changed.
    pub(crate) files: BTreeSet<String>,
    /// Whether its calls are held to reading.
    pub(crate) read_only: bool,
}

/// A command on its way, with whoever waits for its receipt.
#[derive(Debug)]
pub(crate) struct Ordered {
    pub(crate) command: Command,
    pub(crate) reply: Option<oneshot::Sender<Receipt>>,
    /// What hooks have said to it, where they were asked.
    pub(crate) heard: Option<Reception>,
    /// Whether it only waits in the queue: the session sleeps, and nobody here can wake it.
    pub(crate) waits: bool,
}

impl Ordered {
    /// An order that nobody waits for.
    pub(crate) fn unheard(command: Command) -> Self {
        Self {
            command,
            reply: None,
            heard: None,
            waits: false,
        }
    }

    /// Tells whoever waits. Nobody may be waiting any more; the receipt is stored all the same.
    pub(crate) fn answer(self, receipt: Receipt) {
        if let Some(reply) = self.reply {
            drop(reply.send(receipt));
        }
    }
}

impl Node {
    /// Returns who stopped the run, if anybody did.
    pub(crate) fn stopped(&self) -> Option<CancelledBy> {
        match self.cancelled_by {
            Some(by) => Some(by),
            None if self.token.is_cancelled() => Some(CancelledBy::Ancestor),
            None => None,
        }
    }
}
