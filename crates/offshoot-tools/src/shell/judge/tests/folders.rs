//! Where relative paths lead behind a `cd`.

use super::{is_opaque, shown};

/// Checks which files a command may write to; `?` if that cannot be said.
#[track_caller]
fn check(command: &str, expected: &[&str]) {
    let needs = shown(command);
    let mut files: Vec<&str> = needs
        .iter()
        .filter_map(|need| need.strip_prefix("fs.write "))
        .collect();
    if is_opaque(command) {
        files.push("?");
    }
    assert_eq!(files, expected, "{command}: {needs:?}");
}

#[test]
fn a_path_begins_at_the_workspace() {
    check("a > f", &["/w/f"]);
    check("a > ./x//f", &["/w/x/f"]);
    check("a > /w/f", &["/w/f"]);
    check("a > /w/./f > g", &["/w/f", "/w/g"]);
}

#[test]
fn a_cd_that_went_well_is_followed() {
    check("cd a && b > f", &["/w/a/f"]);
    check("cd a && b && c > f", &["/w/a/f"]);
    check("cd a && cd ../b && c > f", &["/w/b/f"]);
    check("cd /x/ && b > f && c > g", &["/x/f", "/x/g"]);
    check("cd $OFFSHOOT_SCRATCH && b > f", &["/s/f"]);
    check("(cd a && b > f) && c > g", &["/w/a/f", "/w/g"]);
    check("echo $(cd a && b > f) > g", &["/w/g", "/w/a/f"]);
    check("cd a > f", &["/w/f"]);
}

#[test]
fn a_cd_that_may_have_failed_leads_to_both() {
    check("cd a; b > f", &["/w/f", "/w/a/f"]);
    check("cd a\nb > f", &["/w/f", "/w/a/f"]);
    check("cd a || b > f", &["/w/f", "/w/a/f"]);
    check("x && cd a; b > f", &["/w/f", "/w/a/f"]);
    check("if x; then cd a; fi; b > f", &["/w/f", "/w/a/f"]);
    check("cd a; (true) && b > f", &["/w/f", "/w/a/f"]);
    check("! cd a && b > f", &["/w/f", "/w/a/f"]);
}

#[test]
fn what_goes_by_the_folder_is_opaque_outside_of_the_workspace() {
    for elsewhere in [
        "/x",
        "..",
        "/s",
        "$x",
        "-",
        ".git/hooks",
        "$OFFSHOOT_SCRATCH",
    ] {
        for command in [
            "make",
            "git status",
            "npm test",
            "cargo build",
            "/usr/bin/go test",
        ] {
            let command = format!("cd {elsewhere} && {command}");
            assert!(is_opaque(&command), "{command}");
        }
        let command = format!("cd {elsewhere} && ls");
        assert!(!is_opaque(&command), "{command}");
    }
    for command in [
        "cd a && make",
        "cd /w/a/b && git status",
        "cd a; cargo test",
        "(cd /x && ls); make",
        "cd a && cd .. && make",
    ] {
        assert!(!is_opaque(command), "{command}");
    }
    assert!(shown("sudo ls; cargo test").contains(&"shell.run cargo test".to_owned()));
    let opaque = |command| {
        shown(command)
            .iter()
            .filter(|need| need.starts_with("shell.opaque"))
            .count()
    };
    assert_eq!(opaque("sudo ls; cargo test"), 1);
    assert_eq!(opaque("eval ls; cargo test"), 2);
}

#[test]
fn a_cd_to_nobody_knows_where_leaves_paths_unknown() {
    for cd in [
        "cd $x", "cd", "cd -", "cd ~", "cd -P a", "pushd a", "popd", "env cd a",
    ] {
        check(&format!("{cd} && b > f"), &["?"]);
        check(&format!("{cd} && b > /x/f"), &["/x/f"]);
    }
    check("cd a; cd b; cd c; b > f", &["?"]);
    check("for i in 1 2; do b > f; cd a; done", &["/w/f", "?"]);
    check("cd a <<EOF && b > f\nEOF", &["/w/f", "?"]);
    check("[ a && cd /x ]; b > f", &["?"]);
    check("cd a | b > f", &["/w/f"]);
}
