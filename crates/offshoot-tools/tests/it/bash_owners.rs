//! What a call leaves running belongs to its owner, and ends with it.

use std::time::Duration;

use offshoot_types::outcome::{Body, ErrorKind};
use offshoot_types::tool::Tool as _;
use serde_json::json;

use crate::bash_bench::{Shell, assert_nobody, bearers, mark, sleepers, until, zombies};

/// Checks that what `command` leaves behind outlives its call and ends with its owner.
async fn check(command: &str, left: usize) {
    let shell = Shell::new();
    let mark = mark();
    let command = command.replace("MARK", &mark);
    let text = shell.run(&command).await;
    let count = match left {
        1 => "1 process still runs; it ends",
        _ => &format!("{left} processes still run; they end"),
    };
    let expected = format!("[{count} with this agent: ");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with(&expected), "{text}");
    until("all are up", || sleepers(&mark) == left).await;
    shell.bash.end("somebody else").await;
    assert_eq!(sleepers(&mark), left);
    shell.bash.end("a").await;
    assert_nobody(&mark);
    until("the keeper is waited for", || zombies().is_empty()).await;
}

#[tokio::test]
async fn a_background_process_ends_with_its_owner() {
    check("sleep MARK & echo up", 1).await;
    check("sleep MARK >/dev/null 2>&1 & sleep MARK &", 2).await;
}

#[tokio::test]
async fn what_still_runs_is_named() {
    let shell = Shell::new();
    let mark = mark();
    let command =
        format!("sleep {mark} & while ! pgrep -f '^sleep {mark}' >/dev/null; do sleep 0.01; done");
    let text = shell.run(&command).await;
    let expected = format!("[1 process still runs; it ends with this agent: sleep {mark}]");
    assert_eq!(text.lines().last(), Some(expected.as_str()));
}

#[tokio::test]
async fn nohup_does_not_help() {
    check("nohup sleep MARK >/dev/null 2>&1 &", 1).await;
}

#[tokio::test]
async fn a_session_of_its_own_does_not_help() {
    check("setsid -f sleep MARK", 1).await;
}

#[tokio::test]
async fn forking_twice_does_not_help() {
    let daemon = "(setsid sh -c 'sleep MARK & exit' </dev/null >/dev/null 2>&1 &) ; \
         while ! pgrep -f '^sleep MARK' >/dev/null; do sleep 0.01; done";
    check(daemon, 1).await;
}

#[tokio::test]
async fn ignoring_to_be_asked_does_not_help() {
    check("trap '' TERM HUP INT; setsid -f sleep MARK", 1).await;
}

#[tokio::test]
async fn an_empty_environment_does_not_help() {
    check("env -i setsid -f sleep MARK", 1).await;
}

#[tokio::test]
async fn an_owner_ends_alone() {
    let shell = Shell::new();
    let (mine, yours) = (mark(), mark());
    for (owner, mark) in [("a", &mine), ("b", &yours), ("a", &mine)] {
        let command = format!("setsid sleep {mark} >/dev/null 2>&1 & true");
        shell.call(owner, &json!({"command": command})).await;
    }
    until("all are up", || {
        (sleepers(&mine), sleepers(&yours)) == (2, 1)
    })
    .await;
    shell.bash.end("a").await;
    assert_eq!((bearers(&mine).len(), sleepers(&yours)), (0, 1));
    shell.bash.end("b").await;
    assert_nobody(&yours);
}

#[tokio::test]
async fn a_server_answers_later_calls() {
    let shell = Shell::new();
    let server = "mkfifo ask answer; (while read line <ask; do echo \"got $line\" >answer; done) \
         >/dev/null 2>&1 & echo started";
    let text = shell.run(server).await;
    assert!(text.starts_with("started\n[1 process still runs"), "{text}");
    let ask = "echo hello >ask; cat answer";
    assert_eq!(shell.run(ask).await, "got hello\n");
    shell.bash.end("a").await;
}

#[tokio::test]
async fn ending_an_owner_ends_its_calls_too() {
    let shell = Shell::new();
    let mark = mark();
    let call = shell.call("a", &json!({"command": format!("echo up; sleep {mark}")}));
    let (outcome, ()) = tokio::join!(call, async {
        until("it runs", || sleepers(&mark) == 1).await;
        shell.bash.end("a").await;
        assert_nobody(&mark);
    });
    let Body::Error { kind, text } = outcome.body else {
        panic!("{outcome:?}");
    };
    assert_eq!(kind, ErrorKind::Cancelled);
    let expected = "the command was ended with its agent; output so far:\nup\n";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn ending_nobody_is_done_at_once() {
    Shell::new().bash.end("nobody").await;
    let shell = Shell::new();
    shell.run("true").await;
    let ended = tokio::time::timeout(Duration::from_secs(30), shell.bash.end("a"));
    ended.await.unwrap();
    shell.bash.end("a").await;
}

#[tokio::test]
async fn a_process_that_ends_by_itself_leaves_no_keeper() {
    let shell = Shell::new();
    let command = "(while [ ! -e go ]; do sleep 0.01; done) & echo $PPID";
    let text = shell.run(command).await;
    let keeper = format!("/proc/{}", text.lines().next().unwrap());
    assert!(std::path::Path::new(&keeper).exists());
    std::fs::write(shell.path("w/go"), "").unwrap();
    let gone = || !std::path::Path::new(&keeper).exists();
    until("the keeper is gone and waited for", gone).await;
}

#[tokio::test]
async fn of_twenty_owners_at_once_nothing_is_left() {
    const OWNERS: usize = 20;
    let shell = Shell::new();
    let mark = mark();
    // A server, a daemon, and something busy that starts processes all the time, like a compiler.
    let command = format!(
        "sleep {mark} & setsid -f sleep {mark} >/dev/null 2>&1
         sh -c 'while :; do /bin/true {mark}; done' & echo $PPID"
    );
    let owners: Vec<String> = (0..OWNERS).map(|n| format!("owner {n}")).collect();
    let arguments = json!({ "command": command });
    let mut calls = tokio::task::JoinSet::new();
    for owner in &owners {
        calls.spawn(shell.call(owner, &arguments));
    }
    for outcome in calls.join_all().await {
        let text = outcome.for_model();
        assert!(
            text.contains("processes still run; they end with"),
            "{text}"
        );
    }
    until("all are up", || sleepers(&mark) == 2 * OWNERS).await;
    let mut ends = tokio::task::JoinSet::new();
    for owner in &owners {
        ends.spawn(shell.bash.end(owner));
    }
    ends.join_all().await;
    assert_nobody(&mark);
    until("the keepers are waited for", || zombies().is_empty()).await;
}
