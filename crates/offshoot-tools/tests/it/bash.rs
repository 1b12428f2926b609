//! What `bash` takes, what commands see, and what a model reads of them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use offshoot_tools::shell::{Base, Environment, Keeper};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Tool as _, Work};
use serde_json::{Value, json};

use crate::bash_bench::{Shell, inherited, keeper, until, zombies};

#[track_caller]
fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    match &outcome.body {
        Body::Output(_) => None,
        Body::Error { kind, .. } => Some(*kind),
    }
}

/// Checks what a model reads of a command.
async fn check(command: &str, expected: &str) {
    assert_eq!(Shell::new().run(command).await, expected, "{command}");
}

#[tokio::test]
async fn a_command_is_answered_with_what_it_prints() {
    check("echo hello", "hello\n").await;
    check("printf 'no newline'", "no newline").await;
    check("true", "[no output]").await;
    check("x=3; for i in 1 2; do echo $((i * x)); done", "3\n6\n").await;
}

#[tokio::test]
async fn a_command_that_fails_is_an_answer_with_its_exit_code() {
    let shell = Shell::new();
    for code in [1, 2, 77, 127, 255] {
        let outcome = shell.outcome(&format!("echo why >&2; exit {code}")).await;
        assert_eq!(outcome.for_model(), format!("why\n[exit code {code}]"));
        assert_eq!(kind(&outcome), None);
        assert_eq!(
            outcome.metadata.extra.get("exit_code"),
            Some(&RawJson::of(&code))
        );
    }
    let outcome = shell.outcome("false").await;
    assert_eq!(outcome.for_model(), "[exit code 1]");
    let outcome = shell.outcome("true").await;
    assert_eq!(
        outcome.metadata.extra.get("exit_code"),
        Some(&RawJson::of(&0))
    );
    assert_eq!(outcome.metadata.truncated, None);
    assert_eq!(outcome.metadata.output_path, None);
}

#[tokio::test]
async fn a_command_that_a_signal_killed_says_which() {
    let outcome = Shell::new().outcome("echo so far; kill -9 $$").await;
    assert_eq!(outcome.for_model(), "so far\n[killed by signal 9]");
    assert_eq!(outcome.metadata.extra.get("signal"), Some(&RawJson::of(&9)));
}

#[tokio::test]
async fn stdout_and_stderr_come_in_the_order_they_were_written() {
    let expected: String = (1..=50).map(|n| format!("out {n}\nerr {n}\n")).collect();
    let command = "for n in $(seq 50); do echo out $n; echo err $n >&2; done";
    check(command, &expected).await;
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_without_input() {
    let shell = Shell::new();
    let workspace = shell.path("w").canonicalize().unwrap();
    let expected = format!("{}\n", workspace.display());
    assert_eq!(shell.run("pwd -P").await, expected);
    assert_eq!(shell.run("cat; echo read").await, "read\n");
    assert_eq!(shell.run("tty").await, "not a tty\n[exit code 1]");
    // Not even by its name: there is no terminal to ask a person behind our back.
    let text = shell.run("exec </dev/tty").await;
    assert!(text.contains("/dev/tty"), "{text}");
}

#[tokio::test]
async fn every_call_is_a_new_shell() {
    let shell = Shell::new();
    shell.run("cd /; x=1; export y=2").await;
    let expected = format!("{}\n", shell.path("w").canonicalize().unwrap().display());
    assert_eq!(shell.run("pwd -P; printf '%s%s' $x $y").await, expected);
}

#[tokio::test]
async fn the_longest_command_runs() {
    let most = 128 * 1024 - 1;
    let command = format!("echo {}", "x".repeat(most - 5));
    let expected = format!("{}\n", "x".repeat(most - 5));
    check(&command, &expected).await;
}

#[tokio::test]
async fn output_of_a_process_substitution_is_waited_for() {
    check("echo through > >(cat)", "through\n").await;
}

#[test]
fn a_call_needs_all_that_its_command_does_and_asks_for_the_whole() {
    let shell = Shell::new();
    let place = shell.place("a");
    let check = |command: &str, expected: &[(&str, &str)]| {
        let arguments = RawJson::of(&json!({"command": command, "timeout_ms": 5}));
        let expected: Vec<Need> = expected
            .iter()
            .map(|(capability, target)| Need::new(*capability, *target))
            .collect();
        assert_eq!(shell.bash.needs(&arguments, &place), Ok(expected));
        let whole = Need::new("shell.run", command);
        assert_eq!(shell.bash.asks(&arguments), Some(whole));
    };
    check("git status", &[("shell.run", "git status")]);
    let file = format!("{}/a", place.workspace);
    check(
        "echo \"x y\" > a; sh -c b",
        &[
            ("fs.write", &file),
            ("shell.run", "echo 'x y'"),
            ("shell.opaque", "sh -c b"),
            ("shell.run", "sh -c b"),
        ],
    );
    assert_eq!(shell.bash.spec().id, "bash");
    assert_eq!(shell.bash.spec().effect, Effect::Write);
}

#[tokio::test]
async fn wrong_arguments_are_told_before_the_call_and_in_it() {
    async fn check(arguments: Value, expected: &str) {
        let shell = Shell::new();
        let raw = RawJson::of(&arguments);
        let error = shell.bash.needs(&raw, &shell.place("a")).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
        let outcome = shell.call("a", &arguments).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::InvalidInput));
        assert_eq!(outcome.for_model(), format!("error: {error}"));
    }
    let missing = "take the arguments of bash: missing field `command`";
    check(json!({}), missing).await;
    let unknown = "take the arguments of bash: unknown field `cwd`";
    check(json!({"command": "a", "cwd": "/"}), unknown).await;
    check(json!({"command": " \n"}), "the command is empty").await;
    let nul = "the command contains a NUL byte";
    check(json!({"command": "a\0b"}), nul).await;
    let long = "the command has 131072 bytes and may have 131071";
    check(json!({"command": "x".repeat(131_072)}), long).await;
    for timeout in [0, 600_001] {
        let wrong = format!("`timeout_ms` is {timeout} and may be 1 to 600000");
        check(json!({"command": "a", "timeout_ms": timeout}), &wrong).await;
    }
}

#[tokio::test]
async fn commands_see_the_environment_without_our_keys() {
    let base = [
        ("PATH", "/usr/bin:/bin"),
        ("OPENAI_API_KEY", "secret"),
        ("TERM", "xterm"),
        ("OFFSHOOT_SCRATCH", "/outer"),
    ];
    let environment = Environment {
        base: Base::Given(base.map(|(n, v)| (n.into(), v.into())).to_vec()),
        remove: vec!["OPENAI_API_KEY".into(), "ANTHROPIC_API_KEY".into()],
    };
    let shell = Shell::with(keeper(), environment);
    let mine = "env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= -e ^OLDPWD= -e ^OFFSHOOT_OWNER= | sort";
    let scratch = shell.path("s");
    let expected = format!(
        "GIT_CONFIG_COUNT=1\nGIT_CONFIG_KEY_0=safe.bareRepository\nGIT_CONFIG_VALUE_0=explicit\n\
         GIT_PAGER=cat\nGIT_TERMINAL_PROMPT=0\nNO_COLOR=1\nOFFSHOOT_SCRATCH={}\nPAGER=cat\n\
         PATH=/usr/bin:/bin\nTERM=dumb\n",
        scratch.display()
    );
    assert_eq!(shell.run(mine).await, expected);
    // The keeper has none of them either.
    let keepers = "tr '\\0' '\\n' < /proc/$PPID/environ | grep -c API_KEY";
    assert_eq!(shell.run(keepers).await, "0\n[exit code 1]");
}

#[tokio::test]
async fn an_inherited_environment_is_inherited() {
    let outer = std::env::vars_os().map(|(name, _)| name);
    let mut outer: Vec<OsString> = outer.filter(|name| name == "PATH").collect();
    let shell = Shell::with(
        keeper(),
        Environment {
            remove: vec!["HOME".into()],
            ..inherited()
        },
    );
    let text = shell.run("env | grep -o -e ^PATH= -e ^HOME=").await;
    let inherited = outer.pop().map(|_| "PATH=\n".to_owned());
    assert_eq!(Some(text), inherited);
}

#[tokio::test]
async fn the_scratch_folder_is_made_and_is_private() {
    let shell = Shell::new();
    let text = shell
        .run("cd $OFFSHOOT_SCRATCH && touch kept && echo made")
        .await;
    assert_eq!(text, "made\n");
    let metadata = fs::metadata(shell.path("s")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o700);
    assert!(shell.path("s/kept").exists());
}

#[tokio::test]
async fn without_a_scratch_folder_none_is_named() {
    let shell = Shell::new();
    let mut place = shell.place("a");
    place.scratch = None;
    let arguments = RawJson::of(&json!({"command": "echo \"<$OFFSHOOT_SCRATCH>\""}));
    let outcome = shell.bash.run(Work::new(arguments, place)).await;
    assert_eq!(outcome.for_model(), "<>\n");
}

#[tokio::test]
async fn commands_get_no_other_descriptor() {
    let look = "ls /proc/$$/fd; true";
    check(look, "0\n1\n2\n").await;
    // Nor one that whoever started us left open.
    let program = keeper().program.into_os_string();
    let open = "exec 7</dev/null 23</dev/null; exec \"$0\"";
    let leaky = Keeper {
        program: "bash".into(),
        arguments: vec!["-c".into(), open.into(), program],
    };
    let shell = Shell::with(leaky, inherited());
    assert_eq!(shell.run(look).await, "0\n1\n2\n");
    assert_eq!(
        shell.run("echo \"$0 $#\"; exit 3").await,
        "bash 0\n[exit code 3]"
    );
}

#[tokio::test]
async fn where_there_is_no_bash_nothing_runs_what_was_judged_as_bash_reads_it() {
    let bin = tempfile::tempdir().unwrap();
    symlink("/bin/sh", bin.path().join("sh")).unwrap();
    let only = |path: &std::path::Path| Environment {
        base: Base::Given(vec![("PATH".into(), path.into())]),
        remove: Vec::new(),
    };
    let shell = Shell::with(keeper(), only(bin.path()));
    // One `echo` to bash, and to a plain sh one that is followed by more.
    let outcome = shell.outcome("echo $'a\\'; touch pwned #'").await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    let expected = "error: bash: there is no bash in PATH";
    assert_eq!(outcome.for_model(), expected);
    assert!(!shell.path("w/pwned").exists());
}

#[tokio::test]
async fn a_missing_workspace_is_named() {
    let shell = Shell::new();
    fs::remove_dir(shell.path("w")).unwrap();
    let expected = format!(
        "error: bash: the workspace {} is not a folder",
        shell.path("w").display()
    );
    assert_eq!(shell.run("echo").await, expected);
}

#[tokio::test]
async fn a_keeper_that_is_none_is_told() {
    let missing = Keeper {
        program: "/nowhere/keeper".into(),
        arguments: Vec::new(),
    };
    let text = Shell::with(missing, inherited()).run("echo").await;
    let expected = "error: start the keeper /nowhere/keeper: No such file or directory";
    assert!(text.starts_with(expected), "{text}");

    let wrong = Keeper {
        program: "true".into(),
        arguments: Vec::new(),
    };
    let outcome = Shell::with(wrong, inherited()).outcome("echo").await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
}

#[tokio::test]
async fn no_zombie_is_left() {
    let shell = Shell::new();
    for _ in 0..5 {
        // Left to the keeper by a parent that does not wait.
        shell.run("(sleep 0.01 & sleep 0.02 &) ; true").await;
    }
    shell.bash.end("a").await;
    until("all keepers are waited for", || zombies().is_empty()).await;
}
