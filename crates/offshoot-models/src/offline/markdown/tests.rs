//! Foreign text comes out as one harmless line.

use super::{block, capped, code, line, prose};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(prose(text, 60), expected, "{text:?}");
}

#[test]
fn code_cannot_be_left() {
    assert_eq!(code("a b"), "`a b`");
    assert_eq!(code("a`b``c"), "``` a`b``c ```");
    assert_eq!(code("a\nb\u{1b}"), "`a\\u{a}b\\u{1b}`");
    assert_eq!(code("\u{202e}x"), "`\\u{202e}x`");
}

#[test]
fn prose_has_no_links_tags_or_open_code() {
    check("see [the `docs`](http://x) now", "see the `docs` now");
    check("[![badge](a.svg)](b) words", "words");
    check("[a][b] and [c] d", "a and [c] d");
    check("<p align=center>hi</p> 1 < 2", "hi 1 \\< 2");
    check("**bold** `open", "bold 'open");
    check("`` a`b `` and `c`", "`` a`b `` and `c`");
    check("``` fence", "''' fence");
    check("a\n\tb\u{0}c\u{200b}d", "a b cd");
    check("<!-- never closed", "\\<!-- never closed");
}

#[test]
fn long_text_is_cut_at_a_character() {
    assert_eq!(capped("äöü", 2), "äö…");
    assert_eq!(capped("äöü", 3), "äöü");
    assert_eq!(prose(&"[".repeat(1_000_000), 5), "[[[[[…");
}

#[test]
fn a_line_opens_no_block() {
    assert_eq!(line("## head", 60), "head");
    assert_eq!(line("```rust", 60), "rust");
    assert_eq!(line("> | a `b`", 60), "a `b`");
}

#[test]
fn a_block_is_fenced_more_than_what_is_in_it() {
    assert_eq!(block("a\n````\n"), "`````text\na\n````\n`````");
    assert_eq!(block("\u{1b}x"), "```text\nx\n```");
}
