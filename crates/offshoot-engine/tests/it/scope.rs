//! What a child is offered and held to: its manifest, its place, its terms.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_types::event::{Event, Spawned};
use offshoot_types::id::AgentId;
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Need};
use offshoot_types::tool::{Effect, Place, Reach, Tool, ToolSpec, Work};
use serde_json::json;

use crate::stage::{Script, Stage, call, data, kind, say, task};

fn read_only(name: &str) -> Manifest {
    Manifest {
        read_only: true,
        ..Manifest::new(name, Mode::All, "Look.")
    }
}

#[tokio::test]
async fn spawns_says_which_agents_an_agent_may_spawn() {
    let manager = Manifest {
        spawns: Some(vec!["worker".to_owned()]),
        ..Manifest::new("manager", Mode::Subagent, "Manage.")
    };
    let script = Script::default()
        .part("lead", [task("manager", "go"), say("done")])
        .part(
            "manager",
            [task("helper", "go"), task("worker", "go"), say("ok")],
        )
        .part("worker", [say("fine")]);
    let stage = Stage::with_agents(script, vec![manager]).await;
    stage.ask("go").await;

    let outcomes = stage.outcomes("manager").await;
    assert_eq!(kind(&outcomes[0]), ErrorKind::Denied);
    assert_eq!(data(&outcomes[1]), json!({ "output": "fine" }));
    let request = &stage.script.sent("manager")[0];
    let catalogue = |id: &str| {
        let spec = request.tools.iter().find(|tool| tool.id == "task");
        spec.unwrap().description.contains(id)
    };
    assert!(catalogue("[worker") && !catalogue("[helper"), "not offered");
}

#[tokio::test]
async fn pd_22_read_only_is_judged_on_the_real_inputs_and_reaches_everybody_below() {
    let calls = [
        ("read", json!({ "path": "a" })),
        ("write", json!({ "path": "a" })),
        ("run", json!({ "path": "a" })),
    ];
    let script = Script::default()
        .part("lead", [task("looker", "go"), say("done")])
        .part("looker", [call(&calls), task("worker", "go"), say("ok")])
        .part("worker", [call(&calls), say("tried")]);
    // Whatever is asked is allowed: what holds is not an ask.
    let stage = Stage::with_agents(script, vec![read_only("looker")]).await;
    stage.ask("go").await;

    for definition in ["looker", "worker"] {
        let outcomes = stage.outcomes(definition).await;
        let (denied, read): (Vec<_>, Vec<_>) =
            outcomes[..3].iter().partition(|outcome| outcome.is_error());
        assert_eq!(data(read[0]), json!("done"), "{definition} reads");
        assert_eq!(denied.len(), 2, "{definition}");
        assert!(
            denied
                .iter()
                .all(|outcome| kind(outcome) == ErrorKind::Denied)
        );
    }
    assert!(stage.outcomes("looker").await.len() > 3, "task stays");
}

/// A tool that changes something and says of nothing that it needs it.
struct Silent(ToolSpec, Reach);

impl Silent {
    fn tool(id: &str, reach: Reach) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            id: id.to_owned(),
            description: String::new(),
            parameters: RawJson::of(&json!({ "type": "object" })),
            effect: Effect::Write,
        };
        Arc::new(Self(spec, reach))
    }
}

impl Tool for Silent {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, _: &RawJson, _: &Place) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }

    fn run(&self, _: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Outcome::output(RawJson::of(&"changed")) })
    }

    fn reach(&self) -> Reach {
        self.1
    }
}

#[tokio::test]
async fn a_tool_that_changes_what_it_does_not_name_is_not_for_a_read_only_agent() {
    let script = Script::default()
        .part(
            "lead",
            [call(&[("silent", json!({}))]), task("looker", "go")],
        )
        .part("looker", [call(&[("silent", json!({}))]), say("ok")]);
    let stage = Stage::with_agents(script, vec![read_only("looker")]).await;
    let _attached = stage
        .runtime
        .attach(vec![Silent::tool("silent", Reach::Everyone)]);
    stage.ask("go").await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("changed"));
    assert_eq!(kind(&stage.outcomes("looker").await[0]), ErrorKind::Denied);
}

#[tokio::test]
async fn pd_20_what_is_for_the_root_only_never_reaches_a_child() {
    let asker = Manifest {
        tools: Toolset::only(["switch", "ask", "task"]),
        ..Manifest::new("asker", Mode::Subagent, "Ask.")
    };
    let script = Script::default()
        .part("lead", [task("worker", "go"), task("asker", "go")])
        .part("worker", [call(&[("switch", json!({}))]), say("ok")]);
    let stage = Stage::with_agents(script, vec![asker]).await;
    let _attached = stage.runtime.attach(vec![
        Silent::tool("switch", Reach::RootOnly),
        Silent::tool("ask", Reach::RootUnlessNamed),
    ]);
    stage.ask("go").await;

    let offered = |definition: &str| {
        let request = stage.script.sent(definition).remove(0);
        let ids = request.tools.iter().map(|tool| tool.id.clone());
        ids.filter(|id| ["switch", "ask"].contains(&id.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(offered("lead"), ["switch", "ask"]);
    assert!(offered("worker").is_empty());
    assert_eq!(offered("asker"), ["ask"], "named, and not for roots only");
    assert_eq!(
        kind(&stage.outcomes("worker").await[0]),
        ErrorKind::UnknownTool
    );
}

async fn terms(stage: &Stage, agent: &AgentId) -> Spawned {
    let log = stage.log().await;
    log.iter()
        .find_map(|entry| match &entry.event {
            Event::Spawned(spawned) if entry.agent == *agent => Some((**spawned).clone()),
            _ => None,
        })
        .unwrap()
}

#[tokio::test]
async fn a_spawn_leaves_a_receipt_of_what_was_asked_for_and_what_there_is() {
    let picky = Manifest {
        tools: Toolset::only(["read", "write", "telescope"]),
        model: Some("other".to_owned()),
        effort: Some(offshoot_types::manifest::Effort::Low),
        ..read_only("picky")
    };
    let script = Script::default().part("lead", [task("picky", "go"), say("done")]);
    let stage = Stage::with_agents(script, vec![picky]).await;
    stage.ask("go").await;

    let child = stage.born("picky").await;
    let spawned = terms(&stage, &child).await;
    assert_eq!(spawned.model, "other");
    assert_eq!(spawned.terms.tools, ["read", "write"]);
    assert_eq!(spawned.terms.missing_tools, ["telescope"]);
    assert_eq!(spawned.terms.effort.unwrap().to_string(), "low");
    let said = |capability: &str| spawned.terms.permissions[capability];
    assert_eq!(said("fs.read"), Action::Allow);
    assert_eq!(said("fs.write"), Action::Deny);
    assert_eq!(said("shell.run"), Action::Deny);

    let root = terms(&stage, &stage.root()).await;
    let own = [
        "todo", "task", "question", "children", "wait", "message", "cancel",
    ];
    assert_eq!(root.terms.tools[..3], ["read", "write", "run"]);
    assert_eq!(root.terms.tools[3..], own);
    assert_eq!(root.terms.permissions["fs.write"], Action::Ask);
}
