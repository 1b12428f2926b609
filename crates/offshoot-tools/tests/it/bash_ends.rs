//! How commands are ended: by timeout, by the signal, by dropping the call, by our death.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use offshoot_tools::shell::adopt_orphans;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{Body, ErrorKind, Outcome};
use offshoot_types::tool::{Tool as _, Work};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::bash_bench::{
    Heard, Shell, Switch, assert_nobody, bearers, mark, sleepers, until, zombies,
};

#[track_caller]
fn assert_kind(outcome: &Outcome, expected: ErrorKind) {
    match &outcome.body {
        Body::Error { kind, .. } => assert_eq!(*kind, expected),
        Body::Output(output) => panic!("{}", output.as_str()),
    }
}

/// Daemons of every kind, in the foreground of a shell that ignores being asked to end.
fn tree(mark: &str) -> String {
    format!(
        "trap '' TERM
         echo up
         setsid sleep {mark} &
         (setsid sh -c 'sleep {mark} & sleep {mark} &' &)
         nohup sleep {mark} >/dev/null 2>&1 &
         (sleep {mark} & exec sleep {mark}) &
         env -i setsid -f sleep {mark}
         python3 -c 'import signal; signal.pause()' {mark} 2>/dev/null &
         sleep {mark}"
    )
}

const SLEEPERS: usize = 8;

#[tokio::test]
async fn a_timeout_ends_everything_and_keeps_the_output_so_far() {
    let shell = Shell::new();
    let mark = mark();
    let arguments = json!({"command": tree(&mark), "timeout_ms": 2000});
    let outcome = shell.call("a", &arguments).await;
    assert_nobody(&mark);
    assert_eq!(
        outcome.for_model(),
        "error: the command timed out after 2 s and was ended; output so far:\nup\n"
    );
    assert_kind(&outcome, ErrorKind::Failed);
}

#[tokio::test]
async fn a_command_may_clean_up_when_it_is_asked_to_end() {
    let shell = Shell::new();
    let command = "trap 'echo cleaned; exit 3' TERM; echo up; while :; do sleep 0.01; done";
    let heard = Heard::default();
    let (switch, cancel) = Switch::new();
    let work = Work {
        cancel,
        output: heard.output(),
        ..shell.work("a", &json!({"command": command}))
    };
    let (outcome, ()) = tokio::join!(shell.bash.run(work), async {
        until("it is up", || heard.text() == "up\n").await;
        switch.fire();
    });
    // The shell itself may say that a `sleep` was terminated.
    let text = outcome.for_model();
    assert!(text.ends_with("cleaned\n"), "{text}");
    assert_eq!(
        outcome.metadata.extra.get("exit_code"),
        Some(&RawJson::of(&3))
    );
}

#[tokio::test]
async fn a_stopped_process_is_ended_too() {
    let shell = Shell::new();
    let mark = mark();
    let command = format!("sleep {mark} & kill -STOP $!; kill -STOP $$");
    let arguments = json!({"command": command, "timeout_ms": 200});
    let outcome = shell.call("a", &arguments).await;
    assert_nobody(&mark);
    assert_kind(&outcome, ErrorKind::Failed);
}

#[tokio::test]
async fn cancelling_ends_the_whole_tree() {
    let shell = Shell::new();
    let mark = mark();
    let (switch, cancel) = Switch::new();
    let work = Work {
        cancel,
        ..shell.work("a", &json!({"command": tree(&mark)}))
    };
    let (outcome, ()) = tokio::join!(shell.bash.run(work), async {
        until("the tree is up", || sleepers(&mark) == SLEEPERS).await;
        switch.fire();
    });
    assert_nobody(&mark);
    assert_kind(&outcome, ErrorKind::Cancelled);
    assert_eq!(
        outcome.for_model(),
        "error: the command was cancelled and ended; output so far:\nup\n"
    );
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_does_not_begin() {
    let shell = Shell::new();
    let (switch, cancel) = Switch::new();
    switch.fire();
    let work = Work {
        cancel,
        ..shell.work("a", &json!({"command": "touch begun"}))
    };
    let outcome = shell.bash.run(work).await;
    assert_kind(&outcome, ErrorKind::Cancelled);
    assert!(!shell.path("w/begun").exists());
}

#[tokio::test]
async fn dropping_the_call_ends_everything() {
    let shell = Shell::new();
    let mark = mark();
    let call = shell.call("a", &json!({"command": tree(&mark)}));
    tokio::select! {
        outcome = call => panic!("{outcome:?}"),
        () = until("the tree is up", || sleepers(&mark) == SLEEPERS) => {}
    }
    until("nobody is left", || bearers(&mark).is_empty()).await;
    until("the keeper is waited for", || zombies().is_empty()).await;
}

#[tokio::test]
async fn dropping_a_call_at_any_moment_leaves_nothing() {
    let shell = Shell::new();
    let mark = mark();
    for round in 0..20 {
        let mut call = shell.call("a", &json!({"command": tree(&mark)}));
        let moment = Duration::from_millis(round);
        if let Ok(outcome) = tokio::time::timeout(moment, &mut call).await {
            panic!("{outcome:?}");
        }
        drop(call);
    }
    // Whoever drops calls and then ends the owner finds nothing left.
    shell.bash.end("a").await;
    assert_nobody(&mark);
}

#[tokio::test]
async fn dropping_the_tool_ends_everything() {
    let shell = Shell::new();
    let mark = mark();
    shell.run(&format!("setsid sleep {mark} & true")).await;
    let running = shell.call("b", &json!({"command": tree(&mark)}));
    tokio::select! {
        outcome = running => panic!("{outcome:?}"),
        () = until("the tree is up", || sleepers(&mark) == SLEEPERS + 1) => {}
    }
    drop(shell);
    until("nobody is left", || bearers(&mark).is_empty()).await;
    until("the keepers are waited for", || zombies().is_empty()).await;
}

#[tokio::test]
async fn a_loop_that_forks_loses() {
    let shell = Shell::new();
    let mark = mark();
    let command = format!("trap '' TERM; while :; do sleep {mark} & done 2>/dev/null");
    let (switch, cancel) = Switch::new();
    let work = Work {
        cancel,
        ..shell.work("a", &json!({"command": command}))
    };
    let (outcome, ()) = tokio::join!(shell.bash.run(work), async {
        until("there are many", || bearers(&mark).len() > 200).await;
        switch.fire();
    });
    assert_nobody(&mark);
    assert_kind(&outcome, ErrorKind::Cancelled);
}

#[tokio::test]
async fn processes_that_replace_themselves_all_the_time_lose() {
    let shell = Shell::new();
    let mark = mark();
    // Each starts its successor in a new session and ends: nobody is ever the same twice.
    let script = "#!/bin/sh\ntrap '' TERM\nsetsid \"$0\" \"$1\" &\n";
    let path = shell.path("w/hydra");
    std::fs::write(&path, script).unwrap();
    shell.run("chmod +x hydra").await;
    let command = format!("for n in 1 2 3 4; do ./hydra {mark} & done; sleep {mark}");
    let (switch, cancel) = Switch::new();
    let work = Work {
        cancel,
        ..shell.work("a", &json!({"command": command}))
    };
    let (_, ()) = tokio::join!(shell.bash.run(work), async {
        until("they are up", || bearers(&mark).len() > 3).await;
        switch.fire();
    });
    assert_nobody(&mark);
}

async fn kill_a_keeper_from_below() {
    let shell = Shell::new();
    let mark = mark();
    let command = format!(
        "setsid sleep {mark} & (sleep {mark} &) ; env -i sleep {mark} & echo bye; \
         while [ ! -e go ]; do sleep 0.01; done; kill -9 $PPID; sleep {mark}"
    );
    let heard = Heard::default();
    let work = Work {
        output: heard.output(),
        ..shell.work("a", &json!({"command": command}))
    };
    let (outcome, ()) = tokio::join!(shell.bash.run(work), async {
        let up = || sleepers(&mark) == 3 && heard.text() == "bye\n";
        until("all are up", up).await;
        std::fs::write(shell.path("w/go"), "").unwrap();
    });
    assert_nobody(&mark);
    assert_kind(&outcome, ErrorKind::Failed);
    assert_eq!(
        outcome.for_model(),
        "error: the process that keeps the command was killed, so what was found of the command \
         was ended; output so far:\nbye\n"
    );
}

#[tokio::test]
async fn a_command_that_kills_its_keeper_is_ended() {
    kill_a_keeper_from_below().await;
}

/// The orphan has nothing left that would tell whose it is.
async fn kill_a_keeper_and_be_nobodys() {
    let shell = Shell::new();
    let mark = mark();
    let script =
        format!("until [ -e go ]; do sleep 0.01; done; kill -9 $1; sleep {mark} & sleep {mark}");
    std::fs::write(shell.path("w/orphan"), script).unwrap();
    let command = format!("(env -i setsid sh orphan $PPID &); sleep {mark}");
    // Another command goes on: its keeper is none of those that are ended.
    let other = crate::bash_bench::mark();
    let bystander = format!("setsid sleep {other} & true");
    shell.call("b", &json!({"command": bystander})).await;
    let call = shell.call("a", &json!({"command": command}));
    let (outcome, ()) = tokio::join!(call, async {
        until("it is up", || sleepers(&mark) == 1).await;
        std::fs::write(shell.path("w/go"), "").unwrap();
    });
    assert_kind(&outcome, ErrorKind::Failed);
    assert_nobody(&mark);
    assert_eq!(sleepers(&other), 1);
    shell.bash.end("b").await;
}

async fn overrule_a_stopped_keeper() {
    let shell = Shell::new();
    let mark = mark();
    let command = format!("setsid sleep {mark} & kill -STOP $PPID; sleep {mark}");
    let call = shell.call("a", &json!({"command": command}));
    tokio::select! {
        outcome = call => panic!("{outcome:?}"),
        () = until("both are up", || sleepers(&mark) == 2) => {}
    }
    shell.bash.end("a").await;
    assert_nobody(&mark);
    until("the keeper is waited for", || zombies().is_empty()).await;
}

#[tokio::test]
async fn a_keeper_that_was_stopped_is_overruled() {
    overrule_a_stopped_keeper().await;
}

/// Set for a process that a test has started of itself, with what it is to use.
const ROLE: &str = "OFFSHOOT_TEST_ROLE";

/// Returns what this process was started for, if by `again`.
fn role() -> Option<String> {
    let role = std::env::vars_os().find(|(name, _)| name == ROLE);
    role.map(|(_, value)| value.into_string().unwrap())
}

/// Starts one test of this file again, in a process of its own.
fn again(test: &str, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("bash_ends::{test}")])
        .env(ROLE, role)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

#[test]
fn adopted_orphans_are_ended_and_waited_for() {
    // Adopting is for a whole process, so for one that runs no other test.
    if role().is_some() {
        adopt_orphans().unwrap();
        runtime().block_on(async {
            kill_a_keeper_from_below().await;
            kill_a_keeper_and_be_nobodys().await;
            overrule_a_stopped_keeper().await;
            until("adopted orphans are waited for", || zombies().is_empty()).await;
        });
        return;
    }
    let mut alone = again("adopted_orphans_are_ended_and_waited_for", "adopts");
    assert!(alone.wait().unwrap().success());
}

#[test]
fn killing_the_host_kills_everything() {
    if let Some(mark) = role() {
        // This is the host: it holds a daemon of a call that is over, and a call that runs.
        runtime().block_on(async {
            let shell = Shell::new();
            shell.run(&format!("setsid sleep {mark} & true")).await;
            shell.run(&tree(&mark)).await;
        });
        return;
    }
    let mark = mark();
    let mut host = again("killing_the_host_kills_everything", &mark);
    let runtime = runtime();
    let up = || sleepers(&mark) == SLEEPERS + 1;
    runtime.block_on(until("all are up", up));
    host.kill().unwrap();
    host.wait().unwrap();
    let gone = || bearers(&mark).is_empty();
    runtime.block_on(until("nobody is left", gone));
}
