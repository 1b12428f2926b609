//! A keeper by itself, told what to do as its host would tell it.

use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::bash_bench::until;

/// Returns the state of a process that has one thread; `R` is one that runs, `S` one that sleeps.
fn state(process: u32) -> Option<char> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    rest.chars().next().filter(|_| threads.count() == 1)
}

#[tokio::test]
async fn a_keeper_whose_host_does_not_read_sleeps() {
    let (mut host, theirs) = UnixStream::pair().unwrap();
    let mut keeper = Command::new(env!("CARGO_BIN_EXE_offshoot-keeper"))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    // More than a socket holds, each of them two bytes in a report.
    let command = "head -c 1000000 /dev/zero | tr '\\0' '\"'";
    let job = json!({ "command": command, "workspace": "/", "scratch": null }).to_string();
    let length = u32::try_from(job.len()).unwrap().to_le_bytes();
    host.write_all(&length).unwrap();
    host.write_all(job.as_bytes()).unwrap();
    // The thread that waits for processes has gone with the last of them.
    let mut in_a_row = 0;
    until("it sleeps when nothing is left to keep", || {
        in_a_row = match state(keeper.id()) {
            Some('S') => in_a_row + 1,
            Some(_) | None => 0,
        };
        in_a_row == 20
    })
    .await;
    assert_eq!(keeper.try_wait().unwrap(), None, "it has yet to be heard");
    drop(host);
    assert!(keeper.wait().unwrap().success());
}
