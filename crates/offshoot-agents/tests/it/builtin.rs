//! What the built-in agents are, and what they may do.

use offshoot_types::manifest::{Manifest, Registry, names};
use offshoot_types::permission::{Action, Layer, Need, Permissions};

fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.extend(offshoot_agents::builtin());
    registry
}

/// Checks what an agent may do in a session that may read its workspace.
#[track_caller]
fn check(agent: &str, capability: &str, expected: Action) {
    let registry = registry();
    let manifest: &Manifest = registry.get(agent).unwrap();
    let layer = Layer::of_agent(&manifest.name, manifest.permissions.as_deref());
    let permissions = Permissions::empty()
        .narrow(Layer::root_grant("/w", None))
        .narrow(layer);
    let need = Need {
        capability: capability.to_owned(),
        target: "/w/src/a.rs".to_owned(),
    };
    let decision = permissions.decide("tool", &need);
    assert_eq!(decision.action, expected, "{agent} {capability}");
}

#[test]
fn people_start_build_and_general() {
    assert_eq!(names(registry().for_users()), "build, general");
}

#[test]
fn agents_spawn_general_and_explore() {
    assert_eq!(names(registry().for_agents()), "explore, general");
}

#[test]
fn explore_reads_and_does_nothing_else() {
    check("explore", "fs.read", Action::Allow);
    check("explore", "fs.write", Action::Deny);
    check("explore", "shell.run", Action::Deny);
}

#[test]
fn build_and_general_may_do_what_the_session_may() {
    for agent in ["build", "general"] {
        check(agent, "fs.read", Action::Allow);
        check(agent, "fs.write", Action::Ask);
        check(agent, "shell.run", Action::Ask);
    }
}

#[test]
fn every_agent_says_what_it_is_for() {
    for manifest in offshoot_agents::builtin() {
        let Manifest {
            name,
            description,
            prompt,
            ..
        } = manifest;
        assert!(!description.is_empty(), "{name}");
        assert!(prompt.starts_with(&format!("You are {name}, ")), "{name}");
        assert!(!prompt.contains("  "), "{name} has a broken line");
    }
}
