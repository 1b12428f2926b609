//! A connection: requests in, sessions attached, updates out.
//!
//! The protocol's library reads requests and writes responses; it runs one handler at a time, so no
//! handler here waits: each hands its request to the task of a session, or to a task of its own.
//! When the client is gone, the runtime ends in good order (R20): what an agent has asked stays open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse,
    CancelNotification, CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest,
    DeleteSessionResponse, ForkSessionRequest, ForkSessionResponse, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse,
    PromptCapabilities, PromptRequest, ResumeSessionRequest, ResumeSessionResponse,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionForkCapabilities, SessionInfo, SessionListCapabilities, SessionResumeCapabilities,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, JsonRpcResponse, Lines, on_receive_notification, on_receive_request,
};
use offshoot_engine::{Ending, SessionState, query};
use offshoot_types::command::{Deletion, Fork, Opening, Order, Scope};
use offshoot_types::event::{Entry, RoleChoice};
use offshoot_types::id::{AgentId, TreeId};
use offshoot_types::listing::SessionQuery;
use offshoot_types::store::{SessionSummary, StoreError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::client::ClientProfile;
use super::delegation;
use super::error::{
    command_error, internal, invalid, is_child, note_sent, start_error, unknown_session,
};
use super::lines::{self, Outgoing};
use super::live::{INPUTS, Input, Live, SentPrompt, Start};
use super::options::{self, Role};
use super::setup::{SessionStart, Setup};

/// Sessions of one page of a list.
const PAGE: usize = 50;

/// Serves one client on a pair of byte streams until its input ends; then ends the runtime.
pub async fn serve(
    setup: Setup,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let runtime = setup.runtime.clone();
    let (outgoing, writer) = Outgoing::new(output);
    let transport = Lines::new(Box::pin(outgoing.sink()), Box::pin(lines::incoming(input)));
    let shared = Arc::new(Shared {
        setup,
        outgoing,
        profile: OnceLock::new(),
        sessions: Mutex::default(),
        tasks: Mutex::new(JoinSet::new()),
    });
    let connection = Face(shared.clone()).connect(transport);
    let ended = tokio::select! {
        biased;
        ended = connection => ended,
        // The client reads no more.
        written = writer => written.map_err(Error::into_internal_error),
    };
    // Dropping the tasks drops what they ask the client, and not what agents have asked.
    shared.tasks().abort_all();
    runtime.shutdown(Ending::Now).await;
    ended
}

/// What everything of a connection shares.
pub(super) struct Shared {
    pub(super) setup: Setup,
    pub(super) outgoing: Outgoing,
    /// Set by `initialize`, before which the library refuses everything else.
    profile: OnceLock<ClientProfile>,
    sessions: Mutex<BTreeMap<AgentId, Attached>>,
    tasks: Mutex<JoinSet<()>>,
}

/// A session that the client has attached.
#[derive(Clone)]
struct Attached {
    inputs: mpsc::Sender<Input>,
    start: Arc<SessionStart>,
}

impl Shared {
    /// Returns what the client understands.
    pub(super) fn profile(&self) -> ClientProfile {
        let profile = self.profile.get().cloned();
        profile.unwrap_or_else(|| ClientProfile::of(&InitializeRequest::new(ProtocolVersion::V1)))
    }

    /// Returns the log of a tree.
    pub(super) async fn log(&self, tree: &TreeId) -> Result<Vec<Entry>, StoreError> {
        self.setup.runtime.query(query::Log::of(tree.clone())).await
    }

    /// Tells whether the root of a session works or waits.
    pub(super) async fn is_busy(&self, tree: &TreeId) -> bool {
        let query = query::Status(tree.clone(), tree.root().clone());
        match self.setup.runtime.query(query).await {
            Ok(Some((state, _))) => !matches!(state, SessionState::Idle | SessionState::Error),
            Ok(None) | Err(_) => false,
        }
    }

    /// Returns how many tokens the model of a session takes, if that is known.
    pub(super) fn context_window(&self, tree: &TreeId) -> Option<u64> {
        let sessions = self.sessions();
        let start = &sessions.get(tree.root())?.start;
        let model = start.models.iter().find(|model| model.name == start.model);
        model?.context_window
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<AgentId, Attached>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs something beside the handlers. It ends with the connection at the latest.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

/// A handler that gives its request to a task: the library reads on only when a handler has returned.
macro_rules! beside {
    ($face:ident . $method:ident, $request:ty) => {{
        let face = $face.clone();
        async move |request: $request, responder: Responder<_>, client| {
            face.0
                .spawn(face.clone().$method(request, responder, client));
            Ok(())
        }
    }};
}

/// A handler that gives its request to the task of a session before the next message is read, so that
/// the session takes its requests in the order in which the client sent them.
macro_rules! in_order {
    ($face:ident . $method:ident, $request:ty) => {{
        let face = $face.clone();
        async move |request: $request, responder: Responder<_>, _| {
            face.$method(request, responder);
            Ok(())
        }
    }};
}

/// The handlers of a connection.
#[derive(Clone)]
struct Face(Arc<Shared>);

impl Face {
    async fn connect(
        self,
        transport: impl agent_client_protocol::ConnectTo<Agent> + 'static,
    ) -> Result<(), Error> {
        Agent
            .v1()
            .name("offshoot")
            .on_receive_request(
                {
                    let face = self.clone();
                    async move |request: InitializeRequest, responder: Responder<_>, _| {
                        responder.respond(face.initialize(&request))
                    }
                },
                on_receive_request!(),
            )
            .on_receive_request(
                // Keys are the program's: there is nothing to log in to.
                async move |_: AuthenticateRequest, responder: Responder<_>, _| {
                    responder.respond(AuthenticateResponse::new())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                beside!(self.new_session, NewSessionRequest),
                on_receive_request!(),
            )
            .on_receive_request(
                beside!(self.load, LoadSessionRequest),
                on_receive_request!(),
            )
            .on_receive_request(
                beside!(self.resume, ResumeSessionRequest),
                on_receive_request!(),
            )
            .on_receive_request(
                beside!(self.fork, ForkSessionRequest),
                on_receive_request!(),
            )
            .on_receive_request(
                beside!(self.delete, DeleteSessionRequest),
                on_receive_request!(),
            )
            .on_receive_request(
                beside!(self.list, ListSessionsRequest),
                on_receive_request!(),
            )
            .on_receive_request(in_order!(self.prompt, PromptRequest), on_receive_request!())
            .on_receive_request(
                in_order!(self.close, CloseSessionRequest),
                on_receive_request!(),
            )
            .on_receive_request(
                in_order!(self.set_mode, SetSessionModeRequest),
                on_receive_request!(),
            )
            .on_receive_request(
                in_order!(self.set_option, SetSessionConfigOptionRequest),
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |request: CancelNotification, _| {
                    self.cancel(&request);
                    Ok(())
                },
                on_receive_notification!(),
            )
            .connect_to(transport)
            .await
    }

    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        let profile = ClientProfile::of(request);
        tracing::debug!(?profile, "initialize");
        // A second `initialize` changes nothing.
        drop(self.0.profile.set(profile));
        let session = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .delete(SessionDeleteCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .fork(SessionForkCapabilities::new())
            .meta(delegation::capabilities());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .session_capabilities(session);
        let environment = AuthMethodAgent::new("environment", "Key in the environment")
            .description(
                "Start the agent with the key variable of your provider, or with a local model; \
             `offshoot doctor` says what is missing."
                    .to_owned(),
            );
        let version = self.0.setup.version.clone();
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(vec![AuthMethod::Agent(environment)])
            .agent_info(Implementation::new("offshoot", version).title("Offshoot".to_owned()))
    }

    async fn new_session(
        self,
        request: NewSessionRequest,
        responder: Responder<NewSessionResponse>,
        client: ConnectionTo<Client>,
    ) {
        let opened = self.open(&request.cwd, &request.mcp_servers).await;
        let (id, start) = match opened {
            Ok(opened) => opened,
            Err(error) => return note_sent(responder.respond_with_error(error)),
        };
        let role = Role::of(&start);
        let response = NewSessionResponse::new(id.as_str().to_owned())
            .modes(role.modes(&start))
            .config_options(role.options(&start));
        let attached = self.register(&id, start);
        note_sent(responder.respond(response));
        self.follow(id, client, Start::New, attached).await;
    }

    async fn open(
        &self,
        folder: &Path,
        servers: &[McpServer],
    ) -> Result<(AgentId, SessionStart), Error> {
        let start = self.start(folder, servers).await?;
        let env = &self.0.setup.env;
        let id = AgentId::new(env.new_id());
        let tree = TreeId::of(id.clone());
        let opening = Opening {
            definition: start.agent.clone(),
            model: start.model.clone(),
            workspace: start.workspace.clone(),
            date: start.date.clone(),
            project: start.project.clone(),
            caps: offshoot_types::caps::Caps::default(),
            metadata: None,
            prompt: None,
            client_tools: Vec::new(),
        };
        let opened = self.0.command(&tree, &id, Order::open(opening)).await;
        opened.map_err(|error| command_error(&error))?;
        Ok((id, start))
    }

    /// Returns what a session of a folder begins or goes on with, and what its user should know.
    async fn start(&self, folder: &Path, servers: &[McpServer]) -> Result<SessionStart, Error> {
        if !folder.is_absolute() {
            return Err(invalid("cwd has to be an absolute path"));
        }
        let start = self.0.setup.workspaces.session_start(folder).await;
        let mut start = start.map_err(|error| start_error(&error))?;
        if !servers.is_empty() {
            let names: Vec<&str> = servers.iter().map(server_name).collect();
            let names = names.join(", ");
            let notice = format!("MCP servers are not supported yet; not started: {names}");
            start.notices.push(notice);
        }
        Ok(start)
    }

    async fn load(
        self,
        request: LoadSessionRequest,
        responder: Responder<LoadSessionResponse>,
        client: ConnectionTo<Client>,
    ) {
        let id = AgentId::new(request.session_id.to_string());
        match self.known(&id, &request.cwd, &request.mcp_servers).await {
            Err(error) => note_sent(responder.respond_with_error(error)),
            Ok(start) => {
                let attached = self.register(&id, start);
                self.follow(id, client, Start::Load(responder), attached)
                    .await;
            }
        }
    }

    async fn resume(
        self,
        request: ResumeSessionRequest,
        responder: Responder<ResumeSessionResponse>,
        client: ConnectionTo<Client>,
    ) {
        let id = AgentId::new(request.session_id.to_string());
        match self.known(&id, &request.cwd, &request.mcp_servers).await {
            Err(error) => note_sent(responder.respond_with_error(error)),
            Ok(start) => {
                let attached = self.register(&id, start);
                self.follow(id, client, Start::Resume(responder), attached)
                    .await;
            }
        }
    }

    async fn fork(
        self,
        request: ForkSessionRequest,
        responder: Responder<ForkSessionResponse>,
        client: ConnectionTo<Client>,
    ) {
        let of = AgentId::new(request.session_id.to_string());
        let copied = async {
            let start = self.known(&of, &request.cwd, &request.mcp_servers).await?;
            let id = AgentId::new(self.0.setup.env.new_id());
            let order = Order::Fork(Fork {
                of,
                at: None,
                metadata: None,
            });
            let made = self.0.command(&TreeId::of(id.clone()), &id, order).await;
            made.map_err(|error| command_error(&error))?;
            Ok((id, start))
        };
        match copied.await {
            Err(error) => note_sent(responder.respond_with_error(error)),
            Ok((id, start)) => {
                let attached = self.register(&id, start);
                self.follow(id, client, Start::Fork(responder), attached)
                    .await;
            }
        }
    }

    /// Returns what a session that exists goes on with; a child is none (rules 12 and 19).
    async fn known(
        &self,
        id: &AgentId,
        folder: &Path,
        servers: &[McpServer],
    ) -> Result<SessionStart, Error> {
        self.tree_of(id).await?;
        self.start(folder, servers).await
    }

    /// Returns the tree of a session that exists.
    async fn tree_of(&self, id: &AgentId) -> Result<TreeId, Error> {
        let found = self.0.setup.runtime.query(query::TreeOf(id.clone())).await;
        match found.map_err(internal)? {
            Some(tree) if tree.root() == id => Ok(tree),
            Some(_) => Err(is_child(id)),
            None => Err(unknown_session(id.as_str())),
        }
    }

    /// Notes a session as attached, in the place of an earlier attachment, which ends.
    fn register(
        &self,
        id: &AgentId,
        start: SessionStart,
    ) -> (Arc<SessionStart>, mpsc::Receiver<Input>) {
        let (inputs, received) = mpsc::channel(INPUTS);
        let start = Arc::new(start);
        let attached = Attached {
            inputs,
            start: start.clone(),
        };
        self.0.sessions().insert(id.clone(), attached);
        (start, received)
    }

    /// Follows a session until the client lets it go.
    async fn follow(
        &self,
        id: AgentId,
        client: ConnectionTo<Client>,
        start: Start,
        (parts, inputs): (Arc<SessionStart>, mpsc::Receiver<Input>),
    ) {
        let tree = TreeId::of(id.clone());
        let shows_history = matches!(start, Start::Load(_));
        let shared = self.0.clone();
        match Live::attach(shared, client, tree, parts, shows_history, inputs).await {
            Ok(live) => live.run(start).await,
            Err(error) => {
                tracing::warn!(%error, session = %id, "follow a session");
                let error = internal(error);
                note_sent(match start {
                    Start::New => Ok(()),
                    Start::Load(responder) => responder.respond_with_error(error),
                    Start::Resume(responder) => responder.respond_with_error(error),
                    Start::Fork(responder) => responder.respond_with_error(error),
                });
            }
        }
    }

    fn prompt(
        &self,
        request: PromptRequest,
        responder: Responder<agent_client_protocol::v1::schema::PromptResponse>,
    ) {
        let id = AgentId::new(request.session_id.to_string());
        let Some(attached) = self.attached(&id) else {
            let face = self.clone();
            return self.0.spawn(async move {
                let error = face.refusal(&id).await;
                note_sent(responder.respond_with_error(error));
            });
        };
        let understood = self.0.profile().delegation;
        let delegation = match delegation::of_prompt(request.meta.as_ref(), understood) {
            Ok(delegation) => delegation,
            Err(error) => return note_sent(responder.respond_with_error(error)),
        };
        let prompt = Box::new(SentPrompt {
            blocks: request.prompt,
            delegation,
            responder,
        });
        if let Err(error) = attached.inputs.try_send(Input::Prompt(prompt))
            && let Input::Prompt(prompt) = error.into_inner()
        {
            let why = "the session has too many requests that wait, or was closed";
            note_sent(prompt.responder.respond_with_error(internal(why)));
        }
    }

    fn set_mode(
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

    fn set_option(
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
        let id = AgentId::new(session.to_owned());
        let (attached, choice) = match (self.attached(&id), choice) {
            (_, Err(error)) => return note_sent(responder.respond_with_error(error)),
            (Some(attached), Ok(choice)) => (attached, choice),
            (None, Ok(_)) => {
                let face = self.clone();
                return self.0.spawn(async move {
                    let error = face.refusal(&id).await;
                    note_sent(responder.respond_with_error(error));
                });
            }
        };
        let start = attached.start.clone();
        let chosen = Box::new(move |role: Result<Role, Error>| {
            let response = role.map(|role| response(&role, &start));
            note_sent(responder.respond_with_result(response));
        });
        if let Err(error) = attached.inputs.try_send(Input::Choose(choice, chosen))
            && let Input::Choose(_, chosen) = error.into_inner()
        {
            chosen(Err(internal("the session has too many requests that wait")));
        }
    }

    /// Stops a session, or one child and what it waits for (rules 14 and 15).
    fn cancel(&self, request: &CancelNotification) {
        let id = AgentId::new(request.session_id.to_string());
        if let Some(attached) = self.attached(&id) {
            if attached.inputs.try_send(Input::Cancel).is_err() {
                tracing::warn!(session = %id, "a cancel was not taken");
            }
            return;
        }
        let shared = self.0.clone();
        self.0.spawn(async move {
            let query = query::TreeOf(id.clone());
            let Ok(Some(tree)) = shared.setup.runtime.query(query).await else {
                return;
            };
            if tree.root() == &id || !shared.sessions().contains_key(tree.root()) {
                return;
            }
            let stopped = shared.command(&tree, &id, Order::Cancel(Scope::Run)).await;
            tracing::debug!(?stopped, child = %id, "session/cancel");
        });
    }

    fn close(&self, request: CloseSessionRequest, responder: Responder<CloseSessionResponse>) {
        let id = AgentId::new(request.session_id.to_string());
        let attached = self.0.sessions().remove(&id);
        let Some(attached) = attached else {
            let face = self.clone();
            return self.0.spawn(async move {
                let error = face.refusal(&id).await;
                note_sent(responder.respond_with_error(error));
            });
        };
        let closed = Box::new(move |closed: Result<(), Error>| {
            let closed = closed.map(|()| CloseSessionResponse::new());
            note_sent(responder.respond_with_result(closed));
        });
        if let Err(error) = attached.inputs.try_send(Input::Close(closed))
            && let Input::Close(closed) = error.into_inner()
        {
            closed(Ok(()));
        }
    }

    async fn delete(
        self,
        request: DeleteSessionRequest,
        responder: Responder<DeleteSessionResponse>,
        _client: ConnectionTo<Client>,
    ) {
        let deleted = self.deleted(&request).await;
        note_sent(responder.respond_with_result(deleted));
    }

    async fn deleted(
        &self,
        request: &DeleteSessionRequest,
    ) -> Result<DeleteSessionResponse, Error> {
        let id = AgentId::new(request.session_id.to_string());
        match self.tree_of(&id).await {
            Ok(tree) => {
                // What is attached here ends first; the engine stops what runs.
                self.0.sessions().remove(&id);
                let deleted = self
                    .0
                    .command(&tree, &id, Order::Delete(Deletion::Always))
                    .await;
                deleted.map_err(|error| command_error(&error))?;
                Ok(DeleteSessionResponse::new())
            }
            // What is not there any more is deleted.
            Err(error) if i32::from(error.code) == -32002 => Ok(DeleteSessionResponse::new()),
            Err(error) => Err(error),
        }
    }

    async fn list(
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
        let folder = |cwd: &PathBuf| cwd.to_string_lossy().into_owned();
        let query = SessionQuery {
            workspace: request.cwd.as_ref().map(folder),
            after: after.map_err(invalid)?,
            limit: Some(PAGE),
            ..SessionQuery::default()
        };
        let page = self.0.setup.runtime.query(query::Sessions(query)).await;
        let page = page.map_err(internal)?;
        let sessions = page.sessions.iter().map(session_info).collect();
        let next = page.next.map(|cursor| cursor.to_string());
        Ok(ListSessionsResponse::new(sessions).next_cursor(next))
    }

    fn attached(&self, id: &AgentId) -> Option<Attached> {
        self.0.sessions().get(id).cloned()
    }

    /// Returns why a session that is not attached cannot be used.
    async fn refusal(&self, id: &AgentId) -> Error {
        match self.tree_of(id).await {
            Ok(_) => unknown_session(id.as_str()),
            Err(error) => error,
        }
    }
}

fn server_name(server: &McpServer) -> &str {
    match server {
        McpServer::Http(server) => &server.name,
        McpServer::Sse(server) => &server.name,
        McpServer::Stdio(server) => &server.name,
        _ => "one of an unknown kind",
    }
}

fn session_info(session: &SessionSummary) -> SessionInfo {
    let title = (!session.title.is_empty()).then(|| session.title.clone());
    SessionInfo::new(
        session.agent.as_str().to_owned(),
        PathBuf::from(&session.workspace),
    )
    .title(title)
    .updated_at(session.updated_at.to_string())
}
