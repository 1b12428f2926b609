//! What `write` leaves behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use offshoot_types::permission::Need;
use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn a_file_is_created_with_its_folders() {
    let bench = Bench::new();
    let arguments = json!({"path": "a/b/c.txt", "content": "grün"});
    assert_eq!(
        bench.call("write", &arguments).await,
        "created `a/b/c.txt`, 5 bytes"
    );
    assert_eq!(bench.content("a/b/c.txt"), "grün");
}

#[tokio::test]
async fn a_file_is_replaced_and_keeps_its_mode() {
    let bench = Bench::new();
    bench.file("run.sh", "a much longer text than the new one");
    let mode = fs::Permissions::from_mode(0o750);
    fs::set_permissions(bench.path("run.sh"), mode).unwrap();
    let arguments = json!({"path": bench.absolute("run.sh"), "content": "new"});
    assert_eq!(
        bench.call("write", &arguments).await,
        "replaced `run.sh`, 3 bytes"
    );
    assert_eq!(bench.content("run.sh"), "new");
    let mode = fs::metadata(bench.path("run.sh")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o750);
}

#[tokio::test]
async fn nothing_else_is_left_behind() {
    let bench = Bench::new();
    bench.file("folder/x", "");
    bench
        .call("write", &json!({"path": "f", "content": ""}))
        .await;
    bench
        .call("write", &json!({"path": "f", "content": "2"}))
        .await;
    bench
        .call("write", &json!({"path": "folder", "content": "2"}))
        .await;
    assert_eq!(bench.names(), ["f", "folder"]);
}

#[tokio::test]
async fn a_write_that_fails_leaves_no_folders() {
    let bench = Bench::new();
    let long = format!("new/deep/{}", "x".repeat(300));
    let arguments = json!({"path": long, "content": ""});
    let answer = bench.call("write", &arguments).await;
    assert!(answer.ends_with("the path is too long"), "{answer}");
    let longer = format!("new/{}/f", "x".repeat(300));
    bench
        .call("write", &json!({"path": longer, "content": ""}))
        .await;
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_reader_keeps_the_text_it_opened() {
    let bench = Bench::new();
    bench.file("f", "old");
    let open = fs::File::open(bench.path("f")).unwrap();
    bench
        .call("write", &json!({"path": "f", "content": "new"}))
        .await;
    assert_eq!(std::io::read_to_string(open).unwrap(), "old");
    assert_eq!(bench.content("f"), "new");
}

#[tokio::test]
async fn what_is_not_a_file_is_refused() {
    let bench = Bench::new();
    bench.file("f", "");
    fs::create_dir(bench.path("folder")).unwrap();
    let check = async |path: &str, expected: &str| {
        let answer = bench
            .call("write", &json!({"path": path, "content": "x"}))
            .await;
        assert_eq!(answer, expected);
    };
    check(
        "folder",
        "error: write `folder`: it is a folder, not a file",
    )
    .await;
    check(".", "error: write `.`: it is the workspace, not a file").await;
    check(
        "new/",
        "error: `new/` names a folder; give the path of a file",
    )
    .await;
    check(
        "f/g",
        "error: write `f/g`: a part of the path is a file, not a folder",
    )
    .await;
    let long = "x".repeat(300);
    check(
        &long,
        &format!("error: write `{long}`: the path is too long"),
    )
    .await;
    assert_eq!(bench.names(), ["f", "folder"]);
}

#[tokio::test]
async fn a_name_with_a_newline_is_a_name() {
    let bench = Bench::new();
    let arguments = json!({"path": "a\nb", "content": "x"});
    assert_eq!(
        bench.call("write", &arguments).await,
        "created \"a\\nb\", 1 bytes"
    );
    assert_eq!(bench.names(), ["a\nb"]);
}

#[tokio::test]
async fn writes_side_by_side_all_arrive() {
    let bench = Bench::new();
    let arguments: Vec<_> = (0..20)
        .map(|i| json!({"path": format!("deep/er/{i}"), "content": i.to_string()}))
        .collect();
    let (first, second) = arguments.split_at(10);
    for (one, two) in first.iter().zip(second) {
        tokio::join!(bench.call("write", one), bench.call("write", two));
    }
    assert_eq!(fs::read_dir(bench.path("deep/er")).unwrap().count(), 20);
}

#[test]
fn a_call_needs_to_write_the_absolute_path() {
    let bench = Bench::new();
    let expected = vec![Need {
        capability: "fs.write".into(),
        target: bench.absolute("src/a.rs"),
    }];
    let arguments = json!({"path": "src/a.rs", "content": ""});
    assert_eq!(bench.needs("write", &arguments), Ok(expected));
    assert_eq!(bench.names(), Vec::<String>::new());
}
