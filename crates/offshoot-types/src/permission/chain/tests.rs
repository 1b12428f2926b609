//! Chains of random layers, and what has to hold for all of them.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample;

use super::*;
use crate::id::AgentId;
use crate::permission::Grant;
use crate::permission::written::{Variables, expand};

/// One of some values.
fn select<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> sample::Select<T> {
    sample::select(values.to_vec())
}

/// A rule as people write it, with variables and relative paths.
fn any_rule() -> impl Strategy<Value = Rule> {
    let permissions = [
        "*",
        "fs.read",
        "fs.write",
        "shell.run",
        "shell.opaque",
        "net.fetch",
        "credential.use",
        "read",
        "bash",
        "task",
        "mcp:s:t",
    ];
    let patterns = [
        "*",
        "/w/**",
        "/w/a*",
        "/w/a",
        "/w/**/c",
        "{workspace}/a",
        "{workspace}/**/c",
        "a",
        "./ab/**",
        "**/c",
        "~/x",
        "{home}/**",
        "{scratch}/**",
        "git *",
        "git push *",
        "git push",
        "git push x*",
        "/usr/bin/git push *",
        "sh -c *",
        "*.example.com",
        "example.com",
        "explore",
        "general*",
    ];
    let actions = [Action::Deny, Action::Ask, Action::Allow];
    let rule = (select(&permissions), select(&patterns), select(&actions));
    rule.prop_map(|(permission, pattern, action)| Rule::new(permission, pattern, action))
}

/// Rules as a layer has them.
fn any_rules(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Rule>> {
    let variables = Variables {
        workspace: "/w",
        scratch: Some("/s"),
        home: Some("/home/me"),
    };
    vec(any_rule(), count).prop_map(move |rules| expand(&rules, &variables))
}

fn any_layer() -> impl Strategy<Value = Layer> {
    let parts = (any_rules(0..5), any::<bool>(), any::<bool>());
    parts.prop_map(|(rules, closed, grants)| Layer {
        name: "any".into(),
        rules,
        closed,
        standing: if grants {
            Standing::Grants
        } else {
            Standing::Narrows
        },
        former_own: Vec::new(),
    })
}

/// The layer of an agent, in whichever version it was born: it never grants.
fn any_agent() -> impl Strategy<Value = Layer> {
    (any_layer(), any_rules(0..3)).prop_map(|(layer, former_own)| Layer {
        standing: Standing::Narrows,
        former_own,
        ..layer
    })
}

fn any_tool() -> impl Strategy<Value = &'static str> {
    select(&["read", "bash", "task", "mcp:s:t"])
}

fn any_need() -> impl Strategy<Value = Need> {
    let needs = [
        // Of `bash` these are where something is redirected to.
        ("fs.read", "/w/a"),
        ("fs.write", "/w/ab/c"),
        ("fs.write", "/w/a"),
        ("fs.write", "/x"),
        ("fs.read", "/home/me/x"),
        ("fs.write", "/s/a"),
        ("shell.run", "git push x"),
        ("shell.run", "git push x y"),
        ("shell.run", "git $x"),
        ("shell.run", "/bin/git log"),
        ("shell.opaque", "sh -c x"),
        (Need::SHELL_UNREAD, "git push x"),
        (Need::SHELL_WRAPPER, "git push x"),
        (Need::SHELL_WORDS, "sh -c x"),
        ("net.fetch", "a.example.com"),
        ("net.fetch", "example.com@evil"),
        ("credential.use", "github"),
        ("made.up", ""),
    ];
    select(&needs).prop_map(|(capability, target)| Need::new(capability, target))
}

/// What a call of the engine's own is about: an agent by all of its names, or none.
fn any_about() -> impl Strategy<Value = &'static [&'static str]> {
    let abouts: [&[&str]; 3] = [&["explore"], &["general", "general-purpose"], &[""]];
    select(&abouts)
}

fn chain(layers: &[Layer]) -> Permissions {
    let chain = Permissions::empty();
    layers
        .iter()
        .fold(chain, |chain, layer| chain.narrow(layer.clone()))
}

proptest! {
    #[test]
    fn r23_explain_says_what_decides(
        layers in vec(any_layer(), 0..6),
        handed_on in any::<bool>(),
        tool in any_tool(),
        need in any_need(),
    ) {
        let mut chain = chain(&layers);
        if handed_on {
            chain = chain.hand_on();
        }
        let Explanation { layers: said, decision } = chain.explain(tool, &need);
        prop_assert_eq!(&decision, &chain.decide(tool, &need));
        prop_assert_eq!(said.len(), layers.len());
        let deciding: Vec<&Said> = said.iter().filter(|said| said.decides).collect();
        match deciding.as_slice() {
            // Who decides has said just that, with that rule.
            [one] => {
                prop_assert_eq!(one.word, Some(decision.action));
                prop_assert_eq!(&one.rule, &decision.rule);
                prop_assert_eq!(&one.layer, &decision.layer);
            }
            [] => prop_assert!([Decision::DEFAULT, PERSONAL].contains(&decision.layer.as_str())),
            more => prop_assert!(false, "{} layers decide", more.len()),
        }
        // Nobody was stricter, and who was looser was not heard.
        for one in &said {
            prop_assert!(one.word.is_none_or(|word| word >= decision.action));
        }
    }

    #[test]
    fn what_a_search_may_see_is_what_may_be_read_where_the_folder_may(
        layers in vec(any_layer(), 0..6),
        path in prop_oneof![Just("/w/a"), Just("/w/ab/c"), Just("/w/x"), Just("/v/a")],
        folder in prop_oneof![Just("/w/"), Just("/w/ab/"), Just("/v/")],
    ) {
        let chain = chain(&layers);
        let need = Need::new("fs.read", path);
        let (seen, read) = (chain.sight("read", &need), chain.decide("read", &need));
        // Only what nobody has a rule for is seen and yet asked about, one by one.
        prop_assert!(seen == read.action || (seen == Action::Allow && read.layer == Decision::DEFAULT));
        if path.starts_with(folder) && !chain.narrows_sight("read", "fs.read", folder) {
            prop_assert_eq!(seen, Action::Allow);
        }
    }

    #[test]
    fn r23_explain_says_what_decides_about_a_call_of_the_engines_own(
        layers in vec(any_layer(), 0..6),
        call in select(&["task", "message", "todo"]),
        about in any_about(),
    ) {
        let chain = chain(&layers);
        let Explanation { layers: said, decision } = chain.explain_call(call, about);
        match chain.decide_call(call, about) {
            Some(decided) => prop_assert_eq!(&decided, &decision),
            None => prop_assert_eq!(decision.action, Action::Allow),
        }
        // Nobody was stricter; without a word of anybody it is allowed.
        let strictest = said.iter().filter_map(|said| said.word).min();
        prop_assert_eq!(strictest.unwrap_or(Action::Allow), decision.action);
    }

    #[test]
    fn sa_31_sa_32_a_child_is_never_looser_than_any_ancestor(
        above in vec(any_layer(), 0..4),
        agents in vec(any_agent(), 1..6),
        tool in any_tool(),
        need in any_need(),
    ) {
        let mut agent = chain(&above);
        let mut most = agent.decide(tool, &need).action;
        for layer in agents {
            agent = agent.hand_on().narrow(layer);
            let said = agent.decide(tool, &need).action;
            prop_assert!(said <= most, "{said:?} under {most:?}");
            most = said;
        }
    }

    #[test]
    fn r22_a_grant_never_beats_a_deny_and_is_all_that_beats_an_ask(
        layers in vec(any_layer(), 0..5),
        granted in vec(any_rule(), 0..4),
        tool in any_tool(),
        need in any_need(),
    ) {
        let decided = chain(&layers).decide(tool, &need);
        let grant = Grant { agent: AgentId::new("root"), rules: granted, role: None };
        let rule = grant.allows(tool, &need, decided.reach()).cloned();
        let by_rule = rule.clone().map(|rule| Decision {
            action: Action::Allow,
            layer: "the user".to_owned(),
            rule: Some(rule),
        });
        let answered = decided.clone().or_granted(|_| by_rule);
        match (decided.action, rule) {
            (Action::Ask, Some(rule)) => {
                prop_assert_eq!(answered.action, Action::Allow);
                prop_assert_eq!(answered.rule, Some(rule));
            }
            _ => prop_assert_eq!(answered, decided),
        }
    }

    #[test]
    fn r22_what_a_written_rule_asks_is_answered_only_by_a_yes_to_exactly_that(
        layers in vec(any_layer(), 0..5),
        asked in any_need(),
        tool in any_tool(),
        need in any_need(),
    ) {
        let chain = chain(&layers);
        let decided = chain.decide(tool, &need);
        let reach = |need: &Need| chain.decide(tool, need).reach();
        let needs = [asked.clone()];
        let grant = Grant::like(AgentId::new("root"), &needs, "/w", reach);
        let by_rule = decided.action == Action::Ask && decided.rule.is_some();
        if by_rule && grant.allows(tool, &need, decided.reach()).is_some() {
            prop_assert_eq!(asked.target, need.target);
        }
    }

    #[test]
    fn what_is_barred_is_denied_whatever_the_target(
        layers in vec(any_layer(), 0..5),
        tool in any_tool(),
        need in any_need(),
    ) {
        let chain = chain(&layers);
        if chain.bars(tool, &[&need.capability]).is_some() {
            prop_assert_eq!(chain.decide(tool, &need).action, Action::Deny);
        }
    }
}

fn layer(name: &str, standing: Standing, rules: &[(&str, &str, Action)]) -> Layer {
    let rules = rules
        .iter()
        .map(|(permission, pattern, action)| Rule::new(*permission, *pattern, *action));
    Layer {
        name: name.to_owned(),
        rules: rules.collect(),
        standing,
        ..Layer::default()
    }
}

use Action::{Allow, Ask, Deny};
use Standing::{Grants, Narrows};

#[test]
fn tls_15_a_rule_is_about_a_tool_a_capability_or_all_and_the_default_is_ask() {
    let need = Need::new("fs.read", "/w/a");
    for (permission, expected) in [
        ("*", Allow),
        ("fs.read", Allow),
        ("read", Allow),
        ("fs.write", Ask),
        ("grep", Ask),
    ] {
        let chain = chain(&[layer("user", Grants, &[(permission, "/w/**", Allow)])]);
        assert_eq!(chain.decide("read", &need).action, expected, "{permission}");
    }
    // Over paths, argv and hosts.
    let chain = chain(&[layer(
        "user",
        Grants,
        &[
            ("fs.write", "/w/docs/*", Allow),
            ("shell.run", "cargo test *", Allow),
            ("net.fetch", "*.example.com", Allow),
        ],
    )]);
    for (capability, target, expected) in [
        ("fs.write", "/w/docs/a/b", Allow),
        ("fs.write", "/w/src/a", Ask),
        ("shell.run", "cargo test --all", Allow),
        ("shell.run", "cargo testx", Ask),
        ("net.fetch", "docs.example.com", Allow),
        ("net.fetch", "example.com.evil.org", Ask),
        ("net.fetch", "docs.example.com@evil.org", Ask),
    ] {
        let said = chain.decide("x", &Need::new(capability, target)).action;
        assert_eq!(said, expected, "{capability} {target}");
    }
}

#[test]
fn tls_18_whatever_is_put_behind_a_chain_can_only_narrow_it() {
    let chain = chain(&[layer("user", Grants, &[("fs.read", "/w/**", Allow)])]);
    let watchdog = |action| chain.narrow(layer("watchdog", Narrows, &[("*", "*", action)]));
    for (target, allowed) in [("/w/a", Allow), ("/x", Ask)] {
        let need = Need::new("fs.read", target);
        assert_eq!(watchdog(Allow).decide("read", &need).action, allowed);
        assert_eq!(watchdog(Ask).decide("read", &need).action, Ask);
        assert_eq!(watchdog(Deny).decide("read", &need).action, Deny);
    }
}

#[test]
fn tls_16_layers_add_up_to_the_strictest_and_no_layer_lifts_a_deny_of_a_manifest() {
    let manifest = layer("agent", Narrows, &[("fs.write", "/w/**", Deny)]);
    let session = layer("session", Grants, &[("fs.write", "/w/a", Allow)]);
    let project = layer("project", Narrows, &[("fs.write", "/w/a", Allow)]);
    let need = Need::new("fs.write", "/w/a");
    let held = chain(&[project.clone(), session.clone(), manifest]);
    assert_eq!(held.decide("write", &need).action, Deny);
    assert_eq!(held.decide("write", &need).layer, "agent");
    // And a project's allow is worth nothing by itself.
    assert_eq!(
        chain(std::slice::from_ref(&project))
            .decide("write", &need)
            .action,
        Ask
    );
    assert_eq!(
        chain(&[project, session]).decide("write", &need).action,
        Allow
    );
}

#[test]
fn sa_33_the_three_named_cases() {
    let all = layer("user", Grants, &[("*", "*", Allow)]);
    let decide = |parent: Layer, capability: &str, target: &str| {
        let child = layer("child", Narrows, &[("*", "*", Allow)]);
        let chain = chain(&[all.clone(), parent]).hand_on().narrow(child);
        chain.decide("x", &Need::new(capability, target)).action
    };
    let no_write = layer("parent", Narrows, &[("fs.write", "*", Deny)]);
    assert_eq!(decide(no_write, "fs.write", "/w/a"), Deny);
    let closed = |rules: &[(&str, &str, Action)]| Layer {
        closed: true,
        ..layer("parent", Narrows, rules)
    };
    let no_shell = closed(&[("fs.read", "*", Allow), ("fs.write", "*", Allow)]);
    assert_eq!(decide(no_shell, "shell.run", "ls"), Deny);
    let docs = closed(&[("fs.read", "/w/docs/**", Allow)]);
    assert_eq!(decide(docs.clone(), "fs.read", "/w/docs/a"), Allow);
    assert_eq!(decide(docs, "fs.read", "/w/src/a"), Deny);
}

#[test]
fn sa_34_a_grandchild_derives_from_the_child_and_nothing_flows_back() {
    let parent = chain(&[layer("user", Grants, &[("*", "*", Allow)])]);
    let child = parent
        .hand_on()
        .narrow(layer("child", Narrows, &[("fs.write", "*", Deny)]));
    let grandchild = child
        .hand_on()
        .narrow(layer("grandchild", Narrows, &[("*", "*", Allow)]));
    let write = Need::new("fs.write", "/w/a");
    assert_eq!(grandchild.decide("write", &write).action, Deny);
    assert_eq!(grandchild.decide("write", &write).layer, "child");
    assert_eq!(parent.decide("write", &write).action, Allow);
}

#[test]
fn exa_03_siblings_with_different_roots_cannot_use_each_others() {
    let parent = chain(&[layer("user", Grants, &[("fs.write", "/w/**", Allow)])]);
    let own = |root: &str| Layer {
        closed: true,
        ..layer(root, Narrows, &[("fs.write", root, Allow)])
    };
    let one = parent.hand_on().narrow(own("/w/one/**"));
    let two = parent.hand_on().narrow(own("/w/two/**"));
    let said = |chain: &Permissions, target| chain.decide("write", &Need::new("fs.write", target));
    assert_eq!(said(&one, "/w/one/a").action, Allow);
    assert_eq!(said(&one, "/w/two/a").action, Deny);
    assert_eq!(said(&two, "/w/one/a").action, Deny);
    assert_eq!(said(&two, "/w/two/a").action, Allow);
    // Whatever is made of one of them later is nothing to the other.
    let looser = one.narrow(layer("more", Narrows, &[("fs.write", "/w/two/**", Allow)]));
    assert_eq!(said(&looser, "/w/two/a").action, Deny);
    assert_eq!(said(&two, "/w/one/a").action, Deny);
}

#[test]
fn sa_35_exa_04_what_is_personal_passes_to_no_child() {
    let all = || layer("user", Grants, &[("*", "*", Allow)]);
    let personal = Capability::ALL
        .into_iter()
        .filter(|capability| capability.is_personal());
    for capability in personal {
        let need = Need::new(capability.name(), "github");
        let root = chain(&[all()]);
        assert_eq!(root.decide("x", &need).action, Allow, "{capability:?}");
        // Neither the parent nor the child can change that, by whatever rule.
        let rules = [
            (capability.name(), "github", Allow),
            ("x", "*", Allow),
            ("*", "*", Allow),
        ];
        let parent = root.narrow(layer("parent", Grants, &rules));
        let child = parent.hand_on().narrow(layer("child", Grants, &rules));
        let said = child.decide("x", &need);
        assert_eq!((said.action, said.layer.as_str()), (Deny, PERSONAL));
        assert_eq!(child.bars("x", &[capability.name()]), Some(PERSONAL));
        let grandchild = child.hand_on();
        assert_eq!(grandchild.decide("x", &need).action, Deny);
        assert_eq!(root.decide("x", &need).action, Allow);
    }
    let file = Need::new("fs.read", "/w/a");
    assert_eq!(chain(&[all()]).hand_on().decide("x", &file).action, Allow);
}

#[test]
fn exa_04_the_host_can_mark_a_narrower_thing_delegable_and_that_alone_gives_nothing() {
    let marks = vec![Rule::new("credential.use", "github-readonly", Allow)];
    let host = Permissions::of_host(marks);
    let need = |target| Need::new("credential.use", target);
    let given = host.narrow(layer("user", Grants, &[("credential.use", "*", Allow)]));
    let child = given.hand_on();
    assert_eq!(child.decide("x", &need("github-readonly")).action, Allow);
    assert_eq!(child.decide("x", &need("github")).action, Deny);
    assert_eq!(child.bars("x", &["credential.use"]), None);
    assert_eq!(
        host.hand_on().decide("x", &need("github-readonly")).action,
        Ask
    );
    let denied = child.narrow(layer("agent", Narrows, &[("credential.use", "*", Deny)]));
    assert_eq!(denied.decide("x", &need("github-readonly")).action, Deny);
}

#[test]
fn sa_32_own_rules_of_an_old_log_narrow_the_agent_and_all_below_it() {
    let stored = r#"{"name":"agent lead","rules":[{"permission":"fs.write","pattern":"/w/docs/**","action":"allow"}],"closed":true,"standing":"narrows","own":[{"permission":"fs.write","pattern":"*","action":"deny"}]}"#;
    let lead: Layer = serde_json::from_str(stored).unwrap();
    assert_eq!(serde_json::to_string(&lead).unwrap(), stored);
    let above = chain(&[layer("user", Grants, &[("fs.write", "/w/**", Allow)])]);
    let lead = above.narrow(lead);
    let child = lead.hand_on();
    // The more specific allow of the first list does not lift the deny of the second.
    let write = Need::new("fs.write", "/w/docs/a");
    for chain in [lead, child] {
        let said = chain.decide("write", &write);
        assert_eq!(
            (said.action, said.layer.as_str()),
            (Deny, "agent lead, its former own_permissions")
        );
    }
}

#[test]
fn a_tool_is_barred_where_all_that_it_could_need_is_denied_outright() {
    let bars = |rules: &[(&str, &str, Action)], closed: bool, tool: &str, needs: &[&str]| {
        let layer = Layer {
            closed,
            ..layer("l", Narrows, rules)
        };
        chain(&[layer]).bars(tool, needs).is_some()
    };
    assert!(bars(
        &[("fs.write", "*", Deny)],
        false,
        "write",
        &["fs.write"]
    ));
    assert!(bars(&[("write", "*", Deny)], false, "write", &["fs.write"]));
    assert!(bars(&[("*", "*", Deny)], false, "write", &["fs.write"]));
    assert!(bars(
        &[("fs.read", "*", Allow)],
        true,
        "write",
        &["fs.write"]
    ));
    assert!(bars(
        &[("fs.write", "/w/**", Deny)],
        true,
        "write",
        &["fs.write"]
    ));
    assert!(!bars(
        &[("fs.write", "/w/**", Deny)],
        false,
        "write",
        &["fs.write"]
    ));
    assert!(!bars(
        &[("fs.write", "*", Ask)],
        false,
        "write",
        &["fs.write"]
    ));
    let excepted = [("fs.write", "*", Deny), ("write", "/w/a", Allow)];
    assert!(!bars(&excepted, false, "write", &["fs.write"]));
    assert!(bars(&excepted, false, "edit", &["fs.write"]));
    let shell = &["shell.run", "shell.opaque"];
    assert!(bars(&[("shell.run", "*", Deny)], false, "bash", shell));
    assert!(!bars(&[("shell.run", "git *", Allow)], true, "bash", shell));
    // Of what needs nothing only its own name speaks.
    assert!(bars(&[("task", "*", Deny)], false, "task", &[]));
    assert!(!bars(&[("*", "*", Deny)], true, "task", &[]));
}

#[test]
fn ten_thousand_rules_are_found_by_what_they_are_about() {
    let mut rules: Vec<Rule> = (0..10_000)
        .map(|n| Rule::new("fs.write", format!("/w/{n}/**"), Action::Allow))
        .collect();
    rules.push(Rule::new("fs.read", "/w/**", Action::Allow));
    let layer = Layer {
        name: "many".to_owned(),
        rules,
        standing: Grants,
        ..Layer::default()
    };
    let compiled = Compiled::of(&layer.rules);
    let need = Need::new("fs.read", "/w/a");
    assert_eq!(compiled.looked_at(&Wanted::new("read", &need)), 1);
    let need = Need::new("fs.write", "/w/9999/a");
    assert_eq!(compiled.looked_at(&Wanted::new("write", &need)), 10_000);
    let chain = chain(&[layer]);
    assert_eq!(chain.decide("write", &need).action, Allow);
    assert_eq!(
        chain.decide("write", &Need::new("fs.write", "/w/x")).action,
        Ask
    );
}

#[test]
fn a_call_of_the_engine_is_allowed_unless_a_rule_names_it_or_asks_about_everything() {
    let check = |rules: &[(&str, &str, Action)], expected: Option<Action>| {
        let closed = Layer {
            closed: true,
            ..layer("l", Narrows, rules)
        };
        let chain = chain(&[layer("user", Grants, &[]), closed]);
        let decided = chain.decide_call("task", &["explore"]);
        assert_eq!(decided.as_ref().map(|it| it.action), expected, "{rules:?}");
        let explained = chain.explain_call("task", &["explore"]).decision;
        assert_eq!(explained.action, expected.unwrap_or(Allow), "{rules:?}");
        assert!(decided.is_none_or(|decided| decided == explained));
    };
    // It needs nothing, so what a list leaves out, or denies of everything, is not about it.
    check(&[], None);
    check(&[("fs.read", "*", Allow), ("*", "*", Deny)], None);
    check(&[("*", "*", Ask)], Some(Ask));
    check(&[("*", "/etc/**", Ask)], None);
    check(&[("*", "*", Ask), ("task", "*", Allow)], None);
    check(&[("task", "*", Ask)], Some(Ask));
    check(&[("task", "explore", Ask)], Some(Ask));
    check(&[("task", "general", Ask)], None);
    check(&[("task", "explore", Deny)], Some(Deny));
    check(&[("task", "*", Deny), ("task", "explore", Allow)], None);
    check(&[("message", "*", Ask)], None);
}

#[test]
fn r21_a_rule_about_a_call_may_have_any_name_of_the_agent() {
    let check = |rules: &[(&str, &str, Action)], expected: Option<Action>| {
        let chain = chain(&[layer("user", Grants, rules)]);
        let decided = chain.decide_call("task", &["general", "general-purpose"]);
        assert_eq!(decided.map(|it| it.action), expected, "{rules:?}");
    };
    check(&[("task", "general", Deny)], Some(Deny));
    check(&[("task", "general-purpose", Deny)], Some(Deny));
    check(&[("task", "other", Deny)], None);
    // Said of one agent twice, the stricter holds, as between rules that say different things of the same.
    for (one, other) in [
        ("general", "general-purpose"),
        ("general-purpose", "general"),
    ] {
        check(&[("task", one, Allow), ("task", other, Deny)], Some(Deny));
    }
}

#[test]
fn rules_about_other_places_do_not_narrow_what_a_search_sees() {
    let narrows = |rules: &[(&str, &str, Action)], closed: bool| {
        let rule = |(permission, pattern, action): &(&str, &str, Action)| {
            Rule::new(*permission, *pattern, *action)
        };
        let layer = Layer {
            rules: rules.iter().map(rule).collect(),
            closed,
            ..Layer::default()
        };
        let chain = Permissions::empty().narrow(layer);
        chain.narrows_sight("grep", "fs.read", "/w/")
    };
    assert!(!narrows(&[], false));
    assert!(!narrows(&[("fs.read", "/data/**", Action::Deny)], false));
    assert!(!narrows(&[("fs.write", "/w/**", Action::Deny)], false));
    assert!(!narrows(&[("fs.read", "*", Action::Allow)], true));
    assert!(narrows(&[("fs.read", "**/.env", Action::Deny)], false));
    assert!(narrows(&[("grep", "/w/a/*", Action::Ask)], false));
    assert!(narrows(&[("fs.read", "/w/docs/**", Action::Allow)], true));
}
