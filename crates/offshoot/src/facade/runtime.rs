//! The handle on a whole runtime, and what all handles share.
//!
//! Handles may be cloned and kept as one likes: after a shutdown they say that the runtime is closed.
//! Nothing here decides anything: orders, queries and updates go through `flow`.

use std::fmt;
use std::sync::Arc;

use offshoot_engine::{Attachment, Ending, Overlay, Query, Subscription, query};
use offshoot_types::command::{Order, Receipt};
use offshoot_types::content::Attached;
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::listing::{SessionPage, SessionQuery};
use offshoot_types::store::SessionSummary;

use super::builder::Builder;
use super::error::Error;
use super::host::Host;
use super::session::{NewSession, Session};
use crate::flow::{Client, Follower};

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
        match self.0.query(query::TreeOf(id.clone())).await? {
            Some(tree) if *tree.root() == id => Ok(Session::new(self.0.clone(), tree)),
            Some(tree) => Err(Error::Unknown(format!(
                "{id} is an agent of session {tree} and not a session"
            ))),
            None => Err(Error::Unknown(format!("there is no session {id}"))),
        }
    }

    /// Lists all sessions of the store, the one that changed last first.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, Error> {
        Ok(self.list(SessionQuery::default()).await?.sessions)
    }

    /// Lists a page of the sessions: of one folder, with a text in their titles, behind a cursor.
    pub async fn list(&self, query: SessionQuery) -> Result<SessionPage, Error> {
        self.0.query(query::Sessions(query)).await
    }

    /// Leaves in good order; afterwards every handle says [`Error::Closed`].
    ///
    /// `Ending::Now` cancels what runs and settles it, within `Limits::shutdown`.
    /// `Ending::WhenQuiet` lets it finish, and waits for as long as somebody holds `Updates` of it.
    pub async fn shutdown(&self, ending: Ending) {
        self.0.client.shutdown(ending).await;
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// What all handles share.
pub(super) struct Shared {
    client: Client,
    /// The model of sessions that name none.
    pub(super) model: Option<String>,
    /// The folder of sessions that name none.
    pub(super) workspace: String,
}

impl Shared {
    pub(super) fn new(client: Client, model: Option<String>, workspace: String) -> Self {
        Self {
            client,
            model,
            workspace,
        }
    }

    /// Returns the clock and the source of ids.
    pub(super) fn env(&self) -> &Arc<dyn Env> {
        self.client.env()
    }

    /// Has an order carried out and returns what became of it.
    pub(super) async fn order(
        &self,
        tree: &TreeId,
        agent: &AgentId,
        order: Order,
    ) -> Result<Receipt, Error> {
        Ok(self.client.order(tree, agent, order).await?)
    }

    /// Answers a question about the state of things.
    pub(super) async fn query<Q: Query>(&self, query: Q) -> Result<Q::Answer, Error> {
        Ok(self.client.query(query).await?)
    }

    /// Attaches what this program brings for one session.
    pub(super) fn attach(&self, tree: &TreeId, overlay: Overlay) -> Result<Attachment, Error> {
        Ok(self.client.engine()?.attach(tree, overlay)?)
    }

    /// Stores bytes as a blob of a session.
    pub(super) async fn store_blob(
        &self,
        session: &AgentId,
        name: &str,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Attached, Error> {
        let name = Some(name.to_owned());
        let engine = self.client.engine()?;
        Ok(engine.store_blob(session, name, media_type, bytes).await?)
    }

    /// Follows a tree from a position.
    pub(super) async fn follow(&self, tree: &TreeId, after: Pos) -> Result<Follower, Error> {
        Ok(self.client.follow(tree, after).await?)
    }

    /// Follows a tree from a position, and leaves it alone.
    pub(super) async fn subscribe(&self, tree: &TreeId, after: Pos) -> Result<Subscription, Error> {
        Ok(self.client.engine()?.subscribe(tree, after).await)
    }
}
