//! What `edit` makes of a file, by TLS-07.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::Need;
use serde_json::{Value, json};

use crate::bench::{Bench, kind};

fn arguments(old: &str, new: &str) -> Value {
    json!({"path": "f", "old_string": old, "new_string": new})
}

/// Checks what the model reads and what a file `f` contains afterwards.
async fn check(content: &str, arguments: Value, expected: &str, after: &str) {
    let bench = Bench::new();
    bench.file("f", content);
    let answer = bench.call("edit", &arguments).await;
    assert_eq!(answer, expected, "{content:?} {arguments}");
    assert_eq!(bench.content("f"), after, "{content:?} {arguments}");
}

#[tokio::test]
async fn tls_07_the_only_match_is_replaced() {
    check(
        "one\ntwo\nthree\n",
        arguments("two", "2"),
        "edited `f`, 1 replacement at line 2",
        "one\n2\nthree\n",
    )
    .await;
    check(
        "one\ntwo\n",
        arguments("one\n", ""),
        "edited `f`, 1 replacement at line 1",
        "two\n",
    )
    .await;
}

#[tokio::test]
async fn tls_07_all_matches_are_replaced_when_asked_to() {
    let mut all = arguments("x", "yy");
    all["replace_all"] = json!(true);
    check(
        "-\nx x\nx",
        all,
        "edited `f`, 3 replacements from line 2 on",
        "-\nyy yy\nyy",
    )
    .await;
}

#[tokio::test]
async fn tls_07_several_matches_are_a_conflict_that_changes_nothing() {
    let several = "error: edit `f`: `old_string` is there 2 times, at lines 1, 3; nothing was \
                   changed; give more of the text around the one you mean, or set `replace_all`";
    check("x\ny\nx\n", arguments("x", "z"), several, "x\ny\nx\n").await;
}

#[tokio::test]
async fn tls_07_no_match_is_a_conflict_that_changes_nothing() {
    let none = "error: edit `f`: `old_string` is not in the file; nothing was changed; read the \
                file and give the text as it is there";
    check("x\n", arguments("y", "z"), none, "x\n").await;
    let spaces = "error: edit `f`: `old_string` is not in the file; nothing was changed; it is at \
                  line 1 but for spaces at the end of lines; give them as in the file";
    check("x \ny\n", arguments("x\ny", "z"), spaces, "x \ny\n").await;
    let bench = Bench::new();
    bench.file("f", "x");
    for arguments in [arguments("y", "z"), arguments("xx", "z")] {
        let outcome = bench.outcome("edit", &arguments).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::Conflict));
    }
}

#[tokio::test]
async fn tls_07_a_file_just_written_is_edited_without_reading_it() {
    let bench = Bench::new();
    let write = json!({"path": "f", "content": "a b"});
    bench.call("write", &write).await;
    assert_eq!(
        bench.call("edit", &arguments("b", "c")).await,
        "edited `f`, 1 replacement at line 1"
    );
    assert_eq!(bench.content("f"), "a c");
}

#[tokio::test]
async fn a_file_of_crlf_stays_one() {
    for (old, new) in [("b\nc", "x\ny\nz"), ("b\r\nc", "x\r\ny\r\nz")] {
        check(
            "a\r\nb\r\nc\r\n",
            arguments(old, new),
            "edited `f`, 1 replacement at line 2",
            "a\r\nx\r\ny\r\nz\r\n",
        )
        .await;
    }
}

#[tokio::test]
async fn a_file_keeps_its_mode() {
    let bench = Bench::new();
    bench.file("f", "old");
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(bench.path("f"), mode).unwrap();
    bench.call("edit", &arguments("old", "new")).await;
    let mode = fs::metadata(bench.path("f")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o640);
    assert_eq!(bench.names(), ["f"]);
}

#[tokio::test]
async fn what_is_not_a_text_file_is_refused() {
    let bench = Bench::new();
    let path = |path: &str| json!({"path": path, "old_string": "a", "new_string": "b"});
    bench.file("binary", b"a\0");
    fs::create_dir(bench.path("folder")).unwrap();
    let cases = [
        (
            "binary",
            "error: edit `binary`: it is a binary file, not text",
        ),
        ("folder", "error: edit `folder`: it is a folder, not a file"),
        (".", "error: edit `.`: it is the workspace, not a file"),
        (
            "none",
            "error: edit `none`: there is no such file; use write to create it",
        ),
        (
            "no/ne",
            "error: edit `no/ne`: there is no such file; use write to create it",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(bench.call("edit", &path(name)).await, expected);
    }
    assert_eq!(bench.names(), ["binary", "folder"]);
    assert_eq!(fs::read(bench.path("binary")).unwrap(), b"a\0");
}

#[tokio::test]
async fn tls_02_what_makes_no_sense_is_invalid_input() {
    let bench = Bench::new();
    bench.file("f", "x");
    let empty = "`old_string` is empty; give the text to replace, or use write";
    let same = "`old_string` and `new_string` are the same, so there is nothing to change";
    for (arguments, expected) in [(arguments("", "y"), empty), (arguments("x", "x"), same)] {
        assert_eq!(bench.needs("edit", &arguments), Err(expected.to_owned()));
        let outcome = bench.outcome("edit", &arguments).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::InvalidInput));
    }
    assert_eq!(bench.content("f"), "x");
}

#[test]
fn tls_05_a_call_needs_to_read_and_to_write() {
    let bench = Bench::new();
    let need = |capability: &str| Need {
        capability: capability.into(),
        target: bench.absolute("f"),
    };
    let expected = vec![need("fs.read"), need("fs.write")];
    assert_eq!(bench.needs("edit", &arguments("a", "b")), Ok(expected));
}
