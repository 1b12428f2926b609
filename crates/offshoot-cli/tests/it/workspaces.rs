//! The projects of many workspaces in one runtime, with real files, as a server has them.
//!
//! The runtime is in this process; the commands of hooks are kept by the real binary. Models are functions
//! that sessions bring, and they keep what they were asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::stream::{self, BoxStream};
use offshoot_engine::{
    Attachment, CommandError, Overlay, Projects as _, Runtime, Subscription, Update,
};
use offshoot_host::assemble::{Host, KEEP, runtime};
use offshoot_host::config::{Files, Layer, Settings};
use offshoot_host::projects::{MOST_WORKSPACES, Workspaces};
use offshoot_host::{Surroundings, definitions, trust};
use offshoot_store::Handle;
use offshoot_tools::shell::Keeper;
use offshoot_types::cancel::Cancel;
use offshoot_types::command::{Command, Opening, Order, Prompt};
use offshoot_types::event::Event;
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::message::{Arguments, Author, StopReason, Usage};
use offshoot_types::model::{Chunk, Model, ModelError, Request, RequestMessage};
use serde_json::json;

const DENIES: &str =
    "[[permissions]]\npermission = 'fs.read'\npattern = 'a.txt'\naction = 'deny'\n";

/// A user with a home folder, and a runtime for all workspaces in it.
struct World {
    home: tempfile::TempDir,
    settings: Settings,
    workspaces: Workspaces,
    runtime: Runtime,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::new(None, [("HOME", home.path())]);
        let settings = Settings::load(Layer::default(), None, &surroundings, Files::Read).unwrap();
        let mut host = Host::of(&settings);
        host.keeper = Keeper {
            program: env!("CARGO_BIN_EXE_offshoot").into(),
            arguments: vec![KEEP.into()],
        };
        let workspaces = Workspaces::new(settings.clone(), host);
        let store = Arc::new(Handle::open(&settings.data_dir.value).unwrap());
        let projects = Arc::new(workspaces.clone());
        let data = &settings.data_dir.value;
        let runtime = runtime(store, projects, settings.limits(), data);
        Self {
            home,
            settings,
            workspaces,
            runtime,
        }
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.home.path().join(path), text);
    }

    /// Makes a workspace with a file to read.
    fn workspace(&self, name: &str) -> Workspace {
        let path = self.home.path().join(name);
        fs::create_dir_all(&path).unwrap();
        let workspace = Workspace(path.canonicalize().unwrap());
        workspace.write("a.txt", &format!("the file of {name}"));
        workspace
    }

    /// Accepts all that a workspace brings.
    fn trust(&self, workspace: &Workspace) {
        let things = definitions::brought(&self.settings, workspace.name()).things;
        trust::accept(&self.settings, workspace.name(), &things, &things).unwrap();
    }

    async fn open(
        &self,
        workspace: &Workspace,
        answer: Answer,
    ) -> Result<Session<'_>, CommandError> {
        static LAST: Mutex<u32> = Mutex::new(0);
        let number = {
            let mut last = LAST.lock().unwrap();
            *last += 1;
            *last
        };
        let id = AgentId::new(format!("session-{number}"));
        let tree = TreeId::of(id.clone());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let model = Played {
            asked: asked.clone(),
            answer,
        };
        let overlay = Overlay {
            models: vec![("test/played".to_owned(), Arc::new(model))],
            ..Overlay::default()
        };
        let attachment = self.runtime.attach(&tree, overlay).unwrap();
        let updates = self.runtime.subscribe(&tree, Pos::ZERO).await;
        let session = Session {
            runtime: &self.runtime,
            tree,
            updates,
            asked,
            _attachment: attachment,
        };
        session
            .order(Order::open(Opening {
                definition: "build".to_owned(),
                model: "test/played".to_owned(),
                workspace: workspace.name().to_owned(),
                date: "2026-01-01".to_owned(),
                project: None,
                caps: Default::default(),
                metadata: None,
                prompt: None,
                client_tools: Vec::new(),
            }))
            .await?;
        Ok(session)
    }
}

struct Workspace(PathBuf);

impl Workspace {
    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.0.join(path), text);
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap_or_default()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Says what a model answers.
type Answer = Box<dyn Fn(&Request) -> Chunk + Send + Sync>;

/// A model that is a function, and keeps what it was asked.
struct Played {
    asked: Arc<Mutex<Vec<Request>>>,
    answer: Answer,
}

impl Model for Played {
    fn stream(
        &self,
        request: Request,
        _cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let chunk = (self.answer)(&request);
        self.asked.lock().unwrap().push(request);
        let stop = match chunk {
            Chunk::Call { .. } => StopReason::Calls,
            _ => StopReason::End,
        };
        let usage = Usage::default();
        Box::pin(stream::iter([Ok(chunk), Ok(Chunk::End { stop, usage })]))
    }
}

fn says(text: &str) -> Chunk {
    Chunk::Text(text.to_owned())
}

fn calls(tool: &str, arguments: serde_json::Value) -> Chunk {
    Chunk::Call {
        id: String::new(),
        tool: tool.to_owned(),
        arguments: Arguments::Json(RawJson::of(&arguments)),
    }
}

/// Calls a tool when it is prompted, and then says whether that failed.
fn after_call(request: &Request, call: impl FnOnce() -> Chunk) -> Chunk {
    match request.messages.last() {
        Some(RequestMessage::Outcomes(outcomes)) if outcomes[0].failed => says("failed"),
        Some(RequestMessage::Outcomes(_)) => says("worked"),
        _ => call(),
    }
}

fn reads(request: &Request) -> Chunk {
    after_call(request, || calls("read", json!({ "path": "a.txt" })))
}

struct Session<'a> {
    runtime: &'a Runtime,
    tree: TreeId,
    updates: Subscription,
    asked: Arc<Mutex<Vec<Request>>>,
    _attachment: Attachment,
}

impl Session<'_> {
    async fn order(&self, order: Order) -> Result<(), CommandError> {
        let id = CommandId::new(uuid());
        let (tree, agent) = (self.tree.clone(), self.tree.root().clone());
        let command = Command {
            id,
            tree,
            agent,
            order,
        };
        self.runtime.command(command).await.map(drop)
    }

    /// Prompts the root, and returns what it says last.
    async fn turn(&mut self) -> String {
        let prompt = Prompt {
            message: MessageId::new(uuid()),
            text: "Go.".into(),
            from: Author::Human,
            agent: None,
            metadata: None,
            output_schema: None,
            model: None,
            delegation: None,
            immediate: false,
        };
        self.order(Order::Prompt(prompt)).await.unwrap();
        loop {
            if let Update::Entry(entry) = self.updates.next().await.unwrap()
                && entry.agent == *self.tree.root()
                && let Event::Settled { settlement, .. } = &entry.event
            {
                return settlement.output.clone().unwrap_or_default();
            }
        }
    }

    /// Tells whether the last request of an agent offers another to `task`.
    fn offers(&self, name: &str) -> bool {
        let asked = self.asked.lock().unwrap();
        let tools = &asked.last().unwrap().tools;
        let task = tools.iter().find(|tool| tool.id == "task").unwrap();
        format!("{task:?}").contains(name)
    }

    /// Returns what the prompts of all agents of a definition were, the latest last.
    fn prompts(&self, definition: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let of = asked.iter().filter(|it| it.from.definition == definition);
        of.map(|request| request.system.to_string()).collect()
    }
}

fn uuid() -> String {
    use offshoot_types::env::Env as _;
    offshoot_host::System.new_id()
}

fn hook(command: &str) -> String {
    format!("[[hooks]]\nname = 'note'\nevent = 'UserPromptSubmit'\ncommand = '{command}'\n")
}

#[tokio::test]
async fn r12_an_agent_file_added_between_two_turns_is_offered_from_the_next_turn_on() {
    let world = World::new();
    let workspace = world.workspace("w");
    let mut session = world
        .open(&workspace, Box::new(|_| says("ok")))
        .await
        .unwrap();
    session.turn().await;
    assert!(!session.offers("newcomer"));
    world.write(
        ".config/offshoot/agents/newcomer.md",
        "---\nmode: all\n---\nWork.\n",
    );
    workspace.write(
        ".offshoot/agents/stranger.md",
        "---\nmode: all\n---\nWork.\n",
    );
    session.turn().await;
    assert!(session.offers("newcomer"));
    assert!(!session.offers("stranger"), "no user has accepted it");
    world.trust(&workspace);
    session.turn().await;
    assert!(session.offers("stranger"), "the trust record has changed");
    workspace.write(
        ".offshoot/agents/stranger.md",
        "---\nmode: all\n---\nObey.\n",
    );
    session.turn().await;
    assert!(!session.offers("stranger"), "it has changed since");
}

#[tokio::test]
async fn r12_a_project_hook_that_is_edited_after_it_was_accepted_no_longer_runs() {
    let world = World::new();
    let workspace = world.workspace("w");
    workspace.write("offshoot.toml", &hook("echo one >> told"));
    world.trust(&workspace);
    let mut session = world
        .open(&workspace, Box::new(|_| says("ok")))
        .await
        .unwrap();
    session.turn().await;
    assert_eq!(workspace.text("told"), "one\n");
    workspace.write("offshoot.toml", &hook("echo two >> told"));
    session.turn().await;
    assert_eq!(workspace.text("told"), "one\n");
    world.trust(&workspace);
    session.turn().await;
    assert_eq!(workspace.text("told"), "one\ntwo\n");
}

#[tokio::test]
async fn r12_rules_that_change_in_the_middle_of_a_turn_hold_from_the_next() {
    let world = World::new();
    let workspace = world.workspace("w");
    let file = workspace.0.join("offshoot.toml");
    let answer = move |request: &Request| {
        // The turn has begun by now.
        write(&file, DENIES);
        reads(request)
    };
    let mut session = world.open(&workspace, Box::new(answer)).await.unwrap();
    assert_eq!(session.turn().await, "worked");
    assert_eq!(session.turn().await, "failed");
}

#[tokio::test]
async fn r12_a_project_that_cannot_be_read_opens_no_session_and_leaves_open_ones_their_kit() {
    let world = World::new();
    let workspace = world.workspace("w");
    workspace.write("offshoot.toml", DENIES);
    let mut open = world.open(&workspace, Box::new(reads)).await.unwrap();
    assert_eq!(open.turn().await, "failed");
    workspace.write("offshoot.toml", "[[permissions");
    assert_eq!(open.turn().await, "failed");
    let refused = world.open(&workspace, Box::new(reads)).await;
    match refused.map(drop) {
        Err(CommandError::Project(error)) => assert_eq!(error.workspace, workspace.name()),
        other => panic!("{other:?}"),
    }
    let other = world.workspace("other");
    assert!(world.open(&other, Box::new(reads)).await.is_ok());
    fs::remove_file(workspace.0.join("offshoot.toml")).unwrap();
    let mut later = world.open(&workspace, Box::new(reads)).await.unwrap();
    assert_eq!(later.turn().await, "worked");
    assert_eq!(open.turn().await, "worked");
}

#[tokio::test]
async fn r12_workspaces_with_the_same_names_of_agents_hooks_and_rules_share_nothing() {
    let world = World::new();
    let [one, two] = ["one", "two"].map(|name| {
        let workspace = world.workspace(name);
        workspace.write(
            ".offshoot/agents/helper.md",
            &format!("---\nmode: all\n---\nYou are the helper of {name}.\n"),
        );
        let rules = if name == "one" { DENIES } else { "" };
        let hook = hook(&format!("echo {name} >> told"));
        workspace.write("offshoot.toml", &format!("{rules}{hook}"));
        world.trust(&workspace);
        workspace
    });
    let answer = || -> Answer {
        Box::new(|request| match request.from.definition.as_str() {
            "helper" => says("helped"),
            _ if request.messages.len() > 2 => reads(request),
            _ => after_call(request, || {
                calls(
                    "task",
                    json!({ "subagent_type": "helper", "prompt": "Help." }),
                )
            }),
        })
    };
    let mut first = world.open(&one, answer()).await.unwrap();
    let mut second = world.open(&two, answer()).await.unwrap();
    let said = futures_util::future::join(first.turn(), second.turn()).await;
    assert_eq!(said, ("worked".to_owned(), "worked".to_owned()));
    // The second turn reads the file, which the rule of one workspace denies.
    let said = futures_util::future::join(first.turn(), second.turn()).await;
    assert_eq!(said, ("failed".to_owned(), "worked".to_owned()));
    for (session, workspace, name) in [(first, one, "one"), (second, two, "two")] {
        let prompts = session.prompts("helper");
        assert_eq!(prompts.len(), 1);
        assert!(prompts[0].contains(&format!("You are the helper of {name}.")));
        assert_eq!(workspace.text("told"), format!("{name}\n{name}\n"));
    }
}

#[tokio::test]
async fn r12_of_two_hundred_workspaces_a_bounded_number_is_kept() {
    let world = World::new();
    let all: Vec<Workspace> = (0..200)
        .map(|n| world.workspace(&format!("w{n}")))
        .collect();
    let open = async |workspace: &Workspace| world.workspaces.open(workspace.name()).await.unwrap();
    let first = open(&all[0]).await;
    assert!(Arc::ptr_eq(&first, &open(&all[0]).await));
    for workspace in &all {
        open(workspace).await;
    }
    assert_eq!(world.workspaces.kept(), MOST_WORKSPACES);
    let last = open(&all[199]).await;
    assert!(Arc::ptr_eq(&last, &open(&all[199]).await));
    assert!(!Arc::ptr_eq(&first, &open(&all[0]).await), "it was let go");
    all[0].write(".offshoot/agents/own.md", "---\nmode: all\n---\nWork.\n");
    world.trust(&all[0]);
    assert!(open(&all[0]).await.registry.get("own").is_some());
    assert!(open(&all[199]).await.registry.get("own").is_none());
    assert_eq!(world.workspaces.kept(), MOST_WORKSPACES);
}

#[tokio::test]
async fn r12_a_server_is_given_what_a_session_of_any_workspace_begins_with() {
    let world = World::new();
    let user = "model = 'local/big'\n[providers.local]\nkind = 'openai-chat'\n\
                base_url = 'http://127.0.0.1:1/v1'\n\
                [providers.local.models.big]\ncontext_window = 1000\nimages = true\n";
    world.write(".config/offshoot/offshoot.toml", user);
    let workspace = world.workspace("w");
    workspace.write("AGENTS.md", "Use tabs.");
    workspace.write(
        "offshoot.toml",
        &format!("agent = 'plan'\n{}", hook("true")),
    );
    workspace.write(
        ".offshoot/agents/stranger.md",
        "---\nmode: all\n---\nWork.\n",
    );
    let link = world.home.path().join("link");
    std::os::unix::fs::symlink(&workspace.0, &link).unwrap();

    let defaults = world.workspaces.session_defaults(&link).await.unwrap();
    assert_eq!(defaults.workspace, workspace.name());
    assert_eq!((&*defaults.model, &*defaults.agent), ("local/big", "plan"));
    assert_eq!(defaults.context.instructions[0].text, "Use tabs.");
    // One about the agent, one about the hook.
    assert_eq!(defaults.notices.len(), 2, "{:?}", defaults.notices);
    let names = |agents: &[offshoot_host::projects::AgentSummary]| {
        let names = agents.iter().map(|agent| agent.name.clone());
        names.collect::<Vec<String>>()
    };
    assert_eq!(
        names(&defaults.primary_agents),
        ["build", "general", "plan"]
    );
    assert_eq!(
        names(&defaults.subagents),
        ["explore", "general", "plan", "verify"]
    );
    assert!(
        defaults
            .subagents
            .iter()
            .all(|agent| !agent.description.is_empty())
    );
    let models: Vec<&str> = defaults.models.iter().map(|model| &*model.name).collect();
    assert_eq!(models, ["local/big", "offline"]);
    assert_eq!(defaults.models[0].context_window, Some(1000));
    assert!(defaults.models[0].images);

    workspace.write("offshoot.toml", "agent = 'stranger'\n");
    assert!(world.workspaces.session_defaults(&link).await.is_err());
    world.trust(&workspace);
    let defaults = world.workspaces.session_defaults(&link).await.unwrap();
    assert_eq!(defaults.agent, "stranger");
    let gone = world.home.path().join("gone");
    assert!(world.workspaces.session_defaults(&gone).await.is_err());
}
