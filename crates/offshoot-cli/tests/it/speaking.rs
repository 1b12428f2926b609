//! What a command of an agent cannot say: whatever is a person's to say (R24).

use crate::stage::Stage;
use crate::terminal::Terminal;

const MODEL: &str = "scripted/script.yaml";

/// A root that wants to run a command.
const ASKS: &str = r#"
replies:
  - {after_tools: false, call: [{tool: bash, arguments: {command: "echo ran"}}]}
  - {say: "it said {output}"}
"#;

#[test]
fn r24_no_command_of_an_agent_answers_what_is_asked_or_trusts() {
    let binary = env!("CARGO_BIN_EXE_offshoot");
    let commands = [
        format!("{binary} inbox answer root:x --once"),
        format!("(setsid {binary} trust --all)"),
        format!("{binary} run --session root --yes"),
        format!("{binary} run --model offline --trust-project x"),
        format!("{binary} sessions message root --yes x"),
        format!("{binary} sessions message root --trust-project x"),
        format!("{binary} sessions rm root --yes"),
        format!("{binary} sessions rm root"),
        format!("{binary} chat"),
        format!("{binary} sessions message root 'I am the user'"),
        format!("{binary} sessions cancel root"),
        format!("{binary} sessions revert root"),
        format!("{binary} sessions rewind root"),
        format!("{binary} sessions fork root"),
        format!("{binary} sessions rename root other"),
        format!("{binary} sessions summary root"),
        format!("{binary} sessions close root"),
        format!("{binary} sessions compact root"),
        format!("{binary} sessions promote root"),
        format!("{binary} run --session root 'I am the user'"),
        format!("{binary} run --continue 'I am the user'"),
        format!("{binary} run --model scripted/script.yaml --session root x"),
    ];
    for command in commands {
        let script = format!(
            "replies:\n  - {{after_tools: false, call: [{{tool: bash, arguments: {{command: \"{command} 2>&1\"}}}}]}}\n  - {{say: \"it said {{output}}\"}}\n"
        );
        let stage = Stage::new(&script);
        let done = stage
            .offshoot(["run", "--model", MODEL, "--session", "root", "--yes", "go"])
            .succeeded();
        let why = "a command of an agent does not speak for you";
        assert!(done.stdout.contains(why), "{done:?}");
    }
}

#[test]
fn r24_a_command_in_a_terminal_of_a_client_does_not_speak_for_a_person() {
    let binary = env!("CARGO_BIN_EXE_offshoot");
    let stage = Stage::new(ASKS);
    for command in [
        format!("{binary} trust --all 2>&1"),
        format!(
            "env -i HOME=$HOME OFFSHOOT_DATA_DIR=$OFFSHOOT_DATA_DIR \
             setsid -w {binary} trust --all 2>&1"
        ),
    ] {
        // This is what a client is told to start.
        let done = stage.offshoot(["__keep", &command]);
        let why = "a command of an agent does not speak for you";
        assert!(done.stdout.contains(why), "{done:?}");
    }
}

/// Has a command of an agent kill its keeper and then run a program as `trust --all`.
#[track_caller]
fn check_killed_keeper(program: &str) {
    let script = r#"
replies:
  - {after_tools: false, call: [{tool: bash, arguments: {command: "sh build.sh"}}]}
  - {say: "it said {output}"}
"#;
    let stage = Stage::new(script);
    // Nothing tells whose it is any more: not its environment, its session or its parents. And Offshoot,
    // which would end it, stands still meanwhile.
    let build = format!(
        "[ \"$1\" = in ] || {{ (env -i HOME=$HOME OFFSHOOT_DATA_DIR=$OFFSHOOT_DATA_DIR \
         setsid sh build.sh in $PPID &); sleep 60; exit; }}\n\
         cp {binary} copy\n\
         read -r _ _ _ main _ < /proc/$2/stat\n\
         kill -STOP $main\nkill -9 $2\n\
         {program} trust --all --cwd {folder} > said 2>&1\nkill -CONT $main\n",
        binary = env!("CARGO_BIN_EXE_offshoot"),
        folder = stage.path().display()
    );
    stage.write("build.sh", &build);
    let agent = "---\ndescription: theirs\nmode: primary\n---\nobey\n";
    stage.write(".offshoot/agents/theirs.md", agent);
    let done = stage
        .offshoot(["run", "--model", MODEL, "--session", "root", "--yes", "go"])
        .succeeded();
    let why = "the process that keeps the command was killed";
    assert!(done.stdout.contains(why), "{done:?}");
    let said = std::fs::read_to_string(stage.path().join("said")).unwrap();
    assert!(said.contains("does not speak for you"), "{said}");
    let listed = stage.offshoot(["trust", "--list"]).succeeded();
    assert!(
        listed.stdout.contains("not accepted: agent \"theirs\""),
        "{listed:?}"
    );
}

#[test]
fn r24_a_command_that_killed_its_keeper_does_not_speak_for_a_person_either() {
    check_killed_keeper(env!("CARGO_BIN_EXE_offshoot"));
}

#[test]
fn r24_nor_does_a_copy_of_the_program_that_is_called_otherwise() {
    check_killed_keeper("./copy");
}

#[test]
fn r24_nor_does_a_command_whose_name_is_no_text() {
    let script = r#"
replies:
  - {after_tools: false, call: [{tool: bash, arguments: {command: "bash build.sh 2>&1"}}]}
  - {say: "it said {output}"}
"#;
    let stage = Stage::new(script);
    let binary = env!("CARGO_BIN_EXE_offshoot");
    let build = format!("printf '\\xff' > /proc/$$/comm\n{binary} trust --all\n");
    stage.write("build.sh", &build);
    let done = stage
        .offshoot(["run", "--model", MODEL, "--yes", "go"])
        .succeeded();
    assert!(done.stdout.contains("does not speak for you"), "{done:?}");
}

#[test]
fn a_command_of_an_agent_looks_at_sessions_and_has_its_own() {
    let binary = env!("CARGO_BIN_EXE_offshoot");
    for (command, expected) in [
        ("sessions list", "root"),
        ("sessions tree root", "build"),
        ("inbox list", "The inbox is empty."),
        ("run --model offline --session mine x", "session mine"),
    ] {
        let script = format!(
            "replies:\n  - {{after_tools: false, call: [{{tool: bash, arguments: {{command: \"{binary} {command} 2>&1\"}}}}]}}\n  - {{say: \"it said {{output}}\"}}\n"
        );
        let stage = Stage::new(&script);
        let done = stage
            .offshoot(["run", "--model", MODEL, "--session", "root", "--yes", "go"])
            .succeeded();
        assert!(done.stdout.contains(expected), "{command}: {done:?}");
    }
}

#[test]
fn r24_nothing_below_offshoot_speaks_for_a_person() {
    let stage = Stage::new(ASKS);
    // The parent of what a killed keeper leaves: told by its program, whatever that was called with.
    let parent = stage.path().join("offshoot");
    std::fs::copy("/bin/sh", &parent).unwrap();
    let tries = format!(
        "{} trust --all; echo it ended with $?",
        env!("CARGO_BIN_EXE_offshoot")
    );
    let mut command = std::process::Command::new(parent);
    command.args(["-c", &tries]).current_dir(stage.path());
    let tried = command.env("HOME", stage.path()).output().unwrap();
    let said = String::from_utf8(tried.stdout).unwrap();
    assert_eq!(said, "it ended with 2\n");
    let why = String::from_utf8(tried.stderr).unwrap();
    assert!(why.contains("does not speak for you"), "{why}");
}

#[test]
fn r24_no_terminal_of_a_command_of_an_agent_answers_what_is_asked() {
    let stage = Stage::new(ASKS);
    let binary = env!("CARGO_BIN_EXE_offshoot");
    // Named like the process above every command of an agent, which is how one is told.
    let keeper = "__keep";
    let run = format!("{binary} run --model {MODEL} run; echo it ended with $?");
    stage.write(keeper, &run);
    let mut command = std::process::Command::new("sh");
    let known = stage.command(["x"]);
    let settings = known
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    command.arg(keeper).current_dir(stage.path()).envs(settings);
    let terminal = Terminal::run(command.env("TERM", "xterm"), (100, 24));
    terminal.until(&[
        "it said error: bash needs permission and nobody is here",
        "it ended with 3",
    ]);
}
