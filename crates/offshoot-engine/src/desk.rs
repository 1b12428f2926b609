//! Where the tools of one message run.
//!
//! The tools of a group share one slot of their agent (R27). They are asked to stop
//! when the turn is, and dropped when they do not: that sequence exists only here. A
//! tool that panics has failed, and nothing else has. A tool gets a place, a journal,
//! a listener, a filter of what it may see, and what the session's client offers.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::FutureExt;
use offshoot_types::cancel::Cancel;
use offshoot_types::client_ports::CallOrigin;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Need, Reach};
use offshoot_types::tool::{Effect, Output, Place, Sight, Tool, Work};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::kit::Kit;
use crate::reply::Token;
use crate::role::PLAN_EXIT;
use crate::scheduler::Finished;
use crate::slots::{Rank, Slot};

/// A tool call that is to run.
pub(crate) struct ToolRun {
    pub(crate) call: CallId,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) arguments: RawJson,
    /// Whether a person allowed this search to read every file.
    pub(crate) sees_all: bool,
}

/// What the tools of one message share: a slot.
pub(crate) struct Desk<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) cancel: &'a CancellationToken,
    /// The slot, as long as one of them runs: it goes with the last, and not with the message.
    slot: Mutex<Weak<Slot>>,
    /// Fires when one of them waits for something else, or not any more.
    pub(crate) changed: Notify,
    queueing: tokio::sync::Mutex<()>,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(agent: &'a Agent, cancel: &'a CancellationToken) -> Self {
        Self {
            agent,
            cancel,
            slot: Mutex::default(),
            changed: Notify::new(),
            queueing: tokio::sync::Mutex::default(),
        }
    }

    /// Runs one tool.
    pub(crate) async fn run(&self, run: ToolRun) -> Finished {
        let ToolRun {
            call,
            tool,
            arguments,
            sees_all,
        } = run;
        let effect = tool.spec().effect;
        let slot = self.share_slot().await;
        let began = self.agent.parts.env.now();
        let work = Work {
            sight: self.agent.sight(&tool.spec().id, sees_all),
            ..self.agent.work(&call, arguments.clone(), self.cancel)
        };
        let mut outcome = self.carry_out(&tool, work).await;
        if tool.spec().id == PLAN_EXIT
            && !outcome.is_error()
            && let Err(refused) = self.agent.hand_over(&arguments, self.cancel).await
        {
            outcome = refused;
        }
        if !outcome.attachments.is_empty() {
            let id = &tool.spec().id;
            outcome = self.agent.with_sound_attachments(id, outcome).await;
        }
        let took = self.agent.parts.env.now().get().saturating_sub(began.get());
        drop(slot);
        Finished::ran(call, effect, outcome.took(took))
    }

    /// Returns the slot that the tools share; none once the turn is cancelled, for then nothing runs.
    async fn share_slot(&self) -> Option<Arc<Slot>> {
        let _queue = self.queueing.lock().await;
        if let Some(slot) = self.held() {
            return Some(slot);
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            slot = self.agent.board.slots.take(Rank::Resuming, self.agent.depth) => {
                let slot = Arc::new(slot);
                *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&slot);
                self.changed.notify_one();
                Some(slot)
            }
        }
    }

    /// Returns the slot, if the tools hold one.
    pub(crate) fn held(&self) -> Option<Arc<Slot>> {
        self.slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .upgrade()
    }

    /// Runs a tool to its end: asked to stop when the turn is, dropped when it does not.
    async fn carry_out(&self, tool: &Arc<dyn Tool>, work: Work) -> Outcome {
        let id = &tool.spec().id;
        if self.cancel.is_cancelled() {
            return Outcome::error(
                ErrorKind::Cancelled,
                format!("{id} was cancelled before it ran"),
            );
        }
        let work = async { tool.run(work).await };
        let work = AssertUnwindSafe(work).catch_unwind();
        let mut work = std::pin::pin!(work);
        let ended = tokio::select! {
            biased;
            ended = &mut work => ended,
            () = self.cancel.cancelled() => {
                match tokio::time::timeout(self.agent.board.limits.grace, work).await {
                    Ok(ended) => ended,
                    Err(_) => return dropped(tool),
                }
            }
        };
        ended.unwrap_or_else(|_| panicked(id))
    }
}

/// Returns the outcome of a tool that did not stop when it was asked to.
fn dropped(tool: &Arc<dyn Tool>) -> Outcome {
    let id = &tool.spec().id;
    match tool.spec().effect {
        Effect::Read => Outcome::error(ErrorKind::Cancelled, format!("{id} was cancelled")),
        Effect::Write => Outcome::error(
            ErrorKind::Interrupted,
            format!("{id} was cancelled and did not stop; whether it had an effect is unknown"),
        ),
    }
}

/// Returns the outcome of a tool that panicked.
pub(crate) fn panicked(tool: &str) -> Outcome {
    Outcome::error(
        ErrorKind::Failed,
        format!("{tool} broke down; this is a bug of the tool"),
    )
}

impl Agent {
    /// Returns where a call of this agent works.
    pub(crate) fn place(&self) -> Place {
        let scratch = self.scratch.as_ref();
        Place {
            workspace: self.workspace.clone(),
            scratch: scratch.map(|scratch| scratch.folder.clone()),
            off_limits: scratch.map(|scratch| scratch.data.clone()),
            owner: self.id.to_string(),
        }
    }

    /// Returns what a tool is handed for a call.
    fn work(&self, call: &CallId, arguments: RawJson, cancel: &CancellationToken) -> Work {
        let journal = self.journal(call);
        let origin = CallOrigin {
            agent: self.id.clone(),
            call: call.clone(),
            after: self.board.state().tree.pos(),
        };
        let client = self.kit.client.as_ref();
        let (board, agent, call) = (self.board.clone(), self.id.clone(), call.clone());
        Work {
            journal,
            cancel: Cancel::new(Token(cancel.clone())),
            output: Output::new(move |text| board.output(&agent, &call, text)),
            blobs: self.blob_sink(),
            takes_images: self.takes_images(),
            files: client.and_then(|client| client.files(&origin)),
            processes: client.and_then(|client| client.processes(&origin)),
            ..Work::new(arguments, self.place())
        }
    }

    /// Returns which files a search of this agent may look at, in a folder that it was allowed.
    ///
    /// What a rule denies is left out, and what a rule asks about as well, unless somebody has said
    /// yes: to this search, beforehand, or to everything.
    fn sight(&self, tool: &str, may_see_all: bool) -> Sight {
        let (chain, _) = self.chain();
        let workspace = format!("{}/", self.workspace.trim_end_matches('/'));
        let whole_workspace = !chain.narrows_sight(tool, Need::FS_READ, &workspace);
        let says_yes = may_see_all || self.kit.asks.yes;
        let (board, agent, tool) = (self.board.clone(), self.id.clone(), tool.to_owned());
        let narrows = {
            let (chain, tool) = (chain.clone(), tool.clone());
            move |folder: &str| chain.narrows_sight(&tool, Need::FS_READ, folder)
        };
        Sight::new(narrows, move |path| {
            if whole_workspace && path.starts_with(&workspace) {
                return true;
            }
            let need = Need::new(Need::FS_READ, path);
            // Sight asks only where a rule does.
            let granted = || {
                let state = board.state();
                let granted = state.tree.granted(&agent, &tool, &need, Reach::Exact);
                granted.is_some()
            };
            match chain.sight(&tool, &need) {
                Action::Allow => true,
                Action::Ask => says_yes || granted(),
                Action::Deny => false,
            }
        })
    }

    /// Ends what the agent's calls have left running, before its run settles.
    ///
    /// A root is there for its next prompt, and what it started with it, until its session is let go;
    /// unless it was stopped.
    pub(crate) async fn end_leftovers(&self) {
        if self.is_root() && !self.is_stopped() {
            return;
        }
        end_all(&self.kit, &self.id, self.board.limits.grace).await;
    }
}

/// Has every tool end what an agent's calls have left running. One that panics or does not come to
/// an end is left alone: nobody waits for it.
pub(crate) async fn end_all(kit: &Kit, owner: &AgentId, grace: Duration) {
    for tool in kit.tools.iter() {
        let end = async { tool.end(owner.as_str()).await };
        let end = AssertUnwindSafe(end).catch_unwind();
        drop(tokio::time::timeout(grace, end).await);
    }
}
