//! What a client does for the agents of one session: its text files and its terminals, as ports of the engine.
//!
//! Requests are made where tools run, never in a handler: the library runs one handler at a time. A
//! request waits until the client has been shown the log up to the call that makes it, so a child is
//! announced before anything bears its id (rules 1 and 4). In the flat form every request bears the
//! root's id.

use std::sync::Arc;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use offshoot_engine::{Attachment, Overlay};
use offshoot_types::client_ports::{CallOrigin, ClientPorts, Files, Processes};
use offshoot_types::id::{AgentId, Pos};
use tokio::sync::watch;

use super::Form;
use super::client::ClientProfile;
use super::files::ClientFiles;
use super::flat;
use super::lines::Outgoing;
use super::terminals::Terminals;

/// The client of one session.
#[derive(Clone)]
pub(super) struct SessionClient {
    pub(super) client: ConnectionTo<Client>,
    pub(super) outgoing: Outgoing,
    pub(super) profile: ClientProfile,
    pub(super) root: AgentId,
    /// How much of the log the client has been shown.
    pub(super) shown: watch::Receiver<Pos>,
}

/// What tools may ask the client of one session to do, for as long as the session is attached.
pub(super) struct SessionPorts {
    shown: watch::Sender<Pos>,
    _attached: Option<Attachment>,
}

impl SessionPorts {
    pub(super) fn new(shown: watch::Sender<Pos>, attached: Option<Attachment>) -> Self {
        Self {
            shown,
            _attached: attached,
        }
    }

    /// Tells requests of tools how much of the log the client has been shown.
    pub(super) fn show(&self, pos: Pos) {
        self.shown.send_replace(pos);
    }
}

/// The client, as one call sees it.
#[derive(Clone)]
pub(super) struct CallClient {
    pub(super) session: SessionClient,
    pub(super) origin: CallOrigin,
}

impl SessionClient {
    /// Returns what the client brings for its session; `None` if it offers nothing.
    pub(super) fn overlay(self) -> Option<Overlay> {
        if !self.profile.files && !self.profile.terminals {
            return None;
        }
        Some(Overlay {
            client: Some(Arc::new(self)),
            ..Overlay::default()
        })
    }

    fn of_call(&self, origin: &CallOrigin) -> CallClient {
        CallClient {
            session: self.clone(),
            origin: origin.clone(),
        }
    }
}

impl ClientPorts for SessionClient {
    fn files(&self, origin: &CallOrigin) -> Option<Arc<dyn Files>> {
        let offered = self.profile.files;
        offered.then(|| Arc::new(ClientFiles(self.of_call(origin))) as Arc<dyn Files>)
    }

    fn processes(&self, origin: &CallOrigin) -> Option<Arc<dyn Processes>> {
        let offered = self.profile.terminals;
        offered.then(|| Arc::new(Terminals(self.of_call(origin))) as Arc<dyn Processes>)
    }
}

impl CallClient {
    /// Returns the session that requests of the call are on, once the client knows it.
    pub(super) async fn session_id(&self) -> Result<String, String> {
        let mut shown = self.session.shown.clone();
        let is_shown = shown.wait_for(|shown| *shown >= self.origin.after).await;
        if is_shown.is_err() {
            return Err("it has let the session go".to_owned());
        }
        let id = match self.session.profile.form {
            Form::Sessions => &self.origin.agent,
            Form::Flat(_) => &self.session.root,
        };
        Ok(id.as_str().to_owned())
    }

    /// Returns the id of the call as the client knows it.
    pub(super) fn call_id(&self) -> String {
        let CallOrigin { agent, call, .. } = &self.origin;
        match self.session.profile.form {
            Form::Sessions => call.to_string(),
            Form::Flat(_) => flat::id(&self.session.root, agent, call),
        }
    }
}
