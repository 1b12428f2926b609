//! The part of TOML that manifests use.

use super::{entries, text, texts};

const MANIFEST: &str = r#"
top = 1
[package]
name = "x" # not "y"
description = """
Two
lines."""
"quoted" = 'single # no comment'
empty = ""

[workspace]
members = [
    "a", # one
    'b',
]
[[bin]]
name = "tool"
"#;

#[test]
fn texts_are_found_by_section_and_key() {
    let entries = entries(MANIFEST);
    let get = |section, key| text(&entries, section, key);
    assert_eq!(get("package", "name").as_deref(), Some("x"));
    assert_eq!(
        get("package", "description").as_deref(),
        Some("Two\nlines.")
    );
    assert_eq!(
        get("package", "quoted").as_deref(),
        Some("single # no comment")
    );
    assert_eq!(get("package", "empty"), None);
    assert_eq!(get("bin", "name").as_deref(), Some("tool"));
    assert_eq!(get("", "top"), None);
}

#[test]
fn lists_may_take_many_lines() {
    let entries = entries(MANIFEST);
    let members = entries.iter().find(|entry| entry.key == "members").unwrap();
    assert_eq!(texts(&members.value), ["a", "b"]);
}

#[test]
fn what_never_closes_ends_with_the_text() {
    assert_eq!(entries("a = [\n\"b\"\n").len(), 1);
    assert_eq!(entries("a = \"\"\"\nb").len(), 1);
    assert_eq!(texts("\"open"), Vec::<String>::new());
}
