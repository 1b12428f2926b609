//! A brief goes into a prompt and comes out of it.

use super::super::super::outcomes::Count;
use super::Brief;

fn brief() -> Brief {
    Brief {
        area: "crates/a `b`".to_owned(),
        paths: vec!["crates/a".to_owned(), "Brief: {\n".to_owned()],
        skip: vec!["crates/a/x".to_owned()],
        packages: vec![("a\"b".to_owned(), "crates/a".to_owned())],
    }
}

#[test]
fn a_child_reads_what_the_root_wrote() {
    let prompt = brief().prompt(Count::exactly(3));
    assert!(prompt.starts_with("Survey the area"));
    assert_eq!(Brief::read(&prompt), Some(brief()));
}

#[test]
fn other_prompts_are_none() {
    for prompt in [
        "",
        "Brief: ",
        "Brief: {}",
        "Brief: {\"area\":\"a\",\"paths\":[]}",
        "survey",
    ] {
        assert_eq!(Brief::read(prompt), None, "{prompt}");
    }
}

#[test]
fn a_file_belongs_to_the_folders_that_are_not_left_out() {
    let brief = brief();
    for (path, expected) in [
        ("crates/a/b.rs", true),
        ("crates/a/x/b.rs", false),
        ("crates/ab/c.rs", false),
        ("crates/a", false),
    ] {
        assert_eq!(brief.holds(path), expected, "{path}");
    }
}
