//! `completions`: scripts that complete what people type.

use std::process::Command;

use crate::stage::Stage;

#[test]
fn bash_completes_commands_and_flags() {
    let stage = Stage::new("");
    let script = stage.offshoot(["completions", "bash"]).succeeded().stdout;
    stage.write("offshoot.bash", &script);
    let complete = |typed: &str| {
        // What bash does when somebody presses tab behind the last word.
        let ask = format!(
            "source offshoot.bash; COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _offshoot offshoot \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        let done = bash
            .args(["-c", &ask])
            .current_dir(stage.path())
            .output()
            .unwrap();
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("offshoot ses"), "sessions");
    assert_eq!(complete("offshoot sessions at"), "attach");
    assert_eq!(complete("offshoot run --cont"), "--continue");
    assert_eq!(complete("offshoot run --color ne"), "never");
    assert_eq!(complete("offshoot run --agent pl"), "plan");
    assert_eq!(complete("offshoot agents sh"), "show");
}

#[test]
fn other_shells_have_scripts_too() {
    let stage = Stage::new("");
    for (shell, begins) in [("zsh", "#compdef offshoot"), ("fish", "# Print an optspec")] {
        let script = stage.offshoot(["completions", shell]).succeeded().stdout;
        assert!(script.starts_with(begins), "{script}");
        for word in ["sessions", "doctor", "promote", "continue", "log-level"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    stage.offshoot(["completions", "tcsh"]).exited(2);
}

#[test]
fn completions_need_no_config_and_no_home() {
    let stage = Stage::new("");
    stage.write("offshoot.toml", "no toml at all");
    let mut command = stage.command(["completions", "bash"]);
    command.env_remove("HOME").env_remove("OFFSHOOT_DATA_DIR");
    crate::stage::wait(command.spawn().unwrap()).succeeded();
    let unread = stage.unread(&["completions", "zsh"]).succeeded();
    assert_eq!(unread.stderr, "");
}
