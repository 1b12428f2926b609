//! The scratch folder: a root of its own (SCR-01, SCR-02, X-23).

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use offshoot_types::json::RawJson;
use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::Need;
use offshoot_types::tool::{Place, Work};
use serde_json::{Value, json};

use crate::bench::{Bench, find, kind};

/// Calls a tool as an agent whose scratch folder is `relative`.
async fn call(bench: &Bench, relative: &str, tool: &str, arguments: &Value) -> String {
    let place = Place {
        scratch: Some(bench.scratch(relative)),
        ..bench.place()
    };
    let work = Work::new(RawJson::of(arguments), place);
    find(tool).run(work).await.for_model()
}

#[tokio::test]
async fn scr_01_it_is_made_on_first_write_and_is_its_owners_only() {
    let bench = Bench::with_scratch();
    let path = bench.scratch("a/notes");
    let read = json!({"path": path});
    assert_eq!(
        bench.call("read", &read).await,
        format!("error: read `{path}`: there is no such file")
    );
    assert!(!fs::exists(bench.scratch("")).unwrap());

    let write = json!({"path": path, "content": "kept"});
    assert_eq!(
        bench.call("write", &write).await,
        format!("created `{path}`, 4 bytes")
    );
    let mode = fs::metadata(bench.scratch("")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(bench.call("read", &read).await, "kept");
    let edit = json!({"path": path, "old_string": "kept", "new_string": "edited"});
    assert_eq!(
        bench.call("edit", &edit).await,
        format!("edited `{path}`, 1 replacement at line 1")
    );
    assert_eq!(bench.call("read", &read).await, "edited");
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_relative_path_means_the_workspace() {
    let bench = Bench::with_scratch();
    bench.file("../s/f", "scratch");
    bench.file("f", "workspace");
    assert_eq!(bench.call("read", &json!({"path": "f"})).await, "workspace");
    let absolute = json!({"path": bench.scratch("f")});
    assert_eq!(bench.call("read", &absolute).await, "scratch");
}

#[tokio::test]
async fn x_23_a_parent_reads_down_and_a_child_cannot_read_up() {
    let bench = Bench::new();
    let kept = json!({"path": bench.scratch("parent/plan"), "content": "parent's"});
    call(&bench, "parent", "write", &kept).await;
    let kept = json!({"path": bench.scratch("parent/child/answer"), "content": "child's"});
    call(&bench, "parent/child", "write", &kept).await;
    let kept = json!({"path": bench.scratch("parent/sibling/answer"), "content": "sibling's"});
    call(&bench, "parent/sibling", "write", &kept).await;

    let down = json!({"path": bench.scratch("parent/child/answer")});
    assert_eq!(call(&bench, "parent", "read", &down).await, "child's");
    for path in [
        "parent/plan",
        "parent/sibling/answer",
        "parent/child/../plan",
    ] {
        let path = json!({"path": bench.scratch(path)});
        let answer = call(&bench, "parent/child", "read", &path).await;
        assert!(
            answer.contains("is outside the workspace") || answer.contains("goes through `..`"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn links_lead_nowhere_from_it() {
    let bench = Bench::with_scratch();
    bench.file("../s/real", "inside");
    bench.file("../secret", "secret");
    symlink("../secret", bench.scratch("out")).unwrap();
    symlink("real", bench.scratch("in")).unwrap();
    let read = async |name: &str| {
        let path = json!({"path": bench.scratch(name)});
        bench.call("read", &path).await
    };
    assert!(
        read("out")
            .await
            .contains("it leads through a link to something outside")
    );
    let own = bench.scratch("real");
    assert!(read("in").await.contains(&format!("use {own:?} instead")));
}

#[tokio::test]
async fn a_link_in_the_place_of_it_is_refused() {
    let bench = Bench::with_scratch();
    bench.file("../elsewhere/f", "theirs");
    symlink("elsewhere", bench.path("../s")).unwrap();
    let write = json!({"path": bench.scratch("f"), "content": "mine"});
    let outcome = bench.outcome("write", &write).await;
    assert_eq!(kind(&outcome), Some(ErrorKind::Failed));
    assert_eq!(bench.content("../elsewhere/f"), "theirs");
}

#[test]
fn tls_05_a_call_needs_its_absolute_path() {
    let bench = Bench::with_scratch();
    let path = bench.scratch("f");
    let need = |capability: &str| Need {
        capability: capability.into(),
        target: path.clone(),
    };
    let read = json!({"path": path});
    assert_eq!(bench.needs("read", &read), Ok(vec![need("fs.read")]));
    let write = json!({"path": path, "content": ""});
    assert_eq!(bench.needs("write", &write), Ok(vec![need("fs.write")]));
}

#[tokio::test]
async fn scr_02_a_data_folder_in_the_workspace_is_not_there_for_a_child() {
    let bench = Bench::new();
    let theirs = [
        "data/db",
        "data/scratch/other/secret",
        "data/scratch/parent/plan",
        "data/scratch/parent/sibling/answer",
    ];
    for file in theirs {
        bench.file(file, "secret of somebody else");
    }
    bench.file("data/scratch/parent/child/notes", "secret of my own");
    bench.file("src/main.rs", "secret of the project");
    let place = Place {
        scratch: Some(bench.absolute("data/scratch/parent/child")),
        off_limits: Some(bench.absolute("data")),
        ..bench.place()
    };
    let call = async |tool: &str, arguments: Value| {
        let work = Work::new(RawJson::of(&arguments), place.clone());
        find(tool).run(work).await.for_model()
    };

    for file in theirs {
        for path in [file.to_owned(), bench.absolute(file)] {
            let edit = json!({"path": path, "old_string": "secret", "new_string": "x"});
            for (tool, arguments) in [
                ("read", json!({"path": path})),
                ("write", json!({"path": path, "content": "x"})),
                ("edit", edit),
                ("grep", json!({"pattern": "secret", "path": path})),
                ("glob", json!({"pattern": "*", "path": path})),
            ] {
                let needs = find(tool).needs(&RawJson::of(&arguments), &place);
                assert!(needs.is_err(), "{tool} {path}: {needs:?}");
                let answer = call(tool, arguments).await;
                assert!(answer.contains("is off limits"), "{tool} {path}: {answer}");
            }
        }
        assert_eq!(bench.content(file), "secret of somebody else");
    }

    let found = call("grep", json!({"pattern": "secret"})).await;
    assert_eq!(
        found,
        "src/main.rs:1:secret of the project\n[1 match in 1 file]"
    );
    for pattern in ["**/*", "data/**", "data/scratch/*/plan"] {
        let found = call("glob", json!({"pattern": pattern})).await;
        assert!(!found.contains("data"), "{pattern}: {found}");
        let absolute = json!({"pattern": bench.absolute(pattern)});
        let found = call("glob", absolute).await;
        assert!(!found.contains("data"), "{pattern}: {found}");
    }
    let own = json!({"path": bench.absolute("data/scratch/parent/child/notes")});
    assert_eq!(call("read", own).await, "secret of my own");
    let own = json!({"pattern": "**/*", "path": bench.absolute("data/scratch/parent/child")});
    let found = call("glob", own).await;
    assert!(found.contains("/child/notes\n[1 file"), "{found}");
}
