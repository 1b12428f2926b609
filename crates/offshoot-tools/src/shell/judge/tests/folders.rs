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
    check("cd a && ls > f", &["/w/a/f"]);
    check("cd a && ls && cat > f", &["/w/a/f"]);
    check("cd a && cd ../b && cat > f", &["/w/b/f"]);
    check("cd /x/ && ls > f && cat > g", &["/x/f", "/x/g"]);
    check("cd $OFFSHOOT_SCRATCH && ls > f", &["/s/f"]);
    check("(cd a && ls > f) && cat > g", &["/w/a/f", "/w/g"]);
    check("echo $(cd a && ls > f) > g", &["/w/g", "/w/a/f"]);
    check("cd a > f", &["/w/f"]);
}

#[test]
fn a_cd_that_may_have_failed_leads_to_both() {
    check("cd a; ls > f", &["/w/f", "/w/a/f"]);
    check("cd a\nb > f", &["/w/f", "/w/a/f"]);
    check("cd a || ls > f", &["/w/f", "/w/a/f"]);
    check("x && cd a; ls > f", &["/w/f", "/w/a/f"]);
    check("if x; then cd a; fi; ls > f", &["/w/f", "/w/a/f"]);
    check("cd a; (true) && ls > f", &["/w/f", "/w/a/f"]);
    check("! cd a && ls > f", &["/w/f", "/w/a/f"]);
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
        // Who is not known to do the same anywhere may go by the folder.
        for command in [
            "unknown",
            "./ls",
            "sub/cat x",
            "./build.sh",
            "python x.py",
            "bash x.sh",
            "eslint .",
            "ruff check",
            "terraform plan",
        ] {
            let command = format!("cd {elsewhere} && {command}");
            assert!(is_opaque(&command), "{command}");
        }
        for command in [
            "ls",
            "pwd",
            "grep -rn x . | head -5",
            "find . -name '*.rs' -executable",
            "timeout 5 cat f",
            "/bin/ls -l",
            "mkdir -p a && cp x a",
            "[ -f x ] && wc -l x",
            "sed -n 1,5p f",
        ] {
            let command = format!("cd {elsewhere} && {command}");
            assert!(!is_opaque(&command), "{command}");
        }
    }
    for command in [
        "cd a && make",
        "cd /w/a/b && git status",
        "cd a; cargo test",
        "(cd /x && ls); make",
        "cd a && cd .. && make",
        "cd a && ./build.sh && python x.py",
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
        "cd $x",
        "cd",
        "cd -",
        "cd ~",
        "cd -P a",
        "pushd a",
        "popd",
        "nohup cd a",
    ] {
        check(&format!("{cd} && ls > f"), &["?"]);
        check(&format!("{cd} && ls > /x/f"), &["/x/f"]);
    }
    check("cd a; cd b; cd c; ls > f", &["?"]);
    check("for i in 1 2; do ls > f; cd a; done", &["/w/f", "?"]);
    check("cd a <<EOF && ls > f\nEOF", &["/w/f", "?"]);
    check("[ a && cd /x ]; ls > f", &["?"]);
    check("cd a | ls > f", &["/w/f"]);
}
