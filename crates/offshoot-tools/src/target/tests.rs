//! Which file a path names.

use super::*;

fn place(workspace: &str, scratch: Option<&str>) -> Place {
    Place {
        scratch: scratch.map(str::to_owned),
        ..Place::new(workspace)
    }
}

#[track_caller]
fn check_at(place: &Place, path: &str, expected: Result<&str, &str>) {
    let found = Target::new(path, place).map(|target| target.absolute());
    let found = found.as_deref().map_err(String::as_str);
    assert_eq!(found, expected, "{place:?} {path}");
}

#[track_caller]
fn check(workspace: &str, path: &str, expected: Result<&str, &str>) {
    check_at(&place(workspace, None), path, expected);
}

#[test]
fn a_path_has_one_spelling() {
    for path in [
        "src/a.rs",
        "./src//a.rs",
        "src/./a.rs",
        "/w/x/src/a.rs",
        "/w//x/src/a.rs",
    ] {
        check("/w/x", path, Ok("/w/x/src/a.rs"));
        check("/w/x/", path, Ok("/w/x/src/a.rs"));
    }
    check("/", "/etc/x", Ok("/etc/x"));
    check("/", "etc/x", Ok("/etc/x"));
    check("/w", ".", Ok("/w"));
    check("/w", "/w/", Ok("/w"));
    check("/w", "a\nb", Ok("/w/a\nb"));
    check("/w", "a..b/...", Ok("/w/a..b/..."));
}

#[test]
fn a_path_outside_is_refused() {
    check(
        "/w",
        "",
        Err("`path` is empty; give a path inside the workspace"),
    );
    check(
        "/w",
        "/etc/passwd",
        Err("`/etc/passwd` is outside the workspace /w"),
    );
    check("/w", "/wx/a", Err("`/wx/a` is outside the workspace /w"));
    check("/w", "/", Err("`/` is outside the workspace /w"));
    for path in ["../a", "a/../b", "/w/../w/a", ".."] {
        let expected = format!("`{path}` goes through `..`; give the path from the workspace");
        check("/w", path, Err(&expected));
    }
    let nul = "`path` contains a NUL byte, which no file name can";
    check("/w", "a\0b", Err(nul));
}

#[test]
fn only_an_absolute_path_means_the_scratch_folder() {
    let place = place("/w", Some("/s/parent/child/"));
    let root = |path| Target::new(path, &place).unwrap().root().kind();
    check_at(&place, "notes", Ok("/w/notes"));
    assert_eq!(root("notes"), RootKind::Workspace);
    check_at(&place, "/s/parent/child/notes", Ok("/s/parent/child/notes"));
    assert_eq!(root("/s/parent/child/notes"), RootKind::Scratch);
    let up =
        "`/s/parent/notes` is outside the workspace /w and the scratch folder /s/parent/child/";
    check_at(&place, "/s/parent/notes", Err(up));
}

#[test]
fn the_deeper_root_takes_what_lies_in_both() {
    let place = place("/w", Some("/w/.scratch"));
    let target = Target::new("/w/.scratch/a", &place).unwrap();
    assert_eq!(target.root().kind(), RootKind::Scratch);
    assert_eq!(target.relative(), "a");
    assert_eq!(target.shown(), "`/w/.scratch/a`");
    let target = Target::new("/w/a", &place).unwrap();
    assert_eq!(target.root().kind(), RootKind::Workspace);
}

#[test]
fn what_the_host_keeps_for_itself_is_no_target_except_for_the_scratch_folder() {
    let place = |workspace: &str, off_limits: &str, scratch: &str| Place {
        off_limits: Some(off_limits.to_owned()),
        ..place(workspace, Some(scratch))
    };
    let inside = place("/w", "/w/.data/", "/w/.data/s/1/2");
    for path in [
        ".data",
        "/w/.data",
        ".data/db",
        "/w/.data/db",
        "./.data//s/1/plan",
        "/w/.data/s/1/3/answer",
        "/w/.data/s/1/20",
    ] {
        let refused = format!(
            "`{path}` is in the data folder /w/.data/, which is off limits; in it there is only \
             your scratch folder /w/.data/s/1/2 for you"
        );
        check_at(&inside, path, Err(&refused));
    }
    for path in ["/w/.data/s/1/2", "/w/.data/s/1/2/x", "/w/.data/s/1/2/3/x"] {
        check_at(&inside, path, Ok(path));
    }
    check_at(&inside, ".database", Ok("/w/.database"));
    check_at(&inside, ".", Ok("/w"));

    let whole = place("/w/a", "/w", "/w/s/1");
    for path in [".", "x", "/w/a/x"] {
        assert!(Target::new(path, &whole).is_err(), "{path}");
    }
    check_at(&whole, "/w/s/1/x", Ok("/w/s/1/x"));
    let beside = place("/w", "/wx", "/wx/s");
    check_at(&beside, "x", Ok("/w/x"));
    check_at(&place("/", "/d", "/d/s/1"), "/dx", Ok("/dx"));
    assert!(Target::new("d/db", &place("/", "/d", "/d/s/1")).is_err());
}

#[test]
fn the_folder_comes_before_the_name() {
    let place = Place::new("/w".to_owned());
    let split = |path: &str| {
        let target = Target::new(path, &place).unwrap();
        let split = target.folder_and_name();
        split.map(|(folder, name)| (folder.to_owned(), name.to_owned()))
    };
    assert_eq!(split("a/b/c"), Some(("a/b".to_owned(), "c".to_owned())));
    assert_eq!(split("c"), Some((".".to_owned(), "c".to_owned())));
    assert_eq!(split("."), None);
}
