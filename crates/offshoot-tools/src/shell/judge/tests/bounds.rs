//! Size and depth: judged in bounded time and on a small stack, whatever it is.

use std::time::{Duration, Instant};

use offshoot_types::permission::Action;

use super::decide;

/// Judges on the stack that a worker thread has, and within the time that a person does not notice.
#[expect(clippy::disallowed_methods, reason = "what is measured is time itself")]
fn check(command: String) {
    let judge = move || {
        let started = Instant::now();
        let action = decide(&command);
        (action, started.elapsed(), command.len())
    };
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    let (action, took, size) = thread.spawn(judge).unwrap().join().unwrap();
    assert_ne!(action, Action::Allow, "{size} bytes");
    assert!(took < Duration::from_secs(5), "{size} bytes took {took:?}");
}

#[test]
fn a_megabyte_is_judged() {
    for piece in [
        "a;", "$(", "(", "{ ", "if ", "\"", "'", "<<E\n", "`", "${x:-", "\\\n", "\u{e9}",
    ] {
        check(piece.repeat((1 << 20) / piece.len()));
    }
}

#[test]
fn the_longest_that_is_parsed_is_judged() {
    let most = super::super::MOST_TEXT;
    for piece in [
        "a;",
        "$(",
        "(",
        "{ ",
        "if ",
        "\"",
        "<<E\n",
        "`",
        "${x:-",
        "[[ ",
        "a&&",
        "a|",
        "a\n",
        "$((",
        "case x in ",
        "f() ",
        "<(",
        "x=",
        "! ",
        ">",
        "a>b ",
        "#",
        "\\",
        "'a' ",
        "\"$a\" ",
    ] {
        check(piece.repeat(most / piece.len()));
        check(piece.repeat(super::super::MOST_OPERATORS / piece.len()));
    }
}

#[test]
fn a_thousand_levels_are_judged() {
    for (open, close) in [
        ("$(", ")"),
        ("(", ")"),
        ("{ ", "; }"),
        ("echo \"$(", ")\""),
        ("echo ${x:-", "}"),
        ("cat <(", ")"),
        ("if ls; then ", "; fi"),
        ("while ls; do ", "; done"),
        ("! ", ""),
        ("ls && ", ""),
        ("ls | ", ""),
        ("echo $((", "))"),
        ("case x in x) ", ";; esac"),
        ("f() { ", "; }"),
    ] {
        let command = format!("{}rm x{}", open.repeat(1000), close.repeat(1000));
        check(command);
    }
}
