//! Requests about sessions that are no prompts: modes and options, cancel, close, delete, and the list.
//!
//! None of them waits here: what concerns an attached session goes to the session's task.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest,
    DeleteSessionResponse, ListSessionsRequest, ListSessionsResponse, SessionInfo,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error, JsonRpcResponse};
use offshoot_engine::query;
use offshoot_types::command::{Deletion, Order};
use offshoot_types::date;
use offshoot_types::event::RoleChoice;
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::listing::SessionQuery;
use offshoot_types::store::SessionSummary;

use super::error::{command_error, internal, invalid, is_child, note_sent, unknown_session};
use super::inputs::{self, Input, Reply};
use super::options::{self, Role};
use super::serve::Face;
use super::setup::SessionStart;
use super::{delegation, send};

/// Sessions of one page of a list.
const PAGE: usize = 50;

impl Face {
    pub(super) fn set_mode(
        &self,
        request: SetSessionModeRequest,
        responder: Responder<SetSessionModeResponse>,
    ) {
        let choice = RoleChoice {
            agent: Some(request.mode_id.to_string()),
            model: None,
        };
        let session = request.session_id.to_string();
        self.choose(&session, Ok(choice), responder, |_, _| {
            SetSessionModeResponse::new()
        });
    }

    pub(super) fn set_option(
        &self,
        request: SetSessionConfigOptionRequest,
        responder: Responder<SetSessionConfigOptionResponse>,
    ) {
        let choice = match request.value.as_value_id() {
            Some(value) => options::choice(&request.config_id.to_string(), &value.to_string()),
            None => Err(invalid("the option takes one of its values")),
        };
        let session = request.session_id.to_string();
        self.choose(&session, choice, responder, |role, start| {
            SetSessionConfigOptionResponse::new(role.options(start))
        });
    }

    /// Has a session go on with what its client chose, and answers with how things are then.
    fn choose<T: JsonRpcResponse + Send + 'static>(
        &self,
        session: &str,
        choice: Result<RoleChoice, Error>,
        responder: Responder<T>,
        response: impl FnOnce(&Role, &SessionStart) -> T + Send + 'static,
    ) {
        let choice = match choice {
            Ok(choice) => choice,
            Err(error) => return note_sent(responder.respond_with_error(error)),
        };
        let id = AgentId::new(session.to_owned());
        let Some(attached) = self.attached(&id) else {
            return self.refuse(id, responder);
        };
        if attached.is_child {
            return note_sent(responder.respond_with_error(is_child(&id)));
        }
        let start = attached.start.clone();
        let chosen = Box::new(move |role: Result<Role, Error>| {
            let response = role.map(|role| response(&role, &start));
            note_sent(responder.respond_with_result(response));
        });
        self.hand_over(&attached, Input::Choose(choice, chosen), 0);
    }

    /// Stops a session, or one child and what it waits for (rules 14 and 15).
    pub(super) fn cancel(&self, request: &CancelNotification) {
        let id = AgentId::new(request.session_id.to_string());
        let root = self.0.children().get(&id).cloned();
        let Some(attached) = self.attached(root.as_ref().unwrap_or(&id)) else {
            return;
        };
        if attached.mailbox.order(Input::Cancel(id.clone())).is_err() {
            tracing::warn!(session = %id, "a cancel was not taken");
        }
    }

    pub(super) fn close(
        &self,
        request: CloseSessionRequest,
        responder: Responder<CloseSessionResponse>,
    ) {
        let id = AgentId::new(request.session_id.to_string());
        let Some(attached) = self.attached(&id) else {
            return self.close_child(id, responder);
        };
        let closed = Box::new(move |closed: Result<(), Error>| {
            let closed = closed.map(|()| CloseSessionResponse::new());
            note_sent(responder.respond_with_result(closed));
        });
        if let Err(input) = attached.mailbox.order(Input::Close(closed)) {
            inputs::refuse(input, || unknown_session(id.as_str()));
        }
    }

    /// Stops a child that the client does not look at: with the flag of #855 it is a session like any
    /// other.
    fn close_child(&self, id: AgentId, responder: Responder<CloseSessionResponse>) {
        let root = self.0.children().get(&id).cloned();
        let Some(root) = root.filter(|_| self.0.profile().delegation) else {
            return self.refuse(id, responder);
        };
        let shared = self.0.clone();
        self.0.spawn(async move {
            send::cancel(&shared, &TreeId::of(root), &id).await;
            note_sent(responder.respond(CloseSessionResponse::new()));
        });
    }

    pub(super) async fn delete(
        self,
        request: DeleteSessionRequest,
        responder: Responder<DeleteSessionResponse>,
        _client: ConnectionTo<Client>,
    ) {
        let id = AgentId::new(request.session_id.to_string());
        let deleted: Reply<()> = Box::new(move |deleted| {
            let deleted = deleted.map(|()| DeleteSessionResponse::new());
            note_sent(responder.respond_with_result(deleted));
        });
        match self.attached(&id).filter(|attached| !attached.is_child) {
            // What is attached stays so if it cannot be deleted.
            Some(attached) => {
                if let Err(input) = attached.mailbox.order(Input::Delete(deleted)) {
                    inputs::refuse(input, || unknown_session(id.as_str()));
                }
            }
            None => deleted(self.deleted(&id).await),
        }
    }

    async fn deleted(&self, id: &AgentId) -> Result<(), Error> {
        match self.tree_of(id).await {
            Ok(tree) => {
                let order = Order::Delete(Deletion::Always);
                let deleted = self.0.command(&tree, id, order).await;
                deleted.map(drop).map_err(|error| command_error(&error, id))
            }
            // What is not there any more is deleted.
            Err(error) if i32::from(error.code) == -32002 => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn list(
        self,
        request: ListSessionsRequest,
        responder: Responder<ListSessionsResponse>,
        _client: ConnectionTo<Client>,
    ) {
        let listed = self.listed(&request).await;
        note_sent(responder.respond_with_result(listed));
    }

    async fn listed(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let after = request.cursor.as_deref().map(str::parse).transpose();
        let workspaces = &self.0.setup.workspaces;
        let folder = |cwd: &PathBuf| workspaces.resolve(cwd).to_string_lossy().into_owned();
        let children = self.0.profile().delegation;
        let query = SessionQuery {
            workspace: request.cwd.as_ref().map(folder),
            after: after.map_err(invalid)?,
            limit: Some(PAGE),
            ..SessionQuery::default()
        };
        let page = self.0.setup.runtime.query(query::Sessions(query)).await;
        let page = page.map_err(internal)?;
        let mut sessions = Vec::new();
        for session in &page.sessions {
            sessions.push(session_info(session));
            if children && session.agents > 1 {
                sessions.extend(self.children_of(session).await?);
            }
        }
        let next = page.next.map(|cursor| cursor.to_string());
        Ok(ListSessionsResponse::new(sessions).next_cursor(next))
    }

    /// Returns the children of a session, parents first, as entries of a list.
    async fn children_of(&self, session: &SessionSummary) -> Result<Vec<SessionInfo>, Error> {
        let query = query::SessionTree(session.tree.clone());
        let tree = self.0.setup.runtime.query(query).await;
        let tree = tree.map_err(internal)?;
        let child = |id: &AgentId| {
            let spawned = &tree.agent(id)?.spawned;
            let meta = delegation::parent_of(spawned, spawned.parent()?);
            let info = SessionInfo::new(id.as_str().to_owned(), PathBuf::from(&session.workspace));
            Some(info.title(spawned.definition.clone()).meta(meta))
        };
        Ok(tree.walk().into_iter().filter_map(child).collect())
    }
}

fn session_info(session: &SessionSummary) -> SessionInfo {
    let title = (!session.title.is_empty()).then(|| session.title.clone());
    SessionInfo::new(
        session.agent.as_str().to_owned(),
        PathBuf::from(&session.workspace),
    )
    .title(title)
    .updated_at(date::iso(session.updated_at))
}
