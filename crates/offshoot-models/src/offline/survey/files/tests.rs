//! What paths tell.

use super::{is_foreign, is_path, is_sample, is_test};

#[test]
fn tests_are_known_by_name_and_folder() {
    for path in [
        "tests/a.rs",
        "a/__tests__/b.js",
        "test_a.py",
        "x/a_test.go",
        "a.spec.ts",
        "AppTest.java",
        "spec/a.rb",
    ] {
        assert!(is_test(path), "{path}");
    }
    for path in [
        "src/contest.rs",
        "latest/a.rs",
        "testing.py",
        "Test.java",
        "attest.go",
    ] {
        assert!(!is_test(path), "{path}");
    }
}

#[test]
fn foreign_and_sample_folders_are_known() {
    assert!(is_foreign("a/node_modules/b.js"));
    assert!(!is_foreign("vendor"));
    assert!(is_sample("examples/a/Cargo.toml"));
    assert!(!is_sample("src/example.rs"));
}

#[test]
fn notes_are_no_paths() {
    assert!(is_path("[id].tsx"));
    assert!(!is_path("[12 files, 3 B]"));
    assert!(!is_path("  "));
}
