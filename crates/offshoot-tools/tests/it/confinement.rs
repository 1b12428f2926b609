//! No tool leaves the workspace, whatever stands in its way.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use serde_json::{Value, json};

use crate::bench::{Bench, find};

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
    symlink("nothing", bench.path("dangling")).unwrap();
    let outside = "it leads through a link to something outside the workspace";
    check(&bench, "relative", outside).await;
    check(&bench, "absolute", outside).await;
    let nowhere = "it leads through a link, and that leads nowhere";
    check(&bench, "loop", nowhere).await;
    check(&bench, "dangling", nowhere).await;
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

#[tokio::test]
async fn devices_are_refused_without_waiting() {
    let place = offshoot_types::tool::Place::new("/dev");
    let call = async |tool: &str, arguments: Value| {
        let arguments = offshoot_types::json::RawJson::of(&arguments);
        let work = offshoot_types::tool::Work::new(arguments, place.clone());
        find(tool).run(work).await.for_model()
    };
    for name in ["zero", "null"] {
        let edit = json!({"path": name, "old_string": "a", "new_string": "b"});
        for (tool, arguments) in [
            ("read", json!({"path": name})),
            ("write", json!({"path": name, "content": ""})),
            ("edit", edit),
            ("grep", json!({"path": name, "pattern": "a"})),
        ] {
            let expected = format!("error: {tool} `{name}`: it is a device, not a file");
            assert_eq!(call(tool, arguments).await, expected);
        }
    }
    let listed = call("glob", json!({"pattern": "zero"})).await;
    assert_eq!(listed, "[no files match]");
}

#[test]
fn a_folder_swapped_for_a_link_while_tools_work_leads_nowhere() {
    let bench = Bench::new();
    bench.file("door/f", "inside");
    bench.file("../outside/f", "secret");
    symlink("../outside", bench.path("link")).unwrap();
    let done = AtomicBool::new(false);
    let calls = [
        ("read", json!({"path": "door/f"})),
        ("write", json!({"path": "door/f", "content": "inside"})),
        (
            "edit",
            json!({"path": "door/f", "old_string": "secret", "new_string": "changed"}),
        ),
        ("glob", json!({"pattern": "**"})),
        ("grep", json!({"pattern": "secret"})),
    ];
    let (door, link) = (bench.path("door"), bench.path("link"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                rustix::fs::renameat_with(CWD, &door, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let answers = runtime.block_on(async {
            let mut answers = Vec::new();
            for _ in 0..100 {
                for (tool, arguments) in &calls {
                    answers.push(bench.call(tool, arguments).await);
                }
            }
            answers
        });
        done.store(true, Relaxed);
        for answer in answers {
            assert!(!answer.contains("secret\n"), "{answer}");
            assert!(!answer.contains(":1:"), "{answer}");
            assert_ne!(answer, "secret");
        }
    });
    assert_eq!(bench.content("../outside/f"), "secret");
    assert_eq!(
        std::fs::read_dir(bench.path("../outside")).unwrap().count(),
        1
    );
}
