//! What `glob` finds (TLS-09).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use offshoot_types::outcome::ErrorKind;
use offshoot_types::permission::{Action, Layer, Need, Permissions, Rule};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::bench::{Bench, kind};

/// Checks the lines of an answer.
async fn check(bench: &Bench, arguments: Value, expected: &[&str]) {
    let answer = bench.call("glob", &arguments).await;
    assert_eq!(answer.lines().collect::<Vec<_>>(), expected, "{arguments}");
}

fn files(paths: &[&str]) -> Bench {
    let bench = Bench::new();
    for path in paths {
        bench.file(path, "12345");
    }
    bench
}

#[tokio::test]
async fn tls_09_files_are_listed_in_the_order_of_their_paths_with_their_size() {
    let bench = files(&[
        "b.rs", "a/z.rs", "a.rs", "a-b.rs", "a/b/c.rs", "a.txt", "a/B.rs",
    ]);
    check(
        &bench,
        json!({"pattern": "**/*.rs"}),
        &[
            "a-b.rs",
            "a.rs",
            "a/B.rs",
            "a/b/c.rs",
            "a/z.rs",
            "b.rs",
            "[6 files, 30 B]",
        ],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "*.txt"}),
        &["a.txt", "[1 file, 5 B]"],
    )
    .await;
    check(&bench, json!({"pattern": "*.md"}), &["[no files match]"]).await;
}

#[tokio::test]
async fn tls_09_a_search_is_scoped_to_a_folder() {
    let bench = files(&["src/a.rs", "src/b/c.rs", "d.rs"]);
    check(
        &bench,
        json!({"pattern": "*.rs", "path": "src"}),
        &["src/a.rs", "[1 file, 5 B]"],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "**", "path": bench.absolute("src/b")}),
        &["src/b/c.rs", "[1 file, 5 B]"],
    )
    .await;
    // An absolute pattern is as good.
    let absolute = format!("{}src/*.rs", bench.absolute(""));
    check(
        &bench,
        json!({"pattern": absolute}),
        &["src/a.rs", "[1 file, 5 B]"],
    )
    .await;
}

#[tokio::test]
async fn scr_01_files_of_the_scratch_folder_are_absolute() {
    let bench = Bench::with_scratch();
    bench.file("w.txt", "");
    let scratch = bench.scratch("");
    let arguments = json!({"pattern": "**", "path": scratch});
    check(
        &bench,
        arguments.clone(),
        &[&format!(
            "error: glob `{}`: there is no such file or folder",
            scratch.trim_end_matches('/')
        )],
    )
    .await;
    bench.file("../s/sub/f", "12");
    let found = bench.scratch("sub/f");
    check(&bench, arguments, &[&found, "[1 file, 2 B]"]).await;
    let pattern = format!("{scratch}**/f");
    check(
        &bench,
        json!({"pattern": pattern}),
        &[&found, "[1 file, 2 B]"],
    )
    .await;
    check(
        &bench,
        json!({"pattern": "**"}),
        &["w.txt", "[1 file, 0 B]"],
    )
    .await;
}

#[tokio::test]
async fn hidden_files_are_found_when_they_are_named() {
    let bench = files(&[
        "a",
        ".env",
        ".github/ci.yml",
        "b/.env",
        ".git/config",
        "b/.git",
    ]);
    check(&bench, json!({"pattern": "**"}), &["a", "[1 file, 5 B]"]).await;
    check(
        &bench,
        json!({"pattern": "**/.env"}),
        &[".env", "b/.env", "[2 files, 10 B]"],
    )
    .await;
    check(
        &bench,
        json!({"pattern": ".github/*"}),
        &[".github/ci.yml", "[1 file, 5 B]"],
    )
    .await;
    for pattern in [".git/**", "**/.git", ".git*/config", "**/.git/*"] {
        check(&bench, json!({"pattern": pattern}), &["[no files match]"]).await;
    }
}

#[tokio::test]
async fn only_regular_files_are_listed_and_no_link_is_followed() {
    let bench = files(&["real/f", "../outside/secret"]);
    symlink("real/f", bench.path("link")).unwrap();
    symlink("real", bench.path("folder")).unwrap();
    symlink("../outside", bench.path("out")).unwrap();
    symlink(".", bench.path("loop")).unwrap();
    symlink("../../w", bench.path("real/up")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, bench.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _listener = UnixListener::bind(bench.path("socket")).unwrap();
    check(
        &bench,
        json!({"pattern": "**"}),
        &["real/f", "[1 file, 5 B]"],
    )
    .await;
    for path in ["out", "loop", "folder"] {
        let arguments = json!({"pattern": "**", "path": path});
        let outcome = bench.outcome("glob", &arguments).await;
        let answer = outcome.for_model();
        assert!(answer.contains("it leads through a link"), "{answer}");
    }
}

#[tokio::test]
async fn names_stay_on_their_lines() {
    let bench = files(&["a\nb", "tab\t", "bell\u{7}", "ü 1"]);
    fs::write(bench.path("").join(OsStr::from_bytes(b"z\xff")), "1").unwrap();
    check(
        &bench,
        json!({"pattern": "*"}),
        &[
            r#""a\nb""#,
            r#""bell\u{7}""#,
            r#""tab\t""#,
            r#""z\xFF""#,
            "ü 1",
            "[5 files, 21 B]",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_is_not_a_folder_is_refused() {
    let bench = files(&["f"]);
    for (path, expected) in [
        ("f", "it is a file, not a folder"),
        ("none", "there is no such file or folder"),
        ("f/g", "a part of the path is a file, not a folder"),
    ] {
        let arguments = json!({"pattern": "**", "path": path});
        let expected = format!("error: glob `{path}`: {expected}");
        check(&bench, arguments, &[&expected]).await;
    }
    for path in ["/proc", "/proc/self/root", "/dev"] {
        let arguments = json!({"pattern": "**", "path": path});
        let error = bench.needs("glob", &arguments).unwrap_err();
        assert!(error.contains("is outside the workspace"), "{error}");
    }
}

#[tokio::test]
async fn tls_02_a_pattern_that_makes_no_sense_is_invalid_input() {
    let bench = Bench::new();
    for (arguments, expected) in [
        (
            json!({"pattern": "[a"}),
            "take the pattern `[a`: unclosed character class",
        ),
        (
            json!({"pattern": "../*"}),
            "take the pattern `../*`: it goes through `..`",
        ),
        (
            json!({"pattern": "/etc/*"}),
            "the pattern `/etc/*` is outside the workspace",
        ),
        (
            json!({"pattern": "/a", "path": "b"}),
            "the pattern `/a` is absolute",
        ),
        (json!({"pattern": ""}), "take the pattern ``: it is empty"),
        (
            json!({"pattern": "a", "path": ".."}),
            "`..` goes through `..`",
        ),
        (
            json!({"path": "a"}),
            "take the arguments of glob: missing field `pattern`",
        ),
    ] {
        let error = bench.needs("glob", &arguments).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
        let outcome = bench.outcome("glob", &arguments).await;
        assert_eq!(kind(&outcome), Some(ErrorKind::InvalidInput));
    }
}

#[test]
fn tls_05_a_call_needs_to_read_what_is_in_the_folder() {
    let bench = Bench::new();
    let need = |target: String| {
        Ok(vec![Need {
            capability: "fs.read".into(),
            target,
        }])
    };
    let whole = bench.needs("glob", &json!({"pattern": "**"}));
    assert_eq!(whole, need(bench.absolute("")));
    let part = bench.needs("glob", &json!({"pattern": "**", "path": "./src/"}));
    assert_eq!(part, need(bench.absolute("src/")));
}

#[test]
fn rules_about_what_is_in_a_folder_hold_for_searching_it() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("secrets")).unwrap();
    let workspace = bench.place().workspace;
    let rules = [
        Rule::new("fs.read", "*", Action::Allow),
        Rule::new("fs.read", "**/secrets/**", Action::Deny),
    ];
    let permissions = Permissions::empty()
        .narrow(Layer::root_grant(&workspace, None))
        .narrow(Layer::of_agent("reader", Some(&rules)));
    let check = |path: &str, expected: Action| {
        for tool in ["glob", "grep"] {
            let arguments = json!({"pattern": "x", "path": path});
            let needs = bench.needs(tool, &arguments).unwrap();
            let decision = permissions.decide(tool, &needs[0]);
            assert_eq!(decision.action, expected, "{tool} {path}");
        }
    };
    check(".", Action::Allow);
    check("src", Action::Allow);
    check("secrets", Action::Deny);
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_is_told() {
    let bench = files(&["open/f", "closed/f"]);
    let closed = fs::Permissions::from_mode(0o000);
    fs::set_permissions(bench.path("closed"), closed).unwrap();
    // Whoever may read everything sees no closed folder.
    let is_closed = fs::read_dir(bench.path("closed")).is_err();
    let expected: &[&str] = if is_closed {
        &[
            "open/f",
            "[folders that could not be read: 1]",
            "[1 file, 5 B]",
        ]
    } else {
        &["closed/f", "open/f", "[2 files, 10 B]"]
    };
    check(&bench, json!({"pattern": "**"}), expected).await;
    let open = fs::Permissions::from_mode(0o700);
    fs::set_permissions(bench.path("closed"), open).unwrap();
}

#[tokio::test]
async fn tls_14_tens_of_thousands_of_files_are_counted_and_a_thousand_shown() {
    let bench = Bench::for_many_files();
    for folder in 0..20 {
        let folder = bench.path(&format!("d{folder:02}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..1500 {
            File::create(folder.join(format!("{file:04}"))).unwrap();
        }
    }
    let outcome = bench.outcome("glob", &json!({"pattern": "**"})).await;
    let answer = outcome.for_model();
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.len(), 1002);
    assert_eq!(lines[0], "d00/0000");
    assert_eq!(lines[999], "d00/0999");
    let path = outcome.metadata.output_path.unwrap();
    assert_eq!(
        lines[1000],
        format!("[truncated: 1000 of 30000 files shown; all of them are in {path}]")
    );
    assert_eq!(lines[1001], "[30000 files, 0 B]");
    assert_eq!(outcome.metadata.truncated, Some(true));
    let all = fs::read_to_string(path).unwrap();
    assert_eq!(all.lines().count(), 30_000);
    assert_eq!(all.lines().last(), Some("d19/1499"));
    assert!(all.lines().is_sorted());
}

#[tokio::test]
async fn a_deep_tree_takes_no_more_descriptors_than_a_flat_one() {
    let bench = Bench::for_many_files();
    // Deeper than a process may have files open, and still a path that the kernel takes.
    let deep = "a/".repeat(1900);
    bench.file(&format!("{deep}f"), "1");
    let answer = bench.call("glob", &json!({"pattern": "**"})).await;
    assert_eq!(answer, format!("{deep}f\n[1 file, 1 B]"));
}
