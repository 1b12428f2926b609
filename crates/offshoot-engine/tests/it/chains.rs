//! The chains of random manifests: no child may do more than its parent, and `tools` is no part of one.

use std::sync::Arc;

use offshoot_engine::{chain_in, chain_of};
use offshoot_types::event::Entry;
use offshoot_types::manifest::{Manifest, Mode, Registry, Toolset};
use offshoot_types::permission::charter::{Charter, NoCharter};
use offshoot_types::permission::{Action, Layer, Need, Permissions, Rule, Standing};
use offshoot_types::stored;
use offshoot_types::tree::Tree;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::stage::{Script, Stage, say, task};

const WORKSPACE: &str = "/w";

/// What the user says before any agent does.
struct User(Vec<Rule>);

impl Charter for User {
    fn layers(&self, _workspace: &str) -> Vec<Layer> {
        vec![Layer {
            name: "the user's rules".to_owned(),
            rules: self.0.clone(),
            standing: Standing::Grants,
            ..Layer::default()
        }]
    }

    fn home(&self) -> Option<&str> {
        Some("/home/me")
    }
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let permissions = [
        "*",
        "fs.read",
        "fs.write",
        "shell.run",
        "shell.opaque",
        "net.fetch",
        "agent.switch",
        "bash",
        "write",
        "task",
    ];
    let patterns = [
        "*",
        "docs/**",
        "{workspace}/**",
        "{workspace}/docs/a",
        "**/a",
        "{home}/**",
        "git *",
        "git push *",
        "*.example.com",
        "explore",
    ];
    let actions = [Action::Deny, Action::Ask, Action::Allow];
    let parts = (
        select(permissions.to_vec()),
        select(patterns.to_vec()),
        select(actions.to_vec()),
    );
    parts.prop_map(|(permission, pattern, action)| Rule::new(permission, pattern, action))
}

fn any_mode() -> impl Strategy<Value = Mode> {
    select(vec![Mode::Primary, Mode::Subagent, Mode::All])
}

fn any_tools() -> impl Strategy<Value = Toolset> {
    let names = [
        "*",
        "read",
        "write",
        "bash",
        "task",
        "question",
        "plan_exit",
    ];
    let names = || vec(select(names.to_vec()).prop_map(str::to_owned), 0..4);
    (prop::option::of(names()), names()).prop_map(|(allow, deny)| Toolset { allow, deny })
}

fn any_manifest() -> impl Strategy<Value = Manifest> {
    let parts = (
        any_mode(),
        any_tools(),
        prop::option::of(vec(any_rule(), 0..5)),
        any::<bool>(),
    );
    parts.prop_map(|(mode, tools, permissions, read_only)| Manifest {
        tools,
        permissions,
        read_only,
        ..Manifest::new("any", mode, "Work.")
    })
}

/// A call: a tool, and what it needs. The engine's own calls need nothing and are about an agent.
#[derive(Clone, Debug)]
enum Call {
    Tool(&'static str, Need),
    Engine(&'static str, &'static str),
}

impl Call {
    fn decide(&self, chain: &Permissions) -> Action {
        match self {
            Self::Tool(tool, need) => chain.decide(tool, need).action,
            Self::Engine(call, about) => chain
                .decide_call(call, &[about])
                .map_or(Action::Allow, |decision| decision.action),
        }
    }
}

fn any_call() -> impl Strategy<Value = Call> {
    let tools = [
        ("read", "fs.read", "/w/docs/a"),
        ("read", "fs.read", "/w/src/a"),
        ("read", "fs.read", "/home/me/a"),
        ("write", "fs.write", "/w/docs/a"),
        ("write", "fs.write", "/w/src/b"),
        ("bash", "fs.write", "/w/src/b"),
        ("bash", "shell.run", "git push x"),
        ("bash", "shell.run", "ls"),
        ("bash", "shell.opaque", "sh -c x"),
        ("fetch", "net.fetch", "a.example.com"),
        ("plan_exit", "agent.switch", "build"),
        ("secret", "credential.use", "github"),
    ];
    let tools = select(tools.to_vec());
    let tools = tools.prop_map(|(tool, of, target)| Call::Tool(tool, Need::new(of, target)));
    let own = [("task", "explore"), ("message", "general"), ("todo", "")];
    let own = select(own.to_vec()).prop_map(|(call, about)| Call::Engine(call, about));
    prop_oneof![4 => tools, 1 => own]
}

proptest! {
    #[test]
    fn sa_31_sa_32_sa_33_what_a_child_is_allowed_its_parent_is_allowed(
        user in vec(any_rule(), 0..4),
        path in vec(any_manifest(), 1..6),
        calls in vec(any_call(), 1..8),
    ) {
        let user = User(user);
        for call in calls {
            let mut above = call.decide(&chain_of([], WORKSPACE, &user, None));
            for depth in 1..=path.len() {
                let chain = chain_of(&path[..depth], WORKSPACE, &user, None);
                let said = call.decide(&chain);
                prop_assert!(said <= above, "{call:?}: {said:?} below {above:?}");
                above = said;
            }
        }
    }

    #[test]
    fn tls_03_sa_06_other_tools_or_another_mode_change_no_chain(
        path in vec((any_manifest(), any_tools(), any_mode()), 1..6),
        calls in vec(any_call(), 1..8),
    ) {
        let born = path.iter().map(|(manifest, ..)| manifest.clone());
        let born: Vec<Manifest> = born.collect();
        let changed = path.into_iter().map(|(manifest, tools, mode)| Manifest {
            tools,
            mode,
            ..manifest
        });
        let changed: Vec<Manifest> = changed.collect();
        let [born, changed] =
            [&born, &changed].map(|path| chain_of(path, WORKSPACE, &NoCharter, None));
        prop_assert_eq!(born.layers(), changed.layers());
        for call in calls {
            prop_assert_eq!(call.decide(&born), call.decide(&changed), "{:?}", call);
        }
    }
}

/// Returns what a child of this parent may do that is itself held to nothing.
fn below(parent: Manifest, capability: &str, target: &str) -> Action {
    let user = User(vec![Rule::new("*", "*", Action::Allow)]);
    let child = Manifest {
        permissions: Some(vec![Rule::new("*", "*", Action::Allow)]),
        ..Manifest::new("child", Mode::Subagent, "Work.")
    };
    let chain = chain_of([&parent, &child], WORKSPACE, &user, None);
    chain.decide("any", &Need::new(capability, target)).action
}

fn parent(rules: &[(&str, &str, Action)]) -> Manifest {
    let rule = |(permission, pattern, action): &(&str, &str, Action)| {
        Rule::new(*permission, *pattern, *action)
    };
    Manifest {
        permissions: Some(rules.iter().map(rule).collect()),
        ..Manifest::new("parent", Mode::Primary, "Work.")
    }
}

#[test]
fn sa_33_a_parent_that_is_denied_to_write_has_no_child_that_writes() {
    let parent = parent(&[("*", "*", Action::Allow), ("fs.write", "*", Action::Deny)]);
    assert_eq!(below(parent.clone(), "fs.write", "/w/a"), Action::Deny);
    assert_eq!(below(parent, "fs.read", "/w/a"), Action::Allow);
}

#[test]
fn sa_33_a_parent_that_lacks_the_shell_has_no_child_with_one() {
    let parent = parent(&[
        ("fs.read", "*", Action::Allow),
        ("fs.write", "*", Action::Allow),
    ]);
    assert_eq!(below(parent.clone(), "shell.run", "ls"), Action::Deny);
    assert_eq!(below(parent, "fs.write", "/w/a"), Action::Allow);
}

#[test]
fn sa_33_a_parent_scoped_to_docs_has_no_child_with_a_wider_scope() {
    let docs = "{workspace}/docs/**";
    let parent = parent(&[
        ("fs.read", docs, Action::Allow),
        ("fs.write", docs, Action::Allow),
    ]);
    for capability in ["fs.read", "fs.write"] {
        let said = |target| below(parent.clone(), capability, target);
        assert_eq!(said("/w/docs/a"), Action::Allow);
        assert_eq!(said("/w/src/a"), Action::Deny);
        assert_eq!(said("/etc/passwd"), Action::Deny);
    }
}

/// Returns a tree as an older version would have stored it, whose root had `own_permissions`.
fn as_stored_with_own_permissions(log: Vec<Entry>) -> Tree {
    let own =
        r#""standing":"narrows","own":[{"permission":"fs.read","pattern":"*","action":"deny"}]}"#;
    let mut tree = Tree::default();
    for (index, mut entry) in log.into_iter().enumerate() {
        if index == 0 {
            let line = stored::write(&entry.event).unwrap();
            let line = line.replacen(r#""standing":"narrows"}"#, own, 1);
            assert!(line.contains(own), "{line}");
            entry.event = stored::read(stored::FORM, &line).unwrap();
        }
        tree.apply(&entry).unwrap();
    }
    tree
}

#[tokio::test]
async fn sa_33_own_permissions_of_an_old_log_hold_for_the_whole_subtree() {
    let script = Script::default()
        .part("lead", [task("worker", "go"), say("done")])
        .part("worker", [say("here")]);
    let stage = Stage::new(script).await;
    stage.ask("go").await;
    for agent in [stage.root(), stage.born("worker").await] {
        let tree = as_stored_with_own_permissions(stage.log().await);
        let found = chain_in(
            tree,
            &agent,
            Arc::new(NoCharter),
            &Registry::default(),
            None,
        );
        let (chain, _) = found.unwrap();
        let said = chain.decide("read", &Need::new("fs.read", "/w/a"));
        assert_eq!(said.action, Action::Deny, "{agent}");
        assert_eq!(said.layer, "agent lead, its former own_permissions");
    }
}
