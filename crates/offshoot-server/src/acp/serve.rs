//! A connection: requests in, sessions attached, updates out.
//!
//! The protocol's library reads requests and writes responses; it runs one handler at a time, so no
//! handler here waits: each hands its request to the task of a session, or to a task of its own.
//! When the client is gone, the runtime ends in good order (R20): what an agent has asked stays open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse,
    CancelNotification, CloseSessionRequest, DeleteSessionRequest, ForkSessionRequest,
    ForkSessionResponse, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsRequest, LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest as PromptRequestParams, PromptResponse,
    ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities,
    SessionResumeCapabilities, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, JsonRpcResponse, Lines, on_receive_notification, on_receive_request,
};
use offshoot::flow;
use offshoot_engine::{Ending, Runtime, query};
use offshoot_types::command::{Fork, Opening, Order};
use offshoot_types::event::{Entry, Event, Origin};
use offshoot_types::id::{AgentId, MessageId, Pos, TreeId};
use offshoot_types::store::StoreError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::client::ClientProfile;
use super::delegation;
use super::error::{
    command_error, internal, invalid, is_child, note_sent, start_error, unknown_session,
};
use super::inputs::{self, Backlog, Input, Mailbox, PromptRequest, Room, SentPrompt};
use super::lines::{self, Outgoing};
use super::live::{Live, Start};
use super::options::Role;
use super::ports::{SessionClient, SessionPorts};
use super::setup::{SessionStart, Setup};
use super::{Form, blocks, send};

/// How long a client that has ended its side may take to read what was queued for it.
const FLUSH: Duration = Duration::from_secs(2);

/// Serves one client on a pair of byte streams until its input ends; then ends the runtime.
pub async fn serve(
    setup: Setup,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let runtime = setup.runtime.clone();
    let (outgoing, writer) = Outgoing::new(output);
    let mut writer = std::pin::pin!(writer);
    let transport = Lines::new(Box::pin(outgoing.sink()), Box::pin(lines::incoming(input)));
    let shared = Arc::new(Shared {
        client: flow::Client::new(runtime.clone(), setup.env.clone()),
        setup,
        outgoing,
        profile: OnceLock::new(),
        sessions: Mutex::default(),
        children: Mutex::default(),
        room: Room::default(),
        tasks: Mutex::new(JoinSet::new()),
    });
    let connection = Face(shared.clone()).connect(transport);
    let ended = tokio::select! {
        biased;
        ended = connection => ended,
        // The client reads no more.
        written = &mut writer => return finish(&shared, &runtime, written.map_err(Error::into_internal_error)).await,
    };
    let ended = finish(&shared, &runtime, ended).await;
    // Now nothing holds the queue of lines any more, and the writer ends with it.
    drop(shared);
    // An error says that the client does not read any more.
    drop(tokio::time::timeout(FLUSH, writer).await);
    ended
}

/// Ends the tasks of a connection, and the runtime in good order.
async fn finish(shared: &Shared, runtime: &Runtime, ended: Result<(), Error>) -> Result<(), Error> {
    // Dropping the tasks drops what they ask the client, and not what agents have asked.
    let mut tasks = std::mem::take(&mut *shared.tasks());
    tasks.shutdown().await;
    runtime.shutdown(Ending::Now).await;
    ended
}

/// What everything of a connection shares.
pub(super) struct Shared {
    pub(super) setup: Setup,
    /// This face, as a client of the runtime.
    pub(super) client: flow::Client,
    pub(super) outgoing: Outgoing,
    /// Set by `initialize`, before which the library refuses everything else.
    profile: OnceLock<ClientProfile>,
    sessions: Mutex<BTreeMap<AgentId, Attached>>,
    /// The sessions that children belong to, of the sessions that are attached.
    children: Mutex<BTreeMap<AgentId, AgentId>>,
    room: Room,
    tasks: Mutex<JoinSet<()>>,
}

/// A session that the client has attached.
#[derive(Clone)]
pub(super) struct Attached {
    pub(super) mailbox: Mailbox,
    pub(super) start: Arc<SessionStart>,
    /// Whether it is a child that the client looks at.
    pub(super) is_child: bool,
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

    /// Returns the folder that a session works in.
    async fn workspace(&self, tree: &TreeId) -> Result<PathBuf, StoreError> {
        let first = query::Log {
            limit: Some(1),
            ..query::Log::of(tree.clone())
        };
        let first = self.setup.runtime.query(first).await?;
        let workspace = first.iter().find_map(|entry| match &entry.event {
            Event::Spawned(spawned) => match &spawned.origin {
                Origin::Session { workspace, .. } => Some(PathBuf::from(workspace)),
                Origin::Task(_) | Origin::Helper(_) => None,
            },
            _ => None,
        });
        Ok(workspace.unwrap_or_default())
    }

    /// Notes to which session a child belongs, so that a cancel finds it.
    pub(super) fn note_birth(&self, tree: &TreeId, entry: &Entry) {
        if let Event::Spawned(spawned) = &entry.event
            && spawned.parent().is_some()
        {
            let root = tree.root().clone();
            self.children().insert(entry.agent.clone(), root);
        }
    }

    /// Forgets an attachment that has ended; not one that has taken its place.
    pub(super) fn forget(&self, id: &AgentId, start: &Arc<SessionStart>) {
        let mut sessions = self.sessions();
        let is_ours = |attached: &Attached| Arc::ptr_eq(&attached.start, start);
        if sessions.get(id).is_some_and(is_ours) {
            sessions.remove(id);
            self.children().retain(|_, root| root != id);
        }
    }

    pub(super) fn children(&self) -> MutexGuard<'_, BTreeMap<AgentId, AgentId>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<AgentId, Attached>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs something beside the handlers. It ends with the connection at the latest.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
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

/// What a client says of a session that it opens or attaches.
#[derive(Clone, Copy)]
struct Asked<'a> {
    folder: &'a Path,
    servers: &'a [McpServer],
    directories: &'a [PathBuf],
}

/// A session that was noted as attached, and is not followed yet.
struct Registered {
    tree: TreeId,
    start: Arc<SessionStart>,
    inputs: Backlog,
    /// The attachment whose place it takes.
    former: Option<Mailbox>,
}

/// The handlers of a connection.
#[derive(Clone)]
pub(super) struct Face(pub(super) Arc<Shared>);

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
                        responder.respond_with_result(face.initialize(&request))
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
            .on_receive_request(
                in_order!(self.prompt, PromptRequestParams),
                on_receive_request!(),
            )
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

    fn initialize(&self, request: &InitializeRequest) -> Result<InitializeResponse, Error> {
        let profile = ClientProfile::of(request);
        tracing::debug!(?profile, "initialize");
        // Sessions that are attached are shown as the first one said.
        if self.0.profile.set(profile).is_err() {
            return Err(Error::invalid_request().data("the connection is initialized already"));
        }
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
        Ok(InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(vec![AuthMethod::Agent(environment)])
            .agent_info(Implementation::new("offshoot", version).title("Offshoot".to_owned())))
    }

    async fn new_session(
        self,
        request: NewSessionRequest,
        responder: Responder<NewSessionResponse>,
        client: ConnectionTo<Client>,
    ) {
        let asked = Asked {
            folder: &request.cwd,
            servers: &request.mcp_servers,
            directories: &request.additional_directories,
        };
        let opened = self.open(asked).await;
        let (id, start) = match opened {
            Ok(opened) => opened,
            Err(error) => return note_sent(responder.respond_with_error(error)),
        };
        let role = Role::of(&start);
        let response = NewSessionResponse::new(id.as_str().to_owned())
            .modes(role.modes(&start))
            .config_options(role.options(&start));
        let attached = self.register(&TreeId::of(id.clone()), &id, start);
        note_sent(responder.respond(response));
        self.follow(id, client, Start::New, attached).await;
    }

    async fn open(&self, asked: Asked<'_>) -> Result<(AgentId, SessionStart), Error> {
        let start = self.start(asked, asked.folder).await?;
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
        opened.map_err(|error| command_error(&error, &id))?;
        Ok((id, start))
    }

    /// Returns what a session of a folder begins or goes on with, and what its user should know.
    async fn start(&self, asked: Asked<'_>, folder: &Path) -> Result<SessionStart, Error> {
        if !asked.folder.is_absolute() {
            return Err(invalid("cwd has to be an absolute path"));
        }
        let start = self.0.setup.workspaces.session_start(folder).await;
        let mut start = start.map_err(|error| start_error(&error))?;
        let names = asked.servers.iter().map(server_name);
        let servers = (
            "MCP servers are not supported yet; not started",
            joined(names),
        );
        let paths = asked.directories.iter().map(|path| path.to_string_lossy());
        let directories = (
            "additional directories are not supported yet; not used",
            joined(paths),
        );
        for (what, names) in [servers, directories] {
            if !names.is_empty() {
                start.notices.push(format!("{what}: {names}"));
            }
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
        let asked = Asked {
            folder: &request.cwd,
            servers: &request.mcp_servers,
            directories: &request.additional_directories,
        };
        self.attach_known(id, asked, Start::Load(responder), client)
            .await;
    }

    async fn resume(
        self,
        request: ResumeSessionRequest,
        responder: Responder<ResumeSessionResponse>,
        client: ConnectionTo<Client>,
    ) {
        let id = AgentId::new(request.session_id.to_string());
        let asked = Asked {
            folder: &request.cwd,
            servers: &request.mcp_servers,
            directories: &request.additional_directories,
        };
        self.attach_known(id, asked, Start::Resume(responder), client)
            .await;
    }

    /// Attaches a session that exists, or answers why it cannot be attached.
    async fn attach_known(
        &self,
        id: AgentId,
        asked: Asked<'_>,
        start: Start,
        client: ConnectionTo<Client>,
    ) {
        match self.known(&id, asked).await {
            Err(error) => start.refuse(error),
            Ok((tree, parts)) => {
                let attached = self.register(&tree, &id, parts);
                self.follow(id, client, start, attached).await;
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
            let asked = Asked {
                folder: &request.cwd,
                servers: &request.mcp_servers,
                directories: &request.additional_directories,
            };
            self.tree_of(&of).await?;
            let (_, start) = self.known(&of, asked).await?;
            let id = AgentId::new(self.0.setup.env.new_id());
            let order = Order::Fork(Fork {
                of: of.clone(),
                at: None,
                metadata: None,
            });
            let made = self.0.command(&TreeId::of(id.clone()), &id, order).await;
            made.map_err(|error| command_error(&error, &of))?;
            Ok((id, start))
        };
        match copied.await {
            Err(error) => note_sent(responder.respond_with_error(error)),
            Ok((id, start)) => {
                let attached = self.register(&TreeId::of(id.clone()), &id, start);
                self.follow(id, client, Start::Fork(responder), attached)
                    .await;
            }
        }
    }

    /// Returns what a session that exists goes on with, in its own folder. A child can be looked at by
    /// clients to which it is no session of its parent (rules 12 and 19).
    async fn known(&self, id: &AgentId, asked: Asked<'_>) -> Result<(TreeId, SessionStart), Error> {
        let found = self.0.setup.runtime.query(query::TreeOf(id.clone())).await;
        let tree = found.map_err(internal)?;
        let tree = tree.ok_or_else(|| unknown_session(id.as_str()))?;
        let profile = self.0.profile();
        let shows_children = matches!(profile.form, Form::Flat(_)) || profile.delegation;
        if tree.root() != id && !shows_children {
            return Err(is_child(id));
        }
        let folder = self.0.workspace(&tree).await.map_err(internal)?;
        let mut start = self.start(asked, &folder).await?;
        let resolved = self.0.setup.workspaces.resolve(asked.folder);
        if resolved != Path::new(&start.workspace) {
            let notice = format!("the session works in {}, not in cwd", start.workspace);
            start.notices.push(notice);
        }
        Ok((tree, start))
    }

    /// Returns the tree of a session that exists.
    pub(super) async fn tree_of(&self, id: &AgentId) -> Result<TreeId, Error> {
        let found = self.0.setup.runtime.query(query::TreeOf(id.clone())).await;
        match found.map_err(internal)? {
            Some(tree) if tree.root() == id => Ok(tree),
            Some(_) => Err(is_child(id)),
            None => Err(unknown_session(id.as_str())),
        }
    }

    /// Notes a session as attached. An earlier attachment ends before this one begins.
    fn register(&self, tree: &TreeId, id: &AgentId, start: SessionStart) -> Registered {
        let (mailbox, inputs) = inputs::mailbox();
        let start = Arc::new(start);
        let attached = Attached {
            mailbox,
            start: start.clone(),
            is_child: tree.root() != id,
        };
        let former = self.0.sessions().insert(id.clone(), attached);
        Registered {
            tree: tree.clone(),
            start,
            inputs,
            former: former.map(|former| former.mailbox),
        }
    }

    /// Attaches what tools of a session may ask the client to do. A view of a child has nothing of its own.
    fn attach_ports(
        &self,
        id: &AgentId,
        tree: &TreeId,
        client: &ConnectionTo<Client>,
    ) -> SessionPorts {
        let (sender, shown) = watch::channel(Pos::ZERO);
        let session_client = SessionClient {
            client: client.clone(),
            outgoing: self.0.outgoing.clone(),
            profile: self.0.profile(),
            root: id.clone(),
            shown,
        };
        let overlay = session_client.overlay().filter(|_| id == tree.root());
        let attached = overlay.and_then(|overlay| {
            let attached = self.0.setup.runtime.attach(tree, overlay);
            attached
                .inspect_err(|error| tracing::warn!(%error, session = %id, "attach a client"))
                .ok()
        });
        SessionPorts::new(sender, attached)
    }

    /// Follows a session until the client lets it go.
    async fn follow(
        &self,
        id: AgentId,
        client: ConnectionTo<Client>,
        start: Start,
        registered: Registered,
    ) {
        let shared = self.0.clone();
        let Registered {
            tree,
            start: parts,
            inputs,
            former,
        } = registered;
        let handover = match former {
            Some(former) => former.detach().await,
            None => None,
        };
        let history = start.history(handover);
        let ports = self.attach_ports(&id, &tree, &client);
        let shown = (tree, id.clone());
        let attached =
            Live::attach(shared, client, shown, parts.clone(), history, inputs, ports).await;
        match attached {
            Ok(live) => live.run(start).await,
            Err(error) => {
                tracing::warn!(%error, session = %id, "follow a session");
                self.0.forget(&id, &parts);
                start.refuse(internal(error));
            }
        }
    }

    fn prompt(&self, request: PromptRequestParams, responder: Responder<PromptResponse>) {
        let id = AgentId::new(request.session_id.to_string());
        let Some(attached) = self.attached(&id) else {
            return self.refuse(id, responder);
        };
        if attached.is_child {
            return note_sent(responder.respond_with_error(is_child(&id)));
        }
        let understood = self.0.profile().delegation;
        let delegation = match delegation::of_prompt(request.meta.as_ref(), understood) {
            Ok(delegation) => delegation,
            Err(error) => return note_sent(responder.respond_with_error(error)),
        };
        let message = MessageId::new(self.0.setup.env.new_id());
        let bytes = blocks::size(&request.prompt);
        let (open, withdrawn) = PromptRequest::new(responder, message.clone());
        let prompt = Input::Prompt(Box::new(SentPrompt {
            message,
            blocks: request.prompt,
            delegation,
            metadata: send::trace_context(request.meta.as_ref()),
            request: open,
            withdrawn: Some(withdrawn),
        }));
        self.hand_over(&attached, prompt, bytes);
    }

    /// Hands a request to the task of a session, or refuses it.
    pub(super) fn hand_over(&self, attached: &Attached, input: Input, bytes: usize) {
        let handed = attached.mailbox.request(input, bytes, &self.0.room);
        if let Err(input) = handed {
            inputs::refuse(input, || internal("too many requests of the session wait"));
        }
    }

    /// Answers a request about a session that is not attached.
    pub(super) fn refuse<T: JsonRpcResponse + Send + 'static>(
        &self,
        id: AgentId,
        responder: Responder<T>,
    ) {
        let face = self.clone();
        self.0.spawn(async move {
            let error = face.refusal(&id).await;
            note_sent(responder.respond_with_error(error));
        });
    }

    pub(super) fn attached(&self, id: &AgentId) -> Option<Attached> {
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

fn joined(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<_> = names.collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    names.join(", ")
}

fn server_name(server: &McpServer) -> &str {
    match server {
        McpServer::Http(server) => &server.name,
        McpServer::Sse(server) => &server.name,
        McpServer::Stdio(server) => &server.name,
        _ => "one of an unknown kind",
    }
}
