//! Sessions of many workspaces in one process: each has its own project and overlays (R12, ruling 1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use offshoot_engine::{
    Asks, AttachError, CommandError, Helpers, Limits, Missing, Overlay, Parts, Project,
    ProjectError, Projects, Runtime, SystemMessage, ToolFilter, Update,
};
use offshoot_store::Handle;
use offshoot_types::cancel::Cancel;
use offshoot_types::command::{Command, Opening, Order, Prompt, Receipt};
use offshoot_types::env::Env;
use offshoot_types::event::{Entry, Event, RoleChoice};
use offshoot_types::hook::{Hooks, Point};
use offshoot_types::id::{AgentId, CommandId, MessageId, Pos, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Registry};
use offshoot_types::model::{Chunk, Model, ModelError, ModelErrorKind, Models, Request};
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::permission::charter::{Charter, NoCharter};
use offshoot_types::permission::{Action, Layer, Need, Rule};
use offshoot_types::sidecar::NoSidecars;
use offshoot_types::store::Store;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;

use crate::stage::{Counter, Gate, Guard, Note, Script, call, kind, opening, say, task};

/// A tool that answers with a text of its own.
struct Lookup {
    spec: ToolSpec,
    says: String,
}

impl Lookup {
    fn tool(id: &str, says: &str) -> Arc<dyn Tool> {
        let schema = json!({ "type": "object" });
        Arc::new(Self {
            spec: ToolSpec::new(id, "Looks something up.", &schema, Effect::Read),
            says: says.to_owned(),
        })
    }
}

impl Tool for Lookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, _arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }

    fn run(&self, _work: Work) -> BoxFuture<'static, Outcome> {
        let outcome = Outcome::output(RawJson::of(&self.says));
        Box::pin(std::future::ready(outcome))
    }
}

/// One model and no other.
struct Only(&'static str, Arc<dyn Model>);

impl Models for Only {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let gone = || ModelError::new(ModelErrorKind::Config, format!("there is no model {name}"));
        (name == self.0).then(|| self.1.clone()).ok_or_else(gone)
    }
}

/// Denies writing everywhere.
struct NoWriting;

impl Charter for NoWriting {
    fn layers(&self, _workspace: &str) -> Vec<Layer> {
        let rules = [Rule::new(Need::FS_WRITE, "**", Action::Deny)];
        vec![Layer::of_agent("project", Some(&rules))]
    }
}

/// The projects of all workspaces; one that is not there cannot be opened.
#[derive(Clone, Default)]
struct Workspaces(Arc<Mutex<BTreeMap<String, Arc<Project>>>>);

impl Workspaces {
    fn put(&self, workspace: &str, project: Project) {
        let mut all = self.0.lock().unwrap();
        all.insert(workspace.to_owned(), Arc::new(project));
    }

    fn take(&self, workspace: &str) -> Arc<Project> {
        self.0.lock().unwrap().remove(workspace).unwrap()
    }
}

impl Projects for Workspaces {
    fn open<'a>(&'a self, workspace: &'a str) -> BoxFuture<'a, Result<Arc<Project>, ProjectError>> {
        let found = self.0.lock().unwrap().get(workspace).cloned();
        let found = found.ok_or_else(|| ProjectError {
            workspace: workspace.to_owned(),
            why: "it cannot be read".to_owned(),
        });
        Box::pin(std::future::ready(found))
    }
}

/// A project whose tool, agents and hooks have the names that those of every other have.
fn project(label: &str, model: impl Model + 'static) -> Project {
    let mut registry = Registry::default();
    registry.add(Manifest::new(
        "lead",
        Mode::Primary,
        format!("Lead {label}."),
    ));
    registry.add(Manifest::new(
        "worker",
        Mode::Subagent,
        format!("Work {label}."),
    ));
    Project {
        models: Arc::new(Only("script", Arc::new(model))),
        tools: Arc::new([
            Lookup::tool("lookup", label),
            Note::tool("write", Effect::Write, Need::FS_WRITE),
        ]),
        registry: Arc::new(registry),
        asks: Asks::NOBODY,
        helpers: Helpers::default(),
        hooks: Hooks::default(),
        charter: Arc::new(NoCharter),
    }
}

/// A process that holds sessions of many workspaces.
struct Process {
    runtime: Runtime,
    store: Arc<Handle>,
    env: Arc<Counter>,
    workspaces: Workspaces,
}

impl Process {
    fn new(workspaces: Workspaces) -> Self {
        let store = Arc::new(Handle::memory().unwrap());
        Self::on(store, Arc::default(), workspaces)
    }

    fn on(store: Arc<Handle>, env: Arc<Counter>, workspaces: Workspaces) -> Self {
        let runtime = Runtime::new(Parts {
            store: store.clone(),
            projects: Arc::new(workspaces.clone()),
            env: env.clone(),
            limits: Limits::default(),
            sidecars: Arc::new(NoSidecars),
            data: None,
        });
        Self {
            runtime,
            store,
            env,
            workspaces,
        }
    }

    /// Kills the process and starts another on the same store.
    async fn crash(self) -> Self {
        let again = Arc::new(self.store.another().unwrap());
        drop(self.runtime);
        while again.sessions().await.unwrap().iter().any(|it| it.owned) {
            tokio::task::yield_now().await;
        }
        Self::on(again, self.env, self.workspaces)
    }

    async fn order(&self, session: &str, order: Order) -> Result<Receipt, CommandError> {
        let agent = AgentId::new(session);
        let command = Command {
            id: CommandId::new(self.env.new_id()),
            tree: TreeId::of(agent.clone()),
            agent,
            order,
        };
        self.runtime.command(command).await
    }

    fn words(&self, text: &str) -> Prompt {
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

    async fn open(&self, session: &str, workspace: &str) -> Result<Receipt, CommandError> {
        self.open_as(session, workspace, "lead").await
    }

    async fn open_as(
        &self,
        session: &str,
        workspace: &str,
        definition: &str,
    ) -> Result<Receipt, CommandError> {
        let opening = Opening {
            workspace: workspace.to_owned(),
            ..opening(definition)
        };
        self.order(session, Order::open(opening)).await
    }

    async fn prompt(&self, session: &str) -> Result<Receipt, CommandError> {
        self.order(session, Order::Prompt(self.words("go"))).await
    }

    async fn ask(&self, session: &str) {
        assert_eq!(self.prompt(session).await.unwrap(), Receipt::Prompted);
        self.quiet(session).await;
    }

    async fn quiet(&self, session: &str) {
        let tree = TreeId::of(AgentId::new(session));
        let mut updates = self.runtime.subscribe(&tree, Pos::ZERO).await;
        // On a slow machine the process may have let the session go already, which it does when it is quiet.
        while !matches!(
            updates.next().await.unwrap(),
            Update::Idle | Update::Orphaned
        ) {}
    }

    fn attach(
        &self,
        session: &str,
        overlay: Overlay,
    ) -> Result<offshoot_engine::Attachment, AttachError> {
        let tree = TreeId::of(AgentId::new(session));
        self.runtime.attach(&tree, overlay)
    }

    async fn log(&self, session: &str) -> Vec<Entry> {
        let tree = TreeId::of(AgentId::new(session));
        let log = self.store.entries(&tree, Pos::ZERO, usize::MAX);
        log.await.unwrap()
    }

    /// Returns what calls of a session came to.
    async fn outcomes(&self, session: &str) -> Vec<Outcome> {
        let outcome = |entry: Entry| match entry.event {
            Event::CallFinished { outcome, .. } => Some(outcome),
            _ => None,
        };
        self.log(session)
            .await
            .into_iter()
            .filter_map(outcome)
            .collect()
    }

    /// Returns what `lookup` told a session and its children, in order.
    async fn looked_up(&self, session: &str) -> Vec<String> {
        let text = |outcome: &Outcome| match &outcome.body {
            Body::Output(data) => data.read::<String>().ok(),
            Body::Error { .. } => None,
        };
        self.outcomes(session)
            .await
            .iter()
            .filter_map(text)
            .collect()
    }
}

fn lookup() -> crate::stage::Line {
    call(&[("lookup", json!({}))])
}

fn with_tools(tools: Vec<Arc<dyn Tool>>) -> Overlay {
    Overlay {
        tools,
        ..Overlay::default()
    }
}

fn with_agents(agents: Vec<Manifest>) -> Overlay {
    Overlay {
        agents,
        ..Overlay::default()
    }
}

/// Returns the names of the tools that each request of a definition offers.
fn offered(script: &Script, definition: &str) -> Vec<BTreeSet<String>> {
    let names = |request: &Request| request.tools.iter().map(|tool| tool.id.clone()).collect();
    script.sent(definition).iter().map(names).collect()
}

#[tokio::test]
async fn r12_two_workspaces_with_the_same_names_at_once_share_nothing() {
    let workspaces = Workspaces::default();
    let gate = Gate::shut();
    let mut projects = Vec::new();
    for label in ["a", "b"] {
        let script = Script::default()
            .part(
                "lead",
                [
                    lookup().behind(&gate),
                    task("worker", "look"),
                    say("done"),
                    lookup(),
                ],
            )
            .part("worker", [lookup(), say(label)]);
        let guard = Arc::new(Guard::at(&[Point::PreToolUse, Point::SubagentStop]));
        let mut own = project(label, script.clone());
        own.hooks.watch(guard.clone());
        workspaces.put(&format!("/{label}"), own);
        projects.push((label, script, guard));
    }
    let process = Process::new(workspaces);
    for (label, ..) in &projects {
        process.open(label, &format!("/{label}")).await.unwrap();
        process.prompt(label).await.unwrap();
    }
    gate.open();
    for (label, script, guard) in &projects {
        process.quiet(label).await;
        assert_eq!(process.looked_up(label).await, [*label, *label]);
        let prompts = script.sent_to_all();
        assert_eq!(prompts.len(), 5);
        let own = [format!("Lead {label}."), format!("Work {label}.")];
        let is_own = |sent: &Request| own.iter().any(|own| sent.system.starts_with(own));
        assert!(prompts.iter().all(is_own));
        // Two of `lookup`, one of `task`, and the end of the child.
        let told = guard.seen();
        assert_eq!(told.len(), 4);
        assert!(
            told.iter()
                .all(|told| told.who.session == AgentId::new(*label))
        );
    }
    // Another client of one of them, after a restart.
    let process = process.crash().await;
    let overlay = with_tools(vec![Lookup::tool("lookup", "overlay of a")]);
    let _attached = process.attach("a", overlay).unwrap();
    for (label, ..) in &projects {
        process.ask(label).await;
    }
    assert_eq!(process.looked_up("a").await, ["a", "a", "overlay of a"]);
    assert_eq!(process.looked_up("b").await, ["b", "b", "b"]);
}

#[tokio::test]
async fn r12_an_overlay_holds_from_the_opening_and_one_attached_in_a_turn_from_the_next() {
    let workspaces = Workspaces::default();
    workspaces.put("/a", project("a", Script::default()));
    let process = Process::new(workspaces);
    let gate = Gate::shut();
    let own = Script::default().part(
        "guest",
        [
            lookup(),
            lookup().behind(&gate),
            say("one"),
            lookup(),
            say("two"),
            say("three"),
        ],
    );
    let overlay = Overlay {
        agents: vec![Manifest::new("guest", Mode::Primary, "Be a guest.")],
        tools: vec![Lookup::tool("lookup", "first")],
        models: vec![("own".to_owned(), Arc::new(own.clone()))],
        ..Overlay::default()
    };
    let _first = process.attach("s", overlay).unwrap();
    let opening = Opening {
        workspace: "/a".to_owned(),
        model: "own".to_owned(),
        ..opening("guest")
    };
    process.order("s", Order::open(opening)).await.unwrap();
    process.prompt("s").await.unwrap();
    while own.sent("guest").len() < 2 {
        tokio::task::yield_now().await;
    }
    let later = with_tools(vec![Lookup::tool("later", "second")]);
    let later = process.attach("s", later).unwrap();
    gate.open();
    process.quiet("s").await;
    process.ask("s").await;
    drop(later);
    process.ask("s").await;
    let has_later: Vec<bool> = offered(&own, "guest")
        .iter()
        .map(|tools| tools.contains("later"))
        .collect();
    assert_eq!(has_later, [false, false, false, true, true, false]);
    assert_eq!(process.looked_up("s").await, ["first"; 3]);
    // It belongs to that session alone.
    let other = process.open_as("other", "/a", "guest").await;
    assert!(matches!(other, Err(CommandError::Unknown(_))), "{other:?}");
}

#[tokio::test]
async fn r12_a_session_without_its_overlay_is_refused_and_works_again_with_it() {
    let workspaces = Workspaces::default();
    let script = Script::default().part("guest", [say("one"), say("two")]);
    workspaces.put("/a", project("a", script.clone()));
    let process = Process::new(workspaces);
    let guest = || Manifest::new("guest", Mode::Primary, "Be a guest.");
    let attached = process.attach("s", with_agents(vec![guest()])).unwrap();
    process.open_as("s", "/a", "guest").await.unwrap();
    process.ask("s").await;
    drop(attached);
    let process = process.crash().await;
    let before = process.log("s").await;
    let refused = process.prompt("s").await;
    let Err(CommandError::Missing(missing)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(missing, Missing::Agent("guest".to_owned()));
    assert_eq!(process.log("s").await, before);

    let _attached = process.attach("s", with_agents(vec![guest()])).unwrap();
    process.ask("s").await;
    assert_eq!(script.sent("guest").len(), 2);
}

#[tokio::test]
async fn r12_a_model_that_was_attached_is_missing_by_its_name() {
    let workspaces = Workspaces::default();
    workspaces.put("/a", project("a", Script::default()));
    let process = Process::new(workspaces);
    let own = Script::default().part("lead", [say("one"), say("two")]);
    let overlay = || Overlay {
        models: vec![("own".to_owned(), Arc::new(own.clone()))],
        ..Overlay::default()
    };
    let attached = process.attach("s", overlay()).unwrap();
    let opening = Opening {
        workspace: "/a".to_owned(),
        model: "own".to_owned(),
        ..opening("lead")
    };
    process.order("s", Order::open(opening)).await.unwrap();
    process.ask("s").await;
    // The session is still open here.
    drop(attached);
    let before = process.log("s").await;
    let refused = process.prompt("s").await;
    let Err(CommandError::Missing(missing)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(missing, Missing::Model("own".to_owned()));
    assert_eq!(process.log("s").await, before);
    let elsewhere = RoleChoice {
        model: Some("elsewhere".to_owned()),
        ..RoleChoice::default()
    };
    let refused = process.order("s", Order::SetRole(elsewhere)).await;
    let Err(CommandError::Missing(missing)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(missing, Missing::Model("elsewhere".to_owned()));
    assert_eq!(process.log("s").await, before);
    let _attached = process.attach("s", overlay()).unwrap();
    process.ask("s").await;
    assert_eq!(own.sent("lead").len(), 2);
}

#[tokio::test]
async fn r12_a_name_that_is_attached_twice_is_refused_and_the_first_stays() {
    let workspaces = Workspaces::default();
    let script = Script::default().part("lead", [lookup(), say("done")]);
    workspaces.put("/a", project("a", script.clone()));
    let process = Process::new(workspaces);
    let lead = |prompt: &str| Manifest::new("lead", Mode::Primary, prompt);
    let model = || -> Arc<dyn Model> { Arc::new(script.clone()) };
    let full = |says: &str| Overlay {
        agents: vec![lead(says)],
        tools: vec![Lookup::tool("lookup", says)],
        models: vec![("own".to_owned(), model())],
        ..Overlay::default()
    };
    let _first = process.attach("s", full("first")).unwrap();
    let replace = |text: &str| Overlay {
        system_message: Some(SystemMessage::Replace(text.to_owned())),
        ..Overlay::default()
    };
    let _replaced = process.attach("s", replace("Only this.")).unwrap();
    let models = Overlay {
        models: vec![("own".to_owned(), model())],
        ..Overlay::default()
    };
    let cases = [
        (full("second"), AttachError::Tool("lookup".to_owned())),
        (
            with_agents(vec![lead("x")]),
            AttachError::Agent("lead".to_owned()),
        ),
        (models, AttachError::Model("own".to_owned())),
        (
            with_agents(vec![
                Manifest::new("twin", Mode::All, "x"),
                Manifest::new("twin", Mode::All, "y"),
            ]),
            AttachError::Agent("twin".to_owned()),
        ),
        (
            with_tools(vec![Lookup::tool("task", "x")]),
            AttachError::EngineCall("task".to_owned()),
        ),
        (replace("That."), AttachError::SystemMessage),
    ];
    for (overlay, expected) in cases {
        assert_eq!(process.attach("s", overlay).err(), Some(expected));
    }
    // The same names for another session are no matter.
    let _other = process.attach("other", full("other")).unwrap();
    process.open("s", "/a").await.unwrap();
    process.ask("s").await;
    assert_eq!(process.looked_up("s").await, ["first"]);
    assert!(script.sent("lead")[0].system.starts_with("Only this."));
}

#[tokio::test]
async fn r12_an_overlay_agent_can_do_no_more_than_its_project_allows() {
    let workspaces = Workspaces::default();
    let script = Script::default();
    workspaces.put("/free", project("free", script.clone()));
    let mut held = project("held", script.clone());
    held.charter = Arc::new(NoWriting);
    workspaces.put("/held", held);
    let process = Process::new(workspaces);
    for session in ["free", "held"] {
        let write = call(&[("write", json!({ "path": "x" }))]);
        let _lines = script.clone().part("bold", [write, say("done")]);
        let bold = Manifest {
            permissions: Some(vec![Rule::new("*", "*", Action::Allow)]),
            ..Manifest::new("bold", Mode::Primary, "Write.")
        };
        let overlay = Overlay {
            agents: vec![bold],
            asks: Some(Asks::YES),
            ..Overlay::default()
        };
        let _attached = process.attach(session, overlay).unwrap();
        let workspace = format!("/{session}");
        process.open_as(session, &workspace, "bold").await.unwrap();
        process.ask(session).await;
    }
    assert_eq!(process.looked_up("free").await, ["done"]);
    assert_eq!(kind(&process.outcomes("held").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn r12_a_project_that_changes_in_a_turn_is_new_from_the_next_turn_on() {
    let workspaces = Workspaces::default();
    let gate = Gate::shut();
    let script = Script::default().part(
        "lead",
        [
            lookup(),
            lookup().behind(&gate),
            say("one"),
            lookup(),
            say("two"),
        ],
    );
    workspaces.put("/a", project("old", script.clone()));
    let process = Process::new(workspaces.clone());
    process.open("s", "/a").await.unwrap();
    process.prompt("s").await.unwrap();
    while script.sent("lead").len() < 2 {
        tokio::task::yield_now().await;
    }
    let mut new = project("new", script.clone());
    new.charter = Arc::new(NoWriting);
    workspaces.put("/a", new);
    gate.open();
    process.quiet("s").await;
    process.ask("s").await;
    assert_eq!(process.looked_up("s").await, ["old", "old", "new"]);
    let prompts: Vec<bool> = script
        .sent("lead")
        .iter()
        .map(|sent| sent.system.starts_with("Lead old."))
        .collect();
    assert_eq!(prompts, [true, true, true, false, false]);
    // Its rules count from then on as well.
    let _lines = script.part(
        "lead",
        [call(&[("write", json!({ "path": "x" }))]), say("no")],
    );
    process.ask("s").await;
    let last = process.outcomes("s").await.pop().unwrap();
    assert_eq!(kind(&last), ErrorKind::Denied);
}

#[tokio::test]
async fn r12_without_its_project_no_session_is_opened_and_an_open_one_keeps_what_it_has() {
    let workspaces = Workspaces::default();
    let process = Process::new(workspaces.clone());
    let is_of_project = |refused: Result<Receipt, CommandError>| match refused {
        Err(CommandError::Project(error)) => assert_eq!(error.workspace, "/a"),
        other => panic!("{other:?}"),
    };
    is_of_project(process.open("s", "/a").await);
    assert!(process.log("s").await.is_empty());

    let script = Script::default().part("lead", [lookup(), say("one"), lookup(), say("two")]);
    workspaces.put("/a", project("a", script));
    process.open("s", "/a").await.unwrap();
    let kept = workspaces.take("/a");
    process.ask("s").await;
    assert_eq!(process.looked_up("s").await, ["a"]);

    let process = process.crash().await;
    let before = process.log("s").await;
    is_of_project(process.prompt("s").await);
    assert_eq!(process.log("s").await, before);
    workspaces.put("/a", kept.as_ref().clone());
    process.ask("s").await;
    assert_eq!(process.looked_up("s").await, ["a", "a"]);
}

#[tokio::test]
async fn r12_a_system_message_is_the_roots_and_a_tool_filter_everyones() {
    let workspaces = Workspaces::default();
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("done")]);
    workspaces.put("/a", project("a", script.clone()));
    let process = Process::new(workspaces);
    let overlay = Overlay {
        system_message: Some(SystemMessage::Append("Be brief.".to_owned())),
        tool_filter: ToolFilter {
            available: Some(["lookup", "task", "write"].map(str::to_owned).into()),
            excluded: ["write".to_owned()].into(),
        },
        ..Overlay::default()
    };
    let _attached = process.attach("s", overlay).unwrap();
    process.open("s", "/a").await.unwrap();
    process.ask("s").await;
    let lead = &script.sent("lead")[0];
    assert!(lead.system.starts_with("Lead a.\n\nBe brief."));
    assert!(script.sent("worker")[0].system.starts_with("Work a."));
    assert!(!script.sent("worker")[0].system.contains("Be brief."));
    let both: BTreeSet<String> = ["lookup", "task"].map(str::to_owned).into();
    assert_eq!(offered(&script, "lead")[0], both);
    assert_eq!(offered(&script, "worker")[0], both);
}

/// Looks something up, then is done.
struct Curious;

impl Model for Curious {
    fn stream(
        &self,
        request: Request,
        _cancel: Cancel,
    ) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let line = if request.messages.len() == 1 {
            lookup()
        } else {
            say("done")
        };
        Script::default()
            .part(&request.from.definition.clone(), [line])
            .stream(request, _cancel)
    }
}

#[tokio::test]
async fn r12_a_thousand_sessions_of_two_hundred_workspaces_share_nothing() {
    let workspaces = Workspaces::default();
    for number in 0..200 {
        workspaces.put(&format!("/{number}"), project(&number.to_string(), Curious));
    }
    let process = Process::new(workspaces);
    let session = |number: usize| format!("s{number}");
    for number in 0..1_000 {
        let opening = Opening {
            workspace: format!("/{}", number % 200),
            prompt: Some(process.words("go")),
            ..opening("lead")
        };
        let opened = process.order(&session(number), Order::open(opening)).await;
        assert_eq!(opened.unwrap(), Receipt::Opened);
    }
    for number in 0..1_000 {
        process.quiet(&session(number)).await;
        let own = (number % 200).to_string();
        assert_eq!(process.looked_up(&session(number)).await, [own]);
    }
}
