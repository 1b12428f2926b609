//! Languages by name.

use super::{LANGUAGES, NAMES, named, of, shares};

#[track_caller]
fn check(path: &str, expected: Option<&str>) {
    assert_eq!(of(path).map(|language| language.name), expected, "{path}");
}

#[test]
fn endings_and_names_decide() {
    check("a/b.rs", Some("Rust"));
    check("A.RS", Some("Rust"));
    check("x.tsx", Some("TypeScript"));
    check("CMakeLists.txt", Some("CMake"));
    check("notes.txt", Some("Plain text"));
    check("deep/Makefile", Some("Makefile"));
    check("LICENSE", None);
    check("a.rs/b", None);
    check("", None);
}

#[test]
fn no_ending_is_claimed_twice_and_every_name_is_known() {
    let mut endings: Vec<&str> = LANGUAGES.iter().flat_map(|l| l.endings).copied().collect();
    let all = endings.len();
    endings.sort_unstable();
    endings.dedup();
    assert_eq!(endings.len(), all);
    assert!(LANGUAGES.len() >= 60);
    for (_, language) in NAMES {
        assert!(named(language).is_some(), "{language}");
    }
}

#[test]
fn the_commonest_comes_first() {
    let shares = shares(["a.py", "b.rs", "c.rs", "d"]);
    let counts: Vec<(&str, usize)> = shares.iter().map(|s| (s.language.name, s.files)).collect();
    assert_eq!(counts, [("Rust", 2), ("Python", 1)]);
}
