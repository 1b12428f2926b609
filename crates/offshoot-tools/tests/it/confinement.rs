//! No tool leaves the workspace, whatever stands in its way.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::bench::Bench;

/// Checks that the tools for one file refuse a path with these words, and change nothing outside.
async fn check(bench: &Bench, path: &str, expected: &str) {
    let edit = json!({"path": path, "old_string": "secret", "new_string": "overwritten"});
    let arguments: [(&str, Value); 3] = [
        ("read", json!({"path": path})),
        ("write", json!({"path": path, "content": "overwritten"})),
        ("edit", edit),
    ];
    for (tool, arguments) in arguments {
        let answer = bench.call(tool, &arguments).await;
        assert!(answer.starts_with("error: "), "{tool} {path}: {answer}");
        assert!(answer.contains(expected), "{tool} {path}: {answer}");
    }
    assert_eq!(bench.content("../secret"), "secret");
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("../secret", "secret");
    bench.file("real/file", "inside");
    bench
}

#[tokio::test]
async fn paths_that_name_the_outside_are_refused() {
    let bench = bench();
    check(&bench, "../secret", "goes through `..`").await;
    check(&bench, "real/../../secret", "goes through `..`").await;
    check(&bench, "/etc/passwd", "is outside the workspace").await;
    let beside = bench.absolute("").replace("/w/", "/secret");
    check(&bench, &beside, "is outside the workspace").await;
}

#[tokio::test]
async fn links_to_the_outside_are_refused() {
    let bench = bench();
    symlink("../secret", bench.path("relative")).unwrap();
    symlink(bench.path("../secret"), bench.path("absolute")).unwrap();
    symlink("..", bench.path("up")).unwrap();
    symlink("/proc/self/root", bench.path("magic")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    let outside = "it leads through a link to something outside the workspace";
    check(&bench, "relative", outside).await;
    check(&bench, "absolute", outside).await;
    check(&bench, "loop", outside).await;
    check(&bench, "up/secret", outside).await;
    check(&bench, "magic/etc/passwd", outside).await;
}

#[tokio::test]
async fn links_inside_are_answered_with_where_they_lead() {
    let bench = bench();
    symlink("real", bench.path("folder")).unwrap();
    symlink("real/file", bench.path("link")).unwrap();
    let inside = "it leads through a link, which is not followed; use \"real/file\" instead";
    check(&bench, "link", inside).await;
    check(&bench, "folder/file", inside).await;
    let new = json!({"path": "folder/new", "content": ""});
    assert_eq!(
        bench.call("write", &new).await,
        "error: write `folder/new`: it leads through a link, which is not followed; \
         use \"real/new\" instead"
    );
    assert_eq!(bench.content("real/file"), "inside");
}

#[tokio::test]
async fn a_workspace_that_is_a_link_works() {
    let bench = bench();
    symlink(bench.path(""), bench.path("../door")).unwrap();
    let place = offshoot_types::tool::Place::new(bench.absolute("../door").replace("w/../", ""));
    let tools = offshoot_tools::builtin();
    let arguments = offshoot_types::json::RawJson::of(&json!({"path": "real/file"}));
    let work = offshoot_types::tool::Work::new(arguments, place);
    let outcome = tools[0].run(work).await;
    assert_eq!(outcome.for_model(), "inside");
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let bench = bench();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, bench.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _listener = UnixListener::bind(bench.path("socket")).unwrap();
    check(&bench, "pipe", "it is a pipe, not a file").await;
    check(&bench, "socket", "it is a socket").await;
}

#[tokio::test]
async fn a_missing_workspace_is_named() {
    let place = offshoot_types::tool::Place::new("/nowhere/at/all".to_owned());
    let tools = offshoot_tools::builtin();
    let arguments = offshoot_types::json::RawJson::of(&json!({"path": "f"}));
    let work = offshoot_types::tool::Work::new(arguments, place);
    let outcome = tools[0].run(work).await;
    assert_eq!(
        outcome.for_model(),
        "error: read `f`: open the workspace /nowhere/at/all: No such file or directory (os error 2)"
    );
}
