//! Settings, from what files, variables and flags say.

mod providers;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use offshoot_engine::{Compacting, Limits};
use offshoot_types::caps::{Caps, Money, Span};
use offshoot_types::tier::Tier;

use super::file::{self, Owner};
use super::{Color, Files, Layer, Level, Settings, Source, Sourced};
use crate::surroundings::Surroundings;

const PLACE: &str = "/home/me/offshoot.toml";

fn parse(text: &str, owner: Owner) -> Result<Layer, String> {
    let home = Some(Path::new("/home/me"));
    file::parse(text, Path::new(PLACE), owner, home).map_err(|stop| stop.to_string())
}

#[track_caller]
fn refused(text: &str, owner: Owner, expected: &str) {
    let said = parse(text, owner).unwrap_err();
    assert_eq!(said, expected);
}

fn line(number: usize) -> Source {
    Source::File(PathBuf::from(PLACE), number)
}

#[test]
fn every_key_of_the_documentation_is_read_and_keeps_its_line() {
    let page = include_str!("../../../../docs/config.md");
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let layer = parse(example, Owner::User).unwrap();
    // Whatever is not in the example is not documented by it.
    assert!(layer.model.is_some() && layer.agent.is_some() && layer.color.is_some());
    assert!(layer.log_level.is_some() && layer.log_file.is_some());
    assert!(layer.data_dir.is_some());
    assert_eq!((layer.limits.len(), layer.providers.len()), (13, 2));
    let provider = &layer.providers["gateway"];
    assert!(provider.kind.is_some() && provider.base_url.is_some());
    assert!(provider.api_key_env.is_some() && provider.headers.len() == 1);
    let model = layer.providers["openai-chat"]
        .models
        .values()
        .next()
        .unwrap();
    assert!(model.context_window.is_some() && model.price.is_some());
    assert_eq!(layer.user_rules.len(), 1);
    assert!(layer.child_model.is_some());
    assert_eq!(layer.tiers.len(), 3);
    assert_eq!(layer.compaction.len(), 8);
    // The example shows the defaults, but for what depends on the agent.
    let mut rules = Compacting {
        reserve_tokens: Some(20_000),
        ..Compacting::default()
    };
    let usual = rules.clone();
    for (rule, Sourced { value, .. }) in &layer.compaction {
        rule.set(&mut rules, *value);
    }
    assert_eq!(rules, usual);
    let layer = parse(
        "\n\nmodel = \"scripted/a\"\n[limits]\ndepth = 2",
        Owner::User,
    )
    .unwrap();
    let model = Sourced::new("scripted/a".to_owned(), line(3));
    assert_eq!(layer.model, Some(model));
    assert_eq!(
        layer.limits.values().next(),
        Some(&Sourced::new(2, line(5)))
    );
}

#[test]
fn an_unknown_key_is_an_error_with_a_suggestion() {
    refused(
        "agent = 'x'\n  modle = \"m\"",
        Owner::User,
        "unknown key `modle` in /home/me/offshoot.toml line 2, column 3: `modle = \"m\"`; \
         did you mean `model`?",
    );
    refused(
        "[limits]\ndpeth = 1",
        Owner::Project,
        "unknown key `limits.dpeth` in /home/me/offshoot.toml line 2, column 1: `dpeth = 1`; \
         did you mean `limits.depth`?",
    );
    // In the wrong table, or with another dash.
    for (text, meant) in [
        ("depth = 1", "limits.depth"),
        ("base_url = 'x'", "providers.NAME.base_url"),
        ("log_level = 'info'", "log.level"),
        ("chld_model = 'x'", "child_model"),
        ("[tiers]\nsmal = 'x'", "tiers.small"),
        ("[compaction]\ntail_turn = 1", "compaction.tail_turns"),
        (
            "[compaction]\ndrop_middle = true",
            "compaction.smart_recovery.drop_middle",
        ),
        (
            "[compaction.smart_recovery]\nprune = true",
            "compaction.smart_recovery.prune_tool_outputs",
        ),
        ("[limits]\nsesion = 1", "limits.session"),
        ("[provider.x]\nbase_url = 'x'", "providers"),
        ("[providers.x]\nbase_urls = 'x'", "providers.NAME.base_url"),
        (
            "[providers.openai-chat.models.m]\ncontext = 1",
            "providers.NAME.models.NAME.context_window",
        ),
    ] {
        let said = parse(text, Owner::User).unwrap_err();
        assert!(
            said.ends_with(&format!("did you mean `{meant}`?")),
            "{text}: {said}"
        );
    }
    let said = parse("theme = 'dark'", Owner::User).unwrap_err();
    assert!(
        said.contains("there are: model, child_model, agent"),
        "{said}"
    );
    let said = parse("[compaction.smart_recovery]\nfoo = 1", Owner::User).unwrap_err();
    assert!(
        said.ends_with(
            "there are: compaction.smart_recovery.prune_tool_outputs, \
             compaction.smart_recovery.chunked_summarize, compaction.smart_recovery.drop_middle"
        ),
        "{said}"
    );
    // Nobody is led from one error to the next.
    let said = parse("theme = 'dark'", Owner::Project).unwrap_err();
    assert!(
        said.contains("there are: agent, color, log.level, limits.depth"),
        "{said}"
    );
    assert!(
        !said.contains("tiers") && !said.contains("providers"),
        "{said}"
    );
    let said = parse("modle = 'x'", Owner::Project).unwrap_err();
    let way = "did you mean `model`? a project cannot set it; put it into your own config file";
    assert!(said.ends_with(way), "{said}");
}

#[test]
fn a_value_of_the_wrong_kind_is_said_where_it_stands() {
    let at = |place: &str, shown: &str| format!("in /home/me/offshoot.toml {place}: `{shown}`");
    for (text, what, place) in [
        (
            "model = 3",
            "`model` has to be text in quotes, and is of type integer",
            "line 1, column 9",
        ),
        ("model = ' '", "`model` is empty", "line 1, column 9"),
        (
            "color = 'red'",
            "`color` is none of auto, always, never",
            "line 1, column 9",
        ),
        (
            "log = 'info'",
            "`log` has to be a table, [log], and is of type string",
            "line 1, column 7",
        ),
        (
            "log.level = 'loud'",
            "`log.level` is none of off, error, warn, info, debug, trace",
            "line 1, column 13",
        ),
        (
            "compaction.auto = 1",
            "`compaction.auto` has to be true or false, and is of type integer",
            "line 1, column 19",
        ),
        (
            "compaction.tail_budget_pct = 101",
            "`compaction.tail_budget_pct` is not between 0 and 100",
            "line 1, column 30",
        ),
        (
            "compaction.smart_recovery = true",
            "`compaction.smart_recovery` has to be a table, [compaction.smart_recovery], and is of \
             type boolean",
            "line 1, column 29",
        ),
        (
            "providers.openai-chat.models.x.context_window = 0",
            "`providers.openai-chat.models.\"x\".context_window` is not between 1 and 1000000000",
            "line 1, column 49",
        ),
        (
            "limits.slots = 0",
            "`limits.slots` is not between 1 and 1024",
            "line 1, column 16",
        ),
        (
            "limits.depth = -1",
            "`limits.depth` is not between 0 and 64",
            "line 1, column 16",
        ),
        (
            "limits.depth = 1.5",
            "`limits.depth` has to be a whole number, and is of type float",
            "line 1, column 16",
        ),
        (
            "limits.steps = 99999999999999999999",
            "`limits.steps` is not between 1 and 100000",
            "line 1, column 16",
        ),
        (
            "limits.time = 10",
            "`limits.time` has to be text with a unit, such as \"10m\", and is of type integer",
            "line 1, column 15",
        ),
        (
            "limits.stall = '1w'",
            "`limits.stall` cannot be read: \"1w\" is not a time; write a whole number and its \
             unit: 500ms, 30s, 10m, 1h",
            "line 1, column 16",
        ),
        (
            "limits.session.time = '1ms'",
            "`limits.session.time` is not between 1s and 744h",
            "line 1, column 23",
        ),
        (
            "limits.cost_usd = 'much'",
            "`limits.cost_usd` has to be a number of dollars, and is of type string",
            "line 1, column 19",
        ),
        (
            "limits.session.cost_usd = -0.5",
            "`limits.session.cost_usd` is not between $0.000001 and $1000000",
            "line 1, column 27",
        ),
    ] {
        refused(text, Owner::User, &format!("{what} {}", at(place, text)));
    }
}

#[test]
fn what_is_no_toml_is_said_in_one_line_where_it_breaks() {
    for text in [
        "model = ",
        "model = \"x",
        "= 1",
        "[log",
        "a = 1\na = 2",
        "model = 'x' y",
    ] {
        let said = parse(text, Owner::User).unwrap_err();
        assert!(
            said.contains(" in /home/me/offshoot.toml line "),
            "{text}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let deep = format!("model = {}", "[".repeat(100_000));
    assert!(parse(&deep, Owner::User).is_err());
}

#[test]
fn a_project_cannot_say_who_answers_or_where_data_logs_and_keys_go() {
    for (text, name) in [
        ("model = 'offline'", "model"),
        ("model = 'scripted/evil.yaml'", "model"),
        ("child_model = 'offline'", "child_model"),
        ("tiers.small = 'offline'", "tiers"),
        ("compaction.auto = false", "compaction"),
        ("data_dir = 'x'", "data_dir"),
        ("[log]\nfile = 'x'", "log.file"),
        (
            "[providers.openai-chat]\nbase_url = 'http://evil'",
            "providers",
        ),
        (
            "providers.openai-chat.api_key_env = 'AWS_SECRET'",
            "providers",
        ),
        (
            "providers.openai-chat.models.x.context_window = 1",
            "providers",
        ),
    ] {
        assert!(parse(text, Owner::User).is_ok(), "{text}");
        let said = parse(text, Owner::Project).unwrap_err();
        let expected = format!("`{name}` cannot be set by a project in ");
        assert!(said.starts_with(&expected), "{said}");
        assert!(said.contains("a repository must not "), "{said}");
        assert!(said.contains("your own config file"), "{said}");
    }
    refused(
        "\nmodel = 'openai-chat/gpt-5'",
        Owner::Project,
        "`model` cannot be set by a project in /home/me/offshoot.toml line 2, column 1: \
         `model = 'openai-chat/gpt-5'`; a repository must not choose who answers you; put it into \
         your own config file, or use --model or OFFSHOOT_MODEL",
    );
}

#[test]
fn no_file_holds_a_key_or_consent_and_no_complaint_shows_one() {
    for text in [
        "[providers.openai-chat]\napi_key = 'sk-1234'",
        "[providers.openai-chat.headers]\nApi-Key = 'sk-1234'",
        "providers.openai-chat.headers.authorization = 'Bearer sk-1234'",
        "api_key = 'sk-1234'",
        "openai_api_key = 'sk-1234'",
        "providers.openai-chat.api_key_env = 'sk=1234'",
        "providers.openai-chat.headers.x-key = '$sk=1234'",
    ] {
        let said = parse(text, Owner::User).unwrap_err();
        assert!(!said.contains("1234"), "{said}");
    }
    let said = parse("api_key = 'sk-1234'", Owner::User).unwrap_err();
    assert!(said.contains("keep the key in the environment"), "{said}");
    let said = parse("yes = true", Owner::User).unwrap_err();
    assert!(
        said.contains("consent is given for one run, with --yes"),
        "{said}"
    );
}

#[test]
fn paths_are_seen_from_the_file_or_from_home() {
    let text = "data_dir = '~/data'\nlog.file = 'logs/a.log'";
    let layer = parse(text, Owner::User).unwrap();
    assert_eq!(layer.data_dir.unwrap().value, Path::new("/home/me/data"));
    assert_eq!(
        layer.log_file.unwrap().value,
        Path::new("/home/me/logs/a.log")
    );
    let stop = file::parse(text, Path::new(PLACE), Owner::User, None).unwrap_err();
    assert!(
        stop.to_string().contains("there is no home folder"),
        "{stop}"
    );
}

/// A home with a repository in it.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(home.path().join("repo/.git")).unwrap();
        fs::create_dir_all(home.path().join("repo/src/deep")).unwrap();
        home
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn load(&self, flags: Layer, variables: &[(&str, &str)]) -> Result<Settings, String> {
        let home = self.path();
        let all = [&[("HOME", home.to_str().unwrap())], variables].concat();
        let surroundings = Surroundings::new(Some(home.join("repo/src/deep")), all);
        let loaded = Settings::load(flags, None, &surroundings, Files::Read);
        loaded.map_err(|stop| stop.to_string())
    }
}

const USER: &str = ".config/offshoot/offshoot.toml";

#[test]
fn flags_win_over_variables_over_the_project_over_the_user() {
    let home = Home::new();
    let agent = |flags: &Layer, variables: &[(&str, &str)]| {
        home.load(flags.clone(), variables).unwrap().agent
    };
    let none = Layer::default();
    let default = Sourced::default(super::AGENT.to_owned());
    assert_eq!(agent(&none, &[]), default);
    let user = home.write(USER, "agent = 'user'");
    let expected = Sourced::new("user".to_owned(), Source::File(user, 1));
    assert_eq!(agent(&none, &[]), expected);
    let project = home.write("repo/offshoot.toml", "\nagent = 'project'");
    let expected = Sourced::new("project".to_owned(), Source::File(project, 2));
    assert_eq!(agent(&none, &[]), expected);
    let variable = [("OFFSHOOT_AGENT", "variable")];
    let source = Source::Variable("OFFSHOOT_AGENT".to_owned());
    let expected = Sourced::new("variable".to_owned(), source);
    assert_eq!(agent(&none, &variable), expected);
    let flag = Sourced::new("flag".to_owned(), Source::Flag("--agent"));
    let flags = Layer {
        agent: Some(flag.clone()),
        ..Layer::default()
    };
    assert_eq!(agent(&flags, &variable), flag);
}

#[test]
fn layers_are_put_over_each_other_value_by_value() {
    let home = Home::new();
    home.write(
        USER,
        "agent = 'lead'\ncolor = 'always'\n[limits]\ndepth = 9\nsteps = 3",
    );
    home.write(
        "repo/.offshoot/offshoot.toml",
        "[limits]\ndepth = 8\n[log]\nlevel = 'warn'",
    );
    let settings = home.load(Layer::default(), &[("NO_COLOR", "1")]).unwrap();
    let limits = settings.limits();
    assert_eq!((limits.depth, limits.spawned.steps), (8, Some(3)));
    assert_eq!(limits.slots, Limits::default().slots);
    assert_eq!(settings.agent.value, "lead");
    assert_eq!(settings.color.value, Color::Never);
    assert_eq!(settings.log_level.unwrap().value, Level::Warn);
    assert_eq!(settings.files.len(), 2);
    // Ours says more about us than everybody's.
    let variables = [("NO_COLOR", "1"), ("OFFSHOOT_COLOR", "auto")];
    let settings = home.load(Layer::default(), &variables).unwrap();
    assert_eq!(settings.color.value, Color::Auto);
    let settings = home.load(Layer::default(), &[("NO_COLOR", "")]).unwrap();
    assert_eq!(settings.color.value, Color::Always);
}

#[test]
fn a_project_can_lower_limits_and_not_raise_them() {
    let home = Home::new();
    home.write("repo/offshoot.toml", "limits.depth = 6");
    let said = home.load(Layer::default(), &[]).unwrap_err();
    assert!(
        said.contains("is 6, and more than 5, which is the default"),
        "{said}"
    );
    home.write(USER, "limits.depth = 6");
    assert_eq!(home.load(Layer::default(), &[]).unwrap().limits().depth, 6);
    home.write(USER, "limits.depth = 2");
    let said = home.load(Layer::default(), &[]).unwrap_err();
    assert!(said.contains("is 6, and more than 2, which is "), "{said}");
}

#[test]
fn caps_of_spawned_runs_and_of_sessions_are_told_apart_and_lowered_only() {
    let home = Home::new();
    home.write(
        USER,
        "[limits]\ntime = '90m'\ntokens = 5_000\ncost_usd = 2\n\
         [limits.session]\nsteps = 7\ntokens = 9_000\ncost_usd = 0.25\ntime = '2h'",
    );
    let project = "limits.time = '10m'\nlimits.session.steps = 7\nlimits.session.tokens = 100";
    home.write("repo/offshoot.toml", project);
    let settings = home.load(Layer::default(), &[]).unwrap();
    let Limits { root, spawned, .. } = settings.limits();
    let usual = Limits::default().spawned;
    let expected = Caps {
        time: Some(Span::secs(600)),
        tokens: Some(5_000),
        cost: Money::dollars(2.0),
        ..usual
    };
    assert_eq!(spawned, expected);
    let expected = Caps {
        steps: Some(7),
        tokens: Some(100),
        cost: Money::dollars(0.25),
        time: Some(Span::secs(7200)),
        ..Caps::default()
    };
    assert_eq!(root, expected);
    let made = settings.made();
    for (name, value) in [("limits.time", "10m"), ("limits.session.cost_usd", "$0.25")] {
        let found = made.iter().find(|(made, ..)| made == name).unwrap();
        assert_eq!(found.1, value);
    }
    for (text, said) in [
        (
            "limits.time = '91m'",
            "is 91m, and more than 90m, which is ",
        ),
        (
            "limits.stall = '6m'",
            "is 6m, and more than 5m, which is the default",
        ),
        (
            "limits.session.cost_usd = 0.26",
            "is $0.26, and more than $0.25, which is ",
        ),
    ] {
        home.write("repo/offshoot.toml", text);
        let refused = home.load(Layer::default(), &[]).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_project_ends_where_its_repository_does_or_home() {
    let home = Home::new();
    let files = || home.load(Layer::default(), &[]).unwrap().files;
    home.write("offshoot.toml", "agent = 'above'");
    assert_eq!(files(), [] as [PathBuf; 0]);
    let root = home.write("repo/offshoot.toml", "");
    assert_eq!(files(), [root]);
    let near = home.write("repo/src/offshoot.toml", "");
    assert_eq!(files(), [near]);
    // Without a repository the home folder is the end, and is looked into.
    fs::remove_dir(home.path().join("repo/.git")).unwrap();
    fs::remove_file(home.path().join("repo/offshoot.toml")).unwrap();
    fs::remove_file(home.path().join("repo/src/offshoot.toml")).unwrap();
    assert_eq!(files(), [home.path().join("offshoot.toml")]);
    // Outside of both nobody above has a say.
    let elsewhere = Surroundings::new(Some(home.path().join("repo/src")), [("HOME", "/nowhere")]);
    let flags = Layer {
        data_dir: Some(Sourced::default(home.path())),
        ..Layer::default()
    };
    let settings = Settings::load(flags, None, &elsewhere, Files::Read).unwrap();
    assert_eq!(settings.files, [] as [PathBuf; 0]);
}

#[test]
fn chores_are_set_with_their_sources_and_listed() {
    let home = Home::new();
    let text = "tiers.small = 'offline'\nproviders.openai-chat.models.a.context_window = 9\ncompaction.tail_turns = 5\n\
                compaction.smart_recovery.drop_middle = false\n";
    home.write(USER, text);
    let settings = home.load(Layer::default(), &[]).unwrap();
    let rules = settings.compacting();
    assert_eq!((rules.tail_turns, rules.auto), (5, true));
    assert!(!rules.smart_recovery.drop_middle && rules.smart_recovery.chunked_summarize);
    let made = settings.made();
    for (wanted, set) in [
        ("tiers.small", "offline"),
        ("providers.openai-chat.models.\"a\".context_window", "9"),
        ("compaction.tail_turns", "5"),
        ("compaction.smart_recovery.drop_middle", "false"),
    ] {
        let mut made = made.iter();
        assert!(
            made.any(|(name, value, _)| name == wanted && value == set),
            "{wanted}"
        );
    }
    let variables = [("OFFSHOOT_SMALL_MODEL", "scripted/x")];
    let settings = home.load(Layer::default(), &variables).unwrap();
    let source = Source::Variable("OFFSHOOT_SMALL_MODEL".to_owned());
    let small = Sourced::new("scripted/x".to_owned(), source);
    assert_eq!(settings.tiers[&Tier::Small], small);
    let said = parse("small_model = 'offline'", Owner::User).unwrap_err();
    assert!(said.contains("is now `tiers.small`"), "{said}");
}

#[test]
fn two_files_of_one_project_are_one_too_many() {
    let home = Home::new();
    home.write("repo/offshoot.toml", "");
    home.write("repo/.offshoot/offshoot.toml", "");
    let said = home.load(Layer::default(), &[]).unwrap_err();
    assert!(said.contains("keep one of them"), "{said}");
}

#[test]
fn the_file_of_a_user_is_not_the_project_of_who_works_beside_it() {
    let home = Home::new();
    let user = home.write(USER, "data_dir = 'here'");
    let variables = [("HOME", home.path().to_str().unwrap().to_owned())];
    let variables = variables
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let surroundings = Surroundings::new(Some(user.parent().unwrap().to_owned()), variables);
    let settings = Settings::load(Layer::default(), None, &surroundings, Files::Read).unwrap();
    assert_eq!(settings.files, [user]);
}

#[test]
fn variables_of_ours_that_say_nothing_are_mistakes_and_others_are_not_there() {
    let home = Home::new();
    for name in [
        "OFFSHOOT_MODEL",
        "OFFSHOOT_SMALL_MODEL",
        "OFFSHOOT_LARGE_MODEL",
        "OFFSHOOT_CHILD_MODEL",
        "OFFSHOOT_AGENT",
        "OFFSHOOT_DATA_DIR",
        "OFFSHOOT_LOG_FILE",
    ] {
        let said = home.load(Layer::default(), &[(name, "")]).unwrap_err();
        assert!(
            said.starts_with(&format!("the variable {name} is empty")),
            "{said}"
        );
    }
    let said = home
        .load(Layer::default(), &[("OFFSHOOT_LOG", "loud")])
        .unwrap_err();
    assert!(said.contains("is `loud`, and none of off, error"), "{said}");
    let empty = [("OPENAI_API_KEY", ""), ("OPENAI_BASE_URL", "")];
    let settings = home.load(Layer::default(), &empty).unwrap();
    let provider = &settings.providers["openai-chat"];
    assert_eq!(provider.key, None);
    assert_eq!(provider.base_url.source, Source::Default);
}

#[test]
fn what_cannot_be_read_is_said_and_not_waited_for() {
    let home = Home::new();
    let path = home.path().join("repo/offshoot.toml");
    fs::create_dir(&path).unwrap();
    let said = home.load(Layer::default(), &[]).unwrap_err();
    assert!(said.contains("offshoot.toml: it is not a file"), "{said}");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, b"model = '\xff'").unwrap();
    let said = home.load(Layer::default(), &[]).unwrap_err();
    assert!(said.contains("it is not UTF-8 text"), "{said}");
    fs::write(&path, " ".repeat(1024 * 1024 + 1)).unwrap();
    let said = home.load(Layer::default(), &[]).unwrap_err();
    assert!(said.contains("more than 1048576 bytes"), "{said}");
}

#[test]
fn without_a_home_a_data_folder_has_to_be_named() {
    let nowhere = Surroundings::new(Some("/".into()), [("HOME", "")]);
    let load = |flags| Settings::load(flags, None, &nowhere, Files::Read);
    let said = load(Layer::default()).unwrap_err().to_string();
    assert!(said.contains("give --data-dir DIR"), "{said}");
    let flags = Layer {
        data_dir: Some(Sourced::new(
            PathBuf::from("/data"),
            Source::Flag("--data-dir"),
        )),
        ..Layer::default()
    };
    assert_eq!(load(flags).unwrap().data_dir.value, Path::new("/data"));
}
