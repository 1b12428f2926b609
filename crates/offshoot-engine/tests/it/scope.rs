//! What a child is offered and held to: its manifest, its place, its terms.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_engine::Update;
use offshoot_types::command::Opening;
use offshoot_types::event::{Event, Spawned};
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Manifest, Mode, Toolset};
use offshoot_types::model::Request;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Need, Rule};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;

use crate::stage::{Script, Stage, call, data, kind, opening, say, task};

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
struct Silent(ToolSpec);

impl Silent {
    fn tool(id: &str) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            id: id.to_owned(),
            description: String::new(),
            parameters: RawJson::of(&json!({ "type": "object" })),
            effect: Effect::Write,
        };
        Arc::new(Self(spec))
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
    let _attached = stage.attach(vec![Silent::tool("silent")]);
    stage.ask("go").await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("changed"));
    assert_eq!(kind(&stage.outcomes("looker").await[0]), ErrorKind::Denied);
}

/// A manifest of a mode, with every kind of tool: the host's, the engine's, those wanted by name only.
/// What it may start is fixed, because the list of agents in `task` has those that agents may start.
fn everywhere(mode: Mode) -> Manifest {
    Manifest {
        tools: Toolset::only(["*", "question", "plan_exit"]),
        permissions: Some(vec![
            Rule::new("*", "*", Action::Allow),
            Rule::new("fs.write", "docs/**", Action::Deny),
        ]),
        spawns: Some(vec!["worker".to_owned()]),
        ..Manifest::new("subject", mode, "Work.")
    }
}

/// Returns what the subject of a mode is sent and held to as a root, or as a child at a depth.
async fn placed(mode: Mode, depth: usize) -> (Request, Spawned) {
    let cast = vec![everywhere(mode)];
    let mut script = Script::default().part("subject", [say("here")]);
    for level in ["lead", "worker", "watched"].into_iter().take(depth) {
        let next = match (level, depth) {
            ("lead", 1) | ("watched", _) => "subject",
            ("lead", _) => "worker",
            _ => "watched",
        };
        script = script.part(level, [task(next, "go"), say("done")]);
    }
    let stage = Stage::with_agents(script, cast).await;
    if depth == 0 {
        let opening = Opening {
            prompt: Some(stage.words("go")),
            ..opening("subject")
        };
        stage.open_as("other", opening).await;
        let tree = TreeId::of(AgentId::new("other"));
        let mut updates = stage.runtime.subscribe(&tree, Pos::ZERO).await;
        let mut births = Vec::new();
        while births.is_empty() || stage.script.sent("subject").is_empty() {
            if let Update::Entry(entry) = updates.next().await.unwrap()
                && let Event::Spawned(born) = &entry.event
            {
                births.push((**born).clone());
            }
        }
        return (stage.script.sent("subject").remove(0), births.remove(0));
    }
    stage.ask("go").await;
    let child = stage.born("subject").await;
    let born = terms(&stage, &child).await;
    assert_eq!(born.depth as usize, depth);
    (stage.script.sent("subject").remove(0), born)
}

#[tokio::test]
async fn sa_06_sa_41_the_same_manifest_has_the_same_tools_in_every_mode_and_at_every_depth() {
    let (first, born) = placed(Mode::Primary, 0).await;
    let ids: Vec<&str> = first.tools.iter().map(|tool| tool.id.as_str()).collect();
    for tool in ["write", "plan_exit", "task", "question", "wait"] {
        assert!(ids.contains(&tool), "{tool}: {ids:?}");
    }
    for (mode, depth) in [
        (Mode::All, 0),
        (Mode::All, 1),
        (Mode::All, 3),
        (Mode::Subagent, 1),
        (Mode::Subagent, 3),
    ] {
        let (request, other) = placed(mode, depth).await;
        assert_eq!(request.tools, first.tools, "{mode} at {depth}");
        assert_eq!(request.system, first.system, "{mode} at {depth}");
        assert_eq!(other.layer, born.layer, "{mode} at {depth}");
        assert_eq!(other.terms.tools, born.terms.tools, "{mode} at {depth}");
        let said = |born: &Spawned| born.terms.permissions.clone();
        assert_eq!(said(&other), said(&born), "{mode} at {depth}");
    }
}

#[tokio::test]
async fn sa_06_question_and_plan_exit_are_offered_where_tools_names_them_exactly() {
    let with = |tools: Toolset| Manifest {
        tools,
        ..Manifest::new("subject", Mode::Primary, "Work.")
    };
    let list = |names: &[&str]| Toolset {
        allow: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        deny: Vec::new(),
    };
    let cases = [
        (Toolset::default(), vec![]),
        (list(&["*"]), vec![]),
        (list(&["ques*", "plan_*"]), vec![]),
        (list(&["*", "question"]), vec!["question"]),
        (list(&["plan_exit"]), vec!["plan_exit"]),
        (
            Toolset {
                deny: vec!["question".to_owned()],
                ..list(&["question", "plan_exit"])
            },
            vec!["plan_exit"],
        ),
    ];
    for (tools, expected) in cases {
        let script = Script::default().part("subject", [say("here")]);
        let stage = Stage::with_agents(script, vec![with(tools.clone())]).await;
        crate::role::ask_as(&stage, "subject", "go").await;
        let request = stage.script.sent("subject").remove(0);
        let ids = request.tools.iter().map(|tool| tool.id.as_str());
        let ids: Vec<&str> = ids
            .filter(|id| ["question", "plan_exit"].contains(id))
            .collect();
        assert_eq!(ids, expected, "{tools:?}");
    }
}

#[tokio::test]
async fn sa_06_a_child_that_calls_plan_exit_is_told_to_return_its_plan() {
    let planner = Manifest {
        read_only: true,
        tools: Toolset::only(["read", "plan_exit"]),
        ..Manifest::new("planner", Mode::All, "Plan.")
    };
    let plan = call(&[("plan_exit", json!({ "plan": "1. paint it" }))]);
    let script = Script::default()
        .part("lead", [task("planner", "plan it"), say("done")])
        .part("planner", [plan, say("1. paint it")]);
    // No permission is requested although a person is there.
    let asks = offshoot_engine::Asks::SOMEBODY;
    let limits = offshoot_engine::Limits::default();
    let stage = Stage::cast(script, limits, asks, vec![planner]).await;
    stage.ask("go").await;
    let refused = &stage.outcomes("planner").await[0];
    assert_eq!(kind(refused), ErrorKind::Failed);
    let told = refused.for_model();
    assert!(told.contains("return the plan as your answer"), "{told}");
    let output = json!({ "output": "1. paint it" });
    assert_eq!(data(&stage.outcomes("lead").await[0]), output);
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
