//! A client of a runtime: gives orders, asks queries, follows sessions, and shuts the runtime down.
//!
//! The engine is lent for one call and given up when it is shut down, so clones may be kept as one likes:
//! afterwards every call says `CommandError::Closed`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_engine::{CommandError, Ending, Query, Runtime as Engine};
use offshoot_types::command::{Command, Order, Receipt};
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, CommandId, Pos, TreeId};
use tokio::sync::watch;

use super::follower::Follower;

/// A client of a runtime. Cloning shares it.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    /// `None` from the moment the runtime is shut down.
    engine: Mutex<Option<Arc<Engine>>>,
    /// Whether the runtime has been shut down, and nothing more will happen.
    closed: watch::Sender<bool>,
    env: Arc<dyn Env>,
}

/// A shutdown. When it is over or dropped, the runtime is gone.
struct Leaving<'a>(&'a Inner);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.closed.send_replace(true);
    }
}

impl Client {
    /// Makes the client of a runtime that was assembled already. `env` gives the ids of commands.
    pub fn new(engine: impl Into<Arc<Engine>>, env: Arc<dyn Env>) -> Self {
        Self(Arc::new(Inner {
            engine: Mutex::new(Some(engine.into())),
            closed: watch::Sender::new(false),
            env,
        }))
    }

    /// Returns the runtime, for what only concerns this process.
    pub fn engine(&self) -> Result<Arc<Engine>, CommandError> {
        self.lent().clone().ok_or(CommandError::Closed)
    }

    /// Returns the clock and the source of ids.
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.0.env
    }

    /// Makes a command of an order, with an id of its own.
    pub fn command(&self, tree: &TreeId, agent: &AgentId, order: Order) -> Command {
        Command {
            id: CommandId::new(self.0.env.new_id()),
            tree: tree.clone(),
            agent: agent.clone(),
            order,
        }
    }

    /// Has an order carried out and returns what became of it.
    pub async fn order(
        &self,
        tree: &TreeId,
        agent: &AgentId,
        order: Order,
    ) -> Result<Receipt, CommandError> {
        self.carry_out(self.command(tree, agent, order)).await
    }

    /// Has a command carried out and returns what became of it.
    pub async fn carry_out(&self, command: Command) -> Result<Receipt, CommandError> {
        self.engine()?.command(command).await
    }

    /// Answers a question about the state of things.
    pub async fn query<Q: Query>(&self, query: Q) -> Result<Q::Answer, CommandError> {
        Ok(self.engine()?.query(query).await?)
    }

    /// Follows a session from a position.
    pub async fn follow(&self, tree: &TreeId, after: Pos) -> Result<Follower, CommandError> {
        let updates = self.engine()?.subscribe(tree, after).await;
        Ok(Follower::new(self.clone(), tree.clone(), updates))
    }

    /// Shuts the runtime down in good order.
    pub async fn shutdown(&self, ending: Ending) {
        let leaving = Leaving(&self.0);
        let engine = self.lent().take();
        if let Some(engine) = engine {
            engine.shutdown(ending).await;
        }
        drop(leaving);
    }

    /// Waits until the runtime has been shut down.
    pub(super) async fn closed(&self) {
        let mut closed = self.0.closed.subscribe();
        // The sender is a field of this very value: it cannot be gone.
        drop(closed.wait_for(|closed| *closed).await);
    }

    fn lent(&self) -> MutexGuard<'_, Option<Arc<Engine>>> {
        self.0.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
