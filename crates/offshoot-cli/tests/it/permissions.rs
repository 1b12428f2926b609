//! Rules that people write, what they do in a run, and `offshoot permissions`.

use std::fs;

use serde_json::Value;

use crate::stage::{Done, Stage};

const SCRIPT: &str = r#"
replies:
  - {prompt: write, after_tools: false, call: [{tool: write, arguments: {path: docs/a.txt, content: "one"}}]}
  - {prompt: run, after_tools: false, call: [{tool: bash, arguments: {command: "echo hello"}}]}
  - {say: "{output}"}
"#;

const USER: &str = ".config/offshoot/offshoot.toml";
const PROJECT: &str = "offshoot.toml";

const ALLOWS: &str = "
[[permissions]]
permission = 'fs.write'
pattern = 'docs/**'
action = 'allow'

[[permissions]]
permission = 'shell.run'
pattern = 'echo *'
action = 'allow'
";

const DENIES: &str =
    "permissions = [{permission = 'fs.write', pattern = '**/a.txt', action = 'deny'}]";

fn stage(files: &[(&str, &str)]) -> Stage {
    let stage = Stage::new(SCRIPT);
    fs::create_dir_all(stage.path().join("docs")).unwrap();
    for (name, text) in files {
        stage.write(name, text);
    }
    stage
}

fn explain(stage: &Stage, args: &[&str]) -> Done {
    stage.offshoot([&["permissions", "explain"], args].concat())
}

#[test]
fn what_the_user_allows_runs_unasked_and_what_the_project_denies_does_not() {
    let stage = stage(&[(USER, ALLOWS)]);
    stage.run("write").succeeded();
    assert!(stage.path().join("docs/a.txt").exists());
    assert!(stage.run("run").succeeded().stdout.contains("hello"));

    let stage = self::stage(&[(USER, ALLOWS), (PROJECT, DENIES)]);
    let done = stage.run("write").succeeded();
    assert!(!stage.path().join("docs/a.txt").exists());
    let denied = "write was denied by the project's rules";
    assert!(done.stdout.contains(denied), "{}", done.stdout);
}

#[test]
fn a_rule_that_is_wrong_stops_a_run_with_its_place() {
    let wrong = "[[permissions]]\npermission = 'fs.wirte'\naction = 'deny'\n";
    let stage = stage(&[(PROJECT, wrong)]);
    let done = stage.run("write");
    assert_eq!(done.code, Some(2), "{done:#?}");
    for part in [
        "unknown capability `fs.wirte`",
        "line 2, column 14",
        "did you mean `fs.write`?",
    ] {
        assert!(done.stderr.contains(part), "{}", done.stderr);
    }
    let agent =
        "---\nmode: primary\npermissions: [{permission: fs.wirte, action: allow}]\n---\nGo.";
    let stage = self::stage(&[(".offshoot/agents/odd.md", agent)]);
    let done = stage.run("write").exited(3);
    assert!(
        done.stderr
            .contains("odd.md:3:28: unknown capability `fs.wirte`"),
        "{done:#?}"
    );
    let done = stage.offshoot([
        "run",
        "--model",
        "scripted/script.yaml",
        "--agent",
        "odd",
        "x",
    ]);
    assert_eq!(done.code, Some(2), "{done:#?}");
}

#[test]
fn a_projects_allow_is_told_to_be_worth_nothing() {
    let stage = stage(&[(PROJECT, ALLOWS)]);
    let done = stage.run("write").exited(3);
    let told = "line 3 allows nothing, and 1 more like it: a project's rules can only narrow";
    assert!(done.stderr.contains(told), "{}", done.stderr);
    assert!(!stage.path().join("docs/a.txt").exists());
}

#[test]
fn r23_explain_says_layer_by_layer_who_decides() {
    let stage = stage(&[(USER, ALLOWS), (PROJECT, DENIES)]);
    let done = explain(&stage, &["fs.write", "docs/b.txt"]).exited(0);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(lines[0].starts_with("agent build in /"), "{}", done.stdout);
    assert!(lines[2].starts_with("fs.write /") && lines[2].ends_with("/docs/b.txt"));
    assert!(lines[3].starts_with("  the project's rules") && lines[3].ends_with("  -"));
    assert!(lines[4].starts_with("> the user's rules") && lines[4].contains("allow  fs.write"));
    assert!(lines[4].ends_with("offshoot.toml line 3"), "{}", lines[4]);
    assert!(
        done.stdout.ends_with("  allow, by the user's rules\n"),
        "{}",
        done.stdout
    );

    let done = explain(&stage, &["fs.write", "docs/a.txt"]).exited(1);
    assert!(
        done.stdout.ends_with("  deny, by the project's rules\n"),
        "{}",
        done.stdout
    );
    let done = explain(&stage, &["fs.write", "src/b"]).exited(3);
    assert!(
        done.stdout.ends_with("  ask: nobody has a rule for it\n"),
        "{}",
        done.stdout
    );
}

#[test]
fn explain_takes_a_command_apart_as_the_shell_tool_does() {
    let stage = stage(&[(USER, ALLOWS)]);
    explain(&stage, &["shell.run", "echo a"]).exited(0);
    let done = explain(&stage, &["shell.run", "echo $(true x) > docs/b", "--json"]).exited(3);
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    let needs = said["needs"].as_array().unwrap();
    let of = |need: &Value| {
        let word = |key: &str| need[key].as_str().unwrap().to_owned();
        let action = need["decision"]["action"].as_str().unwrap().to_owned();
        (word("capability"), action)
    };
    let mut said: Vec<(String, String)> = needs.iter().map(of).collect();
    said.sort();
    let expected = [
        ("fs.write", "allow"),
        ("shell.run", "allow"),
        ("shell.run", "ask"),
    ];
    let expected = expected.map(|(one, two)| (one.to_owned(), two.to_owned()));
    assert_eq!(said, expected);
    explain(&stage, &["shell.run", "echo a | sh -c x"]).exited(3);
}

#[test]
fn explain_follows_a_path_of_agents_that_start_each_other() {
    let narrow = "---\nmode: all\nspawns: [team/scribe]\n---\nGo.";
    let scribe = "---\nmode: subagent\npermissions: [{permission: fs.write, pattern: \"docs/**\", action: allow}]\n---\nGo.";
    let stage = stage(&[
        (USER, "permissions = [{permission = '*', action = 'allow'}]"),
        (".offshoot/agents/narrow.md", narrow),
        (".offshoot/agents/team/scribe.md", scribe),
    ]);
    stage.offshoot(["trust", "--all"]).succeeded();
    let path = ["--agent", "build/narrow/team/scribe"];
    let ask = |target: &str| explain(&stage, &[&path[..], &["fs.write", target]].concat());
    ask("docs/x").exited(0);
    let done = ask("src/x").exited(1);
    assert!(
        done.stdout.contains("> agent team/scribe"),
        "{}",
        done.stdout
    );
    // What a person's own is passes to no child.
    explain(&stage, &["agent.switch", "build"]).exited(0);
    let child = ["--agent", "build/narrow", "agent.switch", "build"];
    let done = explain(&stage, &child).exited(1);
    assert!(done.stdout.contains("never handed on"), "{}", done.stdout);

    for (path, why) in [
        ("narrow/general", "agent narrow starts no agent general"),
        ("explore", "agent explore is started by other agents only"),
        ("build/nobody", "agent build starts no agent nobody"),
        (
            "build/general/general/general/general/general/general",
            "levels",
        ),
    ] {
        let done = explain(&stage, &["--agent", path, "fs.read", "x"]);
        done.complained(2, why);
    }
    explain(&stage, &["fs.wirte", "x"]).complained(2, "did you mean fs.write?");
}

#[test]
fn explain_knows_the_agents_of_a_session() {
    let stage = stage(&[(USER, ALLOWS)]);
    let model = ["--model", "scripted/script.yaml"];
    let run = ["run", model[0], model[1], "--session", "explained", "write"];
    stage.offshoot(run).succeeded();
    let said = |args: &[&str]| explain(&stage, &[&["--session", "explained"], args].concat());
    said(&["fs.write", "docs/b"]).exited(0);
    said(&["fs.write", "src/b"]).exited(3);
    let data = stage.data().join("offshoot.db");
    let done = said(&["fs.read", data.to_str().unwrap()]).exited(1);
    assert!(
        done.stdout.contains("which is not for agents"),
        "{}",
        done.stdout
    );
    // What holds is what the user says now.
    stage.write(
        USER,
        "permissions = [{permission = 'fs.write', action = 'deny'}]",
    );
    let done = said(&["fs.write", "docs/b"]).exited(1);
    assert!(
        done.stdout
            .contains("fs.write is denied whatever the target"),
        "{}",
        done.stdout
    );
}

#[test]
fn x12_what_an_agents_file_says_now_narrows_sessions_that_go_on() {
    let file = ".config/offshoot/agents/wr.md";
    let manifest =
        |more: &str| format!("---\ndescription: writes\nmode: primary\n{more}---\nYou write.\n");
    let narrowed = [
        "permissions: [{permission: fs.read, action: allow}]\n",
        "read_only: true\n",
    ];
    for more in narrowed {
        let stage = stage(&[(USER, ALLOWS), (file, &manifest(""))]);
        let run = [
            &["run", "--model", "scripted/script.yaml"],
            ["--agent", "wr", "--session", "s", "write"].as_slice(),
        ];
        let written = stage.path().join("docs/a.txt");
        stage.offshoot(run.concat()).succeeded();
        assert!(written.exists(), "{more}");
        fs::remove_file(&written).unwrap();
        stage.write(file, &manifest(more));
        let done = stage.offshoot(run.concat());
        assert!(!written.exists(), "{more}: {}", done.stdout);
        explain(&stage, &["--session", "s", "fs.write", "docs/a.txt"]).exited(1);
        // What it was born with stays.
        stage.write(
            file,
            &manifest("permissions: [{permission: fs.write, action: allow}]\n"),
        );
        stage.offshoot(run.concat()).succeeded();
        explain(&stage, &["--session", "s", "fs.read", "x"]).exited(1);
    }
}

#[test]
fn explain_says_what_holds_for_a_call_of_the_engine() {
    let stage = stage(&[(
        USER,
        "permissions = [{permission = 'task', pattern = 'explore', action = 'ask'}, \
         {permission = 'todo', action = 'deny'}]",
    )]);
    let done = explain(&stage, &["task", "explore"]).exited(3);
    for part in ["task explore\n", "ask, by the user's rules"] {
        assert!(done.stdout.contains(part), "{}", done.stdout);
    }
    let done = explain(&stage, &["task", "general"]).exited(0);
    assert!(
        done.stdout.contains("allow: it needs nothing"),
        "{}",
        done.stdout
    );
    // Only calls that are about an agent have a target.
    let done = explain(&stage, &["todo", "whatever"]).exited(1);
    assert!(
        done.stdout.contains("todo is denied whatever the target"),
        "{}",
        done.stdout
    );
    explain(&stage, &["tsak", "explore"]).complained(2, "did you mean task?");
}

#[test]
fn r23_explain_knows_the_scratch_folder_of_an_agent_of_a_session() {
    let stage = stage(&[(USER, ALLOWS)]);
    let command = "echo hello > $OFFSHOOT_SCRATCH/f";
    let done = explain(&stage, &["shell.run", command]).exited(3);
    let unknown = "what OFFSHOOT_SCRATCH is, only an agent of a session knows: see --session\n";
    assert!(done.stdout.ends_with(unknown), "{}", done.stdout);
    let run = [
        "run",
        "--model",
        "scripted/script.yaml",
        "--session",
        "explained",
        "write",
    ];
    stage.offshoot(run).succeeded();
    let done = explain(&stage, &["--session", "explained", "shell.run", command]).exited(0);
    assert!(done.stdout.contains("fs.write /"), "{}", done.stdout);
    assert!(done.stdout.contains("/explained/f\n"), "{}", done.stdout);
}

#[test]
fn explain_tells_of_what_is_seen_through_and_of_who_forbids_it() {
    let stage = stage(&[(USER, ALLOWS)]);
    let done = explain(&stage, &["shell.run", "nohup echo x"]).exited(0);
    let allowed = "shell.wrapper nohup echo x\n";
    assert!(done.stdout.contains(allowed), "{}", done.stdout);
    let why = "  allow: no rule is about it, and what it runs needs one\n";
    assert!(done.stdout.contains(why), "{}", done.stdout);
    let nohup = "\n[[permissions]]\npermission = 'shell.run'\npattern = 'nohup'\naction = 'deny'\n";
    stage.write(USER, &format!("{ALLOWS}{nohup}"));
    explain(&stage, &["shell.run", "nohup echo x"]).exited(1);
}

#[test]
fn a_repository_that_nobody_accepted_does_not_fill_the_screen_with_warnings() {
    let pair = |number: usize| {
        let rule = |action: &str| {
            format!(
                "[[permissions]]\npermission = 'fs.read'\npattern = 'f{number}'\naction = '{action}'\n"
            )
        };
        rule("deny") + &rule("ask")
    };
    let many: String = (0..500).map(pair).collect();
    let stage = stage(&[(PROJECT, &many)]);
    let done = stage.run("write").exited(3);
    let more = "warning: 490 more; see \"offshoot permissions list\"";
    assert!(done.stderr.contains(more), "{}", done.stderr);
    assert_eq!(
        done.stderr.matches("warning: ").count(),
        11,
        "{}",
        done.stderr
    );
    let all = stage.offshoot(["permissions", "list"]).succeeded();
    assert_eq!(all.stderr.matches("warning: ").count(), 500);
    let doctor = stage.offshoot(["doctor"]).stdout;
    assert_eq!(doctor.matches("warn  config ").count(), 11, "{doctor}");
    let more = "490 more; see \"offshoot permissions list\"";
    assert!(doctor.contains(more), "{doctor}");
}

#[test]
fn list_shows_the_layers_and_where_they_come_from() {
    let stage = stage(&[(USER, ALLOWS), (PROJECT, DENIES)]);
    let done = stage
        .offshoot(["permissions", "list", "--agent", "build/explore"])
        .succeeded();
    for part in [
        "the project's rules (can only narrow)\n  deny fs.write **/a.txt   ",
        "offshoot.toml line 1\n",
        "the user's rules (can allow)\n  allow fs.write /",
        "root grant (can allow)\n",
        "agent build (can only narrow)\n  says nothing\n",
        "agent explore (can only narrow)\n  allow fs.read *\n  deny everything else\n",
    ] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    let done = stage
        .offshoot(["permissions", "list", "--json"])
        .succeeded();
    let layers = done.events();
    // The host's is the first layer there is.
    assert_eq!(
        layers[0]["layer"],
        "the data folder, which is not for agents"
    );
    assert_eq!(layers[1]["layer"], "the project's rules");
    assert_eq!(layers[1]["rules"][0]["action"], "deny");
}

#[test]
fn explain_says_that_no_rule_allows_what_the_tools_for_files_refuse() {
    let stage = stage(&[(USER, "permissions = [{permission = '*', action = 'allow'}]")]);
    for (target, why) in [
        ("/etc/hosts", "is outside the workspace"),
        ("docs/../b.txt", "goes through `..`"),
    ] {
        for capability in ["fs.read", "fs.write"] {
            let done = explain(&stage, &[capability, target]).exited(1);
            assert!(done.stdout.contains(why), "{done:?}");
            let told = "the tools for files refuse it, and no rule can allow it\n";
            assert!(done.stdout.ends_with(told), "{done:?}");
        }
        // A command is confined by rules only.
        explain(&stage, &["fs.write", target, "--tool", "bash"]).exited(0);
    }
    let inside = stage.path().canonicalize().unwrap().join("docs/b.txt");
    explain(&stage, &["fs.write", inside.to_str().unwrap()]).exited(0);
    let done = explain(&stage, &["fs.read", "/etc/hosts", "--json"]).exited(1);
    let said: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(said["decision"]["layer"], "the tools for files");
    assert!(said["needs"][0]["refused"].is_string(), "{said}");
}

#[test]
fn explain_says_what_to_write_for_a_tool_and_for_what_is_opaque() {
    let allow =
        "permissions = [{permission = 'shell.run', pattern = 'python *', action = 'allow'}]";
    let stage = stage(&[(USER, allow)]);
    explain(&stage, &["shell.run", "python -m pytest x"]).exited(0);
    let done = explain(&stage, &["shell.run", "python -m code x"]).exited(3);
    let told = "only a rule for shell.opaque with its text as its pattern allows it";
    assert!(done.stdout.contains(told), "{done:?}");
    for (tool, needed) in [
        ("bash", "shell.run"),
        ("write", "fs.write"),
        ("grep", "fs.read"),
    ] {
        let done = explain(&stage, &[tool, "x"]).exited(2);
        let told = format!("write {needed}, with --tool {tool}");
        assert!(done.stderr.contains(&told), "{done:?}");
    }
    // What a tool of a server needs nobody knows but the server.
    let done = explain(&stage, &["mcp:fs:read", "x"]).exited(2);
    let told = "mcp:fs:read is a tool of a server, and what is explained is what it needs: write that \
                capability, such as fs.read, with --tool mcp:fs:read";
    assert!(done.stderr.contains(told), "{done:?}");
}

#[test]
fn explain_knows_which_tools_there_are() {
    let stage = stage(&[]);
    let ask = |tool: &str| explain(&stage, &["fs.read", "x", "--tool", tool]);
    ask("raed").complained(2, "there is no tool raed; did you mean read?");
    ask("launch").complained(2, "there is no tool launch; there are: ");
    ask("grep").exited(0);
    ask("mcp:files:read").exited(0);
}

/// A root that has an agent work which it calls by another name.
const DELEGATES: &str = r#"
replies:
  - {depth: 1, say: "worked"}
  - {after_tools: false, call: [{tool: task, arguments: {subagent_type: general-purpose, prompt: work}}]}
  - {say: "{output}"}
"#;

fn about_task(name: &str, action: &str) -> String {
    format!("permissions = [{{permission = 'task', pattern = '{name}', action = '{action}'}}]")
}

#[test]
fn r23_a_run_and_explain_know_an_agent_by_all_of_its_names() {
    let names = ["general", "general-purpose"];
    for ruled in names {
        let stage = Stage::new(DELEGATES);
        stage.write(USER, &about_task(ruled, "deny"));
        for asked in names {
            let done = explain(&stage, &["task", asked]).exited(1);
            assert!(done.stdout.contains("task general\n"), "{done:?}");
        }
        let run = ["run", "--model", "scripted/script.yaml", "--session", "s"];
        let done = stage.offshoot([&run[..], &["go"]].concat()).succeeded();
        let denied = "task was denied by the user's rules";
        assert!(done.stdout.contains(denied), "{ruled}: {done:?}");
        for asked in names {
            explain(&stage, &["--session", "s", "task", asked]).exited(1);
        }
        // The log has the rule that decided, and it is shown.
        let shown = stage.offshoot(["sessions", "show", "s"]).succeeded();
        let told = format!("denied by the user's rules: deny task {ruled}\n");
        assert!(shown.stdout.contains(&told), "{shown:?}");
    }
}

#[test]
fn a_rule_about_an_agent_that_is_not_there_is_told() {
    let told = |name: &str| format!("is about agent `{name}`, and there is none; ");
    let stage = stage(&[(USER, &about_task("exlore", "ask"))]);
    let misspelt = format!("{}did you mean `explore`?", told("exlore"));
    let done = stage.run("write").exited(3);
    assert!(done.stderr.contains(&misspelt), "{done:?}");
    let done = stage.offshoot(["permissions", "list"]).succeeded();
    assert!(done.stderr.contains(&misspelt), "{done:?}");
    // What is there by another name is there; what the user means may be there in another folder.
    for name in ["general-purpose", "explore", "exp*", "auditor"] {
        stage.write(USER, &about_task(name, "ask"));
        let done = stage.run("write").exited(3);
        assert!(!done.stderr.contains(&told(name)), "{done:?}");
    }
    // A project's rules are for its own folder.
    stage.write(PROJECT, &about_task("auditor", "ask"));
    let done = stage.run("write").exited(3);
    let unknown = format!("{}see \"offshoot agents list\"", told("auditor"));
    assert!(done.stderr.contains(&unknown), "{done:?}");
}

#[test]
fn a_search_leaves_out_what_rules_keep_from_it() {
    const SEARCHES: &str = r#"
replies:
  - {prompt: above, after_tools: false, call: [{tool: grep, arguments: {pattern: key}}]}
  - {prompt: within, after_tools: false, call: [{tool: grep, arguments: {pattern: key, path: docs}}]}
  - {say: "{output}"}
"#;
    let rules = "permissions = [
        {permission = 'fs.read', pattern = '**/secret/**', action = 'deny'},
        {permission = 'fs.read', pattern = 'docs/**', action = 'ask'},
    ]";
    let stage = Stage::new(SEARCHES);
    stage.write(USER, rules);
    for path in ["src/a", "src/secret/b", "docs/c"] {
        fs::create_dir_all(stage.path().join(path).parent().unwrap()).unwrap();
        stage.write(path, "key");
    }
    let above = |args: &[&str]| {
        let run = ["run", "--model", "scripted/script.yaml"];
        let done = stage.offshoot([&run[..], args].concat()).succeeded();
        done.stdout
    };
    let found = above(&["above"]);
    assert!(found.contains("src/a:1:key"), "{found}");
    assert!(!found.contains("docs/c"), "{found}");
    assert!(
        found.contains("rules keep from this search are left out"),
        "{found}"
    );
    // Who says yes to what is asked means the files as well.
    assert!(above(&["--yes", "above"]).contains("docs/c:1:key"));
    assert!(above(&["--yes", "within"]).contains("docs/c:1:key"));
}

#[test]
fn no_agent_writes_itself_free_although_it_may_write() {
    let allows = "permissions = [{permission = 'fs.write', action = 'allow'}]";
    let stage = stage(&[(USER, allows), (PROJECT, DENIES)]);
    let asked = |file: &str, code: i32| {
        stage
            .offshoot(["permissions", "explain", "fs.write", file])
            .exited(code)
    };
    for file in [
        "offshoot.toml",
        ".offshoot/offshoot.toml",
        ".offshoot/agents/a.md",
        ".git/config",
        ".git/hooks/pre-commit",
        "vendor/x/.git/config",
        "sub/.git",
        ".mcp.json",
        "sub/offshoot.toml",
        "sub/deep/.offshoot/agents/a.md",
        "sub/.mcp.json",
    ] {
        let done = asked(file, 3);
        let why = "ask, by what people keep by hand";
        assert!(done.stdout.contains(why), "{}", done.stdout);
    }
    asked("docs/offshoot.md", 0);
    for own in [
        USER,
        ".config/offshoot/agents",
        ".config/offshoot/agents/a.md",
    ] {
        let own = stage.path().join(own);
        asked(own.to_str().unwrap(), 3);
    }
    // By a redirection as well.
    let done = stage.offshoot([
        "permissions",
        "explain",
        "shell.run",
        "true > offshoot.toml",
    ]);
    assert!(
        done.stdout.contains("by what people keep by hand"),
        "{done:?}"
    );
    // Who names the file means it.
    let named = "permissions = [
  {permission = 'fs.write', action = 'allow'},
  {permission = 'fs.write', pattern = 'offshoot.toml', action = 'allow'},
  {permission = 'fs.write', pattern = '.offshoot/agents/a.md', action = 'allow'},
]";
    stage.write(USER, named);
    asked("offshoot.toml", 0);
    asked(".offshoot/agents/a.md", 0);
    asked(".offshoot/agents/b.md", 3);
}
