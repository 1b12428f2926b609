//! What the built-in agents are, and what they may do.

use offshoot_agents::{Catalogue, HELPERS};
use offshoot_types::manifest::{Context, Manifest, Registry, names};
use offshoot_types::permission::written::Variables;
use offshoot_types::permission::{Action, Layer, Need, Permissions};

fn registry() -> Registry {
    Catalogue::builtin().registry()
}

#[track_caller]
fn agent(name: &str) -> Manifest {
    Manifest::clone(registry().get(name).unwrap())
}

/// Checks what an agent may do in a session that may read its workspace.
#[track_caller]
fn check(name: &str, capability: &str, expected: Action) {
    let manifest = agent(name);
    let layer = manifest.layer(&Variables::default());
    let mut permissions = Permissions::empty()
        .narrow(Layer::root_grant("/w", None))
        .narrow(layer);
    if manifest.read_only {
        permissions = permissions.narrow(Layer::read_only(&manifest.name));
    }
    let need = Need {
        capability: capability.to_owned(),
        target: "/w/src/a.rs".to_owned(),
    };
    let decision = permissions.decide("tool", &need);
    assert_eq!(decision.action, expected, "{name} {capability}");
}

#[test]
fn people_start_build_general_and_plan() {
    assert_eq!(names(registry().for_users()), "build, general, plan");
}

#[test]
fn agents_spawn_all_but_build_and_the_helpers() {
    assert_eq!(
        names(registry().for_agents()),
        "explore, general, plan, verify"
    );
}

#[test]
fn pd_25_general_purpose_is_general() {
    assert_eq!(agent("general-purpose").name, "general");
}

#[test]
fn plan_and_explore_read_and_do_nothing_else() {
    for name in ["plan", "explore"] {
        check(name, "fs.read", Action::Allow);
        check(name, "fs.write", Action::Deny);
        check(name, "shell.run", Action::Deny);
        check(name, "shell.opaque", Action::Deny);
        let manifest = agent(name);
        assert!(manifest.read_only, "{name}: nor do those it starts");
        for tool in ["write", "edit", "bash"] {
            assert!(!manifest.tools.has(tool), "{name} {tool}");
        }
    }
    // Who goes on is asked of a person, and not refused beforehand.
    check("plan", Layer::SWITCH, Action::Ask);
    assert!(agent("plan").tools.has("plan_exit"), "SA-47");
    assert!(!agent("explore").tools.has("plan_exit"), "SA-47");
}

#[test]
fn verify_runs_commands_and_writes_no_files() {
    check("verify", "fs.read", Action::Allow);
    // As the session has it: a manifest only narrows.
    check("verify", "shell.run", Action::Ask);
    check("verify", "shell.opaque", Action::Ask);
    check("verify", "fs.write", Action::Deny);
    let manifest = agent("verify");
    assert!(manifest.tools.has("bash") && !manifest.tools.has("edit"));
    assert!(!manifest.read_only, "or no test could run");
    for word in ["PASS", "PARTIAL", "FAIL"] {
        assert!(manifest.prompt.contains(word), "{word}");
    }
}

#[test]
fn build_and_general_may_do_what_the_session_may() {
    for name in ["build", "general"] {
        check(name, "fs.read", Action::Allow);
        check(name, "fs.write", Action::Ask);
        check(name, "shell.run", Action::Ask);
        assert!(agent(name).tools.has("whatever"));
    }
}

#[test]
fn sa_06_build_and_plan_may_ask_a_person_because_they_name_the_tool() {
    for (name, expected) in [("build", true), ("plan", true), ("general", false)] {
        assert_eq!(agent(name).tools.names("question"), expected, "{name}");
    }
    assert!(agent("plan").tools.names("plan_exit") && !agent("build").tools.names("plan_exit"));
}

#[test]
fn pd_25_pd_39_whose_caller_is_an_agent_ends_in_the_five_fields() {
    let fields = ["Scope", "Result", "Key files", "Files changed", "Issues"];
    for name in ["general", "explore", "verify"] {
        let prompt = agent(name).prompt;
        let lines: Vec<&str> = prompt.lines().collect();
        let at = fields.map(|field| {
            let start = format!("{field}: ");
            lines.iter().position(|line| line.starts_with(&start))
        });
        assert!(at.iter().all(Option::is_some), "{name}: {at:?}");
        assert!(at.is_sorted(), "{name}: {at:?}");
    }
}

#[test]
fn sa_43_the_helpers_have_no_tools_little_freedom_and_a_hard_end() {
    for name in HELPERS {
        let manifest = agent(name);
        assert!(!manifest.mode.user_may_start(), "{name}");
        assert_eq!(manifest.tools.allow, Some(Vec::new()), "{name}");
        assert!(manifest.temperature.unwrap() <= 0.3, "{name}");
        assert!(manifest.max_output_tokens.unwrap() <= 8_000, "{name}");
        assert!(!manifest.inspectable, "{name}");
        assert!(!manifest.shows_project_instructions(), "{name}");
        assert!(!manifest.shows_git_status(), "{name}");
        assert_eq!(manifest.context, Context::Fresh, "{name}");
        assert!(manifest.prompt.contains("not addressed to you"), "{name}");
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
        assert!(!description.contains("  "), "{name} has a broken line");
    }
}

#[test]
fn pd_10_who_talks_with_people_knows_how_to_delegate_and_children_are_not_told() {
    let prompt = |name: &str| agent(name).prompt;
    let policy = [
        "Start independent parts side by side",
        "never two that write to the same files",
        "a part that does not depend on the rest",
        "Give it everything it needs",
        "Check what comes back before you build on it",
    ];
    for words in policy {
        assert!(prompt("build").contains(words), "{words}");
        for child in ["general", "explore", "verify"] {
            assert!(!prompt(child).contains(words), "{child}: {words}");
        }
    }
}
