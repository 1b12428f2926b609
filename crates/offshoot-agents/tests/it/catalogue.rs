//! Which of several agents of one name counts, and what is said of the others.

use offshoot_agents::{Catalogue, Doubt, Origin, Reading, Scope, read};
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
fn an_agent_of_a_project_takes_no_place_before_somebody_accepted_it() {
    let mine = || vec![user("critic", "mode: all")];
    for (name, replaced) in [
        ("build", Some(Origin::BuiltIn)),
        ("critic", Some(Origin::User("mine/critic.md".to_owned()))),
        ("general-purpose", None),
        ("helper", None),
    ] {
        let theirs = project(name, "mode: all\nmodel: openai-chat/dear");
        let before = catalogue_of(mine());
        let mut listed = catalogue_of(mine());
        let manifest = theirs.manifest.clone().unwrap();
        listed.list_untrusted(&theirs.path, manifest.clone(), Doubt::New);
        let find = |catalogue: &Catalogue| catalogue.registry().get(name).cloned();
        assert_eq!(find(&listed), find(&before), "{name}");
        assert!(
            listed
                .all()
                .all(|agent| agent.origin.to_string() != "project")
        );
        let (agent, doubt) = listed.untrusted(name).unwrap();
        assert_eq!((&agent.replaces, doubt), (&replaced, Doubt::New));
        // Accepted, it is an agent like the user's own.
        let accepted = catalogue(mine(), vec![theirs]);
        assert_eq!(find(&accepted).as_deref(), Some(&manifest), "{name}");
        assert_eq!(accepted.get(name).unwrap().replaces, replaced);
        assert!(accepted.untrusted(name).is_none());
    }
}

#[test]
fn who_may_start_an_agent_that_nobody_accepted_is_told_why_it_cannot() {
    let mut catalogue = catalogue_of(vec![user("lead", "mode: all\nspawns: [helper]")]);
    let theirs = project("helper", "mode: all").manifest.unwrap();
    catalogue.list_untrusted("theirs/helper.md", theirs, Doubt::Changed);
    catalogue.check_spawns();
    assert_eq!(
        said(&catalogue),
        "mine/lead.md:3: agent `helper` cannot be started: it is changed since you accepted it; \
         see \"offshoot trust\""
    );
}

fn catalogue_of(user: Vec<Reading>) -> Catalogue {
    catalogue(user, vec![])
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
            "mine/title.md:3: agent title is started by Offshoot itself and by `task`: its `mode` \
             has to be `subagent`; or give this one another name"
        );
        assert_eq!(origin(&catalogue, "title"), Origin::BuiltIn);
        assert!(catalogue.fault("title").is_some());
    }
    let mut scripted = Catalogue::builtin();
    scripted.add_script("s.yaml", &[Manifest::new("summary", Mode::All, "x")]);
    assert!(said(&scripted).starts_with("s.yaml: agent summary is started by Offshoot itself"));
    assert_eq!(origin(&scripted, "summary"), Origin::BuiltIn);
    let own = catalogue(vec![user("title", "mode: subagent")], vec![]);
    assert_eq!(
        origin(&own, "title"),
        Origin::User("mine/title.md".to_owned())
    );
}
