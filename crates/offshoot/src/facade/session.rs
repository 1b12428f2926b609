//! A session: opening one, and the handle on it.
//!
//! A session is a root agent and all below it. What one asks of the root is asked through `Agent`;
//! what concerns the whole tree is here.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_engine::{Attachment, Overlay, query};
use offshoot_types::caps::Caps;
use offshoot_types::client_tool::ClientTool;
use offshoot_types::command::{Deletion, Fork, Opening, Order, Receipt, Rename};
use offshoot_types::content::{Content, Part, image_type};
use offshoot_types::date::date;
use offshoot_types::event::RoleChoice;
use offshoot_types::hook::HostHooks;
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
    overlays: Vec<Overlay>,
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
            overlays: Vec::new(),
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

    /// Brings agents, tools, models, hooks and more for this session alone, from its opening on; see
    /// [`Session::attach`]. It is taken away with the last handle on the session.
    pub fn overlay(mut self, overlay: Overlay) -> Self {
        self.overlays.push(overlay);
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
            overlays,
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
            date: date(shared.env().now()),
            project,
            caps,
            metadata: None,
            prompt: None,
            client_tools,
        };
        let id = AgentId::new(id.unwrap_or_else(|| shared.env().new_id()));
        let tree = TreeId::of(id.clone());
        let overlays = overlays.into_iter();
        let attached = overlays.map(|overlay| shared.attach(&tree, overlay));
        let attached = attached.collect::<Result<Vec<Attachment>, Error>>()?;
        shared.order(&tree, &id, Order::open(opening)).await?;
        Ok(Session::with_overlays(shared, tree, attached))
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
#[derive(Clone)]
pub struct Session {
    root: Agent,
    /// The overlays that it was opened with; the last handle takes them away.
    _overlays: Arc<[Attachment]>,
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, tree: TreeId) -> Self {
        Self::with_overlays(shared, tree, Vec::new())
    }

    fn with_overlays(shared: Arc<Shared>, tree: TreeId, overlays: Vec<Attachment>) -> Self {
        let root = Agent {
            shared,
            id: tree.root().clone(),
            tree,
            seen: Seen::default(),
        };
        let _overlays = overlays.into();
        Self { root, _overlays }
    }

    /// Attaches what this program brings for this session alone: agents, tools, models, hooks, a system
    /// message, a filter of tools, who answers. It holds from each agent's next turn on, until the
    /// attachment is dropped.
    ///
    /// Of one name the overlay's counts, and no other session sees it. Two overlays of one session
    /// with one name are refused, with [`Error::Attach`]. The log keeps names only: attach the overlay again
    /// when a later process finds the session.
    pub fn attach(&self, overlay: Overlay) -> Result<Attachment, Error> {
        self.root.shared.attach(&self.root.tree, overlay)
    }

    /// Stores the bytes of a picture or a file in the session, and returns the part of a prompt that
    /// names them.
    ///
    /// The bytes say whether it is a picture, and of which type; `media_type` is for other files. They are on
    /// disk when this returns, so the runtime needs a data folder, and are removed with the session.
    pub async fn store_blob(
        &self,
        name: &str,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Part, Error> {
        let Agent { shared, id, .. } = &self.root;
        let is_image = image_type(&bytes).is_some();
        let attached = shared.store_blob(id, name, media_type, bytes).await?;
        Ok(if is_image {
            Part::Image(attached)
        } else {
            Part::File(attached)
        })
    }

    /// Closes it: has it written down what happened since the last summary, and returns that.
    ///
    /// `None` if nothing has happened, if there is no model of `Tier::Small`, or if it took more
    /// than five seconds. It can be used again.
    pub async fn close(&self) -> Result<Option<String>, Error> {
        match self.root.order(Order::Close).await? {
            Receipt::Summarised { summary } => Ok(Some(summary)),
            _ => Ok(None),
        }
    }

    /// Has hooks of this program asked about prompts, calls and outcomes of the session, until the
    /// attachment is dropped. They may rewrite; what they rewrite is judged as if the model had said it.
    ///
    /// A session has the hooks of one host. Nothing of them is stored: attach them again when a later
    /// process finds the session.
    pub fn host_hooks(&self, hooks: impl HostHooks + 'static) -> Result<Attachment, Error> {
        let overlay = Overlay {
            host_hooks: Some(Arc::new(hooks)),
            ..Overlay::default()
        };
        self.attach(overlay)
    }

    /// Returns its id, by which it can be found again.
    pub fn id(&self) -> &str {
        self.root.id.as_str()
    }

    /// Returns its root.
    pub fn root(&self) -> &Agent {
        &self.root
    }

    /// Returns a handle on an agent of it. Whether there is one is told when it is used.
    pub fn agent(&self, id: &AgentId) -> Agent {
        Agent {
            id: id.clone(),
            ..self.root.clone()
        }
    }

    /// Asks its root something; see [`Agent::run`].
    pub fn run(&self, content: impl Into<Content>) -> Run {
        self.root.run(content)
    }

    /// Asks its root something; see [`Agent::prompt`].
    pub async fn prompt(&self, content: impl Into<Content>) -> Result<Settlement, Error> {
        self.root.prompt(content).await
    }

    /// Asks its root something and returns the answer as a value of a type; see [`Agent::ask`].
    pub async fn ask<T: JsonSchema + DeserializeOwned>(
        &self,
        content: impl Into<Content>,
    ) -> Result<T, Error> {
        self.root.ask(content).await
    }

    /// Says something to its root and does not wait for an answer; see [`Agent::message`].
    pub async fn message(&self, content: impl Into<Content>) -> Result<(), Error> {
        self.root.message(content).await
    }

    /// Stops everything in it; see [`Agent::cancel`].
    pub async fn cancel(&self) -> Result<(), Error> {
        self.root.cancel().await
    }

    /// Gives it a name, which the runtime does not take back.
    pub async fn rename(&self, title: impl Into<String>) -> Result<(), Error> {
        let title = title.into();
        let by = Author::Human;
        let renamed = self.root.order(Order::Rename(Rename { title, by })).await?;
        taken(renamed)
    }

    /// Has it written down what happened in it, and returns that; see [`Agent::summarise`].
    pub async fn summarise(&self) -> Result<String, Error> {
        self.root.summarise().await
    }

    /// Puts a summary in the place of what was said to its root; see [`Agent::compact`].
    pub async fn compact(&self) -> Result<u64, Error> {
        self.root.compact().await
    }

    /// Takes back what was said after a message of its root, or all of it; see [`Agent::rewind`].
    pub async fn rewind(&self, to: Option<&MessageId>) -> Result<u32, Error> {
        self.root.rewind(to).await
    }

    /// Opens a session that begins as a copy of this one, up to a message or to the last.
    ///
    /// This one stays as it is, and has to be at rest: else it is `Error::Invalid`. Messages get new
    /// ids. What its children still have to say comes to this one only, and what was allowed for this
    /// session is not allowed in the copy.
    pub async fn fork(&self, at: Option<&MessageId>) -> Result<Session, Error> {
        let Agent { shared, id: of, .. } = &self.root;
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
        let id = AgentId::new(shared.env().new_id());
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
        Updates::new(&self.root.shared, &self.root.tree, pos).await
    }

    /// Sets the agent that answers from its next turn on, with that agent's own model.
    pub async fn set_agent(&self, name: impl Into<String>) -> Result<(), Error> {
        self.set_role(RoleChoice {
            agent: Some(name.into()),
            model: None,
        })
        .await
    }

    /// Sets the model that answers from its next turn on.
    pub async fn set_model(&self, name: impl Into<String>) -> Result<(), Error> {
        self.set_role(RoleChoice {
            agent: None,
            model: Some(name.into()),
        })
        .await
    }

    async fn set_role(&self, choice: RoleChoice) -> Result<(), Error> {
        let Agent { shared, tree, .. } = &self.root;
        let order = Order::SetRole(choice);
        match shared.order(tree, tree.root(), order).await? {
            Receipt::NoEffect { why } => Err(Error::Invalid(why)),
            _ => Ok(()),
        }
    }

    /// Deletes it for good, with what its agents have kept. Agents that work are stopped first. Refused
    /// while another process runs it.
    pub async fn delete(self) -> Result<(), Error> {
        let Agent { shared, tree, .. } = &self.root;
        let order = Order::Delete(Deletion::Always);
        shared.order(tree, tree.root(), order).await.map(drop)
    }

    /// Returns what the last run of its root left undone, with everything below it.
    ///
    /// A root may complete although a limit stopped one of its children, or a permission was denied
    /// because no one could be asked. The command line exits with 3 then, and not with 0.
    pub async fn unfinished(&self) -> Result<Unfinished, Error> {
        let Agent { shared, tree, .. } = &self.root;
        let log = shared.query(query::Log::of(tree.clone())).await?;
        Unfinished::of_last_run(tree.root(), &log).map_err(|violation| broken(tree, &violation))
    }

    /// Returns who there is in it, and how far each has come.
    pub async fn tree(&self) -> Result<Tree, Error> {
        let Agent { shared, tree, .. } = &self.root;
        let log = shared.query(query::Log::of(tree.clone())).await?;
        fold(tree, &log)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&self.root).finish()
    }
}
