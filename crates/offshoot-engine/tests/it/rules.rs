//! Rules of the host, the project and the user, and what agents are offered because of them.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use offshoot_engine::{Asks, Limits};
use offshoot_types::command::Verdict;
use offshoot_types::event::{Entry, Event, Spawned};
use offshoot_types::json::RawJson;
use offshoot_types::manifest::{Context, Manifest, Mode, Toolset};
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::{Action, Decision, Grant, Layer, Need, Rule, Standing};
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use serde_json::json;

use crate::asks::{answer, asked, no};
use crate::stage::{Line, Script, Stage, call, data, kind, say, task};

fn write(path: &str) -> Line {
    call(&[("write", json!({ "path": path }))])
}

fn layer(name: &str, standing: Standing, rules: &[(&str, &str, Action)]) -> Layer {
    let rule = |(permission, pattern, action): &(&str, &str, Action)| {
        Rule::new(*permission, *pattern, *action)
    };
    Layer {
        name: name.to_owned(),
        rules: rules.iter().map(rule).collect(),
        standing,
        ..Layer::default()
    }
}

fn user(rules: &[(&str, &str, Action)]) -> Layer {
    layer("the user's rules", Standing::Grants, rules)
}

fn project(rules: &[(&str, &str, Action)]) -> Layer {
    layer("the project's rules", Standing::Narrows, rules)
}

/// Opens a session that nobody answers in and that is taken up with these layers above it.
async fn under(script: Script, layers: Vec<Layer>, cast: Vec<Manifest>) -> Stage {
    let stage = Stage::cast(script, Limits::default(), Asks::NOBODY, cast).await;
    stage.says(layers);
    stage.crash().await
}

async fn decided(stage: &Stage) -> Vec<Decision> {
    let log = stage.log().await.into_iter();
    log.filter_map(|entry| match entry.event {
        Event::Decided { decision, .. } => Some(decision),
        _ => None,
    })
    .collect()
}

async fn birth(stage: &Stage, definition: &str) -> Spawned {
    let log = stage.log().await.into_iter();
    log.filter_map(|entry| match entry.event {
        Event::Spawned(spawned) => Some(*spawned),
        _ => None,
    })
    .find(|spawned| spawned.definition == definition)
    .unwrap()
}

#[tokio::test]
async fn x_12_what_the_user_says_now_holds_for_a_session_that_goes_on_and_for_its_children() {
    let script = Script::default()
        .part(
            "lead",
            [write("a"), write("b"), task("worker", "go"), say("done")],
        )
        .part("worker", [write("a"), write("b"), say("done")]);
    let layers = vec![user(&[("fs.write", "/w/a", Action::Allow)])];
    let stage = under(script, layers, Vec::new()).await;
    stage.ask("go").await;
    for definition in ["lead", "worker"] {
        let outcomes = stage.outcomes(definition).await;
        assert_eq!(data(&outcomes[0]), json!("done"), "{definition}");
        assert_eq!(kind(&outcomes[1]), ErrorKind::Denied, "{definition}");
    }
    let first = &decided(&stage).await[0];
    assert_eq!(first.layer, "the user's rules");
    let rule = Rule::new("fs.write", "/w/a", Action::Allow);
    assert_eq!(first.rule, Some(rule));
}

#[tokio::test]
async fn a_projects_rules_narrow_and_widen_nothing() {
    let script = Script::default().part("lead", [write("a"), write("b"), write("c"), say("x")]);
    let layers = vec![
        project(&[
            ("fs.write", "/w/a", Action::Allow),
            ("fs.write", "/w/b", Action::Deny),
        ]),
        user(&[
            ("fs.write", "/w/b", Action::Allow),
            ("fs.write", "/w/c", Action::Allow),
        ]),
    ];
    let stage = under(script, layers, Vec::new()).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(
        kind(&outcomes[0]),
        ErrorKind::Denied,
        "its allow is worth nothing"
    );
    assert_eq!(kind(&outcomes[1]), ErrorKind::Denied, "its deny holds");
    assert_eq!(data(&outcomes[2]), json!("done"));
    let deciding = decided(&stage).await;
    let layers: Vec<&str> = deciding.iter().map(|said| said.layer.as_str()).collect();
    assert_eq!(
        layers,
        ["default", "the project's rules", "the user's rules"]
    );
}

#[tokio::test]
async fn an_agent_that_took_over_is_held_to_the_same_rules() {
    let script = Script::default()
        .part("lead", [say("as lead")])
        .part("helper", [write("a"), write("b"), say("as helper")]);
    let layers = vec![user(&[("fs.write", "/w/a", Action::Allow)])];
    let stage = under(script, layers, Vec::new()).await;
    stage.ask("first").await;
    crate::role::ask_as(&stage, "helper", "second").await;
    let outcomes = stage.outcomes("lead").await;
    assert_eq!(data(&outcomes[0]), json!("done"));
    assert_eq!(kind(&outcomes[1]), ErrorKind::Denied);
}

#[tokio::test]
async fn variables_in_a_manifest_are_the_agents_own_folders() {
    let writer = Manifest {
        permissions: Some(vec![
            Rule::new("fs.write", "{workspace}/docs/**", Action::Allow),
            Rule::new("fs.write", "notes/*", Action::Allow),
            Rule::new("fs.write", "{scratch}/**", Action::Allow),
            Rule::new("fs.write", "{home}/x", Action::Allow),
        ]),
        ..Manifest::new("writer", Mode::Subagent, "Write.")
    };
    let script = Script::default()
        .part("lead", [task("writer", "go"), say("done")])
        .part(
            "writer",
            [
                write("docs/a"),
                write("notes/b"),
                write("src/c"),
                say("done"),
            ],
        );
    let layers = vec![user(&[("fs.write", "/w/**", Action::Allow)])];
    let stage = under(script, layers, vec![writer]).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("writer").await;
    assert_eq!(data(&outcomes[0]), json!("done"));
    assert_eq!(data(&outcomes[1]), json!("done"));
    assert_eq!(kind(&outcomes[2]), ErrorKind::Denied);
    let born = birth(&stage, "writer").await;
    let patterns: Vec<&str> = born
        .layer
        .rules
        .iter()
        .map(|rule| rule.pattern.as_str())
        .collect();
    assert_eq!(patterns[..2], ["/w/docs/**", "/w/notes/*"]);
    assert!(
        patterns[2].starts_with("/w/.data/scratch/root/"),
        "{patterns:?}"
    );
    assert_eq!(patterns[3], "/home/me/x");
}

#[tokio::test]
async fn tls_03_a_coordinator_without_write_tools_has_children_that_write() {
    let coordinator = Manifest {
        tools: Toolset::only(["task"]),
        ..Manifest::new("coordinator", Mode::Subagent, "Delegate.")
    };
    let script = Script::default()
        .part("lead", [task("coordinator", "go"), say("done")])
        .part(
            "coordinator",
            [write("a"), task("worker", "go"), say("delegated")],
        )
        .part("worker", [write("a"), write("b"), say("written")]);
    let layers = vec![user(&[("fs.write", "/w/a", Action::Allow)])];
    let stage = under(script, layers, vec![coordinator]).await;
    stage.ask("go").await;
    let own = &stage.outcomes("coordinator").await[0];
    assert_eq!(kind(own), ErrorKind::UnknownTool, "it is not offered");
    let worker = stage.outcomes("worker").await;
    assert_eq!(data(&worker[0]), json!("done"), "`tools` is no permission");
    assert_eq!(kind(&worker[1]), ErrorKind::Denied, "what is above holds");
}

#[tokio::test]
async fn sa_33_a_coordinator_that_is_denied_to_write_has_no_child_that_writes() {
    let coordinator = Manifest {
        permissions: Some(vec![
            Rule::new("*", "*", Action::Allow),
            Rule::new("fs.write", "*", Action::Deny),
        ]),
        ..Manifest::new("coordinator", Mode::Subagent, "Delegate.")
    };
    let script = Script::default()
        .part("lead", [task("coordinator", "go"), say("done")])
        .part("coordinator", [write("a"), task("worker", "go"), say("no")])
        .part("worker", [write("a"), say("nor I")]);
    let layers = vec![user(&[("fs.write", "/w/a", Action::Allow)])];
    let stage = under(script, layers, vec![coordinator]).await;
    stage.ask("go").await;
    for definition in ["coordinator", "worker"] {
        let outcome = &stage.outcomes(definition).await[0];
        assert_eq!(kind(outcome), ErrorKind::Denied, "{definition}");
    }
}

/// A tool that says beforehand what it is of no use without.
struct Declared(ToolSpec, [&'static str; 1]);

impl Declared {
    fn tool(id: &str, capability: &'static str) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            id: id.to_owned(),
            description: format!("{id} for tests"),
            parameters: RawJson::of(&json!({ "type": "object" })),
            effect: Effect::Write,
        };
        Arc::new(Self(spec, [capability]))
    }
}

impl Tool for Declared {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn requires(&self) -> &[&'static str] {
        &self.1
    }

    fn needs(&self, _arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        Ok(vec![Need::new(self.1[0], "target")])
    }

    fn run(&self, _work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Outcome::output(RawJson::of(&"done")) })
    }
}

fn offered(stage: &Stage, definition: &str) -> Vec<String> {
    let sent = stage.script.sent(definition);
    sent[0].tools.iter().map(|tool| tool.id.clone()).collect()
}

#[tokio::test]
async fn a_tool_that_could_only_be_denied_is_not_in_the_request_and_the_receipt_says_so() {
    let held = |name: &str, context: Context| Manifest {
        tools: Toolset::only(["read", "pen", "key", "todo", "task"]),
        permissions: Some(vec![
            Rule::new("fs.read", "*", Action::Allow),
            Rule::new("credential.use", "*", Action::Allow),
            Rule::new("todo", "*", Action::Deny),
        ]),
        context,
        ..Manifest::new(name, Mode::Subagent, "Look.")
    };
    let cast = vec![held("held", Context::Fresh), held("heir", Context::Inherit)];
    let script = Script::default()
        .part(
            "lead",
            [task("held", "go"), task("heir", "go"), say("done")],
        )
        .part("held", [call(&[("pen", json!({}))]), say("done")])
        .part("heir", [call(&[("pen", json!({}))]), say("done")]);
    let stage = Stage::with_agents(script, cast).await;
    let tools = vec![
        Declared::tool("pen", "fs.write"),
        Declared::tool("key", "credential.use"),
    ];
    let _attached = stage.attach(tools);
    stage.ask("go").await;

    assert_eq!(offered(&stage, "held"), ["read", "task"]);
    let terms = birth(&stage, "held").await.terms;
    assert_eq!(terms.tools, ["read", "task"]);
    assert_eq!(terms.barred_tools, ["pen", "key", "todo"]);
    assert!(terms.missing_tools.is_empty(), "{:?}", terms.missing_tools);
    assert!(stage.outcomes("held").await[0].is_error());
    // Who inherits sees what its parent sees, and is refused when it calls.
    assert_eq!(offered(&stage, "heir"), offered(&stage, "lead"));
    assert!(stage.outcomes("heir").await[0].is_error());
    assert!(offered(&stage, "lead").contains(&"pen".to_owned()));
}

#[tokio::test]
async fn agents_of_one_kind_are_offered_what_their_places_allow() {
    let narrow = Manifest {
        read_only: true,
        ..Manifest::new("narrow", Mode::Subagent, "Look.")
    };
    let script = Script::default()
        .part(
            "lead",
            [task("narrow", "go"), task("worker", "go"), say("done")],
        )
        .part("narrow", [task("worker", "go"), say("done")])
        .part("worker", [say("below"), say("beside")]);
    let stage = Stage::with_agents(script, vec![narrow]).await;
    let _attached = stage.attach(vec![Declared::tool("pen", "fs.write")]);
    stage.ask("go").await;
    let sent = stage.script.sent("worker");
    let has_pen = |index: usize| sent[index].tools.iter().any(|tool| tool.id == "pen");
    assert_eq!([has_pen(0), has_pen(1)], [false, true]);
}

#[tokio::test]
async fn sa_35_a_credential_that_the_user_allows_is_the_roots_and_no_childs() {
    let use_key = || call(&[("key", json!({}))]);
    let script = Script::default()
        .part("lead", [use_key(), task("worker", "go"), say("done")])
        .part("worker", [use_key(), say("could not")]);
    let layers = vec![user(&[("*", "*", Action::Allow)])];
    let stage = under(script, layers, Vec::new()).await;
    let spec = ToolSpec {
        id: "key".to_owned(),
        description: "key for tests".to_owned(),
        parameters: RawJson::of(&json!({ "type": "object" })),
        effect: Effect::Write,
    };
    // It does not say beforehand what it needs, so it is offered to everybody.
    let _attached = stage.attach(vec![Arc::new(Undeclared(spec))]);
    stage.ask("go").await;
    assert_eq!(data(&stage.outcomes("lead").await[0]), json!("done"));
    let child = &stage.outcomes("worker").await[0];
    assert_eq!(kind(child), ErrorKind::Denied);
    assert!(child.for_model().contains("never handed on"), "{child:?}");
}

struct Undeclared(ToolSpec);

impl Tool for Undeclared {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn needs(&self, _arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        Ok(vec![Need::new("credential.use", "github")])
    }

    fn run(&self, _work: Work) -> BoxFuture<'static, Outcome> {
        Box::pin(async { Outcome::output(RawJson::of(&"done")) })
    }
}

#[tokio::test]
async fn exa_03_two_children_at_once_cannot_use_what_the_other_may() {
    let own = |name: &str| Manifest {
        permissions: Some(vec![Rule::new(
            "fs.write",
            format!("{name}/**"),
            Action::Allow,
        )]),
        ..Manifest::new(name, Mode::Subagent, "Write.")
    };
    let both = call(&[
        ("task", json!({ "subagent_type": "one", "prompt": "go" })),
        ("task", json!({ "subagent_type": "two", "prompt": "go" })),
    ]);
    let script = Script::default()
        .part("lead", [both, say("done")])
        .part("one", [write("one/a"), write("two/a"), say("done")])
        .part("two", [write("two/a"), write("one/a"), say("done")]);
    let layers = vec![user(&[("fs.write", "/w/**", Action::Allow)])];
    let stage = under(script, layers, vec![own("one"), own("two")]).await;
    stage.ask("go").await;
    for name in ["one", "two"] {
        let outcomes = stage.outcomes(name).await;
        assert_eq!(data(&outcomes[0]), json!("done"), "{name}");
        assert_eq!(kind(&outcomes[1]), ErrorKind::Denied, "{name}");
    }
}

#[test]
fn calls_that_are_about_no_agent_are_those_that_rules_take_no_name_for() {
    let mut about_none: Vec<&str> = offshoot_engine::own_calls()
        .filter(|call| !offshoot_engine::is_about_an_agent(call))
        .collect();
    about_none.sort_unstable();
    let mut known = offshoot_types::permission::written::ABOUT_NO_AGENT;
    known.sort_unstable();
    assert_eq!(about_none, known);
}

#[tokio::test]
async fn r22_a_yes_for_the_session_leaves_what_a_rule_of_the_user_asks_to_be_asked() {
    let script = Script::default().part(
        "lead",
        [
            write("a"),
            write("b"),
            write(".env"),
            write(".env"),
            say("done"),
        ],
    );
    let cast = Vec::new();
    let stage = Stage::cast(script, Limits::default(), Asks::SOMEBODY, cast).await;
    stage.says(vec![user(&[("fs.write", "/w/.env", Action::Ask)])]);
    let stage = stage.crash().await;
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Session).await;
    // The second file is like the first; the third is asked about because somebody wrote so.
    answer(&stage, asked(&stage, 2).await, Verdict::Session).await;
    stage.quiet().await;
    let layers: Vec<String> = decided(&stage)
        .await
        .into_iter()
        .map(|decision| decision.layer)
        .collect();
    assert_eq!(layers, [Grant::SESSION; 4]);
    let asks = |entry: &&Entry| matches!(entry.event, Event::Asked { .. });
    assert_eq!(stage.log().await.iter().filter(asks).count(), 2);
}

#[tokio::test]
async fn x_12_an_agent_whose_rules_name_paths_may_do_what_they_allow_from_the_first() {
    let clerk = Manifest {
        permissions: Some(vec![Rule::new("fs.write", "docs/**", Action::Allow)]),
        ..Manifest::new("clerk", Mode::All, "Write.")
    };
    let script = Script::default()
        .part("lead", [task("clerk", "go"), say("done")])
        .part("clerk", [write("docs/b"), write("src/b"), say("done")]);
    // No process before this one has had the session.
    let stage = Stage::with_agents(script, vec![clerk]).await;
    stage.ask("go").await;
    let outcomes = stage.outcomes("clerk").await;
    assert_eq!(data(&outcomes[0]), json!("done"));
    assert_eq!(kind(&outcomes[1]), ErrorKind::Denied);
}

#[tokio::test]
async fn r22_a_yes_to_one_file_is_none_to_what_a_layer_that_only_narrows_asks_about() {
    let script = Script::default().part("lead", [write("a"), write(".git/config"), say("done")]);
    let stage = Stage::asking(script, Limits::default(), Asks::SOMEBODY).await;
    stage.says(vec![project(&[("fs.write", "/w/.git/**", Action::Ask)])]);
    let stage = stage.crash().await;
    stage.prompt(stage.root(), "go").await;
    answer(&stage, asked(&stage, 1).await, Verdict::Session).await;
    answer(&stage, asked(&stage, 2).await, no("")).await;
    stage.quiet().await;
    assert_eq!(kind(&stage.outcomes("lead").await[1]), ErrorKind::Denied);
    let log = stage.log().await;
    let asks = log.iter().filter_map(|entry| match &entry.event {
        Event::Asked { decision, .. } => Some(decision.layer.clone()),
        _ => None,
    });
    assert_eq!(asks.collect::<Vec<_>>(), ["default", "the project's rules"]);
}
