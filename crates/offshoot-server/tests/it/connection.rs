//! A connection in one process: the face on one end of a pipe, a client that writes JSON on the other.
//!
//! The client is written by hand, so that it can also say what no library would. It keeps every message
//! it was sent, in order.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use offshoot_engine::{Asks, Helpers, Limits, OneProject, Parts, Project, Runtime};
use offshoot_models::{ModelSet, Scripted};
use offshoot_server::acp::{
    AgentSummary, ModelSummary, SessionStart, Setup, StartError, Workspaces, serve,
};
use offshoot_store::Handle;
use offshoot_tools::Sidecars;
use offshoot_tools::shell::{Base, Bash, Environment, Keeper};
use offshoot_types::env::Env;
use offshoot_types::hook::Hooks;
use offshoot_types::id::Timestamp;
use offshoot_types::manifest::{Mode, Registry};
use offshoot_types::permission::charter::NoCharter;
use offshoot_types::tool::Tool;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// The model of every test: a script.
pub(crate) const MODEL: &str = "scripted/test";

/// The same script with a larger window.
pub(crate) const BIG: &str = "scripted/big";

/// Ids that count, and a clock that stands still.
#[derive(Default)]
struct Counter(AtomicU64);

impl Env for Counter {
    fn now(&self) -> Timestamp {
        Timestamp::new(1_700_000_000_000)
    }

    fn new_id(&self) -> String {
        let next = self.0.fetch_add(1, Ordering::Relaxed);
        format!("id-{next}")
    }
}

/// Where everything lies that outlives a connection.
pub(crate) struct Ground {
    folder: tempfile::TempDir,
    script: String,
    env: Arc<Counter>,
    has_key: bool,
    /// How the runtime uses models for itself.
    pub(crate) helpers: Helpers,
}

impl Ground {
    pub(crate) fn new(script: &str) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            script: script.to_owned(),
            env: Arc::default(),
            has_key: true,
            helpers: Helpers::default(),
        }
    }

    /// The same where the model has no key.
    pub(crate) fn without_key(&self) -> Self {
        Self {
            has_key: false,
            ..Self::new(&self.script)
        }
    }

    /// Returns the folder that agents work in.
    pub(crate) fn workspace(&self) -> String {
        let folder = self.folder.path().join("work");
        std::fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        folder.into_os_string().into_string().unwrap()
    }

    /// Starts a process's worth of a face, and a client that has said nothing yet.
    pub(crate) fn connect(&self) -> Connection {
        let data = self.folder.path().join("data");
        let store = Arc::new(Handle::open(&data).unwrap());
        let script = Scripted::load(&self.script, "test").unwrap();
        let mut registry = Registry::default();
        registry.extend(script.agents().to_vec());
        let starts = Starts {
            primaries: names(&script, |mode| mode != Mode::Subagent),
            subagents: names(&script, |mode| mode != Mode::Primary),
            has_key: self.has_key,
        };
        let model: Arc<dyn offshoot_types::model::Model> = Arc::new(script);
        let models = [(MODEL.to_owned(), model.clone()), (BIG.to_owned(), model)];
        let models: ModelSet = models.into_iter().collect();
        let project = Project {
            charter: Arc::new(NoCharter),
            models: Arc::new(models),
            tools: tools().into(),
            registry: Arc::new(registry),
            asks: Asks::SOMEBODY,
            helpers: self.helpers.clone(),
            hooks: Hooks::default(),
        };
        let data = data.canonicalize().unwrap();
        let runtime = Arc::new(Runtime::new(Parts {
            store,
            projects: Arc::new(OneProject::from(project)),
            env: self.env.clone(),
            limits: Limits::default(),
            sidecars: Arc::new(Sidecars),
            data: data.into_os_string().into_string().ok(),
        }));
        let setup = Setup {
            runtime: runtime.clone(),
            env: self.env.clone(),
            workspaces: Arc::new(starts),
            version: "0".to_owned(),
        };
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        #[expect(clippy::disallowed_methods, reason = "joined when the connection ends")]
        let served = tokio::spawn(serve(setup, input, output));
        let (read, write) = tokio::io::split(ours);
        Connection {
            write: Some(write),
            lines: BufReader::new(read).lines(),
            served,
            runtime,
            last_id: 0,
            seen: Vec::new(),
            unread: VecDeque::new(),
            allows: Some("once"),
        }
    }

    /// A connection that is initialized with these capabilities.
    pub(crate) async fn initialized(&self, capabilities: Value) -> Connection {
        let mut connection = self.connect();
        let request = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        connection.call("initialize", request).await.unwrap();
        connection
    }

    /// An initialized connection with one new session.
    pub(crate) async fn session(&self, capabilities: Value) -> (Connection, String) {
        let mut connection = self.initialized(capabilities).await;
        let request = json!({ "cwd": self.workspace(), "mcpServers": [] });
        let opened = connection.call("session/new", request).await.unwrap();
        let id = opened["sessionId"].as_str().unwrap().to_owned();
        (connection, id)
    }
}

/// The tools for files, and a shell for the terminals of clients: it has no keeper of its own.
fn tools() -> Vec<Arc<dyn Tool>> {
    let keeper = Keeper {
        program: "/bin/false".into(),
        arguments: Vec::new(),
    };
    let environment = Environment {
        base: Base::Inherited,
        remove: Vec::new(),
    };
    let mut tools = offshoot_tools::builtin();
    tools.push(Arc::new(Bash::new(keeper, environment)));
    tools
}

fn names(script: &Scripted, wanted: impl Fn(Mode) -> bool) -> Vec<AgentSummary> {
    let agents = script.agents().iter().filter(|agent| wanted(agent.mode));
    let summary = |agent: &offshoot_types::manifest::Manifest| AgentSummary {
        name: agent.name.clone(),
        description: agent.description.clone(),
    };
    agents.map(summary).collect()
}

fn model_of((name, window): (&str, u64)) -> ModelSummary {
    ModelSummary {
        name: name.to_owned(),
        context_window: Some(window),
    }
}

/// What sessions begin with: the first agent of the script.
struct Starts {
    primaries: Vec<AgentSummary>,
    subagents: Vec<AgentSummary>,
    has_key: bool,
}

impl Workspaces for Starts {
    fn resolve(&self, folder: &Path) -> PathBuf {
        let resolved = folder.canonicalize();
        resolved.unwrap_or_else(|_| folder.to_owned())
    }

    fn session_start<'a>(
        &'a self,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<SessionStart, StartError>> {
        let started = match folder.canonicalize() {
            _ if !self.has_key => Err(StartError::Unauthenticated("no key".to_owned())),
            Err(error) => Err(StartError::Invalid(format!("open folder: {error}"))),
            Ok(folder) => Ok(SessionStart {
                workspace: folder.into_os_string().into_string().unwrap(),
                date: "2026-11-18".to_owned(),
                agent: self.primaries[0].name.clone(),
                model: MODEL.to_owned(),
                project: None,
                primaries: self.primaries.clone(),
                subagents: self.subagents.clone(),
                models: [(MODEL, 1000), (BIG, 5000)].map(model_of).to_vec(),
                notices: Vec::new(),
            }),
        };
        Box::pin(std::future::ready(started))
    }
}

/// A client.
pub(crate) struct Connection {
    write: Option<WriteHalf<DuplexStream>>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<Result<(), agent_client_protocol::Error>>,
    /// The runtime behind the face, for what no client can do.
    pub(crate) runtime: Arc<Runtime>,
    last_id: u64,
    /// Every message that came, in order.
    pub(crate) seen: Vec<Value>,
    /// Responses that came before they were waited for.
    unread: VecDeque<Value>,
    /// The option that permission requests are answered with; `None` leaves them open.
    pub(crate) allows: Option<&'static str>,
}

impl Connection {
    /// Writes a line as it is.
    pub(crate) async fn line(&mut self, line: &[u8]) {
        let write = self.write.as_mut().unwrap();
        write.write_all(line).await.unwrap();
        write.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn write(&mut self, message: &Value) {
        let line = serde_json::to_vec(message).unwrap();
        self.line(&line).await;
    }

    /// Sends a request and returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&request).await;
        id
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let note = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.write(&note).await;
    }

    /// Sends a request and returns its result, or its error.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Waits for the response to a request.
    pub(crate) async fn answer(&mut self, id: u64) -> Result<Value, Value> {
        let is_it = |message: &Value| message["id"] == json!(id) && message.get("method").is_none();
        if let Some(at) = self.unread.iter().position(is_it) {
            return result(self.unread.remove(at).unwrap());
        }
        loop {
            let message = self.next().await;
            if is_it(&message) {
                return result(message);
            }
            if message.get("method").is_none() {
                self.unread.push_back(message);
            }
        }
    }

    /// Prompts a session and returns the result.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        self.call("session/prompt", prompt(session, text)).await
    }

    /// Waits for the next message, and answers it if it is a permission request.
    pub(crate) async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.unwrap().unwrap();
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        self.seen.push(message.clone());
        if message["method"] == "session/request_permission"
            && let Some(option) = self.allows
        {
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            self.respond(&message, outcome).await;
        }
        message
    }

    pub(crate) async fn respond(&mut self, request: &Value, result: Value) {
        let response = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.write(&response).await;
    }

    /// Answers a request of the agent with an error.
    pub(crate) async fn refuse(&mut self, request: &Value, code: i32) {
        let error = json!({ "code": code, "message": "refused" });
        let response = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
        self.write(&response).await;
    }

    /// Waits for a message like this.
    pub(crate) async fn until(&mut self, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Returns the updates that came, with the session that each is on.
    pub(crate) fn updates(&self) -> Vec<(&str, &Value)> {
        let updates = self
            .seen
            .iter()
            .filter(|it| it["method"] == "session/update");
        updates
            .map(|it| {
                let session = it["params"]["sessionId"].as_str().unwrap();
                (session, &it["params"]["update"])
            })
            .collect()
    }

    /// Returns the updates of one kind.
    pub(crate) fn updates_of(&self, kind: &str) -> Vec<(&str, &Value)> {
        let mut updates = self.updates();
        updates.retain(|(_, update)| update["sessionUpdate"] == kind);
        updates
    }

    /// Returns what an agent said on a session, its chunks joined.
    pub(crate) fn words(&self, session: &str) -> String {
        let chunks = self.updates_of("agent_message_chunk").into_iter();
        let of_it = chunks.filter(|(on, _)| *on == session);
        of_it
            .map(|(_, update)| update["content"]["text"].as_str().unwrap())
            .collect()
    }

    /// Ends what the client says; it reads on.
    pub(crate) async fn end_input(&mut self) {
        let mut write = self.write.take().unwrap();
        write.shutdown().await.unwrap();
    }

    /// Ends the client's side and waits until the agent has ended.
    pub(crate) async fn hang_up(mut self) -> Result<(), agent_client_protocol::Error> {
        drop(self.write.take());
        drop(self.lines);
        let served = tokio::time::timeout(PATIENCE, self.served).await;
        served.unwrap().unwrap()
    }
}

/// The parameters of a prompt of text.
pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

fn result(message: Value) -> Result<Value, Value> {
    match message.get("error") {
        Some(error) => Err(error.clone()),
        None => Ok(message["result"].clone()),
    }
}
