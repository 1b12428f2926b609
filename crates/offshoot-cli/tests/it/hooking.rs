//! Hooks of config files, end to end: what they stop, what they see, and whose are used.

use serde_json::Value;

use crate::stage::Stage;
use crate::terminal::Terminal;

/// A root that runs a command and has a worker do something.
const SCRIPT: &str = r#"
agents:
  - {name: worker, mode: subagent, prompt: Work.}
replies:
  - {agent: worker, prompt: "tests first", say: "tested"}
  - {agent: worker, say: "too early"}
  - {prompt: "delegate", after_tools: false, call: [{tool: task, arguments: {subagent_type: worker, prompt: go}}]}
  - {after_tools: false, call: [{tool: bash, arguments: {command: "touch ran; echo ran"}}]}
  - {say: "it said {output}"}
"#;

/// The user's own file.
const OWN: &str = ".config/offshoot/offshoot.toml";

const RUN: [&str; 6] = [
    "run",
    "--model",
    "scripted/script.yaml",
    "--yes",
    "--session",
    "s",
];

fn stage(name: &str, config: &str) -> Stage {
    let stage = Stage::new(SCRIPT);
    stage.write(name, config);
    stage
}

fn asked(prompt: &str) -> Vec<&str> {
    [&RUN[..], &[prompt]].concat()
}

#[test]
fn fnd_07_a_hook_of_the_users_own_denies_a_command_although_yes_was_said() {
    let config = r#"
[[hooks]]
name = "guard"
event = "PreToolUse"
matcher = "Bash"
command = "cat > told.json; echo 'no commands today' >&2; exit 2"
"#;
    let stage = stage(OWN, config);
    let done = stage.offshoot(asked("go"));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!stage.path().join("ran").exists());
    let why = "bash was denied by hook guard: no commands today";
    assert!(done.stdout.contains(why), "{done:?}");
    assert!(done.stderr.contains(why), "{done:?}");
    let told = std::fs::read_to_string(stage.path().join("told.json")).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["tool_input"]["command"], "touch ran; echo ran");
    assert_eq!(told["session_id"], "s");
    // It is in the log, and on the wire.
    let shown = stage.offshoot(["sessions", "show", "s"]);
    assert!(shown.stdout.contains("guard at PreToolUse"), "{shown:?}");
    let wire = stage.offshoot(["sessions", "show", "s", "--json"]);
    assert!(wire.stdout.contains(r#""type":"hook.end""#), "{wire:?}");
}

#[test]
fn a_hook_keeps_a_child_at_work_until_it_is_content() {
    let config = r#"
[[hooks]]
event = "SubagentStop"
matcher = "worker"
command = '''
grep -q '"stop_hook_active":true' || { echo 'tests first' >&2; exit 2; }
'''
"#;
    let stage = stage(OWN, config);
    let done = stage.offshoot(asked("delegate"));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.contains("tested"), "{done:?}");
    assert!(!done.stdout.contains("too early"), "{done:?}");
}

#[test]
fn a_hook_that_hangs_is_ended_and_said_to_have_failed() {
    let config = r#"
[[hooks]]
name = "sleepy"
event = "PreToolUse"
command = "sleep 1000.7654321"
timeout = "200ms"
"#;
    let stage = stage(OWN, config);
    // Without --yes nobody can be asked what a guard should have said.
    let done = stage.offshoot(["run", "--model", "scripted/script.yaml", "go"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(!stage.path().join("ran").exists());
    let config = r#"
[[hooks]]
name = "sleepy"
event = "PostToolUse"
command = "sleep 1000.7654321"
timeout = "200ms"
"#;
    let stage = self::stage(OWN, config);
    let done = stage.offshoot(asked("go"));
    let failed = "hook sleepy at PostToolUse";
    assert!(done.stderr.contains(failed), "{done:?}");
    assert!(done.stderr.contains("did not end within 0.2 s"), "{done:?}");
    assert!(done.stdout.contains("it said ran"), "{done:?}");
    let running = std::fs::read_dir("/proc").unwrap().any(|entry| {
        let line = std::fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("1000.7654321")
    });
    assert!(!running, "nothing of it is left");
}

#[test]
fn a_prompt_that_a_hook_refuses_is_not_sent_and_nothing_is_left_of_it() {
    let config = r#"
[[hooks]]
name = "secrets"
event = "UserPromptSubmit"
command = "! grep -q hunter2 || { echo 'that is a password' >&2; exit 2; }"
"#;
    let stage = stage(OWN, config);
    let done = stage.offshoot(asked("hunter2"));
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("that is a password"), "{done:?}");
    let list = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    assert!(list.events().is_empty(), "{list:?}");
    let next = ["run", "--continue", "go"];
    stage.offshoot(next).complained(2, "there is no session in");
    // Neither of one that is said to a session that is there.
    stage.offshoot(asked("go")).succeeded();
    let listed = stage.offshoot(["sessions", "list", "--json"]).succeeded();
    let listed = listed.events();
    let session = listed[0]["sessionId"].as_str().unwrap();
    let more = ["run", "--session", session, "hunter2"];
    stage.offshoot(more).complained(2, "that is a password");
    let message = ["sessions", "message", session, "hunter2"];
    stage.offshoot(message).complained(2, "that is a password");
    for file in std::fs::read_dir(stage.data()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let kept = bytes.windows(7).any(|window| window == b"hunter2");
        assert!(!kept, "{}", path.display());
    }
}

#[test]
fn hooks_of_a_project_are_told_of_and_not_used() {
    let config = r#"
[[hooks]]
event = "SessionStart"
command = "touch pwned"
"#;
    let stage = stage("offshoot.toml", config);
    let done = stage.offshoot(asked("go"));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!stage.path().join("pwned").exists());
    let why = "will not run until you accept it; see \"offshoot trust\"";
    assert!(done.stderr.contains(why), "{done:?}");
    let found = stage.offshoot(["doctor"]);
    assert!(
        found.stdout.contains("SessionStart: touch pwned"),
        "{found:?}"
    );
}

#[test]
fn hooks_of_a_project_run_once_they_are_accepted_and_not_after_they_have_changed() {
    let config = r#"
[[hooks]]
event = "SessionStart"
command = "touch accepted"
"#;
    let stage = stage("offshoot.toml", config);
    let listed = stage.offshoot(["trust", "--list", "--json"]).succeeded();
    let hook = &listed.events()[0];
    assert_eq!(hook["kind"], "hook");
    assert_eq!(hook["status"], "new");
    let may = hook["may"].as_str().unwrap();
    assert!(may.contains("touch accepted"), "{may}");
    // A yes to permissions is none to commands of a repository.
    stage.offshoot(asked("go")).succeeded();
    assert!(!stage.path().join("accepted").exists());
    stage.offshoot(["trust", "--all"]).succeeded();
    stage.offshoot(asked("go")).succeeded();
    assert!(stage.path().join("accepted").exists());

    std::fs::remove_file(stage.path().join("accepted")).unwrap();
    stage.write(
        "offshoot.toml",
        &config.replace("touch accepted", "touch  accepted"),
    );
    let done = stage.offshoot(asked("go")).succeeded();
    assert!(!stage.path().join("accepted").exists());
    assert!(done.stderr.contains("will not run"), "{done:?}");
    let once = [&asked("go")[..], &["--trust-project"]].concat();
    stage.offshoot(once).succeeded();
    assert!(stage.path().join("accepted").exists());
}

#[test]
fn a_config_file_that_a_link_leads_to_from_outside_brings_nothing() {
    let outside = Stage::new(SCRIPT_OF_NOBODY);
    outside.write(
        "theirs.toml",
        "[[hooks]]\nevent = 'Stop'\ncommand = 'true'\n",
    );
    let stage = Stage::new(SCRIPT_OF_NOBODY);
    let target = outside.path().join("theirs.toml");
    let link = stage.path().join("offshoot.toml");
    std::os::unix::fs::symlink(target, &link).unwrap();
    let why = "offshoot.toml: it leads out of its folder, and such a link is not followed";
    let listed = stage.offshoot(["trust", "--list"]).exited(1);
    assert_eq!(listed.stdout, "");
    assert!(listed.stderr.contains(why), "{listed:?}");
    stage.offshoot(["run", "x"]).complained(2, why);
    // In the folder it may lead on.
    std::fs::remove_file(&link).unwrap();
    stage.write("mine.toml", "[[hooks]]\nevent = 'Stop'\ncommand = 'true'\n");
    std::os::unix::fs::symlink("mine.toml", &link).unwrap();
    let listed = stage.offshoot(["trust", "--list", "--json"]).succeeded();
    assert_eq!(listed.events().len(), 1, "{listed:?}");
}

/// For who runs nothing.
const SCRIPT_OF_NOBODY: &str = "replies: [{say: hello}]";

#[test]
fn who_relied_on_a_guard_is_told_that_it_does_not_run_any_more() {
    let guard = |name: &str, command: &str| {
        format!("[[hooks]]\n{name}\nevent = 'PreToolUse'\ncommand = '{command}'\n")
    };
    let quiet = [&["-q"], &asked("go")[..]].concat();
    let check = |name: &str, told: &str| {
        let stage = stage("offshoot.toml", &guard(name, "exit 2"));
        // Nobody relied on what was never accepted.
        let done = stage.offshoot(&quiet).succeeded();
        assert!(!done.stderr.contains("hook"), "{done:?}");
        stage.offshoot(["trust", "--all"]).succeeded();
        stage.write("offshoot.toml", &guard(name, "exit 0"));
        let done = stage.offshoot(&quiet).succeeded();
        assert!(done.stderr.contains(told), "{done:?}");
        std::fs::write(stage.data().join("trust.json"), "{").unwrap();
        let done = stage.offshoot(&quiet).succeeded();
        let why = "no hook of this project runs: ";
        assert!(done.stderr.contains(why), "{done:?}");
        assert!(
            done.stderr.contains("trust.json cannot be read"),
            "{done:?}"
        );
    };
    check(
        "name = 'guard'",
        "has changed since you accepted it, and does not run",
    );
    check("", "one that you accepted is not there as it was");
}

#[test]
fn hooks_of_a_projects_other_file_are_listed_and_run_as_well() {
    let config = r#"
[[hooks]]
event = "SessionStart"
command = "touch accepted"
"#;
    let stage = stage(".offshoot/offshoot.toml", config);
    let done = stage.offshoot(asked("go")).succeeded();
    assert!(done.stderr.contains("will not run until"), "{done:?}");
    let listed = stage.offshoot(["trust", "--list", "--json"]).succeeded();
    let path = ".offshoot/offshoot.toml#hooks.0";
    assert_eq!(listed.events()[0]["path"], path, "{listed:?}");
    stage.offshoot(["trust", "--all"]).succeeded();
    stage.offshoot(asked("go")).succeeded();
    assert!(stage.path().join("accepted").exists());
}

#[test]
fn who_works_below_the_folder_of_a_projects_hooks_is_told_that_they_do_not_run() {
    let config = r#"
[[hooks]]
event = "SessionStart"
command = "touch accepted"
"#;
    let stage = stage("offshoot.toml", config);
    stage.write(".git/HEAD", "");
    stage.write("below/file", "");
    stage.offshoot(["trust", "--all"]).succeeded();
    let below = [&asked("go")[..], &["--cwd", "below"]].concat();
    let done = stage.offshoot(below).succeeded();
    assert!(done.stderr.contains("do not run here"), "{done:?}");
    let here = stage.offshoot([&RUN[..4], &["go"]].concat()).succeeded();
    assert!(!here.stderr.contains("do not run here"), "{here:?}");
}

#[test]
fn a_matcher_that_fits_nothing_is_told_at_the_beginning_and_by_doctor() {
    let config = r#"
hooks = [
  {name = "a", event = "PreToolUse", matcher = "bahs", command = "true"},
  {name = "b", event = "SubagentStop", matcher = "worker", command = "true"},
  {name = "c", event = "SubagentStop", matcher = "wrker", command = "true"},
  {name = "d", event = "Stop", matcher = "build", command = "true"},
  {name = "e", event = "SessionEnd", matcher = "logout", command = "true"},
  {name = "f", event = "PostToolUse", matcher = "MultiEdit|Write", command = "true"},
  {name = "g", event = "PostToolUse", matcher = "mcp__memory__.*", command = "true"},
]
"#;
    let stage = stage(OWN, config);
    let done = stage.offshoot(asked("go")).succeeded();
    let model = ["--model", "scripted/script.yaml"];
    let doctor = stage
        .offshoot([&["doctor"], &model[..]].concat())
        .succeeded();
    for (name, line, told) in [
        (
            "a",
            3,
            "\"bahs\" fits no tool of PreToolUse; did you mean bash?",
        ),
        (
            "c",
            5,
            "\"wrker\" fits no agent of SubagentStop; did you mean worker?",
        ),
        ("d", 6, "\"build\" fits no name of Stop; leave it out"),
        (
            "e",
            7,
            "\"logout\" fits no reason of SessionEnd; there are: other",
        ),
    ] {
        let told = format!("offshoot.toml line {line} is never called: its matcher {told}\n");
        for text in [&done.stderr, &doctor.stdout] {
            assert!(text.contains(&told), "{told}: {text}");
            assert!(text.contains(&format!("hook {name} in ")), "{name}: {text}");
        }
    }
    assert_eq!(
        done.stderr.matches("is never called").count(),
        4,
        "{done:?}"
    );
}

#[test]
fn what_a_hook_says_to_people_is_shown_although_it_stops_the_agent() {
    let config = r#"
[[hooks]]
name = "guard"
event = "PostToolUse"
command = """echo '{"continue": false, "stopReason": "enough", "systemMessage": "call the owner"}'"""
"#;
    let stage = stage(OWN, config);
    let done = stage.offshoot(asked("go")).exited(1);
    assert!(done.stderr.contains("it says: call the owner"), "{done:?}");
    assert_eq!(done.stderr.matches("call the owner").count(), 1, "{done:?}");
}

#[test]
fn doctor_names_the_hooks_of_a_project_that_nobody_has_accepted() {
    let config = "hooks = [{name = 'theirs', event = 'Stop', command = 'true'}]";
    let stage = stage("offshoot.toml", config);
    let told = "hooks of the project, not trusted; see \"offshoot trust\": theirs\n";
    let doctor = stage.offshoot(["doctor"]).succeeded();
    assert!(doctor.stdout.contains(told), "{doctor:?}");
    stage.trust();
    let doctor = stage.offshoot(["doctor"]).succeeded();
    assert!(!doctor.stdout.contains("not trusted"), "{doctor:?}");
}

#[test]
fn r29_a_hook_that_is_waited_for_is_named_at_the_end_and_may_be_meant_in_the_tree() {
    let config = r#"
[[hooks]]
name = "before"
event = "PreToolUse"
command = "touch asked; until [ -e go ]; do sleep 0.05; done"
[[hooks]]
name = "farewell"
event = "SessionEnd"
command = "until [ -e leave ]; do sleep 0.05; done"
"#;
    let stage = stage(OWN, config);
    let mut terminal = Terminal::start(&stage, (100, 24), &asked("go"));
    while !stage.path().join("asked").exists() {
        std::thread::yield_now();
    }
    let tree = stage.offshoot(["sessions", "tree", "s"]).succeeded();
    assert!(
        tree.stdout.contains("waits for the model or a hook"),
        "{tree:?}"
    );
    stage.write("go", "");
    terminal.until(&["waiting for hook farewell at the end of the session; Ctrl-C leaves at once"]);
    stage.write("leave", "");
    assert_eq!(terminal.ended(), Some(0));
}

#[test]
fn what_a_hook_did_names_the_agent_where_calls_of_siblings_are_named_alike() {
    let script = r#"
agents:
  - {name: worker, mode: subagent, prompt: Work.}
replies:
  - {agent: worker, after_tools: false, call: [{tool: bash, arguments: {command: "echo ran"}}]}
  - {agent: worker, say: done}
  - after_tools: false
    call:
      - {tool: task, arguments: {subagent_type: worker, prompt: one}}
      - {tool: task, arguments: {subagent_type: worker, prompt: two}}
  - {say: "both are done"}
"#;
    let stage = Stage::new(script);
    let hook =
        "hooks = [{name = 'g', event = 'PostToolUse', matcher = 'bash', command = 'exit 7'}]";
    stage.write(OWN, hook);
    let done = stage.offshoot(asked("go")).succeeded();
    let started = done
        .stderr
        .lines()
        .filter(|line| line.contains(" started: "));
    let ids: Vec<&str> = started
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(ids.len(), 2, "{done:?}");
    for id in ids {
        let told = format!("\n  worker {id}: hook g at PostToolUse about ");
        assert_eq!(done.stderr.matches(&told).count(), 1, "{told}: {done:?}");
    }
}

#[test]
fn what_a_hook_asks_is_told_with_what_it_is_about_and_why() {
    let config = r#"
[[hooks]]
name = "guard"
event = "PreToolUse"
command = """
echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", \
"permissionDecisionReason": "look twice"}}'
"""
"#;
    let stage = stage(OWN, config);
    let model = ["run", "--model", "scripted/script.yaml"];
    let hook = "because hook guard asks: look twice";
    // Where nobody is there, the agent and whoever looks on are told.
    let done = stage.offshoot([&model[..], &["delegate"]].concat());
    let denied = format!("task needs permission, {hook}; and nobody is here to give it");
    assert!(done.stdout.contains(&denied), "{done:?}");
    assert!(done.stderr.contains(&denied), "{done:?}");
    // Where the host says yes, it has said it to the hook.
    stage.offshoot(asked("delegate")).succeeded();
    let shown = stage.offshoot(["sessions", "show", "s"]).succeeded();
    let yes = "allowed by the host, which says yes to everything (hook guard asks: look twice)";
    assert!(shown.stdout.contains(yes), "{shown:?}");
    // Where somebody may answer, they see the call and why.
    let waits = ["--json", "--session", "w", "--wait-for-answers", "delegate"];
    let mut run = stage.live(&[&model[..], &waits].concat());
    run.until("permission.requested");
    let listed = stage.offshoot(["inbox", "list"]).succeeded();
    assert!(listed.stdout.contains("\n  | task worker\n"), "{listed:?}");
    assert_eq!(listed.stdout.matches(hook).count(), 1, "{listed:?}");
    assert!(!listed.stdout.contains("hook.asks"), "{listed:?}");
    // A yes for more than the call is one to the call, and they are told so.
    let name = crate::inbox::name(&stage);
    let answered = stage.offshoot(["inbox", "answer", &name, "--session"]);
    let answered = answered.succeeded();
    assert_eq!(answered.stdout, "answered\n");
    assert!(
        answered.stderr.contains("of this call only"),
        "{answered:?}"
    );
    run.kill();
}

#[test]
fn the_guard_of_the_manual_holds_write_and_edit_and_refuses_what_it_cannot_read() {
    let manual = include_str!("../../../../docs/hooks.md");
    let (_, guard) = manual.split_once("```sh\n").unwrap();
    let (guard, _) = guard.split_once("```\n").unwrap();
    let stage = Stage::new(SCRIPT);
    stage.write("guard.sh", guard);
    let refuses = |path: &str, file: &str| {
        let told = format!(r#"{{"cwd": "/w", "tool_input": {{"file_path": "{file}"}}}}"#);
        stage.write("told.json", &told);
        let mut sh = std::process::Command::new("/bin/sh");
        sh.args(["-c", "/bin/sh guard.sh < told.json"])
            .env("PATH", path);
        let done = sh.current_dir(stage.path()).output().unwrap();
        match done.status.code() {
            Some(0) => false,
            Some(2) => true,
            other => panic!("{other:?} {done:?}"),
        }
    };
    let path = std::env::vars().find(|(name, _)| name == "PATH").unwrap().1;
    // Without jq it refuses everything, here too.
    let folders = std::env::split_paths(&path);
    let has_jq = folders
        .map(|folder| folder.join("jq"))
        .any(|jq| jq.exists());
    assert!(refuses(&path, "/w/migrations/a"));
    assert_eq!(refuses(&path, "/w/src/migrations/a"), !has_jq);
    assert!(refuses("/nowhere", "/w/src/a"));
    let none = refuses(&path, r#"x", "file_path": null, "y": ""#);
    assert!(none);
}

#[test]
fn a_hook_that_fails_when_nobody_follows_any_more_is_told_of() {
    let config = r#"
[[hooks]]
name = "bye"
event = "SessionEnd"
command = "exit 9"
"#;
    let stage = stage(OWN, config);
    let done = stage.offshoot(asked("go")).succeeded();
    let told = "hook bye at SessionEnd: failed: exit code 9";
    assert!(done.stderr.contains(told), "{}", done.stderr);
}

/// Prints how often agents answered, by the name that each says.
const NAMES: &str = r#"
agents:
  - {name: lead, mode: primary, prompt: Lead.}
  - {name: other, mode: primary, prompt: Other.}
replies:
  - {agent: lead, say: "this is lead"}
  - {agent: other, say: "this is other"}
"#;

#[test]
fn sa_49_a_hook_of_the_user_switches_the_agent_and_one_of_a_project_does_not() {
    let hook =
        "[[hooks]]\nname = 'pick'\nevent = 'UserPromptSubmit'\ncommand = 'cat answer.json'\n";
    let stage_answering = |agent: &str| {
        let stage = Stage::new(NAMES);
        stage.write("answer.json", &format!("{{\"agent\": \"{agent}\"}}"));
        stage
    };
    let user = ".config/offshoot/offshoot.toml";
    let model = ["--model", "scripted/script.yaml", "--agent", "lead"];
    let run = |stage: &Stage| {
        let args = ["run", "--session", "s"]
            .into_iter()
            .chain(model)
            .chain(["go"]);
        stage.offshoot(args).succeeded()
    };
    let stage = stage_answering("other");
    stage.write(user, hook);
    assert_eq!(run(&stage).stdout.trim(), "this is other");
    // It holds on, also without the hook and in another process.
    stage.write(user, "");
    let more = stage
        .offshoot(["run", "--session", "s", "more"])
        .succeeded();
    assert_eq!(more.stdout.trim(), "this is other");

    let stage = stage_answering("nobody");
    stage.write(user, hook);
    let done = run(&stage);
    assert_eq!(done.stdout.trim(), "this is lead");
    assert!(
        done.stderr.contains("there is no agent nobody"),
        "{done:#?}"
    );

    let stage = stage_answering("other");
    let denied =
        "[[permissions]]\npermission = 'agent.switch'\npattern = 'other'\naction = 'deny'\n";
    stage.write(user, &format!("{denied}{hook}"));
    let done = run(&stage);
    assert_eq!(done.stdout.trim(), "this is lead");
    assert!(done.stderr.contains("agent.switch"), "{done:#?}");

    let stage = stage_answering("other");
    stage.write("offshoot.toml", hook);
    stage.trust();
    let done = run(&stage);
    assert_eq!(done.stdout.trim(), "this is lead");
    assert!(done.stderr.contains("only a hook of the user"), "{done:#?}");
}

#[test]
fn sa_49_a_hook_of_the_user_switches_to_a_script_or_the_error_names_its_file() {
    let user = ".config/offshoot/offshoot.toml";
    let run = |model: &str| {
        let stage = Stage::new("replies: [{say: this is the first}]");
        stage.write("other.yaml", "replies: [{say: this is the other}]");
        stage.write("broken.yaml", "replies: 1");
        let model = model.replace("FOLDER", stage.path().to_str().unwrap());
        stage.write("answer.json", &format!("{{\"model\": \"{model}\"}}"));
        let event = "event = 'UserPromptSubmit'\ncommand = 'cat answer.json'\n";
        stage.write(user, &format!("[[hooks]]\nname = 'pick'\n{event}"));
        let args = ["run", "--model", "scripted/script.yaml", "--session", "s"];
        let done = stage.offshoot([&args[..], &["go"]].concat());
        (stage, done.succeeded())
    };
    let (stage, done) = run("scripted/FOLDER/other.yaml");
    assert_eq!(done.stdout.trim(), "this is the other");
    // It holds on in another process, also for a message, and without the hook.
    stage.write(user, "");
    for more in [["run", "--session", "s"], ["sessions", "message", "s"]] {
        let done = stage.offshoot([&more[..], &["more"]].concat()).succeeded();
        assert_eq!(done.stdout.trim(), "this is the other");
    }
    for (model, why) in [
        ("scripted/FOLDER/gone.yaml", "/gone.yaml: No such file"),
        ("scripted/FOLDER/broken.yaml", "/broken.yaml:1"),
        (
            "scripted/other.yaml",
            "script other.yaml: it has to be named by its whole path",
        ),
    ] {
        let (_, done) = run(model);
        assert_eq!(done.stdout.trim(), "this is the first");
        let line = done.stderr.lines().find(|line| line.contains("hook pick"));
        assert!(
            line.is_some_and(|line| line.contains(why)),
            "{why}: {done:#?}"
        );
    }
}
