//! A stage: a runtime over a store in memory, and a model whose lines are written beforehand.
//!
//! Nothing here sleeps: a line may wait at a gate that the test opens, and the
//! test waits for entries of the log.

mod guard;
mod probe;
mod script;
mod seen;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures_core::future::BoxFuture;
use offshoot_engine::{
    Activity, Asks, Attachment, Ending, Helpers, Limits, OneProject, Overlay, Parts, Project,
    Runtime, Subscription, Update,
};
use offshoot_store::Handle;
use offshoot_types::command::{Command, Opening, Order, Prompt, Receipt, Scope};
use offshoot_types::content::{AttachmentError, Digest};
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event};
use offshoot_types::hook::{Hook, Hooks};
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos, Seq, Timestamp, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Registry, Toolset};
use offshoot_types::outcome::Outcome;
use offshoot_types::permission::charter::Charter;
use offshoot_types::permission::{Layer, Need};
use offshoot_types::settlement::Settlement;
use offshoot_types::sidecar::Sidecars;
use offshoot_types::store::{Append, NewEntry, Store};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};

pub(crate) use self::guard::{Guard, deny, ending};
pub(crate) use self::probe::{Notes, Probe};
pub(crate) use self::script::{
    Gate, Line, Script, call, cut, fail, say, task, task_arguments, task_in_background,
};
pub(crate) use self::seen::{data, kind, outcome_texts, user_texts};
pub(crate) use self::wire::{Trouble, Wire};

/// A clock that stands still, or goes with that of the test, and ids that count.
#[derive(Default)]
pub(crate) struct Counter {
    ids: AtomicU64,
    began: Option<tokio::time::Instant>,
    /// What the clock on the wall is ahead, in milliseconds: a machine that was suspended.
    ahead: AtomicU64,
    /// Keeps the paused clock from running ahead while the store's thread is at work: it goes on
    /// only when the test says so.
    _held: Option<std::sync::mpsc::Sender<()>>,
}

impl Env for Counter {
    fn now(&self) -> Timestamp {
        let passed = self.began.map_or(0, |began| began.elapsed().as_millis());
        Timestamp::new(1_000 + passed as u64 + self.ahead.load(Ordering::Relaxed))
    }

    fn new_id(&self) -> String {
        format!("id-{}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// A tool that notes its calls.
pub(crate) struct Note {
    spec: ToolSpec,
    capability: &'static str,
}

impl Note {
    pub(crate) fn tool(id: &str, effect: Effect, capability: &'static str) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            id: id.to_owned(),
            description: format!("{id} for tests"),
            parameters: RawJson::of(&serde_json::json!({ "type": "object" })),
            effect,
        };
        Arc::new(Self { spec, capability })
    }
}

impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let arguments: serde_json::Value = arguments.read().map_err(|error| error.to_string())?;
        let path = arguments["path"].as_str().ok_or("path is missing")?;
        let target = format!("{}/{path}", place.workspace);
        Ok(vec![Need {
            capability: self.capability.to_owned(),
            target,
        }])
    }

    fn run(&self, _work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Outcome::output(RawJson::of(&"done")) })
    }
}

/// Sidecars whose texts come to nothing but their paths; blobs are kept in memory.
struct Folders(Blobs);

type Blobs = Arc<Mutex<BTreeMap<(String, Digest), Vec<u8>>>>;

impl Sidecars for Folders {
    fn keep(
        &self,
        place: Place,
        what: &'static str,
        text: String,
    ) -> BoxFuture<'static, Option<String>> {
        let folder = place.scratch.unwrap();
        Box::pin(async move { Some(format!("{folder}/{what}-of-{}-bytes", text.len())) })
    }

    fn store_blob(
        &self,
        folder: String,
        bytes: Vec<u8>,
        most: u64,
    ) -> BoxFuture<'static, Result<Digest, AttachmentError>> {
        let mut blobs = self.0.lock().unwrap();
        let kept: usize = blobs.values().map(Vec::len).sum();
        let result = if (kept + bytes.len()) as u64 > most {
            Err(AttachmentError::SessionFull { most })
        } else {
            // Not the SHA-256, and as good here: nothing looks into it.
            let mut hasher = std::hash::DefaultHasher::new();
            std::hash::Hash::hash(&bytes, &mut hasher);
            let hash = std::hash::Hasher::finish(&hasher);
            let digest = Digest::new(format!("{hash:016x}").repeat(4)).unwrap();
            blobs.insert((folder, digest.clone()), bytes);
            Ok(digest)
        };
        Box::pin(std::future::ready(result))
    }

    /// Every file whose name ends in `.png` is a picture, and no other file is there.
    fn read_file(
        &self,
        _place: Place,
        path: String,
        _most: u64,
    ) -> BoxFuture<'static, Result<Vec<u8>, AttachmentError>> {
        Box::pin(std::future::ready(if path.ends_with(".png") {
            Ok([b"\x89PNG\r\n\x1a\n", path.as_bytes()].concat())
        } else {
            Err(AttachmentError::Io(format!("read {path}: no such file")))
        }))
    }

    fn read_blob(
        &self,
        folder: String,
        digest: Digest,
    ) -> BoxFuture<'static, Result<Vec<u8>, AttachmentError>> {
        let found = self
            .0
            .lock()
            .unwrap()
            .get(&(folder, digest.clone()))
            .cloned();
        Box::pin(std::future::ready(
            found.ok_or(AttachmentError::Missing(digest)),
        ))
    }

    fn remove_folder(&self, folder: String) -> BoxFuture<'static, Result<(), AttachmentError>> {
        let below = format!("{folder}/");
        let mut blobs = self.0.lock().unwrap();
        blobs.retain(|(kept_in, _), _| !kept_in.starts_with(&below));
        Box::pin(std::future::ready(Ok(())))
    }

    fn copy_blobs(
        &self,
        from: String,
        to: String,
        digests: Vec<Digest>,
    ) -> BoxFuture<'static, Result<(), AttachmentError>> {
        let mut blobs = self.0.lock().unwrap();
        for digest in digests {
            if let Some(bytes) = blobs.get(&(from.clone(), digest.clone())).cloned() {
                blobs.insert((to.clone(), digest), bytes);
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A runtime with a session on it.
pub(crate) struct Stage {
    pub(crate) runtime: Runtime,
    pub(crate) script: Script,
    pub(crate) tree: TreeId,
    pub(crate) store: Arc<Handle>,
    /// How the runtime reaches it.
    pub(crate) wire: Arc<Wire>,
    env: Arc<Counter>,
    limits: Limits,
    asks: Asks,
    cast: Vec<Manifest>,
    hooks: Hooks,
    helpers: Helpers,
    charter: Arc<Said>,
}

/// What is said of permissions before any agent has a say; nothing, unless a test says something.
#[derive(Default)]
pub(crate) struct Said(Mutex<Vec<Layer>>);

impl Charter for Said {
    fn layers(&self, _workspace: &str) -> Vec<Layer> {
        self.0.lock().unwrap().clone()
    }

    fn home(&self) -> Option<&str> {
        Some("/home/me")
    }
}

impl Stage {
    /// Says from now on that these layers stand above every session that is taken up.
    pub(crate) fn says(&self, layers: Vec<Layer>) {
        *self.charter.0.lock().unwrap() = layers;
    }

    /// Opens a session with the definition `lead`.
    pub(crate) async fn new(script: Script) -> Self {
        Self::with(script, Limits::default()).await
    }

    pub(crate) async fn with(script: Script, limits: Limits) -> Self {
        Self::asking(script, limits, Asks::YES).await
    }

    /// Opens a session whose asks are answered like this.
    pub(crate) async fn asking(script: Script, limits: Limits, asks: Asks) -> Self {
        Self::cast(script, limits, asks, Vec::new()).await
    }

    /// Opens a session with more agents, or others, than there are.
    pub(crate) async fn with_agents(script: Script, cast: Vec<Manifest>) -> Self {
        Self::cast(script, Limits::default(), Asks::YES, cast).await
    }

    /// As `with_agents`, but time goes by when the test lets it: for tests whose clock is paused.
    pub(crate) async fn ticking(script: Script, cast: Vec<Manifest>) -> Self {
        Self::ticking_with(script, Limits::default(), cast).await
    }

    /// As `ticking`, with limits of its own.
    pub(crate) async fn ticking_with(script: Script, limits: Limits, cast: Vec<Manifest>) -> Self {
        Self::ticking_asking(script, limits, Asks::YES, cast).await
    }

    /// As `ticking_with`, with asks that are answered like this.
    pub(crate) async fn ticking_asking(
        script: Script,
        limits: Limits,
        asks: Asks,
        cast: Vec<Manifest>,
    ) -> Self {
        let (held, release) = std::sync::mpsc::channel();
        #[expect(clippy::disallowed_methods, reason = "it ends with the stage")]
        let _held = tokio::task::spawn_blocking(move || release.recv().ok());
        let env = Counter {
            began: Some(tokio::time::Instant::now()),
            _held: Some(held),
            ..Counter::default()
        };
        let usual = (Hooks::default(), Helpers::default());
        Self::set(script, limits, asks, cast, env, usual).await
    }

    /// Opens a session in which a hook has a say.
    pub(crate) async fn hooked(script: Script, cast: Vec<Manifest>, hook: Arc<dyn Hook>) -> Self {
        let mut hooks = Hooks::default();
        hooks.add(hook);
        let env = Counter::default();
        let usual = (hooks, Helpers::default());
        Self::set(script, Limits::default(), Asks::YES, cast, env, usual).await
    }

    /// Opens a session that a hook watches; what agents ask is answered like this.
    pub(crate) async fn watched(script: Script, asks: Asks, guard: &Arc<Guard>) -> Self {
        let mut hooks = Hooks::default();
        hooks.watch(guard.clone());
        Self::watched_by(script, asks, hooks, Vec::new()).await
    }

    /// Opens a session that hooks watch, with more agents.
    pub(crate) async fn watched_by(
        script: Script,
        asks: Asks,
        hooks: Hooks,
        cast: Vec<Manifest>,
    ) -> Self {
        let usual = (hooks, Helpers::default());
        let env = Counter::default();
        Self::set(script, Limits::default(), asks, cast, env, usual).await
    }

    /// Opens a session for which the runtime uses agents itself.
    pub(crate) async fn helped(script: Script, cast: Vec<Manifest>, helpers: Helpers) -> Self {
        let env = Counter::default();
        let with = (Hooks::default(), helpers);
        Self::set(script, Limits::default(), Asks::YES, cast, env, with).await
    }

    pub(crate) async fn cast(
        script: Script,
        limits: Limits,
        asks: Asks,
        cast: Vec<Manifest>,
    ) -> Self {
        let env = Counter::default();
        let usual = (Hooks::default(), Helpers::default());
        Self::set(script, limits, asks, cast, env, usual).await
    }

    async fn set(
        script: Script,
        limits: Limits,
        asks: Asks,
        cast: Vec<Manifest>,
        env: Counter,
        (hooks, helpers): (Hooks, Helpers),
    ) -> Self {
        let store = Arc::new(Handle::memory().unwrap());
        let wire = Wire::to(store.clone());
        let env = Arc::new(env);
        let charter = Arc::new(Said::default());
        let runtime = runtime(
            &script,
            wire.clone(),
            env.clone(),
            &limits,
            asks,
            &cast,
            (&hooks, &helpers, &charter),
        );
        let tree = TreeId::of(AgentId::new("root"));
        let stage = Self {
            runtime,
            script,
            tree,
            store,
            wire,
            env,
            limits,
            asks,
            cast,
            hooks,
            helpers,
            charter,
        };
        stage
            .order(stage.root(), Order::open(opening("lead")))
            .await;
        stage
    }

    /// Brings tools for the session on stage.
    pub(crate) fn attach(&self, tools: Vec<Arc<dyn Tool>>) -> Attachment {
        let overlay = Overlay {
            tools,
            ..Overlay::default()
        };
        self.runtime.attach(&self.tree, overlay).unwrap()
    }

    /// Lets time go by on the wall, and nobody notices.
    pub(crate) fn jump(&self, by: std::time::Duration) {
        let by = by.as_millis() as u64;
        self.env.ahead.fetch_add(by, Ordering::Relaxed);
    }

    /// As `crash`; whoever starts again answers differently.
    pub(crate) async fn crash_into(mut self, asks: Asks) -> Self {
        self.asks = asks;
        self.crash().await
    }

    /// As `crash`; whoever starts again knows of these hooks.
    pub(crate) async fn crash_with(mut self, hooks: Hooks) -> Self {
        self.hooks = hooks;
        self.crash().await
    }

    /// Kills the process and starts another on the same store.
    pub(crate) async fn crash(mut self) -> Self {
        let again = Arc::new(self.store.another().unwrap());
        self.wire = Wire::to(again.clone());
        self.store = again;
        let next = runtime(
            &self.script,
            self.wire.clone(),
            self.env.clone(),
            &self.limits,
            self.asks,
            &self.cast,
            (&self.hooks, &self.helpers, &self.charter),
        );
        drop(std::mem::replace(&mut self.runtime, next));
        // The tasks of a dead runtime are gone when the lock is.
        self.let_go().await;
        self
    }

    /// Returns the rows of what waits for an answer.
    pub(crate) async fn store_asks(&self) -> Vec<offshoot_types::store::OpenAsk> {
        self.store.asks().await.unwrap()
    }

    /// Waits until nobody has a tree any more.
    pub(crate) async fn let_go(&self) {
        let is_owned = async || {
            let sessions = self.store.sessions().await.unwrap();
            sessions.iter().any(|session| session.owned)
        };
        while is_owned().await {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn root(&self) -> AgentId {
        self.tree.root().clone()
    }

    pub(crate) async fn order(&self, agent: AgentId, order: Order) -> Receipt {
        self.order_in(&self.tree, agent, order).await
    }

    /// Sends an order to an agent of any session.
    pub(crate) async fn order_in(&self, tree: &TreeId, agent: AgentId, order: Order) -> Receipt {
        let command = self.command(tree, agent, order);
        self.runtime.command(command).await.unwrap()
    }

    pub(crate) fn command(&self, tree: &TreeId, agent: AgentId, order: Order) -> Command {
        Command {
            id: CommandId::new(self.env.new_id()),
            tree: tree.clone(),
            agent,
            order,
        }
    }

    /// Leaves an order for the root, as a process does that is gone before anybody takes it.
    pub(crate) async fn leave_order(&self, order: Order) {
        let command = self.command(&self.tree, self.root(), order);
        self.store.submit(command, self.env.now()).await.unwrap();
    }

    /// Starts another process on the same store.
    pub(crate) fn elsewhere(&self) -> Runtime {
        runtime(
            &self.script,
            Arc::new(self.store.another().unwrap()),
            self.env.clone(),
            &self.limits,
            self.asks,
            &self.cast,
            (&self.hooks, &self.helpers, &self.charter),
        )
    }

    /// Sends an order from another process, which has more agents than this one.
    pub(crate) async fn order_from_elsewhere(&self, order: Order, more: Manifest) -> Receipt {
        let cast: Vec<Manifest> = self.cast.iter().cloned().chain([more]).collect();
        let elsewhere = runtime(
            &self.script,
            Arc::new(self.store.another().unwrap()),
            self.env.clone(),
            &self.limits,
            self.asks,
            &cast,
            (&self.hooks, &self.helpers, &self.charter),
        );
        let command = self.command(&self.tree, self.root(), order);
        elsewhere.command(command).await.unwrap()
    }

    /// Opens another session beside the one on stage.
    pub(crate) async fn open_another(&self, name: &str) {
        self.open_as(name, opening("lead")).await;
    }

    /// Opens another session and asks its root something.
    pub(crate) async fn ask_another(&self, name: &str, text: &str) {
        let mut opening = opening("lead");
        opening.prompt = Some(self.words(text));
        self.open_as(name, opening).await;
    }

    pub(crate) async fn open_as(&self, name: &str, opening: Opening) {
        let agent = AgentId::new(name);
        let command = Command {
            id: CommandId::new(self.env.new_id()),
            tree: TreeId::of(agent.clone()),
            agent,
            order: Order::open(opening),
        };
        self.runtime.command(command).await.unwrap();
    }

    /// Writes another session as if somebody else had.
    pub(crate) async fn write_another(&self, name: &str, events: Vec<Event>) {
        let agent = AgentId::new(name);
        let entry = |(seq, event)| NewEntry {
            agent: agent.clone(),
            seq: Seq::new(seq),
            event,
        };
        let append = Append {
            at: self.env.now(),
            entries: (1..).zip(events).map(entry).collect(),
            applied: Vec::new(),
        };
        let tree = TreeId::of(agent.clone());
        let created = self.store.create(&tree, append).await.unwrap();
        let (lease, _) = created.unwrap();
        self.store.release(lease).await.unwrap();
    }

    /// Returns a prompt of some words.
    pub(crate) fn words(&self, text: &str) -> Prompt {
        Prompt {
            message: MessageId::new(self.env.new_id()),
            text: text.into(),
            from: offshoot_types::message::Author::Human,
            agent: None,
            model: None,
            metadata: None,
            output_schema: None,
            delegation: None,
            immediate: false,
        }
    }

    pub(crate) async fn prompt(&self, agent: AgentId, text: &str) {
        assert_eq!(
            self.order(agent, Order::Prompt(self.words(text))).await,
            Receipt::Prompted
        );
    }

    pub(crate) async fn cancel(&self, agent: AgentId) -> Settlement {
        match self.order(agent, Order::Cancel(Scope::Run)).await {
            Receipt::Settled(settlement) => settlement,
            other => panic!("cancel was answered {other:?}"),
        }
    }

    /// Asks the root and waits until the tree is quiet.
    pub(crate) async fn ask(&self, text: &str) {
        self.prompt(self.root(), text).await;
        self.quiet().await;
    }

    /// Lets time go by, second by second, and everybody do what they do in each.
    pub(crate) async fn pass(&self, secs: u64) {
        for _ in 0..secs {
            tokio::time::advance(std::time::Duration::from_secs(1)).await;
            for _ in 0..12 {
                self.written().await;
            }
        }
    }

    /// Asks the root and lets time go by until the tree is quiet.
    pub(crate) async fn ask_and_wait(&self, text: &str) {
        self.prompt(self.root(), text).await;
        let mut quiet = std::pin::pin!(self.quiet());
        while futures_util::FutureExt::now_or_never(quiet.as_mut()).is_none() {
            self.pass(1).await;
        }
    }

    /// Waits until the tree is quiet.
    pub(crate) async fn quiet(&self) {
        self.quiet_in(&self.tree).await;
    }

    /// Waits until an agent does or waits for something that the test looks for.
    pub(crate) async fn until_activity(&self, wanted: impl Fn(&Activity) -> bool) {
        let mut updates = self.runtime.subscribe(&self.tree, Pos::ZERO).await;
        loop {
            if let Update::Activity(_, activity) = self.next(&mut updates).await
                && wanted(&activity)
            {
                return;
            }
        }
    }

    /// Waits for the next update.
    async fn next(&self, updates: &mut Subscription) -> Update {
        let mut next = std::pin::pin!(updates.next());
        if self.env.began.is_none() {
            return next.await.unwrap();
        }
        // A subscriber whose board is behind the log looks again a moment later, which does not come by
        // itself where the test moves the clock.
        loop {
            if let Poll::Ready(update) = futures_util::poll!(&mut next) {
                return update.unwrap();
            }
            self.moment().await;
        }
    }

    /// Lets a moment of the test's time go by, once the log has stored what it was sent.
    async fn moment(&self) {
        self.written().await;
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
    }

    async fn written(&self) {
        // Waits its turn behind whatever was sent to the log before, however slow that is.
        let nobody = TreeId::of(AgentId::new("nobody's"));
        drop(self.store.claim(&nobody).await.unwrap());
        tokio::task::yield_now().await;
    }

    /// Waits until any session is quiet.
    pub(crate) async fn quiet_in(&self, tree: &TreeId) {
        let mut updates = self.runtime.subscribe(tree, Pos::ZERO).await;
        loop {
            match updates.next().await.unwrap() {
                Update::Idle => return,
                Update::Parked(why) => panic!("{why}"),
                Update::Entry(_)
                | Update::Orphaned
                | Update::Delta(_)
                | Update::Output(_)
                | Update::Activity(..)
                | Update::Notice(..)
                | Update::Hooked(..) => {}
            }
        }
    }

    /// Waits until an entry is in the log that the test looks for, and returns its agent.
    pub(crate) async fn until(&self, wanted: impl Fn(&Entry) -> bool) -> AgentId {
        let mut updates = self.runtime.subscribe(&self.tree, Pos::ZERO).await;
        loop {
            if let Update::Entry(entry) = updates.next().await.unwrap()
                && wanted(&entry)
            {
                return entry.agent.clone();
            }
        }
    }

    /// Waits until a run of an agent has settled.
    pub(crate) async fn settled(&self, agent: &AgentId) {
        self.until(|entry| entry.agent == *agent && matches!(entry.event, Event::Settled { .. }))
            .await;
    }

    /// Waits until the second run of an agent has settled.
    pub(crate) async fn settled_twice(&self, agent: &AgentId) {
        let second = offshoot_types::id::RunNo::new(2);
        self.until(|entry| {
            let settled = matches!(&entry.event, Event::Settled { run, .. } if *run == second);
            entry.agent == *agent && settled
        })
        .await;
    }

    /// Waits until a turn of an agent has ended.
    pub(crate) async fn turn_ended(&self, agent: &AgentId) {
        self.until(|entry| entry.agent == *agent && matches!(entry.event, Event::TurnEnded { .. }))
            .await;
    }

    /// Waits until an agent of a definition has asked its model for the nth time.
    pub(crate) async fn asked(&self, definition: &str, times: usize) {
        let mut updates = self.runtime.subscribe(&self.tree, Pos::ZERO).await;
        while self.script.sent(definition).len() < times {
            updates.next().await.unwrap();
        }
    }

    /// Waits until an agent of a definition has been born, and returns it.
    pub(crate) async fn born(&self, definition: &str) -> AgentId {
        self.until(|entry| matches!(&entry.event, Event::Spawned(spawned) if spawned.definition == definition))
            .await
    }

    /// Leaves in good order and returns the log as it is then, and whether somebody still owns it.
    pub(crate) async fn shut_down(self) -> (Vec<Entry>, bool) {
        self.leave(Ending::Now).await
    }

    /// Leaves as it is told, and returns the same.
    pub(crate) async fn leave(self, ending: Ending) -> (Vec<Entry>, bool) {
        self.runtime.shutdown(ending).await;
        let log = self
            .store
            .entries(&self.tree, Pos::ZERO, usize::MAX)
            .await
            .unwrap();
        let owned = self
            .store
            .sessions()
            .await
            .unwrap()
            .iter()
            .any(|session| session.owned);
        (log, owned)
    }
}

fn runtime(
    script: &Script,
    store: Arc<dyn Store>,
    env: Arc<Counter>,
    limits: &Limits,
    asks: Asks,
    cast: &[Manifest],
    (hooks, helpers, charter): (&Hooks, &Helpers, &Arc<Said>),
) -> Runtime {
    let mut registry = Registry::default();
    registry.extend([
        Manifest {
            tools: Toolset::only(["*", "question"]),
            ..Manifest::new("lead", Mode::Primary, "Lead.")
        },
        Manifest::new("worker", Mode::Subagent, "Work."),
        Manifest::new("helper", Mode::All, "Help."),
        Manifest {
            inspectable: true,
            ..Manifest::new("watched", Mode::Subagent, "Be seen.")
        },
        Manifest {
            caller: offshoot_types::manifest::Caller::Agent,
            ..Manifest::new("aware", Mode::All, "Help.")
        },
        Manifest {
            permissions: Some(vec![offshoot_types::permission::Rule::new(
                "fs.read",
                "*",
                offshoot_types::permission::Action::Allow,
            )]),
            ..Manifest::new("reader", Mode::Subagent, "Read.")
        },
    ]);
    registry.extend(cast.iter().cloned());
    let project = Project {
        charter: charter.clone(),
        hooks: hooks.clone(),
        helpers: helpers.clone(),
        models: Arc::new(script.clone()),
        tools: vec![
            Note::tool("read", Effect::Read, "fs.read"),
            Note::tool("write", Effect::Write, "fs.write"),
            Note::tool("run", Effect::Write, "shell.run"),
        ]
        .into(),
        registry: Arc::new(registry),
        asks,
    };
    Runtime::new(Parts {
        store,
        projects: Arc::new(OneProject::from(project)),
        env,
        limits: limits.clone(),
        // In the workspace, which is where it is hardest to keep to oneself.
        data: Some("/w/.data".to_owned()),
        sidecars: Arc::new(Folders(script.blobs.clone())),
    })
}

pub(crate) fn opening(definition: &str) -> Opening {
    Opening {
        definition: definition.to_owned(),
        model: "script".to_owned(),
        workspace: "/w".to_owned(),
        date: "2026-11-15".to_owned(),
        project: None,
        caps: offshoot_types::caps::Caps::default(),
        metadata: None,
        prompt: None,
        client_tools: Vec::new(),
    }
}
