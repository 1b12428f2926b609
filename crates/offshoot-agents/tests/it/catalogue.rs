//! Which of several agents of one name counts, and what is said of the others.

use offshoot_agents::{Catalogue, Origin, Reading, Scope, Severity, read};
use offshoot_types::manifest::{Manifest, Mode};

fn file(folder: &str, name: &str, header: &str) -> Reading {
    let text = format!("---\n{header}\n---\nYou are {name} of {folder}.");
    read(text.as_bytes(), &format!("{folder}/{name}.md"), name)
}

fn user(name: &str, header: &str) -> Reading {
    file("mine", name, header)
}

fn project(name: &str, header: &str) -> Reading {
    file("theirs", name, header)
}

/// All agents that there are with these files, the project's after the user's.
fn catalogue(user: Vec<Reading>, project: Vec<Reading>) -> Catalogue {
    let mut catalogue = Catalogue::builtin();
    catalogue.add_files(Scope::User, user);
    catalogue.add_files(Scope::Project, project);
    catalogue
}

#[track_caller]
fn origin(catalogue: &Catalogue, name: &str) -> Origin {
    catalogue.get(name).unwrap().origin.clone()
}

#[track_caller]
fn said(catalogue: &Catalogue) -> String {
    let [diagnostic] = catalogue.diagnostics() else {
        panic!("{:#?}", catalogue.diagnostics())
    };
    diagnostic.to_string()
}

#[test]
fn a_users_agent_replaces_a_built_in_one() {
    let catalogue = catalogue(vec![user("general", "mode: subagent")], vec![]);
    let agent = catalogue.get("general").unwrap();
    assert_eq!(agent.origin, Origin::User("mine/general.md".to_owned()));
    assert_eq!(agent.replaces, Some(Origin::BuiltIn));
    assert_eq!(agent.manifest.mode, Mode::Subagent);
    let registry = catalogue.registry();
    assert_eq!(
        registry.get("general").unwrap().prompt,
        "You are general of mine."
    );
    assert_eq!(registry.get("general-purpose").unwrap().name, "general");
    assert!(catalogue.diagnostics().is_empty());
}

#[test]
fn a_project_adds_agents_of_its_own() {
    let catalogue = catalogue(vec![], vec![project("team/critic", "mode: all")]);
    let expected = Origin::Project("theirs/team/critic.md".to_owned());
    assert_eq!(origin(&catalogue, "team/critic"), expected);
    assert!(catalogue.diagnostics().is_empty());
}

#[test]
fn a_project_cannot_replace_what_its_user_has() {
    let mine = || vec![user("critic", "mode: all")];
    let check = |name: &str, whose: &str| {
        let catalogue = catalogue(mine(), vec![project(name, "mode: all")]);
        let before = catalogue_of(mine());
        let registry = catalogue.registry();
        assert_eq!(
            registry.get(name).unwrap(),
            before.registry().get(name).unwrap()
        );
        assert_eq!(
            said(&catalogue),
            format!(
                "theirs/{name}.md: agent {name} is {whose}, and a project cannot replace it as \
                 long as there is no way to trust one; give this one another name"
            )
        );
        assert_eq!(catalogue.fault(name), None, "the other one is there");
    };
    check("build", "built in");
    // What models know `general` by is not to be had either.
    check("general-purpose", "built in");
    check("critic", "yours, in mine/critic.md");
}

fn catalogue_of(user: Vec<Reading>) -> Catalogue {
    catalogue(user, vec![])
}

#[test]
fn a_project_cannot_choose_a_model() {
    let header = "mode: subagent\nmodel: openai-chat/dear";
    let catalogue = catalogue(vec![user("own", header)], vec![project("critic", header)]);
    let model = |name: &str| catalogue.get(name).unwrap().manifest.model.clone();
    assert_eq!(model("own").as_deref(), Some("openai-chat/dear"));
    assert_eq!(model("critic"), None);
    let [diagnostic] = catalogue.diagnostics() else {
        panic!("{:#?}", catalogue.diagnostics())
    };
    assert_eq!(diagnostic.severity, Severity::Warning);
    assert!(
        diagnostic
            .to_string()
            .starts_with("theirs/critic.md:3: `model` is left out: a project cannot choose who"),
        "{diagnostic}"
    );
}

#[test]
fn of_two_files_with_one_name_the_first_counts_and_the_other_is_told_of() {
    for scope in [Scope::User, Scope::Project] {
        let mut catalogue = Catalogue::builtin();
        let first = file("a", "critic", "mode: all");
        let second = file("b", "judge", "mode: all\nname: critic");
        catalogue.add_files(scope, vec![first, second]);
        assert_eq!(origin(&catalogue, "critic").path(), Some("a/critic.md"));
        assert_eq!(
            said(&catalogue),
            "b/judge.md:3: agent critic is in a/critic.md already"
        );
        assert_eq!(catalogue.fault("critic"), None);
    }
}

#[test]
fn a_broken_file_hides_no_other() {
    let broken = || project("a", "mood: all");
    let catalogue = catalogue(
        vec![user("b", "mode: all")],
        vec![broken(), project("c", "mode: all")],
    );
    for name in ["b", "c", "build"] {
        assert!(catalogue.get(name).is_some(), "{name}");
        assert_eq!(catalogue.fault(name), None, "{name}");
    }
    let said = said(&catalogue);
    assert_eq!(
        said,
        "theirs/a.md:2: unknown key `mood`, did you mean `mode`?"
    );
    assert_eq!(catalogue.fault("a").unwrap().to_string(), said);
}

#[test]
fn who_asks_for_an_agent_whose_file_is_broken_is_told() {
    let broken = "mood: all";
    // The built-in one is there, and is not what was written.
    let one = catalogue(vec![user("build", broken)], vec![]);
    assert_eq!(origin(&one, "build"), Origin::BuiltIn);
    assert_eq!(one.fault("build").unwrap().path, "mine/build.md");
    // A repository could not have replaced it, so it cannot stand in its way either.
    let other = catalogue(vec![], vec![project("build", broken)]);
    assert_eq!(other.fault("build"), None);
    assert_eq!(other.diagnostics().len(), 1);
}

#[test]
fn a_script_replaces_everybody() {
    let mut catalogue = catalogue(
        vec![user("critic", "mode: all"), user("judge", "mood: all")],
        vec![project("helper", "mode: all")],
    );
    let names = ["build", "critic", "judge", "helper"];
    let manifests = names.map(|name| Manifest::new(name, Mode::All, "Scripted."));
    catalogue.add_script("script.yaml", &manifests);
    for name in names {
        let expected = Origin::Script("script.yaml".to_owned());
        assert_eq!(origin(&catalogue, name), expected);
        assert_eq!(catalogue.fault(name), None);
    }
}

#[test]
fn what_comes_from_outside_can_refuse_a_file_by_one_of_its_keys() {
    let mut reading = user("critic", "mode: all\n\nmodel: acme/large");
    reading.refuse("model", "there is no model acme/large");
    let catalogue = catalogue_of(vec![
        reading,
        Reading::failed("mine/x.md", "x", "read it: denied"),
    ]);
    assert!(catalogue.get("critic").is_none());
    let fault = |name: &str| catalogue.fault(name).unwrap().to_string();
    assert_eq!(
        fault("critic"),
        "mine/critic.md:4: there is no model acme/large"
    );
    assert_eq!(fault("x"), "mine/x.md: read it: denied");
}

#[test]
fn a_helper_stays_one_whatever_mode_its_file_says() {
    for mode in ["primary", "all"] {
        let mine = user("title", &format!("description: x\nmode: {mode}"));
        let catalogue = catalogue(vec![mine], vec![]);
        assert_eq!(
            said(&catalogue),
            "mine/title.md:3: agent title works for Offshoot itself and nobody else starts it: its \
             `mode` has to be `subagent`; or give this one another name"
        );
        assert_eq!(origin(&catalogue, "title"), Origin::BuiltIn);
        assert!(catalogue.fault("title").is_some());
    }
    let mut scripted = Catalogue::builtin();
    scripted.add_script("s.yaml", &[Manifest::new("summary", Mode::All, "x")]);
    assert!(said(&scripted).starts_with("s.yaml: agent summary works for Offshoot itself"));
    assert_eq!(origin(&scripted, "summary"), Origin::BuiltIn);
    let own = catalogue(vec![user("title", "mode: subagent")], vec![]);
    assert_eq!(
        origin(&own, "title"),
        Origin::User("mine/title.md".to_owned())
    );
}
