//! How repositories are cut into areas.

use super::super::super::outcomes::Count;
use super::super::brief::Brief;
use super::super::files::{Files, Listed};
use super::{Area, MOST, of};

fn areas(paths: &[String], packages: &[&str]) -> Vec<Area> {
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    paths.sort_unstable();
    let files = Files {
        total: Count::exactly(paths.len()),
        size: None,
        listed: Listed::Whole,
        gaps: Vec::new(),
        paths: paths.clone(),
    };
    let areas = of(&files, packages);
    assert!(areas.len() <= MOST, "{}", areas.len());
    let inner = paths
        .iter()
        .filter(|path| path.contains('/') && !path.starts_with('.'));
    for path in inner.filter(|_| !areas.is_empty()) {
        let holding = areas.iter().filter(|area| brief(area).holds(path)).count();
        assert_eq!(holding, 1, "{path} belongs to one area: {areas:?}");
    }
    for area in &areas {
        let held = paths.iter().filter(|path| brief(area).holds(path)).count();
        assert_eq!(held, area.files, "{area:?}");
    }
    areas
}

fn brief(area: &Area) -> Brief {
    Brief {
        area: area.name.clone(),
        paths: area.paths.clone(),
        skip: area.skip.clone(),
        packages: Vec::new(),
    }
}

/// Makes so many files in each folder.
fn files(folders: &[(&str, usize)]) -> Vec<String> {
    let files = folders
        .iter()
        .flat_map(|(folder, count)| (0..*count).map(move |index| format!("{folder}/f{index}.rs")));
    files.collect()
}

#[track_caller]
fn check(folders: &[(&str, usize)], packages: &[&str], expected: &[&str]) {
    let areas = areas(&files(folders), packages);
    let names: Vec<&str> = areas.iter().map(|area| area.name.as_str()).collect();
    assert_eq!(names, expected);
}

#[test]
fn packages_are_areas_and_what_is_beside_them_is_one() {
    check(
        &[
            ("crates/a", 5),
            ("crates/b/src", 5),
            ("crates/b/sub", 5),
            ("crates/shared", 3),
            ("docs", 3),
        ],
        &["crates/a", "crates/b", "crates/b/sub"],
        &["crates", "crates/a", "crates/b", "docs"],
    );
}

#[test]
fn a_folder_that_holds_most_is_split() {
    check(
        &[
            ("src/pkg/a", 30),
            ("src/pkg/b", 10),
            ("src/pkg", 4),
            ("tests", 5),
        ],
        &[],
        &["src/pkg", "src/pkg/a", "src/pkg/b", "tests"],
    );
}

#[test]
fn tiny_folders_are_put_together() {
    check(
        &[("a", 9), ("b", 1), ("c", 2), (".git", 9)],
        &[],
        &["a", "2 smaller folders"],
    );
    check(&[("a", 9), ("b", 1)], &[], &["a", "b"]);
}

#[test]
fn there_are_never_more_than_can_be_handed_out() {
    let names: Vec<String> = (0..60).map(|index| format!("packages/p{index}")).collect();
    let packages: Vec<&str> = names.iter().map(String::as_str).collect();
    let folders: Vec<(&str, usize)> = packages.iter().map(|name| (*name, 4)).collect();
    let found = areas(&files(&folders), &packages);
    assert_eq!(found.len(), MOST);
    assert_eq!(
        found.last().map(|area| area.name.as_str()),
        Some("51 smaller folders")
    );
    areas(
        &files(&[
            ("big/x", 500),
            ("big/y", 500),
            ("big", 50),
            ("big/x/z", 400),
        ]),
        &[],
    );
    let many: Vec<String> = (0..300).map(|index| format!("src/m{index}/a.rs")).collect();
    areas(&many, &[]);
}

#[test]
fn what_is_small_or_flat_has_none() {
    check(&[("a", 3)], &[], &[]);
    assert_eq!(
        areas(&["a".into(), "b".into(), "c".into(), "d".into()], &[]),
        []
    );
}
