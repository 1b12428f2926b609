//! Config files and variables, as the binary heeds them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::provider::Provider;
use crate::stage::{Done, Stage, wait};

const PLAIN: &str = "replies: [{say: 'you said {prompt}'}]";

const USER: &str = ".config/offshoot/offshoot.toml";

/// Runs the binary with more variables.
#[track_caller]
fn with(stage: &Stage, variables: &[(&str, &str)], args: &[&str]) -> Done {
    let mut command = stage.command(args);
    wait(command.envs(variables.iter().copied()).spawn().unwrap())
}

/// Runs a prompt with no flag for the model; returns the second line of stderr.
#[track_caller]
fn model_line(stage: &Stage, variables: &[(&str, &str)]) -> String {
    let done = with(stage, variables, &["run", "hello"]).succeeded();
    assert_eq!(done.stdout, "you said hello\n");
    assert_eq!(done.remarks().lines().count(), 2, "{done:#?}");
    done.stderr.lines().nth(1).unwrap().to_owned()
}

#[test]
fn the_model_comes_from_where_it_is_said_to_and_that_is_told() {
    let stage = Stage::new(PLAIN);
    let model = "scripted/script.yaml";
    let said = model_line(&stage, &[("OFFSHOOT_MODEL", model)]);
    assert_eq!(
        said,
        "model scripted/script.yaml, from the variable OFFSHOOT_MODEL"
    );
    stage.write(USER, "# mine\nmodel = '../../script.yaml'");
    with(&stage, &[], &["run", "hello"]).complained(2, "line 2");
    stage.write(USER, "# mine\nmodel = 'scripted/../../script.yaml'");
    let said = model_line(&stage, &[]);
    assert!(
        said.ends_with(".config/offshoot/offshoot.toml line 2"),
        "{said}"
    );
    // Who asked for quiet does not hear of it; a program's stdout has only events.
    let quiet = with(&stage, &[], &["run", "--quiet", "hello"]).succeeded();
    assert_eq!(quiet.stderr, "");
    let json = with(&stage, &[], &["run", "--json", "hello"]).succeeded();
    assert_eq!(json.stderr.lines().nth(1), Some(said.as_str()), "{json:#?}");
}

#[test]
fn a_model_that_is_not_there_is_told_with_where_it_was_asked_for() {
    let stage = Stage::new(PLAIN);
    let variables = [("OFFSHOOT_MODEL", "acme/large")];
    let refused = with(&stage, &variables, &["run", "x"]);
    refused.complained(2, "it comes from the variable OFFSHOOT_MODEL");
    stage.write(USER, "\nmodel = 'acme/large'");
    let refused = with(&stage, &[], &["run", "x"]);
    refused.complained(2, "offshoot.toml line 2");
    // A flag is in sight.
    let refused = with(&stage, &[], &["run", "--model", "acme/large", "x"]);
    assert!(!refused.stderr.contains("comes from"), "{refused:#?}");
    refused.complained(2, "there is no model acme/large");
}

#[test]
fn an_agent_that_is_not_there_is_told_with_where_it_was_asked_for() {
    let stage = Stage::new(PLAIN);
    let run = ["run", "--model", "scripted/script.yaml", "x"];
    let refused = with(&stage, &[("OFFSHOOT_AGENT", "nobody")], &run);
    refused.complained(
        2,
        "there is no agent nobody; there are: build, general, plan; it comes from",
    );
    let done = with(&stage, &[("OFFSHOOT_AGENT", "general")], &run).succeeded();
    assert_eq!(done.stdout, "you said x\n");
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.events()[0]["agent"], "general");
}

#[test]
fn a_server_that_cannot_be_asked_is_told_with_where_it_was_said() {
    let stage = Stage::new(PLAIN);
    let run = ["run", "--model", "openai-chat/x", "x"];
    let server = "[providers.openai-chat]\napi_key_env = 'MY_KEY'\nbase_url = ";
    stage.write(USER, &format!("{server}'http://10.0.0.1'"));
    let refused = with(&stage, &[], &run);
    assert!(!refused.stderr.contains("OPENAI"), "{refused:#?}");
    refused.complained(2, "it needs a key; set MY_KEY");
    stage.write(USER, &format!("{server}'http://me:word@10.0.0.1'"));
    let refused = with(&stage, &[], &run);
    assert!(!refused.stderr.contains("word@"), "{refused:#?}");
    let about = "offshoot.toml line 3: it has a user or a password in it";
    refused.complained(2, about);
    let variables = [("OPENAI_BASE_URL", "nowhere")];
    let refused = with(&stage, &variables, &run);
    refused.complained(2, "read the address in the variable OPENAI_BASE_URL: ");
    // Nor does a complaint about the line itself show it.
    let mistyped = "[providers.openai-chat]\nbase_urls = 'http://me:word@10.0.0.1'";
    stage.write(USER, mistyped);
    let refused = with(&stage, &[], &run);
    assert!(!refused.stderr.contains("word@"), "{refused:#?}");
    refused.complained(2, "did you mean `providers.NAME.base_url`?");
}

#[test]
fn variables_that_are_no_text_are_told_by_name() {
    let stage = Stage::new(PLAIN);
    for name in [
        "OFFSHOOT_MODEL",
        "OFFSHOOT_LOG",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
    ] {
        let mut command = stage.command(["sessions", "list"]);
        command.env(name, OsStr::from_bytes(b"\xff"));
        let refused = wait(command.spawn().unwrap());
        refused.complained(2, &format!("the variable {name} is not UTF-8 text"));
    }
    // A path need not be text.
    let mut command = stage.command(["sessions", "list"]);
    command.env("OFFSHOOT_DATA_DIR", OsStr::from_bytes(b"data\xff"));
    wait(command.spawn().unwrap()).succeeded();
}

#[test]
fn a_typo_in_a_projects_file_stops_whoever_works_and_not_whoever_looks() {
    let stage = Stage::new(PLAIN);
    let run = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "kept",
        "x",
    ];
    stage.offshoot(run).succeeded();
    stage.write("offshoot.toml", "agnet = 'x'");
    stage.offshoot(run).complained(2, "did you mean `agent`?");
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.events().len(), 1);
    let warning = "did you mean `agent`?; the file is left out\n";
    assert!(listed.stderr.starts_with("warning: "), "{listed:#?}");
    assert!(listed.stderr.ends_with(warning), "{listed:#?}");
    for change in ["revert", "rewind", "compact"] {
        let args = ["sessions", change, "kept"];
        stage.offshoot(args).complained(2, "did you mean `agent`?");
    }
    for stop in ["cancel", "promote"] {
        let done = stage.offshoot(["sessions", stop, "kept"]).succeeded();
        assert!(done.stderr.contains(warning), "{done:#?}");
    }
}

#[test]
fn a_typo_in_a_config_file_stops_everything_before_it_starts() {
    let stage = Stage::new(PLAIN);
    stage.write(".config/offshoot/offshoot.toml", "# ours\n\nmodle = 'x'");
    let run = ["run", "--model", "scripted/script.yaml", "x"];
    let about = "offshoot.toml line 3, column 1: `modle = 'x'`; did you mean `model`?";
    for args in [&run[..], &["sessions", "list"]] {
        stage.offshoot(args).complained(2, about);
    }
    assert!(!stage.data().exists());
}

#[test]
fn a_session_keeps_its_model_whatever_the_environment_says_now() {
    let stage = Stage::new(PLAIN);
    let first = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "kept",
        "one",
    ];
    stage.offshoot(first).succeeded();
    let variables = [
        ("OFFSHOOT_MODEL", "acme/large"),
        ("OFFSHOOT_AGENT", "nobody"),
    ];
    let done = with(&stage, &variables, &["run", "--session", "kept", "two"]).succeeded();
    assert_eq!(done.stdout, "you said two\n");
    assert_eq!(done.remarks(), "");
}

#[test]
fn limits_of_a_file_hold() {
    let stage = Stage::new(
        "
        replies:
          - {depth: 0, after_tools: false, call: [{tool: task, arguments: {subagent_type: general, prompt: x}}]}
          - {depth: 1, say: from below}
          - {say: '{output}'}
        ",
    );
    let free = stage.run("go").succeeded();
    assert!(free.stdout.contains("from below"), "{free:#?}");
    stage.write("offshoot.toml", "[limits]\ndepth = 0");
    let bound = stage.run("go").succeeded();
    assert!(bound.stdout.contains("nest at most 0 deep"), "{bound:#?}");
}

#[test]
fn data_goes_where_the_users_file_says_and_not_where_a_project_does() {
    let stage = Stage::new(PLAIN);
    stage.write(USER, "data_dir = '~/kept/here'");
    let mut command = stage.command(["run", "--model", "scripted/script.yaml", "x"]);
    wait(command.env_remove("OFFSHOOT_DATA_DIR").spawn().unwrap()).succeeded();
    assert!(stage.path().join("kept/here/offshoot.db").exists());
    assert!(!stage.data().exists());
    stage.write("offshoot.toml", "data_dir = 'stolen'");
    let refused = stage.offshoot(["sessions", "revert", "x"]);
    refused.complained(2, "`data_dir` cannot be set by a project");
    let listed = stage.offshoot(["sessions", "list"]).succeeded();
    assert!(
        listed.stderr.contains("the file is left out"),
        "{listed:#?}"
    );
    assert!(!stage.path().join("stolen").exists());
}

#[test]
fn the_file_of_a_project_is_that_of_the_folder_to_work_in() {
    let stage = Stage::new(PLAIN);
    stage.write("other/offshoot.toml", "agent = 'general'");
    let model = ["--model", "scripted/script.yaml"];
    let args = ["run", "--cwd", "other", model[0], model[1], "hello"];
    stage.offshoot(args).succeeded();
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert_eq!(listed.events()[0]["agent"], "general");
}

#[test]
fn a_project_cannot_choose_a_model_and_its_script_runs_nothing() {
    let evil = "replies: [{after_tools: false, call: [{tool: bash, arguments: {command: 'touch \
                hacked'}}]}, {say: done}]";
    let stage = Stage::new(evil);
    stage.write("offshoot.toml", "model = 'scripted/script.yaml'");
    for args in [
        &["run", "--yes", "go"][..],
        &["sessions", "message", "x", "go"],
    ] {
        let refused = stage.offshoot(args);
        refused.complained(2, "`model` cannot be set by a project");
    }
    let done = stage.offshoot(["doctor"]).exited(1);
    assert!(done.stdout.contains("`model` cannot be set"), "{done:#?}");
    assert!(!stage.path().join("hacked").exists());
}

#[test]
fn the_agents_of_one_session_ask_several_providers_each_with_its_own_key() {
    let stage = Stage::new(PLAIN);
    let (strong, local) = (Provider::start(&["general"]), Provider::start(&[]));
    let config = format!(
        "model = 'gateway/strong'\nchild_model = 'local/small:1b'\n\
         [providers.gateway]\nkind = 'openai-chat'\nbase_url = '{}'\napi_key_env = 'GATEWAY_KEY'\n\
         headers = {{ X-Team = 'blue', api-key = '$TEAM_KEY' }}\n\
         models.strong.price = {{ input = 100, output = 1000 }}\n\
         [providers.local]\nkind = 'openai-chat'\nbase_url = '{}'\n",
        strong.address, local.address
    );
    stage.write(USER, &config);
    let keys = [
        ("GATEWAY_KEY", "sk-gateway"),
        ("TEAM_KEY", "sk-team"),
        ("OPENAI_API_KEY", "sk-openai"),
    ];
    let done = with(&stage, &keys, &["run", "go"]).succeeded();
    assert_eq!(strong.models("You are build"), ["strong", "strong"]);
    assert_eq!(local.models("You are general"), ["small:1b"]);
    for head in strong.heads() {
        let has = |line: &str| head.lines().any(|found| found == line);
        assert!(has("authorization: bearer sk-gateway"), "{head}");
        assert!(has("x-team: blue") && has("api-key: sk-team"), "{head}");
    }
    for head in local.heads() {
        assert!(
            !head.contains("sk-") && !head.contains("authorization"),
            "{head}"
        );
    }
    // Two requests of the root have a price, those of its child have none.
    assert!(done.stderr.contains("$0.22"), "{done:#?}");
    // A header whose variable is not set is an error before anything is sent.
    let sent = strong.sent().len();
    let refused = with(&stage, &keys[..1], &["run", "go"]);
    refused.complained(2, "the header `api-key` is empty; set TEAM_KEY");
    assert_eq!(strong.sent().len(), sent);
    let unknown = with(&stage, &keys, &["run", "--model", "gatway/strong", "go"]);
    unknown.complained(2, "gateway/NAME, local/NAME, openai-chat/NAME");
}
