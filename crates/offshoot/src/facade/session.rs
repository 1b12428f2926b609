//! A session: opening one, and the handle on it.
//!
//! A session is a root agent and all below it. What one asks of the root is asked through `Agent`;
//! what concerns the whole tree is here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_types::caps::Caps;
use offshoot_types::client_tool::ClientTool;
use offshoot_types::command::{Fork, Opening, Order, Receipt, Rename};
use offshoot_types::date::date;
use offshoot_types::id::{AgentId, MessageId, Pos, TreeId};
use offshoot_types::message::Author;
use offshoot_types::project::ProjectContext;
use offshoot_types::settlement::Settlement;
use offshoot_types::tree::{Tree, Unfinished};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::agent::{Agent, taken};
use super::error::Error;
use super::follow::Seen;
use super::host::{HOST, Host};
use super::run::Run;
use super::runtime::Shared;
use super::updates::{Updates, broken, fold};

/// A session that is to be opened.
#[must_use = "nothing is opened before `open` or `host`"]
pub struct NewSession {
    shared: Arc<Shared>,
    id: Option<String>,
    model: Option<String>,
    workspace: Option<PathBuf>,
    caps: Caps,
    project: Option<Box<ProjectContext>>,
    client_tools: Vec<ClientTool>,
}

impl NewSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            id: None,
            model: None,
            workspace: None,
            caps: Caps::default(),
            project: None,
            client_tools: Vec::new(),
        }
    }

    /// Gives it an id of your own: at most 128 bytes, and none that is there already.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Has its agents ask this model, where their manifests name none.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Has its agents work in this folder.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Tells its agents about the project: instruction files and the state of git.
    ///
    /// Stored with the session and shown as it is now for the session's whole life, cut to 32 KiB
    /// of instructions. Agents whose manifests leave them out, such as read-only ones, do not see
    /// them. The library reads no such files by itself.
    pub fn project(mut self, project: ProjectContext) -> Self {
        self.project = Some(Box::new(project));
        self
    }

    /// Caps what its agents may use, all of them together.
    ///
    /// Steps are those of the root alone.
    pub fn caps(mut self, caps: Caps) -> Self {
        self.caps = caps;
        self
    }

    /// Gives its agents tools that this program, or another client of the session, carries out.
    ///
    /// A call waits, in the log, until a client returns its result with `Agent::answer` and
    /// `Verdict::Returned`.
    pub fn client_tools(mut self, tools: Vec<ClientTool>) -> Self {
        self.client_tools = tools;
        self
    }

    /// Opens it with an agent that people may start: one of mode `primary` or `all`.
    pub async fn open(self, agent: &str) -> Result<Session, Error> {
        if agent == HOST {
            let why = "a session with this program as its root is opened with `host`";
            return Err(Error::Invalid(why.to_owned()));
        }
        self.start(agent).await
    }

    /// Opens it with this program as its root.
    pub async fn host(self) -> Result<Host, Error> {
        Ok(Host(self.start(HOST).await?))
    }

    async fn start(self, agent: &str) -> Result<Session, Error> {
        let Self {
            shared,
            id,
            model,
            workspace,
            caps,
            project,
            client_tools,
        } = self;
        let Some(model) = model.or_else(|| shared.model.clone()) else {
            let why = "name a model: with `Builder::model`, `Builder::default_model` or \
                       `NewSession::model`";
            return Err(Error::Invalid(why.to_owned()));
        };
        let opening = Opening {
            definition: agent.to_owned(),
            model,
            workspace: match workspace {
                Some(folder) => absolute(&folder)?,
                None => shared.workspace.clone(),
            },
            date: date(shared.env.now()),
            project,
            caps,
            metadata: None,
            prompt: None,
            client_tools,
        };
        let id = AgentId::new(id.unwrap_or_else(|| shared.env.new_id()));
        let tree = TreeId::of(id.clone());
        shared.order(&tree, &id, Order::open(opening)).await?;
        Ok(Session::new(shared, tree))
    }
}

/// Returns a folder as sessions name it: absolute, and without links.
pub(super) fn absolute(folder: &Path) -> Result<String, Error> {
    let shown = folder.display();
    let whole = folder
        .canonicalize()
        .map_err(|error| Error::Invalid(format!("find folder {shown}: {error}")))?;
    let text = whole.into_os_string().into_string();
    text.map_err(|_| Error::Invalid(format!("find folder {shown}: its path is not UTF-8")))
}

/// A session: a root agent and all below it. Cloning gives another handle on the same.
#[derive(Clone, Debug)]
pub struct Session(Agent);

impl Session {
    pub(super) fn new(shared: Arc<Shared>, tree: TreeId) -> Self {
        Self(Agent {
            shared,
            id: tree.root().clone(),
            tree,
            seen: Seen::default(),
        })
    }

    /// Closes it: has it written down what happened since the last summary, and returns that.
    ///
    /// `None` if nothing has happened, if there is no model of `Tier::Small`, or if it took more
    /// than five seconds. It can be used again.
    pub async fn close(&self) -> Result<Option<String>, Error> {
        match self.0.order(Order::Close).await? {
            Receipt::Summarised { summary } => Ok(Some(summary)),
            _ => Ok(None),
        }
    }

    /// Returns its id, by which it can be found again.
    pub fn id(&self) -> &str {
        self.0.id.as_str()
    }

    /// Returns its root.
    pub fn root(&self) -> &Agent {
        &self.0
    }

    /// Returns a handle on an agent of it. Whether there is one is told when it is used.
    pub fn agent(&self, id: &AgentId) -> Agent {
        Agent {
            id: id.clone(),
            ..self.0.clone()
        }
    }

    /// Asks its root something; see [`Agent::run`].
    pub fn run(&self, text: impl Into<String>) -> Run {
        self.0.run(text)
    }

    /// Asks its root something; see [`Agent::prompt`].
    pub async fn prompt(&self, text: impl Into<String>) -> Result<Settlement, Error> {
        self.0.prompt(text).await
    }

    /// Asks its root something and returns the answer as a value of a type; see [`Agent::ask`].
    pub async fn ask<T: JsonSchema + DeserializeOwned>(
        &self,
        text: impl Into<String>,
    ) -> Result<T, Error> {
        self.0.ask(text).await
    }

    /// Says something to its root and does not wait for an answer; see [`Agent::message`].
    pub async fn message(&self, text: impl Into<String>) -> Result<(), Error> {
        self.0.message(text).await
    }

    /// Stops everything in it; see [`Agent::cancel`].
    pub async fn cancel(&self) -> Result<(), Error> {
        self.0.cancel().await
    }

    /// Gives it a name, which the runtime does not take back.
    pub async fn rename(&self, title: impl Into<String>) -> Result<(), Error> {
        let title = title.into();
        let by = Author::Human;
        let renamed = self.0.order(Order::Rename(Rename { title, by })).await?;
        taken(renamed)
    }

    /// Has it written down what happened in it, and returns that; see [`Agent::summarise`].
    pub async fn summarise(&self) -> Result<String, Error> {
        self.0.summarise().await
    }

    /// Puts a summary in the place of what was said to its root; see [`Agent::compact`].
    pub async fn compact(&self) -> Result<u64, Error> {
        self.0.compact().await
    }

    /// Takes back what was said after a message of its root, or all of it; see [`Agent::rewind`].
    pub async fn rewind(&self, to: Option<&MessageId>) -> Result<u32, Error> {
        self.0.rewind(to).await
    }

    /// Opens a session that begins as a copy of this one, up to a message or to the last.
    ///
    /// This one stays as it is, and has to be at rest: else it is `Error::Invalid`. Messages get new
    /// ids. What its children still have to say comes to this one only, and what was allowed for this
    /// session is not allowed in the copy.
    pub async fn fork(&self, at: Option<&MessageId>) -> Result<Session, Error> {
        let Agent { shared, id: of, .. } = &self.0;
        let of_host = |root: &offshoot_types::tree::Agent| root.definition() == HOST;
        if self.tree().await?.agent(of).is_some_and(of_host) {
            let why = "a session with this program as its root cannot be copied";
            return Err(Error::Invalid(why.to_owned()));
        }
        let fork = Fork {
            of: of.clone(),
            at: at.cloned(),
            metadata: None,
        };
        let id = AgentId::new(shared.env.new_id());
        let tree = TreeId::of(id.clone());
        shared.order(&tree, &id, Order::Fork(fork)).await?;
        Ok(Self::new(shared.clone(), tree))
    }

    /// Follows everything that its agents do, from its beginning on.
    pub async fn subscribe(&self) -> Result<Updates, Error> {
        self.subscribe_after(Pos::ZERO).await
    }

    /// Follows everything that its agents do after a position, such as the last one that was shown.
    pub async fn subscribe_after(&self, pos: Pos) -> Result<Updates, Error> {
        Updates::new(&self.0.shared, &self.0.tree, pos).await
    }

    /// Returns what the last run of its root left undone, with everything below it.
    ///
    /// A root may complete although a limit stopped one of its children, or a permission was denied
    /// because no one could be asked. The command line exits with 3 then, and not with 0.
    pub async fn unfinished(&self) -> Result<Unfinished, Error> {
        let Agent { shared, tree, .. } = &self.0;
        let log = shared.store.entries(tree, Pos::ZERO, usize::MAX).await?;
        Unfinished::of_last_run(tree.root(), &log).map_err(|violation| broken(tree, &violation))
    }

    /// Returns who there is in it, and how far each has come.
    pub async fn tree(&self) -> Result<Tree, Error> {
        let Agent { shared, tree, .. } = &self.0;
        let log = shared.store.entries(tree, Pos::ZERO, usize::MAX).await?;
        fold(tree, &log)
    }
}
