//! `agents list` and `show`: who there is, and what holds for them.

use serde_json::{Value, json};

use crate::stage::Stage;

const SCRIPT: &str = "
agents: [{name: actor, mode: all, prompt: Act.}]
replies: [{say: hi}]
";

const CRITIC: &str = "---
mode: subagent
description: |
  Judges a change.
  Twice.
tools: {allow: [read, 'g*'], deny: [grep]}
permissions: [{permission: fs.read, pattern: '/book/*', action: allow}]
max_turns: 3
max_cost_usd: 0.25
spawns: [explore]
output_schema: {type: object}
---
You judge.
Twice.
";

fn stage() -> Stage {
    let stage = Stage::new(SCRIPT);
    stage.write(".offshoot/agents/team/critic.md", CRITIC);
    let mine = "---\nmode: primary\nmodel: offline\n---\nMine.";
    stage.write(".config/offshoot/agents/build.md", mine);
    stage.trust();
    stage
}

#[track_caller]
fn show(stage: &Stage, name: &str) -> String {
    stage.offshoot(["agents", "show", name]).succeeded().stdout
}

/// What is shown of a key, in one line.
#[track_caller]
fn shown(text: &str, key: &str) -> String {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with(&format!("{key} ")));
    let first = lines.next().unwrap_or_else(|| panic!("no {key}: {text}"));
    let more = lines.take_while(|line| line.starts_with("     "));
    let values = std::iter::once(&first[key.len()..]).chain(more);
    values.map(str::trim).collect::<Vec<_>>().join("; ")
}

#[test]
fn sa_03_sa_04_the_list_has_those_first_that_a_person_can_start() {
    let stage = stage();
    let listed = stage.offshoot(["agents", "list"]).succeeded();
    let lines: Vec<&str> = listed.stdout.lines().collect();
    let words = |line: &str| {
        let words: Vec<String> = line.split_whitespace().take(3).map(str::to_owned).collect();
        words.join(" ")
    };
    let lines: Vec<String> = lines.into_iter().map(words).collect();
    assert_eq!(
        lines,
        [
            "NAME MODE FROM",
            "build primary user",
            "general all built-in",
            "plan all built-in",
            "explore subagent built-in",
            "team/critic subagent project",
            "verify subagent built-in",
            "compaction subagent built-in",
            "summary subagent built-in",
            "title subagent built-in",
        ]
    );
    assert!(
        listed.stdout.contains("Judges a change. Twice.\n"),
        "{listed:#?}"
    );
    let narrow = stage.on_terminal(40, &["agents", "list"]);
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 40),
        "{narrow}"
    );
}

#[test]
fn a_script_and_another_folder_have_other_agents() {
    let stage = stage();
    std::fs::create_dir(stage.path().join("empty")).unwrap();
    let names = |more: &[&'static str]| -> Vec<String> {
        let args = [&["agents", "list", "--json"], more].concat();
        let listed = stage.offshoot(args).succeeded().events();
        let names = listed.iter().map(|agent| agent["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    assert!(names(&["--model", "scripted/script.yaml"]).contains(&"actor".to_owned()));
    assert!(!names(&[]).contains(&"actor".to_owned()));
    assert!(!names(&["--cwd", "empty"]).contains(&"team/critic".to_owned()));
    stage
        .offshoot(["agents", "list", "--cwd", "nowhere"])
        .complained(2, "work in nowhere");
    assert!(!stage.data().exists(), "looking makes nothing");
}

#[test]
fn a_program_gets_one_object_an_agent() {
    let stage = stage();
    let listed = stage.offshoot(["agents", "list", "--json"]).succeeded();
    let agents = listed.events();
    let find = |name: &str| agents.iter().find(|agent| agent["name"] == name).unwrap();
    let path = stage.path().canonicalize().unwrap();
    let path = path.join(".offshoot/agents/team/critic.md");
    assert_eq!(
        *find("team/critic"),
        json!({
            "name": "team/critic",
            "mode": "subagent",
            "description": "Judges a change.\nTwice.\n",
            "source": "project",
            "path": path,
            "trusted": true,
            "helper": false,
        })
    );
    assert_eq!(find("explore")["path"], Value::Null);
    assert_eq!(find("title")["helper"], true);
}

#[test]
fn everything_that_holds_for_an_agent_is_shown() {
    let stage = stage();
    let text = show(&stage, "team/critic");
    for (key, value) in [
        ("name", "team/critic"),
        ("mode", "subagent: other agents start it"),
        ("description", "Judges a change. Twice."),
        ("model", "its parent's"),
        ("effort", "the provider's default"),
        ("tools", "read, g*; not grep"),
        (
            "permissions",
            "allow fs.read /book/*; deny  everything else",
        ),
        ("read_only", "false"),
        ("context", "fresh"),
        ("spawns", "explore"),
        ("max_turns", "3"),
        ("max_time", "1h"),
        ("max_stall", "5m"),
        ("max_cost_usd", "$0.25"),
        ("max_total_tokens", "no limit"),
        ("output_schema", r#"{"type":"object"}"#),
    ] {
        assert_eq!(shown(&text, key), value, "{key}: {text}");
    }
    assert!(shown(&text, "from").starts_with("project: /"), "{text}");
    assert!(text.ends_with("\n\nYou judge.\nTwice.\n"), "{text}");
}

#[test]
fn limits_are_those_of_who_starts_it() {
    let stage = stage();
    let of = |name: &str| shown(&show(&stage, name), "max_turns");
    assert_eq!(of("explore"), "16");
    assert_eq!(of("build"), "no limit");
    assert_eq!(
        of("plan"),
        "16 if an agent starts it, no limit if a person does"
    );
    stage.write("offshoot.toml", "[limits]\nsteps = 7");
    assert_eq!(of("explore"), "7");
    let json = stage
        .offshoot(["agents", "show", "--json", "plan"])
        .succeeded();
    let [agent] = &json.events()[..] else {
        panic!("{json:#?}")
    };
    assert_eq!(agent["limits"]["spawned"]["max_turns"], 7);
    assert_eq!(agent["limits"]["spawned"]["max_time"], "1h");
    assert_eq!(agent["limits"]["root"]["max_turns"], Value::Null);
    assert_eq!(agent["read_only"], true);
    assert_eq!(agent["model"], Value::Null);
    assert!(
        agent["prompt"]
            .as_str()
            .unwrap()
            .starts_with("You are plan, ")
    );
}

#[test]
fn an_agent_is_shown_by_its_other_name_and_with_what_it_replaces() {
    let stage = stage();
    let general = show(&stage, "general-purpose");
    assert_eq!(shown(&general, "name"), "general");
    assert_eq!(shown(&general, "also called"), "general-purpose");
    let build = show(&stage, "build");
    assert_eq!(shown(&build, "replaces"), "built-in");
    assert_eq!(shown(&build, "model"), "offline");
    assert!(build.ends_with("\n\nMine.\n"), "{build}");
}

#[test]
fn an_agent_that_cannot_be_shown_is_told_why() {
    let stage = stage();
    let show = |name: &str| stage.offshoot(["agents", "show", name]);
    show("exlpore").complained(2, "there is no agent exlpore; did you mean explore?");
    show("whoever").complained(2, "see \"offshoot agents list\"");
    stage.write(
        ".offshoot/agents/broken.md",
        "---\nmode: all\nmax_time: 5\n---\n",
    );
    show("broken").complained(2, "broken.md:3: \"5\" is not a time");
    // Of one that is there, only what is wrong with itself.
    assert_eq!(show("build").succeeded().stderr, "");
    stage.write(
        ".offshoot/agents/other.md",
        "---\nmode: all\nspawns: [exlpore]\n---\nx",
    );
    let other = show("other").succeeded();
    assert!(
        other
            .stderr
            .contains("other.md:3: there is no agent `exlpore`"),
        "{other:#?}"
    );
    assert_eq!(other.stderr.lines().count(), 1, "{other:#?}");
    let listed = stage.offshoot(["agents", "list"]).succeeded();
    assert_eq!(listed.stderr.lines().count(), 2, "{listed:#?}");
    assert!(listed.stderr.starts_with("warning: "), "{listed:#?}");
}

#[test]
fn a_schema_that_is_none_is_told_like_any_other_wrong_header() {
    let stage = stage();
    stage.write(
        ".offshoot/agents/typist.md",
        "---\nmode: all\noutput_schema: {type: objekt}\n---\nType.",
    );
    let why = "typist.md:3: `output_schema` is no JSON Schema: ";
    let listed = stage.offshoot(["agents", "list"]).succeeded();
    assert!(listed.stderr.contains(why), "{listed:#?}");
    stage
        .offshoot(["agents", "show", "typist"])
        .complained(2, why);
    let doctor = stage.offshoot(["doctor"]).succeeded();
    assert!(doctor.stdout.contains(why), "{doctor:#?}");
}

#[test]
fn an_agent_to_start_that_there_is_not_is_told_wherever_the_agent_is_looked_at() {
    let stage = stage();
    stage.write(
        ".offshoot/agents/typist.md",
        "---\nmode: all\nspawns: [exlpore, general-purpose, other]\n---\nType.",
    );
    stage.write(".offshoot/agents/other.md", "---\nmode: all\n---\nType.");
    let warning = "typist.md:3: there is no agent `exlpore` to start; did you mean `explore`?";
    for args in [&["agents", "list"][..], &["agents", "show", "typist"]] {
        let done = stage.offshoot(args).succeeded();
        assert_eq!(
            done.stderr.matches("there is no agent").count(),
            1,
            "{done:#?}"
        );
        assert!(done.stderr.contains(warning), "{done:#?}");
    }
    let doctor = stage.offshoot(["doctor"]).succeeded();
    assert!(doctor.stdout.contains(warning), "{doctor:#?}");
}

/// Returns the line of the list that begins with a name.
#[track_caller]
fn row(listed: &str, name: &str) -> String {
    let row = listed.lines().find(|line| line.starts_with(name));
    row.unwrap_or_else(|| panic!("no {name}: {listed}"))
        .to_owned()
}

#[test]
fn an_agent_with_unknown_tools_is_broken_wherever_it_is_looked_at_or_named() {
    let stage = stage();
    stage.write(
        ".offshoot/agents/typist.md",
        "---\nmode: all\ntools: Read, question, Bash(git *)\n---\nType.",
    );
    let why = "typist.md:3: there is no tool `Read`, did you mean `read`?";
    let listed = stage.offshoot(["agents", "list"]).succeeded();
    let row = row(&listed.stdout, "typist");
    assert!(row.contains(" broken ") && row.contains(why), "{row}");
    let json = stage.offshoot(["agents", "list", "--json"]).succeeded();
    let json = json.events();
    let typist = json.iter().find(|agent| agent["name"] == "typist").unwrap();
    assert_eq!(typist["line"], 3);
    let error = typist["error"].as_str().unwrap();
    assert!(error.contains("did you mean `bash`?"), "{error}");
    let doctor = stage.offshoot(["doctor"]).succeeded();
    assert!(doctor.stdout.contains(why), "{doctor:#?}");
    for args in [
        &["agents", "show", "typist"][..],
        &["run", "--agent", "typist", "hello"],
    ] {
        stage.offshoot(args).complained(2, why);
    }
    // The other agents of the folder are there.
    assert!(listed.stdout.contains("team/critic"), "{listed:#?}");
}

#[test]
fn an_agent_of_a_script_with_unknown_tools_cannot_be_named_and_says_why() {
    let stage = Stage::new(
        "agents: [{name: odd, mode: all, tools: [raed]}, {name: fine, mode: all}]\n\
         replies: [{say: hi}]\n",
    );
    let run = |agent: &'static str| {
        stage.offshoot([
            "run",
            "--model",
            "scripted/script.yaml",
            "--agent",
            agent,
            "x",
        ])
    };
    run("odd").complained(2, "there is no tool `raed`, did you mean `read`?");
    run("fine").succeeded();
}

#[test]
fn folders_of_other_programs_are_mentioned_with_where_to_put_their_files() {
    let stage = stage();
    let nothing = stage.offshoot(["agents", "list"]).succeeded();
    assert_eq!(nothing.stderr, "");
    stage.write(".claude/agents/one.md", "x");
    stage.write(".claude/agents/team/two.md", "x");
    stage.write(".claude/agents/README.md", "x");
    stage.write(".codex/agents/three.toml", "x");
    std::fs::create_dir_all(stage.path().join("empty/.github/agents")).unwrap();
    let listed = stage.offshoot(["agents", "list"]).succeeded();
    let lines: Vec<&str> = listed.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for part in [
        ".claude/agents: 2 agent files, not read yet",
        ".offshoot/agents",
    ] {
        assert!(lines[0].contains(part), "{lines:#?}");
    }
    assert!(
        lines[1].contains(".codex/agents: 1 agent file, "),
        "{lines:#?}"
    );
    // Those in the home folder are mentioned in every workspace.
    let args = ["agents", "list", "--json", "--cwd", "empty"];
    let json = stage.offshoot(args).succeeded().events();
    let not_read: Vec<&Value> = json
        .iter()
        .filter(|line| !line["not_read"].is_null())
        .collect();
    let [claude, codex] = &not_read[..] else {
        panic!("{not_read:#?}")
    };
    assert_eq!((&claude["files"], &codex["files"]), (&json!(2), &json!(1)));
    let instead = claude["instead"].as_str().unwrap();
    assert!(instead.ends_with(".config/offshoot/agents"), "{instead}");
    let doctor = stage.offshoot(["doctor"]).succeeded();
    assert_eq!(
        doctor.stdout.matches("not read yet").count(),
        2,
        "{doctor:#?}"
    );
}

#[test]
fn a_helper_is_shown_with_the_model_that_it_would_have() {
    let stage = stage();
    let model = |name: &str, chosen: &str| {
        let args = ["agents", "show", name, "--model", chosen];
        shown(&stage.offshoot(args).succeeded().stdout, "model")
    };
    let script = "scripted/script.yaml";
    assert_eq!(model("title", "offline"), "offline, of the tier small");
    assert_eq!(
        model("title", script),
        "none: without the tier small sessions are not named"
    );
    assert_eq!(
        model("summary", script),
        "that of the agent it works for; the tier small is not set"
    );
    stage.write(
        ".config/offshoot/agents/title.md",
        "---\nmode: subagent\nmodel: offline\n---\nName it.",
    );
    assert_eq!(
        model("title", script),
        "none: without the tier small sessions are not named"
    );
    stage.write(
        ".config/offshoot/offshoot.toml",
        "tiers.small = 'openai-chat/tiny'",
    );
    assert_eq!(
        model("summary", script),
        "openai-chat/tiny, of the tier small"
    );
    assert_eq!(model("title", script), "offline");
}

#[test]
fn a_helper_cannot_be_asked_by_a_person_whatever_its_file_says() {
    let stage = stage();
    let choices = "choose one of: build, general, plan";
    let why = format!("agent title is a helper that Offshoot starts itself; {choices}");
    let run = ["run", "--agent", "title", "hello"];
    stage.offshoot(run).complained(2, &why);
    stage.write(
        ".config/offshoot/agents/title.md",
        "---\nmode: primary\n---\nName it.",
    );
    let why = "title.md:2: agent title is started by Offshoot itself and by `task`";
    stage.offshoot(run).complained(2, why);
}
