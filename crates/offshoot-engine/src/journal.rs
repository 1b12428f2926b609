//! The journal, as one call of one agent sees it.
//!
//! Binds who calls to what is recorded, so that a tool never learns whose agent
//! it works for. Fenced like the log: a process that has lost its tree records
//! nothing, and so changes nothing.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::env::Env;
use offshoot_types::id::{AgentId, CallId};
use offshoot_types::journal::{Change, Journal, Writer};
use offshoot_types::store::{Lease, Store};

use crate::agent::Agent;
use crate::board::Board;

/// The journal of one call.
struct CallJournal {
    board: Arc<Board>,
    store: Arc<dyn Store>,
    env: Arc<dyn Env>,
    lease: Lease,
    agent: AgentId,
    definition: String,
    call: CallId,
}

impl Journal for CallJournal {
    fn record(&self, change: Change) -> BoxFuture<'_, Result<(), String>> {
        let Self {
            lease,
            agent,
            definition,
            call,
            ..
        } = self;
        let (at, path) = (self.env.now(), change.path.clone());
        let recorded = self
            .store
            .journal(lease, agent, definition, call, change, at);
        self.board.changed(agent, &path);
        Box::pin(async move { recorded.await.map_err(|error| error.message) })
    }

    fn last_writer(&self, path: &str) -> BoxFuture<'_, Option<Writer>> {
        let path = path.to_owned();
        // Who wrote last is told to be helpful: not knowing it stops nobody.
        Box::pin(async move { self.store.last_writer(&path).await.ok().flatten() })
    }
}

impl Agent {
    /// Returns the journal of a call.
    pub(crate) fn journal(&self, call: &CallId) -> Arc<dyn Journal> {
        Arc::new(CallJournal {
            board: self.board.clone(),
            store: self.parts.store.clone(),
            env: self.parts.env.clone(),
            lease: self.board.lease.clone(),
            agent: self.id.clone(),
            definition: self.definition.clone(),
            call: call.clone(),
        })
    }
}
