//! What `grep` finds.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::Need;
use offshoot_types::tool::{Sight, Work};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::bench::{Bench, find, kind};

/// Checks the lines of an answer.
async fn check(bench: &Bench, arguments: Value, expected: &[&str]) {
    let answer = bench.call("grep", &arguments).await;
    assert_eq!(answer.lines().collect::<Vec<_>>(), expected, "{arguments}");
}

#[tokio::test]
async fn matches_are_listed_by_path_and_line() {
    let bench = Bench::new();
    bench.file("b.rs", "fn main() {}\n\n  fn b() {}\n");
    bench.file("a/c.rs", "// fn\nstruct C;");
    bench.file("a.rs", "nothing\n");
    check(
        &bench,
        json!({"pattern": r"\bfn\b"}),
        &[
            "a/c.rs:1:// fn",
            "b.rs:1:fn main() {}",
            "b.rs:3:  fn b() {}",
            "[3 matches in 2 files]",
        ],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "(?i)STRUCT c"}),
        &["a/c.rs:2:struct C;", "[1 match in 1 file]"],
    )
    .await;
    check(&bench, json!({"pattern": "absent"}), &["[no matches]"]).await;
}

#[tokio::test]
async fn tls_09_a_search_is_scoped_to_a_folder_a_file_or_a_glob() {
    let bench = Bench::new();
    for path in [
        "src/a.rs",
        "src/deep/b.rs",
        "src/c.md",
        "d.rs",
        ".hidden.rs",
    ] {
        bench.file(path, "x\n");
    }
    let hit = |path: &str| format!("{path}:1:x");
    let (a, b, c, d) = (
        hit("src/a.rs"),
        hit("src/deep/b.rs"),
        hit("src/c.md"),
        hit("d.rs"),
    );
    let one = "[1 match in 1 file]";
    check(
        &bench,
        json!({"pattern": "x", "path": "src"}),
        &[&a, &c, &b, "[3 matches in 3 files]"],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "x", "path": "src/c.md"}),
        &[&c, one],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "x", "glob": "*.rs"}),
        &[&d, &a, &b, "[3 matches in 3 files]"],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "x", "path": "src", "glob": "deep/*"}),
        &[&b, one],
    )
    .await;
    // A file that is named is searched, whatever it is called.
    let hidden = json!({"pattern": "x", "path": ".hidden.rs", "glob": "*.md"});
    check(&bench, hidden, &[".hidden.rs:1:x", one]).await;
}

#[tokio::test]
async fn a_file_of_crlf_is_searched_line_by_line() {
    let bench = Bench::new();
    bench.file("f", "one\r\ntwo\r\n");
    check(
        &bench,
        json!({"pattern": "^one$"}),
        &["f:1:one", "[1 match in 1 file]"],
    )
    .await;
}

#[tokio::test]
async fn binary_files_are_skipped() {
    let bench = Bench::new();
    bench.file("binary", b"needle\n\0needle\n");
    bench.file("latin", b"gr\xfcn needle\n");
    check(
        &bench,
        json!({"pattern": "needle"}),
        &["latin:1:gr\u{fffd}n needle", "[1 match in 1 file]"],
    )
    .await;
    let named = json!({"pattern": "needle", "path": "binary"});
    let refused = "error: grep `binary`: it is a binary file, not text";
    check(&bench, named, &[refused]).await;
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_not_one_without_matches() {
    let bench = Bench::new();
    bench.file("a", "needle\n");
    bench.file("closed", "needle\n");
    let nobody = fs::Permissions::from_mode(0o000);
    fs::set_permissions(bench.path("closed"), nobody).unwrap();
    let named = json!({"pattern": "needle", "path": "closed"});
    let all = json!({"pattern": "needle"});
    // Nothing is closed to root.
    if rustix::process::geteuid().is_root() {
        check(&bench, named, &["closed:1:needle", "[1 match in 1 file]"]).await;
        let both = ["a:1:needle", "closed:1:needle", "[2 matches in 2 files]"];
        check(&bench, all, &both).await;
    } else {
        let refused = "error: grep `closed`: the operating system does not permit it";
        check(&bench, named, &[refused]).await;
        let counted = "[files that could not be searched: 1]";
        check(&bench, all, &["a:1:needle", counted, "[1 match in 1 file]"]).await;
    }
}

#[tokio::test]
async fn what_is_not_a_file_is_not_opened() {
    let bench = Bench::new();
    bench.file("real/f", "needle\n");
    bench.file("../secret", "needle\n");
    symlink("../secret", bench.path("out")).unwrap();
    symlink("real/f", bench.path("link")).unwrap();
    symlink(".", bench.path("loop")).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, bench.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    check(
        &bench,
        json!({"pattern": "needle"}),
        &["real/f:1:needle", "[1 match in 1 file]"],
    )
    .await;
    let pipe = json!({"pattern": "needle", "path": "pipe"});
    check(
        &bench,
        pipe,
        &["error: grep `pipe`: it is a pipe, not a file"],
    )
    .await;
    let link = json!({"pattern": "needle", "path": "out"});
    let expected = "error: grep `out`: it leads through a link to something outside the workspace";
    check(&bench, link, &[expected]).await;
}

#[tokio::test]
async fn a_name_with_a_newline_stays_on_its_line() {
    let bench = Bench::new();
    bench.file("a\nb", "needle");
    check(
        &bench,
        json!({"pattern": "needle"}),
        &[r#""a\nb":1:needle"#, "[1 match in 1 file]"],
    )
    .await;
}

#[tokio::test]
async fn a_long_line_is_cut() {
    let bench = Bench::new();
    bench.file("f", format!("{}needle\n", "ä".repeat(600)));
    let expected = format!("f:1:{}… [cut]", "ä".repeat(500));
    check(
        &bench,
        json!({"pattern": "needle"}),
        &[&expected, "[1 match in 1 file]"],
    )
    .await;
}

#[tokio::test]
async fn a_line_without_end_is_not_searched_and_that_is_told() {
    let bench = Bench::new();
    bench.file("a", "needle\n");
    bench.file("b", "x".repeat(20 * 1024 * 1024));
    check(
        &bench,
        json!({"pattern": "needle"}),
        &[
            "a:1:needle",
            "[files that could not be searched: 1]",
            "[1 match in 1 file]",
        ],
    )
    .await;
}

#[tokio::test]
async fn ten_gigabytes_of_nothing_take_no_time() {
    let bench = Bench::new();
    let mut file = File::create(bench.path("f")).unwrap();
    file.write_all(b"needle\n").unwrap();
    file.set_len(10_000_000_000).unwrap();
    check(&bench, json!({"pattern": "needle"}), &["[no matches]"]).await;
}

#[tokio::test]
async fn tls_14_two_hundred_matches_are_shown_and_all_are_kept() {
    let bench = Bench::with_scratch();
    bench.file("f", "needle\n".repeat(150));
    bench.file("g", "needle\n".repeat(100));
    let outcome = bench.outcome("grep", &json!({"pattern": "needle"})).await;
    let answer = outcome.for_model();
    let lines: Vec<&str> = answer.lines().collect();
    let path = outcome.metadata.output_path.unwrap();
    assert_eq!(lines.len(), 202);
    assert_eq!(lines[199], "g:50:needle");
    assert_eq!(
        lines[200],
        format!("[truncated: 200 of 250 matches shown; all of them are in {path}]")
    );
    assert_eq!(lines[201], "[250 matches in 2 files]");
    let all = fs::read_to_string(path).unwrap();
    assert_eq!(all.lines().count(), 250);
    assert_eq!(all.lines().last(), Some("g:100:needle"));
}

#[tokio::test]
async fn tls_02_an_expression_that_makes_no_sense_is_invalid_input() {
    let bench = Bench::new();
    let exploding = "(((a{100}){100}){100}){100}";
    for (arguments, expected) in [
        (json!({"pattern": "(a"}), "unclosed group"),
        (json!({"pattern": "a(?=b)"}), "look-around"),
        (json!({"pattern": exploding}), "size limit"),
        (json!({"pattern": "a\nb"}), "not allowed in a regex"),
        (json!({"pattern": ""}), "`pattern` is empty"),
        (
            json!({"pattern": "a", "glob": "[a"}),
            "take the glob `[a`: unclosed",
        ),
        (
            json!({"pattern": "a", "path": "/etc"}),
            "is outside the workspace",
        ),
        (json!({"pattern": "a", "case": 1}), "unknown field `case`"),
    ] {
        let error = bench.needs("grep", &arguments).unwrap_err();
        assert!(error.contains(expected), "{error}");
        let outcome = bench.outcome("grep", &arguments).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::InvalidInput));
    }
}

#[tokio::test]
async fn an_expression_that_backtracks_elsewhere_takes_linear_time() {
    let bench = Bench::new();
    bench.file("f", format!("{}!\n", "a".repeat(100_000)));
    let expression = json!({"pattern": r"^(a+)+(a+)+(a+)+$"});
    check(&bench, expression, &["[no matches]"]).await;
}

#[test]
fn tls_05_a_call_needs_to_read_what_it_searches() {
    let bench = Bench::new();
    bench.file("src/f", "");
    // A folder stands for what is in it, a file for itself.
    for (path, target) in [("src", "src/"), ("src/f", "src/f"), (".", "")] {
        let needs = bench.needs("grep", &json!({"pattern": "x", "path": path}));
        let expected = Need {
            capability: "fs.read".into(),
            target: bench.absolute(target),
        };
        assert_eq!(needs, Ok(vec![expected]));
    }
}

/// Searches where rules keep everybody from `secrets`.
async fn search(bench: &Bench, tool: &str, arguments: Value) -> String {
    let hidden = bench.absolute("src/secrets/");
    let narrowed = hidden.clone();
    let sight = Sight::new(
        move |folder| narrowed.starts_with(folder) || folder.starts_with(&narrowed),
        move |path| !path.starts_with(&hidden),
    );
    let work = Work {
        sight,
        ..bench.work(&arguments)
    };
    find(tool).run(work).await.for_model()
}

const LEFT_OUT: &str = "[files that rules keep from this search are left out, if there are any]";

#[tokio::test]
async fn what_rules_keep_from_a_search_is_left_out_which_is_said() {
    let bench = Bench::new();
    for path in ["src/a", "src/secrets/b", "src/secrets/c", "docs/d"] {
        bench.file(path, "key\n");
    }
    assert_eq!(
        search(&bench, "grep", json!({"pattern": "key", "path": "src"})).await,
        format!("src/a:1:key\n{LEFT_OUT}\n[1 match in 1 file]")
    );
    assert_eq!(
        search(&bench, "glob", json!({"pattern": "src/**"})).await,
        format!("src/a\n{LEFT_OUT}\n[1 file, 4 B]")
    );
    assert_eq!(
        search(&bench, "glob", json!({"pattern": "**", "path": "docs"})).await,
        "docs/d\n[1 file, 4 B]"
    );
}

#[tokio::test]
async fn a_search_does_not_tell_whether_there_is_a_file_that_it_may_not_show() {
    let bench = Bench::new();
    bench.file("src/secrets/prod-1.key", "key\n");
    bench.file("src/a", "x\n");
    for pattern in ["src/secrets/prod-*.key", "src/secrets/test-*.key", "no/**"] {
        assert_eq!(
            search(&bench, "glob", json!({ "pattern": pattern })).await,
            format!("{LEFT_OUT}\n[no files match]"),
            "{pattern}"
        );
    }
    for pattern in ["key", "no such text"] {
        assert_eq!(
            search(&bench, "grep", json!({ "pattern": pattern })).await,
            format!("{LEFT_OUT}\n[no matches]"),
            "{pattern}"
        );
    }
}
