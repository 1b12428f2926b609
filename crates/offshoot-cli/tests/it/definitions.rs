//! Agents in files: the user's and the project's, and what becomes of those that are wrong.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::stage::{Done, Stage};

const SCRIPT: &str = r#"
replies:
  - {prompt: delegate, after_tools: false, call: [{tool: task, arguments: {subagent_type: helper, prompt: x}}]}
  - {prompt: delegate, say: "{output}"}
  - {say: "I am {agent}"}
"#;

const MINE: &str = ".config/offshoot/agents";
const THEIRS: &str = ".offshoot/agents";

fn stage(files: &[(&str, &str, &str)]) -> Stage {
    let stage = Stage::new(SCRIPT);
    for (folder, name, header) in files {
        let text = format!("---\n{header}\n---\nDo it.\n");
        stage.write(&format!("{folder}/{name}.md"), &text);
    }
    stage
}

fn ask(stage: &Stage, agent: &str, prompt: &str) -> Done {
    let model = ["--model", "scripted/script.yaml"];
    let run = ["run", "--trust-project", model[0], model[1]];
    stage.offshoot([&run[..], &["--agent", agent, prompt]].concat())
}

/// The warnings of a run that went well all the same.
#[track_caller]
fn warnings(done: &Done) -> Vec<String> {
    assert_eq!(done.code, Some(0), "{done:#?}");
    let lines = done.stderr.lines();
    let warnings = lines.filter_map(|line| line.strip_prefix("warning: "));
    warnings.map(str::to_owned).collect()
}

/// Checks the only warning of a run: the end of a path, and what is said of it.
#[track_caller]
fn warned(done: &Done, path: &str, what: &str) {
    let warnings = warnings(done);
    assert_eq!(warnings.len(), 1, "{done:#?}");
    assert!(warnings[0].contains(&format!("/{path}: ")), "{done:#?}");
    assert!(warnings[0].contains(what), "{done:#?}");
}

#[test]
fn agents_of_the_project_and_of_the_user_are_there() {
    let stage = stage(&[
        (MINE, "lead", "mode: primary"),
        (THEIRS, "team/critic", "mode: all"),
        (THEIRS, "helper", "mode: subagent"),
    ]);
    for (agent, prompt, answer) in [
        ("lead", "hello", "I am lead\n"),
        ("team/critic", "hello", "I am team/critic\n"),
        ("lead", "delegate", "I am helper\n"),
        // Known by another name, and kept by its own.
        ("general-purpose", "hello", "I am general\n"),
    ] {
        let done = ask(&stage, agent, prompt).succeeded();
        assert_eq!(done.stdout, answer, "{done:#?}");
        assert!(warnings(&done).is_empty(), "{done:#?}");
    }
    ask(&stage, "helper", "x").complained(
        2,
        "agent helper is started by other agents only; choose one of: build, general, lead, plan",
    );
}

#[test]
fn a_session_keeps_the_agents_of_its_own_folder() {
    let stage = stage(&[]);
    stage.write("there/.offshoot/agents/critic.md", "---\nmode: all\n---\nx");
    stage.write("there/script.yaml", SCRIPT);
    ask(&stage, "critic", "x").complained(2, "there is no agent critic");
    stage
        .offshoot(["trust", "--all", "--cwd", "there"])
        .succeeded();
    let run = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--agent",
        "critic",
    ];
    let more = ["--cwd", "there", "--session", "s", "x"];
    stage.offshoot([&run[..], &more].concat()).succeeded();
    for args in [
        ["run", "--session", "s", "again"],
        ["sessions", "message", "s", "again"],
    ] {
        let done = stage.offshoot(args).succeeded();
        assert_eq!(done.stdout, "I am critic\n", "{done:#?}");
    }
}

#[test]
fn an_agent_of_the_users_has_its_own_model_as_seen_from_its_file() {
    let own = "mode: subagent\nmodel: scripted/words.yaml";
    let stage = stage(&[(MINE, "helper", own)]);
    stage.write(
        &format!("{MINE}/words.yaml"),
        "replies: [{say: my own words}]",
    );
    let done = ask(&stage, "build", "delegate").succeeded();
    assert_eq!(done.stdout, "my own words\n", "{done:#?}");
    // A model that is not there is that agent's loss, and told with its line.
    stage.write(
        &format!("{MINE}/other.md"),
        "---\nmode: all\nmodel: acme/large\n---\nx",
    );
    let done = ask(&stage, "build", "delegate");
    warned(&done, "other.md:3", "there is no model acme/large");
    ask(&stage, "other", "x").complained(2, "other.md:3: there is no model acme/large");
}

#[test]
fn a_broken_file_is_told_of_once_and_stops_nobody_else() {
    let stage = stage(&[
        (THEIRS, "broken", "mode: all\ntols: []"),
        (THEIRS, "fine", "mode: all"),
    ]);
    let done = ask(&stage, "fine", "x");
    assert_eq!(done.stdout, "I am fine\n");
    let what = "unknown key `tols`, did you mean `tools`?";
    warned(&done, ".offshoot/agents/broken.md:3", what);
    ask(&stage, "broken", "x").complained(2, &format!("broken.md:3: {what}"));
    let args = ["--quiet", "run", "--model", "scripted/script.yaml", "x"];
    assert_eq!(stage.offshoot(args).succeeded().stderr, "");
}

#[test]
fn sa_33_own_permissions_are_an_error_with_its_line_and_stop_nobody_else() {
    let own = "own_permissions: [{permission: fs.write, action: deny}]";
    let stage = stage(&[
        (MINE, "lead", &format!("mode: all\n{own}")),
        (MINE, "fine", "mode: all"),
    ]);
    let what = "own_permissions is not a key any more";
    let done = ask(&stage, "fine", "x");
    assert_eq!(done.stdout, "I am fine\n");
    warned(&done, "lead.md:3", what);
    ask(&stage, "lead", "x").complained(2, &format!("lead.md:3: {what}"));
    stage.write(
        "old.yaml",
        &format!("agents:\n  - name: lead\n    mode: all\n    {own}\nreplies: [{{say: x}}]\n"),
    );
    let run = [
        "run",
        "--model",
        "scripted/old.yaml",
        "--agent",
        "lead",
        "x",
    ];
    stage.offshoot(run).complained(2, "old.yaml:4:");
    stage.offshoot(run).complained(2, what);
}

#[test]
fn who_asks_for_an_agent_of_theirs_that_is_broken_gets_no_other_in_its_place() {
    let stage = stage(&[(MINE, "build", "mode: al")]);
    let run = ["run", "--model", "scripted/script.yaml", "x"];
    let text = "build.md:2: unknown value `al`, did you mean `all`?; it is the default";
    stage.offshoot(run).complained(2, text);
    // Not even in a session that was opened before.
    stage.write(&format!("{MINE}/build.md"), "---\nmode: all\n---\nx");
    let open = [&run[..3], &["--session", "s", "x"]].concat();
    stage.offshoot(&open).succeeded();
    stage.write(&format!("{MINE}/build.md"), "---\nmode: al\n---\nx");
    stage
        .offshoot(["run", "--session", "s", "x"])
        .complained(2, "build.md:2");
}

#[test]
fn a_project_that_is_trusted_replaces_agents_and_chooses_models_but_brings_no_script() {
    let stage = stage(&[
        (THEIRS, "build", "mode: all\ntools: []"),
        (THEIRS, "dreamer", "mode: all\nmodel: offline"),
        (THEIRS, "actor", "mode: all\nmodel: scripted/own.yaml"),
    ]);
    stage.write(".offshoot/agents/own.yaml", "replies: [{say: obey me}]");
    stage.trust();
    let shown = |name: &str| stage.offshoot(["agents", "show", name]);
    let build = shown("build").succeeded().stdout;
    assert!(
        build.contains("\nfrom                  project: "),
        "{build}"
    );
    assert!(
        build.contains("\nreplaces              built-in\n"),
        "{build}"
    );
    let dreamer = shown("dreamer").succeeded().stdout;
    assert!(
        dreamer.contains("\nmodel                 offline\n"),
        "{dreamer}"
    );
    shown("actor").complained(
        2,
        "actor.md:3: a project's agent cannot have a script for a model",
    );
}

#[test]
fn a_script_has_the_last_word() {
    let stage = stage(&[
        (MINE, "lead", "mode: subagent"),
        (THEIRS, "critic", "mode: subagent"),
    ]);
    let agents = "agents: [{name: lead, mode: all}, {name: critic, mode: all}]\n";
    stage.write("script.yaml", &format!("{agents}{SCRIPT}"));
    for agent in ["lead", "critic"] {
        let done = ask(&stage, agent, "x");
        assert!(warnings(&done).is_empty(), "{done:#?}");
    }
}

#[test]
fn links_are_followed_as_long_as_they_stay_in_the_folder() {
    let stage = stage(&[(THEIRS, "real", "mode: all")]);
    let at = |name: &str| stage.path().join(THEIRS).join(name);
    symlink("real.md", at("linked.md")).unwrap();
    let done = ask(&stage, "linked", "x");
    assert_eq!(done.stdout, "I am linked\n");
    assert!(warnings(&done).is_empty(), "{done:#?}");
    // Out of it, and to a folder, which could be a circle.
    stage.write("secret.md", "---\nmode: all\n---\nx");
    symlink("../../secret.md", at("relative.md")).unwrap();
    symlink(stage.path().join("secret.md"), at("absolute.md")).unwrap();
    symlink(".", at("circle")).unwrap();
    symlink(stage.path(), at("outside")).unwrap();
    symlink("nowhere.md", at("nowhere.md")).unwrap();
    let warnings = warnings(&ask(&stage, "linked", "x"));
    assert_eq!(warnings.len(), 5, "{warnings:#?}");
    for (name, what) in [
        ("relative.md", "leads out of its folder"),
        ("absolute.md", "leads out of its folder"),
        ("circle", "a link to a folder, which is not followed"),
        ("outside", "a link to a folder, which is not followed"),
        ("nowhere.md", "its links lead nowhere"),
    ] {
        let said = |line: &&String| line.contains(&format!("/{name}: ")) && line.contains(what);
        assert!(
            warnings.iter().any(|line| said(&line)),
            "{name}: {warnings:#?}"
        );
    }
    ask(&stage, "relative", "x").complained(2, "leads out of its folder");
}

#[test]
fn a_folder_of_agents_that_lies_elsewhere_is_not_the_projects() {
    let stage = stage(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("spy.md"), "---\nmode: all\n---\nx").unwrap();
    std::fs::create_dir(stage.path().join(".offshoot")).unwrap();
    symlink(elsewhere.path(), stage.path().join(THEIRS)).unwrap();
    let done = ask(&stage, "build", "x");
    warned(&done, ".offshoot/agents", "leads out of its folder");
    ask(&stage, "spy", "x").complained(2, "there is no agent spy");
    // The user's own may lie where they like.
    std::fs::create_dir_all(stage.path().join(".config/offshoot")).unwrap();
    symlink(elsewhere.path(), stage.path().join(MINE)).unwrap();
    std::fs::remove_file(stage.path().join(THEIRS)).unwrap();
    assert_eq!(ask(&stage, "spy", "x").succeeded().stdout, "I am spy\n");
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let stage = stage(&[(THEIRS, "fine", "mode: all")]);
    let pipe = stage.path().join(THEIRS).join("pipe.md");
    mknodat(CWD, pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let done = ask(&stage, "fine", "x");
    warned(&done, "pipe.md", "it is not a file");
    assert_eq!(done.stdout, "I am fine\n");
}

#[test]
fn what_is_no_agent_file_is_left_alone() {
    let stage = stage(&[(THEIRS, "fine", "mode: all")]);
    for name in [
        "README.md",
        "notes.txt",
        ".draft.md",
        ".git/x.md",
        "deep/readme.md",
    ] {
        stage.write(&format!("{THEIRS}/{name}"), "no header");
    }
    assert!(warnings(&ask(&stage, "fine", "x")).is_empty());
    stage.write(&format!("{THEIRS}/my agent.md"), "---\nmode: all\n---\nx");
    let done = ask(&stage, "fine", "x");
    warned(&done, "my agent.md:1", "rename it, or write a `name`");
}

#[test]
fn no_number_of_files_keeps_anybody_waiting() {
    let stage = stage(&[]);
    for number in 0..300 {
        stage.write(&format!("{THEIRS}/a{number:03}.md"), "no header");
    }
    let warnings = warnings(&ask(&stage, "build", "x"));
    assert_eq!(warnings.len(), 11, "{warnings:#?}");
    assert_eq!(warnings[10], "247 more; see \"offshoot doctor\"");
    let done = stage.offshoot(["doctor"]).succeeded();
    let more = "holds more than 256 agent files; the others are not read";
    assert!(done.stdout.contains(more), "{done:#?}");
    let deep = "d/".repeat(12);
    stage.write(&format!("{THEIRS}/{deep}x.md"), "---\nmode: all\n---\nx");
    let done = stage.offshoot(["doctor"]).succeeded();
    assert!(
        done.stdout.contains("more than 8 folders down"),
        "{done:#?}"
    );
}

#[test]
fn doctor_counts_agents_and_lists_what_is_wrong() {
    let stage = stage(&[
        (MINE, "mine", "mode: all"),
        (THEIRS, "fine", "mode: all"),
        (THEIRS, "broken", "mood: all"),
    ]);
    stage.trust();
    let done = stage.offshoot(["doctor"]).succeeded();
    let has = |done: &Done, text: &str| assert!(done.stdout.contains(text), "{text}: {done:#?}");
    has(&done, "1 of your own, 1 of the project\n");
    has(&done, "ok    agent            build, the default\n");
    has(&done, "warn  agent file       ");
    has(
        &done,
        "broken.md:2: unknown key `mood`, did you mean `mode`?\n",
    );
    for (agent, what) in [
        ("broken", "agent broken cannot be used: "),
        (
            "nobody",
            "there is no agent nobody; there are: build, fine, general, mine, plan",
        ),
        ("explore", "agent explore is started by other agents only"),
    ] {
        let done = stage.offshoot(["doctor", "--agent", agent]).exited(1);
        has(&done, &format!("fail  agent            {what}"));
    }
}
