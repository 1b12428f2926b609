//! The handle on a whole runtime, and what all handles share.
//!
//! The engine is lent for one command and given up when it is shut down, so handles may be cloned and
//! kept as one likes: afterwards they say that it is closed. Nothing here decides anything, and nobody
//! who leaves waits for a command: the engine answers those itself.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_engine::{Ending, Runtime as Engine, Subscription};
use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, CommandId, Pos, TreeId};
use offshoot_types::store::{SessionSummary, Store};

use super::builder::Builder;
use super::error::Error;
use super::host::Host;
use super::session::{NewSession, Session};

/// A runtime: agents, models, tools and a store. Cloning shares it.
///
/// Needs a Tokio runtime with time enabled. Leave with [`shutdown`](Self::shutdown). Dropping the last
/// handle, those of sessions and agents included, is what a crash is to the command line: everything
/// stops where it is, and whoever opens the store next recovers it.
#[derive(Clone)]
pub struct Runtime(pub(super) Arc<Shared>);

impl Runtime {
    /// Begins to assemble a runtime.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens a session with an agent that people may start: one of mode `primary` or `all`.
    pub async fn open(&self, agent: &str) -> Result<Session, Error> {
        self.new_session().open(agent).await
    }

    /// Opens a session whose root is this program, and which starts agents for it.
    pub async fn host(&self) -> Result<Host, Error> {
        self.new_session().host().await
    }

    /// Begins to open a session that differs from what the builder said.
    pub fn new_session(&self) -> NewSession {
        NewSession::new(self.0.clone())
    }

    /// Finds a session that was opened before, by this process or another.
    ///
    /// What its process left undone, if that died, is settled as lost when it is asked something.
    pub async fn find(&self, id: &str) -> Result<Session, Error> {
        let id = AgentId::new(id);
        match self.0.store.tree_of(&id).await? {
            Some(tree) if *tree.root() == id => Ok(Session::new(self.0.clone(), tree)),
            Some(tree) => Err(Error::Unknown(format!(
                "{id} is an agent of session {tree} and not a session"
            ))),
            None => Err(Error::Unknown(format!("there is no session {id}"))),
        }
    }

    /// Lists all sessions of the store, the one that changed last first.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, Error> {
        Ok(self.0.store.sessions().await?)
    }

    /// Leaves in good order; afterwards every handle says [`Error::Closed`].
    ///
    /// `Ending::Now` cancels what runs and settles it, within `Limits::shutdown`.
    /// `Ending::WhenQuiet` lets it finish, and waits for as long as somebody holds `Updates` of it.
    pub async fn shutdown(&self, ending: Ending) {
        let leaving = Leaving(&self.0);
        let engine = self.0.lent().take();
        if let Some(engine) = engine {
            engine.shutdown(ending).await;
        }
        drop(leaving);
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// What all handles share.
pub(super) struct Shared {
    /// `None` from the moment somebody shuts it down.
    engine: Mutex<Option<Arc<Engine>>>,
    /// Whether it has been shut down, and nothing more will happen.
    closed: AtomicBool,
    pub(super) store: Arc<dyn Store>,
    pub(super) env: Arc<dyn Env>,
    /// The model of sessions that name none.
    pub(super) model: Option<String>,
    /// The folder of sessions that name none.
    pub(super) workspace: String,
}

/// Somebody who shuts down; when they are gone, so is the engine, however far they came.
struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
    }
}

/// Whether anybody does something about a tree.
pub(super) enum Attended {
    /// This process, or another.
    Yes,
    /// Nobody, so far.
    No,
    /// Nobody, and this process never will again.
    Closed,
}

impl Shared {
    pub(super) fn new(
        engine: Engine,
        store: Arc<dyn Store>,
        env: Arc<dyn Env>,
        model: Option<String>,
        workspace: String,
    ) -> Self {
        Self {
            engine: Mutex::new(Some(Arc::new(engine))),
            closed: AtomicBool::new(false),
            store,
            env,
            model,
            workspace,
        }
    }

    fn engine(&self) -> Result<Arc<Engine>, Error> {
        self.lent().clone().ok_or(Error::Closed)
    }

    fn lent(&self) -> MutexGuard<'_, Option<Arc<Engine>>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has an order carried out and returns what became of it.
    pub(super) async fn order(
        &self,
        tree: &TreeId,
        agent: &AgentId,
        order: Order,
    ) -> Result<Receipt, Error> {
        let command = Command {
            id: CommandId::new(self.env.new_id()),
            tree: tree.clone(),
            agent: agent.clone(),
            order,
        };
        Ok(self.engine()?.command(command).await?)
    }

    /// Follows a tree from a position.
    pub(super) async fn subscribe(&self, tree: &TreeId, after: Pos) -> Result<Subscription, Error> {
        Ok(self.engine()?.subscribe(tree, after).await)
    }

    /// Tells whether anybody does something about a tree.
    pub(super) async fn attended(&self, tree: &TreeId) -> Result<Attended, Error> {
        let Ok(engine) = self.engine() else {
            return Ok(if self.closed.load(Ordering::Acquire) {
                Attended::Closed
            } else {
                // It is leaving, and may be waiting for just that tree.
                Attended::Yes
            });
        };
        if engine.is_run_here(tree) {
            return Ok(Attended::Yes);
        }
        let sessions = self.store.sessions().await?;
        let owned = sessions.iter().any(|one| one.tree == *tree && one.owned);
        Ok(if owned { Attended::Yes } else { Attended::No })
    }
}
