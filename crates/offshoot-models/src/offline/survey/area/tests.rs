//! Which files of an area are read, and where it is searched.

use super::super::super::outcomes::Count;
use super::super::brief::Brief;
use super::{AreaFiles, others, roots, telling};

fn brief(paths: &[&str]) -> Brief {
    Brief {
        area: "x".to_owned(),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        skip: Vec::new(),
        packages: [("root", ""), ("a", "a"), ("b", "b"), ("in", "a/in")]
            .map(|(name, folder)| (name.to_owned(), folder.to_owned()))
            .to_vec(),
    }
}

#[track_caller]
fn check(paths: &[&'static str], expected: [Option<&str>; 2], sources: &[&str]) {
    let files = AreaFiles {
        paths: paths.to_vec(),
        count: Count::exactly(paths.len()),
        size: None,
        odd: 0,
    };
    let telling = telling(&files);
    assert_eq!([telling.manifest, telling.readme], expected);
    assert_eq!(telling.sources, sources);
}

#[test]
fn heads_of_packages_are_read_first() {
    check(
        &[
            "c/Cargo.toml",
            "c/README.md",
            "c/src/deep/mod.rs",
            "c/src/lib.rs",
            "c/src/z.rs",
            "c/tests/main.rs",
        ],
        [Some("c/Cargo.toml"), Some("c/README.md")],
        &["c/src/lib.rs", "c/src/deep/mod.rs"],
    );
    check(
        &["moon/moon.go", "moon/a.go"],
        [None, None],
        &["moon/moon.go"],
    );
    check(
        &["d/a.md", "d/b.json", "d/x\u{fffd}.md"],
        [None, None],
        &["d/a.md"],
    );
}

#[test]
fn many_folders_are_searched_from_where_they_meet() {
    assert_eq!(roots(&brief(&["a/x", "b"])), ["a/x", "b"]);
    assert_eq!(
        roots(&brief(&["p/1", "p/2", "p/3", "p/4", "q/5"])),
        ["p", "q"]
    );
    assert_eq!(roots(&brief(&["1", "2", "3", "4", "5"])), [""]);
}

#[test]
fn other_packages_are_neither_around_nor_inside() {
    let brief = brief(&["a"]);
    let names: Vec<&str> = others(&brief).map(|(name, _)| name).collect();
    assert_eq!(names, ["b"]);
}
