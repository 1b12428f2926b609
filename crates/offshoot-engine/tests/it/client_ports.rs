//! What a client offers to the calls of its session, and which call is told apart for it.

use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use offshoot_engine::{Asks, Attachment, Limits, Overlay};
use offshoot_types::client_ports::{CallOrigin, ClientPorts, Files, Processes};
use offshoot_types::event::Event;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Need, Rule};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::{Value, json};

use crate::stage::{Script, Stage, call, kind, say, task};

/// A client that has one text for every path.
#[derive(Default)]
struct Editor {
    text: &'static str,
    origins: Mutex<Vec<CallOrigin>>,
}

impl ClientPorts for Editor {
    fn files(&self, origin: &CallOrigin) -> Option<Arc<dyn Files>> {
        self.origins.lock().unwrap().push(origin.clone());
        Some(Arc::new(Text(self.text)))
    }

    fn processes(&self, _origin: &CallOrigin) -> Option<Arc<dyn Processes>> {
        None
    }
}

struct Text(&'static str);

impl Files for Text {
    fn read_text<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(std::future::ready(Ok(Some(self.0.to_owned()))))
    }

    fn write_text<'a>(
        &'a self,
        _path: &'a str,
        _text: &'a str,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Err("it is read-only".to_owned())))
    }
}

/// A tool that returns what the client has; `no client` without one.
struct Peek(ToolSpec);

impl Peek {
    fn tool() -> Arc<dyn Tool> {
        let schema = json!({ "type": "object" });
        Arc::new(Self(ToolSpec::new("peek", "Peeks.", &schema, Effect::Read)))
    }
}

impl Tool for Peek {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, arguments: &RawJson, place: &Place) -> Result<Vec<Need>, String> {
        let arguments: Value = arguments.read().map_err(|error| error.to_string())?;
        let path = arguments["path"].as_str().ok_or("path is missing")?;
        let target = format!("{}/{path}", place.workspace);
        Ok(vec![Need::new(Need::FS_READ, target)])
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async move {
            let text = match work.files {
                Some(files) => files.read_text("/w/f").await.unwrap().unwrap(),
                None => "no client".to_owned(),
            };
            Outcome::output(RawJson::of(&text))
        })
    }
}

fn agent(name: &str, mode: Mode) -> Manifest {
    Manifest {
        tools: Toolset::only(["*"]),
        permissions: Some(vec![
            Rule::new("*", "*", Action::Allow),
            Rule::new(Need::FS_READ, "/w/secret", Action::Deny),
        ]),
        ..Manifest::new(name, mode, "Work.")
    }
}

async fn stage(script: Script) -> (Stage, Attachment) {
    let cast = vec![
        agent("lead", Mode::Primary),
        agent("worker", Mode::Subagent),
    ];
    let stage = Stage::cast(script, Limits::default(), Asks::YES, cast).await;
    let tool = stage.attach(vec![Peek::tool()]);
    (stage, tool)
}

fn attach(stage: &Stage, editor: &Arc<Editor>) -> Attachment {
    let client: Arc<dyn ClientPorts> = editor.clone();
    let overlay = Overlay {
        client: Some(client),
        ..Overlay::default()
    };
    stage.runtime.attach(&stage.tree, overlay).unwrap()
}

fn editor(text: &'static str) -> Arc<Editor> {
    Arc::new(Editor {
        text,
        ..Editor::default()
    })
}

fn peek(path: &str) -> crate::stage::Line {
    call(&[("peek", json!({ "path": path }))])
}

/// Returns what the calls of `peek` came to, in order.
async fn peeked(stage: &Stage) -> Vec<Outcome> {
    let log = stage.log().await.into_iter();
    let outcomes = log.filter_map(|entry| match entry.event {
        Event::CallFinished { outcome, .. } => Some(outcome),
        _ => None,
    });
    outcomes.collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_child_asks_the_client_in_the_childs_name_once_it_is_in_the_log() {
    let script = Script::default()
        .part("lead", [peek("f"), task("worker", "peek"), say("done")])
        .part("worker", [peek("f"), say("seen")]);
    let (stage, _tool) = stage(script).await;
    let editor = editor("typed");
    let _client = attach(&stage, &editor);
    stage.ask_and_wait("go").await;
    let child = stage.born("worker").await;
    let origins = editor.origins.lock().unwrap().clone();
    let agents: Vec<_> = origins.iter().map(|origin| origin.agent.clone()).collect();
    assert_eq!(agents, [stage.root(), child.clone()]);
    let log = stage.log().await;
    let is_birth = |entry: &&offshoot_types::event::Entry| {
        entry.agent == child && matches!(entry.event, Event::Spawned(_))
    };
    let born = log.iter().find(is_birth).unwrap();
    assert!(origins[1].after >= born.pos);
    let texts: Vec<String> = peeked(&stage)
        .await
        .iter()
        .map(Outcome::for_model)
        .collect();
    assert_eq!(texts[..2], ["typed", "typed"]);
}

#[tokio::test(start_paused = true)]
async fn of_two_clients_the_one_attached_last_counts_until_it_is_gone() {
    let lines = [
        peek("f"),
        say("1"),
        peek("f"),
        say("2"),
        peek("f"),
        say("3"),
    ];
    let (stage, _tool) = stage(Script::default().part("lead", lines)).await;
    let (first, second) = (editor("first"), editor("second"));
    let former = attach(&stage, &first);
    let latter = attach(&stage, &second);
    stage.ask_and_wait("1").await;
    drop(latter);
    stage.ask_and_wait("2").await;
    drop(former);
    stage.ask_and_wait("3").await;
    let texts: Vec<String> = peeked(&stage)
        .await
        .iter()
        .map(Outcome::for_model)
        .collect();
    assert_eq!(texts, ["second", "first", "no client"]);
}

#[tokio::test(start_paused = true)]
async fn a_path_that_a_rule_denies_is_not_asked_of_the_client() {
    let script = Script::default().part("lead", [peek("secret"), say("done")]);
    let (stage, _tool) = stage(script).await;
    let editor = editor("typed");
    let _client = attach(&stage, &editor);
    stage.ask_and_wait("go").await;
    let outcome = peeked(&stage).await.remove(0);
    assert_eq!(kind(&outcome), ErrorKind::Denied);
    assert_eq!(*editor.origins.lock().unwrap(), []);
}
