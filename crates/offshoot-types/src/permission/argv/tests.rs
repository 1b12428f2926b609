//! Patterns and commands, word by word.

use proptest::prelude::*;

use super::*;

fn fit(pattern: &str, target: &str) -> Option<Fit> {
    Words::of(pattern).fit(&read(target))
}

fn fit_by_name(pattern: &str, target: &str) -> Option<Fit> {
    Words::of(pattern).fit_by_name(&read(target))
}

#[track_caller]
fn check(pattern: &str, target: &str, expected: Option<Fit>) {
    assert_eq!(fit(pattern, target), expected, "{pattern} for {target}");
}

#[test]
fn a_pattern_without_a_star_is_the_whole_command() {
    check("git status", "git status", Some(Fit::Surely));
    check("git  status ", "git status", Some(Fit::Surely));
    check("git status", "git status -s", None);
    check("git status", "git", None);
    check("git status", "'git status'", None);
    check("git status", "gitstatus", None);
}

#[test]
fn a_star_at_the_end_is_all_words_that_follow_and_none() {
    check("git diff *", "git diff", Some(Fit::Surely));
    check("git diff *", "git diff a 'b c'", Some(Fit::Surely));
    check("git diff *", "git difftool", None);
    check("git diff*", "git difftool x", Some(Fit::Surely));
    check("rm*", "rmdir x", Some(Fit::Surely));
    check("*", "", Some(Fit::Surely));
}

#[test]
fn a_star_elsewhere_is_one_word_or_a_part_of_it() {
    check("git * --stat", "git diff --stat", Some(Fit::Surely));
    check("git * --stat", "git diff x --stat", None);
    check("npm run t?st:*x", "npm run test:a/bx", Some(Fit::Surely));
    check(r"ls \*", "ls '*'", Some(Fit::Surely));
    check(r"ls \*", "ls a", None);
    check(
        "git commit -m 'a b'",
        "git commit -m 'a b'",
        Some(Fit::Surely),
    );
}

#[test]
fn an_open_word_fits_nothing_but_the_star_at_the_end() {
    check("git *", "git $x", Some(Fit::Surely));
    check("git push *", "git $x", Some(Fit::Maybe));
    check("git status", "git status $x", Some(Fit::Maybe));
    check("git status", "git status \"$x\" -s", Some(Fit::Maybe));
    check("rm *", "git $x", None);
    check("git status", "git status; rm x", Some(Fit::Maybe));
}

#[test]
fn who_names_a_program_means_it_in_any_folder() {
    let by_name = |target| fit_by_name("rm *", target);
    assert_eq!(by_name("/bin/rm x"), Some(Fit::Surely));
    assert_eq!(by_name("/bin/ls x"), None);
}

#[test]
fn a_program_that_is_forbidden_by_its_path_is_so_however_that_is_written() {
    let however = |pattern, target| Words::of(pattern).fit_however(&read(target));
    for (pattern, target) in [
        ("./deploy.sh *", ".//deploy.sh"),
        ("./deploy.sh *", "././deploy.sh x"),
        ("./deploy.sh *", "scripts/../deploy.sh"),
        ("scripts/x", "./scripts//x"),
        ("./scripts/*", "scripts/./x a"),
        (".//scripts/*", "scripts/x"),
        ("/bin/rm *", "/bin//rm x"),
        ("/bin/rm *", "/usr/../bin/./rm x"),
        ("/bin/*", "/../bin/rm"),
        ("../x *", "./../x"),
        ("*/deploy.sh", "a//deploy.sh"),
    ] {
        let fit = however(pattern, target);
        assert_eq!(fit, Some(Fit::Surely), "{pattern} for {target}");
    }
    for (pattern, target) in [
        ("./deploy.sh *", "./x/deploy.sh"),
        ("./deploy.sh *", "../deploy.sh"),
        ("./deploy.sh *", "deploy.sh"),
        ("/bin/rm *", "/usr/bin/rm x"),
    ] {
        assert_eq!(however(pattern, target), None, "{pattern} for {target}");
    }
}

#[test]
fn what_is_allowed_in_a_folder_is_not_what_lies_behind_a_way_out_of_it() {
    let inside = |pattern, target| Words::of(pattern).fit_inside(&read(target)).is_some();
    for (pattern, target) in [
        ("./scripts/*", "./scripts/../../../usr/bin/touch x"),
        ("./scripts/*", "./scripts/.."),
        ("bin/*", "bin/../evil"),
        ("bin/?*/x *", "bin/../x"),
        ("python scripts/*", "python scripts/../x.py"),
        ("cat docs/*", "cat docs/../../x"),
        ("cat *.md", "cat ../x.md"),
        ("cat --file=docs/* *", "cat --file=docs/../x"),
    ] {
        assert!(!inside(pattern, target), "{pattern} for {target}");
        assert!(fit(pattern, target).is_some(), "{pattern} for {target}");
    }
    for (pattern, target) in [
        ("./scripts/*", "./scripts/a/b..c x"),
        ("./scripts/*", "./scripts/a ../x"),
        ("cat *", "cat ../x"),
        ("diff * b", "diff ../x b"),
        ("../scripts/x *", "../scripts/x a"),
    ] {
        assert!(inside(pattern, target), "{pattern} for {target}");
    }
}

proptest! {
    #[test]
    fn a_fixed_word_is_read_as_it_was_written(words in prop::collection::vec("[ -~\n]{0,6}", 1..5)) {
        let fixed: Vec<Word> = words.iter().cloned().map(Word::Fixed).collect();
        let written = render(&fixed);
        let argv = read(&written);
        prop_assert!(!argv.open);
        prop_assert_eq!(argv.fixed, words);
    }

    #[test]
    fn an_open_word_is_never_read_as_a_fixed_one(before in "[a-z']{0,4}", open in "[ -~]{1,8}", behind in "[a-z]{1,3}") {
        let words = [Word::Fixed(before.clone()), Word::Open(open), Word::Fixed(behind)];
        let written = render(&words);
        let argv = read(&written);
        prop_assert!(argv.open, "{}", written);
        prop_assert_eq!(argv.fixed, [before]);
    }
}

#[test]
fn a_star_at_the_end_of_an_argument_allows_no_further_one() {
    let inside = |pattern: &str, target: &str| Words::of(pattern).fit_inside(&read(target));
    for (pattern, target, expected) in [
        ("rm build/*", "rm build/x", Some(Fit::Surely)),
        ("rm build/*", "rm build/x -rf /home/me", None),
        ("cat docs/*", "cat docs/a /etc/shadow", None),
        ("cat docs/*", "cat docs/a $x", Some(Fit::Maybe)),
        ("rm build/* *", "rm build/x y", Some(Fit::Surely)),
        ("rm *", "rm a b", Some(Fit::Surely)),
        ("./scripts/*", "./scripts/a b c", Some(Fit::Surely)),
        ("./scripts/* *", "./scripts/a b c", Some(Fit::Surely)),
    ] {
        assert_eq!(inside(pattern, target), expected, "{pattern} for {target}");
    }
    let however = Words::of("rm build/*").fit_however(&read("rm build/x -rf /y"));
    assert_eq!(however, Some(Fit::Surely));
}

#[test]
fn what_is_forbidden_is_forbidden_however_its_program_and_files_are_written() {
    let however = |pattern: &str, target: &str| Words::of(pattern).fit_however(&read(target));
    for (pattern, target) in [
        ("/usr/bin/git push *", "git push origin"),
        ("/bin/rm *", "rm x"),
        ("cat /home/me/.ssh/*", "cat /home/me//.ssh/id_rsa"),
        ("cat /home/me/.ssh/*", "cat /home/me/./.ssh/id_rsa"),
        ("cat /home/me/.ssh/*", "cat /home/me/x/../.ssh/id_rsa"),
        ("cat /home/me/.ssh/id_rsa", "/bin/cat /home//me/.ssh/id_rsa"),
        ("cat secret", "cat ./secret"),
        ("cat ./secret", "cat secret"),
        ("cat a/*", "cat .//a/b"),
    ] {
        assert_eq!(
            however(pattern, target),
            Some(Fit::Surely),
            "{pattern} for {target}"
        );
    }
    for (pattern, target) in [
        ("/usr/bin/git push *", "git pull"),
        ("./test *", "test -f x"),
        ("/w/test *", "test -f x"),
        ("/usr/bin/*", "ls"),
        ("cat /home/me/.ssh/*", "cat /home/you/.ssh/x"),
        ("rm -r", "rm ./-r"),
    ] {
        assert_eq!(however(pattern, target), None, "{pattern} for {target}");
    }
    assert_eq!(Words::of("cat a/*").fit_inside(&read("cat ./a/b")), None);
}
