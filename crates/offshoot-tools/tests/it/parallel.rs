//! Many agents on the same files: no update is lost (TLS-07).

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use offshoot_types::cancel::{Cancel, Signal};
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::tool::Work;
use rustix::fs::FlockOperation;
use serde_json::json;
use tokio::task::JoinSet;

use crate::bench::{Bench, find, kind};
use crate::journal::Notebook;

const AGENTS: usize = 100;

fn lines(word: &str) -> String {
    (0..AGENTS)
        .map(|line| format!("{word} {line}.\n"))
        .collect()
}

/// Lets every agent edit its own line of `f`; `door` is another name of the workspace for some.
async fn edit_own_lines(bench: &Bench, door: Option<&str>) -> Vec<(usize, Outcome)> {
    let mut agents = JoinSet::new();
    for line in 0..AGENTS {
        let arguments = json!({
            "path": "f",
            "old_string": format!("old {line}."),
            "new_string": format!("new {line}."),
        });
        let mut work = bench.work(&arguments);
        if let Some(door) = door.filter(|_| line % 2 == 0) {
            work.place.workspace = door.to_owned();
        }
        agents.spawn(async move { (line, find("edit").run(work).await) });
    }
    agents.join_all().await
}

#[tokio::test]
async fn tls_07_a_hundred_edits_of_one_file_all_land() {
    let notebook = Arc::new(Notebook::new());
    let bench = Bench::with_journal(notebook.clone());
    bench.file("f", lines("old"));
    for (line, outcome) in edit_own_lines(&bench, None).await {
        assert!(!outcome.is_error(), "{line}: {}", outcome.for_model());
    }
    assert_eq!(bench.content("f"), lines("new"));
    assert_eq!(bench.names(), ["f"]);

    // What one leaves behind is what the next finds.
    let changes = notebook.changes();
    assert_eq!(changes.len(), AGENTS);
    let mut there = Some(lines("old").into_bytes());
    for change in changes {
        assert_eq!(change.before, there);
        there = change.after;
    }
    assert_eq!(there, Some(lines("new").into_bytes()));
}

#[tokio::test]
async fn tls_07_agents_who_do_not_see_each_others_locks_lose_nothing() {
    // Two names of one workspace have nothing in common but the file system, like two processes.
    let bench = Bench::new();
    bench.file("f", lines("old"));
    symlink(bench.path(""), bench.path("../door")).unwrap();
    let door = bench.absolute("../door").replace("w/../", "");
    let mut expected = BTreeMap::new();
    for (line, outcome) in edit_own_lines(&bench, Some(&door)).await {
        let word = match kind(&outcome) {
            None => "new",
            Some(ErrorKind::Conflict) => "old",
            Some(other) => panic!("{line}: {other:?} {}", outcome.for_model()),
        };
        expected.insert(line, format!("{word} {line}.\n"));
    }
    let expected: String = expected.into_values().collect();
    assert_eq!(bench.content("f"), expected);
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn tls_07_parent_and_child_on_one_text_cannot_both_win() {
    let bench = Bench::new();
    bench.file("f", "old");
    let edit = |new: &str| json!({"path": "f", "old_string": "old", "new_string": new});
    let (parent, child) = (edit("parent"), edit("child"));
    let (parent, child) = tokio::join!(
        bench.outcome("edit", &parent),
        bench.outcome("edit", &child)
    );
    let (winner, loser) = match bench.content("f").as_str() {
        "parent" => (parent, child),
        "child" => (child, parent),
        other => panic!("{other}"),
    };
    assert_eq!(kind(&winner), None);
    assert_eq!(kind(&loser), Some(ErrorKind::Conflict));
}

#[tokio::test]
async fn a_folder_that_another_process_has_locked_is_waited_for() {
    let bench = Bench::new();
    bench.file("f", "old");
    let folder = File::open(bench.path("")).unwrap();
    rustix::fs::flock(&folder, FlockOperation::LockExclusive).unwrap();
    let mut agents = JoinSet::new();
    agents.spawn(find("write").run(bench.work(&json!({"path": "f", "content": "new"}))));
    // The draft is there once everything but the replacement is done.
    while bench.names().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.content("f"), "old");
    drop(folder);
    let outcome = agents.join_next().await.unwrap().unwrap();
    assert_eq!(outcome.for_model(), "replaced `f`, 3 bytes");
    assert_eq!(bench.content("f"), "new");
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_the_file_whole_and_free() {
    let bench = Bench::new();
    bench.file("f", "old");
    let write = json!({"path": "f", "content": "new"});
    for _ in 0..50 {
        let mut call = find("write").run(bench.work(&write));
        tokio::select! {
            biased;
            _ = &mut call => {}
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(bench.call("write", &write).await, "replaced `f`, 3 bytes");
    assert_eq!(bench.content("f"), "new");
}

#[tokio::test]
async fn tls_19_a_cancelled_call_says_so_and_changes_nothing() {
    struct Fired;
    impl Signal for Fired {
        fn is_cancelled(&self) -> bool {
            true
        }
        fn cancelled(&self) -> futures_core::future::BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }
    let bench = Bench::new();
    bench.file("f", "x");
    let cases = [
        ("read", json!({"path": "f"}), "read `f`"),
        ("write", json!({"path": "f", "content": "y"}), "write `f`"),
        (
            "edit",
            json!({"path": "f", "old_string": "x", "new_string": "y"}),
            "edit `f`",
        ),
        ("glob", json!({"pattern": "**"}), "glob `.`"),
        ("grep", json!({"pattern": "x"}), "grep `.`"),
        ("grep", json!({"pattern": "x", "path": "f"}), "grep `f`"),
    ];
    for (tool, arguments, attempted) in cases {
        let work = Work {
            cancel: Cancel::new(Fired),
            ..Work::new(RawJson::of(&arguments), bench.place())
        };
        let outcome = find(tool).run(work).await;
        assert_eq!(
            outcome.for_model(),
            format!("error: {attempted}: cancelled")
        );
        assert_eq!(kind(&outcome), Some(ErrorKind::Cancelled));
    }
    assert_eq!(bench.content("f"), "x");
}
