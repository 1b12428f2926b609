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

#[test]
fn a_session_that_sleeps_is_said_to_wait_and_what_is_said_about_answering_can_be_pasted() {
    let stage = killed("root", "run");
    assert_eq!(stage.status("root"), "waits");
    let answer = format!("offshoot inbox answer {} --once", name(&stage));
    let goes_on = "\"offshoot run --session root --wait-for-answers\"";
    let run = stage.offshoot(["run", "--session", "root"]).exited(3);
    let wait = stage.offshoot(["sessions", "wait", "root"]).exited(3);
    for said in [run.stderr, wait.stderr] {
        assert!(
            said.contains(&format!("\"{answer}\"")),
            "{answer} in {said}"
        );
        assert!(said.contains(goes_on), "{said}");
    }
    let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    let way = format!("  answer: {answer}  (or --agent, --session, --deny REASON)\n");
    assert!(listed.ends_with(&way), "{way} in {listed}");
    assert!(listed.contains(goes_on), "{listed}");
    // Whoever goes on without it would have the next question denied.
    let kept = stage.offshoot(answer.split(' ').skip(1)).succeeded();
    assert_eq!(kept.stdout, "kept\n");
    assert!(kept.stderr.contains(goes_on), "{kept:?}");
    let listed = stage.offshoot(["inbox", "list"]).succeeded().stdout;
    assert!(listed.contains(goes_on), "{listed}");
    assert!(!listed.contains("inbox answer"), "{listed}");
}
