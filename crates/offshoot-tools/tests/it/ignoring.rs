//! Which files `glob` and `grep` leave out because the tree says so.

use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;

use crate::bench::Bench;

/// Checks which files are found from `path`; a file's content is its text, others are `x`.
async fn check(path: &str, files: &[(&str, &str)], expected: &[&str]) {
    let bench = Bench::new();
    for (path, text) in files {
        bench.file(path, text);
    }
    let glob = json!({"pattern": "**", "path": path});
    let found = bench.call("glob", &glob).await;
    let found: Vec<&str> = found
        .lines()
        .filter(|line| !line.starts_with('['))
        .collect();
    assert_eq!(found, expected, "glob {files:?}");
    let grep = json!({"pattern": "^x$", "path": path});
    let found = bench.call("grep", &grep).await;
    let found: Vec<&str> = found
        .lines()
        .filter_map(|line| line.strip_suffix(":1:x"))
        .collect();
    assert_eq!(found, expected, "grep {files:?}");
}

#[tokio::test]
async fn git_ignore_files_hold_without_a_repository() {
    check(
        ".",
        &[
            (
                ".gitignore",
                "# comment\n*.log\ntarget/\n/only-here\n!keep.log\n",
            ),
            ("a.log", "x"),
            ("keep.log", "x"),
            ("target/x", "x"),
            ("only-here", "x"),
            ("sub/only-here", "x"),
            ("sub/target/x", "x"),
            ("sub/b.log", "x"),
        ],
        &["keep.log", "sub/only-here"],
    )
    .await;
}

#[tokio::test]
async fn deeper_files_go_before_higher_ones() {
    check(
        ".",
        &[
            (".gitignore", "*.log\n"),
            ("sub/.gitignore", "!*.log\n*.txt\n"),
            ("a.log", "x"),
            ("a.txt", "x"),
            ("sub/a.log", "x"),
            ("sub/a.txt", "x"),
            ("sub/deep/a.log", "x"),
            ("sub/deep/a.txt", "x"),
        ],
        &["a.txt", "sub/a.log", "sub/deep/a.log"],
    )
    .await;
}

#[tokio::test]
async fn files_above_the_start_hold_below_it() {
    check(
        "a/b",
        &[
            (".gitignore", "*.log\n/a/b/no\n"),
            ("a/.ignore", "*.tmp\n"),
            ("a/b/x.log", "x"),
            ("a/b/x.tmp", "x"),
            ("a/b/no", "x"),
            ("a/b/yes", "x"),
        ],
        &["a/b/yes"],
    )
    .await;
}

#[tokio::test]
async fn a_folder_that_is_named_is_searched_though_it_is_ignored() {
    check(
        "target",
        &[(".gitignore", "target/\n"), ("target/out", "x")],
        &["target/out"],
    )
    .await;
}

#[tokio::test]
async fn dot_ignore_goes_before_git() {
    check(
        ".",
        &[
            (".gitignore", "generated\n"),
            (".ignore", "!generated\nvendored\n"),
            ("generated", "x"),
            ("vendored", "x"),
        ],
        &["generated"],
    )
    .await;
}

#[tokio::test]
async fn a_repository_begins_anew() {
    check(
        ".",
        &[
            (".gitignore", "*.log\n"),
            (".ignore", "*.tmp\n"),
            ("inner/.git/HEAD", ""),
            ("inner/.git/info/exclude", "private\n"),
            ("inner/a.log", "x"),
            ("inner/a.tmp", "x"),
            ("inner/private", "x"),
            ("private", "x"),
        ],
        &["inner/a.log", "private"],
    )
    .await;
}

#[tokio::test]
async fn files_outside_the_root_are_not_asked() {
    check(".", &[("../.gitignore", "*\n"), ("f", "x")], &["f"]).await;
}

#[tokio::test]
async fn an_ignore_file_that_makes_no_sense_does_no_harm() {
    check(
        ".",
        &[
            (".gitignore", "\u{feff}a\r\n[z\r\n\r\nb\r\n{\r\n"),
            (".ignore/x", "a folder"),
            ("a", "x"),
            ("b", "x"),
            ("c", "x"),
        ],
        &["c"],
    )
    .await;
}

#[tokio::test]
async fn a_pipe_in_the_place_of_an_ignore_file_is_not_waited_for() {
    let bench = Bench::new();
    bench.file("f", "x");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, bench.path(".gitignore"), FileType::Fifo, mode, 0).unwrap();
    let answer = bench.call("glob", &json!({"pattern": "**"})).await;
    assert_eq!(answer, "f\n[1 file, 1 B]");
}

#[tokio::test]
async fn a_folder_that_is_named_is_searched_whichever_way_it_is_ignored() {
    for rule in [
        "vendor/",
        "vendor",
        "/vendor/",
        "vendor/**",
        "vendor/*",
        "**/vendor/**",
        "*",
    ] {
        for (path, found) in [
            ("vendor", ["vendor/a", "vendor/b/c"]),
            ("vendor/b", ["", "vendor/b/c"]),
        ] {
            let files = [(".gitignore", rule), ("vendor/a", "x"), ("vendor/b/c", "x")];
            let found = found.into_iter().filter(|path| !path.is_empty());
            check(path, &files, &found.collect::<Vec<_>>()).await;
        }
    }
    // What is said of some of its files holds.
    let files = [
        (".gitignore", "vendor/\n*.log\n"),
        ("vendor/a", "x"),
        ("vendor/a.log", "x"),
    ];
    check("vendor", &files, &["vendor/a"]).await;
}

#[tokio::test]
async fn a_folder_that_is_named_shows_what_is_allowed_by_name_only() {
    for rules in [
        "*\n!*/\n!*.rs\n",
        "*\n!src/\n!src/*.rs\n!src/*/\n!src/deep/*.rs\n",
    ] {
        let files = [
            (".gitignore", rules),
            ("src/a.rs", "x"),
            ("src/a.o", "x"),
            ("src/deep/b.rs", "x"),
            ("src/deep/b.o", "x"),
        ];
        check("src", &files, &["src/a.rs", "src/deep/b.rs"]).await;
        check("src/deep", &files, &["src/deep/b.rs"]).await;
    }
}

#[tokio::test]
async fn of_a_huge_ignore_file_the_beginning_counts() {
    let rules = "a\n".to_owned() + &"?*?*?*?*?\n".repeat(100_000) + "b\n";
    check(
        ".",
        &[(".gitignore", &rules), ("a", "x"), ("b", "x")],
        &["b"],
    )
    .await;
}
