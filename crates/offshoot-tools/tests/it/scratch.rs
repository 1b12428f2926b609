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
