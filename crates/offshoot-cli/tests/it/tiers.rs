//! Which model an agent gets: its own, its tier's, the default for children or its parent's.

use crate::provider::Provider;
use crate::stage::Stage;

const USER: &str = ".config/offshoot/offshoot.toml";

#[test]
fn sa_43_pd_27_tiers_and_the_default_for_children_reach_the_requests() {
    let provider = Provider::start(&["explore", "general", "grand"]);
    let stage = Stage::new("");
    let grand = "---\nmode: subagent\nmodel: large\n---\nGrand.";
    stage.write(".config/offshoot/agents/grand.md", grand);
    stage.write(
        USER,
        "child_model = 'openai-chat/kid'\n[tiers]\nsmall = 'openai-chat/tiny'\n",
    );
    let first = ["--model", "openai-chat/m", "--session", "s", "go"];
    provider.run(&stage, &first).succeeded();
    assert_eq!(provider.models("You are build"), ["m", "m"]);
    assert_eq!(provider.models("You are explore"), ["tiny"]);
    assert_eq!(provider.models("You are general"), ["kid"]);
    assert_eq!(
        provider.models("Grand."),
        ["kid"],
        "a tier that is not mapped is not named"
    );
    // What was born keeps its model; what is born later has what holds then.
    stage.write(USER, "[tiers]\nlarge = 'openai-chat/huge'\n");
    let tree = stage
        .offshoot(["sessions", "tree", "s", "--json"])
        .succeeded();
    let agents = tree.events();
    let found = agents.iter().find(|agent| agent["agent"] == "general");
    let general = found.unwrap_or_else(|| panic!("{agents:#?}"))["agentId"].clone();
    provider
        .offshoot(
            &stage,
            &["sessions", "message", general.as_str().unwrap(), "more"],
        )
        .succeeded();
    assert_eq!(provider.models("You are general"), ["kid", "kid"]);
    let other = ["--model", "openai-chat/m", "--session", "t", "go"];
    provider.run(&stage, &other).succeeded();
    assert_eq!(provider.models("Grand."), ["kid", "huge"]);
    assert_eq!(
        provider.models("You are general"),
        ["kid", "kid", "m"],
        "its parent's"
    );
}

#[test]
fn sa_43_pd_27_a_tier_or_a_default_that_cannot_be_used_is_an_error_at_the_start() {
    let stage = Stage::new("replies: [{say: hello}]");
    let run = ["run", "--model", "scripted/script.yaml", "x"];
    for (config, why) in [
        (
            "tiers.small = 'large'",
            "`tiers.small` cannot be used: large is a tier",
        ),
        (
            "tiers.large = 'acme/x'",
            "`tiers.large` cannot be used: there is no model acme/x",
        ),
        ("tiers.small = ''", "`tiers.small` is empty"),
        ("tiers.tiny = 'offline'", "unknown key `tiers.tiny`"),
        (
            "small_model = 'offline'",
            "`small_model` is now `tiers.small`",
        ),
        (
            "child_model = 'small'",
            "`child_model` cannot be used: small is a tier",
        ),
        (
            "child_model = 'acme/x'",
            "`child_model` cannot be used: there is no model acme/x",
        ),
        (
            "child_model = 'scripted/gone.yaml'",
            "`child_model` cannot be used: ",
        ),
    ] {
        stage.write(USER, config);
        stage.offshoot(run).complained(2, why);
    }
    stage.write(USER, "");
    stage.write(
        ".config/offshoot/agents/odd.md",
        "---\nmode: all\nmodel: smal\n---\nOdd.",
    );
    let odd = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--agent",
        "odd",
        "x",
    ];
    stage
        .offshoot(odd)
        .complained(2, "or a tier: small, standard, large");
    // It keeps no other agent from working.
    stage.offshoot(run).succeeded();
}

#[test]
fn sa_43_a_run_says_once_that_the_tier_of_an_agent_has_no_model() {
    let stage = Stage::new(
        r#"
replies:
  - agent: build
    after_tools: false
    call:
      - {tool: task, arguments: {subagent_type: cheap, prompt: a}}
      - {tool: task, arguments: {subagent_type: cheap, prompt: b}}
      - {tool: task, arguments: {subagent_type: explore, prompt: c}}
  - {say: done}
"#,
    );
    stage.write(
        ".config/offshoot/agents/cheap.md",
        "---\nmode: all\ndescription: Cheap work.\nmodel: small\n---\nWork.",
    );
    let run = ["run", "--model", "scripted/script.yaml", "x"];
    let said = |args: &[&str]| {
        let done = stage.offshoot(args).succeeded();
        let lines = done.stderr.lines().map(str::trim_start);
        let start = "agent cheap names the tier small, which has no model, and uses script /";
        let lines = lines.filter(|line| line.contains("set tiers.small"));
        let (cheap, others): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with(start));
        // The built-in agents make do with any model.
        assert_eq!(others, [] as [&str; 0]);
        cheap.len()
    };
    assert_eq!(said(&run), 1);
    assert_eq!(said(&[&run[..], &["--json"]].concat()), 1);
    let path = stage.path().join("script.yaml");
    stage.write(
        USER,
        &format!("tiers.small = 'scripted/{}'", path.display()),
    );
    assert_eq!(said(&run), 0);
}

#[test]
fn sa_43_doctor_and_agents_show_tell_what_a_tier_stands_for() {
    let stage = Stage::new("replies: [{say: hello}]");
    let model = ["--model", "scripted/script.yaml"];
    let shown = |name: &str| {
        let done = stage.offshoot(["agents", "show", name].into_iter().chain(model));
        let stdout = done.succeeded().stdout;
        let line = stdout.lines().find(|line| line.starts_with("model "));
        line.unwrap()["model".len()..].trim().to_owned()
    };
    assert_eq!(shown("explore"), "its parent's; the tier small is not set");
    stage.write(
        USER,
        "child_model = 'openai-chat/kid'\ntiers.small = 'offline'\n",
    );
    assert_eq!(shown("explore"), "offline, of the tier small");
    assert_eq!(shown("verify"), "openai-chat/kid, the child_model");
    let doctor = stage.offshoot(["doctor"].into_iter().chain(model));
    for line in [
        "small model      offline, from ",
        "standard model   not set: the session's model",
        "large model      not set: ",
        "child model      openai-chat/kid, from ",
    ] {
        assert!(doctor.stdout.contains(line), "{line}: {doctor:#?}");
    }
}
