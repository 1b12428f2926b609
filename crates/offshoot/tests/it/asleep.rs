//! Sessions that wait for an answer since they were killed, opened where nobody can give one.

use crate::inbox::{asked, killed, name};

#[test]
fn r16_a_session_that_waits_for_an_answer_sleeps_on_where_nobody_can_give_it() {
    let stage = killed("root", "run");
    let name = name(&stage);
    let run = stage.offshoot(["run", "--session", "root"]).exited(3);
    for part in [
        &*format!("offshoot inbox answer {name}"),
        "--wait-for-answers",
    ] {
        assert!(run.stderr.contains(part), "{part} in {run:?}");
    }
    assert_eq!(run.stdout, "");
    let says = ["run", "--session", "root", "what next"];
    let says = stage.offshoot(says).exited(3);
    assert!(says.stderr.contains("the message is queued"), "{says:?}");
    let told = ["sessions", "message", "root", "and then"];
    let told = stage.offshoot(told).exited(3);
    assert!(told.stderr.contains("the message is queued"), "{told:?}");
    assert_eq!(asked(&stage).len(), 1, "it is still asked");

    let answer = ["inbox", "answer", &name, "--once"];
    assert_eq!(stage.offshoot(answer).succeeded().stdout, "kept\n");
    let on = stage.offshoot(["run", "--session", "root"]).succeeded();
    assert!(on.stdout.contains("ran"), "{on:?}");
    let shown = stage.offshoot(["sessions", "show", "root"]).succeeded();
    for prompt in ["what next", "and then"] {
        assert!(shown.stdout.contains(prompt), "{prompt} in {shown:?}");
    }
    assert!(!shown.stdout.contains("nobody is here"), "{shown:?}");
}

#[test]
fn r16_the_turn_that_sleeps_can_be_cancelled_from_the_command_line() {
    let stage = killed("root", "run");
    let cancel = ["sessions", "cancel", "root", "--turn"];
    assert_eq!(
        stage.offshoot(cancel).succeeded().stdout,
        "turn cancelled\n"
    );
    assert!(asked(&stage).is_empty());
}
